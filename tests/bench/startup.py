"""What a call of the command costs before and beside its work."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.rows import Row, best_of, environment

OTHERS = {"list": "pecli list", "generate": "pecli generate --help", "completion": "completion of an encoding's name"}
PECLI = [sys.executable, "-m", "pecli"]


def rows(repeats: int = 11) -> list[Row]:
    """Measure help and the main job against importing NumPy and h5py."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "pe.h5")
        commands = {
            "import": [sys.executable, "-c", "import numpy, h5py"],
            "help": [*PECLI, "--help"],
            "main": [*PECLI, "generate", "sinusoidal", "--len", "2048", "--dim", "512", "-q", "-o", target],
            "list": [*PECLI, "list"],
            "generate": [*PECLI, "generate", "--help"],
            "completion": PECLI,
        }
        completing = {"_PECLI_COMPLETE": "complete_bash", "COMP_WORDS": "pecli generate sinu", "COMP_CWORD": "2"}

        def run(name: str) -> None:
            asked = completing if name == "completion" else {}
            subprocess.run(commands[name], capture_output=True, check=not asked, env={**environment(), **asked})

        best = best_of({name: lambda n=name: run(n) for name in commands}, repeats)
    ratios = {name: time / best["import"] for name, time in best.items()}
    return [
        Row("pecli --help in a pipe, against importing numpy and h5py", ratios["help"], "x", 0.55, 0.4),
        Row("the main job, against the same", ratios["main"], "x", 1.45, 1.25),
        *(Row(f"{what}, against the same", ratios[name], "x", 1) for name, what in OTHERS.items()),
    ]
