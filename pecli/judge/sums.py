"""Sums of embeddings or scores and of positions: which positions were added, where none or others were expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from pecli.judge.arrangement_differences import OTHER
from pecli.judge.case import Case
from pecli.judge.identify import identify
from pecli.judge.located import VAGUE
from pecli.judge.masks import MASK_GAP, Shown
from pecli.judge.planes import Floats
from pecli.judge.positions import parsed
from pecli.judge.rows import floats as read_floats
from pecli.judge.transforms import MAX_FIRST_GAP
from pecli.numbers.dtypes import GRIDS
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.tabular import InMemory
from pecli.tables.comparison import Finding
from pecli.tables.table import Table
from pecli.tables.views import ArrayView

# Values of embeddings to which positions may have been added.
MAX_ADDED = 1 << 20
# Positions of the first row that an embedding may have: rows for padding stand before it.
STARTS = (0, 1, 2)
# Queries that show that a bias depends on the distance alone.
MIN_QUERIES = 4
# Rows that show at little cost that other positions were added.
FEW_ROWS = 64


def added_positions(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that positions were added to the expected values, such as embeddings, or not added to them."""
    if not _may_be_sums(pairs):
        return None
    y, x = (read_floats(view, 0, view.rows) for view in pairs[0])
    root = math.sqrt(x.shape[1])
    both = f"{root:.6g} (the square root of the width)"
    for times, rest, text in (
        (1, y - x, "the expected values plus those of {}"), (1, x - y, "the values of {} are not added"),
        (root, y - root * x, f"the expected values times {both} plus those of {{}}"),
        (root, x - root * y, f"values are not multiplied by {both}, and those of {{}} are not added"),
    ):  # fmt: skip
        shape, gap = pairs[0][0].plain_shape, MAX_FIRST_GAP * (1 + times * np.abs(y).max(initial=0))
        if not np.abs(rest).max(initial=0) <= 1 + gap and not _is_square(shape):
            continue
        added = rest.reshape(shape)
        while added.ndim > 2 and np.ptp(added, axis=0).max() <= gap:  # the same in each batch
            added = added.mean(axis=0)
        found = identify(_coarse(added))
        if found.confidence == "sure" and found.recipe and found.equal is not None:  # not of trained numbers
            return Finding("added", text.format(found.recipe.replace(",dtype=float16", "")))
    return None


def other_positions_added(case: Case) -> list[Finding]:
    """Return how the positions differ that were added to the same embeddings or scores; [] where that is not known.

    The difference of both sums, plus the positions that were probably expected, gives those of the file.
    """
    if case.recipe is not None or not _may_be_sums(case.views):
        return []
    shape = case.views[0][0].shape
    y, x = (read_floats(view, 0, view.rows).reshape(shape) for view in case.views[0])
    seen = np.isfinite(x) & (x > -MASK_GAP)
    added = np.where(y == x, 0.0, y - x)  # of two masked pairs as well
    if not np.isfinite(added).all():
        return []
    gap = MAX_FIRST_GAP * (1 + float(np.abs(y[seen]).max(initial=0)))
    of_scores = (len(shape) == 4 and shape[-2] <= shape[-1]) or _is_square(shape)
    bias = _other_bias(case, added, seen, gap) if of_scores else []
    return bias or (_other_sinusoids(case, y, x, gap) if len(shape) < 4 else [])


