"""Integration of samples under its name in `scipy.integrate`."""

from cotangent.numpy import trapezoid

__all__ = ["trapezoid"]
