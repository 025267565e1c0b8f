"""How other stacks read the same config, where they differ on purpose or by fault.

A stack that is known to have a scaling, and of which no rule is known, reads
it as transformers does; of what it is not known to have, nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pecli.errors import BadFile
from pecli.models.reading import STACKS, LayerReading, Params, Reading
from pecli.models.stack_rules import DOCUMENTED, OTHERS, RULES, Rule, is_deepseek, no_table


@dataclass(frozen=True)
class StackReading:
    """One stack's reading of one kind of layer.

    Parameters
    ----------
    stack : str
        Whose.
    encoding : str
        The encoding.
    params : mapping of str to str, optional
        The recipe's parameters; None where the stack makes no table.
    differences : tuple of Rule
        The rules by which it departs from transformers.
    """

    stack: str
    encoding: str
    params: Params | None
    differences: tuple[Rule, ...] = field(default=())


def by_stack(layer: LayerReading) -> tuple[StackReading, ...]:
    """Return the reading of every stack that knows such a model, transformers first."""
    return tuple(read_as(layer, stack) for stack in STACKS if stack != "deepseek" or is_deepseek(layer.raw))


def read_as(layer: LayerReading, stack: str) -> StackReading:
    """Return one stack's reading of a kind of layer.

    A rule that changes nothing here is no difference.
    """
    params: Params | None = layer.params
    found = []
    for rule in RULES if layer.encoding == "rope" else ():
        if params is None or rule.stack != stack or rule.scaling not in ("", params.get("scaling", "none")):
            continue
        if not rule.where(layer.raw):
            continue
        changed = rule.change(params, layer.raw)
        if changed is None or dict(changed) != dict(params):
            found.append(rule)
            params = changed
    missing = None if params is None else _undocumented(layer, stack)
    if missing is not None:
        return StackReading(stack, layer.encoding, None, (missing,))
    return StackReading(stack, layer.encoding, params, tuple(found))


def _undocumented(layer: LayerReading, stack: str) -> Rule | None:
    """Return what is to be said where a stack is not known to have such a table."""
    if stack == "transformers" or layer.encoding == "none":
        return None
    scaling = layer.params.get("scaling", "none")
    if layer.encoding == "rope":
        known, key, what = scaling in DOCUMENTED[stack], "rope_type", f"{scaling} scaling"
    else:
        known, key, what = stack in OTHERS.get(layer.encoding, ()), "model_type", layer.encoding
    text = f"documents no {what}: whether and how it makes this table is not known"
    return None if known else Rule(stack, scaling, key, text, "no public source shows it", no_table)


def as_stack(reading: Reading, stack: str) -> Reading:
    """Return a config's reading as another stack's, with its departures as notes.

    Raises
    ------
    BadFile
        If the stack makes no table of a kind of layer.
    """
    layers = {}
    for name, layer in reading.layers.items():
        if stack == "deepseek" and not is_deepseek(layer.raw):
            raise BadFile(
                reading.path, f"is no DeepSeek model ({reading.model_type}), and DeepSeek's code knows no others"
            )
        other = read_as(layer, stack)
        if other.params is None:
            rule = other.differences[-1]
            raise BadFile(reading.path, f"has no table in {stack}: it {rule.text} ({rule.source})")
        notes = tuple(f"{stack} {rule.text} ({rule.source})" for rule in other.differences)
        layers[name] = replace(layer, params=other.params, notes=(*layer.notes, *notes))
    return replace(reading, layers=layers, stack=stack)
