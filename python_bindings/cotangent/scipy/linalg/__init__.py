"""Linear algebra, named and called as ``jax.scipy.linalg``'s.

Arrays are batches of matrices ``[..., m, n]`` wherever SciPy takes a matrix. Arguments that only save memory or checks in
SciPy (``overwrite_a``, ``check_finite`` …) are ignored.

Each module is one idea and lists its public names in ``__all__``; this package is all of them.
"""

from cotangent._base.names import suggest_names as _suggest_names
from cotangent.scipy.linalg.banded import *
from cotangent.scipy.linalg.decompositions import *
from cotangent.scipy.linalg.matrices_of_size import *
from cotangent.scipy.linalg.matrix_functions import *
from cotangent.scipy.linalg.special_matrices import *
from cotangent.scipy.linalg.spectral import *
from cotangent.scipy.linalg.systems import *

_suggest_names(globals())
