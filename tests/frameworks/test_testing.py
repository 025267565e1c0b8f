"""pecli.testing: what a kernel's author reads when a test fails."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from pecli import apply, table
from pecli.spec.declaration import REGISTRY
from pecli.testing import assert_applied, assert_table, check_encoding
from pecli.testing.applied import allowance
from tests.conftest import ROOT, clean_environment

Q = np.random.default_rng(3).standard_normal((2, 3, 5, 8)).astype(np.float32)


def rotated_pairs(x, pairs="half", start=0, sign=1):
    """A kernel in double precision."""
    angles = (start + np.arange(x.shape[-2]))[:, None] / 10000.0 ** (np.arange(0, 8, 2) / 8)
    cos, sin = np.cos(angles), sign * np.sin(angles)
    a, b = (x[..., :4], x[..., 4:]) if pairs == "half" else (x[..., 0::2], x[..., 1::2])
    c, d = a * cos - b * sin, b * cos + a * sin
    made = np.concatenate([c, d], -1) if pairs == "half" else np.stack([c, d], -1).reshape(x.shape)
    return made.astype(x.dtype)


def test_a_right_table_passes_and_a_wrong_one_says_why():
    right = table("rope:dim=8,len=32,layout=half")
    assert_table((right["cos"], right["sin"]), "rope:dim=8,layout=half")
    wrong = table("rope:dim=8,len=32,layout=interleaved")
    with pytest.raises(AssertionError, match="interleaved columns where half-split ones were expected"):
        assert_table((wrong["cos"], wrong["sin"]), "rope:dim=8,layout=half")


def test_a_frameworks_arithmetic_may_be_what_is_expected():
    framework = table("rope:dim=8,len=512,arithmetic=float32")
    values = framework["cos"], framework["sin"]
    assert_table(values, "rope:dim=8", arithmetic="float32")
    with pytest.raises(AssertionError, match="float32"):
        assert_table(values, "rope:dim=8")


def test_float32_code_passes_and_other_faults_do_not():
    w = np.float32(1) / np.float32(10000) ** (np.arange(0, 64, 2, dtype=np.float32) / np.float32(64))
    angles = np.tile(np.arange(900, dtype=np.float32)[:, None] * w, 2)
    assert_table((np.cos(angles), np.sin(angles)), "rope:dim=64", arithmetic="float32")
    with pytest.raises(AssertionError, match="base 10000 where 500000 was expected"):
        assert_table((np.cos(angles), np.sin(angles)), "rope:dim=64,base=500000", arithmetic="float32")
    with pytest.raises(AssertionError, match=r"harmless; atol=\S+ accepts it"):
        assert_table((np.cos(angles), np.sin(angles)), "rope:dim=64")


def test_a_right_kernel_passes():
    assert_applied(Q, rotated_pairs(Q), "rope:dim=8", pairs="half")
    assert_applied({"q": Q}, {"q": rotated_pairs(Q, start=9)}, "rope:dim=8", pairs="half", start=9)
    with pytest.raises(AssertionError, match=r"it is 1\.01 times as long as expected"):
        assert_applied(Q, rotated_pairs(Q) * np.float32(1.01), "rope:dim=8", pairs="half")


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        (rotated_pairs(Q, "interleaved"), "interleaved pairs were rotated where half-split ones were expected"),
        (rotated_pairs(Q, sign=-1), "the other way"),
        (rotated_pairs(Q, start=1), "off by one: each is 1 larger than expected"),
        (Q, "not rotated at all"),
    ],
)
def test_a_wrong_kernel_is_told_what_it_did(outputs, says):
    with pytest.raises(AssertionError, match=says):
        assert_applied(Q, outputs, "rope:dim=8", pairs="half")


def test_the_allowance_is_what_float32_may_lose():
    """Angles, products and sums in float32, over many positions, stay within it; a hundredth of it is too little."""
    x = np.random.default_rng(5).standard_normal((4096, 8)).astype(np.float32)
    w = (1 / np.float32(10000) ** (np.arange(0, 8, 2, dtype=np.float32) / np.float32(8))).astype(np.float32)
    angles = np.arange(4096, dtype=np.float32)[:, None] * w
    cos, sin, a, b = np.cos(angles), np.sin(angles), x[:, :4], x[:, 4:]
    kernel = np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
    assert kernel.dtype == np.float32
    assert_applied(x, kernel, "rope:dim=8", pairs="half")
    with pytest.raises(AssertionError):
        assert_applied(x, kernel, "rope:dim=8", pairs="half", atol=allowance(4.0, "float32", 4096) / 100)


def test_embeddings_with_rows_added():
    x = np.random.default_rng(4).standard_normal((6, 4)).astype(np.float64)
    pe = table("sinusoidal:dim=4,len=6", dtype="float64")["pe"]
    assert_applied(x, x + pe, "sinusoidal:dim=4")
    with pytest.raises(AssertionError, match="nothing was done"):
        assert_applied(x, x, "sinusoidal:dim=4")


@pytest.mark.parametrize("name", ["sinusoidal", "rope", "alibi", "learned"])
def test_the_catalogue_keeps_the_contract(name):
    check_encoding(name)


def test_a_declaration_that_breaks_the_contract_is_told_so():
    declared = REGISTRY["sinusoidal"]
    from dataclasses import replace

    with pytest.raises(AssertionError, match="at most 76"):
        check_encoding(replace(declared, description="No sentence"))


def test_the_example_suite_runs_with_the_plugin(tmp_path):
    shutil.copy(ROOT / "examples" / "kernel_test.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pecli.testing.plugin", "-p", "no:cacheprovider"]
    alone = clean_environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")  # it is registered once, installed or not
    run = {"cwd": tmp_path, "env": alone, "capture_output": True, "text": True, "timeout": 120}
    assert "3 passed" in subprocess.run([*command, "kernel_test.py"], **run, check=False).stdout
    text = (tmp_path / "kernel_test.py").read_text()
    (tmp_path / "kernel_test.py").write_text(
        text.replace("np.split(x, 2, axis=-1)", "(x[..., 0::2], x[..., 1::2])").replace(
            "np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)",
            "np.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(x.shape)",
        )
    )
    failed = subprocess.run([*command, "kernel_test.py"], **run, check=False).stdout
    assert "2 failed" in failed
    assert "interleaved pairs were rotated" in failed


def test_values_that_are_not_numbers_fail_in_whichever_array_they_stand():
    q = np.random.default_rng(0).standard_normal((1, 2, 6, 8)).astype(np.float32)
    inputs = {"q": q, "k": q[:, :1]}
    made = apply("rope:dim=8", inputs, pairs="half")
    for name in inputs:
        outputs = {key: made[key].copy() for key in inputs}
        assert_applied(inputs, outputs, "rope:dim=8", pairs="half")
        outputs[name][0, 0, 3, 2] = np.nan
        with pytest.raises(AssertionError, match="up to inf from the exact ones"):
            assert_applied(inputs, outputs, "rope:dim=8", pairs="half")
