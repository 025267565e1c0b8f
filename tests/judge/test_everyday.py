"""Everyday tables: cosines alone, sines alone, float64 of plain NumPy, a single row; common mistakes in caches."""

import json
import re

import h5py
import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pecli
from pecli.judge.planes import rounded
from tests.judge.answers import (
    LAYOUTS,
    UNKNOWN,
    angles,
    assert_identified,
    cache,
    distances,
    frequencies,
    get_slopes,
    llama_config,
    sinusoid,
)

MISREAD = ("holds the values of", "exchanged", "angles", "sin_cos", "cos_sin", "swapping")
"""What is said where a lone component was taken for something else."""


def component(name, layout, rows=128, dim=64, base=10000.0, start=0):
    return cache(angles(rows, dim, base, start), layout)[name]


@pytest.mark.parametrize("expected", ["rope:dim=64", "rope:dim=64,base=10000,len=128", "config.json"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["cos", "sin"])
def test_a_lone_component_is_what_its_recipe_gives(ask, tmp_path, name, layout, expected):
    if layout == "interleaved" and expected == "config.json":
        pytest.skip("a Llama has two equal halves: another layout is a finding")
    llama_config(tmp_path / "config.json")
    np.save(f"{name}.npy" if expected == "config.json" else "values.npy", component(name, layout))
    file = f"{name}.npy" if expected == "config.json" else "values.npy"
    ask("compare", file, expected).ends(0).says("same", name).never(*MISREAD, *UNKNOWN)
    answer = ask("compare", expected, file).ends(0)
    answer.says("same", name).never(*MISREAD, *UNKNOWN)


@pytest.mark.parametrize("lead", [(1,), (1, 1)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_leading_axes_of_length_1_change_nothing_for_a_lone_component(ask, lead, layout):
    np.save("cos.npy", component("cos", layout).reshape(*lead, 128, -1))
    ask("compare", "cos.npy", "rope:dim=64").ends(0).never(*MISREAD, *UNKNOWN)


@pytest.mark.parametrize("start", [1, 100])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_lone_component_may_start_anywhere(ask, layout, start):
    for name in ("cos", "sin"):
        np.save(f"{name}.npy", component(name, layout, start=start))
        ask("compare", f"{name}.npy", f"rope:dim=64,start={start}").ends(0).never(*MISREAD, *UNKNOWN)


@pytest.mark.parametrize("expected", ["rope:dim=64", "config.json"])
@pytest.mark.parametrize("layout", ["split", "half"])
@pytest.mark.parametrize("name", ["cos", "sin"])
def test_the_mistake_in_a_lone_component_is_named(ask, tmp_path, name, layout, expected):
    llama_config(tmp_path / "config.json")
    np.save(f"{name}.npy", component(name, layout, base=500.0))
    answer = ask("compare", f"{name}.npy", expected).ends(1)
    answer.says("base", "500", "10000").never(*MISREAD, *UNKNOWN)


@pytest.mark.parametrize("layout", ["split", "half"])
def test_a_component_of_a_config_is_a_source(ask, tmp_path, layout):
    llama_config(tmp_path / "config.json")
    for name in ("cos", "sin"):
        np.save(f"{name}.npy", component(name, layout))
        ask("compare", f"{name}.npy", f"config.json::{name}").ends(0).says("same")
    ask("compare", "cos.npy", "config.json::sin").ends(1).never("internal error")


@pytest.mark.parametrize("expected", ["rope:dim=64", "config.json"])
@pytest.mark.parametrize("layout", ["split", "half"])
def test_a_folder_with_cosines_and_sines_is_one_table(ask, tmp_path, layout, expected):
    llama_config(tmp_path / "config.json")
    (tmp_path / "cache").mkdir()
    for name in ("cos", "sin"):
        np.save(tmp_path / "cache" / f"{name}.npy", component(name, layout))
    ask("compare", "cache", expected).ends(0).says("same").never(*MISREAD, *UNKNOWN)
    assert_identified(pecli.identify("cache"), "rope", dim=64, base=10000)
    np.save(tmp_path / "cache" / "sin.npy", -component("sin", layout))
    ask("compare", "cache", expected).ends(1).says("sign", "sin").never(*UNKNOWN)


@pytest.mark.parametrize("expected", ["rope:dim=64", "config.json"])
@pytest.mark.parametrize("layout", ["split", "half"])
def test_two_files_of_cosines_and_sines_are_both_compared_with_the_recipe(ask, tmp_path, layout, expected):
    llama_config(tmp_path / "config.json")
    for name in ("cos", "sin"):
        np.save(f"{name}.npy", component(name, layout))
    ask("compare", "cos.npy", "sin.npy", expected).ends(0).says("same").never(*MISREAD, *UNKNOWN)
    np.save("cos.npy", component("cos", layout, base=500.0))
    ask("compare", "cos.npy", "sin.npy", expected).ends(1).never("internal error")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["cos", "sin"])
def test_a_lone_component_is_verified_and_identified(ask, name, layout):
    np.save("values.npy", component(name, layout))
    ask("inspect", "values.npy", "--verify", "--recipe", "rope:dim=64").ends(0).never(*MISREAD)
    assert pecli.compare(component(name, layout), "rope:dim=64").equal
    found = pecli.identify("values.npy")
    assert_identified(found, "rope", dim=64, base=10000)
    assert name in " ".join(found.notes)


def sinusoid_of_a_loop(rows, dim):
    """The sinusoid as tutorials write it with two loops."""
    table = np.zeros((rows, dim))
    for p in range(rows):
        for i in range(0, dim, 2):
            angle = p / np.power(10000, i / dim)
            table[p, i], table[p, i + 1] = np.sin(angle), np.cos(angle)
    return table


def sinusoid_by_exp(rows, dim):
    """The sinusoid of PyTorch's tutorial, in float64."""
    position, table = np.arange(rows)[:, np.newaxis], np.zeros((rows, dim))
    div_term = np.exp(np.arange(0, dim, 2) * -(np.log(10000.0) / dim))
    table[:, 0::2], table[:, 1::2] = np.sin(position * div_term), np.cos(position * div_term)
    return table


def sinusoid_by_rates(rows, dim):
    """The sinusoid of TensorFlow's tutorial, in float64."""
    rates = 1 / np.power(10000, (2 * (np.arange(dim)[np.newaxis, :] // 2)) / np.float32(dim))
    table = np.arange(rows)[:, np.newaxis] * rates
    table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
    return table


def alibi(heads, slopes=None):
    return (get_slopes(heads) if slopes is None else slopes)[:, None, None] * -distances(40)


FLOAT64 = {  # made with plain NumPy in double precision, and the recipe
    "sinusoid, two loops": (lambda: {"pe": sinusoid_of_a_loop(200, 64)}, "sinusoidal:dim=64"),
    "sinusoid, exp": (lambda: {"pe": sinusoid_by_exp(200, 64)}, "sinusoidal:dim=64"),
    "sinusoid, rates": (lambda: {"pe": sinusoid_by_rates(200, 64)}, "sinusoidal:dim=64"),
    "sinusoid, long": (lambda: {"pe": sinusoid_by_exp(5000, 16)}, "sinusoidal:dim=16"),
    "rope": (lambda: cache(angles(200, 64), "split", "float64"), "rope:dim=64"),
    "rope, halves": (lambda: cache(angles(200, 64), "half", "float64"), "rope:dim=64"),
    "rope, base": (lambda: cache(angles(2048, 128, 500000.0), "half", "float64"), "rope:dim=128,base=500000"),
    "rope, cosines": (lambda: {"cos": cache(angles(200, 64), "half", "float64")["cos"]}, "rope:dim=64::cos"),
    "complex": (lambda: {"cis": np.exp(1j * angles(200, 64))}, "rope:dim=64"),
    "alibi, paper": (lambda: {"bias": alibi(6, 2 ** (-8 * np.arange(1, 7) / 6))}, "alibi:heads=6,slopes=paper"),
    "alibi, 12 heads": (lambda: {"bias": alibi(12)}, "alibi:heads=12"),
    "alibi, 16 heads": (lambda: {"bias": alibi(16)}, "alibi:heads=16"),
    "alibi, slopes": (lambda: {"slopes": get_slopes(16)}, "alibi:heads=16,form=slopes"),
}  # fmt: skip
FALSE64 = (*UNKNOWN, "distances beyond", "convention", "rows 9 to 11", "swapping")


@pytest.mark.parametrize("case", FLOAT64)
def test_rounding_of_float64_is_called_so_with_the_tolerance_that_accepts_it(ask, case):
    make, recipe = FLOAT64[case]
    values = make()
    if len(values) == 1:
        np.save("values.npy", *values.values())
    np.savez("values.npz", **values)
    for file in ("values.npz", *(("values.npy",) if len(values) == 1 else ())):
        answer = ask("compare", file, recipe).ends(1)
        answer.says("float64", "rounding", "harmless", "at most").never(*FALSE64)
        ask("compare", file, recipe, *answer.tolerance).ends(0).says("same")


@pytest.mark.parametrize("heads", [6, 8])
def test_what_float64_holds_exactly_is_the_same_to_the_bit(ask, heads):
    np.save("bias.npy", alibi(heads))
    ask("compare", "bias.npy", f"alibi:heads={heads}").ends(0).says("same")


@pytest.mark.parametrize(
    ("case", "encoding", "keys"),
    [
        ("sinusoid, exp", "sinusoidal", {"dim": 64, "base": 10000}),
        ("sinusoid, rates", "sinusoidal", {"dim": 64, "base": 10000}),
        ("rope, halves", "rope", {"dim": 64, "base": 10000}),
        ("complex", "rope", {"dim": 64, "base": 10000, "layout": "complex"}),
        ("alibi, 12 heads", "alibi", {"heads": 12}),
    ],
)
def test_tables_of_plain_numpy_are_identified_with_their_rounding(ask, case, encoding, keys):
    np.savez("values.npz", **FLOAT64[case][0]())
    assert_identified(pecli.identify("values.npz"), encoding, **keys)
    ask("inspect", "values.npz", "--identify").ends(0).says("float64", "rounding")


@pytest.mark.parametrize("case", ["sinusoid, two loops", "sinusoid, exp", "rope", "complex"])
def test_a_mistake_in_float64_is_named_and_the_rounding_behind_it_is_no_second_one(ask, case):
    make, recipe = FLOAT64[case]
    np.savez("values.npz", **make())
    answer = ask("compare", "values.npz", f"{recipe},base=500").ends(1)
    answer.says("base 10000 where 500", "float64|complex128").never(*FALSE64)


@pytest.mark.parametrize("case", ["sinusoid, two loops", "sinusoid, exp", "rope"])
def test_a_wrong_row_is_found_beside_the_rounding_of_float64(ask, case):
    make, recipe = FLOAT64[case]
    np.savez("values.npz", **{name: np.where(np.arange(200)[:, None] == 50, 0.0, v) for name, v in make().items()})
    answer = ask("compare", "values.npz", recipe).ends(1)
    answer.says("row 50|row differs, 50", "float64").never(*FALSE64)


@pytest.mark.parametrize("case", ["sinusoid, two loops", "sinusoid, exp", "rope"])
def test_double_precision_against_a_float32_recipe_differs_in_the_type_alone(ask, case):
    make, recipe = FLOAT64[case]
    np.savez("values.npz", **make())
    ask("compare", "values.npz", f"{recipe},dtype=float32").ends(1).says("float32", "float64").never(*FALSE64)


def write_row(name, row):
    """Write one row, (1, width), as a person would."""
    if name.endswith(".npy"):
        np.save(name, row)
    elif name.endswith(".npz"):
        np.savez(name, pe=row)
    elif name.endswith(".h5"):
        with h5py.File(name, "w") as file:
            file["pe"] = row
    elif name.endswith(".parquet"):
        pq.write_table(pa.table({"pe": pa.array(list(row), pa.list_(pa.from_numpy_dtype(row.dtype)))}), name)
    else:
        np.savetxt(name, row, delimiter=",", fmt="%.17g" if row.dtype == "f8" else "%.9g")


def binary(rows, dim, start=0):
    return (np.arange(start, start + rows)[:, None] >> np.arange(dim) & 1).astype("float32")


ROWS = {"sinusoidal:dim=32": sinusoid, "binary:dim=16": binary}
FILES = ("row.npy", "row.npz", "row.h5", "row.parquet", "row.csv")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("start", [0, 1, 7, 500])
@pytest.mark.parametrize("recipe", ROWS)
@pytest.mark.sample(3)
def test_one_row_is_a_table_of_one_row(ask, recipe, start, file):
    width = int(recipe.rpartition("=")[2])
    write_row(file, ROWS[recipe](1, width, start=start))
    for written in (f"start={start}", f"positions={start}", f"start={start},len=1"):
        ask("compare", file, f"{recipe},{written}").ends(0).says("same").never(*UNKNOWN)
    ask("inspect", file, "--verify", "--recipe", f"{recipe},start={start}").ends(0)
    answer = ask("compare", file, f"{recipe},start={start + 1}").ends(1)
    answer.never("nothing in common", "shape 1 x", "internal error")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("start", [0, 1, 7, 500])
def test_one_row_of_a_rotary_cache(ask, tmp_path, start, layout):
    found = cache(angles(1, 32, start=start), layout)
    np.savez("row.npz", **found)
    ask("compare", "row.npz", f"rope:dim=32,start={start}").ends(0).says("same")
    np.save("stack.npy", np.stack([*found.values()]))
    ask("compare", "stack.npy", f"rope:dim=32,start={start}").ends(0).says("same")
    if layout == "split":
        np.save("row.npy", np.concatenate([*found.values()], axis=1))
        ask("compare", "row.npy", f"rope:dim=32,start={start}").ends(0).says("same")


@pytest.mark.parametrize("shape", [(32,), (1, 1, 32)])
def test_one_row_without_or_with_further_axes(ask, shape):
    np.save("row.npy", sinusoid(1, 32, start=7).reshape(shape))
    ask("compare", "row.npy", "sinusoidal:dim=32,start=7").ends(0).says("same")


@pytest.mark.parametrize("suffix", ["h5", "npz", "parquet", "csv", "safetensors"])
@pytest.mark.parametrize("recipe", ["sinusoidal:dim=32", "binary:dim=16", "rope:dim=32"])
def test_the_position_that_a_file_states_for_its_one_row_counts(ask, recipe, suffix):
    ask("generate", recipe, "--len", 1, "--start", 3, "-o", f"row.{suffix}").ends(0)
    ask("compare", f"row.{suffix}", f"{recipe},start=3").ends(0).says("same")
    if suffix in ("h5", "parquet", "csv"):  # which hold positions
        ask("compare", f"row.{suffix}", recipe).ends(0).says("same")


def test_the_row_far_out_of_the_documentation(ask, tmp_path):
    with mpmath.workdps(40):
        angle = [mpmath.mpf(10) ** 9 * w for w in (1, mpmath.mpf(1) / 100)]
        values = [f(a) for a in angle for f in (mpmath.sin, mpmath.cos)]
    text = ",".join(repr(float(value)) for value in values)
    (tmp_path / "row.csv").write_text(f"position,pe0,pe1,pe2,pe3\n1000000000,{text}\n")
    ask("compare", "row.csv", "sinusoidal:dim=4").ends(0).says("same")
    ask("compare", "row.csv", "sinusoidal:dim=4,positions=1000000000").ends(0).says("same")
    ask("generate", "sinusoidal", "--dim", 4, "--positions", 10**9, "--dtype", "float64", "-o", "own.csv").ends(0)
    ask("compare", "own.csv", "row.csv").ends(0)
    ask("compare", "own.csv", "sinusoidal:dim=4").ends(0)


def test_the_frequencies_of_these_tests_are_the_papers():
    assert frequencies(4).tolist() == [1.0, 0.01]


@pytest.mark.parametrize("rows", [2, 4, 6, 64])
@pytest.mark.parametrize("layout", ["split", "pairs"])
def test_two_pairs_of_a_stack_and_two_rows_of_pairs_are_told_apart(ask, tmp_path, rows, layout):
    """(2, n, 2) holds the cosines and then the sines of a head of width 4, or two rows of n pairs."""
    w = angles(rows, 4, 10000.0, 0)
    parts = [np.cos(w), np.sin(w)]
    np.save("t.npy", (np.stack(parts) if layout == "split" else np.stack(parts, -1)).astype(np.float32))
    assert pecli.compare("t.npy", "rope:dim=4", ulp=1)
    assert pecli.identify("t.npy").recipe.startswith("rope:dim=4")


def test_equal_cosines_without_their_sines_are_not_called_rounding(ask):
    np.savez("c.npz", cos=pecli.table("rope:dim=64,len=32")["cos"])
    text = str(pecli.compare("c.npz", "rope:dim=64"))
    assert "only the second has 'sin'" in text
    assert "rounding" not in text


def test_a_pair_that_turns_backwards_has_negated_sines(ask):
    table = sinusoid(512, 64).astype(np.float32)
    table[:, 10] *= -1
    found = str(pecli.compare(table, "sinusoidal:dim=64"))
    assert "the sines of pair 5 have the other sign" in found
    assert "times as fast" not in found


@pytest.mark.parametrize("name", ["cos", "sin"])
def test_a_lone_component_is_compared_with_the_one_it_equals(ask, name):
    both = cache(angles(128, 64), "half")
    np.save("values.npy", both[name])
    np.savez("cache.npz", **both)
    said = ask("compare", "values.npy", "cache.npz").out
    assert said.startswith("same: 8,192 values are equal"), said
    assert f"compared: {name} alone" in said


@pytest.mark.parametrize(
    ("recipe", "values", "said"),
    [
        ("sinusoidal", sinusoid(128, 64), "same"),
        ("sinusoidal:base=100", sinusoid(128, 64), "different: base 10000 where 100 was expected"),
        ("rope", cache(angles(128, 64), "half")["cos"], "same"),
        ("rope", cache(angles(128, 64, 500000.0), "half")["cos"], "different: base 500000 where 10000 was expected"),
        ("alibi", -get_slopes(8)[:, None, None] * distances(16), "same"),
    ],
    ids=["sinusoidal", "base", "rope", "base of rope", "alibi"],
)
def test_a_recipe_without_size_takes_that_of_the_file(ask, recipe, values, said):
    np.save("values.npy", np.asarray(values, "float32"))
    assert ask("compare", "values.npy", recipe).out.startswith(said)
    if said == "same":
        assert ask("verify", "values.npy", recipe).out.startswith("verified")


def turned(rows, frequencies, start=0):
    """cos and sin of whole positions in float32, as torch computes them, each column once."""
    angle = np.arange(start, start + rows, dtype=np.float32)[:, None] * np.asarray(frequencies, np.float32)
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


def smoothed(*, exchanged=False, turn=2 * np.pi):
    """Frequencies of Llama 3.1 for 64 columns; the weights between both ends exchanged, or 2 pi left out."""
    w = frequencies(64, 5e5)
    turns = 8192 * w / turn
    share = np.clip((turns - 1) / 3, 0, 1)
    between = (share > 0) & (share < 1)
    share = np.where(between & exchanged, 1 - share, share)
    return w * share + w / 8 * (1 - share)


def joined(a, b):
    return {name: np.concatenate([a[name], b[name]]) for name in a}


LLAMA3 = "rope:dim=64,base=500000,scaling=llama3,factor=8,original-max=8192"
DYNAMIC = "rope:dim=64,scaling=dynamic,factor=2,max-position=512,seq-len=1024"
TWICE = np.concatenate([part for part in turned(200, frequencies(64)).values() for _ in range(2)], 1)
CAUSES = [
    (turned(512, smoothed(exchanged=True)), LLAMA3, "the weights of the ramp are exchanged"),
    (turned(512, smoothed(turn=1)), LLAMA3, "2 pi is missing in the wavelengths"),
    (turned(64, 1 / frequencies(32)), "rope:dim=32", "exponent 2i/d where -2i/d was expected"),
    (turned(300, frequencies(64) ** (1 / 8)), "rope:dim=64", "exponent over 512 where 64 was expected"),
    (turned(300, frequencies(64, 10000 * 2 ** (64 / 62))), DYNAMIC, "ntk scaling .factor 2. where dynamic"),
    (turned(300, frequencies(64, 10000 * 7 ** (64 / 62))), DYNAMIC, "seq-len 2048 where 1024 was expected"),
    (joined(turned(128, frequencies(64)), {name: rows[128:] for name, rows in turned(256, frequencies(64, 5e5)).items()}),
     "rope:dim=64", "rows 128 to 255: base 500000 where 10000 was expected"),
    (TWICE, "rope:dim=64,layout=half", "one array holds the cosines and then the sines"),
    (np.stack([TWICE, TWICE]), "rope:dim=64,layout=half", "one array holds the cosines and then the sines"),
    (turned(200, frequencies(64)), "rope:dim=64,layout=interleaved", "each pair has one column where it was expected to have"),
    ({"inv_freq": frequencies(64).astype(np.float32)}, {"inv_freq": frequencies(64, 5e5).astype(np.float32)},
     "base 10000 where 500000 was expected"),
]  # fmt: skip


YARN = "rope:dim=64,scaling=yarn,factor=4,original-max=2048"
LISTS = f"short-factor={'+'.join(['1.05'] * 32)},long-factor={'+'.join(['2.5'] * 32)}"
LONGROPE = f"rope:dim=64,scaling=longrope,seq-len=300,max-position=8192,original-max=4096,{LISTS}"
ANGLES = (np.arange(50.0)[:, None] * frequencies(32).repeat(2)).astype(np.float32)

WHOLE = [  # tables, and all findings but the rounding
    ({name: values * np.float32(0.1 * np.log(4) + 1) for name, values in turned(300, frequencies(64)).items()}, YARN,
     ["scaling yarn is missing (factor 4, original-max 2048): the frequencies are unscaled",
      "the attention factor 1.13863 is applied"]),
    (turned(300, frequencies(64)), LONGROPE,
     ["scaling longrope is missing (max-position 8192, seq-len 300, original-max 4096): the frequencies are unscaled"]),
    (ANGLES, "rope:dim=32,layout=angles", ["each angle stands in two columns (interleaved) where one was expected"]),
]  # fmt: skip


@pytest.mark.parametrize(("actual", "expected", "findings"), WHOLE)
def test_all_that_differs_is_said_and_no_more(actual, expected, findings):
    assert [one.text for one in pecli.compare(actual, expected).findings if one.kind != "rounding"] == findings


@pytest.mark.parametrize(("actual", "expected", "cause"), CAUSES)
def test_the_cause_comes_first(actual, expected, cause):
    assert re.match(cause, pecli.compare(actual, expected).findings[0].text)


def test_a_corrupted_first_row_does_not_hide_the_base():
    table = turned(128, frequencies(64, 5e5))
    for values in table.values():
        values[0] = 0.25
    findings = [one.text for one in pecli.compare(table, "rope:dim=64").findings]
    assert findings[0] == "base 500000 where 10000 was expected"
    assert findings[-1].endswith("row 0")


def test_different_tables_of_a_batch_are_not_named_by_the_first_one():
    first, padded = turned(40, frequencies(64)), turned(34, frequencies(64))
    both = {
        name: np.stack([first[name], np.concatenate([padded[name][:1].repeat(6, 0), padded[name]])]) for name in first
    }
    found = pecli.identify(both)
    assert found.confidence == "unknown"
    assert found.measured == (
        (
            "nearly rope:dim=64: batch index 1 differs: left padding by 6: rows 1 to 6 repeat row 0, "
            "later rows have moved down by 6"
        ),
    )


def test_float64_values_beside_float32_phases_are_harmless():
    angle = np.arange(600.0)[:, None] * frequencies(64)
    found = pecli.compare({"cos": np.cos(angle), "sin": np.sin(angle)}, turned(600, frequencies(64)))
    assert "harmless" in found.findings[0].text


def test_bfloat16_values_of_far_positions_are_a_type_and_no_places():
    w = np.exp(np.arange(0, 64, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / 64))
    table = {
        name: rounded(values.astype(np.float64), "bfloat16").astype(np.float32)
        for name, values in turned(16384, w).items()
    }
    assert pecli.identify(table).confidence == "sure"


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("rope:base=500000", "different, but harmless: rounding alone, at most"),
        ("rope:dim=64", "different: base 500000 where 10000 was expected"),
        ("rope:dim=64,base=500000,scaling=linear,factor=4", "different: scaling linear is missing (factor 4)"),
    ],
)
def test_a_list_of_frequencies_is_compared_with_those_of_a_recipe(ask, recipe, said):
    exponents = np.arange(0, 64, 2, dtype="float32") / np.float32(64)
    np.save("inv_freq.npy", np.float32(1) / np.float32(500000) ** exponents)
    assert ask("compare", "inv_freq.npy", recipe).out.startswith(said)


def test_an_axis_of_length_1_between_rows_and_columns_makes_no_batch(ask):
    np.savez("cache.npz", **{name: values[:, None] for name, values in cache(angles(256, 64), "half").items()})
    assert ask("compare", "cache.npz", "rope:dim=64,layout=half").out.startswith("same")


def test_a_config_is_compared_by_one_kind_of_layer(ask, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gemma3_text", "head_dim": 64}')
    np.savez("cache.npz", **cache(angles(128, 64, 1e6), "half"))
    taken = "  compared with the full_attention layers, the nearest: --layer-type sliding_attention for the others"
    assert ask("compare", "cache.npz", "config.json").says("same|harmless").out.splitlines()[1] == taken
    assert json.loads(ask("compare", "config.json", "cache.npz", "--json").out)["notes"] == [taken.strip()]
    assert ask("compare", "cache.npz", "config.json", "--layer-type", "full_attention").says("same|harmless")
    assert ask("compare", "config.json", "config.json").status == 2
    said = ask("compare", "cache.npz", "config.json", "--layer-type", "sliding_attention")
    assert said.out.startswith("different: base 1000000 where 10000 was expected")


def test_a_cache_of_neither_kind_of_layer_is_compared_with_both(ask, tmp_path):
    scaling = '{"rope_type": "linear", "factor": 8.0}'
    (tmp_path / "config.json").write_text(f'{{"model_type": "gemma3_text", "head_dim": 64, "rope_scaling": {scaling}}}')
    np.savez("cache.npz", **cache(angles(128, 64, 1e6), "half"))
    first, note, *_ = ask("compare", "cache.npz", "config.json").out.splitlines()
    assert first == "different: scaling linear is missing (factor 8): the frequencies are unscaled"
    other = "with the sliding_attention layers: base 1000000 where 10000 was expected"
    assert note == f"  compared with the full_attention layers; {other}"


@pytest.mark.parametrize("narrow", ["cos", "sin"])
def test_the_one_component_that_was_rounded_is_named(ask, narrow):
    both = cache(angles(256, 64).astype("float32"), "half")
    both[narrow] = (both[narrow].view("uint32") + 0x8000 & 0xFFFF0000).view("float32")
    np.savez("cache.npz", **both)
    said = ask("compare", "cache.npz", "rope:dim=64,layout=half").out
    assert said.startswith(f"different: {narrow}: all values are rounded to bfloat16"), said


@pytest.mark.parametrize("rows", [[*range(10), 20, *range(11, 20), 10, *range(21, 128)], [0] * 9 + [*range(119)]])
def test_the_rounding_beside_moved_rows_is_that_from_the_exact_values(ask, rows):
    w = (1 / 10000 ** (np.arange(0, 64, 2, dtype=np.float32) / 64)).astype(np.float32)
    phases = (np.array(rows, np.float32)[:, None] * w).astype(np.float32)
    np.savez("c.npz", cos=np.cos(phases), sin=np.sin(phases))
    exact = np.cos(np.outer(rows, np.exp(-np.arange(32) / 32 * np.log(10000.0))))
    off = np.abs(np.cos(phases) - exact).max()
    answer = ask("compare", "c.npz", "rope:dim=64").ends(1).says("exchanged|repeat row 0")
    said = float(re.search(r"the rest differs by at most ([0-9.e-]+)", answer.text)[1])
    assert 0.9 * off <= said <= 1.5 * off


def test_frequencies_that_stand_in_two_pairs_are_named(ask):
    w = 10000.0 ** (-2 * (np.arange(16) // 2) / 32)
    a = np.outer(np.arange(60), w)
    np.save("p.npy", np.stack([np.sin(a), np.cos(a)], 2).reshape(60, 32).astype(np.float32))
    ask("compare", "p.npy", "sinusoidal:dim=32").ends(1).says("each frequency stands in two pairs")


def test_time_scales_are_compared_as_base_and_spacing(ask):
    np.save("p.npy", sinusoid(64, 32).astype(np.float32))
    expected = "sinusoidal:dim=32,convention=tensor2tensor,len=64"
    ask("compare", "p.npy", expected).ends(1).says("the paper's spacing").never("none was expected", "timescale")


def test_the_number_that_stands_for_minus_infinity_is_shown(ask):
    np.save("m.npy", np.triu(np.full((1, 1, 20, 20), np.finfo(np.float32).min, np.float32), 1))
    ask("identify", "m.npy").says("-3.40282e+38", "causal").never("-inf")


def test_columns_that_rise_with_the_row_are_no_bias(ask):
    np.save("r.npy", np.repeat(np.arange(50, dtype=np.float32)[:, None] / 50, 8, 1))
    ask("identify", "r.npy").says("every column holds 50 numbers from 0 to 0.98").never("exchanged", "no known rule")


def test_cosines_of_trained_frequencies_are_measured_though_one_is_too_slow(ask):
    w = np.exp(-np.random.default_rng(8).random(16) * 6)
    np.save("c.npy", np.cos(np.outer(np.arange(100), w)).astype(np.float32))
    ask("identify", "c.npy").says(
        "unknown", "cosines or sines, 16 frequencies", "0.5264 to 0.005411 radians a row in the 15 that"
    )


@pytest.mark.parametrize("shape", [(0,), (8, 0), (0, 0), (1, 0, 4)])
@pytest.mark.parametrize("recipe", ["sinusoidal:dim=8,len=4", "alibi:heads=4,len=4", "rope:dim=8"])
def test_an_empty_array_is_another_shape(ask, shape, recipe):
    np.save("e.npy", np.zeros(shape, np.float32))
    ask("compare", "e.npy", recipe).ends(1).says("different", "shape")


def test_positions_that_overflow_eight_bits_are_told_with_their_rows(ask):
    positions = np.arange(300).astype(np.int8)
    w = 10000.0 ** -(np.arange(16) / 16)
    angles = np.outer(positions, w)
    np.savez("c.npz", cos=np.cos(angles).astype(np.float32), sin=np.sin(angles).astype(np.float32))
    ask("compare", "c.npz", "rope:dim=32").ends(1).says("rows 128 to 299 at -128 to 43, as 8-bit integers overflow")


def test_slopes_of_the_first_of_more_heads_are_told(ask):
    np.save("s.npy", np.array([2.0 ** (-8 * k / 32) for k in range(1, 9)], np.float32))
    ask("compare", "s.npy", "alibi:heads=8").ends(1).says("bias-max 2", "slopes of heads 0 to 7 of 32")


def test_turns_beyond_half_a_turn_a_row_are_measured_backwards(ask):
    w = np.random.default_rng(4).normal(0, 0.4, 16)
    angles = np.outer(np.arange(100), w)
    np.save("f.npy", np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32))
    ask("identify", "f.npy").says(
        "unknown", f"{abs(w).max():.4g} to {abs(w).min():.4g} radians a row, some of them backward"
    ).never(" 5.", " 6.")


def test_noise_as_small_as_rounding_is_not_called_rounding(ask):
    w = 10000.0 ** -(np.arange(32) / 32)
    angles = np.outer(np.arange(128), w)
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(128, 64)
    np.save("f.npy", (table + np.random.default_rng(1).normal(0, 1e-6, table.shape)).astype(np.float32))
    ask("compare", "f.npy", "sinusoidal:dim=64").ends(1).says("standard deviation 1e-06").never("rounding", "harmless")


def inv_freq(dim, base=10000.0):
    return (base ** -(np.arange(0, dim, 2) / dim)).astype(np.float32)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones(32, np.float32), "every pair turns by 1 radian a position"),
        (np.eye(1, 32, dtype=np.float32)[0], "frequencies 1 to 31 are zero"),
        (inv_freq(64)[::-1], "the pairs are reversed"),
        (inv_freq(32), "16 frequencies where 32 were expected: those of rope:dim=32"),
        (inv_freq(64, 500000), "base 500000 where 10000 was expected"),
        (np.tile(inv_freq(64), 2), "64 frequencies where 32 were expected: each stands twice"),
        (inv_freq(64)[1:], "31 frequencies where 32 were expected"),
        (2 * np.pi / inv_freq(64), "wavelengths stand where frequencies were expected"),
        (-inv_freq(64), "the sign of every frequency is changed"),
        (np.sort(np.random.default_rng(3).random(32))[::-1].astype(np.float32), "frequencies"),
    ],
)
def test_a_vector_is_compared_as_frequencies(ask, values, words):
    np.save("inv_freq.npy", np.ascontiguousarray(values))
    ask("compare", "inv_freq.npy", "rope:dim=64").ends(1).says(words).never("compared:", "one value")


def test_angles_are_not_compared_with_cosines_alone(ask):
    np.save("a.npy", np.outer(np.arange(64) / 2, inv_freq(32)).astype(np.float32))
    ask("compare", "a.npy", "rope:dim=32").says("linear scaling (factor 2)").never("compared:")


def test_rows_of_zeros_at_the_end_are_padding(ask):
    table = np.zeros((86, 32), np.float32)
    table[:80] = sinusoid(80, 32)
    np.save("p.npy", table)
    ask("identify", "p.npy").says("sinusoidal:dim=32,len=80", "sure", "rows 80 to 85 are zero")


def test_decimals_of_float32_values_are_decimals_of_the_exact_ones(ask):
    np.savetxt("p.csv", sinusoid(80, 32).astype(np.float32), fmt="%.4f", delimiter=",")
    ask("compare", "p.csv", "sinusoidal:dim=32").says("rounded to 4 decimals").never("one value")


def test_evenly_spaced_frequencies_are_called_so(ask):
    angles = np.outer(np.linspace(-1, 1, 20), np.linspace(1, 32, 16) * np.pi)
    np.save("a.npy", np.repeat(angles, 2, 1).astype(np.float32))
    ask("identify", "a.npy").says("evenly spaced", "10.58 to 0.33")


def test_channels_that_come_first_are_told(ask):
    ask("generate", "sincos2d:dim=64,grid=5x7", "-o", "t.npy")
    np.save("f.npy", np.ascontiguousarray(np.load("t.npy").reshape(5, 7, 64).transpose(2, 0, 1)))
    ask("identify", "f.npy").says("sincos2d", "the channels come before the grid")
    ask("compare", "f.npy", "sincos2d:dim=64,grid=5x7").ends(1).says("the channels come before the grid")


def test_cut_buckets_of_deberta_are_told_where_the_logarithm_is_whole(ask):
    steps = np.abs(np.arange(160)[:, None] - np.arange(160))
    far = 32 + np.floor(31 * np.log(np.maximum(steps, 32) / 32) / np.log(127 / 32) + 1e-9)
    index = np.where(steps <= 32, steps, far) * np.sign(np.arange(160)[:, None] - np.arange(160))
    np.save("i.npy", index.astype(np.int64))
    ask("compare", "i.npy", "deberta:buckets=64,max-distance=128").says("are cut").never("do not fit")


def window(side, reach):
    behind = np.arange(side)[:, None] - np.arange(side)
    return np.where((behind >= 0) & (behind < reach), 0, -np.inf).astype(np.float32)


def test_an_inverted_mask_is_told(ask):
    mask = window(24, 99) == 0
    np.save("m.npy", ~mask)
    np.save("e.npy", mask)
    ask("compare", "m.npy", "e.npy").ends(1).says("all values are exchanged: 0 stands where 1 was expected")


@pytest.mark.parametrize(("reach", "words"), [(7, "0 to 6 keys before"), (24, "not after the query (causal)")])
def test_another_sliding_window_is_told_by_its_distances(ask, reach, words):
    np.save("m.npy", window(24, reach))
    np.save("e.npy", window(24, 8))
    ask("compare", "m.npy", "e.npy").ends(1).says(words, "expected: at 0 to 7 keys before the query")


def test_a_part_of_complex_numbers_is_not_read_alone(ask):
    angles = np.outer(np.arange(50), inv_freq(64))
    np.save("f.npy", (angles * np.exp(1j)).astype(np.complex64))
    ask("compare", "f.npy", "rope:dim=64").ends(1).never("rounding", "advance")


@pytest.mark.parametrize("values", [np.full(32, np.nan), np.full(32, np.inf), np.arange(32), np.ones(32, bool)])
def test_a_vector_of_other_numbers_is_not_harmless(ask, values):
    np.save("v.npy", values)
    ask("compare", "v.npy", "rope:dim=64").ends(1).says("different").never("harmless")


def test_a_base_for_each_axis_is_compared(ask):
    ask("generate", "rope-axes:axes=4+4+4,grid=2x4x6,base=100", "-o", "r.npz")
    ask("compare", "r.npz", "rope-axes:axes=4+4+4,grid=2x4x6,base=100+100+500").ends(1).says("base 100", "100+100+500")


def test_a_long_vector_is_no_list_of_frequencies(ask):
    np.save("v.npy", np.linspace(1, 0, 1 << 21, dtype=np.float32))
    ask("compare", "v.npy", "rope:dim=64").ends(1).says("different").never("frequencies")


@pytest.mark.parametrize(("decimals", "words"), [(8, "at most 5e-09 off"), (5, "at most 5e-06 off")])
def test_frequencies_printed_with_some_decimals_are_told_so(ask, decimals, words):
    np.savetxt("w.csv", 10000.0 ** (-np.arange(32) / 32), fmt=f"%.{decimals}f")
    ask("compare", "w.csv", "rope:dim=64").ends(1).says(f"rounded to {decimals} decimals", words)


def test_frequencies_cut_to_decimals_are_told_so(ask):
    np.savetxt("w.txt", np.trunc(10000.0 ** (-np.arange(32) / 32) * 1e6) / 1e6, fmt="%.6f")
    ask("compare", "w.txt", "rope:dim=64").ends(1).says("cut to 6 decimals")


def test_frequencies_of_float32_are_printed_with_decimals_as_well(ask):
    np.savetxt("w.txt", inv_freq(128, 500000.0).astype(np.float32), fmt="%.8f")
    ask("compare", "w.txt", "rope:dim=128,base=500000").ends(1).says("rounded to 8 decimals").never("base 50000")


def test_frequencies_of_a_base_that_nobody_published_are_told(ask):
    np.savetxt("w.csv", inv_freq(64, 10000.0 * 4 ** (64 / 63)), fmt="%.8f")
    ask("compare", "w.csv", "rope:dim=64,scaling=ntk,factor=4").ends(1).says(
        "plain base 40889.9 where base 10000 with ntk"
    )


@pytest.mark.parametrize("shape", [(64,), (1, 64), (1, 1, 64)])
def test_one_row_alone_is_found_among_the_expected_ones(ask, shape):
    np.save("r.npy", sinusoid(128, 64)[5].reshape(shape).astype(np.float32))
    ask("compare", "r.npy", "sinusoidal:dim=64,len=128").ends(1).says("one row, which is row 5 of the 128")


def test_a_row_of_small_numbers_is_no_row_of_other_small_numbers(ask):
    rng = np.random.default_rng(1)
    table = (rng.normal(size=(64, 32)) * 1e-5).astype(np.float32)
    np.save("t.npy", table)
    np.save("r.npy", -table[5])
    ask("compare", "r.npy", "t.npy").ends(1).never("one row")


@pytest.mark.parametrize("shape", [(64, 32), (32,)])
def test_complex_values_beside_real_ones_are_no_other_rows_of_them(ask, shape):
    rng = np.random.default_rng(1)
    np.save("t.npy", sinusoid(64, 32).astype(np.float32))
    np.save("c.npy", (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64))
    ask("compare", "c.npy", "t.npy").ends(1).says("different").never("internal error", "one row", "noise")


@pytest.mark.parametrize(
    "make",
    [lambda t, rng: rng.normal(size=t.shape), lambda t, rng: rng.normal(size=t.shape) * 100, lambda t, rng: np.rint(t)],
)
def test_other_trained_values_and_rounded_ones_are_no_noise(ask, make):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(64, 32))
    for size in (1, 1e-5):
        np.save("t.npy", (table * size).astype(np.float32))
        np.save("o.npy", (make(table, rng) * size).astype(np.float32))
        ask("compare", "o.npy", "t.npy").ends(1).says("different").never("noise", "all sines stand")


def test_frequencies_of_one_base_are_not_those_of_another(ask):
    rng = np.random.default_rng(1)
    np.save("w.npy", inv_freq(128, 1e6) + 1e-5 * rng.random(64) * (np.arange(64) > 1))
    ask("compare", "w.npy", "rope:dim=128,base=1000000").ends(1).never("where those of")


@pytest.mark.parametrize(("size", "words"), [(0.001, "deviation 0.001"), (1.0, "deviation 1")])
def test_unrelated_numbers_that_are_added_are_told(ask, size, words):
    noise = np.random.default_rng(3).normal(0, size, (100, 64))
    np.save("p.npy", (sinusoid(100, 64) + noise).astype(np.float32))
    ask("compare", "p.npy", "sinusoidal:dim=64,len=100").ends(1).says("plus unrelated numbers", words)


def test_bytes_of_a_table_are_whole_multiples(ask):
    angles = np.outer(np.arange(300), inv_freq(64))
    np.savez("c.npz", **{f.__name__: np.round(127 * f(angles)).astype(np.int8) for f in (np.cos, np.sin)})
    ask("compare", "c.npz", "rope:dim=64,len=300").ends(1).says("127 times", "rounded to whole numbers")


def test_a_weight_left_out_of_yarns_attention_factor_is_named(ask):
    recipe = "rope:dim=64,scaling=yarn,factor=40,original-max=4096,mscale=0.707"
    ask("generate", f"{recipe},len=300", "-q", "-o", "y.npz")
    ask("compare", "y.npz", f"{recipe},mscale-all-dim=0.707").ends(1).says(
        "mscale-all-dim is missing: attention factor 1.2608 where 1 was expected"
    )


def test_slopes_and_key_positions_of_common_slips_are_named(ask):
    extra = [2.0 ** (-8 * k / 16) for k in range(1, 5)]
    np.save("s.npy", np.array([*(2.0**-k for k in range(1, 9)), *extra], np.float32))
    ask("compare", "s.npy", "alibi:heads=12,form=slopes").ends(1).says(
        "heads 8 to 11 have the first slopes of 16 heads"
    )
    bias = np.array([2.0**-k for k in range(1, 9)])[:, None, None] * np.arange(1, 26)
    np.save("b.npy", bias.astype(np.float32))
    ask("compare", "b.npy", "alibi:heads=8,convention=bloom,len=25,queries=1").ends(1).says(
        "positions start at 1 where"
    )


def test_buckets_that_are_not_held_to_the_last_one_are_told(ask):
    d = np.arange(500)[None, :] - np.arange(500)[:, None]
    n = np.abs(d)
    far = 8 + (np.log(np.maximum(n, 8) / 8) / np.log(128 / 8) * 8 + 1e-9).astype(int)
    np.save("i.npy", 16 * (d > 0) + np.where(n < 8, n, far))
    ask("compare", "i.npy", "t5:form=index,len=500").ends(1).says("not held to the last one")


def test_heads_that_are_exchanged_with_queries_are_no_batch(ask):
    np.save("w.npy", np.random.default_rng(2).normal(size=(32, 6)).astype(np.float32))
    ask("generate", "t5:heads=6,weights=w.npy,len=60", "-q", "-o", "b.npz")
    np.save("t.npy", np.load("b.npz")["bias"].transpose(0, 2, 1))
    ask("compare", "t.npy", "t5:heads=6,weights=w.npy,len=60").ends(1).says("axes are exchanged").never("copies")


def test_tokens_of_two_rotated_files_are_no_heads(ask):
    """A chunk of decoding whose positions start again at 0, in a model with two heads."""
    x, w = np.random.default_rng(5).normal(size=(1, 2, 48, 64)), 10000.0 ** (-np.arange(32) / 32)
    for name, positions in (("all.npy", np.arange(48)), ("chunk.npy", np.arange(48) % 32)):
        c, s = (f(positions[:, None] * w) for f in (np.cos, np.sin))
        a, b = x[..., :32], x[..., 32:]
        np.save(name, np.concatenate([a * c - b * s, b * c + a * s], -1).astype(np.float32))
    said = "axis 2, indices from 32 on: positions are 32 earlier"
    ask("compare", "chunk.npy", "all.npy").ends(1).says(said).never("heads")


def test_one_tolerance_accepts_all_rotated_tensors(ask):
    rng, w = np.random.default_rng(6), 10000.0 ** (-np.arange(32) / 32)
    both = {name: {} for name in ("kernel.npz", "torch.npz")}
    for key, heads, size in (("q_rotated", 4, 3.0), ("k_rotated", 2, 0.5)):
        x = size * rng.normal(size=(1, heads, 60, 64)).astype("f4")
        for name, dtype in (("kernel.npz", np.float64), ("torch.npz", np.float32)):
            c, s = (f(np.arange(60)[:, None].astype(dtype) * w.astype(dtype)) for f in (np.cos, np.sin))
            a, b = x[..., :32], x[..., 32:]
            both[name][key] = np.concatenate([a * c - b * s, b * c + a * s], -1).astype("f4")
    for name, arrays in both.items():
        np.savez(name, **arrays)
    said = ask("compare", "kernel.npz", "torch.npz").ends(1).says("different, but harmless: float32 rounding").out
    (most,) = re.findall("--atol ([^ ]*) accepts", " ".join(said.split()))
    ask("compare", "kernel.npz", "torch.npz", "--atol", most).ends(0)


def test_a_bias_of_weights_needs_no_index_beside_it(ask):
    np.save("w.npy", np.random.default_rng(2).normal(size=(32, 6)).astype(np.float32))
    ask("generate", "t5:heads=6,weights=w.npy,len=60", "-q", "-o", "b.npz")
    bias = np.load("b.npz")["bias"]
    np.savez("t.npz", bias=bias[None])
    ask("compare", "t.npz", "t5:heads=6,weights=w.npy").ends(0).says("same")
    ask("compare", "t.npz", "b.npz").ends(1).says("only B has 'index'").never("other values")


def test_key_positions_that_are_one_too_large_are_told_of_every_query(ask):
    recipe = "alibi:heads=8,bias=key-position,mask=causal,len=16"
    ask("generate", f"{recipe},start=1", "-o", "k.npy")
    ask("compare", "k.npy", recipe).ends(1).says("positions start at 1 where").never("do not fit")


def test_a_query_scale_without_steps_is_told(ask):
    np.save("q.npy", (1 + 0.1 * np.log1p((np.arange(40000) + 1) / 8192)).astype(np.float32))
    ask("compare", "q.npy", "query-scale:length=8192,len=40000").ends(1).says("the floor is missing")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5), "standardised"),
        (lambda x: np.stack([x[:, ::2], np.cos(x[:, ::2])], 2).reshape(x.shape), "the cosine of the column before it"),
        (lambda x: np.stack([x[:, ::2], x[:, 1::2]]).reshape(x.shape), "all even columns stand before all odd ones"),
    ],
)
def test_what_was_done_to_whole_rows_is_told(ask, make, words):
    np.save("p.npy", make(sinusoid(90, 64)).astype(np.float32))
    ask("compare", "p.npy", "sinusoidal:dim=64,len=90").ends(1).says(words)


