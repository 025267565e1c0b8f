"""Folder of a checkpoint: its tables of positions, compared with its config."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.formats import open_table
from pecli.formats.stored import parse_object
from pecli.inspect.configs import ConfigReport, compare_stacks, report
from pecli.judge.compare import compare
from pecli.models.reader import of_layer, read_config
from pecli.models.reading import ConfigReading
from pecli.numbers.dtypes import GRIDS, real_type
from pecli.numbers.rounding import allowance, floats
from pecli.spec.declaration import Family
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.alignment import open_aligned
from pecli.tables.comparison import Comparison
from pecli.tables.figures import Tolerance
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table

CONFIG, INDEX = "config.json", "model.safetensors.index.json"
FREQUENCIES, CACHES, VECTORS = "frequencies", "cosines and sines", "a vector for each position"
BIASES = "trained numbers or vectors of distances"
NAMES = {
    FREQUENCIES: r"(^|[._])inv_freq$",
    CACHES: r"(^|[._])(cos_sin_cache|(cos|sin)(_cached?)?|freqs_cis)$",
    VECTORS: (
        r"(^|\.)(wpe|\w*(embed_positions|position_embeddings?|pos_emb(ed(ding)?)?(_\d+)?|positional_embedding))"
        r"(\.weights?)?$"
    ),
    BIASES: (
        r"((relative_attention_bias|rel_embeddings|distance_embedding)\.weight|relative_position_bias_table|rel_pos_[hw]|"
        r"attention_biases)$"
    ),
}
FAMILIES = {
    FREQUENCIES: (Family.ROTARY,), CACHES: (Family.ROTARY,), VECTORS: (Family.ABSOLUTE,),
    BIASES: (Family.BIAS, Family.RELATIVE),
}  # fmt: skip
# What the names of a table's cosines and of its sines differ in.
COMPONENT = re.compile(r"(?<!cos_)(cos|sin)(?=(_cached?)?$)")
# Of frequencies that were computed in float32 and are stored in this type.
MAX_RELATIVE_GAP = {"float64": 1e-6, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}
# Layouts of a rotary table in one array.
SINGLE = ("sin-cos", "concat")
TRAINED = "trained: no config gives its values"
OTHER_SIZE = "no table of the config has this size"


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
    """Positions in a checkpoint's folder: config, stored tables, stacks that read it differently, files not read."""

    path: str
    config: ConfigReport
    tables: tuple[StoredPositions, ...]
    otherwise: tuple[str, ...]
    unread: tuple[str, ...]


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
    return Checkpoint(path, report(reading), tables, tuple(_otherwise(config, reading)), tuple(_unread(Path(path))))


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
            for names, what in named_tables(array.name for array in table.arrays).items():
                first = table.array(names[0])
                found = compared(what, {name: table.read(name) for name in names}, sources_of(reading, names[0]))
                equal = None if found.trained else found.equal
                yield StoredPositions(file.name, "+".join(names), 1, first.shape, first.dtype, what, equal, found.text)


def _unread(folder: Path) -> Iterator[str]:
    """Yield what belongs to the checkpoint and was not looked into, with the reason."""
    index = folder / INDEX
    if index.exists():
        files = parse_object(index.read_bytes()).get("weight_map")
        if not isinstance(files, dict):
            files = {}
            yield f"{INDEX}: it says no weight_map, so that shards may be missing"
        for name in sorted({str(name) for name in files.values() if not os.path.exists(folder / str(name))}):
            yield f"{name}: {INDEX} names it, and it is not in the folder"
    for file in sorted(file for ending in PICKLES for file in folder.glob(f"*{ending}")):
        yield f"{file.name}: a PyTorch file, which is read by its own name only"


PICKLES = (".bin", ".pt", ".pth")


