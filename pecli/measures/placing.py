"""The first position that explains the phases of all pairs, whole turns of the slowest ones included."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pecli.measures.rhythm import TURN, wrap

Floats = NDArray[np.float64]

MOST_TURNS = 1 << 20  # of the slowest pair, among which a first position is looked for
BACK = 64  # turns before position 0 that are tried too
ENOUGH = 64  # pairs that settle a position
CHANCE = 1e-6  # probability of a first position by chance that is believed in
MOST_WHOLE = 1 << 14  # positions that are tried one by one where turns tell too little
BY_CHANCE = 0.05  # of a whole one among them: a wrong one is refused by the values
SPREAD = 12.0  # roundings of an angle by which a framework's value may be off
ROUNDINGS = {"exact": 0.0, "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def position_of(
    w: Floats, phases: Floats, errors: Floats, chain: float, level: str, *, far: bool = True
) -> tuple[float, float] | None:
    """Return the position that explains all first phases, and its uncertainty.

    The chain from slow to fast pairs finds positions within a turn of the
    slowest pair; beyond, whole turns of it are tried, as long as the phases of
    the others can tell a right one from chance.
    """

    def loose(position: float) -> Floats:
        return errors + SPREAD * ROUNDINGS[level] * (1 + abs(position) * w)

    position, spread = _refined(w, phases, loose(chain), np.array([chain]))
    if _agrees(w, phases, loose(float(position[0])), position)[0]:
        return float(position[0]), spread
    if not far:
        return None
    slow = np.argsort(w)[:8]
    period = TURN / w[slow[0]]
    most = min(MOST_TURNS, int(2**53 / period))
    while most > 64 and not _certain(loose(most * period), 2 * most):
        most //= 4
    if most <= 64:
        return None
    turns = _meeting(w, phases, errors, (int(slow[0]), int(slow[1 % len(slow)])), level, most)
    candidates, tried = phases[slow[0]] / w[slow[0]] + turns * period, BACK + most
    for i in slow[1:]:
        allowed = errors[i] + w[i] * errors[slow[0]] / w[slow[0]] + ROUNDINGS[level] * np.abs(candidates) * w[i] * 4
        candidates = candidates[np.abs(wrap(phases[i] - candidates * w[i])) <= np.minimum(2 * allowed, 2.0)]
        if len(candidates) <= 256:
            break
    if not 0 < len(candidates) <= 2048 or len(candidates) == tried:
        return None
    farthest = loose(float(np.abs(candidates).max()))
    refined, spread = _refined(w, phases, farthest, candidates)
    good = refined[_agrees(w, phases, farthest, refined)]
    return (float(good[np.abs(good).argmin()]), spread) if len(good) else None


def whole_position(w: Floats, phases: Floats, errors: Floats, level: str) -> tuple[float, float] | None:
    """Return the first whole position that explains all first phases, and its uncertainty; None where chance may.

    Few pairs do not tell one of many positions from chance, but somebody starts at a whole one, and at a small one.
    """
    tried = np.arange(MOST_WHOLE, dtype=np.float64)
    left, slow_first = tried, np.argsort(w)
    for pair in slow_first:
        away = np.abs(wrap(phases[pair] - left * w[pair]))
        left = left[away <= _loose(left, w[pair], errors[pair], level)]
        if not len(left):
            return None
    best = int(left[0])
    chances = np.zeros(best)
    for pair in slow_first:
        chances += np.log(np.minimum(1.0, _loose(tried[:best], w[pair], errors[pair], level) / np.pi))
    if np.exp(chances).sum() > BY_CHANCE:
        return None
    return float(best), 1.0 / math.sqrt(float((w**2 / errors**2).sum()))


def _loose(positions: Floats, w: float, error: float, level: str) -> Floats:
    """Return what the phase of a pair may be off by at positions."""
    return 3 * (error + SPREAD * ROUNDINGS[level] * (1 + positions * w))


def _meeting(w: Floats, phases: Floats, errors: Floats, pair: tuple[int, int], level: str, most: int) -> Floats:
    """Return the whole turns of one pair, -64 to `most`, at which the phase of another may be the one seen.

    A number of turns is a large part and a small one, and what the other pair turns meanwhile is the sum of theirs:
    the small parts are sorted, and for every large one those that meet it are looked up.
    """
    slow, other = pair
    turn = TURN * w[other] / w[slow]  # of the other pair, while the slow one goes around
    rest = phases[other] - phases[slow] * w[other] / w[slow]
    farthest = most * TURN * w[other] / w[slow]
    allowed = 2 * (errors[other] + w[other] * errors[slow] / w[slow] + ROUNDINGS[level] * farthest * 4)
    if slow == other or allowed >= 1.0:
        return np.arange(-BACK, most, dtype=np.float64)
    side = math.isqrt(most + BACK) + 1
    small = np.arange(side) * turn % TURN
    order = np.argsort(small)
    ring = np.concatenate([small[order] - TURN, small[order], small[order] + TURN])
    large = (rest - (np.arange(side) * side - BACK) * turn) % TURN
    first, stop = np.searchsorted(ring, large - allowed), np.searchsorted(ring, large + allowed, side="right")
    found = stop - first
    place = np.arange(found.sum()) + np.repeat(first - (np.cumsum(found) - found), found)
    turns: Floats = np.repeat(np.arange(side), found) * side - BACK + order[place % side].astype(np.float64)
    return np.sort(turns[turns < most])


def _certain(allowed: Floats, tried: int) -> bool:
    """Whether phases that agree so well among so many positions are no chance."""
    return float(np.log(np.minimum(1.0, 3 * allowed / np.pi)).sum()) + math.log(tried) < math.log(CHANCE)


def _refined(w: Floats, phases: Floats, allowed: Floats, positions: Floats) -> tuple[Floats, float]:
    """Narrow positions down from slow pairs to fast ones; of very many pairs some suffice."""
    order = np.argsort(w)
    if len(order) > ENOUGH:
        order = order[np.linspace(0, len(order) - 1, ENOUGH).astype(int)]
    weight = 0.0
    for i in order:
        mine = min((w[i] / allowed[i]) ** 2, 1e100) + 1e-300
        weight += mine
        positions = positions + mine / weight * wrap(phases[i] - positions * w[i]) / w[i]
    return positions, 1.0 / math.sqrt(weight)


def _agrees(w: Floats, phases: Floats, allowed: Floats, positions: Floats) -> NDArray[np.bool_]:
    """Whether the phases of all pairs are those of each position."""
    rest = np.abs(wrap(phases - positions[:, None] * w))
    return np.asarray((rest <= 3 * allowed).all(axis=1))
