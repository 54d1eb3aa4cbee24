"""debug.print and debug.callback: they show the program's own values, once, in its order, whatever is done to the program."""

from __future__ import annotations

import io

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
        "0.1 {'b': 0.2}",
        "plain {}",
        "1.5 1.5 1 True",
    ]


def test_values_without_a_format(capsys):
    ct.debug.print(X)
    ct.debug.print(1, np.float32(0.1), {"a": 2})
    ct.jit(lambda x: ct.debug.print(x, x > 1))(1.5)
    ct.jit(lambda x: ct.debug.print(x.shape, [x.sum() > 1, x.size]))(X)
    ct.vmap(lambda x: ct.debug.print(x))(X[:2])
    assert printed(capsys) == ["[1. 2. 3.]", "1 0.1 {'a': 2}", "1.5 True", "(3,) [True, 3]", "1.0", "2.0"]
    with pytest.raises(ValueError, match="does not use these arguments: y"):
        ct.debug.print(X, y=1)


def test_the_text_of_a_traced_value_is_warned_of(capsys):
    with pytest.warns(UserWarning, match=r"'x=Traced<float32\[3\]>'.*\n.*ct\.debug\.print\(\"x = {}\", x\)") as warned:
        ct.jit(lambda x: ct.debug.print(f"x={x}"))(X)
    assert warned[0].filename == __file__
    ct.debug.print(f"x={cnp.array(X)}")
    assert printed(capsys) == ["x=Traced<float32[3]>", "x=[1. 2. 3.]"]


def test_numbers_in_containers_are_printed_as_python_prints_them(capsys):
    @ct.jit
    def f(x):
        ct.debug.print("{} {}", x.shape, x.ndim)
        ct.debug.print("{p} {p[w]:.10f}", p={"w": np.float32(0.1), "n": 3, "on": x[0] > 0, "z": 1j})
        ct.debug.print("{}", [x[0].astype("bfloat16"), None, "text", np.float64(0.1), x])
        return x

    f(np.ones(2, np.float32))
    assert printed(capsys) == [
        "(2,) 1",
        "{'n': 3, 'on': True, 'w': 0.1, 'z': 1j} 0.1000000015",
        "[1.0, None, 'text', 0.1, array([1., 1.], dtype=float32)]",
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


# ---- disable_jit ---------------------------------------------------------------------------------------------------------


def test_disable_jit_runs_python():
    seen = []

    @ct.jit
    def g(x):
        seen.append(type(x))
        return x * 2 if x > 1 else x

    with ct.disable_jit():
        assert float(g(2.0)) == 4 and seen == [float]
        assert float(ct.grad(g)(2.0)) == 2
    with pytest.raises(ct.errors.ConcretizationError):
        g(2.0)
    ct.config.update("jax_disable_jit", True)
    assert ct.config.read("disable_jit")
    ct.config.update("disable_jit", False)


def test_disable_jit_makes_loops_pythons_own():
    log = []

    def body(c, x):
        log.append(float(x))
        return c + x, c * x

    xs = np.arange(3, dtype=np.float32)
    expected = ct.lax.scan(lambda c, x: (c + x, c * x), 1.0, xs)
    with ct.disable_jit():
        carry, ys = ct.lax.scan(body, 1.0, xs)
        assert log == [0, 1, 2]
        np.testing.assert_array_equal(ys, expected[1])
        assert float(carry) == float(expected[0])
        _, ys = ct.lax.scan(body, 1.0, xs, reverse=True)
        assert log[3:] == [2, 1, 0] and ys.tolist() == [0, 3, 2]
        assert ct.lax.scan(lambda c, _: (c, {"a": c, "b": None}), 1.0, None, length=2)[1]["a"].tolist() == [1, 1]
        empty = ct.lax.scan(lambda c, x: (c, (c, x)), 1.0, np.zeros((0, 2), np.float32))[1]
        assert empty[0].shape == (0,) and empty[1].shape == (0, 2)
        assert float(ct.lax.while_loop(lambda s: float(s) < 5, lambda s: s + 1, 0.5)) == 5.5
        assert ct.lax.cond(True, lambda: "yes", lambda: "no") == "yes"
        assert [ct.lax.switch(i, [lambda: 0, lambda: 1]) for i in (-3, 0, 1, 7)] == [0, 0, 1, 1]
        assert int(ct.lax.fori_loop(0, 4, lambda i, s: s + i, 0)) == 6
        # Derivatives work through them; what vmap does not know stays a loop of the library's.
        assert float(ct.grad(lambda x: ct.lax.while_loop(lambda s: s < 5, lambda s: s * x, x))(2.0)) == 12
        out = ct.vmap(lambda x: ct.lax.while_loop(lambda s: s < 5, lambda s: s * 2, x))(X)
        np.testing.assert_array_equal(out, [8, 8, 6])
        # A loop whose condition is known at first and then not goes on as one of the library's.
        out = ct.vmap(lambda x: ct.lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + c[1], c[1]), (0.0, x)))(X)
        np.testing.assert_array_equal(out[0], [np.ceil(20 / x) * x for x in X])
        assert ct.vmap(lambda x: ct.lax.cond(x > 1, lambda: x, lambda: -x))(X).tolist() == [-1, 2, 3]


