"""Context extensions of one encoding compared: the same model and lengths, one scaling each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pecli.encodings.rotary.rope.scalings import OTHER_NAMES, SCALINGS
from pecli.errors import BadParameter, PecliError, UnknownName
from pecli.extrapolate.coverage import WaveReach, base_of, wave_reach
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.printing import percent
from pecli.spec.hooks import Rescaling
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table

TREATMENTS = {
    "kept": "turns as fast as in training",
    "interpolated": "is slowed by the whole factor or more",
    "blended": "is slowed by less than the factor",
}
MAX_RELATIVE_GAP = 1e-9  # relative difference of two frequencies that are computed differently and mean the same


@dataclass(frozen=True)
class Scaled:
    """One scaling of a model at the test length.

    Attributes
    ----------
    scaling, recipe : str
        Its name, and the recipe that makes its table.
    factor : float or None
        The factor it was given.
    reach : WaveReach or None
        Its phases against those of the unscaled training; None where it cannot be made.
    kept, blended, interpolated : tuple of int
        Indices of pairs, by `TREATMENTS`.
    missing : str
        Why it cannot be made, and the remedy.
    """

    scaling: str
    recipe: str
    factor: float | None
    reach: WaveReach | None = None
    kept: tuple[int, ...] = ()
    blended: tuple[int, ...] = ()
    interpolated: tuple[int, ...] = ()
    missing: str = ""

    @property
    def line(self) -> str:
        """The scaling in a line: its recipe and its reach, or why it cannot be made."""
        if self.reach is None:
            return f"{self.scaling}: {self.missing}"
        return f"{self.scaling}: {percent(self.reach.inside, 1)} of the new angles were seen; {self.recipe}"


def _rescalings(recipe: Recipe) -> Mapping[str, Rescaling]:
    if not recipe.encoding.declares("scale"):
        return {}
    found: Mapping[str, Rescaling] = recipe.encoding.hook("scale")(recipe.keys())
    return found


def scalings_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the scalings that an encoding has, the unscaled one first; empty where it has none."""
    return tuple(_rescalings(recipe))


def chosen(text: str, recipe: Recipe) -> tuple[str, ...]:
    """Return the scalings that ``all`` or a list names.

    Raises
    ------
    UnknownName, BadParameter
        For a name that is no scaling, or one that the encoding does not have.
    """
    own = scalings_of(recipe)
    name = recipe.encoding.name
    if not own:
        rule = f"is not for {name}: scalings are for rope and mrope; use it with one of them, or leave it out"
        raise BadParameter("scaling", text, rule)
    if text == "all":
        return own
    wanted = tuple(dict.fromkeys(word.strip() for word in text.replace("+", ",").split(",")))
    for word in wanted:
        if word not in SCALINGS:
            raise UnknownName("scaling", word, ("all", *SCALINGS), dict(OTHER_NAMES).get(word))
        if word not in own:
            raise BadParameter("scaling", word, f"is none that {name} has: use {', '.join(own)}")
    return wanted


def unscaled(recipe: Recipe) -> Recipe:
    """Return the encoding as the model was first trained: without a scaling."""
    names = scalings_of(recipe)
    return _made(recipe, names[0], 1, 1, None)[0] if names else recipe


def scaled_recipe(recipe: Recipe, scaling: str, train: int, test: int, factor: Decimal | None = None) -> Recipe:
    """Return a recipe with another scaling, from the lengths alone.

    The factor is test/train unless one is given.  A recipe that has this
    scaling already keeps what it says of it.

    Raises
    ------
    BadParameter
        If the scaling needs more than lengths, as longrope's lists.
    """
    return _made(recipe, scaling, train, test, factor)[0]


def scaled_tables(table: Table, factor: int) -> Iterator[tuple[str, Table]]:
    """Yield a table with each scaling by a factor that lengths alone can make, trained on a part of its rows."""
    rows = table.positions.count
    for scaling in scalings_of(table.source):
        try:
            scaled = scaled_recipe(table.source, scaling, rows // factor, rows)
            yield scaling, Table(scaled.of_length(rows), table.extent, table.request)
        except PecliError:  # it needs more than lengths
            continue


def _made(recipe: Recipe, scaling: str, train: int, test: int, factor: Decimal | None) -> tuple[Recipe, Decimal | None]:
    keys, times = _rescalings(recipe)[scaling](train, test, factor)
    return Recipe.bind(recipe.encoding.name, **keys), times


def compare_scalings(
    recipe: Recipe, names: Sequence[str], train: int, test: int, factor: Decimal | None = None, *, strict: bool = False
) -> tuple[Scaled, ...]:
    """Return each scaling's figures; training is always the unscaled encoding at the training length.

    Raises
    ------
    PecliError
        With `strict`, for a scaling that cannot be made; otherwise it says so in `Scaled.missing`.
    """
    found = []
    for name in names:
        try:
            found.append(_one(recipe, name, train, test, factor))
        except PecliError as error:
            if strict:
                raise
            found.append(Scaled(name, "", None, missing=str(error)))
    return tuple(found)


def _one(recipe: Recipe, name: str, train: int, test: int, factor: Decimal | None) -> Scaled:
    plain = unscaled(recipe)
    made, own = _made(recipe, name, train, test, factor)
    before, after = plain.plan, made.plan
    assert isinstance(before, Waves)
    assert isinstance(after, Waves)
    reach = wave_reach(after, train, test, before, base_of(plain))
    pairs = zip(before.frequencies, after.frequencies, strict=True)
    ratios = [float(CONTEXT.divide(new, old)) if old else 1.0 for old, new in pairs]
    times = float(own) if own is not None else float(factor) if factor is not None else test / train
    kinds = [_kind(ratio, times) for ratio in ratios]
    kept, interpolated, blended = (tuple(i for i, k in enumerate(kinds) if k == kind) for kind in TREATMENTS)
    given = None if own is None else times
    return Scaled(name, made.short, given, reach, kept, blended, interpolated)


def _kind(ratio: float, factor: float) -> str:
    if abs(ratio - 1) <= MAX_RELATIVE_GAP:
        return "kept"
    return "interpolated" if ratio <= (1 + MAX_RELATIVE_GAP) / factor else "blended"
