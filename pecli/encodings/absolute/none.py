"""No positions at all."""

from __future__ import annotations

import math

from pecli.encodings.shared.deferred import Floats, dd, lessons, np
from pecli.encodings.shared.parameters import Dim
from pecli.spec.declaration import Facts, Family, encoding
from pecli.spec.hooks import Step, decimal_text, joined
from pecli.spec.plans import Values


@encoding(
    family=Family.NONE,
    title="NoPE",
    facts=Facts(unique=False, multi_scale=False),
    example="none:dim=4",
    place=1,
    hooks={"lesson": ":lesson"},
)
def none(*, dim: Dim) -> Values:
    """All zeros (NoPE): order comes only from the causal mask.

    Formula
    -------
    pe(p, i) = 0

    Source
    ------
    Haviv et al. 2022, arXiv:2203.16634
    Kazemnejad et al. 2023, arXiv:2305.19466

    Used by
    -------
    layers of Llama 4, SmolLM3, Cohere2; Jamba, Mamba

    Use it
    ------
    in some layers of a causal decoder whose other layers have positions

    Not
    ---
    without a causal mask: the order is lost

    Not recognised
    --------------
    zeros are also what nobody filled in
    """

    def at(points: dd.Points) -> Floats:

        return np.zeros((len(points), dim))

    return Values(dim, at)


WORDS = ("dog", "bites", "man")

TOKENS = ((1.0, 0.0), (0.5, 1.0), (0.0, 2.0))

ORDER = (2, 1, 0)


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Show that attention is permutation-equivariant, and that a causal mask breaks it."""
    tokens = np.array(TOKENS)
    swapped = tokens[list(ORDER)]
    words = [WORDS[i] for i in ORDER]
    causal, other = _attention(tokens, causal=True), _attention(swapped, causal=True)
    changed = float(np.abs(other - causal[list(ORDER)]).max())
    logits = [float(v) for v in tokens[0] @ tokens.T]
    powers = " + ".join(decimal_text(math.exp(v)) for v in logits)
    weights = _weights(tokens, causal=False)[0].tolist()
    alone = [
        f"queries, keys and values are the tokens themselves; logits for {WORDS[0]}: {joined(logits)}",
        f"softmax: e^logit over {powers} = {decimal_text(sum(map(math.exp, logits)))}: {joined(weights)}",
    ]
    same = (
        "each token keeps its output: outputs move with their tokens (attention is permutation-equivariant), "
        "so nothing shows who bites whom"
    )
    differs = f"the same token now gets a different output, by up to {decimal_text(changed)}: a decoder needs no table"
    return [
        Step("three tokens", [lessons.rows_table("token", WORDS, tokens)]),
        Step("one attention", [*alone, lessons.rows_table("output", WORDS, _attention(tokens))]),
        Step(
            f"the tokens reordered: {' '.join(words)}", [lessons.rows_table("output", words, _attention(swapped)), same]
        ),
        Step(
            "a causal mask breaks it",
            [
                f"each token sees itself and those before it; {' '.join(WORDS)}, then {' '.join(words)}",
                lessons.rows_table("output", WORDS, causal),
                lessons.rows_table("output", words, other),
                differs,
            ],
        ),
    ]


def _weights(tokens: Floats, *, causal: bool) -> Floats:
    """Return the softmax of the tokens' products, row by row."""
    logits = tokens @ tokens.T
    if causal:
        logits = np.where(np.tri(len(tokens), dtype=bool), logits, -np.inf)
    size = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(size / size.sum(axis=1, keepdims=True))


def _attention(tokens: Floats, *, causal: bool = False) -> Floats:
    """Return the attention output of each token."""
    return np.asarray(_weights(tokens, causal=causal) @ tokens)
