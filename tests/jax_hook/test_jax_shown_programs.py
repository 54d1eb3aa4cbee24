"""`cotangent.jax`: programs that are shown have JAX's operations, names and parameters, and evaluate to what was captured."""

from __future__ import annotations

import pytest
from jax_hook_process import run

START = """
import numpy as np, jax, jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad, batching, mlir
def names(f, *args):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(f)(*args).eqns]
def params(f, *args):
    eqn = jax.make_jaxpr(f)(*args).eqns[-1]
    return eqn.primitive.name, {k: v for k, v in sorted(eqn.params.items()) if v is not None}
"""


def test_gather_and_scatters_have_dimension_numbers() -> None:
    program = """
x, rows = jnp.arange(12.0).reshape(3, 4), jnp.array([2, 0])
gather = jax.make_jaxpr(lambda x, i: jnp.take(x, i, axis=1, mode="clip"))(x, rows)
eqn = gather.eqns[-1]
print(eqn.primitive is lax.gather_p, eqn.params["dimension_numbers"], eqn.params["slice_sizes"], eqn.invars[1].aval)
print(jax.core.eval_jaxpr(gather.jaxpr, gather.consts, x, rows)[0].tolist())
add = jax.make_jaxpr(lambda x, i: x.at[i].add(10.0))(x, rows)
eqn = add.eqns[-1]
print(eqn.primitive is lax.scatter_add_p, eqn.primitive, tuple(eqn.params["dimension_numbers"]))
print(jax.core.eval_jaxpr(add.jaxpr, add.consts, x, rows)[0][:, 0].tolist())
print(eqn.primitive.bind(x, rows[:, None], jnp.ones((2, 4)), **eqn.params)[:, 0].tolist())
"""
    assert run(START + program).splitlines() == [
        "True GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(1,), "
        "operand_batching_dims=(), start_indices_batching_dims=()) (3, 1) int32[2,1]",
        "[[2.0, 0.0], [6.0, 4.0], [10.0, 8.0]]",
        "True scatter-add ((1,), (0,), (0,), (), ())",
        "[10.0, 4.0, 18.0]",
        "[1.0, 4.0, 9.0]",
    ]


