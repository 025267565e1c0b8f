"""Tables in parts, as job arrays write them: the examples run, a folder is verified, work is planned."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shell(tmp_path):
    """Run a script of the examples with a `pecli` on its path."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "pecli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pecli "$@"\n')
    (bin_ / "pecli").chmod(0o755)

    def run(script, *words, **env):
        path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "LEN": "200", **env}
        command = ["sh", ROOT / "examples" / script, *words]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_a_slurm_array_writes_parts_that_verify(shell, pecli, tmp_path):
    for task in ("2", "0", "1"):  # in whatever order the cluster likes
        done = shell("parts.slurm", SLURM_ARRAY_TASK_ID=task, SLURM_ARRAY_TASK_MAX="2")
        assert done.returncode == 0, done.stderr
    done = pecli("inspect", "parts", "--verify", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["recipe"].startswith("sinusoidal:dim=512")
    assert ",len=200," in found["recipe"]
    assert sorted(os.path.basename(part["path"]) for part in found["parts"]) == [f"{k}.parquet" for k in range(3)]
    (tmp_path / "parts" / "1.parquet").unlink()
    assert pecli("inspect", "parts", "--verify").returncode == 1


def test_gnu_parallel_writes_verifies_and_joins(shell, pecli):
    if shutil.which("parallel") is None:
        pytest.skip("GNU parallel is not installed")
    done = shell("parts.sh", "parts", "3")
    assert done.returncode == 0, done.stderr
    assert pecli("inspect", "parts/.whole.h5", "--verify").returncode == 0


def test_a_given_recipe_stands_for_those_of_the_parts(pecli, tmp_path):
    (tmp_path / "parts").mkdir()
    for k in range(2):
        pecli("generate", "rope:dim=8", "--len", "17", "--start", "3", "--shard", f"{k}/2", "-o", f"parts/{k}.npz")
    assert pecli("inspect", "parts", "--verify").returncode == 0
    assert pecli("inspect", "parts", "--verify", "--recipe", "rope:dim=8").returncode == 0
    other = pecli("inspect", "parts", "--verify", "--recipe", "rope:dim=8,base=500")
    assert other.returncode == 1
    assert "parts/0.npz is not verified" in other.stdout
