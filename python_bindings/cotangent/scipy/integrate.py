"""Integration of samples under its name in `scipy.integrate`."""

from cotangent._base.names import suggest_names
from cotangent.numpy import trapezoid

__all__ = ["trapezoid"]

suggest_names(globals())
