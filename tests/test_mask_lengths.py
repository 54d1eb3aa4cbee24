"""What lengths say: which are equal, what depends on them, and that a constant one is like any other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

BOUND = 5


def padded(x: np.ndarray[Any, Any], axis: int = 0, length: Any = None) -> ct.Ragged:
    shape = [BOUND if k == axis else size for k, size in enumerate(x.shape)]
    data = np.full(shape, np.nan, x.dtype)
    data[tuple(slice(size) for size in x.shape)] = x
    return ct.Ragged(data, {axis: x.shape[axis] if length is None else length})


def values(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x.unpad() if isinstance(x, ct.Ragged) else x)


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sum of what f gives with weights that differ from element to element."""
    return lambda x: cnp.sum(f(x) * cnp.cos(cnp.arange(f(x).shape[0]) * 1.3))


# Lengths that are the same number, worked out in different ways.
EQUAL: dict[str, Callable[[Any], Any]] = {
    "differences": lambda x: x[1:] - x[:-1],
    "differences of two": lambda x: x[2:] - x[:-2],
    "second differences": lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
    "one after the other": lambda x: x[1:][1:] * x[2:],
    "diff": lambda x: cnp.diff(x) * x[1:],
    "odds and evens": lambda x: x[1::2] - x[:-1:2],
    "first and last two": lambda x: x[:2] + x[-2:],
    "padded and cut": lambda x: cnp.pad(x, (1, 1))[1:-1] + x,
    "twice and every second": lambda x: cnp.repeat(x, 2)[::2] + x,
    "joined": lambda x: cnp.concatenate([x, x[:-1]])[1:] - cnp.concatenate([x[1:], x[:-1]]),
    "in a loop": lambda x: lax.fori_loop(0, 2, lambda i, c: c * 0.5 + x[:-1], x[1:]),
    "in branches": lambda x: lax.cond(x[0] > 0, lambda v: v[1:], lambda v: v[:-1], x),
}


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("name", EQUAL)
def test_lengths_that_are_equal_as_expressions(name: str, n: int) -> None:
    f = EQUAL[name]
    x = np.random.default_rng(n).uniform(0.3, 2.0, n)
    np.testing.assert_allclose(values(ct.mask(f)(padded(x))), f(cnp.array(x)))
    wanted = ct.grad(weighted(f))(cnp.array(x))
    np.testing.assert_allclose(values(ct.mask(ct.grad(weighted(f)))(padded(x))), wanted, rtol=1e-6)
    np.testing.assert_allclose(values(ct.grad(ct.mask(weighted(f)))(padded(x))), wanted, rtol=1e-6)


def test_lengths_that_differ_are_an_error() -> None:
    for f in (
        lambda x: x[1:] + cnp.concatenate([x[2:], x[:1]])[: BOUND - 1],
        lambda x: cnp.concatenate([x, x]) + cnp.pad(x, (0, BOUND)),
        lambda x: x[::2] + cnp.concatenate([x[1::2], x[:1]]),
    ):
        with pytest.raises(ct.errors.ShapeError, match="two different ragged lengths"):
            ct.mask(f)(padded(np.ones(4)))


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_windows_that_a_small_bound_leaves_nothing_of(bound: int) -> None:
    for f in (lambda x: x[2:] - 2 * x[1:-1] + x[:-2], lambda x: x[3:] * x[1:-2]):
        x = np.arange(1.0, bound + 1)
        found = ct.mask(f)(ct.Ragged(x, {0: bound}))
        np.testing.assert_array_equal(values(found), f(cnp.array(x)))


def test_sizes_are_equal_where_they_are_the_same_number() -> None:
    def same(x: Any) -> Any:
        assert x.shape == (x * 2).shape
        assert x[1:].shape[0] == x[:-1].shape[0]
        assert hash(x[1:].shape[0]) == hash(x[:-1].shape[0])
        assert x.shape[0] == cnp.stack([x, x]).shape[1]
        return cnp.sum(x)

    assert float(ct.mask(same)(padded(np.ones(3)))) == 3.0
    # Of one bound along one axis, and of different lengths: not equal, and not known to differ.
    with pytest.raises(ct.errors.ConcretizationError, match="== axis 0"):
        ct.mask(lambda x, y: cnp.sum(x) if x.shape == y.shape else cnp.sum(y))(padded(np.ones(3)), padded(np.ones(2)))


