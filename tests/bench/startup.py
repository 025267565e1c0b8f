"""What a call of the command costs before and beside its work."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.rows import Row, best_of

PECLI = [sys.executable, "-m", "pecli"]


def rows(repeats: int = 11) -> list[Row]:
    """Measure help and the main job against importing NumPy and h5py."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "pe.h5")
        commands = {
            "import": [sys.executable, "-c", "import numpy, h5py"],
            "help": [*PECLI, "--help"],
            "main": [*PECLI, "generate", "sinusoidal", "--len", "2048", "--dim", "512", "-q", "-o", target],
        }

        # as pip and `make install` leave it: compiled once
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def run(command: list[str]) -> None:
            subprocess.run(command, capture_output=True, check=True, env=environment)

        best = best_of({name: lambda c=command: run(c) for name, command in commands.items()}, repeats)
    return [
        Row("pecli --help in a pipe, against importing numpy and h5py", best["help"] / best["import"], "x", 1, 0.5),
        Row("the main job, against the same", best["main"] / best["import"], "x", 1.6, 1.3),
    ]
