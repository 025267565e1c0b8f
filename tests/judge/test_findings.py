"""Every kind of sentence that compare says of two tables: where it is true, and that it is said nowhere else."""

import numpy as np
import pytest

import pecli
from pecli import Table
from pecli.comparison.results import Tolerance
from pecli.judge.compare import compare
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source

SINES = "sinusoidal:dim=32,len=120"
ROPE = "rope:dim=16,len=120"
YARN = "rope:dim=64,len=300,scaling=yarn,factor=4,original-max=4096"


def arrays(recipe):
    table = Table.parse(recipe)
    return {array.name: np.array(table[array.name]) for array in table.arrays}


def changed(recipe, **changes):
    found = arrays(recipe)
    return {**found, **{name: change(found[name].copy()) for name, change in changes.items()}}


def put(at, value):
    def change(p):
        p[at] = value
        return p

    return change


def mixed(p):
    return np.where(np.arange(p.shape[1]) % 3 == 0, p, np.random.default_rng(3).standard_normal(p.shape)).astype("f4")


CASES = {  # what is expected, the values at hand, and the kinds of all that is said, in order
    "equal": (SINES, arrays(SINES), []),
    "one value": (SINES, changed(SINES, pe=put((7, 3), 9)), ["place"]),
    "two arrays": (ROPE, changed(ROPE, cos=put((7, 3), 9), sin=put((8, 1), 9)), ["place", "place"]),
    "nothing known": (SINES, changed(SINES, pe=mixed), ["unknown"]),
    "exchanged": (ROPE, dict(zip(("sin", "cos"), arrays(ROPE).values(), strict=True)), ["exchanged"]),
    "exchanged and one value": (
        SINES, changed(SINES, pe=lambda p: put((7, 3), 9)(p.reshape(120, 16, 2)[..., ::-1].reshape(120, 32))),
        ["exchanged", "rest"],
    ),
    "same": (ROPE, changed(ROPE, sin=lambda _: arrays(ROPE)["cos"]), ["same"]),
    "layout": (SINES, arrays(f"{SINES},order=sin-cos"), ["layout"]),
    "reversed": (SINES, changed(SINES, pe=lambda p: p[::-1]), ["reversed"]),
    "transposed": (SINES, changed(SINES, pe=lambda p: p.T), ["transposed", "shape"]),
    "sign": (ROPE, changed(ROPE, sin=np.negative), ["sign"]),
    "size": (SINES, changed(SINES, pe=lambda p: p * np.float32(3)), ["size"]),
    "sum": (SINES, changed(SINES, pe=lambda p: p + np.float32(0.5)), ["sum"]),
    "bytes": (SINES, changed(SINES, pe=lambda p: p.byteswap()), ["bytes"]),
    "columns": (SINES, changed(SINES, pe=lambda p: np.roll(p, 1, axis=1)), ["columns"]),
    "rows": (SINES, changed(SINES, pe=put(slice(90, None), 0)), ["rows"]),
    "a row less": (SINES, changed(SINES, pe=lambda p: np.delete(p, 17, 0)), ["rows", "shape"]),
    "rounding": (SINES, changed(SINES, pe=lambda p: p.astype("f2").astype("f4")), ["rounding"]),
    "heads": ("alibi:heads=8,len=9", changed("alibi:heads=8,len=9", bias=lambda p: p[::-1]), ["heads"]),
    "slopes": ("alibi:heads=6,len=9", changed("alibi:heads=6,len=9", bias=lambda p: p[[4, 0, 5, 1, 2, 3]]), ["slopes"]),
    "exponent": (ROPE, arrays(f"{ROPE},base=100"), ["exponent"]),
    "base": (ROPE, arrays(f"{ROPE},base=500000"), ["base"]),
    "start": (ROPE, arrays(f"{ROPE},start=1"), ["start"]),
    "no scaling": (YARN, arrays("rope:dim=64,len=300"), ["scaling"]),
    "factor": (YARN, arrays(YARN.replace("factor=4", "factor=16")), ["factor"]),
    "magnitude": (YARN, arrays(YARN.replace("yarn", "ntk-by-parts")), ["magnitude"]),
    "arithmetic": (ROPE, arrays(f"{ROPE},arithmetic=bfloat16"), ["arithmetic"]),
    "finer than expected": (f"{ROPE},dtype=float16", arrays(ROPE), ["identity", "dtype", "dtype"]),
    "on a grid by nature": ("alibi:heads=8,len=9,bias-max=4", arrays("alibi:heads=8,len=9"), ["bias-max"]),
    "base and rounding": (
        ROPE, {k: v.astype("f2").astype("f4") for k, v in arrays(f"{ROPE},base=500000").items()}, ["base", "rounding"],
    ),
    "identity": (SINES, arrays(f"{SINES},base=12345"), ["base", "identity"]),
    "encoding": (SINES, arrays("binary:dim=32,len=120"), ["encoding", "identity"]),
    "an array less": (ROPE, {"cos": arrays(ROPE)["cos"]}, ["arrays"]),
    "another type": (f"{SINES},dtype=float64", arrays(SINES), ["rounding", "dtype"]),
}  # fmt: skip
CASES["unit"] = ("rope:dim=16,len=80", {
    name: f(np.arange(80)[:, None] * (np.pi / 180) * 10000.0 ** (-np.arange(8) / 8)).astype("f4")
    for name, f in (("cos", np.cos), ("sin", np.sin))
}, ["unit"])  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_what_is_true_and_nothing_else(case, tmp_path):
    expected, mine, kinds = CASES[case]
    np.savez(tmp_path / "mine.npz", **mine)
    a, b = open_beside(read_source(str(tmp_path / "mine.npz")), read_source(expected), 128)
    findings = compare(a, b).findings
    assert [finding.kind for finding in findings] == kinds, [finding.text for finding in findings]


