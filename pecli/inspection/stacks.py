"""Which stacks agree on the table of a model's config, and what the others do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.models import LayerReading, read_config
from pecli.models.stacks import StackReading, by_stack
from pecli.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_LENGTH = 4096  # where the config declares none
SAMPLES = 64  # positions at which tables are compared, beside the first ones


@dataclass(frozen=True)
class StackRow:
    """One stack's table beside that of transformers.

    Attributes
    ----------
    stack : str
        Whose.
    recipe : str or None
        What it computes; None where it makes no table.
    equal : bool
        Whether frequencies and magnitude equal those of transformers.
    frequencies : float or None
        Largest relative difference of a frequency; None where widths differ or there is no table.
    magnitude : float or None
        What multiplies cos and sin.
    values : float or None
        Largest difference of a cos or sin over the sampled positions.
    keys, departures, sources : tuple of str
        The keys on which it hangs, what the stack does, and where that was read.
    trouble : str
        Why there is no table, if there is none.
    """

    stack: str
    recipe: str | None
    equal: bool
    frequencies: float | None
    magnitude: float | None
    values: float | None
    keys: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    trouble: str = ""


def compare_stacks(path: str, layer_type: str | None = None) -> Mapping[str, tuple[StackRow, ...]]:
    """Return the rows of every stack, by kind of layer; kinds of one recipe once.

    Raises
    ------
    PecliError
        If the config cannot be read, or has no such kind of layer.
    """
    reading = read_config(path)
    layers = {layer_type: reading.select(layer_type)} if layer_type else dict(reading.layers)
    found: dict[str, tuple[StackRow, ...]] = {}
    seen = set()
    for name, layer in layers.items():
        identity = (layer.encoding, tuple(sorted(layer.params.items())))
        if identity not in seen and layer.encoding != "none":
            seen.add(identity)
            found[name] = _rows(layer)
    return found


def _rows(layer: LayerReading) -> tuple[StackRow, ...]:
    length = layer.length or DEFAULT_LENGTH
    readings = by_stack(layer)
    own = _resolved(readings[0], length)
    return tuple(_row(reading, own, length) for reading in readings)


def _resolved(reading: StackReading, length: int) -> Recipe:
    assert reading.params is not None
    recipe = Recipe.bind(reading.encoding, **reading.params)
    return recipe.resolve(length=length, last=length - 1, whole=True)


def _row(reading: StackReading, own: Recipe, length: int) -> StackRow:
    departures = tuple(rule.text for rule in reading.differences)
    keys = tuple(dict.fromkeys(rule.key for rule in reading.differences))
    blank = StackRow(
        reading.stack, None, False, None, None, None, keys, departures, tuple(r.source for r in reading.differences)
    )
    if reading.params is None:
        return replace(blank, trouble=departures[-1])
    try:
        recipe = _resolved(reading, length)
        plan, base = recipe.plan, own.plan
    except PecliError as error:
        return replace(blank, trouble=str(error))
    row = replace(blank, recipe=recipe.short)
    if not (isinstance(plan, Waves) and isinstance(base, Waves)):
        return replace(row, equal=recipe == own)
    magnitude = float(plan.magnitude)
    if len(plan.frequencies) != len(base.frequencies):
        trouble = f"turns {len(plan.frequencies)} pairs where transformers turns {len(base.frequencies)}"
        return replace(row, magnitude=magnitude, trouble=trouble)
    pairs = list(zip(plan.frequencies, base.frequencies, strict=True))
    relative = max((abs(float((a - b) / b)) for a, b in pairs if b), default=0.0)
    same = all(a == b for a, b in pairs) and plan.magnitude == base.magnitude
    values = 0.0 if same else _difference(recipe, own, length)
    return replace(row, equal=same, frequencies=relative, magnitude=magnitude, values=values)


def _difference(recipe: Recipe, own: Recipe, length: int) -> float:
    """Return the largest difference of a cos or sin at positions over the whole length."""
    import numpy as np

    over_all = np.linspace(0, length - 1, SAMPLES).astype(int)
    spread = np.unique(np.concatenate([np.arange(min(length, SAMPLES)), over_all]))
    first, second = (_values(r, "+".join(map(str, spread))) for r in (recipe, own))
    return max(float(np.abs(a - b).max()) for a, b in zip(first, second, strict=True))


def _values(recipe: Recipe, positions: str) -> list[NDArray[Any]]:
    table = Table.make(recipe, positions=positions, dtype="float64")
    return [table.read(array.name) for array in table.arrays]
