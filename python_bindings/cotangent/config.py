"""Settings: of the process, ``ct.config.update("enable_x64", True)``, or of one thread, with a context manager of the setting's name.

``"threads"`` is a number, ``"products"`` a word, the others are switches. Options of JAX whose value cannot be chosen here are accepted
with the value that they have.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.device import backend_for, device_at

_OPTIONS = ("enable_x64", "disable_jit", "debug_nans", "debug_infs")
_CHOSEN = (*_OPTIONS, "threads", "products", "default_device")
# The last two for tests: never as written where there is another way; and the same of "direct", in blocks.
_PRODUCTS = ("gram", "direct", "off", "always", "blocks")
_PRECISIONS = (None, "default", "fastest", "high", "highest", "bfloat16", "bfloat16_3x", "tensorfloat32", "float32")
# JAX's options that are settled: the values that say what is so; the first is what `read` returns.
_SETTLED: dict[str, tuple[Any, ...]] = {
    "check_tracer_leaks": (False,),
    "default_matmul_precision": _PRECISIONS,  # at least that of the operands
    "default_prng_impl": ("threefry2x32",),
    "log_compiles": (False,),
    "numpy_dtype_promotion": ("standard",),
    "numpy_rank_promotion": ("allow",),
    "platform_name": ("cpu", "", None),
    "platforms": ("cpu", "", None),
    "threefry_partitionable": (True,),
}


def _name(name: str) -> str:
    plain = name.removeprefix("jax_")
    if plain not in (*_CHOSEN, *_SETTLED):
        raise ValueError(f"unknown option {name!r}; the options are {list(_CHOSEN)}")
    return plain


def _settle(name: str, value: Any) -> None:
    if value not in _SETTLED[name]:
        raise ValueError(f"{name} cannot be {value!r}\n  it is one of {list(_SETTLED[name])}")


def update(name: str, value: Any) -> None:
    """Sets an option of the process. Each also has its name in JAX, with ``jax_`` in front.

    A ``with`` block of the option's name sets it for the thread that runs the block, and there goes before what is set here.

    Args:
        name: ``"enable_x64"``: the default dtype of new arrays and of Python numbers is 64 bits wide. Arrays that are 64 bits wide already
            stay so under either setting.
            ``"disable_jit"``: see `ct.disable_jit`. ``"debug_nans"``, ``"debug_infs"``: see `ct.debug_nans`, `ct.debug_infs`.
            ``"threads"``: how many threads a compiled program may use, at most; 0 means as many as there are cores for this process, and
            more than these are never used. The environment variable ``CT_THREADS`` sets it at the start. Results do not depend on it.
            ``"default_device"``: see `ct.default_device`; None for the processor.
            ``"products"``: in which order compiled programs evaluate sums of products that are larger than their factors, such as norms of
            per-example gradients. ``"direct"``, which is set: in any, but sums are computed before they are squared. ``"gram"``: these too
            as is fastest; a squared norm may be an inner product of Gram matrices, which loses digits where a norm is tiny next to the
            products that it is a sum of. ``"off"``: as the program is written.
        value: the new value.

    Raises:
        ValueError: for an unknown name, a number of threads below 0, or another value of an option of JAX that is settled here
            (``"jax_platform_name"`` is ``"cpu"``, ``"jax_numpy_rank_promotion"`` is ``"allow"``, …).
        TypeError: for a number of threads that is no integer.

    >>> import cotangent as ct
    >>> ct.config.update("threads", 1)
    >>> ct.config.read("threads")
    1
    >>> ct.config.update("threads", 0)
    """
    plain = _name(name)
    if plain in _SETTLED:
        _settle(plain, value)
        return
    if plain == "products":
        if value not in _PRODUCTS:
            raise ValueError(f"products={value!r}; it is one of {list(_PRODUCTS[:3])}")
        for word in _PRODUCTS[1:]:
            _core.set_flag(f"products_{word}", value == word)
        return
    if plain == "default_device":
        _core.set_default_backend(backend_for(value, "default_device"))
        return
    if plain != "threads":
        _core.set_flag(plain, bool(value))
        return
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"threads={number}; pass a number of threads, or 0 for all cores")
    _core.set_threads(number)


def read(name: str) -> Any:
    """The value of an option."""
    plain = _name(name)
    if plain in _SETTLED:
        return _SETTLED[plain][0]
    if plain == "products":
        return next((word for word in _PRODUCTS[1:] if _core.get_flag(f"products_{word}")), _PRODUCTS[0])
    if plain == "default_device":
        return device_at(_core.default_backend())
    return _core.get_threads() if plain == "threads" else _core.get_flag(plain)


def __getattr__(name: str) -> Any:
    # The options by JAX's names: ``ct.config.jax_enable_x64``.
    if name.startswith("jax_") and name.removeprefix("jax_") in (*_CHOSEN, *_SETTLED):
        return read(name)
    raise AttributeError(f"module 'cotangent.config' has no attribute {name!r}")


@contextlib.contextmanager
def _option(name: str, value: bool) -> Iterator[None]:
    previous = _core.override_flag(name, bool(value))
    try:
        yield
    finally:
        _core.override_flag(name, previous)


def enable_x64(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Sets 64-bit defaults inside a ``with`` block."""
    return _option("enable_x64", value)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Inside a ``with`` block jitted functions are plain Python functions, and loops and branches of `ct.lax` Python's own.

    Every operation is evaluated when it is called, so prints, debuggers and error tracebacks see values and the user's own lines.

    >>> import cotangent as ct
    >>> with ct.disable_jit():
    ...     value = ct.jit(lambda x: x + 1 if float(x) > 0 else x)(1.0)
    >>> float(value)
    2.0
    """
    return _option("disable_jit", disable)


def debug_nans(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Inside a ``with`` block an operation that makes a NaN raises FloatingPointError, with its name and the user's line.

    Operations are checked one by one, compiled programs by their results: when one holds a NaN the program is run again, operation by
    operation, to find the first that made a NaN which reached the result. Side effects with results (`io_callback`) happen again then.
    NaN in the padding of ragged arrays does not count.

    >>> import cotangent as ct
    >>> with ct.debug_nans():
    ...     ct.jit(lambda x: ct.numpy.log(x) * 2)(-1.0)
    Traceback (most recent call last):
    ...
    FloatingPointError: invalid value (nan) encountered in log...
    """
    return _option("debug_nans", value)


