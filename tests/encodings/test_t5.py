"""T5's buckets: the frameworks' cases, exact boundaries, and the bias from a file or a seed."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from pecli import Recipe, Table, write_table
from pecli.encodings.shared.biases import LogBuckets
from pecli.errors import BadFile, BadParameter
from tests.support.golden_cases import cases, values

GOLDEN = values("relations")
CASES = [name for name in cases("relations") if name.startswith(("t5_buckets", "mpnet"))]


def buckets_at(distances, **parameters):
    """The bucket of each distance, from the plan of the encoding."""
    from pecli.numbers.double_double import Points

    return Recipe.bind("t5", **parameters).plan.index(Points(np.asarray(distances, np.int64)))


def wanted(name, side, arithmetic):
    """The framework's buckets; exact ones where its float32 gives another."""
    entry = cases("relations")[name]
    found = GOLDEN[f"{name}/{side}"].astype(np.int64)
    if arithmetic == "exact":
        distances = GOLDEN[f"{name}/distances"].tolist()
        for distance, rounded, exact in entry.get(f"{side}_float32", []):
            assert found[distances.index(distance)] == rounded
            found[distances.index(distance)] = exact
    return found


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
@pytest.mark.parametrize("side", ["bidirectional", "unidirectional", "buckets"])
@pytest.mark.parametrize("name", CASES)
def test_buckets_are_the_frameworks(name, side, arithmetic):
    if f"{name}/{side}" not in GOLDEN:
        pytest.skip("the case has the other sides")
    entry = cases("relations")[name]
    found = buckets_at(
        GOLDEN[f"{name}/distances"], buckets=entry["buckets"], max_distance=entry["max_distance"],
        bidirectional=side != "unidirectional", arithmetic=arithmetic,
    )  # fmt: skip
    np.testing.assert_array_equal(found, wanted(name, side, arithmetic))


def by_definition(size, exact, end, count):
    """floor(count ln(size/exact) / ln(end/exact)) with 60 digits, whole where the powers are equal."""
    with localcontext() as context:
        context.prec = 60
        steps = count * (Decimal(size) / exact).ln() / (Decimal(end) / exact).ln()
    near = int(steps.to_integral_value())
    if abs(steps - near) < Decimal("1e-40"):
        assert Fraction(size, exact) ** count == Fraction(end, exact) ** near
        return near
    return int(steps)


@pytest.mark.parametrize(
    ("buckets", "end"), [(32, 128), (32, 1000), (6, 12), (4, 100), (36, 72), (40, 81), (128, 4096), (33, 17), (5, 3)]
)
def test_boundaries_are_exact(buckets, end):
    exact, count = buckets // 2, buckets - buckets // 2
    found = LogBuckets(exact, end, count, buckets - 1).of(np.arange(3 * end))
    for size in range(3 * end):
        steps = by_definition(size, exact, end, count) if size >= exact else 0
        assert found[size] == (size if size < exact else min(buckets - 1, exact + steps)), size


def test_sizes_that_reach_a_power_exactly_begin_a_bucket():
    # 36 buckets, both sides: e = 9, n = 9, max/e = 8 = 2^3: bucket 9 + 3 begins at 18, 9 + 6 at 36, both whole powers
    found = buckets_at([-17, -18, -35, -36, -71, -72], buckets=36, max_distance=72)
    assert found.tolist() == [11, 12, 14, 15, 17, 17]


def test_float32_decides_boundaries_as_single_precision_does():
    # every step in numpy's float32, with a logarithm rounded from 50 digits
    single = np.float32
    for buckets, end in ((36, 72), (60, 120), (48, 3072), (32, 128)):
        exact, count = buckets // 4, buckets // 2 - buckets // 4
        sizes = np.arange(exact, 2 * end)
        with localcontext() as context:
            context.prec = 50
            logs = np.array([single(Decimal(float(single(s) / single(exact))).ln()) for s in sizes.tolist()], single)
            whole = single((Decimal(end) / exact).ln())
        steps = np.trunc(logs / whole * single(count)).astype(int)
        expected = np.minimum(exact + steps, exact + count - 1)
        found = buckets_at(-sizes, buckets=buckets, max_distance=end, arithmetic="float32")
        np.testing.assert_array_equal(found, expected)


def test_the_largest_distances_and_many_buckets_have_their_bucket_at_once():
    far = 1 << 52
    assert buckets_at([-far, far, -(far - 1)], buckets=65536, max_distance=far).tolist() == [32767, 65535, 32767]


def test_the_table_holds_the_bucket_of_key_minus_query():
    index = Table.parse("t5:buckets=8,max-distance=16", length=6).read("index")
    assert index.dtype == np.int64
    assert index.tolist() == [
        [0, 5, 6, 6, 6, 6],
        [1, 0, 5, 6, 6, 6],
        [2, 1, 0, 5, 6, 6],
        [2, 2, 1, 0, 5, 6],
        [2, 2, 2, 1, 0, 5],
        [2, 2, 2, 2, 1, 0],
    ]  # fmt: skip
    assert Table.parse("t5:buckets=8,max-distance=16,bidirectional=false", length=3).read("index").tolist() == [
        [0, 0, 0], [1, 0, 0], [2, 1, 0],
    ]  # fmt: skip


