"""Kind of source that a path names (recipe, config, folder, file), and the files of a folder that may be tables."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from pecli.errors import BadFile
from pecli.formats import WRITTEN, store_at
from pecli.numbers.bounds import LARGEST_CONFIG, MAX_OTHER_FILES
from pecli.numbers.reader import is_url
from pecli.spec.catalogue import CATALOGUE

CONFIG_KEYS = {"model_type", "architectures", "rope_scaling", "rope_theta", "rope_parameters", "text_config"}


class Kind(Enum):
    """Kind of source that a text names."""

    RECIPE = "recipe"
    CONFIG = "config"
    FOLDER = "folder"
    FILE = "file"


def kind_of(text: str) -> Kind:
    """Return the kind of source that a text names; a file need not exist.

    A word that is an encoding's name, before any colon, is a recipe; ``./name``
    is a file of that name.  A config is a JSON object with keys that models have, or a folder with such a config.json
    in it.  Behind a URL a folder is what ends
    with a slash or has an asterisk, and no store: asking for the kind of a word contacts no server.
    """
    if text.partition(":")[0] in CATALOGUE:
        return Kind.RECIPE
    if is_url(text):
        many = text.endswith("/") or "*" in text.partition("?")[0]  # what follows may be a query
        return Kind.FOLDER if many and store_at(text) is None else Kind.FILE
    path = Path(text)
    if _is_config(path / "config.json"):
        return Kind.CONFIG
    if os.path.isdir(text) or is_pattern(text):  # no name is too long for it
        return Kind.FILE if store_at(text) is not None else Kind.FOLDER
    return Kind.CONFIG if path.suffix == ".json" and _is_config(path) else Kind.FILE


def is_pattern(text: str) -> bool:
    """Return whether a text is no file, and a pattern that files match."""
    return any(mark in text for mark in "*?[") and not os.path.exists(text) and bool(glob.glob(text, recursive=True))


def _is_config(path: Path) -> bool:
    """Return whether a JSON file holds one object with ``model_type`` or rotary keys."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_CONFIG:
            return False
        with path.open("rb") as file:
            if not file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                return False
            file.seek(0)
            loaded = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(loaded, dict) and bool(CONFIG_KEYS & loaded.keys())


def files_of(text: str) -> list[str]:
    """Return the files of a folder, its folders and so on, or of a pattern, that may be tables, 2 before 10.

    As in datasets, what begins with a dot or an underscore is none of them.

    Raises
    ------
    BadFile
        If the folder cannot be read, or holds very many other files.
    """
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
        if others > MAX_OTHER_FILES:
            pattern = os.path.join(root, "*.npy")
            rule = f"holds more than {MAX_OTHER_FILES:,} other files"
            raise BadFile(root, f"{rule}: name a folder of tables, or '{pattern}'")


def _files_behind(url: str, suffixes: tuple[str, ...], stores: tuple[str, ...]) -> list[str]:
    """Return the same of a folder, or of a pattern, behind a URL; as on disk, only ** crosses a slash."""
    from pecli.formats.io.remote import names_below

    root, star, rest = url.partition("*")
    folder, _, first = root.rpartition("/")
    url, pattern = f"{folder}/", first + star + rest if star else "**"
    steps = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    matches = re.compile("".join(steps.get(word) or re.escape(word) for word in words)).fullmatch
    found = set()
    for name in names_below(url):
        parts = name.split("/")
        inner = next((at for at, part in enumerate(parts, 1) if part.lower().endswith(stores)), len(parts))
        hidden = any(part[:1] in "._" for part in parts[:inner])
        if not hidden and parts[inner - 1].lower().endswith(suffixes) and matches("/".join(parts[:inner])):
            found.add(url + "/".join(parts[:inner]))
    return sorted(found, key=_natural)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts part-2 before part-10."""
    return [(1, int(word), "") if word.isdigit() else (0, 0, word) for word in re.split(r"(\d+)", name)]
