"""Sums of embeddings or scores and of positions: which positions were added, where none or others were expected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np

from pecli.judge.arrangement_differences import OTHER
from pecli.judge.case import Case
from pecli.judge.expected import mistaken_tables
from pecli.judge.identify import identify
from pecli.judge.kernels import HEAD_WIDTHS
from pecli.judge.located import VAGUE
from pecli.judge.masks import MASK_GAP, Shown
from pecli.judge.planes import EPSILON, Floats, Integers, effective_dtype
from pecli.judge.positions import differing_texts, parsed
from pecli.judge.rows import floats as read_floats
from pecli.judge.transforms import MAX_FIRST_GAP
from pecli.numbers.decimals import near
from pecli.numbers.dtypes import GRIDS
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import join_recipe
from pecli.spec.tabular import InMemory
from pecli.tables.comparison import Finding
from pecli.tables.table import Table
from pecli.tables.views import ArrayView

# Roundings of two sums in their type, by which they may differ.
SUM_ROUNDINGS = 4
# First positions, besides 0, that embeddings may have.
MAX_START = 32
# Distances more than unknown numbers that two rules for buckets must explain.
MIN_OVER = 8
T5_DISTANCES, T5_BUCKETS = ("128", "64", "256"), 32
# Values of embeddings to which positions may have been added.
MAX_ADDED = 1 << 20
# Positions of the first row that an embedding may have: rows for padding stand before it.
STARTS = (0, 1, 2)
# Queries that show that a bias depends on the distance alone.
MIN_QUERIES = 4
# Times that the positions stand in the expected values, at least, if these are sums with them; fewest values of sums;
# and what positions alone, to which nothing was added, differ by.
MIN_HELD, MIN_SUMMED, MAX_BARE = 0.5, 64, 1e-3
# Rows that show at little cost that other positions were added.
FEW_ROWS = 64


@dataclass(frozen=True)
class Sums:
    """Two arrays of sums, of embeddings (.., rows, width) or of scores (.., heads, queries, keys)."""

    case: Case
    y: Floats
    x: Floats
    error: float

    @cached_property
    def seen(self) -> Shown:
        """Where the expected values are not masked."""
        return np.isfinite(self.x) & (self.x > -MASK_GAP)

    @cached_property
    def added(self) -> Floats:
        """What was added to one of them besides; 0 where both are masked."""
        return np.where(self.y == self.x, 0.0, self.y - self.x)

    @cached_property
    def gap(self) -> float:
        """By how much two sums differ by rounding."""
        size = 1 + float(np.abs(self.y[self.seen]).max(initial=0))
        return max(MAX_FIRST_GAP, SUM_ROUNDINGS * self.error) * size

    @property
    def is_fine(self) -> bool:
        """Whether roundings are so small that any other positions are known by their values."""
        return self.error <= EPSILON["float32"]

    @cached_property
    def is_alike(self) -> bool:
        """Whether the same is added in all batches, of different embeddings or scores."""
        each, own = self.added.reshape(-1, *self.added.shape[-2:]), self.x.reshape(-1, *self.x.shape[-2:])
        if self.x.ndim == 4:
            each, own = self.added, self.x
        by_row = np.ptp(each, axis=-2).max() > 2 * self.gap  # else one vector was added to all
        return len(own) > 1 and bool(
            by_row and (own[1:] != own[:-1]).any() and np.ptp(each, axis=0).max() <= 2 * self.gap
        )

    def cause(self, made: Floats, expected: Table, *, is_clean: bool = False) -> str:
        """Return why positions differ from the expected ones; "" where only their place is known."""
        findings = self.case.explained(_coarse(made), expected) if self.is_fine or is_clean else []
        causes = [one.text for one in findings if one.kind not in ("rounding", "type")]
        vague = {one.kind for one in findings} & {*VAGUE, *OTHER} - {"rounding"}
        return "" if vague else "; ".join(causes)


def sum_differences(case: Case) -> list[Finding]:
    """Return which positions were added to embeddings or scores, where none or others were expected; [] of others."""
    if not _may_be_sums(case.views):
        return []
    left, right = case.views[0]
    y, x = (read_floats(view, 0, view.rows).reshape(left.shape) for view in (left, right))
    types = (effective_dtype(values, view.dtype) for values, view in ((y, left), (x, right)))
    sums = Sums(case, y, x, max(EPSILON[kind] for kind in types))
    text = _added(sums)
    if text or case.recipe is not None:
        return [Finding("added", text)] if text else []
    if not np.isfinite(sums.added).all() or not np.abs(sums.added).max(initial=0) > sums.gap:
        return []
    of_scores = (y.ndim == 4 and y.shape[-2] <= y.shape[-1]) or _is_square(y.shape)
    text = (_other_bias(sums) if of_scores else "") or (_other_sinusoids(sums) if y.ndim < 4 else "")
    if text:
        return [Finding("added", text)]
    if not sums.is_alike:
        return []
    what = "of another bias that was" if of_scores else "of other positions that were"
    return [Finding("added", f"the difference is the same in each batch, as {what} added"), *case.places]


def _may_be_sums(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> bool:
    """Whether the values of one array may be sums."""
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape:
        return False
    both, size = pairs[0], pairs[0][0].row_size
    whole = size > 1 and MIN_SUMMED <= size * both[0].rows <= MAX_ADDED
    return {view.dtype for view in both} <= {*GRIDS} and whole


def _is_square(shape: Sequence[int]) -> bool:
    """Whether an array may hold scores or a bias: a number for each query and key."""
    return len(shape) > 2 and shape[-1] == shape[-2]


def _coarse(values: Floats) -> InMemory:
    """Return values in a type in which the rounding of sums is none."""
    return InMemory({"array": values.astype("float16")})


def _added(sums: Sums) -> str:
    """Return that positions were added to the expected values, or not added to them; "" of others."""
    y, x = (values.reshape(sums.case.views[0][0].plain_shape) for values in (sums.y, sums.x))
    root = math.sqrt(x.shape[-1])
    both = f"{root:.6g} (the square root of the width)"
    for times, added, text in (
        (1, y - x, "the expected values plus those of {}"), (1, x - y, "the values of {} are not added"),
        (root, y - root * x, f"the expected values times {both} plus those of {{}}"),
        (root, x - root * y, f"values are not multiplied by {both}, and those of {{}} are not added"),
    ):  # fmt: skip
        gap = MAX_FIRST_GAP * (1 + times * np.abs(y).max(initial=0))
        small = np.abs(added).max(initial=0) <= 1 + gap or _is_square(added.shape)
        if not small or not np.isfinite(added).all():
            continue
        while added.ndim > 2 and np.ptp(added, axis=0).max() <= gap:  # the same in each batch
            added = added.mean(axis=0)
        found = identify(_coarse(added))
        if found.confidence == "sure" and found.recipe and found.equal is not None:  # not of trained numbers
            return text.format(found.recipe.replace(",dtype=float16", ""))
    return ""


def _other_sinusoids(sums: Sums) -> str:
    """Return how sinusoids differ that were added to embeddings, or the embeddings themselves."""
    rows, width = sums.y.shape[-2:]
    y, x, gap = sums.y.reshape(-1, rows, width), sums.x.reshape(-1, rows, width), sums.gap
    few, root = min(rows, FEW_ROWS), math.sqrt(width)
    for convention, start in product(CATALOGUE["sinusoidal"].presets[0].sets, STARTS):
        recipe = f"sinusoidal:dim={width}" + f",convention={convention}" * (convention != "paper")
        expected = parsed(f"{recipe},positions={start}:{start + rows},dtype=float64")
        if expected is None:  # of an odd width
            continue
        name = expected.arrays[0].name
        first = expected.read_rows([name], 0, few)[name]
        is_near = np.abs(y[:, :few] - x[:, :few] + first).max() <= 1 + gap
        scaled = _is_scaled(y[:, :few] - first, x[:, :few] - first, root, gap)
        if not is_near and not scaled:
            continue
        right, text = expected.read(name), ""
        held = (x * right).mean() / (right**2).mean()  # 1 of embeddings and positions
        if held < MIN_HELD or np.abs(x - right).max() <= MAX_BARE:
            continue
        made = y - x + right
        if scaled and scaled == _is_scaled(y - right, x - right, root, gap):
            text = f"{scaled} before positions were added"
        elif np.ptp(made, axis=0).max() <= 2 * gap:
            ways = (_mistaken(expected, recipe, start), _other_conventions(expected, start))
            known = (next((text for text, values in way if np.abs(made - values).max() <= gap), "") for way in ways)
            cause = next(known) or sums.cause(made[0], expected) or next(known)
            text = f"what was added: {cause}" if cause else ""
        elif len(y) <= rows and np.abs(made - right[: len(y), None]).max() <= gap:
            text = "the positions that were added are counted along axis 0: one for each batch"
        if text:
            return f"{text} (judged with {recipe}{f' from position {start} on' * (start > 0)})"
    return ""


def _mistaken(expected: Table, recipe: str, start: int) -> Iterator[tuple[str, Floats]]:
    """Yield other first positions than those of an expected table, and mistakes in it, with the values of each."""
    name, rows = expected.arrays[0].name, expected.arrays[0].rows
    later = Table.parse(f"{recipe},positions=0:{MAX_START + rows},dtype=float64").read(name)
    for other in range(MAX_START + 1):
        if other != start:
            yield f"positions start at {other} where {start} was expected", later[other : other + rows]
    yield from ((change.text, values) for change, values in mistaken_tables(expected))


def _other_conventions(expected: Table, start: int) -> Iterator[tuple[str, Floats]]:
    """Yield how the tables of other conventions differ from an expected one, and their values."""
    name, rows, keys = expected.arrays[0].name, expected.arrays[0].rows, expected.source.keys()
    for convention in CATALOGUE["sinusoidal"].presets[0].sets:
        text = f"sinusoidal:dim={keys['dim']},convention={convention},positions={start}:{start + rows},dtype=float64"
        table = parsed(text)
        if table is not None and table.source != expected.source:
            have = table.source.keys()
            both = {key: (have.get(key, ""), keys.get(key, "")) for key in {**keys, **have}}
            texts = [one.text for one in differing_texts(expected.source.encoding, both)]
            yield ", and ".join(texts), table.read(name)


def _is_scaled(y: Floats, x: Floats, root: float, gap: float) -> str:
    """Return that embeddings were multiplied by the root of their width, or were not; "" of others."""
    both = f"multiplied by {root:.6g} (the square root of the width)"
    if np.abs(y - root * x).max(initial=0) <= root * gap:
        return f"the embeddings were {both}"
    return f"the embeddings were not {both}" if np.abs(x - root * y).max(initial=0) <= root * gap else ""


def _other_bias(sums: Sums) -> str:
    """Return how biases differ that were added to scores, where a mask shows them."""
    queries, side = sums.x.shape[-2:]
    query = np.arange(side - queries, side)  # the last ones, behind those of a cache
    distance = np.arange(side) - query[:, None] + side - 1
    if queries > 1 and _means(np.where(sums.seen, sums.x, 0.0), sums, distance) is not None:
        return ""  # of a bias, to which nothing was added
    each, by_query = _means(sums.added, sums, distance), _of_rows(sums)
    if each is None:
        return by_query or _of_windows(sums) or _scaled_products(sums, distance)
    if np.abs(each + each[:, ::-1]).max() <= sums.gap:
        return "queries and keys are exchanged in the bias that was added: it is transposed"
    if text := _other_alibi(sums, each):
        return f"what was added: {text}" + ": equal after a softmax" * bool(by_query)
    if text := by_query or _other_buckets(each, side, sums.gap):
        return text
    if queries < MIN_QUERIES:
        return ""
    return "another bias was added: the difference depends on head and distance alone"


def _other_alibi(sums: Sums, each: Floats) -> str:
    """Return how ALiBi's bias differs from the usual one, by so much for each head and distance; "" of other biases."""
    heads, side = len(each), each.shape[1] // 2 + 1
    far, known = np.abs(np.arange(each.shape[1]) - side + 1), np.isfinite(each).all(axis=0)
    slopes = (each[:, known] @ far[known] / max(1, far[known] @ far[known]))[:, None]
    is_clean = bool(np.abs(each - slopes * far)[:, known].max(initial=0) <= sums.gap)
    if is_clean:
        each = np.array([float(near(slope, sums.gap / side)) for slope in slopes.ravel()])[:, None] * far
    each = np.where(np.isnan(each), each[:, ::-1], each)  # of a causal mask
    reach = int(np.isfinite(each[:, side - 1 :]).all(axis=0).cumprod().sum())
    if reach < 2:
        return ""
    expected = Table.parse(f"alibi:heads={heads},len={reach},dtype=float64")
    at = np.arange(reach) - np.arange(reach)[:, None] + side - 1
    text = sums.cause(each[:, at] + expected.read(expected.arrays[0].name), expected, is_clean=is_clean)
    return f"{text} (judged with alibi:heads={heads})" if text else ""


