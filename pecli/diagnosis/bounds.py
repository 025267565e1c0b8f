"""Values that are all one number or differ by being one, lost their sign, were cut off, or stand for a mask."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.diagnosis.case import Candidate, Case, gaps, read_rows
from pecli.diagnosis.reworked import candidate, each
from pecli.measures.samples import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 3  # values at a bound that show it: a single one may have been typed


def bounded(case: Case) -> Iterator[Candidate]:
    """Yield expected values without their sign, within the bounds of those at hand, with a number for infinity."""
    here, there = (np.concatenate([p.ravel() for p in planes]) for planes in (case.here, case.there))
    if here.size != there.size:
        return
    masked = np.isinf(there) & ~np.isinf(here)
    for infinite in (np.inf, -np.inf):
        values = np.unique(here[masked & (there == infinite)])
        if len(values) == 1:
            text = f"{number_word(float(values[0]))} stands where {number_word(infinite)} was expected"
            yield candidate(case, "mask", text, each(partial(_unmasked, infinite=infinite, value=float(values[0]))))
    yield from _triangles(case)
    mine, expected = here[np.isfinite(here)], there[np.isfinite(there)]
    if not mine.size or not expected.size:
        return
    if mine.min() >= 0 > expected.min():
        yield candidate(case, "sign", "every value has lost its sign", each(np.abs))
    low, high = float(mine.min()), float(mine.max())
    below = low > expected.min() and np.count_nonzero(mine == low) >= LEAST
    above = high < expected.max() and np.count_nonzero(mine == high) >= LEAST
    if below or above:
        said = [text for text, one in ((f"below {low:.6g}", below), (f"above {high:.6g}", above)) if one]
        work = partial(np.clip, a_min=low if below else -np.inf, a_max=high if above else np.inf)
        yield candidate(case, "bounds", f"values {' and '.join(said)} were cut off", each(work))


def _triangles(case: Case) -> Iterator[Candidate]:
    """Yield one number at all keys after their queries, or before them, of a bias of every pair of both."""
    lane = case.expected[0]
    if len(case.expected) > 1 or lane.array.axes[-2:] != ("query", "key") or lane.shape[-2] != lane.shape[-1]:
        return
    for word, side in (
        ("after", np.greater),
        ("before", np.less),
        ("at and after", np.greater_equal),
        ("at and before", np.less_equal),
    ):
        beyond = partial(_beyond, side, lane.shape[-1])
        values = np.unique(case.here[0][beyond(case.window[0], len(case.here[0]))])
        if len(values) == 1:
            value = float(values[0])

            def work(_name: str, p: Floats, start: int, beyond: Any = beyond, value: float = value) -> Floats:
                return np.where(beyond(start, len(p)), value, p)

            yield candidate(case, "mask", f"{number_word(value)} stands at all keys {word} the query", work)


def _beyond(side: np.ufunc, keys: int, start: int, count: int) -> NDArray[np.bool_]:
    """Return (count, keys): of rows that are queries, head by head, which keys lie on that side of theirs."""
    found: NDArray[np.bool_] = side(np.arange(keys), np.arange(start, start + count)[:, None] % keys)
    return found


def constant(case: Case) -> Iterator[Candidate]:
    """Yield one number in the place of all values."""
    value = float(case.here[0][0, 0]) if case.here[0].size else 0.0
    if all(((p == value) | (np.isnan(p) & np.isnan(value))).all() for p in case.here):
        yield candidate(
            case, "constant", f"every value is {number_word(value)}", each(partial(np.full_like, fill_value=value))
        )


def stuck(case: Case) -> Iterator[Candidate]:
    """Yield one number in the place of all values that differ in the window, wherever they are."""
    unlike = [gaps(p, q) > 0 for p, q in zip(case.here, case.there, strict=True) if p.shape == q.shape]
    if len(unlike) < len(case.here):
        return
    values = np.unique(np.concatenate([p[off] for p, off in zip(case.here, unlike, strict=True)]))
    if len(values) == 1 and sum(map(np.count_nonzero, unlike)) >= LEAST:
        value = float(values[0])
        mine = {theirs.name: lane for lane, theirs in zip(case.mine, case.expected, strict=True)}

        def work(name: str, values: Floats, start: int) -> Floats:
            here = read_rows(mine[name], start, start + len(values))
            return np.where((here == value) | np.isnan(here) & np.isnan(value), value, values)

        yield candidate(case, "constant", f"every value that differs is {number_word(value)}", work)


def number_word(value: float) -> str:
    """Return a number as it is said."""
    return {"nan": "NaN", "inf": "infinity", "-inf": "-infinity", "-0": "0"}.get(f"{value:.6g}", f"{value:.6g}")


def _unmasked(p: Floats, infinite: float, value: float) -> Floats:
    return np.where(p == infinite, value, p)
