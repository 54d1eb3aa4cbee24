"""`cotangent.jax`: what is checked where options of JAX ask for it, errors that programs note while they run, and dimension numbers."""

from __future__ import annotations

import pytest
from jax_hook_process import run

NOTED = """
import operator
import jax, jax.numpy as jnp
from jax._src import error_check
from jax._src.numpy import error

def noted():
    try:
        error_check.raise_if_error()
    except error_check.JaxValueError as found:
        return str(found)
    return ""
"""


def test_errors_are_noted_while_programs_run_and_the_first_is_raised() -> None:
    program = """
    def positive(x):
        error_check.set_error_if(x <= 0, "not positive")
        return x + 1
    def small(x):
        error_check.set_error_if(x > 9, "too large")
        return x
    x = jnp.array([1, 0])
    print(jax.jit(positive)(x), noted(), "|", noted())
    positive(x), small(10 * x + 10)
    print(noted())
    jax.jit(positive)(x + 1), jax.jit(small)(10 * x)
    print(noted())
    print(jax.lax.while_loop(lambda x: x < 3, lambda x: positive(small(x)), -2), noted())
    print(jax.lax.scan(lambda c, x: (c + x, small(x)), 0, 6 * jnp.arange(3))[0], noted())
    print(jax.jit(lambda p, x: jax.lax.cond(p, positive, small, x))(False, 12), noted())
    """
    lines = run(NOTED + program.replace("\n    ", "\n")).splitlines()
    assert lines == [
        "[2 1] not positive | ",
        "not positive",
        "too large",
        "3 not positive",
        "18 too large",
        "12 too large",
    ]


def test_noted_errors_have_the_line_that_noted_them_and_contexts_their_own() -> None:
    program = """
    import traceback
    def looks_at(x):
        error_check.set_error_if(x < 0, "below")
        return x
    jax.jit(looks_at)(-1.0)
    with error_check.error_checking_context():
        print(repr(noted()))
        looks_at(-1.0)
        print(noted())
    try:
        error_check.raise_if_error()
    except error_check.JaxValueError as found:
        print("looks_at" in [frame.name for frame in traceback.extract_tb(found.__traceback__)])
    try:
        jax.jit(error_check.raise_if_error)()
    except ValueError as found:
        print(str(found).splitlines()[0])
    exported = error_check.wrap_for_export(looks_at)
    print(jax.jit(error_check.unwrap_from_import(jax.jit(exported)))(-2.0), noted().splitlines()[0])
    """
    lines = run(NOTED + program.replace("\n    ", "\n")).splitlines()
    assert lines == [
        "''",
        "below",
        "True",
        "raise_if_error() should not be called within a traced context, such as within a jitted function.",
        "-2.0 below",
    ]


def test_functions_of_arrays_note_what_options_ask_for() -> None:
    program = """
    divide = jax.jit(lambda x, y: x / y)
    print(divide(0.0, 0.0), repr(noted()))
    with error.error_checking_behavior(nan="raise"):
        for function in (lambda: divide(0.0, 0.0), lambda: jnp.log(-1.0), lambda: jnp.inf - jnp.array(jnp.inf), lambda: jnp.sqrt(4.0)):
            function()
            print(repr(noted()))
        with error.error_checking_behavior(all="ignore"):
            divide(0.0, 0.0)
            print(repr(noted()))
    with error.error_checking_behavior(divide="raise"):
        for function in (lambda: divide(1.0, 0.0), lambda: jnp.arange(3) % jnp.int32(0), lambda: divmod(jnp.ones(2), 0.0),
                         lambda: jax.jit(operator.mod)(1, 0), lambda: divide(1.0, 2.0)):
            function()
            print(repr(noted()))
    print(divide(0.0, 0.0), repr(noted()))
    """
    lines = run(NOTED + program.replace("\n    ", "\n")).splitlines()
    assert lines == [
        "nan ''",
        *["'NaN encountered'"] * 3,
        *["''"] * 2,
        *["'Division by zero encountered'"] * 4,
        "''",
        "nan ''",
    ]


CHECKS = """
import warnings
import jax, jax.numpy as jnp, numpy as np

def message(function):
    try:
        return function()
    except (TypeError, ValueError) as found:
        return f"{type(found).__name__}: {str(found).splitlines()[0]}"
"""


