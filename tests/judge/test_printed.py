"""identify --digits: tables that were printed with a few decimals, rounded or cut, often the first columns alone."""

import numpy as np
import pytest

from tests.judge.answers import get_slopes, sinusoid
from tests.reallife.cases import CASES
from tests.reallife.score import agree, load

load(None)
PRINTED = [case for case in CASES if case.group == "printed"]


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: case.name)
def test_a_printed_table_is_named(case, pecli, tmp_path):
    values, digits = case.make()
    np.savetxt(tmp_path / "t.csv", values, fmt=f"%.{digits}f", delimiter=",")
    done = pecli("identify", "t.csv", "--digits", str(digits))
    assert agree(done.stdout.split()[0], case.truth[0]), done.stdout
    assert f"{digits} decimals" in done.stdout


def test_what_is_no_printed_table_is_unknown(pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(9, 6)), fmt="%.2f", delimiter=",")
    assert pecli("identify", "t.csv", "--digits", "2").stdout.startswith("unknown")


def test_other_widths_are_told(pecli, tmp_path):
    angles = np.arange(4)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 512)
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(4, 4)
    np.savetxt(tmp_path / "t.csv", table, fmt="%.2f", delimiter=",")
    assert "widths from" in pecli("identify", "t.csv", "--digits", "2").stdout


POSITIONS, PAIRS = np.arange(60)[:, None], np.arange(0, 32, 2) / 32
ANGLES = {base: POSITIONS * float(base) ** -PAIRS for base in (10000, 500000)}
SINUSOID = np.stack([np.sin(ANGLES[10000]), np.cos(ANGLES[10000])], -1).reshape(60, 32)
TABLES = {
    "sinusoidal:dim=32,len=60": SINUSOID,
    "sinusoidal:dim=32,len=40,start=20": SINUSOID[20:],
    "rope:dim=32,base=500000,len=60,layout=half": np.tile(np.cos(ANGLES[500000]), 2),
}


@pytest.mark.parametrize("form", ["%.4f", "%.6f", "%.4g", "%.6g"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("recipe", TABLES)
def test_printed_digits_are_found_without_being_told(recipe, kind, form, pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", TABLES[recipe].astype(kind), fmt=form, delimiter=",")
    said = pecli("identify", "t.csv").stdout
    assert said.startswith(f"{recipe} (sure: ") and ("decimals" in said or "significant digits" in said), said


def test_float32_phases_are_told_behind_printed_digits(pecli, tmp_path):
    w = np.exp(np.arange(0, 32, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / 32))
    angles = np.arange(300, dtype=np.float32)[:, None] * w
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(300, 32)
    np.savetxt(tmp_path / "t.csv", table, fmt="%.8g", delimiter=",")
    said = pecli("identify", "t.csv").stdout
    assert said.startswith("sinusoidal:dim=32,len=300 (sure: 8 significant digits)") and "float32 phases" in said, said


def test_random_numbers_with_few_digits_are_unknown(pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(50, 16)), fmt="%.5f", delimiter=",")
    assert pecli("identify", "t.csv").stdout.startswith("unknown: the values look drawn at random")


def test_decimals_of_the_exact_values_are_that_and_nothing_else(pecli, tmp_path):
    """0.999995000004 is printed as 1.00000; rounded to float32 first it would be 0.99999."""
    np.savetxt(tmp_path / "t.csv", SINUSOID, fmt="%.5f", delimiter=",")
    lines = pecli("compare", "t.csv", "sinusoidal:dim=32").stdout.splitlines()
    assert (
        lines[0] == "different: all values are right, rounded to 5 decimals; --digits 5 accepts it"
        and "values differ" in lines[1]
    )


def test_positions_of_few_digits_start_at_one(pecli, tmp_path):
    pecli("generate", "sinusoidal:dim=16,len=100,start=1", "-q", "-o", "t.npy")
    np.savetxt(tmp_path / "t.csv", np.load(tmp_path / "t.npy"), fmt="%.6f", delimiter=",")
    lines = pecli("compare", "t.csv", "sinusoidal:dim=16").stdout.splitlines()
    assert lines[0] == "different: positions start at 1 where 0 was expected"


def test_the_option_that_accepts_a_rounding_does(pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", SINUSOID, fmt="%.5f", delimiter=",")
    assert pecli("compare", "t.csv", "sinusoidal:dim=32", "--digits", "5").returncode == 0
    values = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)
    np.save(tmp_path / "a.npy", values.astype(np.float16))
    np.save(tmp_path / "b.npy", values)
    said = pecli("compare", "a.npy", "b.npy").stdout
    assert "the values were rounded to float16, the expected ones were not" in said and "; --ulp 1 accepts it" in said
    assert pecli("compare", "a.npy", "b.npy", "--ulp", "1").returncode == 0


def test_what_numpy_prints_is_identified(pecli, tmp_path):
    text = np.array2string(SINUSOID[:16].astype(np.float32), precision=4, suppress_small=True)
    (tmp_path / "t.txt").write_text(text)
    assert pecli("identify", "t.txt").stdout.startswith("sinusoidal:dim=32,len=16 (")


def test_the_first_pairs_of_a_wider_table_are_told(pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", SINUSOID[:, :8], fmt="%.4f", delimiter=",")
    np.save(tmp_path / "t.npy", SINUSOID[:, :8].astype(np.float32))
    for name in ("t.csv", "t.npy"):
        assert "the same as the first 4 pairs of dim=32 with base 10000" in pecli("identify", name).stdout


def test_seven_digits_of_float32_values_are_its_rounding(ask, tmp_path):
    np.savetxt(tmp_path / "pe.csv", sinusoid(300, 100, 1e8).astype("f4"), fmt="%.7g", delimiter=",")
    ask("identify", "pe.csv").says("sinusoidal:dim=100,base=1e8,len=300 (sure: 7 significant digits)").never("not fit")


def test_slopes_printed_with_nine_digits_are_named(ask, tmp_path):
    np.savetxt(tmp_path / "slopes.csv", get_slopes(24), fmt="%.9g")
    ask("identify", "slopes.csv").says("alibi:heads=24", "form=slopes (sure: 9 significant digits)")