@pytest.fixture
def weights():
    return np.random.default_rng(3).normal(size=(32, 4)).astype(np.float32)


def test_the_bias_is_the_weight_of_the_bucket(weights, tmp_path):
    path = tmp_path / "w.npy"
    np.save(path, weights)
    table = Table.make(Recipe.bind("t5", weights=str(path)), length=40)
    assert [a.name for a in table.arrays] == ["bias", "index"]
    np.testing.assert_array_equal(table.read("bias"), weights.T[:, table.read("index")])
    np.testing.assert_array_equal(
        Table.make(Recipe.bind("t5", weights=str(path)), length=1, form="parameters").read("weight"), weights
    )
    doubled = Table.make(Recipe.bind("t5", weights=str(path), scale=8), length=40, form="bias")
    np.testing.assert_array_equal(doubled.read("bias"), 8 * table.read("bias"))


def test_weights_come_from_any_file_under_the_models_name(weights, tmp_path):
    from safetensors.numpy import save_file

    name = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    save_file({name: weights, "other": np.zeros(3, np.float32)}, tmp_path / "w.safetensors")
    np.savez(tmp_path / "w.npz", **{name: weights, "shared.weight": np.zeros((5, 4))})
    np.savetxt(tmp_path / "w.txt", weights, fmt="%.9g")
    np.save(tmp_path / "w.npy", weights)
    tables = [
        Table.make(Recipe.bind("t5", weights=str(tmp_path / file)), length=9).read("bias")
        for file in ("w.npy", "w.txt", "w.npz", "w.safetensors", f"w.npz::{name}")
    ]
    for table in tables[1:]:
        np.testing.assert_array_equal(table, tables[0])


def test_drawn_weights_are_one_word_each_and_have_the_deviation():
    drawn = Table.parse("t5:heads=64,buckets=512,max-distance=9999,form=parameters,dtype=float64", length=1).read(
        "weight"
    )
    assert drawn.shape == (512, 64)
    assert abs(drawn.std() / 0.02 - 1) < 0.02
    assert abs(drawn.mean()) < 0.0005
    fewer = Table.parse("t5:heads=64,buckets=256,max-distance=9999,form=parameters,dtype=float64", length=1).read(
        "weight"
    )
    np.testing.assert_array_equal(fewer, drawn[:256])


def test_a_decoders_mask_hides_later_keys():
    bias = Table.parse("t5:heads=2,bidirectional=false,mask=causal", length=5).read("bias")
    assert (bias[:, np.triu(np.ones((5, 5), bool), 1)] == -np.inf).all()
    assert np.isfinite(bias[:, np.tril(np.ones((5, 5), bool))]).all()


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("t5:buckets=2", "buckets=2 must be at least 4 when bidirectional"),
        ("t5:buckets=1,bidirectional=false", "buckets=1 must be at least 2 when causal"),
        ("t5:buckets=32,max-distance=8", "max-distance=8 must be above 8.*buckets=32"),
        ("t5:buckets=32,max-distance=15,bidirectional=false", "max-distance=15 must be above 16.*buckets=32"),
        ("t5:mask=causal", "mask=causal hides the keys for which bidirectional=true"),
    ],
)
def test_what_does_not_fit_is_said_with_both_values(recipe, says):
    with pytest.raises(BadParameter, match=says):
        Recipe.parse(recipe)


def test_weights_of_another_shape_are_refused_before_anything_is_written(weights, tmp_path):
    path = tmp_path / "w.npy"
    np.save(path, weights)
    for given, says in (
        ({"heads": 5}, "holds 32 x 4 values, and a bias with buckets=32 and heads=5 needs 32 x 5"),
        ({"buckets": 16}, "holds 32 x 4 values, and a bias with buckets=16 needs 16 x any"),
    ):
        with pytest.raises(BadParameter, match=says):
            Table.make(Recipe.bind("t5", weights=str(path), **given), length=4)
    np.save(path, np.where(weights > 3, np.nan, np.inf))
    with pytest.raises(BadFile, match="not finite"):
        Table.make(Recipe.bind("t5", weights=str(path)), length=4)
    with pytest.raises(BadFile, match="does not exist"):
        Table.make(Recipe.bind("t5", weights=str(tmp_path / "none.npy")), length=4)


def test_fractional_positions_have_no_bucket():
    with pytest.raises(BadParameter, match="must be whole numbers for t5"):
        Table.parse("t5", length=4, step="0.5")


def test_one_array_goes_to_npy(tmp_path):
    write_table(Table.parse("t5:heads=2,form=bias", length=5), tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").shape == (2, 5, 5)
    write_table(Table.parse("t5", length=5), tmp_path / "i.npy")
    assert np.load(tmp_path / "i.npy").dtype == np.int64
    with pytest.raises(BadParameter, match="use npz or hdf5"):
        write_table(Table.parse("t5:heads=2", length=5), tmp_path / "both.npy")
