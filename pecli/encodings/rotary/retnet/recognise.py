"""RetNet's rotations, and the decay of its heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pecli.declare.guess import Guess
from pecli.encodings.rotary.retnet import MOST_HEADS
from pecli.encodings.shared.angles import angles
from pecli.encodings.shared.vectors import vectors
from pecli.encodings.shared.waves import rotary_keys
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats
from pecli.measures.spectra import Measured, Spectrum, geometric

LEAST = 4  # distances that show a decay
MOSTLY = 0.5  # share of its values that are not spoiled
ROUNDINGS = 4.0  # units by which a power may be off
ALONE = "the decay says nothing of the width of rotations"


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield rotations whose slowest pair turns by 1/base, with the decay where it stands beside them; it by itself."""
    for wave in evidence.series:
        found = rotary_keys(wave, evidence) if wave.spectrum.keys.get("shift") == "1" else None
        if found is None:
            continue
        keys, table = found
        decay = evidence.beside.get("decay")
        rest = {"heads": "1", "decay": "none"} if decay is None or decay.ndim < 2 else _beside(decay)
        yield Guess("retnet", {**keys, **rest}, table, wave.cost + 1, wave.level, free=wave.free)
    for named in (angles, vectors):
        yield from named("retnet", evidence, _series, {"heads": "1", "decay": "none"}, cost=1)
    yield from _alone(evidence)


def _series(measured: Measured) -> Iterator[Spectrum]:
    for spectrum in geometric(measured, shifts=(1.0,)):
        own = {name: text for name, text in spectrum.keys.items() if name != "shift"}
        yield replace(spectrum, keys=own)


def _beside(decay: Floats) -> dict[str, str]:
    """Return what the array beside rotations is, whatever axes of length 1 it has, but for one head of all pairs."""
    shape = [side for side in decay.shape[:-2] if side != 1] + [*decay.shape[-2:]]
    dense = len(shape) == 3 or (decay.ndim > 2 and shape[0] == shape[1])
    heads = 1 if dense and len(shape) == 2 else shape[0]
    told = decay[~np.isnan(decay)]
    apply = "log" if told.size and np.median(told) < 0 else "multiply"
    return {"heads": str(heads), "decay": "dense" if dense else "distance", "max-len": str(shape[-1]), "apply": apply}


def _alone(evidence: Evidence) -> Iterator[Guess]:
    """Yield the decay of each head by itself, by distance or for each query and key."""
    for view in evidence.profile.views if evidence.profile else ():
        values, distances = view.most if view.by == "distance" else (view.values, -np.arange(view.values.shape[1]))
        later = distances > 0
        if len(distances) < LEAST or np.nan_to_num(values[:, later]).any() or view.heads > MOST_HEADS:
            continue
        logs = -distances[~later] * np.log1p(-(2.0 ** (-5.0 - np.arange(view.heads))))[:, None]
        for apply, made in (("multiply", np.exp(logs)), ("log", logs)):
            near = np.abs(values[:, ~later] - made) <= ROUNDINGS * evidence.resolution * np.abs(made)
            if near.mean() > MOSTLY:
                form = {"decay": "dense" if view.by == "distance" else "distance", "max-len": str(view.length)}
                keys = {"dim": "2", "heads": str(view.heads), "apply": apply, **form}
                yield Guess("retnet", keys, {"length": str(view.length)}, 3.0, notes=(ALONE,), arrays=("decay",))
