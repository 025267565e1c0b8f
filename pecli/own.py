"""Exports for a user-defined encoding: one decorated function gives every command, recipes, files that verify.

See ``examples/own_encoding.py``, and ``examples/own_families.py`` for every family. A file is named with ``--plugin
FILE.py`` or in the variable ``PECLI_PLUGIN`` (several are joined as those of PATH); an installed package has an entry
point of the group ``pecli.encodings``, named as the encoding, whose value is the module.
"""

from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, TAU, geometric, power
from pecli.numbers.double_double import DoubleDouble, Points, add, divide, exp, from_decimal, log1p, multiply
from pecli.spec.declaration import GIVEN, Facts, Family, Param, Preset, encoding
from pecli.spec.hooks import PLAIN, Effect, Reach, SmallTable, Step, Term
from pecli.spec.measured import Named, Pairs
from pecli.spec.plans import Band, Bias, Domain, Fixed, Frame, Relative, Values, Waves, rotation
from pecli.spec.profiles import Candidate, Profile
from pecli.spec.recipe import Recipe

__all__ = [
    "CONTEXT", "GIVEN", "PLAIN", "TAU", "BadParameter", "Band", "Bias", "Candidate", "Domain", "DoubleDouble",
    "Effect", "Facts", "Family", "Fixed", "Frame", "Named", "Pairs", "Param", "Points", "Preset", "Profile", "Reach",
    "Recipe", "Relative", "SmallTable", "Step", "Term", "Values", "Waves", "add", "divide", "encoding", "exp",
    "from_decimal", "geometric", "log1p", "multiply", "power", "rotation",
]  # fmt: skip
