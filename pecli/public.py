"""The public names of pecli, each once: the package hands them out when they are first used."""

from pecli.api import apply as apply
from pecli.api import compare as compare
from pecli.api import extrapolate as extrapolate
from pecli.api import identify as identify
from pecli.api import inspect as inspect
from pecli.api import plot as plot
from pecli.api import read_config as read_config
from pecli.errors import PecliError as PecliError
from pecli.formats import open_table as open_table
from pecli.formats import write_table as write_table
from pecli.numbers.positions import Positions as Positions
from pecli.numbers.rounding import widen as widen
from pecli.spec.catalogue import CATALOGUE as CATALOGUE
from pecli.spec.recipe import Recipe as Recipe
from pecli.spec.tabular import Array as Array
from pecli.spec.tabular import Block as Block
from pecli.spec.tabular import Tabular as Tabular
from pecli.tables.table import Table as Table
from pecli.tables.table import table as table
