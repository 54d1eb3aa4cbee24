"""Linear systems that are given by their action, under the names of `scipy.sparse`."""

from cotangent._base.names import suggest_names
from cotangent.scipy.sparse import linalg

__all__ = ["linalg"]

suggest_names(globals())
