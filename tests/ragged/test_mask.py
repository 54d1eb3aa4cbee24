"""The law of mask: for every length and every padding, results and gradients are those of the exact-size program; padding gets exactly 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BOUND = 5
PADDINGS = (np.nan, np.inf, -3.0)


def allclose(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def rnn(x: Any) -> Any:
    carry, ys = ct.lax.scan(lambda c, v: (cnp.tanh(0.5 * c + v), c * v), cnp.zeros((), x.dtype), x)
    return carry + cnp.sum(ys)


# Scalar programs of one ragged vector; `empty` says whether length 0 is meaningful.
SCALAR: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "sum": (cnp.sum, True),
    "sum of logs": (lambda x: cnp.sum(cnp.log(cnp.abs(x))), True),
    "mean": (cnp.mean, False),
    "var": (cnp.var, False),
    "prod": (cnp.prod, True),
    "max": (cnp.max, False),
    "min": (cnp.min, False),
    "logsumexp": (ct.nn.logsumexp, False),
    "dot": (lambda x: cnp.dot(x, cnp.sin(x)), True),
    "norm": (lambda x: cnp.sqrt(1.0 + cnp.sum(x * x)), True),
    "last": (lambda x: x[-1], False),
    "softmax then dot": (lambda x: cnp.sum(ct.nn.softmax(x) * x), False),
    "cumsum": (lambda x: cnp.sum(cnp.cumsum(x) ** 2), True),
    "reverse": (lambda x: cnp.sum(cnp.flip(x) * cnp.cumsum(x)), True),
    "concatenate": (lambda x: cnp.sum(cnp.cumsum(cnp.concatenate([x, x * x])) ** 2), True),
    "outer": (lambda x: cnp.sum(cnp.outer(x, x) * 0.5), True),
    "scan": (rnn, True),
    "size": (lambda x: cnp.sum(x) * x.shape[0], True),
    "number of elements": (lambda x: cnp.sum(x) * x.size + cnp.size(x, 0), True),
    "grad inside": (lambda x: cnp.sum(ct.grad(lambda y: cnp.sum(cnp.sin(y) * y))(x)), True),
    "vmap inside": (lambda x: cnp.sum(ct.vmap(lambda v: v * v)(x)), True),
    "where": (lambda x: cnp.sum(cnp.where(x > 0, x, 0.1 * x)), True),
    "jit inside": (lambda x: ct.jit(lambda v: cnp.sum(v * v))(x), True),
}
CASES = [(name, n) for name, (_, empty) in SCALAR.items() for n in range(0 if empty else 1, BOUND + 1)]


def padded(n: int, padding: float) -> tuple[np.ndarray, np.ndarray]:
    exact = np.random.default_rng(n).uniform(0.2, 1.5, n)
    return exact, np.concatenate([exact, np.full(BOUND - n, padding)])


@pytest.mark.parametrize(("name", "n"), CASES)
def test_law(name: str, n: int) -> None:
    f = SCALAR[name][0]
    for padding in PADDINGS:
        exact, data = padded(n, padding)
        x = ct.Ragged(data, {0: n})
        allclose(ct.mask(f)(x), f(cnp.array(exact)))
        gradient = ct.grad(lambda d, n=n: ct.mask(f)(ct.Ragged(d, {0: n})))(cnp.array(data))
        if n:
            allclose(gradient[:n], ct.grad(f)(cnp.array(exact)))
        assert np.all(np.asarray(gradient)[n:] == 0.0), "padding must get a gradient of exactly 0"


@pytest.mark.parametrize("name", SCALAR)
def test_law_under_transforms(name: str) -> None:
    f, empty = SCALAR[name]
    lengths = list(range(0 if empty else 1, BOUND + 1))
    rows = [padded(n, np.nan) for n in lengths]
    batch = ct.Ragged._make(
        cnp.array(np.stack([data for _, data in rows])), {-1: cnp.array(np.array(lengths, np.int32))}, {-1: ""}
    )
    expected = [float(f(cnp.array(exact))) for exact, _ in rows]
    allclose(ct.vmap(ct.mask(f))(batch), expected)
    allclose(ct.jit(ct.vmap(ct.mask(f)))(batch), expected)
    slopes = [np.asarray(ct.grad(f)(cnp.array(exact))) if len(exact) else np.zeros(0) for exact, _ in rows]
    wanted = np.stack([np.concatenate([s, np.zeros(BOUND - len(s))]) for s in slopes])
    for gradient in (
        ct.vmap(ct.grad(ct.mask(f)))(batch),
        ct.jit(ct.vmap(ct.grad(ct.mask(f))))(batch),
        ct.grad(lambda r: cnp.sum(ct.vmap(ct.mask(f))(r)))(batch),
    ):
        allclose(gradient.data, wanted)
        assert np.asarray(gradient.lengths[1]).tolist() == lengths


def test_one_compile_for_all_lengths() -> None:
    traces = []

    def f(x: Any) -> Any:
        traces.append(1)
        return cnp.mean(x)

    g = ct.jit(ct.mask(f))
    for n in range(1, BOUND + 1):
        exact, data = padded(n, np.nan)
        allclose(g(ct.Ragged(data, {0: n})), exact.mean())
    assert len(traces) == 1 and g._cache_size() == 1


def test_second_order() -> None:
    exact, data = padded(3, np.nan)
    f = lambda x: cnp.sum(cnp.sin(x) * cnp.sum(x))  # noqa: E731
    hessian = ct.hessian(lambda d: ct.mask(f)(ct.Ragged(d, {0: 3})))(cnp.array(data))
    allclose(np.asarray(hessian)[:3, :3], ct.hessian(f)(cnp.array(exact)), 1e-9)
    assert np.all(np.asarray(hessian)[3:] == 0) and np.all(np.asarray(hessian)[:, 3:] == 0)


def test_ragged_outputs() -> None:
    exact, data = padded(3, np.nan)
    out = ct.mask(lambda x: (cnp.exp(x), cnp.concatenate([x, x]), cnp.sum(x)))(ct.Ragged(data, {0: 3}))
    allclose(out[0].unpad(), np.exp(exact))
    allclose(out[1].unpad(), np.concatenate([exact, exact]))
    assert int(out[1].lengths[0]) == 6
    rows = ct.vmap(ct.mask(lambda x: x * 2))(ct.ragged([[1.0, 2.0], [3.0]]))
    assert [row.tolist() for row in rows.to_list()] == [[2.0, 4.0], [6.0]]


def test_matrix_with_two_ragged_axes() -> None:
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((2, 3))
    data = np.full((4, 5), np.nan)
    data[:2, :3] = exact
    x = ct.Ragged(data, {0: 2, 1: 3})
    allclose(ct.mask(lambda a: cnp.sum(a, axis=0))(x).unpad(), exact.sum(0))
    allclose(ct.mask(lambda a: a @ a.T)(x).unpad(), exact @ exact.T)
    allclose(ct.mask(cnp.mean)(x), exact.mean())
    gradient = ct.grad(lambda d: cnp.sum(ct.mask(lambda a: cnp.sum(cnp.tanh(a @ a.T)))(ct.Ragged(d, {0: 2, 1: 3}))))(
        cnp.array(data)
    )
    allclose(np.asarray(gradient)[:2, :3], ct.grad(lambda a: cnp.sum(cnp.tanh(a @ a.T)))(cnp.array(exact)))
    assert np.count_nonzero(np.asarray(gradient)) <= 6


def test_attention_over_ragged_keys() -> None:
    rng = np.random.default_rng(1)
    query, keys = rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
    data = np.full((6, 4), np.nan)
    data[:3] = keys

    def attend(q: Any, k: Any) -> Any:
        return ct.nn.softmax(q @ k.T, axis=-1) @ k

    allclose(ct.mask(attend)(query, ct.Ragged(data, {0: 3})), attend(cnp.array(query), cnp.array(keys)))
    gradient = ct.grad(lambda q: cnp.sum(ct.mask(attend)(q, ct.Ragged(data, {0: 3})) ** 2))(cnp.array(query))
    allclose(gradient, ct.grad(lambda q: cnp.sum(attend(q, cnp.array(keys)) ** 2))(cnp.array(query)))


ERRORS = [
    (lambda: ct.Ragged(np.zeros(3), {0: 4}), ct.errors.ShapeError, "outside 0 … 3"),
    (lambda: ct.Ragged(np.zeros(3), {1: 2}), ct.errors.ShapeError, "axis 1"),
    (lambda: ct.ragged([]), ValueError, "at least one"),
    (lambda: ct.ragged([[1.0, 2.0]], bound=1), ct.errors.ShapeError, "above the bound"),
    (lambda: ct.mask(cnp.sum)(ct.ragged([[1.0, 2.0], [3.0]])), ct.errors.ShapeError, "vmap"),
    (
        lambda: ct.mask(lambda x, y: x + y)(ct.Ragged(np.zeros(3), {0: 2}), ct.Ragged(np.zeros(3), {0: 1})),
        ct.errors.ShapeError,
        "length",
    ),
    (
        lambda: ct.mask(lambda x, y: x + y)(
            ct.Ragged(np.zeros(3), {0: 2}, {0: "n"}), ct.Ragged(np.zeros(3), {0: 1}, {0: "n"})
        ),
        ct.errors.ShapeError,
        "equal names",
    ),
    (
        lambda: ct.mask(lambda x: x if x.size > 2 else x * 2)(ct.Ragged(np.zeros(3), {0: 2})),
        ct.errors.ConcretizationError,
        "number of elements",
    ),
    (lambda: ct.mask(lambda x: x * len(x))(ct.Ragged(np.zeros(3), {0: 2})), ct.errors.ConcretizationError, "len()"),
    (
        lambda: ct.mask(lambda x: x if x.shape[0] > 2 else x * 2)(ct.Ragged(np.zeros(3), {0: 2})),
        ct.errors.ConcretizationError,
        r"x\.shape\[0\] > 2 cannot be settled: the ragged size x\.shape\[0\] is anything from 0 to 3",
    ),
    (lambda: ct.mask(3), TypeError, "function"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, kind, pattern = ERRORS[case]
    with pytest.raises(kind, match=pattern):
        call()


def test_comparisons_that_the_bound_settles() -> None:
    x = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    assert float(ct.mask(lambda v: cnp.sum(v) if v.shape[0] <= 3 else v[0])(x)) == 3.0


def test_equal_names_share_a_length() -> None:
    a = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2}, {0: "n"})
    b = ct.Ragged(np.array([3.0, 4.0, np.inf]), {0: 2}, {0: "n"})
    assert float(ct.mask(cnp.dot)(a, b)) == 11.0


@pytest.mark.parametrize("reverse", [False, True])
def test_a_masked_scan_takes_as_many_steps_as_the_longest_row_needs(reverse):
    taken = []

    def total(x):
        def step(carry, row):
            ct.debug.callback(lambda r: taken.append(float(r)), row)
            return carry + row, carry * row

        return ct.lax.scan(step, cnp.float32(0.0), x, reverse=reverse)

    for length in (0, 1, 3, 8):
        data = np.full(8, np.nan, np.float32)
        data[:length] = np.arange(length)
        taken.clear()
        carry, rows = ct.jit(ct.mask(total))(ct.Ragged(data, {0: length}))
        ct.block_until_ready(carry)
        assert taken == (list(range(length))[::-1] if reverse else list(range(length)))
        expected, expected_rows = total(data[:length])
        assert float(carry) == float(expected)
        np.testing.assert_array_equal(rows.unpad(), expected_rows)
    rows = [np.arange(n, dtype=np.float32) for n in (2, 5, 0)]
    taken.clear()
    carries, _ = ct.jit(ct.vmap(ct.mask(total)))(ct.ragged(rows, bound=8))
    np.testing.assert_array_equal(carries, [row.sum() for row in rows])
    assert len(taken) <= 3 * 5


def test_reductions_of_a_ragged_axis_of_length_0():
    x = ct.Ragged(np.array([3, 4], "float32"), {0: 0})
    assert [float(ct.mask(f)(x)) for f in (ct.numpy.max, ct.numpy.min)] == [-np.inf, np.inf]
    assert [int(ct.mask(f)(x)) for f in (ct.numpy.argmax, ct.numpy.argmin)] == [-1, -1]
