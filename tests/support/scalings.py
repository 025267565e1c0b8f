"""One recipe of every scaling, from which all contract tests of scalings start."""

from pecli.encodings.rotary.rope.scalings import SCALINGS
from pecli.spec.recipe import Recipe

PAIRS = 16
GIVEN = {"factor": 4, "original-max": 512, "max-position": 512, "seq-len": 2048}
GIVEN |= {"short-factor": "+".join(["1"] * PAIRS), "long-factor": "+".join(str(1 + i / 4) for i in range(PAIRS))}
"""Values of what scalings take, by option; an option that may be left out need not stand here."""


def recipe_of(name, encoding="rope", **more):
    """The recipe of a scaling of 16 pairs, with `GIVEN` for what it takes."""
    scaling = SCALINGS[name]
    missing = [option for option in scaling.required if option not in GIVEN]
    assert not missing, f"scaling {name} requires {missing}: add values to GIVEN in tests/support/scalings.py"
    own = {key: value for key, value in GIVEN.items() if key in scaling.options}
    return Recipe.bind(encoding, dim=2 * PAIRS, scaling=name, **own, **more)
