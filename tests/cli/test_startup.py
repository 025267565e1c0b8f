"""What a command loads before it works: nothing heavy, asserted in a child."""

import subprocess
import sys

from tests.conftest import clean_environment

PROBE = """
import sys
import pecli
pecli.__version__
heavy = ("numpy", "h5py", "pyarrow", "rich", "pydantic", "click")
print("import pecli:", *(m for m in heavy if m in sys.modules), file=sys.stderr)
from pecli.cli.run import run
for line in {lines!r}:
    assert run(line.split()) == 0
    print(line + ":", *(m for m in heavy if m in sys.modules), file=sys.stderr)
"""


def loaded(*lines):
    """What one process has printed, and after each of its commands which heavy packages it has loaded."""
    child = subprocess.run(
        [sys.executable, "-c", PROBE.format(lines=lines)],
        capture_output=True, text=True, env=clean_environment(), check=True, timeout=60,
    )  # fmt: skip
    return child.stdout, child.stderr.splitlines()


def test_help_and_listing_load_nothing_heavy_and_an_example_numpy_alone():
    light = ("--help", "list", "list rope", "generate sinusoidal --help", "compare --help")
    printed, after = loaded(*light, "explain rope:dim=4")
    assert after == ["import pecli:", *(f"{line}:" for line in light), "explain rope:dim=4: numpy"]
    assert "3 x 0.01 = 0.03" in printed


def test_writing_a_table_loads_only_the_format_it_writes(tmp_path):
    line = f"generate sinusoidal --len 4 --dim 4 -q -o {tmp_path / 'a.npy'}"
    assert loaded(line)[1][-1] == f"{line}: numpy"


def test_completion_of_an_encoding_loads_no_numpy():
    code = "import sys; from pecli.cli.run import run\nrun([])\nassert 'numpy' not in sys.modules"
    env = clean_environment(_PECLI_COMPLETE="complete_bash", COMP_WORDS="pecli generate sinu", COMP_CWORD="2")
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False, timeout=60
    )
    assert "sinusoidal" in child.stdout, child.stderr
