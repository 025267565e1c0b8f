"""One way to compute cosines and sines: to which type each step was rounded, and how the values came to theirs."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from pecli.measures.samples import Floats, rounded
from pecli.records import dataclass

ENOUGH = 0.9  # share of values that must be equal to the bit
BOUNDED = 0.999  # share that must lie within what float32 leaves, where the steps after are not known
CLOSE = 0.995  # share that must be equal or next to it, where the mathematical library's own cosine shows
AFTER = "after"
ORDER = ("bfloat16", "float16", "float32", "float64")


@dataclass(frozen=True)
class Arithmetic:
    """Types to which the steps of a calculation were rounded, and how many values that reproduces.

    Attributes
    ----------
    frequencies, positions, angles : str
        "float64" stands for exact.
    way : str
        How values came to their type: "" for rounded, "cut", the type that they were rounded to before, or "after":
        they were multiplied by the magnitude afterwards.
    equal, close : float
        Share of the values reproduced to the bit, and within one unit in the last place.
    bounded : float
        Share within the error that float32 angles may add.
    part : str
        "cos" or "sin" where the values are those of one of them alone, which then stand for both.
    exact : (m,) float64
        The frequencies it started from.
    used : (m,) float64
        The frequencies as rounded.
    magnitude : float
    grain : str
        Type of the values.
    """

    frequencies: str
    positions: str
    angles: str
    exact: Floats = field(compare=False, repr=False)
    used: Floats = field(compare=False, repr=False)
    magnitude: float
    grain: str
    way: str = ""
    equal: float = 0.0
    close: float = 0.0
    bounded: float = 0.0
    part: str = ""

    @property
    def name(self) -> str:
        """The coarsest of the types, which is what matters."""
        return min((self.frequencies, self.positions, self.angles), key=ORDER.index)

    @property
    def fits(self) -> bool:
        """Whether it explains the values."""
        if self.equal >= ENOUGH or (self.close >= CLOSE and self.equal >= 0.6):
            return True
        return self.bounded >= BOUNDED and self.name not in ("float64", "float32")

    @property
    def off(self) -> int:
        """By how many units of their type frequencies are others than the recipe's rounded to it."""
        if self.frequencies == "float64":
            return 0
        gap = np.abs(self.used - rounded(rounded(self.exact, "float32"), self.frequencies))
        return int(np.rint((gap / spacing(self.used, self.frequencies)).max(initial=0.0)))

    def words(self) -> str:
        """Say which steps were rounded."""
        parts = {"frequencies": self.frequencies, "positions": self.positions, "angles": self.angles}
        coarse = [name for name, kind in parts.items() if kind == self.name]
        said = [] if self.name == "float64" else [f"{' and '.join(coarse)} rounded to {self.name}"]
        if self.off:
            units = f"{self.off} unit{'s' * (self.off > 1)} in the last place"
            said.append(f"{self.frequencies} frequencies up to {units} from the recipe's")
        if self.way == AFTER:
            said.append(f"values rounded to {self.grain} before they were multiplied")
        elif self.way:
            how = "cut, not rounded, to" if self.way == "cut" else f"rounded to {self.way}, then to"
            said.append(f"values {how} {self.grain}")
        elif self.name == "float64" and self.magnitude != 1 and self.grain != "float64":  # as `valued` multiplies
            said.append("values rounded to float32 before they were multiplied")
        return "; ".join(said) or "computed in float64"

    def in_float32(self) -> Arithmetic:
        """Return the same with frequencies, positions and angles in float32."""
        return replace(self, frequencies="float32", positions="float32", angles="float32",
                       used=rounded(self.exact, "float32"))  # fmt: skip

    def shifted(self, exponents: Floats, log: float) -> Arithmetic:
        """Return the same of another base, by its logarithm; `exponents` say by which power each frequency falls."""
        exact = self.exact * np.exp(-exponents * log)
        single = exact if self.frequencies == "float64" else rounded(exact, "float32")
        return replace(self, exact=exact, used=rounded(single, self.frequencies))

    def angles_at(self, positions: Floats) -> Floats:
        """Return the angles of positions, (n, m), with these roundings."""
        with np.errstate(invalid="ignore", over="ignore"):  # a position may exceed what a narrow type holds
            return rounded(np.outer(rounded(positions, self.positions), self.used), self.angles)

    def parts(self, angles: Floats) -> tuple[Floats, Floats]:
        """Return cosines and sines of angles; twice the one of them that there is."""
        with np.errstate(invalid="ignore"):  # an angle may exceed what a narrow type holds
            if self.part:
                alone = (np.cos if self.part == "cos" else np.sin)(angles)
                return alone, alone
            return np.cos(angles), np.sin(angles)

    def compute(self, positions: Floats) -> tuple[Floats, Floats]:
        """Return cosines and sines, (n, m), with these roundings."""
        cos, sin = self.parts(self.angles_at(positions))
        return self.valued(cos), self.valued(sin)

    def valued(self, made: Floats) -> Floats:
        """Return values times the magnitude, as frameworks multiply: in float32, or in a narrower type after all."""
        if self.way == "cut":
            return _cut(made * self.magnitude)
        if self.way and self.way != AFTER:
            return rounded(rounded(made * self.magnitude, self.way), self.grain)
        if self.magnitude == 1 or self.grain == "float64":
            inexact = self.name != "float64" and self.grain != "float32"  # a library's cosine is of float32
            return rounded(rounded(made, "float32") if inexact else made * self.magnitude, self.grain)
        values, factor = rounded(made, "float32"), rounded(np.array(self.magnitude), "float32")
        if self.way == AFTER:
            return rounded(rounded(values, self.grain) * factor, self.grain)
        return rounded(rounded(values * factor, "float32"), self.grain)


def _cut(values: Floats) -> Floats:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


def spacing(values: Floats, kind: str) -> Floats:
    """Return one unit in the last place of values of a type."""
    bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[kind]
    smallest = 2.0**-14 if kind == "float16" else 1e-30  # of full precision
    with np.errstate(invalid="ignore"):
        found: Floats = np.ldexp(1.0, np.frexp(np.maximum(np.abs(values), smallest))[1] - 1 - bits)
    return found
