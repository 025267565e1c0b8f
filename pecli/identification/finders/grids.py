"""Identification of tables over grids, and of other encodings by trying what their declarations allow.

Of a table over a grid some columns repeat with the width of a row and others
stay the same along it.  That gives the sides; the few choices that are left
are computed on some rows and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from pecli.errors import PecliError
from pecli.identification.finders.guesses import Guess
from pecli.measures.readings import squeezed
from pecli.measures.samples import Floats, Sample
from pecli.measures.sides import Grid, grids

LOOSE = 2e-2  # of a value on a few rows; a wrong choice is off by much more
BASES = ("10000", "100", "1000", "20", "500000")
PROBES = 6
PLANES = {"axis-order": ("xy", "yx"), "order": ("sin-cos", "sin-sin"), "shift": ("0", "1"), "base": BASES}
VOLUMES = {"split": ("quarter-rest", "half-quarters", "thirds"), "shift": ("0", "1"), "base": BASES[:2]}
NERF_LINE = {"order": ("in-turn", "sin-cos"), "include-input": ("none", "first", "last"), "pi": ("true", "false")}
NERF = {**NERF_LINE, "order": ("in-turn", "sin-cos", "by-frequency", "by-axis")}
ROTATIONS = {
    "axis-order": ("yx", "xy"),
    "pairs": ("blocks", "alternate"),
    "series": ("half", "even-odd"),
    "first": ("0", "1"),
    "base": BASES[:3],
}
CONVENTIONS = (
    *("qwen2-vl", "pixtral", "llama4-vision", "dinov3", "eva", "sam2"),
    *("kimi-k2.5", "gemma4", "efficientloftr", "timm-pixel"),
)


def guesses(sample: Sample) -> Iterator[Guess]:
    """Yield what a table over a grid or in a unit interval may be."""
    planes = _planes(sample)
    if any(p.ndim != 2 or len(p) < 4 or not np.isfinite(p).all() for p in planes):
        return
    if sum(p.size for p in planes) != sum(lane.rows * lane.row_size for lane in sample.lanes):
        return  # only the head was read: sides cannot be seen
    if len(planes) == 1 and np.abs(planes[0]).max() <= 1.0 + 1e-6:
        yield from _probed(sample, _coordinates(planes[0]))
        yield from _probed(sample, _absolute(planes[0]))
    elif len(planes) == 2 and planes[0].shape == planes[1].shape:
        yield from _probed(sample, _rotary(planes[0], planes[1]))


def _planes(sample: Sample) -> list[Floats]:
    """Return the arrays with a row for each point, whatever leading axes (frames, rows, columns) there are."""
    found = []
    for plane in sample.planes:
        values = squeezed(plane.values)
        if plane.rows == len(plane.values) and sample.lanes[0].lead > 1:
            values = plane.values.reshape(-1, plane.values.shape[-1])
        found.append(values)
    return found


def _probed(sample: Sample, found: Iterator[Guess]) -> Iterator[Guess]:
    """Yield the guesses whose values on a few rows are near."""
    planes = _planes(sample)
    n = len(planes[0])
    rows = sorted({1, 2, n // 3, n // 2, 2 * n // 3, n - 1})[:PROBES]
    for guess in found:
        values = _rows_of(guess, rows)
        if values is None or len(values) != len(planes):
            continue
        if all(
            v.shape == p[rows].shape and np.abs(v - p[rows]).max() <= LOOSE for v, p in zip(values, planes, strict=True)
        ):
            yield guess


def _rows_of(guess: Guess, rows: list[int]) -> list[Floats] | None:
    """Return chosen rows of a guess's arrays."""
    from pecli.encodings.recipe import Recipe
    from pecli.numbers.positions import Positions
    from pecli.tables.table import Table

    try:
        recipe = Recipe.bind(guess.name, **guess.keys)
        if recipe.open_parameters:
            table = guess.make("float64")
            return [table.read(a.name)[rows] for a in table.arrays]
        layout = guess.table.get("layout")
        listed = Positions.listed(np.array(rows, np.int64))
        table = Table.make(recipe, positions=listed, dtype="float64", layout=layout)
        return [table.read(a.name) for a in table.arrays]
    except (PecliError, IndexError):
        return None


def _absolute(values: Floats) -> Iterator[Guess]:
    width = values.shape[1]
    for grid in grids(values, np.zeros(width)):
        keys = {"dim": str(width), "grid": grid.text, **({"prefix": str(grid.prefix)} if grid.prefix else {})}
        if grid.suffix:
            continue
        name, options = ("sincos2d", PLANES) if len(grid.sides) == 2 else ("sincos3d", VOLUMES)
        for own in _choices(options):
            yield Guess(name, {**keys, **own}, {}, 3.0)
        if name == "sincos2d":
            yield from _detr(keys)


