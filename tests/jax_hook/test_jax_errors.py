"""`cotangent.jax`: errors in JAX's words and without frames of the package, where trees differ, and helpers of JAX's private modules."""

from __future__ import annotations

from jax_hook_process import run

MATCHES = """
    import re
    import jax, jax.numpy as jnp, numpy as np

    def message(function, *kinds):
        try:
            function()
        except (kinds or (TypeError, ValueError, AttributeError)) as error:
            return str(error)
        raise AssertionError("nothing was raised")
"""


def checked(program: str) -> str:
    return run(MATCHES + program)


def test_errors_carry_the_phrases_that_programs_look_for() -> None:
    program = """
    @jax.custom_jvp
    def foo(x): return x
    @jax.custom_vjp
    def bar(x): return x
    assert "No JVP defined for custom_jvp function foo using defjvp." in message(lambda: foo(2.0))
    assert "No VJP defined for custom_vjp function bar using defvjp." in message(lambda: jax.grad(bar)(2.0))
    bar.defvjp(lambda x: (x, None), lambda r, g: (g,))
    assert "can't apply forward-mode autodiff (jvp) to a custom_vjp function." in message(lambda: jax.jvp(bar, (3.0,), (1.0,)))
    assert "vmap got inconsistent sizes" in message(lambda: jax.vmap(jnp.add)(jnp.ones(2), jnp.ones(3)))
    assert "but got complex64" in message(lambda: jax.grad(lambda x: x * 1j)(1.0))
    lax = jax.lax
    assert "lax.add requires arguments to have the same dtypes, got int32, float32" in message(lambda: lax.add(0, 0.0))
    assert "rem does not accept dtype complex64." in message(lambda: lax.rem(1j, 2j))
    assert "cannot select an axis to squeeze out" in message(lambda: lax.squeeze(jnp.ones((1, 2)), (1,)))
    assert "broadcast_dimensions must have length equal" in message(lambda: lax.broadcast_in_dim(jnp.ones(2), (2, 2), (0, 1)))
    assert "reduce_window window_dimensions must have every element be positive" in message(
        lambda: lax.reduce_window(jnp.ones(1), 0.0, lax.add, (0,), (1,), "VALID"))
    assert "scan got value with no leading axis to scan over" in message(lambda: lax.scan(lambda c, x: (c, x), 0, 1.0))
    assert "must have the same pytree structure, but they differ" in message(lambda: lax.scan(lambda c, x: ((c, c), x), 0, jnp.ones(2)))
    assert "n must be a positive integer, got 0" in message(lambda: jax.scipy.linalg.helmert(0))
    assert "Indexer must have integer or boolean type" in message(lambda: jnp.ones((2, 2))[0, jnp.ones(2)])
    assert "ragged_dot_general expects exactly one lhs ragged dimension" in message(lambda: lax.ragged_dot_general(
        jnp.ones((4, 5)), jnp.ones((3, 5, 7)), jnp.ones(3, int), lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0, 1], [0])))
    print("matched")
    """
    assert checked(program) == "matched"


def test_conversions_of_traced_arrays_say_which_one_it_was() -> None:
    program = """
    def bool_of(x): return 1 if x > 0 else 0
    assert "Attempted boolean conversion of traced array with shape bool[]." in message(lambda: jax.jit(bool_of)(1.0))
    assert "The __index__() method was called on traced array" in message(lambda: jax.jit(lambda i: [1, 2][i])(0))
    assert "The numpy.ndarray conversion method __array__()" in message(lambda: jax.jit(lambda x: np.asarray(x))(jnp.ones(2)))
    print(bool(jnp.array(True)), [5, 6][jnp.array(1)])
    """
    assert checked(program) == "True 6"


def test_tracebacks_leave_out_the_package_unless_they_are_told_not_to() -> None:
    program = """
    import traceback
    def fails(x): raise KeyError("own")
    def files():
        try:
            jax.jit(lambda x: jax.vmap(fails)(x))(jnp.ones(2))
        except KeyError as error:
            names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            own = [f for f in traceback.extract_tb(error.__traceback__) if "cotangent" in f.filename]
            return names, len(own), getattr(error, "__notes__", [])
    names, own, notes = files()
    assert names == ["files", "<lambda>", "fails"] and own == 0 and "For simplicity" in notes[0], (names, own, notes)
    jax.config.update("jax_traceback_filtering", "off")
    names, own, notes = files()
    print(own > 0, names[0], names[-1], notes)
    """
    assert checked(program) == "True files fails []"


