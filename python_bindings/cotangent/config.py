"""Settings: of the process, ``ct.config.update("enable_x64", True)``, or of one thread, with a context manager of the setting's name.

``"threads"`` is a number, ``"products"`` and ``"traceback"`` are words, the others switches. Options of JAX whose value cannot be chosen here are accepted
with the value that they have.
"""

from __future__ import annotations

import contextlib
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods, suggestion
from cotangent._base.device import backend_for, device_at
from cotangent._base.names import no_attribute as _no_attribute

_OPTIONS = ("enable_x64", "disable_jit", "debug_nans", "debug_infs")
_CHOSEN = (*_OPTIONS, "threads", "products", "default_device", "traceback")
# The last two for tests: never as written where there is another way; and the same of "direct", in blocks.
_PRODUCTS = ("gram", "direct", "off", "always", "blocks")
_TRACEBACKS = ("short", "full")
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
        raise ValueError(
            f"unknown option {name!r}{suggestion(plain, (*_CHOSEN, *_SETTLED))}\n  the options are {', '.join(map(repr, _CHOSEN))}"
        )
    return plain


def _settle(name: str, value: Any) -> None:
    if value not in _SETTLED[name]:
        near = suggestion(value, _words(name)) if len(_words(name)) > 2 else ""  # 'gpu' is no misspelled 'cpu'
        raise ValueError(f"{name} cannot be {value!r}{near}\n  {_possible(name)}")


def _words(name: str) -> list[str]:
    return [value for value in _SETTLED[name] if isinstance(value, str)]


def _possible(name: str) -> str:
    """What an option that is settled can be set to."""
    values = _SETTLED[name]
    if len(values) == 1:
        return f"leave it: it is always {values[0]!r}"
    return f"set one of {', '.join(map(repr, values))}"


def update(name: str, value: Any) -> None:
    """Sets an option of the process.

    Each option also has its name in JAX, with ``jax_`` in front. A ``with`` block of the option's name sets it for the
    thread that runs the block, and there goes before what is set here.

    Parameters
    ----------
    name : str
        One of these:

        - ``"enable_x64"``: the default dtype of new arrays and of Python numbers is 64 bits wide. Arrays that are 64 bits
          wide already stay so under either setting.
        - ``"disable_jit"``: see `ct.disable_jit`.
        - ``"debug_nans"``, ``"debug_infs"``: see `ct.debug_nans`, `ct.debug_infs`.
        - ``"threads"``: how many threads a compiled program may use, at most; 0 means as many as there are cores for this
          process, and more than these are never used. The environment variable ``CT_THREADS`` sets it at the start.
          Results do not depend on it.
        - ``"default_device"``: see `ct.default_device`; None for the processor.
        - ``"products"``: in which order compiled programs evaluate sums of products that are larger than their factors,
          such as norms of per-example gradients. ``"direct"``, which is set: in any, but sums are computed before they are
          squared. ``"gram"``: these too as is fastest; a squared norm may be an inner product of Gram matrices, which loses
          digits where a norm is tiny next to the products that it is a sum of. ``"off"``: as the program is written.
        - ``"traceback"``: which frames the tracebacks of errors show. ``"short"``, which is set: those of the program that calls
          this package. ``"full"``: the package's own as well. The environment variable ``CT_TRACEBACK`` sets it at the start.
    value : object
        The new value.

    Raises
    ------
    ValueError
        For an unknown name, a number of threads below 0, or another value of an option of JAX that is settled here
        (``"jax_platform_name"`` is ``"cpu"``, ``"jax_numpy_rank_promotion"`` is ``"allow"``, …).
    TypeError
        For a number of threads that is no integer.

    Examples
    --------
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
            raise ValueError(
                f"products={value!r}{suggestion(value, _PRODUCTS)}\n  set one of {', '.join(map(repr, _PRODUCTS[:3]))}"
            )
        for word in _PRODUCTS[1:]:
            _core.set_flag(f"products_{word}", value == word)
        return
    if plain == "traceback":
        if value not in _TRACEBACKS:
            raise ValueError(
                f"traceback={value!r}{suggestion(value, _TRACEBACKS)}\n  set one of {', '.join(map(repr, _TRACEBACKS))}"
            )
        _core.set_full_tracebacks(value == "full")
        return
    if plain == "default_device":
        _core.set_default_backend(backend_for(value, "default_device"))
        return
    if plain != "threads":
        _core.set_flag(plain, _flag(name, value))
        return
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"threads={number}\n  pass a number of threads, 1 for one, or 0 for all cores")
    _core.set_threads(number)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError(f"{name} must be True or False; got {value!r}\n  write True, or False")
    return bool(value)


def read(name: str) -> Any:
    """Returns the value of an option.

    Parameters
    ----------
    name : str
        One of those that `update` takes.

    Returns
    -------
    bool, int, str or Device
        What holds in this thread.

    Raises
    ------
    ValueError
        For an unknown name.

    Examples
    --------
    >>> ct.config.read("enable_x64")
    False
    >>> with ct.enable_x64():
    ...     ct.config.read("jax_enable_x64")
    True
    """
    plain = _name(name)
    if plain in _SETTLED:
        return _SETTLED[plain][0]
    if plain == "products":
        return next((word for word in _PRODUCTS[1:] if _core.get_flag(f"products_{word}")), _PRODUCTS[0])
    if plain == "traceback":
        return _TRACEBACKS[_core.get_full_tracebacks()]
    if plain == "default_device":
        return device_at(_core.default_backend())
    return _core.get_threads() if plain == "threads" else _core.get_flag(plain)


@_core.leaving
def __getattr__(name: str) -> Any:
    # The options by JAX's names: ``ct.config.jax_enable_x64``.
    if name.startswith("jax_") and name.removeprefix("jax_") in (*_CHOSEN, *_SETTLED):
        return read(name)
    raise _no_attribute(__name__, name)


@contextlib.contextmanager
def _option(name: str, value: bool) -> Iterator[None]:
    previous = _core.override_flag(name, _flag(name, value))
    try:
        yield
    finally:
        _core.override_flag(name, previous)


def enable_x64(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Opens a scope in which the default dtypes are 64 bits wide.

    Those of new arrays and of Python numbers: ``ct.numpy.array(1.5)`` is float64. Arrays that have 64 bits keep them
    under either setting. It holds for the thread that runs the block; `cotangent.config.update` sets it for the
    process.

    Parameters
    ----------
    value : bool, default True
        Whether they are; False asks for 32 bits.

    Returns
    -------
    context manager
        It gives None.

    Examples
    --------
    >>> with ct.enable_x64():
    ...     ct.numpy.arange(3).dtype, ct.numpy.array(1.5).dtype
    (dtype('int64'), dtype('float64'))
    """
    return _option("enable_x64", value)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Opens a scope in which nothing is compiled.

    Jitted functions are plain Python functions there, and loops and branches of `cotangent.lax` Python's own. Every
    operation is evaluated when it is called, so prints, debuggers and error tracebacks see values and the user's own
    lines.

    Parameters
    ----------
    disable : bool, default True
        Whether they are.

    Returns
    -------
    context manager
        It gives None.

    Examples
    --------
    >>> with ct.disable_jit():
    ...     value = ct.jit(lambda x: x + 1 if float(x) > 0 else x)(1.0)
    >>> float(value)
    2.0
    """
    return _option("disable_jit", disable)


def debug_nans(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Opens a scope in which an operation that makes a NaN is an error, with its name and the user's line.

    Operations are checked one by one, compiled programs by their results: when one holds a NaN the program is run
    again, operation by operation, to find the first that made a NaN which reached the result. Side effects with results
    (`io_callback`) happen again then. NaN in the padding of ragged arrays does not count.

    Parameters
    ----------
    value : bool, default True
        Whether it does.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    FloatingPointError
        By what is done in the scope.

    Examples
    --------
    >>> with ct.debug_nans():
    ...     ct.jit(lambda x: ct.numpy.log(x) * 2)(-1.0)
    Traceback (most recent call last):
    ...
    FloatingPointError: invalid value (nan) encountered in log...
    """
    return _option("debug_nans", value)


