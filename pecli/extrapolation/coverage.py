"""Which phases a longer context brings that training never showed, counted exactly.

Training on positions 0 .. T-1 is taken to show a frequency w the arc of the
circle from 0 up to T w, the whole circle where T w reaches a turn: a position
stands for the step to the next, and what lies between two phases that were seen
counts as seen.  A test position p is *outside* where the phase p w mod 2 pi
lies beyond that arc.  Frequencies are fractions of a turn in 256-bit integers,
so that the count over any number of positions is exact, in closed form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal

from pecli.numbers.decimals import CONTEXT, TAU
from pecli.records import dataclass

TURN = 1 << 256
TAU_UNIT = 10**110
TAU_INTEGER = int(CONTEXT.multiply(TAU, Decimal(TAU_UNIT)))


@dataclass(frozen=True)
class Coverage:
    """What one frequency meets beyond its training length.

    Attributes
    ----------
    index : int
        Of the pair, 0 the first column.
    frequency : float
        Radians per position at the test length.
    trained : float
        Radians per position in training; another one where a scaling is added for the test.
    wavelength : float
        Positions per turn at the test length; infinite for a frequency of 0.
    turns : float
        Turns made in training.
    seen : float
        Share of the circle that training showed.
    unseen : float
        Further share of the circle that the test length reaches.
    outside : int
        Test positions (T .. M-1) whose phase was never seen.
    first : int or None
        The first of them.
    """

    index: int
    frequency: float
    trained: float
    wavelength: float
    turns: float
    seen: float
    unseen: float
    outside: int
    first: int | None


def cover(
    frequencies: Sequence[Decimal], train: int, test: int, trained: Sequence[Decimal] | None = None
) -> tuple[Coverage, ...]:
    """Return the coverage of each frequency.

    Parameters
    ----------
    frequencies : sequence of Decimal
        At the test length, radians per position.
    train, test : int
        Lengths: positions 0 .. train-1 were seen, train .. test-1 are new.
    trained : sequence of Decimal, optional
        Frequencies in training (default: the same).
    """
    olds = frequencies if trained is None else trained
    pairs = zip(frequencies, olds, strict=True)
    return tuple(_cover_one(i, new, old, train, test) for i, (new, old) in enumerate(pairs))


def critical_dimension(frequencies: Sequence[Decimal], train: int) -> int:
    """Return twice the number of pairs that make a whole turn in training.

    For w_i = base^(-2i/d) that is 2 ceil((d/2) log_base(T / 2 pi)): Liu et al.
    2023, arXiv:2310.05209, section 4.
    """
    return 2 * sum(CONTEXT.multiply(abs(w), Decimal(train)) > TAU for w in frequencies)


def _cover_one(index: int, new: Decimal, old: Decimal, train: int, test: int) -> Coverage:
    step, seen_step = turn_fraction(new), turn_fraction(old)
    arc = min(train * min(seen_step, TURN - seen_step), TURN)
    reach = min(test * min(step, TURN - step), TURN)
    if seen_step > TURN // 2:  # more than half a turn a position is, at whole positions, less than that backwards
        step = (TURN - step) % TURN
    outside = _outside(train, test, step, arc)
    return Coverage(
        index=index, frequency=float(new), trained=float(old),
        wavelength=float(CONTEXT.divide(TAU, abs(new))) if new else float("inf"),
        turns=float(CONTEXT.divide(CONTEXT.multiply(abs(old), Decimal(train)), TAU)),
        seen=arc / TURN, unseen=max(0, reach - arc) / TURN, outside=outside,
        first=_first(train, test, step, arc) if outside else None,
    )  # fmt: skip


def turn_fraction(frequency: Decimal) -> int:
    """Return radians as a fraction of a turn in units of 2^-256, whole turns left out."""
    numerator, denominator = frequency.as_integer_ratio()
    return (numerator * TURN * TAU_UNIT // (denominator * TAU_INTEGER)) % TURN


def _outside(train: int, test: int, step: int, arc: int) -> int:
    """Return how many of the positions train .. test-1 have a phase of `arc` or more."""
    if arc >= TURN:
        return 0
    if test * step <= TURN:  # no wrap: from some position on
        return max(0, test - max(train, -(-arc // step))) if step else 0
    return (test - train) - (_inside(test, step, arc) - _inside(train, step, arc))


def _inside(count: int, step: int, arc: int) -> int:
    """Return how many p below `count` have p step mod TURN < arc.

    With p step = q TURN + r the difference of floor(p step / TURN) and
    floor((p step - arc) / TURN) is 1 where r < arc, and 0 elsewhere.
    """
    return floor_sum(count, TURN, step, 0) - floor_sum(count, TURN, step, -arc)


def floor_sum(count: int, modulus: int, slope: int, offset: int) -> int:
    """Return the sum of floor((slope p + offset) / modulus) for p = 0 .. count-1, by Euclid's algorithm."""
    total, sign = 0, 1
    while count > 0:
        whole, slope = divmod(slope, modulus)
        total += sign * whole * (count * (count - 1) // 2)
        whole, offset = divmod(offset, modulus)
        total += sign * whole * count
        top = slope * (count - 1) + offset
        rows = top // modulus
        if rows == 0:
            break
        # Count the lattice points under the line by rows instead of by columns: all of the
        # rectangle, less those to the left of the line.
        total += sign * rows * count
        sign = -sign
        count, modulus, slope, offset = rows, slope, modulus, modulus - offset - 1 + slope
    return total


def _first(train: int, test: int, step: int, arc: int) -> int:
    """Return the first position of train .. test-1 whose phase was not seen; there is one."""
    # the count of those up to a position grows with it
    return train + bisect_left(range(train, test), 1, key=lambda p: _outside(train, p + 1, step, arc))
