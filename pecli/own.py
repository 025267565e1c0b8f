"""Exports for a user-defined encoding: one decorated function gives every command, recipes, files that verify.

See ``examples/own_encoding.py``. A file is named with ``--plugin FILE.py`` or in the variable ``PECLI_PLUGIN`` (several
are joined as those of PATH); an installed package has an entry point of the group ``pecli.encodings``, named as the
encoding, whose value is the module.
"""

from pecli.errors import BadParameter as BadParameter
from pecli.numbers.decimals import CONTEXT as CONTEXT
from pecli.numbers.decimals import TAU as TAU
from pecli.numbers.decimals import geometric as geometric
from pecli.numbers.decimals import power as power
from pecli.spec.declaration import GIVEN as GIVEN
from pecli.spec.declaration import Facts as Facts
from pecli.spec.declaration import Family as Family
from pecli.spec.declaration import Param as Param
from pecli.spec.declaration import Preset as Preset
from pecli.spec.declaration import Source as Source
from pecli.spec.declaration import encoding as encoding
from pecli.spec.hooks import Reach as Reach
from pecli.spec.hooks import SmallTable as SmallTable
from pecli.spec.hooks import Step as Step
from pecli.spec.plans import Band as Band
from pecli.spec.plans import Bias as Bias
from pecli.spec.plans import Domain as Domain
from pecli.spec.plans import Relative as Relative
from pecli.spec.plans import Values as Values
from pecli.spec.plans import Waves as Waves
from pecli.spec.plans import rotation as rotation