@pytest.mark.parametrize(("form", "words"), [("%.8f", "8 decimals"), ("%.4e", "5 significant digits")])
def test_printed_frequencies_are_named_and_compared_by_their_digits(ask, form, words):
    np.savetxt("w.csv", inv_freq(64).astype(np.float64), fmt=form)
    ask("identify", "w.csv").says(f"rope:dim=64 (sure: {words})", f"rounded to {words}")
    ask("compare", "w.csv", "rope:dim=64").ends(1).says(f"the frequencies are rounded to {words}").never("base")
    ask("compare", "w.csv", "rope:dim=64,base=500000").ends(1).says("base 10000 where 500000 was expected")


def bf16(values):
    return rounded(values, "bfloat16").astype(np.float32)


def doubled(rows, dim, base=10000.0, by=1):
    angles = np.outer(np.arange(rows), base ** -(np.arange(0, dim, 2) / dim) / by)
    return {name: np.concatenate([part(angles)] * 2, 1) for name, part in (("cos", np.cos), ("sin", np.sin))}


@pytest.mark.parametrize(
    ("kind", "by", "recipe"), [("f4", 4, "rope:dim=64,scaling=linear,factor=4"), ("f2", 1, "rope:dim=64,dtype=float16")]
)
def test_the_rows_of_a_cache_that_were_never_filled_are_zero(ask, kind, by, recipe):
    table = {name: values.astype(kind) for name, values in doubled(512, 64, by=by).items()}
    for values in table.values():
        values[90:] = 0
    np.savez("c.npz", **table)
    ask("compare", "c.npz", f"{recipe},len=512").ends(1).says("rows 90 to 511 are zero").never("ramp", "decimals")


