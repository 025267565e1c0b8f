"""What people get instead of a position: it is not divided, or by the length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pecli.declare.changes import Change, instead


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the position as it is, or divided by the length where the last position was meant."""
    if keys["raw"] == "true":
        return
    length = int(keys["max-len"])
    said = f"the position is divided by the length, {length}, where the last position, {length - 1}, was expected"
    yield Change("max-len", said, {"max-len": f"{length + 1}"})
    raw = instead("raw", "true", "false")
    yield Change(raw.kind, raw.text, {**raw.keys, "max-len": None})
