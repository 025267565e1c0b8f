"""Random Fourier features: coordinates times a drawn or given matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import lcm
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.encodings.shared import grids, trained
from pecli.encodings.shared.deferred import Floats, dd, np, seeded
from pecli.encodings.shared.parameters import MODEL_WIDTH, WIDEST, Seed
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, PI, TAU, number_text
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Change
from pecli.spec.plans import Band, Cross, Domain, Fixed, Waves

if TYPE_CHECKING:
    from pecli.spec.measured import Held

# A drawn factor is sigma times a whole multiple of 2^-40.
#
# So the phases of several coordinates add up in whole numbers, and the matrix is the same on every
# machine.  It is finer than float32, in which frameworks draw, for all but one value in 2^14.
DRAWN_BITS = 40

LARGEST_POSITIVE = Fraction(1, 1 << 63)


@encoding(
    family=Family.ABSOLUTE,
    title="Fourier features",
    facts=Facts(relative="rotation", cost="n * dim + dim // 2"),
    example="fourier:dim=8,sigma=0.1",
    place=11,
    hooks={"mistakes": ":mistakes", "identify_arrays": ":identify_arrays"},
)
def fourier(
    *,
    dim: Annotated[int, Param(ge=2, le=WIDEST, even=True, names=MODEL_WIDTH)],
    sigma: Annotated[Decimal, Param(gt=0, le=1e9, when=("matrix", (None,)))] = Decimal(1),
    seed: Annotated[Seed, Param(when=("matrix", (None,)))] = 0,
    generator: Annotated[trained.Philox, trained.generation(("matrix", (None,)))] = trained.GENERATOR,
    matrix: Annotated[tuple[Decimal, ...] | None, Param(file=True, matrix=True)] = None,
    log: Annotated[bool, Param(when=("coordinates", ("given",)))] = False,
    order: Literal["sin-cos", "cos-sin"] = "sin-cos",
    coordinates: grids.Where = "given",
    grid: grids.Grid = None,
    axis_order: grids.AxisOrder = "xy",
    points: grids.PointList = None,
    point_axes: grids.PointAxes = 1,
    extent: grids.Extent = None,
) -> Waves:
    """Sines and cosines of random frequencies, stored with their matrix B.

    Formula
    -------
    pe(x) = [sin(2 pi B x), cos(2 pi B x)]
    B ~ N(0, sigma^2), dim/2 rows and a column for each coordinate; with log: ln x instead of x

    Parameters
    ----------
    dim
        Width: twice the number of rows of B.
    sigma
        Standard deviation of B.
    seed
        Seed of B.
    matrix
        B itself, a row for each frequency and a column for each coordinate: a list, or a file of any format.
    log
        Take the logarithm of the positions first.
    order
        Sines first, or cosines first.

    Source
    ------
    Tancik et al. 2020, arXiv:2006.10739, section 4; the authors' code puts sines first
    Song et al. 2020, arXiv:2011.13456, log

    Used by
    -------
    Fourier feature networks, SAM, score-based diffusion, diffusers' GaussianFourierProjection

    Use it
    ------
    for low-dimensional coordinates or noise levels, at one length scale

    Not
    ---
    if several scales are needed, or runs must agree on the random matrix
    """
    where = grids.coordinates_of(coordinates, grid, axis_order, points, point_axes, extent)
    if log and points is not None:
        raise BadParameter("log", "true", "takes the logarithm of positions: it cannot go with points=")
    half = dim // 2
    factors, unit = _drawn(seed, half, where.count, sigma) if matrix is None else _given(matrix, half, where.count)
    first, second = slice(0, half), slice(half, dim)
    sin, cos = (first, second) if order == "sin-cos" else (second, first)
    fixed = (Fixed("B", (half, where.count), ("frequency", "coordinate"), _stored(factors, unit)),)
    if log:
        low = Domain(low=LARGEST_POSITIVE, remedy="the logarithm needs positions above 0, such as start=1")
        cross = Cross(sin, cos, logarithm=tuple(row[0] for row in factors), unit=unit)
        return Waves(dim, (), cross=cross, fixed=fixed, domain=low)
    if where.count == 1:
        band = Band(tuple(row[0] * unit for row in factors), sin, cos, turns=True)
        return Waves(dim, (band,), fixed=fixed, **where.plan())
    turns = tuple(tuple(row[axis] * unit for row in factors) for axis in range(where.count))
    return Waves(dim, (), cross=Cross(sin, cos, turns), fixed=fixed, **where.plan())


Factors = Sequence[Sequence[int]]


@lru_cache(maxsize=4)
def _drawn(seed: int, rows: int, columns: int, sigma: Decimal) -> tuple[Factors, Fraction]:
    """Return drawn factors as whole multiples of a unit, (rows, columns)."""
    drawn = seeded.normal(seeded.uniform(seeded.row_words(seed, np.arange(rows), columns)))
    multiples = np.rint(drawn * 2.0**DRAWN_BITS).astype(np.int64)
    return multiples.tolist(), Fraction(sigma) / (1 << DRAWN_BITS)


def _given(numbers: tuple[Decimal, ...], rows: int, columns: int) -> tuple[Factors, Fraction]:
    """Return given factors as whole multiples of a unit."""
    if len(numbers) != rows * columns:
        rule = f"must be {rows * columns}: dim/2 = {rows} rows of {columns}, a column for each coordinate"
        raise BadParameter("matrix", f"{len(numbers)} numbers", rule)
    exact = [Fraction(number) for number in numbers]
    unit = Fraction(1, lcm(*(x.denominator for x in exact)))
    whole = [int(x / unit) for x in exact]
    return [whole[at : at + columns] for at in range(0, len(whole), columns)], unit


def _stored(factors: Factors, unit: Fraction) -> Callable[[int, int], dd.DoubleDouble]:
    """Return the rows of B."""

    def values(start: int, stop: int) -> dd.DoubleDouble:

        rows = factors[start:stop]
        flat = dd.from_decimal([factor * unit for row in rows for factor in row])
        shape = (len(rows), len(factors[0]))
        return dd.DoubleDouble(flat.hi.reshape(shape), flat.lo.reshape(shape))

    return values


# Digits of numbers that are written for a mistake: more than those of float32.
MISTAKEN_DIGITS = 12
# Factors of the angle B x, and what is said of the wrong ones.
FACTORS = {
    TAU: "",
    Decimal(1): "the factor 2 pi is missing: the angles are B x where 2 pi B x was expected",
    PI: "the angles are pi B x where 2 pi B x was expected",
}
# What coordinate place k of n has that should be at the centre of its cell, and what is said of it.
OF_CELLS: dict[str, Callable[[int, int], float]] = {
    "coordinates lie in 0 .. 1 where -1 .. 1 was expected: x for 2 x - 1": lambda k, n: (k + 0.5) / n,
    "coordinates are those of the cells' corners, not of their centres: half a cell is missing": (
        lambda k, n: 2 * k / n - 1
    ),
}
# Error of a value in float32 arithmetic.
MAX_OFF = 1e-3


# Fewest pairs and rows that show drawn numbers, and the shortest side of a grid.
MIN_DRAWN, MIN_SIDE = 8, 4
# Deviation of the angles from place to place, in radians; above it, many are more than half a turn.
MAX_TURN = 1.2
# Rows that are compared with those of a grid before its name is given.
MAX_TRIED = 256
# Coordinate k of n along a side of a grid, and what a recipe or a sentence calls it.
RANGES: dict[str, Callable[[Floats, int], Floats]] = {
    "corners": lambda k, n: 2 * k / max(1, n - 1) - 1,
    "centres": lambda k, n: (2 * k + 1) / n - 1,
    "0 to 1": lambda k, n: k / max(1, n - 1),
    "0 to 1 without its end": lambda k, n: k / n,
    "0 to 1, at the centres": lambda k, n: (k + 0.5) / n,
}


def identify_arrays(arrays: Mapping[str, Floats]) -> Iterator[Held]:
    """Yield the parameters of features (n, dim) in a file with B, and what is wrong with them, if anything.

    The file holds the n points as well, or they are those of a grid.
    """
    from pecli.spec.measured import Held

    if len(arrays) == 1:
        yield from _random(*arrays.values())
    for (feature, values), (b, matrix), (x, points) in permutations(arrays.items(), 3):
        if matrix.shape[1] != points.shape[1] or values.shape != (len(points), 2 * len(matrix)):
            continue
        for keys, wrong in _made(values, points @ matrix.T):
            keys |= {"matrix": f"FILE::{b}", "points": f"FILE::{x}", "point-axes": str(points.shape[1])}
            yield Held(keys, f"FILE is this file, and '{feature}' the table", wrong)
    for (feature, values), (b, stored), swap in product(arrays.items(), arrays.items(), (False, True)):
        matrix, n = stored.T if swap else stored, len(values)
        if matrix.shape[1] not in (1, 2) or values.shape[1] != 2 * len(matrix) or feature == b:
            continue
        some = np.unique(np.linspace(0, n - 1, min(n, MAX_TRIED)).astype(int))
        grids_of_n = [(n,)] if matrix.shape[1] == 1 else [(k, n // k) for k in range(2, n) if n % k == 0]
        for grid, (word, coordinate), order in product(grids_of_n, RANGES.items(), ("xy", "yx")):
            places = [k.astype(np.float64) for k in np.unravel_index(some, grid)]
            at = np.stack([coordinate(k, side) for k, side in zip(places, grid, strict=True)], 1)
            for keys, wrong in _made(values[some], (at[:, ::-1] if order == "xy" else at) @ matrix.T):
                keys |= {"matrix": f"FILE::{b}"}
                text, held = grids.grid_text(grid), f"FILE is this file, and '{feature}' the table"
                held += f"; '{b}' is transposed" * swap
                if word in ("corners", "centres"):
                    keys |= {"coordinates": word, "grid": text} | ({"axis-order": "yx"} if order == "yx" else {})
                    yield Held(keys, held, wrong)
                else:
                    keys |= {"points": "POINTS", "point-axes": str(len(grid))}
                    first = "column first" if order == "xy" else "row first"
                    held += f"; POINTS is a file of the points, which this one lacks: a grid of {text} from {word}"
                    yield Held(keys, f"{held}, {first}", wrong)
                return


def _random(values: Floats) -> Iterator[Held]:
    """Yield what features (n, dim) of a grid say of their matrix: the turns of each pair along both sides."""
    from pecli.spec.measured import Held

    n, half = len(values), values.shape[1] // 2
    if values.shape[1] % 2 or half < MIN_DRAWN or n < MIN_DRAWN:
        return
    points = values[:, half:] + 1j * values[:, :half]
    if np.abs(np.abs(points) - 1).max() > MAX_OFF:
        return
    turns = points[1:] * points[:-1].conj()
    jumps = 1 + np.flatnonzero(np.abs(turns - turns[0]).max(axis=1) > 2 * MAX_OFF)
    side = int(jumps[0]) if len(jumps) else n
    if side < MIN_SIDE or n % side or n < MIN_SIDE * side or (jumps % side).any():
        return
    down = points[side:] * points[:-side].conj()
    if np.abs(down - down[0]).max() > 2 * MAX_OFF:
        return
    angles = np.angle([turns[0], down[0]])
    if not 0.25 < (np.diff(np.abs(angles)) < 0).mean() < 0.75:  # of drawn numbers half fall
        return
    grid = f"{n // side}x{side}"
    wrong = f"the matrix B is not in the file, and the points are a grid of {grid}"
    if angles.std() < MAX_TURN:
        sigma = (angles * [[side], [n // side]] / (2 * np.pi)).std()
        wrong += f"; sigma is about {sigma:.2g} for coordinates from 0 to 1"
    yield Held({"dim": str(values.shape[1])}, "", wrong)


def _made(values: Floats, turns: Floats) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the width and the order of features at these turns, and what is wrong with their angles."""
    for (factor, wrong), order in product(FACTORS.items(), ("sin-cos", "cos-sin")):
        both = [np.sin(float(factor) * turns), np.cos(float(factor) * turns)][:: 1 if order == "sin-cos" else -1]
        if np.abs(np.concatenate(both, axis=1) - values).max(initial=0) < MAX_OFF:
            yield {"dim": str(values.shape[1]), **({"order": order} if order != "sin-cos" else {})}, wrong


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield other factors of the angle than 2 pi, and coordinates of points in another range or order than expected."""
    scale = "matrix" if "matrix" in keys else "sigma"
    for factor, text in FACTORS.items():
        if text:
            numbers = _listed(CONTEXT.divide(x * factor, TAU) for x in _numbers(keys[scale]))
            yield Change("factor", text, {scale: numbers})
    for text, coordinate in OF_CELLS.items() if keys["coordinates"] == "centres" else ():
        if given := grids.points_instead(keys, coordinate):
            yield Change("points", text, given)
    if "points" not in keys:
        return
    points = _numbers(keys["points"])
    if (axes := int(keys.get("point-axes", "1"))) > 1:
        text = "the coordinates of each point are in the reverse order"
        reverse = (x for k in range(0, len(points), axes) for x in reversed(points[k : k + axes]))
        yield Change("points", text, {"points": _listed(reverse)})
    if "extent" not in keys:
        moved = _listed(2 * x - 1 for x in points)
        yield Change("points", "the coordinates were moved from 0 .. 1 to -1 .. 1 (2 x - 1)", {"points": moved})
        return
    sizes = grids.per_side("extent", _numbers(keys["extent"]), int(keys.get("point-axes", "1")))
    shares = [CONTEXT.divide(x, sizes[k % len(sizes)]) for k, x in enumerate(points)]
    for text, own in (
        ("coordinates lie in 0 .. 1 where -1 .. 1 was expected: x / extent for 2 x / extent - 1", shares),
        ("coordinates are not divided by the extent", points),
    ):
        yield Change("points", text, {"points": _listed(own), "extent": None})


def _numbers(text: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, text.split("+")))


def _listed(numbers: Iterable[Decimal]) -> str:
    return "+".join(number_text(round(x, MISTAKEN_DIGITS)) for x in numbers)