def test_one_length_array_makes_axes_of_one_length() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    n = cnp.array(np.int32(3))
    dot = lambda u, v: cnp.dot(u, v) * u.shape[0]  # noqa: E731
    a, b = padded(x, length=n), padded(y, length=n)
    # The arrays of the lengths are the same object.
    b = ct.Ragged._make(b.data, dict(a._lengths), dict(b._names))
    assert float(ct.mask(dot)(a, b)) == 96.0
    np.testing.assert_array_equal(values(ct.grad(ct.mask(dot))(a, b)), 3 * y)
    np.testing.assert_array_equal(values(ct.vjp(ct.mask(dot), a, b)[1](1.0)[1]), 3 * x)
    rows = ct.tree.map(lambda leaf: cnp.stack([leaf, leaf]), (a, b))
    lengths = rows[0]._lengths
    rows = (rows[0], ct.Ragged._make(rows[1].data, dict(lengths), dict(rows[1]._names)))
    assert ct.vmap(ct.mask(dot))(*rows).tolist() == [96.0, 96.0]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "sum": lambda x: cnp.sum(x * x)[None],
    "joined": lambda x: cnp.concatenate([x, x * 2]),
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x[0] + i, x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1],
    "cond": lambda x: lax.cond(x[0] > 0, lambda v: v * 3, lambda v: v, x),
    "scan": lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c * r), 0.0, x)[1],
    "window": lambda x: x[1:] * x[:-1],
}


@pytest.mark.parametrize("n", [1, 3, BOUND])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_constant_length_under_jit(name: str, n: int) -> None:
    f = PROGRAMS[name]
    x = np.random.default_rng(n).uniform(0.3, 2.0, n)
    data = np.asarray(padded(x).data)
    wanted = f(cnp.array(x))
    loss = weighted(f)
    slope = ct.grad(loss)(cnp.array(x))
    for length in (lambda: n, lambda: cnp.full((), n, "int32"), lambda: cnp.int32(n), lambda: cnp.array(n)):
        masked = ct.jit(lambda d, length=length: ct.mask(f)(ct.Ragged(d, {0: length()})))(data)
        np.testing.assert_allclose(values(masked), wanted)
        inside = ct.jit(ct.grad(lambda d, length=length: ct.mask(loss)(ct.Ragged(d, {0: length()}))))(data)
        np.testing.assert_allclose(inside[:n], slope, rtol=1e-6)
        assert not np.any(np.asarray(inside)[n:])


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_gradient_of_a_linear_scan_takes_as_many_steps_as_the_length(reverse: bool, n: int) -> None:
    """Nothing along the steps is kept for it, so nothing that is ragged says how many there are."""
    x = np.random.default_rng(n).uniform(0.3, 2.0, n)

    def last(x: Any) -> Any:
        return lax.scan(lambda c, r: (c * 0.5 + r, None), 1.0, x, reverse=reverse)[0]

    def folded(x: Any) -> Any:
        return lax.reduce(x, 0.0, lambda p, q: p * 0.5 + q, (0,))

    for f in (last, folded):
        wanted = ct.grad(f)(cnp.array(x))
        for gradient in (
            ct.mask(ct.grad(f))(padded(x)),
            ct.grad(ct.mask(f))(padded(x)),
            ct.jit(ct.grad(ct.mask(f)))(padded(x)),
        ):
            np.testing.assert_allclose(values(gradient), wanted)
        rows = ct.ragged([x, x[:1]], bound=BOUND)
        found = ct.vmap(ct.grad(ct.mask(f)))(rows).to_list()
        np.testing.assert_allclose(found[0], wanted)
        np.testing.assert_allclose(found[1], ct.grad(f)(cnp.array(x[:1])))


