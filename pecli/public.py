"""The public names of pecli: the package hands them out when they are first used."""

from pecli.api import apply, compare, extrapolate, identify, inspect, plot, read_config
from pecli.errors import PecliError
from pecli.formats import open_table, write_table
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import widen
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array, Block, Tabular
from pecli.tables.table import Table, table

__all__ = [
    "CATALOGUE", "Array", "Block", "PecliError", "Positions", "Recipe", "Table", "Tabular", "apply", "compare",
    "extrapolate", "identify", "inspect", "open_table", "plot", "read_config", "table", "widen", "write_table",
]  # fmt: skip