# ---- debug_nans ----------------------------------------------------------------------------------------------------------


def bad(x):
    safe = cnp.where(x > 0, cnp.sqrt(x), 0.0)
    return cnp.log(x - 3) + safe  # NANS


LINE = next(i for i, line in enumerate(open(__file__), 1) if "# " + "NANS" in line)  # noqa: SIM115, PTH123

NANS = {
    "eager": lambda: bad(2.0),
    "jit": lambda: ct.jit(bad)(-1.0),
    "vmap": lambda: ct.vmap(bad)(np.array([5.0, 1.0])),
    "jit vmap": lambda: ct.jit(ct.vmap(bad))(np.array([5.0, 1.0])),
    "scan": lambda: ct.jit(lambda x: ct.lax.scan(lambda c, _: (c - 1, bad(c)), x, None, length=4))(5.5),
    "while": lambda: ct.jit(lambda x: ct.lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, bad(s[1])), (0, x)))(
        4.5
    ),
    "cond": lambda: ct.jit(lambda x: ct.lax.cond(x > 0, bad, lambda v: v, x))(1.0),
    "jit in jit": lambda: ct.jit(lambda x: ct.jit(bad)(x) * 2)(1.0),
    "jvp": lambda: ct.jvp(bad, (1.0,), (1.0,)),
    "mask": lambda: ct.mask(lambda x: bad(x))(ct.Ragged(np.array([4.0, 1.0, np.nan]), {0: 2})),
    "vmap mask": lambda: ct.jit(ct.vmap(ct.mask(lambda x: bad(x))))(ct.ragged([np.array([4.0, 5.0]), np.array([1.0])])),
    "disable_jit": lambda: call_without_jit(),
}


def call_without_jit():
    with ct.disable_jit():
        ct.jit(bad)(2.0)


@pytest.mark.parametrize("case", list(NANS))
def test_debug_nans_names_operation_and_line(case):
    NANS[case]()  # no error without the option
    with ct.debug_nans(), pytest.raises(FloatingPointError) as error:
        NANS[case]()
    assert "invalid value (nan) encountered in log" in str(error.value)
    assert f"test_debug.py:{LINE} (bad)" in str(error.value), str(error.value)


def test_debug_nans_in_a_derivative():
    f = lambda x: cnp.sqrt(x) - cnp.sqrt(2 * x)  # noqa: E731  (at 0 its slope is inf - inf)
    for g in (ct.grad(f), ct.jit(ct.grad(f)), ct.jacfwd(ct.grad(f)), lambda x: ct.vmap(ct.grad(f))(cnp.stack([x, x]))):
        with ct.debug_nans(), pytest.raises(FloatingPointError, match=r"test_debug\.py"):
            g(cnp.array(0.0))
    with ct.debug_nans():
        assert np.isfinite(float(ct.jit(ct.grad(f))(4.0)))


