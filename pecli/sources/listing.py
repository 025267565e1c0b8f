"""Which files of a folder may be tables, on this machine or behind a URL."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pecli.errors import BadFile
from pecli.numbers.reader import is_url

OTHERS = 20_000  # names that are no table's, after which a folder is taken for a home, or a disk


def files_of(text: str) -> list[str]:
    """Return the files of a folder, its folders and so on, or of a pattern, that may be tables, 2 before 10.

    As in datasets, what begins with a dot or an underscore is none of them.

    Raises
    ------
    BadFile
        If the folder cannot be read, or holds very many other files.
    """
    from pecli.formats import WRITTEN

    known = [form for form in WRITTEN.values() if form.reader is not None]
    suffixes = {suffix for form in known for suffix in form.suffixes}
    stores = tuple(suffix for form in known if form.many for suffix in form.suffixes)
    if is_url(text):
        return _files_behind(text, tuple(suffixes), stores)
    try:
        if os.path.isdir(text):
            os.scandir(text).close()  # it must be readable; of what is below, as much as may be read
    except OSError as error:
        raise BadFile(text, f"cannot be read: {error.strerror}") from error
    found = _files_below(text, tuple(suffixes), stores) if os.path.isdir(text) else glob.glob(text, recursive=True)
    return sorted((name for name in found if Path(name).suffix.lower() in suffixes), key=_natural)


def _files_below(root: str, suffixes: tuple[str, ...], stores: tuple[str, ...]) -> Iterator[str]:
    """Yield the files of a folder, and the stores, which are folders that are not entered."""
    others = 0
    for folder, folders, files in os.walk(root):
        tables = [name for name in (*folders, *files) if name[0] not in "._" and name.lower().endswith(suffixes)]
        yield from (str(Path(folder, name)) for name in tables)
        folders[:] = [name for name in folders if name[0] not in "._" and not name.lower().endswith(stores)]
        others += len(files) + len(folders) - len(tables)
        if others > OTHERS:
            some = os.path.join(root, "*.npy")
            raise BadFile(root, f"holds more than {OTHERS:,} other files: name a folder of tables, or '{some}'")


def _files_behind(url: str, suffixes: tuple[str, ...], stores: tuple[str, ...]) -> list[str]:
    """Return the same of a folder behind a URL."""
    from pecli.formats.io.remote import names_below

    found = set()
    for name in names_below(url):
        parts = name.split("/")
        inner = next((at for at, part in enumerate(parts, 1) if part.lower().endswith(stores)), len(parts))
        if not any(part[:1] in "._" for part in parts[:inner]) and parts[inner - 1].lower().endswith(suffixes):
            found.add(url + "/".join(parts[:inner]))
    return sorted(found, key=_natural)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts part-2 before part-10."""
    return [(1, int(word), "") if word.isdigit() else (0, 0, word) for word in re.split(r"(\d+)", name)]
