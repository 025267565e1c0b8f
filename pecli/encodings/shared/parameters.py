"""Parameters that several encodings share, each written once, and the frequencies that follow from them."""

from __future__ import annotations

import pkgutil
import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric, power
from pecli.spec.declaration import Param, Preset
from pecli.spec.plans import Frequency

WIDEST = 1 << 16  # columns: more than any model has, and each takes some hundred digits to work out
MODEL_WIDTH = ("d-model", "hidden-size", "embed-dim")  # what other programs call the width of an absolute table
NO_HEAD = (("head-dim", "is the width of one attention head: give dim=, the model's width"),)
HEAD_WIDTH = ("head-dim",)  # of a rotary table
HEAD_COUNT = ("n-heads", "num-heads", "n-head", "num-attention-heads")
NO_MODEL = (
    *((word, "is the width of the model: give head-dim=, that width over the number of heads") for word in MODEL_WIDTH),
    *((word, "is no part of the table: give head-dim=, the model's width over that number") for word in HEAD_COUNT),
)
THETA = ("theta", "rope-theta")
Dim = Annotated[int, Param("Width of each vector.", ge=1, le=WIDEST, names=MODEL_WIDTH, wrong=NO_HEAD, usual="512")]
HeadDim = Annotated[
    int,
    Param("Width of one attention head.", ge=2, le=WIDEST, even=True, names=HEAD_WIDTH, wrong=NO_MODEL, usual="128"),
]
Base = Annotated[Decimal, Param("Base of the frequencies, theta.", ge=1e-6, le=1e30, names=THETA)]
Heads = Annotated[int, Param("Number of attention heads.", ge=1, le=1 << 12, names=HEAD_COUNT, usual="8")]
WeightHeads = Annotated[
    int | None,
    Param(
        "Number of heads (default: that of the weights; without either, only what all heads share).",
        ge=1,
        le=1 << 12,
        names=HEAD_COUNT,
    ),
]
Seed = Annotated[int, Param("Seed of the random values.", ge=0, lt=1 << 64)]
MAX_LEN = ("max-position-embeddings", "max-positions", "n-positions", "max-seq-len", "num-embeddings")
VectorDim = Annotated[
    int, Param("Width of each vector: that of one attention head.", ge=1, le=WIDEST, names=HEAD_WIDTH, wrong=NO_MODEL)
]
MaxLen = Annotated[
    int | None, Param("Rows of the whole table (default: this table's length).", ge=1, lt=1 << 53, of_table="length")
]

Factor = Annotated[
    Decimal, Param("Ratio of the new context length to the old.", gt=0, le=1e9, names=("scaling-factor", "alpha"))
]
MaxPosition = Annotated[
    int,
    Param(
        "Maximum length of the unscaled model (dynamic) or of the extended model (longrope).",
        ge=1,
        count=True,
        names=("max-position-embeddings",),
    ),
]
SeqLen = Annotated[int, Param("Length of the longest sequence (default: last position + 1).", ge=1, of_table="last")]
OriginalMax = Annotated[
    int,
    Param(
        "Context length of the original training.",
        ge=1,
        count=True,
        names=("original-max-position-embeddings", "original-max-position", "original-len"),
    ),
]
AttentionFactor = Annotated[
    Decimal, Param("Attention factor: multiplies cos and sin, instead of the computed value.", ge=0, le=1e9)
]


Channels = Annotated[int | None, Param("Required number of channels of the content (default: any).", ge=1, le=WIDEST)]
Content = Annotated[
    str, Param("Content, a row of numbers for each position: a file (npy, text ..), or a recipe.", metavar="SOURCE")
]


Shift = Annotated[Decimal, Param("Frequency k of m is base^(-k / (m - shift)).", ge=0)]
SPACING = Preset(
    "Frequencies from 1 down to, but not including, 1/base (paper), or to 1/base itself (endpoint).",
    {"paper": {"shift": "0"}, "endpoint": {"shift": "1"}},
    "spacing",
)


def conventions(folder: str, name: str) -> Preset:
    """Return the preset of an encoding's section in ``conventions.md`` of its family's folder."""
    page = (pkgutil.get_data("pecli.encodings", f"{folder}/conventions.md") or b"").decode()
    text, _, rows = page.partition(f"\n## {name}\n\n")[2].partition("\n## ")[0].partition("\n\n")
    sets: dict[str, dict[str, object]] = {}
    for word, given in re.findall(r"^\| (\S+) \| (?:(.*) )?\|$", rows, re.MULTILINE)[1:]:
        items = (item.split("=") for item in given.split(", ") if item)
        sets[word] = {key.replace("-", "_"): value for key, value in items}
    return Preset(text, sets)


def below_half(shift: Decimal, half: Fraction, of: str) -> Fraction:
    """Return the shift, once the exponent i / (half - shift) has a positive denominator."""
    if half == shift:
        rule = f"divides by {half} - {shift} = 0 at {of}: use a wider dim{' or shift=0' if shift else ''}"
        raise BadParameter("shift", shift, rule)
    if half < shift:
        raise BadParameter("shift", shift, f"must lie below {half} at {of}: the exponent is i / ({half} - shift)")
    return Fraction(shift)


def share(dim: int, parts: int, why: str) -> int:
    """Return dim / parts; an error names the nearest widths where it is not whole."""
    if dim % parts:
        low = dim // parts * parts
        near = f"{low} or {low + parts}" if low else str(parts)
        raise BadParameter("dim", dim, f"must be a multiple of {parts} ({why}): use {near}")
    return dim // parts


def series(base: Decimal, count: int, shift: Decimal, dim: int) -> tuple[Decimal, ...]:
    """Return `count` frequencies of one side, radians per unit of its coordinate."""
    return geometric(base, 1 / (count - below_half(shift, Fraction(count), f"dim={dim}")), count)


def half_frequencies(top: Decimal, count: int, spacing: str) -> tuple[Frequency, ...]:
    """Return half the frequencies from 1 to `top`: sin(pi f x) makes f/2 turns a unit."""
    gaps = max(1, count - 1)
    if spacing == "linear":
        return tuple((1 + k * (Fraction(top) - 1) / gaps) / 2 for k in range(count))
    return tuple(Fraction(power(top, Fraction(k, gaps))) / 2 for k in range(count))
