"""Rope types of transformers, and how the parameters of a scaling are read from a model's config."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

from pecli.errors import PecliError
from pecli.records import dataclass


class Notebook(Protocol):
    """What is said of a config while it is read."""

    def use(self, name: str, meaning: str) -> None:
        """Say what a key, with its place in the file, is read for."""

    def ignore(self, name: str, reason: str) -> None:
        """Say why a key has no effect."""

    def fault(self, text: str) -> None:
        """Say where the framework departs from what a key says."""

    def warn(self, text: str) -> None:
        """Say what a user must hear of."""


class Reader(Protocol):
    """What reads the rope parameters of a model's config, as a scaling sees it.

    Attributes
    ----------
    params : mapping of str to object
        The parameters as they are written, folded into one dictionary.
    read : set of str
        Keys that count as read.
    """

    params: dict[str, Any]
    read: set[str]

    @property
    def notes(self) -> Notebook:
        """What is said of the config."""

    @property
    def model(self) -> str:
        """The model type."""

    @property
    def length(self) -> int:
        """Positions that the config declares."""

    @property
    def original(self) -> int:
        """Positions that the model was first trained on."""

    @property
    def truncate(self) -> Any:
        """The key of that name, from where YaRN looks for it."""

    def number(self, name: str, required: bool = True, least: int | None = 0) -> int | Decimal | None:
        """Return a number of the parameters, above `least` where one is given; None where absent."""

    def text(self, name: str) -> str:
        """Return a number that must be there, as text."""

    def trait(self, name: str) -> str:
        """Return what is special to the model's class under this name; empty for nothing."""

    def numbers(self, name: str, count: int) -> str:
        """Return a list of `count` numbers above 0, as text."""

    def place(self, name: str) -> str:
        """Return a key with its place in the file, for messages."""

    def bad(self, rule: str) -> PecliError:
        """Return the error of a config that cannot be meant."""


@dataclass(frozen=True)
class RopeType:
    """A rope type of transformers that stands for a scaling.

    Parameters
    ----------
    name : str
        As ``rope_type`` has it.
    read : callable
        Of a reader and the width that rotates, the recipe's parameters as text.
    needs_head_dim : bool
        Whether transformers divides by a ``head_dim`` that the config must then give.
    original_beside : bool
        Whether the original length may stand beside the dictionary, or be the config's own length.
    whole_pairs : bool
        Whether the share that rotates is one of pairs.
    """

    name: str
    read: Callable[[Reader, int], dict[str, str]]
    needs_head_dim: bool = False
    original_beside: bool = False
    whole_pairs: bool = False
