"""Attributes, shapes and expansions of primitives that users define; interpreters of programs with programs inside."""

from __future__ import annotations

import enum

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


class Colour(enum.IntEnum):
    RED = 1


def attribute_given(value):
    """What the rules get for an attribute."""
    given = []

    def reference(x, k):
        given.append(k)
        return x

    p = ct.primitive("test_given", type=lambda x, k: (given.append(k), x)[1], reference=reference, elementwise=True)
    ct.jit(lambda x: p(x, k=value))(np.float32(1))
    ct.vmap(lambda x: p(x, k=value))(np.ones(2, np.float32))
    p(1.0, k=value)
    return given


@pytest.mark.parametrize(
    "value",
    [
        True, 3, 10**30, -(2**63), 2.5, float("inf"), 1 + 2j, "text", b"bytes", None, (), (1, 2), (1.0, 2.0), (1, 2.0), (True, 2),
        (True, False), [], [1, 2], [1.5], ["a"], ((1, 2), (3,)), [[1], [2, (3, None)]], {"a": [1, 2], 3: (4,)}, {1, 2}, frozenset({1}),
        Colour.RED, np.float64(1.5), np.int8(3), Ellipsis, range(3),
    ],
    ids=repr,
)  # fmt: skip
def test_attributes_arrive_as_they_were(value):
    for given in attribute_given(value):
        assert type(given) is type(value)
        assert given == value
        if isinstance(value, (tuple, list)):
            assert [type(item) for item in given] == [type(item) for item in value]


def test_types_of_numbers_are_arguments_too():
    results = {}
    p = ct.primitive("test_kinds", type=lambda x, k: x, reference=lambda x, k: (results.setdefault(type(k), k), x)[1])
    for value in (1, 1.0, True, (1,), (1.0,), (True,), [1], -0.0):
        ct.jit(lambda x, value=value: p(x, k=value))(1.0)
    assert set(results) == {int, float, bool, tuple, list}


@pytest.mark.parametrize(
    "make", [lambda v: np.array([v]), lambda v: [v], lambda v: {"v": v}, lambda v: [[np.array(v)]]]
)
def test_what_changes_is_taken_as_it_is_at_the_call(make):
    def number(k):
        while not isinstance(k, (int, np.ndarray)):
            k = k["v"] if isinstance(k, dict) else k[0]
        return np.float32(np.asarray(k).ravel()[0])

    p = ct.primitive("test_changes", type=lambda x, k: x, reference=lambda x, k: x + number(k))
    first, second = make(2), make(5)
    f = ct.jit(lambda x, which: p(x, k=first if which else second), static_argnums=1)
    assert float(p(np.float32(1), k=first)) == 3
    assert float(f(np.float32(1), True)) == 3
    target = first
    while not isinstance(target, np.ndarray) and isinstance(
        next(iter(target.values() if isinstance(target, dict) else target)), (list, np.ndarray)
    ):
        target = target[0]
    if isinstance(target, dict):
        target["v"] = 7
    elif isinstance(target, np.ndarray):
        target[...] = 7
    else:
        target[0] = 7
    assert float(p(np.float32(1), k=first)) == 8
    assert float(f(np.float32(1), True)) == 3, "compiled with what it was then"
    assert float(f(np.float32(1), False)) == 6


def test_equal_attributes_make_equal_programs():
    p = ct.primitive("test_equal", type=lambda x, k: x, reference=lambda x, k: x)
    one, other, third = (
        ct.make_ir(lambda x, k=k: p(x, k=k))(1.0)
        for k in ([1, {"a": np.ones(2)}], [1, {"a": np.ones(2)}], [1, {"a": np.zeros(2)}])
    )
    assert one == other and hash(one) == hash(other)
    assert one != third
    (equation,) = ct.ir.equations(one)
    assert equation.attributes["k"][0] == 1


def test_attributes_that_cannot_be_compared():
    class Odd:
        __hash__ = None

    p = ct.primitive("test_odd", type=lambda x, k: x, reference=lambda x, k: x)
    with pytest.raises(TypeError, match="must be values that can be compared; got Odd"):
        p(1.0, k=Odd())


