"""What a command loads before it works: nothing heavy, asserted in a child."""

import subprocess
import sys

import pytest

from tests.conftest import clean_environment

PROBE = """
import sys
from pecli.cli.run import run
status = run({arguments!r})
loaded = [m for m in ("numpy", "h5py", "pyarrow", "rich", "pydantic", "click") if m in sys.modules]
sys.stderr.write(",".join(loaded))
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list"], ["list", "rope", "--json"], ["generate", "sinusoidal", "--help"], ["compare", "--help"]],
    ids=" ".join,
)  # fmt: skip
def test_help_and_listing_load_nothing_heavy(arguments):
    child = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=arguments)],
        capture_output=True, text=True, env=clean_environment(), check=True, timeout=60,
    )  # fmt: skip
    assert child.stdout
    assert child.stderr == ""


def test_listing_one_encoding_loads_numpy_for_its_example_and_nothing_else():
    child = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=["list", "rope"])],
        capture_output=True, text=True, env=clean_environment(), check=True, timeout=60,
    )  # fmt: skip
    assert "3 x 0.01 = 0.03" in child.stdout
    assert child.stderr == "numpy"


def test_importing_the_package_loads_no_numpy():
    code = "import sys, pecli; pecli.__version__; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=clean_environment(), check=True, timeout=60)


def test_writing_a_table_loads_only_the_format_it_writes(tmp_path):
    code = PROBE.format(
        arguments=["generate", "sinusoidal", "--len", "4", "--dim", "4", "-q", "-o", str(tmp_path / "a.npy")]
    )
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment(), check=True, timeout=60
    )
    assert child.stderr == "numpy"


@pytest.mark.skipif(sys.platform == "win32", reason="needs programs that are scripts")
def test_writing_hdf5_starts_no_program(tmp_path):
    program = tmp_path / "uname"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    program.chmod(0o755)
    env = clean_environment(PATH=f"{tmp_path}:/usr/bin:/bin")
    table = ["generate", "sinusoidal", "--len", "4", "--dim", "4", "-q", "-o", str(tmp_path / "a.h5")]
    subprocess.run([sys.executable, "-m", "pecli", *table], env=env, check=True, timeout=60)
    assert not (tmp_path / "asked").exists()


def test_completion_of_an_encoding_loads_no_numpy():
    code = "import sys; from pecli.cli.run import run\nrun([])\nassert 'numpy' not in sys.modules"
    env = clean_environment(_PECLI_COMPLETE="complete_bash", COMP_WORDS="pecli generate sinu", COMP_CWORD="2")
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False, timeout=60
    )
    assert "sinusoidal" in child.stdout, child.stderr
