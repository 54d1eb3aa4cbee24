"""What stands for a name that JAX has and we have not: it may be imported, named in annotations and asked about, and not be used."""

from __future__ import annotations

import functools
import typing
from typing import Any, NoReturn

from cotangent._base.arguments import leaving_methods

__all__ = ["MissingNameError", "missing"]


class MissingNameError(NotImplementedError):
    """A program uses something of JAX's that has no counterpart here."""


@leaving_methods
class _Missing(type):
    """The type of the stand-ins: classes, so that they can be bases and stand in annotations and `isinstance`."""

    _path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(cls._path)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{cls._path} has no attribute {name!r}: cotangent has not what it is")
        return missing(f"{cls._path}.{name}")

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __or__(cls, other: Any) -> Any:
        return typing.Union[cls, other]  # noqa: UP007 (the operator is being defined)

    def __ror__(cls, other: Any) -> Any:
        return typing.Union[other, cls]  # noqa: UP007

    def __getitem__(cls, item: Any) -> _Missing:
        return cls

    def __iter__(cls) -> NoReturn:
        _refuse(cls._path)

    def __enter__(cls) -> NoReturn:
        _refuse(cls._path)

    def __exit__(cls, *exception: object) -> None: ...

    def __repr__(cls) -> str:
        return f"<{cls._path}, which cotangent lacks>"


def _refuse(path: str) -> NoReturn:
    raise MissingNameError(
        f"{path} is used, which JAX has and cotangent has not\n"
        "  replace it, or run this part of the program with JAX itself (cotangent.jax.uninstall)"
    )


@functools.cache
def missing(path: str) -> Any:
    """The stand-in of a name that JAX has, by its full path."""
    return _Missing(path.rsplit(".", 1)[-1], (), {"_path": path, "__module__": path.rpartition(".")[0]})
