"""Encodings that need content: the gate, the convolution, and the factor for queries."""

import mpmath as mp
import numpy as np
import pytest

from pecli import Recipe, Table, write_table
from pecli.errors import BadFile, BadParameter, BadRecipe, PecliError, UnknownName


@pytest.fixture
def content(tmp_path):
    """12 rows of 5 channels, in a file."""
    rows = np.random.default_rng(8).normal(size=(12, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", rows)
    return str(tmp_path / "x.npy"), rows.astype(np.float64)


def uniform(seed, stream, rows, width, bound):
    """What the drawn layer must hold: one Philox word each, by row and column."""
    words = np.random.Philox(key=np.array([seed, stream], np.uint64)).random_raw(rows * width)
    return (2 * ((words >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52 - 1).reshape(rows, width) * bound


# the gate


def test_the_gate_is_a_sigmoid_of_the_content(content):
    path, x = content
    table = Table.make(Recipe.bind("conditional", content=path, dim=8, seed=3), dtype="float64")
    weight, bias = uniform(3, 0, 1, 5, 5**-0.5), uniform(3, 1, 1, 1, 5**-0.5)[:, 0]
    gate = 1 / (1 + np.exp(-(x @ weight.T + bias)))
    position = Table.parse("sinusoidal:dim=8,dtype=float64", length=12).read("pe")
    np.testing.assert_allclose(table.read("pe"), gate * position, rtol=1e-14, atol=1e-16)


def test_a_vector_gate_has_a_number_for_each_column(content):
    path, x = content
    recipe = Recipe.bind("conditional", content=path, dim=6, gate="vector", position="learned:max-len=12,std=1")
    weight, bias = uniform(0, 0, 6, 5, 5**-0.5), uniform(0, 1, 6, 1, 5**-0.5)[:, 0]
    position = Table.parse("learned:dim=6,max-len=12,std=1,dtype=float64", length=12).read("pe")
    expected = position / (1 + np.exp(-(x @ weight.T + bias)))
    np.testing.assert_allclose(Table.make(recipe, dtype="float64").read("pe"), expected, rtol=1e-13)


def test_weights_of_the_gate_come_from_a_file(content, tmp_path):
    path, x = content
    rng = np.random.default_rng(1)
    weight, bias = rng.normal(size=5), rng.normal(size=1)
    np.savez(tmp_path / "w.npz", **{"gate.weight": weight, "gate.bias": bias})
    recipe = Recipe.bind("conditional", content=path, dim=2, weights=str(tmp_path / "w.npz"))
    position = Table.parse("sinusoidal:dim=2,dtype=float64", length=12).read("pe")
    expected = position / (1 + np.exp(-(x @ weight + bias)))[:, None]
    np.testing.assert_allclose(Table.make(recipe, dtype="float64").read("pe"), expected, rtol=1e-13, atol=1e-16)
    np.save(tmp_path / "short.npy", weight[:4])
    with pytest.raises(BadParameter, match="holds 1 x 4 values, and a gate of content with 5 channels needs 1 x 5"):
        Table.make(Recipe.bind("conditional", content=path, dim=2, weights=str(tmp_path / "short.npy")))


def test_positions_and_shards_take_their_rows(content):
    path, _ = content
    recipe = Recipe.bind("conditional", content=path, dim=4)
    whole = Table.make(recipe).read("pe")
    parts = [Table.make(recipe, shard=f"{k}/5").read("pe") for k in range(5)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    far = Table.make(recipe, start=100, length=12, dtype="float64").read("pe")
    near = Table.parse("sinusoidal:dim=4,dtype=float64", start=100, length=12).read("pe")
    assert np.ptp((far / near)[:, 0] - (far / near)[:, 1]) < 1e-12


def test_content_may_be_a_recipe():
    table = Table.parse('conditional:dim=4,content="learned:dim=3,max-len=9,seed=2"', length=9)
    assert table.read("pe").shape == (9, 4)
    fixed = Table.parse('cpe:content="learned:dim=3,max-len=9,len=7"')
    assert fixed.read("pe").shape == (7, 3)
    assert Table.parse(fixed.recipe).read("pe").tobytes() == fixed.read("pe").tobytes()


def test_content_comes_from_any_file(content, tmp_path):
    path, x = content
    expected = Table.make(Recipe.bind("cpe", content=path)).read("pe")
    np.savetxt(tmp_path / "x.txt", x, fmt="%.17g")
    np.savez(tmp_path / "x.npz", hidden=x, other=np.ones(3))
    write_table(Table.make(Recipe.bind("cpe", content=path, kernel=1, residual=False)), tmp_path / "not_x.h5")
    for source in (tmp_path / "x.txt", f"{tmp_path / 'x.npz'}::hidden"):
        assert Table.make(Recipe.bind("cpe", content=str(source))).read("pe").tobytes() == expected.tobytes()
    chained = Table.make(Recipe.bind("cpe", content=f"{tmp_path / 'not_x.h5'}::pe"))
    assert chained.read("pe").shape == (12, 5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "content"),
        ({"content": "x.npy", "position": "rope"}, "position=rope must be an absolute encoding: rope is rotary"),
        ({"content": "x.npy", "position": "sinusoidal:dim=8"}, "has dim=8, and dim=4"),
        ({"content": "x.npy", "channels": 3}, "has 5 channels, and channels=3"),
        ({"content": "none.npy"}, "none.npy: does not exist"),
        ({"content": "sinusoidl:dim=4"}, "sinusoidl:dim=4: does not exist"),
    ],
)
def test_a_gate_without_what_it_needs_is_refused(content, given, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((BadRecipe, BadParameter, BadFile, UnknownName), match=says):
        Table.make(Recipe.bind("conditional", dim=4, **given))


def test_content_of_another_length_or_shape_is_refused(content, tmp_path):
    path, _ = content
    with pytest.raises(BadParameter, match="len=10 must be 12"):
        Table.make(Recipe.bind("conditional", dim=4, content=path), length=10)
    with pytest.raises(BadParameter, match=r"content=.*has 12 rows, and the table 3"):
        Table.make(Recipe.bind("conditional", dim=4, content=path), positions="0,1,2")
    np.save(tmp_path / "flat.npy", np.zeros(7))
    with pytest.raises(BadParameter, match="holds 7 values: it must have a row for each position"):
        Table.make(Recipe.bind("cpe", content=str(tmp_path / "flat.npy")))
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    with pytest.raises(BadFile, match="not a known number type"):
        Table.make(Recipe.bind("cpe", content=str(tmp_path / "words.npy")))


# the convolution


def by_definition(x, kernels, bias):
    """x + depth-wise convolution by its sum; x (h, w, c), kernels (c, k, k)."""
    h, w, c = x.shape
    k = kernels.shape[1]
    out = x.copy()
    for y in range(h):
        for z in range(w):
            for channel in range(c):
                total = bias[channel]
                for dy in range(k):
                    for dx in range(k):
                        yy, zz = y + dy - k // 2, z + dx - k // 2
                        if 0 <= yy < h and 0 <= zz < w:
                            total += kernels[channel, dy, dx] * x[yy, zz, channel]
                out[y, z, channel] += total
    return out


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("cls", [0, 2])
def test_the_convolution_of_a_grid_is_its_definition(content, tmp_path, kernel, cls):
    path, x = content
    grid = (3, 4) if cls == 0 else (2, 5)
    rng = np.random.default_rng(kernel)
    kernels, bias = rng.normal(size=(5, kernel, kernel)), rng.normal(size=5)
    np.savez(tmp_path / "k.npz", **{"proj.0.weight": kernels[:, None], "proj.0.bias": bias})
    recipe = Recipe.bind(
        "cpe", content=path, kernel=kernel, grid=f"{grid[0]}x{grid[1]}", cls=cls, weights=str(tmp_path / "k.npz")
    )
    found = Table.make(recipe, dtype="float64").read("pe")
    np.testing.assert_array_equal(found[:cls], x[:cls])
    expected = by_definition(x[cls:].reshape(*grid, 5), kernels, bias).reshape(-1, 5)
    np.testing.assert_allclose(found[cls:], expected, rtol=1e-13, atol=1e-14)


def test_the_convolution_of_a_line_is_its_definition(content, tmp_path):
    path, x = content
    np.save(tmp_path / "k.npy", np.tile([1.0, 10.0, 100.0], (5, 1)))
    recipe = Recipe.bind("cpe", content=path, weights=str(tmp_path / "k.npy"), residual=False)
    padded = np.pad(x, ((1, 1), (0, 0)))
    expected = padded[:-2] + 10 * padded[1:-1] + 100 * padded[2:]
    np.testing.assert_allclose(Table.make(recipe, dtype="float64").read("pe"), expected, rtol=1e-13)


def test_any_rows_of_the_convolution_are_those_of_the_whole(content):
    path, _ = content
    for grid in ("3x4", None):
        table = Table.make(Recipe.bind("cpe", content=path, grid=grid, kernel=3))
        whole = table.read("pe")
        for start in range(12):
            for stop in (start + 1, min(12, start + 5)):
                assert table.read_rows(["pe"], start, stop)["pe"].tobytes() == whole[start:stop].tobytes()
        assert (
            Table.make(Recipe.bind("cpe", content=path, grid=grid), shard="1/3").read("pe").tobytes()
            == whole[4:8].tobytes()
        )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kernel": 4}, "kernel=4 must be odd"),
        ({"grid": "3x5"}, "has 12 rows, and the grid 3x5 with cls=0 takes 15"),
        ({"grid": "3x4", "cls": 1}, "has 12 rows, and the grid 3x4 with cls=1 takes 13"),
        ({"cls": 12}, "cls=12 must be below the 12 rows"),
        ({"grid": "12"}, "grid=12 must be 2 numbers"),
    ],
)
def test_a_convolution_that_does_not_fit_is_refused(content, given, says):
    with pytest.raises(PecliError, match=says):
        Table.make(Recipe.bind("cpe", content=content[0], **given))


# the factor for queries


def factor(recipe, positions, dtype="float64"):
    return Table.parse(recipe, positions=",".join(map(str, positions)), dtype=dtype).read("pe")[:, 0].tolist()


def test_the_factors_are_their_formulas_rounded_once():
    positions = [0, 1, 8190, 8191, 8192, 16382, 16383, 16384, 131071, 2**40]
    with mp.workdps(50):
        tenth = mp.mpf("0.1")
        llama = [float(1 + tenth * mp.log(1 + (p + 1) // 8192)) for p in positions]
        assert factor("query-scale", positions) == llama
        ministral = [float(1 + tenth * mp.log(1 + p // 16384)) for p in positions]
        assert factor("query-scale:kind=ministral,length=16384", positions) == ministral
        logn = [float(max(mp.mpf(1), mp.log(p + 1) / mp.log(2048))) for p in positions]
        assert factor("query-scale:kind=log-n,length=2048", positions) == logn
        assert factor("query-scale", positions, "float32") == [float(np.float32(v)) for v in llama]


def test_a_factor_has_no_fractions_and_no_past():
    with pytest.raises(BadRecipe, match="position -1 has no value in query-scale"):
        Table.parse("query-scale", start=-1, length=2)
    with pytest.raises(BadParameter, match="must be whole numbers"):
        Table.parse("query-scale", length=2, step="0.5")
    with pytest.raises(BadParameter, match=r"beta=0\.2 has no effect with kind=log-n"):
        Recipe.parse("query-scale:kind=log-n,beta=0.2")
