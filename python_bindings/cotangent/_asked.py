"""Who asks a traced array for its elements, and what to write there instead.

An array is asked for its truth, a number or its elements by what cannot say what it wants them for: `min` compares, `"%f" % x` converts,
another package looks at memory. The line of the program that asks knows it. `instead` looks at that line's instruction: the function that it
calls, or the operator, and at the packages that stand between it and the array. It is asked once there is an error; what it cannot tell keeps
the words that the error has for the use itself (``interpreter/capture_state.cc``).
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import importlib
import itertools
import sys
import types
from typing import Any

from cotangent import _core
from cotangent._base.calls import called, calling_frame, instruction, later_instructions
from cotangent._base.messages import with_hint
from cotangent._core import Array
from cotangent.errors import ConcretizationError

# The line that was told last what to write, for functions in C that drop the error which says it and raise one of their own.
_told: contextvars.ContextVar[tuple[types.CodeType, int | None, str] | None] = contextvars.ContextVar(
    "told", default=None
)


def plain(x: Array, use: str) -> Any:
    """The elements as NumPy's array, to leave the program with; ``use`` is what asks for them."""
    return _taken(_core.to_numpy, x, use)


def peeked(x: Array, use: str) -> Any:
    """The elements, to look at."""
    return _taken(_core.peek_numpy, x, use)


def _taken(take: Any, x: Array, use: str) -> Any:
    try:
        return take(x, use)
    except ConcretizationError as error:
        found = instead(use, str(error))
        if found is None:
            raise
        raise ConcretizationError(with_hint(error, *found)) from None


# ---- The line that asks ----------------------------------------------------------------------------------------------


def _called(frame: types.FrameType) -> tuple[Any, tuple[str, ...]] | None:
    """What a function calls where it is: an object, and the names by which the source goes on from it. None where it calls nothing.

    Modules are gone into, as nothing happens there: of ``np.random.normal(x)`` it is NumPy's function and no names; of ``model.fit(x)`` the model
    and ``fit``.
    """
    call = called(frame)
    if call is None:
        return None
    found, (_, *names) = call
    while names and isinstance(found, types.ModuleType) and hasattr(found, names[0]):
        found = getattr(found, names.pop(0))
    return found, tuple(names)


