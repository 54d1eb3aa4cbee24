"""The dtype of typed random keys: what `Array.dtype` gives for an array made by ``ct.random.key``."""

from __future__ import annotations

from typing import Any

__all__ = ["KEY_DTYPE", "Key", "KeyDType", "extended", "prng_key"]

# A parameter that is annotated so is a random key: `check_arguments` looks at what is given.
Key = Any


class extended:  # noqa: N801 (dtypes have lower-case names)
    """The kind of dtypes that are not numbers; random keys are the only ones.

    Examples
    --------
    >>> ct.dtypes.issubdtype(ct.random.key(0).dtype, ct.dtypes.extended)
    True
    """


class prng_key(extended):  # noqa: N801
    """The kind of the dtypes of random keys.

    Examples
    --------
    >>> ct.dtypes.issubdtype(ct.random.key(0).dtype, ct.dtypes.prng_key)
    True
    >>> ct.dtypes.issubdtype(ct.numpy.float32, ct.dtypes.prng_key)
    False
    """


class KeyDType:
    """The dtype of arrays of random keys of the Threefry generator; there is one."""

    type = prng_key
    kind = "V"
    name = "key<fry>"
    itemsize = 8
    char = "k"

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(KeyDType)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, KeyDType)

    def __reduce__(self) -> str:
        return "KEY_DTYPE"


KEY_DTYPE = KeyDType()
