"""Two files of queries or keys: how one was rotated otherwise than the other, where nothing states how either was."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, product

import numpy as np

from pecli.judge.description import harmless
from pecli.judge.kernels import (
    HEAD_WIDTHS,
    KERNEL_ROUNDINGS,
    MAX_FACTOR_ERROR,
    MAX_LENGTH_ERROR,
    MAX_VALUES,
    PAIRINGS,
    WORDS,
    AppliedRotation,
    Pairs,
    Rotations,
    RotationSource,
    columns,
    kernels,
    measured_rotation,
    pairing_text,
    rotate,
)
from pecli.judge.kernels import TWICE as ROTATED_TWICE
from pecli.judge.located import VAGUE, indices, located
from pecli.judge.planes import EPSILON, Floats, Integers, effective_dtype
from pecli.judge.turns import STILL, TWICE, Turns, decay_differences
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import floats
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.tabular import InMemory, Tabular, View
from pecli.tables.comparison import Finding
from pecli.tables.views import ArrayView, matched_views

# What two tensors say of a kernel's fault: the expected one may lack a rotation, or begin later.
RELATIVE = {
    ROTATED_TWICE: TWICE,
    "positions are off by one: each is 1 larger than expected": "positions are 1 later",
    "positions are off by one: each is 1 smaller than expected": "positions are 1 earlier",
}
# What is found of the expected tensor, and what that says of the file.
FROM_FILE = {
    r"(\d+ columns(?:, the whole head,)?) were rotated, and (\d+) were expected":
        r"\2 columns were rotated, and \1 were expected",
    r"positions 1 to (\d+) repeat position 0, later positions have moved down by \1":
        r"left padding by \1 was not taken out of the positions: those behind it are \1 too large",
}  # fmt: skip
# Rotations that the expected tensor may have, and what is said of them; each takes a tenth of a second.
COMMON_BASES = 4
JUDGED = tuple((f"base {base}", {"base": base}) for base in PUBLISHED_BASES[:COMMON_BASES]) + tuple(
    (f"those of Llama 3 (base 500000, llama3 scaling with factor {factor})",
     {"base": "500000", "scaling": "llama3", "factor": factor, "original-max": "8192"})
    for factor in ("8", "32"))  # fmt: skip
# Roundings of an angle, relative to it, by two rotations in float32: of its frequency twice, and of the product.
BOTH_ROUNDINGS = 6.0
# Widths of heads side by side in which other kernels are looked for.
MAX_WIDTHS = 3
# Rows and other vectors that a kernel is tried on before it is tried on all, for many bases.
FEW_ROWS = 4
# Batches that are described one by one.
MAX_PARTS = 8
# Columns that the first pair, which may be equal, leaves between others that differ.
MAX_GAP = 2


@dataclass(eq=False)
class TwoTensors:
    """A tensor (.., width) and the expected one, of the same shape."""

    y: Floats
    right: Floats
    dtype: str
    wanted: str

    @property
    def may_be_rotated(self) -> bool:
        """Whether vectors of pairs stand along the last axis."""
        y, width = self.y, self.y.shape[-1] if self.y.ndim else 0
        fits = 1 < y.ndim < 5 and y.shape == self.right.shape and y.size <= MAX_VALUES and width >= 4 > width % 4 == 0
        return fits and bool(np.isfinite(y).all() and np.isfinite(self.right).all() and y.any() and self.right.any())

    @property
    def width(self) -> int:
        """Columns of a vector."""
        return int(self.y.shape[-1])

    @cached_property
    def moving(self) -> Integers:
        """Columns that differ."""
        return np.flatnonzero((self.y != self.right).any(axis=tuple(range(self.y.ndim - 1))))

    @cached_property
    def rotary(self) -> int:
        """Columns up to the last one that differs, an even number."""
        last = int(self.moving[-1] + 1) if self.moving.size else self.width
        return last + last % 2

    @cached_property
    def held(self) -> str:
        """The type that the values show."""
        return effective_dtype(self.y, self.dtype)

    @cached_property
    def coarser(self) -> str:
        """The coarser one of the types that the values of both show."""
        return max(self.held, effective_dtype(self.right, self.wanted), key=EPSILON.__getitem__)

    @cached_property
    def axes(self) -> list[int]:
        """Axes that may be the rows'."""
        return [k for k in range(self.y.ndim - 1) if self.y.shape[k] > 1]

    @cached_property
    def still(self) -> list[int]:
        """Axes whose first place is equal, as position 0 is, which nothing rotates."""
        return [k for k in self.axes if (self.y.take(0, k) == self.right.take(0, k)).all()]

    @cached_property
    def relations(self) -> list[Turns]:
        """The angles between both, by each axis and pairing that explain all values by angles."""
        found = [self.angles(axis, pairing, 0, self.rotary) for axis, pairing in product(self.axes, WORDS)]
        return [one for one in found if one is not None]

    def complex_pairs(self, axis: int, pairing: str, first: int, rotary: int) -> tuple[Rotations, Rotations]:
        """Return the pairs of some columns of the expected tensor and of this one, (rows, vectors, pairs)."""
        a, b = (first + at for at in columns(rotary, pairing))
        made, want = (np.moveaxis(v, axis, 0).reshape(v.shape[axis], -1, self.width) for v in (self.y, self.right))
        return want[..., a] + 1j * want[..., b], made[..., a] + 1j * made[..., b]

    def angles(self, axis: int, pairing: str, first: int, rotary: int) -> Turns | None:
        """Return the angles between some columns of both."""
        word = f"axis {axis}" * (self.y.ndim > 2)
        return Turns.of(*self.complex_pairs(axis, pairing, first, rotary), self.coarser, word)

    @cached_property
    def turns(self) -> Turns | None:
        """The angles between both, preferably those with a reason; None where they are alike or explain nothing."""
        is_alike = any(one.are_alike for one in self.relations)
        found = [] if is_alike else [one for one in self.relations if one.is_exact or not one.are_small]
        return next((one for one in found if one.words), found[0] if found else None)

    def part(self, change: Callable[[Floats], Floats]) -> TwoTensors:
        """Return the same part of both."""
        return TwoTensors(change(self.y), change(self.right), self.dtype, self.wanted)

    @property
    def text(self) -> str:
        """How one is rotated otherwise than the other; "" of what is not known."""
        finding = next(iter(self.findings), None)
        return finding.text if finding is not None else ""

    @cached_property
    def findings(self) -> list[Finding]:
        """How one is rotated otherwise than the other: what the first rule says that knows it; [] where none does."""
        found = (rule(self) for rule in RULES) if self.may_be_rotated else iter(())
        return next((findings for findings in found if findings), [])


