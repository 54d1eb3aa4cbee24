"""`cotangent.jax`: traces of a library's own are given the operations on their tracers, in JAX's words."""

from __future__ import annotations

from jax_hook_process import run

OWN_TRACE = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.extend.core import TraceTag, take_current_trace, set_current_trace
    class Logged(jax.core.Tracer):
        def __init__(self, trace, value):
            self._trace, self.value = trace, value
        @property
        def aval(self):
            return jax.typeof(self.value)
    class Log(jax.core.Trace):
        def __init__(self, parent, tag):
            super().__init__()
            self.parent, self.tag, self.names = parent, tag, []
        def value(self, x):
            return x.value if isinstance(x, Logged) and x._trace.tag is self.tag else x
        def process_primitive(self, primitive, tracers, params):
            self.names.append(str(primitive))
            out = primitive.bind_with_trace(self.parent, [self.value(x) for x in tracers], (), params)
            return jax.tree.map(lambda x: Logged(self, x), out)
        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
            self.names.append(str(primitive))
            values = [self.value(x) for x in tracers]
            params = dict(subfuns=(fun, jvp), symbolic_zeros=symbolic_zeros)
            return [Logged(self, x) for x in primitive.bind_with_trace(self.parent, values, (), params)]
    names = []
    def logged(f):
        def run(*args):
            with take_current_trace() as parent:
                log = Log(parent, TraceTag())
                with set_current_trace(log):
                    out = f(*[Logged(log, x) for x in args])
                names[:] = log.names
                return jax.tree.map(log.value, out)
        return run
    x = jnp.arange(1.0, 4.0)
