"""What a declaration of one's own is made of: one decorated function gives every command, recipes, files that verify.

See ``examples/own_encoding.py``. A file is named with ``--plugin FILE.py`` or in the variable ``PECLI_PLUGIN`` (several
are joined as those of PATH); an installed package has an entry point of the group ``pecli.encodings``, named as the
encoding, whose value is the module.
"""

from pecli.declare.board import SmallTable as SmallTable
from pecli.declare.board import Step as Step
from pecli.declare.encoding import GIVEN as GIVEN
from pecli.declare.encoding import Facts as Facts
from pecli.declare.encoding import Family as Family
from pecli.declare.encoding import Param as Param
from pecli.declare.encoding import Preset as Preset
from pecli.declare.encoding import Source as Source
from pecli.declare.encoding import encoding as encoding
from pecli.declare.plan import Band as Band
from pecli.declare.plan import Bias as Bias
from pecli.declare.plan import Domain as Domain
from pecli.declare.plan import Relative as Relative
from pecli.declare.plan import Values as Values
from pecli.declare.plan import Waves as Waves
from pecli.declare.plan import rotation as rotation
from pecli.declare.reach import Reach as Reach
from pecli.errors import BadParameter as BadParameter
from pecli.numbers.decimals import CONTEXT as CONTEXT
from pecli.numbers.decimals import TAU as TAU
from pecli.numbers.decimals import geometric as geometric
from pecli.numbers.decimals import power as power
