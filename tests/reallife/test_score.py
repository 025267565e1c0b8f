"""Every case of real life that is answered right today stays so; the few that are not are listed, and must be told."""

from pathlib import Path

import pytest

from tests.reallife.cases import CASES, Case
from tests.reallife.score import load, score

load(None)
GROUPS = ("tables", "caches", "mistakes", "right", "applied", "reports", "small")
MISSES = {
    name: reason
    for name, _, reason in (
        line.partition("  ")
        for line in Path(__file__).with_name("known_misses.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
}
"""Cases that are not answered right, by "set/name", with what goes wrong."""
SHARE = {"small": 30}
"""One case in this many of a set runs by default (one in 12 of the other sets); the rest have the marker exhaustive."""
SLOW = (
    "131072",
    "ramp of a row 5",
    "ramp divided",
    "noise 1",
    "cosine of one row",
    "pe of two values 1",
    "linspace -1 to 1 2",
    "distance in float32",
    "cos of 1 and sin of 0",
    "hadamard 4",
)
"""Parts of the names of cases that take more than five seconds each."""


def key(case: Case) -> str:
    return f"{case.group}/{case.name}"


def parameters():
    cases = [case for case in CASES if case.group in GROUPS]
    for number, case in enumerate(cases):
        marks = []
        if key(case) in MISSES:
            marks.append(pytest.mark.xfail(strict=True, reason=MISSES[key(case)] or "a known miss"))
        if number % SHARE.get(case.group, 12) or any(part in case.name for part in SLOW):
            marks.append(pytest.mark.exhaustive)
        yield pytest.param(case, id=key(case), marks=marks)


@pytest.mark.parametrize("case", list(parameters()))
def test_a_case_is_answered_right_with_nothing_false(case):
    verdict = score(case)
    assert verdict.good, "\n".join([verdict.crash, *verdict.missed, *verdict.false, verdict.text])


def test_every_known_miss_is_a_case():
    assert set(MISSES) <= {key(case) for case in CASES}
