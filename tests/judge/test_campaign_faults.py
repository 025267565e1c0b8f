"""The campaign of faults: the true one is named first, and nothing false is said beside it.

``python -m tests.judge.test_campaign_faults 614 9001:12`` shows single pairs by their numbers, of another seed too.
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
from pecli.formats import open_table
from pecli.inspection.verification import verify
from pecli.judge.compare import compare
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source
from tests.support.campaign_faults import SEED, Pair, draw, score

QUICK, EXHAUSTIVE = 60, 2000
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


def test_the_same_is_said_whichever_side_is_named_first(tmp_path):
    """With the recipe first, "7 where 0.92 was expected" was said the other way round, and parts were not tried."""
    pair = next(filter(lambda pair: pair.expected is not None and pair.way == "recipe", map(draw, range(100))))
    sides = [{name: values.copy() for name, values in pair.right.items()} for _ in range(2)]
    for values in sides[0].values():
        values.reshape(len(values), -1)[3, 1] = 7
    for values in sides[1].values():
        values[5:] *= -1
    for values in sides:
        assert_both_ways(values, pair.expected, tmp_path)
    for number in range(8):
        pair = draw(number)
        if pair.expected is not None:
            assert_both_ways(pair.mine, pair.expected, tmp_path)


def assert_both_ways(values, recipe: str, folder) -> None:
    np.savez(folder / "mine.npz", **values)
    both = str(folder / "mine.npz"), recipe
    said = [compare(*open_beside(*map(read_source, order), 128)) for order in (both, both[::-1])]
    texts = [[finding.text for finding in found.findings if finding not in found.remarks] for found in said]
    assert texts[0] == texts[1]


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
