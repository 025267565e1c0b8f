"""The standard library's ``dataclass``, with methods made when they are first needed.

Every command declares some fifty small classes before it works.  Python 3.11 and 3.12 compile six methods for
each, 0.4 ms a class, a tenth of the main job; here equality, hash and text are functions that all classes share,
and ``__init__`` is compiled once there are more than a few instances.  What a class does stays the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

MAX_UNCOMPILED = 4
"""Instances that are made without compiling, 0.15 ms a class: most classes of a command have no more."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, eq=True, repr=True):  # noqa: A002 - as there
        """Make a class what :func:`dataclasses.dataclass` makes of it, with these of its choices.

        A class and what it derives from are both declared with this decorator, or both with the library's.
        """
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, kw_only=kw_only, eq=eq, repr=repr)
        own = vars(cls)
        methods = {"__init__": _first_init(cls)}
        if repr:
            methods["__repr__"] = _text
        if eq:
            methods["__eq__"] = _equal
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        unhashable = "__hash__" not in own or (own["__hash__"] is None and "__eq__" in own)  # Python says so of __eq__
        if eq and unhashable:
            methods["__hash__"] = _hash if frozen else None
        for name, method in methods.items():
            if name not in own or name == "__hash__":
                setattr(cls, name, method)
        return dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)


def _first_init(cls: type) -> Callable[..., None]:
    """Return the ``__init__`` that serves a few instances, then replaces itself by the compiled one."""
    instances = 0

    def __init__(self: object, /, *given: object, **named: object) -> None:  # noqa: N807 - it is that method
        nonlocal instances
        instances += 1
        if instances > MAX_UNCOMPILED or not _filled(cls, self, given, named):
            made = _compiled_init(cls)
            type.__setattr__(cls, "__init__", made)
            made(self, *given, **named)

    return __init__


def _filled(cls: type, self: Any, given: Sequence[object], named: Mapping[str, object]) -> bool:
    """Set the fields as ``__init__`` would; False where the arguments do not fit, which the compiled one says best."""
    every = fields(cls)
    values = {**dict(zip((one.name for one in every if one.init and not one.kw_only), given)), **named}  # noqa: B905
    if len(values) < len(given) + len(named) or not values.keys() <= {one.name for one in every if one.init}:
        return False
    for one in every:
        if one.default_factory is not MISSING and one.name not in values:
            values[one.name] = one.default_factory()
        elif one.init and values.setdefault(one.name, one.default) is MISSING:
            return False
    for name, value in values.items():
        object.__setattr__(self, name, value)
    if hasattr(cls, "__post_init__"):
        self.__post_init__()
    return True


def _compiled_init(cls: type) -> Callable[..., None]:
    """Return the ``__init__`` of a class, whose parameters are its fields; it ends in ``__post_init__``."""
    known: dict[str, Any] = {"set_": object.__setattr__, "absent_": MISSING}
    first, named, body = ["self"], list[str](), list[str]()
    for one in fields(cls):
        value = one.name
        if one.default_factory is not MISSING:
            known[f"make_{one.name}_"] = one.default_factory
            value = f"make_{one.name}_()" + (f" if {one.name} is absent_ else {one.name}" if one.init else "")
        if one.init:
            default = "absent_" if one.default_factory is not MISSING else f"default_{one.name}_"
            known[f"default_{one.name}_"] = one.default
            required = one.default is MISSING and one.default_factory is MISSING
            (named if one.kw_only else first).append(one.name if required else f"{one.name}={default}")
        if one.init or one.default_factory is not MISSING:
            body.append(f"set_(self, {one.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(first + (["*", *named] if named else []))
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), known)  # noqa: S102 - names of fields alone
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@cache
def _compared(cls: type) -> Callable[[object], Any]:
    """Return what takes the values that are compared out of an instance."""
    names = [one.name for one in fields(cls) if one.compare]
    return attrgetter(*names) if names else lambda of: ()


@cache
def _hashed(cls: type) -> Callable[[object], Any]:
    """Return what takes out the values that count in the hash."""
    names = [one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash)]
    return attrgetter(*names) if names else lambda of: ()


def _text(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _equal(self: Any, other: object) -> object:
    if type(other) is not type(self):
        return NotImplemented
    kind: Any = type(self)
    values = _compared(kind)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    kind: Any = type(self)
    return hash(_hashed(kind)(self))


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__qualname__} is frozen: its {name} stays as it was made")
