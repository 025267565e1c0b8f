"""The sinusoid of a position."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import lessons, np
from pecli.encodings.shared.parameters import SPACING, Base, Dim, below_half, conventions
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.declaration import GIVEN, Facts, Family, Param, encoding
from pecli.spec.hooks import Equation, Matrix, SmallTable, Step, joined, off_by, short
from pecli.spec.plans import Band, Waves

Order = Literal["interleaved", "sin-cos", "cos-sin"]
Odd = Literal["error", "truncate", "pad", "round-up"]


@encoding(
    family=Family.ABSOLUTE,
    title="Sinusoidal",
    facts=Facts(relative="rotation"),
    example="sinusoidal:dim=4",
    place=1,
    hooks={
        "identify_waves": ".identify:identify",
        "layout": ".identify:layout",
        "differences": ".identify:differences",
        "mistakes": ".identify:mistakes",
        "lesson": ":lesson",
    },
    presets=(conventions("absolute", "sinusoidal"), SPACING),
)
def sinusoidal(
    *,
    dim: Dim,
    base: Annotated[Base, Param(when=("max_timescale", (None,)))] = Decimal(10000),
    order: Order = "interleaved",
    shift: Annotated[Decimal, Param(ge=0, when=("max_timescale", (None,)))] = Decimal(0),
    max_timescale: Annotated[Decimal | None, Param(gt=0, le=1e30)] = None,
    min_timescale: Annotated[Decimal, Param(gt=0, le=1e30, when=("max_timescale", GIVEN))] = Decimal(1),
    scale: Annotated[Decimal, Param(ge=1e-12, le=1e12)] = Decimal(1),
    turns: bool = False,
    amplitude: Annotated[Decimal, Param(ge=1e-30, le=1e30)] = Decimal(1),
    odd: Odd = "error",
    pad_row: int | None = None,
) -> Waves:
    """Sines and cosines of geometrically spaced frequencies.

    Position p rotates pair i by p w_i radians, so shifting the position is one
    rotation per pair, the same at every position.

    Formula
    -------
    w_i = base^(-i / (dim/2 - shift)), i = 0 .. dim/2 - 1; the paper has shift 0
    pe(p, 2i) = sin(p w_i)
    pe(p, 2i+1) = cos(p w_i)
    with max-timescale b and min-timescale a: w_i = a (b/a)^(-i / (dim/2 - 1))

    Parameters
    ----------
    base
        Base of the frequencies.
    order
        Columns: sin and cos alternate, all sines first, or all cosines first.
    shift
        Exponent of frequency i is i / (dim/2 - shift).
    max_timescale
        Longest time scale; the last frequency is min-timescale/max-timescale of the first.
    min_timescale
        Shortest time scale: multiplies every frequency (tensor2tensor).
    scale
        Multiplies the position.
    turns
        Frequencies are in turns per position: angles are 2 pi p w_i (MLX's full_turns).
    amplitude
        Multiplies every value.
    odd
        Odd dim: refuse it, drop the last cosine, append a zero column, or cut a table of dim + 1 columns.
    pad_row
        Position of an all-zero row (fairseq's padding: 1).

    Source
    ------
    Vaswani et al. 2017, arXiv:1706.03762, section 3.5

    Used by
    -------
    Transformer, tensor2tensor, fairseq, Marian, Pegasus, XLM, CTRL, Whisper, M2M100, MusicGen, TimesFM, diffusion time
    steps

    Use it
    ------
    for a first model: nothing to train, and only the width to choose

    Not
    ---
    where texts get much longer than in training
    """
    if dim % 2 and odd == "error":
        near = f"{dim - 1} or {dim + 1}" if dim > 1 else "2"
        rule = f"must be even: use {near}, or odd=truncate{', pad' if dim > 1 else ''} or round-up"
        raise BadParameter("dim", dim, rule)
    if dim == 1 and odd == "pad":
        raise BadParameter("odd", odd, "leaves no column at dim=1, whose last one is zero: use a wider dim")
    wide, half = exponents(dim, odd)
    if max_timescale is None:
        frequencies = geometric(base, 1 / (half - below_half(shift, half, f"dim={dim}")), wide)
        factor = scale
    else:
        ratio = CONTEXT.divide(max_timescale, min_timescale)
        frequencies = geometric(ratio, Fraction(1, max(1, wide - 1)), wide)
        factor = CONTEXT.multiply(scale, min_timescale)
    if factor != 1:
        frequencies = tuple(CONTEXT.multiply(w, factor) for w in frequencies)
    sin, cos = _columns(dim - dim % 2 if odd == "pad" else dim, order, odd)
    blank = () if pad_row is None else (pad_row,)
    return Waves(dim, (Band(frequencies, sin, cos, turns=turns, magnitude=amplitude),), blank=blank)


def exponents(dim: int, odd: Odd) -> tuple[int, Fraction]:
    """Return the number of frequencies, and the half that exponents divide by."""
    if dim % 2 == 0 or odd == "pad":
        return dim // 2, Fraction(dim // 2)
    return dim // 2 + 1, Fraction(dim, 2) if odd == "truncate" else Fraction(dim + 1, 2)


def _columns(width: int, order: Order, odd: Odd) -> tuple[slice, slice]:
    """Return the columns of sines and cosines.

    An odd width has lost a cosine (truncate), or the last column (round-up), which is a sine
    where the cosines come first: [c0 c1 | s0 s1] cut to [c0 c1 | s0].
    """
    if order == "interleaved":
        return slice(0, width, 2), slice(1, width, 2)
    more, fewer = -(-width // 2), width // 2
    if order == "sin-cos":
        return slice(0, more), slice(more, width)
    cosines = more if odd == "round-up" else fewer
    return slice(cosines, width), slice(0, cosines)


CHECKED_POSITIONS = 64  # positions at which a property is checked


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out a sinusoid, and what a shift does to it."""
    plan, found = exercise.plan, exercise.of_family()
    every = lessons.pairs_of(plan)
    whole = [p for p in every[: lessons.PAIRS] if p.sin is not None and p.cos is not None]
    if whole and not plan.blank:
        found += [_shift(exercise, whole, exercise.at((0, 1, 2))), *_differences(exercise)]
        if all(p.sin is not None and p.cos is not None for p in every):
            found.append(_products(exercise))
    return found


def _shift(exercise: lessons.Exercise, pairs: Sequence[lessons.Pair], at: Sequence[Fraction]) -> Step:
    """Show M_k with PE(p + k) = M_k PE(p): the same at every position."""
    p, k = (at[0], at[1] - at[0]) if len(at) > 1 else (at[0], Fraction(1))
    sampled = [p + j for j in range(CHECKED_POSITIONS)]
    before = exercise.arrays(sampled)["pe"]
    after = exercise.arrays([t + k for t in sampled])["pe"]
    items: list[str | Equation | SmallTable] = [
        "each pair is rotated by k w_i radians, so one matrix takes every row to the row k further:",
        "M_k = [ cos(k w_i)  sin(k w_i); -sin(k w_i)  cos(k w_i) ] on (sin, cos)",
    ]
    worst = 0.0
    name, last = text_of(k), len(sampled) // 2
    for i, pair in enumerate(pairs):
        c, s = math.cos(float(k) * pair.frequency), math.sin(float(k) * pair.frequency)
        columns = np.array([pair.sin, pair.cos], np.int64)
        matrix = np.array([[c, s], [-s, c]])
        worst = max(worst, float(np.abs(before[:, columns] @ matrix.T - after[:, columns]).max()))
        for row in (0, last) if i == 0 else (0,):
            terms: list[Matrix | str] = [
                Matrix(f"M_{name}, w_{pair.index}", matrix.tolist()),
                Matrix(f"PE({text_of(sampled[row])})", before[row, columns][:, None].tolist()),
                "=",
                Matrix(f"PE({text_of(sampled[row] + k)})", after[row, columns][:, None].tolist()),
            ]
            items.append(Equation(terms))
    where = f"{text_of(sampled[0])} to {text_of(sampled[-1])}"
    items.append(f"checked at positions {where}: the largest difference is {off_by(worst)}")
    return Step(f"the relative property, PE(p + k) = M_k PE(p), here with k = {name}", items)


def _differences(exercise: lessons.Exercise) -> Iterator[Step]:
    """Show that differences of rows are not alike, where they are not: whole turns make no difference."""
    zero, five, ten = exercise.arrays([Fraction(p) for p in (0, 5, 10)])["pe"]
    if np.allclose(five - zero, ten - five):
        return
    lines = [
        f"PE(5) - PE(0)  = {joined((five - zero)[:4])}",
        f"PE(10) - PE(5) = {joined((ten - five)[:4])}",
        "the distances are equal, the differences are not: equal distances share the matrix M_k",
    ]
    yield Step("what does not hold", lines)


def _products(exercise: lessons.Exercise) -> Step:
    """Show that the product of two rows depends on their distance."""
    at = [Fraction(p) for p in (0, 1, 10, 100)]
    rows, further = (exercise.arrays([p + k for p in at])["pe"] for k in (0, 3))
    products = np.einsum("ij,ij->i", rows, further)
    grid = SmallTable(
        ["p", "PE(p) . PE(p + 3)"], [[text_of(p), float(v)] for p, v in zip(at, products, strict=True)], None
    )
    size = float(exercise.recipe.keys().get("amplitude", "1")) ** 2
    times = "" if size == 1 else f"{short(size)} times "
    note = f"sin a sin b + cos a cos b = cos(a - b): {times}a sum of cos(3 w_i), whatever p is"
    return Step("the product of two rows depends on their distance", [grid, note])