def test_a_convolution_is_one_operation() -> None:
    program = """
x, w = jnp.arange(32.0).reshape(1, 4, 4, 2), jnp.ones((3, 3, 2, 1))
def f(x, w):
    return lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
closed = jax.make_jaxpr(f)(x, w)
(eqn,) = closed.eqns
print(eqn.primitive is lax.conv_general_dilated_p, eqn.params["window_strides"], eqn.params["padding"], eqn.params["lhs_dilation"])
print(eqn.params["dimension_numbers"].rhs_spec, eqn.params["feature_group_count"])
got = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x, w)[0]
print(np.array_equal(got, f(x, w)), np.array_equal(eqn.primitive.bind(x, w, **eqn.params), f(x, w)))
run = jax.core.jaxpr_as_fun(closed) if hasattr(jax.core, "jaxpr_as_fun") else jax.extend.core.jaxpr_as_fun(closed)
print(np.allclose(jax.grad(lambda w: run(x, w)[0].sum())(w), jax.grad(lambda w: f(x, w).sum())(w)))
print(names(lambda x, w: lax.conv(x, w, (1, 1), "VALID"), jnp.ones((1, 2, 4, 4)), jnp.ones((3, 2, 2, 2))))
"""
    assert run(START + program).splitlines() == [
        "True (2, 2) ((0, 1), (0, 1)) (1, 1)",
        "(3, 2, 0, 1) 1",
        "True True",
        "True",
        "['conv_general_dilated']",
    ]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("lambda x: lax.clamp(0.0, x, 1.0)", "('clamp', {})"),
        ("lambda x: lax.logistic(x)", "('logistic', {})"),
        ("lambda x: lax.integer_pow(x, 3)", "('integer_pow', {'y': 3})"),
        ("lambda x: lax.argmax(x, 1, int)", "('argmax', {'axes': (1,), 'index_dtype': dtype('int32')})"),
        ("lambda x: lax.squeeze(x[:1], [0])", "('squeeze', {'dimensions': (0,)})"),
        ("lambda x: lax.round(x)", "('round', {'rounding_method': <RoundingMethod.AWAY_FROM_ZERO: 0>})"),
        ("lambda x: jnp.round(x)", "('round', {'rounding_method': <RoundingMethod.TO_NEAREST_EVEN: 1>})"),
        ("lambda x: jnp.any(x > 0, axis=0)", "('reduce_or', {'axes': (0,)})"),
        ("lambda x: lax.bitcast_convert_type(x, jnp.int32)", "('bitcast_convert_type', {'new_dtype': dtype('int32')})"),
        ("lambda x: jnp.fft.rfft(x)", "('fft', {'fft_lengths': (4,), 'fft_type': <FftType.RFFT: 2>})"),
        ("lambda x: lax.lgamma(x)", "('lgamma', {})"),
        ("lambda x: jnp.square(x)", "('square', {})"),
        ("lambda x: x**3", "('integer_pow', {'y': 3})"),
        ("lambda x: jnp.reciprocal(x)", "('integer_pow', {'y': -1})"),
        ("lambda x: jnp.conj(x + 1j)", "('conj', {'input_dtype': dtype('complex64')})"),
    ],
)
def test_words_of_single_operations(function: str, expected: str) -> None:
    program = f"""
f, x = {function}, jnp.linspace(0.5, 3.0, 8).reshape(2, 4)
print(params(f, x))
closed = jax.make_jaxpr(f)(x)
values = dict(zip(closed.jaxpr.invars, [x]))
read = lambda var: var.val if isinstance(var, Literal) else values[var]
for eqn in closed.eqns:
    values[eqn.outvars[0]] = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
np.testing.assert_allclose(read(closed.jaxpr.outvars[0]), f(x), rtol=1e-6)
"""
    assert run(START + program) == expected


def test_operations_of_elements_have_single_numbers_beside_arrays() -> None:
    program = """
x, s = jnp.arange(1.0, 4.0), jnp.float32(2.0)
def f(x, s):
    return (x * 2.0, 3.0 - x, x / s, (x > 1.0) & True, jnp.where(x > 2.0, x, 0.0), jnp.zeros(3) + 1.0, jnp.full(3, 5.0), x.sum() * s)
closed = jax.make_jaxpr(f)(x, s)
def shown(var):
    return var.val if isinstance(var, Literal) else var.aval.shape
for eqn in closed.eqns:
    print(eqn.primitive, [shown(var) for var in eqn.invars])
expected = f(x, s)
for got in (jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x, s), jax.jit(jax.extend.core.jaxpr_as_fun(closed))(x, s)):
    print([np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(got, expected)])
values = dict(zip(closed.jaxpr.invars, [x, s]))
read = lambda var: var.val if isinstance(var, Literal) else values[var]
for eqn in closed.eqns:
    out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
    values.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
print(all(np.array_equal(read(var), b) for var, b in zip(closed.jaxpr.outvars, expected)))
print(lax.and_p.bind(jnp.array([3, 6], jnp.uint8), np.uint8(2)), lax.div_p.bind(x, 2.0, out_dtype=None))
"""
    lines = run(START + program).splitlines()
    for line in (
        "mul [(3,), 2.0]",
        "sub [3.0, (3,)]",
        "div [(3,), ()]",
        "add [(3,), 1.0]",
        "mul [(), ()]",
        "select_n [(3,), (3,), (3,)]",
    ):
        assert line in lines
    assert lines[-4:] == [str([True] * 8), str([True] * 8), "True", "[2 2] [0.5 1.  1.5]"]


