"""The command in a process of its own, with the memory that it took."""

import subprocess
import sys

from tests.conftest import ROOT, clean_environment

# A process begins with the peak of the one that made it, so that a small one stands between.
BETWEEN = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, *sys.argv[1:]], stderr=subprocess.STDOUT, text=True, stdout=-1)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(done.stdout)
"""


def measured(folder, *arguments, program=("-m", "pecli")):
    """Run the command in a folder; return its exit status, what it said, and its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", BETWEEN, *program, *map(str, arguments)],
        cwd=folder, env=clean_environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures, _, said = done.stdout.partition("\n")
    status, peak = map(int, figures.split())
    return status, said, peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
