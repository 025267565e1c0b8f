"""What compare says of faults, word for word, of tables made by plain NumPy whose arrays may have other names."""

import json

import numpy as np
import pytest

import pecli
from tests.support.unknown_tables import bf16

UNKNOWN = "no fault that is known explains the difference, and no formula was found that gives these values"


def angles(rows, dim, base=10000.0, start=0):
    return (start + np.arange(rows))[:, None] * base ** (-np.arange(0, dim, 2) / dim)


def cached(rows=200, dim=32, **how):
    """A cache as vLLM has it: all cosines, then all sines."""
    angle = angles(rows, dim, **how)
    return np.concatenate([np.cos(angle), np.sin(angle)], 1).astype("f4")


def pair(rows=200, dim=32, **how):
    angle = angles(rows, dim, **how)
    return {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}


def put(values, at, value):
    values[at] = value
    return values


def texts(values, recipe):
    return [finding.text for finding in pecli.compare(values, recipe).findings]


CACHE = "rope:dim=32,len=200,layout=concat"
DISTANCE = np.subtract.outer(range(30), range(30)).T
RNG = np.random.default_rng(3)
TRAINED = RNG.standard_normal((200, 16)).astype("f4")
VECTORS = {"vector": RNG.standard_normal((9, 4)).astype("f4")}

