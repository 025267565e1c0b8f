"""Tables that were resized like images: the ways of PyTorch, and what is said of resized grids and lengths."""

import time

import numpy as np
import pytest

from pecli.judge.interpolation import WAYS, Interpolation

# torch.nn.functional.interpolate of 0, 1, 4, 9, 16, 25 in torch 2.13, by the name of the way: to 9 and to 4 values.
TORCH = {
    "linear interpolation, corners aligned": (
        [0, 0.625, 1.75, 3.625, 6.5, 9.875, 14.25, 19.375, 25], [0, 3, 11.333333, 25]),
    "linear interpolation": (
        [0, 0.5, 1.5, 3.5, 6.5, 10.166667, 14.833333, 20.5, 25], [0.25, 3.25, 10.75, 22.75]),
    "cubic interpolation": (
        [-0.086806, 0.21875, 1.430556, 3.152778, 6.125, 10.282407, 14.300926, 21.15625, 25.78125],
        [0.121094, 2.828125, 10.796875, 23.207031]),
    "cubic interpolation, corners aligned": (
        [0, 0.310059, 1.609375, 3.337891, 6.125, 9.998047, 13.640625, 20.012207, 25], [0, 2.555556, 11.259259, 25]),
    "cubic interpolation with antialias": (
        [-0.065789, 0.294118, 1.361111, 3.361111, 6.25, 10.027778, 14.694444, 21.176471, 25.592105],
        [0.158576, 2.977029, 10.886677, 22.278317]),
    "linear interpolation with antialias": (
        [0, 0.5, 1.5, 3.5, 6.5, 10.166667, 14.833333, 20.5, 25], [0.375, 3.555556, 10.777778, 21.625]),
    "cubic interpolation, with 0.1 added to its sides as in DINO": (
        [-0.087935, 0.212702, 1.388825, 3.046711, 6.002825, 10.007758, 13.910714, 20.663998, 25.565221],
        [0.115018, 2.64342, 10.228517, 22.193266]),
    "nearest neighbours": ([0, 0, 1, 4, 4, 9, 16, 16, 25], [0, 1, 9, 16]),
    "nearest neighbours (nearest-exact)": ([0, 1, 1, 4, 9, 9, 16, 25, 25], [0, 4, 9, 25]),
}  # fmt: skip
CUBIC, BY_TIMM = (next(way for way in WAYS if way.name == name) for name in list(TORCH)[2:5:2])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_values_are_those_of_torch(way):
    for new, expected in zip((9, 4), TORCH[way.name], strict=True):
        assert way.weights(6, new) @ np.arange(6.0) ** 2 == pytest.approx(np.array(expected), abs=1e-6)


def resized(table: np.ndarray, old: int, new: tuple[int, int], way: Interpolation, tokens: int = 0) -> np.ndarray:
    grid = table[tokens:].reshape(old, old, -1)
    made = np.einsum("ih,jw,hwc->ijc", *(way.weights(old, side) for side in new), grid)
    return np.concatenate([table[:tokens], made.reshape(new[0] * new[1], -1)]).astype(table.dtype)


@pytest.mark.parametrize(("way", "words"), [(CUBIC, "by bicubic interpolation"), (BY_TIMM, "with antialias")])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("new", "sides"), [((24, 24), "24 x 24"), ((16, 24), "16 x 24"), ((10, 10), "10 x 10")])
def test_a_trained_table_of_another_image_size_is_told(ask, way, words, dtype, new, sides):
    trained = np.random.default_rng(0).normal(0, 0.02, (197, 32)).astype(dtype)
    np.save("224.npy", trained[None])
    np.save("384.npy", resized(trained, 14, new, way, tokens=1)[None])
    text = f"14 x 14 grid was resized to {sides}"
    ask("compare", "384.npy", "224.npy").ends(1).says(f"the expected {text}", words, "row 0 was kept").never("random")
    ask("compare", "224.npy", "384.npy").ends(1).says(f"in the expected table, this file's {text}", words)


def test_a_longer_trained_table_is_told(ask):
    trained = np.random.default_rng(1).normal(0, 0.02, (128, 16)).astype(np.float32)
    np.save("128.npy", trained)
    np.save("256.npy", (WAYS[1].weights(128, 256) @ trained).astype(np.float32))
    ask("compare", "256.npy", "128.npy").ends(1).says("the expected 128 rows were resized to 256 by linear").never(
        "at the same places"
    )


def test_a_sinusoidal_grid_that_was_resized_is_told_of_its_recipe(ask):
    y, x = np.divmod(np.arange(14 * 14.0), 14)
    w = 10000.0 ** (-np.arange(16) / 16)
    table = np.concatenate([part(p[:, None] * w) for p in (x, y) for part in (np.sin, np.cos)], axis=1)
    np.save("grid.npy", resized(table.astype(np.float32), 14, (20, 20), CUBIC))
    text = "a 14 x 14 grid was resized to 20 x 20 by bicubic interpolation"
    ask("compare", "grid.npy", "sincos2d:dim=64,grid=20x20").ends(1).says(text)
    ask("identify", "grid.npy").ends(0).says(f"nearly sincos2d:dim=64,grid=20x20: {text}")


