"""Constant indices out of bounds, which JAX clamps in reads and drops in updates, and cotangent refuses."""

from __future__ import annotations

from cotangent._ops import index_plans

__all__ = ["start", "stop"]


def start() -> None:
    """From here on they are clamped and dropped."""
    index_plans.constants_are_as_arrays = True


def stop() -> None:
    """From here on they are errors again."""
    index_plans.constants_are_as_arrays = False