def _public_module(module: str) -> str:
    return ".".join(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")))


def _dotted(found: Any, names: tuple[str, ...]) -> str:
    """The public name of what is called, as its package has it; empty where it has none."""
    for holder in (found, type(found)):
        module = _public_module(getattr(holder, "__module__", None) or "")
        for name in (getattr(found, "__name__", ""), *vars(sys.modules.get(module, types))):
            if name and getattr(sys.modules.get(module), name, None) is found:
                return ".".join((module, name, *names)).removeprefix("builtins.").replace(".()", "()")
    return ""


def _package(found: Any) -> str:
    """The module that something is of: of a method that is bound, its object's."""
    owner = getattr(found, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return type(owner).__module__
    module: str = getattr(found, "__module__", None) or type(found).__module__
    return module


# ---- What to write there ---------------------------------------------------------------------------------------------

_CHOICE = "which is an array: choose by it with ct.numpy.where or ct.lax.cond"
_FORMAT = "to print it while the program runs: ct.debug.print('{:.2f}', x); or return it, and format what is returned"
# What Python's own functions do with an array's truths.
_BUILTINS: dict[Any, str] = {
    builtins.min: "use ct.numpy.min(x) for min(x), ct.numpy.minimum(a, b) for min(a, b)",
    builtins.max: "use ct.numpy.max(x) for max(x), ct.numpy.maximum(a, b) for max(a, b)",
    builtins.sorted: "use ct.numpy.sort(x) for sorted(x), of a list ct.numpy.sort(ct.numpy.array(items))",
    builtins.any: f"use ct.numpy.any(x) for any(x), {_CHOICE}",
    builtins.all: f"use ct.numpy.all(x) for all(x), {_CHOICE}",
}
_RANDOM = ("random", "numpy.random")
_WITH_NUMBERS = "call it with what the function returns, or within the function through ct.pure_callback"


def instead(use: str, message: str) -> tuple[str, str] | None:
    """What to write instead of the line that asks, and the section of docs/errors.md; None where nothing is known of the line.

    Args:
        use: what is asked for: ``bool()``, ``float()``, ``conversion to a NumPy array``.
        message: of the error that there is.
    """
    frame = asks = calling_frame()
    while frame is not None and _core.author_of(frame.f_code) != "user":
        frame = frame.f_back
    hint, section = (_direct(asks) if frame is asks and asks is not None else None) or ("", "concrete-value-needed")
    if not hint and frame is not None:
        hint = _by_call(frame, direct=frame is asks)
    hint = hint or asked_by_library(asks)
    if not hint and asks is not None and frame is not asks:
        hint = _of_package(asks, frame)
    if not hint:
        return None
    if use == "index()" and section == "concrete-value-needed":
        hint += ", or pass the argument as static (static_argnums, static_argnames)"
    if asks is not None:
        _told.set((asks.f_code, asks.f_lineno, f"{hint}\n  see docs/errors.md#{section}"))
    if "stop_gradient" in message and section == "concrete-value-needed":  # there are values, which are differentiated
        return f"{hint}, or make it a constant with ct.lax.stop_gradient(x) first", "plain-value-in-a-derivative"
    return hint, section


def explain_dropped(error: TypeError) -> None:
    """Gives the error of a function in C what the array had said that it asked in vain, if that is the line that it comes from."""
    told, end = _told.get(), error.__traceback__
    if told is None or end is None:
        return
    _told.set(None)
    line = None
    while end is not None:
        if _core.author_of(end.tb_frame.f_code) in ("user", "package"):  # what follows is of the packages that it calls
            line = end.tb_frame.f_code, end.tb_lineno
        end = end.tb_next
    if line == told[:2] and len(error.args) == 1:
        error.args = (f"{error.args[0]}\n  {told[2]}",)


def _direct(frame: types.FrameType) -> tuple[str, str] | None:
    """What to write for an operator or a statement that asks."""
    found = instruction(frame)
    if found is None:
        return None
    if found.opname == "CONTAINS_OP":
        return f"use ct.numpy.any(x == v) for v in x, {_CHOICE}", "concrete-value-needed"
    if found.opname == "BINARY_OP" and found.argrepr == "%":
        return _FORMAT, "concrete-value-needed"
    if found.opname == "STORE_SUBSCR":
        return (
            "arrays of NumPy hold values only: make it with ct.numpy, as ct.numpy.zeros(n), or a = ct.numpy.asarray(a), and write a[i] = x into that",
            "buffer-of-numpy",
        )
    if found.opname.endswith("_SUBSCR") or found.argrepr == "[]":
        return (
            "to index an array a of NumPy's with a traced one, make it one of this package: ct.numpy.asarray(a)[i]",
            "buffer-of-numpy",
        )
    if _is_assertion(frame):
        return (
            "use ct.checkify.check(condition, 'message') in a function that ct.checkify.checkify has made, or assert outside of what is captured",
            "concrete-value-needed",
        )
    return None


def _is_assertion(frame: types.FrameType) -> bool:
    later = later_instructions(frame.f_code, frame.f_lasti)
    return any(x.opname == "LOAD_ASSERTION_ERROR" or x.argval is AssertionError for x in itertools.islice(later, 2))


def _by_call(frame: types.FrameType, direct: bool) -> str:
    """What to write for a call that asks: of a function of Python's, or of another package; empty if it asks for what it should."""
    call = _called(frame)
    if call is None:
        return ""
    found, names = call
    package = _package(found)
    if not names and isinstance(found, types.BuiltinFunctionType | type) and direct:
        with contextlib.suppress(TypeError):  # not hashable
            if found in _BUILTINS:
                return _BUILTINS[found]
    if isinstance(found, list) and names == ("sort",):
        return _BUILTINS[builtins.sorted]
    if package in ("math", "cmath"):
        return _elementary(package, getattr(found, "__name__", ""))
    name = _dotted(found, names)
    if package.startswith(_RANDOM) and package.split(".")[0] in ("random", "numpy"):
        return (
            f"numbers are drawn by a key, an argument of the function, key = ct.random.key(0): ct.random.{_drawn(name)}"
        )
    top = package.partition(".")[0]
    if top in ("numpy", "scipy"):
        return _by_name(name) if name else ""
    author = _core.author_of(found.__code__) if isinstance(found, types.FunctionType) else ""
    if top in ("builtins", "__main__", "cotangent") or author == "user" or (direct and not name):
        return ""
    if direct and author == "package":
        return ""
    if not _is_installed(top):
        return ""
    return _computes_with_numbers(name or top)


def _computes_with_numbers(name: str) -> str:
    return f"{name} computes with numbers, which a traced array has not: {_WITH_NUMBERS}"


def _of_package(frame: types.FrameType | None, users: types.FrameType | None) -> str:
    """What to write where the package that the user's line has come to by an operator asks; empty for NumPy and SciPy, and where nobody is the user."""
    package = ""
    while frame is not None and frame is not users:
        package = (frame.f_globals.get("__name__") or "").partition(".")[0]
        frame = frame.f_back
    return (
        ""
        if users is None or not _is_installed(package) or package in ("numpy", "scipy")
        else _computes_with_numbers(package)
    )


def _is_installed(package: str) -> bool:
    """Whether a package is not the user's own: one that is installed, or of Python's own library."""
    file = getattr(sys.modules.get(package), "__file__", None)
    return package in sys.stdlib_module_names or (file is not None and "-packages" in file)


def _elementary(package: str, name: str) -> str:
    for ours in ("numpy", "scipy.special"):
        if hasattr(importlib.import_module(f"cotangent.{ours}"), name):
            return f"use ct.{ours}.{name}(x) for {package}.{name}(x)"
    return ""


def _drawn(name: str) -> str:
    """The call of ct.random that draws what a function of NumPy's or Python's does."""
    last = name.rpartition(".")[2]
    if last in ("shuffle", "permutation", "sample"):
        return "permutation(key, x)"
    if last == "choice":
        return "choice(key, x)"
    if last in ("randint", "integers", "randrange"):
        return "randint(key, (3,), 0, n)"
    if last in ("uniform", "random", "rand"):
        return "uniform(key, (3,))"
    return "normal(key, (3,))"


# ---- NumPy and SciPy -------------------------------------------------------------------------------------------------


def _public_name(frame: Any, library: str) -> str:
    """The name of the public function of a library that a frame runs, or that is what its decorator wraps; or empty."""
    code = [(frame.f_globals.get("__name__") or "", frame.f_code.co_name)]
    wrapped = [
        (value.__module__ or "", value.__name__)
        for value in frame.f_locals.values()
        if isinstance(value, types.FunctionType)
    ]
    for module, name in code + wrapped:
        public = _public_module(module)
        found = getattr(sys.modules.get(public), name, None)
        if public.partition(".")[0] == library and callable(found) and not name.startswith("_"):
            return f"{public}.{name}"
    return ""


def asked_by_library(frame: Any) -> str:
    """What to do, where a function of NumPy or SciPy asked for the elements of a traced array: its counterpart's name, if it has one.

    Empty if the user's own code did.
    """
    found = ""
    while frame is not None:
        library = (frame.f_globals.get("__name__") or "").partition(".")[0]
        if library not in ("numpy", "scipy"):
            break
        found = _public_name(frame, library) or found
        frame = frame.f_back
    return _by_name(found) if found else ""


# Those that are there to make elements of NumPy's: what the use itself says of them is what there is to say.
_CONVERSIONS = ("numpy.array", "numpy.asarray", "numpy.asanyarray", "numpy.ascontiguousarray", "numpy.asfortranarray")


def _by_name(name: str) -> str:
    """What to do for a function of NumPy or SciPy, by its name."""
    if name in _CONVERSIONS:
        return ""
    module, *names = name.split(".")
    counterpart: Any = None
    with contextlib.suppress(ImportError, AttributeError):
        counterpart = importlib.import_module(f"cotangent.{module}")
        for part in names:
            counterpart = getattr(counterpart, part)
            if part == names[-1] and callable(counterpart) and not _needs_elements(counterpart):
                return f"use ct.{name}, which takes traced arrays, for {name}"
    return f"{name} computes with elements: compose it of functions of ct.numpy and ct.scipy, or call it through ct.pure_callback"


def _needs_elements(function: Any) -> bool:
    """Whether a function of this package writes files, or texts, which traced arrays cannot be in."""
    return getattr(function, "__module__", "") == "cotangent.numpy.exchange"
