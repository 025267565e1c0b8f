"""The sides of a grid, from the columns that repeat along it and those that stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.measures.samples import Floats

LEAST = 0.15  # share of the columns that must follow each side of a grid
MOST = 3
FOLLOWED = 0.9  # and one of the sides, more than this
PARTS = 16  # in which the columns are looked at, until too many follow neither
RIGHT = 0.55  # share of the points that must follow a side
UNCHANGED = 1e-6  # change of a value that is no change


@dataclass(frozen=True)
class Sides:
    """Sides of a grid that the columns follow, and rows before and after it; `told`: by its first points alone."""

    lengths: tuple[int, ...]
    prefix: int = 0
    suffix: int = 0
    shares: float = 0.0
    told: int = 0

    @property
    def edges(self) -> dict[str, str]:
        """The parameters of rows before and after it."""
        return {"prefix": str(self.prefix), "suffix": str(self.suffix)}

    def shown(self, rows: int) -> tuple[slice, tuple[int, ...]]:
        """Return which of so many rows show the grid, and the sides of that part of it."""
        if not self.told:
            return slice(self.prefix, rows - self.suffix), self.lengths
        width = self.lengths[-1]
        return slice(self.prefix, self.prefix + self.told // width * width), (self.told // width, width)

    @property
    def text(self) -> str:
        """The sides as an option takes them."""
        return "x".join(map(str, self.lengths))


def sides_of(values: Floats, blank: Floats) -> list[Sides]:
    """Return the grids that columns follow, best first; `blank` is a row without a coordinate."""
    prefix = _blank_rows(values, blank)
    suffix = _blank_rows(values[prefix:][::-1], blank) if prefix < len(values) else 0
    found = []
    for before, after in {(prefix, 0), (prefix, suffix), (max(0, prefix - 1), 0), (0, 0)}:
        body = values[before : len(values) - after]
        found += [Sides(g.lengths, before, after, g.shares) for g in _sides(body)]
    for before in {prefix, max(0, prefix - 1), 0} if not found else ():  # later points may be spoiled
        body, told = values[before:], (len(values) - before) // 2
        found += [Sides(g.lengths, before, 0, g.shares, told) for g in _sides(body, told) if len(g.lengths) == 2]
    return sorted(found, key=lambda g: -g.shares)[:MOST]


def _blank_rows(values: Floats, blank: Floats) -> int:
    same = (values == blank).all(axis=1)
    return int((~same).argmax()) if not same.all() else 0


def _sides(body: Floats, told: int = 0) -> Iterator[Sides]:
    """Yield sides HxW and TxHxW with the share of columns that follow each axis alone; by the points told, if any."""
    n, body = len(body), body[: told or len(body)]
    varying = np.ptp(body, axis=0) > UNCHANGED
    if not varying.any() or n < 4:
        return
    columns = body[:, varying]
    scale = 1e-6 * np.abs(columns).max()
    for width in (w for w in range(2, n) if n % w == 0 and len(body) >= 2 * w):
        rows = columns[: len(body) // width * width].reshape(-1, width, columns.shape[1])
        followed = _followed(rows, scale)
        share = min(followed, default=0.0)
        if share >= LEAST:
            yield Sides((n // width, width), shares=share)
            yield from _frames(columns, n, width, followed[0]) if not told else ()


def _followed(rows: Floats, scale: float) -> tuple[float, ...]:
    """Return the shares of columns that count the places in a row, and that count rows; nothing if many do neither."""
    along = down = np.empty(0, np.bool_)
    count = rows.shape[-1]
    for at in range(0, count, max(1, count // PARTS)):
        part = np.ascontiguousarray(rows[..., at : at + max(1, count // PARTS)])
        along = np.append(along, alike(part, 0, scale))  # the same in every row: the place counts
        down = np.append(down, alike(part, 1, scale))  # the same along a row: the row counts
        if 1 - np.count_nonzero(~(along | down)) / count <= FOLLOWED:
            return ()
    return float(along.mean()), float(down.mean())


def alike(rows: Floats, axis: int, scale: float) -> NDArray[np.bool_]:
    """Return which columns are the same along an axis, in most points: others may be spoiled."""
    with np.errstate(over="ignore", invalid="ignore"):
        same = np.abs(rows - np.median(rows, axis=axis, keepdims=True)) <= scale
    found: NDArray[np.bool_] = same.reshape(-1, same.shape[-1]).mean(axis=0) >= RIGHT
    return found


def _frames(columns: Floats, n: int, width: int, along: float) -> Iterator[Sides]:
    """Yield the frames that rows of a grid may be divided into."""
    for height in (h for h in range(2, n // width) if (n // width) % h == 0):
        cube = columns.reshape(n // width // height, height, width, -1)
        in_frame = alike(cube.reshape(len(cube), height * width, -1), 1, UNCHANGED)
        by_frame = float(in_frame.mean())
        by_row = float((alike(cube, 2, UNCHANGED) & alike(cube, 0, UNCHANGED) & ~in_frame).mean())
        if min(by_frame, by_row) >= LEAST / 2 and by_frame + by_row + along > 0.9:
            yield Sides((n // width // height, height, width), shares=min(by_frame, by_row, along) + 0.5)
