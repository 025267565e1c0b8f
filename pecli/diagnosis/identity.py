"""What a table is for itself, where no fault explains it, or its recipe is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pecli.comparison.compare import compare_tables
from pecli.comparison.results import Comparison, Finding
from pecli.declare.changes import Change
from pecli.declare.tabular import Tabular
from pecli.diagnosis.applied import remainder
from pecli.diagnosis.case import case_of
from pecli.diagnosis.mistakes import changed
from pecli.diagnosis.places import places, stretches
from pecli.tables.table import Table

if TYPE_CHECKING:
    from pecli.identification.verdict import Identification

NO_FAULT = ("len", "dtype", "seq-len", "arithmetic", "name", "lead", "with")  # keys that are said otherwise, or not
SOME = 0.1  # of the values, at most, may be other ones where a table is said to be a recipe,
SMALL = 0.02  # unless they are off by so much less than the expected ones
LISTED = 8  # numbers of a list that may have been chosen one by one
UNKNOWN = Finding(
    "unknown", "no fault that is known explains the difference, and no formula was found that gives these values"
)


def identified(expected: Tabular) -> Table | None:
    """Return a computed table that has all values of a file, where one is known; rather one with its arrays' names."""
    from pecli.identification.identification import identify

    found, names = identify(expected), {array.name for array in expected.arrays}
    if found.recipe is None or _far_fetched(found):
        return None
    tables = [Table.parse(recipe) for recipe in (found.recipe, *found.aliases)]
    tables.sort(key=lambda table: ({array.name for array in table.arrays} != names, len(table.recipe or "")))
    return next((table for table in tables if compare_tables(expected, table).equal), None)


def _far_fetched(found: Identification) -> bool:
    """Whether a recipe has numbers that no one would choose."""
    return found.guess is not None and found.guess.listed


def _lists(table: Table) -> int:
    """Return how many parameters are lists of more numbers than one would choose one by one."""
    return sum(value.count("+") >= LISTED for value in table.source.keys().values())


def otherwise(mine: Tabular, table: Table | None, found: Comparison) -> list[Finding]:
    """Say what the table at hand is for itself, or else where it differs from the expected one."""
    from pecli.identification.identification import identify

    where = places(found.arrays)
    unsaid = where or ([*stretches(found.arrays), UNKNOWN] if found.arrays else [])
    identity = identify(mine)
    if identity.recipe is None or _far_fetched(identity):
        return unsaid
    recipes = [Table.parse(recipe) for recipe in (identity.recipe, *identity.aliases)]
    alone = identity.guess.arrays if identity.guess is not None else ()  # cosines, or sines, without the others
    recipes = [one.only(alone) if alone and {*alone} < {*one.keys()} else one for one in recipes]
    own = [one for one in recipes if table is not None and one.source.encoding is table.source.encoding]
    own = own or [kin for one in recipes if table is not None and (kin := _kin(table, one)) is not None]
    for made in (*own, *recipes):
        again = compare_tables(mine, made)
        left = again.total
        if again.complete and not (left.unequal and where):  # a recipe of some arrays explains nothing in the others
            break
    else:
        return unsaid
    if left.unequal > SOME * left.compared and left.max_abs > SMALL * found.total.max_abs:
        return unsaid
    placed = made.positions.keys()
    if where and "positions" in placed:  # of rows in another order, the place says more
        return unsaid
    if table is not None and _lists(made) > _lists(table):
        return unsaid
    against = [] if table is None else _against(made, table)
    if (
        table is not None and not against and found.complete and left.unequal
    ):  # the expected recipe, which these are not
        return unsaid
    sure = "likely" if left.unequal else identity.confidence
    said = [*against, Finding("identity", f"these values are {made.recipe or _text(made)} ({sure})")]
    return [*said, *remainder(case_of(mine, made, 0, made), made, left)] if left.unequal else said


def _text(made: Table) -> str:
    """Return the recipe of a table with some of its arrays alone, and which."""
    whole = Table(made.source, made.extent, made.request)
    return f"{' and '.join(made.keys())} alone of {whole.recipe}"


def _kin(table: Table, other: Table) -> Table | None:
    """Return the expected table with the numbers of one of another encoding; None where they do not mean the same."""
    own = table.source.keys()
    keys = {key: value for key, value in other.source.keys().items() if key in own}
    starts = table.part.start, other.part.start
    if starts[0] is None or starts[1] is None or table.part.step != other.part.step:
        return None
    made = changed(table, Change("kin", "", keys, shift=starts[1] - starts[0]))
    same = made is not None and compare_tables(made, other)
    return made if same and same.complete and same.equal else None


def _against(other: Table, table: Table) -> list[Finding]:
    """Return the parameters in which a computed table differs from the expected one."""
    if other.source.encoding is not table.source.encoding:
        names = other.source.encoding.name, table.source.encoding.name
        return [Finding("encoding", f"{names[0]} where {names[1]} was expected")]
    mine, theirs = ({**t.source.keys(), **t.positions.keys(), **t.request.keys()} for t in (other, table))
    differ = [k for k in dict.fromkeys([*mine, *theirs]) if mine.get(k) != theirs.get(k)]
    said = [
        Finding(key, f"{key} {_word(mine, key, 'not given')} where {_word(theirs, key, 'none')} was expected")
        for key in differ
        if key not in NO_FAULT and (key in mine or not _dependent(table, key))
        if not _idle(table, key, mine.get(key)) and (key in theirs or not _idle(other, key, None))
    ]
    if "arithmetic" in differ:
        said.append(Finding("arithmetic", f"phases were computed in {mine.get('arithmetic', 'exact')} arithmetic"))
    return said


def _word(keys: Mapping[str, str], key: str, otherwise: str) -> str:
    return keys.get(key) or {"start": "0", "step": "1"}.get(key, otherwise)


def _idle(table: Table, key: str, value: str | None) -> bool:
    """Whether another value of a parameter leaves all values as they are."""
    own = key in {parameter.option for parameter in table.source.encoding.parameters.values()}
    made = changed(table, Change(key, "", {key: value})) if own else None
    return made is not None and compare_tables(made, table).equal


def _dependent(table: Table, key: str) -> bool:
    """Whether a parameter has an effect only beside another one, which then differs too."""
    found = table.source.encoding.parameters.get(key.replace("-", "_"))
    return found is not None and found.param.when is not None