def _means(added: Floats, sums: Sums, groups: Integers) -> Floats | None:
    """Return what was added for each head and group of pairs (queries, keys); None where one has several numbers.

    Groups are an odd number, the middle one that of equal places; NaN stands for those that a mask hides.
    """
    heads, count, seen = added.shape[-3], 2 * int(groups[-1, -1]) + 1, sums.seen
    at = np.broadcast_to(np.arange(heads)[:, None, None] * count + groups, added.shape)
    many, total = (np.bincount(at[seen], part, heads * count) for part in (None, added[seen]))
    each = np.where(many > 0, total / np.maximum(many, 1), np.nan)
    return each.reshape(heads, count) if np.abs(added - each[at])[seen].max(initial=0) <= sums.gap else None


def _of_rows(sums: Sums) -> str:
    """Return that the scores of each query differ by one number, which a softmax takes out; else ""."""
    low, high = (np.where(sums.seen, values, -np.inf).max(axis=-1) for values in (-sums.added, sums.added))
    return "the scores of each query differ by one number: equal after a softmax" * (not (high + low > sums.gap).any())


def _scaled_products(sums: Sums, distance: Integers) -> str:
    """Return that products were divided by the root of the head's width, or were not, before a bias was added."""
    y, x = (np.where(sums.seen, values, 0.0) for values in (sums.y, sums.x))
    for root in map(math.sqrt, HEAD_WIDTHS):
        by = f"by {root:.6g} (the square root of the head's width)"
        for have, want, text in (
            (y, x, f"are divided {by} where the expected ones are not"),
            (x, y, f"are not divided {by} where the expected ones are"),
        ):
            if _means(have - want / root, sums, distance) is not None:
                return f"the products of queries and keys {text}"
    return ""


