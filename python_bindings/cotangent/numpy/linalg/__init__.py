"""Linear algebra, named and called as ``jax.numpy.linalg``'s and NumPy's.

Arrays are batches of matrices ``[..., m, n]``. Integers are converted to the default floating dtype; float16 and bfloat16 are
computed in float32. As in JAX, what NumPy reports by an exception (a singular matrix, an iteration that does not converge)
gives Inf or NaN, because values do not exist yet when a function is traced. Shapes that do not fit raise `LinAlgError`.

Each module is one idea and lists its public names in ``__all__``; this package is all of them.
"""

from numpy.linalg import LinAlgError as LinAlgError

from cotangent._base.names import suggest_names as _suggest_names
from cotangent.numpy.linalg.decompositions import *
from cotangent.numpy.linalg.determinants import *
from cotangent.numpy.linalg.norms import *
from cotangent.numpy.linalg.products import *
from cotangent.numpy.linalg.systems import *

_suggest_names(globals())
