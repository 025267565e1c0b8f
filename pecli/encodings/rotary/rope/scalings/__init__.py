"""Every scaling of rotary frequencies: each `Scaling` that a module of this folder defines.

The formulas are those of the authors' code, which transformers 5.23 follows; where a paper prints another one,
both are here.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from pecli.encodings.rotary.rope.scaling import RopeType, Scaling
from pecli.errors import UnknownName


def _found() -> dict[str, Scaling]:
    modules = (import_module(module.name) for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    scalings = (value for module in modules for value in vars(module).values() if isinstance(value, Scaling))
    return {scaling.name: scaling for scaling in sorted(scalings, key=lambda s: s.place)}


SCALINGS = _found()
"""By name, in the order of their places."""

TAKEN = {option for scaling in SCALINGS.values() for option in scaling.options}
"""The parameters of them all, as keys of a recipe."""

ROPE_TYPES: dict[str, RopeType] = {kind.name: kind for scaling in SCALINGS.values() for kind in scaling.types}
"""What transformers calls them."""


def scaling_of(name: object) -> Scaling:
    """Return the scaling of this name.

    Raises
    ------
    UnknownName
        If there is none.
    """
    if name not in SCALINGS:
        raise UnknownName("scaling", str(name), SCALINGS)
    return SCALINGS[str(name)]