def test_the_count_of_a_linear_scan_is_simplified_away_without_a_mask() -> None:
    gradient = ct.grad(lambda x: lax.scan(lambda c, r: (c * 0.5 + r, None), 1.0, x)[0])
    np.testing.assert_allclose(ct.jit(gradient)(np.ones(3)), [0.25, 0.5, 1.0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 3, BOUND])
def test_the_gradient_of_cumlogsumexp(n: int, reverse: bool) -> None:
    f = weighted(lambda x: lax.cumlogsumexp(x, reverse=reverse))
    x = np.random.default_rng(n).normal(size=n)
    wanted = ct.grad(f)(cnp.array(x))
    np.testing.assert_allclose(values(ct.mask(ct.grad(f))(padded(x))), wanted, rtol=1e-6)
    np.testing.assert_allclose(values(ct.grad(ct.mask(f))(padded(x))), wanted, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_attention_with_a_ragged_number_of_positions_heads_or_features(axis: int) -> None:
    shape = [3, 2, 4]
    shape[axis] = 3
    x = np.random.default_rng(axis).normal(size=shape)
    attend = lambda v: ct.nn.dot_product_attention(v, v, v)  # noqa: E731
    np.testing.assert_allclose(values(ct.mask(attend)(padded(x, axis))), attend(cnp.array(x)), rtol=1e-5)


def test_a_rank_that_depends_on_a_length_is_an_error() -> None:
    x = padded(np.ones((1, 3)))
    for f, message in (
        (cnp.squeeze, "whether axis 0 has size 1 depends on its length"),
        (cnp.cov, "the number of variables is ragged"),
        (cnp.corrcoef, "the number of variables is ragged"),
    ):
        with pytest.raises(ct.errors.ConcretizationError, match=message):
            ct.mask(f)(x)
    assert values(ct.mask(lambda v: cnp.squeeze(v[:, None], 1))(x)).shape == (1, 3)
    observations = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0]])
    np.testing.assert_allclose(ct.mask(cnp.cov)(padded(observations, 1)), np.cov(observations))
    assert values(ct.mask(cnp.cov)(padded(observations[:1], 1))).shape == ()


def test_two_reshaped_operands_of_a_sum_do_not_lead_back_to_each_other() -> None:
    """Compiled on the second call: the sum of a product whose operands were reshaped from each other's shapes."""
    x = np.random.default_rng(0).uniform(size=(1, 3))

    def loss(v: Any) -> Any:
        total = ct.nn.logsumexp(v, 0)
        return cnp.sum(total * (cnp.full(total.shape, 0.7) * cnp.cos(cnp.arange(3) * 1.3)))

    for f in (ct.grad(loss), ct.jit(ct.grad(loss)), ct.jit(ct.mask(ct.grad(loss)))):
        for _ in range(3):
            np.testing.assert_allclose(f(x), 0.7 * np.cos(np.arange(3) * 1.3)[None], rtol=1e-6)


@pytest.mark.parametrize(
    "length", [2.9, math.nan, 2.0, np.float32(2), np.array(2.0), 1 + 0j, True, np.bool_(1), cnp.array(True)]
)
def test_lengths_that_are_not_integers(length: Any) -> None:
    with pytest.raises(TypeError, match="length of axis 0 must be of integers"):
        ct.Ragged(cnp.arange(3.0), {0: length})


def test_vectors_of_lengths_that_are_not_integers() -> None:
    with pytest.raises(TypeError, match="length of axis 1 must be of integers; got float"):
        ct.Ragged(cnp.ones((2, 3)), {1: np.array([1.0, 2.0])})
    with pytest.raises(TypeError, match="length of axis 0 must be of integers; got float"):
        ct.vmap(lambda row, n: ct.mask(cnp.sum)(ct.Ragged(row, {0: n})))(cnp.ones((2, 3)), cnp.array([1.0, 2.0]))
    rows = ct.Ragged(cnp.ones((2, 3)), {1: np.array([1, 2])})
    leaves, structure = ct.tree.flatten(rows)
    changed = structure.unflatten([leaf * 1.0 for leaf in leaves])
    with pytest.raises(TypeError, match="length of axis 0 must be of integers; got float"):
        ct.vmap(ct.mask(cnp.sum))(changed)