@pytest.mark.parametrize("gone", [1, 91])
def test_a_missing_row_is_named_wherever_it_is(ask, gone):
    np.savez("c.npz", **{name: np.delete(v, gone, 0).astype("f4") for name, v in doubled(128, 64).items()})
    ask("compare", "c.npz", "rope:dim=64,len=128").ends(1).says(f"row {gone} is missing").never("start at", "row 127")


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_value_of_a_grid_that_is_no_number_is_shown(ask, odd):
    w = 10000.0 ** -(np.arange(8) / 8)
    y, x = (np.outer(at.ravel(), w) for at in np.mgrid[:7, :7])
    table = np.concatenate([np.sin(x), np.cos(x), np.sin(y), np.cos(y)], 1).astype(np.float32)
    table[9, 31] = odd
    np.save("g.npy", table)
    ask("compare", "g.npy", "sincos2d:dim=32,grid=7x7").ends(1).says("array[9, 31] is", "1 of 1,568")


def test_a_few_rows_that_follow_no_wave_are_placed_in_doubled_columns(ask):
    table = {name: bf16(values) for name, values in doubled(512, 64).items()}
    table["sin"][430:435] = np.random.default_rng(3).standard_normal((5, 64))
    np.savez("c.npz", **table)
    ask("compare", "c.npz", "rope:dim=64,dtype=bfloat16").ends(1).says("sin", "rows 430 to 434")


