"""Catalogue: every encoding by its name, imported from ``pecli.encodings`` when it is first asked for."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec

from pecli.errors import UnknownName, nearest
from pecli.spec.declaration import REGISTRY, Encoding, Family

OTHER_NAMES = {
    "sine": "sinusoidal",
    "sincos": "sinusoidal",
    "sin": "sinusoidal",
    "rotary": "rope",
    "nope": "none",
}  # and any case
FOLDERS = ("absolute", "rotary", "bias", "relative", "content")


class Catalogue(Mapping[str, Encoding]):
    """Every encoding by its name, ordered by family; modules are imported as they are needed."""

    def __getitem__(self, name: str) -> Encoding:
        name = OTHER_NAMES.get(name.lower(), name.lower())
        if name not in REGISTRY and name.replace("-", "").isalnum():
            for folder in FOLDERS:
                module = f"pecli.encodings.{folder}.{name.replace('-', '_')}"
                if find_spec(module) is not None:
                    import_module(module)
                    return REGISTRY[name]
            from pecli.spec import plugins

            plugins.load_named()
            if name not in REGISTRY:
                plugins.load_installed(name)
        return REGISTRY[name]

    def __iter__(self) -> Iterator[str]:
        for folder in FOLDERS:
            package = import_module(f"pecli.encodings.{folder}")
            for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                import_module(module.name)
        if os.environ.get("PECLI_PLUGIN"):
            from pecli.spec import plugins

            plugins.load_named()
        families = list(Family)
        return iter(sorted(REGISTRY, key=lambda n: (families.index(REGISTRY[n].family), REGISTRY[n].place, n)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


CATALOGUE: Mapping[str, Encoding] = Catalogue()


def find(name: str) -> Encoding:
    """Return the encoding of this name.

    Raises
    ------
    UnknownName
        If there is none, with the nearest name.
    """
    if name not in CATALOGUE:
        raise unknown_encoding(name)
    return CATALOGUE[name]


def unknown_encoding(name: str) -> UnknownName:
    """Return the error of a name that no encoding has: it may be a scaling's, a family's, or a model's."""
    word = _letters(name)
    alike = nearest(name, CATALOGUE)
    return UnknownName("encoding", name, CATALOGUE, alike if alike and _letters(alike) == word else _meant(word))


def _meant(word: str) -> str | None:
    """Return what is meant by a word, as the declarations say; None where they do not."""
    for encoding in CATALOGUE.values():
        if word in (_letters(encoding.family.word), _letters(encoding.title)):
            names = [e.name for e in CATALOGUE.values() if e.family is encoding.family]
            return encoding.name if word == _letters(encoding.title) else f"one of its family, {', '.join(names)}"
    for encoding in CATALOGUE.values():
        for parameter in encoding.options:
            for choice in parameter.choices:
                if word == _letters(choice):
                    return f"{encoding.name}:{parameter.option}={choice}"
    users = [e for e in CATALOGUE.values() if len(word) > 2 and word in map(_letters, e.users.split(", "))]
    return f"{users[0].name}, as {users[0].users}" if users else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))