def _rotation(text: str) -> list[Finding]:
    return [Finding("rotation", text)] if text else []


def _last_columns(both: TwoTensors) -> list[Finding]:
    """Return what differs in the last columns, where the first are not rotated."""
    first = int(both.moving[0]) // 4 * 4 if both.moving.size else 0
    if not first or (np.diff(both.moving) > MAX_GAP).any():
        return []
    found = both.part(lambda values: values[..., first:]).findings
    return [one._replace(text=f"columns {first} to {both.width - 1}: {one.text}") for one in found]


def _other_end(both: TwoTensors) -> list[Finding]:
    """Return that the first columns were rotated for the last ones, or the other way round: by opposite angles."""
    gaps = np.flatnonzero(np.diff(both.moving) > MAX_GAP)
    rotary = int(both.moving[gaps[0]]) + 1 if len(gaps) == 1 and both.moving[0] < 4 else 0
    rotary += rotary % 2
    if not 0 < 2 * rotary < both.width or not 0 <= rotary - both.width + both.moving[gaps[0] + 1] <= MAX_GAP:
        return []
    for axis, pairing in product(both.axes, WORDS):
        first, last = (both.angles(axis, pairing, at, rotary) for at in (0, both.width - rotary))
        if first is not None and last is not None and np.abs(np.angle(first.z * last.z)).max() <= 8 * first.near:
            forward = float(np.angle(first.z[1:, 0] * first.z[:-1, 0].conj()).sum()) > 0
            have, want = ("first", "last") if forward else ("last", "first")
            return _rotation(f"the {have} {rotary} columns were rotated where the {want} {rotary} were expected")
    return []


def _angles(both: TwoTensors) -> list[Finding]:
    """Return the reason of the angles between both."""
    return _rotation(both.turns.words) if both.turns is not None else []


def _decay(both: TwoTensors) -> list[Finding]:
    """Return how the scales of positions differ, as xPos has them."""
    ways = product(both.axes, WORDS) if both.turns is None else ()
    each = (decay_differences(*both.complex_pairs(*way, 0, both.rotary), both.coarser) for way in ways)
    return _rotation(next(filter(None, each), ""))


