"""A case: two tables that differ, and what the rules that may explain it measure of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pecli.judge.description import NONE, Identification
from pecli.judge.identify import HIDING, PAIRS, at_positions, identify
from pecli.judge.located import MAX_REST_SHARE, VAGUE, located
from pecli.judge.noise import ALL, random_parts
from pecli.judge.planes import is_large, rounded
from pecli.judge.positions import parsed
from pecli.judge.rows import floats as read_floats
from pecli.judge.rows import with_rows
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, matched_views


@dataclass(eq=False)
class Case:
    """A table that is not the expected one, their comparison, and what several rules measure of them."""

    actual: Tabular
    expected: Tabular
    found: Comparison
    explain: Callable[[Tabular, Tabular, Comparison], list[Finding]]

    def explained(self, actual: Tabular, expected: Tabular) -> list[Finding]:
        """Return why two other tables differ, made of these: [] where they are equal."""
        return self.explain(actual, expected, compare_tables(actual, expected))

    @cached_property
    def recipe(self) -> Table | None:
        """The expected table, where a recipe gives it."""
        return self.expected if isinstance(self.expected, Table) else None

    @cached_property
    def stated(self) -> Table | None:
        """The expected table of a recipe, which a file may state."""
        return self.recipe or parsed(self.expected.recipe)

    @cached_property
    def views(self) -> list[tuple[ArrayView, ArrayView]]:
        """The arrays that are compared, in the shape of the expected ones where that is possible."""
        return matched_views(self.actual, self.expected)

    @cached_property
    def whole_views(self) -> list[tuple[ArrayView, ArrayView]]:
        """The same, if every value of the expected arrays has one beside it; else none."""
        whole = self.found.complete and {one.kind for one in self.found.remarks} <= {"arrays", "labels"}
        return self.views if whole else []

    @property
    def is_rare(self) -> bool:
        """Whether few values differ."""
        return self.found.total.beyond <= MAX_REST_SHARE * self.found.total.compared

    @cached_property
    def same_shape(self) -> bool:
        """Whether all arrays have the shape of the expected ones."""
        return all(left.plain_shape == right.plain_shape for left, right in self.views)

    @cached_property
    def places(self) -> list[Finding]:
        """Where and how the values changed."""
        findings = located(self.views)
        decimals = [one.kind for one in findings[:2]] == ["decimals", "rest"]
        return _hidden_rounding(self.views, findings) if decimals else findings

    @cached_property
    def own(self) -> Identification | None:
        """What the file is by itself; None of other shapes and of numbers drawn at random."""
        is_drawn = random_parts(self.actual, drawn=True) == [ALL]
        return identify(self.actual) if self.same_shape and not is_drawn else None

    @cached_property
    def are_drawn(self) -> bool:
        """Whether both tables hold numbers drawn at random, which no recipe gives."""
        return all(random_parts(table, drawn=True) == [ALL] for table in (self.actual, self.expected))

    @cached_property
    def named(self) -> Identification:
        """What the expected file is by itself."""
        named = NONE if self.are_drawn else identify(self.expected)
        if named.recipe is None and not self.are_drawn and not is_large(self.expected):
            named = at_positions(self.expected) or named
        return named

    @cached_property
    def named_table(self) -> Table | None:
        """The table of that recipe, if it is certain and gives all values."""
        table = parsed(self.named.recipe) if self.named.confidence == "sure" else None
        if table is None or self.named.equal is None:
            return table
        is_whole = max(size_of(table), self.named.count) >= size_of(self.expected)  # else the others are empty
        return table if is_whole else None

    @cached_property
    def is_trained(self) -> bool:
        """Whether that recipe gives the index of a bias alone, whose numbers are trained."""
        table = self.named_table
        return self.named.equal is None and table is not None and table.request.form == "index"

    @cached_property
    def of_pairs(self) -> bool:
        """Whether the expected file holds cosines and sines, though no recipe's."""
        return any(text.startswith(PAIRS) for text in self.named.measured)

    @property
    def naming(self) -> list[Finding]:
        """What the expected values are, which is said last."""
        return [Finding("expected", f"the expected values are {self.named.values_text}")]


Rule = Callable[[Case], list[Finding]]


def first_answer(rules: Iterable[Rule], case: Case) -> list[Finding]:
    """Return what the first rule says that knows the case; [] where none does."""
    return next((findings for rule in rules if (findings := rule(case))), [])


def listing(finding: Finding | None) -> list[Finding]:
    """Return a finding as a list; [] of none."""
    return [] if finding is None else [finding]


def behind(cause: Finding, others: Iterable[Finding]) -> list[Finding]:
    """Return findings on a table of which a cause was undone, behind that cause: no option accepts them then."""
    return [cause, *(one.without_option for one in others)]


def size_of(table: Tabular) -> int:
    """Return the number of values of all arrays."""
    return sum(math.prod(array.shape) for array in table.arrays)


def _hidden_rounding(pairs: Sequence[tuple[ArrayView, ArrayView]], findings: list[Finding]) -> list[Finding]:
    """Return what was done to some values of a printed table, as a type shows that hides the rounding of digits."""
    decimals = findings[0]._replace(text=findings[0].text.replace("values are", "others are"))
    for kind in HIDING:
        both = [[rounded(read_floats(view, 0, view.rows), kind) for view in pair] for pair in pairs]
        seen = [(with_rows(a, y), with_rows(b, x)) for (a, b), (y, x) in zip(pairs, both, strict=True)]
        few = located(seen)
        if few and few[0].kind not in VAGUE:
            return [*(one for one in few if one.kind != "rounding"), decimals]
    return [*findings[1:], decimals]
