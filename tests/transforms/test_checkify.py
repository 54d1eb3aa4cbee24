"""checkify: checks become values, under every transform and in every kind of control flow."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import checkify
from cotangent.checkify import CheckError, check
from cotangent.experimental import checkify as same_module

X = np.array([1.0, 2.0, 3.0], np.float32)
HERE = "test_checkify.py"


def f(x):
    check(x > 0, "x must be positive, got {x}", x=x)
    return cnp.log(x) * 2


def message(err):
    text = err.get()
    return None if text is None else text.split("\n")[0]


FAILED = "x must be positive, got -1.0 (`check` failed)"


@pytest.fixture(params=["eager", "jit"])
def wrap(request):
    return {"eager": lambda f: f, "jit": ct.jit}[request.param]


# ---- check on its own --------------------------------------------------------------------------------------------------------


def test_check_raises_where_it_is_not_functional():
    assert same_module is checkify
    assert float(f(1.0)) == 0
    with pytest.raises(CheckError, match=r"x must be positive, got -1\.0"):
        f(-1.0)
    for g in (ct.jit(f), ct.jit(lambda x: ct.lax.scan(lambda c, v: (c, f(v)), 0, cnp.stack([x + 2, x]))[1].sum())):
        g(1.0)
        with pytest.raises(ValueError, match=r"got -1.0") as error:
            g(-1.0)
        assert HERE in error.value.__notes__[0]
    with pytest.raises(CheckError, match=r"got -1.0"):
        ct.jit(ct.vmap(f))(np.array([2.0, -1.0, -5.0]))
    with pytest.raises(CheckError, match=r"got -1.0"):
        ct.grad(f)(-1.0)
    checkify.debug_check(False, "not seen")
    ct.jit(lambda x: checkify.debug_check(x > 5, "not seen"))(1.0)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="pred must be a bool scalar; got bool of shape"):
        check(X > 0, "x")
    with pytest.raises(TypeError, match="pred must be a bool scalar; got float32"):
        check(1.0, "x")
    with pytest.raises(TypeError, match="check: msg must be a string; got 3"):
        check(True, 3)
    with pytest.raises(ValueError, match="errors must be made of"):
        checkify.checkify(f, errors={"everything"})
    with pytest.raises(TypeError, match="expects a function"):
        checkify.checkify(3)
    with pytest.raises(TypeError, match="expected an Error"):
        checkify.check_error(3)


# ---- checkify ------------------------------------------------------------------------------------------------------------------


def test_error_is_returned(wrap):
    g = wrap(checkify.checkify(f))
    err, out = g(1.0)
    assert err.get() is None and float(out) == 0 and err.throw() is None
    assert repr(err) == "Error(None)"
    err, out = g(-1.0)
    assert message(err) == FAILED and np.isnan(out)
    assert f"{HERE}:" in err.get() and "(f)" in err.get()
    with pytest.raises(CheckError, match="x must be positive"):
        err.throw()
    with pytest.raises(ValueError, match="x must be positive"):
        checkify.check_error(err)


def test_programs_without_checks_are_left_alone():
    err, out = checkify.checkify(cnp.sin, errors=checkify.all_checks)(0.5)
    assert err.get() is None and float(out) == pytest.approx(np.sin(0.5))
    err, _ = checkify.checkify(cnp.sin)(0.5)
    assert err.get() is None and len(ct.tree_util.tree_leaves(err)) == 1


def test_the_first_failure_counts(wrap):
    def g(x):
        check(x < 5, "{} is large", x)
        check(x > 0, "{} is small", x)
        check(x != 3, "three")
        check(x != 3, "never first")
        return x

    h = wrap(checkify.checkify(g))
    assert [message(h(x)[0]) for x in (1, 7, -2, 3)] == [
        None,
        "7 is large (`check` failed)",
        "-2 is small (`check` failed)",
        "three (`check` failed)",
    ]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_values_of_every_dtype_in_messages(wrap, dtype):
    dtype = ct._core.canonical_dtype(dtype)

    def g(x, y):
        check(cnp.all(x == 0), "{x} {0} {name} {1[a]}", y, {"a": y}, x=x, name="static")

    x, y = np.array([0, 1], dtype), np.array(1, dtype)
    err, _ = wrap(checkify.checkify(g))(x, y)
    assert message(err) == f"{x} {y[()]} static {y[()]} (`check` failed)"


def test_under_vmap(wrap):
    xs = np.array([1.0, -1.0, 2.0, -3.0], np.float32)
    # Mapped checks: one error for all.
    err, out = wrap(checkify.checkify(ct.vmap(f)))(xs)
    assert message(err) == FAILED and out.shape == (4,)
    assert wrap(checkify.checkify(ct.vmap(f)))(X)[0].get() is None
    # Mapped errors: one for each.
    err, _ = wrap(ct.vmap(checkify.checkify(f)))(xs)
    first, _, second, _ = err.get().split("\n")
    assert first == f"at mapped index 1: {FAILED}"
    assert second == "at mapped index 3: x must be positive, got -3.0 (`check` failed)"
    with pytest.raises(CheckError, match=r"got -1.0"):
        err.throw()
    assert ct.vmap(checkify.checkify(f))(X)[0].get() is None
    err, _ = wrap(ct.vmap(ct.vmap(checkify.checkify(f))))(xs.reshape(2, 2))
    assert err.get().startswith("at mapped index 0, 1: ")
    err, _ = wrap(checkify.checkify(ct.vmap(ct.vmap(f))))(xs.reshape(2, 2))
    assert message(err) == FAILED

    def row(x, y):
        check(cnp.all(x > y), "{} {}", x, y)

    err, _ = wrap(checkify.checkify(ct.vmap(row, in_axes=(1, None))))(np.array([[1, 0], [2, 3]]), 0)
    assert message(err) == "[0 3] 0 (`check` failed)"


def test_under_derivatives(wrap):
    for transform in (ct.grad, ct.jacrev, ct.jacfwd, ct.hessian, lambda g: lambda x: ct.jvp(g, (x,), (x,))):
        err, _ = wrap(checkify.checkify(transform(f)))(-1.0)
        assert message(err) == FAILED
        assert wrap(checkify.checkify(transform(f)))(1.0)[0].get() is None

    def loss(x):
        err, out = checkify.checkify(f)(x)
        return out, err

    gradient, err = wrap(ct.grad(loss, has_aux=True))(-1.0)
    assert float(gradient) == -2 and message(err) == FAILED


def test_in_scan(wrap):
    def body(c, x):
        check(x < c, "{} is not below {}", x, c)
        return c + 1, f(x)

    g = wrap(checkify.checkify(lambda xs: ct.lax.scan(body, 2.0, xs)))
    err, (carry, ys) = g(np.array([1.0, 2.0, 3.0], np.float32))
    assert err.get() is None and float(carry) == 5
    np.testing.assert_allclose(ys, 2 * np.log([1, 2, 3]), rtol=1e-6)
    err, _ = g(np.array([1.0, 9.0, -1.0], np.float32))
    assert message(err) == "9.0 is not below 3.0 (`check` failed)"
    err, _ = g(np.array([-1.0, 9.0, 3.0], np.float32))
    assert message(err) == FAILED
    gradient = wrap(checkify.checkify(ct.grad(lambda xs: ct.lax.scan(body, 2.0, xs)[1].sum())))
    assert message(gradient(np.array([1.0, -1.0], np.float32))[0]) == FAILED
    err, _ = wrap(checkify.checkify(ct.vmap(lambda x: ct.lax.scan(body, 2.0, x))))(np.array([[1.0], [4.0]], np.float32))
    assert message(err) == "4.0 is not below 2.0 (`check` failed)"
    err, _ = wrap(
        checkify.checkify(lambda: ct.lax.fori_loop(0, 3, lambda i, s: (check(i < 2, "step {}", i), s)[1], 0))
    )()
    assert message(err) == "step 2 (`check` failed)"


def test_in_while(wrap):
    def test(s):
        check(s != 7, "seven in the test")
        return s < 10

    def body(s):
        check(s != 5, "five in the body")
        return s + 2

    for where, expected in (
        ((test, body), {0: None, 1: "five in the body", 3: "five in the body", 7: "seven in the test"}),
        ((lambda s: s < 10, body), {0: None, 5: "five in the body", 7: None}),
        ((test, lambda s: s + 2), {0: None, 3: "seven in the test", 5: "seven in the test"}),
    ):
        g = wrap(checkify.checkify(lambda s, w=where: ct.lax.while_loop(*w, s)))
        for start, text in expected.items():
            err, out = g(start)
            assert message(err) == (text and f"{text} (`check` failed)"), start
            assert int(out) == (11 if start % 2 else 10)
    limit = np.int32(6)
    g = wrap(
        checkify.checkify(
            lambda s: ct.lax.while_loop(
                lambda v: v < limit, lambda v: (check(v != limit - 2, "{}", limit), v + 1)[1], s
            )
        )
    )
    assert message(g(0)[0]) == "6 (`check` failed)"
    err, _ = wrap(checkify.checkify(ct.vmap(lambda s: ct.lax.while_loop(test, body, s))))(np.array([0, 1]))
    assert message(err) == "five in the body (`check` failed)"


def test_in_branches(wrap):
    def g(i, x):
        def first():
            check(x > 0, "first {}", x)
            return x

        def second():
            check(x < 0, "second {} {}", x, i)
            check(x > -5, "low")
            return -x

        return ct.lax.switch(i, [first, second, lambda: x])

    h = wrap(checkify.checkify(g))
    assert [message(h(i, x)[0]) for i, x in ((0, 1.0), (0, -1.0), (1, -1.0), (1, 1.0), (1, -7.0), (2, 0.0))] == [
        None,
        "first -1.0 (`check` failed)",
        None,
        "second 1.0 1 (`check` failed)",
        "low (`check` failed)",
        None,
    ]
    assert message(wrap(checkify.checkify(ct.grad(g, argnums=1)))(0, -1.0)[0]) == "first -1.0 (`check` failed)"


def test_in_jitted_functions_and_closures(wrap):
    w = cnp.array([1.0, 2.0, 3.0])

    @ct.jit
    def inner(x):
        check(cnp.all(x < w), "{} {}", x, w)
        return x + w

    err, out = wrap(checkify.checkify(lambda x: inner(x) * 2))(X + 1)
    assert message(err) == "[2. 3. 4.] [1. 2. 3.] (`check` failed)"
    np.testing.assert_array_equal(out, (X + 1 + np.arange(1, 4)) * 2)


def test_in_custom_rules(wrap):
    @ct.custom_jvp
    def g(x):
        return f(x)

    g.defjvp(lambda xs, ts: (g(xs[0]), 10.0 * ts[0]))

    @ct.custom_vjp
    def h(x):
        return f(x)

    h.defvjp(lambda x: (f(x), None), lambda _, t: (10.0 * t,))
    for k in (g, h):
        assert message(wrap(checkify.checkify(k))(-1.0)[0]) == FAILED
        err, gradient = wrap(checkify.checkify(ct.grad(k)))(1.0)
        assert err.get() is None and float(gradient) == 10

        def loss(x, k=k):
            err, out = checkify.checkify(k)(x)
            return out, err

        gradient, err = wrap(ct.grad(loss, has_aux=True))(-1.0)
        assert float(gradient) == 10 and message(err) == FAILED


def test_automatic_checks_in_custom_rules(wrap):
    """A derivative of what is checked is that of the rule, whatever the backward rule computes."""

    @ct.custom_vjp
    def h(x):
        return cnp.sin(x)

    h.defvjp(lambda x: (cnp.sin(x), x), lambda x, t: (50.0 * t / x,))
    checked = checkify.checkify(h, errors=checkify.float_checks)
    loss = lambda x: checked(x)[::-1]  # noqa: E731
    gradient, err = wrap(ct.grad(loss, has_aux=True))(2.0)
    assert float(gradient) == 25 and err.get() is None
    _, err = wrap(ct.grad(loss, has_aux=True))(np.inf)
    assert message(err).startswith("nan generated by primitive: sin")
    assert message(wrap(checked)(np.inf)[0]).startswith("nan generated by primitive: sin")
    gradients, err = wrap(ct.vmap(ct.grad(loss, has_aux=True)))(np.array([2.0, np.inf]))
    assert float(gradients[0]) == 25 and "nan generated" in message(err)
    err, gradient = wrap(checkify.checkify(ct.grad(h), errors=checkify.float_checks))(0.0)
    assert message(err).startswith("division by zero")


def test_in_masks(wrap):
    def total(x):
        check(cnp.all(x > 0), "in {}", x)
        return x.sum()

    rows = ct.ragged([X, X[:1] - 2, X[:2]])
    err, out = wrap(checkify.checkify(ct.vmap(ct.mask(total))))(rows)
    assert message(err) == "in [-1.] (`check` failed)" and out.tolist() == [6, -1, 3]
    err, _ = wrap(checkify.checkify(ct.mask(total)))(ct.Ragged(np.array([1, 2, np.nan], np.float32), {0: 2}))
    assert err.get() is None
    err, _ = wrap(checkify.checkify(ct.mask(total), errors=checkify.all_checks))(
        ct.Ragged(np.array([1, -2, np.nan], np.float32), {0: 2})
    )
    assert message(err) == "in [ 1. -2.] (`check` failed)"


def test_errors_are_handed_on(wrap):
    def g(x):
        err, out = checkify.checkify(f)(x)
        checkify.check_error(err)
        return out

    with pytest.raises(CheckError, match=r"got -1.0 \(`check` failed\)"):
        wrap(g)(-1.0)
    wrap(g)(1.0)
    err, _ = wrap(checkify.checkify(g))(-1.0)
    assert message(err) == FAILED
    assert wrap(checkify.checkify(g))(1.0)[0].get() is None
    err, _ = wrap(checkify.checkify(lambda x: ct.vmap(g)(x)))(np.array([1.0, -1.0]))
    assert message(err) == FAILED
    # What was found is found only once, and by the innermost that looks for it.
    outer, (inner, _) = wrap(checkify.checkify(checkify.checkify(f)))(-1.0)
    assert outer.get() is None and message(inner) == FAILED
    ct.jit(lambda x: checkify.checkify(f)(x)[0])(-1.0).get()
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(lambda x: (checkify.checkify(f)(x)[0].get(), x)[1])(-1.0)


# ---- automatic checks ------------------------------------------------------------------------------------------------------------


def test_nan_checks(wrap):
    g = wrap(checkify.checkify(lambda x: cnp.sin(cnp.log(x) + 1), errors=checkify.nan_checks))
    err, _ = g(-1.0)
    assert message(err) == "nan generated by primitive: log." and HERE in err.get()
    assert g(1.0)[0].get() is None
    err, _ = wrap(checkify.checkify(ct.grad(lambda x: cnp.sqrt(x) * 0.0), errors=checkify.nan_checks))(0.0)
    assert message(err) is None or "nan generated" in message(err)
    err, _ = wrap(
        checkify.checkify(
            lambda x: ct.lax.scan(lambda c, _: (c - 1, cnp.log(c)), x, None, length=3), errors=checkify.nan_checks
        )
    )(1.5)
    assert message(err) == "nan generated by primitive: log."


def test_div_checks(wrap):
    g = wrap(checkify.checkify(lambda x, y: x / y, errors=checkify.div_checks))
    assert message(g(X, np.array([1, 0, 2], np.float32))[0]) == "division by zero"
    assert g(X, X)[0].get() is None
    assert (
        message(wrap(checkify.checkify(lambda x, y: x // y, errors=checkify.div_checks))(3, 0)[0]) == "division by zero"
    )
    err, _ = wrap(checkify.checkify(lambda x: x / 0.0, errors=checkify.float_checks))(0.0)
    assert message(err) == "division by zero"
    err, _ = wrap(checkify.checkify(ct.vmap(lambda x: 1 / x), errors=checkify.div_checks))(np.array([1.0, 0.0]))
    assert message(err) == "division by zero"


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit])
def test_windows_that_are_moved_inside_are_reported(wrap):
    x = np.ones((2, 3, 7), np.float32)
    read = lambda i: ct.lax.dynamic_slice(x, i, (1, 2, 1))  # noqa: E731
    write = lambda i: ct.lax.dynamic_update_slice(x, np.zeros((1, 2, 1), np.float32), i)  # noqa: E731
    for f in (read, write):
        g = wrap(checkify.checkify(f, errors=checkify.index_checks))
        assert g((1, 1, 6))[0].get() is None and g((-2, -2, -7))[0].get() is None
        for starts, expected in (
            ((2, 0, 0), "index 2 is out-of-bounds for axis 0 with size 2"),
            ((-3, 0, 0), "index -1 is out-of-bounds for axis 0 with size 2"),
            ((0, 2, 0), "index 2 is out-of-bounds for axis 1 with size 3"),
            ((0, 1, -10), "index -3 is out-of-bounds for axis 2 with size 7"),
        ):
            assert expected in g(tuple(np.int32(s) for s in starts))[0].get()
    unsigned = checkify.checkify(lambda i: ct.lax.dynamic_index_in_dim(x[0, 0], i), errors=checkify.index_checks)
    assert unsigned(np.uint8(6))[0].get() is None
    assert "index 7 is out-of-bounds for axis 0 with size 7" in unsigned(np.uint8(7))[0].get()


def test_flags_and_objects_are_what_they_are():
    def f(x, add, name, *, flag=False):
        checkify.check(x > 0, "not positive")
        return x + 1 if add and name == "one" and flag else x

    err, out = checkify.checkify(f)(1.0, True, "one", flag=True)
    assert err.get() is None and float(out) == 2.0
    err, out = ct.jit(checkify.checkify(f), static_argnums=(1, 2))(-1.0, False, "one")
    assert err.get().startswith("not positive") and float(out) == -1.0
    err, _ = checkify.checkify(lambda x: cnp.sin(x) / x, errors=checkify.float_checks)(np.float32(0.0))
    assert err.get().startswith("division by zero")


def test_index_checks(wrap):
    expected = "out-of-bounds indexing for array of shape (3,): index {} is out-of-bounds for axis 0 with size 3"
    reads = [
        lambda x, i: x[i],
        lambda x, i: cnp.take(x, i),
        lambda x, i: x.at[i].set(0),
        lambda x, i: ct.jit(lambda: x[i])(),
    ]
    for read in reads:
        g = wrap(checkify.checkify(read, errors=checkify.index_checks))
        for i, wrong in ((2, None), (-3, None), (3, 3), (-4, -4)):
            assert message(g(X, i)[0]) == (None if wrong is None else expected.format(wrong))
    g = wrap(checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks))
    assert message(g(X, np.array([0, 5, 7]))[0]) == expected.format(5)
    g = wrap(checkify.checkify(lambda x, i, j: x[i, j], errors=checkify.index_checks))
    text = message(g(np.zeros((2, 3)), np.array([0, 1]), 4)[0])
    assert text == "out-of-bounds indexing for array of shape (2, 3): index 4 is out-of-bounds for axis 1 with size 3"
    g = wrap(checkify.checkify(ct.vmap(lambda i: cnp.array(X)[i]), errors=checkify.index_checks))
    assert message(g(np.array([1, 9]))[0]) == expected.format(9)
    # Not asked for: nothing is recorded, also not in what is cached.
    read = ct.jit(lambda x, i: x[i])
    read(X, 7)
    assert message(checkify.checkify(read, errors=checkify.index_checks)(X, 7)[0]) == expected.format(7)
    assert checkify.checkify(read)(X, 7)[0].get() is None
    assert not ct._core.get_flag("index_checks")


def test_sets_of_checks(wrap):
    def g(x, i):
        check(x > 0, "user")
        return cnp.log(x) / x * cnp.array(X)[i]

    def found(x, i, errors):
        return message(wrap(checkify.checkify(g, errors=errors))(x, i)[0])

    assert found(-1.0, 0, checkify.all_checks) == "user (`check` failed)"
    assert found(-1.0, 0, checkify.automatic_checks) == "nan generated by primitive: log."
    assert found(-1.0, 0, checkify.div_checks | checkify.index_checks) is None
    assert found(-1.0, 9, checkify.div_checks | checkify.index_checks).startswith("out-of-bounds")
    assert found(0.0, 0, checkify.float_checks) == "division by zero"
    assert found(0.0, 0, checkify.user_checks) == "user (`check` failed)"
    assert found(-1.0, 9, checkify.empty_checks) is None


def test_other_effects_stay(capsys):
    def g(x):
        ct.debug.print("{}", x)
        return f(x)

    err, _ = ct.jit(checkify.checkify(g))(-1.0)
    assert capsys.readouterr().out == "-1.0\n" and message(err) == FAILED
