"""Multimodal rotary encoding: several position streams share one series of frequencies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import prod
from typing import Annotated, Any, Literal

from pecli.encodings.rotary.rope import lesson as rotations
from pecli.encodings.rotary.rope import rope
from pecli.encodings.rotary.rope.scalings import UNRECOGNISED
from pecli.encodings.shared.deferred import Integers, lessons, np
from pecli.encodings.shared.grids import Coordinates, of_points
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Item, SmallTable, Step, short
from pecli.spec.parameter import declared
from pecli.spec.plans import Band, Coordinate, Domain, Waves, progressions
from pecli.spec.recipe import Recipe

Order = Literal["chunked", "interleaved", "hw-alternating", "streams"]
# Stream, columns, and slice of the frequencies in these columns.
Places = list[tuple[int, slice, slice]]
LONGEST_SEQUENCE = 1 << 24
T, H, W = 0, 1, 2


def mrope(
    *,
    sections: Annotated[tuple[int, ...], Param(ge=0, le=1 << 19)],
    section_order: Order = "chunked",
    sequence: Annotated[str | None, Param(when=("streams", (None,)), metavar="N+TxHxW..")] = None,
    time_step: Annotated[Decimal, Param(ge=0, le=1e6, when=("streams", (None,)))] = Decimal(1),
    streams: Annotated[tuple[Decimal, ...] | None, Param(file=True, matrix=True)] = None,
    **turning: Any,
) -> Waves:
    """Rotation by several positions of a token, such as time, row and column.

    Text has the same position in all streams and is rotated as in rope.
    Every parameter of rope works here too.

    Formula
    -------
    w_i as in rope, with any of its scalings
    pair i rotates by p_s w_i, where s is the stream (t, h or w) that its section belongs to
    text: all streams have the token's position; a grid after position q: t, h and w start at q + 1
    text continues after the largest position of the grid

    Parameters
    ----------
    sections
        Pairs rotated by each stream: t, h, w (hw-alternating: h, w, t).
    section_order
        One section after the other (Qwen2-VL, GLM-4V); t everywhere, h and w at every third pair (Qwen3-VL); h and w in
        turn, then t (ERNIE 4.5 VL); or over the doubled vector (Hunyuan-VL).
    sequence
        Text tokens and grids of vision tokens in order, such as 4+1x2x3+7 (default: text alone).
    time_step
        Positions between frames of a grid, truncated to integers.
    streams
        Positions in all streams, a row for each token: a list, or a file of any format.

    Source
    ------
    Wang et al. 2024, arXiv:2409.12191, section 2.1
    Qwen team 2025, Qwen3-VL's code, interleaved
    Baidu 2025, ERNIE 4.5 VL's code, hw-alternating

    Used by
    -------
    Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Qwen3.5, GLM-4V, ERNIE 4.5 VL, Hunyuan-VL, PaddleOCR-VL

    Use it
    ------
    for models that mix text with images or video

    Not
    ---
    for plain text, where it equals rope
    """
    plan: Waves = rope(**turning)
    (band,) = plan.bands
    pairs = len(band.frequencies)
    places = _places(sections, section_order, pairs)
    where = _tokens(sequence, time_step, streams, len(sections))
    if where is None:
        return plan
    full = section_order == "streams"
    found = [
        Band(band.frequencies[chosen], columns, columns, axis=stream, magnitude=plan.magnitude)
        for stream, columns, chosen in places
        if len(band.frequencies[chosen])
    ]
    return Waves(2 * pairs if full else pairs, tuple(found), form="full" if full else "real", **where.plan())


def _places(sections: tuple[int, ...], order: Order, pairs: int) -> Places:
    """Return the columns and frequencies of each stream; for the order "streams", columns of the doubled vector."""
    given = "+".join(map(str, sections))
    if sum(sections) != pairs:
        raise BadParameter("sections", given, f"adds up to {sum(sections)}: it must be {pairs}, the pairs that rotate")
    if order in ("interleaved", "hw-alternating") and len(sections) != 3:
        raise BadParameter("sections", given, f"must be three numbers for section-order={order}")
    if order == "hw-alternating":
        h, w, _ = sections
        if h != w:
            raise BadParameter("sections", given, f"must begin with two equal numbers for section-order={order}")
        return [(H, c := slice(0, 2 * h, 2), c), (W, c := slice(1, 2 * h, 2), c), (T, c := slice(2 * h, pairs), c)]
    if order == "interleaved":
        _, h, w = sections
        rows, columns = range(1, min(3 * h, pairs), 3), range(2, min(3 * w, pairs), 3)
        rest = sorted(set(range(pairs)) - set(rows) - set(columns))
        chosen: list[tuple[int, Sequence[int]]] = [(H, rows), (W, columns), (T, rest)]
        return [(stream, run, run) for stream, indices in chosen for run in progressions(indices)]
    twice = 2 if order == "streams" else 1
    found, start = Places(), 0
    for stream, size in enumerate(sections):
        stop = start + twice * size
        for low, high in ((start, min(stop, pairs)), (max(start, pairs), stop)):  # the second half's frequencies again
            if low < high:
                found.append((stream, slice(low, high), slice(low % pairs, low % pairs + high - low)))
        start = stop
    return found


def _tokens(
    sequence: str | None, time_step: Decimal, streams: tuple[Decimal, ...] | None, count: int
) -> Coordinates | None:
    """Return the streams of each token; None where all are the position."""
    if streams is not None:
        if len(streams) % count:
            rule = f"do not divide into tokens of {count} positions, one for each of the sections"
            raise BadParameter("streams", f"{len(streams)} numbers", rule)
        return of_points(streams, count, None)
    if sequence is None:
        if time_step != 1:
            raise BadParameter("time-step", time_step, "has no effect without sequence= or with text alone")
        return None
    if count != 3:
        rule = f"describes three streams, and there are {count} sections: give the positions as streams="
        raise BadParameter("sequence", sequence, rule)
    runs = [_run(item, sequence) for item in sequence.lower().split("+")]
    rows = sum(map(prod, runs))
    if rows > LONGEST_SEQUENCE:
        raise BadParameter("sequence", sequence, f"has {rows} tokens: at most {LONGEST_SEQUENCE}")
    last = _ends(runs, time_step)[-1]
    domain = Domain(Fraction(0), Fraction(rows - 1), True, f"sequence={sequence} has {rows} tokens: let it end later")
    axes = tuple(Coordinate(range(last), _stream(runs, time_step, stream)) for stream in (T, H, W))
    return Coordinates(3, axes, None, rows, domain)


Run = tuple[int, ...]  # text tokens, how many; or the frames, rows and columns of a grid of vision tokens


def _length(run: Run, time_step: Decimal) -> int:
    """Return how far positions go on."""
    return run[0] if len(run) == 1 else max(int((run[T] - 1) * time_step) + 1, *run[H:])


def _positions(run: Run, stream: int, time_step: Decimal) -> Integers:
    """Return the positions of a run's tokens in one stream, from 0."""
    if len(run) == 1:
        return np.arange(run[0], dtype=np.int64)
    along: Integers = np.indices(run, dtype=np.int64)[stream].reshape(-1)
    if stream == T and time_step != 1:
        along = np.array([int(t * time_step) for t in range(run[T])], np.int64)[along]
    return along


