"""What an encoding does beyond the length it was trained on: measured, and judged by rules that are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from pecli.declare.encoding import Family
from pecli.declare.html import html_table
from pecli.declare.plan import Bias, Plan, Relative, Values, Waves
from pecli.declare.reach import Reach
from pecli.encodings.recipe import Recipe
from pecli.errors import BadParameter, PecliError
from pecli.extrapolation.reach import BiasReach, IndexReach, ValueReach, bias_reach, index_reach, value_reach
from pecli.extrapolation.scalings import RULES as TREATMENTS
from pecli.extrapolation.scalings import Scaled, compare_scalings, scalings_of, unscaled
from pecli.extrapolation.waves import WaveReach, base_of, wave_reach
from pecli.numbers.printing import at_least, between, figure, percent
from pecli.records import dataclass

RULES = {
    "inside": "all phases, values and biases of the new positions lie where training showed some, and all rows that "
    "they use are rows that it used",
    "falls": "no new distance gets a larger bias than training showed, and some get a smaller one",
    "unseen": "new positions bring phases, values, biases or rows that training never showed",
    "untrained": "new positions have rows, but rows that training never touched",
    "ends": "new positions have no value",
    "fixed": "the encoding's own parameters fix the length, as a grid does: a longer table is another encoding",
    "unmeasured": "the phases are no products of one frequency and a position: they are not measured",
    "nothing": "no positions enter: the causal mask alone carries order",
}
ARC = (
    "training on positions 0 .. T-1 shows a frequency w the phases from 0 up to T w, all of the circle where T w is a "
    "turn or more; a test position is outside where its phase lies beyond"
)


@dataclass(frozen=True, repr=False)
class Extrapolation:
    """What happens between the training length and the test length.

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

    @property
    def _said(self) -> str:
        said = [f"{self.source}, trained on {self.train}, at {self.test}: {self.verdict}", self.finding, self.remedy]
        return "\n  ".join(filter(None, said))

    def __repr__(self) -> str:
        return "\n  ".join([self._said, *(scaled.line for scaled in self.scalings)])

    def _repr_html_(self) -> str:
        rows = [
            (s.scaling, s.factor, "" if s.reach is None else percent(s.reach.inside, 1), s.missing or s.recipe)
            for s in self.scalings
        ]
        return html_table(self._said, ("scaling", "factor", "phases seen", "recipe"), rows)


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
        rule = f"must be above the training length {train}: nothing lies beyond it otherwise"
        raise BadParameter("test-len", test, rule)


