"""No positions at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.declare.encoding import Facts, Family, Guidance, Source, encoding
from pecli.declare.plan import Values
from pecli.encodings.shared.parameters import Dim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pecli.declare.guess import Guess
    from pecli.measures.evidence import Evidence
    from pecli.numbers.points import Points


@encoding(
    family=Family.NONE,
    title="NoPE",
    formula="pe(p, i) = 0",
    source=(Source("Haviv et al. 2022", "arXiv:2203.16634"), Source("Kazemnejad et al. 2023", "arXiv:2305.19466")),
    facts=Facts(unique=False, multi_scale=False),
    users="layers of Llama 4, SmolLM3, Cohere2; Jamba, Mamba",
    example="none:dim=4",
    guidance=Guidance(
        when="in some layers of a causal decoder, beside others that have positions",
        unless="without a causal mask: the order is lost",
    ),
    place=1,
    hooks={
        "lesson": ".lesson:steps",
        "recognise": "pecli.encodings.absolute.none:recognise",
        "extend": "pecli.encodings.shared.reaches:nothing",
    },
)
def none(*, dim: Dim) -> Values:
    """Zeros: the causal mask of a decoder is what carries order."""

    def at(points: Points) -> NDArray[Any]:
        import numpy as np

        return np.zeros((len(points), dim))

    return Values(dim, at)


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield zeros."""
    from pecli.declare.guess import Guess

    if evidence.matrix is not None and not evidence.matrix.any():
        yield Guess("none", {"dim": str(evidence.matrix.shape[1])}, evidence.length, 1.0, listed=True)
