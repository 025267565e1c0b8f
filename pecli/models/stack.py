"""What a stack is: rules about how it reads a config otherwise than transformers does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pecli.errors import UnknownName
from pecli.models.reading import Params, Written
from pecli.models.remedies import Remedy

Change = Callable[[Params, Written], Params]
Where = Callable[[Written], bool]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One departure of a stack from what transformers makes of a config.

    Parameters
    ----------
    scaling : str or tuple of str
        The scaling of the recipe that it concerns; () for any.
    key : str
        The key on which it hangs.
    text : str
        What the stack does, to follow its name.
    source : str
        Where that was read.
    change : callable, optional
        Gives the recipe's parameters from those before it; without one the
        rule is a remark: it changes no table of this config.
    error : str
        What the stack raises, where it refuses the config.
    where : callable, optional
        Whether it concerns a config.
    remedies : tuple of Remedy
        Changes of the config with which the stack may agree.
    since, until : str
        First version that does so, first that no longer does; "" where that is not known.
    checked : str
        Version it was checked at, where that is not the stack's newest.
    """

    key: str
    text: str
    source: str
    scaling: str | tuple[str, ...] = ()
    change: Change | None = None
    error: str = ""
    where: Where | None = None
    remedies: tuple[Remedy, ...] = ()
    since: str = ""
    until: str = ""
    checked: str = ""

    def concerns(self, params: Params, written: Written, version: str) -> bool:
        """Whether it says anything of such a recipe, in this version."""
        scalings = (self.scaling,) if isinstance(self.scaling, str) else self.scaling
        if scalings and params.get("scaling", "none") not in scalings:
            return False
        if self.since and _numbers(version) < _numbers(self.since):
            return False
        if self.until and _numbers(version) >= _numbers(self.until):
            return False
        return self.where is None or self.where(written)


@dataclass(frozen=True, kw_only=True)
class Stack:
    """One stack: its rules, and what is known of it.

    Parameters
    ----------
    title : str
        Its own name for itself.
    version : str
        The newest version its rules were checked at: a release, or a commit with its date.
    rules : tuple of Rule
        How it departs from transformers.
    scalings : tuple of str
        Scalings that it is known to have, or to drop; of others nothing is said.
    encodings : tuple of str
        Encodings other than the rotary one that it is known to have.
    models : tuple of str
        Model types that its code knows; () for those of transformers.
    own_reader : bool
        Whether it reads the config itself, and not by transformers' config classes.
    words : mapping of str to str
        Rope types that it takes and transformers does not, by what they mean.
    conversion : str
        How a config reaches a stack that does not read config.json itself.
    run : bool
        Whether its code was run for these rules, and not only read.
    """

    title: str
    version: str
    rules: tuple[Rule, ...]
    scalings: tuple[str, ...]
    encodings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    own_reader: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    conversion: str = ""
    run: bool = True

    def knows(self, model: str) -> bool:
        """Whether its code has such a model."""
        return not self.models or model in self.models

    def chosen(self, asked: str, name: str) -> str:
        """Return the version that is meant by what follows the @ of ``--stack``; "" means the newest.

        Raises
        ------
        UnknownName
            For a version that nothing is known of: a newer one, or another commit.
        """
        newest = self.version.split()[0]
        if asked in ("", newest):
            return newest
        if not (_RELEASE.fullmatch(asked) and _RELEASE.fullmatch(newest)) or _numbers(asked) > _numbers(newest):
            raise UnknownName(f"version of {name}", asked, [self.version])
        return asked


TRANSFORMERS = "transformers"
SCALED = ("linear", "dynamic", "yarn", "longrope", "llama3")  # the rope types of transformers 4
EVERY = (*SCALED, "ntk", "proportional")
_RELEASE = re.compile(r"\d+(\.\d+)*")


def _numbers(version: str) -> tuple[int, ...]:
    """Return a release as numbers, without its last zeros: 0.30 is 0.30.0."""
    numbers = [int(part) for part in version.split(".")] if _RELEASE.fullmatch(version) else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
