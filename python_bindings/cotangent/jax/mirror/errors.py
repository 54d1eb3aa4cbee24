"""``jax.errors``: what `cotangent.errors` has otherwise."""

from __future__ import annotations

__all__ = ["JAXIndexError", "JAXTypeError", "JaxRuntimeError", "KeyReuseError"]


class JaxRuntimeError(RuntimeError):
    """A program failed where it ran."""


class JAXTypeError(TypeError):
    """A type is wrong."""


class JAXIndexError(IndexError):
    """An index is wrong."""


class KeyReuseError(RuntimeError):
    """A random key was used twice."""
