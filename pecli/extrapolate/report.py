"""Report on an encoding beyond the length it was trained on: measured, and judged by rules that are printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pecli.errors import BadFile, BadParameter, MissingParameter, PecliError
from pecli.extrapolate.coverage import WaveReach, base_of, wave_reach
from pecli.extrapolate.reach import BiasReach, IndexReach, ValueReach, bias_reach, index_reach, value_reach
from pecli.extrapolate.resize import trained_rows
from pecli.extrapolate.scalings import TREATMENTS, Scaled, chosen, compare_scalings, scalings_of, unscaled
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.decimals import parse_integer
from pecli.numbers.printing import at_least, between, figure
from pecli.spec.declaration import Family
from pecli.spec.hooks import LONGER, New, Reach
from pecli.spec.plans import Bias, Conditional, Plan, Relative, Values, Waves
from pecli.spec.recipe import Recipe, split_recipe
from pecli.tables.request import take_table_keys
from pecli.tables.sources import NamedSource, read_source

RULES = {
    "inside": "all angles, values and biases of the new positions lie in the range seen in training, and all rows that "
    "they use were used in training",
    "falls": "no new distance gets a larger bias than in training, and some get a smaller one",
    "unseen": "new positions bring angles, values, biases or rows never seen in training",
    "untrained": "new positions have rows, but training never updated them",
    "ends": "new positions have no value",
    "fixed": "the encoding's parameters fix the length, as a grid does: a longer table is another encoding",
    "unmeasured": "the angles are not products of one frequency and a position, so they are not measured",
    "nothing": "no positions enter: order comes only from the causal mask",
}
ARC = (
    "in training on positions 0 .. T-1, a frequency w takes the angles from 0 up to T w, the full circle if T w is a "
    "turn or more; a test position is outside if its angle lies beyond"
)


@dataclass(frozen=True, repr=False)
class Extrapolation:
    """Report on the positions between the training length and the test length.

    Attributes
    ----------
    source : str
        As the user named it.
    recipe, encoding, family : str
        Resolved; empty for a table of trained rows from a file.
    train, test : int
        Lengths.
    longer : str
        What a longer table is made of.
    verdict : str
        A key of `RULES`.
    finding : str
        The verdict's figures, as a sentence.
    remedy : str
        What reaches the test length; empty where nothing is needed.
    waves, bias, index, values
        Figures, by the kind of plan; None where they do not apply.
    scalings : tuple of Scaled
        The context extensions asked for.
    basis : str
        Where the training length comes from; empty if it was given.
    config : tuple of str
        Of a model's config, what its rope parameters need for each scaling that transformers has, as JSON.
    """

    source: str
    recipe: str
    encoding: str
    family: str
    train: int
    test: int
    longer: str = ""
    verdict: str = ""
    finding: str = ""
    remedy: str = ""
    waves: WaveReach | None = None
    bias: BiasReach | None = None
    index: IndexReach | None = None
    values: ValueReach | None = None
    scalings: tuple[Scaled, ...] = ()
    basis: str = ""
    config: tuple[str, ...] = ()

    def __repr__(self) -> str:
        verdict = f"{self.source}, trained on {self.train}, at {self.test}: {self.verdict}"
        scalings = (scaled.line for scaled in self.scalings)
        return "\n  ".join(filter(None, (verdict, self.finding, self.remedy, *scalings)))


def rules_of(reports: Sequence[Extrapolation]) -> dict[str, str]:
    """Return the rules of the words that occur in these reports."""
    found = {report.verdict: RULES[report.verdict] for report in reports}
    if any(report.waves for report in reports):
        found["phases"] = ARC
    if any(report.scalings for report in reports):
        found |= {name: f"a pair that {rule}" for name, rule in TREATMENTS.items()}
    return found


def check_lengths(train: int, test: int) -> None:
    """Raise BadParameter unless there is a training length, and the test length lies above it."""
    if train < 1:
        raise BadParameter("train-len", train, "must be at least 1")
    if test <= train:
        raise BadParameter("test-len", test, f"must be above the training length {train}")


def reach_of(recipe: Recipe) -> Reach:
    """Return what an encoding declares of new positions, or what those of its family and kind of plan usually have."""
    if recipe.encoding.declares("extend"):
        found: Reach = recipe.encoding.hook("extend")(recipe)
        return found
    if recipe.rows is not None:
        return Reach("grid", LONGER["grid"], "give a larger grid, or more points")
    new: New = "values"
    match recipe.of_length(2).plan:
        case _ if recipe.encoding.family is Family.NONE:
            new = "nothing"
        case Waves() | Relative(waves=Waves()):
            new = "phases"
        case Bias(index=None):
            new = "biases"
        case Bias() | Relative():
            new = "vectors"
        case Conditional():
            new = "content"
    return Reach(new, LONGER[new])


def extrapolate(
    source: str, recipe: Recipe, train: int, test: int, *, scalings: Sequence[str] = (), factor: Decimal | None = None,
    strict: bool = False, threshold: float = 0.01, tuned: bool = False,
) -> Extrapolation:  # fmt: skip
    """Return the report of a recipe between two lengths.

    Parameters
    ----------
    source : str
        What to call it.
    recipe : Recipe
        A scaling in it is taken to be added after training, unless `tuned`.
    train, test : int
        Lengths.
    scalings : sequence of str
        Context extensions to put beside each other.
    factor : Decimal, optional
        Of those; test/train by default.
    strict : bool
        Whether a scaling that cannot be made is an error.
    threshold : float
        Weight down to which a key counts as reached by a bias.
    tuned : bool
        Whether training used the recipe's own scaling.
    """
    check_lengths(train, test)
    length = train if recipe.encoding.family is Family.ABSOLUTE else test  # which has trained rows, or divides by it
    resolved = recipe.resolve(length=length, last=test - 1, whole=True)
    encoding, plan = recipe.encoding, resolved.plan
    reach = reach_of(resolved)
    made = Extrapolation(source, str(resolved), encoding.name, encoding.family.word, train, test, reach.longer)
    if scalings:
        made = replace(made, scalings=compare_scalings(resolved, scalings, train, test, factor, strict=strict))
    if reach.measured:
        under = extrapolate(source, Recipe.parse(reach.measured), train, test, threshold=threshold)
        return replace(under, recipe=made.recipe, encoding=made.encoding, family=made.family, longer=made.longer)
    if reach.new == "grid":
        finding = f"its own parameters fix its {plan.rows} rows"
        return replace(made, verdict="fixed", finding=finding, remedy=reach.remedy)
    high = resolved.domain.high
    last = test - 1 if high is None else min(test - 1, int(high))
    if last < test - 1:
        finding = f"the last position with a value is {last}; positions {last + 1} to {test - 1} have none"
        return replace(made, verdict="ends", finding=finding, remedy=reach.remedy)
    if isinstance(plan, Relative) and plan.waves is not None:
        made = replace(made, index=index_reach(plan, train, test))
        return _of_phases(made, wave_reach(plan.waves, train, test), scales=False)
    if isinstance(plan, Waves):
        return _of_waves(made, resolved, plan, tuned)
    if isinstance(plan, Bias | Relative):
        return _of_distances(made, plan, threshold, multiplies=reach.multiplies)
    return _of_positions(made, reach, plan)


def _of_waves(made: Extrapolation, recipe: Recipe, plan: Waves, tuned: bool) -> Extrapolation:
    plain = recipe if tuned else unscaled(recipe)
    before = plain.plan
    assert isinstance(before, Waves)
    if not plan.bands:
        finding = "its angles are not products of one frequency and a position"
        return replace(made, verdict="unmeasured", finding=finding)
    reach = wave_reach(plan, made.train, made.test, before, base_of(plain) if plain == recipe else None)
    return _of_phases(made, reach, scales=bool(scalings_of(recipe)) and not made.scalings)


def _of_phases(made: Extrapolation, reach: WaveReach, *, scales: bool) -> Extrapolation:
    made = replace(made, waves=reach)
    outside = [pair for pair in reach.pairs if pair.outside]
    count = len(reach.pairs)
    if not outside:
        finding = f"all {count} frequencies stay within angles seen in training"
        return replace(made, verdict="inside", finding=finding)
    first = min(pair.first for pair in outside if pair.first is not None)
    finding = f"{len(outside)} of {count} frequencies reach angles never seen in training, from position {first} on"
    remedies = []
    if reach.smallest_factor is not None:
        base = "" if reach.smallest_base is None else f", or a base of {at_least(reach.smallest_base)},"
        remedies.append(f"dividing all frequencies by {at_least(reach.smallest_factor)}{base} keeps every angle inside")
    remedy = "; ".join([*remedies, *(["--scaling all compares the scalings"] if scales else [])])
    return replace(made, verdict="unseen", finding=finding, remedy=remedy)


def _of_distances(made: Extrapolation, plan: Bias | Relative, threshold: float, *, multiplies: bool) -> Extrapolation:
    index = index_reach(plan, made.train, made.test)
    bias = None
    if isinstance(plan, Bias) and (plan.heads or plan.shared is not None):
        plan.read_files()
        bias = bias_reach(plan, made.train, made.test, threshold, multiplies=multiplies)
    made = replace(made, bias=bias, index=index)
    if index is not None:
        if index.new:
            finding = f"{index.new} rows are used only by new distances"
            return replace(made, verdict="unseen", finding=finding, remedy="train on longer sequences")
        finding = f"all distances from {index.shared_from} on share one row; its table need not grow"
        return replace(made, verdict="inside", finding=finding)
    assert isinstance(plan, Bias)
    assert bias is not None
    if any(head.above for head in bias.heads):
        heads = sum(head.above > 0 for head in bias.heads)
        most = max(head.new[1] - head.trained[1] for head in bias.heads)
        who = f"{heads} of {len(bias.heads)} heads give" if plan.heads else "the value shared by all heads gives"
        finding = f"{who} new distances a larger bias than in training, by up to {figure(most, 3)}{bias.scope}"
        return replace(made, verdict="unseen", finding=finding)
    if any(head.below for head in bias.heads):
        within = sum(head.window < made.train - 1 for head in bias.heads)
        finding = (
            f"{within} of {len(bias.heads)} heads already gave less than {100 * threshold:g} % of the largest weight "
            f"to keys within the training length; its table need not grow{bias.scope}"
        )
        return replace(made, verdict="falls", finding=finding)
    finding = f"every new distance has a bias in the range seen in training; its table need not grow{bias.scope}"
    return replace(made, verdict="inside", finding=finding)


def _of_positions(made: Extrapolation, declared: Reach, plan: Plan) -> Extrapolation:
    if declared.new == "rows":
        finding = f"rows {made.train} to {made.test - 1} exist and keep their initial values"
        return replace(made, verdict="untrained", finding=finding, remedy=f"train them; {declared.remedy}")
    if declared.new == "nothing":
        return replace(made, verdict="nothing", finding="it has no values and no length")
    if declared.new == "content":
        return replace(made, verdict="inside", finding="values come from the content, at any length")
    assert isinstance(plan, Values)
    try:
        reach = value_reach(plan, made.train, made.test)
    except PecliError as error:
        return replace(made, verdict="ends", finding=str(error))
    scope = f"; {reach.looked_at:,} positions were evaluated" if reach.sampled else ""
    if not reach.outside:
        finding = f"every column stays in the range it had in training{scope}"
        return replace(made, values=reach, verdict="inside", finding=finding)
    (low, high), (least, most) = reach.trained, reach.test
    finding = (
        f"{reach.outside} of {reach.columns} columns leave the range they had in training, column {reach.column} "
        f"at position {reach.first}: it had {between(low, high, 4)}, and has {between(least, most, 4)} at the new "
        f"positions{scope}"
    )
    return replace(made, values=reach, verdict="unseen", finding=finding)


def stored_rows(source: str, rows: int, test: int) -> Extrapolation:
    """Return the report of trained rows in a file."""
    finding = f"its rows end at position {rows - 1}; positions {rows} to {test - 1} have none"
    remedy = "--extend linear, cubic, nearest or tile makes a longer table"
    longer = "trained rows, resized or repeated"
    return Extrapolation(source, "", "", "absolute", rows, test, longer, "ends", finding, remedy)


THRESHOLD = 0.01
# Parameters of scalings that a config's rope parameters have as numbers.
ROPE_NUMBERS = ("factor", "original-max", "low-freq-factor", "high-freq-factor")


def read_sources(text: str, layer_type: str | None) -> list[NamedSource]:
    """Read a source; a config whose layers differ counts as one source for each kind of layer."""
    if kind_of(text) is not Kind.CONFIG:
        return [with_stored_recipe(read_source(text, layer_type=layer_type))]
    from pecli.models.reader import of_layer, read_config  # for configs alone: it is much to load

    reading = read_config(text)
    try:
        layers = {"": reading.select(layer_type)}
    except BadFile:
        if layer_type is not None:
            raise
        layers = dict(reading.layers)
    found = []
    for name, layer in layers.items():
        keys = {} if layer.length is None else {"len": str(layer.length)}
        label = f"{text} ({name})" if name else text
        found.append(NamedSource(label, of_layer(reading, layer, {}).recipe, keys))
    return found


def with_stored_recipe(source: NamedSource) -> NamedSource:
    """Return a source whose table is open if it is a file, and counts as the recipe that the file holds, if any."""
    if source.recipe is not None:
        return source
    table = source.open()
    if table.recipe is None:
        return replace(source, table=table)
    name, keys = split_recipe(table.recipe)
    own = take_table_keys(name, keys)
    return replace(source, table=table, recipe=Recipe.bind(name, **keys), given=own)


def lengths_of(
    source: NamedSource, train: int | None, test: int | None, tuned: bool = False, factor: Decimal | None = None
) -> tuple[int, int]:
    """Return the training length, given or stated by the source, and the test length, given or by the factor."""
    if source.recipe is None:
        rows = len(trained_rows(source.open())[0])
        check_rows(train, rows)
        train = rows
    elif train is None:
        train = _trained_length(source, source.recipe, tuned)[0]
    if train is None:
        both = "" if test is not None else " and test-len=32768"
        raise MissingParameter(f"{source.text} does not say how long it was trained: give train-len=4096{both}")
    if test is None and factor is not None:
        test = int(train * factor)
    if test is None:
        raise MissingParameter(f"the length to test is missing: give test-len={4 * train}")
    check_lengths(train, test)
    return train, test


def _trained_length(source: NamedSource, recipe: Recipe, tuned: bool) -> tuple[int | None, str]:
    """Return the training length that a source states, and where; rows of other positions than 0, 1, .. state none.

    A model that was trained with its scaling (`tuned`) saw the length that its config declares.
    """
    declared = parse_integer("len", source.given["len"]) if "len" in source.given else None
    for name in ("max_len", "original_max", "max_position"):
        value = recipe.values.get(name)
        if isinstance(value, int) and not (tuned and declared and name != "max_len"):
            whole = not tuned and declared not in (None, value)
            other = f"; --tuned takes {declared}, its whole length" if whole else ""
            return value, f"its {name.replace('_', '-')}{other}"
    if source.given.keys() & {"start", "step", "positions"}:
        return None, ""
    if declared is not None:
        return declared, "the length that it states"
    if source.table is None:
        return None, ""
    array = source.table.arrays[0]
    return array.shape[array.lead - 1], "the rows of the file"  # of a bias the queries, not heads times queries


def check_rows(train: int | None, rows: int) -> None:
    """Raise BadParameter if a training length is given that is not the table's rows."""
    if train not in (None, rows):
        raise BadParameter("train-len", train, f"must be {rows}, the rows of the table, or be left out")


