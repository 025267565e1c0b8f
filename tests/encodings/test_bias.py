"""Smooth biases against mpmath; rectangles, forms and shards of every bias; FIRE against its plain formula."""

import mpmath as mp
import numpy as np
import pytest

from pecli import CATALOGUE, Recipe, Table
from pecli.errors import BadParameter, BadRecipe, PecliError, UnknownName
from pecli.spec.declaration import Family


def read(recipe, name="bias", **options):
    return Table.parse(recipe, **options).read(name)


def nearest(value, dtype):
    """The correctly rounded value, from a number of 60 digits, by the distance to the neighbours of a guess."""
    guess = np.dtype(dtype).type(float(value))
    around = [np.nextafter(guess, np.dtype(dtype).type(s * np.inf)) for s in (-1, 1)]
    return min((guess, *around), key=lambda x: abs(mp.mpf(float(x)) - value))


def exact_kerple(kind, r1, r2):
    def value(d):
        first, second = mp.mpf(r1), mp.mpf(r2)  # read here: at the precision that the test sets
        return -first * mp.log(1 + second * d) if kind == "log" else -first * mp.power(d, second)

    return value


def exact_sandwich(head, heads, width):
    def value(d):
        total = sum(mp.cos(d * mp.power(10000, mp.mpf(-2 * k) / width)) for k in range(1, width // 2 + 1))
        return (total - width // 2) / (mp.mpf(8 * head) / heads)

    return value


SMOOTH = {
    "kerple:heads=1,r1=1.3,r2=0.37": exact_kerple("log", "1.3", "0.37"),
    "kerple:heads=1,r1=1e-9,r2=1e-7": exact_kerple("log", "1e-9", "1e-7"),
    "kerple:heads=1,kind=power,r1=0.7,r2=1.41": exact_kerple("power", "0.7", "1.41"),
    "kerple:heads=1,kind=power,r1=0.7,r2=2": exact_kerple("power", "0.7", "2"),
    "gaussian:sigma=2.5": lambda d: mp.exp(-(mp.mpf(d) ** 2) / (2 * mp.mpf("2.5") ** 2)),
    "gaussian:sigma=0.3,apply=log": lambda d: -(mp.mpf(d) ** 2) / (2 * mp.mpf("0.3") ** 2),
    "sandwich:heads=1,width=16": exact_sandwich(1, 1, 16),
    "sandwich:heads=1": exact_sandwich(1, 1, 128),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("recipe", SMOOTH)
def test_smooth_biases_are_the_nearest_values_of_their_formula(recipe, dtype):
    distances = [0, 1, 2, 3, 5, 8, 13, 64, 65, 127, 128, 1000, 4097]
    found = Table.parse(recipe, form="distance", dtype=dtype, length=4098).read("bias")[0][4097:]
    with mp.workdps(60):
        for d in distances:
            value = SMOOTH[recipe](d)
            expected = nearest(value, dtype) if abs(value) < np.finfo(dtype).max else np.sign(float(value)) * np.inf
            assert found[d] == expected, (d, found[d], expected)


def test_far_and_fractional_distances_are_as_good():
    with mp.workdps(80):
        for start, step in ((0, "0.1"), (0, 10**12)):
            step_ = mp.mpf(str(step))
            found = read("kerple:heads=1,r1=1,r2=1", length=6, start=start, step=step)[0, 0]
            assert found.tolist() == [nearest(-mp.log(1 + k * step_), "float32") for k in range(6)]
            found = read("sandwich:heads=1,width=8", length=6, start=start, step=step)[0, 0]
            assert found.tolist() == [nearest(exact_sandwich(1, 1, 8)(k * step_), "float32") for k in range(6)]


def test_each_head_of_the_sandwich_is_the_sum_over_its_number():
    found = read("sandwich:heads=4,width=8,dtype=float64", length=30)
    for head in range(4):
        np.testing.assert_allclose(found[head], found[0] / (head + 1), rtol=1e-15, atol=0)
    assert not found[:, range(30), range(30)].any()


def test_the_guides_gaussian_kernel_comes_out():
    np.testing.assert_array_equal(read("gaussian:sigma=1", length=3)[0, 0].round(4), np.float32([1, 0.6065, 0.1353]))


def test_a_gaussian_weight_is_the_exponential_of_its_logarithm():
    weight, logarithm = (
        read(f"gaussian:heads=2,sigma=3+7,apply={a},dtype=float64", length=20) for a in ("multiply", "log")
    )
    np.testing.assert_allclose(weight, np.exp(logarithm), rtol=1e-14)


def test_drawn_kerple_parameters_have_the_papers_ranges_and_floor():
    for kind, most in (("log", (2, 1)), ("power", (1, 2))):
        table = Table.parse(f"kerple:heads=4096,kind={kind},form=parameters,dtype=float64", length=1)
        for name, top in zip(("r1", "r2"), most, strict=True):
            drawn = table.read(name)
            assert drawn.min() == 0.01
            assert 0.99 * top < drawn.max() < top
            assert abs(drawn.mean() - top / 2) < 0.02 * top


def test_given_kerple_parameters_are_the_arrays_of_the_form():
    table = Table.parse("kerple:heads=2,r1=1,r2=0.5+0.25,form=parameters", length=1)
    assert [table.read(n).tolist() for n in ("r1", "r2")] == [[1, 1], [0.5, 0.25]]


# FIRE


def plain_fire(recipe, queries, keys, c=0.1, threshold=512.0):
    """x and the bias by the paper's formula and numpy's own functions."""
    form = Table.parse(recipe, form="parameters", dtype="float64", length=1)
    w1, b1, w2, b2 = (form.read(n) for n in ("weight1", "bias1", "weight2", "bias2"))
    size = np.abs(keys[None, :] - queries[:, None])
    x = np.log(c * size + 1) / (np.log(c * np.maximum(threshold, queries) + 1) + 1e-6)[:, None]
    return x, np.moveaxis(np.maximum(0, x[..., None] * w1 + b1) @ w2.T + b2, -1, 0)


@pytest.mark.parametrize(
    ("options", "queries", "keys"),
    [
        ({"length": 90}, np.arange(90.0), np.arange(90.0)),
        ({"keys": 90, "queries": 1}, np.arange(89.0, 90), np.arange(90.0)),
        ({"keys": 50, "queries": 80, "align": "first"}, np.arange(80.0), np.arange(50.0)),
        ({"length": 60, "start": 30, "step": "0.5"}, 30 + np.arange(60) / 2, 30 + np.arange(60) / 2),
        ({"length": 40, "start": 200, "step": -3}, 200 - 3.0 * np.arange(40), 200 - 3.0 * np.arange(40)),
        ({"positions": "3,0,70.5,9"}, np.array([3, 0, 70.5, 9]), np.array([3, 0, 70.5, 9])),
    ],
    ids=str,
)
def test_fire_is_its_formula(options, queries, keys):
    recipe = "fire:heads=3,threshold=20,seed=4,dtype=float64"
    x, bias = plain_fire(recipe, queries, keys, threshold=20)
    np.testing.assert_allclose(read(recipe, "x", **options), x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(read(recipe, **options), bias, rtol=0, atol=1e-14)


def test_fire_gives_the_same_bytes_in_any_blocks():
    table = Table.parse("fire:heads=2,threshold=37", length=150)
    whole = table.read("bias").reshape(300, 150)
    for rows in (1, 7, 64, 299):
        parts = [table.read_rows(["bias"], s, min(300, s + rows))["bias"] for s in range(0, 300, rows)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_a_trained_fire_brings_its_own_c_and_threshold(tmp_path):
    drawn = Table.parse("fire:heads=2,hidden=8,form=parameters,dtype=float64", length=1)
    w = {n: drawn.read(n) for n in ("weight1", "bias1", "weight2", "bias2")}
    np.savez(
        tmp_path / "f.npz", c=0.25, init_L=40.0, L_multiplier=0.5,
        **{"mlp.0.weight": w["weight1"][:, None], "mlp.0.bias": w["bias1"]},
        **{"mlp.2.weight": w["weight2"], "mlp.2.bias": w["bias2"]},
    )  # fmt: skip
    trained = Table.make(Recipe.bind("fire", weights=str(tmp_path / "f.npz"), hidden=8), length=60)
    given = Table.parse("fire:heads=2,hidden=8,c=0.25,threshold=20", length=60)
    assert trained.read("bias").tobytes() == given.read("bias").tobytes()
    with pytest.raises(BadParameter, match="holds 8 values, and the first layer with hidden=32 needs 32"):
        Table.make(Recipe.bind("fire", weights=str(tmp_path / "f.npz")), length=2)


# every bias

BIASES = [pytest.param(e, id=n) for n, e in CATALOGUE.items() if e.family is Family.BIAS and "grid" not in e.parameters]


def made(encoding, **options):
    return Table.make(Recipe.parse(encoding.example), **options)


@pytest.mark.parametrize("encoding", BIASES)
def test_the_queries_are_the_last_of_the_keys_positions(encoding):
    whole, part = made(encoding, length=9), made(encoding, queries=3, keys=9)
    for array in part.arrays:
        lead = (slice(None),) if array.axes[0] == "head" else ()
        expected = whole.read(array.name)[(*lead, slice(6, 9))]
        assert part.read(array.name).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("encoding", BIASES)
def test_aligned_first_they_are_the_first(encoding):
    whole, part = made(encoding, length=12), made(encoding, queries=12, keys=5, align="first")
    for array in part.arrays:
        expected = whole.read(array.name)[..., :5]
        assert part.read(array.name).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize(("dtype", "one"), [("float32", np.float32), ("float64", np.float64), ("float16", np.float16)])
def test_a_last_key_bias_counts_from_the_last_key_whatever_the_query(dtype, one):
    slopes = [one(0.0625), one(0.00390625)]  # 2^-4 and 2^-8: two heads
    for options, keys, queries in (
        ({"length": 4}, [0, 1, 2, 3], 4),
        ({"length": 4, "start": -7, "step": 3}, [-7, -4, -1, 2], 4),
        ({"queries": 2, "keys": 4}, [0, 1, 2, 3], 2),
        ({"queries": 6, "keys": 4, "align": "first"}, [0, 1, 2, 3], 6),
        ({"positions": "5,0.5,9,2"}, [5, 0.5, 9, 2], 4),
        ({"length": 9, "shard": "2/3"}, list(range(9)), 3),
    ):
        found = read("alibi:heads=2,bias=last-key", dtype=dtype, **options)
        expected = [[[float(slope) * (k - keys[-1]) for k in keys]] * queries for slope in slopes]
        assert found.dtype == one
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("encoding", BIASES)
def test_a_shard_of_queries_is_the_same_rows(encoding):
    whole = made(encoding, queries=7, keys=11)
    shards = [made(encoding, queries=7, keys=11, shard=f"{k}/3") for k in range(3)]
    for array in whole.arrays:
        axis = array.axes.index("query")
        joined = np.concatenate([s.read(array.name) for s in shards], axis=axis)
        assert joined.tobytes() == whole.read(array.name).tobytes()


@pytest.mark.parametrize("encoding", BIASES)
def test_listed_positions_give_what_a_range_gives(encoding):
    for options in ({}, {"queries": 2}):
        by_range, listed = made(encoding, length=8, **options), made(encoding, positions="0,1,2,3,4,5,6,7", **options)
        for array in by_range.arrays:
            assert by_range.read(array.name).tobytes() == listed.read(array.name).tobytes(), array.name


@pytest.mark.parametrize("encoding", [p for p in BIASES if Recipe.parse(p.values[0].example).plan.by == "distance"])
def test_the_distance_form_holds_every_value_once(encoding):
    for options in ({"length": 7}, {"queries": 2, "keys": 7}, {"length": 5, "step": 3, "start": 4}):
        dense, vector = made(encoding, **options), made(encoding, form="distance", **options)
        queries, keys = dense.array("bias").shape[1:]
        values = vector.read("bias")
        assert values.shape[1] == queries + keys - 1
        for i in range(queries):
            offset = queries - 1 - i
            np.testing.assert_array_equal(dense.read("bias")[:, i], values[:, offset : offset + keys])


def test_the_distance_form_knows_its_distances():
    table = Table.parse("alibi:heads=2,form=distance", length=4, step=5)
    assert table.position(0, 7).tolist() == [-15, -10, -5, 0, 5, 10, 15]
    assert Table.parse("alibi:heads=2,form=distance", queries=1, keys=3).position(0, 3).tolist() == [-2, -1, 0]


def test_a_recipe_holds_what_was_asked_for():
    table = Table.parse("alibi:heads=2", queries=3, keys=5)
    assert "queries=3" in table.recipe
    assert "len=5" in table.recipe
    assert Table.parse(table.recipe).read("bias").tobytes() == table.read("bias").tobytes()
    first = Table.parse("t5", queries=3, keys=5, align="first")
    assert "align=first" in first.recipe
    assert Table.parse("t5:queries=3,keys=5,align=first").recipe == first.recipe


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"queries": 6, "keys": 5}, "queries=6 must be at most keys=5"),
        ({"queries": 0, "keys": 5}, "queries=0 must be at least 1"),
        ({"keys": 5, "length": 6}, "keys=5 cannot go with len=6"),
        ({"length": 5, "form": "index"}, "form=index needs buckets"),
        ({"length": 5, "form": "x"}, "form=x is fire's"),
        ({"length": 5, "form": "vector"}, "form=vector is for relative vectors"),
        ({"length": 5, "form": "parameters"}, "form=parameters needs trained values"),
        ({"length": 5, "form": "distance", "shard": "0/2"}, "shard=0/2 is for rows of queries"),
        ({"positions": "0,2,5", "form": "distance"}, "form=distance needs evenly spaced positions"),
    ],
)
def test_what_does_not_fit_the_table_is_said_in_one_sentence(options, says):
    with pytest.raises(BadParameter, match=says):
        Table.parse("alibi:heads=2", **options)


def test_forms_that_need_something_else_are_refused():
    with pytest.raises(BadParameter, match="depends on the distance alone"):
        Table.parse("fire:heads=2", length=3, form="distance")
    with pytest.raises(BadParameter, match="kerple has none"):
        Table.parse("kerple:heads=2", length=3, form="slopes")
    with pytest.raises(BadParameter, match="form=bias needs heads="):
        Table.parse("t5", length=3, form="bias")
    with pytest.raises(UnknownName, match="did you mean 'dense'"):
        Table.parse("alibi:heads=2", length=3, form="dens")
    with pytest.raises(UnknownName, match="align"):
        Table.parse("alibi:heads=2", length=3, align="middle")
    with pytest.raises(BadParameter, match="queries=2 is for biases: sinusoidal is absolute"):
        Table.parse("sinusoidal:dim=4", length=3, queries=2)


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("gaussian:sigma=0", "sigma=0 must be from 1e-30 to"),
        ("gaussian:heads=3,sigma=1+2", r"sigma=\(2 numbers\) must be one number, or one for each of heads=3"),
        ("gaussian:mask=causal", "mask=causal needs a bias, and apply=multiply"),
        ("kerple:heads=2,r1=1", "r1=1 needs r2 beside it"),
        ("kerple:heads=2,kind=power,r1=1,r2=2.5", "r2=2.5 must be at most 2 with kind=power"),
        ("sandwich:heads=2,width=7", "width=7 must be even"),
        ("fire:heads=2,threshold=-1", "threshold=-1 must be from 0 to"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(recipe, says):
    with pytest.raises(PecliError, match=says):
        Recipe.parse(recipe)


def test_fire_has_no_value_before_the_beginning():
    with pytest.raises(BadRecipe, match="position -1 has no value in fire"):
        Table.parse("fire", length=3, start=-1)


def test_large_tables_are_read_row_by_row_without_their_neighbours():
    table = Table.parse("alibi:heads=2", length=200_000)
    row = table.read_rows(["bias"], 399_999, 400_000)["bias"][0]
    assert row[-1] == 0
    assert row[0] == np.float32(-199_999 / 256)


# the command


def test_one_query_of_decoding_is_one_row_on_the_command_line(pecli, tmp_path):
    result = pecli("generate", "alibi", "--heads", 4, "--queries", 1, "--keys", 6, "-o", "b.npy", "--json")
    assert result.returncode == 0, result.stderr
    found = np.load(tmp_path / "b.npy")
    assert found.shape == (4, 1, 6)
    np.testing.assert_array_equal(found[0, 0], -np.arange(5, -1, -1) / np.float32(4))


def test_a_flag_may_have_a_word_of_its_own_for_off(pecli, tmp_path):
    for option, first in (("--causal", 0), ("--bidirectional", 17)):
        assert pecli("generate", "t5", option, "--len", 3, "-o", "i.npy").returncode == 0
        assert np.load(tmp_path / "i.npy")[0, 1] == first


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("alibi --heads 2 --queries 7 --keys 5 -o b.npy", ("--queries 7", "--keys 5", "--align first")),
        ("t5 --buckets 2 --bidirectional --len 4 -o b.npy", ("--buckets 2", "bidirectional")),
        ("t5 --max-distance 4 --len 4 -o b.npy", ("--max-distance 4", "--buckets 32")),
        ("gaussian --sigma 0 --len 4 -o b.npy", ("--sigma 0", "from 1e-30 to")),
        ("gaussian --mask causal --len 4 -o b.npy", ("--mask causal", "--apply multiply")),
        ("conditional --dim 4 -o b.npy", ("--content",)),
        ("window --grid 3 -o b.npy", ("--grid 3", "2 numbers")),
    ],
)
def test_what_does_not_fit_is_one_sentence_and_no_file(refuses, arguments, says):
    refuses("generate", *arguments.split(), says=says)


@pytest.mark.parametrize("base", ["1e4", "2.15661e19"])
def test_a_sandwich_of_small_angles_loses_nothing(base):
    """A sum of cosines, less their number, was off in its last digits where every cosine is almost 1."""
    table = Table.parse(f"sandwich:heads=3,width=2,base={base}", length=9, dtype="float64").read("bias")
    with mp.workdps(80):
        w = 1 / mp.mpf(base)
        expected = [[float((mp.cos(w * d) - 1) * 3 / (8 * (h + 1))) for d in range(9)] for h in range(3)]
    assert table[:, 0].tolist() == expected