def _may_be_sums(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> bool:
    """Whether the values of one array may be sums."""
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape or pairs[0][0].dtype not in GRIDS:
        return False
    return 1 < pairs[0][0].row_size <= MAX_ADDED // max(1, pairs[0][0].rows)


def _is_square(shape: Sequence[int]) -> bool:
    """Whether an array may hold scores or a bias: a number for each query and key."""
    return len(shape) > 2 and shape[-1] == shape[-2]


def _coarse(values: Floats) -> InMemory:
    """Return values in a type in which the rounding of sums is none."""
    return InMemory({"array": values.astype("float16")})


def _other_sinusoids(case: Case, y: Floats, x: Floats, gap: float) -> list[Finding]:
    """Return how sinusoids differ that were added to embeddings (.., rows, width), or the embeddings themselves."""
    rows, width = y.shape[-2:]
    y, x, few, root = y.reshape(-1, rows, width), x.reshape(-1, rows, width), min(rows, FEW_ROWS), math.sqrt(width)
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
        right = expected.read(name)
        made = y - x + right
        if scaled and scaled == _is_scaled(y - right, x - right, root, gap):
            text = f"{scaled} before positions were added"
        elif np.ptp(made, axis=0).max() <= gap:
            cause = _cause(case, made[0], expected)
            text = f"what was added: {cause}" if cause else ""
        else:
            is_of_batch = len(y) <= rows and bool(np.abs(made - right[: len(y), None]).max() <= gap)
            text = "the positions that were added are counted along axis 0: one for each batch" * is_of_batch
        if text:
            from_first = f" from position {start} on" * (start > 0)
            return [Finding("added", f"{text} (judged with {recipe}{from_first})")]
    return []


def _is_scaled(y: Floats, x: Floats, root: float, gap: float) -> str:
    """Return that embeddings were multiplied by the root of their width, or were not; "" of others."""
    both = f"multiplied by {root:.6g} (the square root of the width)"
    if np.abs(y - root * x).max(initial=0) <= root * gap:
        return f"the embeddings were {both}"
    return f"the embeddings were not {both}" if np.abs(x - root * y).max(initial=0) <= root * gap else ""


def _other_bias(case: Case, added: Floats, seen: Shown, gap: float) -> list[Finding]:
    """Return how biases differ that were added to scores (.., heads, queries, keys), where a mask shows them."""
    heads, queries, side = added.shape[-3:]
    query = np.arange(side - queries, side)  # the last ones, behind those of a cache
    distance = np.broadcast_to(np.arange(side) - query[:, None] + side - 1, added.shape)
    at = np.arange(heads)[:, None, None] * (2 * side - 1) + distance
    count, total = (np.bincount(at[seen], part, heads * (2 * side - 1)) for part in (None, added[seen]))
    each = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    if np.abs(added - each[at])[seen].max(initial=0) > gap:
        return _of_rows(added, seen, gap)
    each = each.reshape(heads, -1)
    if not np.abs(each[np.isfinite(each)]).max(initial=0) > gap:
        return []
    if np.abs(each + each[:, ::-1]).max() <= gap:
        return [Finding("added", "queries and keys are exchanged in the bias that was added: it is transposed")]
    each = np.where(np.isnan(each), each[:, ::-1], each)  # of a causal mask
    reach = int(np.isfinite(each[:, side - 1 :]).all(axis=0).cumprod().sum())
    recipe = f"alibi:heads={heads}"
    expected = Table.parse(f"{recipe},len={reach},dtype=float64")
    near = np.arange(reach) - np.arange(reach)[:, None] + side - 1
    text = _cause(case, each[:, near] + expected.read(expected.arrays[0].name), expected) if reach > 1 else ""
    if text:
        return [Finding("added", f"what was added: {text} (judged with {recipe})")]
    if queries < MIN_QUERIES:
        return []
    return [Finding("added", "another bias was added: the difference depends on head and distance alone"), *case.places]


def _of_rows(added: Floats, seen: Shown, gap: float) -> list[Finding]:
    """Return that the scores of each query differ by one number, which a softmax takes out; else []."""
    low, high = (np.where(seen, added, end).max(axis=-1) for added, end in ((-added, -np.inf), (added, -np.inf)))
    text = "the scores of each query differ by one number: equal after a softmax"
    return [Finding("added", text)] if not (high + low > gap).any() else []


def _cause(case: Case, made: Floats, expected: Table) -> str:
    """Return why positions differ from the expected ones; "" where only their place is known."""
    findings = case.explained(_coarse(made), expected)
    causes = [one.text for one in findings if one.kind not in ("rounding", "type")]
    vague = {one.kind for one in findings} & {*VAGUE, *OTHER} - {"rounding"}
    return "" if vague else "; ".join(causes)
