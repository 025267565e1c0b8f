"""Queries and keys multiplied, as their encoding has it: turned first, with terms of vectors, biases, decays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt

import numpy as np

from pecli.application.attended import AttendedRows, Products
from pecli.application.biases import BiasRows, pair_table
from pecli.application.conditioned import conditioned
from pecli.application.products import Floats
from pecli.application.rotated import rotated
from pecli.application.scores import UNIT, Adjustment, QueryRows, ScoreRows, WithBias, finite_size
from pecli.application.tensors import Tensor, tensor_of
from pecli.application.wishes import Application, Wish, axes_notes
from pecli.declare.effect import Effect
from pecli.declare.encoding import Family
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.positions import Positions
from pecli.sources.sources import NamedSource

SCORED = {"bhsd": "bhqk", "bshd": "bhqk", "thd": "hqk", "bsd": "bqk", "sd": "qk", "d": "qk"}


def scored(
    source: NamedSource, tensors: Sequence[Tensor], wish: Wish, family: Family, effect: Effect, recipe: Recipe | None
) -> Application:
    """Return scores, or weights; see :func:`pecli.application.apply.apply`."""
    if len(tensors) not in (2, 2 + (effect.values is not None)):
        raise BadParameter("input", ", ".join(t.name for t in tensors), "must be two with --scores: queries and keys")
    queries, keys, *values = tensors
    _fit(queries, keys, wish)
    if effect.unscored:
        raise BadRecipe(f"{shorten(source.text)} does not say its scores: {effect.unscored}")
    scale, scaled = _scale(source, queries.width, wish, effect)
    table: Tabular | None = None
    notes: list[str] = []
    changes: list[Adjustment] = []
    lengths = queries.side("s"), keys.side("s")
    match family:
        case Family.ROTARY | Family.CONDITIONAL:
            how = partial(rotated, recipe=recipe) if family is Family.ROTARY else conditioned
            queries, keys, notes = _moved(source, queries, keys, wish, effect, how)
            if effect.decay is not None:
                decays = source.open(dtype="float64", length=lengths[1])
                changes.append(Decay(decays, effect, lengths, queries.side("h")))
        case Family.BIAS:
            rows = BiasRows(pair_table(source, *lengths, wish), source.text)
            rows.check(queries.side("h"), *lengths)
            changes.append(WithBias(rows, effect.logits, scale if source.model_scores == BIASED else 1.0))
        case Family.RELATIVE:
            table = pair_table(source, *lengths, wish)
        case Family.ABSOLUTE:
            raise BadRecipe(f"{shorten(source.text)} is added to embeddings, before there are queries and keys")
    products = Products(queries, keys, effect, table, scale)
    weights = ScoreRows(products, changes, wish, SCORED[queries.axes])
    made = AttendedRows(weights, products, values[0], effect) if values else weights
    aligned = "" if lengths[0] == lengths[1] else f"the {lengths[0]} queries are the last of the {lengths[1]} positions"
    said = [effect.note] if family is Family.RELATIVE else []
    notes = notes or [*said, *axes_notes(tensors)]
    return Application(made, tuple(filter(None, (*notes, scaled, aligned))), lambda: made.error)


BIASED, GATED, PART = "biased", "gated", "part"
"""What a config may say of scores: a bias is scaled with the products, or gated; only some columns of a head turn."""


def _scale(source: NamedSource, width: int, wish: Wish, effect: Effect) -> tuple[float, str]:
    """Return what multiplies the products of queries and keys, and what to say of it.

    What is asked for wins over what the model's config says, and that over what the encoding says.
    """
    divided = f"the products are divided by sqrt({f'{effect.divisor} x ' * (effect.divisor > 1)}{width})"
    said, _, cap = (source.model_scores or "").partition("capped ")
    said = said.strip()
    if cap and wish.softmax and wish.score_scale is None:
        raise BadParameter(
            "softmax", "true", f"gives weights of other scores than this model's, which it caps at {cap}"
        )
    if wish.score_scale == "sqrt":
        return 1 / sqrt(width), f"the products are divided by sqrt({width}), as given"
    if wish.score_scale is not None:
        return float(wish.score_scale), f"the products are multiplied by {wish.score_scale}, as given"
    if said == "sqrt":
        return 1 / sqrt(width), f"{divided}, as the model has it"
    if said == GATED:
        rule = "multiplies its bias by a gate of the content, which queries and keys do not give"
        raise BadParameter("scores", "true", f"are not those of this model: it {rule}")
    if said == BIASED:
        return 1 / sqrt(width), f"the products and the bias are divided by sqrt({width}), as the model has it"
    if said == PART:
        return effect.factor_of(width), f"{divided}: these columns alone, to which the model adds products of others"
    if said:
        number, _, power = said.partition("^")
        scale = float(number) ** float(power or 1)
        return scale, f"the products are multiplied by {said}, as the model has it" if scale != 1 else UNDIVIDED
    return effect.factor_of(width), divided if effect.scale is None else UNDIVIDED


UNDIVIDED = "the products are not divided by sqrt(d), as the model has it"


def _fit(queries: Tensor, keys: Tensor, wish: Wish) -> None:
    if wish.way != "forward":
        raise BadParameter(wish.way, "true", "is for tensors, not for scores")
    if wish.scale is not None:
        raise BadParameter("input-scale", wish.scale, "is for absolute tables, whose rows are added")
    if queries.axes not in SCORED:
        raise BadParameter("axes", queries.axes, f"are not those of queries and keys: {', '.join(SCORED)} are")
    if queries.axes != keys.axes:
        raise BadParameter("axes", f"{queries.axes}, {keys.axes}", "must be the same for queries and keys")
    if queries.width != keys.width:
        raise BadParameter("input", keys.name, f"has vectors of {keys.width}, and {queries.name} of {queries.width}")
    if queries.side("b") != keys.side("b"):
        raise BadParameter("input", keys.name, f"has {keys.side('b')} batches, and {queries.name} {queries.side('b')}")
    if queries.side("h") % keys.side("h"):
        rule = f"has {keys.side('h')} heads, which do not divide the {queries.side('h')} of {queries.name}"
        raise BadParameter("input", keys.name, rule)
    if wish.causal and queries.side("s") > keys.side("s"):
        raise BadParameter("mask", "causal", f"needs a key for each query: {queries.name} is longer than {keys.name}")


def _moved(
    source: NamedSource, queries: Tensor, keys: Tensor, wish: Wish, effect: Effect, how: Callable[..., Application]
) -> tuple[Tensor, Tensor, list[str]]:
    """Return queries and keys as a source leaves them, float64; fewer queries are the last of the positions."""
    late = keys.side("s") - queries.side("s")
    found, notes = [], []
    for tensor, name, skip in ((queries, "q", late), (keys, "k", 0)):
        own = replace(wish, dtype="float64", scores=False, causal=False, softmax=False)
        if skip:
            own = _later(own, skip, keys.side("s"))
        done = how(_at_full_length(source, keys.side("s")), [replace(tensor, name=name)], own, effect)
        found.append(tensor_of(done.outputs, name, tensor.axes))
        notes += [note for note in done.notes if note not in notes and " holds " not in note]
    return found[0], found[1], notes


def _at_full_length(source: NamedSource, length: int) -> NamedSource:
    """Return a source whose recipe is resolved for the whole sequence: a query alone belongs to it too."""
    if source.recipe is None or not source.recipe.open_parameters:
        return source
    return replace(source, recipe=source.recipe.resolve(length=length, last=length - 1, whole=True))


def _later(wish: Wish, skip: int, length: int) -> Wish:
    """Return what is asked of the last of the positions."""
    if isinstance(wish.positions, Positions):
        return replace(wish, positions=wish.positions.part(skip, length))
    if wish.positions is not None:
        return replace(wish, positions=wish.positions[:, skip:])
    return replace(wish, start=str(wish.first + skip))


class Decay:
    """What weighs the scores of a rotary table's heads.

    Parameters
    ----------
    table : Tabular
        With the array of weights, for as many positions as there are keys.
    effect : Effect
        Which array, and whether it is added.
    lengths : tuple of int
        Queries and keys.
    heads : int
        Of the queries.
    """

    def __init__(self, table: Tabular, effect: Effect, lengths: tuple[int, int], heads: int) -> None:
        assert effect.decay is not None
        if table.array(effect.decay).shape[0] not in (1, heads):
            raise BadParameter("heads", table.array(effect.decay).shape[0], f"do not fit queries of {heads} heads")
        self.values, self.added, self.lengths = table.read(effect.decay), effect.decay_added, lengths

    def change(self, values: Floats, error: float, rows: QueryRows) -> float:
        """Change values; see :class:`pecli.application.scores.Adjustment`."""
        late = self.lengths[1] - self.lengths[0]
        at = np.arange(rows.start, rows.stop) + late
        own = self.values[rows.head % len(self.values)]
        if own.ndim == 2:
            weight = own[at]
        else:
            back = at[:, None] - np.arange(self.lengths[1])
            weight = np.where(back >= 0, own[np.maximum(back, 0)], -np.inf if self.added else 0.0)
        if self.added:
            values += weight
            return error + UNIT * (finite_size(weight) + finite_size(values))
        values *= weight
        return error * finite_size(weight) + 2 * UNIT * finite_size(values)
