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
    kind = type(error)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
    try:
        first = str(error).partition("\n")[0]
        members = {"__str__": lambda _: f"{error}\n{name}: {first}"}  # as tracebacks end, one of which JAX's text holds
        made: Exception = type(kind.__name__, (JaxRuntimeError, kind), members)(*error.args)
    except TypeError:  # classes that cannot be joined, or want other arguments
        made = JaxRuntimeError(f"{name}: {error}")
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
