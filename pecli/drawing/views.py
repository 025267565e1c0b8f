"""How pictures see a table: its rows side by side, its pairs, and what its rows are."""

from __future__ import annotations

import numpy as np

from pecli.errors import BadRecipe
from pecli.inspect.pairs import Floats, PairReading, Sample, reading_of, squeezed

PARTS = {"re": "real part", "im": "imaginary part"}  # of complex values
CELLS = 256  # along each side of a map; more are averaged


def is_bias(sample: Sample) -> bool:
    """Whether a table is a number for each query and key, or the slopes of one."""
    names = {array.name for array in sample.table.arrays}
    if names & {"bias", "slopes"}:
        return True
    arrays = sample.table.arrays
    shape = [side for side in arrays[0].shape if side != 1]
    square = len(arrays) == 1 and len(shape) == 3 and shape[1] == shape[2]
    return square and reading_of(sample) is None  # two square matrices may be cosines and sines


def frame(sample: Sample, rows: int) -> tuple[tuple[float, float], str, str]:
    """Return the numbers of the first and the last row shown, what they are, and which are shown where not all are."""
    count, found = sample.planes[0].rows, sample.positions
    part = f", the first {rows} of {count:,} rows" if rows < count else ""
    if found is None:
        return (0.0, float(rows - 1)), "row", part
    gaps = np.diff(found[:rows])
    if len(found) < rows or not np.allclose(gaps, gaps[:1]):
        return (0.0, float(rows - 1)), "row (positions are not evenly spaced)", part
    return (float(found[0]), float(found[rows - 1])), "position", part


def matrix(sample: Sample) -> Floats:
    """Return the values side by side, (n, columns), columns of a pair apart: all sines, then all cosines."""
    reading = in_turn(sample)
    if reading is not None:
        return np.concatenate([reading.first, reading.second], axis=1)
    arrays = side_by_side(sample)
    if not arrays or not len(arrays[0][1]):
        raise BadRecipe("a table without values has nothing to draw: name one that has rows and columns")
    return np.concatenate([values for _, values in arrays], axis=1)


def side_by_side(sample: Sample) -> list[tuple[str, Floats]]:
    """Return the first array by its name, (n, columns), and those with its rows; whole numbers point into others."""
    whole = {array.name for array in sample.table.arrays[1:] if "int" in array.dtype}
    arrays = [(plane.name, squeezed(plane.values)) for plane in sample.planes if plane.name not in whole]
    return [(PARTS.get(name, name), v.reshape(len(v), -1)) for name, v in arrays if len(v) == len(arrays[0][1])]


def in_turn(sample: Sample) -> PairReading | None:
    """Return the reading of a table whose columns are sine and cosine in turn; None of any other."""
    found = reading_of(sample)
    in_turn = found is not None and found.family == "absolute" and found.interleaved and not found.tail
    return found if in_turn else None


def shrunk(values: Floats, rows: int = CELLS, columns: int = CELLS) -> Floats:
    """Return a matrix of at most that size, cells averaged."""
    for axis, most in ((0, rows), (1, columns)):
        count = values.shape[axis]
        if count > most:
            edges = np.arange(most) * count // most
            sums = np.add.reduceat(values, edges, axis=axis)
            sizes = np.diff([*edges, count]).astype(np.float64)
            values = sums / (sizes[:, None] if axis == 0 else sizes)
    return values


def column_parts(sample: Sample, columns: int) -> list[str]:
    """Return what each column is, sine or cosine, where that is known."""
    reading = reading_of(sample)
    if reading is None or reading.family != "absolute" or reading.tail:
        return [""] * columns
    names = (" (sin)", " (cos)") if reading.sine_first else (" (cos)", " (sin)")
    if reading.interleaved:
        return [names[c % 2] for c in range(columns)]
    return [names[c >= columns // 2] for c in range(columns)]
