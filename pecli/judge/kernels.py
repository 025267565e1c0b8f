"""Faults of a kernel that rotates queries and keys: the kind of each fault and the vectors that it affects.

Known slips of a kernel are tried first; one is a finding only if it gives every value at hand.  Then the rotation is
measured: for each position and pair the number z = y / x that all vectors share.  If it gives all values, its real and
imaginary parts are a table of cosines and sines, and how that differs from the expected one is the finding.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.description import factor_text
from pecli.judge.located import indices, located
from pecli.judge.orders import numbered
from pecli.judge.planes import EPSILON, Floats, Integers, effective_dtype, rounded
from pecli.judge.rows import ComputedRows
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.decimals import number_text, shortest
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.positions import Positions
from pecli.numbers.printing import at_least, figure, limit
from pecli.numbers.rounding import floats, narrow
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Finding
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

# cos + i sin of vectors or positions, (n, pairs).
Rotations = NDArray[np.complex128]
# Pairing taken from the input and given to the output: "half" or "interleaved".
Pairs = tuple[str, str]
# Outputs of some vectors, by their numbers.
Kernel = Callable[[Integers], Floats]
# How a table differs from an expected one.
Explained = Callable[[Tabular, Tabular], Sequence[Finding]]
# Keys of a recipe with another value, or None for no value.
Changed = Mapping[str, str | None]
ROUNDINGS = 8.0  # of the outputs' type that a kernel may make: cos, sin, two products, their sum, each in a narrow type
MAX_TRIED = 192  # vectors that a kernel is tried on before it is tried on all
MAX_TIES = 2e-3  # share of the wrong values that another last bit of a float32 phase rounds to the other side
BLOCK_VALUES = 1 << 20  # values rotated at once
# Relative difference of a vector's length that a norm makes, and the share of vectors that it makes it in.
MAX_LENGTH_ERROR, MIN_OTHER_LENGTHS = 0.01, 0.5
KERNEL_ROUNDINGS = 1.0  # of a narrow type that a kernel leaves of all values, on average
# Relative error of a measured factor, in each type of the outputs.
MAX_FACTOR_ERROR = {"float64": 2.0**-20, "float32": 2.0**-16, "float16": 2.0**-8, "bfloat16": 2.0**-6}
# Widths of heads, the commonest first.
HEAD_WIDTHS = (128, 64, 256, 96, 80, 192, 112, 48, 32, 16)
# Values of a tensor that is looked at without a recipe.
MAX_VALUES = 1 << 22
# Arrays of a file that are looked at for what was rotated, and the least turn, which is not of rounding.
MAX_ARRAYS, MIN_TURN = 8, 1e-2
PAIRINGS = (("half", "half"), ("interleaved", "interleaved"), ("half", "interleaved"), ("interleaved", "half"))
WORDS = {"half": "half-split", "interleaved": "interleaved"}


def rotate(x: Floats, z: Rotations, pairs: Pairs) -> Floats:
    """Return vectors (n, d) whose first pairs are multiplied by z (n, pairs)."""
    (a, b), (first, second) = (columns(2 * z.shape[-1], pairing) for pairing in pairs)
    rotated, out = (x[:, a] + 1j * x[:, b]) * z, x.copy()
    out[:, first], out[:, second] = rotated.real, rotated.imag
    return out


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
    known: dict[object, Rotations] = field(default_factory=dict, repr=False, compare=False)

    def table(self, positions: Positions, dtype: str, changed: Changed | None = None) -> Tabular:
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

    def rotations(self, positions: Integers, changed: Changed | None = None) -> Rotations:
        """Return cos + i sin (n, pairs) of positions (n,)."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        key = distinct.tobytes(), *(changed or {}).items()
        if key not in self.known:
            table = self.table(Positions.listed(distinct.tolist()), "float64", changed)
            self.known[key] = np.asarray(table.read("cos")) + 1j * np.asarray(table.read("sin"))
        return self.known[key][inverse]


