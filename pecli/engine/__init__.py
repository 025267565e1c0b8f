"""The engine: exact phases, and from them correctly rounded sines, cosines and angles."""

from pecli.engine.filling import fill
from pecli.engine.team import default_threads
from pecli.engine.turns import FREQUENCY_DIGITS, PI, pi
from pecli.engine.wheel import Part, Wheel
from pecli.numbers.doubled import Doubled
from pecli.numbers.rounding import STORAGE, narrow, widen

__all__ = [
    "FREQUENCY_DIGITS",
    "PI",
    "STORAGE",
    "Doubled",
    "Part",
    "Wheel",
    "default_threads",
    "fill",
    "narrow",
    "pi",
    "widen",
]
