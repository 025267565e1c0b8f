"""The catalogue: every encoding, declared once in the module of its family."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from pecli.errors import UnknownName
from pecli.spec import REGISTRY, Encoding, Family

for _module in (
    "absolute",
    "learned",
    "grids",
    "features",
    "fourier",
    "rotary",
    "rotary_axes",
    "rotary_decay",
    "mrope",
    "bias",
    "smooth",
    "buckets",
    "fire",
    "window",
    "relative",
    "decomposed",
    "conditional",
    "none",
):
    import_module(f"pecli.encodings.{_module}")

_order = list(Family)
CATALOGUE: Mapping[str, Encoding] = MappingProxyType(
    dict(sorted(REGISTRY.items(), key=lambda item: _order.index(item[1].family)))
)


def find(name: str) -> Encoding:
    """Return the encoding of this name.

    Raises
    ------
    UnknownName
        If there is none, with the nearest name.
    """
    if name not in CATALOGUE:
        raise UnknownName("encoding", name, CATALOGUE)
    return CATALOGUE[name]