def _heads_apart(both: TwoTensors) -> list[Finding]:
    """Return how the heads differ that stand side by side in the columns of (tokens, heads x width)."""
    if both.y.ndim != 2 or both.turns is not None:
        return []
    widths = [width for width in HEAD_WIDTHS if both.width % width == 0 and both.width > width]
    parts = {width: both.part(partial(_in_heads, width)) for width in widths}
    reasons = ((width, _angles(one)) for width, one in parts.items())
    others = ((width, parts[width].findings) for width in widths[: MAX_WIDTHS * (0 in both.still)])
    for width, found in chain(reasons, others):
        if found:
            return [one._replace(text=f"in heads of {width} columns, {one.text}") for one in found]
    return []


def _in_heads(width: int, values: Floats) -> Floats:
    """Return vectors (rows, heads, width) of columns of heads side by side."""
    return values.reshape(len(values), -1, width)


def _across_heads(both: TwoTensors) -> list[Finding]:
    """Return that the halves were exchanged across the heads that stand side by side, not within each."""
    if both.y.ndim != 2 or 0 not in both.still:
        return []
    for width, base in product(HEAD_WIDTHS, PUBLISHED_BASES):
        fits = both.width % width == 0 and both.width > width
        if fits and all(_is_across(both, rows, width, float(base)) for rows in (FEW_ROWS, len(both.y))):
            text = f"the halves of all {both.width} columns are rotated with each other, not those of each head"
            return _rotation(f"{text} of {width} columns (judged with base {base})")
    return []


