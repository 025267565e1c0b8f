"""What lies past the trained length: the vocabulary of the hook `extend`."""

from __future__ import annotations

from typing import Literal

from pecli.records import dataclass

New = Literal["phases", "biases", "vectors", "values", "rows", "grid", "content", "nothing"]


@dataclass(frozen=True)
class Reach:
    """What positions past the trained length bring, as an encoding's declaration says it.

    Parameters
    ----------
    new : str
        What new positions meet, and so what is held against training.
    longer : str
        What a longer table is made of.
    remedy : str
        What reaches further where values end.
    multiplies : bool
        Whether a bias is a factor of the weight itself; else a key weighs its exponential.
    measured : str
        Recipe whose values stand for this one's, where they are those of another.
    """

    new: New
    longer: str
    remedy: str = ""
    multiplies: bool = False
    measured: str = ""
