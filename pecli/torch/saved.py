"""What others saved of a positional table: under which names, in which shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pecli.errors import PecliError
from pecli.tables.foreign import to_numpy
from pecli.tables.guise import FREQUENCIES

if TYPE_CHECKING:
    from pecli.held import Held

WHOLE = ("pe", "pe.weight", "weight", "weights", "pos_embed", "position_embeddings.weight", "embed_positions.weight")
PAIR = ("cos_cached", "sin_cached"), ("cos", "sin")
TRAINED = {"weight": ("weight", "relative_attention_bias.weight"), "vector": ("vector", "vector.weight", "weight")}
IGNORED = ("position_ids", "original_inv_freq")


def take_saved(held: Held, state: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], list[str]]:
    """Return what a state dict holds of a table by the keys that it is known by, and what is wrong with it.

    Trained arrays get the module's names and lose axes of length 1. Computed ones are compared and left out: a value
    of None.
    """
    taken: dict[str, Any] = {}
    for name in held.trained:
        for key in (prefix + word for word in (*TRAINED.get(name, ()), *WHOLE * (name == "pe"))):
            if key in state:
                value = state[key]
                while value.ndim > 2 and value.shape[0] == 1:
                    value = value[0]
                taken[prefix + name] = value
                taken.setdefault(key, value)
                break
    if held.trained:
        return taken, []
    faults: list[str] = []
    for names in (*PAIR, *((word,) for word in (FREQUENCIES, *WHOLE))):
        saved = {word: state[prefix + word] for word in names if prefix + word in state}
        if len(saved) == len(names):
            faults += _faults(held, prefix, saved)
            taken |= {prefix + word: value for word, value in saved.items()}
    taken |= {prefix + word: state[prefix + word] for word in IGNORED if prefix + word in state}
    return taken, faults


def _faults(held: Held, prefix: str, saved: Mapping[str, Any]) -> list[str]:
    import numpy as np

    from pecli.numbers.rounding import widen

    dtype = str(next(iter(saved.values())).dtype).removeprefix("torch.")
    arrays = {}
    for word, value in saved.items():
        values = to_numpy(value)
        arrays[word] = widen(values, dtype).astype(np.float32) if dtype == "bfloat16" else values
    try:
        said = held.fault(arrays, dtype)
    except PecliError as error:
        said = str(error)
    return [f"{prefix}{next(iter(saved))}: {said}"] if said else []
