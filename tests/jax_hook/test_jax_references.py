"""`cotangent.jax`: references that are read and written inside of captured functions, with the values that JAX gives."""

from __future__ import annotations

import pytest
from jax_hook_process import run

HEAD = "import jax, jax.numpy as jnp, numpy as np\n"

PROGRAMS = {
    "a jitted function writes one that it closes over": (
        """
        r = jax.new_ref(jnp.zeros(3))
        @jax.jit
        def f(x):
            r[0] = x
            return r[...].sum()
        first, second = f(2.0), f(3.0)
        r[1] = 5.0
        print(first, second, f(1.0), r[...])
        """,
        "2.0 3.0 6.0 [1. 5. 0.]",
    ),
    "a jitted function takes some as arguments": (
        """
        @jax.jit
        def add(refs, x):
            refs["sum"][...] += x
            refs["last"][...] = x
        r = {"sum": jax.new_ref(jnp.zeros(2)), "last": jax.new_ref(jnp.ones(2))}
        s = {"sum": jax.new_ref(jnp.ones(2)), "last": jax.new_ref(jnp.ones(2))}
        for x in (1.0, 2.0):
            add(r, x)
        add(s, 5.0)
        print(r["sum"][...], r["last"][...], s["sum"][...])
        """,
        "[3. 3.] [2. 2.] [6. 6.]",
    ),
    "static arguments stay where they are": (
        """
        r = jax.new_ref(jnp.zeros(()))
        @jax.jit(static_argnums=1, static_argnames="how")
        def f(x, n, how="add"):
            r[...] = r[...] + n * x if how == "add" else x
        f(2.0, 3); f(2.0, 4, how="add"); print(r[...]); f(7.0, 3, how="set"); print(r[...])
        """,
        "14.0\n7.0",
    ),
    "scan": (
        """
        r = jax.new_ref(jnp.zeros(()))
        def step(c, x):
            r[...] += x
            return c + r[...], r[...]
        print(*jax.lax.scan(step, 0.0, jnp.arange(4.0)), r[...])
        """,
        "10.0 [0. 1. 3. 6.] 6.0",
    ),
    "scan over the rows of one": (
        """
        r = jax.new_ref(jnp.arange(3.0))
        def step(c, row):
            value = row[...]
            row[...] = 10 * value
            return c + value, None
        print(jax.lax.scan(step, 0.0, r)[0], r[...])
        """,
        "3.0 [ 0. 10. 20.]",
    ),
    "fori_loop, while_loop, cond and switch": (
        """
        r = jax.new_ref(jnp.zeros(()))
        def write(x):
            r[...] += x
            return x + 1
        jax.lax.fori_loop(0, 5, lambda i, _: r.set(r[...] + i), None)
        print(r[...])
        print(jax.lax.while_loop(lambda x: x < 3, write, 0.0), r[...])
        print([float(jax.lax.cond(p, write, lambda x: 2 * x, 3.0)) for p in (True, False)], r[...])
        print(jax.lax.switch(1, [lambda x: x, write, lambda x: -x], 4.0), r[...])
        """,
        "10.0\n3.0 13.0\n[4.0, 6.0] 16.0\n5.0 20.0",
    ),
    "derivatives do not go through one from outside": (
        """
        r = jax.new_ref(0.0)
        def loss(x):
            y = 3 * x
            r[...] = jax.lax.stop_gradient(y)
            return y**2
        print(jax.grad(loss)(1.0), r[...], *jax.value_and_grad(loss)(2.0), r[...])
        print(*jax.jvp(loss, (1.0,), (1.0,)), *jax.vjp(loss, 2.0)[1](1.0), jax.checkpoint(loss)(3.0), r[...])
        """,
        "18.0 3.0 36.0 36.0 6.0\n9.0 18.0 36.0 81.0 9.0",
    ),
    "derivatives go through one that is made inside": (
        """
        @jax.jit
        def f(x):
            r = jax.new_ref(x)
            jax.lax.fori_loop(0, 3, lambda i, _: r.set(2 * r[...]), None)
            return jax.freeze(r)
        print(f(1.0), jax.grad(f)(1.0))
        """,
        "8.0 8.0",
    ),
    "vmap maps those among mapped arguments": (
        """
        r = jax.new_ref(jnp.zeros(3))
        def f(r, x):
            r[...] = 2 * x
            return x
        print(jax.vmap(f)(r, jnp.arange(3.0)), r[...])
        """,
        "[0. 1. 2.] [0. 2. 4.]",
    ),
    "captured functions in captured functions": (
        """
        r = jax.new_ref(jnp.zeros(2))
        @jax.jit
        def outer(n):
            @jax.jit
            def inner(x):
                r[0] += x
            def body(i, c):
                inner(1.0 * i)
                return c + 1
            return jax.lax.fori_loop(0, n, body, 0)
        print(outer(4), r[...], outer(3), r[...])
        """,
        "4 [6. 0.] 3 [9. 0.]",
    ),
    "the functions of jax.ref": (
        """
        r = jax.new_ref(jnp.arange(5))
        print(jax.ref.swap(r, 3, 10), jax.ref.get(r, slice(1, 3)))
        jax.ref.addupdate(r, 2, 10); jax.ref.set(r, 0, 7)
        print(repr(r), jax.ref.freeze(r))
        """,
        "3 [1 2]\nRef([ 7,  1, 12, 10,  4], dtype=int32) [ 7  1 12 10  4]",
    ),
    "cotangents are added to them": (
        """
        def f(x, pair):
            return (x * pair["a"] * pair["b"]).sum()
        sums = jax.new_ref(jnp.ones(3))
        _, pull = jax.vjp(f, jnp.arange(3.0), {"a": 2.0, "b": 5.0})
        into = pull.with_refs(sums, {"a": jax.ad.GradValue(), "b": jax.ad.DontWant()})
        print(into(1.0), sums[...])
        print(jax.jit(lambda p: p.with_refs(jax.ad.DontWant(), {"a": 0, "b": 0})(3.0)[1]["b"])(pull))
        """,
        "(GradRef(), {'a': Array(15., dtype=float32), 'b': DidntWant()}) [11. 11. 11.]\n18.0",
    ),
    "cotangents are added up in a loop": (
        """
        @jax.jit
        def total(batches):
            sums = jax.new_ref(jnp.zeros(3))
            def step(_, x):
                loss, pull = jax.vjp(lambda x: (x * x).sum(), x)
                pull.with_refs(sums)(jnp.ones_like(loss))
                return (), loss
            _, losses = jax.lax.scan(step, (), batches)
            return jax.freeze(sums), losses
        print(*total(jnp.arange(6.0).reshape(2, 3)))
        """,
        "[ 6. 10. 14.] [ 5. 50.]",
    ),
    "views go where references go": (
        """
        r = jax.new_ref(jnp.zeros((3, 4)))
        @jax.jit
        def add(view, x):
            view[...] += x
            view[0] = 9.0
            return view[...] * 2
        print(add(r.at[1], 1.0), add(r.at[2, 1:3], 1.0), add(r.at[jnp.array([0, 1]), 3], 1.0))
        jax.lax.cond(True, lambda v: v.set(jnp.ones(2)), lambda v: None, r.at[0].at[:2])
        jax.checkpoint(lambda v: v.set(7.0))(r.at[1, 1])
        print(jax.vmap(lambda x, v: x + v[1], (0, None))(jnp.arange(2.0), r.at[2]))
        _, pull = jax.vjp(lambda x: x * 2, jnp.ones(4))
        pull.with_refs(r.at[2])(jnp.ones(4))
        print(r[...].tolist(), jax.tree.leaves(r.at[0]) == [r])
        """,
        "[18.  2.  2.  2.] [18.  2.] [18.  4.]\n[ 9. 10.]\n"
        "[[1.0, 1.0, 0.0, 9.0], [9.0, 7.0, 1.0, 2.0], [2.0, 11.0, 3.0, 2.0]] True",
    ),
    "they take what they hold": (
        """
        r, half = jax.new_ref(jnp.zeros(2, int)), jax.new_ref(jnp.zeros((), "bfloat16"))
        r[0] = np.int64(7); r.at[1].set(jnp.int8(3)); half[...] = 0.5; half.addupdate(2)
        print(r, half)
        """,
        "Ref([7, 3], dtype=int32) Ref(2.5, dtype=bfloat16)",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_references_in_captured_functions(name: str) -> None:
    program, expected = PROGRAMS[name]
    lines = [line[8:] for line in program.splitlines()]
    assert run(HEAD + "\n".join(lines)) == expected


REFUSED = {
    "jax.jit(lambda a, b: None)(r, r)": "ValueError: only one reference",
    "jnp.sin(r)": "ReferenceAsArrayError: a reference Ref{float32[3]} is used where an array is needed",
    "jax.vmap(lambda x: r.set(x))(jnp.ones((2, 3)))": "ValueError: vmap: output",
    "jax.make_jaxpr(lambda: r.set(1.0))()": "NotImplementedError: a reference is written",
    "(jax.freeze(r), r[...])": "ValueError: the reference was frozen",
    "jax.new_ref(r)": "TypeError: new_ref: a reference to a reference",
    "jax.vmap(lambda v: v.set(1.0))(r.at[:2])": "ValueError: vmap: a view of a reference",
    "r.set(r)": "ValueError: Cannot store a Ref into another Ref",
    "r.set(1j)": "ValueError: a value of dtype complex64 is written to a reference of dtype float32",
    "jax.new_ref(jnp.zeros(3, int)).addupdate(1.0)": "ValueError: a value of dtype float32 is written to a reference of dtype int32",
    "jax.new_ref(jnp.zeros(3, 'bfloat16')).at[0].set(jnp.float32(1))": "ValueError: a value of dtype float32",
    "jax.vjp(jnp.sin, 1.0)[1].with_refs(r, r)(1.0)": "ValueError: with_refs: PyTreeDef((*, *)) was given",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_references_cannot_do_is_an_error(expression: str) -> None:
    program = f"""
        import jax, jax.numpy as jnp
        r = jax.new_ref(jnp.zeros(3))
        try:
            {expression}
        except Exception as error:
            print(type(error).__name__ + ":", error)
    """
    assert run(program).startswith(REFUSED[expression])


def test_a_function_that_raises_leaves_references_as_they_are() -> None:
    program = """
        import jax, jax.numpy as jnp
        r = jax.new_ref(jnp.zeros(2))
        @jax.jit
        def f(x):
            r[...] = x
            raise KeyError("no")
        try:
            f(jnp.ones(2))
        except KeyError:
            print(r[...])
    """
    assert run(program) == "[0. 0.]"