def test_one_row_at_another_position_has_the_right_sign(ask):
    np.save("r.npy", sinusoid(6, 512)[1:2].astype(np.float32))
    ask("compare", "r.npy", "sinusoidal:dim=512").ends(1).says("positions start at 1 where 0").never("sign")


def test_a_row_that_stands_twice_is_no_step_of_narrow_positions(ask):
    table = bf16(sinusoid(300, 64))
    np.save("t.npy", np.insert(table, 26, table[26], 0)[:300])
    ask("compare", "t.npy", "sinusoidal:dim=64,dtype=bfloat16").says("row 26 is repeated").never("advance")


def test_a_factor_of_narrow_values_is_the_round_one(ask):
    w = 500000.0 ** -(np.arange(0, 64, 2) / 64)
    length, smooth = 2 * np.pi / w, (8192 * w / 2 / np.pi - 1) / 3
    w = np.where(length > 8192, w / 32, np.where(length < 2048, w, (1 - smooth) * w / 32 + smooth * w))
    angles = np.outer(np.arange(256), w)
    np.savez("c.npz", cos=np.cos(angles).astype("f2"), sin=np.sin(angles).astype("f2"))
    ask("identify", "c.npz").says("factor=32,", "sure: all values equal")


def test_a_base_of_narrow_values_that_gives_few_of_them_is_likely_at_most(ask):
    np.savez("c.npz", **{name: bf16(v) for name, v in doubled(3, 64, 10000 * 8 ** (64 / 62)).items()})
    ask("identify", "c.npz").says("likely").never("sure")