def test_the_largest_elements_are_one_operation() -> None:
    program = """
x = jnp.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
closed = jax.make_jaxpr(lambda x: lax.top_k(x, 2))(x)
(eqn,) = closed.eqns
print(eqn.primitive is lax.top_k_p, eqn.params, len(eqn.outvars))
for found in (jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x), eqn.primitive.bind(x, **eqn.params), lax.top_k(x, 2)):
    print([part.tolist() for part in found])
"""
    assert run(START + program).splitlines() == [
        "True {'k': 2, 'axis': 1} 2",
        *["[[[3.0, 2.0], [6.0, 5.0]], [[0, 2], [1, 2]]]"] * 3,
    ]


def test_a_conversion_says_whether_its_result_yields() -> None:
    program = """
eqns = jax.make_jaxpr(lambda x: lax.convert_element_type(x, float))(jnp.ones(2, int)).eqns
print([(eqn.primitive.name, sorted(eqn.params)) for eqn in eqns])
print(eqns[-1].primitive.bind(jnp.arange(2), **eqns[-1].params))
"""
    assert run(START + program).splitlines() == [
        "[('convert_element_type', ['new_dtype', 'sharding', 'weak_type'])]",
        "[0. 1.]",
    ]


def test_constants_are_numbers_of_their_dtypes() -> None:
    program = """
from jax.scipy.special import gammainc
x = jnp.ones(2)
(eqn,) = [e for e in jax.make_jaxpr(lambda z: z + (0.5 + 2j))(x * 1j).eqns if e.primitive.name == "add"]
closed = jax.make_jaxpr(lambda z: (z + (0.5 + 2j), z[0] * (1j)))(x * 1j)
print([x.tolist() for x in jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x * 1j)])
closed = jax.make_jaxpr(lambda a, x: gammainc(a, x))(2.0, 1.5)
print(np.allclose(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0, 1.5)[0], gammainc(2.0, 1.5)))
p = Primitive("flagged")
p.def_impl(lambda x, flag: x)
p.def_abstract_eval(lambda x, flag: x)
closed = jax.make_jaxpr(lambda x: p.bind(x, False))(x)
again = jax.make_jaxpr(lambda x: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x))(x)
print([len(c.eqns) for c in (closed, again)], [e.invars[1].val for c in (closed, again) for e in c.eqns])
"""
    assert run(START + program).splitlines() == [
        "[[(0.5+3j), (0.5+3j)], (-1+0j)]",
        "True",
        "[1, 1] [False, False]",
    ]


def test_operations_of_libraries_are_kept_where_nothing_uses_them() -> None:
    program = """
tag = Primitive("tag_of_mine")
tag.def_impl(lambda x, *, note: x)
tag.def_abstract_eval(lambda x, *, note: x)
ad.primitive_jvps[tag] = lambda xs, ts, *, note: (tag.bind(*xs, note=note), ts[0])
batching.primitive_batchers[tag] = lambda xs, axes, *, note: (tag.bind(*xs, note=note), axes[0])
def f(x):
    tag.bind(x * 2, note="unused")
    return jnp.sin(x)
print(names(f, 1.0), names(jax.vmap(f), jnp.ones(3))[-2:])
closed = jax.make_jaxpr(f)(1.0)
print([e.params for e in closed.eqns if e.primitive is tag], jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.0)[0])
print(jax.jit(f)(0.0), jax.grad(f)(0.0))
"""
    assert run(START + program).splitlines() == [
        "['mul', 'tag_of_mine', 'sin'] ['tag_of_mine', 'sin']",
        "[{'note': 'unused'}] 0.0",
        "0.0 1.0",
    ]


