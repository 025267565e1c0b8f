"""Every fault that people report, injected into tables of the frameworks and into exact ones: it is named first."""

import json

import numpy as np
import pytest

from pecli import Table, open_table, write_table
from pecli.judge.compare import compare
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source
from pecli.tables.selection import InMemory
from tests.support.golden_cases import cases, values
from tests.support.unknown_tables import bf16, torch_frequencies

CONFIGS = (
    "rope_llama3_1_405b",
    "rope_yarn_llama2_7b_128k",
    "rope_llama2_7b",
    "rope_longchat_7b_16k_linear8",
    "rope_llama3_70b",
)


def reasons(folder, mine, expected):
    """What is said of arrays against a source."""
    np.savez(folder / "mine.npz", **mine)
    a, b = open_beside(read_source(str(folder / "mine.npz")), read_source(expected), 128)
    return [finding.text for finding in compare(a, b).findings]


def frequencies(name):
    """The module's own frequencies and magnitude."""
    arrays = values("configs")
    table = cases("configs")[name]["layers"]["all"]["tables"][0]
    return arrays[f"{name}/all/{table['frequencies']}/float32"], np.float32(table["magnitude"])


def framework(w, magnitude, rows=300, start=0, positions=None):
    """cos and sin as PyTorch computes them: float32 all the way."""
    p = np.arange(start, start + rows, dtype=np.float32) if positions is None else positions
    angle = (p[:, None] * w.astype(np.float32)).astype(np.float64)
    return [(f(angle).astype(np.float32) * magnitude).astype(np.float32) for f in (np.cos, np.sin)]


def doubled(cos, sin):
    return {"cos": np.concatenate([cos, cos], 1), "sin": np.concatenate([sin, sin], 1)}


