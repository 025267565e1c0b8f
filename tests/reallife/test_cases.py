"""The cases themselves: each can be built, and what is stored is what its truth says, by plain float64 NumPy."""

import numpy as np
import pytest

from tests.reallife.cases import CASES, Case
from tests.reallife.score import load, topics_of
from tests.reallife.truth import share_held

load(None)
SOME_BFLOAT16 = ("positions computed in bfloat16",)


def test_names_are_unique() -> None:
    names = [(case.group, case.name) for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("group", sorted({case.group for case in CASES}))
def test_every_case_can_be_built(group: str) -> None:
    with np.errstate(all="ignore"):
        for case in CASES:
            if case.group == group and "131072" not in case.name:
                assert case.make() is not None


def _determined(case: Case) -> bool:
    return case.group in ("tables", "caches") and "131072" not in case.name and case.name not in SOME_BFLOAT16


def test_stored_tables_are_what_their_truth_says() -> None:
    decided = 0
    for case in filter(_determined, CASES):
        for recipe in case.truth:
            share = None if recipe == "unknown" else share_held(case.make(), recipe)
            decided += share is not None
            narrow = "half()" in case.name  # the arithmetic, which a recipe does not say, is float16
            assert share in (None, 1.0) or narrow, (case.name, recipe)
    assert decided > 100


def test_claims_are_found_by_their_words() -> None:
    assert topics_of("base 10000 where 500000 was expected") == {"base"}
    assert topics_of("scaling llama3 is missing") == {"scaling"}
    assert topics_of("6,928 of 65,536 values are off by at most 6e-08") == set()
