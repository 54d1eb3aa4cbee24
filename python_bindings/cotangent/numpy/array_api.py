"""What the array API standard (2024.12) asks of the namespace itself: its version, and what it is capable of."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.device import Device, check_device, device_at, devices
from cotangent._base.words import not_among

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


@leaving_methods
class NamespaceInfo:
    """What ``cotangent.numpy`` is capable of, by the array API standard.

    Examples
    --------
    >>> ct.numpy.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """

    def capabilities(self) -> dict[str, Any]:
        """The optional parts of the standard that there are.

        Boolean indexing and shapes that depend on data need values that are known, so they are not there under
        ``jit``.

        Returns
        -------
        dict
            Names to bools, and the largest number of axes.

        Examples
        --------
        >>> ct.numpy.__array_namespace_info__().capabilities()
        {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 64}
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where new arrays are.

        Returns
        -------
        Device

        Examples
        --------
        >>> ct.numpy.__array_namespace_info__().default_device()
        CpuDevice(id=0)
        """
        return device_at(_core.default_backend())

    def devices(self) -> list[Device]:
        """Where arrays can be: the devices that `cotangent.devices` finds, and the default one.

        Returns
        -------
        list of Device

        Examples
        --------
        >>> ct.numpy.ones(1).device in ct.numpy.__array_namespace_info__().devices()
        True
        """
        found = devices()
        default = self.default_device()
        return found if default in found else [*found, default]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes that functions choose; they are 64 bits wide with ``enable_x64``.

        Parameters
        ----------
        device : Device or str, optional
            Without effect: they are the same everywhere.

        Returns
        -------
        dict
            ``"real floating"``, ``"complex floating"``, ``"integral"`` and ``"indexing"`` to dtypes.

        Examples
        --------
        >>> ct.numpy.__array_namespace_info__().default_dtypes()["integral"]
        dtype('int32')
        """
        check_device(device, "default_dtypes")
        integer = _core.default_int_dtype()
        return {
            "real floating": _core.default_float_dtype(),
            "complex floating": _core.default_complex_dtype(),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of the standard by name: all, or those of a kind or of several.

        Parameters
        ----------
        device : Device or str, optional
            Without effect: they are the same everywhere.
        kind : str or tuple of str, optional
            Such as ``"integral"``; see `isdtype`.

        Returns
        -------
        dict
            Names to dtypes.

        Raises
        ------
        ValueError
            There is no such kind.

        Examples
        --------
        >>> list(ct.numpy.__array_namespace_info__().dtypes(kind="complex floating"))
        ['complex64', 'complex128']
        """
        check_device(device, "dtypes")
        kinds = tuple(_KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        names: list[str] = []
        for item in kinds:
            for part in _UNIONS.get(item, (item,)):
                if part not in _KINDS:
                    raise not_among("dtypes", "kind", item, (None, *_KINDS, *_UNIONS))
                names += _KINDS[part]
        return {name: _core.canonical_dtype(name) for name in dict.fromkeys(names)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807
    """What this namespace is capable of, by the array API standard.

    Returns
    -------
    NamespaceInfo
        With ``capabilities()``, ``default_device()``, ``default_dtypes()``, ``devices()`` and ``dtypes()``.

    Examples
    --------
    >>> ct.numpy.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return NamespaceInfo()


check_arguments(globals())