def test_frequencies_of_half_the_width_stand_twice(ask):
    w = np.tile(10000.0 ** -(np.arange(0, 32, 2) / 32), 4)
    angles = np.outer(np.arange(200), w)
    np.savez("c.npz", cos=np.cos(angles).astype("f4"), sin=np.sin(angles).astype("f4"))
    ask("compare", "c.npz", "rope:dim=64").ends(1).says("the frequencies of 16 pairs stand twice").never("series")


def test_values_in_steps_are_no_other_frequencies(ask):
    table = np.concatenate([*({k: v[:, :32] for k, v in doubled(256, 64, 5e5).items()}).values()], 1)
    np.save("q.npy", (np.round(table * 127) / 127).astype("f2"))
    ask("compare", "q.npy", "rope:dim=64,base=500000,layout=concat,dtype=float16").never("frequencies")


def test_cosines_of_the_other_sign_leave_the_positions(ask):
    table = sinusoid(80, 64)
    table[:, 1::2] *= -1
    np.save("t.npy", table.astype(np.float32))
    ask("identify", "t.npy").says("sinusoidal:dim=64,len=80 (likely", "every cosine has the other sign").never("step")


def test_the_largest_difference_is_no_larger_than_is_said(ask):
    np.save("x.npy", np.random.default_rng(5).normal(0, 0.3, (64, 32)).astype(np.float32))
    said = ask("compare", "x.npy", "sinusoidal:dim=32")
    most = float(re.search(r"by at most ([0-9.]+)", said.out)[1])
    assert most >= np.abs(np.load("x.npy") - sinusoid(64, 32)).max()


