"""Linear systems that are given by their action, under the names of `scipy.sparse`."""

from cotangent.scipy.sparse import linalg

__all__ = ["linalg"]
