"""Windows: BEiT's and Swin's indices, trained tables, Swin v2's coordinates and network, parts of a window."""

import mpmath as mp
import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import BadParameter, BadRecipe
from tests.support.golden_cases import cases, values

GOLDEN = values("relations")


def entries(height, width):
    """The entry of every pair by its definition."""
    y, x = np.divmod(np.arange(height * width), width)
    down, right = y[:, None] - y, x[:, None] - x
    return (down + height - 1) * (2 * width - 1) + right + width - 1


@pytest.mark.parametrize("grid", cases("relations")["beit__relative_position_index"]["windows"])
def test_beits_index_is_its_frameworks(grid):
    found = Table.parse(f"window:grid={grid},convention=beit").read("index")
    np.testing.assert_array_equal(found, GOLDEN[f"beit__relative_position_index/{grid}"])


@pytest.mark.parametrize("grid", [(1, 1), (1, 5), (5, 1), (2, 3), (7, 7), (3, 8)])
def test_the_index_is_its_definition(grid):
    found = Table.parse(f"window:grid={grid[0]}x{grid[1]}").read("index")
    np.testing.assert_array_equal(found, entries(*grid))


@pytest.mark.parametrize("cls", ["true", "false"])
def test_the_bias_is_the_tables_entry(cls):
    recipe = f"window:grid=4x5,heads=3,cls={cls}"
    table = Table.parse(recipe)
    weight = Table.parse(recipe, form="parameters").read("weight")
    assert weight.shape == (7 * 9 + (3 if cls == "true" else 0), 3)
    np.testing.assert_array_equal(table.read("bias"), weight.T[:, table.read("index")])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_any_type_is_gathered_alike(dtype):
    table = Table.parse("window:grid=3x4,heads=2", dtype=dtype)
    weight = Table.parse("window:grid=3x4,heads=2,form=parameters", dtype=dtype).read("weight")
    np.testing.assert_array_equal(table.read("bias"), weight.T[:, table.read("index")])


def test_drawn_values_are_cut_at_two_deviations():
    weight = Table.parse("window:grid=12x12,heads=32,form=parameters,dtype=float64").read("weight")
    assert 0.0399 < np.abs(weight).max() < 0.04
    assert abs(weight.std() / 0.02 - 0.8796) < 0.01  # of a normal distribution within two deviations


def test_a_trained_table_comes_under_the_models_name(tmp_path):
    trained = np.random.default_rng(1).normal(size=(25, 2))
    np.savez(tmp_path / "s.npz", **{"layers.0.attn.relative_position_bias_table": trained, "norm.weight": np.ones(3)})
    table = Table.make(Recipe.bind("window", grid="3x3", weights=str(tmp_path / "s.npz")), dtype="float64")
    np.testing.assert_array_equal(table.read("bias"), trained.T[:, entries(3, 3)])
    with pytest.raises(BadParameter, match="holds 25 x 2 values, and a window with 35 entries needs 35 x any"):
        Table.make(Recipe.bind("window", grid="3x4", weights=str(tmp_path / "s.npz")))


def test_a_part_of_the_window_is_a_part_of_its_matrix():
    whole = Table.parse("window:grid=3x4,heads=2,cls=true")
    index, bias = whole.read("index"), whole.read("bias")
    for options, rows, columns in (
        ({"start": 2, "length": 5}, slice(2, 7), slice(2, 7)),
        ({"queries": 1}, slice(12, 13), slice(0, 13)),
        ({"shard": "1/2"}, slice(6, 13), slice(0, 13)),
        ({"positions": "12,0,5"}, [12, 0, 5], [12, 0, 5]),
    ):
        part = Table.parse("window:grid=3x4,heads=2,cls=true", **options)
        np.testing.assert_array_equal(part.read("index"), index[rows][:, columns])
        np.testing.assert_array_equal(part.read("bias"), bias[:, rows][:, :, columns])


# Swin v2


