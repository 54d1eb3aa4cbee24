"""What is public, asked of the package itself: namespaces, their names, and what each name's documentation is about.

The site's reference (`docs/cotangent_site/`), the checks of docstrings and `./dev coverage --docstrings` all start here.
"""

from __future__ import annotations

import ast
import collections
import importlib
import inspect
import types
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

# Those that no package offers, and that are imported by name. Below the first stand JAX's modules under JAX's names.
BY_THEIR_OWN_NAME = ("cotangent.jax", "cotangent.experimental.ode")

_OF_C = (types.MethodDescriptorType, types.BuiltinFunctionType)
_TUPLE_FIELD = type(collections.namedtuple("_Pair", "first").first)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Entry:
    """A public name of a namespace, or of a class in it."""

    namespace: str
    name: str
    value: Any
    owner: type | None = None  # the class, of a member of one

    @property
    def path(self) -> str:
        return f"{self.namespace}.{self.name}"

    @property
    def is_class(self) -> bool:
        return isinstance(self.value, type)

    @property
    def is_function(self) -> bool:
        """Whether it is called: a function, or an object of this package that stands for one."""
        return callable(self.value) and not self.is_class and typing.get_origin(self.value) is None

    @property
    def is_object(self) -> bool:
        """Whether it stands for functions that are its methods, as a distribution does."""
        return not callable(self.value) and type(self.value).__module__.startswith("cotangent")

    @property
    def doc(self) -> str:
        """Its own docstring, without indentation; empty for values, whose docstring is that of their class. Of an object its class's will do."""
        value = self.value
        if self.is_object:
            return inspect.cleandoc(value.__doc__ or "")
        if isinstance(value, property):
            value = value.fget
        if not (self.is_class or self.is_function or inspect.isdatadescriptor(value) or inspect.isroutine(value)):
            own = vars(value).get("__doc__") if hasattr(value, "__dict__") else None
            return inspect.cleandoc(own) if isinstance(own, str) else ""
        return inspect.cleandoc(getattr(value, "__doc__", None) or "")

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, on one line."""
        return " ".join(self.doc.split("\n\n")[0].split())

    @property
    def signature(self) -> inspect.Signature | None:
        """How it is called, without self; None where Python does not know."""
        try:
            found = inspect.signature(self.value)
        except (TypeError, ValueError):
            return None
        parameters = list(found.parameters.values())
        if self.owner is not None and parameters and not self._is_static():
            first = parameters[0]
            by_position = first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
            # A function of the package may be a method: then the object is its first argument, whatever that is called.
            if first.name in ("self", "cls") or (by_position and not isinstance(self.value, _OF_C)):
                parameters = parameters[1:]
        return found.replace(parameters=parameters)

    def _is_static(self) -> bool:
        held = inspect.getattr_static(self.owner, self.name.rpartition(".")[2])
        return isinstance(held, staticmethod | classmethod)

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, stars left out."""
        return list(self.signature.parameters) if self.signature is not None else []


@cache
def _offered(namespace: str) -> tuple[str, ...]:
    """The names that a module offers: its ``__all__``, and what its file imports as such or from all of a module, or defines."""
    module = importlib.import_module(namespace)
    tree = ast.parse(inspect.getsource(module))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = {alias.name for node in imports for alias in node.names if alias.asname == alias.name}
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return tuple(sorted(found | set(listed)))
    for node in imports:
        if node.names[0].name == "*" and node.module:
            found |= set(importlib.import_module(node.module).__all__)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    public = (name for name in sorted(found) if not name.startswith("_"))
    return tuple(name for name in public if not _is_annotation(getattr(module, name)))


def _is_annotation(value: Any) -> bool:
    """Whether it is a name for a type, which a module without ``__all__`` has for itself."""
    return isinstance(value, TypeVar) or typing.get_origin(value) is not None


@cache
def namespaces() -> tuple[str, ...]:
    """The modules that programs import: the package, and of each of them those modules within it that it offers."""
    found: list[str] = []
    waiting = ["cotangent", *BY_THEIR_OWN_NAME]
    while waiting:
        name = waiting.pop()
        module = importlib.import_module(name)
        inner = [getattr(module, offered) for offered in _offered(name) if offered not in ("annotations",)]
        waiting += [
            value.__name__
            for value in inner
            if isinstance(value, types.ModuleType) and value.__name__.startswith(f"{name}.")
        ]
        found.append(name)
    return tuple(sorted(set(found)))


@cache
def entries(namespace: str) -> tuple[Entry, ...]:
    """The public names of a namespace that are not modules."""
    module = importlib.import_module(namespace)
    found = [Entry(namespace, name, getattr(module, name)) for name in _offered(namespace)]
    return tuple(entry for entry in found if not isinstance(entry.value, types.ModuleType))


def members(entry: Entry) -> list[Entry]:
    """The public methods and properties of a class of this package, with those of its bases in the package, or of an object."""
    if entry.is_object:
        bound = [(name, getattr(entry.value, name)) for name in dir(entry.value) if not name.startswith("_")]
        return [Entry(entry.namespace, f"{entry.name}.{name}", value) for name, value in bound if callable(value)]
    found = []
    for name in dir(entry.value):
        if name.startswith("_"):
            continue
        holder = next((base for base in entry.value.__mro__ if name in vars(base)), None)
        if holder is None or not holder.__module__.startswith("cotangent"):
            continue
        value = inspect.getattr_static(entry.value, name)
        if isinstance(value, staticmethod | classmethod):
            value = getattr(entry.value, name)
        of_tuple = isinstance(value, _TUPLE_FIELD)  # described by the class
        if callable(value) or (inspect.isdatadescriptor(value) and not of_tuple):
            found.append(Entry(entry.namespace, f"{entry.name}.{name}", value, entry.value))
    return found


@cache
def homes() -> dict[int, str]:
    """Where an object is documented in full, by its identity: in the module that it says it is of, else where it is met first."""
    found: dict[int, str] = {}
    for namespace in sorted(namespaces(), key=lambda name: (name.count("."), name)):
        for entry in entries(namespace):
            if entry.is_class or entry.is_function:
                named = getattr(entry.value, "__module__", "") == namespace
                if id(entry.value) not in found or named:
                    found[id(entry.value)] = entry.path
    return found