def extrapolate(
    source: str, recipe: Recipe, train: int, test: int, *, scalings: Sequence[str] = (), factor: Decimal | None = None,
    strict: bool = False, threshold: float = 0.01, tuned: bool = False,
) -> Extrapolation:  # fmt: skip
    """Return what happens to a recipe between two lengths.

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
    resolved = _resolved(recipe, train, test)
    encoding, plan = recipe.encoding, resolved.plan
    reach: Reach = encoding.hook("extend")(resolved)
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


def _resolved(recipe: Recipe, train: int, test: int) -> Recipe:
    """Fill in what depends on the table: the trained length where the rows were trained or normalised by it."""
    absolute = recipe.encoding.family is Family.ABSOLUTE
    filled = {
        name: recipe.encoding.parameters[name].parse(str(train if of == "length" and absolute else test))
        for name, of in recipe.open_parameters.items()
    }
    return Recipe(recipe.encoding, {**recipe.values, **filled}) if filled else recipe


def _of_waves(made: Extrapolation, recipe: Recipe, plan: Waves, tuned: bool) -> Extrapolation:
    plain = recipe if tuned else unscaled(recipe)
    before = plain.plan
    assert isinstance(before, Waves)
    if not plan.bands:
        return replace(made, verdict="unmeasured", finding="its phases are no products of one frequency and a position")
    reach = wave_reach(plan, made.train, made.test, before, base_of(plain) if plain == recipe else None)
    return _of_phases(made, reach, scales=bool(scalings_of(recipe)))


def _of_phases(made: Extrapolation, reach: WaveReach, *, scales: bool) -> Extrapolation:
    made = replace(made, waves=reach)
    outside = [pair for pair in reach.pairs if pair.outside]
    count = len(reach.pairs)
    if not outside:
        finding = f"all {count} frequencies stay on phases that training showed"
        return replace(made, verdict="inside", finding=finding)
    first = min(pair.first for pair in outside if pair.first is not None)
    finding = (
        f"{len(outside)} of {count} frequencies bring unseen phases, the first at position {first}; "
        f"{percent(reach.inside, 1)} of the new phases were seen"
    )
    remedies = []
    if reach.smallest_factor is not None:
        base = "" if reach.smallest_base is None else f", or a base of {at_least(reach.smallest_base)},"
        remedies.append(f"dividing all frequencies by {at_least(reach.smallest_factor)}{base} keeps every phase inside")
    remedy = "; ".join([*remedies, *(["--scaling all compares the ways"] if scales else [])])
    return replace(made, verdict="unseen", finding=finding, remedy=remedy)


def _of_distances(made: Extrapolation, plan: Bias | Relative, threshold: float, *, multiplies: bool) -> Extrapolation:
    index = index_reach(plan, made.train, made.test)
    bias = None
    if isinstance(plan, Bias) and (plan.heads or plan.shared is not None):
        plan.prepare()
        bias = bias_reach(plan, made.train, made.test, threshold, multiplies=multiplies)
    made = replace(made, bias=bias, index=index)
    if index is not None:
        if index.new:
            finding = f"{index.new} rows are used by new distances behind the query only"
            return replace(made, verdict="unseen", finding=finding, remedy="train on longer sequences")
        finding = f"all distances from {index.shared_from} share one row; it needs no longer table"
        return replace(made, verdict="inside", finding=finding)
    assert isinstance(plan, Bias)
    assert bias is not None
    if any(head.above for head in bias.heads):
        heads = sum(head.above > 0 for head in bias.heads)
        most = max(head.new[1] - head.trained[1] for head in bias.heads)
        who = f"{heads} of {len(bias.heads)} heads give" if plan.heads else "what every head makes its bias of gives"
        finding = f"{who} new distances a larger bias than training, by up to {figure(most, 3)}{bias.scope}"
        return replace(made, verdict="unseen", finding=finding)
    if any(head.below for head in bias.heads):
        within = sum(head.window < made.train - 1 for head in bias.heads)
        finding = (
            f"{within} of {len(bias.heads)} heads already gave less than {100 * threshold:g} % of the largest weight "
            f"to keys within the training length; it needs no longer table{bias.scope}"
        )
        return replace(made, verdict="falls", finding=finding)
    finding = f"every new distance has a bias in the range that training showed; it needs no longer table{bias.scope}"
    return replace(made, verdict="inside", finding=finding)


def _of_positions(made: Extrapolation, declared: Reach, plan: Plan) -> Extrapolation:
    if declared.new == "rows":
        finding = f"rows {made.train} to {made.test - 1} exist and keep their initial values"
        return replace(made, verdict="untrained", finding=finding, remedy=f"train them; {declared.remedy}")
    if declared.new in ("nothing", "content"):
        return replace(made, verdict="nothing" if declared.new == "nothing" else "inside", finding=declared.why)
    assert isinstance(plan, Values)
    try:
        reach = value_reach(plan, made.train, made.test)
    except PecliError as error:
        return replace(made, verdict="ends", finding=str(error))
    scope = f"; {reach.looked_at:,} positions were looked at" if reach.sampled else ""
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
    """Return what happens to trained rows in a file."""
    check_lengths(rows, test)
    finding = f"its rows end at position {rows - 1}; positions {rows} to {test - 1} have none"
    remedy = "--extend linear, cubic, nearest, tile or hierarchical makes a longer table"
    longer = "trained rows, resized or repeated"
    return Extrapolation(source, "", "", "absolute", rows, test, longer, "ends", finding, remedy)
