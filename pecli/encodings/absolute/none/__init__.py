"""No positions at all."""

from __future__ import annotations

from pecli.declare.encoding import Facts, Family, Source, encoding
from pecli.declare.plan import Values
from pecli.encodings.shared import reaches
from pecli.encodings.shared.kernel_types import Floats, Points
from pecli.encodings.shared.parameters import Dim


@encoding(
    family=Family.NONE,
    title="NoPE",
    formula="pe(p, i) = 0",
    source=(Source("Haviv et al. 2022", "arXiv:2203.16634"), Source("Kazemnejad et al. 2023", "arXiv:2305.19466")),
    facts=Facts(unique=False, multi_scale=False),
    users="layers of Llama 4, SmolLM3, Cohere2; Jamba, Mamba",
    example="none:dim=4",
    use_when="in some layers of a causal decoder, beside others that have positions",
    not_when="without a causal mask: the order is lost",
    place=1,
    hooks={
        "lesson": ".lesson:steps",
        "extend": reaches.nothing,
        "why": ".why:why",
    },
)
def none(*, dim: Dim) -> Values:
    """Zeros: the causal mask of a decoder is what carries order."""

    def at(points: Points) -> Floats:
        import numpy as np

        return np.zeros((len(points), dim))

    return Values(dim, at)
