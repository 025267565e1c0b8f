"""``python -m tests.fuzz --minutes 30 --seed 1``: tries cases, minimises what fails, and stops at the third kind.

A failure of a new kind is written to tests/data/found/, where a test runs it. Each case has limits on its CPU time and
memory (tests/fuzz/children.py). ``--count N`` tries a fixed number instead.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

from tests.fuzz import campaign
from tests.fuzz.campaign import Failure

FOUND = Path(__file__).parents[1] / "data" / "found"
MAX_KINDS = 3
ROUND = 1000
"""Command lines of a round; the other parts try a share of them."""

accepted: Counter[tuple[str, str]] = Counter()
PARTS = {
    "words": (partial(campaign.command_lines, accepted=accepted), 1.0), "files": (campaign.damaged_files, 0.2),
    "configs": (campaign.damaged_configs, 0.1), "stores": (campaign.damaged_stores, 0.05),
    "plugins": (campaign.damaged_plugins, 0.05), "environments": (campaign.environments, 0.1),
    "servers": (campaign.lying_servers, 0.05), "bombs": (campaign.constructed_bombs, 0.002),
    "kills": (campaign.killed_writers, 0.03), "faults": (campaign.faulty_disks, 0.03),
    "answers": (campaign.false_answers, 0.1),
}  # fmt: skip


def cases(seed: int, count: int, only: str | None, counts: Counter[str]) -> Iterator[Failure]:
    """Yield what fails in each part."""
    for name, (part, share) in PARTS.items():
        if only in (None, name):
            yield from part(seed, max(1, round(count * (1.0 if only and only != "bombs" else share))), counts)


def keep(failure: Failure) -> Path:
    """Write a failure where a test finds it."""
    known = {
        "label": failure.label, "problem": failure.problem[-400:], "words": failure.words, "stdin": failure.stdin,
        "env": dict(failure.env), "files": {n: base64.b64encode(d).decode() for n, d in failure.files.items()},
    }  # fmt: skip
    text = json.dumps(known, indent=1) + "\n"
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{failure.label.split()[0]}-{sha256(text.encode()).hexdigest()[:8]}.json"
    path.write_text(text)
    return path


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="go on for this long, with the next seeds")
    parser.add_argument("--count", type=int, default=ROUND, help="command lines of a round; of other parts a share")
    parser.add_argument("--only", choices=PARTS, help="one part, of which --count are tried")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the summary is printed in any case
    campaign.load()
    campaign.warm()
    counts: Counter[str] = Counter()
    kinds: dict[str, int] = {}
    began = time.monotonic()
    until = began + 60 * given.minutes if given.minutes else None
    seed = given.seed
    with suppress(KeyboardInterrupt):
        while len(kinds) < MAX_KINDS:
            for failure in cases(seed, given.count, given.only, counts):
                kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
                if kinds[failure.kind] == 1:
                    found = campaign.minimised(failure)
                    words = shlex.join(word[:300] for word in found.words)
                    print(f"{found.label}: pecli {words}\n    {found.problem}\n    kept as {keep(found)}", flush=True)
                if len(kinds) >= MAX_KINDS or (until and time.monotonic() > until):
                    break
            seed += 1
            if until is None or time.monotonic() > until:
                break
    tries = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    spent = f"{time.monotonic() - began:.0f} s, {sum(os.times()[:4]):.0f} s of CPU"
    print(f"seeds {given.seed} to {seed - 1}: {tries}: {sum(kinds.values())} failures of {len(kinds)} kinds; {spent}")
    if never := [" ".join(key) for key, number in accepted.items() if not number]:
        print(f"{len(accepted) - len(never)} of {len(accepted)} options in accepted lines; not: {', '.join(never)}")
    return bool(kinds)


if __name__ == "__main__":
    sys.exit(main())
