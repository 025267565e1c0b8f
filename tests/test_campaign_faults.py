"""The campaign of faults: the true one is named first, and nothing false is said beside it.

``python -m tests.test_campaign_faults 614 9001:12`` shows single pairs by their numbers, of another seed too.
"""

import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from pecli.comparison.results import Finding
from pecli.diagnosis.diagnosis import compare
from pecli.formats import open_table
from pecli.inspection.verification import verify
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source

from .campaign_faults import SEED, Pair, draw, score

QUICK, EXHAUSTIVE = 200, 2000
LEAST = 0.98  # of the pairs are named first


def judged(pair: Pair, folder) -> str:
    """Score one pair; a warning is a failure of its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        findings = said_of(pair, folder)
    return f"warned: {caught[0].message}" if caught else score(pair, findings)


def said_of(pair: Pair, folder) -> list[Finding]:
    """What is said of a pair: against a recipe, the file of one, or a file without; or of a file with its recipe."""
    own = {} if pair.expected is None else {"recipe": np.array(json.dumps({"recipe": pair.recipe}))}
    np.savez(folder / "mine.npz", **pair.mine, **(own if pair.way == "verify" else {}))
    if pair.way == "verify":
        with open_table(folder / "mine.npz") as table:
            found = verify(table, "mine.npz")
            assert found.comparison is not None, found.problem
            return found.comparison.findings
    if pair.way == "recipe" and pair.expected is not None:
        return compare(*open_beside(read_source(str(folder / "mine.npz")), read_source(pair.expected), 128)).findings
    np.savez(folder / "right.npz", **pair.right, **(own if pair.way == "recipe in a file" else {}))
    return compare(open_table(folder / "mine.npz"), open_table(folder / "right.npz")).findings


def campaign(numbers, folder) -> tuple[Counter, list[str]]:
    """Return how many of each score, and what was not named."""
    scores: Counter = Counter()
    missed = []
    for number in numbers:
        pair = draw(number)
        found = judged(pair, folder)
        kind = found if found in ("named", "located", "silent") else "false"
        scores[kind] += 1
        if kind != "named":
            missed.append(f"{number} {pair.fault} ({pair.way})\n    {found}")
    return scores, missed


def check(count: int, folder) -> None:
    scores, missed = campaign(range(count), folder)
    print("\n".join(missed))
    assert not scores["false"], "\n".join(missed)
    assert scores["named"] >= LEAST * count, "\n".join(missed)


def test_faults_are_named(tmp_path):
    check(QUICK, tmp_path)


@pytest.mark.exhaustive
def test_many_faults_are_named(tmp_path):
    check(EXHAUSTIVE, tmp_path)


def show(words: list[str]) -> None:
    """Print what is said of single pairs."""
    for word in words:
        seed, _, number = word.rpartition(":")
        pair = draw(int(number), int(seed or SEED))
        with TemporaryDirectory() as folder:
            print(word, judged(pair, Path(folder)), pair.fault, pair.expected, pair.way, f"says {pair.says}", sep="  ")
            print(*(f"  {finding.kind}: {finding.text}" for finding in said_of(pair, Path(folder))), sep="\n")


if __name__ == "__main__":
    show(sys.argv[1:])
