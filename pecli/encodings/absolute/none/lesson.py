"""Attention without positions on the board: tokens exchanged, outputs exchange with them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pecli.declare.board import Step, joined, three
from pecli.encodings.shared.lessons import Exercise, rows_table

Matrix = NDArray[np.float64]

WORDS = ("dog", "bites", "man")
TOKENS = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
ORDER = (2, 1, 0)


def steps(exercise: Exercise) -> list[Step]:
    """Show that attention alone does not see the order of its tokens, and what breaks that."""
    turned = TOKENS[list(ORDER)]
    words = [WORDS[i] for i in ORDER]
    causal, other = _attention(TOKENS, causal=True), _attention(turned, causal=True)
    changed = float(np.abs(other - causal[list(ORDER)]).max())
    logits = [float(v) for v in TOKENS[0] @ TOKENS.T]
    powers = " + ".join(three(math.exp(v)) for v in logits)
    weights = _weights(TOKENS, causal=False)[0].tolist()
    alone = [
        f"queries, keys and values are the tokens themselves; logits of {WORDS[0]}: {joined(logits)}",
        f"softmax: e^logit over {powers} = {three(sum(map(math.exp, logits)))}: {joined(weights)}",
    ]
    same = (
        "each token has the output that it had: outputs move with their tokens (attention is "
        "permutation-equivariant), and who bites whom cannot be told"
    )
    differs = f"the same token has another output now, by up to {three(changed)}: a decoder needs no table"
    return [
        Step("three tokens", [rows_table("token", WORDS, TOKENS)]),
        Step("one attention", [*alone, rows_table("output", WORDS, _attention(TOKENS))]),
        Step(f"the tokens exchanged, {' '.join(words)}", [rows_table("output", words, _attention(turned)), same]),
        Step(
            "a causal mask breaks it",
            [
                f"each token sees itself and those before it; {' '.join(WORDS)}, then {' '.join(words)}",
                rows_table("output", WORDS, causal),
                rows_table("output", words, other),
                differs,
            ],
        ),
    ]


def _weights(tokens: Matrix, *, causal: bool) -> Matrix:
    """Return the softmax of the tokens' products, row by row."""
    logits = tokens @ tokens.T
    if causal:
        logits = np.where(np.tri(len(tokens), dtype=bool), logits, -np.inf)
    size = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights: Matrix = size / size.sum(axis=1, keepdims=True)
    return weights


def _attention(tokens: Matrix, *, causal: bool = False) -> Matrix:
    """Return what each token sees of the others."""
    found: Matrix = _weights(tokens, causal=causal) @ tokens
    return found
