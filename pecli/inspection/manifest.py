"""What a verified folder of parts is, for whoever passes it on: its recipe, its parts, their hashes."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from pecli.errors import BadFile
from pecli.formats import is_store
from pecli.formats.common.remote import RemoteFile
from pecli.formats.common.safe import open_output
from pecli.inspection.verification import Folder
from pecli.numbers.urls import is_url, shown
from pecli.sources.parts import shard_of
from pecli.version import __version__

PIECE = 1 << 20


def write_manifest(found: Folder, path: str) -> None:
    """Write the manifest of a folder whose every part is confirmed, as JSON; it appears whole or not at all.

    The hash of a part is that of its file, as ``sha256sum`` gives it; of a store of many objects, over the sorted
    paths and contents of its files, each path and each content followed by its length.

    Raises
    ------
    BadFile
        If a part is not confirmed: there is nothing to pass on.
    WriteFailed
        If it cannot be written.
    """
    if not found.good:
        raise BadFile(found.path, "is not whole and verified, so no manifest is written: mend it first")
    parts = []
    for part in found.parts:
        _, index, _ = shard_of(part.recipe or "")
        size, digest = _hashed(part.path)
        name = part.path.removeprefix(found.path) if is_url(found.path) else os.path.relpath(part.path, found.path)
        parts.append({"part": index, "path": name, "bytes": size, "sha256": digest, "values": _values(part)})
    parts.sort(key=lambda entry: int(str(entry["part"])))
    facts = {"recipe": found.recipe, "count": found.count, "pecli_version": __version__, "parts": parts}
    with open_output(path) as output:
        output.write(
            (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
        )  # as JSON escapes bytes of a name


def _values(part: Any) -> int | None:
    return None if part.comparison is None else int(part.comparison.total.compared)


def _hashed(path: str) -> tuple[int, str]:
    """Return the bytes of a file, or of the files of a store, and their hash."""
    digest = hashlib.sha256()
    if is_url(path):
        return _fetched(digest, path), digest.hexdigest()
    if not os.path.isdir(path):
        return _update(digest, path), digest.hexdigest()
    size = 0
    for name in sorted(os.path.relpath(os.path.join(f, n), path) for f, _, names in os.walk(path) for n in names):
        digest.update(os.fsencode(name) + len(os.fsencode(name)).to_bytes(8, "little"))
        count = _update(digest, os.path.join(path, name))
        digest.update(count.to_bytes(8, "little"))
        size += count
    return size, digest.hexdigest()


def _fetched(digest: Any, url: str) -> int:
    if is_store(url):
        raise BadFile(shown(url), "is a store behind a URL, of which no manifest is made: name a folder of files")
    file = RemoteFile(url)
    for offset in range(0, file.size, PIECE):
        digest.update(file.read(offset, min(PIECE, file.size - offset)))
    return file.size


def _update(digest: Any, path: str) -> int:
    size = 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
    return size
