"""The names of JAX's modules, from `names.txt`, which `tests/ecosystem/write_jax_names.py` writes from JAX itself."""

from __future__ import annotations

from pathlib import Path

__all__ = ["JAX_VERSION", "MODULES", "NAMES"]


def _read() -> tuple[str, dict[str, dict[str, str | None]]]:
    version = ""
    modules: dict[str, dict[str, str | None]] = {}
    for line in (Path(__file__).parent / "names.txt").read_text().splitlines():
        words = line.split()
        if words[0] == "version":
            version = words[1]
        elif words[0] != "#":
            names: dict[str, str | None] = {}
            for word in words[1:]:
                name, _, place = word.partition("=")
                # "name=module" is that name in the module, "name=module.other:" another.
                names[name] = (place.removesuffix(":") if place.endswith(":") else f"{place}.{name}") if place else None
            modules[words[0]] = names
    return version, modules


# The version of JAX whose interface is followed; for each of its modules the names in it, and where the same object is public.
JAX_VERSION, NAMES = _read()

# Parents of modules are modules, whether or not anything in them is listed.
MODULES = {".".join(name.split(".")[:length]) for name in NAMES for length in range(1, name.count(".") + 2)}
