"""The expected table of waves, the mistakes that its encoding declares, and the words for other parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from pecli.errors import PecliError
from pecli.judge import waves
from pecli.judge.planes import is_large
from pecli.spec.hooks import Change, other_bases, other_units, other_values, parameter_text
from pecli.spec.measured import PUBLISHED_BASES, Floats, Named
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.table import Table

# Rows of a table in which missing rows are looked for; their values are held in memory.
MAX_SHORT = 1 << 16


@dataclass(frozen=True)
class Expected:
    """The expected table of waves: recipe, positions and the names of its frequencies."""

    table: Table
    recipe: Recipe
    named: Named
    start: Fraction
    step: Fraction
    rows: int
    keys: Mapping[str, str] = field(default_factory=dict)
    plans: dict[object, tuple[dict[str, str], Waves] | None] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, table: Table) -> Expected | None:
        """Return the expected parameters of a table; None without waves, or with several axes or uneven positions."""
        recipe, plan, part = table.source, table.plan, table.part
        if not isinstance(plan, Waves) or plan.axes or plan.cross is not None or len(part.numbers(0, 1)) == 0:
            return None
        if not table.positions.is_range or plan.prefix or plan.suffix or plan.form == "full":
            return None
        keys = recipe.keys()
        start, *more = part.part(0, min(2, part.count))
        step = more[0] - start if more else Fraction(1)
        if not any(0 <= (row - start) / step < part.count for row in plan.blank):
            keys = {key: value for key, value in keys.items() if key != "pad-row"}
        layout = {} if table.request.layout in (None, "split") else {"layout": table.request.layout}
        named = waves.exactly(recipe.encoding.name, Named(dict(keys), np.zeros(len(plan.frequencies)), table=layout))
        if named is None:
            return None
        return cls(table, recipe, named, start, step, part.count, keys)

    @property
    def encoding(self) -> str:
        """Name of the encoding."""
        return self.recipe.encoding.name

    @cached_property
    def mistakes(self) -> list[Change]:
        """The mistakes that the encoding declares, other bases and other units."""
        found = [*self._declared(self.keys), *other_bases(self.keys, *PUBLISHED_BASES), *other_units()]
        return [change for change in found if change.values is None]

    @cached_property
    def mistakes_at_other_bases(self) -> list[Change]:
        """The mistakes of another formula beside another base."""
        found = list[Change]()
        for base in other_values(self.keys, "base", *PUBLISHED_BASES) if "base" in self.keys else ():
            changed = {key: value for key, value in base.keys.items() if value is not None}
            others = (one for one in self._declared({**self.keys, **changed}) if one.waves is not None)
            texts = ((one, f"{base.text}, and {one.text}") for one in others)
            found += (replace(one, text=text, keys={**one.keys, **base.keys}) for one, text in texts)
        return found

    def _declared(self, keys: Mapping[str, str]) -> list[Change]:
        encoding = self.recipe.encoding
        return list(encoding.hook("mistakes")(keys)) if encoding.declares("mistakes") else []

    def changed(self, change: Change, keys: Mapping[str, str] | None = None) -> tuple[dict[str, str], Waves] | None:
        """Return the parameters of a mistake and their plan; None where the recipe does not allow it.

        Each is computed once: several readings of a table ask for all.
        """
        keys = self.keys if keys is None else keys
        asked = change.text, *keys.items()
        if asked not in self.plans:
            given = {key: value for key, value in {**keys, **change.keys}.items() if value is not None}
            plan = waves.plan_of(self.encoding, given, change.waves)
            self.plans[asked] = (given, plan) if plan is not None and not plan.axes else None
        return self.plans[asked]


def mistaken(table: Table) -> Iterator[tuple[Change, Tabular]]:
    """Yield the mistakes in parameters or values that the encoding of a table declares, and the table that each gives.

    The table of other values is float32.
    """
    encoding, keys = table.source.encoding, table.source.keys()
    for change in encoding.hook("mistakes")(keys) if encoding.declares("mistakes") else ():
        given = {key: value for key, value in {**keys, **change.keys}.items() if value is not None}
        with contextlib.suppress(PecliError):
            other = Table(Recipe.bind(encoding.name, **given), table.extent, table.request)
            if change.keys and other.arrays:  # which need its plan
                yield change, other
        if change.values is not None and not is_large(table):
            exact = table.as_type("float64")
            held = {a.name: change.values(a.name, exact.read(a.name), 0).astype("f4") for a in exact.arrays}
            yield change, InMemory(held)


def mistaken_tables(table: Table) -> Iterator[tuple[Change, Floats]]:
    """Yield the declared mistakes in a sinusoid, and the values that each gives."""
    want = Expected.of(table)
    if want is None or want.named.table or len(table.arrays) > 1 or want.rows > MAX_SHORT:
        return
    for change in want.mistakes:
        changed = want.changed(change) if change.step == 1 and not change.shift else None
        if changed is None or not changed[1].bands:
            continue
        positions = float(want.start) + float(want.step) * np.arange(want.rows)
        made = np.zeros((want.rows, changed[1].width))
        for band in changed[1].bands:
            phases = np.outer(positions, [float(w) for w in band.frequencies]) * (2 * np.pi if band.turns else 1)
            for columns, wave in ((band.sin, np.sin), (band.cos, np.cos)):
                if columns is not None:
                    made[:, columns] = float(band.magnitude) * wave(phases)[:, : made[:, columns].shape[1]]
        yield change, made


def parameter_lines(want: Expected, name: waves.WaveName) -> list[str]:
    """Return the parameters that differ from the expected ones as text, one line for each cause."""
    if name.encoding != want.encoding:
        return [f"{waves.recipe_of(name)} where {want.recipe.short} was expected"]
    return key_lines(want, name.named.keys)


def key_lines(want: Expected, keys: Mapping[str, str]) -> list[str]:
    """Return the parameters that other keys of the encoding have otherwise than expected, as text."""
    encoding, have = want.recipe.encoding, dict(Recipe.bind(want.encoding, **keys).keys())
    unlike = [key for key in want.keys if have.get(key) != want.keys[key]]
    alone = ({**want.keys, key: have[key]} for key in unlike if key in have)  # at first, that one of them is another
    same = waves.plan_of(want.encoding, have)
    for tried in (*alone, *({**have, key: want.keys[key]} for key in unlike)):
        nearer = {**have, **{key: want.keys[key] for key in unlike if tried.get(key) == want.keys[key]}}
        if nearer != have and waves.plan_of(want.encoding, nearer) == same:  # the others change nothing
            have = nearer
    if encoding.declares("differences"):
        lines: list[str] = encoding.hook("differences")(have, dict(want.keys))
        return lines
    both = {key: (have.get(key, ""), want.keys.get(key, "")) for key in (*want.keys, *have)}
    own = {key: values for key, values in both.items() if key not in ("order", "odd")}  # of a layout, of another width
    return [parameter_text(key, a, b) for key, (a, b) in own.items() if a != b]
