"""One vector on the board: rotated by a rotary table, or with a row of an absolute one added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np

from pecli.apply.apply import apply
from pecli.apply.rotation import OF_LAYOUT, HeadPairs, members, pairing_of
from pecli.apply.tensors import ApplyOptions, Tensor, tensor_of
from pecli.encodings.shared.lessons import by_position
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.positions import Positions
from pecli.numbers.positions import fraction_text as text_of
from pecli.numbers.rounding import Floats, widen
from pecli.spec.declaration import Family
from pecli.spec.hooks import Item, SmallTable, Step, decimal_text, joined, short
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import InMemory
from pecli.tables.sources import NamedSource
from pecli.teach.examples import MAX_POSITIONS, Example, table_at

PAIRS = 8  # that fit a board


def work_through_vector(source: NamedSource, vector: Sequence[float], options: ApplyOptions) -> Example:
    """Return the effect of a source on one vector at a few positions, number by number.

    Parameters
    ----------
    source : NamedSource
        A recipe of a rotary or an absolute encoding.
    vector : sequence of float
        As wide as the table.
    options : ApplyOptions
        Positions (at most 8, by default 1), scale of the input, and pairs (by default neighbours, as in the paper).

    Raises
    ------
    BadParameter, BadRecipe
        If they do not fit.
    """
    recipe = source.recipe
    if recipe is None or recipe.encoding.family not in (Family.ROTARY, Family.ABSOLUTE):
        rule = "give the recipe of one, or leave --steps out to see the result alone"
        raise BadRecipe(f"--steps works out rotations and rows that are added: {rule}")
    options, where = options_for_vector(source, options)
    if where.count > MAX_POSITIONS:
        rule = f"are too many for a board: give at most {MAX_POSITIONS}"
        raise BadParameter("positions", f"({where.count} positions)", rule)
    made = apply(source, [repeated(vector, where)], options)
    found = widen(made.outputs.read("x"), made.outputs.array("x").dtype)
    worked = _rotated if recipe.encoding.family is Family.ROTARY else _added
    return Example.of(recipe, "applied", worked(recipe, list(where), vector, found, options))


def options_for_vector(source: NamedSource, options: ApplyOptions) -> tuple[ApplyOptions, Positions]:
    """Return options with the pairs of the source, or neighbours, and the positions of a vector, by default 1."""
    where = options.positions
    if not isinstance(where, Positions):
        where = Positions.listed([options.first if options.start else 1])
    recipe, pairs = source.recipe, options.pairs
    if recipe is not None and recipe.encoding.family not in (Family.ROTARY, Family.ABSOLUTE):
        rule = f"is rotated or added to, and {recipe.encoding.name} does neither: name files of its inputs"
        raise BadParameter("vector", None, rule)
    if recipe is not None and recipe.encoding.family is Family.ROTARY and pairs is None:
        usual = OF_LAYOUT.get(source.given.get("layout", ""), "interleaved")
        pairs = usual if source.model_pairing is None else str(pairing_of(source, None)[0])
    return replace(options, positions=where, start=None, pairs=pairs), where


def repeated(vector: Sequence[float], where: Positions) -> Tensor:
    """Return one vector as a tensor with a row for each position."""
    return tensor_of(InMemory({"x": np.tile(np.array(vector, np.float64), (where.count, 1))}), "x")


def _rotated(
    recipe: Recipe, at: list[Fraction], vector: Sequence[float], found: Floats, options: ApplyOptions
) -> Iterator[Step]:
    table = table_at(recipe, at)
    cos, sin = (table.read(name) for name in ("cos", "sin"))
    which = "cosine and sine of position times frequency"
    pairing = HeadPairs.parse(options.pairs or "half")
    if options.way != "forward":
        sin, pairing, which = -sin, pairing.inverse(), f"{which}, the sine with the other sign"
    squares = cos**2 + sin**2
    if options.way == "inverse" and np.abs(squares - 1).max() > 1e-6:
        cos, sin, which = cos / squares, sin / squares, f"{which}, both over the square of the magnitude"
    width = 2 * cos.shape[1]
    x, y = (part[0].tolist() for part in members(np.array([vector]), width, pairing.from_pairs))
    names = members(np.arange(width)[None], width, pairing.from_pairs)
    shown = range(min(cos.shape[1], PAIRS))
    chosen = ", ".join(f"({names[0][0, i]}, {names[1][0, i]})" for i in shown)
    yield Step("the columns that rotate together", [f"pairs {pairing}: columns {chosen}", f"x = {joined(vector)}"])
    yield Step(which, _points(table.plan, at, cos, sin))
    for row, position in enumerate(at):
        lines = []
        for i in shown:
            a, b, c, s = x[i], y[i], float(cos[row, i]), float(sin[row, i])
            own, other = short(a), short(b) if b >= 0 else f"({short(b)})"
            cosine, sine, first, second = map(decimal_text, (c, s, a * c - b * s, a * s + b * c))
            lines.append(f"pair {i}: {own} x {cosine} - {other} x {sine} = {first}")
            lines.append(f"        {own} x {sine} + {other} x {cosine} = {second}")
        lines.append(f"together {joined(found[row].tolist())}")
        yield Step(f"at position {text_of(position)}, x c - y s and x s + y c", lines)
    lengths = sqrt(sum(v * v for v in vector)), float(np.linalg.norm(found[0]))
    yield Step("the length of the vector", [f"before {decimal_text(lengths[0])}, after {decimal_text(lengths[1])}"])


def _points(plan: object, at: Sequence[object], cos: Floats, sin: Floats) -> list[Item]:
    known = [float(w) for w in plan.frequencies] if isinstance(plan, Waves) and not plan.axes else []
    frequencies: list[str | float] = [*known, *["-"] * PAIRS]
    rows: list[list[str | float]] = [
        [str(position), i, frequencies[i], float(cos[row, i]), float(sin[row, i])]
        for row, position in enumerate(at) for i in range(min(cos.shape[1], PAIRS))
    ]  # fmt: skip
    return [SmallTable(["position", "pair", "w", "cos", "sin"], rows)]


def _added(
    recipe: Recipe, at: list[Fraction], vector: Sequence[float], found: Floats, options: ApplyOptions
) -> Iterator[Step]:
    pe = table_at(recipe, at).read("pe")
    size = sqrt(len(vector)) if options.scale == "sqrt" else float(options.scale or 1)
    yield Step("the rows of these positions", [by_position(at, pe)])
    scaled = [size * v for v in vector]
    if size != 1:
        yield Step(f"the embedding times {short(size)}", [f"{joined(vector)} -> {joined(scaled)}"])
    lines = [f"position {text_of(p)}: {joined(scaled)} + {joined(pe[k].tolist())} = {joined(found[k].tolist())}"
             for k, p in enumerate(at)]  # fmt: skip
    yield Step("the sum", lines)
