"""The law of mask on a program: what it computes, and every derivative, equals the program on arrays without padding.

`check` draws lengths, values, padding and cotangents, and tries the ways in which a masked program is used. Each comparison has the exact
program, run without mask, as its oracle; gradients must be exactly 0 on padding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from mask_programs import Program

BOUND = 4
GARBAGE = (np.nan, np.inf, -np.inf, -3.0, 1e30)
NAMED = True


class Broken(AssertionError):
    """The law does not hold."""


def is_ragged(x: Any) -> bool:
    return isinstance(x, ct.Ragged)


def leaves_of(tree: Any) -> list[Any]:
    return ct.tree.leaves(tree, is_leaf=is_ragged)


class Case:
    """The arguments of a program for some lengths, without padding and with."""

    def __init__(self, program: Program, lengths: dict[str, int], random: np.random.Generator) -> None:
        self.lengths = lengths
        self.random = random
        self.exact: list[Any] = []
        self.ragged: list[Any] = []
        # One array for a length that several arguments share: they are of one length because it is the same.
        self.values = {name: cnp.array(np.int32(size)) for name, size in lengths.items()}
        for kind in program.arguments.values():
            x = random.uniform(-1.3, 1.3, [lengths.get(size, size) for size in kind]).astype(program.dtype)
            self.exact.append(cnp.array(x))
            self.ragged.append(self.padded(x, kind))

    def padded(self, x: np.ndarray[Any, Any], kind: tuple[Any, ...]) -> Any:
        axes = [axis for axis, size in enumerate(kind) if isinstance(size, str)]
        if not axes:
            return cnp.array(x)
        data = spoilt(x, [BOUND if axis in axes else size for axis, size in enumerate(x.shape)], self.random)
        return ct.Ragged._make(
            cnp.array(data),
            {axis - len(kind): self.values[kind[axis]] for axis in axes},
            {axis - len(kind): kind[axis] if NAMED else "" for axis in axes},
        )


def spoilt(x: np.ndarray[Any, Any], shape: list[int], random: np.random.Generator) -> np.ndarray[Any, Any]:
    """``x`` in the first corner of an array of that shape, with garbage elsewhere."""
    data = random.choice(GARBAGE, shape).astype(x.dtype)
    data[tuple(slice(size) for size in x.shape)] = x
    return data


def draw_like(leaf: Any, exact: Any, random: np.random.Generator, constant: bool) -> tuple[Any, Any]:
    """A cotangent (or tangent) for a padded value and the same for the exact one; a constant one when asked for."""
    shape = np.shape(exact)
    x = (np.full(shape, 0.5) if constant else random.standard_normal(shape)).astype(exact.dtype)
    if not is_ragged(leaf):
        return cnp.array(x), cnp.array(x)
    if constant:
        data: Any = cnp.full(leaf.data.shape, 0.5, leaf.data.dtype)
    else:
        data = cnp.array(spoilt(x, list(leaf.data.shape), random))
    return ct.Ragged._make(data, dict(leaf._lengths), dict(leaf._names)), cnp.array(x)


def tangents_of(case: Case) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Random tangents of the arguments; lengths have none."""
    pairs = [draw_like(a, b, case.random, False) for a, b in zip(case.ragged, case.exact, strict=True)]
    none = np.zeros((), ct.dtypes.float0)
    ours = [
        ct.Ragged._make(t.data, dict.fromkeys(t._lengths, none), dict(t._names)) if is_ragged(t) else t
        for t, _ in pairs
    ]
    return tuple(ours), tuple(theirs for _, theirs in pairs)


def without_lengths(tree: Any, like: Any) -> Any:
    """Tangents of padded results with the lengths of the results: theirs are float0."""
    return [
        ct.Ragged._make(t.data, dict(x._lengths), dict(x._names)) if is_ragged(x) else t
        for t, x in zip(leaves_of(tree), leaves_of(like), strict=True)
    ]


