"""What `compare`, `inspect` and `convert` refuse of words, each in one sentence that names the remedy."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("compare", "needs two sources or more: files, recipes, or --all"),
        ("compare a.npy", "compare needs two sources; only a.npy was given"),
        ("compare a.npy b.npy --cost", "is for encodings and recipes, and a file is none"),
        ("compare a.npy b.npy --stacks", "is for one config.json: name it alone"),
        ("compare a.npy b.npy --digits 99", "--digits 99 must be from 0 to 17"),
        ("compare a.npy b.npy --digits 3 --atol 1", "cannot go with --digits: give one of them"),
    ],
)
def test_words_that_do_not_go_together_are_refused(words, says, refuses, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 4), np.float32))
    np.save(tmp_path / "b.npy", np.ones((3, 4), np.float32))
    refuses(*words.split(), says=says)
