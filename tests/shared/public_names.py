"""Which public names of JAX, NumPy and the array API standard this library has: `./dev coverage`.

One line a namespace with the share, then the names that are missing. `public_names.toml` lists what is not counted, with
the reasons, and what the array API standard requires.

    ./dev coverage                     the table and what is missing
    ./dev coverage jax.numpy           one namespace
    ./dev coverage --out-of-scope      also what is not counted
    ./dev coverage --at-least 95       status 1 if a namespace is below
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import sys
import textwrap
import tomllib
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = tomllib.loads((Path(__file__).parent / "public_names.toml").read_text())

# The namespace that names are taken from -> ours.
NAMESPACES = {
    "jax.numpy": "cotangent.numpy",
    "jax.lax": "cotangent.lax",
    "jax.nn": "cotangent.nn",
    "jax.nn.initializers": "cotangent.nn.initializers",
    "jax.random": "cotangent.random",
    "jax.scipy.special": "cotangent.scipy.special",
    "jax.scipy.linalg": "cotangent.scipy.linalg",
    "jax.scipy.stats": "cotangent.scipy.stats",
    "jax.scipy.signal": "cotangent.scipy.signal",
    "jax.scipy.optimize": "cotangent.scipy.optimize",
    "jax.scipy.integrate": "cotangent.scipy.integrate",
    "jax.scipy.fft": "cotangent.scipy.fft",
    "jax.scipy.ndimage": "cotangent.scipy.ndimage",
    "jax.tree_util": "cotangent.tree_util",
    "numpy.linalg": "cotangent.numpy.linalg",
    "numpy.fft": "cotangent.numpy.fft",
    "jax.Array": "cotangent.Array",
    "array API 2024.12": "cotangent.numpy",
}


@dataclass
class Coverage:
    """What a namespace has of the names that count."""

    namespace: str
    present: list[str]
    missing: list[str]
    out_of_scope: dict[str, str]  # name -> reason

    @property
    def percent(self) -> float:
        """The share in percent."""
        return 100.0 * len(self.present) / max(1, len(self.present) + len(self.missing))


def resolve(path: str) -> Any:
    """The object at a dotted path: a module, or an attribute of one. None when there is none."""
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(resolve(module), name, None) if module else None


def public(namespace: str) -> list[str]:
    """The public names of a namespace; of submodules that are distributions, theirs."""
    if namespace == "array API 2024.12":
        return [name for names in DATA["array_api"].values() for name in names]
    if namespace == "jax.Array":
        jax = importlib.import_module("jax")
        return [name for name in dir(jax.numpy.zeros(())) if not name.startswith("_")]
    module = importlib.import_module(namespace)
    names = []
    for name in sorted(getattr(module, "__all__", dir(module))):
        member = getattr(module, name)
        if name.startswith("_"):
            continue
        if not isinstance(member, types.ModuleType):
            names.append(name)
        elif namespace == "jax.scipy.stats":
            names += [f"{name}.{part}" for part in dir(member) if not part.startswith("_")]
    return names


def has(target: Any, name: str) -> bool:
    """Whether a dotted name leads to something."""
    for part in name.split("."):
        # `hasattr` would swallow nothing but AttributeError, and lazily loaded modules raise others.
        try:
            target = getattr(target, part)
        except (AttributeError, ImportError):
            return False
    return target is not None or name.endswith("newaxis")


def out_of_scope(namespace: str, name: str) -> str | None:
    """Why a name does not count, or None."""
    for entry in DATA["out_of_scope"]:
        if namespace in entry["namespaces"] and any(fnmatch.fnmatchcase(name, pattern) for pattern in entry["names"]):
            return str(entry["reason"])
    return None


def measure(namespace: str) -> Coverage:
    """The coverage of one namespace."""
    target = resolve(NAMESPACES[namespace])
    result = Coverage(namespace, [], [], {})
    for name in public(namespace):
        reason = out_of_scope(namespace, name)
        if reason is not None:
            result.out_of_scope[name] = reason
        else:
            (result.present if target is not None and has(target, name) else result.missing).append(name)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev coverage", description="Public names: what is there and what is missing."
    )
    parser.add_argument("namespaces", nargs="*", metavar="NAMESPACE", help=f"of {', '.join(NAMESPACES)}")
    parser.add_argument("--out-of-scope", action="store_true", help="also list the names that are not counted")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT", help="fail below this share")
    options = parser.parse_args()
    for namespace in options.namespaces:
        if namespace not in NAMESPACES:
            parser.error(f"unknown namespace {namespace!r}; there are {', '.join(NAMESPACES)}")
    results = [measure(namespace) for namespace in options.namespaces or NAMESPACES]
    print(f"{'namespace':22} {'ours':28} {'have':>5} {'of':>5} {'share':>8}   not counted")
    for result in results:
        print(
            f"{result.namespace:22} {NAMESPACES[result.namespace]:28} {len(result.present):5} "
            f"{len(result.present) + len(result.missing):5} {result.percent:7.1f}%   {len(result.out_of_scope)}"
        )
    for result in results:
        if result.missing:
            text = textwrap.fill(" ".join(result.missing), 118, initial_indent="  ", subsequent_indent="  ")
            print(f"\n{result.namespace}: missing\n{text}")
        if options.out_of_scope and result.out_of_scope:
            print(f"\n{result.namespace}: not counted")
            for reason in dict.fromkeys(result.out_of_scope.values()):
                names = [name for name, why in result.out_of_scope.items() if why == reason]
                print(textwrap.fill(f"{reason}: {' '.join(names)}", 118, initial_indent="  ", subsequent_indent="    "))
    low = [result.namespace for result in results if result.percent < options.at_least]
    if low:
        print(f"\nbelow {options.at_least:g}%: {', '.join(low)}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of deprecated names
    sys.exit(main())
