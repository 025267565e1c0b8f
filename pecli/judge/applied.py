"""What was done to queries and keys instead of rotating them as expected, and where.

From the inputs x and the outputs y, the angle of each pair is arg(y conj(x)) and its magnitude abs(y) / abs(x), where
the pairs are those that were rotated. The angles over the rows are waves: their frequencies give the base, their start
the position. What follows from these measurements, and the known slips of a kernel, are candidates; a candidate is a
finding only if it gives the values at hand, every one but those that are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.judge.located import MAX_SINGLE, Array2, ArrayPair, located, place
from pecli.judge.orders import runs_of, span
from pecli.judge.rounding import effective_dtype, rounded
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.positions import Positions
from pecli.numbers.printing import at_least, figure
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Points = tuple[Floats, Floats]
Made = Callable[[Integers], Floats]
"""Outputs of some vectors, by their numbers."""

ROUNDINGS = 8.0  # of the outputs' type that a kernel may make: cos, sin, two products, their sum, each in a narrow type
MAX_TRIED = 192  # vectors that a candidate is tried on before it is tried on all
BLOCK_VALUES = 1 << 20  # values rotated at once
MAX_SHIFT = 4096  # positions by which a start is looked for
MIN_PAIRED = 0.98  # share of the pairs whose lengths the pairing must keep; the others are near 0
MAX_DIGITS = 8  # digits that a base or a factor is given
MAX_WORSE = 1.25  # times the least departure that a shorter base may have; raised, 123456.7 becomes 123457
MAX_NAMED = 3  # indices that a place lists
PUBLISHED = ("10000", "500000", "1000000", "100000", "150000", "5000000", "10000000", "8000000", "50000")
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
    rows : mapping of int to (cos, sin), optional
        Where there is no recipe.
    """

    recipe: tuple[str, Mapping[str, str]] | None
    rows: tuple[Integers, Floats, Floats] | None = None

    def points(self, positions: Integers, **changed: str | None) -> Points:
        """Return cosines and sines (n, pairs) of positions (n,), with some keys of the recipe changed.

        Raises
        ------
        PecliError
            If there are none.
        """
        distinct, inverse = np.unique(positions, return_inverse=True)
        if self.recipe is None:
            if self.rows is None or changed:
                raise PecliError("no recipe")
            known, c, s = self.rows
            at = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
            if (known[at] != distinct).any():
                raise PecliError("positions outside the table")
            return c[at][inverse], s[at][inverse]
        name, given = self.recipe
        keys = {key: value for key, value in {**given, **changed}.items() if value is not None}
        take_table_keys(name, keys)
        where = Positions.listed(distinct.tolist())
        table = Table.make(Recipe.bind(name, **keys), positions=where, dtype="float64", layout="split")
        c, s = (table.read(part)[inverse] for part in ("cos", "sin"))
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
    def shape(self) -> tuple[int, int, int]:
        """Batches, heads, rows."""
        b, h, n, _ = self.x.shape
        return b, h, n

    @cached_property
    def index(self) -> tuple[Integers, Integers, Integers]:
        """Batch, head and row of every vector."""
        b, h, n = np.unravel_index(np.arange(math.prod(self.shape)), self.shape)
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
        count = math.prod(self.shape)
        return np.unique(np.linspace(0, count - 1, min(count, MAX_TRIED)).astype(np.int64))

    def allowed(self, vectors: Integers, made: Floats) -> Floats:
        """Return how far each value may be from the exact one: by angles in float32 and some roundings of its pair."""
        size = np.maximum(np.abs(made), np.abs(self.flat[0][vectors]))
        for pairing in ("half", "interleaved"):
            first, second = columns(self.rotary, pairing)
            for values in (made, self.flat[0][vectors]):
                norm = np.hypot(values[:, first], values[:, second])
                size[:, first], size[:, second] = np.maximum(size[:, first], norm), np.maximum(size[:, second], norm)
        angle = 2 * GRIDS["float32"].rounding * float(np.abs(self.at).max(initial=0))
        return size * (angle + ROUNDINGS * GRIDS[self.dtype].rounding)

    def gives(self, made: Made, slack: float = 0.0) -> bool:
        """Tell whether these are the outputs, every one."""
        step = max(1, BLOCK_VALUES // self.x.shape[-1])
        blocks = (np.arange(k, min(k + step, len(self.at))) for k in range(0, len(self.at), step))
        for vectors in (self.sample, *blocks) if len(self.at) > len(self.sample) else (self.sample,):
            values, y = made(vectors), self.flat[1][vectors]
            allowed = self.allowed(vectors, values)
            if not (np.abs(y - values) <= allowed + slack * np.abs(allowed).max()).all():
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
        grain = effective_dtype(applied.flat[1][applied.sample], applied.dtype)
        rough = f", and rounded to {grain}" if grain != applied.dtype else ""
        applied = replace(applied, dtype=grain)
        if not applied.wrong.any():
            return [_rounding(applied, name, rough)]
        said = next((text for text, made, slack in candidates(applied) if applied.gives(made, slack)), None)
        if said is not None:
            return [Finding("rotation", f"{name}: {said}{rough}")]
        part, where = _part(applied)
        if part is not None:
            found = candidates(part)
            said = next((text for text, made, slack in found if part.gives(made, slack)), None)
            if said is not None:
                return [Finding("rotation", f"{name}: {where}: {said}{rough}")]
        return _elsewhere(applied, name)


def _elsewhere(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return the place and kind of the wrong values, without the rounding of the right vectors."""
    wrong, count = np.any(applied.wrong, axis=3, keepdims=True), int(applied.wrong.sum())
    clean = np.where(applied.wrong if count <= MAX_SINGLE else wrong, applied.y, applied.right)
    here, there = (as_given(values, applied.axes) for values in (clean, applied.right))
    lead, long = max(1, here.ndim - 1), {"b": "batch", "h": "head"}
    axes = tuple(long.get(letter, "position") for letter in applied.axes)
    found = located([_array(name, here, axes, lead)], [_array(name, there, axes, lead)])
    if found[0].kind != "place":
        return found
    exact = as_given(np.where(applied.wrong, applied.y, applied.right), applied.axes)
    return [place(ArrayPair(_array(name, exact, axes, lead), _array(name, there, axes, lead), 0))]


def _array(name: str, values: Floats, axes: tuple[str, ...], lead: int) -> Array2:
    rows = values.reshape(-1, values.shape[-1])
    return Array2(name, values.shape, "float64", lambda start, stop: rows[start:stop], lead, axes)


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
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(applied.right), 2.0**-126))) + 1 - GRIDS[applied.dtype].precision)
    most, units = float(off.max()), int(np.ceil((off / unit).max() - 0.5))
    what = f"the outputs are rounded to {applied.dtype}" if rough else f"{applied.dtype} rounding"
    cancelled = f" ({units} ulp, where two products cancel)" if units > 4 else ""
    text = f"{name}: {what}, at most {figure(most, 1)}{cancelled}: the rotation is right"
    return Finding("rounding", f"{text}; --atol {at_least(most, 1)} accepts it")


def _part(applied: AppliedRotation) -> tuple[AppliedRotation | None, str]:
    """Return the batches, heads and rows in which all wrong values lie, and the words for them."""
    wrong: NDArray[np.bool_] = np.any(applied.wrong, axis=3)
    kept, said = list[Integers](), list[str]()
    for axis, word in enumerate(("batch", "head", "row")):
        others = tuple(k for k in range(3) if k != axis)
        at = np.flatnonzero(np.any(wrong, axis=others))
        kept.append(at)
        if len(at) < applied.shape[axis]:
            said.append(_indices(word, at, applied.shape[axis]))
    if not said or not wrong[np.ix_(*kept)].all():
        return None, ""
    b, _, n = kept
    positions = applied.positions[n] if applied.positions.ndim == 1 else applied.positions[np.ix_(b, n)]
    x, y, right = (values[np.ix_(*kept)] for values in (applied.x, applied.y, applied.right))
    return replace(applied, x=x, y=y, right=right, positions=positions), ", ".join(said)


def _indices(word: str, at: Integers, side: int) -> str:
    first, last = int(at[0]), int(at[-1])
    many = "batches" if word == "batch" else f"{word}s"
    if first == last:
        return f"all of {word} {first}"
    if last - first + 1 == len(at):
        return f"{many} from {first} on" if last == side - 1 and word == "row" else f"all of {many} {first} to {last}"
    listed = ", ".join(map(str, at[:MAX_NAMED].tolist()))
    return f"all of {many} {listed}{'' if len(at) <= MAX_NAMED else f', ... ({len(at)} of {side})'}"


# Candidates

Candidate = tuple[str, Made, float]


def candidates(applied: AppliedRotation) -> Iterator[Candidate]:
    """Yield what may have been done, in words, its values, and how much coarser they are."""
    x = applied.flat[0]
    yield "not rotated at all: the outputs are the inputs", lambda v: x[v], 0.0
    points = applied.source.points
    for times, word in ((2, "twice"), (3, "three times")):

        def again(v: Integers, times: int = times) -> Floats:
            values, (c, s) = x[v], points(applied.at[v])
            for _ in range(times):
                values = rotate(values, c, s, applied.pairs)
            return values

        yield f"it was rotated {word}", again, 0.0
    pairings = [applied.pairs, *(pairs for pairs in PAIRINGS if pairs != applied.pairs)]
    for pairs in pairings:
        z, size = _ratio(applied, pairs, applied.sample, applied.rotary)
        if z is not None:
            yield from _rotations(applied, pairs, z, size)
    yield from _slips(applied)
    yield from _widths(applied)


def rotate(x: Floats, c: Floats, s: Floats, pairs: tuple[str, str]) -> Floats:
    """Return vectors (n, d) whose first pairs are rotated by cosines and sines (n, pairs)."""
    out, width = x.copy(), 2 * c.shape[-1]
    (a, b), (first, second) = (columns(width, pairing) for pairing in pairs)
    out[:, first], out[:, second] = x[:, a] * c - x[:, b] * s, x[:, a] * s + x[:, b] * c
    return out


def _ratio(applied: AppliedRotation, pairs: tuple[str, str], v: Integers, width: int) -> tuple[Floats | None, float]:
    """Return y / x of each pair as complex numbers of length 1, and the length; None where it is not one length."""
    x, y, _ = applied.flat
    (a, b), (first, second) = (columns(width, pairing) for pairing in pairs)
    before, after = x[v][:, a] + 1j * x[v][:, b], y[v][:, first] + 1j * y[v][:, second]
    sizes = np.abs(before)
    large = sizes > 0.1 * float(np.median(sizes))
    if not large.any():
        return None, 1.0
    size = float(np.median(np.abs(after[large]) / sizes[large]))
    near = 2.0**-5 if applied.dtype in ("bfloat16", "float16") else 2.0**-10
    kept = np.abs(np.abs(after) - size * sizes) <= near * np.maximum(sizes, np.median(sizes)) * max(1.0, size)
    if not size or not np.isfinite(size) or kept.mean() < MIN_PAIRED:
        return None, 1.0
    return after * np.conj(before) / np.maximum(size * sizes**2, 1e-300), size


def _rotations(applied: AppliedRotation, pairs: tuple[str, str], z: Floats, size: float) -> Iterator[Candidate]:
    """Yield rotations of other angles, positions and frequencies, by pairs that were measured to rotate."""
    v, source, x = applied.sample, applied.source, applied.flat[0]
    prefix = (
        ""
        if pairs == applied.pairs
        else f"{_paired(pairs)} pairs were rotated where {_paired(applied.pairs)} ones were expected"
    )
    c, s = source.points(applied.at[v])
    expected = float(np.median(np.hypot(c, s)))
    scale, sized = _magnitude(size, expected, applied)

    def rotation(text: str, points: Callable[[Integers], Points], slack: float = 0.0) -> Candidate:
        c, s = points(v[:1])
        own = float(np.median(np.hypot(c, s)))
        same = abs(size / own - 1) <= _near(applied.dtype)  # of other parameters, whose magnitude it is

        def made(v: Integers) -> Floats:
            c, s = points(v)
            return rotate(x[v], c * (target / own), s * (target / own), pairs)

        target = own if same else scale * expected
        parts = [part for part in (prefix, text, "" if same else sized) if part]
        return ", and ".join(parts), made, slack

    def at(positions: Integers, **changed: str | None) -> Callable[[Integers], Points]:
        return lambda v: source.points(positions[v], **changed)

    def changed(function: Callable[[Floats, Floats], Points]) -> Callable[[Integers], Points]:
        return lambda v: function(*source.points(applied.at[v]))

    if prefix or sized:
        yield rotation("", at(applied.at))
    yield rotation("the rotation has the other sense: the sine has the wrong sign", changed(lambda c, s: (c, -s)))
    yield rotation("cos and sin are exchanged", changed(lambda c, s: (s, c)))
    yield rotation("the cosine has the wrong sign", changed(lambda c, s: (-c, s)))
    yield rotation("the sign of both cosine and sine is changed", changed(lambda c, s: (-c, -s)))
    yield rotation("the pairs take the frequencies in reverse order", changed(lambda c, s: (c[:, ::-1], s[:, ::-1])))
    for text, positions in _positions(applied, z):
        try:
            source.points(positions[v])
        except PecliError:
            continue
        yield rotation(text, at(positions))
    if source.recipe is None:
        return
    found = _frequencies(applied, pairs)
    changes = _recipes(applied, found, z) if found is not None else _published(source)
    for text, keys in changes:
        try:
            c, _ = source.points(applied.at[v[:1]], **keys)
        except PecliError:
            continue
        yield rotation(text, at(applied.at, **keys))
    w = _rates(source)
    if found is not None and w is not None:
        ratio = float(np.median(w[found != 0] / found[found != 0])) if found.any() else 0.0
        named = {180 / math.pi: "they were taken as degrees", 0.5 / math.pi: "they are multiplied by 2 pi"}
        for factor in (*named, *_shortest(ratio)) if ratio else ():
            if factor in named and abs(factor / ratio - 1) > 1e-3:
                continue
            why = f": {named[factor]}" if factor in named else ""
            yield rotation(
                f"the angles are those of positions divided by {figure(factor)}{why}",
                lambda v, f=factor: _waves(applied.at[v] / f, w, expected),  # type: ignore[misc]
            )
    if w is not None:
        yield from (rotation(*one) for one in _narrow(applied, w, expected))
        yield from (rotation(text, at(positions)) for text, positions in _measured_positions(applied, w))
    if found is not None and w is not None:
        off = np.flatnonzero(np.abs(found / w - 1) > 1e-3)
        if off.size:
            k = int(off[0])
            text = (
                f"the frequencies are others: pair {k} has {figure(found[k], 4)} where {figure(w[k], 4)} was expected"
            )
            yield rotation(text, lambda v: _waves(applied.at[v], found, expected), 4.0)


def _paired(pairs: tuple[str, str]) -> str:
    taken, given = (WORDS[pairing] for pairing in pairs)
    return taken if taken == given else f"{taken} (written as {given})"


def _near(dtype: str) -> float:
    """Return how far a measured magnitude may be from its number, relatively."""
    return 2.0**-7 if dtype in ("bfloat16", "float16") else 2.0**-16


def _magnitude(size: float, expected: float, applied: AppliedRotation) -> tuple[float, str]:
    """Return the factor beside the expected magnitude, and the words for it, empty where it is 1."""
    near, width = _near(applied.dtype), applied.x.shape[-1]
    for value, text in (
        (expected, ""),
        (1.0, f"the magnitude (attention factor {figure(expected)}) is missing"),
        (expected**2, f"the magnitude (attention factor {figure(expected)}) is squared"),
        (expected / math.sqrt(width), f"it is multiplied by 1/sqrt({width}) as well"),
        (expected * math.sqrt(width), f"it is multiplied by sqrt({width}) as well"),
    ):
        if abs(size / value - 1) <= near:
            return value / expected, text
    factor = next(_shortest(size / expected, near))
    return factor, f"it is {figure(factor)} times as long as expected"


def _shortest(value: float, near: float = 0.0) -> Iterator[float]:
    """Yield a number in ever more digits, from those within a relative distance on."""
    seen = set[float]()
    for digits in range(1, MAX_DIGITS + 1):
        short = float(f"{value:.{digits}g}")
        if short and short not in seen and math.isfinite(short) and (not near or abs(short / value - 1) <= near):
            seen.add(short)
            yield short
    if value not in seen and math.isfinite(value) and value:
        yield value


def _positions(applied: AppliedRotation, z: Floats) -> Iterator[tuple[str, Integers]]:
    """Yield other positions of every vector: what kernels count instead, then the shift that was measured."""
    (b, h, n), at, (batches, heads, rows) = applied.index, applied.at, applied.shape
    if at.min() >= 1:
        begin = applied.positions[..., :1]
        zero = np.broadcast_to(applied.positions - begin, (batches, rows))[b, n]
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
        number = (b * rows + n) * heads + h
        batch, place = np.divmod(number // applied.heads, rows)
        counted = applied.positions[place] if applied.positions.ndim == 1 else applied.positions[batch, place]
        yield f"positions count {applied.heads} heads, the queries', where it has {heads}", counted
    w = _rates(applied.source)
    if w is None:
        return
    v = applied.sample
    good = np.where(np.isfinite(z), z, 0)
    mean = (good * np.exp(-1j * at[v][:, None] * w)).sum(axis=0)
    shifts = np.arange(-MAX_SHIFT, MAX_SHIFT + 1)
    by = int(shifts[np.argmax((np.exp(-1j * shifts[:, None] * w) * mean).real.sum(axis=1))])
    if by:
        start = int(at.min())
        yield f"positions start at {start + by} where {start} was expected", at + by


def _measured_positions(applied: AppliedRotation, w: Floats) -> Iterator[tuple[str, Integers]]:
    """Yield positions of the rows, each measured by its angles, where they are the same in all batches and heads."""
    n, at = applied.index[2], applied.at
    if applied.shape[2] > MAX_SHIFT:
        return
    known = np.unique(np.concatenate([np.arange(min(MAX_SHIFT, int(at.max()) + 2)), at]))
    where = np.flatnonzero((applied.index[0] == 0) & (applied.index[1] == 0))
    z, _ = _ratio(applied, applied.pairs, where, applied.rotary)
    if z is None:
        return
    score = (np.where(np.isfinite(z), z, 0) @ np.exp(-1j * known[:, None] * w).T).real
    rows = known[score.argmax(axis=1)]
    expected = applied.at[where]
    off = np.flatnonzero(rows != expected)
    if off.size:
        runs = [
            run for run in runs_of(rows) if (expected[run.first : run.last + 1] != rows[run.first : run.last + 1]).any()
        ]
        parts = list[str]()
        for run in runs[:MAX_NAMED]:
            ends = span(run.target, run.target + run.step * (run.places - 1), "position")
            parts.append(f"{span(run.first, run.last, 'row')} {'has' if run.places == 1 else 'have'} {ends}")
        more = f", ... ({len(off):,} of {len(rows):,} rows)" if len(runs) > MAX_NAMED else ""
        yield f"{', '.join(parts)}{more}, where {expected[off[0]]} was expected at row {off[0]}", rows[n]


def _rates(source: RotationSource) -> Floats | None:
    """Return the expected frequencies, below half a turn, from the angles of position 1; None where it is not known."""
    try:
        c, s = source.points(np.array([1]))
    except PecliError:
        return None
    return np.asarray(np.arctan2(s, c)[0])


def _waves(positions: Floats | Integers, w: Floats, size: float) -> Points:
    angle = np.asarray(positions, np.float64)[:, None] * w
    return size * np.cos(angle), size * np.sin(angle)


def _frequencies(applied: AppliedRotation, pairs: tuple[str, str]) -> Floats | None:
    """Return the frequency of each pair, measured over the rows of the first batch; None of too few rows."""
    b, rows = applied.index[0], applied.shape[2]
    where = np.flatnonzero(b == 0)
    at = applied.at[where[:rows]]
    if rows < 3 or (np.diff(at) != 1).any():
        return None
    x, y, _ = applied.flat
    (a, c), (first, second) = (columns(applied.rotary, pairing) for pairing in pairs)
    shape = (applied.shape[1], rows, applied.rotary // 2)
    before = (x[where][:, a] + 1j * x[where][:, c]).reshape(shape)
    after = (y[where][:, first] + 1j * y[where][:, second]).reshape(shape)
    z = (after * before.conj()).sum(axis=0)
    w = np.angle((z[1:] * z[:-1].conj()).sum(axis=0))
    lag = 2
    while lag < rows:
        seen = np.angle((z[lag:] * z[:-lag].conj()).sum(axis=0) * np.exp(-1j * w * lag))
        w = w + seen / lag
        lag *= 2
    far = np.exp(-1j * at[:, None] * w)
    drift = np.angle((z * far).sum(axis=0))  # of waves that begin at 0, this is 0
    return None if np.median(np.abs(drift)) > 0.1 else np.asarray(w)


def _recipes(applied: AppliedRotation, found: Floats, z: Floats) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield other parameters that give the frequencies found: no scaling, another base, the wrong width."""
    assert applied.source.recipe is not None
    name, given = applied.source.recipe
    keys = dict(given)
    take_table_keys(name, keys)
    full = Recipe.bind(name, **keys).keys()
    kept = {key: value for key, value in keys.items() if key in _PLAIN}
    default = Recipe.bind(name, **kept).keys()
    plain: dict[str, str | None] = {}
    scaling = full.get("scaling")
    if scaling != default.get("scaling"):
        plain = {key: None for key in keys if key not in _PLAIN}
        yield f"scaling {scaling} is missing", plain
    if "base" not in full:
        return
    expected = float(full["base"])
    width, whole = applied.rotary, applied.x.shape[-1]
    if whole != width:
        own = repr(expected ** (width / whole))
        text = f"the exponents are 2i/{whole}, of the whole head, where 2i/{width} was expected"
        yield text, {**plain, "base": own}
    pairs = len(found)
    if pairs > 2:
        text = f"the exponents are k/{pairs - 1}, where k/{pairs} was expected"
        yield text, {**plain, "base": repr(expected ** (pairs / (pairs - 1)))}
    k = np.arange(1, len(found))
    good = k[(found[1:] > 0) & (found[1:] < 1)]
    if not good.size:
        return
    error = width / (2 * good) / np.maximum(found[good], 1e-12)  # of log(base), in units of a frequency's error
    for pair in good[np.argsort(error)[:2]].tolist():
        bases = [f"{base:.{MAX_DIGITS}g}" for base in _shortest(float(found[pair]) ** (-width / (2 * pair)))]
        for others in ({}, plain) if plain else ({},):
            off = [_departure(applied, z, {**others, "base": base}) for base in bases]
            for base in (base for base, far in zip(bases, off, strict=True) if far <= MAX_WORSE * min(off)):
                lost = f", and scaling {scaling} is missing" if others else ""
                text = f"base {figure(float(base), MAX_DIGITS)} where {figure(expected, MAX_DIGITS)} was expected{lost}"
                factor = (float(base) / expected) ** ((width - 2) / width)
                if factor > 1 and abs(factor / round(factor, 1) - 1) < 1e-5 and len(base) > len(f"{expected:g}"):
                    text += f" (NTK-aware scaling by {round(factor, 1):g})"
                yield text, {**others, "base": base}


def _published(source: RotationSource) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the bases of well-known models, for rows too few to measure a frequency."""
    assert source.recipe is not None
    expected = source.recipe[1].get("base", "10000")
    for base in PUBLISHED:
        if float(base) != float(expected):
            yield f"base {base} where {expected} was expected", {"base": base}


def _departure(applied: AppliedRotation, z: Floats, keys: Mapping[str, str | None]) -> float:
    """Return how far the directions of the sample's pairs are, on average, from those of changed parameters."""
    try:
        c, s = applied.source.points(applied.at[applied.sample], **keys)
    except PecliError:
        return math.inf
    return float(np.median(np.abs(z - (c + 1j * s) / np.hypot(c, s))))


_PLAIN = ("dim", "base", "rotary-dim", "len", "start", "step", "positions", "dtype", "layout")


def _narrow(applied: AppliedRotation, w: Floats, size: float) -> Iterator[tuple[str, Callable[[Integers], Points]]]:
    """Yield angles of positions, frequencies and products that were rounded to a narrow type."""
    for kind in ("bfloat16", "float16"):
        for text, parts in (
            ("the angles were computed in", (True, True, True)),
            ("the positions were rounded to", (True, False, False)),
            ("the frequencies were rounded to", (False, True, False)),
            ("the angles were rounded to", (False, False, True)),
            ("positions and frequencies were rounded to", (True, True, False)),
        ):
            for cast in (False, True):

                def points(
                    v: Integers, kind: str = kind, parts: tuple[bool, bool, bool] = parts, cast: bool = cast
                ) -> Points:
                    p, f = applied.at[v].astype(np.float64)[:, None], w[None]
                    p, f = rounded(p, kind) if parts[0] else p, rounded(f, kind) if parts[1] else f
                    angle = rounded(p * f, kind) if parts[2] else p * f
                    c, s = size * np.cos(angle), size * np.sin(angle)
                    return (rounded(c, kind), rounded(s, kind)) if cast else (c, s)

                yield f"{text} {kind}", points


def _slips(applied: AppliedRotation) -> Iterator[Candidate]:
    """Yield formulas that are no rotation: wrong partners, wrong signs, values overwritten too early."""
    x, source, width = applied.flat[0], applied.source, applied.rotary
    half, quarter = width // 2, width // 4
    k, pairing = np.arange(width), applied.pairs[0]
    (a, b), (first, second) = (columns(width, one) for one in applied.pairs)
    repeated, tiled = k // 2, k % half
    swapped = {"half": (k + half) % width, "interleaved": k ^ 1}
    minus = {"half": k < half, "interleaved": k % 2 == 0}

    def made(cosines: Integers, partner: Integers, negative: NDArray[np.bool_]) -> Made:
        """Return x cos + partner sin, of these columns of the cosines and these partners."""

        def work(v: Integers) -> Floats:
            c, s = source.points(applied.at[v])
            out = x[v].copy()
            out[:, :width] = (
                x[v][:, :width] * c[:, cosines] + np.where(negative, -1, 1) * x[v][:, partner] * s[:, cosines]
            )
            return out

        return work

    own = tiled if pairing == "half" else repeated
    yield (
        "the cosines are repeated pair by pair (interleaved) and used with rotate_half, which takes half-split pairs",
        made(repeated, swapped["half"], minus["half"]), 0.0,
    )  # fmt: skip
    yield (
        "the cosines are doubled by halves and used with neighbouring (interleaved) pairs",
        made(tiled, swapped["interleaved"], minus["interleaved"]), 0.0,
    )  # fmt: skip
    lacking = np.zeros(width, np.bool_)
    yield "the minus sign of the first members is missing: x1 cos + x2 sin", made(own, swapped[pairing], lacking), 0.0
    yield "the second members have a minus sign: x2 cos - x1 sin", made(own, swapped[pairing], ~lacking), 0.0
    if quarter and width % 4 == 0:
        block = k // half * half
        partner = block + (k - block + quarter) % half
        for cosines in (own, k % quarter):
            text = f"the partner of column i is i + {quarter} (a quarter of the width), where i + {half} was expected"
            yield text, made(cosines, partner, k - block < quarter), 0.0
        yield text, made(own, (k + quarter) % width, minus["half"]), 0.0
        yield text, made(own, np.where(k < half, k + quarter, k - quarter), minus["half"]), 0.0

    def overwritten(v: Integers) -> Floats:
        c, s = source.points(applied.at[v])
        out = x[v].copy()
        out[:, first] = x[v][:, a] * c - x[v][:, b] * s
        out[:, second] = x[v][:, b] * c + out[:, first] * s
        return out

    yield "the first members were overwritten before the second ones were computed", overwritten, 0.0

    def without_sine(v: Integers) -> Floats:
        c, _ = source.points(applied.at[v])
        out = x[v].copy()
        out[:, first], out[:, second] = x[v][:, a] * c, x[v][:, b] * c
        return out

    yield "the sine is missing: only x cos was computed", without_sine, 0.0
    heads, rows = applied.shape[1:]
    if heads % 2 == 0:

        def next_head(v: Integers) -> Floats:
            odd = applied.index[1][v] % 2
            other = x[v + rows * (1 - 2 * odd)]
            c, s = source.points(applied.at[v])
            out = x[v].copy()
            sign = np.where(odd, 1.0, -1.0)[:, None]
            out[:, :width] = x[v][:, :width] * c[:, tiled] + sign * other[:, :width] * s[:, tiled]
            return out

        yield f"the partner of column i is i + {applied.x.shape[-1]}, in the next head", next_head, 0.0


def _widths(applied: AppliedRotation) -> Iterator[Candidate]:
    """Yield rotations of other columns than the first ones expected."""
    x, whole, width = applied.flat[0], applied.x.shape[-1], applied.rotary
    if whole > width:

        def last(v: Integers) -> Floats:
            c, s = applied.source.points(applied.at[v])
            out = x[v].copy()
            out[:, whole - width :] = rotate(np.ascontiguousarray(x[v][:, whole - width :]), c, s, applied.pairs)
            return out

        yield f"the last {width} columns were rotated, and the first {width} were expected", last, 0.0

        def wide(v: Integers) -> Floats:
            c, s = applied.source.points(applied.at[v])
            out, half = x[v].copy(), np.arange(width // 2)
            a, b = half, half + whole // 2
            out[:, a], out[:, b] = x[v][:, a] * c - x[v][:, b] * s, x[v][:, a] * s + x[v][:, b] * c
            return out

        yield (
            f"the partner of column i is i + {whole // 2}, of the head, where i + {width // 2} was expected",
            wide,
            0.0,
        )
    for rotary in sorted({whole, whole // 2, whole // 4, width // 2} - {width, 0}):
        if rotary % 2:
            continue
        for keys in ({"dim": str(rotary), "rotary-dim": str(rotary)}, {"dim": str(rotary), "rotary-dim": None}):
            try:
                applied.source.points(applied.at[:1], **keys)
            except PecliError:
                continue
            text = f"{rotary} columns were rotated, and {width} were expected"
            yield (
                text,
                lambda v, k=keys: rotate(x[v], *applied.source.points(applied.at[v], **k), applied.pairs),  # type: ignore[misc]
                0.0,
            )
