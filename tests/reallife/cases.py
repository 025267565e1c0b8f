"""Cases of real life and their truth: what is in a file, what was expected, what must be said, what would be false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One file or pair of tables with its truth."""

    group: str
    """Set that it is counted in: tables, caches, printed, mistakes, right, applied, reports, small."""
    name: str
    make: Callable[[], Any]
    """Of identify and small: the values. Of compare: values and what was expected. Of applied: arguments."""
    truth: tuple[str, ...] = ()
    """Recipes that are right, in full; 'unknown' where that is the right answer."""
    first: tuple[str, ...] = ()
    """Patterns that the verdict with the first finding must all contain."""
    topics: frozenset[str] = frozenset()
    """What may be claimed besides; a claim of another topic is false."""
    never: tuple[str, ...] = ()
    """Patterns that no sentence may contain."""
    about: str = ""
    """How it was made, the cause, or the thread's address."""
    held: bool = False


CASES: list[Case] = []


@dataclass
class State:
    """Whether the module that is being loaded holds cases that were kept back."""

    held: bool = False


STATE = State()


def _words(one: str | Sequence[str]) -> tuple[str, ...]:
    return (one,) if isinstance(one, str) else tuple(one)


def _add(group: str, name: str, make: Callable[[], Any], **given: Any) -> None:
    CASES.append(Case(group, name, make, held=STATE.held, **given))


def cache_of(name: str, truth: str | Sequence[str], make: Callable[[], Any], about: str = "") -> None:
    """Register a cache that identify must name."""
    _add("caches", name, make, truth=_words(truth), about=about)


def mistake(
    name: str, expected: Any, make: Callable[[], Any], first: str | Sequence[str], topics: str = "",
    never: str | Sequence[str] = (), group: str = "mistakes", about: str = "",
) -> None:  # fmt: skip
    """Register a wrong table, what was expected, and what the first finding must contain."""
    _add(
        group, name, lambda: (make(), expected() if callable(expected) else expected), first=_words(first),
        topics=frozenset(topics.split()), never=_words(never), about=about,
    )  # fmt: skip


def right(name: str, expected: Any, make: Callable[[], Any], topics: str = "", about: str = "") -> None:
    """Register a right table: only harmless rounding may be claimed."""
    _add("right", name, lambda: (make(), expected), topics=frozenset(topics.split()), about=about)


def applied(
    name: str, expected: str, make: Callable[[], Any], first: str | Sequence[str], topics: str = "",
    never: str | Sequence[str] = (), about: str = "", **options: Any,
) -> None:  # fmt: skip
    """Register a wrong kernel: inputs and outputs for assert_applied."""
    _add(
        "applied", name, lambda: (*make(), expected, options), first=_words(first),
        topics=frozenset(topics.split()), never=_words(never), about=about,
    )  # fmt: skip


def report(
    name: str, address: str, cause: str, expected: Any, make: Callable[[], Any], first: str | Sequence[str],
    topics: str = "", never: str | Sequence[str] = (),
) -> None:  # fmt: skip
    """Register a re-enacted public report, of a table or of a kernel."""
    mistake(name, expected, make, first, topics, never, "reports", f"{address}: {cause}")


def small(name: str, make: Callable[[], Any], truth: str | Sequence[str] = (), expected: str = "") -> None:
    """Register a small array that nothing may crash on; with a truth, what may be said of it with certainty."""
    _add("small", name, make, truth=_words(truth), about=expected)


def printed(name: str, truth: str | Sequence[str], digits: int, make: Callable[[], Any]) -> None:
    """Register a table printed with so many decimals, which identify --digits must name."""
    _add("printed", name, lambda: (make(), digits), truth=_words(truth))


@dataclass
class Verdict:
    """What was said of a case, and what is wrong with it."""

    case: Case
    lead: str
    text: str
    seconds: float
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    crash: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is missing and nothing false."""
        return not (self.missed or self.false or self.crash)
