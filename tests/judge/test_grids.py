"""Tables over several axes as other programs keep them: a file in, what it is said to be, and how it differs, out."""

import time

import numpy as np
import pytest

from pecli.judge.compare import compare
from pecli.judge.description import ANGLES
from pecli.judge.grid_differences import grid_differences
from pecli.judge.grids import identify_grid
from pecli.judge.identify import identify
from pecli.spec.tabular import InMemory
from pecli.tables.comparison import compare_tables
from pecli.tables.foreign import table_of
from pecli.tables.table import Table

F32 = np.float32
PIXEL = "rope2d:dim=64,grid=16x16,series=pixel,coordinates=corners,max-resolution=64"


# tables in plain NumPy ----------------------------------------------------------------------------


def frequencies(count, base=10000.0, kind=F32, last=0):
    """As torch code has them: one over a power, in the type."""
    e = (np.arange(count, dtype=kind) / kind(count - last)).astype(kind)
    return (kind(1) / (kind(base) ** e).astype(kind)).astype(kind)


def places(*sides):
    """Coordinates of a grid, row by row."""
    return [g.ravel() for g in np.meshgrid(*map(np.arange, sides), indexing="ij")]


def merged(h, w, m=2):
    """Rows and columns in blocks, as patch mergers take them."""
    return [c.reshape(h // m, m, w // m, m).transpose(0, 2, 1, 3).ravel() for c in np.indices((h, w))]


def angles(coordinates, widths, base=10000.0, kind=F32):
    """Angles of each axis' own series, side by side."""
    parts = [
        c.astype(kind)[:, None] * frequencies(d // 2, base, kind) for c, d in zip(coordinates, widths, strict=True)
    ]
    return np.concatenate(parts, 1)


def pixels(h, w, count, top, spaced=np.linspace):
    """Angles of lucidrains' and timm's pixel series: coordinates from -1 to 1, frequencies up to half the top."""
    f = (spaced(1, top / 2, count) * np.pi).astype(F32)
    y, x = (np.linspace(-1, 1, n, dtype=F32)[c] for n, c in zip((h, w), places(h, w), strict=True))
    return np.concatenate([y[:, None] * f, x[:, None] * f], 1)


def pair(angle, layout="split", kind=F32):
    """Cosines and sines of angles in a layout."""
    found = {"cos": np.cos(angle), "sin": np.sin(angle)}
    if layout == "half":
        found = {name: np.concatenate([v, v], 1) for name, v in found.items()}
    if layout == "interleaved":
        found = {name: np.repeat(v, 2, axis=1) for name, v in found.items()}
    return {name: v.astype(kind) for name, v in found.items()}


def half_bits(arrays):
    """Values rounded to bfloat16, kept as float32."""

    def cut(v):
        bits = v.astype(F32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(F32)

    return {name: cut(v) for name, v in arrays.items()}


def sincos2d(h, w, d, order="xy", kind=np.float64, base=10000.0, last=0, scale=1.0, first=0):
    """MAE's function, in float64."""
    y, x = (c / scale + first for c in places(h, w))
    f = frequencies(d // 4, base, np.float64, last)
    parts = [
        np.concatenate([np.sin(c[:, None] * f), np.cos(c[:, None] * f)], 1)
        for c in ((x, y) if order == "xy" else (y, x))
    ]
    return np.concatenate(parts, 1).astype(kind)


def detr(h, w, d, temperature=10000, normalize=True, center=False):
    """Carion's module, in float32."""
    y, x = (c.astype(F32) + F32(1) for c in places(h, w))
    if normalize:
        shift = F32(0.5 if center else 0)
        y, x = ((c - shift) / (F32(n) + F32(1e-6)) * F32(2 * np.pi) for c, n in ((y, h), (x, w)))
    k = np.arange(d // 2)
    t = F32(temperature) ** (2 * (k // 2) / F32(d // 2)).astype(F32)
    parts = [c[:, None] / t for c in (y, x)]
    return np.concatenate([np.where(k % 2, np.cos(p), np.sin(p)) for p in parts], 1).astype(F32)


def streams(*items):
    """Three position streams of text (a number) and grids, as Qwen2-VL counts them."""
    found, q = [], 0
    for item in items:
        sides = item if isinstance(item, tuple) else (item,)
        own = np.stack(places(*sides)) if len(sides) == 3 else np.tile(np.arange(item), (3, 1))
        found.append(own + q)
        q += max(sides)
    return np.concatenate(found, 1)


def mrope(position, sections, order="chunked", base=1e6, d=128):
    """Qwen's rotary tables, in float32 with doubled columns."""
    m = d // 2
    owner = np.repeat([0, 1, 2], sections) if order == "chunked" else np.zeros(m, int)
    if order == "interleaved":
        for s in (1, 2):
            owner[s : 3 * sections[s] : 3] = s
    return pair(position[owner].T.astype(F32) * frequencies(m, base), "half")


def told(values=None, **arrays):
    return identify_grid(table_of({"array": values} if values is not None else arrays))


# what it is ---------------------------------------------------------------------------------------

VISION = "rope2d:dim=80,grid=24x32,merge=2,layout=half"
FLUX = "rope-axes:axes=16+56+56,grid=1x12x16,layout=interleaved"
QWEN = streams(10, (1, 4, 6), 5)
QWEN2 = "mrope:dim=128,sections=16+24+24,base=1000000,sequence=10+1x4x6+5,layout=half"
QWEN3 = "mrope:dim=128,sections=24+20+20,section-order=interleaved,base=5000000,sequence=3+2x8x6+40,layout=half"
NAMED = {
    VISION: lambda: pair(angles(merged(24, 32), (40, 40)), "half"),
    "rope2d:dim=64,grid=6x10": lambda: pair(angles(places(6, 10), (32, 32))),
    "rope2d:dim=64,grid=6x10,axis-order=xy": lambda: pair(angles(places(6, 10)[::-1], (32, 32))),
    "rope2d:dim=64,grid=5x7,first=1": lambda: pair(angles([c + 1 for c in places(5, 7)], (32, 32))),
    "rope2d:dim=64,grid=6x10,base=100": lambda: pair(angles(places(6, 10), (32, 32), 100.0)),
    "rope2d:dim=32,grid=14x14,series=pixel,coordinates=corners,max-resolution=10,layout=interleaved": lambda: pair(
        pixels(14, 14, 8, 10), "interleaved"
    ),
    "rope2d:dim=32,grid=32x32,series=pixel,coordinates=corners,max-resolution=256": lambda: pair(
        pixels(32, 32, 8, 256)
    ),
    "rope2d:dim=64,grid=14x16,series=pixel-log,coordinates=corners": lambda: pair(
        pixels(14, 16, 16, 224, np.geomspace)
    ),
    FLUX: lambda: pair(angles([np.zeros(192), *places(12, 16)], (16, 56, 56), kind=np.float64), "interleaved"),
    "rope-axes:axes=44+42+42,grid=3x4x5": lambda: pair(angles(places(3, 4, 5), (44, 42, 42), kind=np.float64)),
    "rope-axes:axes=16+24+24,grid=3x4x6,layout=interleaved": lambda: pair(
        angles(places(3, 4, 6), (16, 24, 24)), "interleaved"
    ),
    "rope-axes:axes=16+56+56,grid=3x4x6,base=256": lambda: pair(angles(places(3, 4, 6), (16, 56, 56), 256.0)),
    "rope-axes:axes=16+56+56,grid=1x8x10,centred=0+1+1": lambda: pair(
        angles([np.zeros(80), places(8, 10)[0] - 4, places(8, 10)[1] - 5], (16, 56, 56))
    ),
    QWEN2: lambda: mrope(QWEN, (16, 24, 24)),
    QWEN3: lambda: mrope(streams(3, (2, 8, 6), 40), (24, 20, 20), "interleaved", 5e6),
    "sincos2d:dim=64,grid=14x14,dtype=float64": lambda: {"pe": sincos2d(14, 14, 64)},
    "sincos2d:dim=64,grid=6x8,prefix=1,dtype=float64": lambda: {"pe": np.concatenate([np.zeros((1, 64)), sincos2d(6, 8, 64)])},
    "sincos2d:dim=64,grid=6x8,axis-order=yx": lambda: {"pe": sincos2d(6, 8, 64, "yx", F32)},
    "sincos2d:dim=64,grid=6x8,shift=1": lambda: {"pe": sincos2d(6, 8, 64, last=1, kind=F32)},
    "sincos2d:dim=64,grid=8x8,grid-scale=2": lambda: {"pe": sincos2d(8, 8, 64, scale=2.0, kind=F32)},
    "detr:dim=64,grid=12x16,normalize=true": lambda: {"pe": detr(12, 16, 64)},
    "detr:dim=64,grid=12x16,temperature=20,normalize=true": lambda: {"pe": detr(12, 16, 64, 20)},
    "detr:dim=64,grid=6x8": lambda: {"pe": detr(6, 8, 64, normalize=False)},
}  # fmt: skip


@pytest.mark.parametrize("recipe", NAMED)
def test_tables_of_libraries_are_named_with_certainty(recipe):
    found = told(**NAMED[recipe]())
    assert (found.recipe, found.confidence, found.notes) == (recipe, "sure", ())


def test_exact_half_turns_at_both_ends_of_a_side_are_one_axis():
    exact = Table.parse(PIXEL)
    found = told(**{array.name: exact.read(array.name) for array in exact.arrays})
    assert (found.recipe, found.confidence, found.arithmetic) == (PIXEL, "sure", "exact")


@pytest.mark.parametrize(("recipe", "made"), [
    ("rope2d:dim=80,grid=16x24,merge=2", lambda: angles(merged(16, 24), (40, 40))),
    ("rope2d:dim=64,grid=6x10", lambda: angles(places(6, 10), (32, 32))),
    ("rope2d:dim=32,grid=14x14,series=pixel,coordinates=corners,max-resolution=10", lambda: pixels(14, 14, 8, 10)),
    ("rope-axes:axes=16+24+24,grid=3x4x6", lambda: angles(places(3, 4, 6), (16, 24, 24))),
])  # fmt: skip
def test_the_angles_of_a_grid_are_named(recipe, made):
    values = made()
    found = identify(InMemory({"freqs": values}))
    assert (found.recipe, found.confidence, found.notes[0]) == (f"{recipe},layout=angles", "sure", ANGLES)
    twice = identify(InMemory({"freqs": np.repeat(values, 2, axis=1)}))
    assert (twice.recipe, twice.notes[1]) == (found.recipe, "each angle stands twice (interleaved)")
    assert identify(InMemory({"freqs": values + F32(0.5)})).recipe is None


@pytest.mark.parametrize("recipe", [VISION, FLUX, "sincos2d:dim=64,grid=6x8,shift=1", "rope2d:dim=64,grid=6x10", QWEN2])
def test_values_of_bfloat16_name_the_same(recipe):
    found = told(**half_bits(NAMED[recipe]()))
    assert (found.recipe, found.confidence) == (f"{recipe},dtype=bfloat16", "sure")


def test_a_base_of_a_published_model_is_preferred_in_bfloat16():
    found = told(**half_bits(pair(angles(places(4, 6, 11), (16, 56, 56), 256.0))))
    assert (found.recipe, found.confidence) == ("rope-axes:axes=16+56+56,grid=4x6x11,base=256,dtype=bfloat16", "sure")


def test_a_stretched_base_is_said_by_its_factor():
    parts = zip(places(4, 6, 8), (44, 42, 42), (1e4 * 2 ** (44 / 42), 1e4, 1e4), strict=True)
    angle = np.concatenate([c.astype(F32)[:, None] * frequencies(d // 2, base) for c, d, base in parts], 1)
    assert told(**pair(angle)).recipe == "rope-axes:axes=44+42+42,grid=4x6x8,ntk=2+1+1"


def test_a_long_table_is_named_by_some_of_its_rows():
    found = told(sincos2d(80, 128, 512, kind=F32))
    assert (found.recipe, found.confidence) == ("sincos2d:dim=512,grid=80x128", "sure")


def test_one_value_does_not_make_another_table():
    pe = sincos2d(6, 8, 64)
    pe[5, 7] = 3
    assert differences(S, pe=pe) == []
    assert "pe[5, 7] is 3, expected 0.08879" in compare(table_of({"pe": pe}), Table.parse(S)).findings[0].text


def test_sections_that_give_the_same_values_are_no_difference():
    arrays = mrope(QWEN, (16, 24, 24), "interleaved")  # 22+21+21 interleaved is the same
    arrays["cos"][20, 3] += F32(0.5)
    recipe = "mrope:dim=128,sections=16+24+24,section-order=interleaved,base=1000000,sequence=10+1x4x6+5,layout=half"
    (finding, *_) = compare(table_of(arrays), Table.parse(recipe)).findings
    assert "cos[20, 3] is " in finding.text


def test_shapes_of_libraries_are_read():
    pe = detr(12, 16, 64)
    assert told(pe.T.reshape(1, 64, 12, 16)).recipe == "detr:dim=64,grid=12x16,normalize=true"
    angle = angles(places(6, 10), (32, 32))
    z = np.exp(1j * angle).astype(np.complex64)
    assert told(z[:, None]).recipe == "rope2d:dim=64,grid=6x10,layout=complex"
    c, s = np.cos(angle), np.sin(angle)
    matrices = np.stack([c, -s, s, c], -1).reshape(1, 60, 32, 2, 2)
    found = told(matrices)
    assert (found.recipe, found.notes) == ("rope2d:dim=64,grid=6x10", ("rotation matrices of 2 x 2",))
    joined = np.concatenate([np.repeat(s, 2, 1), np.repeat(c, 2, 1)], 1)
    assert told(joined).recipe == "rope2d:dim=64,grid=6x10"


def test_every_value_is_compared():
    pe = sincos2d(14, 14, 64, kind=F32)
    pe[100, 7] += F32(0.01)
    found = told(pe)
    assert found.recipe == "sincos2d:dim=64,grid=14x14"
    assert len(found.notes) == 1
    assert found.notes[0].startswith("array[100, 7] is ")
    pe[:, 40] = 0.5
    found = told(pe)
    assert found is None or found.confidence != "sure"


@pytest.mark.parametrize("values", [
    np.outer(np.arange(200.0), frequencies(32)),
    np.random.default_rng(1).normal(size=(64, 48)),
    np.zeros((16, 16)), np.eye(32), np.full((8, 8), np.nan), np.arange(64.0).reshape(8, 8), np.ones((3, 4, 5, 6)),
    np.tile([0.0, 1.0], (9, 8)), np.zeros((1, 4)), np.ones((4, 1)),
])  # fmt: skip
def test_other_arrays_are_not_named(values):
    for kind in ("f8", "f4", "f2"):
        found = told(values.astype(kind))
        assert found is None or found.recipe is None
    found = told(**pair(values.reshape(len(values), -1)))
    assert found is None or found.recipe is None


def test_text_alone_is_not_over_several_axes():
    assert told(**mrope(streams(100), (16, 24, 24))) is None


def test_unknown_says_what_was_measured():
    found = told(**pair(angles(places(6, 10), (32, 32)) ** 1.1))
    assert (found.recipe, found.confidence) == (None, "unknown")
    assert "rows follow a grid 6x10" in found.measured


def test_features_are_named():
    x = [np.linspace(-1, 1, n)[c] for n, c in zip((8, 10), places(8, 10), strict=True)]
    f = 2.0 ** np.arange(4) * np.pi
    parts = [np.stack([np.sin(c[:, None] * f), np.cos(c[:, None] * f)], -1).reshape(80, -1) for c in x[::-1]]
    assert told(np.concatenate(parts, 1).astype(F32)).recipe == "nerf:bands=4,grid=8x10"
    f = [np.linspace(1, n / 2, 5) * np.pi for n in (8, 10)]
    a = np.concatenate([c[:, None] * w for c, w in zip(x, f, strict=True)], 1)
    assert (
        told(np.concatenate([np.stack(x, 1), np.sin(a), np.cos(a)], 1).astype(F32)).recipe == "bands:bands=5,grid=8x10"
    )


# how it differs -----------------------------------------------------------------------------------


def explained(actual, expected):
    return grid_differences(actual, expected, compare_tables(actual, expected))


def differences(expected, **arrays):
    found = explained(table_of(arrays), Table.parse(expected))
    return None if found is None else [finding.text for finding in found]


R, S, D = "rope2d:dim=64,grid=6x10", "sincos2d:dim=64,grid=6x8", "detr:dim=64,grid=12x16,normalize=true"
A, M = (
    "rope-axes:axes=44+42+42,grid=3x4x5",
    "mrope:dim=128,sections=16+24+24,base=1000000,sequence=10+1x4x6+5,layout=half",
)
G = "rope2d:dim=64,grid=14x14"


@pytest.mark.parametrize("recipe", NAMED)
def test_right_tables_are_right(recipe):
    found = explained(table_of(NAMED[recipe]()), Table.parse(recipe))
    assert found is not None
    assert [finding.kind for finding in found] in ([], ["rounding"])
    assert all("harmless" in finding.text for finding in found)


def column_major(arrays, h, w):
    return {name: v.reshape(h, w, -1).transpose(1, 0, 2).reshape(h * w, -1) for name, v in arrays.items()}


def plain(h=6, w=10, **choice):
    return pair(angles(places(h, w), (32, 32), **choice))


MISTAKES = [
    (R, lambda: pair(angles(places(6, 10)[::-1], (32, 32))), "height and width are exchanged"),
    (G, lambda: plain(24, 24), "grid 24x24 where 14x14 was expected"),
    (R, lambda: plain(base=100.0), "base 100 where 10000 was expected"),
    (R, lambda: pair(angles([c + 1 for c in places(6, 10)], (32, 32))), "coordinates start at 1 where 0 was expected"),
    (R, lambda: pair(angles([2 * np.pi * ((2 * c + 1) / n - 1) for c, n in zip(places(6, 10), (6, 10), strict=True)],
                            (32, 32), kind=np.float64)), "coordinates separate where index was expected"),
    (R, lambda: column_major(plain(), 6, 10), "rows are in column-major order where row-major order was expected"),
    (R, lambda: pair(angles(merged(6, 10), (32, 32))), "rows are in blocks of 2 x 2 where they were expected in row-major order (merge)"),
    (R + ",merge=2", plain, "rows are in row-major order where they were expected in blocks of 2 x 2 (merge)"),
    (R, lambda: pair(np.stack([angles(places(6, 10), (32, 32))[:, k::16] for k in range(16)], 1).reshape(60, -1)),
     "pairs alternate where blocks was expected"),
    (G, lambda: pair(angles([c * 16 / 14 for c in places(14, 14)], (32, 32), kind=np.float64)),
     "reference 16x16 where"),
    (S, lambda: {"pe": sincos2d(6, 8, 64, "yx")}, "height and width are exchanged"),
    (S, lambda: {"pe": sincos2d(6, 8, 64, last=1)}, "shift 1 where 0 was expected: exponents are over the number of pairs less 1"),
    (R, lambda: {name: np.repeat(v.reshape(60, 2, 1, 16), 2, 2).reshape(60, 64) for name, v in plain().items()},
     "columns are repeated axis by axis where all together was expected (halves)"),
    (S, lambda: {"pe": sincos2d(6, 8, 64, scale=2)}, "grid-scale 2 where 1 was expected"),
    (S, lambda: {"pe": sincos2d(6, 8, 64, first=1)}, "coordinates start at 1 where 0 was expected"),
    (S, lambda: {"pe": sincos2d(8, 6, 64)}, "grid 8x6 where 6x8 was expected"),
    (S, lambda: column_major({"pe": sincos2d(6, 8, 64)}, 6, 8), "rows are in column-major order"),
    (S + ",prefix=1", lambda: {"pe": sincos2d(6, 8, 64)}, "the row of the class token before the grid is missing"),
    (S, lambda: {"pe": np.concatenate([np.zeros((1, 64)), sincos2d(6, 8, 64)])},
     "the row of the class token before the grid is not expected"),
    (S, lambda: {"pe": sincos2d(6, 8, 64).reshape(48, 2, 2, 16).transpose(0, 2, 1, 3).reshape(48, 64)},
     "columns in the order sin-sin where sin-cos was expected"),
    (D, lambda: {"pe": detr(12, 16, 64, 20)}, "temperature 20 where 10000 was expected"),
    (D, lambda: {"pe": detr(12, 16, 64, normalize=False)}, "normalize=false where normalize=true was expected"),
    (D, lambda: {"pe": detr(12, 16, 64, center=True)}, "center=true where center=false was expected"),
    (D, lambda: {"pe": np.roll(detr(12, 16, 64), 32, axis=1)},
     "height and width are exchanged: the width comes first"),
    (A, lambda: pair(angles(places(3, 4, 5), (42, 42, 44), kind=np.float64)),
     "axis widths 42+42+44 where 44+42+42 were expected"),
    (A, lambda: pair(angles([places(3, 4, 5)[k] for k in (0, 2, 1)], (44, 42, 42), kind=np.float64)),
     "height and width are exchanged"),
    (A, lambda: pair(angles([places(3, 4, 5)[0] * 2, *places(3, 4, 5)[1:]], (44, 42, 42), kind=np.float64)),
     "scale 2+1+1 where 1 was expected"),
    (M, lambda: mrope(QWEN, (24, 20, 20)), "sections 24+20+20 where 16+24+24 were expected"),
    (M, lambda: mrope(QWEN, (16, 24, 24), "interleaved"),
     "the sections are interleaved where chunked ones were expected"),
    (M, lambda: mrope(np.tile(np.arange(39), (3, 1)), (16, 24, 24)), "all streams are the position, as in text"),
    (M, lambda: mrope(QWEN[[0, 2, 1]], (16, 24, 24)), "height and width are exchanged"),
    (M, lambda: mrope(QWEN[[0, 0, 0]], (16, 24, 24)), "every pair follows the frame"),
    (M, lambda: mrope(QWEN, (16, 24, 24), base=1e4), "base 10000 where 1000000 was expected"),
    (M, lambda: half_bits(mrope(QWEN, (24, 20, 20))), "sections 24+20+20 where 16+24+24 were expected"),
    (M, lambda: {name: v.astype(np.float16) for name, v in mrope(QWEN[[0, 2, 1]], (16, 24, 24)).items()},
     "height and width are exchanged"),
    (R, lambda: pair(angles([places(6, 10)[0]] * 2, (32, 32))), "every pair follows the height"),
    (R, lambda: pair(np.tile(np.arange(60, dtype=F32)[:, None] * frequencies(16), (1, 2))),
     "positions count all 60 patches in one line"),
    ("detr:dim=64,grid=12x16", lambda: {"pe": detr(12, 16, 64)}, "normalize=true where normalize=false was expected"),
    ("rope-axes:axes=44+42+42,grid=3x4x5,ntk=2+1+1", lambda: pair(angles(places(3, 4, 5), (44, 42, 42))),
     "ntk 1 where 2+1+1 was expected"),
]  # fmt: skip


def test_coordinates_of_narrow_values_are_the_numbers_that_somebody_chose():
    said = differences(S, **half_bits({"pe": sincos2d(6, 8, 64, scale=6.5, first=-1, kind=F32)}))
    assert said[0] == "coordinates on the axis height run from -1 to -0.2308 where 0 to 5 was expected"


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_the_mistake_is_said_and_nothing_else(number):
    expected, make, words = MISTAKES[number]
    found = differences(expected, **make())
    assert found is not None
    assert len(found) == 1
    assert found[0].startswith(words)


CHANGES = [
    (R, lambda: {"cos": plain()["sin"], "sin": plain()["cos"]}, "cos and sin are exchanged"),
    (R, lambda: {"cos": plain()["cos"], "sin": -plain()["sin"]}, "sin: the sign of all values is changed"),
    (R, lambda: {name: v[:, :16] for name, v in plain().items()}, "columns 16 to 31 are missing"),
    (S, lambda: {"pe": sincos2d(6, 8, 64).reshape(48, 2, 2, 16).transpose(0, 1, 3, 2).reshape(48, 64)},
     "columns in the order interleaved where sin-cos was expected"),
    (S, lambda: {"pe": sincos2d(6, 8, 64).reshape(48, 2, 2, 16)[:, :, ::-1].reshape(48, 64)},
     "sin and cos are exchanged: the cosines come first"),
    (R + ",layout=half", lambda: pair(angles(places(6, 10), (32, 32)), "interleaved"), "the columns are interleaved where half-split ones were expected"),
    (S, lambda: {"pe": 8 * sincos2d(6, 8, 64)}, "all values are 8 times the expected ones"),
]  # fmt: skip
"""What changes the values of any table alike, which no description of axes needs to know."""


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_a_change_of_the_whole_table_is_said_first(number):
    expected, make, words = CHANGES[number]
    assert compare(table_of(make()), Table.parse(expected)).findings[0].text.startswith(words)


def test_two_mistakes_are_two_findings():
    found = differences(R, **pair(angles([c + 1 for c in places(6, 10)[::-1]], (32, 32), base=100.0)))
    assert len(found) == 3
    assert {
        "base 100 where 10000 was expected, or exponents over twice the width of an axis",
        "coordinates start at 1 where 0 was expected",
    } < set(found)


def test_another_table_is_no_grid():
    noise = np.random.default_rng(2).normal(size=(60, 32)).astype(F32)
    assert differences(R, cos=noise, sin=noise) is None
    assert differences("rope:dim=64,len=60", **plain()) is None


def test_a_large_table_takes_less_than_two_seconds():
    arrays = pair(angles(places(4, 60, 104), (44, 42, 42), kind=np.float64), "interleaved")
    began = time.process_time()
    assert told(**arrays).recipe == "rope-axes:axes=44+42+42,grid=4x60x104,layout=interleaved"
    assert time.process_time() - began < 4


def test_a_table_with_sines_and_cosines_in_turn_is_named():
    """positional-encodings writes the axes so: the first half of the columns for the first axis."""
    w = 10000.0 ** (-np.arange(12) / 12)
    rows, columns = np.divmod(np.arange(63), 9)
    a = np.concatenate([np.outer(rows, w), np.outer(columns, w)], axis=1)
    table = np.stack([np.sin(a), np.cos(a)], axis=2).reshape(63, 48).astype(np.float32)
    assert identify_grid(table_of({"pe": table})).recipe == "sincos2d:dim=48,grid=7x9,axis-order=yx,order=interleaved"


def test_axes_that_are_split_elsewhere_are_told(ask):
    widths, grid = (24, 20, 20), (2, 10, 12)
    places = np.indices(grid).reshape(3, -1)
    angle = [np.repeat(10000.0 ** (-np.arange(0, width, 2) / width), 2) for width in widths]
    axis = np.repeat([0, 1, 2], (22, 21, 21))  # where 24, 20 and 20 columns belong to them
    turns = places[axis].T * np.concatenate(angle)
    np.savez("t.npz", cos=np.cos(turns).astype("f4"), sin=np.sin(turns).astype("f4"))
    answer = ask("compare", "t.npz", "rope-axes:axes=24+20+20,grid=2x10x12,layout=interleaved").ends(1)
    answer.says(
        "different: columns 22 and 23 follow the height where the frame was expected, column 43 follows the width"
    )


def test_loftr_without_brackets_is_told(ask):
    y, x = np.indices((9, 12)) + 1.0
    for name, w in (("right", 10000.0 ** (-np.arange(16) / 16)), ("wrong", np.exp(-2.0 * np.arange(16)))):
        turns = np.stack([x * w[:, None, None], y * w[:, None, None]], axis=1).reshape(32, 9, 12)
        np.save(f"{name}.npy", np.stack([np.sin(turns), np.cos(turns)], axis=1).reshape(64, 9, 12).astype("f4"))
    ask("identify", "right.npy").says("detr:dim=64,grid=9x12,pairs=alternate", "the channels come before the grid")
    ask("compare", "wrong.npy", "right.npy").ends(1).says("different: frequencies are e^(-2k)")
