"""Clusters under their names in `scipy.cluster`."""

from cotangent._base.names import suggest_names
from cotangent.scipy.cluster import vq

__all__ = ["vq"]

suggest_names(globals())
