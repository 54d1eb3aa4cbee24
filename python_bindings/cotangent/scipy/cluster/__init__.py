"""Clusters under their names in `scipy.cluster`."""

from cotangent.scipy.cluster import vq

__all__ = ["vq"]