def _run(item: str, sequence: str) -> Run:
    """Return the run of text tokens or of a grid that one item of a sequence names."""
    try:
        run = tuple(parse_integer("sequence", side) for side in item.split("x"))
    except BadParameter:
        run = ()
    if len(run) not in (1, 3) or min(run) < 1:
        raise BadParameter("sequence", sequence, f"has '{item}': an item is N text tokens or a grid TxHxW")
    return run


def _ends(runs: Iterable[Run], time_step: Decimal) -> list[int]:
    """Return where each run begins, and the end: one more than the largest position so far (Qwen2-VL)."""
    return [0, *accumulate(_length(run, time_step) for run in runs)]


def _stream(runs: list[Run], time_step: Decimal, stream: int) -> Callable[[Integers], Integers]:
    """Return the function from tokens to their positions in one stream."""

    @cache
    def positions() -> Integers:
        starts = _ends(runs, time_step)[:-1]
        return np.concatenate([at + _positions(run, stream, time_step) for run, at in zip(runs, starts, strict=True)])

    return lambda rows: positions()[rows]


# rope's parameters, with mrope's own after the width
_width, *_others = inspect.signature(rope, eval_str=True).parameters.values()
mrope.__dict__["__signature__"] = inspect.Signature([_width, *declared(mrope).values(), *_others])
mrope = encoding(
    family=Family.ROTARY,
    title="Multimodal rotary",
    facts=Facts(relative="rotation", cost="n * 2 * ((dim + 1) // 2)"),
    example="mrope:dim=8,sections=2+1+1",
    place=6,
    hooks={
        "identify_axes": ".identify:identify",
        "mistakes": "..rope:mistakes",
        "lesson": ":lesson",
        "emulate": "..rope:emulate",
        "scale": "..rope:scale",
    },
    unrecognised_with=UNRECOGNISED,
)(mrope)


# A token of text, an image of two rows and three columns, a token of text.
EXAMPLE = "1+1x2x3+1"
NAMES = ("t", "h", "w")


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out the positions of a short sequence of text and image, and rotations as rope has them."""
    found = rotations(exercise)
    values, sample = exercise.values, exercise
    if values["sequence"] is None and values["streams"] is None:
        if len(values["sections"]) != len(NAMES):
            return found
        sample = exercise._replace(recipe=Recipe.bind("mrope", **{**exercise.recipe.keys(), "sequence": EXAMPLE}))
    rows = sample.recipe.rows or 1
    plan = sample.resolved(rows).plan
    names = NAMES if len(plan.axes) == len(NAMES) else tuple(f"stream {s}" for s in range(len(plan.axes)))
    tokens = np.arange(min(rows, lessons.MAX_ROWS))
    places = np.array([[float(axis.multiples[i] * axis.unit) for i in axis.index(tokens)] for axis in plan.axes]).T
    grid = SmallTable(["token", *names], [[token, *row] for token, row in enumerate(places.tolist())], None)
    phrase = str(values["sequence"] or EXAMPLE)
    why = (
        f"sequence {phrase}: text has one position in all streams; in an image t is constant, h and w count its rows "
        "and columns from there; later text continues after the largest position"
    )
    items: list[Item] = [grid] if values["streams"] else [why, grid]
    return [Step("the positions of each token", items), _stream_step(plan, names, places.tolist()), *found]


def _stream_step(plan: Waves, names: tuple[str, ...], places: list[list[float]]) -> Step:
    """Return the stream that rotates each pair, and the angles of one token whose streams differ."""
    token = max(range(len(places)), key=lambda i: len(set(places[i])))
    lines: list[Item] = []
    for pair in sorted(lessons.pairs_of(plan), key=lambda pair: pair.cos or 0)[: lessons.MAX_ROWS]:
        position = places[token][pair.axis]
        product = f"{short(position)} x {short(pair.frequency)} = {short(position * pair.frequency)}"
        lines.append(f"pair {pair.cos} follows {names[pair.axis]}, angle of token {token}: {product}")
    lines.append("for text all streams agree, so it is rotated as in rope: see positions 1 and 3 in the next steps")
    return Step(f"the stream of each pair, and the angles of token {token}", lines)