def _is_across(both: TwoTensors, rows: int, width: int, base: float) -> bool:
    """Whether the first rows are rotated across heads of a width, by angles with a base."""
    y, right = both.y[:rows], both.right[:rows]
    w = base ** (-np.arange(width // 2) / (width // 2))
    angles = np.tile(np.arange(len(y))[:, None] * w, both.width // width * 2)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = np.moveaxis(right.reshape(len(y), -1, 2, width // 2), 2, 0)
    x = right * cos - np.stack([-b, a], 2).reshape(right.shape) * sin
    made = x * cos + np.roll(x, both.width // 2, 1) * sin * np.where(np.arange(both.width) * 2 < both.width, -1, 1)
    return bool(np.abs(made - y).max() <= MAX_FACTOR_ERROR[both.held] * np.abs(x).max())


def _of_parts(both: TwoTensors, *, last: bool = False) -> list[Finding]:
    """Return what differs in some heads or batches, where all others are equal; of `last`, in all but the first.

    All but the first may be the rows, whose position 0 is not rotated.
    """
    wrong = (both.y != both.right).any(axis=-1)
    for axis in both.axes if both.y.ndim == 4 else ():
        at = np.flatnonzero(wrong.any(axis=tuple(k for k in range(3) if k != axis)))
        own = both.part(partial(np.take, indices=at, axis=axis))
        word = "batch" if axis == 0 else "head" if [k for k in own.still if k != axis] == [3 - axis] else ""
        may_be_rows = len(at) == wrong.shape[axis] - 1 and at[0] == 1
        if not word or not 0 < len(at) < wrong.shape[axis] or may_be_rows != last:
            continue
        parts = [(at, own)] + [(at[k : k + 1], own.part(partial(np.take, indices=[k], axis=axis)))
                               for k in range(len(at) * (1 < len(at) <= MAX_PARTS))]  # fmt: skip
        for some in (parts[:1], parts[1:]):
            named = [(indices(word, which, wrong.shape[axis]), part.text) for which, part in some]
            if named and all(text and OTHER_ANGLES not in text for _, text in named):
                return [Finding("rotation", f"{where}: {text}") for where, text in named]
    return []


def _moved(both: TwoTensors) -> list[Finding]:
    """Return how vectors were moved before they were rotated, which keeps the lengths of their pairs."""
    size, other = (np.sort(np.abs(values), axis=None) for values in (both.y, both.right))
    if both.y.ndim < 3 or np.allclose(size, other, rtol=EPSILON["float16"]):  # rows, or values of another sign or place
        return []
    for pairing in WORDS:
        a, b = columns(both.width, pairing)
        sides = (np.hypot(values[..., a], values[..., b]) for values in (both.y, both.right))
        found = located(matched_views(*(InMemory({"array": values.astype("float32")}) for values in sides)))
        causes = [one for one in found if one.kind != "rounding"]
        if causes and not {one.kind for one in causes} & {*VAGUE}:
            length, expected = (np.linalg.norm(values, axis=-1, keepdims=True) for values in (both.y, both.right))
            moved = ~np.isclose(length, expected, rtol=4 * MAX_FACTOR_ERROR[both.held])
            left = np.where(moved, both.right, both.y)
            rest = replace(both, y=left).findings if (left != both.right).any() else []
            causes = [one._replace(text=f"before the rotation, {one.text}") for one in causes]
            return [*causes, *(one for one in rest if one.kind != "rounding")]
    return []


def _rounding(both: TwoTensors) -> list[Finding]:
    """Return that the values are off by no more than a kernel's rounding."""
    alike = not both.still and any(one.are_alike for one in both.relations)  # at unknown positions
    if not alike and all(one.wrong.any() for one in _applied(both)):
        return []
    off, length = (float(np.linalg.norm(values)) for values in (both.y - both.right, both.right))
    if both.coarser in LOW_TYPES and off > KERNEL_ROUNDINGS * EPSILON[both.coarser] * length:
        return []
    if both.coarser in LOW_TYPES and both.held != effective_dtype(both.right, both.wanted):
        of_file = both.held == both.coarser
        which, other = ("values", "the expected one") if of_file else ("the expected values", "the file's")
        text = f"{which} have the precision of {both.coarser}: each is within its roundings of {other}"
        return [Finding("type", text)]
    return [harmless(f"{both.held} rounding, if both were rotated", float(np.abs(both.y - both.right).max()), 0)]


def _kernel(both: TwoTensors) -> list[Finding]:
    """Return the slip of a kernel that gives all values, of inputs that a common rotation makes the expected ones of.

    A wrong base gives inputs that no slip takes to the values at hand.
    """
    moved = not both.still  # position 0, which nothing rotates, tells the positions
    for one in _applied(both):
        rows = one.positions
        if both.turns is not None and measured_rotation(_few(one), one.pairs) is None:  # of the other pairing
            continue
        for judged, keys in JUDGED if one.rotary in (both.rotary, both.width) else JUDGED[:1]:
            source = RotationSource(("rope", {"dim": str(both.width), "rotary-dim": str(one.rotary), **keys}))
            few = _rotated_back(one, rows[:: 1 + len(rows) // FEW_ROWS], source)
            texts = {text for text, kernel in kernels(few, moved=moved) if few.gives(kernel, text)}
            others = [pairs for pairs in PAIRINGS if pairs != one.pairs] if both.turns is None else []
            others = [pairs for pairs in others if measured_rotation(few, pairs) is not None]
            if not texts and not others:
                continue
            whole = _rotated_back(one, rows, source)
            slips = (text for text, slip in kernels(whole, moved=moved) if text in texts and whole.gives(slip, text))
            for text in (*slips, *filter(None, (_in_other_pairs(whole, pairs) for pairs in others))):
                by = f" (judged with {judged})" * ("base" not in text)
                return _rotation(RELATIVE.get(text, text) + by)
    return []


def _other_angles(both: TwoTensors) -> list[Finding]:
    """Return that some pairs are rotated by other angles, for no known reason."""
    if both.turns is None or both.y.ndim < 3:  # any two rows are rotated by some angles
        return []
    lengths = both.turns.longer or "all pairs of columns have the expected lengths"
    return _rotation(f"{lengths}: {OTHER_ANGLES}")


OTHER_ANGLES = "some pairs are rotated by other angles"
# What is looked for, in this order; the first rule that knows two tensors answers.
RULES: tuple[Callable[[TwoTensors], list[Finding]], ...] = (
    _last_columns,
    _other_end,
    _angles,
    _decay,
    _across_heads,
    _heads_apart,
    _of_parts,
    _moved,
    _rounding,
    _kernel,
    partial(_of_parts, last=True),
    _other_angles,
)


def _applied(both: TwoTensors) -> Iterator[AppliedRotation]:
    """Yield the rotation with each axis as the rows', pairing and number of columns, the likelier ones first."""
    shares = [both.rotary, both.width // 2, both.width]
    if both.rotary < both.width:
        shares = [one for one in shares if one >= both.rotary]
    elif both.still:
        shares += [2 * both.width // 5, both.width // 4]
    length, expected = (np.linalg.norm(values, axis=-1) for values in (both.y, both.right))
    if not both.still and not np.allclose(length, expected, rtol=4 * MAX_FACTOR_ERROR[both.held]):
        return
    for axis, rotary, pairing in product(both.still or both.axes, dict.fromkeys(shares), WORDS):
        if rotary % 2 == 0:
            y, right = (np.moveaxis(v, axis, -2)[(None,) * (4 - v.ndim)] for v in (both.y, both.right))
            rows, source = np.arange(both.y.shape[axis]), RotationSource(None)
            yield AppliedRotation(right, y, right, rows, (pairing, pairing), rotary, both.held, source)


def _few(one: AppliedRotation) -> AppliedRotation:
    """Return a rotation with a few of the heads."""
    return replace(one, x=one.x[:, :FEW_ROWS], y=one.y[:, :FEW_ROWS], right=one.right[:, :FEW_ROWS])


def _rotated_back(applied: AppliedRotation, rows: Integers, source: RotationSource) -> AppliedRotation:
    """Return some rows, a few of the heads, with the inputs that a rotation makes the expected outputs of."""
    heads = slice(None) if len(rows) == applied.right.shape[2] else slice(FEW_ROWS)
    y, right = applied.y[:, heads, rows], applied.right[:, heads, rows]
    back = np.tile(source.rotations(rows).conj(), (math.prod(right.shape[:2]), 1))
    x = rotate(right.reshape(-1, right.shape[-1]), back, applied.pairs).reshape(right.shape)
    return replace(applied, x=x, y=y, right=right, positions=rows, source=source, phase_roundings=BOTH_ROUNDINGS)


def _in_other_pairs(one: AppliedRotation, pairs: Pairs) -> str:
    """Return how inputs are rotated in other pairs than expected, and at other positions or by other frequencies."""
    made = rotate(one.flat[0], one.source.rotations(one.at), pairs)
    a, b = columns(one.rotary, pairs[1])
    before, after = (
        np.moveaxis((v[:, a] + 1j * v[:, b]).reshape(*one.x.shape[:3], -1), 2, 0).reshape(one.x.shape[2], -1, len(a))
        for v in (made, one.flat[1])
    )
    turns = Turns.of(before, after, one.dtype)
    return f"{pairing_text(pairs, one.pairs)}, and {turns.words}" if turns is not None and turns.words else ""


def rotated_tensors(actual: Tabular, pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return how queries or keys of a table are rotated otherwise than the expected ones; [] of other arrays."""
    found, gaps = list[list[Finding]](), list[float]()
    for pair in pairs:
        if any(one.dtype not in GRIDS or one.rows * one.row_size > MAX_VALUES for one in pair):
            return []
        y, right = (floats(one.read(0, one.rows), one.dtype).astype(np.float64).reshape(one.shape) for one in pair)
        if y.shape != right.shape or _is_table(right):
            return []
        own = TwoTensors(y, right, *(one.dtype for one in pair)).findings
        if own and STILL in own[0].text and _is_twice(actual, pair[0].name, y):
            own = _rotation(own[0].text.replace(STILL, STILL.partition(",")[0]))
        swapped = [] if own else TwoTensors(right, y, *(one.dtype for one in pair[::-1])).findings
        found.append(own or [one._replace(text=_seen_from_file(one.text)) for one in swapped])
        gaps.append(float(np.abs(y - right).max(initial=0)))
    if not found or not all(found):
        return []
    if len(found) > 1 and (all(own == found[0] for own in found) or all(own[0].kind == "rounding" for own in found)):
        return found[int(np.argmax(gaps))]  # whose tolerance accepts the others, too
    both = zip(pairs, found, strict=True)
    which = ((f"{left.name}: " if left.name != "array" else "", one) for (left, _), own in both for one in own)
    named = [one._replace(text=name + one.text) for name, one in which]
    return named if len(found) == 1 else [one.without_option for one in named]


def _is_twice(actual: Tabular, name: str, values: Floats) -> bool:
    """Whether a table holds an array's values under another name, too, as before a rotation."""
    whole = actual.source if isinstance(actual, View) else actual  # with arrays that are right
    others = (array for array in whole.arrays if array.name != name and array.shape == values.shape)
    return any(np.array_equal(floats(whole.read(array.name), array.dtype), values) for array in others)


def _seen_from_file(text: str) -> str:
    """Return how the file differs, of a finding on how the expected tensor does from it."""
    for found, said in FROM_FILE.items():
        if re.search(found, text):
            return re.sub(found, said, text)
    return f"of the expected tensor: {text}"


def _is_table(values: Floats) -> bool:
    """Whether vectors have one length and reach 1, as rows of cosines and sines do and queries do not."""
    lengths = np.linalg.norm(values.reshape(-1, values.shape[-1]), axis=1)
    return bool(
        np.ptp(lengths) < MAX_LENGTH_ERROR * lengths.max(initial=1.0)
        and abs(np.abs(values).max() - 1) < MAX_LENGTH_ERROR
    )
