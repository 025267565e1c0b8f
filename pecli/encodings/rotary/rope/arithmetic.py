"""What a framework computes instead of the real formula: rotary tables in float32 or bfloat16.

The steps and their roundings are those of transformers 5.23 on PyTorch, as read
from its source and compared with its results: the exponent k/d in float32, the
power rounded to float32, reciprocal and product in float32, then a cosine that
is correctly rounded.  PyTorch's own power is off by one unit in about one value
of two hundred; every other frequency here equals its to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pecli.declare.encoding import Value
from pecli.declare.plan import Waves
from pecli.numbers.decimals import CONTEXT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]

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
    """

    frequencies: Float32
    magnitude: np.float32
    arithmetic: Arithmetic = "float32"
    wide: NDArray[np.float64] | None = None

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

        rounded = bfloat16_values if self.arithmetic == "bfloat16" else _as_they_are
        p: NDArray[Any] = rounded(positions.astype(np.float32)) if self.wide is None else positions.astype(np.float64)
        turning: NDArray[Any] = self.frequencies if self.wide is None else self.wide
        step = max(1, BLOCK // max(1, len(self.frequencies)))
        for start in range(0, len(p), step):
            rows = slice(start, start + step)
            product = p[rows, None] * turning
            angles = product if product.dtype == np.float64 else rounded(product).astype(np.float64)
            for out, function in ((cos, np.cos), (sin, np.sin)):
                values = rounded(function(angles).astype(np.float32))
                out[rows] = values if self.magnitude == 1 else rounded(values * self.magnitude)


def emulation(
    plan: Waves, values: Mapping[str, Value] | None, arithmetic: Arithmetic = "float32", *, double: bool = False
) -> Emulation:
    """Return what a framework computes for a rotary table.

    Parameters
    ----------
    plan : Waves
        The exact plan of the table.
    values : mapping, optional
        The checked parameters of ``rope``, whose steps are followed one by
        one; without them (another encoding, frequencies from a file) the
        exact frequencies are rounded to float32.
    arithmetic : {"float32", "bfloat16"}
        Type of the steps.
    double : bool
        Whether the class makes its angles in double precision and casts the
        finished table (RoFormer).
    """
    import numpy as np

    if double and arithmetic == "float32":
        wide = np.array([float(w) for w in plan.frequencies])
        return Emulation(wide.astype(np.float32), np.float32(float(plan.magnitude)), arithmetic, wide)
    if values is None or values.get("frequencies") is not None or values.get("ramp") == "rotations":
        frequencies = np.array([float(w) for w in plan.frequencies], np.float32)
    else:
        frequencies = rope_frequencies(values)
    magnitude = np.float32(float(plan.magnitude))
    if arithmetic == "bfloat16":
        frequencies = bfloat16_values(frequencies)
        magnitude = bfloat16_values(np.atleast_1d(magnitude))[0]
    return Emulation(frequencies, magnitude, arithmetic)


def rope_frequencies(values: Mapping[str, Value]) -> Float32:
    """Return ``inv_freq`` of the parameters of ``rope``, step by step in float32."""
    import numpy as np

    dim = _whole(values["dim"])
    rotary, partial = values.get("rotary_dim"), values.get("partial")
    d = _whole(rotary) if rotary is not None else int(dim * _decimal(partial)) if partial is not None else dim
    base, scaling = _decimal(values["base"]), str(values["scaling"])
    factor = None if values.get("factor") is None else _decimal(values["factor"])
    one = np.float32(1)
    with np.errstate(all="ignore"):
        match scaling:
            case "ntk":
                alpha = _decimal(values["alpha"]) if factor is None else factor
                return one / _powers(float(base) * float(alpha) ** (d / (d - 2)), d)
            case "dynamic":
                assert factor is not None
                return one / _powers(_dynamic_base(values, float(base), float(factor), d), d)
            case "yarn" | "ntk-by-parts":
                assert factor is not None
                return _yarn(values, _powers(float(base), d), np.float32(factor), d)
            case "longrope":
                long = _whole(values["seq_len"]) > _whole(values["original_max"])
                stretch = values["long_factor" if long else "short_factor"]
                assert isinstance(stretch, tuple)
                return one / (np.array([float(s) for s in stretch], np.float32) * _powers(float(base), d))
            case "proportional":
                moving = one / _powers(float(base), dim, 2 * (d // 2))
                still = np.zeros(dim // 2 - len(moving), np.float32)
                padded: Float32 = np.concatenate([moving, still], dtype=np.float32)
                padded /= np.float32(1 if factor is None else factor)
                return padded
        plain: Float32 = one / _powers(float(base), d)
        if scaling == "linear":
            assert factor is not None
            plain /= np.float32(factor)
        return _llama3(values, plain) if scaling == "llama3" else plain


def _whole(value: Value) -> int:
    assert isinstance(value, int | Decimal)
    return int(value)


def _decimal(value: Value) -> Decimal:
    assert isinstance(value, int | Decimal)
    return Decimal(value)


def _powers(base: float, d: int, stop: int | None = None) -> Float32:
    """Return base^(k/d) for k = 0, 2, .. below `stop` (default: d): base and exponent float32, the power rounded."""
    import numpy as np

    exponents = np.arange(0, d if stop is None else stop, 2, dtype=np.float32) / np.float32(d)
    rounded = Decimal(float(np.float32(base)))
    if rounded == 1:
        return np.ones(len(exponents), np.float32)
    logarithm = CONTEXT.ln(rounded)
    powers = [float(CONTEXT.exp(CONTEXT.multiply(logarithm, Decimal(float(e))))) for e in exponents]
    return np.array(powers, np.float32)


def _dynamic_base(values: Mapping[str, Value], base: float, factor: float, d: int) -> float:
    """Return the base of a length; beyond the model's own PyTorch computes it in float32, from a tensor."""
    import numpy as np

    longest, length = _whole(values["max_position"]), _whole(values["seq_len"])
    if length <= longest:
        return base
    f32 = np.float32
    growth = f32(f32(factor) * f32(length)) / f32(longest) - f32(factor - 1)
    return float(f32(base) * f32(float(growth) ** (d / (d - 2))))


def _yarn(values: Mapping[str, Value], powers: Float32, factor: np.float32, d: int) -> Float32:
    """Return YaRN's blend; the ramp's ends are computed in double precision, as Python does."""
    import math

    import numpy as np

    base, original = float(_decimal(values["base"])), _whole(values["original_max"])

    def index(rotations: Decimal) -> float:
        return (d * math.log(original / (float(rotations) * 2 * math.pi))) / (2 * math.log(base))

    low, high = (index(_decimal(values[name])) for name in ("beta_fast", "beta_slow"))
    if values["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += 0.001
    one = np.float32(1)
    ramp = (np.arange(d // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
    kept = one - np.clip(ramp, 0, 1).astype(np.float32)
    blend: Float32 = one / (factor * powers) * (one - kept) + one / powers * kept
    return blend


def _llama3(values: Mapping[str, Value], plain: Float32) -> Float32:
    """Return Llama 3.1's frequencies, branch by branch."""
    import math

    import numpy as np

    f32, one = np.float32, np.float32(1)
    factor, low, high = (float(_decimal(values[name])) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    original = _whole(values["original_max"])
    wavelength = f32(2 * math.pi) / plain
    slow, fast = wavelength > f32(original / low), wavelength < f32(original / high)
    scaled = np.where(slow, plain / f32(factor), plain)
    smooth = (f32(original) / wavelength - f32(low)) / f32(high - low)
    between = (one - smooth) * scaled / f32(factor) + smooth * scaled
    found: Float32 = np.where(~fast & ~slow, between, scaled)
    return found


def bfloat16_values(values: Float32) -> Float32:
    """Return float32 values rounded to the nearest bfloat16, ties to even; still float32."""
    import numpy as np

    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def _as_they_are(values: Float32) -> Float32:
    return values