def _choices(options: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield every combination of parameters, those with their default (the first) left out."""
    for words in product(*options.values()):
        yield {k: v for (k, known), v in zip(options.items(), words, strict=True) if v != known[0]}


def _detr(keys: Mapping[str, str]) -> Iterator[Guess]:
    plain = {k: v for k, v in keys.items() if k != "prefix"}
    for temperature in ("10000", "20"):
        base = {} if temperature == "10000" else {"temperature": temperature}
        yield Guess("detr", {**plain, **base}, {}, 4.0)
        for center in (False, True):
            more = {"normalize": "true", **({"center": "true"} if center else {})}
            yield Guess("detr", {**plain, **base, **more}, {}, 5.0)
            yield Guess("detr", {**plain, **base, **more, "coordinate-scale": "1"}, {}, 6.0)


def _coordinates(values: Floats) -> Iterator[Guess]:
    """Yield encodings of a coordinate from -1 to 1: NeRF's and Perceiver's, over a line or a grid."""
    n, width = values.shape
    table = {"length": str(n)}
    for inputs, where in ((0, "none"), (1, "first"), (1, "last")):
        for axes in (1, 2, 3):
            rest = width - inputs * axes
            if rest <= 0 or rest % (2 * axes):
                continue
            bands = rest // (2 * axes)
            for side in _sides_of(n, axes):
                grid = {} if axes == 1 else {"grid": side}
                lengths = table if axes == 1 else {}
                for own in _choices(NERF if axes > 1 else NERF_LINE):
                    if own.pop("include-input", "none") == where:
                        more = {} if where == "none" else {"include-input": where}
                        yield Guess("nerf", {"bands": str(bands), **grid, **own, **more}, lengths, 3.0)
                for order in ("sin-cos", "by-axis"):
                    own = {} if order == "sin-cos" else {"order": order}
                    own |= {} if where == "first" else {"include-input": where}
                    yield Guess("bands", {"bands": str(bands), **grid, **own}, lengths, 4.0)


def _sides_of(n: int, axes: int) -> list[str]:
    """Return grids of n points with so many axes, the squarest first."""
    if axes == 1:
        return [""]
    if axes == 2:
        pairs = [(h, n // h) for h in range(2, n) if n % h == 0 and n // h >= 2]
        pairs.sort(key=lambda p: abs(p[0] - p[1]))
        return [f"{h}x{w}" for h, w in pairs[:4]]
    side = round(n ** (1 / 3))
    return [f"{side}x{side}x{side}"] if side**3 == n and side > 1 else []


def _rotary(cos: Floats, sin: Floats) -> Iterator[Guess]:
    """Yield rotations over grids, in the layouts whose widths are possible."""
    w = cos.shape[1]
    layouts = [("split", 2 * w, slice(None))]
    if w % 2 == 0:
        if np.array_equal(cos[:, : w // 2], cos[:, w // 2 :]):
            layouts.insert(0, ("half", w, slice(0, w // 2)))
        if np.array_equal(cos[:, 0::2], cos[:, 1::2]):
            layouts.insert(0, ("interleaved", w, slice(0, None, 2)))
    for layout, dim, columns in layouts:
        c, s = cos[:, columns], sin[:, columns]
        both = np.concatenate([c, s], axis=1)
        blank = np.concatenate([np.ones(c.shape[1]), np.zeros(c.shape[1])])
        table = {} if layout == "split" else {"layout": layout}
        for grid in grids(both, blank):
            edges = {k: str(v) for k, v in (("prefix", grid.prefix), ("suffix", grid.suffix)) if v}
            if len(grid.sides) == 2:
                yield from _rope2d(dim, grid, edges, table)
            yield from _axes(c, s, grid, edges, table)
        yield from _merged(dim, len(cos), table)


def _rope2d(dim: int, grid: Grid, edges: Mapping[str, str], table: Mapping[str, str]) -> Iterator[Guess]:
    keys = {"dim": str(dim), "grid": grid.text, **edges}
    for own in _choices(ROTATIONS):
        yield Guess("rope2d", {**keys, **own}, table, 3.0)
    for convention in CONVENTIONS:
        yield Guess("rope2d", {"dim": str(dim), "grid": grid.text, "convention": convention, **edges}, table, 4.0)


def _merged(dim: int, rows: int, table: Mapping[str, str]) -> Iterator[Guess]:
    """Yield grids in blocks of 2 x 2, whose rows follow no side."""
    pairs = [(h, rows // h) for h in range(2, rows, 2) if rows % h == 0 and (rows // h) % 2 == 0]
    for h, w in sorted(pairs, key=lambda p: abs(p[0] - p[1]))[:6]:
        for series in ("half", "even-odd"):
            own = {} if series == "half" else {"series": series}
            yield Guess("rope2d", {"dim": str(dim), "grid": f"{h}x{w}", "merge": "2", **own}, table, 4.0)


def _axes(cos: Floats, sin: Floats, grid: Grid, edges: Mapping[str, str], table: Mapping[str, str]) -> Iterator[Guess]:
    """Yield an own width for each axis, read off the columns."""
    body = slice(grid.prefix, len(cos) - grid.suffix)
    cube = np.concatenate([cos[body], sin[body]], axis=1).reshape(*grid.sides, -1)
    count = cos.shape[1]
    moves = np.stack([(np.ptp(cube, axis=a) > 1e-6).reshape(-1, 2 * count).any(axis=0) for a in range(len(grid.sides))])
    moves = moves[:, :count] | moves[:, count:]
    if (moves.sum(axis=0) > 1).any():
        return
    owner = np.where(moves.any(axis=0), moves.argmax(axis=0), -1)
    if (np.diff(owner[owner >= 0]) < 0).any():
        return
    for k in range(1, count):  # a pair that seems still belongs to the axis before it
        owner[k] = owner[k - 1] if owner[k] < 0 else owner[k]
    lead = int((owner < 0).sum())
    widths = [2 * int((owner == a).sum()) for a in range(len(grid.sides))]
    sides = list(grid.sides)
    if lead:  # an axis of one frame, whose pairs do not move
        widths.insert(0, 2 * lead)
        sides.insert(0, 1)
    if 0 in widths:
        return
    for own in _choices({"base": BASES[:3], "first": ("0", "1")}):
        keys = {"axes": "+".join(map(str, widths)), "grid": "x".join(map(str, sides)), **own, **edges}
        yield Guess("rope-axes", keys, table, 3.5)
