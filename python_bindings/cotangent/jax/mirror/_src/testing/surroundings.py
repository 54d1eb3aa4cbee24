"""What is around a test: written text, environment variables, NumPy functions with common dtypes, and errors that are expected."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent.jax.mirror._src.numpy.util import promote_dtypes, promote_dtypes_inexact
from cotangent.jax.settings import StateContextManager, state

__all__ = [
    "capture_stderr",
    "capture_stdout",
    "check_raises",
    "check_raises_regexp",
    "promote_like_jnp",
    "set_env",
    "strict_promotion_if_dtypes_match",
]


@contextlib.contextmanager
def _captured(name: str) -> Iterator[Callable[[], str]]:
    stream: TextIO = getattr(sys, name)
    text: list[str] = []

    def written() -> str:
        if not text:
            raise ValueError(f"capture_{name}: what is written is known when the block has ended")
        return text[0]

    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as file:
        stream.flush()
        kept = os.dup(stream.fileno())
        os.dup2(file.fileno(), stream.fileno())
        try:
            yield written
        finally:
            stream.flush()
            os.dup2(kept, stream.fileno())
            os.close(kept)
            file.seek(0)
            text.append(file.read())


# Blocks that give a function which returns what was written in them, by Python or not.
capture_stdout, capture_stderr = functools.partial(_captured, "stdout"), functools.partial(_captured, "stderr")


@contextlib.contextmanager
def set_env(**kwargs: str | None) -> Iterator[None]:
    """A block with environment variables; None takes one away."""
    before = {key: os.environ.get(key) for key in kwargs}

    def put(values: dict[str, str | None]) -> None:
        for key, value in values.items():
            os.environ.pop(key, None)
            if value is not None:
                os.environ[key] = value

    put(kwargs)
    try:
        yield
    finally:
        put(before)


def promote_like_jnp(fun: Callable[..., Any], inexact: bool = False) -> Callable[..., Any]:
    """A function of NumPy's, on arrays of the dtype that they have in common here."""
    promote = promote_dtypes_inexact if inexact else promote_dtypes

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_util.tree_flatten(args)
        return fun(*structure.unflatten(promote(*leaves)), **kwargs)

    return run


def strict_promotion_if_dtypes_match(dtypes: Sequence[Any]) -> StateContextManager:
    """A block in which dtypes do not meet in a common one, where all of these are one."""
    one = all(cnp.dtype(dtype) == cnp.dtype(dtypes[0]) for dtype in dtypes)
    return state("numpy_dtype_promotion")("strict" if one else "standard")


def _raised(thunk: Callable[[], Any], err_type: type[BaseException]) -> str:
    try:
        thunk()
    except err_type as error:
        return str(error)
    raise AssertionError(f"{err_type.__name__} was expected")


def check_raises(thunk: Callable[[], Any], err_type: type[BaseException], msg: str) -> None:
    """Raises AssertionError where a function raises no such error with a text that begins like this."""
    text = _raised(thunk, err_type)
    assert text.startswith(msg), f"\n{text}\n\n{msg}\n"


def check_raises_regexp(thunk: Callable[[], Any], err_type: type[BaseException], pattern: str) -> None:
    """Raises AssertionError where a function raises no such error with a text that begins as a pattern says."""
    text = _raised(thunk, err_type)
    assert re.match(pattern, text), f"{text}\n\n{pattern}\n"
