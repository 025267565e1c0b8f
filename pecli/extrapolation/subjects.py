"""What is asked about: what each source is, what lengths it states, and what happens to it between them."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal

from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.errors import BadFile, BadParameter
from pecli.extrapolation.extrapolation import Extrapolation, check_lengths, extrapolate, stored_rows
from pecli.extrapolation.resize import trained_rows
from pecli.extrapolation.scalings import chosen
from pecli.numbers.decimals import parse_integer
from pecli.records import dataclass
from pecli.sources.kinds import Kind, kind_of
from pecli.sources.sources import NamedSource, read_source
from pecli.tables.request import take_table_keys

THRESHOLD = 0.01


@dataclass(frozen=True)
class Subject:
    """A source, read but without lengths.

    Attributes
    ----------
    source : NamedSource
    table : Tabular or None
        What a file holds.
    stored : Recipe or None
        What a file says that it is.
    keys : dict of str
        The table's own keys, of the text or of what the file says.
    """

    source: NamedSource
    table: Tabular | None = None
    stored: Recipe | None = None
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def recipe(self) -> Recipe | None:
        """The encoding; None for a table that does not say what it is."""
        return self.source.recipe or self.stored

    @property
    def text(self) -> str:
        """What the user called it."""
        return self.source.text


def read_subjects(text: str, layer_type: str | None) -> list[Subject]:
    """Read a source; a config whose layers differ counts as one source for each kind of layer."""
    if kind_of(text) is not Kind.CONFIG:
        if layer_type is not None:
            raise BadParameter("layer-type", layer_type, f"is for a model's config.json, and {text} is none")
        return [subject_of(read_source(text))]
    from pecli.models.reader import read_config  # for configs alone: it is much to load
    from pecli.sources.configs import of_layer

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
        found.append(Subject(NamedSource(label, of_layer(reading, layer, {}).recipe, keys), keys=keys))
    return found


def subject_of(source: NamedSource) -> Subject:
    """Return what a source is; a file that holds its recipe counts as that recipe."""
    if source.recipe is not None:
        return Subject(source, keys=source.given)
    table = source.open()
    if table.recipe is None:
        return Subject(source, table)
    name, keys = split_recipe(table.recipe)
    own = take_table_keys(name, keys)
    return Subject(source, table, Recipe.bind(name, **keys), own)


def lengths_of(subject: Subject, train: int | None, test: int | None) -> tuple[int, int]:
    """Return the training length, given or stated by the source, and the test length."""
    if subject.recipe is None:
        assert subject.table is not None
        rows = len(trained_rows(subject.table)[0])
        check_rows(train, rows)
        train = rows
    elif train is None:
        train = _trained_length(subject, subject.recipe)
    if train is None:
        raise BadParameter("train-len", None, f"must be given: {subject.text} does not say how long it was trained")
    if test is None:
        raise BadParameter("test-len", None, "must be given: how many positions are wanted")
    check_lengths(train, test)
    return train, test


def _trained_length(subject: Subject, recipe: Recipe) -> int | None:
    """Return the training length that a source itself states; rows of other positions than 0, 1, .. state none."""
    for name in ("max_len", "original_max", "max_position"):
        value = recipe.values.get(name)
        if isinstance(value, int):
            return value
    if subject.keys.keys() & {"start", "step", "positions"}:
        return None
    if "len" in subject.keys:
        return parse_integer("len", subject.keys["len"])
    if subject.table is None:
        return None
    array = subject.table.arrays[0]
    return array.shape[array.lead - 1]  # of a bias the queries, not heads times queries


def check_rows(train: int | None, rows: int) -> None:
    """Raise BadParameter if a training length is given that is not the table's rows."""
    if train not in (None, rows):
        raise BadParameter("train-len", train, f"must be {rows}, the rows of the table, or be left out")


def report(
    subject: Subject, train: int | None, test: int | None, *, scaling: str | None = None,
    factor: Decimal | None = None, threshold: float | None = None, tuned: bool = False,
) -> Extrapolation:  # fmt: skip
    """Return what happens to a source between two lengths; see :func:`pecli.extrapolation.extrapolation.extrapolate`.

    Parameters
    ----------
    subject : Subject
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
    train, test = lengths_of(subject, train, test)
    if threshold is not None and not 0 < threshold < 1:
        raise BadParameter("threshold", threshold, "must be above 0 and below 1")
    if factor is not None and scaling is None:
        raise BadParameter("factor", factor, "needs a scaling: all, or a list of scalings")
    if subject.recipe is None:
        if scaling is not None:
            raise BadParameter("scaling", scaling, "is for recipes: trained rows have no frequencies to scale")
        return stored_rows(subject.text, train, test)
    names = chosen(scaling, subject.recipe) if scaling else ()
    return extrapolate(
        subject.text, subject.recipe, train, test, scalings=names, factor=factor,
        strict=scaling not in (None, "all"), threshold=threshold or THRESHOLD, tuned=tuned,
    )  # fmt: skip