def debug_infs(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Inside a ``with`` block an operation that makes an infinity raises FloatingPointError; as `debug_nans`.

    >>> import cotangent as ct
    >>> with ct.debug_infs():
    ...     ct.jit(lambda x: 1 / x)(0.0)
    Traceback (most recent call last):
    ...
    FloatingPointError: invalid value (inf) encountered in div...
    """
    return _option("debug_infs", value)


@contextlib.contextmanager
def default_device(new_val: Any) -> Iterator[None]:
    """A ``with`` block in which arrays are made on a device, and programs run there that name no other.

    What goes before it: a device that a function is given (``jit(f, device=d)``, ``zeros(3, device=d)``), and a GPU on which an array
    among the operands is. Arrays of the host among them are brought. ``ct.config.update("default_device", d)`` and the environment
    variable ``CT_DEVICE`` are the same for the process.

    Args:
        new_val: a device, its name, or a sharding of one device. None: that of the process.

    Raises:
        ValueError: for what is no device. `cotangent.errors.DeviceError`, by what is done in the block: it cannot be used.

    >>> import cotangent as ct
    >>> with ct.default_device("cuda-emulated"):
    ...     x = ct.numpy.ones(3) * 2
    >>> str(x.device), x.tolist()
    ('cuda-emulated:0', [2.0, 2.0, 2.0])
    """
    backend = backend_for(new_val, "default_device")
    if backend is None:
        yield
        return
    previous = _core.override_default_backend(backend)
    try:
        yield
    finally:
        _core.override_default_backend(previous)


@contextlib.contextmanager
def default_matmul_precision(new_val: str | None) -> Iterator[None]:
    """A ``with`` block that asks for at least this precision in products, which they always have: that of their operands.

    Raises:
        ValueError: for a precision that JAX does not know either.
    """
    _settle("default_matmul_precision", new_val)
    yield


check_arguments(globals())
