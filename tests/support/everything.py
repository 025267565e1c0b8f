"""Every check of the Makefile, one after another: ``python -m tests.support.everything TARGET...``.

A failure is printed and the next target is run.  A target that passed leaves a stamp in build/everything, and is not
repeated for the same commit and the same changes to it; --force repeats it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path("build", "everything")
MADE = (":!docs/bench.svg", ":!docs/speed.md")  # `make bench` writes them anew: no reason to repeat the others
FAILURES = (r"^(FAILED|ERROR) .*", r"^.*\b[Ee]rror: .*", r"^E  .*", r"^make.*\*\*\*.*")


def state() -> str | None:
    """Return a digest of the commit and what differs from it; None outside a repository."""
    digest = hashlib.sha256()
    for words in (["rev-parse", "HEAD"], ["diff", "HEAD", "--", ".", *MADE]):
        done = subprocess.run(["git", *words], capture_output=True, check=False)
        if done.returncode:
            return None
        digest.update(done.stdout)
    added = subprocess.run(["git", "ls-files", "-oz", "--exclude-standard"], capture_output=True, check=True).stdout
    for name in filter(None, added.split(b"\0")):
        digest.update(name + Path(os.fsdecode(name)).read_bytes())
    return digest.hexdigest()


def first_failure(text: str) -> str:
    """Return the line of a log that says what failed first."""
    for pattern in FAILURES:
        if found := re.search(pattern, text, re.MULTILINE):
            return found[0].strip()
    return (text.strip().splitlines() or ["no output"])[-1]


def run(target: str, now: str | None, force: bool) -> bool:
    """Run one target unless it passed before; print how it went."""
    stamp, log = FOLDER / f"{target}.passed", FOLDER / f"{target}.log"
    if not force and now is not None and stamp.exists() and stamp.read_text() == now:
        print(f"{target:12} passed before on this commit", flush=True)
        return True
    stamp.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    began = time.monotonic()
    with log.open("wb") as file:
        done = subprocess.run(["make", target], stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
    seconds = time.monotonic() - began
    if done.returncode:
        failure = first_failure(log.read_text(errors="replace"))
        print(f"{target:12} failed after {seconds:.0f} s: {failure} (all of it: {log})", flush=True)
        return False
    if now is not None:
        stamp.write_text(now)
    print(f"{target:12} passed in {seconds:.0f} s", flush=True)
    return True


def main(words: list[str]) -> int:
    """Run the targets; return 1 if one of them failed."""
    asked = argparse.ArgumentParser(prog="python -m tests.support.everything", description=__doc__)
    asked.add_argument("targets", nargs="+")
    asked.add_argument("--force", action="store_true", help="repeat what passed on this commit")
    options = asked.parse_args(words)
    FOLDER.mkdir(parents=True, exist_ok=True)
    now = state()
    passed = [run(target, now, options.force) for target in options.targets]
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
