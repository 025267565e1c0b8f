"""Exit 70 is for bugs: not for python -OO, nor for extreme numbers of a config; want of space is said by a dry run."""

import json
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from pecli.cli.run import run
from tests.conftest import ROOT, clean_environment

LINES = [
    "list", "list rope", "list --json", "list --choose", "inspect rope:dim=4,len=4", "inspect rope:dim=4 --steps",
    "compare rope:dim=4 alibi:heads=2", "generate sinusoidal:dim=4,len=3", "generate rope --help", "--help",
    "extrapolate rope:dim=8 --train-len 8 --test-len 16",
]  # fmt: skip


def test_commands_work_without_docstrings_and_assertions():
    """All in one process: each answers, and none is a bug."""
    code = f"import sys\nfrom pecli.cli.run import run\nprint('statuses', [run(line.split()) for line in {LINES!r}])\n"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"statuses {[0] * len(LINES)}" in done.stdout, done.stderr


LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128}
SCALINGS = [
    {"rope_type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64, "beta_fast": 32, "beta_slow": 1,
     "mscale": 1.0, "mscale_all_dim": 1.0},
    {"rope_type": "yarn", "factor": 2.0, "attention_factor": 1.0},
    {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 64},
]  # fmt: skip
CHANGED = [(number, key) for number, scaling in enumerate(SCALINGS) for key in scaling if key != "rope_type"]


@pytest.mark.parametrize("value", [1e-320, 5e-324, 1e-308, 1e308, -1e-320, 0, 1e-30])
@pytest.mark.parametrize(("number", "key"), [*CHANGED, (None, "rope_theta")])
@pytest.mark.sample(3)
def test_extreme_numbers_of_a_config_are_no_bug(number, key, value, tmp_path, capfd):
    config = {**LLAMA, key: value} if number is None else {**LLAMA, "rope_scaling": {**SCALINGS[number], key: value}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    for words in (["inspect", path], ["inspect", path, "--json"], ["generate", path], ["compare", path, path]):
        status = run([str(word) for word in words])
        said = capfd.readouterr().err
        assert status in (0, 1, 2), said
        assert "internal error" not in said


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".parquet", ".csv", ".json", ".safetensors", ".arrow", ".h"])
@pytest.mark.sample(3)
def test_a_dry_run_says_bytes_wanted_and_bytes_free(suffix, tmp_path, monkeypatch, capfd):
    """It ended in "the disk is full", with status 2."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**6, 10**6 - 1234, 1234))
    path = tmp_path / f"pe{suffix}"
    assert run(["generate", "sinusoidal:dim=64,len=20000", "-o", str(path), "--dry-run"]) == 0
    said = capfd.readouterr().err
    assert "would write" in said
    assert "bytes are needed and 1,234 are free" in said
    assert not path.exists()
    assert run(["generate", "sinusoidal:dim=64,len=20000", "-o", str(path)]) == 2
    assert "the disk is full" in capfd.readouterr().err
    assert run(["generate", "sinusoidal:dim=64,len=20000", "-o", str(path), "--dry-run", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)["outlook"]
    assert found["free"] == 1234 < found["needed"]


def test_a_dry_run_of_what_fits_says_nothing_of_the_disk(tmp_path, capfd):
    assert run(["generate", "sinusoidal:dim=64,len=100000", "-o", str(tmp_path / "x.npy"), "--dry-run"]) == 0
    assert "needed" not in capfd.readouterr().err
