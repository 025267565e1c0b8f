"""The parameters of mrope from measured axes: sections, their order, and the sequence of text and grids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.encodings.shared.identify_grids import by_base
from pecli.numbers.rounding import Integers
from pecli.spec.measured import Axes, Named

MAX_RUNS = 4096


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of mrope."""
    m = axes.count
    if axes.absolute or not 2 <= len(axes.axes) <= 3 or axes.prefix or axes.suffix:
        return
    exponents = {a: axis.columns / m for a, axis in enumerate(axes.axes)}
    steps = dict.fromkeys(exponents, 1.0)
    for roles, sequence in _sequences(axes):
        for sections in _sections(axes, roles):
            keys = {"dim": str(2 * m), **sections}
            yield from by_base(axes, exponents, [(sequence, steps, 0.0)], keys, table=axes.table)


def _sequences(axes: Axes) -> Iterator[tuple[tuple[int, ...], dict[str, str]]]:
    """Yield the role of each axis (0 frame, 1 row, 2 column), with the sequence that the rows follow.

    Frames show only the number of positions between them; columns need not be known, and in narrow types they change by
    less than a rounding.
    """
    found: dict[int, Integers] = {}
    for number, axis in enumerate(axes.axes):
        if np.isfinite(axis.origin) and abs(axis.origin - round(axis.origin)) < 0.1:
            found[number] = np.rint(axes.streams[:, number] + axis.origin).astype(np.int64)
    for h in found:
        for t in [number for number in found if number != h] + ([-1] if len(axes.axes) < 3 else []):
            runs = _runs(found[h], found.get(t))
            if runs is not None:
                text = {"sequence": "+".join(runs[0]), **({} if runs[1] == 1 else {"time-step": str(runs[1])})}
                yield tuple({t: 0, h: 1}.get(number, 2) for number in range(len(axes.axes))), text


def _runs(h: Integers, t: Integers | None) -> tuple[list[str], int] | None:
    """Return the text tokens and grids that rows count, and the positions between the frames of a grid."""
    runs: list[str] = []
    at, q, n, step = 0, 0, len(h), 1
    index = np.arange(n)
    while at < n and len(runs) < MAX_RUNS:
        left = index[: n - at]
        text = _while(h[at:], q + left)
        if at + text < n and text:  # the last of them is the first of a grid
            text -= 1
        if text:
            runs.append(str(text))
            at, q = at + text, q + text
            continue
        width = _while(h[at:], np.full(n - at, q))
        height = _while(h[at:], q + left // max(1, width)) // max(1, width)
        area = width * height
        frames = _while(h[at:], q + left // max(1, width) % max(1, height)) // max(1, area)
        if area * frames < 2:
            return None
        if t is not None:
            if frames > 1:
                step = int(t[at + area] - q)
            if not (t[at : at + area * frames] == q + left[: area * frames] // area * step).all():
                return None
        runs.append(f"{frames}x{height}x{width}")
        at, q = at + area * frames, q + max((frames - 1) * step + 1, height, width)
    return (runs, step) if step >= 0 and any("x" in run for run in runs) else None


def _while(values: Integers, wanted: Integers) -> int:
    """Return how many of the first values are as wanted."""
    same = values == wanted
    return len(same) if same.all() else int(same.argmin())


def _sections(axes: Axes, roles: tuple[int, ...]) -> Iterator[dict[str, str]]:
    """Yield the sections and their order in which every pair follows its stream."""
    owner = np.array([roles[number] if number >= 0 else -1 for number in axes.owner.tolist()])
    m, known = len(owner), owner >= 0
    chunks = _chunks(owner)
    if chunks:
        yield {"sections": "+".join(map(str, chunks))}
    for order, places in (("interleaved", {1: 1, 2: 2}), ("hw-alternating", {1: 0, 2: 1})):
        step = 3 if order == "interleaved" else 2
        counts = {role: int(np.count_nonzero(owner == role)) for role in (1, 2)}
        wanted = np.zeros(m, np.int64)
        for role, first in places.items():
            wanted[first : first + step * counts[role] : step] = role
        if (wanted[known] == owner[known]).all():
            rest = m - counts[1] - counts[2]
            sizes = (rest, counts[1], counts[2]) if order == "interleaved" else (counts[1], counts[2], rest)
            yield {"sections": "+".join(map(str, sizes)), "section-order": order}


def _chunks(owner: Integers) -> tuple[int, ...]:
    """Return the sizes of sections that follow one another, or nothing."""
    known = np.flatnonzero(owner >= 0)
    ends = [int(known[owner[known] == role].max(initial=-1)) + 1 for role in (0, 1)]
    if 0 not in owner:  # frames that do not move come first
        ends[0] = int(known.min(initial=len(owner)))
    sizes = (ends[0], max(ends[1] - ends[0], 0), len(owner) - max(ends))
    wanted = np.repeat([0, 1, 2], sizes)
    return sizes if len(wanted) == len(owner) and (wanted == owner)[known].all() else ()
