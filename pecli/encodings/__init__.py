"""The catalogue: every encoding, declared once in a module or folder of its own.

A folder of the catalogue holds encodings alone, each in a module of its name, so that a name is found without
importing the others; what several share lies in ``shared``.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec

from pecli.declare.encoding import REGISTRY, Encoding, Family
from pecli.errors import UnknownName

OTHER_NAMES = {"sine": "sinusoidal", "sincos": "sinusoidal", "rotary": "rope", "nope": "none"}  # and any case
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
            from pecli.encodings import plugins

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
            from pecli.encodings import plugins

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
        raise UnknownName("encoding", name, CATALOGUE)
    return CATALOGUE[name]