@pytest.mark.parametrize(
    "length", [-1, 4, np.int64(2**32 + 1), np.uint64(2**63), np.uint32(2**32 - 1), 2**70, np.array([1, 2**32])]
)
def test_lengths_outside_the_bound_in_any_number_of_bits(length: Any) -> None:
    with pytest.raises(ct.errors.ShapeError, match="outside 0 … 3"):
        ct.Ragged(cnp.ones((2, 3)), {1: length})


@pytest.mark.parametrize("length", [2, np.int8(2), np.uint8(2), np.uint64(2), np.int64(2), cnp.array(2)])
def test_lengths_of_every_integer_dtype(length: Any) -> None:
    x = ct.Ragged(cnp.array([1.0, 2.0, 4.0]), {-1: length}, {-1: "n"})
    assert float(ct.mask(cnp.sum)(x)) == 3
    assert x.lengths[0].dtype == np.int32
    assert x.names == {0: "n"}


def test_an_axis_has_one_length() -> None:
    with pytest.raises(ct.errors.ShapeError, match="axis 1 is given two lengths"):
        ct.Ragged(cnp.ones((2, 3)), {-1: 1, 1: 2})


@pytest.mark.parametrize("transform", [ct.jit, lambda f: lambda n: ct.vmap(f)(np.stack([n, n]))[0]])
def test_lengths_of_a_program_are_held_to_the_bound_in_any_number_of_bits(transform: Callable[..., Any]) -> None:
    """Elements and sizes agree: the mean divides by as many as it sums."""
    data = cnp.array([1.0, 2.0, 6.0])
    f = lambda x: cnp.stack([cnp.sum(x), cnp.sum(x) / cnp.maximum(x.shape[0] + 0, 1), x.shape[0] * 1.0])  # noqa: E731
    held = transform(lambda n: ct.mask(f)(ct.Ragged(data, {0: n})))
    for length in (np.int32(7), np.int64(2**32 + 1), np.uint32(2**32 - 1), np.uint64(2**63)):
        assert held(length).tolist() == [9, 3, 3]
    for dtype in (np.int8, np.int32, np.int64, np.uint32, np.uint64):
        assert held(dtype(2)).tolist() == [3, 1.5, 2]
    for length in (np.int8(-1), np.int32(-1), np.int64(-(2**32) + 1)):
        assert held(length).tolist() == [0, 0, 0]
    mean = lambda d, n: ct.mask(lambda x: cnp.sum(x) / x.shape[0])(ct.Ragged(d, {0: n}))  # noqa: E731
    slope = transform(lambda n: ct.grad(mean)(data, n))
    np.testing.assert_allclose(slope(np.int32(7)), np.full(3, 1 / 3), rtol=1e-6)


def test_lengths_outside_the_bound_are_found_by_checkify() -> None:
    data = cnp.ones(3)
    total = lambda n: ct.mask(cnp.sum)(ct.Ragged(data, {0: n}))  # noqa: E731
    for f in (ct.jit(total), lambda n: ct.vmap(total)(cnp.stack([cnp.zeros_like(n), n]))):
        checked = ct.checkify.checkify(f, errors=ct.checkify.index_checks)
        assert checked(cnp.array(3, "int32"))[0].get() is None
        for length in (np.int32(-1), np.int32(4), np.int64(2**32 + 1)):
            message = checked(cnp.array(length))[0].get()
            assert message is not None and "the length of a ragged axis is negative or larger" in message


