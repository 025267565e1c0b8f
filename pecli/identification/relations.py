"""What was done to values after they were computed: the one change that makes a recipe's values those of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pecli.measures.computing import spacing
from pecli.measures.samples import Floats, rounded
from pecli.measures.wave import NARROW
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

MOST_COLUMNS = 2  # that one change leaves other than they were
INTACT = 0.75  # share of the columns that are as they were, where some are not
ROUNDED = 0.02  # share of the values that roundings may leave next to the recipe's
TELLING = 0.1  # of the largest value, above which values tell what they were multiplied by
SHORT = 5  # digits of a number that somebody multiplied by, or added


@dataclass(frozen=True)
class Relation:
    """A change in words, none where a count says all, and what it makes of a recipe's values, (n, m)."""

    words: str
    made: Floats


@dataclass(frozen=True)
class Laid:
    """Values of a file beside a recipe's.

    Attributes
    ----------
    x, y : (n, m) float64
        Those of the file, and the recipe's: of one row more where the file may lack one.
    kind : str
        The type they are rounded to.
    loose : float
        What two ways to compute a value may differ by; relative above 1.
    sides : tuple of int
        Of what the rows are numbered by, where that are several axes.
    """

    x: Floats
    y: Floats
    kind: str
    loose: float
    sides: tuple[int, ...] = ()

    def same(self, x: Floats, y: Floats) -> NDArray[np.bool_]:
        """Return which values are as near as roundings leave."""
        with np.errstate(invalid="ignore"):
            allowed = np.maximum(self.loose * np.maximum(1.0, np.abs(y)), spacing(y, self.kind))
            found: NDArray[np.bool_] = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed)
        return found

    def related(self) -> Relation | None:
        """Return the change that explains all values; None where none does."""
        found: Iterator[Relation]
        if len(self.y) == len(self.x):
            good = self.same(self.x, self.y)
            rows, columns = np.asarray(good.all(axis=1)), np.asarray(good.all(axis=0))
            if rows.all():
                return Relation("", self.y)
            found = chain(self._all(), self._columns(~columns), self._moved(rows))
        elif self.y.shape != (len(self.x) + 1, *self.x.shape[1:]):
            return None
        else:
            found = self._lacking(np.asarray(self.same(self.x, self.y[: len(self.x)]).all(axis=1)))
        return next((relation for relation in found if self._tight(relation.made)), None)

    def _tight(self, made: Floats) -> bool:
        """Whether hardly any value is next to what a change makes: in narrow types other numbers make such."""
        return self.kind not in NARROW or np.mean((self.x != made) & ~np.isnan(self.x)) <= ROUNDED

    @property
    def intact(self) -> float:
        """How many of the rows are as they were."""
        if len(self.y) != len(self.x):
            return 0.0
        good = self.same(self.x, self.y)
        others = np.count_nonzero(good & (self.x != self.y)) if not self.loose else 0
        return float(good.all(axis=1).mean()) if others <= ROUNDED * good.size else 0.0

    def _all(self) -> Iterator[Relation]:
        """Yield the one number that all values were multiplied by, or that was added to all."""
        for words, made in self._numbers(self.x, self.y):
            yield Relation(words.format("every value"), made)

    def _numbers(self, x: Floats, y: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield a factor or a constant that makes `y` to `x`, in words for some values."""
        told = np.isfinite(x) & np.isfinite(y)
        if not told.any() or not self.same(x[~told], y[~told]).all():
            return
        a, b = x[told], y[told]
        unit = spacing(a, self.kind) + self.loose
        large = np.abs(b) > TELLING * np.abs(b).max()
        factors = (f(a[large] / b[large], unit[large] / np.abs(b[large])) for f in (np.subtract, np.add))
        for (number, said), verb, make in (
            (_chosen(*factors, roots=True), "was multiplied by", np.multiply),
            (_chosen(a - b - unit, a - b + unit), "has been raised by", np.add),
        ):
            held = float(rounded(np.array([number]), self.kind)[0])
            for one in dict.fromkeys((held, number) if said else ()):  # as the type holds it, or as it was meant
                made = rounded(make(y, one), self.kind)
                if self.same(x, made).all():
                    yield f"{{}} {verb} {said}", made

    def _columns(self, bad: NDArray[np.bool_]) -> Iterator[Relation]:
        """Yield what was done to one column, or two that were exchanged, where all others are as they were."""
        at, width = np.flatnonzero(bad).tolist(), len(bad)
        if not 0 < len(at) <= MOST_COLUMNS or len(at) > max(1, (1 - INTACT) * width):
            return
        made = self.y.copy()
        if len(at) == MOST_COLUMNS and self.same(self.x[:, at], self.y[:, at[::-1]]).all():
            made[:, at] = self.y[:, at[::-1]]
            yield Relation(f"columns {at[0]} and {at[1]} are exchanged", made)
            return
        said = []
        for k in at:
            words, made[:, k] = next(self._numbers(self.x[:, k], self.y[:, k]), ("", made[:, k]))
            said.append(words.format(f"column {k}").replace("was multiplied by -1", "has the other sign"))
        if all(said):
            yield Relation(" and ".join(said), made)

    def _moved(self, good: NDArray[np.bool_]) -> Iterator[Relation]:
        """Yield the row from which on rows stand one later, or one earlier, than they should."""
        q = int(good.argmin())
        if q > 0 and self.same(self.x[q:], self.y[q - 1 : -1]).all():
            made = np.concatenate([self.y[:q], self.y[q - 1 : -1]])
            yield Relation(f"{self._row(q - 1)} stands twice, and all rows after it one later", made)
        if q < len(good) - 2 and self.same(self.x[q:-1], self.y[q + 1 :]).all():
            twice = np.array_equal(self.x[-1], self.x[-2], equal_nan=True)
            made = np.concatenate([self.y[:q], self.y[q + 1 :], self.y[-1:] if twice else self.x[-1:]])
            last = "the last one stands twice" if twice else "the last one is one more"
            yield Relation(f"{self._row(q)} is missing, and {last}", made)

    def _row(self, number: int) -> str:
        """Name a row: by its number, or by its place in several axes."""
        place = [number] if len(self.sides) < 2 else list(map(int, np.unravel_index(number, self.sides)))
        return f"row {place[0] if len(place) == 1 else place}"

    def _lacking(self, good: NDArray[np.bool_]) -> Iterator[Relation]:
        """Yield the row that is missing."""
        q = len(good) if good.all() else int(good.argmin())
        if self.same(self.x[q:], self.y[q + 1 :]).all():
            yield Relation(f"row {q} is missing", np.delete(self.y, q, axis=0))


def _chosen(low: Floats, high: Floats, *, roots: bool = False) -> tuple[float, str]:
    """Return the number that somebody chose between all of some ends, and how it is written; nothing where none is."""
    least, last = (float(low.max()), float(high.min())) if len(low) else (1.0, 0.0)
    if not least <= last:
        return 0.0, ""
    number, root = shortest(least, last), round((least + last) ** 2 / 4)
    if digits(number) <= SHORT:
        return float(number), number_text(number) if number else ""
    return (root**0.5, f"the square root of {root}") if roots and least <= root**0.5 <= last else (0.0, "")
