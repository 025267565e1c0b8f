"""What an encoding's function returns when it does not compute values itself.

An encoding that oscillates returns its frequencies and where their sines and
cosines go; the engine fills them straight into the target type.  A bias
returns how it depends on query and key.  Nothing here imports NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.plan.base import Domain, Fixed, Plan, Role, nothing
from pecli.declare.plan.pairs import Bias, Conditional, Frame, ImageWindow, Relative
from pecli.declare.plan.rows import Band, Beside, Coordinate, Cross, Frequency, Ramp, Values, Waves, rotation

if TYPE_CHECKING:
    from pecli.declare.plan.base import Real


__all__ = [
    "Band", "Beside", "Bias", "Conditional", "Coordinate", "Cross", "Domain", "Fixed", "Frame", "Frequency",
    "ImageWindow", "Plan", "Ramp", "Real", "Relative", "Role", "Values", "Waves", "nothing", "rotation",
]  # fmt: skip
