"""``jax.experimental.random``: a generator that counts the keys it has given out in a reference."""

from __future__ import annotations

import dataclasses
import operator
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

import cotangent as ct
import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent._base.keys import KEY_DTYPE
from cotangent.jax.internals.references import Ref, new_ref
from cotangent.jax.narrowing import narrow

__all__ = ["StatefulPRNG", "stateful_rng"]


def _sizes(size: Any, *args: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(arg) for arg in args))
    return (operator.index(size),) if np.ndim(size) == 0 else tuple(operator.index(n) for n in size)


@tree_util.register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """A random generator: a key, and a reference to how often it was used.

    Raises:
        ValueError: they are something else.
    """

    _base_key: Any
    _counter: Any

    def __post_init__(self) -> None:
        if getattr(self._base_key, "dtype", None) != KEY_DTYPE:
            raise ValueError(
                f"Expected base_key to be a typed PRNG key; got {self._base_key}\n  make one with jax.random.key(seed)"
            )
        if not isinstance(self._counter, Ref):
            raise ValueError(
                f"Expected counter to be a scalar integer ref; got {self._counter}\n  make one with jax.new_ref(0)"
            )

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """The key and the reference."""
        return (self._base_key, self._counter), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Sequence[Any]) -> StatefulPRNG:
        """It, of its parts, which may be anything."""
        made = object.__new__(cls)
        for name, value in zip(("_base_key", "_counter"), children, strict=True):
            object.__setattr__(made, name, value)
        return made

    def key(self, shape: Any = ()) -> Any:
        """A new key, or an array of them."""
        if self._base_key.shape:
            raise ValueError("cannot operate on split stateful generator\n  map over it with jax.vmap")
        count = self._counter[...]
        self._counter[...] = count + 1
        made = ct.random.fold_in(self._base_key, count)
        sizes = _sizes(shape)
        return ct.random.split(made, sizes) if sizes else made

    def random(self, size: Any = None, dtype: Any = float) -> Any:
        """Floats from 0 to below 1."""
        return ct.random.uniform(self.key(), _sizes(size), narrow(np.dtype(dtype)))

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Floats from ``low`` to below ``high``."""
        sizes = _sizes(size, low, high)
        return ct.random.uniform(self.key(), sizes, narrow(np.dtype(dtype)), minval=narrow(low), maxval=narrow(high))

    def normal(self, loc: Any = 0, scale: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Floats of a normal distribution."""
        kind = narrow(np.dtype(dtype))
        drawn = ct.random.normal(self.key(), _sizes(size, loc, scale), kind)
        return (cnp.asarray(narrow(loc)) + cnp.asarray(narrow(scale)) * drawn).astype(kind)

    def integers(self, low: Any, high: Any = None, size: Any = None, *, dtype: Any = int) -> Any:
        """Integers from ``low`` to below ``high``, or from 0 to below ``low``."""
        first, last = (0, low) if high is None else (low, high)
        sizes = _sizes(size, first, last)
        return ct.random.randint(self.key(), sizes, narrow(first), narrow(last), narrow(np.dtype(dtype)))

    def split(self, num: Any) -> StatefulPRNG:
        """Generators that do not depend on each other in one object, to be mapped over."""
        return StatefulPRNG(self.key(num), new_ref(cnp.zeros(_sizes(num), narrow(np.dtype(int)))))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of generators that do not depend on each other."""
        keys = self.key(n_children)
        return [StatefulPRNG(keys[i], new_ref(0)) for i in range(n_children)]


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator of random numbers that are others in each call.

    Args:
        seed: an int, or an array of one; chosen at random if it is not given.
        impl: the generator of the keys.
    """
    if seed is None:
        seed = secrets.randbits(31)
    elif np.ndim(seed):
        raise ValueError(
            f"PRNG key seed must be a scalar; got {seed}\n"
            "  make one of one int, and split it: stateful_rng(seed).split(n)"
        )
    return StatefulPRNG(ct.random.key(seed, impl=impl) if impl is not None else ct.random.key(seed), new_ref(0))
