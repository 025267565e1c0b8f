"""Biases, indices and counts as other programs keep them, made with NumPy alone: what they are is told from values."""

import numpy as np
import pytest

import pecli


def cosines(n=128, pairs=8):
    angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(pairs) / pairs))
    return {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}


def told(**arrays):
    """What a file of these arrays is said to be."""
    return pecli.identify(arrays)


@pytest.mark.parametrize("others", [("scale",), ("scale", "weight", "a", "b")])
def test_an_answer_that_does_not_speak_of_every_array_of_a_file_is_never_sure(others):
    rng = np.random.default_rng(1)
    assert told(**cosines()).confidence == "sure"
    found = told(**cosines(), **{name: rng.standard_normal((128, 8)) for name in others})
    assert found.recipe.startswith("rope:dim=16")
    assert found.confidence == "likely"
    assert "not compared" in found.notes[-1]
    assert all(f"'{name}'" in found.notes[-1] for name in others[:3])
    assert ("and 1 more" in found.notes[-1]) == (len(others) == 4)