def test_values_copied_by_hand_are_equal_as_printed(tmp_path, pecli):
    table = Table.parse("rope:dim=8,len=9,dtype=float64")
    np.savetxt(tmp_path / "slide.csv", table["cos"], delimiter=",", fmt="%.3f")
    assert pecli("compare", "slide.csv", "rope:dim=8::cos", "--digits", "3").returncode == 0
    assert pecli("compare", "slide.csv", "rope:dim=8::cos", "--digits", "4").returncode == 1
    assert pecli("compare", "slide.csv", "rope:dim=8,base=500::cos", "--digits", "3").returncode == 1
    refused = pecli("compare", "slide.csv", "rope:dim=8::cos", "--digits", "3", "--atol", "1")
    assert refused.returncode == 2
    assert "--digits" in refused.stderr


def test_printed_values_may_be_off_by_half_a_decimal():
    allowed = Tolerance.printed(3)
    assert allowed.atol == 0.0005
    assert not allowed.exact


@pytest.mark.parametrize(("printed", "same"), [("0.540", 0), ("0.541", 1), ("0.539", 1), ("0.5401", 0)])
def test_a_wrong_last_digit_is_found(tmp_path, pecli, printed, same):
    (tmp_path / "slide.csv").write_text(f"1.000,1.000\n{printed},1.000\n")  # cos 1 = 0.5403, cos 0.01 = 0.99995
    assert pecli("compare", "slide.csv", "rope:dim=4::cos", "--digits", "3").returncode == same


def test_one_array_of_a_recipe_is_a_source(tmp_path, pecli):
    np.save(tmp_path / "cos.npy", Table.parse("rope:dim=8,len=9")["cos"])
    assert pecli("compare", "cos.npy", "rope:dim=8::cos").returncode == 0
    assert pecli("compare", "cos.npy", "rope:dim=8::sin").returncode == 1
    refused = pecli("compare", "cos.npy", "rope:dim=8::tan")
    assert refused.returncode == 2
    assert "unknown array 'tan': known: cos, sin" in refused.stderr


def test_a_share_is_one_only_of_all(tmp_path, pecli):
    mine = -np.abs(Table.parse("learned:dim=64,len=2000")["pe"]) - 1
    other = mine - 1
    other[3, 5] = mine[3, 5]
    np.save(tmp_path / "a.npy", mine)
    np.save(tmp_path / "b.npy", other)
    said = pecli("compare", "a.npy", "b.npy").stdout
    assert "different: 127,999 of 128,000 values (all but 1) differ" in said


def test_noise_against_a_complex_table_is_no_crash():
    """One of the mistakes of a layout gives angles, half as wide as the real and imaginary parts."""
    noise = np.random.default_rng(0).normal(size=(200, 24, 2)).view(np.complex128)[..., 0]
    (found,) = pecli.compare({"cis": noise}, "rope:dim=48,layout=complex,len=200,dtype=float64").findings
    assert found.kind == "unknown"
