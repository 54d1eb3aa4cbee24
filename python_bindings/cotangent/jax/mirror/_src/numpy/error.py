"""``jax._src.numpy.error``: which errors of functions of arrays are noted while programs run."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

from cotangent.jax.internals.error_check import set_error_if
from cotangent.jax.internals.watched import set_error_if_divide_by_zero, set_error_if_nan
from cotangent.jax.settings import state

__all__ = [
    "_set_error_if_divide_by_zero",
    "_set_error_if_nan",
    "_set_error_if_with_category",
    "error_checking_behavior",
]

_Behavior = Literal["ignore", "raise"] | None
_set_error_if_divide_by_zero, _set_error_if_nan = set_error_if_divide_by_zero, set_error_if_nan
_OWN = {"nan": "_set_error_if_nan", "divide": "_set_error_if_divide_by_zero"}


def _set_error_if_with_category(pred: Any, /, msg: str, category: str | None = None) -> None:
    """Notes an error where any element is True, of a category while the option of that asks for it.

    Raises:
        ValueError: there is no such category.
    """
    if category in _OWN:
        raise ValueError(
            f"{category} is deprecated. Use `{_OWN[category]}` instead.\n  it looks at the elements itself"
        )
    if category not in (None, "oob"):
        raise ValueError(f"Invalid category: {category}\n  leave it out, or pass 'oob'")
    if category is None or state("error_checking_behavior_oob").value != "ignore":
        set_error_if(pred, msg)


class error_checking_behavior:  # noqa: N801 (JAX's name)
    """A block in which errors of some kinds are noted, for `raise_if_error` to raise, or ignored."""

    def __init__(
        self, *, all: _Behavior = None, nan: _Behavior = None, divide: _Behavior = None, oob: _Behavior = None
    ) -> None:
        given = {"nan": nan, "divide": divide, "oob": oob}
        self.new_settings = {name: value or all for name, value in given.items() if value or all}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> error_checking_behavior:
        for name, value in self.new_settings.items():
            self._stack.enter_context(state(f"error_checking_behavior_{name}")(value))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
