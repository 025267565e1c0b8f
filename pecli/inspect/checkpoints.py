"""Folder of a checkpoint: its tables of positions, compared with its config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.formats import open_table
from pecli.formats.stored import StoredTable
from pecli.inspect.configs import ConfigReport, compare_stacks, report
from pecli.models.reader import of_layer, read_config
from pecli.models.reading import ConfigReading, LayerReading
from pecli.numbers.printing import figure
from pecli.numbers.rounding import floats
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table

CONFIG = "config.json"
FREQUENCIES, VECTORS, BIASES = "frequencies", "a vector for each position", "a number for each distance"
NAMES = {
    FREQUENCIES: r"(^|[._])inv_freq$",
    VECTORS: r"(^|\.)(wpe|\w*(embed_positions|position_embeddings?|pos_embed|positional_embedding))(\.weights?)?$",
    BIASES: r"(relative_attention_bias\.weight|relative_position_bias_table|rel_pos_[hw])$",
}
MAX_RELATIVE_GAP = {
    "float64": 1e-6,
    "float32": 1e-6,
    "float16": 1e-3,
    "bfloat16": 8e-3,
}  # relative, of frequencies made in it
MAX_VALUE_GAP = 1e-3  # of sines that were computed in float32 and may be stored in float16


@dataclass(frozen=True)
class StoredPositions:
    """One table that a checkpoint stores.

    Attributes
    ----------
    file, name : str
        Where it stands; of layers' like tables the first.
    count : int
        How many like it there are, one for each layer.
    shape : tuple of int
    dtype : str
    what : str
        What the name says it is.
    equal : bool or None
        Whether it is the config's; None where no config gives its values, for they are trained.
    text : str
        What was found, as a sentence.
    """

    file: str
    name: str
    count: int
    shape: tuple[int, ...]
    dtype: str
    what: str
    equal: bool | None
    text: str


@dataclass(frozen=True)
class Checkpoint:
    """Positions in a checkpoint's folder: config, stored tables, and stacks that read the config differently."""

    path: str
    config: ConfigReport
    tables: tuple[StoredPositions, ...]
    otherwise: tuple[str, ...]


def inspect_checkpoint(path: str, stack: str = "transformers") -> Checkpoint:
    """Return the positions in a checkpoint's folder; of its weights only such tables are read.

    Raises
    ------
    PecliError
        If the config says nothing of positions, or a file is damaged.
    """
    config = str(Path(path) / CONFIG)
    reading = read_config(config, stack=stack)
    groups: dict[tuple[str, str, tuple[int, ...]], list[StoredPositions]] = {}
    for one in _stored(Path(path), reading):
        groups.setdefault((re.sub(r"\d+", "0", one.name), one.text, one.shape), []).append(one)
    tables = tuple(replace(like[0], count=len(like)) for like in groups.values())
    return Checkpoint(path, report(reading), tables, tuple(_otherwise(config, reading)))


def _otherwise(config: str, reading: ConfigReading) -> Iterator[str]:
    """Yield the stacks whose table is another one, or that make none."""
    if not any(layer.encoding != "none" for layer in reading.layers.values()):
        return
    for kind, rows in compare_stacks(config).items():
        names = [row.stack for row in rows if row.known and not row.equal]
        if names:
            where = "" if kind == "all" else f" of {kind} layers"
            yield f"{', '.join(names)} would make another table{where}, or none: pecli compare {config} --stacks"


def _stored(folder: Path, reading: ConfigReading) -> Iterator[StoredPositions]:
    """Yield the tables of every file, by their names; only their headers and these tables are read."""
    for file in sorted(folder.glob("*.safetensors")):
        with open_table(file) as table:
            for array in table.arrays:
                what = next((what for what, names in NAMES.items() if re.search(names, array.name)), None)
                if what is not None:
                    equal, text = _judged(what, table, array.name, reading)
                    yield StoredPositions(file.name, array.name, 1, array.shape, array.dtype, what, equal, text)


def _judged(what: str, table: StoredTable, name: str, reading: ConfigReading) -> tuple[bool | None, str]:
    """Return whether a stored table is the config's, and how that was found."""
    layers = [*reading.layers.values(), *(one for part in reading.parts.values() for one in part.layers.values())]
    try:
        if what == FREQUENCIES:
            return _frequencies(_values(table, name), table.array(name).dtype, reading, layers)
        if what == VECTORS:
            return _vectors(table, name, reading, layers)
    except PecliError as error:
        return None, f"cannot be compared: {error}"
    return None, "trained: no config gives its values"


def _values(table: StoredTable, name: str) -> NDArray[np.float64]:
    return floats(table.read(name), table.array(name).dtype).astype(np.float64)


def _frequencies(
    stored: NDArray[np.float64], dtype: str, reading: ConfigReading, layers: list[LayerReading]
) -> tuple[bool | None, str]:
    nearest = None
    odd = int((~np.isfinite(stored)).sum())
    if odd:
        return False, f"not the config's: {odd} of {stored.size} frequencies are NaN or infinite"
    for layer in layers:
        recipe = _resolved(reading, layer)
        if recipe is None or not isinstance(recipe.plan, Waves) or len(recipe.plan.frequencies) != stored.size:
            continue
        own = np.array([float(w) for w in recipe.plan.frequencies])
        apart = float(np.max(np.abs(stored.reshape(-1) - own) / np.where(own == 0, 1, np.abs(own))))
        nearest = apart if nearest is None else min(nearest, apart)
    if nearest is None:
        return False, f"{stored.size} frequencies: no table of the config has as many"
    if nearest <= MAX_RELATIVE_GAP.get(dtype, 1e-6):
        return True, f"the config's, within {nearest:.1e}, the rounding of {dtype}"
    return False, f"not the config's: a frequency is {figure(100 * nearest, 3)} % off"


def _vectors(
    table: StoredTable, name: str, reading: ConfigReading, layers: list[LayerReading]
) -> tuple[bool | None, str]:
    shape = tuple(side for side in table.array(name).shape if side != 1)
    for layer in layers if shape else ():
        recipe = _resolved(reading, layer)
        if recipe is None or recipe.encoding.family is not Family.ABSOLUTE or recipe.encoding.facts.learned:
            continue
        made = Table.make(recipe, length=shape[0] if recipe.rows is None else None, dtype="float64")
        if made.arrays[0].shape == shape:
            apart = float(np.abs(_values(table, name).reshape(shape) - made.read(made.arrays[0].name)).max())
            same = apart <= MAX_VALUE_GAP
            return same, f"{'the' if same else 'not the'} config's {recipe.encoding.name}: values are {apart:.1e} apart"
    return None, "trained: no config gives its values"


def _resolved(reading: ConfigReading, layer: LayerReading) -> Recipe | None:
    """Return the recipe of a layer, at the length that the model declares; None where a parameter is the image's."""
    try:
        recipe = of_layer(reading, layer, {}).recipe
    except PecliError:
        return None
    length = layer.length or 1
    return recipe.resolve(length=length, last=length - 1, whole=True)