CASES = {
    "columns of an array called otherwise": (
        cached()[:, [*range(5), 20, *range(6, 20), 5, *range(21, 32)]],
        CACHE,
        ["columns 5 and 20 are exchanged"],
    ),
    "a factor beside a wrong value": (
        {k: put(v * np.float32(2), (50, 3), 9.0) for k, v in pair().items()},
        "rope:dim=32,len=200",
        [
            "magnitude 2 where 1 was expected",
            "that leaves 2 of 6,400 values unexplained, by at most 11, the first at cos[50, 3]",
        ],
    ),
    "whole numbers are not rounded ones": (
        np.repeat(np.arange(64.0)[:, None], 4, 1).astype("f4"),
        "integer:dim=4,max-len=64,len=64",
        ["raw true where false was expected"],
    ),
    "one head of zeros": (
        -np.array([1 / 4, 0, 1 / 64, 1 / 256])[:, None, None] * abs(DISTANCE).astype("f4"),
        "alibi:heads=4,len=30,dtype=float64",
        ["head 1: every value is 0"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_these_words_and_no_others(case):
    values, recipe, said = CASES[case]
    assert texts(values, recipe) == said


def test_as_many_heads_as_arrays_are_no_stack_of_arrays(tmp_path):
    weights = RNG.standard_normal((32, 2)).astype("f4")
    np.save(tmp_path / "w.npy", weights)
    recipe = f"t5:weights={tmp_path / 'w.npy'},len=30"
    right = np.array(pecli.table(recipe)["bias"])
    assert texts({"bias": right}, recipe) == ["only the second has 'index'"]
    assert texts({"bias": right.swapaxes(1, 2)}, recipe)[0] == "queries and keys are exchanged"


def test_a_sole_array_stands_beside_the_one_of_its_shape():
    row = angles(40, 16)[::-1]
    values = np.concatenate([np.sin(row), np.cos(row)], 1).astype("f4")
    assert texts(values, "transformer-xl:dim=16,len=40") == ["only the second has 'index'"]
    assert texts(values[::-1], "transformer-xl:dim=16,len=40")[0] == "the rows run backwards"


@pytest.mark.parametrize("by", [-4, 1])
def test_an_index_that_is_off_beside_vectors_that_are_not(by, tmp_path):
    np.save(tmp_path / "w.npy", VECTORS["vector"])
    found = {**VECTORS, "index": np.clip(DISTANCE, -4, 4) + 4 + by}
    assert texts(found, f"shaw:dim=4,clip=4,weights={tmp_path / 'w.npy'},len=30") == [
        f"index: {by} is added to every value"
    ]


def test_a_layout_that_nobody_named_is_that_of_most_values(tmp_path):
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config = {
        "model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 131072,
        "rope_theta": 500000.0, "rope_scaling": {**scaling, "original_max_position_embeddings": 8192},
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    angle = angles(300, 64, 500000.0) / 8
    values = np.concatenate([np.cos(angle), np.sin(angle)], 1).astype("f4")
    assert texts(values, str(tmp_path / "config.json")) == ["scaling linear where llama3 was expected"]


def test_rows_from_one_on_that_nothing_explains_are_placed(tmp_path):
    other = put(TRAINED.copy(), slice(50, None), RNG.standard_normal((150, 16)))
    assert texts(other, TRAINED) == ["array: rows 50 to 199 differ, in 2,400 values", UNKNOWN]


def in_float32(rows=200, dim=32, base=10000.0):
    """What a framework computes: frequencies, angles, cosines and sines in float32."""
    w = (base ** (-np.arange(0, dim, 2) / dim)).astype("f4")
    angle = np.arange(rows, dtype="f4")[:, None] * w
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


def moved(order):
    return {k: v[order] for k, v in in_float32().items()}


ROWS = np.arange(200)
OFF = "no more than phases computed in float32 are"
IN_FLOAT32 = {
    "missing": (moved(np.delete(ROWS, 17)), "row 17 is missing"),
    "twice": (moved(np.insert(ROWS, 17, 16)[:200]), "row 16 is there twice"),
    "exchanged": (moved([*range(9), 40, *range(10, 40), 9, *range(41, 200)]), "rows 9 and 40 are exchanged"),
    "zeros": ({k: put(v, slice(90, None), 0) for k, v in in_float32().items()}, "rows 90 and up are zero"),
    "NaN": ({k: put(v, slice(90, None), np.nan) for k, v in in_float32().items()}, "rows 90 and up are NaN"),
    "noise": (
        {k: put(v, slice(90, 95), RNG.uniform(-1, 1, (5, 16))) for k, v in in_float32().items()},
        "cos: rows 90 to 94 differ, in 80 values",
    ),
    "one value": (
        {"cos": put(in_float32()["cos"], (50, 3), 7), "sin": in_float32()["sin"]},
        "cos: one value differs, at cos[50, 3]: 7 where",
    ),
    "bytes": (
        {k: v.byteswap() for k, v in in_float32().items()},
        "the four bytes of every value stand the other way round",
    ),
}


@pytest.mark.parametrize("case", IN_FLOAT32)
def test_a_fault_of_a_table_whose_phases_are_in_float32(case):
    values, said = IN_FLOAT32[case]
    found = texts(values, "rope:dim=32,len=200")
    assert found[0].startswith(said), found
    assert any(OFF in text for text in found)
    count, rest = next(text for text in found if OFF in text).split(" of ", 1)
    assert 0 < int(count.replace(",", "")) < int(rest.split(" values")[0].replace(",", ""))


def test_values_that_are_off_by_more_than_phases_in_float32_are_not_said_to_be_so():
    noise = {k: (v + 0.01 * RNG.standard_normal(v.shape)).astype("f4") for k, v in pair().items()}
    assert not any(OFF in text for text in texts(noise, "rope:dim=32,len=200"))
    assert texts(in_float32(), "rope:dim=32,len=200")[0].startswith("phases were computed in float32")


def test_a_factor_on_phases_in_float32_beside_a_wrong_value():
    values = {k: put(v * np.float32(3), (50, 3), 50.0) for k, v in in_float32().items()}
    said = texts(values, "rope:dim=32,len=200")
    assert said[0] == "magnitude 3 where 1 was expected"
    assert "unexplained, by at most 5" in said[1]


@pytest.mark.parametrize(("kind", "rows"), [("frequencies", 130), ("angles", 130)])
def test_phases_in_bfloat16_are_named_though_some_are_near_those_in_float32(kind, rows):
    w = 160000.0 ** (-np.arange(0, 20, 2) / 20)
    w, angle = (bf16(w), None) if kind == "frequencies" else (w, bf16(np.outer(np.arange(rows), w)))
    angle = np.outer(np.arange(rows), w) if angle is None else angle
    values = np.concatenate([np.cos(angle), np.sin(angle)], 1).astype("f4")
    said, *_ = texts(values, "sinusoidal:dim=20,base=160000,order=cos-sin")
    assert said.startswith("phases were computed in bfloat16 (")
    assert kind in said


def test_wrong_rows_of_angles_are_no_bytes_the_other_way_round(tmp_path):
    recipe = "rope:dim=24,layout=angles,len=100"
    angles = np.array(pecli.Table.parse(recipe)["angles"])
    angles[78:89] += np.random.default_rng(3).standard_normal((11, 12)).astype(np.float32) + 3
    np.savez(tmp_path / "mine.npz", angles=angles)
    found = [one.text for one in pecli.compare(tmp_path / "mine.npz", recipe).findings]
    assert found == ["angles: rows 78 to 88 differ, in 132 values"]


STEPS = {
    "frequencies alone in float32": (lambda w, p: np.outer(p, w.astype("f4").astype(float)), "frequencies"),
    "angles alone in float32": (lambda w, p: np.outer(p, w).astype("f4").astype(float), "angles"),
    "positions alone in bfloat16": (lambda w, p: np.outer(bf16(p), w), "positions"),
    "positions alone in float16": (lambda w, p: np.outer(p.astype("f2").astype(float), w), "positions"),
    "frequencies alone in float16": (lambda w, p: np.outer(p, w.astype("f2").astype(float)), "frequencies"),
}


@pytest.mark.parametrize("case", STEPS)
def test_the_one_step_that_was_rounded(case):
    angles_of, step = STEPS[case]
    rows = 2500 if "positions" in case else 60
    angle = angles_of(123456.0 ** (-np.arange(0, 32, 2) / 32), np.arange(rows, dtype=float))
    said, *rest = texts(
        {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}, f"rope:dim=32,base=123456,len={rows}"
    )
    kind = case.rpartition(" ")[2]
    assert said.startswith(f"phases were computed in {kind} ({step} rounded to {kind})"), said
    assert not rest


def test_an_arithmetic_is_said_of_all_rows_or_of_those_before_it_ends():
    table = pecli.Table.parse("rope:dim=32,len=3000,arithmetic=bfloat16,layout=concat")
    values, recipe = np.array(table["cos_sin"]), "rope:dim=32,len=3000,layout=concat"
    steps = "(frequencies and positions and angles rounded to bfloat16): first wrong at position 5"
    assert texts(values, recipe) == [f"phases were computed in bfloat16 {steps}"]
    values[1900:] = RNG.uniform(-1, 1, (1100, 32))
    said, rest = texts(values, recipe)
    assert said == f"phases of the first 1,900 rows were computed in bfloat16 {steps}"
    assert rest.startswith("that leaves 35,200 of 96,000 values unexplained")
    assert rest.endswith("the first at array[1900, 0]")


def test_another_base_and_phases_in_float16_of_a_sinusoidal_table():
    angle = np.outer(np.arange(300.0), 500000.0 ** (-np.arange(0, 64, 2) / 64)).astype("f2").astype(float)
    values = np.concatenate([np.sin(angle), np.cos(angle)], 1).astype("f4")
    said = texts(values, "sinusoidal:dim=64,order=sin-cos,len=300")
    assert said[0].startswith("base 500000 where 10000"), said
    assert said[1].startswith("and phases were computed in float16 (angles"), said


SHIFTED = cached(start=1)
SQUARE = -(2.0 ** -np.arange(1, 9))[:, None, None] * abs(DISTANCE)
MORE = {
    "another start, then zeros": (
        put(SHIFTED.copy(), slice(120, None), 0),
        CACHE,
        ["rows 120 and up are zero", "rows 0 to 119: positions start at 1 where 0 was expected"],
    ),
    "a row of zeros first, another base": (
        put(cached(base=500000.0), 0, 0),
        CACHE,
        ["row 0 is zero", "rows 1 and up: base 500000 where 10000 was expected"],
    ),
    "columns for rows": (
        cached().T.reshape(200, 32).copy(),
        CACHE,
        ["the values run down the columns, as those of a transposed array read in rows"],
    ),
    "rows for columns": (
        cached().reshape(32, 200).T.copy(),
        CACHE,
        ["the columns hold what was expected row by row, as of an array in rows read down its columns"],
    ),
    "heads last": (
        SQUARE.transpose(1, 2, 0).astype("f4"),
        "alibi:heads=8,len=30",
        [
            "the axes are query, key, head where head, query, key was expected",
            "array and bias: shape 30 x 30 x 8 against 8 x 30 x 30",
        ],
    ),
    "complex numbers across": (
        (pair()["cos"] + 1j * pair()["sin"]).astype("c8").T.copy(),
        "rope:dim=32,len=200,layout=complex",
        ["rows and columns are exchanged", "array and cis: shape 16 x 200 against 200 x 16"],
    ),
    "columns without their means": (
        (cached().astype(float) - cached().astype(float).mean(0)).astype("f4"),
        CACHE,
        ["the mean of every column is taken from it"],
    ),
    "columns of deviation 1": (
        ((cached() - cached().astype(float).mean(0)) / cached().astype(float).std(0)).astype("f4"),
        CACHE,
        ["the mean of every column is taken from it, which is divided by its deviation"],
    ),
    "a factor in float32": (
        (pair()["cos"] + 1j * pair()["sin"]).astype("c8") * np.float32(0.02),
        "complex:dim=32,len=200",
        ["every value is 0.02 times what was expected"],
    ),
    "two faults and not three": (
        np.concatenate([np.zeros((1, 32), "f4"), cached(50, base=500.0)]),
        "rope:dim=32,len=50,base=500,layout=concat",
        ["row 0 is zero", "rows 1 and up: positions start at 0 where 1 was expected",
         "array and cos_sin: shape 51 x 32 against 50 x 32"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MORE)
def test_these_words_alone(case):
    values, recipe, said = MORE[case]
    assert [text for text in texts(values, recipe) if OFF not in text] == said


def test_an_unusual_base_is_named_whatever_phases_were_computed_in():
    exact = pair(rows=300, dim=64, base=9999.0)
    said = texts(exact, "rope:dim=64,len=300")
    assert said[0] == "base 9999 where 10000 was expected"
    assert said[1].endswith("(sure)")
    assert len(said) == 2
    said = texts(in_float32(300, 64, 10007.0), "rope:dim=64,len=300")
    assert said[0] == "base 10007 where 10000 was expected"
    assert said[2] == "and phases were computed in float32"
    assert all(OFF in text for text in said[3:])