def test_an_attention_factor_that_divides_is_told(ask):
    recipe = "rope:dim=128,base=1000000,scaling=yarn,factor=4,original-max=32768"
    right, size = pecli.table(f"{recipe},len=64,dtype=float64"), 0.1 * np.log(4) + 1
    np.savez("c.npz", **{name: (right[name] / size**2).astype("f4") for name in ("cos", "sin")})
    ask("compare", "c.npz", recipe).ends(1).says(
        "the magnitude divides the values where it should multiply them (attention factor 1.13863)"
    )


def test_exponents_over_another_width_are_told_beside_a_missing_scaling(ask):
    np.save("w.npy", (10000.0 ** -(np.arange(0, 64, 2) / 192)).astype(np.float32))
    ask("compare", "w.npy", "rope:dim=64,scaling=yarn,factor=40,original-max=4096").ends(1).says(
        "plain base 10000 with exponents over 192 where base 10000 with yarn scaling"
    )


def test_an_index_of_a_window_that_was_not_shifted_is_told(ask):
    y, x = (at.ravel() for at in np.mgrid[:7, :7])
    np.save("i.npy", (y[:, None] - y) * 13 + x[:, None] - x)
    ask("compare", "i.npy", "window:convention=swin,grid=7x7").says("84 is subtracted from all values")


