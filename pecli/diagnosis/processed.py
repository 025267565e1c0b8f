"""What a model in training, or a layer behind the table, does to its values: dropout, normalised rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from pecli.diagnosis.case import Candidate, Case, read_rows
from pecli.diagnosis.reworked import changed_values, each
from pecli.measures.samples import Floats

MOST = 0.75  # of the values, at most, that dropout leaves out: beyond, hardly a model is trained
SPREAD = 0.5  # of the rows, and of the columns, that independent draws would hit, at least, do have a zero
LARGEST = 1 << 22  # values of all arrays whose columns' means are taken
LEAST = 8  # rows that have a mean to speak of
NEAR = 1e-4  # of the values' size, that means taken in float32 may be off 0 by
EPSILONS = (1e-5, 1e-6, 1e-12)  # of layer normalisation in torch and Keras, in Flax and Llama, in BERT


def dropped(case: Case, factor: Callable[[list[tuple[Floats, Floats]]], float | None]) -> Iterator[Candidate]:
    """Yield the expected values with zeros where those at hand have some, if they lie here and there."""
    zeros = [(p == 0) & (q != 0) for p, q in zip(case.here, case.there, strict=True) if p.shape == q.shape]
    if len(zeros) < len(case.here) or not all(map(_scattered, zeros)):
        return
    kept = [(p[~zero], q[~zero]) for p, q, zero in zip(case.here, case.there, zeros, strict=True)]
    scale = factor(kept)
    if scale is None:
        return
    text = f"values here and there are 0, all others {scale:.6g} times what was expected, as dropout leaves them"
    mine = {theirs.name: lane for lane, theirs in zip(case.mine, case.expected, strict=True)}

    def work(name: str, values: Floats, start: int) -> Floats:
        return np.where(read_rows(mine[name], start, start + len(values)) == 0, 0.0, scale * values)

    yield from changed_values(case, "dropout", text, work)


def _scattered(zero: np.ndarray) -> bool:
    share = float(zero.mean()) if zero.size else 0.0
    hit = [zero.any(axis=axis).mean() for axis in (1, 0)]
    drawn = [1 - (1 - share) ** count for count in (zero.shape[1], zero.shape[0])]
    return 0 < share <= MOST and all(h >= SPREAD * d for h, d in zip(hit, drawn, strict=True))


def normalised(case: Case) -> Iterator[Candidate]:
    """Yield the expected values with every row brought to one mean, deviation or length."""
    if case.expected[0].lead != 1 or min(p.shape[1] for p in case.there) < 2:
        return
    works: dict[str, Callable[[Floats], Floats]] = {
        "every row is divided by its length": partial(_divided, of=np.sum),
        "the mean of every row is taken from it": _centred,
    }
    for epsilon in EPSILONS:
        works[f"every row went through RMS normalisation (epsilon {epsilon:g})"] = partial(
            _divided, of=np.mean, epsilon=epsilon
        )
        works[f"every row went through layer normalisation (epsilon {epsilon:g})"] = partial(_normal, epsilon=epsilon)
    for text, work in works.items():
        yield from changed_values(case, "norm", text, each(work))
    yield from _columns(case)


def _columns(case: Case) -> Iterator[Candidate]:
    """Yield the expected values with every column brought to the mean 0, or to the deviation 1 as well."""
    lanes = (*case.mine, *case.expected)
    if case.part is not None or len({lane.rows for lane in lanes}) > 1:
        return
    if sum(lane.rows * lane.row_size for lane in lanes) > LARGEST or case.rows < LEAST:
        return
    whole = {lane.name: read_rows(lane, 0, lane.rows) for lane in case.expected}
    means = {name: values.mean(axis=0) for name, values in whole.items()}
    mine = np.concatenate([read_rows(lane, 0, lane.rows).mean(axis=0) for lane in case.mine])
    enough = NEAR * case.size
    if not np.abs(mine).max() <= enough or np.abs(np.concatenate([*means.values()])).max() <= enough:
        return
    spreads = {name: np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0) for name, values in whole.items()}
    text = "the mean of every column is taken from it"
    yield from changed_values(case, "norm", text, lambda name, p, _start: p - means[name])
    yield from changed_values(
        case,
        "norm",
        f"{text}, which is divided by its deviation",
        lambda name, p, _start: (p - means[name]) / spreads[name],
    )


def _divided(p: Floats, of: Callable[..., Floats], epsilon: float = 0.0) -> Floats:
    found: Floats = p / np.sqrt(of(p * p, axis=1, keepdims=True) + epsilon)
    return found


def _centred(p: Floats) -> Floats:
    found: Floats = p - p.mean(axis=1, keepdims=True)
    return found


def _normal(p: Floats, epsilon: float) -> Floats:
    found: Floats = _centred(p) / np.sqrt(p.var(axis=1, keepdims=True) + epsilon)
    return found
