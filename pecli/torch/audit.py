"""Every positional table of a live model of transformers beside what its config says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from pecli import api
from pecli.comparison.results import Comparison
from pecli.declare.encoding import Family
from pecli.errors import PecliError
from pecli.numbers.rounding import allowance
from pecli.sources.sources import NamedSource
from pecli.torch.live import KINDS, Live


@dataclass(frozen=True, repr=False)
class Audited:
    """One table of a live model beside the exact one.

    Attributes
    ----------
    name : str
        The module, or the kind of layer where the config says a table that no module of the model holds.
    recipe : str
    comparison : Comparison or None
        None where there is nothing to compare.
    note : str
        Why there is not: the table is trained, or was not found.
    trained : bool
    """

    name: str
    recipe: str
    comparison: Comparison | None = None
    note: str = ""
    trained: bool = False

    @property
    def good(self) -> bool:
        """Whether it was compared and is the table of its config, or is trained; a table that nobody saw is not."""
        return self.trained or (self.comparison is not None and self.comparison.equal)

    def __bool__(self) -> bool:
        return self.good

    def __repr__(self) -> str:
        return f"{self.name} against {self.recipe}\n  {self.note or repr(self.comparison)}"


def audit(model: torch.nn.Module, length: int = 64) -> list[Audited]:
    """Compare every positional table of a live transformers model with its own config.

    Rotary modules are called as the model calls them; of ALiBi, T5's buckets and fixed sinusoids the model's own
    functions and weights are read. Trained tables are named and not judged.

    Parameters
    ----------
    model : torch.nn.Module
        With a `config` of transformers.
    length : int
        Positions compared, at most those that the table has.

    Returns
    -------
    list of Audited
        One for each table; its comparison, within what float32 arithmetic may lose, says what was done where they
        differ.
    """
    found = [_audited(live, length) for live in _tables(model)]
    said = {one.recipe for one in found}
    for kind, source in _sources(model).items():
        assert source.recipe is not None
        recipe = source.recipe.short
        if recipe not in said and source.recipe.encoding.family is not Family.NONE:
            found.append(
                Audited(kind, recipe, note="the config says it, and no module of the model was found to hold it")
            )
    return found


class Replaced(list[str]):
    """The names of what was replaced.

    Attributes
    ----------
    left : dict of str to str
        What was left as it is, by its name, and why.
    """

    def __init__(self, names: Iterable[str], left: dict[str, str]) -> None:
        super().__init__(names)
        self.left = left

    def __repr__(self) -> str:
        lines = [f"{name} is left as it is: {why}" for name, why in self.left.items()]
        return "\n  ".join([f"replaced: {', '.join(self) or 'nothing'}", *lines])


def replace(model: torch.nn.Module) -> Replaced:
    """Put pecli's exact tables in the place of a live transformers model's own; return the names of the modules.

    Rotary modules and the functions that make biases are exchanged, which then are exact in every type that the model
    is moved to; fixed sinusoids are written over. Each is first tried beside the model's own on the same arguments:
    where shapes, types or values differ, and where a scaling depends on the sequence at hand, the model's own stays,
    and `left` of what is returned says why. Trained tables stay.
    """
    found = {live.name: live.put() for live in _tables(model) if not live.trained}
    return Replaced([name for name, why in found.items() if not why], {name: why for name, why in found.items() if why})


def _tables(model: torch.nn.Module) -> list[Live]:
    return [live for name, module in model.named_modules() for kind in KINDS for live in kind(name, module, model)]


def _sources(model: torch.nn.Module) -> dict[str, NamedSource]:
    """Return what the config says of each kind of layer."""
    config = getattr(model, "config", None)
    try:
        layers = api.read_config(config).layers
        return {kind: api.source_of(config, **({"layer_type": kind} if len(layers) > 1 else {})) for kind in layers}
    except PecliError:
        return {}


def _audited(live: Live, length: int) -> Audited:
    source = live.source
    if source is None:
        return Audited(live.name, "", note=live.note)
    text = source.recipe.short if source.recipe else source.text
    if live.trained:
        return Audited(live.name, text, note="trained, not judged", trained=True)
    try:
        values, start = live.values(length)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        return Audited(live.name, text, note=f"not compared: its module could not be called: {error}")
    if values is None:
        return Audited(live.name, text, note="not compared: nobody knows how its module is called")
    largest = max(1.0, float(abs(values[0] if isinstance(values, tuple) else values).max()))
    atol = allowance(largest, live.dtype, length)
    return Audited(live.name, text, api.compare(values, live.expected(start), atol=0.0 if live.whole else atol))