def test_structures_are_printed_and_compared_in_words() -> None:
    program = """
    import collections
    from jax import tree_util
    from jax._src.tree_util import broadcast_prefix, equality_errors, prefix_errors
    Point = collections.namedtuple("Point", "x y")
    print(tree_util.tree_structure({"a": (1, None), "b": [Point(1, 2)]}))
    print([str(e("axes")).splitlines()[:2] for e in prefix_errors(((1,), [2]), ([3], [4, 5]))])
    print(list(equality_errors((1, [2]), (1, [2, 3]))))
    print(broadcast_prefix((1, 2), ({"p": 0, "q": 0}, 5)), tree_util.tree_broadcast((1, 2), ([0, 0], 5)))
    for tree, value in (([1, 2], [7]), ({"a": 1}, {"b": 7}), ([[1]], [(7,)]), (None, [2])):
        print(message(lambda: tree_util.tree_structure(tree).flatten_up_to(value)).splitlines()[1].strip())
    """
    assert checked(program).splitlines() == [
        "PyTreeDef({'a': (*, None), 'b': [CustomNode(namedtuple[Point], [*, *])]})",
        "[['pytree structure error: different types at key path', '    axes[0]'], "
        "['pytree structure error: different lengths of list at key path', '    axes[1]']]",
        "[((SequenceKey(idx=1),), 'list of length 1', 'list of length 2', 'the lengths do not match')]",
        "[1, 1, 2] ([1, 1], 2)",
        "List arity mismatch: 1 != 2; list: [7].",
        "Dict key mismatch; expected keys: ['a']; dict: {'b': 7}. There is no 'a'. There is 'b' besides.",
        "Expected list, got (7,).",
        "Expected None, got [2].",
    ]


def test_structures_are_cotangents_again_when_the_hook_is_gone() -> None:
    program = """
        import collections
        import cotangent as ct, cotangent.jax
        Point = collections.namedtuple("Point", "x")
        with cotangent.jax.installed():
            inside = repr(ct.tree.structure(Point(1)))
        print(inside, ct.tree.structure(Point(1)))
    """
    assert run(program, install=False) == "PyTreeDef(CustomNode(namedtuple[Point], [*])) PyTreeDef(Point(*))"


def test_views_of_references_read_and_write_them() -> None:
    program = """
    ref = jax.new_ref(jnp.zeros((2, 3)))
    @jax.jit
    def write(ref):
        row = ref.at[1]
        row.at[1:].set(jnp.array([5.0, 7.0]))
        row.addupdate(1.0)
        return row[...], row.at[2].swap(0.0)
    row, before = write(ref)
    print(row, before, ref[...].tolist())
    """
    assert checked(program) == "[1. 6. 8.] 8.0 [[0.0, 0.0, 0.0], [1.0, 6.0, 0.0]]"


def test_helpers_of_private_modules() -> None:
    program = """
    from jax._src import core, linear_util as lu, util
    from jax.api_util import flatten_fun_nokwargs
    leaves, tree = jax.tree.flatten((2.0, 3.0))
    f, out_tree = flatten_fun_nokwargs(lu.wrap_init(lambda x, y: {"a": x * y}), tree)
    value = jax.grad(lambda x: core.call_p.bind(x, leaves[1], subfuns=(f,))[0])(2.0)
    print(value, out_tree(), float(core.new_ref(1.0)[...]))
    print(util.split_list([1, 2, 3, 4], [1, 2]), util.partition_list([True, False, True], [1, 2, 3]))
    print(util.merge_lists([True, False, True], [2], [1, 3]), util.unflatten([1, 2, 3], [2, 1]), util.subvals([1, 2], [(0, 5)]))
    print(util.curry(lambda x, y: x - y)(5)(3))
    for wrong in (lambda: util.unflatten([1], [2]), lambda: util.merge_lists([True], [1], [])):
        message(wrong, ValueError)
    """
    assert checked(program).splitlines() == [
        "3.0 PyTreeDef({'a': *}) 1.0",
        "[[1], [2, 3], [4]] ([2], [1, 3])",
        "[1, 2, 3] [[1, 2], [3]] (5, 2)",
        "2",
    ]


def test_tolerances_of_dtypes_without_derivatives_are_ignored() -> None:
    program = """
    from jax.test_util import check_grads
    tolerance = {np.dtype("float32"): 1e-2, jax.dtypes.float0: 0, np.dtype(bool): 0}
    check_grads(jnp.sin, (0.5,), order=1, atol=tolerance, rtol=tolerance)
    wrong = jax.custom_jvp(lambda x: x)
    wrong.defjvp(lambda x, t: (x[0], 2 * t[0]))
    message(lambda: check_grads(wrong, (0.5,), order=1, atol=tolerance, rtol=tolerance), AssertionError)
    print("checked")
    """
    assert checked(program) == "checked"


def test_libraries_put_paths_that_tracebacks_leave_out_into_the_list() -> None:
    program = """
        import jax
        from jax._src import traceback_util
        before = len(traceback_util._exclude_paths)
        class Frame:
            class f_code:
                co_filename = "/of/a/library/file.py"
        print(traceback_util.include_frame(Frame))
        traceback_util._exclude_paths.append("/of/a/library")
        print(len(traceback_util._exclude_paths) - before, traceback_util.include_frame(Frame))
        traceback_util._exclude_paths.remove("/of/a/library")
        print(traceback_util.include_frame(Frame))
    """
    assert run(program).splitlines() == ["True", "1 False", "True"]
