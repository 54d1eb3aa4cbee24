"""Nests that contain themselves or are very deep: an error that says how deep is too deep, never the end of the process."""

from __future__ import annotations

import collections
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

DEEP = 100_000
TOO_DEEP = "a pytree nests deeper than 1000 levels, or contains itself"
Pair = collections.namedtuple("Pair", "head tail")


@ct.tree_util.register_dataclass
@dataclasses.dataclass
class Node:
    value: Any
    rest: Any


class Link:
    def __init__(self, rest: Any) -> None:
        self.rest = rest


ct.tree_util.register_pytree_node(Link, lambda link: ((link.rest,), None), lambda _, children: Link(*children))

WRAPS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "dict": lambda x: {"a": x},
    "namedtuple": lambda x: Pair(1.0, x),
    "dataclass": lambda x: Node(1.0, x),
    "custom": Link,
}


def nested(wrap: Callable[[Any], Any], depth: int, leaf: Any = 1.0) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


def unwound(tree: Any) -> None:
    """Takes a nest apart from the outside: some of Python's objects cannot be freed when they are that deep."""
    while not isinstance(tree, float):
        if isinstance(tree, (Link, Node)):
            rest = tree.rest
            tree.rest = 1.0
            tree = rest
        elif isinstance(tree, dict):
            tree = tree["a"]
        else:
            tree = tree[-1]


def itself() -> list[Any]:
    result: list[Any] = [1.0]
    result.append(result)
    return result


USES: dict[str, Callable[[Any], Any]] = {
    "flatten": ct.tree_util.tree_flatten,
    "leaves": ct.tree_util.tree_leaves,
    "structure": ct.tree_util.tree_structure,
    "map": lambda tree: ct.tree_util.tree_map(lambda x: x, tree),
    "reduce": lambda tree: ct.tree_util.tree_reduce(lambda x, y: x, tree),
    "all": ct.tree_util.tree_all,
    "paths": ct.tree_util.tree_leaves_with_path,
    "jit": ct.jit(lambda tree: 1.0),
    "jit of a result": lambda tree: ct.jit(lambda: tree)(),
    "grad": lambda tree: ct.grad(lambda tree: 1.0)(tree),
    "vmap": lambda tree: ct.vmap(lambda tree: 1.0)(tree),
    "eval_shape": lambda tree: ct.eval_shape(lambda tree: tree, tree),
    "scan": lambda tree: ct.lax.scan(lambda c, x: (c, x), tree, None, length=2),
    "device_put": ct.device_put,
    "ravel_pytree": lambda tree: ct.flatten_util.ravel_pytree(tree),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", WRAPS)
def test_deep_trees(use: str, kind: str) -> None:
    tree = nested(WRAPS[kind], DEEP if kind == "list" else 3_000)
    try:
        with pytest.raises(ValueError, match=TOO_DEEP):
            USES[use](tree)
    finally:
        unwound(tree)


@pytest.mark.parametrize("use", USES)
def test_trees_that_contain_themselves(use: str) -> None:
    with pytest.raises(ValueError, match=TOO_DEEP):
        USES[use](itself())


@pytest.mark.parametrize("kind", WRAPS)
def test_trees_of_the_greatest_depth(kind: str) -> None:
    tree = nested(WRAPS[kind], 999, 2.0)
    leaves, structure = ct.tree_util.tree_flatten(tree)
    assert leaves[-1] == 2.0
    assert ct.tree_util.tree_leaves(structure.unflatten(leaves)) == leaves
    assert structure == ct.tree_util.tree_structure(tree)
    assert hash(structure) == hash(ct.tree_util.tree_structure(tree))
    assert repr(structure).count("*") == len(leaves)
    assert ct.tree_util.tree_leaves(ct.tree_util.tree_map(lambda x: x + 1, tree))[-1] == 3.0
    smaller = nested(WRAPS[kind], 990, 2.0)  # within the arguments' tuple
    assert ct.tree_util.tree_leaves(ct.jit(lambda tree: tree)(smaller))[-1] == 2.0
    assert len(ct.tree_util.tree_leaves_with_path(smaller)[-1][0]) == 990


def test_structures_made_of_structures() -> None:
    structure = ct.tree_util.tree_structure(nested(WRAPS["list"], 600))
    with pytest.raises(ValueError, match=TOO_DEEP):
        structure.compose(structure)
    deeper = ct.tree_util.tree_structure(nested(WRAPS["list"], 999))
    with pytest.raises(ValueError, match=TOO_DEEP):
        ct.tree_util.treedef_tuple([deeper])
    assert pickle.loads(pickle.dumps(deeper)) == deeper
    nodes = [*deeper.__getstate__()[0]] if hasattr(deeper, "__getstate__") and deeper.__getstate__() else []
    if nodes:
        damaged = type(deeper).__new__(type(deeper))
        with pytest.raises(ValueError, match=TOO_DEEP):
            damaged.__setstate__((nodes[:1] * 2000 + nodes[-1:],))


@pytest.mark.parametrize("make", [cnp.array, cnp.asarray, cnp.sum, lambda x: cnp.ones(3) + cnp.array(x), ct.lax.add])
@pytest.mark.parametrize("deep", ["deep", "itself"])
def test_deep_lists_as_arrays(make: Any, deep: str) -> None:
    value = nested(WRAPS["list"], DEEP) if deep == "deep" else itself()
    with pytest.raises((ValueError, TypeError), match=r"more than 64 levels|takes arrays and numbers|missing"):
        make(value)
    assert cnp.array(nested(WRAPS["list"], 64)).ndim == 64


def test_deep_blocks() -> None:
    for value in (nested(WRAPS["list"], DEEP), itself()[1:]):
        with pytest.raises(ValueError, match="block: lists nest deeper than the 64 axes of an array"):
            cnp.block(value)


def test_deep_indices() -> None:
    x = cnp.arange(3.0)
    for index in (nested(WRAPS["tuple"], DEEP), nested(WRAPS["list"], DEEP), tuple(itself()), (None,) * DEEP):
        with pytest.raises((ValueError, TypeError, IndexError)):
            x[index]
        with pytest.raises((ValueError, TypeError, IndexError)):
            x.at[index].set(1.0)


def test_objects_that_never_become_arrays() -> None:
    class Mirror:
        def __jax_array__(self) -> Any:
            return self

    with pytest.raises(TypeError, match="__jax_array__ of a Mirror does not lead to an array"):
        cnp.sin(Mirror())


def test_deeply_nested_functions() -> None:
    """Python's own limit is reached first."""
    for wrap in (ct.jit, ct.grad, ct.checkpoint, lambda f: ct.vmap(f, in_axes=None, axis_size=1, out_axes=None)):

        def function(x: Any) -> Any:
            return x * x

        nest = function
        for _ in range(3000):
            nest = (lambda inner, wrap: lambda x: wrap(inner)(x))(nest, wrap)
        with pytest.raises(RecursionError):
            nest(np.float32(2.0))


def test_deep_programs() -> None:
    opened = "graph (a: float32[]) {\n" + "  b = call[graph=graph (a: float32[]) {\n" * 50_000
    for text in (opened, "graph " + "(" * DEEP, "graph (a: float32[]) {\n  b = full[value=" + "[" * DEEP):
        with pytest.raises((ValueError, TypeError), match=r":\d+"):
            ct.ir.parse(text)
