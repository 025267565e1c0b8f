"""Which files of a folder may be tables, on this machine or behind a URL."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from pecli.errors import BadFile
from pecli.numbers.urls import is_url


def files_of(text: str) -> list[str]:
    """Return the files of a folder, its folders and so on, or of a pattern, that may be tables, 2 before 10.

    As in datasets, what begins with a dot or an underscore is none of them.

    Raises
    ------
    BadFile
        If the folder cannot be read.
    """
    from pecli.formats import WRITTEN

    known = [form for form in WRITTEN.values() if form.reader is not None]
    suffixes = {suffix for form in known for suffix in form.suffixes}
    stores = tuple(suffix for form in known if form.many for suffix in form.suffixes)
    if is_url(text):
        return _files_behind(text, tuple(suffixes), stores)
    try:
        root = Path(text)
        found = [p for p in root.rglob("*") if not any(part[0] in "._" for part in p.relative_to(root).parts)]
        found = [p for p in found if not any(part.endswith(stores) for part in p.relative_to(root).parts[:-1])]
        if not root.is_dir():
            found = [Path(name) for name in glob.glob(text, recursive=True)]
    except OSError as error:
        raise BadFile(text, f"cannot be read: {error.strerror}") from error
    return [str(p) for p in sorted(found, key=lambda p: _natural(str(p))) if p.suffix.lower() in suffixes]


def _files_behind(url: str, suffixes: tuple[str, ...], stores: tuple[str, ...]) -> list[str]:
    """Return the same of a folder behind a URL."""
    from pecli.formats.common.remote import names_below

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