def test_debug_nans_lets_harmless_ones_pass():
    with ct.debug_nans():
        assert float(ct.jit(lambda x: cnp.where(x > 0, cnp.sqrt(x), 0.0))(-1.0)) == 0
        assert ct.jit(lambda x: (x / 0.0, -x / 0.0))(1.0)[0] == np.inf
        m = ct.mask(lambda x: x / x.sum())
        ragged = ct.Ragged(np.array([1.0, 3.0, np.nan]), {0: 2})
        for g in (m, ct.jit(m)):
            assert g(ragged).unpad().tolist() == [0.25, 0.75]
        assert ct.jit(lambda i: i + 1)(1) == 2
    with ct.debug_nans(), ct.debug_nans(False):
        assert np.isnan(float(cnp.log(-1.0)))


@pytest.mark.parametrize("run", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_debug_infs(run):
    def f(x):
        return cnp.exp(x) - 1.0, x

    with ct.debug_infs():
        assert float(run(f)(1.0)[0]) > 1
        ct.jit(lambda x: cnp.where(x > 0, 1 / x, 0.0))(0.0)  # what `where` leaves behind reaches no result
        assert np.isnan(run(lambda x: cnp.log(x))(-1.0))
        with pytest.raises(
            FloatingPointError, match=r"invalid value \(inf\) encountered in exp\n  at .*test_debug\.py"
        ):
            run(f)(1000.0)
        with ct.debug_nans(), pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in log"):
            run(lambda x: cnp.log(x))(-1.0)
    assert np.isinf(run(f)(1000.0)[0])
    with ct.debug_nans():
        assert np.isinf(run(f)(1000.0)[0])


def test_debug_nans_says_when_it_was_there_before():
    with ct.debug_nans(), pytest.raises(FloatingPointError, match=r"input 0 of the program\n.*was there before"):
        ct.jit(lambda x: x * 2)(np.float32(np.nan))


def test_debug_nans_does_not_repeat_prints(capsys):
    with ct.debug_nans(), pytest.raises(FloatingPointError):
        ct.jit(lambda x: (ct.debug.print("{}", x), cnp.log(x))[1])(-1.0)
    assert printed(capsys) == ["-1.0"]


def test_debug_nans_of_every_dtype():
    for dtype in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        x = np.array([0.0], ct._core.canonical_dtype(dtype))
        with ct.debug_nans(), pytest.raises(FloatingPointError, match="div"):
            ct.jit(lambda v: v / v)(x)


def test_options_in_a_call_of_their_own(wrap, capsys):
    seen = []

    def g(x):
        ct.debug.print(ordered=True)("{x} {ordered}", x=x, ordered=2)
        ct.debug.callback(ordered=True)(lambda v, partitioned: seen.append((float(v), partitioned)), x, partitioned="p")
        return x

    wrap(g)(1.0)
    assert printed(capsys) == ["1.0 2"] and seen == [(1.0, "p")]
    with pytest.raises(TypeError, match="got NoneType"):
        ct.debug.callback(ordered=True, a=3)
    with pytest.raises(ValueError, match="does not use these arguments: a"):
        ct.debug.print(ordered=True, a=3)


def test_print_options_are_those_of_the_capture(wrap, capsys):
    def g(x):
        with np.printoptions(precision=2, suppress=True):
            ct.debug.print("{}", x)
        ct.debug.print("{}", x)

    wrap(g)(np.array([1.2345, 1e-7]))
    assert printed(capsys) == ["[1.23 0.  ]", "[1.2345e+00 1.0000e-07]"]


def test_random_keys(wrap, capsys):
    seen = []

    def g(keys):
        ct.debug.print("{}", keys)
        ct.debug.callback(lambda k, n: seen.append((ct.random.key_data(k).tolist(), n)), keys, 3)

    wrap(g)(ct.random.key(3))
    wrap(ct.vmap(g))(ct.random.split(ct.random.key(3), 2))
    words = [[0, 3], [3716834203, 3481239269], [1946498123, 2217676430]]
    assert [x for x, _ in seen] == words and [int(n) for _, n in seen] == [3, 3, 3]
    assert [line for line in printed(capsys) if line[0] == "["] == [str(np.array(x)) for x in words]

    def drawn(key, n):
        return np.asarray(ct.random.normal(key, (2,)) + n)

    result = wrap(lambda k: ct.pure_callback(drawn, ct.ShapeDtypeStruct((2,), "float32"), k, 1.0))(ct.random.key(3))
    np.testing.assert_array_equal(result, ct.random.normal(ct.random.key(3), (2,)) + 1)


def answers(run, *commands):
    """What the prompts of a program answer; ``run`` is given the keywords of `breakpoint`."""
    stdin, stdout = io.StringIO("".join(f"{line}\n" for line in commands)), io.StringIO()
    run({"stdin": stdin, "stdout": stdout})
    assert stdin.read() == ""
    lines = stdout.getvalue().replace("(jdb) ", "\n").splitlines()
    return [line for line in lines if line and line != "Entering jdb:"]


def test_breakpoint_shows_variables(wrap):
    def run(files):
        def f(x):
            y = x + 1
            both = {"a": (x, y), "b": "text", "c": lambda: 7}
            ct.debug.breakpoint(**files)
            del both
            return y * 2

        assert wrap(f)(cnp.float32(2.0)) == 6

    two, three = "Array(2., dtype=float32)", "Array(3., dtype=float32)"
    given = answers(
        run, "p x", "y", "both['a']", "[v for v in both['a']]", "cnp.sum(x + y)", "p both['c']()", "", "no", "c"
    )
    assert given == [
        two,
        three,
        f"({two}, {three})",
        f"[{two}, {three}]",
        "Array(5., dtype=float32)",
        "7",
        "*** NameError: name 'no' is not defined",
    ]


def test_breakpoint_moves_between_functions(wrap):
    def run(files):
        def inner(x):
            ct.debug.breakpoint(**files)  # here
            return x

        wrap(lambda outer: inner(outer + 1))(1)

    given = answers(run, "l", "u", "p int(outer)", "d", "d", "bt", "c")
    assert [line for line in given if line.startswith("->")] == [
        "->              ct.debug.breakpoint(**files)  # here",
        "->          wrap(lambda outer: inner(outer + 1))(1)",
        "->              ct.debug.breakpoint(**files)  # here",
        "->              ct.debug.breakpoint(**files)  # here",
    ]
    assert "1" in given and "At bottommost frame." in given and "Traceback:" in given
    assert given[-1].strip() == "ct.debug.breakpoint(**files)  # here"


def test_breakpoint_stops_once_an_example_and_a_step():
    def grad(files):
        ct.vmap(ct.grad(lambda x: (ct.debug.breakpoint(**files), x * x)[1]))(X)

    def scan(files):
        ct.jit(lambda x: ct.lax.scan(lambda c, x: (ct.debug.breakpoint(**files), (c + x, None))[1], 0.0, x))(X)

    assert answers(grad, *["float(x)", "c"] * 3) == ["1.0", "2.0", "3.0"]
    assert answers(scan, *["float(c)", "c"] * 3) == ["0.0", "1.0", "3.0"]


def test_breakpoint_with_a_token(wrap):
    def run(files):
        def f(x, y):
            kept = ct.debug.breakpoint(token={"x": x}, num_frames=1, **files)
            return kept["x"] * y

        assert wrap(f)(cnp.float32(2.0), 3.0) == 6

    assert answers(run, "float(x) + float(y)", "u", "c")[:2] == ["5.0", "At topmost frame."]


def test_breakpoint_ends_the_process():
    def run(files):
        with pytest.raises(SystemExit):
            ct.jit(lambda x: (ct.debug.breakpoint(**files), x)[1])(1.0)

    assert answers(run, "q") == [] and answers(run) == []


def test_breakpoint_refuses():
    with pytest.raises(ValueError, match="backend must be one of"):
        ct.debug.breakpoint(backend="clu")
    with pytest.raises(ValueError, match="ordered and token"):
        ct.debug.breakpoint(ordered=True, token=1.0)
