"""``python -m tests.fuzz --seed 1 --count 1000``: tries, prints each failure, and says how many there were of each."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial

from tests.fuzz import campaign

accepted: Counter[tuple[str, str]] = Counter()
PARTS = {"words": partial(campaign.command_lines, accepted=accepted), "files": campaign.damaged_files,
         "bombs": campaign.constructed_bombs,
         "kills": campaign.killed_writers, "faults": campaign.faulty_disks}  # fmt: skip


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="command lines, and as many files over five")
    parser.add_argument("--only", choices=PARTS, help="one part")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # who stops it is told what was tried
    campaign.load()
    counts: Counter[str] = Counter()
    failures = 0
    began = time.monotonic()
    with suppress(KeyboardInterrupt):
        for name, part in PARTS.items():
            if given.only in (None, name):
                count = {"words": given.count, "files": given.count // 5, "bombs": 30, "kills": given.count // 30,
                         "faults": given.count // 30}[name]  # fmt: skip
                for label, words, problem in part(given.seed, count, counts):
                    failures += 1
                    print(f"{label}: pecli {shlex.join(word[:300] for word in words)}\n    {problem}", flush=True)
    tries = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    print(
        f"{tries}: {failures} failures; {time.monotonic() - began:.0f} s, {sum(os.times()[:4]):.0f} s of the processor"
    )
    if never := [" ".join(key) for key, number in accepted.items() if not number]:
        print(f"{len(accepted) - len(never)} of {len(accepted)} options in accepted lines; not: {', '.join(never)}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
