"""The types that kernels and hooks compute with, by name alone: a declaration is read before NumPy is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.engine import FrequencySet as FrequencySet
    from pecli.numbers.double_double import DoubleDouble as DoubleDouble
    from pecli.numbers.double_double import Points as Points
    from pecli.spec.plans import Real as Real

    Float32 = NDArray[np.float32]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
else:
    DoubleDouble = Float32 = Floats = Integers = Points = Real = FrequencySet = Any
