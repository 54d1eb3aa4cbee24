"""The operations of arrays, of exact and ragged sizes alike: what special functions, `lax`, `numpy` and all above them are written in.

Names and meaning are NumPy's. `binding` says how a function becomes equations, `sizes` what an axis is, `extents` what stands beside an
array, whose axes may be ragged.
"""

from cotangent._ops.arithmetic import *
from cotangent._ops.arithmetic import add as add
from cotangent._ops.arithmetic import maximum as maximum
from cotangent._ops.arithmetic import minimum as minimum
from cotangent._ops.arithmetic import multiply as multiply
from cotangent._ops.arithmetic import negative as negative
from cotangent._ops.arithmetic import subtract as subtract
from cotangent._ops.bits import *
from cotangent._ops.broadcasting import *
from cotangent._ops.choice import *
from cotangent._ops.comparisons import *
from cotangent._ops.complex_parts import *
from cotangent._ops.constants import *
from cotangent._ops.creation import *
from cotangent._ops.diagonals import *
from cotangent._ops.division import *
from cotangent._ops.divisors import *
from cotangent._ops.dtypes import *
from cotangent._ops.einsum import *
from cotangent._ops.equality import *
from cotangent._ops.exponentials import *
from cotangent._ops.extreme_positions import *
from cotangent._ops.floating_parts import *
from cotangent._ops.functions import *
from cotangent._ops.index_grids import *
from cotangent._ops.joining import *
from cotangent._ops.means import *
from cotangent._ops.nan_reductions import *
from cotangent._ops.outer_products import *
from cotangent._ops.positions import *
from cotangent._ops.products import *
from cotangent._ops.ranges import *
from cotangent._ops.reductions import *
from cotangent._ops.repetition import *
from cotangent._ops.replacing import *
from cotangent._ops.rounding import *
from cotangent._ops.running import *
from cotangent._ops.selection import *
from cotangent._ops.shapes import *
from cotangent._ops.sorting import *
from cotangent._ops.taking import *
from cotangent._ops.turning import *