def test_ranks_and_dtypes_that_meet_are_checked_where_options_say_so() -> None:
    program = """
    x, y, n = jnp.ones((2, 3)), jnp.ones(3), jnp.arange(3)
    add = jax.jit(lambda x, y: x + y)
    print(add(x, y).shape)
    with jax.numpy_rank_promotion("raise"):
        print(message(lambda: add(x, y)))
        print(message(lambda: jnp.maximum(np.ones(3), x)))
        print((x + 1).shape, (x + y[None]).shape, (2 * x).shape)
    with jax.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x * y
        print([str(warning.message)[:60] for warning in caught])
    with jax.numpy_dtype_promotion("strict"):
        print(message(lambda: y + n))
        print(message(lambda: n < y))
        print((y + 1).dtype, (n * 2).dtype, message(lambda: n + 1.5))
        print(jax.nn.softmax(x).shape, jnp.var(x, 0).dtype)
    with jax.numpy_rank_promotion("raise"):
        print(jnp.cov(x).shape, jax.nn.standardize(x).shape, jnp.linalg.inv(jnp.eye(2)).shape)
    print(add(x, y).shape, (y + n).dtype)
    jax.config.update("jax_numpy_rank_promotion", "raise")
    print(message(lambda: add(x, y)))
    """
    assert run(CHECKS + program.replace("\n    ", "\n")).splitlines() == [
        "(2, 3)",
        "ValueError: Operands could not be broadcast together for add on shapes (2, 3) (3,) and with the config option "
        "jax_numpy_rank_promotion='raise'.",
        "ValueError: Operands could not be broadcast together for maximum on shapes (3,) (2, 3) and with the config option "
        "jax_numpy_rank_promotion='raise'.",
        "(2, 3) (2, 3) (2, 3)",
        "['Following NumPy automatic rank promotion for multiply on sha']",
        "TypePromotionError: Input dtypes (float32, int32) have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict",
        "TypePromotionError: Input dtypes (float32, int32) have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict",
        "float32 int32 TypePromotionError: Input dtypes (float*, int32) have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict",
        "(2, 3) float32",
        "(2, 2) (2, 3) (2, 2)",
        "(2, 3) float32",
        "ValueError: Operands could not be broadcast together for add on shapes (2, 3) (3,) and with the config option "
        "jax_numpy_rank_promotion='raise'.",
    ]


GATHERED = {
    "collapsed_slice_dims in gather op must be sorted": "gather((4, 1), (1, 0), (0,), (1, 1))",
    "offset_dims in gather op must not repeat": "gather((4, 1), (), (0,), (1, 1), (0, 0))",
    "Invalid start_index_map": "gather((4, 1), (0, 1), (5,), (1, 1))",
    "These two numbers must be equal.": "gather((4, 1), (0, 1), (0, 1), (1, 1))",
    "Gather op can only collapse slice dims with bound 1, but bound is 3 for index 0": "gather((4, 1), (0, 1), (0,), (3, 1))",
    "Slice size at index 1 in gather op is out of range": "gather((4, 1), (0,), (0,), (1, 9), (1,))",
    "Gather op must have one slice size": "gather((4, 1), (0, 1), (0,), (1,))",
    "update_window_dims in scatter op must be sorted": "scatter((4, 1), (4, 3, 2), (2, 1), (), (0,))",
    "Updates tensor must be of rank 2; got 1.": "scatter((4, 1), (3,), (1,), (0,), (0,))",
    "Scatter op has window of size 2; doesn't match operand of rank 3.": "scatter((4, 1), (4, 2), (1,), (0,), (0,), (5, 3, 2))",
    "Bounds of the window dimensions": "scatter((4, 1), (4, 9), (1,), (0,), (0,))",
    "Bounds of the scatter dimensions": "scatter((4, 1), (5, 3), (1,), (0,), (0,))",
    "inserted_window_dims in scatter op must not repeat": "scatter((4, 1), (4,), (), (0, 0), (0,))",
}


@pytest.mark.parametrize("phrase", GATHERED)
def test_dimension_numbers_are_those_of_xla(phrase: str) -> None:
    program = f"""
    def gather(indices, collapsed, index_map, sizes, offsets=()):
        numbers = jax.lax.GatherDimensionNumbers(offsets, collapsed, index_map)
        return jax.lax.gather(jnp.ones((5, 3)), jnp.zeros(indices, int), numbers, sizes)
    def scatter(indices, updates, windows, inserted, index_map, shape=(5, 3)):
        numbers = jax.lax.ScatterDimensionNumbers(windows, inserted, index_map)
        return jax.lax.scatter_add(jnp.ones(shape), jnp.zeros(indices, int), jnp.ones(updates), numbers)
    print(message(lambda: {GATHERED[phrase]}))
    print(gather((4, 1), (0,), (0,), (1, 3), (1,)).shape, scatter((4, 1), (4, 3), (1,), (0,), (0,)).sum())
    """
    first, last = run(CHECKS + program.replace("\n    ", "\n")).splitlines()
    assert first.startswith("ShapeError: ")
    assert phrase in first
    assert last == "(4, 3) 27.0"
