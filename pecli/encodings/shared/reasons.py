"""Why encodings are as they are: the answers that belong to all of a family, and those that several share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pecli.declare.encoding import Encoding, Family
from pecli.declare.guidance import Reason

WIDTH = 512  # of the figures below: the first Transformer's


def reasons(encoding: Encoding) -> list[Reason]:
    """Return what can be asked of an encoding: its own answers (hook `why`), then those of its family.

    Parameters
    ----------
    encoding : Encoding

    Returns
    -------
    list of Reason
    """
    own: Sequence[Reason] = encoding.hook("why")() if encoding.declares("why") else ()
    return [*own, *_OF_FAMILY.get(encoding.family, list)()]


def added(*, scaled: bool = False) -> list[Reason]:
    """Return the answers of what is added to the embeddings of a text; `scaled`: where those are multiplied first.

    That 512 rows of a sinusoid fill 109 of 512 directions to 99 % is measured by the tests.
    """
    row = math.sqrt(WIDTH / 2)
    answers = [
        Reason(
            "Why add it, and not write it beside the embedding?",
            "Added, the width stays, and a projection W sees both: W(e + p) = W e + W p. Written beside, W needs "
            "rows for both: twice as many at equal widths. There is room for both in one vector: 512 sinusoidal "
            f"rows of width {WIDTH} lie, to 99 % of their squared length, in 109 of the {WIDTH} directions.",
            "apply sinusoidal:dim=4 --vector 0.2,0.5,0.1,0 --positions 1 --steps",
        ),
        Reason(
            "Why are embeddings multiplied by sqrt(dim) first?",
            "It balances the two lengths. Embeddings drawn with variance 1/dim are about 1 long; a sinusoidal row is "
            f"sqrt(dim/2) long, {row:.4g} at dim {WIDTH}, for each pair has sin^2 + cos^2 = 1. Times sqrt(dim) the "
            f"embedding is about {math.sqrt(WIDTH):.4g} long, and the word outweighs its place.",
            "apply sinusoidal:dim=4 --vector 0.2,0.5,0.1,0 --positions 1 --input-scale sqrt --steps",
        ),
        Reason(
            "Is it added again in each layer?",
            "Usually once, below the first: what is added stays in the sum that every layer passes on. DETR adds its "
            "own to queries and keys of each layer.",
        ),
        Reason(
            "Do encoder and decoder both take positions?",
            "Yes: each stack adds them to its own input, from 0 on. A decoder could count keys under its causal mask; "
            "an encoder, which sees all at once, knows no order without them.",
            "inspect none --steps",
        ),
        Reason(
            "Does it replace the mask of padding?",
            "No. Padded tokens get a position like any other; the attention mask is what keeps them out.",
        ),
    ]
    return answers if scaled else [a for a in answers if "sqrt" not in a.question]


def norm_kept() -> Reason:
    """Return what holds of the length of a vector that is turned and nothing else."""
    return Reason(
        "Does turning change how long a vector is?",
        "No: a rotation keeps the norm.",
        "inspect rope:dim=8,len=16 --properties",
    )


def of_content() -> Reason:
    """Return why a table that depends on content is not made beforehand."""
    return Reason(
        "Can its table be made beforehand?",
        "No: its values depend on the content. Give the content as a file, and the table is that of this content.",
    )


def _rotary() -> list[Reason]:
    return [
        Reason(
            "Why are queries and keys turned, and values not?",
            "Order is needed where tokens are matched: the angle between query m and key n is then that of n - m. "
            "The output is a sum of values; turned values would carry their absolute positions into it, and it would "
            "have to be turned back by each query.",
            "inspect rope:dim=4 --steps",
        ),
    ]


def _bias() -> list[Reason]:
    return [
        Reason(
            "Why a number on the logit, and not a vector on the token?",
            "A bias speaks where weights are made: added before the softmax, b multiplies a key's weight by e^b. "
            "Nothing is added to the embedding, so values carry content alone.",
            "inspect alibi:heads=8 --steps",
        ),
        Reason(
            "Is the distance i - j or j - i?",
            "Texts differ. Here a bias that falls with the distance takes its absolute value, and where the side "
            "counts the formula says which: T5's distance is key - query, that of image windows query - key.",
        ),
    ]


def _relative() -> list[Reason]:
    return [
        Reason(
            "Is the distance i - j or j - i?",
            "Both are in use: Shaw's vector is that of key - query, DeBERTa's and Transformer-XL's that of query - "
            "key. Taking one for the other exchanges what is before with what is after.",
        ),
        Reason(
            "What does it cost?",
            "A product of the query with a vector for each key, beside the product with the key itself, and it cannot "
            "be cached with the key: each query meets it at another distance.",
        ),
    ]


_OF_FAMILY: Mapping[Family, Callable[[], list[Reason]]] = {
    Family.ROTARY: _rotary, Family.BIAS: _bias, Family.RELATIVE: _relative,
}  # fmt: skip
