"""The catalogue: every encoding, declared once in the module of its family.

Modules are imported in this order until the name that is wanted is declared,
so that a command about one encoding does not pay for all; what is asked for
most comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from pecli.declare.encoding import REGISTRY, Encoding, Family
from pecli.errors import UnknownName

MODULES = (
    "absolute.sinusoidal",
    "rotary.rope",
    "bias.alibi",
    "absolute.learned",
    "absolute.grids",
    "absolute.features",
    "absolute.fourier",
    "rotary.axes",
    "rotary.decay",
    "rotary.mrope",
    "bias.smooth",
    "bias.buckets",
    "bias.fire",
    "bias.window",
    "relative.shaw",
    "relative.deberta",
    "relative.decomposed",
    "content.conditional",
    "none",
)


class Catalogue(Mapping[str, Encoding]):
    """Every encoding by its name, ordered by family; modules are imported as they are needed."""

    def __getitem__(self, name: str) -> Encoding:
        for module in MODULES:
            if name in REGISTRY:
                break
            import_module(f"pecli.encodings.{module}")
        return REGISTRY[name]

    def __iter__(self) -> Iterator[str]:
        for module in MODULES:
            import_module(f"pecli.encodings.{module}")
        families = list(Family)
        place = {encoding.name: i for i, encoding in enumerate(REGISTRY.values())}
        return iter(sorted(REGISTRY, key=lambda name: (families.index(REGISTRY[name].family), place[name])))

    def __len__(self) -> int:
        return sum(1 for _ in self)


CATALOGUE: Mapping[str, Encoding] = Catalogue()


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