def test_lowering_rules_that_call_python() -> None:
    program = """
p = Primitive("from_python")
p.def_abstract_eval(lambda x, *, by: x)
def rule(ctx, x, *, by):
    print(ctx.primitive, ctx.avals_in, ctx.avals_out)
    doubled = mlir.lower_fun(lambda x: 2 * x, multiple_results=False)(ctx.replace(platforms=None), x)
    results, token, kept = mlir.emit_python_callback(
        ctx, lambda x: (np.asarray(x) + by,), None, doubled, ctx.avals_in, ctx.avals_out, has_side_effect=False
    )
    ctx.module_context.add_keepalive(kept)
    return results
mlir.register_lowering(p, rule)
print(jax.jit(lambda x: p.bind(x, by=1.0) * 10)(jnp.arange(3.0)))
q = Primitive("of_hlo")
q.def_impl(lambda x: x + 1)
q.def_abstract_eval(lambda x: x)
def of_hlo(ctx, x):
    from jaxlib.mlir.dialects import hlo
    return [hlo.AddOp(x, x).result]
mlir.register_lowering(q, of_hlo)
print(jax.jit(lambda x: q.bind(x) * 2)(1.0))
def wrong(ctx, x):
    return mlir.lower_fun(lambda x: x.no_such_attribute)(ctx, x)
r = Primitive("without_a_rule")
r.def_abstract_eval(lambda x: x)
mlir.register_lowering(r, of_hlo)
try:
    jax.jit(r.bind)(1.0)
except NotImplementedError as error:
    print(str(error).splitlines()[0])
"""
    assert run(START + program).splitlines() == [
        "from_python [ShapedArray(float32[3])] [ShapedArray(float32[3])]",
        "[10. 30. 50.]",
        "4.0",
        "'without_a_rule' has no rule that computes it here",
    ]


def test_a_function_with_its_derivative_keeps_it_when_equations_are_bound() -> None:
    program = """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
f.defjvp(lambda xs, ts: (f(xs[0]), 7.0 * ts[0]))
closed = jax.make_jaxpr(f)(1.0)
(eqn,) = closed.eqns
rest = eqn.primitive.get_bind_params(eqn.params)
fun, jvp = rest["subfuns"]
print([float(x) for x in fun.call_wrapped(0.0)], [float(x) for x in jvp.call_wrapped(0.0, 1.0)])
print(jax.grad(lambda x: eqn.primitive.bind(x, **rest)[0])(0.0), jax.grad(lambda x: eqn.primitive.bind(x, **eqn.params)[0])(0.0))
"""
    assert run(START + program).splitlines() == ["[0.0] [0.0, 7.0]", "7.0 7.0"]


def test_where_equations_are_from() -> None:
    program = """
from jax.extend import source_info_util
(eqn,) = jax.make_jaxpr(jnp.sin)(1.0).eqns
print(eqn.source_info.traceback, repr(str(eqn.source_info.name_stack)), type(source_info_util.summarize(eqn.source_info)).__name__)
with source_info_util.extend_name_stack("outer"), source_info_util.user_context(None):
    print(source_info_util.current_name_stack(), len(source_info_util.new_name_stack("a") + source_info_util.new_name_stack("b")))
print(repr(str(source_info_util.current_name_stack())))
"""
    assert run(START + program).splitlines() == ["None '' str", "outer 2", "''"]


def test_equal_programs_in_equations_are_one_object() -> None:
    program = """
f = jax.jit(lambda x: x + 1)
one, other = (jax.make_jaxpr(lambda x: f(x) * k)(1.0).eqns[0].params["jaxpr"] for k in (1.0, 2.0))
print(one is other, one is jax.make_jaxpr(f)(jnp.ones(2)).eqns[0].params["jaxpr"])
"""
    assert run(START + program) == "True False"


def test_evaluating_again_shows_the_same_program() -> None:
    program = """
f = lambda x: jnp.any(~x, axis=0) | jnp.all(x, axis=0)
closed = jax.make_jaxpr(f)(jnp.array([True, False]))
again = jax.make_jaxpr(lambda x: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0])(jnp.array([True, False]))
bound = jax.make_jaxpr(lambda x: closed.eqns[1].primitive.bind(x, **closed.eqns[1].params))(jnp.array([True, False]))
print(str(closed) == str(again), [str(e.primitive) for e in closed.eqns], [str(e.primitive) for e in bound.eqns])
"""
    assert run(START + program) == "True ['not', 'reduce_or', 'reduce_and', 'or'] ['reduce_or']"
