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
