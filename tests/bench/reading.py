"""Reading files, against `cmp`, and against making them."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path

from pecli.formats import open_table
from tests.bench.formats import places
from tests.bench.rows import Row, best_of, environment

SIZE = 1 << 30
REPEATS = 7
RECIPE = "sinusoidal:dim=512"
PECLI = [sys.executable, "-m", "pecli"]
KNOWN = (  # small tables of every family, as someone would ask about them
    "sinusoidal:dim=512,len=8192",
    "sinusoidal:dim=768,len=512,dtype=bfloat16",
    "rope:dim=128,base=500000,len=8192",
    "rope:dim=64,len=2048,dtype=float16",
    "rope:dim=128,len=8192,dtype=bfloat16,layout=half",
    "rope:dim=128,scaling=yarn,factor=4,original-max=4096,len=8192",
    "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192,len=8192",
    "rope:dim=128,scaling=linear,factor=4,len=8192,layout=complex",
    "xpos:dim=64,max-len=2048,len=2048",
    "rope2d:dim=64,grid=24x24",
    "sincos2d:dim=256,grid=14x14",
    "alibi:heads=16,len=256",
    "alibi:heads=12,len=512",
    "t5:heads=8,len=256",
    "kerple:heads=2,r1=1+0.5,r2=1+0.25,len=256",
    "sandwich:heads=4,width=64,len=256",
    "gaussian:heads=2,sigma=1+4,len=256",
    "binary:dim=16,len=4096",
    "binary:dim=12,code=gray,len=4096",
    "nerf:bands=8,grid=256",
)
USUAL = 0.95  # share of them that the first figure is of


def called(*arguments: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([*map(str, arguments)], capture_output=True, check=True, env=environment())


def large(folder: Path, disk: Path, size: int, repeats: int) -> dict[str, float]:
    """Return the ratios of comparing, verifying and inspecting files of `size` bytes; one is generated on the disk."""
    length, files = size // 2048, [folder / name for name in ("a.npy", "b.npy", "a.h5", "b.h5")]
    made = [*PECLI, "generate", f"{RECIPE},len={length}", "-q", "-o"]
    for path in files:
        called(*made, path)
    a, b, c, d = files
    best = best_of({
        "cmp": lambda: called("cmp", a, b),
        "cmp h5": lambda: called("cmp", c, d),
        "compare": lambda: called(*PECLI, "compare", a, b, "-q"),
        "compare h5": lambda: called(*PECLI, "compare", c, d, "-q"),
        "generate": lambda: called(*made, disk / "made.npy"),
        "recipe": lambda: called(*PECLI, "compare", a, f"{RECIPE},len={length}", "-q"),
        "verify": lambda: called(*PECLI, "verify", c, "-q"),
        "inspect": lambda: called(*PECLI, "inspect", a, "-q"),
    }, repeats)  # fmt: skip
    return {
        "compare": best["compare"] / best["cmp"],
        "compare h5": best["compare h5"] / best["cmp h5"],
        "recipe": best["recipe"] / best["generate"],
        "verify": best["verify"] / best["generate"],
        "inspect": best["inspect"] / best["cmp"],
    }


def csv(folder: Path, repeats: int) -> float:
    """Return the time of reading a csv table of 43 MiB against that of pyarrow's reader."""
    from pyarrow.csv import read_csv

    path = folder / "table.csv"
    called(*PECLI, "generate", f"{RECIPE},len=8192", "-q", "-o", path)
    best = best_of({"ours": lambda: open_table(path).read("pe"), "pyarrow": lambda: read_csv(path)}, repeats)
    return best["ours"] / best["pyarrow"]


def identified(folder: Path, repeats: int) -> list[float]:
    """Return the seconds that each of some small tables takes to identify, the fastest first."""
    asked = {}
    for index, recipe in enumerate(KNOWN):
        path = folder / f"{index}.safetensors"
        called(*PECLI, "generate", recipe, "-q", "-o", path)
        asked[recipe] = [*PECLI, "identify", path, "-q"]
    return sorted(best_of({r: lambda c=command: called(*c) for r, command in asked.items()}, repeats).values())


def rows(folder: str | None = None, size: int = SIZE, repeats: int = REPEATS) -> list[Row]:
    """Measure in memory, or in one folder."""
    name, place = next(places()) if folder is None else ("folder", folder)
    with tempfile.TemporaryDirectory(dir=place) as temporary, tempfile.TemporaryDirectory() as disk:
        ratios = large(Path(temporary), Path(disk), size, repeats)
        table = csv(Path(temporary), repeats)
        seconds = identified(Path(temporary), min(repeats, 3))
    usual = seconds[math.ceil(USUAL * len(seconds)) - 1]
    gib = f"{size / (1 << 30):.3g} GiB, {name}"
    return [
        Row(f"compare of two equal .npy of {gib}, against cmp", ratios["compare"], "x", 0.9, 0.6),
        Row(f"compare of two equal .h5 of {gib}, against cmp", ratios["compare h5"], "x", 0.9, 0.6),
        Row(f"compare of an .npy of {gib} with its recipe, against generating on the disk", ratios["recipe"], "x", 0.4),
        Row(f"verify of an .h5 of {gib}, against generating on the disk", ratios["verify"], "x", 0.4),
        Row(f"inspect of an .npy of {gib}, against cmp of it with a copy", ratios["inspect"], "x", 1.1, 0.8),
        Row("csv of 43 MiB read, against pyarrow.csv", table, "x", 1.2),
        Row(f"identify, 95 % of {len(KNOWN)} small tables", usual, "s", 1, 0.3),
        Row(f"identify, the slowest of {len(KNOWN)} small tables", seconds[-1], "s", 3, 1),
    ]
