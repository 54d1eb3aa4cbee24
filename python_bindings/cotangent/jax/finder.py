"""The mechanism: modules named as JAX's, in which a name is looked up when it is first used.

`resolve` is the order in which it is looked for: the counterparts in `cotangent.jax.mirror`, which is laid out as JAX is; the public
place of a private name; the module of `cotangent` with the same name; JAX's own list of names, to tell what is missing here from what
JAX lacks as well, where there is an AttributeError as in JAX.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cotangent import _core
from cotangent._base.arguments import leaving_methods, suggestion
from cotangent._base.device import Device
from cotangent._core import Array, JitFunction
from cotangent.jax import behaviour, narrowing, tracebacks
from cotangent.jax.mirror.errors import JaxRuntimeError
from cotangent.jax.missing import missing
from cotangent.jax.names import JAX_VERSION, MODULES, NAMES
from cotangent.jax.narrowing import narrowed

__all__ = ["install", "is_installed", "uninstall"]

_NOT_HERE = object()  # a name may well stand for None
_MIRROR = "cotangent.jax.mirror"
_HERE = str(Path(__file__).parent)
# Their functions take the frames out themselves.
_LEAVES = (narrowing.__file__, tracebacks.__file__)
# Classes of JAX's extension module, by which libraries dispatch.
_JAXLIB = {
    "ArrayImpl": Array,
    "Device": Device,
    "JaxRuntimeError": JaxRuntimeError,
    "PjitFunction": JitFunction,
    "XlaRuntimeError": JaxRuntimeError,
}
_VERSION_INFO = tuple(int(part) for part in JAX_VERSION.split("."))


def _is_ours(name: str) -> bool:
    return name.split(".")[0] in ("jax", "jaxlib")


def _module_or_none(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _has_mirror(name: str) -> bool:
    path = Path(__file__).parent.joinpath("mirror", *name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _counterpart(name: str) -> Any:
    """What is a module of JAX's here: a module, or a part of one, such as the distributions of `cotangent.scipy.stats`."""
    found = _module_or_none(name)
    if found is not None:
        return found
    parent, _, last = name.rpartition(".")
    owner = _module_or_none(parent)
    return getattr(owner, last, None) if owner is not None else None


def _object_at(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class StandIn(types.ModuleType):
    """A module of JAX, answered from here."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, answered by cotangent")
        suffix = name.removeprefix("jax")
        self._mirror = _module_or_none(_MIRROR + suffix) if name.startswith("jax.") or name == "jax" else None
        # The package's own private modules are not JAX's.
        public = name == "jax" or (name.startswith("jax.") and not suffix.startswith("._"))
        self._target = _counterpart("cotangent" + suffix) if public else None
        self.__all__ = sorted(key for key in NAMES.get(name, {}) if not key.startswith("_"))
        if name in ("jax", "jaxlib", "jax.version", "jaxlib.version"):
            self.__version__ = JAX_VERSION
            self.__version_info__ = _VERSION_INFO

    @_core.leaving
    def __getattr__(self, name: str) -> Any:
        value = _leaving(resolve(self, name))
        # Kept, so that later uses cost what an attribute of a module costs. What the user sets is kept where it is set.
        setattr(self, name, value)
        return value

    def __dir__(self) -> Iterable[str]:
        return sorted({*vars(self), *self.__all__})


_known: dict[Any, Any] = {}  # functions and classes by which errors leave


def _leaving(found: Any) -> Any:
    """What programs call as JAX's, out of which errors come without the frames of this package."""
    if isinstance(found, type):
        for kind in found.__mro__:
            if kind.__module__.startswith("cotangent.jax.") and kind not in _known:
                _known[kind] = leaving_methods(kind)
        return found
    if not isinstance(found, types.FunctionType):
        return found
    file = found.__code__.co_filename
    if not file.startswith(_HERE) or file in _LEAVES:
        return found
    if found not in _known:
        name, home = found.__name__, vars(sys.modules[str(found.__module__)])
        _known[found] = _core.leaving(found)
        if home.get(name) is found:  # where pickles look for it
            home[name] = _known[found]
    return _known[found]


def resolve(module: StandIn, name: str) -> Any:
    """What a name in a module of JAX stands for.

    Raises:
        AttributeError: JAX has no such name either.
    """
    own = vars(module)
    mirror, target, path = own["_mirror"], own["_target"], f"{module.__name__}.{name}"
    known = NAMES.get(module.__name__, {})
    if module.__name__.startswith("jaxlib.") and name in _JAXLIB:
        return _JAXLIB[name]
    # What JAX of this version has not is not there, even where older ones had it: libraries ask, and go by the answer.
    private = module.__name__.startswith("jax._src") or name.startswith("_")  # of which JAX's list has none or not all
    if name in getattr(mirror, "__all__", ()) and (name in known or private):
        return getattr(mirror, name)
    if path in MODULES:
        return importlib.import_module(path)
    place = known.get(name)
    if place is not None:
        return _object_at(place)
    # A private module has what the public one of its name has.
    public = module.__name__.replace("jax._src.", "jax.", 1)
    if public != module.__name__ and public in MODULES and (name not in known or name in NAMES[public]):
        return getattr(importlib.import_module(public), name)
    if name not in known:
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}{suggestion(name, known)}")
    found = getattr(target, name, _NOT_HERE) if target is not None else _NOT_HERE
    if found is _NOT_HERE or isinstance(found, types.ModuleType):
        return missing(path)
    return narrowed(found, module.__name__, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of JAX's modules, and questions for its version among the installed distributions."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not _is_ours(fullname):
            return None
        if fullname not in MODULES and not fullname.startswith("jaxlib") and not _has_mirror(fullname):
            return None  # ModuleNotFoundError, as in JAX: its own files are not looked at, because `path` is empty
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None: ...

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        name = getattr(context, "name", None)
        return [_Distribution(name)] if name in ("jax", "jaxlib") else []


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata` says of JAX: its version."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {JAX_VERSION}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        return Path(path)


_FINDER = _Finder()


def is_installed() -> bool:
    """Whether imports of JAX are answered from here."""
    return _FINDER in sys.meta_path


def install() -> None:
    """Puts the finder before all others.

    Raises:
        RuntimeError: JAX itself was imported before.
    """
    if is_installed():
        return
    others = [name for name in ("jax", "jaxlib") if name in sys.modules]
    if others:
        raise RuntimeError(
            f"cotangent.jax.install: {others[0]} itself has been imported in this process, and objects of both cannot be told apart\n"
            "  call install() before anything imports jax, or run the program with `python -m cotangent.jax program.py`"
        )
    sys.meta_path.insert(0, _FINDER)
    importlib.invalidate_caches()
    behaviour.start()


def uninstall() -> None:
    """Takes the finder away, and the modules that it made."""
    if not is_installed():
        return
    sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if _is_ours(name)]:
        del sys.modules[name]
    behaviour.stop()
