"""Effect of a source on tensors, by the family of its encoding and the effect that its declaration adds.

Reference tensors for a kernel's test: random queries and keys, and one table with inputs, positions and results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.addition import AddedRows, FrameworkRows, adding_steps, apply_content
from pecli.apply.exact import rows_of
from pecli.apply.rotation import rotate
from pecli.apply.scores import VALUES, Move, add_bias, scores_of
from pecli.apply.tensors import ApplyOptions, ApplyResult, Tensor, axes_notes, only_tensor, open_rows, tensor_of
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers import random as draws
from pecli.numbers.decimals import parse_integer, shorten
from pecli.numbers.dtypes import COMPLEX
from pecli.numbers.rounding import narrow
from pecli.spec.catalogue import find
from pecli.spec.declaration import Family
from pecli.spec.hooks import Effect
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular, shape_text
from pecli.tables.parts import ConcatTable
from pecli.tables.request import take_table_keys
from pecli.tables.sources import NamedSource, exact_source


def apply(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions) -> ApplyResult:
    """Apply a source to tensors.

    Parameters
    ----------
    source : NamedSource
        A recipe, a file or a model's config.
    tensors : sequence of Tensor
        Queries and keys (and values, for attention outputs), embeddings for an absolute source, logits for a bias.
    options : ApplyOptions
        How.

    Raises
    ------
    BadParameter, BadRecipe
        If source, tensors and options do not fit, in one sentence.
    """
    source = exact_source(source)
    notes = [source.note]
    if options.length is not None:
        if source.recipe is None or not source.recipe.open_parameters:
            rule = f"has no effect: nothing in {shorten(source.text)} depends on the length of the sequence"
            raise BadParameter("len", options.length, rule)
        source = replace(source, recipe=source.recipe.of_length(options.length))
    if isinstance(options.positions, np.ndarray) and options.positions.ndim == 3:
        source, rows = with_streams(source, options.positions)
        options = replace(options, positions=rows)
    elif source.streams:
        notes.append(f"{source.streams[1]}; of images give --positions of (streams, batch, position)")
    source = with_whole_heads(source, tensors)
    recipe = _recipe(source)
    tensors = [split_heads(tensor, recipe) for tensor in tensors]
    made = _applied(source, tensors, options, recipe)
    merged = {tensor.name for tensor in tensors if tensor.merged}
    if merged:
        names = {"output"} if options.scores else merged
        made = replace(made, outputs=MergedHeads(made.outputs, names))
    return replace(made, notes=(*filter(None, notes), *made.notes))


def split_heads(tensor: Tensor, recipe: Recipe | None) -> Tensor:
    """Return a tensor with axes "bs(hd)" as "bshd"; others as they are.

    The number of heads is that of the axes or of the recipe, or follows from a rotary recipe's width of a head.

    Raises
    ------
    BadParameter
        If nothing says it, or it does not divide the last axis.
    """
    if "(" not in tensor.axes:
        return tensor
    count = tensor.axes[3:-2]
    values = {} if recipe is None else recipe.values
    rotary = recipe is not None and recipe.encoding.family is Family.ROTARY  # whose dim is that of a head
    heads, width = values.get("heads"), values.get("dim") if rotary else None
    if count != "h":
        heads = int(count)
    elif not isinstance(heads, int) and isinstance(width, int) and width:
        heads = tensor.width // width if tensor.width % width == 0 else 0
    if not isinstance(heads, int):
        raise BadParameter("axes", tensor.axes, "does not say how many heads there are: give it as bs(12d)")
    if not heads or tensor.width % heads:
        rule = f"must have heads that divide the {tensor.width} columns of {tensor.name}"
        raise BadParameter("axes", tensor.axes, rule)
    width = tensor.width // heads
    shape = (*tensor.shape[:2], heads, width)
    table = InMemory({tensor.view.array.name: tensor.view.table.read(tensor.view.array.name).reshape(shape)})
    made = tensor_of(table, tensor.view.array.name, "bshd", tensor.name)
    return made._replace(merged=True)


class MergedHeads(Tabular):
    """Outputs whose heads are side by side again, (b, s, h, d) as (b, s, h d), where their inputs were.

    Parameters
    ----------
    inner : Tabular
        The outputs, with axes b, s, h and d.
    names : collection of str
        Which of them are merged; all have as many heads as one another.
    """

    def __init__(self, inner: Tabular, names: Collection[str]) -> None:
        self.inner, self.metadata = inner, inner.metadata
        self.heads = {array.name: array.shape[2] for array in inner.arrays if array.name in names}
        self.arrays = tuple(
            replace(a, shape=(*a.shape[:2], a.shape[2] * a.shape[3]), axes=(*a.axes[:2], a.axes[3]), lead=2)
            if a.name in self.heads
            else a
            for a in inner.arrays
        )

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            heads = self.heads.get(name, 1)
            parts = target.reshape((stop - start) * heads, *self.inner.array(name).row_shape)
            self.inner.fill(start * heads, stop * heads, {name: parts})


def with_whole_heads(source: NamedSource, tensors: Sequence[Tensor]) -> NamedSource:
    """Return the source for whole heads whose last columns rotate, or for the part of a head that rotates.

    Of a model whose heads have a part of their own that rotates, such as DeepSeek's, inputs are that part or whole.
    """
    recipe, leading = source.recipe, source.model_leading
    if recipe is None or not leading:
        return source
    last = recipe.values["rotary_dim"] or recipe.values["dim"]
    whole = leading + last
    for tensor in tensors:
        width = tensor.width % whole if "(" in tensor.axes else tensor.width - whole
        if width and tensor.name.lower() not in VALUES:
            return replace(source, model_leading=0)
    given = {**split_recipe(recipe.short)[1], "dim": str(whole), "rotary-dim": str(last)}
    factor, every = (recipe.values.get(name) for name in ("factor", "mscale_all_dim"))
    sharper = 0.1 * float(every) * log(factor) + 1 if factor and every else 1.0  # as these models scale their scores
    scores = f"{sharper**2 / sqrt(whole)!r}" if sharper != 1 else None
    return replace(source, recipe=Recipe.bind(recipe.encoding.name, **given), model_scores=scores)


def with_streams(source: NamedSource, positions: NDArray[np.int64]) -> tuple[NamedSource, NDArray[np.int64]]:
    """Return a source with a row for each different place, and the row of each position of each batch.

    Parameters
    ----------
    source : NamedSource
        Whose recipe has a parameter for the positions of several streams, or a config that describes one.
    positions : (streams, batches, n) int64 ndarray
        As models with images are given them: of time, height and width.

    Raises
    ------
    BadParameter
        If it has no such parameter.
    """
    recipe = source.streams[0] if source.streams else source.recipe
    key = None if recipe is None else recipe.matrix_key
    if recipe is None or key is None:
        rule = f"are for several streams, and {shorten(source.text)} takes one: give (batch, position)"
        raise BadParameter("positions", f"({shape_text(positions.shape)})", rule)
    places, rows = np.unique(positions.reshape(len(positions), -1).T, axis=0, return_inverse=True)
    given = split_recipe(recipe.short)[1]
    bound = Recipe.bind(recipe.encoding.name, **{**given, key: "+".join(map(str, places.reshape(-1).tolist()))})
    keys = {name: word for name, word in source.given.items() if name not in ("len", "start", "step", "positions")}
    return replace(source, recipe=bound, given=keys, model_length=None), rows.reshape(positions.shape[1:])


def _applied(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, recipe: Recipe | None
) -> ApplyResult:
    family = recipe.encoding.family if recipe is not None else _family_of_arrays(source)
    effect = _effect(recipe, family)
    for tensor in tensors:
        if tensor.name.lower() in VALUES and family is not Family.ABSOLUTE and not options.scores:
            raise BadParameter("input", tensor.name, "holds values: positions act on queries and keys, never on them")
    for name, value in (("pairs", options.pairs), ("way", options.way)):
        if value not in (None, "forward") and family is not Family.ROTARY:
            raise BadParameter(name, value, "is for rotary tables")
    if options.scale is not None and not options.scores and family in (Family.ROTARY, Family.BIAS):
        raise BadParameter("scale", options.scale, "is for embeddings, and for scores of queries and keys (--scores)")
    if options.arithmetic != "exact" and (options.scores or family not in (Family.ABSOLUTE, Family.ROTARY)):
        raise BadParameter("arithmetic", options.arithmetic, "is for rotations, and for rows added to embeddings")
    moves: dict[Family, Move] = {
        Family.ROTARY: partial(rotate, recipe=recipe), Family.CONDITIONAL: apply_content, Family.ABSOLUTE: add_rows,
    }  # fmt: skip
    move = moves.get(family, None if family is Family.RELATIVE else add_rows)
    if options.scores:
        return scores_of(source, tensors, options, family, effect, move)
    if family is Family.BIAS:
        return add_bias(source, only_tensor(tensors, "logits; for queries and keys give --scores"), options, effect)
    masked = options.causal or options.key_mask is not None
    for name, given in (("mask", masked), ("softmax", options.softmax)):
        if given:
            raise BadParameter(name, "causal" if name == "mask" else "true", "is for scores and logits: give --scores")
    if move is None:
        raise BadRecipe(f"{shorten(source.text)} gives scores of queries and keys: give both, and --scores")
    return move(source, tensors, options, effect)


def _recipe(source: NamedSource) -> Recipe | None:
    """Return the recipe of a source; of a file, the one that it names."""
    if source.recipe is not None:
        return source.recipe
    text = source.open().recipe
    if text is None:
        return None
    name, keys = split_recipe(text)
    take_table_keys(name, keys)
    find(name)
    return Recipe.bind(name, **keys)


def _effect(recipe: Recipe | None, family: Family) -> Effect:
    """Return the effect of an encoding beyond its family's; encodings of vectors or content must declare it."""
    must_declare = family in (Family.RELATIVE, Family.CONDITIONAL)
    if recipe is None or not (must_declare or recipe.encoding.declares("apply")):
        return Effect()
    found: Effect = recipe.encoding.hook("apply")(recipe)
    return found