def report(
    source: NamedSource, train: int | None, test: int | None, *, scaling: str | None = None,
    factor: Decimal | None = None, threshold: float | None = None, tuned: bool = False,
) -> Extrapolation:  # fmt: skip
    """Return the report of a source between two lengths; see :func:`pecli.extrapolate.report.extrapolate`.

    Parameters
    ----------
    source : NamedSource
        As `read_sources` and `with_stored_recipe` return it.
    train, test : int, optional
        Lengths; the source may state the first.
    scaling : str, optional
        A context extension to measure, or "all".
    factor, threshold, tuned
        As there.

    Raises
    ------
    BadParameter
        For a length that nothing states, and for a scaling of trained rows.
    """
    basis = "" if train or source.recipe is None else _trained_length(source, source.recipe, tuned)[1]
    train, test = lengths_of(source, train, test, tuned, factor)
    if threshold is not None and not 0 < threshold < 1:
        raise BadParameter("threshold", f"{threshold:g}", "must be above 0 and below 1")
    if factor is not None and scaling is None:
        raise BadParameter("factor", factor, "needs a scaling: all, or a list of scalings")
    if source.recipe is None:
        if scaling is not None:
            raise BadParameter("scaling", scaling, "is for recipes: trained rows have no frequencies to scale")
        return stored_rows(source.text, train, test)
    names = chosen(scaling, source.recipe) if scaling else ()
    found = extrapolate(
        source.text, source.recipe, train, test, scalings=names, factor=factor,
        strict=scaling not in (None, "all"), threshold=threshold or THRESHOLD, tuned=tuned,
    )  # fmt: skip
    keys = (_config_key(source.text, scaled, test) for scaled in found.scalings if scaled.reach is not None)
    return replace(found, basis=basis, config=tuple(filter(None, keys)))