def _of_windows(sums: Sums) -> str:
    """Return how the bias of offsets between the patches of a square window differs; "" of others."""
    n = sums.added.shape[-1]
    side = math.isqrt(n)
    if side * side != n or sums.added.shape[-2] != n or side < 2:
        return ""
    down, across = (place[:, None] - place + side - 1 for place in np.divmod(np.arange(n), side))
    offset = down * (2 * side - 1) + across
    each, own = (_means(values, sums, offset) for values in (sums.added, np.where(sums.seen, sums.x, 0.0)))
    if each is None or own is not None:
        return ""
    offsets = each.reshape(len(each), 2 * side - 1, -1)
    if np.abs(offsets + offsets.swapaxes(1, 2)).max() <= sums.gap:
        return "row and column offsets are exchanged in the bias that was added"
    return f"another bias was added: the difference depends on head and offset in a window of {side} x {side} alone"


def _other_buckets(each: Floats, side: int, gap: float) -> str:
    """Return which rule for T5's buckets was taken for which, where trained numbers make these differences; else ""."""
    known = np.isfinite(each).all(axis=0)
    ways = list[tuple[dict[str, str], Integers]]()
    for both_sides, most in product(("true", "false"), T5_DISTANCES):
        keys = {"bidirectional": both_sides, "max-distance": most}
        index = Table.parse(join_recipe("t5", {"len": str(side), "form": "index", **keys})).read("index")
        ways.append((keys, np.concatenate([index[::-1, 0], index[0, 1:]])[known].astype(np.int64)))
    for (have, one), (want, other) in permutations(ways, 2):
        shares = np.eye(T5_BUCKETS)[one] - np.eye(T5_BUCKETS)[other]
        solved = shares @ np.linalg.lstsq(shares, each[:, known].T, rcond=None)[0]
        is_shown = len(shares) - np.linalg.matrix_rank(shares) >= MIN_OVER
        if is_shown and np.abs(solved - each[:, known].T).max() <= gap:
            both = {key: (have[key], want[key]) for key in have}
            texts = [one.text for one in differing_texts(CATALOGUE["t5"], both)]
            return f"what was added: {', and '.join(texts)} (of T5's buckets)"
    return ""
