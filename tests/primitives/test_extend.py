"""ct.Interpreter, ct.transform and ct.primitive: what programs add to the library composes with what is in it."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.test_util import check_grads

X = np.linspace(0.2, 1.4, 4, dtype=np.float32)


def f(x):
    return cnp.sin(x) * 2.0 + ct.jit(cnp.sin)(x * x)


# ---- Interpreter ---------------------------------------------------------------------------------------------------------


class SinIsCos(ct.Interpreter):
    def process(self, eqn, *values):
        return cnp.cos(values[0]) if eqn.primitive == "sin" else super().process(eqn, *values)


class Count(ct.Interpreter):
    def __init__(self):
        self.seen = []

    def process(self, eqn, *values):
        self.seen.append((eqn.primitive, [t.shape for t in eqn.in_types], eqn.location.split(" (")[-1]))
        return super().process(eqn, *values)


def g(x):
    return cnp.cos(x) * 2.0 + cnp.cos(x * x)


def test_interpreter_computes_and_composes():
    h = SinIsCos()(f)
    np.testing.assert_allclose(h(X), g(X), rtol=1e-6)
    for wrap in (
        ct.jit,
        ct.vmap,
        lambda k: ct.jit(ct.vmap(ct.grad(k))),
        lambda k: ct.grad(lambda x: k(x).sum()),
        ct.jacfwd,
    ):
        np.testing.assert_allclose(wrap(h)(X), wrap(g)(X), rtol=1e-5)
    # Interpreting a derivative, and interpreters of interpreted functions.
    np.testing.assert_allclose(SinIsCos()(ct.grad(lambda x: cnp.sin(x) * x))(1.0), np.cos(1.0) + np.cos(1.0), rtol=1e-5)
    counter = Count()
    counter(SinIsCos()(lambda x: cnp.sin(x)))(1.0)
    assert [name for name, _, _ in counter.seen] == ["cos"]


def test_interpreter_sees_equations():
    counter = Count()
    counter(f)(X)
    assert [name for name, _, _ in counter.seen] == ["sin", "full", "mul", "mul", "call", "sin", "add"]
    assert counter.seen[0] == ("sin", [(4,)], "f)")
    graph = ct.make_ir(f)(X)
    eqn = ct.ir.equations(graph)[1]
    assert eqn.primitive == "full" and eqn.attributes["shape"] == [4] and eqn.attributes["value"] == 2.0
    assert eqn.out_types[0].shape == (4,) and eqn.out_types[0].dtype == np.float32
    assert "full" in repr(eqn)
    np.testing.assert_array_equal(eqn.bind(shape=[2])[0], [2, 2])
    assert ct.ir.equations(graph)[4].subgraphs[0].num_equations == 1
    assert ct.ir.equations(graph)[4].expand().num_equations == 1 and eqn.expand() is None


def test_interpreter_of_other_values():
    """Values need not be arrays: an interval arithmetic."""

    class Intervals(ct.Interpreter):
        def process(self, eqn, *values):
            if eqn.primitive == "full":
                (constant,) = eqn.bind()
                return (float(constant),) * 2
            (a, b), (c, d) = values if len(values) == 2 else (values[0], values[0])
            return {
                "add": lambda: (a + c, b + d),
                "mul": lambda: (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
                "neg": lambda: (-b, -a),
            }[eqn.primitive]()

    graph = ct.make_ir(lambda x, y: -(x * y) + 1.0)(0.0, 0.0)
    assert Intervals().run(graph, (-1.0, 2.0), (3.0, 4.0)) == [(-7.0, 5.0)]


def test_interpreter_keeps_control_flow_and_structures():
    def h(x):
        c, ys = ct.lax.scan(lambda c, v: (c + cnp.sin(v), c), 0.0, x)
        return {"c": c, "ys": (ys, ct.lax.cond(c > 0, lambda: c, lambda: -c))}

    out, expected = Count()(h)(X), h(X)
    assert set(out) == {"c", "ys"}
    np.testing.assert_array_equal(out["ys"][0], expected["ys"][0])
    np.testing.assert_array_equal(out["ys"][1], expected["ys"][1])


def test_interpreter_errors():
    class Wrong(ct.Interpreter):
        def process(self, eqn, *values):
            return [1, 2]

    with pytest.raises(TypeError, match="must return 1 results for sin"):
        Wrong()(cnp.sin)(1.0)
    with pytest.raises(TypeError, match="takes 1 inputs; got 2"):
        ct.Interpreter().run(ct.make_ir(cnp.sin)(1.0), 1.0, 2.0)
    with pytest.raises(TypeError, match="expects a function"):
        Count()(3)
    with pytest.raises(IndexError):
        ct.make_ir(cnp.sin)(1.0).bind_equation(7, [1.0], {})


# ---- rewrite and transform ---------------------------------------------------------------------------------------------------


@ct.transform
def sin_to_cos(graph):
    return ct.ir.rewrite(graph, lambda eqn, *xs: cnp.cos(xs[0]) if eqn.primitive == "sin" else None)


def test_transform_composes():
    h = sin_to_cos(f)
    np.testing.assert_allclose(h(X), g(X), rtol=1e-6)
    for wrap in (ct.jit, ct.vmap, lambda k: ct.jit(ct.vmap(ct.grad(k))), ct.jacrev):
        np.testing.assert_allclose(wrap(h)(X), wrap(g)(X), rtol=1e-5)
    np.testing.assert_allclose(sin_to_cos(sin_to_cos(f))(X), g(X), rtol=1e-6)
    # After the derivative instead of before it: d/dx x sin x = sin x + x cos x, whose sin becomes a cosine.
    h = sin_to_cos(ct.grad(lambda x: x * cnp.sin(x)))
    assert float(h(0.5)) == pytest.approx(np.cos(0.5) + 0.5 * np.cos(0.5), rel=1e-5)
    w = np.float32([1, 2, 3, 4])
    np.testing.assert_allclose(
        ct.jit(sin_to_cos(lambda t: {"a": cnp.sin(t["x"]) * w}))({"x": X})["a"], np.cos(X) * w, rtol=1e-6
    )


def test_rewrite_goes_into_sub_graphs():
    def h(x):
        y = ct.lax.scan(lambda c, v: (c + cnp.sin(v), None), 0.0, x)[0]
        return ct.lax.cond(y > 0, lambda: cnp.sin(y), lambda: y)

    y = np.cos(X).sum()
    assert float(ct.jit(sin_to_cos(h))(X)) == pytest.approx(np.cos(y), rel=1e-5)
    assert [e.location for e in ct.ir.equations(ct.make_ir(sin_to_cos(h))(X))][-1] != ""


def test_passes_run_once_a_graph_and_are_checked():
    runs = []

    @ct.transform
    def same(graph):
        runs.append(graph)
        return graph

    for _ in range(3):
        same(f)(X)
    assert len(runs) == 1
    with pytest.raises(TypeError, match="bad_type must return a graph; it returned int"):
        ct.transform(lambda_named("bad_type", lambda graph: 3))(f)(X)
    with pytest.raises(TypeError, match="with 1 outputs; it returned 2"):
        ct.transform(lambda_named("more", lambda graph: ct.make_ir(lambda x: (x, x))(X)))(f)(X)
    with pytest.raises(TypeError, match="with the inputs of the one"):
        ct.transform(lambda_named("other", lambda graph: ct.make_ir(lambda x: x)(1.0)))(f)(X)
    with pytest.raises(TypeError, match="rewritten output has type"):
        ct.ir.rewrite(ct.make_ir(cnp.sin)(X), lambda eqn, x: x.sum() if eqn.primitive == "sin" else None)
    with pytest.raises(ValueError, match="array from outside"):
        ct.ir.rewrite(ct.make_ir(cnp.sin)(X), lambda eqn, x: x + X if eqn.primitive == "sin" else None)


def lambda_named(name, function):
    function.__name__ = name
    return function


# ---- primitive ---------------------------------------------------------------------------------------------------------------

cube = ct.primitive(
    "test_cube",
    type=lambda x: x,
    reference=lambda x: x**3,
    jvp=lambda xs, ts: (cube(xs[0]), 3.0 * square(xs[0]) * ts[0]),
    elementwise=True,
)
square = ct.primitive("test_square", type=lambda x: x, expand=lambda x: x * x)


def _reverse_transpose(t, x, *, axis):
    assert x.shape == t.shape and x.dtype == t.dtype
    return rev(t, axis=axis)


def _reverse_batch(xs, axes, *, axis):
    (x,), (at,) = xs, axes
    return rev(x, axis=axis + 1 if at <= axis else axis), at


def _reverse_mask(xs, lengths, *, axis):
    (x,), (ragged,) = xs, lengths
    if axis not in ragged:
        return rev(x, axis=axis), ragged
    positions = ragged[axis] - 1 - cnp.arange(x.shape[axis])
    return cnp.take(x, cnp.maximum(positions, 0), axis=axis), ragged


rev = ct.primitive(
    "test_reverse",
    type=lambda x, *, axis: x,
    reference=lambda x, *, axis: np.flip(x, axis),
    jvp=lambda xs, ts, *, axis: (rev(xs[0], axis=axis), rev(ts[0], axis=axis)),
    transpose=_reverse_transpose,
    batch=_reverse_batch,
    mask=_reverse_mask,
)

split_at = ct.primitive(
    "test_split",
    type=lambda x, *, at: [
        ct.ShapeDtypeStruct((at, *x.shape[1:]), x.dtype),
        ct.ShapeDtypeStruct((x.shape[0] - at, *x.shape[1:]), x.dtype),
    ],
    reference=lambda x, *, at: (x[:at], x[at:]),
    expand=lambda x, *, at: [x[:at], x[at:]],
    multiple_results=True,
)


def numerically(h, *args):
    for wrap in (lambda k: k, ct.jit):
        check_grads(wrap(h), args, order=2, modes=("fwd", "rev"), atol=2e-2, rtol=2e-2)


def test_reference_only_with_a_derivative():
    np.testing.assert_allclose(cube(X), X**3, rtol=1e-6)
    np.testing.assert_allclose(ct.jit(lambda x: cube(x + 1) * 2)(X), (X + 1) ** 3 * 2, rtol=1e-6)
    np.testing.assert_allclose(ct.jit(ct.vmap(ct.grad(cube)))(X), 3 * X**2, rtol=1e-5)
    numerically(lambda x: cube(x).sum(), X.astype(np.float64))
    assert cube(2) == 8 and cube(2).dtype == np.int32
    masked = ct.mask(lambda x: cube(x).sum())
    np.testing.assert_allclose(
        ct.jit(ct.vmap(masked))(ct.ragged([X, X[:2]])), [(X**3).sum(), (X[:2] ** 3).sum()], rtol=1e-5
    )


def test_expand_gives_every_rule(tmp_path):
    np.testing.assert_allclose(square(X), X * X)
    numerically(lambda x: square(x).sum(), X.astype(np.float64))
    np.testing.assert_allclose(ct.vmap(ct.grad(square))(X), 2 * X)
    assert float(ct.mask(lambda x: square(x).sum())(ct.Ragged(np.array([1, 2, np.nan], np.float32), {0: 2}))) == 5
    ct.export.compile(square, X, name="square").save(tmp_path)
    np.testing.assert_allclose(ct.export.load(tmp_path)(X), X * X)


def test_all_rules():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(rev(x, axis=1), x[:, ::-1])
    w = np.float32([1, 2, 3])
    for wrap in (lambda k: k, ct.jit):
        h = wrap(lambda v: (rev(v, axis=0) * w).sum())
        np.testing.assert_array_equal(ct.grad(h)(x[0]), w[::-1])
        np.testing.assert_array_equal(ct.vmap(h)(x), (x[:, ::-1] * w).sum(1))
        np.testing.assert_array_equal(ct.vmap(h, in_axes=1)(x.T), (x[:, ::-1] * w).sum(1))
        np.testing.assert_array_equal(wrap(ct.vmap(lambda v: rev(v, axis=0), in_axes=1))(x.T), x[:, ::-1])
    numerically(lambda v: (cube(rev(v, axis=0)) * w).sum(), x[1].astype(np.float64))
    (pulled,) = ct.linear_transpose(lambda v: rev(v, axis=0), x[0])(w)
    np.testing.assert_array_equal(pulled, w[::-1])
    rows = [x[0], x[0, :1], x[1, :2]]
    out = ct.jit(ct.vmap(ct.mask(lambda v: rev(v, axis=0))))(ct.ragged(rows))
    for got, row in zip(out.to_list(), rows, strict=True):
        np.testing.assert_array_equal(got, row[::-1])
    sums = ct.vmap(ct.grad(ct.mask(lambda v: (rev(v, axis=0) * cnp.arange(v.shape[0])).sum())))(ct.ragged(rows))
    for got, row in zip(sums.to_list(), rows, strict=True):
        np.testing.assert_array_equal(got, np.arange(len(row))[::-1])


def test_multiple_results(tmp_path):
    a, b = split_at(X, at=1)
    np.testing.assert_array_equal(np.concatenate([a, b]), X)

    def h(x):
        a, b = split_at(cube(x), at=1)
        return a.sum() * 2 + b.sum()

    np.testing.assert_allclose(ct.jit(ct.grad(h))(X), 3 * X**2 * [2, 1, 1, 1], rtol=1e-5)
    np.testing.assert_array_equal(ct.vmap(lambda x: split_at(x, at=2)[1])(np.stack([X, X])), np.stack([X, X])[:, 2:])
    # Compiled programs call the reference rule, libraries hold the expansion.
    assert "host call" in ct._core.compile_graph(ct.make_ir(lambda x: split_at(x, at=1))(X)).loop_text()
    ct.export.compile(lambda x: split_at(x, at=1)[1] * 2, X, name="split").save(tmp_path)
    np.testing.assert_allclose(ct.export.load(tmp_path)(X), X[1:] * 2)


def test_symbolic_zeros_and_integer_operands():
    seen = []

    def rule(symbolic):
        def jvp(xs, ts):
            seen.append([t is None for t in ts])
            return p(*xs), ts[0]

        name = f"test_zeros_{symbolic}"
        p = ct.primitive(name, type=lambda x, y, i: x, reference=lambda x, y, i: x, jvp=jvp, symbolic_zeros=symbolic)
        return p

    for symbolic in (True, False):
        p = rule(symbolic)
        assert float(ct.grad(lambda x: p(x, 2.0, 3))(1.0)) == 1
        assert seen.pop() == [False, symbolic, True]
    linear = ct.primitive(
        "test_no_tangent", type=lambda x: x, reference=lambda x: x, jvp=lambda xs, ts: (linear(xs[0]), None)
    )
    assert float(ct.grad(lambda x: linear(x) + x)(1.0)) == 1


def test_side_effects_happen_in_order():
    log = []

    def reference(x, *, tag):
        log.append((tag, float(x)))
        return x

    p = ct.primitive("test_tell", type=lambda x, *, tag: x, reference=reference, has_side_effects=True)

    @ct.jit
    def h(x):
        p(x, tag="a")
        p(x, tag="b")
        p(x, tag="b")
        return x

    h(1.0)
    assert log == [("a", 1.0), ("b", 1.0), ("b", 1.0)]


def test_attributes_of_every_kind():
    got = {}

    def reference(x, **attributes):
        got.update(attributes)
        return x

    marker = object()
    p = ct.primitive("test_attributes", type=lambda x, **_: x, reference=reference)
    p(X, a=1, b=2.5, c="text", d=np.dtype("float32"), e=(1, 2), f=True, g=marker, h=[1.5])
    assert got == {"a": 1, "b": 2.5, "c": "text", "d": np.float32, "e": (1, 2), "f": True, "g": marker, "h": [1.5]}


def test_graphs_with_them_print_and_are_saved():
    graph = ct.make_ir(lambda x: rev(cube(x), axis=0))(X)
    assert "test_cube" in str(graph) and ct.ir.parse(graph.text()) == graph
    assert ct.ir.deserialize(graph.serialize()) == graph
    assert "test_cube" not in ct.ir.slot_matrix()


def test_a_later_definition_takes_the_name():
    def make(factor):
        return ct.primitive("test_again", type=lambda x: x, reference=lambda x: x * factor)

    first = make(2)
    compiled = ct.jit(lambda x: first(x))
    assert float(compiled(3.0)) == 6
    second = make(5)
    assert float(compiled(3.0)) == 6 and float(second(3.0)) == 15


MISSING = ct.primitive("test_bare", type=lambda x: x, reference=lambda x: x)

ERRORS = {
    "builtin name": (
        lambda: ct.primitive("add", type=lambda x: x, expand=lambda x: x),
        ValueError,
        "the library has a primitive",
    ),
    "no name": (lambda: ct.primitive("two words", type=lambda x: x, expand=lambda x: x), ValueError, "identifier"),
    "no meaning": (lambda: ct.primitive("test_x", type=lambda x: x), ValueError, "reference= or expand="),
    "no function": (
        lambda: ct.primitive("test_x", type=3, expand=lambda x: x),
        TypeError,
        "type rule of primitive test_x",
    ),
    "no jvp": (lambda: ct.grad(lambda x: MISSING(x))(1.0), ct.errors.NotDifferentiableError, "given no jvp rule"),
    "no batch": (lambda: ct.vmap(MISSING)(X), NotImplementedError, "given no batch rule"),
    "no mask": (
        lambda: ct.mask(lambda x: MISSING(x).sum())(ct.Ragged(X, {0: 2})),
        NotImplementedError,
        "given no mask rule",
    ),
    "bad type": (
        lambda: ct.primitive("test_e1", type=lambda x: 3, expand=lambda x: x)(X),
        TypeError,
        "type rule of test_e1 must return things with shape",
    ),
    "bad reference": (
        lambda: ct.primitive("test_e2", type=lambda x: x, reference=lambda x: x[:1])(X),
        ct.errors.ShapeError,
        r"reference rule of test_e2 has shape \(1,\); the type rule says \(4,\)",
    ),
    "bad expand": (
        lambda: ct.primitive("test_e3", type=lambda x: x, expand=lambda x: x[:1])(X),
        ct.errors.ShapeError,
        "expand rule of test_e3",
    ),
    "bad jvp": (
        lambda: ct.grad(ct.primitive("test_e4", type=lambda x: x, expand=lambda x: x, jvp=lambda xs, ts: xs[0]))(1.0),
        TypeError,
        "jvp rule of test_e4 must return a pair",
    ),
    "bad tangent": (
        lambda: ct.grad(
            ct.primitive("test_e5", type=lambda x: x, expand=lambda x: x, jvp=lambda xs, ts: (xs[0], cnp.ones(3)))
        )(1.0),
        TypeError,
        "tangent",
    ),
    "bad batch": (
        lambda: ct.vmap(ct.primitive("test_e6", type=lambda x: x, expand=lambda x: x, batch=lambda xs, a: (xs[0], 5)))(
            X
        ),
        TypeError,
        "result 0 has 1 axes, and none at 5",
    ),
    "outside array": (
        lambda: ct.vmap(ct.primitive("test_e7", type=lambda x: x, expand=lambda x: x + X))(np.stack([X, X])),
        ValueError,
        "uses an array from outside",
    ),
    "one of many": (
        lambda: ct.primitive("test_e8", type=lambda x: x, expand=lambda x: x, multiple_results=True)(X),
        TypeError,
        "multiple_results",
    ),
    "exception": (
        lambda: ct.jit(
            ct.grad(ct.primitive("test_e9", type=lambda x: x, reference=lambda x: x, jvp=lambda xs, ts: 1 / 0))
        )(1.0),
        ZeroDivisionError,
        "division",
    ),
}


@pytest.mark.parametrize("case", list(ERRORS))
def test_errors(case):
    function, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        function()
