"""What was done to queries and keys instead of rotating them as expected, and where.

Known slips of a kernel are tried first: each is what a kernel does to some vectors, and is a finding only if it gives
the values at hand, every one.  Then the rotation is measured: for each position and pair the number z = y / x that all
vectors share.  If it gives all values, its real and imaginary parts are a table of cosines and sines, and how that
differs from the expected one is the finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.compare import compare
from pecli.judge.identify import identify
from pecli.judge.located import MAX_SINGLE, ArrayPair, ComputedRows, located, place
from pecli.judge.orders import plural, span, units_from
from pecli.judge.planes import effective_dtype, rounded, unit
from pecli.numbers.decimals import shortest
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.positions import Positions
from pecli.numbers.printing import at_least, figure
from pecli.numbers.rounding import narrow
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Finding
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Points = tuple[Floats, Floats]
Kernel = Callable[[Integers], Floats]
"""Outputs of some vectors, by their numbers."""

ROUNDINGS = 8.0  # of the outputs' type that a kernel may make: cos, sin, two products, their sum, each in a narrow type
MAX_TRIED = 192  # vectors that a kernel is tried on before it is tried on all
BLOCK_VALUES = 1 << 20  # values rotated at once
MIN_PAIRED = 0.98  # share of the pairs whose lengths the pairing must keep; the others are near 0
MAX_FACTOR_ERROR = {"float64": 2.0**-20, "float32": 2.0**-16, "float16": 2.0**-8, "bfloat16": 2.0**-6}
"""Relative error of a measured factor, in each type of the outputs."""
COARSER = {"float64": "float16", "float32": "float16", "float16": "bfloat16", "bfloat16": "bfloat16"}
"""Type that cosines and sines measured from outputs of a type are rounded to, which hides the outputs' own rounding."""
MAX_NAMED = 3  # indices that a place lists
UNSAID = ("place", "rounding", "type", "value", "rest", "random", "identity", "expected")
"""Kinds of findings about measured cosines that say nothing of a kernel."""
UNNAMED = "other frequencies"  # of no rule that was found; a base that gives every value says more
PLAIN = ("dim", "base", "rotary-dim", "partial", "sections", "section-order")  # keys that are no part of a scaling
PAIRINGS = (("half", "half"), ("interleaved", "interleaved"), ("half", "interleaved"), ("interleaved", "half"))
WORDS = {"half": "half-split", "interleaved": "interleaved"}


