"""The commands as functions, of whatever a person has at hand.

A *subject* is a recipe or its text, a path, a table, a model's config (a path, a mapping or an object), or values: an
array, a pair of cosines and sines, or a mapping of arrays, of anything with an array protocol, on any device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pecli.errors import BadParameter, with_known_options
from pecli.formats.paths import CONFIG_KEYS
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.numbers.dtypes import known_dtype
from pecli.numbers.positions import Positions
from pecli.numbers.reader import shown
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular
from pecli.tables.alignment import open_aligned, open_alone, take_usual_type
from pecli.tables.foreign import positions_of_values, table_of, to_numpy
from pecli.tables.request import known_arithmetic
from pecli.tables.sources import NamedSource, config_source, read_source, refuse_choice

if TYPE_CHECKING:
    from pecli.apply.tensors import ApplyResult
    from pecli.extrapolate.report import Extrapolation
    from pecli.inspect.statistics import Inspection
    from pecli.judge.description import Identification
    from pecli.models.reading import ConfigReading
    from pecli.tables.comparison import Comparison

Dtype = Literal["float16", "bfloat16", "float32", "float64"]
Arithmetic = Literal["exact", "float32", "bfloat16"]
Pairs = Literal["half", "interleaved", "half:interleaved", "interleaved:half"]
Way = Literal["forward", "inverse", "gradient"]

# Rows of a recipe without a length, if the other subject gives none either.
ROWS = 128


def source_of(subject: Any, **choice: str | None) -> NamedSource:
    """Return a subject as a source that can be opened.

    Parameters
    ----------
    subject : recipe, path, table, config or values
    **choice : str, optional
        ``layer_type`` and ``stack``: what is read of a config.

    Raises
    ------
    PecliError
        If it cannot be read, in one sentence.
    """
    if isinstance(subject, NamedSource):
        return subject
    if isinstance(subject, str | os.PathLike):
        return read_source(os.fspath(subject), **choice)
    if _is_config(subject):
        return config_source("the config", _contents(subject), None, {}, **choice)
    refuse_choice("this", **choice)
    if isinstance(subject, Recipe):
        return NamedSource(subject.short, subject)
    if isinstance(subject, Tabular):
        return NamedSource(subject.title, table=subject)
    return NamedSource("the values", table=table_of(subject))


def _is_config(subject: Any) -> bool:
    if isinstance(subject, Mapping):
        return bool(CONFIG_KEYS & subject.keys())
    return callable(getattr(subject, "to_dict", None)) and hasattr(subject, "model_type")


def _contents(config: Any) -> Mapping[str, Any]:
    found = config if isinstance(config, Mapping) else getattr(config, "to_dict", dict)()
    if not isinstance(found, Mapping) or not found:
        raise BadParameter("config", type(config).__name__, "is no path, mapping or config object")
    return found


@with_known_options
def compare(first: Any, second: Any, *, atol: float = 0.0, rtol: float = 0.0, ulp: int = 0) -> Comparison:
    """Compare all values of two subjects, as ``pecli compare --values`` does.

    A recipe takes the length, type and layout that its text leaves open from the other subject.

    Parameters
    ----------
    first, second : recipe, path, table, config or values
    atol, rtol : float
        What counts as the same: abs(a - b) <= atol + rtol abs(b).
    ulp : int
        Or this many units in the last place.

    Returns
    -------
    Comparison
        True where they are the same; `findings` say why they differ.

    Raises
    ------
    PecliError
        If a subject cannot be read, or their arrays and shapes have nothing in common.

    Examples
    --------
    >>> compare(Recipe.parse("rope:dim=4,base=100"), "rope:dim=4,base=200").equal
    False
    """
    from pecli.apply.checkpoints import explained
    from pecli.judge.compare import compare as compared
    from pecli.tables.figures import Tolerance

    a, b = open_aligned(source_of(first), source_of(second), ROWS)
    return explained(compared(a, b, Tolerance(atol, rtol, ulp)), a, b)


@with_known_options
def identify(subject: Any, *, positions: Any = None) -> Identification:
    """Return the recipe that reproduces a table, from its values alone.

    Parameters
    ----------
    subject : path, table or values
    positions : sequence of numbers or str, optional
        Those of its rows, where they are not evenly spaced.

    Returns
    -------
    Identification
        `recipe` and `confidence`: "sure", "likely" or "unknown".

    Raises
    ------
    PecliError
        If the subject cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> identify(np.sqrt(np.arange(64))[:, None] * [1.0, 0.1]).confidence
    'unknown'
    """
    from pecli.judge.compare import identified

    if positions is not None:
        given = Positions.parse(positions) if isinstance(positions, str) else Positions.listed(positions)
        positions = given.numbers(0, given.count)
    table = _open(subject)
    take_usual_type(table)  # of a text file that says no type
    return identified(table, positions)


@with_known_options
def inspect(subject: Any) -> Inspection:
    """Return the contents of a subject: arrays, recipe, statistics of every value.

    Parameters
    ----------
    subject : recipe, path, table, config or values

    Returns
    -------
    Inspection
        `arrays` with their shapes, dtypes and statistics; `recipe`; for biases `slopes`.

    Raises
    ------
    PecliError
        If the subject cannot be read.

    Examples
    --------
    >>> inspect("alibi:heads=2,len=3").slopes
    [0.0625, 0.00390625]
    """
    from pecli.inspect.statistics import inspect_table

    source = source_of(subject)
    return inspect_table(shown(source.text), _open(source))


@with_known_options
def extrapolate(
    subject: Any, *, test: int, train: int | None = None, scaling: str | None = None,
    factor: Decimal | float | str | None = None, threshold: float | None = None, tuned: bool = False,
) -> Extrapolation:  # fmt: skip
    """Return the behaviour past the training length, as ``pecli extrapolate`` does.

    Parameters
    ----------
    subject : recipe, path, table, config or values
    test : int
        The length wanted.
    train : int, optional
        The length trained on, where the subject does not say it.
    scaling : str, optional
        A context extension of a rotary encoding to measure, or "all".
    factor : number, optional
        Of that; test/train by default.
    threshold : float, optional
        Weight down to which a key counts as reached by a bias (0.01).
    tuned : bool
        Whether training used the recipe's own scaling.

    Returns
    -------
    Extrapolation
        `verdict`, such as "unseen", and the figures behind it. Lengths are positions.

    Raises
    ------
    PecliError
        If a length is missing, or a scaling is not for this encoding.

    Examples
    --------
    >>> extrapolate("rope:dim=4,base=100", train=8, test=16).verdict
    'unseen'
    """
    from pecli.extrapolate.report import report, with_stored_recipe

    number = None if factor is None else parse_number("factor", str(factor))
    test, train = parse_integer("test", test), None if train is None else parse_integer("train", train)
    source = with_stored_recipe(source_of(subject))
    return report(source, train, test, scaling=scaling, factor=number, threshold=threshold, tuned=tuned)


@with_known_options
def apply(
    subject: Any, inputs: Any, *, pairs: Pairs | None = None, start: int | str | None = None, positions: Any = None,
    length: int | None = None, scale: str | float | None = None, way: Way = "forward", dtype: Dtype | None = None,
    axes: str | None = None, scores: bool = False, causal: bool = False, key_mask: Any = None, softmax: bool = False,
    arithmetic: Arithmetic = "exact", layer_type: str | None = None,
) -> ApplyResult:  # fmt: skip
    """Apply a table to tensors: rotated queries and keys, rows added to embeddings, biases, scores, attention outputs.

    Parameters
    ----------
    subject : recipe, path, table, config or values
    inputs : values
        An array, or a mapping of names to arrays: queries "q" and keys "k" (for attention outputs values "v" too),
        embeddings, or logits.
    pairs : str, optional
        Which columns rotate together: "half" or "interleaved", where the subject does not say.
    start : number, optional
        Position of the first row.
    positions : sequence of int, (batches, n) or (streams, batches, n) array, optional
        Of every row; of every row of every batch; in several streams, such as time, height and width. For biases, of
        the keys.
    length : int, optional
        Of the sequence, for scalings that depend on it: longrope, dynamic NTK.
    scale : number or "sqrt", optional
        What multiplies embeddings first. With scores, what multiplies the products of queries and keys: a number, or
        "sqrt" for 1/sqrt(d); by default what the model or the encoding does, which for T5 is 1.
    way : {"forward", "inverse", "gradient"}
        Of a rotation.
    dtype : str, optional
        Of the outputs.
    axes : str, optional
        Of the inputs: bhsd, bshd, thd, bsd, sd; "bs(hd)" where heads are side by side, "bs(12d)" if there are 12;
        of logits bhqk, hqk, qk. By default by their number.
    scores, causal, softmax : bool
        Whether queries and keys are multiplied, later keys masked, and logits made weights.
    key_mask : (batches, keys) array, optional
        Which keys may be seen, as the attention mask of a padded batch: 1 or True.
    arithmetic : {"exact", "float32", "bfloat16"}
        Of a rotation or an addition: the real values, or what a framework makes of them.
    layer_type : str, optional
        Of a config whose kinds of layers differ: "decoder", "full_attention".

    Returns
    -------
    ApplyResult
        A mapping of names to arrays: the inputs' names; "scores"; "output" where values are given.

    Raises
    ------
    PecliError
        If subject, inputs and options do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> apply("rope:dim=2", np.ones((2, 2)), pairs="half", start=0)["array"].round(2).tolist()
    [[1.0, 1.0], [-0.3, 1.38]]
    """
    from pecli.apply.apply import apply as applied
    from pecli.apply.tensors import ApplyOptions, mask_of, parse_scale, tensor_of, with_width

    given = inputs if isinstance(inputs, Tabular) else table_of(inputs)
    tensors = [tensor_of(given, name, axes) for name in given]
    options = ApplyOptions(
        pairs, None if start is None else str(start), positions_of_values(positions), length, parse_scale(scale), way,
        None if dtype is None else known_dtype(dtype), scores, causal,
        None if key_mask is None else mask_of(to_numpy(key_mask)), softmax, known_arithmetic(arithmetic),
    )  # fmt: skip
    if isinstance(subject, str) and "(" not in (axes or ""):
        subject = with_width(subject, {tensor.width for tensor in tensors})
    return applied(source_of(subject, layer_type=layer_type), tensors, options)


@with_known_options
def read_config(config: Any, *, layer_type: str | None = None, stack: str = "transformers") -> ConfigReading:
    """Return the positional encoding that a model's config describes.

    Parameters
    ----------
    config : path, mapping or config object of transformers
    layer_type : str, optional
        Keep one kind of layer alone.
    stack : str
        The program whose reading is wanted, such as "vllm@0.29".

    Returns
    -------
    ConfigReading
        `layers`: a recipe for each kind of layer.

    Raises
    ------
    PecliError
        If the config is not JSON object, or lacks a key that its encoding needs.

    Examples
    --------
    >>> read_config({"model_type": "bloom", "n_head": 2}).layers["all"].encoding
    'alibi'
    """
    from pecli.models.reader import read_config as read

    where = os.fspath(config) if isinstance(config, str | os.PathLike) else _contents(config)
    return read(where, layer_type=layer_type, stack=stack)


@with_known_options
def plot(
    subject: Any, kind: str | Sequence[str] = (), *, channels: Sequence[int] = (), other: Any = None, ax: Any = None
) -> Any:
    """Draw a subject with matplotlib: the picture that its family shows first, or the kinds that are named.

    Parameters
    ----------
    subject : recipe, path, table, config or values
    kind : str or sequence of str
        heatmap, waves, similarity, rotation, patches, bias, slopes, buckets; several are joined with +;
        all for every kind that suits it.
    channels : sequence of int
        Columns of waves and patches, pairs of rotation.
    other : subject, optional
        Draw the difference from this subject instead.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; needs a kind that is one picture.

    Returns
    -------
    matplotlib.figure.Figure, or `ax`

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.
    UnknownName, BadParameter
        For a kind or a column that the subject does not have, and for several pictures with `ax`.

    Examples
    --------
    >>> figure = plot("sinusoidal:dim=8,len=32", "waves", channels=[0, 1])  # doctest: +SKIP
    >>> figure.savefig("waves.svg")  # doctest: +SKIP
    """
    from pecli.plots.figures import draw_on, figure_of
    from pecli.plots.tables import charts_of_difference, charts_of_table

    words = [word for word in (kind.split("+") if isinstance(kind, str) else kind) if word]
    source = source_of(subject)
    if other is None:
        charts = charts_of_table(_open(source), shown(source.text), words, channels)
    else:
        second = source_of(other)
        names = shown(source.text), shown(second.text)
        charts = charts_of_difference(*open_aligned(source, second, ROWS), names)
    if ax is None:
        return figure_of(charts)
    if len(charts) > 1:
        titles = ", ".join(chart.title for chart in charts)
        raise BadParameter("ax", None, f"takes one picture, and these are {len(charts)}: {titles}: name one kind")
    draw_on(ax, charts[0])
    ax.set_title(charts[0].title)
    return ax


def _open(subject: Any) -> Tabular:
    return open_alone(source_of(subject), ROWS)
