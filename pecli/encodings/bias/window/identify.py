"""Windows of an image: indices of offsets, trained biases that follow one, and Swin v2's coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import permutations

import numpy as np

from pecli.encodings.shared.deferred import Floats, Integers
from pecli.spec.hooks import Change
from pecli.spec.profiles import Candidate, Profile

MAX_TOKENS = 1 << 12
# Queries from the middle of a window that are compared with each grid; more take seconds for 2,048 tokens.
MAX_QUERIES = 128
# Largest coordinate of a window; a smaller one is of a window 1,000 times the tokens.
MIN_END = 1e-3
# Share of the sampled pairs of equal offset that have the same trained value.
MIN_SHARE_FOLLOWS = 0.5


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield windows of as many patches as there are queries, with and without a class token."""
    tokens, shape = profile.keys, profile.shape
    square = profile.by in ("pair", "distance") and profile.form == "dense" and profile.queries == tokens == shape[-1]
    if not square or not 4 <= tokens <= MAX_TOKENS:
        if profile.name != "index":
            yield from _coordinates(profile)
        return
    first = (tokens - MAX_QUERIES) // 2 if tokens > MAX_QUERIES else 0
    head = profile.read(first, first + min(tokens, MAX_QUERIES))
    heads = (len(profile.shape) == 3 and shape[0]) or 1
    for cls in (False, True):
        for height in range(2, (tokens - cls) // 2 + 1):
            if (tokens - cls) % height:
                continue
            entries = offsets(height, (tokens - cls) // height, range(first, first + len(head)), cls=cls)
            keys = {"grid": f"{height}x{(tokens - cls) // height}", "cls": str(cls).lower()}
            if profile.integral and (head == entries).mean() > MIN_SHARE_FOLLOWS:
                yield Candidate("window", keys, {"form": "index"})
            elif not profile.integral and _follows(head, entries):
                notes = (f"one trained number for each offset, in each of {heads} heads",)
                yield Candidate("window", keys, {"form": "index"}, notes, trained=True)


def offsets(height: int, width: int, queries: range, *, cls: bool = False) -> Integers:
    """Return the entry of each pair of some queries and all tokens, (queries, tokens)."""
    tokens = np.arange(height * width + cls) - cls
    some = tokens[queries.start : queries.stop]
    rows, columns = tokens // width, tokens % width
    y, x = (side[queries.start : queries.stop, None] for side in (rows, columns))
    found = (y - rows + height - 1) * (2 * width - 1) + x - columns + width - 1
    if cls:
        count = (2 * height - 1) * (2 * width - 1)
        found[some < 0], found[:, 0] = count, count + 1
        found[some < 0, 0] = count + 2
    return found


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield patches that are counted across, and other orders of the class token's three entries."""
    height, width = map(int, keys["grid"].split("x"))
    count = (2 * height - 1) * (2 * width - 1)
    if height != width and keys.get("cls") != "true":
        text = f"the patches are counted as {width} rows of {height}, where {height} rows of {width} were expected"
        yield Change("grid", text, values=partial(_counted_across, height, width))
    for order in permutations(range(3)) if keys.get("cls") == "true" else ():
        to, of, own = (f"T - {3 - entry}" for entry in order)
        text = f"the class token's entries are {to} to patches, {of} from patches and {own} to itself"
        yield Change(
            "cls", f"{text}, where T - 3, T - 2 and T - 1 were expected", values=partial(_ordered, count, order)
        )


def _counted_across(height: int, width: int, name: str, values: Floats, first: int) -> Floats:
    """Return an index whose patches were counted with height and width exchanged."""
    rows, columns = np.divmod(np.arange(height * width), height)
    y, x = (side[first : first + len(values), None] - side for side in (rows, columns))
    entries = (y + height - 1) * (2 * width - 1) + x + width - 1
    return entries.astype(np.float64) if name == "index" else values


def _ordered(count: int, order: tuple[int, ...], name: str, values: Floats, _first: int) -> Floats:
    """Return an index with the class token's entries, those from `count` on, in another order."""
    own = np.maximum(values - count, 0).astype(int)
    return np.where(values >= count, count + np.array(order)[own], values) if name == "index" else values


def _follows(head: Floats, entries: Integers) -> bool:
    """Whether equal offsets have equal values, and other offsets of equal distance have different ones."""
    order = np.argsort(entries, axis=None, kind="stable")
    groups, values = entries.reshape(-1)[order], head.reshape(-1)[order]
    shared, same = groups[1:] == groups[:-1], values[1:] == values[:-1]
    apart = entries[1:, 1:] != entries[:-1, :-1]
    by_distance = (head[1:, 1:] == head[:-1, :-1])[apart].mean()
    return bool(same[shared].mean() > MIN_SHARE_FOLLOWS > max(same[~shared].mean(), by_distance))


def _coordinates(profile: Profile) -> Iterator[Candidate]:
    """Yield the window of version 2 whose coordinates (2h - 1, 2w - 1, 2) these are, and the one of the training."""
    sides, axes = profile.shape[:-1], profile.shape[-1:]
    if axes != (2,) or profile.integral or len(sides) not in (1, 2) or profile.by == "slopes":
        return
    values = profile.read(0, math.prod(sides))
    side = int((values[:, 1] == values[0, 1]).sum()) if len(sides) == 1 else sides[0]
    if side < 3 or len(values) % side:
        return
    grid, trained = [(side + 1) // 2, (len(values) // side + 1) // 2], []
    for count, end in zip(grid, values[-1], strict=True):
        if not MIN_END < end < MAX_TOKENS.bit_length():
            return
        trained.append(1 + round(8 * (count - 1) / (8.0**end - 1)))  # the end is log8(1 + 8 (count - 1)/(trained - 1))
    if min(trained) > 1 and math.prod(grid) <= MAX_TOKENS:
        given = {} if trained == grid else {"pretrained": "x".join(map(str, trained))}
        yield Candidate("window", {"grid": "x".join(map(str, grid)), "version": "2", **given}, ulp=4.0)
