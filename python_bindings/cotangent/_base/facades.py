"""Packages that are the names of several modules, of which those that few programs need are loaded when one of their names is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base.names import no_attribute


def loaded_at_first_use(
    namespace: dict[str, Any],
    modules: Sequence[str],
    packages: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package.

    Args:
        namespace: the package's.
        modules: those within it whose names are the package's. They are loaded one after the other until one has the name: those
            with what is asked for most come first.
        packages: those within it that are members themselves.
    """
    package = namespace["__name__"]
    pending = list(modules)

    def load(module: str) -> None:
        members = vars(importlib.import_module(f"{package}.{module}"))
        namespace.update({name: members[name] for name in members["__all__"]})
        if module in pending:
            pending.remove(module)

    def public() -> list[str]:
        for module in list(pending):
            load(module)
        names = [name for name, value in namespace.items() if name[0] != "_" and not isinstance(value, type(importlib))]
        return sorted(names)

    def get(name: str) -> Any:
        if name in packages:
            return importlib.import_module(f"{package}.{name}")
        if name == "__all__":
            return namespace.setdefault(name, public())
        if not name.startswith("_"):
            for module in list(pending):
                load(module)
                if name in namespace:
                    break
            if name in namespace:
                return namespace[name]
        raise no_attribute(package, name)

    return _core.leaving(get), lambda: sorted({*namespace, *public(), *packages})
