"""NumPy, imported when one of its names is first used: alone it takes as long to import as all that commands need."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Deferred", "NDArray", "np"]


class Deferred:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what looks at any object, such as doctest, imports nothing
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(import_module(self._module), name)
        return value


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np, NDArray = Deferred("numpy"), Any
