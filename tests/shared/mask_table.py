"""The table of masks: each public array function with ragged arguments, and what is said of it in `docs/masks.md`.

    python tests/shared/mask_table.py            what has no row, or one too many
    python tests/shared/mask_table.py --write    writes the page

`mask_cases.toml` has the calls; `test_mask_table.py` tries them. A call is right when for every length, and garbage as padding, mask gives
what the call gives for arrays of that length; so do gradients, which are 0 on padding.
"""

from __future__ import annotations

import importlib
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from places import ROOT

PAGE = ROOT / "docs" / "masks.md"
NAMESPACES = [
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers", "random", "scipy.special", "scipy.linalg",
    "scipy.stats", "scipy.signal", "scipy.optimize", "scipy.integrate", "scipy.fft", "scipy.ndimage", "scipy.interpolate", "image", "ops",
]  # fmt: skip
BOUND = 5
LENGTHS = [0, 1, 3, BOUND]
_HELPERS = {
    "check_arguments",
    "backend_for",
    "is_dimension",
    "real_dtype",
    "Initializer",
}  # imports of a module without a list of names
GARBAGE = {"f": np.nan, "c": complex(np.nan, np.inf), "i": 77, "u": 99, "b": True}


@dataclass(frozen=True)
class Row:
    """What the table says of one function."""

    namespace: str
    name: str
    calls: tuple[str, ...] = ()
    refused: str = ""
    none: str = ""

    @property
    def path(self) -> str:
        return f"{self.namespace}.{self.name}"

    @property
    def function(self) -> Any:
        return getattr(module(self.namespace), self.name)


def module(namespace: str) -> types.ModuleType:
    return importlib.import_module(f"cotangent.{namespace}")


def public(namespace: str) -> Iterator[str]:
    """The names of a namespace that are called: functions, distributions, and the few classes that are array functions."""
    home = module(namespace)
    own = getattr(home, "__all__", None)
    for name in sorted(own if own is not None else vars(home)):
        member = getattr(home, name)
        if name.startswith("_") or isinstance(member, types.ModuleType):
            continue
        if own is None and (name in _HELPERS or not getattr(member, "__module__", "").startswith("cotangent")):
            continue
        if isinstance(member, type):
            if name in ("gaussian_kde", "ModeResult", "RegularGridInterpolator"):
                yield name
        elif callable(member) or (namespace == "scipy.stats" and not isinstance(member, str)):
            yield name


@cache
def rows() -> dict[str, Row]:
    """The table by full names."""
    found: dict[str, Row] = {}
    groups = tomllib.loads((Path(__file__).parent / "mask_cases.toml").read_text())["group"]
    for group in groups:
        calls_of = {name: tuple(group.get("calls", ())) for name in group.get("names", "").split()}
        calls_of |= {name: tuple(calls) for name, calls in group.get("by_name", {}).items()}
        for name, calls in calls_of.items():
            row = Row(group["namespace"], name, calls, group.get("refused", ""), group.get("none", ""))
            if row.path in found:
                raise ValueError(f"{row.path} has two rows")
            found[row.path] = row
    return found


def expected() -> list[str]:
    return [f"{namespace}.{name}" for namespace in NAMESPACES for name in public(namespace)]


# ---- Arguments -------------------------------------------------------------------------------------------------------