def test_operands_of_elementwise_primitives_are_broadcast():
    p = ct.primitive("test_hypot", type=lambda x, y: x, reference=lambda x, y: np.sqrt(x * x + y * y), elementwise=True)
    x, y = np.ones((3, 1), np.float32), np.arange(4, dtype=np.float32)
    expected = np.sqrt(x * x + y * y)
    np.testing.assert_allclose(p(x, y), expected, rtol=1e-6)
    np.testing.assert_allclose(p(y, 2.0), np.sqrt(y * y + 4), rtol=1e-6)
    np.testing.assert_allclose(
        ct.vmap(p, (0, None))(np.ones((5, 3, 1), np.float32), y), np.broadcast_to(expected, (5, 3, 4)), rtol=1e-6
    )
    np.testing.assert_allclose(
        ct.vmap(lambda row: p(row, y))(np.ones((2, 4), np.float32)), np.sqrt(1 + y * y) * np.ones((2, 1)), rtol=1e-6
    )
    with pytest.raises((TypeError, ValueError), match=r"\(3,\).*\(2,\)|shapes"):
        p(np.ones(3), np.ones(2))


def test_elementwise_is_a_promise_about_results():
    p = ct.primitive("test_summed", type=lambda x: ct.ShapeDtypeStruct((), x.dtype), reference=np.sum, elementwise=True)
    with pytest.raises(
        TypeError,
        match=r"test_summed is elementwise: its operands and results have one shape; operand 0 is float32\[3\], result 0",
    ):
        p(np.ones(3, np.float32))
    q = ct.primitive("test_pair", type=lambda x, y: x, reference=lambda x, y: x + y, elementwise=True)
    graph = ct.make_ir(lambda x, y: q(x, y))(np.ones(3), np.ones(3))
    (equation,) = ct.ir.equations(graph)
    with pytest.raises(TypeError, match="is elementwise"):
        equation.bind(np.ones(3), np.ones((2, 3)))


@pytest.mark.parametrize(
    "use", [lambda p: p(1.0), lambda p: ct.jit(p)(1.0), lambda p: ct.grad(p)(1.0), lambda p: ct.vmap(p)(np.ones(2))]
)
def test_expansions_without_end_are_errors(use):
    p = ct.primitive("test_endless", type=lambda x: x, expand=lambda x: p(x) + 1)
    with pytest.raises(ValueError, match="the expand rule of test_endless leads back to test_endless"):
        use(p)
    a = ct.primitive("test_first", type=lambda x: x, expand=lambda x: b(x))
    b = ct.primitive("test_second", type=lambda x: x, expand=lambda x: ct.lax.cond(True, a, lambda x: x, x))
    with pytest.raises(ValueError, match="leads back to test_"):
        use(a)


