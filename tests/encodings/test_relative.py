"""Relative vectors: the frameworks' rows and indices, drawn and trained tables, resized axes."""

import json

import numpy as np
import pytest

from pecli import CATALOGUE, Recipe, Table
from pecli.encodings.relative.decomposed import axis_index
from pecli.errors import BadParameter, BadRecipe, PecliError
from pecli.spec.declaration import Family
from tests.conftest import DATA
from tests.support.golden_cases import allowed, cases, values

GOLDEN = values("relations")


def read(recipe, name="index", **options):
    return Table.parse(recipe, **options).read(name)


# Shaw


def test_shaws_index_is_the_clipped_distance():
    assert read("shaw:dim=2,clip=2", length=5).tolist() == [
        [2, 3, 4, 4, 4],
        [1, 2, 3, 4, 4],
        [0, 1, 2, 3, 4],
        [0, 0, 1, 2, 3],
        [0, 0, 0, 1, 2],
    ]


def test_far_distances_may_have_zeros_instead_of_the_clips_vector():
    table = Table.parse("shaw:dim=2,clip=2,right=1,far=zero", length=5)
    assert table.read("index")[2].tolist() == [0, 1, 2, 3, 4]
    assert table.read("index")[0].tolist() == [2, 3, 4, 4, 4]
    np.testing.assert_array_equal(table.read("vector")[:4], read("shaw:dim=2,clip=2,right=1", "vector", length=5))
    assert table.read("vector")[4].tolist() == [0, 0]


def test_an_asymmetric_clip_is_that_of_wav2vec2_bert():
    table = Table.parse("shaw:dim=4,clip=64,right=8", length=100)
    assert table.array("vector").shape == (73, 4)
    index = table.read("index")
    distance = np.arange(100)[None, :] - np.arange(100)[:, None]
    np.testing.assert_array_equal(index, np.clip(distance, -64, 8) + 64)


def test_drawn_vectors_fill_glorots_interval_and_start_alike_for_fewer_rows():
    vector = read("shaw:dim=64,clip=500,dtype=float64", "vector", length=1)
    bound = np.sqrt(6 / (1001 + 64))
    assert 0.999 * bound < np.abs(vector).max() < bound
    assert abs(vector.mean()) < 0.01 * bound
    normal = read("shaw:dim=64,clip=500,init=normal,std=0.5,dtype=float64", "vector", length=1)
    assert abs(normal.std() / 0.5 - 1) < 0.01
    np.testing.assert_array_equal(
        read("shaw:dim=64,clip=5,init=normal,std=0.5,dtype=float64", "vector", length=1), normal[:11]
    )
    cut = read("shaw:dim=64,clip=500,init=truncated-normal,std=1,dtype=float64", "vector", length=1)
    assert 1.99 < np.abs(cut).max() < 2
    assert not read("shaw:dim=3,clip=2,init=zeros", "vector", length=1).any()


def test_trained_vectors_come_from_a_file(tmp_path):
    rows = np.arange(15, dtype=np.float32).reshape(5, 3)
    np.save(tmp_path / "v.npy", rows)
    recipe = Recipe.bind("shaw", dim=3, clip=2, weights=str(tmp_path / "v.npy"))
    np.testing.assert_array_equal(Table.make(recipe, length=2).read("vector"), rows)
    with pytest.raises(BadParameter, match="holds 5 x 3 values, and vector of 7 rows and dim=3 needs 7 x 3"):
        Table.make(Recipe.bind("shaw", dim=3, clip=3, weights=str(tmp_path / "v.npy")), length=2)


# Transformer-XL and its kin


