"""What a reading collects on the way: keys used and ignored, warnings, faults."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pecli.models.reading import Key


@dataclass(eq=False, repr=False)
class Notes:
    """Collected while a config is read; the words are for people."""

    used: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    def use(self, name: str, meaning: str) -> None:
        """Record a key that was read."""
        self.used.setdefault(name, meaning)

    def ignore(self, name: str, reason: str, told: bool = False) -> None:
        """Record a key that is present and has no effect; `told` if nobody need be warned of it besides."""
        self.ignored.setdefault(name, reason)
        if told:
            self.told.add(name)

    def warn_of_ignored(self, where: str) -> None:
        """Warn of every key without effect that no warning names yet."""
        for name, reason in self.ignored.items():
            named = re.compile(re.escape(f"{where}{name}") + r"\b(?!\.)|" + re.escape(name) + r"\b(?!\.)")
            if name not in self.used and name not in self.told and not any(map(named.match, self.warnings)):
                self.warn(f"{where}{name} has no effect: {reason}")

    def warn(self, text: str) -> None:
        """Record something that a user must hear of."""
        if text not in self.warnings:
            self.warnings.append(text)

    def fault(self, text: str) -> None:
        """Record where the framework departs from what the key says."""
        if text not in self.faults:
            self.faults.append(text)

    def keys(self) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
        """Return used and ignored keys; one that was used for anything counts as used."""
        ignored = {name: reason for name, reason in self.ignored.items() if name not in self.used}
        return tuple(Key(*item) for item in self.used.items()), tuple(Key(*item) for item in ignored.items())