def _config_key(path: str, scaled: Scaled, test: int) -> str:
    """Return what a config needs for a scaling at the test length; empty where transformers reads it otherwise."""
    if kind_of(path) is not Kind.CONFIG:
        return ""
    from pecli.models.config import as_stored, load_config
    from pecli.models.reader import of_layer, read_data

    wanted, data = Recipe.parse(scaled.recipe), load_config(path)
    given = wanted.keys()
    numbers = {name.replace("-", "_"): float(given[name]) for name in ROPE_NUMBERS if given.get(name)}
    if "original_max" in numbers:
        numbers["original_max_position_embeddings"] = int(numbers.pop("original_max"))
    key = "rope_parameters" if "rope_parameters" in data else "rope_scaling"
    value = {"rope_type": given["scaling"], **numbers}
    own: dict[str, Any] = data[key] if isinstance(data.get(key), dict) else {}
    for longer in ({"max_position_embeddings": test}, {}):  # dynamic takes the old length from there
        try:
            reading = read_data({**data, **as_stored(longer), key: {**own, **as_stored(value)}}, path)
            read = of_layer(reading, reading.select(None), {}).recipe.keys()
        except PecliError:  # a scaling that no rope type means, or layers with rope parameters of their own
            return ""
        if all(read.get(name) == text for name, text in given.items() if name != "seq-len"):  # which is its len
            length = "".join(f", {name} {number}" for name, number in longer.items())
            return f"{key} gets {json.dumps(value)}{length}"
    return ""