def debug_infs(value: bool = True) -> contextlib.AbstractContextManager[None]:
    """Opens a scope in which an operation that makes an infinity is an error, as one of NaN under `debug_nans`.

    Parameters
    ----------
    value : bool, default True
        Whether it does.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    FloatingPointError
        By what is done in the scope.

    Examples
    --------
    >>> with ct.debug_infs():
    ...     ct.jit(lambda x: 1 / x)(0.0)
    Traceback (most recent call last):
    ...
    FloatingPointError: invalid value (inf) encountered in div...
    """
    return _option("debug_infs", value)


@contextlib.contextmanager
def default_device(new_val: Any) -> Iterator[None]:
    """Opens a scope in which arrays are made on a device, and programs run there that name no other.

    What goes before it: a device that a function is given (``jit(f, device=d)``, ``zeros(3, device=d)``), and a GPU on
    which an array among the operands is. Arrays of the host among them are brought.
    ``ct.config.update("default_device", d)`` and the environment variable ``CT_DEVICE`` are the same for the process.

    Parameters
    ----------
    new_val : Device, str, Sharding or None
        A device, its name, or a sharding of one device. None: that of the process.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    DeviceError`, by what is done in the block
        It cannot be used.
    ValueError
        For what is no device.
    DeviceError
        By what is done in the scope: the device cannot be used.

    Examples
    --------
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
    """Opens a scope that asks for at least this precision in products, which they always have: that of their operands.

    Parameters
    ----------
    new_val : str or None
        One of JAX's names, ``"highest"`` say.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    ValueError
        For a precision that JAX does not know either.

    Examples
    --------
    >>> with ct.default_matmul_precision("bfloat16"):
    ...     float(ct.numpy.dot(np.float32([1.0009765625]), np.float32([1])))
    1.0009765625
    """
    _settle("default_matmul_precision", new_val)
    yield


@leaving_methods
class _Options(types.ModuleType):
    """The module, whose options are not assigned to."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.removeprefix("jax_") in (*_CHOSEN, *_SETTLED):
            raise AttributeError(f"ct.config.{name} cannot be assigned to\n  use ct.config.update({name!r}, {value!r})")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Options
check_arguments(globals())
