"""Masks: which keys the queries see, the number that stands for minus infinity, and how two masks differ."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.judge.orders import numbered
from pecli.judge.planes import is_large
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import Floats, floats, units
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Finding, compare_tables
from pecli.tables.table import Table

# Smallest size of a negative number that may replace minus infinity; -1e4 with a positive bias is a little less.
MASK_GAP = 9e3
# Masks that may have been added to each other: a causal one, one of padding and a few more.
MAX_ADDED = 4
# Rows and columns of a mask of which the pattern is looked for.
MAX_SIDE = 2048
FIRST_KEYS = ", the queries counted as the first of the keys"

Shown = NDArray[np.bool_]
# Difference of values that are not masked, absolute and relative, that is a rounding.
MAX_SEEN_GAP = 1e-5


def mask_differences(
    actual: Tabular, expected: Tabular, explained: Callable[[Tabular, Tabular], list[Finding]]
) -> list[Finding]:
    """Return how the masks of two files differ, and what else does; [] of other tables.

    A number far below all others is put aside: by its size any difference would be a rounding.
    """
    if isinstance(expected, Table) or is_large(actual) or is_large(expected):
        return []
    (shown, one), (meant, another) = (_shown_pairs(table) for table in (actual, expected))
    if one and another and ("and -" in one) != ("and -" in another):  # added to the logits, or not
        same = compare_tables(shown, meant).equal
        text = f"the mask holds {one} where {another} were expected" + ": the same pairs are masked" * same
        return [Finding("mask", text), *([] if same else explained(shown, meant))]
    if one and another and (part := _part_of(shown, meant)):
        return [part]
    names = [_name(table) if one and another else "" for table in (shown, meant)]
    if all(names) and names[0] != names[1]:
        return [Finding("mask", f"pairs are seen {names[0]}; expected: {names[1]}")]
    (have, own), (want, other) = (_with_infinity(table) for table in (actual, expected))
    if not own and not other:
        return _hidden_otherwise(actual, expected)
    text = f"masked pairs hold {own or '-inf'} where {other or '-inf'} was expected: equal after a softmax"
    rows = max((int(hidden.all(axis=-1).sum()) for hidden in _hidden(want) if hidden.ndim), default=0)
    if rows:
        text += f", but for {rows} row{'s' * (rows > 1)} where all keys are masked" + " (-inf gives NaN)" * (not other)
    lacks = [not any(hidden.any() for hidden in _hidden(table)) for table in (have, want)]
    if any(lacks):
        text = f"the mask of {other} is missing" if lacks[0] else f"a mask of {own} where none was expected"
        if len(have.arrays) == 1 and [a.shape for a in have.arrays] == [a.shape for a in want.arrays]:
            have, want = (_masked_as(table, _hidden(want if lacks[0] else have)[0]) for table in (have, want))
    mask = [Finding("mask", text)] if own != other else []
    causes = [] if compare_tables(have, want).equal else explained(have, want)
    return [*mask, *causes] if any(lacks) else [*causes, *mask]


def _hidden_otherwise(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return which pairs are minus infinity where others were expected to be, if the rest is right; else []."""
    both = (actual, expected)
    shapes = {table.arrays[0].shape if len(table.arrays) == 1 else () for table in both}
    if len(shapes) > 1 or len(*shapes) < 2 or any(table.arrays[0].dtype not in GRIDS for table in both):
        return []
    (have,), (want,) = map(_hidden, both)
    y, x = (floats(table.read(table.arrays[0].name), table.arrays[0].dtype) for table in both)
    seen, gap = ~(have | want), MAX_SEEN_GAP + max(GRIDS[table.arrays[0].dtype].rounding for table in both)
    other = want & ~have  # seen, unless they hold NaN
    if (have == want).all() or not np.allclose(y[seen], x[seen], gap, gap) or not np.isfinite(y[other]).all():
        return []
    names, texts = [], []
    for hidden in (have, want):
        each = hidden.reshape(-1, *hidden.shape[-2:])
        is_one = (each == each[0]).all() and max(each.shape[1:]) <= MAX_SIDE
        names.append(named_pattern(~each[0]) if is_one else "")
        many = f"{int(hidden.sum()):,} of {hidden.size:,} pairs are masked"
        texts.append(f"pairs are seen {names[-1]}" if names[-1] else many)
    text = f"{texts[0]}; expected: {texts[1].removeprefix('pairs are seen ')}"
    if not names[0]:
        others = (other, "seen that should be masked"), (have & ~want, "masked that should be seen")
        text = "; ".join(_pairs_are(wrong, words) for wrong, words in others if wrong.any())
    if not want.any():
        kind = re.search(r"\(([a-z ]+)\)$", texts[0])
        text = f"a {kind[1]} mask where none was expected" if kind else f"a mask where none was expected: {texts[0]}"
    if not have.any():
        text = f"the mask is missing: {texts[1].replace('are', 'should be', 1)}"
    return [Finding("mask", text + "; all other values are right" * bool(seen.any()))]