def test_original_lengths_that_give_the_same_frequencies_are_listed(ask):
    table = pecli.table("rope:dim=16,scaling=yarn,factor=4,original-max=2048,len=64")
    np.savez("c.npz", cos=table["cos"], sin=table["sin"])
    ask("identify", "c.npz").says("original-max=4096", "the same as", "original-max=2048")


def signed_alibi(heads=8, keys=32):
    distance = np.arange(keys)[:, None] - np.arange(keys)
    return -(2.0 ** -np.arange(1, heads + 1))[:, None, None] * distance


def test_a_finite_mask_of_a_bias_is_noted(ask):
    np.save("a.npy", np.where(np.tri(32) > 0, signed_alibi(), -1e9).astype(np.float32))
    ask("identify", "a.npy").says("mask=causal", "masked pairs hold -1e+09 in place of -inf").never("all values equal")


def test_a_bias_that_keeps_the_sign_of_the_distance_has_the_slopes_of_alibi(ask):
    np.save("a.npy", signed_alibi().astype(np.float32))
    ask("identify", "a.npy").says("nearly alibi:heads=", "the distance keeps its sign")


def test_heads_that_stand_last_say_nothing_of_the_keys(ask):
    np.save("a.npy", np.moveaxis(-np.abs(signed_alibi(keys=16)), 0, 2).astype(np.float32))
    ask("compare", "a.npy", "alibi:heads=8").ends(1).says("the heads are the last axis").never("8 were expected")


@pytest.mark.parametrize(("positions", "over"), [(np.linspace(0, 1, 2100), 2099), (np.arange(512) / 512, 512)])
def test_positions_over_the_length_are_told_from_those_over_the_last_row(ask, positions, over):
    angles = positions[:, None] * 10000.0 ** -(np.arange(32) / 32)
    np.save("p.npy", np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), 64).astype("f2"))
    ask("compare", "p.npy", "sinusoidal:dim=64,dtype=float16").ends(1).says(f"positions are divided by {over}, the")


def test_exact_values_of_two_caches_are_no_rounding(ask):
    two = [doubled(256, 64, base) for base in (1e6, 1e4)]
    np.savez("c.npz", **{name: np.concatenate([one[name] for one in two]).astype("f4") for name in two[0]})
    ask("compare", "c.npz", "rope:dim=64,base=1000000,len=256").says("rows 256 to 511: base 10000").never("rounding")


def test_rounded_frequencies_of_a_grid_are_off_by_what_the_values_are(ask):
    w = bf16(10000.0 ** -(np.arange(0, 32, 2) / 32)).astype(np.float64)
    angles = np.concatenate([np.outer(at.ravel(), w) for at in np.mgrid[:14, :14]], 1)
    np.savez("g.npz", cos=np.cos(angles).astype("f4"), sin=np.sin(angles).astype("f4"))
    said = ask("compare", "g.npz", "rope2d:dim=64,grid=14x14").ends(1).says("frequencies were rounded to bfloat16")
    assert float(re.search(r"off by up to ([0-9.e-]+)", said.out)[1]) >= 0.001


def test_a_spoiled_row_of_narrow_values_is_no_part_of_their_rounding(ask):
    table = sinusoid(128, 64).astype("f2")
    table[3] = 0.5
    np.save("t.npy", table)
    ask("identify", "t.npy").says("likely: 99.22 % of the values equal", "do not fit: row 3").never("differences up to")


@pytest.mark.parametrize("decimals", [2, 4, 6])
def test_printed_tables_are_compared_by_their_parameters(ask, decimals):
    table = np.stack([part(np.outer(np.arange(64), frequencies(32, 5e5))) for part in (np.sin, np.cos)], -1)
    np.savetxt("t.csv", table.reshape(64, 32), fmt=f"%.{decimals}f", delimiter=",")
    ask("compare", "t.csv", "sinusoidal:dim=32").ends(1).says("base 500000 where 10000 was expected").never("radians")


def test_cut_decimals_are_no_float32_phases(ask):
    angles = np.outer(np.arange(64), frequencies(32, 5e5))
    full = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(64, 32)
    np.save("full.npy", full)
    np.save("cut.npy", np.trunc(full * 1e6) / 1e6)
    ask("identify", "cut.npy").says("every value is the exact one cut to 6 decimals").never("phases")
    ask("compare", "cut.npy", "full.npy").ends(1).says("all values are cut to 6 decimals").never("phases", "harmless")


def test_two_values_that_differ_are_not_one(ask):
    table = sinusoid(64, 32)
    table[[3, 7], [4, 2]] += 0.25
    np.save("t.npy", table)
    ask("compare", "t.npy", "sinusoidal:dim=32,dtype=float64").says("array[3, 4] is", "array[7, 2] is").never(
        "one value"
    )