"""


def test_a_trace_of_a_library_is_given_the_operations_on_its_tracers() -> None:
    program = """
    print(logged(lambda x: jnp.sin(x) * x + 1)(x), names)
    print(logged(lambda x: (x[1], x.sum(), -x, 2 ** x))(x), names)
    print(logged(lambda x: (isinstance(x, jax.Array), isinstance(x, jax.core.Tracer), x.shape, len(x)))(x))
    y = jnp.ones(3)
    print(logged(lambda x: jnp.dot(y, x) + jax.nn.softplus(x[0]))(x))
    print(logged(lambda x: jax.grad(lambda z: (z * x).sum())(y))(x), "mul" in names)
    print(logged(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * x, y))(x), [n for n in names if n in ("while", "scan")] != [])
    print(logged(lambda x: jax.lax.collapse(x, 0, 1) + jnp.reshape(x, 3) + jnp.squeeze(x) + jax.lax.squeeze(x, ()))(x))
    """
    lines = run(OWN_TRACE + program).splitlines()
    assert lines[0] == "[1.841471 2.818595 1.42336 ] ['sin', 'mul', 'add']", lines
    assert lines[1].startswith("(Array(2., dtype=float32), Array(6., dtype=float32), Array([-1., -2., -3.]"), lines
    assert "Array([2., 4., 8.]" in lines[1] and "'reduce_sum'" in lines[1] and "'neg'" in lines[1], lines
    assert lines[2] == "(True, True, (3,), 3)"
    assert abs(float(lines[3]) - 7.3132617) < 1e-4
    assert lines[4] == "[1. 2. 3.] True"
    assert lines[5] == "[ 1.  8. 27.] True"
    assert lines[6] == "[ 4.  8. 12.]"


def test_a_trace_that_a_generator_left_current_ends_with_the_scope_around_it() -> None:
    program = """
    from jax.extend import linear_util as lu
    from jax._src import core
    class Held:
        def __enter__(self):
            self.scope = set_current_trace(Log(None, TraceTag()))
            self.scope.__enter__()
        def __exit__(self, kind, value, traceback):
            if kind is not GeneratorExit:
                self.scope.__exit__(kind, value, traceback)
    left = []
    @lu.transformation_with_aux
    def within(*args):
        held = Held()
        left.append(held)
        with held:
            result = yield args, {}
        yield result, None
    def fails(x):
        raise KeyError("in a rule")
    def run():
        with set_current_trace(Log(None, TraceTag())):
            within(lu.wrap_init(fails))[0].call_wrapped(1.0)
    try:
        run()
    except KeyError:
        pass
    print(jnp.sin(0.0), core.current_trace())
    left.clear()
    print(jnp.sin(0.0), logged(jnp.sin)(x[:1]))
    """
    assert run(OWN_TRACE + program).splitlines() == ["0.0 LiveTrace", "0.0 [0.841471]"]


def test_numbers_and_conversions_in_a_trace_of_a_library() -> None:
    program = """
    class Numbers(Log):
        def process_primitive(self, primitive, tracers, params):
            given = [x for x in tracers if not isinstance(x, Logged)]
            self.names.append((str(primitive), *[(isinstance(x, float), x) for x in given]))
            out = primitive.bind_with_trace(self.parent, [self.value(x) for x in tracers], (), params)
            return jax.tree.map(lambda x: Logged(self, x), out)
    Log = Numbers
    print(logged(lambda x: 0.5 - x * 2)(x), [(name, *found) for name, found in names])
    print(logged(lambda x: jax.lax.igamma(1.0, x))(x).round(4), names[-1][0])
    print(logged(jnp.complex64)(x).dtype, logged(jnp.vectorize(lambda t: t + 1))(x))
    print(logged(lambda x: x**2)(x), logged(jnp.square)(x), names)
    """
    assert run(OWN_TRACE + program).splitlines() == [
        "[-1.5 -3.5 -5.5] [('mul', True, TypedFloat(2.0, dtype=float32)), ('sub', True, TypedFloat(0.5, dtype=float32))]",
        "[0.6321 0.8647 0.9502] igamma",
        "complex64 [2. 3. 4.]",
        "[1. 4. 9.] [1. 4. 9.] [('square',)]",
    ]


def test_derivatives_of_what_a_trace_of_a_library_computes() -> None:
    program = """
    @jax.custom_jvp
    def f(x):
        return x * x
    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0]))
    print(round(float(jax.grad(lambda x: logged(lambda x: jnp.sin(x) * x)(x))(2.0)), 4))
    print(jax.grad(logged(lambda x: f(x) * 3))(2.0), "custom_jvp_call" in names)
    print(jax.jit(jax.vmap(logged(lambda x: jnp.exp(x) - x)))(jnp.zeros(2)))
    nested = logged(lambda x: logged(lambda y: y * x)(x) + x)
    print(nested(x), names)
    """
    assert run(OWN_TRACE + program).splitlines() == [
        "0.077",
        "30.0 True",
        "[1. 1.]",
        "[ 2.  6. 12.] ['mul', 'add']",
    ]


def test_jitted_functions_are_operations_on_tracers_of_a_library() -> None:
    program = """
    import functools
    double = jax.jit(lambda x: 2 * x)
    print(logged(lambda x: double(x) + 1)(x), names)
    class Holder:
        factor = 3.0
        @functools.partial(jax.jit, static_argnums=0)
        def scaled(self, x):
            return self.factor * x
    holder = Holder()
    print(logged(lambda x: holder.scaled(x))(x), names, holder.scaled(x))
    from jaxlib._jax import PjitFunction
    print(isinstance(double, PjitFunction), double.__wrapped__(3), double.lower(1.0).compile()(4.0), double(jnp.ones(2)))
    """
    assert run(OWN_TRACE + program).splitlines() == [
        "[3. 5. 7.] ['jit', 'add']",
        "[3. 6. 9.] ['jit'] [3. 6. 9.]",
        "True 6 8.0 [2. 2.]",
    ]


def test_functions_in_loops_and_branches_close_over_tracers_of_a_library() -> None:
    program = """
    scan = lambda x: jax.lax.scan(lambda c, row: (c + x * row, x.sum()), jnp.zeros(3), jnp.ones((2, 1)))
    print([a.tolist() for a in logged(scan)(x)], scan(x)[0])
    print(logged(lambda x: jax.lax.cond(x[0] > 0, lambda: x + 1, lambda: x - 1))(x))
    print(logged(lambda x: jax.lax.while_loop(lambda c: c < x[2], lambda c: c + x[0], jnp.zeros(())))(x))
    @jax.custom_jvp
    def f(x):
        return x * x
    f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0]))
    print(jax.jvp(logged(f), (2.0,), (1.0,))[1], logged(lambda x: jax.jvp(f, (x,), (x,))[1])(x))
    """
    assert run(OWN_TRACE + program).splitlines() == [
        "[[2.0, 4.0, 6.0], [6.0, 6.0]] [2. 4. 6.]",
        "[2. 3. 4.]",
        "3.0",
        "10.0 [10. 20. 30.]",
    ]


def test_a_tracer_that_has_left_its_trace_is_refused() -> None:
    program = """
    kept = []
    logged(lambda x: kept.append(x) or x)(x)
    for use in (jnp.sin, lambda x: x + 1, bool):
        try:
            use(kept[0])
        except TypeError as error:
            print(str(error).splitlines()[0][:40])
    """
    assert len(run(OWN_TRACE + program).splitlines()) == 3