def _part_of(shown: Tabular, meant: Tabular) -> Finding | None:
    """Return the finding that a mask holds the first or last queries and keys of the expected one; None of others."""
    on, whole = (table.read(table.arrays[0].name) for table in (shown, meant))
    gone = [b - a for a, b in zip(on.shape, whole.shape, strict=False)]
    if on.ndim != whole.ndim or on.ndim < 2 or any(gone[:-2]) or min(gone[-2:]) < 0 or not any(gone):
        return None
    for begins in product(*((0, one) if one else (0,) for one in gone[-2:])):
        ends = [slice(first, first + side) for first, side in zip(begins, on.shape[-2:], strict=True)]
        if np.array_equal(whole[..., ends[0], ends[1]], on):
            lost = [
                numbered(word, np.delete(np.arange(side), kept))
                for word, side, kept in zip(("query", "key"), whole.shape[-2:], ends, strict=True)
                if kept.stop - kept.start < side
            ]
            return Finding("shape", f"a part of the expected mask: {' and '.join(lost)} are missing")
    return None


def _pairs_are(wrong: Shown, words: str) -> str:
    """Return how many pairs are seen or masked, and their queries and keys where they are a block of each matrix."""
    each = wrong.reshape(-1, *wrong.shape[-2:])
    queries, keys = (np.flatnonzero(each.any(axis=axes)) for axes in ((0, 2), (0, 1)))
    where = f": {numbered('query', queries)}, {numbered('key', keys)}" * bool(each[:, queries][..., keys].all())
    many = int(np.count_nonzero(wrong))
    return f"{many:,} {'pair is' if many == 1 else 'pairs are'} {words}{where}"


def mask_number(values: Floats) -> tuple[float | None, str]:
    """Return the largest stand-in for minus infinity, far below all other values, and the text of all of them.

    The number may have been added to a bias: then they differ by no more than the bias and a rounding.
    """
    if not (values <= -MASK_GAP).any():
        return None, ""
    finite = np.unique(values[np.isfinite(values)])
    low = finite[finite <= -MASK_GAP]
    others = finite[len(low) :]
    size = np.abs(others).max(initial=0.0)
    if not len(low) or 2 * size > -low[-1] or len(finite) == 1:
        return None, ""
    added = np.abs(low / np.rint(low / low[-1]) - low[-1]).max() <= size + units(low[:1], "bfloat16")[0]
    if not added or low[0] < MAX_ADDED * low[-1]:
        return None, ""
    text = f"{low[0]:g}" if len(low) == 1 else f"{low[0]:g} to {low[-1]:g}"
    return float(low[-1]), text + " and -inf" * bool((values == -np.inf).any())


def _with_infinity(table: Tabular) -> tuple[Tabular, str]:
    """Return a table whose stand-ins for minus infinity are that, and the text of these; "" where there are none."""
    made, texts = dict[str, NDArray[Any]](), list[str]()
    for array in table.arrays:
        values = floats(table.read(array.name), array.dtype)
        low, text = mask_number(values.astype(np.float64)) if array.dtype in GRIDS else (None, "")
        made[array.name] = table.read(array.name) if low is None else np.where(values <= low, -np.inf, values)
        texts += [text] if text else []
    return (InMemory(made), " and ".join(dict.fromkeys(texts))) if texts else (table, "")


def _hidden(table: Tabular) -> list[Shown]:
    """Return where each array is minus infinity."""
    return [floats(table.read(array.name), array.dtype) == -np.inf for array in table.arrays]


def _masked_as(table: Tabular, hidden: Shown) -> Tabular:
    """Return a table of one array with minus infinity at these places."""
    (array,) = table.arrays
    values = floats(table.read(array.name), array.dtype)
    return InMemory({array.name: np.where(hidden, np.array(-np.inf, values.dtype), values)})