def test_two_narrow_types_are_told_apart(ask):
    whole = doubled(256, 64, 5e5)
    np.savez("h.npz", **{name: v.astype("f2") for name, v in whole.items()})
    ask("compare", "h.npz", "rope:dim=64,base=500000,dtype=bfloat16").ends(1).says(
        "values were rounded to float16 where bfloat16 was expected"
    )


def test_a_table_of_digits_with_a_column_of_positions_is_named(ask):
    rows = [f"{row},{','.join(f'{x:.6f}' for x in values)}" for row, values in enumerate(sinusoid(40, 16))]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["pos," + ",".join(f"d{k}" for k in range(16)), *rows]) + "\n")
    ask("identify", "t.csv").says("sinusoidal:dim=16,len=40 (sure: 6 decimals)")


def test_a_fitted_base_that_gives_few_values_is_not_sure(ask):
    np.savez(
        "c.npz", **{name: v[:, :32].astype("f4") for name, v in doubled(500, 64, 10000.0 * 4 ** (64 / 63)).items()}
    )
    ask("identify", "c.npz").says("likely").never("sure")


def test_the_exponent_of_listed_frequencies_is_told_before_the_base_that_it_amounts_to(ask):
    np.save("w.npy", (10000.0 ** -(np.arange(32) / 64)).astype(np.float32))
    ask("compare", "w.npy", "rope:dim=64").ends(1).says("exponent i/d where 2i/d was expected, or base 100")


def test_float32_frequencies_of_narrow_positions_leave_no_other_values(ask):
    w = (1 / 10000.0 ** (np.arange(0, 64, 2, dtype=np.float32) / np.float32(64))).astype(np.float32)
    angles = np.outer(bf16(np.arange(1000)).astype(np.float64), w.astype(np.float64))
    np.savez("c.npz", cos=np.cos(angles).astype("f4"), sin=np.sin(angles).astype("f4"))
    ask("compare", "c.npz", "rope:dim=64").ends(1).says("positions were rounded to bfloat16").never("by more than")


def half_split(x, angles):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_rotated_tensors_of_float32_phases_are_told_apart_by_their_pairs(ask, base):
    x = np.random.default_rng(3).normal(size=(2, 4, 64, 64)).astype(np.float32)
    exponents = np.arange(0, 64, 2, dtype=np.float32) / np.float32(64)
    angles = np.outer(np.arange(64, dtype=np.float32), (1 / np.float32(base) ** exponents).astype(np.float32))
    other = half_split(np.concatenate([x[..., ::2], x[..., 1::2]], -1), angles)
    np.save("want.npy", half_split(x, angles).astype(np.float32))
    np.save("have.npy", np.stack(np.split(other, 2, -1), -1).reshape(x.shape).astype(np.float32))
    ask("compare", "have.npy", "want.npy").ends(1).says(
        "interleaved pairs were rotated where half-split", f"{base:g}"[:3]
    )


def test_values_that_were_cut_off_at_zero_are_told(ask):
    np.save("t.npy", np.maximum(sinusoid(60, 32), 0).astype(np.float32))
    ask("compare", "t.npy", "sinusoidal:dim=32").ends(1).says("all values are cut off at 0: the negative ones are 0")


def test_equal_rows_are_of_a_position_even_if_no_expected_row_is_that(ask):
    np.save("t.npy", np.tile(sinusoid(100, 32)[99], (60, 1)).astype(np.float32))
    ask("compare", "t.npy", "sinusoidal:dim=32").ends(1).says("every row holds position 99")
    ask("identify", "t.npy").ends(0).says("unknown", "every row is the same")


def test_a_table_put_twice_one_after_the_other_is_not_called_rounded(ask):
    np.save("t.npy", np.tile(sinusoid(256, 32), (2, 1)).astype(np.float32))
    answer = ask("compare", "t.npy", "sinusoidal:dim=32,len=512").ends(1)
    answer.says("rows from 256 on repeat the first 256").never("rounding")


def test_a_row_for_padding_outside_the_positions_is_not_missing(ask):
    phases = np.arange(100)[:, None] * 10000.0 ** (-np.arange(32) / 31)
    np.save("t.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1).astype(np.float32))
    answer = ask("compare", "t.npy", "sinusoidal:dim=64,convention=fairseq,start=2").ends(1)
    answer.says("positions start at 0 where 2 was expected").never("pad-row")


def test_vectors_of_distances_give_the_length_of_the_recipe(ask):
    ask("generate", "transformer-xl:dim=16,len=20", "-o", "t.npz").ends(0)
    np.save("v.npy", np.load("t.npz")["vector"])
    ask("compare", "v.npy", "transformer-xl:dim=16").ends(0).says("same")


def test_nan_has_no_distance_from_a_number(ask):
    table = sinusoid(8, 4).astype(np.float32)
    table[:, 1] = np.nan
    np.save("t.npy", table)
    assert ask("compare", "t.npy", "sinusoidal:dim=4").ends(1).out.splitlines()[-1].split()[2] == "nan"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (2.0 * frequencies(64), "every frequency is 2 times the expected one"),
        (frequencies(64) / 4, "linear scaling (factor 4) where none was expected"),
        (rounded(frequencies(64), "bfloat16"), "the frequencies were rounded to bfloat16"),
    ],
)
def test_what_differs_in_a_list_of_frequencies_is_said_of_frequencies(ask, values, said):
    np.save("w.npy", values.astype(np.float32))
    ask("compare", "w.npy", "rope:dim=64").ends(1).says(said).never("position", "magnitude")


def test_the_scaled_length_in_place_of_the_original_one_is_told(ask):
    table = pecli.table("rope:dim=64,scaling=yarn,factor=40,original-max=163840,mscale=1,mscale-all-dim=1,len=256")
    np.savez("c.npz", cos=table["cos"], sin=table["sin"])
    recipe = "rope:dim=64,scaling=yarn,factor=40,original-max=4096,mscale=1,mscale-all-dim=1,len=256"
    ask("compare", "c.npz", recipe).ends(1).says("original-max 163840 where 4096 was expected").never("beta-fast")


def test_numbers_that_float16_rounds_are_no_sines(ask):
    values = np.arange(2080, dtype=np.float32).reshape(260, 8)
    np.save("want.npy", values)
    np.save("have.npy", values.astype(np.float16))
    ask("compare", "have.npy", "want.npy").ends(1).never("sines", "stacked")


def test_sines_against_cosines_are_said_to_be_sines(ask):
    for name in ("cos", "sin"):
        np.save(f"{name}.npy", component(name, "half"))
    ask("compare", "sin.npy", "cos.npy").ends(1).says("every column holds sines where cosines were expected")


def test_exponents_that_are_not_divided_by_the_width_are_told(ask):
    phases = np.outer(np.arange(256), 10000.0 ** -np.arange(0, 32, 2))
    np.savez("c.npz", cos=np.cos(phases).astype("float32"), sin=np.sin(phases).astype("float32"))
    ask("identify", "c.npz").says("nearly rope:dim=32: the exponent is not divided by d")
    ask("compare", "c.npz", "rope:dim=32").ends(1).says("different: the exponent is not divided by d")


def test_a_rewarding_alibi_of_few_heads_is_told(ask):
    bias = get_slopes(4)[:, None, None] * np.abs(distances(64))
    np.save("bias.npy", bias.astype("float32"))
    ask("identify", "bias.npy").says("nearly alibi:heads=4: the sign of all values is changed")


def test_sines_cut_to_integers_are_no_mask(ask):
    np.save("pe.npy", sinusoid(200, 32).astype(int))
    ask("identify", "pe.npy").says("nearly sinusoidal:dim=32: all values are cut to integers").never("mask")


def test_a_decimal_logarithm_is_told_of_the_base_that_has_it(ask):
    w = np.exp(-np.log10(10000) * np.arange(0, 128, 2) / 128)
    phases = (np.arange(600, dtype="float32")[:, None] * w.astype("float32")).astype("float32")
    np.save("pe.npy", np.stack([np.sin(phases), np.cos(phases)], axis=2).reshape(600, 128))
    ask("identify", "pe.npy").says("sinusoidal:dim=128,base=54.59815", ",len=600 (sure", "log10 stands for the natural")


def test_degrees_are_told_of_a_step(ask):
    phases = np.radians(np.outer(np.arange(512), frequencies(64)))
    np.savez("c.npz", cos=np.cos(phases), sin=np.sin(phases))
    ask("identify", "c.npz").says(
        "step=0.01745", "radians converted as if they were degrees: every angle is pi/180 times"
    )
