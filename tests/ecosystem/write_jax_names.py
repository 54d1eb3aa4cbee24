"""Writes `python_bindings/cotangent/jax/names.txt`: what JAX's modules have, for `cotangent.jax`. Run with JAX and nothing else installed.

    python -m venv jax-environment && jax-environment/bin/pip install jax==VERSION
    jax-environment/bin/python tests/ecosystem/write_jax_names.py

One line a module: its name and the names in it. A private module names its own, and behind "=" the public place where the same object
is, if there is one: libraries take `jax._src.core.Tracer` for `jax.core.Tracer`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
import warnings
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "python_bindings" / "cotangent" / "jax" / "names.txt"

# Compilers for other machines, tools and test utilities of JAX itself: no library's business.
LEFT_OUT = ("pallas", "mosaic", "jax.tools", "jax2tf", "_src.test", "cudnn", "tpu",
            "roofline", "source_mapper", "lapack", "_src.lib", "internal_test", "_src.xla_metadata", "fused", "_src.cloud_tpu",
            "extend.mlir", "_src.clusters", "_src.debugger", "_src.cache", "_src.lru", "_src.hardware", "_src.export.shape_poly_decision")  # fmt: skip


def load_all() -> None:
    """Imports every module of JAX that can be imported here."""
    package = importlib.import_module("jax")
    for module in pkgutil.walk_packages(package.__path__, "jax.", onerror=lambda name: None):
        if not any(part in module.name for part in LEFT_OUT):
            try:
                importlib.import_module(module.name)
            except Exception as error:  # a module that needs what is not installed
                print(f"left out: {module.name}: {error}", file=sys.stderr)


def deprecated_names(module: types.ModuleType) -> list[str]:
    """The names that a module gives with a warning: those in the table of its `__getattr__`."""
    function = getattr(module, "__getattr__", None)
    cells = getattr(inspect.unwrap(function), "__closure__", None) or () if function else ()
    tables = [cell.cell_contents for cell in cells if isinstance(cell.cell_contents, dict)]
    return [name for table in tables for name in table if isinstance(name, str)]


def own_names(module: types.ModuleType) -> list[str]:
    """The names of a public module; of a private one those that are defined in it."""
    names = [name for name in dir(module) if not name.startswith("__")]
    if not module.__name__.startswith("jax._src"):
        names = [name for name in names if not name.startswith("_") or name.startswith("_src")]
        deprecated = [name for name in deprecated_names(module) if not name.startswith("_") and hasattr(module, name)]
        return sorted({*names, *deprecated})
    found = []
    for name in (name for name in names if not name.startswith("_") or name == "_registry"):
        value = vars(module).get(name)
        if isinstance(value, types.ModuleType):
            continue
        # Objects that are no classes or functions have the home of their class.
        has_home = isinstance(value, type) or (callable(value) and hasattr(value, "__name__"))
        home = (getattr(value, "__module__", None) if has_home else None) or module.__name__
        # What is public is defined in private modules, and says that its home is the public one.
        if home == module.__name__ or (home.startswith("jax.") and not home.startswith("jax._src")):
            found.append(name)
    return sorted(found)


def public_places(modules: dict[str, types.ModuleType]) -> dict[int, str]:
    """From an object to where users find it: the shortest of its public names."""
    places: dict[int, str] = {}
    for module_name, module in sorted(modules.items(), key=lambda item: (item[0].count("."), item[0])):
        if module_name.startswith(("jax._src", "jax.example")):
            continue
        for name in own_names(module):
            value = vars(module).get(name)
            if isinstance(value, (type, types.FunctionType)) or callable(value):
                places.setdefault(id(value), f"{module_name}.{name}")
    return places


def main() -> None:
    """Writes the file."""
    warnings.simplefilter("ignore")
    load_all()
    importlib.import_module("jaxlib.xla_client")
    modules = {name: module for name, module in sys.modules.items()
               if (name in ("jax", "jaxlib.xla_client") or name.startswith("jax.")) and not any(part in name for part in LEFT_OUT)}  # fmt: skip
    places = public_places(modules)
    lines = [
        f"# The names of JAX's modules; written by tests/ecosystem/{Path(__file__).name}",
        f"version {modules['jax'].__version__}",
    ]
    for module_name, module in sorted(modules.items()):
        words = [module_name]
        for name in own_names(module):
            place = places.get(id(vars(module).get(name))) if module_name.startswith("jax._src") else None
            if place is None:
                words.append(name)
            elif place.rsplit(".", 1)[1] == name:
                words.append(f"{name}={place.rsplit('.', 1)[0]}")
            else:
                words.append(f"{name}={place}:")
        lines.append(" ".join(words))
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
