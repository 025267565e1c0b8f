"""pyarrow, imported when one of its names is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.numbers.deferred import Deferred

__all__ = ["pa", "pq"]

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa, pq = Deferred("pyarrow"), Deferred("pyarrow.parquet")
