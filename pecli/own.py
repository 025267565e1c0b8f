"""Exports for a user-defined encoding: one decorated function gives every command, recipes, files that verify.

See ``examples/own_encoding.py``, and ``examples/own_families.py`` for every family. A file is named with ``--plugin
FILE.py`` or in the variable ``PECLI_PLUGIN`` (several are joined as those of PATH); an installed package has an entry
point of the group ``pecli.encodings``, named as the encoding, whose value is the module.
"""

from pecli.errors import BadParameter as BadParameter
from pecli.numbers.decimals import CONTEXT as CONTEXT
from pecli.numbers.decimals import TAU as TAU
from pecli.numbers.decimals import geometric as geometric
from pecli.numbers.decimals import power as power
from pecli.numbers.double_double import DoubleDouble as DoubleDouble
from pecli.numbers.double_double import Points as Points
from pecli.numbers.double_double import add as add
from pecli.numbers.double_double import divide as divide
from pecli.numbers.double_double import exp as exp
from pecli.numbers.double_double import from_decimal as from_decimal
from pecli.numbers.double_double import log1p as log1p
from pecli.numbers.double_double import multiply as multiply
from pecli.spec.declaration import GIVEN as GIVEN
from pecli.spec.declaration import Facts as Facts
from pecli.spec.declaration import Family as Family
from pecli.spec.declaration import Param as Param
from pecli.spec.declaration import Preset as Preset
from pecli.spec.declaration import encoding as encoding
from pecli.spec.hooks import PLAIN as PLAIN
from pecli.spec.hooks import Effect as Effect
from pecli.spec.hooks import Reach as Reach
from pecli.spec.hooks import SmallTable as SmallTable
from pecli.spec.hooks import Step as Step
from pecli.spec.hooks import Term as Term
from pecli.spec.measured import Named as Named
from pecli.spec.measured import Pairs as Pairs
from pecli.spec.plans import Band as Band
from pecli.spec.plans import Bias as Bias
from pecli.spec.plans import Domain as Domain
from pecli.spec.plans import Fixed as Fixed
from pecli.spec.plans import Frame as Frame
from pecli.spec.plans import Relative as Relative
from pecli.spec.plans import Values as Values
from pecli.spec.plans import Waves as Waves
from pecli.spec.plans import rotation as rotation
from pecli.spec.profiles import Candidate as Candidate
from pecli.spec.profiles import Profile as Profile
from pecli.spec.recipe import Recipe as Recipe