@dataclass(frozen=True)
class AppliedRotation:
    """Vectors before and after a rotation, with the positions and the pairing that were expected.

    Attributes
    ----------
    x, y, right : (batches, heads, rows, width) float64 ndarray
        Inputs, outputs, and the exact outputs.
    positions : (rows,) or (batches, rows) int64 ndarray
    pairs : (str, str)
    rotary : int
        Columns that are rotated, the first ones.
    dtype : str
        Type of the outputs.
    source : RotationSource
    axes : str
        Those of the tensor itself, letters of "bhsd" (or t for s), so that places are written as in it.
    """

    x: Floats
    y: Floats
    right: Floats
    positions: Integers
    pairs: Pairs
    rotary: int
    dtype: str
    source: RotationSource
    axes: str = "bhsd"
    phase_roundings: float = 2.0

    @cached_property
    def index(self) -> tuple[Integers, ...]:
        """Batch, head and row of every vector."""
        return np.unravel_index(np.arange(math.prod(self.x.shape[:3])), self.x.shape[:3])

    @cached_property
    def by_batch(self) -> Integers:
        """Positions of the rows of each batch, (batches, rows)."""
        batches, _, rows, _ = self.x.shape
        return np.resize(self.positions, (batches, rows))

    @cached_property
    def at(self) -> Integers:
        """Position of every vector."""
        b, _, n = self.index
        return self.by_batch[b, n]

    @cached_property
    def flat(self) -> tuple[Floats, ...]:
        """Inputs, outputs and exact outputs, a vector a row."""
        return tuple(values.reshape(-1, values.shape[-1]) for values in (self.x, self.y, self.right))

    @cached_property
    def sample(self) -> Integers:
        """Numbers of some vectors, spread over all."""
        return np.unique(np.linspace(0, len(self.at) - 1, MAX_TRIED).astype(np.int64))

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Mask of the values that are not as expected."""
        allowed = self.allowed(np.arange(len(self.at)), self.flat[2])
        return ~(np.abs(self.flat[1] - self.flat[2]) <= allowed).reshape(self.x.shape)

    def rotated(
        self, v: Integers, *, at: Integers | None = None, pairs: Pairs | None = None, times: int = 1,
        modify: Callable[[Rotations], Rotations] = lambda z: z, changed: Changed | None = None,
        among: Integers | None = None,
    ) -> Floats:  # fmt: skip
        """Return vectors rotated at other positions, in other pairs, several times, by other cosines and sines."""
        x = self.flat[0][v] if among is None else self.flat[0][v][:, among]
        z = modify(self.source.rotations((self.at if at is None else at)[v], changed))
        for _ in range(times):
            x = rotate(x, z, pairs or self.pairs)
        return x if among is None else x[:, np.argsort(among)]

    def mixed(self, v: Integers, *, cosines: Integers, partner: Integers, sign: Floats) -> Floats:
        """Return x cos + sign partner sin, by columns."""
        x, z = self.flat[0][v], self.source.rotations(self.at[v])[:, cosines]
        out = x.copy()
        out[:, : self.rotary] = x[:, : self.rotary] * z.real + sign * x[:, partner] * z.imag
        return out

    def phased(self, v: Integers, *, w: Floats, size: Floats, types: Sequence[str]) -> Floats:
        """Return vectors rotated by float32 phases whose positions, frequencies, angles and cosines have some types."""
        angle = rounded(self.at[v, None].astype(np.float64), types[0]) * rounded(w, types[1])
        z = size * np.exp(1j * rounded(rounded(angle, "float32"), types[2]))
        return rotate(self.flat[0][v], _rounded(z, types[3]), self.pairs)

    def scaled(self, v: Integers, *, factor: float) -> Floats:
        """Return the exact outputs times a factor."""
        return factor * self.flat[2][v]

    def inverted(self, v: Integers) -> Floats:
        """Return vectors that are divided by the scale of each position, as xPos has it, not multiplied."""
        return np.nan_to_num(self.rotated(v) ** 2 / self.flat[2][v])

    def overwritten(self, v: Integers) -> Floats:
        """Return vectors whose second members were computed from first members that were rotated already."""
        out, z = self.rotated(v), self.source.rotations(self.at[v])
        (_, b), (first, second) = (columns(self.rotary, pairing) for pairing in self.pairs)
        out[:, second] = self.flat[0][v][:, b] * z.real + out[:, first] * z.imag
        return out

    def allowed(self, vectors: Integers, made: Floats) -> Floats:
        """Return how far each value may be from the exact one: by angles in float32 and some roundings of its pair."""
        x = self.flat[0][vectors]
        size = np.maximum(np.abs(made), np.abs(x))
        for width, pairing, end in product({self.rotary, x.shape[1]}, WORDS, (False, True)):
            first, second = (x.shape[1] - 1 - at if end else at for at in columns(width, pairing))
            norm = np.maximum(*(np.hypot(values[:, first], values[:, second]) for values in (made, x)))
            size[:, first], size[:, second] = np.maximum(size[:, first], norm), np.maximum(size[:, second], norm)
        angle = self.phase_roundings * GRIDS["float32"].rounding * float(np.abs(self.at).max(initial=0))
        return size * (angle + ROUNDINGS * GRIDS[self.dtype].rounding)

    def gives(self, kernel: Kernel, text: str = "") -> bool:
        """Whether a kernel gives every output value within rounding; of a rounded step, some are ties."""
        step, rest, size = max(1, BLOCK_VALUES // self.x.shape[-1]), 0.0, 0.0
        for vectors in (self.sample, *np.split(np.arange(len(self.at)), range(step, len(self.at), step))):
            try:
                values = kernel(vectors)
            except PecliError:  # positions or widths that the source does not have
                return False
            gap = np.abs(self.flat[1][vectors] - values)
            off = ~(gap <= self.allowed(vectors, values))
            rest, size = rest + float((gap**2).sum()), size + float((values**2).sum())
            wrong = self.wrong.reshape(len(self.at), -1)[vectors] if "rounded" in text else off[:0]
            if np.count_nonzero(off) > MAX_TIES * np.count_nonzero(wrong):
                return False
        return self.dtype not in LOW_TYPES or rest <= (KERNEL_ROUNDINGS * GRIDS[self.dtype].rounding) ** 2 * size


# Steps that are rounded to a narrow type: p the position, w its frequency, a the angle, c its cosine and sine.
STEPS = {
    "frequencies (inv_freq) were rounded to KIND": "w",
    "positions were rounded to KIND": "p",
    "phases were computed in KIND (frequencies and angles rounded to KIND)": "wa",
    "phases were computed in KIND (frequencies, positions and angles rounded to KIND)": "pwa",
    "angles were rounded to KIND": "a",
    "cosines and sines were rounded to KIND": "c",
    "frequencies (inv_freq) and positions were rounded to KIND": "pw",
    "positions and angles were rounded to KIND": "pa",
}
# Wrong uses of cos + i sin: the text of each and the function that makes it.
ROTATION_ERRORS: dict[str, Callable[[Rotations], Rotations]] = {
    "the rotation goes the other way: the sine has the wrong sign": np.conj,
    "cos and sin are exchanged": lambda z: 1j * z.conj(),
    "the cosine has the wrong sign": lambda z: -z.conj(),
    "the sign of both cosine and sine is changed": np.negative,
    "the pairs take the frequencies in reverse order": lambda z: z[:, ::-1],
}


def _rounded(z: Rotations, dtype: str) -> Rotations:
    return rounded(z.real, dtype) + 1j * rounded(z.imag, dtype)


def kernels(applied: AppliedRotation, *, moved: bool = True) -> Iterator[tuple[str, Kernel]]:
    """Yield candidate faults: the text of each and the kernel that makes its outputs.

    Parameters
    ----------
    moved : bool
        Whether faults of the positions are among them.
    """
    pairs, width, whole = applied.pairs, applied.rotary, applied.x.shape[-1]
    still = "not rotated at all: the outputs are the inputs" + ", as at position 0" * (len({*applied.at.tolist()}) == 1)
    for times, text in ((0, still), (2, TWICE)):
        yield text, partial(applied.rotated, times=times)
    for other in PAIRINGS:
        if other != pairs:
            yield pairing_text(other, pairs), partial(applied.rotated, pairs=other)
    yield from _factor(applied)
    yield from _after(applied)
    yield "the scale of each position is missing: the vectors are only rotated", applied.rotated
    yield "the scale of each position is inverted: queries are scaled as keys, or keys as queries", applied.inverted
    for text, modify in ROTATION_ERRORS.items():
        yield text, partial(applied.rotated, modify=modify)
    yield from _narrow_phases(applied)
    for kind in LOW_TYPES:
        coarse = replace(applied, x=rounded(applied.x, kind))
        yield f"the inputs were rounded to {kind} before they were rotated", coarse.rotated
    for text, positions in _positions(applied) if moved else ():
        yield text, partial(applied.rotated, at=positions)
    yield from _formulas(applied)
    yield "the first members were overwritten before the second ones were computed", applied.overwritten
    if whole > width:
        text = f"the last {width} columns were rotated, and the first {width} were expected"
        yield text, partial(applied.rotated, among=np.roll(np.arange(whole), width))
        far = np.concatenate([np.arange(width // 2), np.arange(width // 2) + whole // 2])
        text = f"the partner of column i is i + {whole // 2}, of the head, where i + {width // 2} was expected"
        among = np.concatenate([far, np.setdiff1d(np.arange(whole), far)])
        yield text, partial(applied.rotated, among=among, pairs=("half", "half"))
    for rotary in sorted({whole, whole // 2, whole // 4, width // 2} - {width, 0}):
        for given in (str(rotary), None):
            part = ", the whole head," if rotary == whole else ""
            text = f"{rotary} columns{part} were rotated, and {width} were expected"
            changed = {"dim": str(rotary), "rotary-dim": given, "partial": None}
            yield text, partial(applied.rotated, changed=changed)
        own = applied.source.recipe[1] if applied.source.recipe is not None else {}
        if rotary < width and "factor" not in own:
            changed["base"] = f"{float(own.get('base', 10000)) ** (rotary / width):.17g}"  # has the wider exponents
            yield f"{text}, with exponents over {width}", partial(applied.rotated, changed=changed)


def _positions(applied: AppliedRotation) -> Iterator[tuple[str, Integers]]:
    """Yield other positions of every vector: what kernels count instead."""
    (b, h, n), at, (batches, _, rows, _) = applied.index, applied.at, applied.x.shape
    own = applied.by_batch
    yield "positions begin at 0, as those of a first step", at - own[b, 0]
    yield "every batch has the positions of the first one", own[0, n]
    yield "every row has position 0, as at each step of a decoder", at * 0
    yield "positions are off by one: each is 1 larger than expected", at + 1
    yield "positions are off by one: each is 1 smaller than expected", at - 1
    yield "positions count the rows from 0, whatever positions were given", n
    first = "heads" if batches > 1 else "heads, or the batch"
    yield f"positions run along the {first}: a vector of head h has position h", h
    yield "positions run along the batch: a vector of batch b has position b", b
    yield "positions are not reset for each batch: they go on where the last one ended", at + b * rows
    yield "positions run backwards", at.max() + at.min() - at


def _formulas(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield slips of the formula x cos + partner sin: columns of the cosines and of the partners, and their signs."""
    width, own = applied.rotary, applied.pairs[0]
    half, quarter, k = width // 2, width // 4, np.arange(width)
    cosines = {"half": k % half, "interleaved": k // 2}
    partner = {"half": (k + half) % width, "interleaved": k ^ 1}
    minus = {"half": np.where(k < half, -1.0, 1.0), "interleaved": np.where(k % 2, 1.0, -1.0)}
    in_half, plus = k % half, np.ones(width)
    moved = f"the partner of column i is i + {quarter} (a quarter of the width), where i + {half} was expected"
    quarters = k - in_half + (in_half + quarter) % half
    stacked = "the partners are all odd columns, then all even ones: cat(-odd, even), where they should be in turn"
    apart = np.where(k < half, 2 * k + 1, 2 * (k - half)) % width
    for text, columns_of, others, sign in (
        ("the cosines are repeated pair by pair (interleaved) and used with rotate_half, which takes half-split pairs",
         cosines["interleaved"], partner["half"], minus["half"]),
        ("the cosines are doubled by halves and used with neighbouring (interleaved) pairs",
         cosines["half"], partner["interleaved"], minus["interleaved"]),
        ("the minus sign of the first members is missing: x1 cos + x2 sin", cosines[own], partner[own], plus),
        ("the second members have a minus sign: x2 cos - x1 sin", cosines[own], partner[own], -plus),
        ("the sine is missing: only x cos was computed", cosines[own], k, 0 * plus),
        (stacked, cosines["half"], apart, minus["half"]),
        (stacked, cosines["interleaved"], apart, minus["half"]),
        (moved, cosines[own], quarters, np.where(in_half < quarter, -1.0, 1.0)),
    ):  # fmt: skip
        yield text, partial(applied.mixed, cosines=columns_of, partner=others, sign=sign)


def _after(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield what was done to the right outputs afterwards, and columns that are still those of the inputs."""
    x, y, right = applied.flat
    lengths, expected = (np.linalg.norm(values, axis=1, keepdims=True) for values in (y, right))
    own = lengths / np.where(expected, expected, 1.0)
    if own.all() and (np.abs(own - 1) > MAX_LENGTH_ERROR).mean() > MIN_OTHER_LENGTHS:  # else some vectors are wrong
        yield "each vector has another length, as of a norm after the rotation", lambda v: right[v] * own[v]
    if len(x) >= MIN_VECTORS and y.any(axis=0).all():  # a few follow any numbers
        size, added = (right**2).sum(axis=0), (y - right).mean(axis=0)
        weights = (y * right).sum(axis=0) / np.where(size, size, 1.0)
        text = "each column is multiplied by a number of its own, as of a norm's weight after the rotation"
        yield text, lambda v: right[v] * weights
        yield "one vector is added to all outputs, as a bias after the rotation", lambda v: right[v] + added
        z = applied.source.rotations(applied.at)
        undone, squares = rotate(y, 1 / z, applied.pairs), (x**2).sum(axis=0)
        scales = (undone * x).sum(axis=0) / np.where(squares, squares, 1.0)
        before = "each column is multiplied by a number of its own before the rotation, as of a norm's weight"
        if np.abs(scales - 1).max() > MAX_LENGTH_ERROR:
            yield before, lambda v: rotate(x[v] * scales, z[v], applied.pairs)
        _, place, many = np.unique(applied.at, return_inverse=True, return_counts=True)
        sums = (np.stack([np.bincount(place, column) for column in values.T], axis=1) for values in (x, y - x))
        inputs, vectors = (one / many[:, None] for one in sums)
        if many.min() > 1 and not np.allclose(x, inputs[place]):  # else any numbers would do
            text = "one vector is added at each position, where pairs should be rotated"
            yield text, lambda v: x[v] + vectors[place[v]]
        bias = rotate(y - right, 1 / z, applied.pairs).mean(axis=0, keepdims=True)
        before = "one vector is added to all inputs, as a bias before the rotation"
        yield before, lambda v: right[v] + rotate(np.repeat(bias, len(v), 0), z[v], applied.pairs)
    same = (x == y).all(axis=0) & (x != right).any(axis=0)
    if same.any():
        text = f"{numbered('column', np.flatnonzero(same))} are those of the inputs: they were not rotated"
        yield text, lambda v: np.where(same, x[v], right[v])


def _narrow_phases(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield rotations whose positions, frequencies or angles were rounded to 16 bits, in some steps or in all."""
    with contextlib.suppress(PecliError):
        first = applied.source.rotations(np.ones(1, np.int64))
        w, size = rounded(np.angle(first), "float32"), np.abs(first)
        for kind, (which, steps) in product(LOW_TYPES, STEPS.items()):
            types = [kind if part in steps else "float32" for part in "pwac"]
            same = " or TF32" * (kind == "float16" and not {*steps} & {"a", "c"})  # which have as many digits
            yield which.replace("KIND", kind + same), partial(applied.phased, w=w, size=size, types=types)


def _factor(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield exact outputs that are multiplied by the number that the outputs show."""
    _, y, right = applied.flat
    large = np.abs(right) > np.abs(right).max() / 4
    value, near = float(np.median(y[large] / right[large])), MAX_FACTOR_ERROR[applied.dtype]
    size = float(np.median(np.abs(applied.source.rotations(applied.at[:1]))))
    if not near <= abs(value) < math.inf or abs(value - 1) <= near:
        return
    short = float(shortest(*sorted((value * (1 - near), value * (1 + near)))))
    for factor, text in (
        (-1.0, "every value has the other sign"),
        (1 / size, f"the magnitude (attention factor {figure(size)}) is missing"),
        (size, f"the magnitude (attention factor {figure(size)}) is squared"),
        (short, f"it is {factor_text(short)} times as long as expected"),
    ):
        if abs(value / factor - 1) <= near:
            yield text, partial(applied.scaled, factor=factor)


def pairing_text(taken: Pairs, own: Pairs) -> str:
    """Return the pairing that was rotated and the expected one, as text."""
    words = [WORDS[first] + f" (written as {WORDS[second]})" * (first != second) for first, second in (taken, own)]
    return "{} pairs were rotated where {} ones were expected".format(*words)


TWICE = "it was rotated twice, or by twice the angle"


# Type that cosines and sines measured from outputs of a type are rounded to, which hides the outputs' own rounding.
COARSER = {"float64": "float16", "float32": "float16", "float16": "bfloat16", "bfloat16": "bfloat16"}
# Kinds of findings about measured cosines that do not describe a kernel.
UNSPECIFIC_KINDS = ("place", "rounding", "type", "dtype", "value", "rest", "random", "identity", "expected")
UNNAMED = "other frequencies"  # of no known rule; a base that gives every value is a better finding
MIN_PAIRED = 0.98  # share of the pairs whose lengths the pairing must keep; the others are near 0


def measured_faults(applied: AppliedRotation, explained: Explained) -> Iterator[str]:
    """Yield how the cosines and sines that were used differ from the expected ones."""
    distinct = np.unique(applied.at)
    for pairs in (applied.pairs, *(one for one in PAIRINGS if one != applied.pairs)):
        z = measured_rotation(applied, pairs)
        if z is None:
            continue
        used = replace(applied, source=RotationSource(None, (distinct, z.real, z.imag)))
        given = used.gives(partial(used.rotated, pairs=pairs))
        if texts := _difference(applied, distinct, z, pairs, explained) if given else []:
            paired = [pairing_text(pairs, applied.pairs)] if pairs != applied.pairs else []
            yield ", and ".join(text.removeprefix("and ") for text in [*paired, *texts])


def measured_rotation(applied: AppliedRotation, pairs: Pairs) -> Rotations | None:
    """Return y / x of each position, in ascending order, and pair; None where it is no rotation."""
    (a, b), (first, second) = (columns(applied.rotary, pairing) for pairing in pairs)
    x, y, _ = applied.flat
    before, after = x[:, a] + 1j * x[:, b], y[:, first] + 1j * y[:, second]
    order = np.argsort(applied.at, kind="stable")
    starts = np.unique(applied.at[order], return_index=True)[1]
    lengths = np.add.reduceat((np.abs(before) ** 2)[order], starts)
    z = np.asarray(np.add.reduceat((after * before.conj())[order], starts) / lengths, np.complex128)
    sizes = np.abs(z)
    size = np.median(sizes)
    same = np.abs(sizes - size) <= MAX_FACTOR_ERROR[applied.dtype] * 4 * size
    return z if size > 0 and same.mean() >= MIN_PAIRED else None


def _difference(
    applied: AppliedRotation, distinct: Integers, z: Rotations, pairs: Pairs, explained: Explained
) -> list[str]:
    """Return in words how measured cosines and sines differ from the expected ones; nothing where it is not known."""
    step, kind = int(distinct[-1] - distinct[0]) // max(1, len(distinct) - 1), COARSER[applied.dtype]
    if len(distinct) == 1:
        at = _position(applied, z[0])
        return [f"position {at} was used where {distinct[0]} was expected"] * (at not in (None, int(distinct[0])))
    if step == 0 or (np.diff(distinct) != step).any():
        return []
    try:
        expected = applied.source.table(Positions.arange(len(distinct), int(distinct[0]), step), kind)
    except PecliError:
        return []
    measured = InMemory({"cos": narrow(z.real, None, kind), "sin": narrow(z.imag, None, kind)})
    found = explained(measured, expected)
    kinds = [one.kind for one in found]
    if {*kinds[:1]} & {*UNSPECIFIC_KINDS} or {*kinds} & {"columns", "factor", "offset", "place"}:
        return []  # coarse values do not tell these, and what is true of a part is not the fault
    first = distinct[0] == 0 and step == 1  # rows' numbers are the positions
    texts = [one.text for one in found if one.kind not in UNSPECIFIC_KINDS]
    return [re.sub(r"\brow(?=s? )", "position", text) if first else text for text in texts]


def _position(applied: AppliedRotation, z: Rotations) -> int | None:
    """Return the only whole position at which all pairs are rotated as one vector's, (pairs,), are."""
    many = max(MIN_POSITIONS, 2 * int(applied.at.max()))
    with contextlib.suppress(PecliError):
        known = applied.source.rotations(np.arange(many))
        near = MAX_FACTOR_ERROR[applied.dtype] + GRIDS["float32"].rounding * many
        found = np.flatnonzero(np.abs(known - z).max(axis=1) <= 4 * near * np.abs(z).max())
        return int(found[0]) if len(found) == 1 else None
    return None


MIN_VECTORS = 8  # that show a number for each column
# Positions among which that of a single vector is looked for, from 0 on.
MIN_POSITIONS = 1 << 12
UNSCALED_KEYS = ("dim", "base", "rotary-dim", "partial", "sections", "section-order")  # no part of a scaling


def faults(applied: AppliedRotation, name: str, explained: Explained) -> list[Finding]:
    """Return the fault of the kernel and its place, or the finding that only rounding differs."""
    with np.errstate(all="ignore"):
        held = effective_dtype(applied.flat[1][applied.sample], applied.dtype)
        rough = f", and the outputs are rounded to {held}" if held != applied.dtype else ""
        applied = replace(applied, dtype=held)
        if not applied.wrong.any():
            return [_rounding(applied, name, rough)]
        for part, where in ((applied, ""), _part(applied)):
            texts = _faults_of_all(part, explained) if part is not None else ()
            fault = next((text for text in texts if "row" not in where or not re.search(r"\brows? \d", text)), None)
            if fault is not None:
                return [Finding("rotation", f"{name}: {where}{fault}{rough}")]
        return _elsewhere(applied, name)


def _faults_of_all(applied: AppliedRotation, explained: Explained) -> Iterator[str]:
    """Yield the texts of the faults that explain all vectors."""
    yield from (text for text, kernel in kernels(applied) if applied.gives(kernel, text))
    measured = list(measured_faults(applied, explained))
    yield from (text for text in measured if UNNAMED not in text)
    yield from (text for text, kernel in _bases(applied) if applied.gives(kernel))
    yield from measured


def _rounding(applied: AppliedRotation, name: str, rough: str) -> Finding:
    """Return the finding that the outputs are right within rounding."""
    most = float(np.abs(applied.y - applied.right).max())
    what = f"the outputs are rounded to {applied.dtype}" if rough else f"{applied.dtype} rounding"
    text = f"{name}: {what}, at most {limit(most, 1)}: the rotation is right"
    return Finding("rounding", f"{text}; --atol {at_least(most, 1)} accepts it")


def applied_rotations(table: Tabular) -> Iterator[tuple[tuple[str, str], str, str, InMemory]]:
    """Yield which array is which other one rotated, by which pairs, in words, and the cosines and sines that did it.

    Vectors of one position stand along any axis but the first and the last; columns that are equal are not rotated.
    """
    arrays = [a for a in table.arrays if a.dtype in GRIDS and len(a.shape) > 2 and math.prod(a.shape) <= MAX_VALUES]
    held = {a.name: floats(table.read(a.name), a.dtype).astype(np.float64) for a in arrays[:MAX_ARRAYS]}
    kinds = {a.name: a.dtype for a in arrays}
    for (name, x), (other, y) in permutations(held.items(), 2):
        if x.shape != y.shape or not np.isfinite(x).all() or not np.isfinite(y).all():
            continue
        width = int(1 + np.flatnonzero((x != y).any(axis=tuple(range(x.ndim - 1)))).max(initial=-1))
        error = 4 * max(EPSILON[kinds[name]], EPSILON[kinds[other]]) * float(np.abs(x).max(initial=0))
        for axis, pairing in product(range(x.ndim - 2, 0, -1), WORDS) if width and width % 2 == 0 else ():
            a, b = columns(width, pairing)
            before, after = (np.moveaxis(v, axis, 0).reshape(x.shape[axis], -1, x.shape[-1]) for v in (x, y))
            if before.shape[1] < 2 or len(before) < 2:
                continue
            before, after = (v[..., a] + 1j * v[..., b] for v in (before, after))
            z = (after * before.conj()).sum(axis=1) / (np.abs(before) ** 2).sum(axis=1)
            forward = np.median(np.angle(z[1] * z[0].conj())) > 0  # else the other one is rotated
            sizes = np.abs(z)  # all alike, or it is no rotation
            turns = forward and np.ptp(sizes) <= 4 * MAX_FACTOR_ERROR[kinds[other]] * sizes.max()
            if turns and np.abs(after - z[:, None] * before).max() <= error and np.abs(z - 1).max() > MIN_TURN:
                parts = {"cos": z.real, "sin": z.imag}
                coarse = {part: narrow(values, None, COARSER[kinds[other]]) for part, values in parts.items()}
                text = f"'{other}' is '{name}' rotated in {WORDS[pairing]} pairs"
                text += f", by the places along axis {axis}" * (x.ndim > 3)
                text += f"; columns {width} to {x.shape[-1] - 1} are not rotated" * (width < x.shape[-1])
                yield (name, other), pairing, text, InMemory(coarse)
                break


def as_vectors(values: Floats, axes: str) -> Floats:
    """Return a tensor with the axes batch, head, row and column, of length 1 where it has none."""
    axes = axes.replace("t", "s")
    moved = values.transpose([axes.index(letter) for letter in "bhsd" if letter in axes])
    return np.expand_dims(moved, [k for k, letter in enumerate("bhsd") if letter not in axes])


def _elsewhere(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return the place and kind of the wrong values, without the rounding of the others."""
    letters = applied.axes.replace("t", "s")
    order = ["bhsd".index(letter) for letter in (*letters, *sorted(set("bhsd") - set(letters)))]
    axes = tuple({"b": "batch", "h": "head"}.get(letter, "position") for letter in letters)

    def array(values: Floats) -> ComputedRows:
        own = rounded(values, applied.dtype).transpose(order)
        shape, rows = own.shape[: len(letters)], np.ascontiguousarray(own).reshape(-1, own.shape[len(letters) - 1])
        return ComputedRows(name, shape, applied.dtype, lambda a, b: rows[a:b], max(1, len(shape) - 1), axes)

    off = np.where(applied.wrong, applied.y, applied.right)
    return [one for one in located([(array(off), array(applied.right))]) if one.kind != "rounding"]


def _part(applied: AppliedRotation) -> tuple[AppliedRotation | None, str]:
    """Return the batches, heads and rows in which all wrong values lie, and the words for them."""
    wrong: NDArray[np.bool_] = np.any(applied.wrong, axis=3)
    still = wrong | np.any(wrong, axis=2, keepdims=True) & (applied.by_batch == 0)[:, None]  # which nothing rotates
    wrong = still if still.any(axis=(0, 1)).all() else wrong
    kept, words = list[Integers](), list[str]()
    for axis, word in enumerate(("batch", "head", "row")):
        at = np.flatnonzero(np.any(wrong, axis=tuple(k for k in range(3) if k != axis)))
        kept.append(at)
        if len(at) < wrong.shape[axis]:
            listed = indices(word, at, wrong.shape[axis])
            words.append(listed if listed.endswith(" on") else f"all of {listed}")
    if not words or not wrong[np.ix_(*kept)].all():
        return None, ""
    x, y, right = (values[np.ix_(*kept)] for values in (applied.x, applied.y, applied.right))
    positions = applied.by_batch[np.ix_(kept[0], kept[2])]
    return replace(applied, x=x, y=y, right=right, positions=positions), f"{', '.join(words)}: "


def _bases(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield rotations without the scaling, and with the bases of well-known models: few rows tell no frequency."""
    name, given = applied.source.recipe or ("", {})
    plain = {key: None for key in given if key not in UNSCALED_KEYS}
    if "scaling" in plain:
        yield f"scaling {given['scaling']} is missing", partial(applied.rotated, changed=plain)
    if "factor" in given:
        twice = number_text(Decimal(given["factor"]) ** 2)
        text = f"the factor {given['factor']} was applied twice: factor {twice}"
        yield text, partial(applied.rotated, changed={"factor": twice})
    for base in PUBLISHED_BASES if name else ():
        text = f"base {base} where {given.get('base', 10000)} was expected"
        yield text, partial(applied.rotated, changed={"base": base})
