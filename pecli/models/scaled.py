"""One kind of layer's rope parameters, as a scaling reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pecli.errors import PecliError
from pecli.models.families import ModelFamily
from pecli.models.folding import Folded, Parameters
from pecli.models.keys import Keys, Notes, Number, number, shown
from pecli.numbers.decimals import join_list, number_text


@dataclass(eq=False, repr=False)
class Rope:
    """One kind of layer on its way to a recipe: a `pecli.encodings.rotary.rope.types.Reader`."""

    keys: Keys
    family: ModelFamily
    notes: Notes
    params: Parameters
    where: str
    folded: Folded
    read: set[str]
    written: Parameters

    def number(self, name: str, required: bool = True, least: int | None = 0) -> Number | None:
        """Return a number of the parameters; above `least` where one is given.

        Raises
        ------
        BadFile
            If it is missing and required, no number, or too small.
        """
        self.read.add(name)
        value = self.params.get(name)
        if value is None and not required:
            return None
        if name not in self.params:
            raise self.keys.bad(f"has no {self.where}.{name}, which rope type {self.kind} requires")
        found = number(value)
        if found is None:
            raise self.keys.bad(f"has {self.named(name)} {shown(value)}: it must be a number")
        if least is not None and found <= least:
            raise self.keys.bad(f"has {self.named(name)}={number_text(found)}: it must be above {least}")
        return found

    def named(self, name: str) -> str:
        """Return a parameter's key as it stands in the file: among the others, or beside them at the top."""
        written: Any = self.keys.data
        for part in self.where.split("."):
            written = written.get(part) if isinstance(written, dict) else None
        inner = "type" if name == "rope_type" and isinstance(written, dict) and name not in written else name
        if isinstance(written, dict) and inner in written:
            return f"{self.where}.{inner}"
        own = {"rope_theta": "theta-key", "partial_rotary_factor": "partial-key"}.get(name, "")
        for beside in (self.family.option(own), self.family.names.get(name, name)):
            if beside in self.keys.data:
                return beside
        return f"{self.where}.{name}"

    def text(self, name: str) -> str:
        """Return such a number as text."""
        value = self.number(name)
        assert value is not None
        return number_text(value)

    def numbers(self, name: str, count: int) -> str:
        """Return a list of `count` numbers as text."""
        self.read.add(name)
        if name not in self.params:
            raise self.keys.bad(f"has no {self.where}.{name}, which rope type {self.kind} requires")
        value = self.params[name]
        items = [number(item) for item in value] if isinstance(value, list) else [None]
        found = [item for item in items if item is not None and item > 0]
        if len(found) != len(items):
            raise self.keys.bad(f"has {self.where}.{name} {shown(value)}: it must be a list of numbers above 0")
        if len(found) != count:
            rule = f"it must have {count}, one for each pair that rotates"
            raise self.keys.bad(f"has {self.where}.{name} of {len(found)} numbers: {rule}")
        return join_list(found, "+")

    @property
    def kind(self) -> str:
        """The rope type."""
        return str(self.params["rope_type"])

    @property
    def length(self) -> int:
        """Positions that the config declares."""
        return self.keys.needed("max_position_embeddings", self.family.length)

    @property
    def original(self) -> int:
        """Positions that the model was first trained on."""
        value = self.number("original_max_position_embeddings")
        if value is None or value != int(value):
            raise self.keys.bad(f"has {self.named('original_max_position_embeddings')}={value}: it must be whole")
        return int(value)

    @property
    def model(self) -> str:
        """The model type."""
        return self.family.name

    @property
    def truncate(self) -> Any:
        """The key of that name, from where YaRN looks for it."""
        self.read.add("truncate")
        return self.folded.truncate

    def trait(self, name: str) -> str:
        """Return what is special to the model's class under this name; empty for nothing."""
        return self.family.option(name)

    def place(self, name: str) -> str:
        """Return a key with its place in the file, for messages."""
        return f"{self.where}.{name}"

    def bad(self, rule: str) -> PecliError:
        """Return the error of a config that cannot be meant."""
        return self.keys.bad(rule)