def test_noise_of_another_size_is_not_resized(ask):
    rng = np.random.default_rng(2)
    np.save("a.npy", rng.normal(size=(577, 16)))
    np.save("b.npy", rng.normal(size=(197, 16)))
    ask("compare", "a.npy", "b.npy").ends(1).never("resized")


def test_a_long_table_of_few_values_takes_seconds(ask):
    """A grid of its rows may be any smaller one resized; each try once took the weights of all rows."""
    np.save("codes.npy", (np.arange(4096)[:, None] >> np.arange(16) & 1).astype("f4"))
    start = time.monotonic()
    ask("identify", "codes.npy").says("binary:dim=16,len=4096 (sure")
    assert time.monotonic() - start < 120
    assert WAYS[0].weights(4096, 1 << 20, np.array([0, 7])).shape == (2, 4096)


def test_a_computed_table_that_was_resized_is_told_of_two_files(ask, pecli):
    for side in (14, 24):
        pecli("generate", f"sincos2d:dim=64,grid={side}x{side}", "-o", f"{side}.npy", "-q")
    np.save("mine.npy", resized(np.load("14.npy"), 14, (24, 24), CUBIC))
    said = "different: a 14 x 14 grid was resized to 24 x 24 by bicubic interpolation"
    ask("compare", "mine.npy", "24.npy").says(said, "sincos2d:dim=64,grid=24x24")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("way", "said"),
    [(WAYS[1], "by bilinear interpolation"), (CUBIC, "by bicubic interpolation"), (None, "196 rows were resized")],
)
def test_a_trained_grid_that_was_enlarged_in_another_way_is_told(ask, way, said, dtype):
    trained = np.random.default_rng(3).normal(0, 0.02, (197, 24)).astype(dtype)
    np.save("theirs.npy", resized(trained, 14, (20, 28), BY_TIMM, tokens=1)[None])
    ours = np.concatenate([trained[:1], WAYS[1].weights(196, 560) @ trained[1:]]).astype(dtype)  # along the sequence
    np.save("ours.npy", (resized(trained, 14, (20, 28), way, tokens=1) if way else ours)[None])
    answer = ask("compare", "ours.npy", "theirs.npy").ends(1)
    answer.says(said, "(row 0 was kept), where bicubic interpolation with antialias was expected")


@pytest.mark.parametrize(("old", "new", "tokens"), [(64, 160, 0), (100, 250, 1), (64, 128, 0)])
def test_a_trained_table_that_was_stretched_with_other_corners_is_told(ask, old, new, tokens):
    trained = np.random.default_rng(5).normal(0, 0.02, (old, 24)).astype("f4")
    for way in WAYS[:2]:
        made = np.concatenate([trained[:tokens], (way.weights(old, new) @ trained).astype("f4")])
        np.save(f"{way.aligned}.npy", made)
    told = f"different: the {old} rows were resized to {new} by linear interpolation"
    kept, how = " (row 0 was kept)" * tokens, "where linear interpolation"
    ask("compare", "False.npy", "True.npy").ends(1).says(f"{told}{kept}, {how}, corners aligned was expected")
    ask("compare", "True.npy", "False.npy").ends(1).says(f"{told}, corners aligned{kept}, {how} was expected")


def test_another_grid_of_the_same_size_is_not_resized(ask):
    rng = np.random.default_rng(4)
    trained = rng.normal(0, 0.02, (2, 197, 24)).astype(np.float32)
    np.save("a.npy", resized(trained[0], 14, (20, 20), CUBIC, tokens=1))
    np.save("b.npy", resized(trained[1], 14, (20, 20), CUBIC, tokens=1))
    ask("compare", "a.npy", "b.npy").ends(1).never("resized")


def stretched(lines, old, new):
    """Interpolate lines (old, n) evenly to (new, n), the ends repeated."""
    return np.stack([np.interp((np.arange(new) + 0.5) * old / new - 0.5, np.arange(old), line) for line in lines.T], 1)


def test_a_grid_of_as_many_cells_that_was_not_resized_is_told(ask):
    first, grid = np.random.default_rng(2).normal(size=(1, 24)), np.random.default_rng(3).normal(size=(2, 8, 24))
    tall = stretched(grid.reshape(2, -1), 2, 4).reshape(4, 8, 24).swapaxes(0, 1)
    square = stretched(tall.reshape(8, -1), 8, 4).reshape(4, 4, 24).swapaxes(0, 1)
    for name, cells in (("file", grid), ("resized", square)):
        np.save(f"{name}.npy", np.concatenate([first, cells.reshape(16, 24)]).astype("float32"))
    said = "2 x 8 grid {} resized to 4 x 4 by bilinear interpolation"
    ask("compare", "file.npy", "resized.npy").ends(1).says("different: its " + said.format("was not"))
    ask("compare", "resized.npy", "file.npy").ends(1).says("different: the expected " + said.format("was"))