def test_leaves_that_were_changed_are_checked() -> None:
    leaves, structure = ct.tree.flatten(ct.Ragged(cnp.ones(3), {0: 2}))
    x = structure.unflatten([leaf * 10 for leaf in leaves])
    with pytest.raises(ct.errors.ShapeError, match="outside 0 … 3"):
        ct.mask(cnp.sum)(x)


def test_a_length_given_to_an_exact_array_inside_of_a_mask_is_that_length() -> None:
    weights = cnp.arange(float(BOUND))
    f = lambda x: x + ct.mask(lambda w: w * 2)(ct.Ragged(weights, {0: x.shape[0]})).data  # noqa: E731
    np.testing.assert_allclose(values(ct.mask(lambda x: cnp.sum(f(x)))(padded(np.ones(3)))), 3 + 2 * (0 + 1 + 2))


@pytest.mark.parametrize("asked", [lambda x: x.shape[0] + 2, lambda x: x.shape[0] * 2, lambda x: 5])
def test_inside_of_a_mask_an_array_ends_at_its_length_there(asked: Callable[[Any], Any]) -> None:
    """Also where a length is made from the one that was asked for: behind two reshapes it is a quotient."""

    def inner(x: Any) -> Any:
        y = cnp.reshape(cnp.reshape(x[:, None] * cnp.ones(4), -1), (-1, 4))
        return cnp.stack([cnp.sum(x), x.shape[0] * 1.0, cnp.sum(y), y.shape[0] * 1.0])

    outer = ct.mask(lambda x: ct.mask(inner)(ct.Ragged(x, {0: asked(x)})))
    of = lambda n: outer(ct.Ragged(cnp.arange(8.0), {0: n}))  # noqa: E731
    assert of(3).tolist() == ct.jit(of)(np.int32(3)).tolist() == ct.vmap(of)(np.array([3]))[0].tolist() == [3, 3, 12, 3]


def test_lengths_are_one_an_example() -> None:
    with pytest.raises(ct.errors.ShapeError, match=r"length of axis 1 has shape \(3,\), and the data shape \(2, 4\)"):
        ct.Ragged(cnp.ones((2, 4)), {1: np.array([1, 2, 3])})
    with pytest.raises(ct.errors.ShapeError, match=r"length of axis 0 has shape \(2,\)"):
        ct.Ragged(cnp.ones((2, 4)), {0: np.array([1, 2])})
    with pytest.raises(ct.errors.ShapeError, match="axis 0 is ragged, and there is a batch of examples along it"):
        ct.Ragged(cnp.ones((2, 4)), {0: 1, 1: np.array([1, 2])})
    empty = ct.Ragged(cnp.ones((0, 4)), {1: np.zeros(0, "int32")})
    assert empty.to_list() == [] and ct.vmap(ct.mask(cnp.sum))(empty).shape == (0,)


def test_names_are_of_ragged_axes_of_one_length() -> None:
    with pytest.raises(ct.errors.ShapeError, match="axis 1 has the name 'n' and no length"):
        ct.Ragged(cnp.ones((2, 4)), {0: 1}, {1: "n"})
    with pytest.raises(TypeError, match="name of axis 0 must be a string; got int"):
        ct.Ragged(cnp.ones((2, 4)), {0: 1}, {0: 3})  # type: ignore[dict-item]
    with pytest.raises(ct.errors.ShapeError, match="axes 0 and 1, both named 'n', have lengths 1 and 2; equal names"):
        ct.Ragged(cnp.ones((4, 4)), {0: 1, 1: 2}, {0: "n", 1: "n"})
    with pytest.raises(ct.errors.ShapeError, match="have lengths 2 and 3 in example 1; equal names"):
        ct.ragged([np.ones((1, 1)), np.ones((2, 3))], names={0: "n", 1: "n"})
    rows = ct.ragged([np.ones((1, 1)), np.ones((2, 2))], names={0: "n", 1: "n"})
    assert rows.names == {1: "n", 2: "n"}
    assert ct.vmap(ct.mask(lambda x: cnp.sum(x @ x)))(rows).tolist() == [1, 8]


