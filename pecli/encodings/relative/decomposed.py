"""Decomposed relative vectors: two tables, one for each axis of an image, resized to its size.

The distance is query minus key, in patches of the finer of the two grids.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Annotated, Literal

from pecli.encodings.bias.window import Grid
from pecli.encodings.shared import trained
from pecli.encodings.shared.deferred import Floats, Integers, np
from pecli.encodings.shared.grids import sides
from pecli.encodings.shared.parameters import VectorDim
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import PLAIN, Effect, Term
from pecli.spec.plans import Fixed, Relative
from pecli.spec.recipe import Recipe

# Of a first and a last row, gives the rows between.
OfRows = Callable[[int, int], Floats]


def effect(recipe: Recipe) -> Effect:
    """Return the terms of a score: q.k / sqrt(d) + q.rh + q.rw, with the unscaled query."""
    grid = recipe.values["grid"]
    width, key_width = grid[1], (recipe.values["key_grid"] or grid)[1]
    down = Term("query", "vector_height", "index_height", None, lambda i: i // width, lambda j: j // key_width, False)
    right = Term("query", "vector_width", "index_width", None, lambda i: i % width, lambda j: j % key_width, False)
    return Effect(terms=(*PLAIN, down, right), note="q.k + q.rh + q.rw, of which q.k alone is scaled, as SAM has it")


@encoding(
    family=Family.RELATIVE,
    title="Decomposed relative vectors",
    facts=Facts(
        learned=True, beyond="ends", relative="distance", multi_scale=False, longest="prod(grid)",
        parameters="2 * dim * (sum(grid) - 1)", cost="2 * dim * (sum(grid) - 1) + sum(grid) ** 2 - 2 * prod(grid)",
    ),
    work=Work(
        kernel="2 * dim * (sum(grid) - 1)", additions="h * n * (sum(grid) * (dim - 1) + 2 * n)",
        products="h * n * sum(grid) * dim", every_layer=True,
    ),
    example="decomposed:grid=3x4,dim=2",
    place=4,
    hooks={"apply": effect},
)  # fmt: skip
def decomposed(
    *,
    grid: Annotated[Grid, sides(le=1 << 12)],
    dim: VectorDim,
    key_grid: Annotated[tuple[int, ...] | None, sides(le=1 << 12)] = None,
    trained_grid: Annotated[tuple[int, ...] | None, sides(le=1 << 12, when=("weights", (None,)))] = None,
    init: Annotated[Literal["truncated-normal", "zeros"], Param(when=("weights", (None,)))] = "truncated-normal",
    weights: trained.Weights = None,
    std: Annotated[Decimal, trained.deviation(("init", ("truncated-normal",)))] = Decimal("0.02"),
    seed: trained.DrawnSeed = 0,
    generator: trained.Generator = trained.GENERATOR,
) -> Relative:
    """Trained vectors for the vertical and horizontal distance between patches.

    The table covers the whole grid.

    Formula
    -------
    a query at y (of q rows) and a key at y' (of k rows) take row
    floor(y max(k/q, 1) - (y' - (k - 1)) max(q/k, 1)) of vector_height, and likewise of vector_width
    both tables resized linearly to 2 max(q, k) - 1 rows

    Parameters
    ----------
    grid
        Height and width of the queries in patches.
    key_grid
        Height and width of the keys (default: grid).
    trained_grid
        Grid of the random tables before resizing (default: the larger of grid and key-grid).
    init
        Initial values (SAM and ViTDet start from zeros).
    weights
        File with rel_pos_h and rel_pos_w (default: random, from the seed).

    Source
    ------
    Li et al. 2022, arXiv:2112.01526, MViTv2, section 3.2
    Kirillov et al. 2023, arXiv:2304.02643, the image encoder of SAM, as in ViTDet

    Used by
    -------
    SAM, ViTDet, MViTv2

    Use it
    ------
    for images of high resolution, one table for each axis

    Not
    ---
    for sequences

    Not recognised
    --------------
    its vectors are drawn, and each of its indices is one of clipped distances
    """
    keys = key_grid or grid
    tables, indices = [], []
    for axis, name in enumerate(("height", "width")):
        q, k = grid[axis], keys[axis]
        rows = 2 * max(q, k) - 1
        own_rows = rows if trained_grid is None else 2 * trained_grid[axis] - 1
        drawn = partial(_drawn, seed, axis, dim, init, float(std))
        made, have = _table(weights, f"rel_pos_{name[0]}", own_rows, dim, drawn)
        table, index = partial(_resized, made, have, rows), partial(axis_index, q, k)
        tables.append(Fixed(f"vector_{name}", (rows, dim), ("row", "channel"), table, role="vector", prepare=have))
        indices.append(Fixed(f"index_{name}", (q, k), ("query", "key"), index, 1, "int64", "index"))

    return Relative(fixed=(*tables, *indices), rows=grid[0] * grid[1])


def _drawn(seed: int, axis: int, dim: int, rule: trained.Rule, std: float, start: int, stop: int) -> Floats:
    return trained.draw(seed, axis, start, stop, dim, rule, std)


def _table(path: str | None, name: str, rows: int, dim: int, drawn: OfRows) -> tuple[OfRows, Callable[[], int]]:
    """Return rows of the table of an axis and their number, which a file may choose."""
    if path is None:
        return drawn, lambda: rows

    @cache
    def read() -> Floats:
        file, phrase = trained.WeightFile(path), f"{name} with dim={dim}"
        return file.values((None, dim), phrase, name, name.replace("rel_pos", "vector"))

    return (lambda start, stop: read()[start:stop]), lambda: len(read())


def _resized(made: OfRows, count: Callable[[], int], rows: int, start: int, stop: int) -> Floats:
    """Return rows of a table resized to `rows` by linear interpolation between the middles of rows, as torch does.

    Only what they are made of is asked for: a table may be wider than memory.
    """
    have = count()
    if have == rows or start == stop:
        return made(start, stop)
    half = Fraction(1, 2)
    places = [max(Fraction(0), (i + half) * Fraction(have, rows) - half) for i in range(start, stop)]
    low = np.array([min(int(place), have - 1) for place in places])
    part = np.array([float(place - int(place)) for place in places])[:, None]
    first = int(low[0])
    table, high = made(first, min(int(low[-1]) + 2, have)), np.minimum(low + 1, have - 1) - first
    return np.asarray(table[low - first] * (1.0 - part) + table[high] * part)


def axis_index(q: int, k: int, start: int, stop: int) -> Integers:
    """Return which row of an axis's table some of q queries, and k keys, take, (stop - start, k), exactly."""
    # Coordinates of the finer grid: y max(k/q, 1) - (y' - (k - 1)) max(q/k, 1), times q k throughout.
    queries = np.arange(start, stop, dtype=np.int64)[:, None] * (max(k, q) * k)
    keys = (np.arange(k, dtype=np.int64) - (k - 1)) * (max(k, q) * q)
    return (queries - keys) // (q * k)
