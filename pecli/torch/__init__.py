"""Modules of PyTorch that hold pecli's tables: exact, rounded once for each type, and checked at their ends.

>>> from pecli.torch import RotaryModule  # doctest: +SKIP
>>> cos, sin = RotaryModule("rope:dim=64,base=500000", 4096)(positions)  # doctest: +SKIP
"""

from pecli.torch.audit import Audited, Replaced, audit, replace
from pecli.torch.modules import (
    AbsoluteModule,
    BiasModule,
    EmbeddingModule,
    RelativeModule,
    RotaryModule,
    TableModule,
    tensor,
)

__all__ = [
    "AbsoluteModule", "Audited", "BiasModule", "EmbeddingModule", "RelativeModule", "Replaced", "RotaryModule",
    "TableModule", "audit", "replace", "tensor",
]  # fmt: skip
