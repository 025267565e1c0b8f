"""pecli's dataclass does what the standard library's does: the same classes, declared with both."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping

import pytest

from pecli import records


def declared(dataclass):
    """The same classes, declared with one decorator."""

    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        words: tuple[str, ...] = dataclasses.field(default_factory=tuple)
        note: str = dataclasses.field(default="", compare=False)
        kept: Mapping[str, int] = dataclasses.field(default_factory=dict, hash=False, compare=False, repr=False)

    @dataclass(frozen=True)
    class Named(Point):
        """A point with a name."""

        name: str = "origin"

    @dataclass(frozen=True, kw_only=True)
    class Options:
        """Given by name."""

        must: int
        may: str | None = None

    @dataclass
    class Sum:
        """It changes."""

        total: int = 0
        parts: list[int] = dataclasses.field(default_factory=list)
        twice: int = dataclasses.field(init=False)

        def __post_init__(self):
            self.twice = 2 * self.total

    @dataclass(frozen=True, eq=False)
    class Thing:
        """The same as itself alone."""

        a: int

        def __repr__(self):
            return "own"

    @dataclass(frozen=True)
    class Own:
        """It says when it equals another."""

        a: int

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    @dataclass(frozen=True)
    class Nothing:
        """No fields."""

    return Point, Named, Options, Sum, Thing, Own, Nothing


KINDS = ("library", "ours")


def outcome(act):
    """What an act gives, or the type of its error."""
    try:
        return act()
    except Exception as error:
        return type(error)


ACTS = {
    "defaults": lambda point, *rest: vars(point(1)),
    "text": lambda point, named, *rest: (repr(point(1, note="n")).split(".")[-1], repr(named(1, 2)).split(".")[-1]),
    "equal": lambda point, *rest: (point(1) == point(1, 2, note="other", kept={"a": 1}), point(1) == point(2)),
    "of another class": lambda point, named, *rest: (point(1) == named(1), point(1) == 1, named(1) == point(1)),
    "one key": lambda point, *rest: len({point(1), point(1, kept={"a": 1}), point(2)}),
    "set": lambda point, *rest: setattr(point(1), "x", 5),
    "delete": lambda point, *rest: delattr(point(1), "x"),
    "new name": lambda point, *rest: setattr(point(1), "z", 5),
    "replace": lambda point, *rest: vars(dataclasses.replace(point(1), y=7)),
    "asdict": lambda point, named, *rest: dataclasses.asdict(named(3, words=("a",))),
    "too few": lambda point, *rest: point(),
    "too many": lambda point, *rest: point(1, 2, (), "", {}, 6),
    "unknown": lambda point, *rest: point(1, no=2),
    "twice": lambda point, *rest: point(1, x=2),
    "factories": lambda point, *rest: point(1).kept is point(1).kept,
    "copy": lambda point, *rest: copy.deepcopy(point(1)) == point(1),
    "derived": lambda point, named, *rest: [f.name for f in dataclasses.fields(named)],
    "match": lambda point, *rest: point.__match_args__,
    "by name": lambda point, named, options, *rest: vars(options(must=1)),
    "not by place": lambda point, named, options, *rest: options(1),
    "by name missing": lambda point, named, options, *rest: options(may="a"),
    "changes": lambda point, named, options, total, *rest: (setattr(it := total(4), "total", 5), vars(it)),
    "unhashable": lambda point, named, options, total, *rest: hash(total()),
    "identity": lambda *classes: (classes[4](1) == classes[4](1), repr(classes[4](1))),
    "own": lambda *classes: (classes[5](1) == classes[5](2), hash(classes[5](1))),
    "none": lambda *classes: (classes[6]() == classes[6](), hash(classes[6]()) == hash(classes[6]())),
}


@pytest.mark.parametrize("few", [0, records.FEW], ids=["compiled", "not yet"])
@pytest.mark.parametrize("act", ACTS)
def test_it_does_what_the_library_does(act, few, monkeypatch):
    monkeypatch.setattr(records, "FEW", few)
    library, ours = (outcome(lambda d=d: ACTS[act](*declared(d))) for d in (dataclasses.dataclass, records.dataclass))
    assert ours == library


@records.dataclass(frozen=True)
class Sent:
    """For another process."""

    a: int = 1


def test_an_instance_travels():
    assert pickle.loads(pickle.dumps(Sent(4))) == Sent(4)


def test_parameters_are_those_of_the_fields_once_some_were_made():
    assert {Sent() for _ in range(records.FEW + 1)} == {Sent(1)}
    assert str(inspect.signature(Sent)) == "(a=1)"


def test_a_class_derives_from_one_of_the_same_kind():
    with pytest.raises(TypeError):
        dataclasses.dataclass(frozen=True)(type("Other", (Sent,), {"__annotations__": {}}))
