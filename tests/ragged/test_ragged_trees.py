"""What `ct.tree` does with a Ragged: functions of leaves are given its data, and lengths stay what they are."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def batch() -> ct.Ragged:
    return ct.ragged([[1.0, 2.0], [3.0], []], bound=4, names={0: "n"})


def rows(x: Any) -> list[Any]:
    return [row.tolist() for row in x.to_list()]


def test_arithmetic_leaves_lengths_alone() -> None:
    x = batch()
    for mapped in (ct.tree.map(lambda a: 2 * a, x), ct.tree_util.tree_map_with_path(lambda _, a: 2 * a, x)):
        assert rows(mapped) == [[2, 4], [6], []]
        assert mapped.names == {1: "n"} and mapped._lengths[-1] is x._lengths[-1]
    assert rows(ct.tree.map(lambda a, b: a - b, {"w": x}, {"w": x})["w"]) == [[0, 0], [0], []]


def test_deep_in_a_tree_and_beside_other_leaves() -> None:
    tree = {"a": (batch(), 3.0), "b": [None, batch()]}
    doubled = ct.tree.map(lambda a: 2 * a, tree)
    assert doubled["a"][1] == 6.0 and doubled["b"][0] is None
    assert rows(doubled["a"][0]) == rows(doubled["b"][1]) == [[2, 4], [6], []]
    paths = [ct.tree_util.keystr(path) for path, _ in ct.tree.leaves_with_path(tree)]
    assert paths == ["['a'][0].data", "['a'][1]", "['b'][1].data"]
    found = []
    ct.tree.map_with_path(lambda path, leaf: found.append(ct.tree_util.keystr(path)), tree)
    assert found == paths


def test_leaves_are_the_data_and_a_structure_has_all() -> None:
    x = batch()
    assert [leaf.shape for leaf in ct.tree.leaves(x)] == [(3, 4)]
    assert float(ct.tree.reduce(lambda a, b: a + cnp.sum(b), x, 0.0)) == 6.0
    leaves, structure = ct.tree.flatten(x)
    assert [leaf.shape for leaf in leaves] == [(3, 4), (3,)] and structure == ct.tree.structure(x)
    assert rows(ct.tree.unflatten(structure, leaves)) == rows(x)
    assert structure.num_leaves == 2


def test_trees_of_different_lengths_are_an_error() -> None:
    x, y = ct.Ragged(cnp.ones(3), {0: 2}), ct.Ragged(cnp.ones(3), {0: 1})
    with pytest.raises(ct.errors.ShapeError, match="the axes 0 of two Ragged arrays have lengths 2 and 1"):
        ct.tree.map(lambda a, b: a + b, x, y)
    with pytest.raises(ct.errors.ShapeError, match="have lengths 1 and 2 in example 1"):
        ct.tree.map(lambda a, b: a + b, batch(), ct.ragged([[1.0, 1.0], [2.0, 3.0], []], bound=4, names={0: "n"}))
    with pytest.raises(ValueError, match="structure"):
        ct.tree.map(lambda a, b: a + b, x, cnp.ones(3))
    with pytest.raises(ValueError, match="structures differ"):
        ct.tree.map(lambda a, b: a + b, ct.Ragged(cnp.ones((3, 3)), {0: 2}), ct.Ragged(cnp.ones((3, 3)), {1: 2}))
    assert ct.tree.map(lambda a, b: a + b, ct.Ragged(cnp.ones(3), {0: 2}, {0: "n"}), x).names == {0: "n"}


def test_unequal_lengths_of_a_program_are_found_by_checkify() -> None:
    def f(n: Any, m: Any) -> Any:
        x, y = (ct.Ragged(cnp.ones(3), {0: k}) for k in (n, m))
        return ct.mask(cnp.sum)(ct.tree.map(lambda a, b: a + b, x, y))

    checked = ct.checkify.checkify(ct.jit(f), errors=ct.checkify.index_checks)
    assert checked(np.int32(2), np.int32(2))[0].get() is None and float(checked(np.int32(2), np.int32(2))[1]) == 4
    assert "different lengths" in (checked(np.int32(2), np.int32(3))[0].get() or "")


def test_functions_that_take_away_what_lengths_are_of() -> None:
    x = batch()
    for f in (lambda a: a[0], lambda a: a[:2], lambda a: cnp.sum(a), lambda a: a[:, :2], lambda a: a.T):
        with pytest.raises(ct.errors.ShapeError, match=r"tree.map: axis 1 of a Ragged, of bound 4"):
            ct.tree.map(f, x)


def test_a_batch_stacked_in_front_has_lengths_of_its_own() -> None:
    x = ct.Ragged(cnp.arange(3.0), {0: 2})
    twice = ct.tree.map(lambda *parts: cnp.stack(parts), x, x)
    assert rows(twice) == [[0, 1], [0, 1]]
    assert ct.vmap(ct.mask(cnp.sum))(twice).tolist() == [1, 1]
    assert ct.tree.map(lambda a: a[None], batch()).lengths[2].tolist() == [[2, 1, 0]]


def test_examples_of_different_lengths_are_stacked() -> None:
    examples = [{"x": ct.Ragged(np.arange(4.0) + n, {0: n}, {0: "n"}), "y": np.float32(n)} for n in (2, 0, 3)]
    for stack in (np.stack, lambda xs: cnp.stack(xs)):
        found = ct.tree.map(lambda *xs: stack(xs), *examples)
        assert rows(found["x"]) == [[2, 3], [], [3, 4, 5]] and found["x"].names == {1: "n"}
        assert found["x"].lengths[1].dtype == np.int32 and found["y"].tolist() == [2, 0, 3]
    total = ct.jit(lambda *xs: ct.vmap(ct.mask(cnp.sum))(ct.tree.map(lambda *parts: cnp.stack(parts), *xs)))
    assert total(*(example["x"] for example in examples)).tolist() == [5, 0, 12]
    pairs = ct.tree.map(lambda *xs: cnp.stack(xs), batch(), batch() * 2)
    assert pairs.lengths[2].tolist() == [[2, 1, 0]] * 2


def test_what_is_said_of_leaves_is_said_of_lengths_too() -> None:
    x = batch()
    axes = ct.tree.map(lambda _: 0, x)
    assert ct.vmap(ct.mask(cnp.sum), in_axes=(axes,))(x).tolist() == [3, 3, 0]
    keep = ct.tree.map(lambda a: a if a.ndim == 2 else None, (x, cnp.ones(1)))
    assert keep[1] is None and rows(keep[0]) == rows(x)
    none = ct.tree.map(lambda a: None, x)
    back = ct.tree.map(lambda a, b: b if a is None else a, none, x, is_leaf=lambda v: v is None)
    assert rows(back) == rows(x)
    pairs = ct.tree.map(lambda a: (a, 2 * a), x)
    assert rows(ct.tree.map(lambda pair: pair[1], pairs, is_leaf=lambda v: isinstance(v, tuple))) == [[2, 4], [6], []]
    whole = ct.tree.map(lambda v: v.lengths[1].tolist(), [x], is_leaf=lambda v: isinstance(v, ct.Ragged))
    assert whole == [[2, 1, 0]]


def test_an_optimizer_step_with_momentum_compiles_once() -> None:
    traces = []

    def loss(p: Any, scale: Any) -> Any:
        return cnp.sum(ct.vmap(ct.mask(lambda x: cnp.sum((x - 1) ** 2)))(p["rows"])) * scale + p["b"] ** 2

    @ct.jit
    def step(p: Any, m: Any, scale: Any) -> Any:
        traces.append(1)
        g = ct.grad(loss)(p, scale)
        norm = cnp.sqrt(sum(cnp.sum(leaf**2) for leaf in ct.tree.leaves(g)))
        m = ct.tree.map(lambda a, b: 0.5 * a + b, m, g)
        return ct.tree.map(lambda a, b: a - 0.1 * b, p, m), m, norm

    for lengths in ([2, 0, 4], [1, 1, 1]):
        exact = [np.random.default_rng(n).normal(size=n) for n in lengths]
        padded = np.full((3, 4), 9.0)
        for row, values in zip(padded, exact, strict=True):
            row[: len(values)] = values
        p: Any = {"rows": ct.Ragged(padded.astype("float32"), {1: np.array(lengths)}), "b": cnp.float32(3.0)}
        m = ct.tree.map(cnp.zeros_like, p)
        b, velocity = 3.0, [np.zeros(n) for n in lengths]
        for _ in range(3):
            p, m, norm = step(p, m, 1.0)
            g = [2 * (row - 1) for row in exact]
            np.testing.assert_allclose(norm, np.sqrt(sum((x**2).sum() for x in g) + (2 * b) ** 2), rtol=1e-5)
            velocity = [0.5 * v + x for v, x in zip(velocity, g, strict=True)]
            exact = [x - 0.1 * v for x, v in zip(exact, velocity, strict=True)]
            b = float(p["b"])
        assert p["rows"].lengths[1].tolist() == lengths
        for found, wanted in zip(p["rows"].to_list(), exact, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert len(traces) == 1


def test_under_transforms() -> None:
    x = batch()
    double = lambda r: ct.tree.map(lambda a: 2 * a, r)  # noqa: E731
    total = lambda r: ct.mask(cnp.sum)(double(r))  # noqa: E731
    assert ct.vmap(total)(x).tolist() == ct.jit(ct.vmap(total))(x).tolist() == [6, 6, 0]
    assert rows(ct.jit(double)(x)) == rows(ct.vmap(double)(x)) == [[2, 4], [6], []]
    assert ct.vmap(ct.grad(total))(x).data.tolist() == [[2, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]]
    tangents = ct.tree.map(cnp.ones_like, x)
    assert ct.jvp(ct.vmap(total), (x,), (tangents,))[1].tolist() == [4, 2, 0]
    carried, _ = ct.lax.scan(lambda c, _: (double(c), None), x, None, length=3)
    assert rows(carried) == [[8, 16], [24], []]


def test_donated_trees() -> None:
    @ct.jit
    def warm(r: Any) -> Any:
        return ct.tree.map(lambda a: a + 1, r)

    step = ct.jit(lambda r: ct.tree.map(lambda a: a + 1, r), donate_argnums=0)
    x = batch()
    y = ct.tree.map(lambda a: 2 * a, x)
    for _ in range(2):
        x = step(x)
    assert rows(x) == [[3, 4], [5], []] and rows(y) == [[2, 4], [6], []]
    assert rows(warm(y)) == [[3, 5], [7], []]


def test_one_vector_of_a_tree_and_back() -> None:
    x = {"b": cnp.float32(1.0), "rows": batch()}
    vector, back = ct.flatten_util.ravel_pytree(x)
    assert vector.shape == (13,) and vector.dtype == np.float32
    assert rows(back(2 * vector)["rows"]) == [[2, 4], [6], []]
