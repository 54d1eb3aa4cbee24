"""scan, while_loop, fori_loop, cond, switch: values and every transform of them, against unrolled Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

XS = np.array([0.5, -1.0, 1.5, 0.25])


def allclose(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def scanned(w: Any, xs: Any) -> Any:
    carry, ys = ct.lax.scan(lambda c, x: (cnp.tanh(c * w + x), c * x), cnp.zeros_like(w), xs)
    return carry + cnp.sum(ys)


def unrolled(w: Any, xs: Any) -> Any:
    carry, total = cnp.zeros_like(w), 0.0
    for i in range(xs.shape[0]):
        total = total + carry * xs[i]
        carry = cnp.tanh(carry * w + xs[i])
    return carry + total


W = np.float64(0.7)
TRANSFORMS = {
    "value": lambda f: f(W, XS),
    "jit": lambda f: ct.jit(f)(W, XS),
    "grad": lambda f: ct.grad(f, argnums=(0, 1))(W, XS),
    "jit grad": lambda f: ct.jit(ct.grad(f, argnums=(0, 1)))(W, XS),
    "grad grad": lambda f: ct.grad(ct.grad(f))(W, XS),
    "jvp grad": lambda f: ct.jvp(ct.grad(f), (W, XS), (np.float64(1.0), XS)),
    "hessian": lambda f: ct.hessian(f, argnums=1)(W, XS),
    "vmap xs": lambda f: ct.vmap(f, (None, 0))(W, np.stack([XS, XS * 2, -XS])),
    "vmap w": lambda f: ct.vmap(f, (0, None))(np.array([0.1, 0.2]), XS),
    "vmap grad": lambda f: ct.vmap(ct.grad(f), (0, None))(np.array([0.1, 0.2]), XS),
    "grad vmap": lambda f: ct.grad(lambda w: cnp.sum(ct.vmap(f, (None, 0))(w, np.stack([XS, XS * 2]))))(W),
    "jit vmap grad grad": lambda f: ct.jit(ct.vmap(ct.grad(ct.grad(f)), (0, None)))(np.array([0.1, 0.2]), XS),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_scan_is_the_unrolled_loop(name: str) -> None:
    got, expected = TRANSFORMS[name](scanned), TRANSFORMS[name](unrolled)
    for a, b in zip(ct.tree.leaves(got), ct.tree.leaves(expected), strict=True):
        allclose(a, b, 1e-9)


def test_scan_reverse_length_and_pytrees() -> None:
    carry, ys = ct.lax.scan(lambda c, x: ({"n": c["n"] + x[0]}, (x[1], c["n"])), {"n": 0.0}, (XS, XS * 2), reverse=True)
    allclose(carry["n"], XS.sum())
    allclose(ys[0], XS * 2)
    allclose(ys[1], XS.sum() - np.cumsum(XS), 1e-6)
    total, none = ct.lax.scan(lambda c, _: (c + 1, None), 0, None, length=5)
    assert int(total) == 5 and none is None
    empty, stacked = ct.lax.scan(lambda c, x: (c + x, x), 1.0, np.zeros((0,)))
    assert float(empty) == 1.0 and stacked.shape == (0,)


def test_while_loop() -> None:
    def collatz(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, count = state
            return cnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return ct.lax.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]

    expected = [0, 1, 7, 2, 5, 8, 16]
    numbers = np.arange(1, 8, dtype=np.int32)
    assert [int(ct.jit(collatz)(n)) for n in numbers] == expected
    assert ct.vmap(collatz)(numbers).tolist() == expected
    assert ct.jit(ct.vmap(collatz))(numbers).tolist() == expected


def test_what_a_loop_or_branches_hand_on_is_the_same_for_all_examples() -> None:
    def loop(w: Any, x: Any, steps: Any) -> Any:
        count, x, kept, w = ct.lax.while_loop(
            lambda s: s[0] < steps, lambda s: (s[0] + 1, s[1] @ s[3], s[2], s[3]), (0, x, 2 * w, w)
        )
        return count, x, kept, w

    w, xs, steps = 2 * np.eye(2, dtype=np.float32), np.ones((4, 2), np.float32), np.arange(4)
    axes = {"in_axes": (None, 0, 0), "out_axes": (0, 0, None, None)}
    for mapped in (ct.vmap(loop, **axes), ct.jit(ct.vmap(loop, **axes))):
        count, x, kept, same = mapped(w, xs, steps)
        assert count.tolist() == [0, 1, 2, 3] and x[:, 0].tolist() == [1.0, 2.0, 4.0, 8.0]
        assert kept.tolist() == (2 * w).tolist() and same.tolist() == w.tolist()

    def gradient(w: Any) -> Any:
        _, x, kept, _ = ct.vmap(loop, **axes)(w, xs, steps)
        return x.sum() + kept.sum()

    allclose(ct.grad(gradient)(w), np.full((2, 2), 2.0) + sum(n * 2.0 ** (n - 1) for n in range(4)))

    def branches(w: Any, n: Any) -> Any:
        return ct.lax.cond(n > 1, lambda w, n: (w, n), lambda w, n: (w, n + 5), w, n)

    kept, n = ct.vmap(branches, in_axes=(None, 0), out_axes=(None, 0))(1.5, np.arange(4))
    assert float(kept) == 1.5 and n.tolist() == [5, 6, 2, 3]


def test_while_loop_forward_mode() -> None:
    def power(x: Any) -> Any:
        return ct.lax.while_loop(lambda s: s < 100.0, lambda s: s * x, x)

    value, tangent = ct.jvp(power, (np.float64(3.0),), (np.float64(1.0),))
    allclose(value, 243.0)
    allclose(tangent, 5 * 81.0)
    allclose(ct.vmap(ct.jacfwd(power))(np.array([3.0, 11.0])), [405.0, 22.0])


def test_fori_loop() -> None:
    allclose(ct.grad(lambda x: ct.lax.fori_loop(0, 5, lambda i, v: v * x, 1.0))(2.0), 80.0)
    allclose(ct.jit(lambda n: ct.lax.fori_loop(0, n, lambda i, v: v + i, 0))(5), 10)


def test_bounds_of_fori_loop() -> None:
    allclose(ct.lax.fori_loop(0.5, 3, lambda i, v: v + i, 0.0), 4.5)
    between = lambda x: ct.lax.fori_loop(x, x + 2.5, lambda i, v: v * i, x)  # noqa: E731
    allclose(ct.jit(between)(2.0), 48.0)
    allclose(ct.grad(between)(2.0), 76.0, 1e-5)  # of x² (x + 1) (x + 2)
    seen = []
    for low, high in ((np.int16(0), 3), (0, np.int8(3)), (np.int8(0), 300), (np.int64(0), 3), (0, 3)):
        ct.lax.fori_loop(low, high, lambda i, v: (seen.append(i.dtype.name), v)[1], 0)
    assert seen == ["int16", "int8", "int32", "int32", "int32"]


def test_cond_and_switch() -> None:
    def f(x: Any) -> Any:
        return ct.lax.cond(x > 0, lambda v: v * v, lambda v: cnp.sin(v), x)

    for x in (1.3, -0.4):
        expected = x * x if x > 0 else np.sin(x)
        slope = 2 * x if x > 0 else np.cos(x)
        allclose(f(np.float64(x)), expected)
        allclose(ct.jit(f)(np.float64(x)), expected)
        allclose(ct.grad(f)(np.float64(x)), slope)
        allclose(ct.jit(ct.grad(f))(np.float64(x)), slope)
        allclose(ct.grad(ct.grad(f))(np.float64(x)), 2.0 if x > 0 else -np.sin(x))
    allclose(ct.vmap(ct.grad(f))(np.array([1.3, -0.4])), [2.6, np.cos(-0.4)])
    branches = [lambda v: v, lambda v: v * 10, lambda v: v * 100]
    assert [float(ct.lax.switch(i, branches, 1.0)) for i in (-5, 0, 1, 2, 9)] == [1, 1, 10, 100, 100]
    allclose(ct.vmap(lambda i: ct.lax.switch(i, branches, 1.0))(np.arange(3)), [1, 10, 100])


def test_gradient_of_the_branch_not_taken_does_not_leak() -> None:
    f = lambda x: ct.lax.cond(x > 0, lambda v: cnp.sqrt(v), lambda v: v * 0.0, x)  # noqa: E731
    allclose(ct.grad(f)(np.float64(0.0)), 0.0)
    allclose(ct.jit(ct.grad(f))(np.float64(0.0)), 0.0)


def test_closures_are_differentiated() -> None:
    allclose(ct.grad(lambda w: ct.lax.scan(lambda c, x: (c + w * x, None), 0.0, XS)[0])(2.0), XS.sum(), 1e-5)
    allclose(ct.grad(lambda w: ct.lax.cond(True, lambda: w * 3.0, lambda: w))(2.0), 3.0)
    allclose(ct.lax.cond(True, lambda x: x + 1, lambda x: x, operand=2.0), 3.0)
    either = lambda p, x, y: ct.lax.cond(p, x, lambda v: v[0], y, lambda v: v * v)  # noqa: E731
    allclose(ct.vmap(either, (0, None, None))(np.array([True, False]), (5.0,), 3.0), [5.0, 9.0])
    allclose(ct.lax.switch(1, [lambda _: 1.0, lambda _: 2.0], operand=None), 2.0)


def test_map() -> None:
    allclose(ct.lax.map(lambda x: x * x, XS), XS * XS)


ERRORS = [
    (lambda: ct.lax.scan(lambda c, x: (cnp.zeros(2), x), 0.0, XS), TypeError, "carry.*shape"),
    (lambda: ct.lax.scan(lambda c, x: (c.astype("int32"), x), cnp.zeros(2), XS), TypeError, "dtype float32 on entry"),
    (lambda: ct.lax.scan(lambda c, x: ((c, c), x), 0.0, XS), TypeError, "structure"),
    (lambda: ct.lax.scan(lambda c, x: c, 0.0, XS), TypeError, "pair"),
    (lambda: ct.lax.scan(lambda c, x: (c, x), 0.0, None), ValueError, "length"),
    (lambda: ct.lax.scan(lambda c, x: (c, x), 0.0, (XS, XS[:2])), ValueError, "differ"),
    (lambda: ct.lax.scan(lambda c, x: (c, x), 0.0, 1.0), TypeError, "leading axis"),
    (lambda: ct.lax.while_loop(lambda c: c, lambda c: c, 1.0), TypeError, "bool scalar"),
    (lambda: ct.lax.while_loop(lambda c: c < 1, lambda c: (c, c), 1.0), TypeError, "structure"),
    (lambda: ct.lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0), TypeError, "not both"),
    (lambda: ct.lax.cond(XS > 0, lambda: 1.0, lambda: 2.0), TypeError, "scalar"),
    (lambda: ct.lax.cond(True, lambda: 1.0, lambda: (2.0,)), TypeError, "structures"),
    (lambda: ct.lax.cond(True, lambda: cnp.zeros(2), lambda: cnp.zeros(3)), TypeError, "types"),
    (lambda: ct.lax.switch(1.5, [lambda: 1]), TypeError, "integer scalar"),
    (lambda: ct.lax.switch(0, []), ValueError, "branch"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, kind, pattern = ERRORS[case]
    with pytest.raises(kind, match=pattern):
        call()


def test_integer_outputs_have_tangents_under_jit() -> None:
    value, tangent = ct.jit(lambda x: ct.jvp(lambda v: (v * v, cnp.arange(3)), (x,), (1.0,)))(np.float64(3.0))
    assert float(tangent[0]) == 6.0 and np.shape(tangent[1]) == (3,) and value[1].tolist() == [0, 1, 2]


def test_fori_loop_accepts_unroll() -> None:
    assert int(ct.lax.fori_loop(0, 5, lambda i, v: v + i, 0, unroll=2)) == 10


def test_what_all_branches_pass_on_is_not_batched():
    def f(x, y):
        return ct.lax.cond(x < 2, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)

    doubled, same = ct.vmap(f, (0, None), (0, None))(np.arange(3.0), 5.0)
    assert doubled.tolist() == [0, 2, 6] and same == 5


def test_what_a_loop_hands_on_is_not_batched():
    def scanned(_, y):
        return ct.lax.scan(lambda y, _: (y, None), y, None, length=1)[0]

    def counted(_, y):
        return ct.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, y))[1]

    for loop in (scanned, counted):
        f = lambda x, y, loop=loop: ct.lax.cond(x < 0, loop, loop, x, y)  # noqa: E731
        assert ct.vmap(f, (0, None), None)(np.arange(3.0), 3.0) == 3
        assert ct.jit(ct.grad(lambda y, f=f: ct.vmap(f, (0, None))(np.arange(3.0), y).sum()))(2.0) == 3
        x = cnp.arange(2.0)
        assert loop(0, x) is not x

        def assigned(x, loop=loop):
            x = x * 1
            y = loop(0, x)
            y[0] = 7
            return x, y

        assert [part.tolist() for part in ct.jit(assigned)(x)] == [[0, 1], [7, 1]]


HANDED_ON: dict[str, Callable[[Any, Any], Any]] = {
    "cond": lambda w, n: lax.cond(n > 1, lambda: (w, n), lambda: (w, n + 1)),
    "switch": lambda w, n: lax.switch(n, [lambda: (w, n + 1), lambda: (w, n + 1), lambda: (w, n)]),
    "in other places": lambda w, n: lax.cond(n > 1, lambda x, y: (x, n), lambda x, y: (y, n + 1), w, w),
    "cond in cond": lambda w, n: lax.cond(
        n > 1, lambda: lax.cond(n > 5, lambda: (w, n + 9), lambda: (w, n)), lambda: (w, n + 1)
    ),
    "in a scan": lambda w, n: lax.scan(
        lambda c, _: (lax.cond(c[1] > 1, lambda: c, lambda: (c[0], c[1] + 1)), None), (w, n), None, 1
    )[0],
    "in a while_loop": lambda w, n: lax.while_loop(
        lambda c: c[1] < 1, lambda c: lax.cond(c[1] > 1, lambda: c, lambda: (c[0], c[1] + 1)), (w, n)
    ),
    "a constant of a while_loop": lambda w, n: lax.while_loop(lambda c: c[1] < 1, lambda c: (w, c[1] + 1), (w, n)),
    "made alike": lambda w, n: lax.cond(n > 1, lambda: (w * 2, n), lambda: (w * 2, n + 1)),
    "constants": lambda w, n: lax.cond(n > 1, lambda: (1.5, n), lambda: (1.5, n + 1)),
}


@pytest.mark.parametrize("name", HANDED_ON)
@pytest.mark.parametrize("shared", [cnp.array(1.5), np.float32([1.5, 2.5])], ids=["scalar", "array"])
@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_what_branches_close_over_and_hand_on_is_one_for_all_examples(name: str, shared: Any, wrap: Any) -> None:
    f = HANDED_ON[name]
    each = [f(shared, n) for n in range(3)]
    kept, n = wrap(lambda w, n: ct.vmap(f, (None, 0), (None, 0))(w, n))(shared, cnp.arange(3))
    np.testing.assert_array_equal(kept, each[0][0])
    assert n.tolist() == [int(x[1]) for x in each]
    kept, n = ct.vmap(ct.vmap(wrap(f), (None, 0), (None, 0)), (None, 0), (None, 0))(shared, cnp.arange(3)[:, None])
    np.testing.assert_array_equal(kept, each[0][0])
    assert n.tolist() == [[int(x[1])] for x in each]
    # The derivative counts every example.
    total = ct.grad(lambda w: cnp.sum(ct.vmap(f, (None, 0))(w, cnp.arange(3))[0]))(cnp.array(shared))
    np.testing.assert_array_equal(total, np.full(np.shape(shared), {"made alike": 6, "constants": 0}.get(name, 3)))


def test_a_python_number_that_branches_hand_on_is_one_for_all_examples() -> None:
    kept, n = ct.vmap(HANDED_ON["cond"], (None, 0), (None, 0))(1.5, cnp.arange(3))
    assert float(kept) == 1.5 and n.tolist() == [1, 2, 2]


def test_what_differs_between_branches_is_chosen_for_each_example() -> None:
    def f(w, v, n):
        return lax.cond(n > 1, lambda: (w, w * 2, v), lambda: (w + 0 * v, w * 3, w))

    for k, found in enumerate(ct.vmap(f, (None, None, 0))(1.0, 2.0, cnp.arange(3))):
        np.testing.assert_array_equal(found, [[1, 1, 1], [3, 3, 2], [1, 1, 2]][k])
    with pytest.raises(ValueError, match="output 0 differs"):
        ct.vmap(lambda w, n: lax.cond(n > 1, lambda: w * 2, lambda: w * 3), (None, 0), None)(1.0, cnp.arange(3))


def test_map_of_all_slices_at_once() -> None:
    graph = str(ct.make_ir(lambda x: ct.lax.map(lambda y: y * 2.0, x, batch_size=0))(XS))
    assert "scan" not in graph
    allclose(ct.lax.map(lambda y: y * 2.0, XS, batch_size=0), 2 * XS)
    assert ct.lax.map(lambda y: y * 2.0, XS[:0], batch_size=0).shape == (0,)


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_a_loop_of_python_numbers_takes_the_dtype_beside_it(wrap: Callable[..., Any]) -> None:
    half = cnp.ones(2, "float16")
    loops = {
        "fori_loop": lambda c: lax.fori_loop(0, 3, lambda _, c: c + 1.0, c),
        "while_loop": lambda c: lax.while_loop(lambda c: c < 3, lambda c: c + 1.0, c),
        "scan": lambda c: lax.scan(lambda c, _: (c + 1.0, None), c, None, length=3)[0],
    }
    for name, loop in loops.items():
        found = wrap(lambda loop=loop: (loop(0.0), loop(0.0) * half))()
        assert found[0].weak_type and found[1].dtype == "float16", name
        np.testing.assert_array_equal(found[1], [3, 3])
        found = wrap(lambda loop=loop: (loop(cnp.float32(0)), loop(cnp.float32(0)) * half))()
        assert not found[0].weak_type and found[1].dtype == "float32", name
    assert wrap(ct.vmap(lambda x: x * loops["scan"](0.0)))(half).dtype == "float16"
    assert wrap(ct.vmap(lambda x: x * loops["while_loop"](0.0)))(half).dtype == "float16"


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("steps", [0, 1])
def test_the_type_of_a_carry_does_not_depend_on_the_number_of_steps(wrap: Callable[..., Any], steps: int) -> None:
    one = np.float32(1)
    loops = {
        "fori_loop": lambda: lax.fori_loop(0, steps, lambda _, c: c + one, 0.0),
        "while_loop": lambda: lax.while_loop(lambda c: c < steps, lambda c: c + one, 0.0),
        "scan": lambda: lax.scan(lambda c, x: (c + x, None), 0.0, np.ones(steps, np.float32))[0],
    }
    for name, loop in loops.items():
        found = wrap(loop)()
        assert (float(found), found.weak_type) == (steps, False), name
        assert (found * cnp.ones(1, "bfloat16")).dtype == np.float32, name