def test_coordinates_are_logarithms_rounded_once():
    found = Table.parse("window:grid=4x3,version=2", dtype="float64").read("coordinates").reshape(7, 5, 2)
    assert found.shape == (7, 5, 2)
    with mp.workdps(50):
        for y in range(-3, 4):
            for x in range(-2, 3):
                for axis, (offset, side) in enumerate(((y, 4), (x, 3))):
                    value = mp.sign(offset) * mp.log(1 + mp.mpf(8 * abs(offset)) / (side - 1)) / mp.log(8)
                    assert found[y + 3, x + 2, axis] == float(value)


def test_a_trained_window_of_another_size_scales_them():
    found = Table.parse("window:grid=4x4,version=2,pretrained=8x8", dtype="float64").read("coordinates")
    with mp.workdps(40):
        assert found[0, 0] == -float(mp.log(1 + mp.mpf(24) / 7) / mp.log(8))


def test_swin_v2_is_sixteen_sigmoids_of_its_network():
    recipe = "window:grid=4x3,version=2,heads=3,std=0.5,dtype=float64"
    table = Table.parse(recipe)
    form = Table.parse(recipe, form="parameters")
    w1, b1, w2 = (form.read(n) for n in ("weight1", "bias1", "weight2"))
    assert (w1.shape, b1.shape, w2.shape) == ((512, 2), (512,), (3, 512))
    hidden = np.maximum(0, table.read("coordinates") @ w1.T + b1) @ w2.T
    expected = 16 / (1 + np.exp(-hidden))
    np.testing.assert_allclose(table.read("bias"), expected.T[:, entries(4, 3)], rtol=1e-12)


def test_a_trained_network_is_read(tmp_path):
    rng = np.random.default_rng(2)
    w1, b1, w2 = rng.normal(size=(16, 2)), rng.normal(size=16), rng.normal(size=(2, 16))
    names = ("0.weight", "0.bias", "2.weight")
    np.savez(tmp_path / "n.npz", **{f"attn.cpb_mlp.{n}": v for n, v in zip(names, (w1, b1, w2), strict=True)})
    recipe = Recipe.bind("window", grid="3x3", version=2, hidden=16, weights=str(tmp_path / "n.npz"))
    table = Table.make(recipe, dtype="float64")
    expected = 16 / (1 + np.exp(-np.maximum(0, table.read("coordinates") @ w1.T + b1) @ w2.T))
    np.testing.assert_allclose(table.read("bias"), expected.T[:, entries(3, 3)], rtol=1e-12)
    with pytest.raises(BadParameter, match="holds 16 x 2 values, and the network with hidden=512 needs 512 x 2"):
        Table.make(Recipe.bind("window", grid="3x3", version=2, weights=str(tmp_path / "n.npz")))


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("window:grid=1x3,version=2", "grid=1x3 must be at least 2x2 for version=2"),
        ("window:grid=3x3,version=2,cls=true", "cls=true has no effect with version=2"),
        ("window:grid=3x3,pretrained=7x7", "pretrained=7x7 has no effect with version=1"),
        ("window:grid=7", "grid=7 must be 2 numbers joined with 'x'"),
        ("window:grid=2x3x4", "grid=2x3x4 must be 2 numbers joined with 'x'"),
    ],
)
def test_what_does_not_fit_is_said(recipe, says):
    with pytest.raises(BadParameter, match=says):
        Recipe.parse(recipe)


def test_a_window_has_its_own_number_of_tokens():
    with pytest.raises(BadParameter, match="len=5 must be 9"):
        Table.parse("window:grid=3x3", length=5)
    with pytest.raises(BadRecipe, match="position 9 has no value in window: a window of 3x3 has 9 tokens"):
        Table.parse("window:grid=3x3", start=5, length=5)
    with pytest.raises(BadParameter, match="depends on the distance alone"):
        Table.parse("window:grid=3x3,heads=1", form="distance")


@pytest.mark.parametrize("cls", ["true", "false"])
def test_any_rows_are_those_of_the_whole(cls):
    table = Table.parse(f"window:grid=3x5,heads=2,cls={cls}")
    for name in ("index", "bias"):
        whole = table.read_rows([name], 0, table.array(name).rows)[name]
        for start in range(len(whole)):
            for stop in range(start + 1, len(whole) + 1):
                assert table.read_rows([name], start, stop)[name].tobytes() == whole[start:stop].tobytes()
