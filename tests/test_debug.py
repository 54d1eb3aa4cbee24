"""debug.print and debug.callback: they show the program's own values, once, in its order, whatever is done to the program."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.array([1.0, 2.0, 3.0], np.float32)
WRAPS = {"eager": lambda f: f, "jit": ct.jit, "jit jit": lambda f: ct.jit(lambda *xs: ct.jit(f)(*xs))}


@pytest.fixture(params=list(WRAPS))
def wrap(request):
    return WRAPS[request.param]


def printed(capsys):
    return capsys.readouterr().out.splitlines()


def f(x):
    ct.debug.print("x = {}", x)
    return x * x


def test_formats(capsys):
    ct.debug.print("{0} {x:.2f} {y} {z!r}", 1, x=np.float32(0.1), y=X, z="text", ordered=True)
    ct.jit(lambda v: ct.debug.print("{v[a]} {k}", v=v, k={"b": v["a"] * 2}))({"a": np.float32(0.1)})
    ct.debug.print("plain {{}}")
    ct.jit(lambda x: ct.debug.print("{} {} {:d} {}", x, x.astype("bfloat16"), x.astype(int), x > 0))(1.5)
    assert printed(capsys) == [
        "1 0.10 [1. 2. 3.] 'text'",
        "0.1 {'b': " + repr(np.float32(0.2)) + "}",
        "plain {}",
        "1.5 1.5 1 True",
    ]


def test_wrong_formats():
    with pytest.raises(ValueError, match="does not use these arguments: 1, y"):
        ct.debug.print("{} {x}", 1, 2, x=3, y=4)
    with pytest.raises(KeyError, match="z"):
        ct.jit(lambda x: ct.debug.print("{z}", x=x))(1.0)
    with pytest.raises(IndexError):
        ct.debug.print("{} {}", 1)
    with pytest.raises(TypeError, match="expects a function"):
        ct.debug.callback("print", 1)


def test_under_grad_once(wrap, capsys):
    assert float(wrap(ct.grad(f))(3.0)) == 6
    assert printed(capsys) == ["x = 3.0"]
    assert float(wrap(ct.grad(ct.grad(f)))(3.0)) == 2
    assert printed(capsys) == ["x = 3.0"]
    _, pull = ct.vjp(f, 3.0)
    assert float(pull(1.0)[0]) == float(pull(1.0)[0]) == 6
    assert printed(capsys) == ["x = 3.0"]
    wrap(lambda x: ct.jvp(f, (x,), (x,)))(3.0)
    assert printed(capsys) == ["x = 3.0"]
    wrap(ct.jacrev(lambda x: ct.vmap(f)(x)))(X)
    assert printed(capsys) == ["x = 1.0", "x = 2.0", "x = 3.0"]
    wrap(ct.hessian(lambda x: f(x).sum()))(X)
    assert printed(capsys) == ["x = [1. 2. 3.]"]
    _, linear = ct.linearize(f, 3.0)
    linear(1.0)
    assert printed(capsys) == ["x = 3.0"]


def test_under_vmap(wrap, capsys):
    wrap(ct.vmap(f))(X)
    assert printed(capsys) == ["x = 1.0", "x = 2.0", "x = 3.0"]
    wrap(ct.vmap(ct.grad(f)))(X)
    assert printed(capsys) == ["x = 1.0", "x = 2.0", "x = 3.0"]
    wrap(ct.grad(lambda x: ct.vmap(f)(x).sum()))(X)
    assert printed(capsys) == ["x = 1.0", "x = 2.0", "x = 3.0"]
    wrap(ct.vmap(lambda x, y: (ct.debug.print("{} {}", x, y), ct.debug.print("{}", y)), in_axes=(0, None)))(X, 5)
    assert printed(capsys) == ["1.0 5", "2.0 5", "3.0 5", "5"]
    wrap(ct.vmap(ct.vmap(f)))(np.arange(4.0, dtype=np.float32).reshape(2, 2))
    assert sorted(printed(capsys)) == ["x = 0.0", "x = 1.0", "x = 2.0", "x = 3.0"]
    wrap(ct.vmap(lambda x: ct.debug.print("{}", x), in_axes=1))(np.arange(4).reshape(2, 2))
    assert printed(capsys) == ["[0 2]", "[1 3]"]


def test_in_loops_and_branches(wrap, capsys):
    def body(c, x):
        ct.debug.print("{} {}", c, x)
        return c + x, c * x

    def total(xs):
        return ct.lax.scan(body, 0.0, xs)[1].sum()

    for g in (total, ct.grad(total), ct.jacrev(total), ct.hessian(total)):
        wrap(g)(X)
        assert printed(capsys) == ["0.0 1.0", "1.0 2.0", "3.0 3.0"]

    def test(s):
        ct.debug.print("test {}", s)
        return s < 3

    def step(s):
        ct.debug.print("step {}", s)
        return s + 1

    for g in (
        lambda x: ct.lax.while_loop(test, step, x),
        lambda x: ct.jvp(lambda v: ct.lax.while_loop(test, step, v), (x,), (x,)),
    ):
        wrap(g)(1.0)
        assert printed(capsys) == ["test 1.0", "step 1.0", "test 2.0", "step 2.0", "test 3.0"]

    def branch(x):
        return ct.lax.cond(x > 0, lambda: (ct.debug.print("yes {}", x), x * x)[1], lambda: (ct.debug.print("no"), x)[1])

    for g in (branch, ct.grad(branch), ct.grad(ct.grad(branch))):
        wrap(g)(2.0)
        wrap(g)(-2.0)
        assert printed(capsys) == ["yes 2.0", "no"]
    wrap(lambda x: ct.lax.fori_loop(0, 2, lambda i, s: (ct.debug.print("{}", i), s)[1], x))(1.0)
    assert printed(capsys) == ["0", "1"]


def test_under_vmap_of_while(wrap, capsys):
    def test(s):
        ct.debug.print("test {}", s)
        return s < 3

    wrap(ct.vmap(lambda x: ct.lax.while_loop(test, lambda s: s + 1, x)))(X[1:])
    # All examples go on until the last is done; the condition is printed once each time.
    assert printed(capsys) == ["test 2.0", "test 3.0", "test 3.0", "test 3.0"]


def test_in_masks(wrap, capsys):
    m = ct.mask(lambda x: (ct.debug.print("{} {}", x, x.sum()), x.sum())[1])
    rows = ct.ragged([X, X[:0], X[:2]])
    expected = ["[1. 2. 3.] 6.0", "[] 0.0", "[1. 2.] 3.0"]
    wrap(ct.vmap(m))(rows)
    assert printed(capsys) == expected
    wrap(ct.vmap(ct.grad(m)))(rows)
    assert printed(capsys) == expected
    table = ct.mask(lambda x: (ct.debug.print("{}", x.T), x.sum())[1])
    data = np.full((3, 4), np.nan, np.float32)
    data[:2, :1] = [[1], [2]]
    wrap(table)(ct.Ragged(data, {0: 2, 1: 1}))
    assert printed(capsys) == ["[[1. 2.]]"]


def test_inside_custom_rules(capsys):
    @ct.custom_jvp
    def g(x):
        ct.debug.print("primal {}", x)
        return x

    @g.defjvp
    def _rule(primals, tangents):
        ct.debug.print("rule {} {}", primals[0], tangents[0])
        return primals[0], tangents[0] * 3

    assert float(ct.jit(g)(1.0)) == 1 and printed(capsys) == ["primal 1.0"]
    ct.jvp(g, (1.0,), (5.0,))
    assert printed(capsys) == ["rule 1.0 5.0"]

    @ct.custom_vjp
    def h(x):
        return x

    h.defvjp(lambda x: (x, x), lambda r, t: (ct.debug.print("backward {} {}", r, t), (t,))[1])
    ct.jit(ct.grad(lambda x: h(x) * 2))(1.0)
    assert printed(capsys) == ["backward 1.0 2.0"]


def test_order_is_the_programs(wrap):
    log = []

    def g(x):
        for i in range(4):
            ct.debug.callback(lambda v, i: log.append((i, float(v))), x + i, i)
            x = cnp.sin(x)
        return x

    wrap(lambda x: g(x) + g(x + 1))(0.0)
    assert [i for i, _ in log] == [0, 1, 2, 3] * 2


def test_static_leaves_and_results_are_ignored(wrap):
    seen = []

    def callback(a, name, *, flag=None, **rest):
        seen.append((float(a), name, flag, rest))
        return "ignored"

    wrap(lambda x: ct.debug.callback(callback, x, "name", flag=True, other=print))(2.0)
    assert seen[0][:2] == (2.0, "name") and bool(seen[0][2]) and seen[0][3] == {"other": print}


def test_linear_functions_print_nothing_backwards(capsys):
    pull = ct.linear_transpose(lambda x: (ct.debug.print("{}", x), x * 2.0)[1], 1.0)
    pull(1.0)
    assert printed(capsys) == []


def test_traced_values_show_their_type():
    seen = []
    ct.jit(lambda x: seen.append((repr(x), str(x), f"{x}")) or x)(X)
    ct.vmap(lambda x: seen.append((repr(x), str(x), f"{x}")) or x)(X)
    for texts in seen:
        for text in texts:
            assert "float32" in text and "Traced" in text, text
    assert "float32[3]" in seen[0][0] and "float32[]" in seen[1][0]
    ct.grad(lambda x: seen.append(f"{x}") or x)(3.0)
    assert "3." in seen[-1]