def _family_of_arrays(source: NamedSource) -> Family:
    """Return the family of a file that names no recipe."""
    first, *more = source.open().arrays
    if "bias" in {array.name for array in (first, *more)}:
        return Family.BIAS
    stacked = len(first.shape) == 3 and first.shape[0] == 2
    rotary = more or stacked or first.name in ("cos_sin", "sin_cos", "cis")
    return Family.ROTARY if rotary else Family.ABSOLUTE


def add_rows(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, effect: Effect) -> ApplyResult:
    """Return embeddings with rows added; see :func:`apply`."""
    tensor = only_tensor(tensors, "its rows are added to")
    table, rows = open_rows(source, [tensor], options)
    if table.arrays[0].dtype in COMPLEX.values():
        rule = "holds complex numbers, which multiply complex embeddings: multiply them by its array"
        raise BadRecipe(f"{shorten(source.text)} {rule}")
    notes, dtype = tuple(axes_notes([tensor])), options.dtype or tensor.dtype
    emulated = options.arithmetic != "exact"
    exact = AddedRows(rows_of(table), tensor, "float64" if emulated else dtype, options.scale, where=rows)
    if not emulated:
        return ApplyResult(exact, notes)
    steps = adding_steps(tensor, table, float(exact.factor.hi), rows, options.arithmetic)
    made = FrameworkRows(exact, {tensor.name: steps}, options.arithmetic, dtype)
    return ApplyResult(made, notes, worst=lambda: made.worst)


