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


def runtime_error_of(error: Exception) -> Exception:
    """What a program raises for the exception of a callback: a `JaxRuntimeError`, which is also of the exception's own class."""
    if isinstance(error, JaxRuntimeError):
        return error
    try:
        members = {"__str__": lambda _: str(error)}
        made: Exception = type(type(error).__name__, (JaxRuntimeError, type(error)), members)(*error.args)
    except TypeError:  # classes that cannot be joined, or want other arguments
        made = JaxRuntimeError(f"{type(error).__name__}: {error}")
    return made


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
