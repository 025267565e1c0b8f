"""Exact tables of positional encodings.

The public names are resolved when first used, so that importing the package,
as every command does, loads no NumPy.

Examples
--------
>>> import pecli
>>> table = pecli.Table.parse("sinusoidal:dim=4,len=3")
>>> table.read("pe").round(3).tolist()[1]
[0.8410000205039978, 0.5400000214576721, 0.009999999776482582, 1.0]
"""

from __future__ import annotations

import sys

_arguments = getattr(sys, "argv", [])
_is_module = _arguments[:1] == ["-m"] and sys.orig_argv[-len(_arguments)] in ("pecli", "-mpecli")
if _is_module and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, before anything is imported that it might stand for
if _is_module or "".join(_arguments[:1]).endswith("/pecli"):  # python -m pecli, or the script
    from pecli.process import become_command

    become_command()

from typing import TYPE_CHECKING, Any

from pecli.numbers import reader
from pecli.version import __version__ as __version__

if TYPE_CHECKING:
    from pecli.declare.tabular import Array as Array
    from pecli.declare.tabular import Block as Block
    from pecli.declare.tabular import Tabular as Tabular
    from pecli.encodings import CATALOGUE as CATALOGUE
    from pecli.encodings.recipe import Recipe as Recipe
    from pecli.errors import PecliError as PecliError
    from pecli.formats import open_table as open_table
    from pecli.formats import write_table as write_table
    from pecli.numbers.positions import Positions as Positions
    from pecli.tables.table import Table as Table
    from pecli.tables.table import table as table

_PUBLIC = {
    "Array": "pecli.declare.tabular",
    "Block": "pecli.declare.tabular",
    "CATALOGUE": "pecli.encodings",
    "PecliError": "pecli.errors",
    "Positions": "pecli.numbers.positions",
    "Recipe": "pecli.encodings.recipe",
    "Table": "pecli.tables.table",
    "Tabular": "pecli.declare.tabular",
    "open_table": "pecli.formats",
    "table": "pecli.tables.table",
    "write_table": "pecli.formats",
}
__all__ = [
    "CATALOGUE",
    "Array",
    "Block",
    "PecliError",
    "Positions",
    "Recipe",
    "Table",
    "Tabular",
    "open_table",
    "table",
    "write_table",
]


def _open_numbers(path: str) -> reader.NumberFile:
    from pecli.formats.common.number_files import open_numbers

    return open_numbers(path)


reader.hand_in(_open_numbers)  # here, since this runs before any module of the package


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'pecli' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
