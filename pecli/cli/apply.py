"""``pecli apply SOURCE INPUT... [-o PATH]``: what a table does to tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.cli.options import LAYER_TYPE, PRECISION, STACK, THREADS, argument, choice_of, flag, option, refuse, whole
from pecli.cli.terminal.layout import known_format
from pecli.cli.terminal.output import clean, prose_width, tell
from pecli.cli.terminal.screen import answer
from pecli.cli.terminal.writing import Writing, deliver, show
from pecli.errors import BadParameter, BadRecipe
from pecli.formats import open_table
from pecli.numbers.decimals import parse_number
from pecli.numbers.dtypes import DTYPES, known_dtype
from pecli.numbers.positions import Positions, fraction_text
from pecli.numbers.printing import figure
from pecli.spec.tabular import Tabular
from pecli.tables.request import ARITHMETICS, known_arithmetic
from pecli.tables.sources import read_source

if TYPE_CHECKING:
    from pecli.apply.tensors import Tensor
OF_TENSORS = ("output", "no_clobber", "threads", "random", "kv_heads", "seed", "axes")
INPUTS, ROTATION, SCORES = "Inputs", "Rotation", "Scores"
WAYS, PAIRS = ("inverse", "gradient"), ("half", "interleaved", "interleaved:half")
AXES = ("bhsd", "bshd", "thd", "bsd", "sd", "bs(hd)", "bhqk", "hqk", "qk")


@dataclass(frozen=True, kw_only=True)
class ApplyArguments(Writing):
    """The options of ``apply``."""

    source: str = argument("A recipe, a file or a model's config.json.", "SOURCE")
    inputs: tuple[str, ...] = argument("Files of tensors: embeddings, or queries and keys.", "[INPUT...]", default=())
    start: str | None = option("Position of the first row (default 0).", "P", INPUTS)
    positions: str | None = option("Position of each row: 0,5,9, 100:200 or @FILE.", "LIST", INPUTS)
    len: int | None = option("Length of the sequence (for longrope and dynamic).", "N", INPUTS, check=whole(1, 1 << 53))
    axes: str | None = option("Axes of the inputs: {} (default: by their number).", "WORD", INPUTS, AXES)
    scale: str | None = option("Factor of embeddings or scores: a number; sqrt for sqrt(d), 1/sqrt(d).", "X", INPUTS)
    vector: str | None = option("One vector instead of files: 1,2,-1,1.", "LIST", INPUTS)
    steps: bool = flag("Show every step of the arithmetic on the vector.", panel=INPUTS)
    random: str | None = option("Random queries and keys: batch, heads, length, width.", "BxHxSxD", INPUTS)
    kv_heads: int | None = option("Heads of random keys (default: the queries').", "N", INPUTS, check=whole(1, 1 << 16))
    seed: int | None = option("Seed of the random values (default 0).", "N", INPUTS, check=whole(0, (1 << 64) - 1))
    pairs: str | None = option("Which columns rotate together: {}.", "WORD", ROTATION, PAIRS)
    way: str = option(
        "inverse undoes a rotation; gradient is its backward pass.", "WORD", ROTATION, WAYS, default="forward"
    )
    arithmetic: str | None = option(
        "{}: exact, or a framework's rounding.", "WORD", ROTATION, ARITHMETICS, check=lambda _, w: known_arithmetic(w)
    )
    dtype: str | None = option("{}.", "TYPE", ROTATION, DTYPES, check=lambda _, word: known_dtype(word))
    scores: bool = flag("Attention scores; with --softmax and values, outputs.", panel=SCORES)
    mask: str | None = option("causal, @FILE (batch, key; 0 hides a key), or causal+@FILE.", "WORD", SCORES)
    softmax: bool = flag("Attention weights instead of scores or logits.", panel=SCORES)
    layer_type: str | None = option(LAYER_TYPE)
    stack: str | None = option(STACK)
    threads: int | None = option(THREADS)
    precision: int | None = option(PRECISION)


def command(options: ApplyArguments) -> int:
    """Apply a table to tensors: rotate queries and keys, add rows or biases, compute scores."""
    from pecli.apply.apply import apply, with_inputs
    from pecli.apply.tensors import with_width

    if options.steps:
        return _worked_through(options)
    on_screen = options.on_screen
    asked, drawn = _apply_options(options), _random_inputs(options)
    tensors = drawn or [tensor for text in options.inputs for tensor in _tensors(text, options.axes, options.dtype)]
    vector = None if options.vector is None else _vector(options.vector)
    widths = {len(vector)} if vector else {tensor.width for tensor in tensors if "(" not in (options.axes or "")}
    options = replace(options, source=with_width(options.source, widths))
    source = read_source(options.source, **choice_of(options))
    where: Positions | None = None
    if vector is not None:
        if tensors:
            raise BadParameter("vector", options.vector, "replaces the inputs: name no files, and no --random")
        from pecli.teach.vectors import options_for_vector, repeated

        asked, where = options_for_vector(source, asked)
        tensors = [repeated(vector, where)]
    if not tensors:
        raise BadRecipe("apply needs inputs: files of tensors, a --vector, or --random BxHxSxD")
    names = [tensor.name for tensor in tensors]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadRecipe(f"two inputs are named {twice}: rename one, since each output has its input's name")
    made = apply(source, tensors, asked)
    outputs: Tabular = made.outputs if drawn is None else with_inputs(drawn, made)
    if not options.silent:
        pairs = [f"pairs {asked.pairs}; choose with --pairs"] if asked.pairs and not options.pairs else []
        for note in made.notes if options.vector is None else pairs:
            tell(clean(f"pecli: {note}"))
    facts = {"error_bound": made.bound, "worst_ulp": made.worst}
    more = {name: fact for name, fact in facts.items() if fact is not None}
    if on_screen:
        return _print(outputs, None if where is None else list(where), options, more)
    status = deliver(outputs, options.source, options, more)
    if not options.silent and not options.json:
        if made.bound is not None:
            tell(f"pecli: computed in float64, within {made.bound():.1e} of the real numbers")
        if made.worst is not None:
            tell(f"pecli: {options.arithmetic} arithmetic errs by at most {figure(made.worst(), 3)} ulp here")
    return status


def _print(table: Tabular, at: list[Fraction] | None, options: ApplyArguments, more: dict[str, Any]) -> int:
    """Print the results for a person, or as JSON their head and tail; rows are those of a vector `at` positions."""
    from pecli.inspect.statistics import preview

    shown = preview(table, rows=12 if at is not None else 4 // len(table.arrays) or 1)
    parts = [replace(part, row_axis="row") if part.row_axis == "position" else part for part in shown]
    if at is not None:
        labels = [[None if label is None else fraction_text(at[int(label)]) for label in p.row_labels] for p in parts]
        parts = [replace(p, row_axis="position", row_labels=names) for p, names in zip(parts, labels, strict=True)]
    return show(table, options.source, options, parts, {name: fact() for name, fact in more.items()})


def _worked_through(options: ApplyArguments) -> int:
    """Print what becomes of one vector, number by number."""
    from pecli.apply.tensors import with_width
    from pecli.cli.explain import example_view
    from pecli.teach.vectors import work_through_vector

    if options.vector is None:
        raise BadParameter("steps", "true", "needs one vector: give --vector 1,2,-1,1")
    if options.inputs:
        raise BadParameter("INPUT", options.inputs[0], "cannot go with --steps, which takes --vector")
    refuse("is for tensors: --steps prints", options, *OF_TENSORS)
    if options.format is not None:
        known_format(options.format)
    vector = _vector(options.vector)
    source = read_source(with_width(options.source, {len(vector)}), **choice_of(options))
    example = work_through_vector(source, vector, _apply_options(options))
    answer(options, example.as_dict, lambda: example_view(example, prose_width()), prose=True)
    return 0


def _vector(text: str) -> list[float]:
    return [float(parse_number("vector", word)) for word in text.split(",")]


def _apply_options(options: ApplyArguments) -> Any:
    from pecli.apply.tensors import ApplyOptions, mask_of, parse_scale

    given = options.mask or ""
    word, plus, path = ("", "", given) if given[:1] == "@" else given.partition("+")
    if word not in ("", "causal") or (plus and not path) or (path and path[0] != "@"):
        raise BadParameter("mask", options.mask, "must be causal, @FILE or causal+@FILE")
    seen = mask_of(_array(path[1:])) if path else None
    return ApplyOptions(
        options.pairs, options.start, _positions(options.positions), options.len, parse_scale(options.scale),
        options.way, options.dtype, options.scores, word == "causal", seen, options.softmax,
        options.arithmetic or "exact",
    )  # fmt: skip


def _array(path: str) -> Any:
    """Return the only array of a file."""
    with open_table(path) as table:
        if len(table.arrays) != 1:
            raise BadParameter("mask", path, f"must hold one array: it has {', '.join(table.keys())}")
        return table.read(table.arrays[0].name)


def _positions(text: str | None) -> Any:
    """Return positions: a list of all rows, or an array with a row for each batch, of each stream if several."""
    if text is None:
        return None
    if text.startswith("@") and text.endswith(".npy"):
        import numpy as np

        with open_table(text[1:]) as table:
            if len(table.arrays) == 1 and len(table.arrays[0].shape) in (2, 3):
                values = table.read(table.arrays[0].name)
                if values.dtype.kind not in "iu":
                    raise BadParameter("positions", text, f"holds {values.dtype}: batches have whole positions")
                return values.astype(np.int64)
    return Positions.parse(text)


def _tensors(text: str, axes: str | None, dtype: str | None) -> list[Tensor]:
    """Return the tensors of a file, named by it where it holds one."""
    from pecli.apply.tensors import tensor_of
    from pecli.tables.parts import open_path

    table = open_path(text)
    path, _, inner = text.partition("::")
    alone = len(table.arrays) == 1 and (not inner or inner.startswith("["))
    called = Path(path).name.partition(".")[0] if alone else None
    return [tensor_of(table, array.name, axes, called, dtype) for array in table.arrays]


def _random_inputs(options: ApplyArguments) -> list[Tensor] | None:
    """Return random queries and keys; None where files are named."""
    if options.random is None:
        refuse("is for random tensors: give --random BxHxSxD too", options, "kv_heads", "seed")
        return None
    if options.inputs:
        raise BadParameter("random", options.random, "replaces the inputs: name no files")
    from pecli.apply.apply import random_inputs

    return random_inputs(options.random, options.kv_heads, options.dtype or "float32", options.seed or 0)