def test_unequal_lengths_of_one_name_are_found_by_checkify() -> None:
    def dot(n: Any, m: Any) -> Any:
        u, v = (ct.Ragged(cnp.arange(3.0), {0: k}, {0: "n"}) for k in (n, m))
        return ct.mask(cnp.dot)(u, v)

    for f in (ct.jit(dot), lambda n, m: ct.vmap(dot)(cnp.stack([n, n]), cnp.stack([n, m]))):
        checked = ct.checkify.checkify(f, errors=ct.checkify.index_checks)
        assert checked(np.int32(2), np.int32(2))[0].get() is None
        message = checked(np.int32(2), np.int32(3))[0].get()
        assert message is not None and "axes named 'n' have different lengths" in message
    error, value = ct.checkify.checkify(dot, errors=ct.checkify.user_checks)(np.int32(2), np.int32(2))
    assert error.get() is None and float(value) == 1


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        ([np.array([1, 2], "int32"), np.array([1.5], "float32")], np.float32),
        ([np.array([1.5], "float32"), np.array([1, 2], "int32")], np.float32),
        ([np.array([True]), np.array([1, 2], "int8")], np.int8),
        ([np.array([1], "uint8"), np.array([-1, 2], "int8")], np.int16),
        ([[1, 2], [3.5]], np.float32),
        ([np.array([1j], "complex64"), np.array([1.0, 2.0], "float32")], np.complex64),
    ],
)
def test_rows_of_several_dtypes_are_promoted(rows: Any, dtype: Any) -> None:
    batch = ct.ragged(rows)
    assert batch.dtype == dtype
    for row, wanted in zip(batch.to_list(), rows, strict=True):
        np.testing.assert_array_equal(row, wanted)


def test_bounds_of_batches() -> None:
    rows = [np.ones(n, "float32") for n in (0, 5, 3)]
    assert ct.ragged(rows).data.shape == (3, 5)
    assert ct.ragged(rows, bound=9).data.shape == (3, 9)
    assert ct.ragged(rows, buckets=[16, 4, 8]).data.shape == (3, 8)
    assert ct.ragged(rows[:1], buckets=[0, 4]).data.shape == (1, 0)
    with pytest.raises(ct.errors.ShapeError, match=r"size 5 in axis 0, above all buckets \[2, 4\]"):
        ct.ragged(rows, buckets=[4, 2])
    with pytest.raises(ValueError, match="give bound or buckets, not both"):
        ct.ragged(rows, bound=8, buckets=[8])
    with pytest.raises(TypeError, match=r"bound of axis 0 must be an integer; got 8\.5"):
        ct.ragged(rows, bound=[8.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="buckets must be integers from 0 on; got -1"):
        ct.ragged(rows, buckets=[-1])


@pytest.mark.parametrize("padding", [777.0, np.nan, -np.inf])
def test_the_largest_of_rows_that_hold_fewer_are_not_padding(padding):
    data = np.array([[1, 5, padding, padding], [3, padding, padding, padding], [padding] * 4], np.float32)
    rows = ct.Ragged(ct.numpy.array(data), {1: [2, 1, 0]})
    values, places = ct.vmap(ct.mask(lambda x: ct.lax.top_k(x, 2)))(rows)
    assert values.tolist() == [[5, 1], [3, -np.inf], [-np.inf, -np.inf]]
    assert places.tolist() == [[1, 0], [0, 1], [0, 0]]
    smallest, _ = ct.jit(ct.vmap(ct.mask(lambda x: ct.lax.approx_min_k(x, 2))))(rows)
    assert smallest.tolist() == [[1, 5], [3, np.inf], [np.inf, np.inf]]
    gradient = ct.vmap(ct.mask(ct.grad(lambda x: ct.numpy.exp(ct.lax.top_k(x, 2)[0]).sum())))(rows)
    np.testing.assert_allclose(gradient.data, [[np.e, np.exp(5), 0, 0], [np.exp(3), 0, 0, 0], [0] * 4], rtol=1e-6)
