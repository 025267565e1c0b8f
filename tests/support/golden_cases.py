"""Reference tables of the frameworks, as committed in tests/data/golden: values in npz, what they are in json.

Made with transformers 5.23.0, diffusers 0.42.1 and torch 2.13.0 on a CPU, in float32 unless a case says otherwise.
"""

import json
from functools import cache

import numpy as np

from tests.conftest import DATA

HERE = DATA / "golden"


@cache
def cases(kind):
    """What the cases of a kind are, by name."""
    return json.loads((HERE / f"{kind}.json").read_text())


@cache
def values(kind):
    """Their arrays, by name."""
    with np.load(HERE / f"{kind}.npz") as arrays:
        return dict(arrays)


def allowed(positions, frequencies, magnitude=1.0):
    """How far a float32 table may be from the real values: its frequencies, angles and results are rounded.

    4 A (1 + p w) 2^-23 for each position and frequency; the worst seen of 400 tables of a framework is 3.3.
    """
    angle = np.abs(np.asarray(positions, np.float64))[:, None] * np.abs(np.asarray(frequencies, np.float64))[None, :]
    return 4 * magnitude * (1 + angle) * 2.0**-23
