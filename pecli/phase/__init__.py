"""The engine: exact phases, and from them correctly rounded sines, cosines and angles."""

from pecli.phase.doubled import Doubled
from pecli.phase.filling import fill
from pecli.phase.rounding import STORAGE, narrow, widen
from pecli.phase.team import default_threads
from pecli.phase.turns import FREQUENCY_DIGITS, PI, pi
from pecli.phase.wheel import Part, Wheel

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