def sinusoid_bound(distances, dim):
    """How far float32 arithmetic may be from the real values, columns as [sin, cos]."""
    w = 10000.0 ** (-2 * np.arange(dim // 2) / dim)
    return allowed(distances, np.concatenate((w, w)))


@pytest.mark.parametrize("number", range(len(cases("relations")["relpos__xlnet"]["cases"])))
def test_xlnets_rows_are_its_frameworks(number):
    case = cases("relations")["relpos__xlnet"]["cases"][number]
    convention = "xlnet" if case["attn_type"] == "bi" else "xlnet-uni"
    clamp = case["clamp_len"] if case["clamp_len"] > 0 else "none"
    recipe = f"transformer-xl:dim={case['d_model']},convention={convention},clamp={clamp}"
    for half, expected in enumerate(GOLDEN[f"relpos__xlnet/{number}"]):
        found = read(
            f"{recipe},backward={'true' if half else 'false'}", "vector", queries=case["qlen"], keys=case["klen"]
        )
        assert found.shape == expected.shape
        bound = sinusoid_bound(case["klen"] - np.arange(len(expected)), case["d_model"])
        assert (np.abs(found - expected) <= bound).all()


def test_a_conformers_rows_are_its_frameworks():
    entry = cases("relations")["relpos__wav2vec2_conformer_5x16"]
    found = read("transformer-xl:dim=16,convention=conformer", "vector", length=entry["seq_len"])
    expected = GOLDEN["relpos__wav2vec2_conformer_5x16"]
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 4 * 5 * 2.0**-23


def test_rows_fall_from_the_farthest_distance_to_zero():
    table = Table.parse("transformer-xl:dim=8,dtype=float64", length=6)
    sinusoid = Table.parse("sinusoidal:dim=8,order=sin-cos,dtype=float64", length=6).read("pe")
    np.testing.assert_array_equal(table.read("vector"), sinusoid[::-1])
    i, j = np.tril_indices(6)
    np.testing.assert_array_equal(table.read("vector")[table.read("index")[i, j]], sinusoid[i - j])


@pytest.mark.parametrize("span", ["past", "both", "xlnet", "xlnet-uni", "local"])
@pytest.mark.parametrize("options", [{"length": 7}, {"queries": 3, "keys": 7}, {"length": 5, "step": 4, "start": 100}])
def test_a_query_takes_the_row_of_its_distance_where_there_is_one(span, options):
    recipe = f"transformer-xl:dim=2,span={span}" + (",local=4+2" if span == "local" else "")
    table = Table.parse(recipe, dtype="float64", **options)
    vector, index = table.read("vector"), table.read("index")
    step, queries, keys = options.get("step", 1), *index.shape
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)[None, :]
    reach = {
        "past": (keys - 1, 0),
        "both": (keys - 1, 1 - keys),
        "xlnet": (keys, 1 - queries),
        "xlnet-uni": (keys, 0),
        "local": (4, -2),
    }
    first, last = reach[span]
    assert len(vector) == first - last + 1
    there = (distance <= first) & (distance >= last)
    np.testing.assert_allclose(vector[index[there], 0], np.sin(distance[there] * step), atol=1e-13)
    assert ((index >= 0) & (index < len(vector))).all()


def test_a_clamp_cuts_the_distances_and_keeps_the_rows():
    free, cut = (read(f"transformer-xl:dim=4,span=both,dtype=float64{c}", "vector", length=8) for c in ("", ",clamp=3"))
    np.testing.assert_array_equal(cut[4:11], free[4:11])
    assert (cut[:4] == free[4]).all()
    assert (cut[11:] == free[10]).all()


def test_u_and_v_are_two_draws_one_row_a_head():
    table = Table.parse("transformer-xl:dim=512,heads=8,std=0.02,dtype=float64", length=4)
    u, v = table.read("u"), table.read("v")
    assert u.shape == v.shape == (8, 64)
    assert 0.018 < u.std() < 0.022
    assert not np.array_equal(u, v)
    assert Table.parse("transformer-xl:dim=512,heads=8,head-dim=32", length=4).array("u").shape == (8, 32)


def test_long_rows_are_the_same_in_any_blocks():
    table = Table.parse("transformer-xl:dim=64,span=both", length=3000)
    whole = table.read_rows(["vector"], 0, 5999)["vector"]
    parts = [table.read_rows(["vector"], s, min(5999, s + 701))["vector"] for s in range(0, 5999, 701)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


# DeBERTa


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
@pytest.mark.parametrize("name", ["deberta_buckets__bs256_max512", "deberta_buckets__bs64_max2048"])
def test_log_buckets_are_the_frameworks(name, arithmetic):
    entry = cases("relations")[name]
    config, distances = entry["config"], GOLDEN[f"{name}/distances"]
    expected = GOLDEN[f"{name}/buckets"].astype(np.int64)
    if arithmetic == "exact":
        for distance, rounded, exact in entry["float32"]:
            place = distances.tolist().index(distance)
            assert expected[place] == rounded
            expected[place] = exact
    n = int(distances[-1]) + 1
    recipe = f"deberta:buckets={config['position_buckets']},max-distance={config['max_relative_positions']}"
    index = read(f"{recipe},arithmetic={arithmetic}", length=n)
    np.testing.assert_array_equal(index, expected[(np.arange(n)[:, None] - np.arange(n)) - distances[0]])


def test_the_matrices_of_the_framework_come_out_for_queries_at_the_beginning():
    for name, recipe in (("no_bucket", "buckets=0,shifted=false"), ("bucket_4_max_8", "buckets=4,max-distance=8")):
        found = read(f"deberta:{recipe},align=first", queries=5, keys=7)
        np.testing.assert_array_equal(found, GOLDEN[f"deberta_relpos_matrix/{name}"])


def test_shifted_buckets_are_rows_of_the_vectors():
    raw, shifted = (read(f"deberta:buckets=8,max-distance=12,shifted={s}", length=90) for s in ("false", "true"))
    assert raw.min() < -8
    np.testing.assert_array_equal(shifted, np.clip(raw + 8, 0, 15))
    table = Table.parse("deberta:buckets=8,max-distance=12,shifted=true,dim=3", length=90)
    assert table.array("vector").shape == (16, 3)
    assert table.read("index").max() == 15


def test_the_authors_cut_the_distance_first():
    found = read("deberta:buckets=8,max-distance=12,clamp=true", length=90)
    free = read("deberta:buckets=8,max-distance=12", length=90)
    assert (found.min(), found.max()) == (-7, 7)
    near = np.abs(np.arange(90)[:, None] - np.arange(90)) < 12
    np.testing.assert_array_equal(found[near], free[near])


def test_the_first_version_shifts_and_cuts_the_distance_itself():
    found = read("deberta:buckets=0,max-distance=3", length=6)
    distance = np.arange(6)[:, None] - np.arange(6)
    np.testing.assert_array_equal(found, np.clip(distance + 3, 0, 5))
    assert Table.parse("deberta:buckets=0,max-distance=3,dim=2", length=6).array("vector").shape == (6, 2)


# Decomposed


@pytest.mark.parametrize("more", ["positions=0+7", "start=3", "step=2", "shard=0/2"])
def test_a_grid_has_no_other_positions(more):
    with pytest.raises(PecliError, match="holds a whole grid"):
        Table.parse(f"decomposed:grid=3x4,dim=3,{more}").read("index_height")


@pytest.mark.parametrize(("q", "k"), [(5, 5), (3, 7), (7, 3), (4, 8), (1, 6), (6, 1), (14, 64)])
def test_an_axis_index_is_the_frameworks_truncation(q, k):
    plain = (
        np.arange(q)[:, None] * max(k / q, 1.0) - np.arange(k)[None, :] * max(q / k, 1.0) + (k - 1) * max(q / k, 1.0)
    )
    found = axis_index(q, k, 0, q)
    near = np.abs(plain - np.rint(plain)) < 1e-9
    np.testing.assert_array_equal(found[near], np.rint(plain)[near])
    np.testing.assert_array_equal(found[~near], np.floor(plain)[~near])
    assert found.min() == 0
    assert found.max() <= 2 * max(q, k) - 2


def test_tables_are_resized_as_torch_does(tmp_path):
    lines = json.loads((DATA / "reference" / "resize.json").read_text())["lines"]
    (case,) = (c for c in lines if (c["rows"], c["to"], c["extend"]) == (16, 23, "linear"))
    i = np.arange(16)
    table = (((i * 7919 + 104729 * i**2) % 257 - 128) / 64)[:, None]  # what the reference was resized from
    np.savez(tmp_path / "w.npz", **{"attn.rel_pos_h": table, "attn.rel_pos_w": table[:5]})
    made = Table.make(Recipe.bind("decomposed", grid="12x2", dim=1, weights=str(tmp_path / "w.npz")), dtype="float64")
    np.testing.assert_allclose(made.read("vector_height"), case["values"], rtol=0, atol=1e-5)  # float32 there
    # 5 rows to 3: places 1/3, 2 and 11/3
    a, b, c, d, e = table[:5, 0]
    np.testing.assert_allclose(made.read("vector_width")[:, 0], [a + (b - a) / 3, c, d + (e - d) * 2 / 3], rtol=1e-12)


def test_a_table_of_the_right_size_is_left_alone():
    same, bigger = (Table.parse(f"decomposed:grid=3x4,dim=2{g},dtype=float64") for g in ("", ",trained-grid=3x4"))
    np.testing.assert_array_equal(same.read("vector_width"), bigger.read("vector_width"))
    assert [a.shape for a in same.arrays] == [(5, 2), (7, 2), (3, 3), (4, 4)]
    crossed = Table.parse("decomposed:grid=3x4,key-grid=6x2,dim=2")
    assert [a.shape for a in crossed.arrays] == [(11, 2), (7, 2), (3, 6), (4, 2)]


# all of them

RELATIVES = [pytest.param(e, id=n) for n, e in CATALOGUE.items() if e.family is Family.RELATIVE]


@pytest.mark.parametrize("encoding", RELATIVES)
def test_forms_choose_arrays(encoding):
    recipe = Recipe.parse(encoding.example)
    length = None if getattr(recipe.plan, "rows", None) else 6
    dense = Table.make(recipe, length=length)
    for form in ("vector", "index"):
        part = Table.make(recipe, length=length, form=form)
        assert {a.name.partition("_")[0] for a in part.arrays} == {form}
        for array in part.arrays:
            assert part.read(array.name).tobytes() == dense.read(array.name).tobytes()


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("shaw:dim=4", "needs clip=N"),
        ("shaw:dim=4,clip=0", "clip=0 must be from 1 to"),
        ("transformer-xl:dim=7", "dim=7 must be even"),
        ("transformer-xl:dim=8,heads=3", "heads=3 does not divide dim=8"),
        ("transformer-xl:dim=8,head-dim=3", "head-dim=3 needs heads="),
        ("transformer-xl:dim=8,span=local", "span=local needs local="),
        ("transformer-xl:dim=8,local=1+2", "local=1.2 has no effect with span=past"),
        ("deberta:buckets=1", "buckets=1 must be 0 or at least 2"),
        ("deberta:buckets=64,max-distance=33", "max-distance=33 must be above 33.*buckets=64"),
        ("deberta:buckets=0,arithmetic=float32", "arithmetic=float32 has no effect with buckets=0"),
        ("deberta:weights=v.npy", "weights=v.npy has no effect"),
        ("decomposed:grid=3,dim=2", "grid=3 must be 2 numbers joined with 'x'"),
        ("decomposed:grid=3x4x5,dim=2", "grid=3x4x5 must be 2 numbers joined with 'x'"),
    ],
)
def test_what_does_not_fit_is_said(recipe, says):
    with pytest.raises((BadParameter, BadRecipe, PecliError), match=says):
        Recipe.parse(recipe)


def test_forms_of_biases_are_refused():
    for form in ("bias", "distance", "slopes", "x"):
        with pytest.raises(BadParameter, match=f"form={form} is for biases"):
            Table.parse("shaw:dim=2,clip=2", length=3, form=form)
    with pytest.raises(BadParameter, match="is not for transformer-xl"):
        Table.parse("transformer-xl:dim=2", positions="0,1,5")