def named_tables(names: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Return the tables of positions among tensors, by their names: of cosines and sines both; and what each is."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        what = next((what for what, pattern in NAMES.items() if re.search(pattern, name)), None)
        if what is not None:
            found.setdefault((COMPONENT.sub("*", name), what), []).append(name)
    return {tuple(sorted(like)): what for (_, what), like in found.items()}


def sources_of(reading: ConfigReading | None, name: str = "") -> dict[str, NamedSource]:
    """Return a config's tables by kind of layer; those of the side, encoder or decoder, that a tensor's name says."""
    if reading is None:
        return {}
    side = [kind for kind in name.split(".") if kind in reading.layers]
    layers = {kind: layer for kind, layer in reading.layers.items() if not side or kind in side}
    for key, part in reading.parts.items() if not side else ():
        layers |= {f"{key}/{kind}": layer for kind, layer in part.layers.items()}
    found = {}
    for kind, layer in layers.items():
        try:
            recipe = of_layer(reading, layer, {}).recipe
        except PecliError:  # a parameter is the image's
            continue
        whole = recipe.of_length(layer.length or 1)
        found[kind] = NamedSource(recipe.short, whole, model_length=layer.length, model_layout=layer.layout)
    return found


@dataclass(frozen=True)
class Compared:
    """A named table beside those of a config.

    Attributes
    ----------
    recipe : str
        That it was compared with; empty for none.
    comparison : Comparison or None
    note : str
        What is said instead of a comparison.
    trained : bool
    exact : Table or None
        The table that it was compared with.
    """

    recipe: str = ""
    comparison: Comparison | None = None
    note: str = ""
    trained: bool = False
    exact: Table | None = None

    @property
    def equal(self) -> bool:
        """Whether it is a table of the config."""
        return self.comparison is not None and self.comparison.equal

    @property
    def text(self) -> str:
        """The answer in a sentence."""
        if self.comparison is None:
            return self.note
        if self.equal:
            gap, dtype = self.comparison.total.max_abs, real_type(self.comparison.arrays[0].dtypes[0])
            return f"the config's, {f'within {gap:.1e}, the rounding of {dtype}' if gap else 'to the bit'}"
        findings = "; ".join(found.text for found in self.comparison.findings)
        return f"not the config's: {findings or self.comparison.verdict}"


def compared(what: str, arrays: Mapping[str, NDArray[Any]], sources: Mapping[str, NamedSource]) -> Compared:
    """Compare a table that names say to be `what` with those of a config; the answer is of the one that it is nearest.

    Parameters
    ----------
    what : str
        Of `NAMES`.
    arrays : mapping of str to array
        The table, of which cosines and sines may be two.
    sources : mapping of str to NamedSource
        As `sources_of` returns them.
    """
    learned = ""
    table, found = InMemory({name.rpartition(".")[2]: values for name, values in arrays.items()}), list[Compared]()
    for source in sources.values():
        assert source.recipe is not None
        encoding = source.recipe.encoding
        is_single = what == VECTORS and source.model_layout in SINGLE
        if encoding.family not in FAMILIES[what] and not is_single:
            continue
        if encoding.facts.learned:
            learned = source.text
            continue
        if is_single:
            source = replace(source, given={"layout": str(source.model_layout)})
        elif table.arrays[0].name == "cos_sin_cache":  # whose users cut it into cosines and sines
            source = replace(source, given={"layout": "concat"})
        with suppress(PecliError):
            made, other = open_aligned(source, NamedSource(table.title, table=table), 1)
            result = compare(other, made, _tolerance(what, other))
            if result.complete and isinstance(made, Table):
                found.append(Compared(source.text, result, exact=made))
    if not found:
        trained = what in (VECTORS, BIASES)
        return Compared(learned, note=TRAINED if trained else OTHER_SIZE, trained=trained)
    return min(found, key=lambda one: one.comparison.total.beyond if one.comparison else 0)


def _tolerance(what: str, table: Tabular) -> Tolerance:
    """Return what float32 code may lose, whose values are stored in a table's type."""
    first = table.arrays[0]
    dtype = real_type(first.dtype)
    if what == FREQUENCIES:
        grid = GRIDS[dtype]
        return Tolerance(2.0 ** (grid.lowest - grid.precision), MAX_RELATIVE_GAP[dtype], 0)
    values = floats(table.read(first.name), first.dtype)
    return Tolerance(allowance(max(1.0, float(abs(values).max(initial=0.0))), dtype, first.rows), 0.0, 0)
