"""Tables over several axes made by plain NumPy are named from their values, in every way to store them."""

import numpy as np
import pytest

from pecli import identify


def power(base, width, start=0, step=2):
    return float(base) ** (-np.arange(start, width, step, dtype=np.float64) / width)


def points(*sides):
    return [axis.reshape(-1, 1).astype(np.float64) for axis in np.meshgrid(*map(np.arange, sides), indexing="ij")]


def blocks(height, width):
    """Rows and columns of a grid whose points stand in blocks of 2 x 2."""
    y, x = (axis.reshape(height // 2, 2, width // 2, 2) for axis in points(height, width))
    return [axis.transpose(0, 2, 1, 3).reshape(-1, 1) for axis in (y, x)]


def turned(*axes):
    """Angles of coordinates (n, 1) with their frequencies each."""
    return np.concatenate([coordinate * w for coordinate, w in axes], axis=1)


def plain(height, width, dim, base=10000):
    y, x = points(height, width)
    return turned((y, power(base, dim // 2)), (x, power(base, dim // 2)))


def pixtral(height, width, dim):
    y, x = points(height, width)
    return turned((y, power(10000, dim, 0, 4)), (x, power(10000, dim, 2, 4)))


def video(sides, axes, base=10000, prefix=0):
    angles = turned(*((p, power(base, width)) for p, width in zip(points(*sides), axes, strict=True)))
    return np.concatenate([np.zeros((prefix, angles.shape[1])), angles])


def streams(sequence, owner, base):
    """Angles of tokens whose pairs turn with the frame, the row or the column that owns them."""
    found, start = [], 0
    for run in sequence.split("+"):
        sides = [int(side) for side in run.split("x")]
        own = np.indices(sides).reshape(len(sides), -1)
        found.append(start + np.broadcast_to(own, (3, own.shape[1])))
        start += max(sides)
    return np.concatenate(found, 1)[owner].T * power(base, 2 * len(owner))


ANGLES = {
    "rope2d:dim=16,grid=8x6": plain(8, 6, 16),
    "rope2d:dim=32,grid=5x9,base=100,axis-order=xy,first=1": turned(
        *((c + 1, power(100, 16)) for c in points(5, 9)[::-1])
    ),
    "rope2d:dim=32,grid=7x8,convention=pixtral": pixtral(7, 8, 32),
    "rope2d:dim=16,grid=8x6,merge=2,base=100": turned(*((c, power(100, 8)) for c in blocks(8, 6))),
    "rope2d:dim=16,grid=6x8,convention=dinov3": turned(
        *((2 * np.pi * ((2 * c + 1) / n - 1), power(100, 8)) for c, n in zip(points(6, 8), (6, 8), strict=True))
    ),
    "mrope:dim=64,sections=8+12+12,sequence=4+2x4x6+7": streams("4+2x4x6+7", np.repeat([0, 1, 2], (8, 12, 12)), 10000),
    "mrope:dim=32,sections=6+5+5,section-order=interleaved,sequence=1x6x5+3+1x2x3+2,base=1000000": streams(
        "1x6x5+3+1x2x3+2", np.arange(16) % 3 * (np.arange(16) < 15), 1000000
    ),
    "rope-axes:axes=16+24+24,grid=3x4x6,base=10007": video((3, 4, 6), (16, 24, 24), 10007),
    "rope-axes:axes=8+12+12,grid=4x6x8,base=256,prefix=5": video((4, 6, 8), (8, 12, 12), 256, 5),
}


def twice(values):
    return np.concatenate([values, values], axis=1)


STORED = {
    "concat": lambda c, s: {"array": np.concatenate([c, s], 1)},
    "sin-cos": lambda c, s: {"array": np.concatenate([s, c], 1)},
    "pairs": lambda c, s: {"array": np.stack([c, s], -1)},
    "complex": lambda c, s: {"array": c + 1j * s},
    "stacked": lambda c, s: {"array": np.stack([c, s])},
    "half": lambda c, s: {"cos": twice(c), "sin": twice(s)},
    "neighbours": lambda c, s: {"cos": np.repeat(c, 2, 1), "sin": np.repeat(s, 2, 1)},
    "cos": lambda c, s: {"array": c},
    "sin": lambda c, s: {"array": s},
    "cos doubled": lambda c, s: {"array": twice(c)},
    "sin doubled": lambda c, s: {"array": np.repeat(s, 2, 1)},
}


def kept(recipe):
    """The parameters that were given, and what they say of a recipe that was found."""
    name, keys = recipe.split(":")
    return name, [key for key in keys.split(",") if not key.startswith("convention")]


def named(folder, wanted, arrays, dtype="float32"):
    """Return what was found for arrays in a file, once it names a recipe with these parameters."""
    kind = np.complex64 if np.iscomplexobj(next(iter(arrays.values()))) else dtype
    np.savez(folder / "t.npz", **{name: values.astype(kind) for name, values in arrays.items()})
    found = identify(folder / "t.npz")
    name, keys = kept(wanted)
    for text in (found.recipe or "", *found.aliases):
        said = text.partition(":")[2].split(",")
        if text.partition(":")[0] == name and all(key in said for key in keys):
            return found
    raise AssertionError(f"{wanted} is not named by\n{found!r}")


SOME = [(r, w) for i, r in enumerate(ANGLES) for j, w in enumerate(STORED) if (i - j) % 4 == 0]


@pytest.mark.parametrize(("recipe", "way"), SOME)
def test_a_rotation_over_axes_is_named_however_it_is_stored(tmp_path, recipe, way):
    angles = ANGLES[recipe]
    found = named(tmp_path, recipe, STORED[way](np.cos(angles), np.sin(angles)))
    assert found.equal > 0.9  # sines of whole turns are 0, and in double precision nearly so
    alone = way.split()[0]
    if alone in ("cos", "sin"):
        assert f"the {alone} alone of a rotary table" in found.notes


def sines(coordinate, w):
    return [np.sin(coordinate * w), np.cos(coordinate * w)]


def detr(height, width, dim, temperature):
    """DETR's table of normalised rows and columns, sines and cosines in turn, channels first."""
    w = float(temperature) ** (-4 * np.arange(dim // 4) / dim)
    y, x = ((c + 1) / (n + 1e-6) * 2 * np.pi for c, n in zip(points(height, width), (height, width), strict=True))
    return np.concatenate([np.stack(sines(c, w), -1).reshape(height * width, -1) for c in (y, x)], 1)


def mae(height, width, dim, step=1):
    y, x = points(height, width)
    return np.concatenate([part for c in (x, y) for part in sines(c * step, power(10000, dim // 2))], 1)


def first(table, *sides):
    """A table with its channels before rows and columns."""
    return np.ascontiguousarray(table.T.reshape(1, -1, *sides))


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
@pytest.mark.parametrize("temperature", [20, 10000])
def test_channels_may_come_first(tmp_path, kind, temperature):
    table = first(detr(5, 9, 32, temperature), 5, 9)
    found = named(tmp_path, f"detr:dim=32,grid=5x9,temperature={temperature},normalize=true", {"array": table}, kind)
    assert "channels come before rows and columns" in found.notes


def test_channels_come_first_of_a_grid_alone(tmp_path):
    found = named(tmp_path, "sincos2d:dim=32,grid=6x7", {"array": first(mae(6, 7, 32), 6, 7)})
    assert found.confidence == "sure"
    plainly = named(tmp_path, "sincos2d:dim=32,grid=6x7", {"array": mae(6, 7, 32)})
    assert not any("channels" in note for note in plainly.notes)
    noise = np.random.default_rng(3).uniform(-1, 1, (1, 32, 6, 7))
    np.save(tmp_path / "n.npy", noise.astype("f4"))
    assert identify(tmp_path / "n.npy").recipe is None


@pytest.mark.parametrize(("step", "said"), [(2, "grid-scale=0.5"), (0.5, "grid-scale=2"), (16 / 7, "base-size=16")])
def test_coordinates_of_a_grid_may_be_scaled(tmp_path, step, said):
    assert named(tmp_path, f"sincos2d:dim=64,grid=7x7,{said}", {"array": mae(7, 7, 64, step)}).equal > 0.99


@pytest.mark.parametrize(("sides", "rates"), [((50,), (224,)), ((12, 10), (224, 10)), ((16, 16), (224, 224))])
def test_bands_up_to_a_given_rate_are_named(tmp_path, sides, rates):
    axes = [2 * c / (n - 1) - 1 for c, n in zip(points(*sides), sides, strict=True)]
    bands = [np.pi * np.linspace(1, rate / 2, 6) for rate in rates]
    parts = [f(c * w) for f in (np.sin, np.cos) for c, w in zip(axes, bands, strict=True)]
    rate = "224" if set(rates) == {224} else "+".join(map(str, rates))
    grid = f",grid={sides[0]}" + "".join(f"x{n}" for n in sides[1:])
    named(tmp_path, f"bands:bands=6{grid},max-resolution={rate}", {"array": np.concatenate([*axes, *parts], 1)})


ONE = "rope2d:dim=32,grid=7x8,convention=pixtral"


def spoiled(kind):
    """A rotation over a grid in one array, spoiled."""
    table = np.concatenate([np.cos(ANGLES[ONE]), np.sin(ANGLES[ONE])], 1)
    if kind == "one":
        table[20, 5] = 0.5
    elif kind == "NaN":
        table[20, 5] = np.nan
    elif kind == "row":
        table[20] = 0
    return table


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("one", "one value differs, at [20, 5]: 0.5"),
        ("NaN", "one value differs, at [20, 5]: nan"),
        ("row", "of 1792 values differ, in row 20"),
    ],
)
def test_what_is_wrong_of_a_rotation_over_axes_is_placed(tmp_path, kind, said):
    found = named(tmp_path, ONE, {"array": spoiled(kind)})
    assert found.confidence == "likely"
    assert any(said in note for note in found.notes)


def test_a_row_of_zeros_hides_no_frames(tmp_path):
    t, y, x = points(4, 6, 7)
    table = np.concatenate([part for c, d in ((t, 32), (y, 16), (x, 16)) for part in sines(c, power(10000, d))], 1)
    named(tmp_path, "sincos3d:dim=64,grid=4x6x7,split=half-quarters", {"array": table})
    table[50] = 0
    found = named(tmp_path, "sincos3d:dim=64,grid=4x6x7,split=half-quarters", {"array": table})
    assert found.confidence == "likely"
    assert any(note.endswith("values differ, in row 50") for note in found.notes)


def test_infinity_among_pairs_is_placed(tmp_path):
    pairs = np.stack([np.cos(ANGLES[ONE]), np.sin(ANGLES[ONE])], -1)
    pairs[20, 5, 1] = np.inf
    found = named(tmp_path, ONE, {"array": pairs})
    assert any("one value differs, at [20, 5, 1]: inf" in note for note in found.notes)


@pytest.mark.parametrize("rest", ["noise", "zeros"])
def test_frames_of_a_grid_show_where_the_last_rows_are_spoiled(tmp_path, rest):
    t, y, x = points(5, 6, 7)
    table = np.concatenate([part for c, d in ((t, 32), (y, 16), (x, 16)) for part in sines(c, power(10000, d))], 1)
    table[150:] = 0 if rest == "zeros" else np.random.default_rng(4).standard_normal((60, 64))
    found = named(tmp_path, "sincos3d:dim=64,grid=5x6x7,split=half-quarters", {"array": table})
    assert any(note.endswith("values differ, in every row from 150 to 209") for note in found.notes)


@pytest.mark.parametrize("dim", [192, 384])
def test_the_fastest_of_many_waves_tells_what_coordinates_are_divided_by(tmp_path, dim):
    table = mae(7, 7, dim, 2)
    named(tmp_path, f"sincos2d:dim={dim},grid=7x7,grid-scale=0.5", {"array": table})
    table[[9, 30]] = table[[30, 9]]
    found = named(tmp_path, f"sincos2d:dim={dim},grid=7x7,grid-scale=0.5", {"array": table})
    assert any(note.endswith("in 2 rows, the first 9 and the last 30") for note in found.notes)


def test_a_short_side_may_be_divided_as_the_other_one(tmp_path):
    named(tmp_path, "sincos2d:dim=32,grid=10x3,grid-scale=2", {"array": mae(10, 3, 32, 0.5)}, "float16")


def test_tokens_that_are_exchanged_hide_no_sequence(tmp_path):
    recipe = "mrope:dim=64,sections=8+12+12,sequence=4+2x4x6+7"
    table = np.concatenate([np.cos(ANGLES[recipe]), np.sin(ANGLES[recipe])], 1)
    table[[20, 52]] = table[[52, 20]]
    found = named(tmp_path, recipe, {"array": table})
    assert any(note.endswith("in 2 rows, the first 20 and the last 52") for note in found.notes)


def test_a_base_costs_its_digits_so_that_the_plainest_encoding_is_named(tmp_path):
    """The sines of both axes before the cosines are a sincos2d in timm's order, before a rotation of two axes."""
    y, x = points(8, 12)
    w = power(10000, 8)
    table = np.concatenate([f(c * w) for f in (np.sin, np.cos) for c in (y, x)], 1)
    table[26, 3] = 7.25
    found = named(tmp_path, "sincos2d:dim=16,grid=8x12,axis-order=yx,order=sin-sin", {"array": table}, "float16")
    assert found.recipe.startswith("sincos2d:")
