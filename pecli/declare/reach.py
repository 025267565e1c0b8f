"""What lies past the trained length: the vocabulary of the hook `extend`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pecli.records import dataclass

New = Literal["phases", "biases", "vectors", "values", "rows", "grid", "content", "nothing"]

# what new positions meet, and whether a model that never saw them meets something it knows
MET: Mapping[New, tuple[bool, str]] = {
    "phases": (False, "new positions bring phases that training never showed, unless a scaling slows them"),
    "biases": (True, "new distances get biases that go on as training showed them"),
    "vectors": (True, "all far distances share trained rows"),
    "values": (False, "values leave the range that training showed"),
    "rows": (False, "each position has a trained row of its own, and new positions have none"),
    "grid": (False, "its own parameters fix its length"),
    "content": (True, "values come from the content, at any length"),
    "nothing": (True, "it has no values to run out of"),
}


@dataclass(frozen=True)
class Reach:
    """What positions past the trained length bring, as an encoding's declaration says it.

    Parameters
    ----------
    new : str
        A key of `MET`: what new positions meet, and so what is held against training.
    longer : str
        What a longer table is made of.
    remedy : str
        What reaches further where values end.
    slowed : bool
        Whether the recipe has a scaling that slows its phases for longer contexts.
    multiplies : bool
        Whether a bias is a factor of the weight itself; else a key weighs its exponential.
    measured : str
        Recipe whose values stand for this one's, where they are those of another.
    """

    new: New
    longer: str
    remedy: str = ""
    slowed: bool = False
    multiplies: bool = False
    measured: str = ""

    @property
    def fits(self) -> bool:
        """Whether far positions meet what training showed."""
        return self.slowed or MET[self.new][0]

    @property
    def why(self) -> str:
        """The reason, in words."""
        return "its scaling slows frequencies for longer contexts" if self.slowed else MET[self.new][1]
