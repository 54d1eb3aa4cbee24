"""`pack` is `vmap(mask(f))`, computed in groups of rows of similar length."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax, nn

LENGTHS = [5, 40, 1, 0, 17, 33, 8, 9, 40, 2]


def batch(lengths: list[int] = LENGTHS) -> Any:
    random = np.random.default_rng(0)
    return ct.ragged([random.standard_normal((n, 4)).astype(np.float32) for n in lengths])


WEIGHTS = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32) / 2

FUNCTIONS = {
    "sum": lambda w, x: x.sum(0) @ w,
    "rows": lambda w, x: cnp.tanh(x @ w),
    "recurrent": lambda w, x: lax.scan(lambda h, r: (cnp.tanh(h @ w + r), h), cnp.zeros(4, np.float32), x),
    "attention": lambda w, x: nn.softmax(x @ w @ x.T, -1) @ x,
    "shorter": lambda w, x: {"half": (x @ w)[: x.shape[0] // 2], "length": cnp.array(x.shape[0])},
}


def same(a: Any, b: Any) -> None:
    is_ragged = lambda x: isinstance(x, ct.Ragged)  # noqa: E731
    ours, theirs = (ct.tree.leaves(tree, is_leaf=is_ragged) for tree in (a, b))
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert is_ragged(x) == is_ragged(y)
        if is_ragged(x):
            assert x.data.shape == y.data.shape
            np.testing.assert_array_equal(x.lengths[1], y.lengths[1])
            for row, other in zip(x.to_list(), y.to_list(), strict=True):
                np.testing.assert_allclose(row, other, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 4, 20])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_whole_batch(name: str, groups: int) -> None:
    program = FUNCTIONS[name]
    packed = ct.pack(program, (None, 0), groups=groups)
    wanted = ct.vmap(ct.mask(program), (None, 0))(WEIGHTS, batch())
    same(packed(WEIGHTS, batch()), wanted)
    same(ct.jit(packed)(WEIGHTS, batch()), wanted)


@pytest.mark.parametrize("name", ["sum", "rows", "recurrent", "attention"])
def test_gradients(name: str) -> None:
    def loss(apply: Any, w: Any, x: Any) -> Any:
        result = ct.tree.leaves(apply(w, x))[0]
        return (result * result).sum()

    packed, whole = ct.pack(FUNCTIONS[name], (None, 0)), ct.vmap(ct.mask(FUNCTIONS[name]), (None, 0))
    wanted = ct.grad(lambda w, x: loss(whole, w, x), (0, 1))(WEIGHTS, batch())
    for gradient in (ct.grad, lambda f, n: ct.jit(ct.grad(f, n))):
        found = gradient(lambda w, x: loss(packed, w, x), (0, 1))(WEIGHTS, batch())
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)
        same(found[1], wanted[1])


def test_groups_are_padded_to_what_they_need() -> None:
    seen = []

    def program(x: Any) -> Any:
        seen.append(x._bound_shape[0])
        return x.sum()

    ct.pack(program, groups=3)(batch([3, 3, 3, 3, 100, 100, 20, 20]))
    assert sorted(set(seen)) == [8, 24, 100]


def test_batches_without_rows_and_of_one_row() -> None:
    program = FUNCTIONS["rows"]
    for lengths in ([3], [0, 0], [7, 7]):
        same(
            ct.pack(program, (None, 0))(WEIGHTS, batch(lengths)),
            ct.vmap(ct.mask(program), (None, 0))(WEIGHTS, batch(lengths)),
        )
    empty = ct.Ragged(np.zeros((0, 5, 4), np.float32), {1: np.zeros(0, np.int32)})
    same(ct.pack(program, (None, 0))(WEIGHTS, empty), ct.vmap(ct.mask(program), (None, 0))(WEIGHTS, empty))


def test_other_arguments_go_with_their_rows() -> None:
    labels = np.arange(10.0, dtype=np.float32)
    found = ct.pack(lambda x, y, scale: x.sum() * scale + y, (0, 0, None))(batch(), labels, 2.0)
    np.testing.assert_allclose(
        found,
        [2 * float(row.sum()) + y for row, y in zip(batch().to_list(), labels, strict=True)],
        rtol=1e-4,
        atol=1e-5,
    )


def test_errors() -> None:
    with pytest.raises(TypeError, match="no argument is a batch of ragged rows"):
        ct.pack(lambda x: x)(np.ones(3))
    with pytest.raises(ValueError, match="groups must be positive"):
        ct.pack(lambda x: x, groups=0)
    with pytest.raises(ValueError, match="in_axes must be made of 0 and None"):
        ct.pack(lambda x: x, 1)(batch())


@pytest.mark.parametrize("lengths", [[2, 0], [1, 0, 20], LENGTHS])
def test_rows_of_a_group_whose_axis_is_exact_there(lengths: list[int]) -> None:
    rows = ct.ragged([np.arange(n, dtype=np.float32) for n in lengths])

    def others(x: Any) -> Any:
        return {"set": cnp.setdiff1d(x[1:], np.array([2.0])), "number": cnp.zeros(3), "half": x[: x.shape[0] // 2]}

    found = ct.pack(others)(rows)
    same(found, ct.vmap(ct.mask(others))(rows))
    for n, row in zip(lengths, found["set"].to_list(), strict=True):
        np.testing.assert_array_equal(row, np.setdiff1d(np.arange(n)[1:], [2]))
    same(ct.jit(ct.pack(others))(rows), found)
