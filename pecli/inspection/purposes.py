"""What encodings are used for, as rules on their facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pecli.declare import words
from pecli.declare.encoding import Encoding, Family

Rule = tuple[str, Callable[[Encoding], bool], str, str]  # name, test, why it speaks for, why it speaks against

_DEFINED: Rule = (
    "beyond", lambda e: e.facts.beyond == "defined", "has values at every position", "ends at its longest position"
)  # fmt: skip
_RELATIVE: Rule = (
    "relative", lambda e: e.facts.relative != "no",
    "a shift acts the same everywhere", "a shift acts on each position differently",
)  # fmt: skip
_POSITIONS: Rule = (
    "unique", lambda e: e.facts.unique, "tells all positions apart", "does not tell all positions apart"
)  # fmt: skip
_UNTRAINED: Rule = ("learned", lambda e: not e.facts.learned, "has nothing to train", "must be trained")
_SCALES: Rule = (
    "multi_scale", lambda e: e.facts.multi_scale, "has several scales", "has one scale only"
)  # fmt: skip
_BOUNDED: Rule = ("bounded", lambda e: e.facts.bounded, "stays in one range", "grows with the position")
_ADDED: Rule = (
    "family", lambda e: e.family in (Family.ABSOLUTE, Family.ROTARY, Family.BIAS, Family.RELATIVE),
    "needs nothing but the position", "needs content, or gives no positions",
)  # fmt: skip
_GRID: Rule = ("grid", lambda e: "grid" in e.parameters, "takes a grid", "takes a line of positions only")
_ONE_AXIS: Rule = ("grid", lambda e: "grid" not in e.parameters, "takes a line of positions", "takes a grid")
PURPOSES: Mapping[str, tuple[Rule, ...]] = dict(
    zip(
        words.PURPOSES,
        (
            (_ADDED, _ONE_AXIS, _RELATIVE, _SCALES),
            (_ADDED, _ONE_AXIS, _POSITIONS),
            (_ADDED, _ONE_AXIS, _DEFINED, _RELATIVE),
            (_ADDED, _ONE_AXIS, _POSITIONS, _BOUNDED),
            (_ADDED, _GRID, _POSITIONS),
            (_ADDED, _UNTRAINED, _DEFINED),
        ),
        strict=True,
    )
)
