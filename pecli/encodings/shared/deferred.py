"""NumPy and modules built on it, each imported when one of its names is first used, and the types of kernels.

A declaration is read by every command, most of which compute nothing: NumPy alone takes as long to import as all of
them need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Float32", "Floats", "Integers", "NDArray", "Real", "dd", "engine", "lessons", "np", "rounding", "seeded"]


class Deferred:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self._module), name)
        return value


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli import engine
    from pecli.encodings.shared import lessons
    from pecli.numbers import double_double as dd
    from pecli.numbers import random as seeded
    from pecli.numbers import rounding
    from pecli.spec.plans import Real

    Float32 = NDArray[np.float32]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
else:
    Float32 = Floats = Integers = NDArray = Real = Any
    np, engine, lessons = Deferred("numpy"), Deferred("pecli.engine"), Deferred("pecli.encodings.shared.lessons")
    dd, rounding = Deferred("pecli.numbers.double_double"), Deferred("pecli.numbers.rounding")
    seeded = Deferred("pecli.numbers.random")
