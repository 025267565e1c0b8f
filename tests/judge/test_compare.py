"""compare: how far tables are apart, against NumPy's plain answers; statuses, tolerances, odd values, shapes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pecli
from pecli import Table, open_table, write_table
from pecli.cli.compare import details
from pecli.tables.comparison import compare_tables
from pecli.tables.figures import Figures, Tolerance, distance


def compared(tmp_path, a, b, **tolerance):
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    with open_table(tmp_path / "a.npy") as left, open_table(tmp_path / "b.npy") as right:
        return compare_tables(left, right, Tolerance(**tolerance))


def test_figures_are_those_of_numpy_in_double_precision(tmp_path):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3000, 70)).astype(np.float32)
    b = (a + rng.standard_normal(a.shape) * 1e-3 * (rng.random(a.shape) < 0.3)).astype(np.float32)
    array = compared(tmp_path, a, b).arrays[0]
    found = array.figures
    gap = np.abs(a.astype(np.float64) - b)
    assert found.max_abs == gap.max()
    assert found.mean_abs == pytest.approx(gap.mean(), rel=1e-6)
    assert found.unequal == found.beyond == (gap > 0).sum()
    assert found.worst.index == np.unravel_index(gap.argmax(), gap.shape)
    assert found.first.index == tuple(np.argwhere(gap > 0)[0])
    assert found.last.index == tuple(np.argwhere(gap > 0)[-1])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_distances_in_ulp_count_the_values_between(tmp_path, dtype):
    a = np.array([[1.0, -1.0, 0.0, 1.0, 5e-324]], dtype)
    b = a.copy()
    b[0, 0] = np.nextafter(b[0, 0], a.dtype.type(2))
    b[0, 1] = np.nextafter(np.nextafter(b[0, 1], a.dtype.type(0)), a.dtype.type(0))
    b[0, 2] = -0.0
    b[0, 3] = -1.0
    bits = {"float16": np.int16, "float32": np.int32, "float64": np.int64}[dtype]
    far = 2 * int(np.array(1.0, dtype).view(bits))
    assert distance(a, b).tolist()[0][:4] == [1, 2, 0, far]
    assert compared(tmp_path, a, b).total.max_ulp == far


def test_the_figures_of_two_blocks_add_up_to_those_of_both(tmp_path):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((3000, 7)).astype(np.float32)
    b = np.where(rng.random(a.shape) < 0.1, a + np.float32(1e-3), a)
    b[[17, 2500], 3] = np.nan, np.inf
    whole = compared(tmp_path, a, b).total
    parts = [compared(tmp_path, a[rows], b[rows]).total for rows in (slice(0, 1100), slice(1100, 3000))]
    both = parts[0] + parts[1]
    for name in ("compared", "finite", "unequal", "beyond", "max_ulp", "max_abs"):
        assert getattr(both, name) == getattr(whole, name), name
    assert both.mean_abs == pytest.approx(whole.mean_abs, rel=1e-6)
    assert both.nan == whole.nan
    assert both.infinite.right == whole.infinite.right == 1
    assert both.first == whole.first
    zero = Figures()
    assert (zero + whole).max_abs == (whole + zero).max_abs == whole.max_abs


def test_both_zeros_are_equal_and_so_are_nan_and_infinity_in_the_same_place(tmp_path):
    a = np.array([[0.0, np.nan, np.inf, -np.inf, 1.0]], np.float32)
    b = np.array([[-0.0, np.nan, np.inf, -np.inf, 1.0]], np.float32)
    found = compared(tmp_path, a, b)
    assert found.equal
    assert found.total.nan.both == 1
    assert found.total.max_abs == 0


def test_nan_and_infinity_on_one_side_are_counted_and_placed(tmp_path):
    a = np.zeros((4, 3), np.float32)
    b = a.copy()
    b[2, 1], b[3, 0] = np.nan, np.inf
    found = compared(tmp_path, a, b, atol=1e30)
    one = found.total
    assert not found.equal
    assert one.nan.as_dict() == {"left": 0, "right": 1, "both": 0, "first_row": (2,)}
    assert one.infinite.as_dict() == {"left": 0, "right": 1, "both": 0, "first_row": (3,)}
    assert one.max_abs == np.inf
    assert one.mean_abs == 0.0


@pytest.mark.parametrize(
    ("tolerance", "passes"),
    [({}, False), ({"atol": 0.11}, True), ({"atol": 0.09}, False), ({"rtol": 0.0011}, True), ({"rtol": 0.0009}, False)],
)
def test_the_tolerance_is_atol_plus_rtol_of_the_second(tmp_path, tolerance, passes):
    a, b = np.full((2, 2), 100.1), np.full((2, 2), 100.0)
    assert compared(tmp_path, a, b, **tolerance).equal is passes


def test_the_tolerance_in_ulp_is_that_of_the_type(tmp_path):
    a = np.ones((1, 3), np.float32)
    b = a.copy()
    b[0, 1] += np.float32(2**-22)
    assert compared(tmp_path, a, b, ulp=2).equal
    assert not compared(tmp_path, a, b, ulp=1).equal


def test_bfloat16_is_compared_in_its_own_ulp(tmp_path):
    for name, text in (("a", "sinusoidal:dim=32,len=64"), ("b", "sinusoidal:dim=32,len=64,base=10001")):
        write_table(Table.parse(text, dtype="bfloat16"), tmp_path / f"{name}.h5")
    with open_table(tmp_path / "a.h5") as a, open_table(tmp_path / "b.h5") as b:
        found = compare_tables(a, b, Tolerance()).arrays[0]
        bits = [table.read("pe").astype(np.int64) for table in (a, b)]
    assert found.ulp_dtype == "bfloat16"
    assert found.dtypes == ("bfloat16", "bfloat16")
    same_sign = (bits[0] ^ bits[1]) < 0x8000
    assert found.figures.max_ulp >= np.abs(bits[0] - bits[1])[same_sign].max()


def test_different_types_are_compared_as_numbers_in_units_of_the_coarser(tmp_path):
    exact = Table.parse("sinusoidal:dim=16,len=32,dtype=float64").read("pe")
    found = compared(tmp_path, exact, exact.astype(np.float32))
    assert found.arrays[0].ulp_dtype == "float32"
    assert found.total.max_ulp == 0
    assert 0 < found.total.max_abs <= 2**-25
    assert "type float64 against float32" in found.findings[0].text


def test_different_shapes_are_compared_as_far_as_both_reach(tmp_path):
    a = np.arange(20.0).reshape(5, 4)
    found = compared(tmp_path, a, a[:3, :2] + [[0, 0], [0, 1], [0, 0]])
    assert not found.equal
    assert found.total.compared == 6
    assert found.total.worst.index == (1, 1)
    assert any("shape 5 x 4 against 3 x 2" in one.text for one in found.findings)


def test_axes_of_length_one_do_not_matter(tmp_path):
    a = np.arange(24.0).reshape(1, 6, 1, 4)
    assert compared(tmp_path, a, a.reshape(6, 4)).equal


def test_real_and_complex_are_not_compared(tmp_path):
    found = compared(tmp_path, np.ones((3, 2)), np.ones((3, 2), complex))
    assert not found.equal
    assert found.arrays == []


def test_a_long_table_gives_the_same_in_blocks(tmp_path):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((40_000, 33)).astype(np.float32)
    b = a.copy()
    b[39_999, 32] += 1
    b[12_345, 6] -= np.float32(0.5)
    found = compared(tmp_path, a, b)
    assert found.total.worst.index == found.total.last.index == (39_999, 32)
    assert found.total.first.index == (12_345, 6)
    assert found.total.unequal == 2


def test_a_stack_in_npy_stands_beside_two_arrays(pecli, tmp_path):
    table = Table.parse("rope:dim=16,len=20")
    np.save(tmp_path / "stack.npy", np.stack([table.read("cos"), table.read("sin")]))
    assert pecli("compare", "stack.npy", "rope:dim=16").returncode == 0


@pytest.mark.parametrize("layout", ["half", "interleaved", "concat", "sin-cos", "pairs", "complex", "angles", "split"])
def test_a_recipe_takes_length_type_and_layout_from_the_file(pecli, tmp_path, layout):
    write_table(Table.parse(f"rope:dim=16,len=20,layout={layout},dtype=float64"), tmp_path / "t.npz")
    result = pecli("compare", "t.npz", "rope:dim=16")
    assert result.returncode == 0, result.stdout


def test_positions_come_from_the_file(pecli, tmp_path):
    for keys in ("len=9,start=5", "positions=0+7+100+3", "positions=0.5+1.25"):
        write_table(Table.parse(f"sinusoidal:dim=8,{keys}"), tmp_path / "t.h5")
        assert pecli("compare", "t.h5", "sinusoidal:dim=8").returncode == 0, keys


def test_every_form_of_a_bias_stands_beside_its_recipe(pecli, tmp_path):
    for form in ("dense", "distance", "slopes"):
        write_table(Table.parse(f"alibi:heads=4,len=7,form={form}"), tmp_path / "t.h5")
        assert pecli("compare", "t.h5", "alibi:heads=4").returncode == 0, form


def test_status_is_one_for_a_difference_and_zero_within_the_tolerance(pecli, tmp_path):
    table = Table.parse("sinusoidal:dim=8,len=10").read("pe")
    np.save(tmp_path / "a.npy", table)
    np.save(tmp_path / "b.npy", table + np.float32(1e-3))
    assert pecli("compare", "a.npy", "b.npy").returncode == 1
    assert pecli("compare", "a.npy", "b.npy", "--atol", "0.01").returncode == 0
    quiet = pecli("compare", "a.npy", "b.npy", "-q")
    assert (quiet.returncode, quiet.stderr) == (1, "")
    assert quiet.stdout == ""  # the status is the answer
    assert pecli("compare", "a.npy", "b.npy", "-q", "--get", "verdict").stdout == "different\n"


def test_json_is_strict_and_has_the_keys_that_scripts_rely_on(pecli, tmp_path):
    a = np.ones((2, 2), np.float32)
    b = a.copy()
    b[1, 1] = np.inf
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    found = json.loads(
        pecli("compare", "a.npy", "b.npy", "--json").stdout, parse_constant=lambda name: pytest.fail(name)
    )
    assert found["equal"] is False
    assert found["max_abs"] == "inf"
    assert found["worst"]["index"] == [1, 1]
    assert {"mean_abs", "max_ulp", "findings"} <= found.keys()


def test_three_sources_make_a_matrix(pecli, tmp_path):
    write_table(Table.parse("rope:dim=8,len=12"), tmp_path / "a.h5")
    result = pecli("compare", "a.h5", "rope:dim=8", "rope:dim=8,base=500", "--json")
    found = json.loads(result.stdout)
    assert result.returncode == 1
    assert [pair["equal"] for pair in found["pairs"]] == [True, False, False]
    assert pecli("compare", "a.h5", "a.h5", "rope:dim=8").returncode == 0
    assert "equal" in pecli("compare", "a.h5", "rope:dim=8", "rope:dim=8,base=500").stdout


def test_of_several_the_first_is_what_was_expected_unless_another_is_computed(pecli, tmp_path):
    rows = Table.parse("sinusoidal:dim=8,len=20").read("pe")
    for name, values in (("a", rows), ("b", 2 * rows), ("c", rows[:12])):
        np.save(tmp_path / f"{name}.npy", values)
    said = pecli("compare", "a.npy", "b.npy", "c.npy", "--all").stdout
    assert "2 against 1: every value is multiplied by 2" in said
    assert "3 against 1: 12 rows where 20 were expected: rows 12 to 19 are missing" in said
    assert "3 against 2: the magnitude is missing (amplitude 2)" in said
    assert "* differs" in said
    assert "(part): of what both have" in said
    pairs = json.loads(pecli("compare", "a.npy", "b.npy", "c.npy", "--json").stdout)["pairs"]
    assert [pair["sources"] for pair in pairs] == [["b.npy", "a.npy"], ["c.npy", "a.npy"], ["c.npy", "b.npy"]]
    said = pecli("compare", "b.npy", "sinusoidal:dim=8", "a.npy").stdout
    assert "1 against 2: every value is multiplied by 2" in said
    assert "3 against 1: the magnitude is missing (amplitude 2)" in said
    said = pecli("compare", "a.npy", "a.npy", "a.npy").stdout
    assert "differs" not in said
    assert "part" not in said


def test_recipes_alone_are_compared_by_value_when_asked(pecli):
    assert pecli("compare", "rope:dim=8", "rope:dim=8,base=500", "--values").returncode == 1
    assert pecli("compare", "rope:dim=8", "rope:dim=8,base=10000", "--values").returncode == 0


def test_several_arrays_without_a_common_name_are_listed(pecli, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((2, 2)), y=np.ones((2, 2)))
    np.save(tmp_path / "b.npy", np.ones((2, 2)))
    result = pecli("compare", "a.npz", "b.npy")
    assert result.returncode == 1
    assert "path::name" in result.stdout
    assert pecli("compare", "a.npz::x", "b.npy").returncode == 0


def test_wrong_tolerances_are_refused(refuses, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    refuses("compare", "a.npy", "a.npy", "--atol", "-1", says=["atol", "0 or above"])
    refuses("compare", "a.npy", "a.npy", "--ulp", "x", says=["ulp"])
    refuses("compare", "a.npy", says=["two sources"])
    refuses("compare", "a.npy", "missing.npy", says=["missing.npy", "does not exist"])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """What a comparison holds is far less than a file of 128 MiB."""
    rows, width = 32768, 1024
    left = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (rows, width))
    left[:] = np.arange(width, dtype=np.float32)
    left.flush()
    shutil.copy(tmp_path / "a.npy", tmp_path / "b.npy")
    right = np.lib.format.open_memmap(tmp_path / "b.npy", "r+")
    right[::2] += 1
    right.flush()
    del left, right
    code = (
        "import re, sys\n"
        "from pecli.cli.run import run\n"
        "status = run(['compare', 'a.npy', 'b.npy', '-q'])\n"
        "state = open('/proc/self/status').read()\n"
        "print(status, re.search(r'VmHWM:\\s*(\\d+)', state)[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    status, memory = map(int, done.stdout.splitlines()[-1].split())
    assert status == 1
    assert memory < 250 * 1024


@pytest.mark.parametrize(
    ("a", "b"), [("int64", "int64"), ("uint64", "uint64"), ("int64", "uint64"), ("uint64", "int32")]
)
def test_whole_numbers_that_no_float64_holds_are_told_apart(tmp_path, a, b):
    big = 2**53 if b != "int32" else 5
    left, right = np.array([7, big, 9, 3], a), np.array([7, big + 1, 9, 3], b)
    found = compared(tmp_path, left, right)
    assert not found.equal
    assert (found.total.beyond, found.total.max_abs) == (1, 1.0)
    assert (found.total.worst.left, found.total.worst.right) == (big, big + 1)
    extremes = np.array([np.iinfo(a).max, np.iinfo(a).min], a)
    assert compared(tmp_path, extremes, extremes[::-1].copy()).total.max_abs == float(2**64 - 1)


def test_a_row_of_a_bias_is_named_by_head_and_query(tmp_path):
    a, b = np.zeros((4, 8, 8), np.float32), np.zeros((4, 8, 8), np.float32)
    b[2, 3, 4], b[3, 1, 1] = np.nan, 1
    (array,) = compared(tmp_path, a, b).arrays
    lines = list(details(array))
    assert any(line.endswith("the first at row [2, 3]") for line in lines)


@pytest.mark.parametrize(
    "arguments", [["rope:dim=8", "alibi", "--heads", "4"], ["config.json", "--stacks", "--heads", "4"]]
)
def test_what_would_have_no_effect_is_refused(refuses, arguments):
    refuses("compare", *arguments, says=["leave it out"])


def test_heads_count_among_three_files_as_between_two(pecli, tmp_path):
    rows = np.random.default_rng(2).standard_normal((16, 8)).astype(np.float32)
    moved = rows.reshape(2, 4, 2, 8).swapaxes(1, 2).reshape(16, 8)
    np.save(tmp_path / "a.npy", rows)
    np.save(tmp_path / "b.npy", moved)
    np.save(tmp_path / "c.npy", rows)
    two = json.loads(pecli("compare", "b.npy", "a.npy", "--heads", "2", "--json").stdout)["findings"]
    three = json.loads(pecli("compare", "a.npy", "b.npy", "c.npy", "--heads", "2", "--json").stdout)["pairs"]
    assert "rows permuted" in two[0]
    assert three[0]["findings"] == two


def test_decimals_among_three_files_have_the_type_of_the_others(pecli, tmp_path):
    values = Table.parse("sinusoidal:dim=8,len=16").read("pe")
    np.save(tmp_path / "a.npy", values)
    text = "\n".join(",".join(map(str, row)) for row in values)
    for name in ("b.csv", "c.csv"):
        (tmp_path / name).write_text(text + "\n")
    for sources in (["a.npy", "b.csv", "a.npy"], ["sinusoidal:dim=8", "b.csv", "c.csv"], ["b.csv", "c.csv", "a.npy"]):
        done = pecli("compare", *sources, "--json")
        assert (done.returncode, json.loads(done.stdout)["equal"]) == (0, True), done.stdout


def test_complex_numbers_are_counted_whole(tmp_path):
    """They were counted by their parts: 54 of 27 values differed, in columns 0 to 5 of three."""
    a = np.arange(27).reshape(9, 3) * (1 + 1j)
    found = compared(tmp_path, a, a + np.array([0.5j, 1 + 1j, 0]))
    assert found.verdict == "different: 18 of 27 values differ (66.7 %)"
    assert found.arrays[0].figures.places()["first"] == {
        "array": "array", "index": (0, 0), "part": "imag", "values": [0.0, 0.5], "abs": 0.5,
    }  # fmt: skip


def test_an_encoding_that_takes_its_length_from_the_table_stands_beside_others(pecli):
    done = pecli("compare", "integer:dim=4", "alibi:heads=2")
    assert (done.returncode, done.stderr) == (0, "")


def test_rounding_that_both_files_have_is_no_difference(tmp_path, pecli):
    """It was measured from the recipe of the second file, and said to be left between the two."""
    angles = np.outer(np.arange(256, dtype="f4"), np.float32(500000) ** (-np.arange(0, 64, 2, dtype="f4") / 64))
    both = {"cos": np.cos(angles), "sin": np.sin(angles)}
    np.savez(tmp_path / "half.npz", **{name: np.concatenate([part, part], 1) for name, part in both.items()})
    np.savez(tmp_path / "pairs.npz", **{name: np.repeat(part, 2, 1) for name, part in both.items()})
    said = pecli("compare", "half.npz", "pairs.npz").stdout
    assert said.startswith("different: half-split columns where interleaved ones were expected\n")
    assert "rest" not in said


@pytest.mark.parametrize("order", ["sin-cos", "interleaved"])
@pytest.mark.parametrize("base", [10000, 500])
def test_a_relative_sinusoid_is_judged_as_one(order, base):
    phases = np.arange(49.0, -1, -1).astype("float32")[:, None] * (base ** (-np.arange(0, 64, 2) / 64)).astype(
        "float32"
    )
    halves = np.sin(phases), np.cos(phases)
    table = np.concatenate(halves, 1) if order == "sin-cos" else np.stack(halves, 2).reshape(50, 64)
    first = pecli.compare(table, f"transformer-xl:dim=64,len=50,order={order}").findings[0].text
    assert first.startswith("rounding of float32 phases" if base == 10000 else "base 500 where 10000 was expected")
    reversed_rows = (
        pecli.compare(table[::-1], f"transformer-xl:dim=64,len=50,order={order},base={base}").findings[0].text
    )
    assert reversed_rows.startswith("the rows are reversed")