def test_expansions_may_use_their_primitive_for_less():
    def expand(x):
        return x[0] if x.shape[0] == 1 else halves(x[: x.shape[0] // 2]) + halves(x[x.shape[0] // 2 :])

    halves = ct.primitive("test_halves", type=lambda x: ct.ShapeDtypeStruct((), x.dtype), expand=expand)
    assert float(halves(np.arange(8.0))) == float(ct.jit(halves)(np.arange(8.0))) == 28
    np.testing.assert_array_equal(ct.jit(ct.grad(halves))(np.arange(8.0)), np.ones(8))


# ---- interpreters -----------------------------------------------------------------------------------------------------------


class Doubled(ct.Interpreter):
    """Sines are twice as large."""

    def process(self, eqn, *values):
        results = super().process(eqn, *values)
        return [2 * results[0]] if eqn.primitive == "sin" else results


@ct.custom_jvp
def custom(x):
    return cnp.sin(x)


custom.defjvp(lambda xs, ts: (custom(xs[0]), 3.0 * ts[0]))

PROGRAMS = {
    "scan": lambda sin, x: ct.lax.scan(lambda c, v: (c + sin(v), sin(c)), 0.0, x),
    "fori_loop": lambda sin, x: ct.lax.fori_loop(0, 3, lambda i, c: sin(c), x),
    "while_loop": lambda sin, x: ct.lax.while_loop(lambda c: cnp.sum(c) < 3, lambda c: c + 1 + sin(c), x),
    "cond": lambda sin, x: ct.lax.cond(x[0] > 0, sin, lambda x: x, x),
    "jit": lambda sin, x: ct.jit(lambda x: sin(x))(x),
    "checkpoint": lambda sin, x: ct.checkpoint(lambda x: sin(x))(x),
    "nested": lambda sin, x: ct.lax.map(lambda v: ct.lax.cond(v > 0, ct.jit(lambda v: sin(v)), lambda v: v, v), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreters_go_into_programs_inside(name):
    program = PROGRAMS[name]
    x = np.array([0.3, -0.5, 0.7])
    result = Doubled()(lambda x: program(cnp.sin, x))(x)
    expected = program(lambda v: 2 * cnp.sin(v), x)
    for one, other in zip(ct.tree.leaves(result), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    jitted = ct.jit(Doubled()(lambda x: program(cnp.sin, x)))(x)
    for one, other in zip(ct.tree.leaves(jitted), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_interpreters_keep_custom_derivatives():
    f = Doubled()(custom)
    np.testing.assert_allclose(f(0.5), 2 * np.sin(0.5), rtol=1e-6)
    assert float(ct.grad(f)(0.5)) == 3.0


def test_equations_have_the_attributes_that_they_have():
    (equation,) = ct.ir.equations(ct.make_ir(lambda x: cnp.sum(x, axis=0))(np.ones((2, 3))))
    with pytest.raises(
        TypeError, match=r"reduce_sum has no attribute 'axis' here; did you mean 'axes'\?\n  those that it has: axes"
    ):
        equation.bind(np.ones((2, 3)), axis=[1])
    assert equation.bind(np.ones((2, 3)), axes=[1])[0].shape == (2,)


def test_an_attribute_may_be_named_self():
    scaled = ct.primitive("scaled_by_self", type=lambda x, self: x, expand=lambda x, self: x * self)
    assert scaled(np.array([1.0, 2.0], np.float32), self=3.0).tolist() == [3, 6]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda xs, ns: (xs[0], None), "must return a dict from the ragged axes of each result.*it returned NoneType"),
        (lambda xs, ns: (xs[0], {3: ns[0][0]}), "result 0 has 1 axes, and none at 3"),
        (lambda xs, ns: (xs[0], {"n": ns[0][0]}), "result 0 has 1 axes, and none at 'n'"),
        (lambda xs, ns: (xs[0], {0: ns[0][0], -1: ns[0][0]}), "one length for axis 0 of result 0, not two"),
        (lambda xs, ns: (xs[0], {0: None}), "that of axis 0 of result 0 is None"),
        (lambda xs, ns: (xs[0], {0: ns[0][0] * 1.0}), r"that of axis 0 of result 0 is float32\[\]"),
        (lambda xs, ns: (xs[0], {0: ns[0][0][None]}), r"that of axis 0 of result 0 is int32\[1\]"),
        (lambda xs, ns: (xs[0], {0: 7}), "lengths from 0 to 4, the padded size, for axis 0 of result 0; it returned 7"),
        (lambda xs, ns: (None, ns[0]), "result 0 is None"),
        (lambda xs, ns: (xs[0][:2], ns[0]), r"has shape \(2,\); the type rule says \(4,\)"),
    ],
)
def test_what_mask_rules_return_is_checked(rule, message):
    p = ct.primitive("test_mask_rule", type=lambda x: x, expand=lambda x: x + 1, mask=rule)
    with pytest.raises((TypeError, ValueError), match=f"(?s)test_mask_rule.*{message}|{message}.*test_mask_rule"):
        ct.mask(p)(ct.Ragged(np.ones(4, np.float32), {0: 2}))


def test_lengths_of_mask_rules_count_from_the_end_and_are_held_to_the_bound():
    p = ct.primitive(
        "test_longer", type=lambda x: x, expand=lambda x: x, mask=lambda xs, ns: (xs[0], {-1: ns[0][0] + 9})
    )
    assert int(ct.mask(lambda x: p(x).shape[0] + 0)(ct.Ragged(np.ones(4, np.float32), {0: 2}))) == 4


@pytest.mark.parametrize(
    "kind", [float, int, bool, complex, np.float32, np.int8, dict, np.dtype("float32"), "<type builtins.float>"]
)
def test_a_type_stays_the_type_that_it_is(kind):
    found = []
    p = ct.primitive("test_of_type", type=lambda x, kind: x, expand=lambda x, kind: (found.append(kind), x)[1])
    p(np.ones(2, np.float32), kind=kind)
    assert found[-1] is kind or (isinstance(kind, (str, np.dtype)) and found[-1] == kind)
    graph = ct.make_ir(lambda x: p(x, kind=kind))(np.ones(2, np.float32))
    assert ct.ir.equations(graph)[0].attributes["kind"] == kind
    if kind not in (dict, "<type builtins.float>"):
        assert ct.ir.deserialize(graph.serialize()) == graph