class RandomTensor(Tabular):
    """Standard normal vectors drawn from a seed, so that any slice equals the whole.

    Parameters
    ----------
    name : str
        Of the array.
    shape : tuple of int
        Its shape; a row is a vector.
    dtype : str
        Type to which each value is rounded.
    seed, stream : int
        Key of the generator.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, seed: int, stream: int) -> None:
        self.arrays = (Array(name, shape, dtype, tuple(f"axis{i}" for i in range(len(shape))), len(shape) - 1),)
        self.seed, self.stream, self.dtype = seed, stream, dtype

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for target in out.values():
            width = target.shape[-1]
            words = draws.words(self.seed, start * width, (stop - start) * width, self.stream)
            narrow(draws.normal(draws.uniform(words)).reshape(-1, width), None, self.dtype, target)


def random_inputs(sides: str, kv_heads: int | None, dtype: str, seed: int) -> list[Tensor]:
    """Return random queries and keys of ``batch x heads x length x width``, keys with `kv_heads` heads.

    Raises
    ------
    BadParameter
        For another number of sides, and for heads that the heads of the keys do not divide.
    """
    shape = [parse_integer("random", side) for side in sides.lower().split("x")]
    if len(shape) != 4 or min(shape) < 1:
        raise BadParameter("random", sides, "must be four sides: batch x heads x length x width")
    batch, heads, length, width = shape
    keys = kv_heads or heads
    if heads % keys:
        raise BadParameter("kv-heads", keys, f"must divide the {heads} heads of the queries")
    shapes = {"q": (batch, heads, length, width), "k": (batch, keys, length, width)}
    tables = [RandomTensor(name, shape, dtype, seed, stream) for stream, (name, shape) in enumerate(shapes.items())]
    return [tensor_of(table, table.arrays[0].name, "bhsd") for table in tables]


def with_inputs(inputs: list[Tensor], made: ApplyResult) -> Tabular:
    """Return inputs, positions, cosines and sines, and results as one table."""
    parts = [(tensor.name, tensor.view.table, tensor.view.array.name) for tensor in inputs]
    if (where := made.companion) is not None:
        parts += [(name, where, name) for name in ("cos", "sin")]
        if "positions" not in where:
            found = where.position(0, where.arrays[0].rows)
            where = InMemory({"positions": np.arange(where.arrays[0].rows) if found is None else found})
        parts.insert(-2, ("positions", where, "positions"))
    outputs = made.outputs
    ending = "" if "scores" in outputs else "_rotated"
    parts += [(f"{array.name}{ending}", outputs, array.name) for array in outputs.arrays]
    facts = dict(outputs.metadata)
    if "rotated" in facts:
        facts["rotated"] = " ".join(f"{name}_rotated" for name in facts["rotated"].split())
    return ConcatTable(parts, facts)
