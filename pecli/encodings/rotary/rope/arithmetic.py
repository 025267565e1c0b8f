"""What a framework computes instead of the real formula: rotary tables in float32 or bfloat16.

The steps and their roundings are those of transformers 5.23 on PyTorch, as read
from its source and compared with its results: the exponent k/d in float32, the
power rounded to float32, reciprocal and product in float32, then a cosine that
is correctly rounded.  PyTorch's own power is off by one unit in about one value
of two hundred; every other frequency here equals its to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pecli.encodings.rotary.rope import series_of
from pecli.encodings.rotary.rope.scaling import Float32, nearest
from pecli.encodings.rotary.rope.scalings import scaling_of
from pecli.spec.plans import Waves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arithmetic = Literal["float32", "bfloat16"]
BLOCK = 1 << 18  # angles computed at once: their float64 copies stay in the caches


@dataclass(frozen=True)
class Emulation:
    """Frequencies and magnitude as a framework holds them, and what it makes of them.

    Attributes
    ----------
    frequencies : (pairs,) float32 ndarray
        The module's ``inv_freq``; with ``arithmetic="bfloat16"`` each rounded to bfloat16.
    magnitude : float32
        Multiplies cos and sin.
    arithmetic : {"float32", "bfloat16"}
        With bfloat16, as after ``model.to(torch.bfloat16)`` casts buffers and
        positions too, every angle and value is rounded to it.
    wide : (pairs,) float64 ndarray, optional
        Frequencies in double precision, of a class that makes its angles so.
    late : bool
        Whether frequencies and positions are float32 with any arithmetic, and angles the first to be rounded.
    others : mapping of str to callable
        What it makes of arrays beside cos and sin: of positions (n,), or of a first and a last row where an array has
        rows of its own, gives rows as float32.
    """

    frequencies: Float32
    magnitude: np.float32
    arithmetic: Arithmetic = "float32"
    wide: NDArray[np.float64] | None = None
    late: bool = False
    others: Mapping[str, Callable[..., Float32]] = field(default_factory=dict)

    @property
    def _rounded(self) -> Callable[[Any], Any]:
        return bfloat16_values if self.arithmetic == "bfloat16" else lambda values: values

    def angles(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Return the angles of positions (n,), (n, pairs): float32, or float64 of a class that makes its angles so."""
        import numpy as np

        if self.wide is not None:
            wide: NDArray[Any] = positions.astype(np.float64)[:, None] * self.wide
            return wide
        p = positions.astype(np.float32)
        found: NDArray[Any] = self._rounded((p if self.late else self._rounded(p))[:, None] * self.frequencies)
        return found

    def fill(self, positions: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any]) -> None:
        """Write the rows of these positions.

        Parameters
        ----------
        positions : (n,) ndarray
            Integers or float64.
        cos, sin : (n, pairs) ndarray
            Where to; float32 takes the values as they are, another type rounds them once more.
        """
        import numpy as np

        rounded = self._rounded
        step = max(1, BLOCK // max(1, len(self.frequencies)))
        for start in range(0, len(positions), step):
            rows = slice(start, start + step)
            angles = self.angles(positions[rows]).astype(np.float64)
            for out, function in ((cos, np.cos), (sin, np.sin)):
                values = rounded(function(angles).astype(np.float32))
                out[rows] = values if self.magnitude == 1 else rounded(values * self.magnitude)


def emulate(
    plan: Waves, values: Mapping[str, Any], arithmetic: Arithmetic = "float32", *, double: bool = False
) -> Emulation:
    """Return what a framework computes for a table of ``rope``, and of ``mrope`` where all streams are the position.

    Parameters
    ----------
    plan : Waves
        The exact plan of the table.
    values : mapping
        Its checked parameters, whose steps are followed one by one; frequencies from a file are rounded to float32.
    arithmetic : {"float32", "bfloat16"}
        Type of the steps.
    double : bool
        Whether the class makes its angles in double precision and casts the
        finished table (RoFormer).

    Raises
    ------
    UnknownName
        For a scaling that nobody declared.
    """
    import numpy as np

    if double and arithmetic == "float32":
        wide = np.array([float(w) for w in plan.frequencies])
        return Emulation(wide.astype(np.float32), np.float32(float(plan.magnitude)), arithmetic, wide)
    if values["frequencies"] is not None:
        return emulate_rounded(plan, values, arithmetic)
    return _emulation(scaling_of(values["scaling"]).steps(series_of(values), values), plan, arithmetic)


def emulate_rounded(plan: Waves, values: Mapping[str, Any], arithmetic: Arithmetic = "float32") -> Emulation:
    """Return the same where no framework's steps to the frequencies are known: the exact ones, rounded to float32."""
    return _emulation(nearest(plan.frequencies), plan, arithmetic)


def _emulation(frequencies: Float32, plan: Waves, arithmetic: Arithmetic) -> Emulation:
    import numpy as np

    magnitude = np.float32(float(plan.magnitude))
    if arithmetic == "bfloat16":
        frequencies = bfloat16_values(frequencies)
        magnitude = bfloat16_values(np.atleast_1d(magnitude))[0]
    return Emulation(frequencies, magnitude, arithmetic)


def bfloat16_values(values: Float32) -> Float32:
    """Return float32 values rounded to the nearest bfloat16, ties to even; still float32."""
    import numpy as np

    from pecli.numbers.rounding import halve

    bits, _ = halve(np.ascontiguousarray(values, np.float32), "bfloat16")
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