def compare(what: str, found: Any, wanted: Any, tolerance: float, zero_padding: bool = False) -> None:
    ours, theirs = leaves_of(found), leaves_of(wanted)
    if len(ours) != len(theirs):
        raise Broken(f"{what}: {len(ours)} results, not {len(theirs)}")
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        b = np.asarray(b)
        x = np.asarray(a.unpad() if is_ragged(a) else a)
        if x.shape != b.shape:
            raise Broken(f"{what}: result {k} has shape {x.shape}, not {b.shape}")
        finite = np.isfinite(b)
        scale = max(1.0, float(np.abs(b[finite]).max())) if finite.any() else 1.0
        if not np.allclose(x, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            raise Broken(f"{what}: result {k}\n{x}\nnot\n{b}")
        if zero_padding and is_ragged(a):
            rest = np.array(a.data)
            rest[tuple(slice(size) for size in b.shape)] = 0
            if not np.all(rest == 0):
                raise Broken(f"{what}: the gradient of padding in result {k} is not 0:\n{np.asarray(a.data)}")


Run = Callable[[Program, Case, float], None]


def check_value(p: Program, case: Case, tolerance: float) -> None:
    compare("mask(f)", ct.mask(p)(*case.ragged), p(*case.exact), tolerance)


def everything(p: Program) -> tuple[int, ...]:
    return tuple(range(len(p.arguments)))


def check_gradients(p: Program, case: Case, tolerance: float) -> None:
    wanted = ct.grad(p.loss, everything(p))(*case.exact)
    compare("grad(mask(f))", ct.grad(ct.mask(p.loss), everything(p))(*case.ragged), wanted, tolerance, True)
    compare("mask(grad(f))", ct.mask(ct.grad(p.loss, everything(p)))(*case.ragged), wanted, tolerance, True)


def check_vjp(p: Program, case: Case, tolerance: float) -> None:
    values, back = ct.vjp(ct.mask(p), *case.ragged)
    exact_values, exact_back = ct.vjp(p, *case.exact)
    compare("value of vjp", values, exact_values, tolerance)
    constant = bool(case.random.random() < 0.3)
    pairs = [draw_like(a, b, case.random, constant) for a, b in zip(values, exact_values, strict=True)]
    found = back(tuple(ours for ours, _ in pairs))
    compare("vjp(mask(f))", found, exact_back(tuple(theirs for _, theirs in pairs)), tolerance, True)


def check_jvp(p: Program, case: Case, tolerance: float) -> None:
    ours, theirs = tangents_of(case)
    values, found = ct.jvp(ct.mask(p), tuple(case.ragged), ours)
    wanted, slopes = ct.jvp(p, tuple(case.exact), theirs)
    compare("value of jvp(mask(f))", values, wanted, tolerance)
    compare("jvp(mask(f))", without_lengths(found, values), slopes, tolerance)


def check_second(p: Program, case: Case, tolerance: float) -> None:
    """Directional derivatives of gradients, taken outside and inside of the mask."""

    def slope(*args: Any) -> Any:
        gradients = ct.grad(p.loss, everything(p))(*args)
        return sum(cnp.sum(g * position_weights(g) * cnp.sin(x)) for g, x in zip(gradients, args, strict=True))

    from mask_programs import position_weights

    wanted = ct.grad(slope, everything(p))(*case.exact)
    compare("grad(mask(slope))", ct.grad(ct.mask(slope), everything(p))(*case.ragged), wanted, tolerance, True)
    compare("mask(grad(slope))", ct.mask(ct.grad(slope, everything(p)))(*case.ragged), wanted, tolerance, True)
    ours, theirs = tangents_of(case)
    values, found = ct.jvp(ct.grad(ct.mask(p.loss), everything(p)), tuple(case.ragged), ours)
    wanted = ct.jvp(ct.grad(p.loss, everything(p)), tuple(case.exact), theirs)[1]
    compare("jvp(grad(mask(f)))", without_lengths(found, values), wanted, tolerance)


def check_names(p: Program, case: Case, tolerance: float) -> None:
    """Lengths as Python ints, axes of one length by name."""
    named = []
    for leaf, kind in zip(case.ragged, p.arguments.values(), strict=True):
        axes = {axis: size for axis, size in enumerate(kind) if isinstance(size, str)}
        if axes:
            named.append(ct.Ragged(leaf.data, {axis: case.lengths[size] for axis, size in axes.items()}, axes))
        else:
            named.append(leaf)
    compare("mask(f) by names", ct.mask(p)(*named), p(*case.exact), tolerance)
    wanted = ct.grad(p.loss)(*case.exact)
    compare("mask(grad(f)) by names", ct.mask(ct.grad(p.loss))(*named), wanted, tolerance, True)


def check_batch(p: Program, case: Case, tolerance: float) -> None:
    """vmap: rows of other lengths beside the one of the case, compared one by one."""
    cases = [case]
    for _ in range(2):
        lengths = {name: draw_length(p, case.random) for name in case.lengths}
        if meaningful(p, lengths):
            cases.append(Case(p, lengths, case.random))
    shared = {name: cnp.array(np.array([c.lengths[name] for c in cases], np.int32)) for name in case.lengths}
    batch = []
    for i, kind in enumerate(p.arguments.values()):
        data = cnp.stack([cnp.array(leaf.data if is_ragged(leaf) else leaf) for leaf in (c.ragged[i] for c in cases)])
        axes = {axis - len(kind): size for axis, size in enumerate(kind) if isinstance(size, str)}
        batch.append(
            ct.Ragged._make(
                data, {a: shared[s] for a, s in axes.items()}, {a: s if NAMED else "" for a, s in axes.items()}
            )
            if axes
            else data
        )
    wanted = [ct.grad(p.loss, everything(p))(*c.exact) for c in cases]
    for what, run, oracle in (
        ("vmap(mask(f))", ct.vmap(ct.mask(p)), [p(*c.exact) for c in cases]),
        ("vmap(grad(mask(f)))", ct.vmap(ct.grad(ct.mask(p.loss), everything(p))), wanted),
        ("vmap(mask(grad(f)))", ct.vmap(ct.mask(ct.grad(p.loss, everything(p)))), wanted),
    ):
        found = leaves_of(run(*batch))
        for row in range(len(cases)):
            one = [
                ct.Ragged._make(leaf.data[row], {a: n[row] for a, n in leaf._lengths.items()}, dict(leaf._names))
                if is_ragged(leaf)
                else leaf[row]
                for leaf in found
            ]
            compare(f"{what}, row {row}", one, oracle[row], tolerance, "grad" in what)


def check_jit(p: Program, case: Case, tolerance: float) -> None:
    """Compiled once for all lengths, and with lengths as constants."""
    both = lambda *args: (p(*args), ct.grad(p.loss, everything(p))(*args))  # noqa: E731
    outside = lambda *args: (ct.mask(p)(*args), ct.grad(ct.mask(p.loss), everything(p))(*args))  # noqa: E731
    compiled = ct.jit(outside)
    cases = [case]
    for size in (BOUND, p.least):
        if meaningful(p, dict.fromkeys(case.lengths, size)):
            cases.append(Case(p, dict.fromkeys(case.lengths, size), case.random))
    for one in cases:
        compare(f"jit(mask(f)), lengths {one.lengths}", compiled(*one.ragged), both(*one.exact), tolerance)
    one = cases[int(case.random.integers(len(cases)))]

    def constant(*data: Any) -> Any:
        made = {name: cnp.full((), size, "int32") for name, size in one.lengths.items()}
        args = []
        for array, leaf, kind in zip(data, one.ragged, p.arguments.values(), strict=True):
            axes = {axis - len(kind): size for axis, size in enumerate(kind) if isinstance(size, str)}
            args.append(
                ct.Ragged._make(array, {a: made[s] for a, s in axes.items()}, dict(leaf._names)) if axes else array
            )
        return outside(*args)

    data = [leaf.data if is_ragged(leaf) else leaf for leaf in one.ragged]
    compare(f"jit(mask(f)), constant lengths {one.lengths}", ct.jit(constant)(*data), both(*one.exact), tolerance)


def draw_length(p: Program, random: np.random.Generator) -> int:
    return max(p.least, int(random.choice([0, 1, BOUND, int(random.integers(0, BOUND + 1))])))


def meaningful(p: Program, lengths: dict[str, int]) -> bool:
    """Whether the program without padding works for these lengths: an empty axis has no first element."""
    none = np.random.default_rng(0)
    try:
        p(*Case(p, lengths, none).exact)
    except (IndexError, ValueError):
        return False
    return True


# How often each way is tried.
WAYS: dict[str, tuple[Run, float]] = {
    "value": (check_value, 1.0),
    "gradients": (check_gradients, 1.0),
    "vjp": (check_vjp, 0.7),
    "names": (check_names, 0.15),
    "jvp": (check_jvp, 0.15),
    "second": (check_second, 0.2),
    "batch": (check_batch, 0.15),
    "jit": (check_jit, 0.01),
}


def check(p: Program, tried: Counter[str], only: str | None = None) -> None:
    """Tries the ways in which a masked program is used, some of them; counts them in ``tried``.

    Raises:
        Broken: the law does not hold, or the masked program fails where the exact one does not.
    """
    random = np.random.default_rng((p.seed, 1))
    tolerance = 1e-7 if p.dtype == np.float64 else 2e-3
    sizes = {size for kind in p.arguments.values() for size in kind if isinstance(size, str)}
    for way, (run, share) in WAYS.items():
        # The same draws whichever ways are tried.
        chosen = random.random() < share
        lengths = {name: draw_length(p, random) for name in sorted(sizes)}
        seed = int(random.integers(2**31))
        if (not chosen and way != only) or (only is not None and way != only):
            continue
        if way == "second" and not p.smooth:
            continue
        if not meaningful(p, lengths):
            tried["no such length"] += 1
            continue
        case = Case(p, lengths, np.random.default_rng(seed))
        try:
            run(p, case, tolerance)
        except Broken as broken:
            raise Broken(f"{p}\n{way}, lengths {lengths}\n{broken}") from None
        except NotImplementedError:
            tried["refused"] += 1
            raise
        except Exception as error:
            raise Broken(f"{p}\n{way}, lengths {lengths}\n{type(error).__name__}: {error}") from error
        tried[way] += 1
