"""``jax.experimental.colocated_python``: Python beside the devices of its arguments, which is this process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import tree_util
from cotangent._base.arguments import leaving_methods
from cotangent._base.capture import ShapeDtypeStruct
from cotangent.jax.internals.meshes import Mesh

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The processors beside devices, or a mesh of these: the devices themselves, which are processors."""
    return devices_or_mesh if isinstance(devices_or_mesh, Mesh) else tuple(devices_or_mesh)


def _spec(x: Any) -> ShapeDtypeStruct:
    if not isinstance(x, ct.Array):
        raise ValueError(
            f"colocated_python only supports jax.Array as input and output, but got {type(x)}.\n"
            "  convert it with jnp.asarray"
        )
    return ShapeDtypeStruct(x.shape, x.dtype)


def _check(what: str, expected: Any, given: Any) -> None:
    """Raises ValueError where trees of types differ."""
    leaves, structure = tree_util.tree_flatten(expected)
    found, its_structure = tree_util.tree_flatten(given)
    if structure != its_structure:
        raise ValueError(
            f"{what} must have the structure {structure}; got {its_structure}\n"
            "  call specialize with the types that they have"
        )
    for spec, other in zip(leaves, found, strict=True):
        if (tuple(spec.shape), spec.dtype) != (tuple(other.shape), other.dtype):
            raise ValueError(
                f"{what} must be {spec.dtype}{list(spec.shape)}; got {other.dtype}{list(other.shape)}\n"
                "  call specialize with the types that they have"
            )


@leaving_methods
class _Colocated:
    """A function that is called beside the devices of its arguments."""

    def __init__(
        self, fun: Callable[..., Any], in_specs: Any = None, out_specs_fn: Any = None, devices: Any = None
    ) -> None:
        self._fun = fun
        self._in_specs = in_specs
        self._out_specs_fn = out_specs_fn
        self._devices = devices
        functools.update_wrapper(self, fun)

    def specialize(
        self,
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Sequence[Any] | None = None,
    ) -> _Colocated:
        """The function for arguments of certain types, ``(args, kwargs)``, with what tells its results' types.

        Raises:
            ValueError: what is given was given before.
        """
        for name, before, given in (
            ("in_specs", self._in_specs, in_specs),
            ("out_specs_fn", self._out_specs_fn, out_specs_fn),
            ("devices", self._devices, devices),
        ):
            if before is not None and given is not None:
                raise ValueError(f"{name} already specified\n  specialize the function that has none yet")
        return _Colocated(
            self._fun,
            self._in_specs if in_specs is None else in_specs,
            self._out_specs_fn if out_specs_fn is None else out_specs_fn,
            self._devices if devices is None else devices,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = tree_util.tree_map(_spec, (args, kwargs))
        if self._in_specs is not None:
            expected = self._in_specs
            pair = len(expected) == 2 and isinstance(expected[0], tuple) and isinstance(expected[1], dict)
            _check("the arguments", expected if pair else (tuple(expected), {}), given)
        results = self._fun(*args, **kwargs)
        types = tree_util.tree_map(_spec, results)
        if self._out_specs_fn is not None:
            _check("the results", self._out_specs_fn(*given[0], **given[1]), types)
        return results


def colocated_python(fun: Callable[..., Any]) -> _Colocated:
    """The function, which takes and returns arrays, with ``specialize``."""
    return _Colocated(fun)


def colocated_python_class(cls: type[Any]) -> type[Any]:
    """A class whose object is made beside the devices of the arguments of the first method that is called."""

    @leaving_methods
    class Wrapped:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._made: Any = None
            make: Callable[..., Any] = cls
            self._make = functools.partial(make, *args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not callable(getattr(cls, name, None)):
                raise AttributeError(
                    f"{cls.__name__!r} has no method {name!r}\n"
                    f"  its methods: {', '.join(word for word in dir(cls) if not word.startswith('_')) or 'none'}"
                )

            def call(*args: Any, **kwargs: Any) -> Any:
                if self._made is None:
                    self._made = self._make()
                return getattr(self._made, name)(*args, **kwargs)

            return _Colocated(call)

    Wrapped.__name__, Wrapped.__qualname__, Wrapped.__doc__ = cls.__name__, cls.__qualname__, cls.__doc__
    return Wrapped