@pytest.fixture(params=CONFIGS)
def model(request, tmp_path):
    """A model's config as a source, its frequencies and magnitude."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(cases("configs")[request.param]["config"]))
    w, magnitude = frequencies(request.param)
    return f"rope:config={path}", w, magnitude, request.param


def test_a_table_of_the_framework_itself_was_computed_in_float32(model, tmp_path):
    source, w, magnitude, _ = model
    assert reasons(tmp_path, doubled(*framework(w, magnitude)), source)[0].startswith("phases were computed in float32")


def test_interleaved_for_halves(model, tmp_path):
    source, w, magnitude, _ = model
    cos, sin = framework(w, magnitude)
    found = reasons(tmp_path, {"cos": np.repeat(cos, 2, 1), "sin": np.repeat(sin, 2, 1)}, source)
    assert found[0].startswith("equal after swapping interleaved for halves")


OTHER_BASE = {
    "rope_llama3_1_405b": (10000, "scaling llama3 and the base are missing: base 10000, unscaled"),
    "rope_yarn_llama2_7b_128k": (10000, "scaling yarn is missing: the frequencies are unscaled"),
    "rope_llama2_7b": (500000, "base 500000 where 10000 was expected"),
    "rope_longchat_7b_16k_linear8": (10000, "scaling linear is missing: the frequencies are unscaled"),
    "rope_llama3_70b": (10000, "base 10000 where 500000 was expected"),
}


def test_another_base(model, tmp_path):
    source, w, _, name = model
    base, said = OTHER_BASE[name]
    wrong = doubled(*framework(torch_frequencies(float(base), 2 * len(w)), np.float32(1)))
    assert reasons(tmp_path, wrong, source)[:2] == [said, "and phases were computed in float32"]


def test_positions_from_one(model, tmp_path):
    source, w, magnitude, _ = model
    found = reasons(tmp_path, doubled(*framework(w, magnitude, start=1)), source)
    assert found[0] == "positions start at 1 where 0 was expected"


def test_rows_that_repeat(model, tmp_path):
    source, w, magnitude, _ = model
    table = doubled(*framework(w, magnitude, rows=5000))
    for array in table.values():
        array[4096:] = array[: 5000 - 4096]
    assert reasons(tmp_path, table, source)[0].startswith("rows 4096 and up repeat")


def test_phases_in_bfloat16(model, tmp_path):
    source, w, magnitude, _ = model
    p = bf16(np.arange(600, dtype=np.float32))
    angle = bf16(p[:, None] * bf16(w)).astype(np.float64)
    cos, sin = (f(angle).astype(np.float32) * magnitude for f in (np.cos, np.sin))
    assert reasons(tmp_path, doubled(cos, sin), source)[0].startswith("phases were computed in bfloat16")


def test_positions_in_bfloat16_are_wrong_from_257_on(model, tmp_path):
    source, w, magnitude, _ = model
    cos, sin = framework(w, magnitude, positions=bf16(np.arange(600, dtype=np.float32)))
    found = reasons(tmp_path, doubled(cos, sin), source)[0]
    assert found.startswith("phases were computed in bfloat16 (positions rounded to bfloat16")
    assert found.endswith("): first wrong at position 257")


def test_an_arithmetic_is_said_of_the_rows_that_it_was_compared_with(tmp_path):
    table = Table.parse("rope:dim=16,len=3000,arithmetic=bfloat16")
    arrays = {name: table.read(name) for name in ("cos", "sin")}
    said = "phases were computed in bfloat16 (frequencies and positions and angles rounded to bfloat16)"
    assert reasons(tmp_path, arrays, "rope:dim=16") == [f"{said}: first wrong at position 5"]
    arrays["sin"][2500, 3] = 2
    found = reasons(tmp_path, arrays, "rope:dim=16")
    assert found[0] == f"{said}: first wrong at position 5"
    assert found[1].startswith("that leaves 1 of 48,000 values unexplained")
    assert found[1].endswith("the first at sin[2500, 3]")


def test_the_magnitude_missing(model, tmp_path):
    source, w, magnitude, name = model
    if magnitude != 1:
        assert name == "rope_yarn_llama2_7b_128k"
        assert reasons(tmp_path, doubled(*framework(w, np.float32(1))), source)[0] == "magnitude missing (1.3466)"
    else:
        found = reasons(tmp_path, doubled(*framework(w, np.float32(1.25))), source)[0]
        assert found == "magnitude 1.25 where 1 was expected"


def test_cos_and_sin_exchanged(model, tmp_path):
    source, w, magnitude, _ = model
    cos, sin = framework(w, magnitude)
    assert reasons(tmp_path, doubled(sin, cos), source)[0] == "cos and sin are exchanged"


def test_the_sign_of_sin(model, tmp_path):
    source, w, magnitude, _ = model
    cos, sin = framework(w, magnitude)
    assert reasons(tmp_path, doubled(cos, -sin), source)[0] == "the sign of sin is changed"


def test_a_shift_by_one_column(model, tmp_path):
    source, w, magnitude, _ = model
    table = {name: np.roll(array, 1, axis=1) for name, array in doubled(*framework(w, magnitude)).items()}
    assert reasons(tmp_path, table, source)[0] == "shifted by one column to the right"


DIVIDED = {  # what frequencies divided by 8 are beside each model's own
    "rope_llama3_1_405b": "linear factor 8 applied beside scaling llama3: every angle is 8 times too small",
    "rope_yarn_llama2_7b_128k": "linear factor 8 applied beside scaling yarn: every angle is 8 times too small",
    "rope_llama2_7b": "scaling linear factor 8 where none was expected",
    "rope_longchat_7b_16k_linear8": "linear factor applied twice (64 where 8 was expected)",
    "rope_llama3_70b": "scaling linear factor 8 where none was expected",
}


def test_a_linear_factor_of_eight_too_much(model, tmp_path):
    source, w, magnitude, name = model
    found = reasons(tmp_path, doubled(*framework(w / 8, magnitude)), source)
    assert found[:2] == [DIVIDED[name], "and phases were computed in float32"]


def test_an_exact_table_rounded_to_bfloat16(model, tmp_path):
    source, w, magnitude, _ = model
    rounded = {name: bf16(array) for name, array in doubled(*framework(w, magnitude)).items()}
    assert reasons(tmp_path, rounded, source)[0].startswith("the expected values rounded to bfloat16")


EXACT = "sinusoidal:dim=64,len=200"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: np.concatenate([p[:, 0::2], p[:, 1::2]], 1), "equal after swapping interleaved for halves"),
        (lambda p: p.reshape(200, 32, 2)[:, :, ::-1].reshape(200, 64), "cos and sin are exchanged"),
        (lambda p: p * np.where(np.arange(64) % 2, 1, -1).astype(np.float32), "the sign of sin is changed"),
        (lambda p: p[::-1], "the rows run backwards"),
        (lambda p: p[:, ::-1], "the columns run backwards"),
        (lambda p: np.roll(p, -1, axis=1), "shifted by one column to the left"),
        (lambda p: p * np.float32(8), "every value is 8 times what was expected"),
        (lambda p: p.astype(np.float16).astype(np.float32), "the expected values rounded to float16"),
        (lambda p: np.where(np.arange(200)[:, None] < 128, p, 0), "rows 128 and up are zero"),
        (lambda p: np.where(np.arange(200)[:, None] < 128, p, np.nan), "rows 128 and up are NaN"),
        (lambda p: p[np.minimum(np.arange(200), 127)], "rows 128 and up repeat row 127"),
        (lambda p: p[np.arange(200) % 77], "rows 77 and up repeat: row 77 is row 0 again"),
    ],
)
def test_changes_of_an_absolute_table(tmp_path, change, said):
    table = change(Table.parse(EXACT).read("pe")).astype(np.float32)
    assert reasons(tmp_path, {"pe": table}, EXACT)[0].startswith(said)


LONG = "sinusoidal:dim=64,len=2000"


def put(p, at, value):
    p[at] = value
    return p


def swapped(p, a, b):
    order = np.arange(p.shape[1])
    order[[a, b]] = b, a
    return p[:, order]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: put(p, (1500, 7), 0.25),
         ["pe: one value differs, at pe[1500, 7]: 0.25 where -0.467238307 was expected"]),
        (lambda p: put(p, (300, 7), np.nan),
         ["pe: one value differs, at pe[300, 7]: nan where 0.663548112 was expected"]),
        (lambda p: put(p, slice(1500, 1700), 7), ["rows 1500 to 1699: every value is 7"]),
        (lambda p: put(p, slice(1500, None), 0), ["rows 1500 and up are zero"]),
        (lambda p: put(p, (slice(None), 9), 7),
         ["pe: column 9 differs, in 2,000 of 2,000 rows: every value that differs is 7"]),
        (lambda p: put(p, 1999, 7), ["row 1999: every value is 7"]),
        (lambda p: np.concatenate([p[:17], p[18:]]), ["row 17 is missing", "pe: shape 1999 x 64 against 2000 x 64"]),
        (lambda p: np.concatenate([p[:17], p[16:-1]]), ["row 16 is there twice"]),
        (lambda p: swapped(p, 3, 5), ["columns 3 and 5 are exchanged"]),
        (lambda p: p.byteswap(), ["the four bytes of every value stand the other way round"]),
        (
            lambda p: p * np.where(np.arange(64) % 2, 2, 1),
            ["cos is 2 times what was expected: every second column from the second"],
        ),
        (lambda p: p + np.float32(0.5), ["0.5 is added to every value"]),
        (lambda p: put(np.concatenate([p[:, 0::2], p[:, 1::2]], 1), (1500, 7), 0.25),
         ["equal after swapping interleaved for halves: order sin-cos where interleaved was expected",
          "that leaves 1 of 128,000 values unexplained, by at most 1.1, the first at pe[1500, 7]"]),
        (lambda p: (p.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
         ["the expected values cut, not rounded, to bfloat16"]),
    ],
)  # fmt: skip
def test_what_is_said_explains_the_whole_table_or_counts_what_it_leaves(tmp_path, change, said):
    table = change(Table.parse(LONG).read("pe").copy()).astype(np.float32)
    assert reasons(tmp_path, {"pe": table}, LONG) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda cos, sin: (cos, cos), ["sin holds the values of cos"]),
        (lambda cos, sin: (cos * 2, sin), ["cos is 2 times what was expected"]),
        (lambda cos, sin: (sin, cos), ["cos and sin are exchanged"]),
        (lambda cos, sin: (cos, put(sin.copy(), (77, 3), 2)),
         ["sin: one value differs, at sin[77, 3]: 2 where 0.649281144 was expected"]),
    ],
)  # fmt: skip
def test_faults_of_one_of_two_arrays(tmp_path, change, said):
    table = Table.parse("rope:dim=16,len=300")
    cos, sin = change(table.read("cos"), table.read("sin"))
    assert reasons(tmp_path, {"cos": cos, "sin": sin}, "rope:dim=16,len=300") == said


@pytest.mark.parametrize(
    ("change", "expected", "said"),
    [
        (lambda b: b[::-1], "", ["the heads run backwards"]),
        (lambda b: -b, "", ["the sign of bias is changed"]),
        (lambda b: np.swapaxes(b, 1, 2), ",mask=causal", ["queries and keys are exchanged"]),
        (lambda b: np.where(np.tri(16, dtype=bool), b, -np.inf), "", ["mask causal where none was expected"]),
    ],
)
def test_faults_of_a_dense_bias(tmp_path, change, expected, said):
    expected = f"alibi:heads=8,len=16{expected}"
    assert reasons(tmp_path, {"bias": change(Table.parse(expected).read("bias"))}, expected) == said


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        ("sinusoidal:dim=64,len=200,base=500000", "base 500000 where 10000 was expected"),
        ("sinusoidal:dim=64,len=200,base=12345", "base 12345 where 10000 was expected"),
        ("sinusoidal:dim=64,len=200,start=17", "positions start at 17 where 0 was expected"),
        ("sinusoidal:dim=64,len=200,shift=1", "spacing endpoint where paper was expected"),
        ("sinusoidal:dim=64,len=200,order=sin-cos", "equal after swapping interleaved for halves: order sin-cos"),
    ],
)
def test_other_parameters_of_an_absolute_table(tmp_path, mine, said):
    assert reasons(tmp_path, {"pe": Table.parse(mine).read("pe")}, EXACT)[0].startswith(said)


@pytest.mark.parametrize(
    ("mine", "expected", "said"),
    [
        ("slopes=paper", "", "slopes paper where frameworks was expected"),
        ("slope-dtype=bfloat16", "", "slope-dtype bfloat16 where exact was expected"),
        ("bias=key-position", "", "bias key-position where symmetric was expected"),
    ],
)
def test_faults_of_biases(tmp_path, mine, expected, said):
    table = Table.parse(f"alibi:heads=12,len=16,{mine}").read("bias")
    assert reasons(tmp_path, {"bias": table}, "alibi:heads=12")[0] == said


def test_a_fault_between_two_files_needs_no_recipe(tmp_path):
    table = Table.parse("rope:dim=32,len=64")
    np.savez(tmp_path / "b.npz", cos=table.read("cos"), sin=table.read("sin"))
    found = reasons(tmp_path, {"cos": table.read("cos"), "sin": -table.read("sin")}, str(tmp_path / "b.npz"))
    assert found == ["the sign of sin is changed"]


def test_a_file_with_a_recipe_is_expected_as_the_recipe_says(tmp_path):
    write_table(Table.parse("rope:dim=32,len=64,base=500000"), tmp_path / "b.h5")
    table = Table.parse("rope:dim=32,len=64")
    found = reasons(tmp_path, {"cos": table.read("cos"), "sin": table.read("sin")}, str(tmp_path / "b.h5"))
    assert found[0] == "base 10000 where 500000 was expected"


def test_powers_of_two_in_a_file_are_no_narrow_type(tmp_path):
    write_table(Table.parse("alibi:heads=6,mask=causal,len=33"), tmp_path / "b.npz")
    mine = Table.parse("alibi:heads=6,mask=causal,len=33,bias-max=4").read("bias")
    assert reasons(tmp_path, {"bias": mine}, str(tmp_path / "b.npz")) == ["bias-max 4 where 8 was expected"]


def test_one_bit_is_one_value_and_no_other_row(tmp_path):
    bits = Table.parse("binary:dim=9,len=200").read("pe")
    bits[91, 6] = 1 - bits[91, 6]
    said = f"pe: one value differs, at pe[91, 6]: {bits[91, 6]:g} where {1 - bits[91, 6]:g} was expected"
    assert reasons(tmp_path, {"pe": bits}, "binary:dim=9,len=200") == [said]


def test_what_nobody_knows_is_said_to_be_unknown(tmp_path):
    noise = np.random.default_rng(4).standard_normal((200, 64)).astype(np.float32)
    found = reasons(tmp_path, {"pe": noise}, EXACT)
    assert found == ["no fault that is known explains the difference, and no formula was found that gives these values"]


def test_equal_tables_have_no_findings(tmp_path, pecli):
    write_table(Table.parse(EXACT), tmp_path / "a.npy")
    result = pecli("compare", "a.npy", EXACT, "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["findings"] == []


def test_the_command_says_why_and_exits_with_one(pecli, tmp_path):
    write_table(Table.parse("rope:dim=32,len=64"), tmp_path / "mine.npy")
    result = pecli("compare", "mine.npy", "rope:dim=32,base=500000")
    assert result.returncode == 1
    assert "base 10000 where 500000 was expected" in result.stdout
    with open_table(tmp_path / "mine.npy") as table:
        assert table.recipe is None


def test_what_changes_nothing_is_no_finding():
    # one unit in the last place, in a table of one pair whose base and exponent have no effect
    values = np.array([[0, 1], [0.84147098, 0.54030231]], np.float32)
    found = compare(InMemory({"pe": values}), Table.parse("sinusoidal:dim=2,len=2"))
    assert found.total.unequal == 1
    assert {finding.kind for finding in found.findings}.isdisjoint({"base", "exponent", "scaling", "unit"})


def test_neighbours_of_float32_values_are_no_degrees():
    table = Table.parse("rope:dim=16,len=102,layout=half,arithmetic=float32")
    cos, sin = table["cos"].copy(), table["sin"]
    cos[5::7, 3] = np.nextafter(cos[5::7, 3], np.float32(2))
    found = compare(InMemory({"cos": cos, "sin": sin}), table)
    assert found.total.unequal == len(cos[5::7])
    for finding in found.findings:
        assert "degrees" not in finding.text, found.findings
        assert "shifted" not in finding.text, found.findings


@pytest.mark.parametrize(
    "recipe", ["sinusoidal:dim=16,len=100,start=99,step=-1", "sinusoidal:dim=4,base=1,step=2,len=100"]
)
def test_cosines_of_positions_that_run_backwards_or_fast_are_not_called_sines(recipe, tmp_path):
    values = np.array(Table.parse(recipe)["pe"])
    values[:, 1::2] *= 2
    (text,) = reasons(tmp_path, {"pe": values}, recipe)
    assert "sin is" not in text
    assert "2 times what was expected" in text


def test_a_magnitude_that_is_nearly_one_is_not_missing(tmp_path):
    recipe = "rope:dim=64,len=300,scaling=yarn,factor=4,original-max=64"
    table = Table.parse(recipe)
    for times, said in (
        (1.0005 / 1.1386294, "magnitude 1.0005 where"),
        (1.1386294 * 1.0005, "magnitude 1.29713 where"),
    ):
        mine = {name: np.array(table[name]) * np.float32(times) for name in ("cos", "sin")}
        assert reasons(tmp_path, mine, recipe)[0].startswith(said)