def _shown_pairs(table: Tabular) -> tuple[Tabular, str]:
    """Return which pairs a mask shows, as true and false, and how it is written; "" where a table is no mask."""
    values = table.read(table.arrays[0].name) if len(table.arrays) == 1 else np.zeros(0)
    kind = table.arrays[0].dtype if values.size else ""
    numbers = np.unique(floats(values, kind) if kind in GRIDS else values)[:3].tolist()
    if kind == "bool" or numbers == [0, 1]:
        shown, text = values.astype(bool), "true (seen) and false" if kind == "bool" else "1 (seen) and 0"
    elif kind in GRIDS and len(numbers) == 2 and numbers[1] == 0 and numbers[0] <= -MASK_GAP:
        shown, text = values == 0, f"0 and {numbers[0]:g}"
    else:
        return table, ""
    return InMemory({table.arrays[0].name: shown}), text


def _name(shown: Tabular) -> str:
    """Return which pairs a mask shows, by name; "" of others than a matrix, or of a pattern without a name."""
    on = shown.read(shown.arrays[0].name)
    on = on.reshape(on.shape[-2:]) if on.size == math.prod(on.shape[-2:]) and on.ndim > 1 else on
    return named_pattern(on) if on.ndim == 2 and max(on.shape) <= MAX_SIDE else ""


def named_pattern(on: Shown) -> str:
    """Return the name of a pattern (queries, keys), the queries being the last or the first keys; "" of no name."""
    queries, keys = on.shape
    last = np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)
    both = [(last, "")] * (queries <= keys) + [(last + keys - queries, FIRST_KEYS)]
    names = [name + how for distance, how in both if (name := pattern_of(on, distance))]
    return min(names, key=lambda name: "where the key is at" in name, default="")  # which any step has


def visible(on: Shown, distance: NDArray[np.int64]) -> str:
    """Return at which pairs of query and key a mask is on, by its name or by their number."""
    return pattern_of(on, distance) or f"at {int(on.sum()):,} of {on.size:,} entries"


def pattern_of(on: Shown, distance: NDArray[np.int64]) -> str:
    """Return the name of a pattern of pairs, with the keys and queries left out of it; "" where it has none."""
    if not on.any():
        return "nowhere: every pair is masked"
    size, after = np.abs(distance), int(distance[on].max(initial=-distance.size))
    reach, back = int(size[on].max(initial=0)), int(-distance[on].min(initial=0))
    most, sees = f"most {after} after" if after > 0 else f"least {-after} before", distance <= 0
    patterns = {
        "everywhere": size >= 0,
        "on the diagonal (an identity)": distance == 0,
        "where the key is not after the query (causal)": sees,
        "where the key is before the query (strictly causal)": distance < 0,
        "where the key is not before the query": distance >= 0,
        f"at distances of at most {reach} (a sliding window of {2 * reach + 1})": size <= reach,
        f"at 0 to {back} keys before the query (a causal sliding window of {back + 1})": sees & (distance >= -back),
        f"where the key is at {most} the query": (distance <= after) & (2 * abs(after) < len(on)),
    }
    key = np.arange(on.shape[1])
    first, recent = (int(np.cumprod(row).sum()) for row in (on[-1], on[-1][::-1]))  # of the last query
    prefix = int(np.cumprod(on[0]).sum())
    square = on.shape[0] == on.shape[1]  # in which a document begins with a query that sees itself alone
    apart = np.concatenate([[False], ~on.diagonal(-1) & on.diagonal()[1:]]) if square else np.zeros(0, bool)
    if 0 < apart.sum() < len(apart) - 1:
        document = np.cumsum(apart)
        same, many = document[:, None] == document, f"within {document[-1] + 1} packed documents"
        patterns |= {f"{many}, where the key is not after the query (causal)": same & sees, many: same}
    if 1 < prefix < on.shape[1]:
        text = f"where the key is not after the query, or is one of the first {prefix} (a prefix)"
        patterns[text] = sees | (key < prefix)
    if first and recent and first + recent < on.shape[1]:
        text = f"at the first {first} key{'s' * (first > 1)} and at 0 to {recent - 1} keys before the query"
        patterns[f"{text} (a causal sliding window of {recent} with attention sinks)"] = sees & (
            (key < first) | (distance > -recent)
        )
    name, part, gone = _equal_to(on, patterns), size >= 0, list[str]()
    for word, axis in (("key", 0), ("query", 1)) if not name and on.sum() > 1 else ():
        side = on.any(axis=axis, keepdims=True)
        if not side.all() and not name:
            part, gone = part & side, [*gone, numbered(word, np.flatnonzero(~side))]
            name = _equal_to(on, {text: pattern & part for text, pattern in patterns.items()})
    return name + f", except for {' and '.join(gone)}" * bool(name and gone)


def _equal_to(on: NDArray[np.bool_], patterns: Mapping[str, NDArray[np.bool_]]) -> str:
    return next((name for name, pattern in patterns.items() if np.array_equal(on, pattern)), "")
