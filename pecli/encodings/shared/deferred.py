"""NumPy and modules built on it, each imported when one of its names is first used, and the types of kernels.

Every command reads declarations, and most commands compute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.numbers.deferred import Deferred, NDArray, np

__all__ = ["Float32", "Floats", "Integers", "NDArray", "Real", "dd", "engine", "lessons", "np", "rounding", "seeded"]


if TYPE_CHECKING:
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
    Float32 = Floats = Integers = Real = Any
    engine, lessons = Deferred("pecli.engine"), Deferred("pecli.encodings.shared.lessons")
    dd, rounding = Deferred("pecli.numbers.double_double"), Deferred("pecli.numbers.rounding")
    seeded = Deferred("pecli.numbers.random")
