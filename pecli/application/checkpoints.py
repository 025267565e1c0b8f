"""Checkpoints in safetensors whose query and key rows move; every other byte is copied as it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pecli.application.pairing import OF_MODEL
from pecli.application.weights import HeadRows, none_found
from pecli.errors import BadFile, BadParameter, PecliError, WriteFailed
from pecli.formats import open_table
from pecli.formats.common.safe import Need, open_output
from pecli.formats.safetensors.read import SafetensorsTable

PIECE = 4 << 20
Moved = dict[str, int]


def is_checkpoint(path: str) -> bool:
    """Tell whether a path is a safetensors file, or a folder with some."""
    return path.endswith(".safetensors") or (os.path.isdir(path) and any(Path(path).glob("*.safetensors")))


def facts_beside(path: str) -> dict[str, int | str]:
    """Return heads, kv_heads, head_dim, rotary_dim and pairs, as far as the config.json beside a checkpoint says."""
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    config = folder / "config.json"
    if not config.is_file():
        return {}
    from pecli.sources.sources import read_source

    keys = json.loads(config.read_text())
    keys = keys.get("text_config", keys)
    found: dict[str, int | str] = {}
    for name, words in (
        ("heads", ("num_attention_heads", "n_head", "n_heads", "num_heads")),
        ("kv_heads", ("num_key_value_heads", "num_kv_heads", "n_head_kv")),
        ("head_dim", ("head_dim",)),
    ):
        for word in words:
            if isinstance(keys.get(word), int):
                found[name] = keys[word]
    width = keys.get("hidden_size", keys.get("n_embd"))
    if "head_dim" not in found and "heads" in found and isinstance(width, int):
        found["head_dim"] = width // int(found["heads"])
    try:
        source = read_source(str(config))
    except PecliError:  # of a model without a rotary table the numbers of heads still hold
        return found
    if source.model_pairing is not None:
        found["pairs"] = OF_MODEL[source.model_pairing].partition(":")[0]
    rotary = source.recipe.values.get("rotary_dim") if source.recipe is not None else None
    return found | ({"rotary_dim": rotary} if isinstance(rotary, int) else {})


def permute_checkpoint(
    path: str, target: str, rows: HeadRows, *, clobber: bool = True, progress: Callable[[int], None] = lambda _: None
) -> Moved:
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
    progress : callable
        Called with the bytes written since the last call.

    Returns
    -------
    dict of str to int
        The tensors whose rows moved, and their heads.

    Raises
    ------
    PecliError
        If nothing fits, or it cannot be written; nothing is left then.
    """
    if not os.path.isdir(path):
        table, moved = _moves(path, rows)
        if not moved:
            raise none_found(path, rows)
        _write(table, path, target, moved, rows, clobber, progress)
        return moved
    if os.path.lexists(target):
        raise WriteFailed(target, "exists: name a folder that does not")
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise WriteFailed(target, "its folder does not exist: make it first, or name another")
    opened = {e.name: _moves(e.path, rows) for e in _sorted(path) if e.name.endswith(".safetensors")}
    found = {name: heads for _, moved in opened.values() for name, heads in moved.items()}
    if not found:
        raise none_found(path, rows)
    hidden = f"{os.path.abspath(target)}.{os.urandom(4).hex()}.tmp"
    os.mkdir(hidden)
    try:
        for entry in _sorted(path):
            where = os.path.join(hidden, entry.name)
            if entry.name in opened:
                table, moved = opened[entry.name]
                _write(table, entry.path, where, moved, rows, clobber, progress)
            else:
                shutil.copyfile(entry.path, where)
        os.rename(hidden, target)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return found


def _sorted(path: str) -> list[os.DirEntry[str]]:
    return sorted((entry for entry in os.scandir(path) if entry.is_file()), key=lambda entry: entry.name)


def _moves(path: str, rows: HeadRows) -> tuple[SafetensorsTable, Moved]:
    table = open_table(path)
    if not isinstance(table, SafetensorsTable):
        raise BadFile(path, "is no safetensors file: convert it first")
    return table, rows.chosen({array.name: array for array in table.arrays}, tuple(table.left_out))


def _write(
    table: SafetensorsTable, path: str, target: str, moved: Moved, rows: HeadRows, clobber: bool,
    progress: Callable[[int], None],
) -> None:  # fmt: skip
    """Copy a file, the rows of some tensors in another order."""
    size = os.path.getsize(path)
    with open_output(target, clobber=clobber, need=Need(size)) as output:
        at = 0
        for name in sorted(moved, key=table.place):
            array, begin = table.array(name), table.place(name)
            for start in range(at, begin, PIECE):
                progress(output.write(table.bytes_at(start, min(PIECE, begin - start))))
            head = array.bytes // moved[name]
            order = rows.order(array.shape[0] // moved[name])
            for number in range(moved[name]):
                held = np.frombuffer(table.bytes_at(begin + number * head, head), np.uint8).reshape(len(order), -1)
                progress(output.write(held[order].tobytes()))
            at = begin + array.bytes
        for start in range(at, size, PIECE):
            progress(output.write(table.bytes_at(start, min(PIECE, size - start))))


def rows_from(path: str, given: dict[str, int | str | None]) -> HeadRows:
    """Return how rows move, of what is given and, for the rest, the config.json beside a checkpoint.

    Raises
    ------
    BadParameter
        If nothing says how many heads there are, or which pairing.
    """
    beside = facts_beside(path) if is_checkpoint(path) else {}
    known = {**beside, **{name: value for name, value in given.items() if value is not None}}
    taken = known.get("from_pairs", known.get("pairs"))
    wanted = known.get("to_pairs")
    if taken is None or wanted is None:
        missing = "from-pairs" if taken is None else "to-pairs"
        raise BadParameter(missing, None, "is needed: half (Llama in transformers) or interleaved (Meta's own)")
    if "heads" not in known:
        raise BadParameter("heads", None, "is needed: how many heads the queries have")
    heads, kv = int(known["heads"]), int(known.get("kv_heads", known["heads"]))
    rotary, tensors, dim = known.get("rotary_dim"), known.get("tensors"), known.get("head_dim")
    return HeadRows(
        str(taken), str(wanted), heads, kv, None if rotary is None else int(rotary),
        None if tensors is None else str(tensors), None if dim is None else int(dim),
    )  # fmt: skip
