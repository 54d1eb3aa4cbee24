"""``jax.errors``: what `cotangent.errors` has otherwise."""

from __future__ import annotations

__all__ = [
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
]


class JaxRuntimeError(RuntimeError):
    """A program failed where it ran."""


class JAXTypeError(TypeError):
    """A type is wrong."""


class JAXIndexError(IndexError):
    """An index is wrong."""


class KeyReuseError(RuntimeError):
    """A random key was used twice."""


class JaxprTypeError(TypeError):
    """An equation of a program does not fit its operands."""


class InconclusiveDimensionOperation(Exception):  # noqa: N818 (JAX's name)
    """What a size that is not known is compared with says nothing."""