def columns(width: int, pairing: str) -> tuple[Integers, Integers]:
    """Return the columns of the first and second members of the pairs."""
    k = np.arange(width // 2)
    return (k, k + width // 2) if pairing == "half" else (2 * k, 2 * k + 1)


@dataclass(frozen=True)
class RotationSource:
    """Cosines and sines by position: of a recipe, or of stored rows.

    Attributes
    ----------
    recipe : (str, mapping), optional
        Name of the encoding and its keys as text.
    rows : (positions, cos, sin), optional
        Where there is no recipe.
    known : dict
        What was computed.
    """

    recipe: tuple[str, Mapping[str, str]] | None
    rows: tuple[Integers, Floats, Floats] | None = None
    known: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    def table(
        self, positions: Positions, dtype: str = "float64", changed: Mapping[str, str | None] | None = None
    ) -> Tabular:
        """Return the table of whole positions, with some keys of the recipe changed.

        Raises
        ------
        PecliError
            If there is none.
        """
        if self.recipe is not None:
            name, given = self.recipe
            keys = {key: value for key, value in {**given, **(changed or {})}.items() if value is not None}
            take_table_keys(name, keys)
            return Table.make(Recipe.bind(name, **keys), positions=positions, dtype=dtype, layout="split")
        if self.rows is None or changed:
            raise PecliError("no recipe")
        known, c, s = self.rows
        wanted = np.asarray(positions.numbers(0, positions.count), np.int64)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        if (known[at] != wanted).any():
            raise PecliError("positions outside the table")
        return InMemory({"cos": c[at].astype(dtype), "sin": s[at].astype(dtype)})

    def points(self, positions: Integers, changed: Mapping[str, str | None] | None = None) -> Points:
        """Return cosines and sines (n, pairs) of positions (n,)."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        key = distinct.tobytes(), *(changed or {}).items()
        if key not in self.known:
            table = self.table(Positions.listed(distinct.tolist()), "float64", changed)
            self.known[key] = tuple(np.asarray(table.read(part)) for part in ("cos", "sin"))
        c, s = (part[inverse] for part in self.known[key])
        return c, s


@dataclass(frozen=True)
class AppliedRotation:
    """Vectors before and after a rotation, and what was to be done.

    Attributes
    ----------
    x, y, right : (batches, heads, rows, width) float64 ndarray
        Inputs, outputs, and the exact outputs.
    positions : (rows,) or (batches, rows) int64 ndarray
    pairs : (str, str)
        Pairing taken from the input and given to the output: "half" or "interleaved".
    rotary : int
        Columns that are rotated, the first ones.
    dtype : str
        Type of the outputs.
    source : RotationSource
    heads : int
        The most heads that one of the tensors has: the queries'.
    axes : str
        Those of the tensor itself, letters of "bhsd" (or t for s), so that places are written as in it.
    """

    x: Floats
    y: Floats
    right: Floats
    positions: Integers
    pairs: tuple[str, str]
    rotary: int
    dtype: str
    source: RotationSource
    heads: int
    axes: str = "bhsd"

    @cached_property
    def index(self) -> tuple[Integers, Integers, Integers]:
        """Batch, head and row of every vector."""
        b, h, n = np.unravel_index(np.arange(math.prod(self.x.shape[:3])), self.x.shape[:3])
        return b, h, n

    @cached_property
    def at(self) -> Integers:
        """Position of every vector."""
        b, _, n = self.index
        return self.positions[n] if self.positions.ndim == 1 else self.positions[b % len(self.positions), n]

    @cached_property
    def flat(self) -> tuple[Floats, Floats, Floats]:
        """Inputs, outputs and exact outputs, a vector a row."""
        x, y, right = (values.reshape(-1, values.shape[-1]) for values in (self.x, self.y, self.right))
        return x, y, right

    @cached_property
    def sample(self) -> Integers:
        """Numbers of some vectors, spread over all."""
        count = len(self.at)
        return np.unique(np.linspace(0, count - 1, min(count, MAX_TRIED)).astype(np.int64))

    def turned(
        self, v: Integers, *, at: Integers | None = None, pairs: tuple[str, str] | None = None, times: int = 1,
        points: Callable[[Floats, Floats], Points] | None = None, changed: Mapping[str, str | None] | None = None,
        among: Integers | None = None,
    ) -> Floats:  # fmt: skip
        """Return vectors rotated at other positions, in other pairs, several times, by other cosines and sines."""
        x = self.flat[0][v] if among is None else self.flat[0][v][:, among]
        c, s = self.source.points((self.at if at is None else at)[v], changed)
        for _ in range(times):
            x = rotate(x, (c, s) if points is None else points(c, s), pairs or self.pairs)
        return x if among is None else x[:, np.argsort(among)]

    def allowed(self, vectors: Integers, made: Floats) -> Floats:
        """Return how far each value may be from the exact one: by angles in float32 and some roundings of its pair."""
        x = self.flat[0][vectors]
        size = np.maximum(np.abs(made), np.abs(x))
        for pairing in ("half", "interleaved"):
            first, second = columns(self.rotary, pairing)
            for values in (made, x):
                norm = np.hypot(values[:, first], values[:, second])
                size[:, first], size[:, second] = np.maximum(size[:, first], norm), np.maximum(size[:, second], norm)
        angle = 2 * GRIDS["float32"].rounding * float(np.abs(self.at).max(initial=0))
        return size * (angle + ROUNDINGS * GRIDS[self.dtype].rounding)

    def gives(self, kernel: Kernel) -> bool:
        """Tell whether these are the outputs, every one."""
        step = max(1, BLOCK_VALUES // self.x.shape[-1])
        blocks = (np.arange(k, min(k + step, len(self.at))) for k in range(0, len(self.at), step))
        for vectors in (self.sample, *blocks) if len(self.at) > len(self.sample) else (self.sample,):
            values = kernel(vectors)
            if not (np.abs(self.flat[1][vectors] - values) <= self.allowed(vectors, values)).all():
                return False
        return True

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Which values are not as expected."""
        allowed = self.allowed(np.arange(len(self.at)), self.flat[2])
        return ~(np.abs(self.flat[1] - self.flat[2]) <= allowed).reshape(self.x.shape)


def faults(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return what was done instead and where, or that only rounding differs."""
    with np.errstate(all="ignore"):
        held = effective_dtype(applied.flat[1][applied.sample], applied.dtype)
        rough = f", and rounded to {held}" if held != applied.dtype else ""
        applied = replace(applied, dtype=held)
        if not applied.wrong.any():
            return [_rounding(applied, name, rough)]
        for part, where in ((applied, ""), _part(applied)):
            for said in _done(part) if part is not None else ():
                return [Finding("rotation", f"{name}: {where}{said}{rough}")]
        return _elsewhere(applied, name)


def _done(applied: AppliedRotation) -> Iterator[str]:
    """Yield what was done to all vectors."""
    yield from _given(applied, kernels(applied))
    measured = list(_measured(applied))
    yield from (text for text in measured if UNNAMED not in text)
    yield from _given(applied, _bases(applied))
    yield from measured


def _given(applied: AppliedRotation, tried: Iterator[tuple[str, Kernel]]) -> Iterator[str]:
    for text, kernel in tried:
        try:
            if applied.gives(kernel):
                yield text
        except PecliError:  # positions or widths that the source does not have
            continue


def _elsewhere(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return the place and kind of the wrong values, without the rounding of the right vectors."""
    wrong, count = np.any(applied.wrong, axis=3, keepdims=True), int(applied.wrong.sum())
    axes = tuple({"b": "batch", "h": "head"}.get(letter, "position") for letter in applied.axes)

    def array(values: Floats) -> ComputedRows:
        given = rounded(as_given(values, applied.axes), applied.dtype)
        rows = given.reshape(-1, given.shape[-1])
        return ComputedRows(name, given.shape, applied.dtype, lambda a, b: rows[a:b], max(1, given.ndim - 1), axes)

    right = array(applied.right)
    found = located(
        [array(np.where(applied.wrong if count <= MAX_SINGLE else wrong, applied.y, applied.right))], [right]
    )
    if found[0].kind != "place":
        return [one for one in found if one.kind != "rounding"]
    return [place(ArrayPair(array(np.where(applied.wrong, applied.y, applied.right)), right))]


def as_vectors(values: Floats, axes: str) -> Floats:
    """Return a tensor with the axes batch, head, row and column, of length 1 where it has none."""
    axes = axes.replace("t", "s")
    moved = values.transpose([axes.index(letter) for letter in "bhsd" if letter in axes])
    return np.expand_dims(moved, [k for k, letter in enumerate("bhsd") if letter not in axes])


def as_given(values: Floats, axes: str) -> Floats:
    """Return what `as_vectors` was given."""
    axes = axes.replace("t", "s")
    kept = values.squeeze(tuple(k for k, letter in enumerate("bhsd") if letter not in axes))
    own = [letter for letter in "bhsd" if letter in axes]
    return np.ascontiguousarray(kept.transpose([own.index(letter) for letter in axes]))


def _rounding(applied: AppliedRotation, name: str, rough: str) -> Finding:
    """Say that the outputs are right."""
    off = np.abs(applied.y - applied.right)
    most, units = float(off.max()), int(np.ceil((off / unit(applied.right, applied.dtype)).max() - 0.5))
    what = f"the outputs are rounded to {applied.dtype}" if rough else f"{applied.dtype} rounding"
    cancelled = f" ({units} ulp, where two products cancel)" if units > 4 else ""
    text = f"{name}: {what}, at most {figure(most, 1)}{cancelled}: the rotation is right"
    return Finding("rounding", f"{text}; --atol {at_least(most, 1)} accepts it")


def _part(applied: AppliedRotation) -> tuple[AppliedRotation | None, str]:
    """Return the batches, heads and rows in which all wrong values lie, and the words for them."""
    wrong: NDArray[np.bool_] = np.any(applied.wrong, axis=3)
    kept, said = list[Integers](), list[str]()
    for axis, word in enumerate(("batch", "head", "row")):
        at = np.flatnonzero(np.any(wrong, axis=tuple(k for k in range(3) if k != axis)))
        kept.append(at)
        if len(at) < wrong.shape[axis]:
            said.append(_indices(word, at, wrong.shape[axis]))
    if not said or not wrong[np.ix_(*kept)].all():
        return None, ""
    b, _, n = kept
    positions = applied.positions[n] if applied.positions.ndim == 1 else applied.positions[np.ix_(b, n)]
    x, y, right = (values[np.ix_(*kept)] for values in (applied.x, applied.y, applied.right))
    return replace(applied, x=x, y=y, right=right, positions=positions), f"{', '.join(said)}: "


def _indices(word: str, at: Integers, side: int) -> str:
    first, last = int(at[0]), int(at[-1])
    if last - first + 1 == len(at):
        after = word == "row" and last == side - 1 > first
        return units_from(first, word) if after else f"all of {span(first, last, word)}"
    listed = ", ".join(map(str, at[:MAX_NAMED].tolist()))
    return f"all of {plural(word)} {listed}{'' if len(at) <= MAX_NAMED else f', ... ({len(at)} of {side})'}"


def rotate(x: Floats, points: Points, pairs: tuple[str, str]) -> Floats:
    """Return vectors (n, d) whose first pairs are rotated by cosines and sines (n, pairs)."""
    (c, s), out = points, x.copy()
    (a, b), (first, second) = (columns(2 * c.shape[-1], pairing) for pairing in pairs)
    out[:, first], out[:, second] = x[:, a] * c - x[:, b] * s, x[:, a] * s + x[:, b] * c
    return out


# Kernels


def kernels(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield what may have been done instead, in words, and the vectors that it makes."""
    pairs, width = applied.pairs, applied.rotary
    yield "not rotated at all: the outputs are the inputs", lambda v: applied.flat[0][v]
    yield "it was rotated twice", partial(applied.turned, times=2)
    yield "it was rotated three times", partial(applied.turned, times=3)
    for other in PAIRINGS:
        if other != pairs:
            yield _paired(other, pairs), partial(applied.turned, pairs=other)
    factor = _factor(applied)
    if factor is not None:
        yield factor[1], lambda v: factor[0] * applied.flat[2][v]
    for text, points in POINTS.items():
        yield text, partial(applied.turned, points=points)
    for text, positions in _positions(applied):
        yield text, partial(applied.turned, at=positions)
    half, quarter, k = width // 2, width // 4, np.arange(width)
    cosines = {"half": k % half, "interleaved": k // 2}
    partner = {"half": (k + half) % width, "interleaved": k ^ 1}
    minus = {"half": k < half, "interleaved": k % 2 == 0}
    own, block = pairs[0], k // half * half
    moved = f"the partner of column i is i + {quarter} (a quarter of the width), where i + {half} was expected"
    quarters = block + (k - block + quarter) % half
    for text, c, other_column, negative in (
        ("the cosines are repeated pair by pair (interleaved) and used with rotate_half, which takes half-split pairs",
         cosines["interleaved"], partner["half"], minus["half"]),
        ("the cosines are doubled by halves and used with neighbouring (interleaved) pairs",
         cosines["half"], partner["interleaved"], minus["interleaved"]),
        ("the minus sign of the first members is missing: x1 cos + x2 sin", cosines[own], partner[own], k < 0),
        ("the second members have a minus sign: x2 cos - x1 sin", cosines[own], partner[own], k >= 0),
        ("the sine is missing: only x cos was computed", cosines[own], k, None),
        (moved, cosines[own], quarters, k - block < quarter),
        (moved, k % max(1, quarter), quarters, k - block < quarter),
        (moved, cosines[own], (k + quarter) % width, minus["half"]),
        (moved, cosines[own], np.where(k < half, k + quarter, k - quarter), minus["half"]),
    ):  # fmt: skip
        sign = np.zeros(width) if negative is None else np.where(negative, -1.0, 1.0)
        yield text, partial(_mixed, applied, c, other_column, sign, False)
    if applied.x.shape[1] % 2 == 0:
        text = f"the partner of column i is i + {applied.x.shape[-1]}, in the next head"
        yield text, partial(_mixed, applied, cosines["half"], k, np.ones(width), True)
    yield "the first members were overwritten before the second ones were computed", partial(_overwritten, applied)
    yield from _widths(applied)


POINTS: dict[str, Callable[[Floats, Floats], Points]] = {
    "the rotation has the other sense: the sine has the wrong sign": lambda c, s: (c, -s),
    "cos and sin are exchanged": lambda c, s: (s, c),
    "the cosine has the wrong sign": lambda c, s: (-c, s),
    "the sign of both cosine and sine is changed": lambda c, s: (-c, -s),
    "the pairs take the frequencies in reverse order": lambda c, s: (c[:, ::-1], s[:, ::-1]),
    "cosines and sines were rounded to bfloat16": lambda c, s: (rounded(c, "bfloat16"), rounded(s, "bfloat16")),
    "cosines and sines were rounded to float16": lambda c, s: (rounded(c, "float16"), rounded(s, "float16")),
}
"""What becomes of cosines and sines."""


def _positions(applied: AppliedRotation) -> Iterator[tuple[str, Integers]]:
    """Yield other positions of every vector: what kernels count instead."""
    (b, h, n), at, (batches, heads, rows) = applied.index, applied.at, applied.x.shape[:3]
    if at.min() >= 1:
        zero = np.broadcast_to(applied.positions - applied.positions[..., :1], (batches, rows))[b, n]
        yield "positions begin at 0, as those of a first step", zero
    if applied.positions.ndim == 2 and batches > 1:
        yield "every batch has the positions of the first one", applied.positions[0][n]
    yield "every row has position 0, as at each step of a decoder", at * 0
    for by in (1, -1):
        yield f"positions are off by one: row p has position p {'+' if by > 0 else '-'} 1", at + by
    yield "positions count the rows from 0, whatever positions were given", n
    yield "positions run along the heads: a vector of head h has position h", h
    yield "positions run along the batch: a vector of batch b has position b", b
    yield "positions are not reset for each batch: they go on where the last one ended", at + b * rows
    yield "positions run on over heads and rows: head h begins at h times the rows", at + h * rows
    yield "positions count rows and heads together: p times the heads, plus the head", n * heads + h
    yield "positions run backwards", at.max() + at.min() - at
    if heads != applied.heads:
        batch, row = np.divmod(((b * rows + n) * heads + h) // applied.heads, rows)
        counted = applied.positions[row] if applied.positions.ndim == 1 else applied.positions[batch, row]
        yield f"positions count {applied.heads} heads, the queries', where it has {heads}", counted


def _mixed(
    applied: AppliedRotation, cosines: Integers, partner: Integers, sign: Floats, next_head: bool, v: Integers
) -> Floats:
    """Return x cos + partner sin, by these columns of the cosines and of the partners, of the other head of two."""
    odd = applied.index[1][v] % 2
    other = v + applied.x.shape[2] * (1 - 2 * odd) if next_head else v
    out, width = applied.flat[0][v], applied.rotary
    c, s = applied.source.points(applied.at[v])
    turn = sign * np.where(odd, 1.0, -1.0)[:, None] if next_head else sign
    out[:, :width] = out[:, :width] * c[:, cosines] + turn * applied.flat[0][other][:, partner] * s[:, cosines]
    return out


def _overwritten(applied: AppliedRotation, v: Integers) -> Floats:
    x, (c, s), out = applied.flat[0][v], applied.source.points(applied.at[v]), applied.turned(v)
    (_, b), (first, second) = (columns(applied.rotary, pairing) for pairing in applied.pairs)
    out[:, second] = x[:, b] * c + out[:, first] * s
    return out


def _widths(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield rotations of other columns than the first ones expected."""
    whole, width = applied.x.shape[-1], applied.rotary
    if whole > width:
        text = f"the last {width} columns were rotated, and the first {width} were expected"
        yield text, partial(applied.turned, among=np.roll(np.arange(whole), width))
        far = np.concatenate([np.arange(width // 2), np.arange(width // 2) + whole // 2])
        text = f"the partner of column i is i + {whole // 2}, of the head, where i + {width // 2} was expected"
        among = np.concatenate([far, np.setdiff1d(np.arange(whole), far)])
        yield text, partial(applied.turned, among=among, pairs=("half", "half"))
    for rotary in sorted({whole, whole // 2, whole // 4, width // 2} - {width, 0}):
        text = f"{rotary} columns were rotated, and {width} were expected"
        yield text, partial(applied.turned, changed={"dim": str(rotary), "rotary-dim": str(rotary)})
        yield text, partial(applied.turned, changed={"dim": str(rotary), "rotary-dim": None})


def _bases(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield rotations without the scaling, and with the bases of well-known models: few rows tell no frequency."""
    if applied.source.recipe is None:
        return
    name, given = applied.source.recipe
    keys = dict(given)
    take_table_keys(name, keys)
    full = Recipe.bind(name, **keys).keys()
    plain: dict[str, str | None] = {key: None for key in keys if key not in PLAIN}
    scaling, declared = full.get("scaling"), CATALOGUE[name].parameters.get("scaling")
    scaled = declared is not None and scaling != str(declared.default)
    changed = [(f"scaling {scaling} is missing", plain)] if scaled else []
    if "base" in full:
        changed += [(f"base {base} where {full['base']} was expected", {"base": base}) for base in PUBLISHED_BASES
                    if float(base) != float(full["base"])]  # fmt: skip
    for text, other in changed:
        yield text, partial(applied.turned, changed=other)


def _factor(applied: AppliedRotation) -> tuple[float, str] | None:
    """Return the number by which the outputs are multiplied, and the words for it."""
    _, y, right = applied.flat
    large = np.abs(right) > np.abs(right).max() / 4
    value, width = float(np.median(y[large] / right[large])), y.shape[1]
    c, s = applied.source.points(applied.at[:1])
    size = float(np.median(np.hypot(c, s)))
    near = MAX_FACTOR_ERROR[applied.dtype]
    if not math.isfinite(value) or abs(value) < near or abs(value - 1) <= near:
        return None
    if abs(value + 1) <= near:
        return -1.0, "every value has the other sign"
    if abs(value * size - 1) <= near:
        return 1 / size, f"the magnitude (attention factor {figure(size)}) is missing"
    if abs(value / size - 1) <= near:
        return size, f"the magnitude (attention factor {figure(size)}) is squared"
    for root, word in ((width**-0.5, f"1/sqrt({width})"), (width**0.5, f"sqrt({width})")):
        if abs(value / root - 1) <= near:
            return root, f"it is multiplied by {figure(root)}, which is {word}, as well"
    short = float(shortest(*sorted((value * (1 - near), value * (1 + near)))))
    return short, f"it is {figure(short)} times as long as expected"


# The measured rotation


def _measured(applied: AppliedRotation) -> Iterator[str]:
    """Yield how the cosines and sines that were used differ from the expected ones."""
    for pairs in (applied.pairs, *(one for one in PAIRINGS if one != applied.pairs)):
        at, z = _rotation(applied, pairs)
        if z is not None and applied.gives(partial(_turned_by, applied, z, at, pairs)):
            said = _difference(applied, z, pairs)
            if said:
                other = [_paired(pairs, applied.pairs)] if pairs != applied.pairs else []
                yield ", and ".join([*other, *said])


def _turned_by(
    applied: AppliedRotation, z: NDArray[np.complex128], at: Integers, pairs: tuple[str, str], v: Integers
) -> Floats:
    return rotate(applied.flat[0][v], (z.real[at[v]], z.imag[at[v]]), pairs)


def _paired(taken: tuple[str, str], own: tuple[str, str]) -> str:
    """Say which pairs were rotated and which were expected."""
    one, other = (" (written as ".join(dict.fromkeys(map(WORDS.__getitem__, two))) for two in (taken, own))
    one, other = (text + ")" * ("(" in text) for text in (one, other))
    return f"{one} pairs were rotated where {other} ones were expected"


def _rotation(applied: AppliedRotation, pairs: tuple[str, str]) -> tuple[Integers, Any]:
    """Return y / x of each position and pair, and which position every vector has; None where it is no rotation."""
    (a, b), (first, second) = (columns(applied.rotary, pairing) for pairing in pairs)
    x, y, _ = applied.flat
    distinct, at = np.unique(applied.at, return_inverse=True)
    before, after = x[:, a] + 1j * x[:, b], y[:, first] + 1j * y[:, second]
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(len(distinct)))
    z = np.add.reduceat((after * before.conj())[order], starts) / np.add.reduceat((np.abs(before) ** 2)[order], starts)
    sizes = np.abs(z)
    size = np.median(sizes)
    same = np.abs(sizes - size) <= MAX_FACTOR_ERROR[applied.dtype] * 4 * size
    return at, z if size > 0 and same.mean() >= MIN_PAIRED else None


def _difference(applied: AppliedRotation, z: NDArray[np.complex128], pairs: tuple[str, str]) -> list[str] | None:
    """Return in words how measured cosines and sines differ from the expected ones; None where it is not known."""
    distinct, at = np.unique(applied.at, return_inverse=True)
    step = int(distinct[1] - distinct[0]) if len(distinct) > 1 else 0
    if step == 0 or (np.diff(distinct) != step).any():
        return None
    where, kind = Positions.arange(len(distinct), int(distinct[0]), step), COARSER[applied.dtype]
    try:
        expected = applied.source.table(where, kind)
    except PecliError:
        return None
    mine = InMemory({"cos": narrow(z.real, None, kind), "sin": narrow(z.imag, None, kind)})
    found = compare(mine, expected).findings
    if found and (found[0].kind in UNSAID or any(one.kind in ("columns", "factor", "offset") for one in found)):
        return None  # coarse values do not tell these
    if any(one.kind == "parameter" for one in found):  # which the coarse values may not determine
        name, keys = split_recipe(identify(mine).recipe or "")
        exact = RotationSource((name, keys)) if name else applied.source
        c, s = exact.points(distinct)
        if not applied.gives(partial(_turned_by, applied, c + 1j * s, at, pairs)):
            return None
    first = distinct[0] == 0 and step == 1  # rows' numbers are the positions
    texts = [one.text for one in found if one.kind not in UNSAID]
    return [re.sub(r"\brow(?=s? )", "position", text) if first else text for text in texts]
