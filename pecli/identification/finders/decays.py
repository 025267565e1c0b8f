"""Identification of xPos: rotations with a scale that decays with the position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pecli.declare.tabular import Tabular
from pecli.identification.finders.guesses import Guess, try_guess
from pecli.measures.samples import take
from pecli.measures.spectra import text
from pecli.numbers.shortest import shortest

if TYPE_CHECKING:
    from pecli.identification.judging import Identification


def with_scale(table: Tabular, found: Identification) -> Identification | None:
    """Return xPos where the array ``scale`` is its decay, beside cosines and sines already known."""
    sample = take(table, 512)
    for guess in _guesses(table, found):
        trial = try_guess(guess, sample)
        if trial is not None and (trial.equal == 1.0 or (trial.units <= 2 and trial.equal > 0.9)):
            confidence = "sure" if trial.equal == 1.0 else "likely"
            return replace(
                found,
                recipe=trial.recipe,
                confidence=confidence,
                residual=trial.residual,
                equal=trial.equal,
                guess=guess,
            )
    return None


def _guesses(table: Tabular, found: Identification) -> Iterator[Guess]:
    """Yield xPos with the scale base and centre that the values show."""
    assert found.guess is not None
    from pecli.measures.floats import floats

    array = table.array("scale")
    rows = min(array.rows, 512)
    values = floats(table.read_rows(["scale"], 0, rows)["scale"], array.dtype).astype(np.float64)
    if values.ndim != 2 or rows < 3 or (values <= 0).any():
        return
    m = values.shape[1]
    decay = np.log((2 * np.arange(m) / (2 * m) + 0.4) / 1.4)[:m]
    rise = (np.log(values[-1]) - np.log(values[0])) / (rows - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        base = decay[0] / rise[0]
    loose = max(sample_error(values), 1e-9)
    scale_base = shortest(base * (1 - loose), base * (1 + loose))
    centre = -float(np.log(values[0, 0]) / rise[0])
    start = float(found.guess.table.get("start", 0))
    keys = {k: v for k, v in found.guess.keys.items() if k in ("dim", "base")}
    if scale_base != 512:
        keys["scale-base"] = text(scale_base)
    for word in ("floor", "ceil", f"{round(centre + start)}"):
        yield Guess("xpos", {**keys, "centre": word}, found.guess.table, 4.0)


def sample_error(values: np.ndarray) -> float:
    """Return how far the logarithm of the scale may be off, relative to its change over the rows."""
    change = abs(float(np.log(values[-1, 0] / values[0, 0]))) or 1.0
    return 4 * 2.0**-24 / change