def exact_arguments(n: int) -> dict[str, Any]:
    """The arguments by their letters, of n elements."""
    random = np.random.default_rng(5)

    def drawn(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    square = drawn(BOUND, BOUND)[:n, :n]
    made = {
        "v": drawn(BOUND)[:n], "w": drawn(BOUND)[:n], "p": random.uniform(0.3, 2, BOUND)[:n], "q": random.uniform(0.1, 0.9, BOUND)[:n],
        "c": (drawn(BOUND) + 1j * drawn(BOUND))[:n], "i": random.integers(0, 6, BOUND)[:n], "j": random.integers(0, 6, BOUND)[:n],
        "b": random.integers(0, 2, BOUND)[:n] > 0, "u": random.integers(0, 200, BOUND)[:n].astype(np.uint8),
        "o": np.cumsum(random.uniform(0.1, 1, BOUND))[:n], "m": drawn(BOUND, 3)[:n], "t": drawn(3, BOUND)[:, :n], "s": square,
        "h": square @ square.T + np.eye(n) * 2, "d": square + square.T, "l": np.tril(square, -1) + np.eye(n) * 2,
        "x": drawn(2, 3, BOUND)[:, :, :n], "y": drawn(1, BOUND, 2)[:, :n], "g": drawn(2, BOUND, 3)[:, :n],
        "r": random.integers(0, 6, (BOUND, 3))[:n], "a": square + 1j * square.T,
        "e": np.array([1.0, -0.5, 2.0]), "z": np.array(0.5),
    }  # fmt: skip
    narrow = {"f": "float32", "c": "complex64", "i": "int32", "u": "uint8", "b": "bool"}
    return {name: value.astype(narrow[value.dtype.kind]) for name, value in made.items()} | {"k": ct.random.key(3)}


RAGGED = dict.fromkeys("vwpqcijbuomr", (0,)) | {"t": (1,), "x": (2,), "y": (1,), "g": (1,)}
RAGGED |= dict.fromkeys("shdla", (0, 1))


def padded(name: str, value: Any) -> Any:
    """The argument with garbage behind its length."""
    if name not in RAGGED:
        return value
    axes = RAGGED[name]
    shape = [BOUND if axis in axes else size for axis, size in enumerate(value.shape)]
    data = np.full(shape, GARBAGE[value.dtype.kind], value.dtype)
    data[tuple(map(slice, value.shape))] = value
    return ct.Ragged(cnp.asarray(data), {axis: value.shape[axis] for axis in axes}, dict.fromkeys(axes, "n"))


@dataclass
class Call:
    """A call of the table as a function of its arguments."""

    text: str
    function: Any

    def __post_init__(self) -> None:
        self.code = compile(self.text, f"<{self.text}>", "eval")
        found = names_of(self.code)
        self.arguments = [name for name in exact_arguments(0) if name in found]

    def __call__(self, *values: Any) -> Any:
        known = dict(zip(self.arguments, values, strict=True))
        names = {"f": self.function, "np": cnp, "lax": ct.lax, "nn": ct.nn, "ct": ct, **known}
        return ct.tree.leaves(eval(self.code, names))

    def exact(self, n: int) -> list[Any]:
        made = exact_arguments(n)
        return [made[name] if name == "k" else cnp.asarray(made[name]) for name in self.arguments]

    def ragged(self, n: int) -> list[Any]:
        made = exact_arguments(n)
        return [
            padded(name, made[name]) if name in RAGGED else value
            for name, value in zip(self.arguments, self.exact(n), strict=True)
        ]

    def differentiable(self) -> tuple[int, ...]:
        return tuple(at for at, name in enumerate(self.arguments) if name in "vwpqomtshdlxygez")


def names_of(code: types.CodeType) -> set[str]:
    inner = [names_of(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    return set(code.co_names).union(*inner)


# ---- The law ---------------------------------------------------------------------------------------------------------


def is_ragged(x: Any) -> bool:
    return isinstance(x, ct.Ragged)


def compare(
    what: str, found: list[Any], wanted: list[Any], zero_padding: bool = False, tolerance: float = 2e-4
) -> None:
    """Equal shapes, dtypes and values.

    Raises:
        AssertionError: they are not.
    """
    assert len(found) == len(wanted), f"{what}: {len(found)} results, not {len(wanted)}"
    for ours, theirs in zip(found, wanted, strict=True):
        if is_ragged(ours) and zero_padding:
            rest = np.array(ours.data)
            rest[tuple(map(slice, theirs.shape))] = 0
            assert not rest.any(), f"{what}: padding is not 0: {np.asarray(ours.data)}"
        got, want = np.asarray(ours.unpad() if is_ragged(ours) else ours), np.asarray(theirs)
        assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
        assert got.dtype == want.dtype, f"{what}: {got.dtype}, not {want.dtype}"
        scale = float(np.abs(want[np.isfinite(want)]).max(initial=1.0)) if want.dtype.kind in "fc" else 1.0
        close = np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        assert close, f"{what}:\n{got}\nnot\n{want}"


def leaves(tree: Any) -> list[Any]:
    return ct.tree.leaves(tree, is_leaf=is_ragged)


NO_RESULT = (ValueError, IndexError, ZeroDivisionError, TypeError)  # what there is none of for no elements, or one


def tried(call: Call) -> int:
    """Checks the law of one call; for how many lengths there is something to check."""
    count = 0
    for n in LENGTHS:
        try:
            wanted = call(*call.exact(n))
        except NO_RESULT:
            continue
        count += 1
        compare(f"{call.text}, length {n}", leaves(ct.mask(call)(*call.ragged(n))), wanted)
        if n in (0, 3):
            check_gradients(call, n, wanted)
    return count


def check_gradients(call: Call, n: int, wanted: list[Any]) -> None:
    where = call.differentiable()
    if not where or not any(np.asarray(x).dtype.kind in "fc" for x in wanted):
        return

    def loss(*arguments: Any) -> Any:
        total = cnp.zeros(())
        for result in call(*arguments):
            if result.dtype.kind in "fc":
                weighted = (
                    cnp.sin(cnp.real(result)) + 0.5 * cnp.imag(result) if result.dtype.kind == "c" else cnp.sin(result)
                )
                total = total + cnp.sum(cnp.where(cnp.isfinite(result), weighted, 0))
        return total

    try:
        exact = ct.grad(loss, where)(*call.exact(n))
    except (NotImplementedError, ct.errors.NotDifferentiableError):
        return
    found = ct.grad(ct.mask(loss), where)(*call.ragged(n))
    compare(f"gradient of {call.text}, length {n}", leaves(found), list(exact), True, 1e-3)


def refuses(call: Call) -> bool:
    try:
        ct.mask(call)(*call.ragged(3))
    except NotImplementedError as error:
        return "ragged" in str(error)
    return False


# ---- The page --------------------------------------------------------------------------------------------------------

HEAD = """# What mask knows of each function

For every function of arrays, calls with ragged arguments, and whether `ct.mask` gives for every length what the call gives for arrays
without padding. `tests/ragged/test_mask_table.py` tries them all, with NaN as padding, and their gradients; `python tests/shared/mask_table.py --write`
writes this page. Letters are arguments with n elements along some axis: `v` and `w` have shape [n], `m` [n, 3], `t` [3, n], `s` [n, n]; `e` is an
exact array. Where a length is not what a function can have (no elements to take the mean of), the result means nothing.
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for namespace in NAMESPACES:
        parts.append(f"## {namespace}\n\n| function | |\n|---|---|")
        for row in sorted(rows().values(), key=lambda row: row.name.lower()):
            if row.namespace != namespace:
                continue
            if row.none:
                says = f"not a function of arrays: {row.none}"
            elif row.refused:
                says = f"documented error: {row.refused}"
            else:
                says = "works: " + ", ".join(f"`{call}`".replace("|", "\\|") for call in row.calls)
            parts.append(f"| `{row.name}` | {says} |")
        parts.append("")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Writes or compares."""
    names, table = set(expected()), rows()
    for path in sorted(names - table.keys()):
        print(f"no row: {path}")
    for path in sorted(table.keys() - names):
        print(f"no such function: {path}")
    if "--write" in arguments:
        PAGE.write_text(page())
    return 0 if names == table.keys() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
