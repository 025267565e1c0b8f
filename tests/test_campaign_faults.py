"""The campaign of faults: the true one is named first, and nothing false is said beside it."""

import warnings
from collections import Counter

import numpy as np
import pytest

from pecli.diagnosis.diagnosis import compare
from pecli.formats import open_table
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source

from .campaign_faults import Pair, draw, score

QUICK, EXHAUSTIVE = 200, 2000
LEAST = 0.98  # of the pairs are named first


def judged(pair: Pair, folder) -> str:
    """Score one pair; a warning is a failure of its own."""
    np.savez(folder / "mine.npz", **pair.mine)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if pair.expected is None:
            np.savez(folder / "right.npz", **pair.right)
            a, b = open_table(folder / "mine.npz"), open_table(folder / "right.npz")
        else:
            a, b = open_beside(read_source(str(folder / "mine.npz")), read_source(pair.expected), 128)
        findings = compare(a, b).findings
    return f"warned: {caught[0].message}" if caught else score(pair, findings)


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
            missed.append(f"{number} {pair.fault}\n    {found}")
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
