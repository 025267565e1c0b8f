"""Checkpoints in safetensors: rows of query and key weights permuted for the other pairing, or one array replaced.

A head's row i of W_q makes number i of the query.  For the other pairing rows move: from neighbours to halves row i
comes from row 2i and row i + d/2 from 2i + 1; from halves to neighbours the other way, which is another permutation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.rotation import OF_MODEL, PAIRINGS, HeadPairs, members
from pecli.apply.tensors import AXES_BY_RANK
from pecli.errors import BadFile, BadParameter, BadRecipe, PecliError, UnknownName, WriteFailed
from pecli.formats import open_table
from pecli.formats.io.atomic import Need, folder_of, open_output
from pecli.formats.safetensors import LENGTH_BYTES, SafetensorsTable, head_of
from pecli.formats.stored import parse_object, plain
from pecli.models.config import load_config
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import DTYPES, GRIDS
from pecli.numbers.rounding import Floats, Integers, widen
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular, View
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.sources import read_source

if TYPE_CHECKING:
    from pecli.judge.kernels import AppliedRotation, RotationSource


_PART = (
    r"(?:^|.*[./])(?:attn_|self_|to_)?(?:{0}_proj|w{0}|{0}|{1}|{0}_lin|{0}_norm|{0}_layernorm|{1}_norm|{1}_layernorm)"
)
_SUFFIX = r"(?:\.(?P<end>.+))?$"
QUERY, KEY = (re.compile(_PART.format(letter, word) + _SUFFIX) for letter, word in (("q", "query"), ("k", "key")))
UNROTATED = re.compile(r"(?:^|.*[./])(?:attn_|to_)?(?:v_proj|o_proj|wv|wo|v|o|value|out_proj|output|dense)(?:\..+)?$")
FUSED = re.compile(r"(?:^|.*[./])(?:attn_)?(?:qkv(?:_proj)?|Wqkv|query_key_value|c_attn|in_proj)(?:[._].+)?$")
PARAMETERS = re.compile(r"weight|bias|lora_B\.(?:\w+\.)?weight")
# Factor of a low-rank update that is applied to the input; its rows are not permuted.
UNTOUCHED = re.compile(r"lora_A\.(?:\w+\.)?weight")


@dataclass(frozen=True)
class HeadRows:
    """Permutation of the rows of query and key weights.

    Attributes
    ----------
    from_pairs, to_pairs : {"half", "interleaved"}
        The pairing that the weights were made for, and the one that they are wanted for.
    heads, kv_heads : int
        Of queries and keys.
    rotary_dim : int, optional
        Rows of a head that turn; the others stay (default: all).
    tensors : str, optional
        Regular expression of the names (default: those that queries and keys usually have).
    head_dim : int, optional
        Rows of a head, where something says so; norms of one head have as many.
    """

    from_pairs: str
    to_pairs: str
    heads: int
    kv_heads: int
    rotary_dim: int | None = None
    tensors: str | None = None
    head_dim: int | None = None

    def __post_init__(self) -> None:
        for name, word in (("from-pairs", self.from_pairs), ("to-pairs", self.to_pairs)):
            if word not in PAIRINGS:
                raise BadParameter(name, word, "must be half or interleaved")
        if self.from_pairs == self.to_pairs:
            raise BadParameter("to-pairs", self.to_pairs, "is what the weights are made for already")

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The names that are asked for."""
        try:
            return None if self.tensors is None else re.compile(self.tensors)
        except re.error as error:
            raise BadParameter("tensors", self.tensors, f"is no regular expression: {error}") from None

    def chosen(self, arrays: Mapping[str, Array], left_out: tuple[str, ...] = ()) -> dict[str, int]:
        """Return the number of heads of each array whose rows move.

        Raises
        ------
        BadParameter, BadRecipe
            For values and outputs, packed or fused tensors, and shapes that do not fit the heads.
        """
        found: dict[str, int] = {}
        head_dim = self.head_dim
        every = sorted((*arrays, *left_out), key=lambda name: ("norm" in name, bool(KEY.fullmatch(name))))
        for name in every:  # queries tell the width of a head
            role = self._role(name, alone=len(arrays) + len(left_out) == 1)
            if role is None:
                continue
            array = arrays.get(name)
            if array is None or array.dtype not in DTYPES or len(array.shape) not in (1, 2):
                kind = "a type of its own" if array is None else f"type {array.dtype} with {len(array.shape)} axes"
                rule = f"is of {kind}, packed or quantised: its rows cannot be moved; convert the unpacked weights"
                raise BadParameter("tensors", name, rule)
            heads, rows = self.heads if role == "query" else self.kv_heads, array.shape[0]
            if role == "key" and head_dim and "norm" not in name and rows != heads * head_dim and rows % head_dim == 0:
                heads = rows // head_dim  # of grouped queries
            found[name] = self._heads_of(array, heads, head_dim)
            head_dim = head_dim or array.shape[0] // found[name]
        return found

    def _role(self, name: str, *, alone: bool) -> str | None:
        if self.pattern is not None and not self.pattern.search(name):
            return None
        if FUSED.fullmatch(name):
            rule = "holds queries, keys and values in one: split it first, its order differs from model to model"
            raise BadParameter("tensors", name, rule)
        for role, names in (("query", QUERY), ("key", KEY)):
            if match := names.fullmatch(name):
                end = match["end"] or "weight"
                if UNTOUCHED.fullmatch(end):
                    return None
                if not PARAMETERS.fullmatch(end):
                    rule = "belongs to a packed weight: its rows cannot be moved; convert the unpacked weights"
                    raise BadParameter("tensors", name, rule)
                return role
        if self.pattern is not None or alone:
            if UNROTATED.fullmatch(name):
                raise BadParameter("tensors", name, "are values or outputs: their rows do not turn, and stay")
            return "query"
        return None

    def _heads_of(self, array: Array, heads: int, head_dim: int | None) -> int:
        rows = array.shape[0]
        if "norm" in array.name and rows == head_dim:
            return 1
        if not rows or rows % (2 * heads) or (head_dim is not None and rows != heads * head_dim):
            expected = "" if head_dim is None else f" of {head_dim} rows each"
            raise BadParameter("heads", heads, f"do not fit {array.name} of {rows} rows: give those it has{expected}")
        self.order(rows // heads)
        return heads

    def order(self, head_dim: int) -> Integers:
        """Return the old row of each new row of a head, (head_dim,)."""
        width = self.rotary_dim or head_dim
        if width > head_dim or width % 2:
            raise BadParameter("rotary-dim", width, f"must be even and at most {head_dim}, the rows of a head")
        rows = np.arange(head_dim)
        new = rows.copy()
        for old, target in zip(members(rows, width, self.from_pairs), members(new, width, self.to_pairs), strict=True):
            target[...] = old
        return new


class PermutedRows(View):
    """A table whose chosen arrays have their rows in the order of another pairing.

    Parameters
    ----------
    source : Tabular
        Weights (rows, in) or (rows,).
    rows : HeadRows
        How they move.
    """

    def __init__(self, source: Tabular, rows: HeadRows) -> None:
        super().__init__(source, source.arrays)
        self.rows = rows
        arrays = {array.name: array for array in source.arrays}
        self.heads = rows.chosen(arrays, tuple(getattr(source, "left_out", ())))

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows, head by head; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        if others := {name: target for name, target in out.items() if name not in self.heads}:
            self.source.fill(start, stop, others)
        for name in out.keys() - others.keys():
            array, heads = self.array(name), self.heads[name]
            order, size = self.rows.order(array.shape[0] // heads), array.rows // heads
            for first in range(start - start % size, stop, size):
                head = self.source.read_rows([name], first, first + size)[name]
                moved = head.reshape(len(order), -1)[order].reshape(head.shape)
                low, high = max(start, first), min(stop, first + size)
                out[name][low - start : high - start] = moved[low - first : high - first]


def permuted(source: Tabular, rows: HeadRows) -> PermutedRows:
    """Return a table with its queries and keys in the order of another pairing; BadRecipe if it has none."""
    made = PermutedRows(source, rows)
    if not made.heads:
        raise none_found("the file", rows)
    return made


def none_found(what: str, rows: HeadRows) -> BadRecipe:
    """Return the error for weights without queries and keys."""
    sought = "no name of queries or keys, such as q_proj.weight" if rows.tensors is None else rows.tensors
    return BadRecipe(f"{shorten(what)} has {sought}: name its tensors with --tensors REGEX")


PIECE = 4 << 20


def is_checkpoint(path: str) -> bool:
    """Return whether a path is a safetensors file, or a folder that holds such files."""
    return path.endswith(".safetensors") or (os.path.isdir(path) and any(Path(path).glob("*.safetensors")))


# Keys of a config that number heads, or the rows of one.
HEAD_KEYS = {
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "head_dim": ("head_dim",),
}


def checkpoint_facts(path: str) -> dict[str, Any]:
    """Return heads, kv_heads, head_dim, rotary_dim and pairs from a checkpoint's config.json, where it has them."""
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    config = folder / "config.json"
    if not config.is_file():
        return {}

    keys = load_config(config)
    keys = keys["text_config"] if isinstance(keys.get("text_config"), dict) else keys
    found: dict[str, Any] = {
        name: keys[word]
        for name, words in HEAD_KEYS.items()
        for word in words
        if isinstance(keys.get(word), int) and keys[word] > 0
    }
    width = keys.get("hidden_size", keys.get("n_embd"))
    if "head_dim" not in found and "heads" in found and isinstance(width, int):
        found["head_dim"] = width // found["heads"]
    try:
        source = read_source(str(config))
    except PecliError:  # of a model without a rotary table the numbers of heads still hold
        return found
    if source.model_pairing is not None:
        found["pairs"] = OF_MODEL[source.model_pairing].partition(":")[0]
    rotary = source.recipe.values.get("rotary_dim") if source.recipe is not None else None
    return found | ({"rotary_dim": rotary} if isinstance(rotary, int) else {})


def permute_checkpoint(path: str, target: str, rows: HeadRows, *, clobber: bool = True) -> tuple[dict[str, int], int]:
    """Write a checkpoint with the rows of its queries and keys moved.

    Parameters
    ----------
    path : str
        A safetensors file, or a folder with some and whatever else, which is copied.
    target : str
        A file, or a folder that does not exist yet.
    rows : HeadRows
        How they move.
    clobber : bool
        Whether a file is replaced.

    Returns
    -------
    dict of str to int, int
        The tensors whose rows moved and their heads, and the bytes of the files in which they are.

    Raises
    ------
    PecliError
        If nothing fits, or it cannot be written; nothing is left then.
    """
    found: dict[str, int] = {}
    edits: dict[str, Edit] = {}
    for file in files_of(path):
        table = _opened(file)
        moved = PermutedRows(table, rows)
        if moved.heads:
            edits[file] = (
                os.path.getsize(file),
                _edited(table, 0, {name: _bytes_of(moved, name) for name in moved.heads}),
            )
            found |= moved.heads
    if not found:
        raise none_found(path, rows)
    return found, _rewrite(path, target, edits, clobber)


def replace_array(path: str, target: str, name: str, new: Tabular, *, clobber: bool = True) -> int:
    """Write a checkpoint with one array replaced by the single array of a table, in the same type; return its bytes.

    Headers and the index of shards say the new size; every other tensor and file is copied byte for byte.

    Parameters
    ----------
    path, target, clobber
        See `permute_checkpoint`.
    name : str
        Of the array.
    new : Tabular
        What stands in its place.

    Raises
    ------
    PecliError
        If it cannot be written; nothing is left then.
    """
    file = file_with(path, name)
    table = _opened(file)
    old, (array,) = table.array(name), new.arrays
    length = int.from_bytes(table.bytes_at(0, LENGTH_BYTES), "little")
    header = json.loads(table.bytes_at(LENGTH_BYTES, length))
    stored = next(key for key in header if plain(key) == name)
    begin, size = header[stored]["data_offsets"][0], os.path.getsize(file) + array.bytes - old.bytes
    for key, entry in header.items():
        if key != "__metadata__" and entry["data_offsets"][0] > begin:
            entry["data_offsets"] = [offset + array.bytes - old.bytes for offset in entry["data_offsets"]]
    header[stored] |= {"shape": list(array.shape), "data_offsets": [begin, begin + array.bytes]}
    head, first = head_of(header), table.offsets[name] - begin
    changed = {name: _bytes_of(new, array.name)}
    edits: dict[str, Edit] = {file: (size - first + len(head), chain([head], _edited(table, first, changed)))}
    for index in Path(path).glob("*.safetensors.index.json") if os.path.isdir(path) else ():
        held = parse_object(index.read_bytes())
        facts = held.get("metadata")
        if isinstance(facts, dict) and isinstance(facts.get("total_size"), int):
            facts["total_size"] += array.bytes - old.bytes
            data = json.dumps(held, indent=2).encode() + b"\n"
            edits[str(index)] = len(data), [data]
    return _rewrite(path, target, edits, clobber)


# Contents of an edited file: how many bytes, and these piece by piece.
Edit = tuple[int, Iterable[bytes]]


def files_of(path: str) -> list[str]:
    """Return a safetensors file, or the safetensors files of a folder."""
    if not os.path.isdir(path):
        return [path]
    return [entry.path for entry in _sorted(path) if entry.name.endswith(".safetensors")]


def file_with(path: str, name: str) -> str:
    """Return the file of a checkpoint that holds an array.

    Raises
    ------
    UnknownName
        If none does.
    """
    names: list[str] = []
    for file in files_of(path):
        held = _opened(file).keys()
        if name in held:
            return file
        names += held
    raise UnknownName("array", name, names)


def _rewrite(path: str, target: str, edits: Mapping[str, Edit], clobber: bool) -> int:
    """Write a checkpoint, file or folder, with edited files replaced, whose bytes are returned, and others copied."""
    if not os.path.isdir(path):
        return _write(target, edits[path], clobber)
    if os.path.lexists(target):
        raise WriteFailed(target, "exists: name a folder that does not")
    hidden = os.path.join(folder_of(target), f".{os.urandom(8).hex()}.tmp")
    os.mkdir(hidden)
    try:
        for entry in _sorted(path):
            where = os.path.join(hidden, entry.name)
            if entry.path in edits:
                _write(where, edits[entry.path], clobber)
            else:
                shutil.copyfile(entry.path, where)
        os.rename(hidden, target)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return sum(size for size, _ in edits.values())


def _write(target: str, edit: Edit, clobber: bool) -> int:
    size, pieces = edit
    with open_output(target, clobber=clobber, need=Need(size)) as output:
        for piece in pieces:
            output.write(piece)
    return size


def _sorted(path: str) -> list[os.DirEntry[str]]:
    return sorted((entry for entry in os.scandir(path) if entry.is_file()), key=lambda entry: entry.name)


def _opened(path: str) -> SafetensorsTable:
    table = open_table(path)
    if not isinstance(table, SafetensorsTable):
        raise BadFile(path, "is no safetensors file: convert it first")
    return table


def _between(table: SafetensorsTable, start: int, stop: int) -> Iterator[bytes]:
    """Yield bytes of a file."""
    for at in range(start, stop, PIECE):
        yield table.bytes_at(at, min(PIECE, stop - at))


def _edited(table: SafetensorsTable, start: int, changed: Mapping[str, Iterable[bytes]]) -> Iterator[bytes]:
    """Yield a file from a byte on, with other bytes in the place of some tensors."""
    for name in sorted(changed, key=table.offsets.__getitem__):
        yield from _between(table, start, table.offsets[name])
        yield from changed[name]
        start = table.offsets[name] + table.array(name).bytes
    yield from _between(table, start, os.path.getsize(table.path))


def _bytes_of(table: Tabular, name: str) -> Iterator[bytes]:
    """Yield the values of an array."""
    for block in table.blocks([name]):
        yield block.values[name].tobytes()


def rows_from(path: str, given: Mapping[str, int | str | None]) -> HeadRows:
    """Return the row permutation from the given options, completed from the checkpoint's config.json.

    Raises
    ------
    BadParameter
        If nothing says how many heads there are, or which pairing.
    """
    stated = checkpoint_facts(path) if is_checkpoint(path) else {}
    known: dict[str, Any] = stated | {name: value for name, value in given.items() if value is not None}
    known = {"from_pairs": known.pop("pairs", None), "to_pairs": None, **known}
    for name in ("from_pairs", "to_pairs"):
        if known[name] is None:
            option = name.replace("_", "-")
            raise BadParameter(option, None, "is needed: half (Llama in transformers) or interleaved (Meta's own)")
    if "heads" not in known:
        raise BadParameter("heads", None, "is needed: how many heads the queries have")
    return HeadRows(**{"kv_heads": known["heads"], **known})


MAX_BYTES = 1 << 26  # of an array that is rotated anew in memory, several times as float64
MAX_RELATIVE_GAP = 2.0**-6  # of the largest value that two roundings of bfloat16 may be apart


def explained(found: Comparison, a: Tabular, b: Tabular, heads: int | None = None) -> Comparison:
    """Make a comparison explain a difference first by the rotation of a golden file, or by the pairing of weights.

    Tables are weights where `heads` is given.
    """
    usual = found.explain
    tested, golden = (b, a) if "rotated" in a.metadata and "rotated" not in b.metadata else (a, b)
    if heads is None and "rotated" not in golden.metadata:
        return found

    def explain(comparison: Comparison) -> list[Finding]:
        findings = rotation_faults(tested, golden, comparison) if heads is None else weight_faults(a, b, heads)
        return findings or (usual(comparison) if usual is not None else [])

    found.explain = explain
    return found


def rotation_faults(tested: Tabular, golden: Tabular, found: Comparison) -> list[Finding]:
    """Return the faults of each rotated array that differs from a golden file, from the inputs that the file holds."""
    from pecli.judge.compare import explained
    from pecli.judge.kernels import RotationSource, faults

    facts = golden.metadata
    findings: list[Finding] = []
    names = facts.get("rotated", "").split()
    given = {name: name.removesuffix("_rotated") for name in names}
    same = [array.names[0] for array in found.arrays if not array.figures.beyond]
    for name, x in given.items():
        if name not in tested or x == name or x not in golden or tested.array(name).dtype not in GRIDS:
            continue
        shape, dtype = tested.array(name).shape, tested.array(name).dtype
        alike = shape == golden.array(name).shape
        if (alike and name in same) or max(table.array(name).bytes for table in (tested, golden)) > MAX_BYTES:
            continue
        y, right, before = (
            widen(t.read(n), t.array(n).dtype) for t, n in ((tested, name), (golden, name), (golden, x))
        )
        if not alike:
            fault = _repeated(y, right)
            findings += [Finding("rotation", f"{name}: {fault}")] if fault else []
            continue
        applied = applied_rotation(
            facts, AXES_BY_RANK[len(shape)], (before, y, right), positions=golden.read("positions").astype(np.int64),
            dtype=dtype, source=RotationSource(split_recipe(facts["applied"])),
        )  # fmt: skip
        findings += faults(applied, name, explained)
    return findings


def applied_rotation(
    facts: Mapping[str, str], axes: str, vectors: Iterable[Floats], *, positions: Integers, dtype: str,
    source: RotationSource,
) -> AppliedRotation:  # fmt: skip
    """Return inputs, outputs and exact outputs of a rotation as the judge takes them; `facts` are a result's."""
    from pecli.judge.kernels import AppliedRotation, as_vectors

    pairs = HeadPairs.parse(facts["pairs"])
    x, y, right = (as_vectors(one, axes) for one in vectors)
    return AppliedRotation(
        x, y, right, positions, (pairs.from_pairs, pairs.to_pairs), int(facts["rotary-dim"]), dtype, source, axes
    )


def _repeated(tested: Floats, truth: Floats) -> str | None:
    """Return how keys (b, heads, n, d) were repeated for every head of the queries, or None."""
    if tested.ndim != 4 or truth.ndim != 4 or tested.shape[1] % truth.shape[1]:
        return None
    times = tested.shape[1] // truth.shape[1]
    heads = f"{tested.shape[1]} heads where {truth.shape[1]} were expected, the queries'"
    again = "all stand one after the other, again and again, in the order of none of the groups"
    repeated, tiled = np.repeat(truth, times, axis=1), np.tile(truth, (1, times, 1, 1))
    for made, finding in ((repeated, f"each stands {times} times"), (tiled, again)):
        if made.shape == tested.shape and (np.abs(tested - made) <= MAX_RELATIVE_GAP * np.abs(truth).max()).all():
            return f"{heads}: {finding}"
    return None


FEW_COLUMNS = 4  # in which rows that moved show it


def weight_faults(tested: Tabular, expected: Tabular, heads: int) -> list[Finding]:
    """Return a finding if the rows of one matrix equal the rows of another in the other pairing's order."""
    if [array.shape for array in tested.arrays] != [array.shape for array in expected.arrays]:
        return []
    few = [_first_columns(table) for table in (tested, expected)]
    for text, moves in _permutations(expected.arrays[0].shape[0], heads):
        if all(compare_tables(a, _moved(b, moves)).equal for a, b in (few, (tested, expected))):
            return [Finding("pairs", text)]
    return []


def _permutations(rows: int, heads: int) -> Iterator[tuple[str, list[HeadRows]]]:
    """Yield what is said of rows in another pairing's order, also as of another number of heads, and how they moved."""
    others = [count for count in range(1, rows // 2 + 1) if rows % (2 * count) == 0 and count != heads]
    for count, (old, new) in product((heads, *others), (PAIRINGS[::-1], PAIRINGS)):
        text = f"rows permuted: {new} against {old}, all values equal apart from the order"
        text += f", as of {count} heads where {heads} were expected" * (count != heads)
        yield text, [HeadRows(old, new, count, count)]
    for old, new in (PAIRINGS[::-1], PAIRINGS):
        yield f"rows permuted twice from {old} to {new}", [HeadRows(old, new, heads, heads)] * 2
    for count, (old, new) in product(others, (PAIRINGS[::-1], PAIRINGS)):
        text = f"rows permuted from {old} to {new} as of {count} heads where {heads} were expected"
        yield text, [HeadRows(new, old, heads, heads), HeadRows(old, new, count, count)]


def _first_columns(table: Tabular) -> Tabular:
    held = {array.name: table.read(array.name) for array in table.arrays}
    return InMemory({name: values[:, :FEW_COLUMNS] if values.ndim > 1 else values for name, values in held.items()})


def _moved(table: Tabular, moves: Iterable[HeadRows]) -> Tabular:
    for rows in moves:
        table = permuted(table, rows)
    return table
