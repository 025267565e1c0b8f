"""What opens a stored table, for layers below the formats: weights and content may stand in any file that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pecli.declare.tabular import Tabular

OPENERS: list[Callable[[str], Tabular]] = []
"""The formats put theirs here when they are loaded."""
