"""One test per message of the capture layer and the transforms: what, where in the user's code, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import errors

X = np.ones(3, np.float32)


def leaked() -> Any:
    kept: list[Any] = []
    ct.jit(lambda x: (kept.append(x), x)[1])(X)
    return kept[0] + 1


CASES: dict[str, tuple[Callable[[], Any], type[BaseException], str]] = {
    "nonscalar loss": (lambda: ct.grad(lambda x: x)(X), errors.ShapeError, r"scalar.*shape \(3,\)"),
    "loss is a tuple": (lambda: ct.grad(lambda x: (x, x))(1.0), TypeError, "has_aux"),
    "integer loss": (lambda: ct.grad(lambda x: cnp.sum(x).astype("int32"))(X), errors.DTypeError, "floating"),
    "integer argument": (lambda: ct.grad(lambda x: x * 1.0)(3), errors.DTypeError, "allow_int"),
    "complex loss": (lambda: ct.grad(lambda z: z)(1j), errors.DTypeError, "holomorphic"),
    "argnums": (lambda: ct.grad(lambda x: x, argnums=2)(1.0), TypeError, "argnums"),
    "not a function": (lambda: ct.grad(3), TypeError, "function"),
    "if under jit": (
        lambda: ct.jit(lambda x: x if x > 0 else -x)(1.0),
        errors.ConcretizationError,
        r"(?s)test_errors\.py.*lax\.cond",
    ),
    "while under jit": (lambda: ct.jit(lambda x: [0] * int(x))(1), errors.ConcretizationError, "jit"),
    "float under vmap": (lambda: ct.vmap(lambda x: float(x))(X), errors.ConcretizationError, "vmap"),
    "numpy under jit": (lambda: ct.jit(lambda x: np.asarray(x))(X), errors.ConcretizationError, "jit"),
    "value of a result": (
        lambda: ct.mask(lambda x: float(x.sum()))(ct.Ragged(X, {0: 2})),
        errors.ConcretizationError,
        r"^the value of an array of type float\d+\[\] \(made by 'reduce_sum' at .*\) is needed here",
    ),
    "value of an argument": (
        lambda: ct.jit(lambda x: int(x))(3),
        errors.ConcretizationError,
        r"^the value of an array of type int32\[\]\* \(an argument\) is needed here",
    ),
    "leak": (leaked, errors.TracerLeakError, "(?s)^an array of type .* escaped.*jit"),
    "broadcast": (lambda: cnp.array(X) + np.ones(4), errors.ShapeError, r"\(3,\) and \(4,\)"),
    "bool of many": (lambda: bool(cnp.array(X)), ValueError, "any"),
    "vmap sizes": (lambda: ct.vmap(lambda a, b: a + b)(X, np.ones(4)), ValueError, "different sizes"),
    "vmap scalar": (lambda: ct.vmap(lambda a: a)(1.0), ValueError, "no axis 0"),
    "vmap in_axes count": (lambda: ct.vmap(lambda a: a, in_axes=(0, 0))(X), ValueError, "in_axes"),
    "vmap in_axes type": (lambda: ct.vmap(lambda a: a, in_axes="x")(X), TypeError, "ints and None"),
    "vmap nothing": (lambda: ct.vmap(lambda a: a, in_axes=None)(X), ValueError, "axis_size"),
    "vmap out_axes": (lambda: ct.vmap(lambda a: a, out_axes=3)(X), ValueError, "out_axes"),
    "vmap out_axes None": (lambda: ct.vmap(lambda a: a, out_axes=None)(X), ValueError, "(?s)batch"),
    "unsupported leaf": (lambda: ct.jit(lambda x: x)({"name": "text"}), TypeError, r"args\[0\]\['name'\]"),
    "unsupported leaf of grad": (lambda: ct.grad(lambda x, y: x, 1)(1.0, object()), TypeError, "object"),
    "jvp shapes": (lambda: ct.jvp(lambda x: x, (X,), (np.ones(4),)), errors.ShapeError, "tangent"),
    "jvp dtypes": (lambda: ct.jvp(lambda x: x, (X,), (np.ones(3, np.float64),)), errors.DTypeError, "tangent"),
    "jvp counts": (lambda: ct.jvp(lambda x: x, (X,), (X, X)), TypeError, "1 primals but 2"),
    "jvp not tuples": (lambda: ct.jvp(lambda x: x, X, X), TypeError, "tuples"),
    "vjp cotangent shape": (lambda: ct.vjp(lambda x: x, X)[1](np.ones(4)), errors.ShapeError, "cotangent"),
    "static unhashable": (lambda: ct.jit(lambda x, n: x, static_argnums=1)(X, [1]), ValueError, "hashable"),
    "static name": (lambda: ct.jit(lambda x: x, static_argnames="mode"), ValueError, "mode"),
    "dict keys": (lambda: ct.jit(lambda d: d)({1: X, "a": X}), TypeError, "sorted"),
    "assignment": (
        lambda: ct.jit(lambda x, outside=cnp.array(X): outside.__setitem__(0, x))(1.0),
        TypeError,
        r"x was made outside of the function that is captured here.*\n  at .*test_errors.py.*\n.*part of the carry of a loop",
    ),
    "dtype": (lambda: cnp.zeros(3, dtype="float128"), errors.DTypeError, "supported"),
    "unknown option": (lambda: ct.config.update("speed", True), ValueError, "enable_x64"),
    "unknown primitive": (lambda: ct._core.bind("sinn", [1.0]), ValueError, "sin"),
    "string array": (lambda: cnp.array("text"), TypeError, "str"),
    "ragged list": (lambda: cnp.array([[1.0], [1.0, 2.0]]), ValueError, "ragged"),
    "unknown backend": (lambda: ct.jit(lambda x: x, backend="tpu")(X), ValueError, "llvm"),
    "non-array output": (lambda: ct.jit(lambda x: "text")(X), TypeError, "output"),
    "tree mismatch": (lambda: ct.tree.map(lambda a, b: a, [1, 2], [1]), ValueError, "structures differ"),
    "ragged as array": (
        lambda: cnp.sqrt(ct.ragged([X, X[:1]])),
        TypeError,
        r"a Ragged is not an array.*\n.*ct.vmap\(ct.mask\(f\)\)\(x\)",
    ),
    "negative eye": (lambda: cnp.eye(-1), ValueError, r"eye: sizes must not be negative; got \(-1, -1\)"),
    "parse attribute": (
        lambda: ct.ir.parse("graph (a: float32[3]) {\n  b: float32[] = reduce_sum a {axes=[0], axis=0}\n} -> (b)"),
        ValueError,
        "<text>:2:42: reduce_sum has no attribute 'axis'",
    ),
    "parse": (lambda: ct.ir.parse("graph (a: float32[3]) {\n  b = nonsense a\n} -> (b)"), ValueError, ":2"),
    "corrupt graph": (lambda: ct.ir.deserialize(b"not a graph"), errors.CorruptFileError, "header is missing"),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    call, kind, pattern = CASES[name]
    with pytest.raises(kind, match=pattern):
        call()
    # Nothing is left behind: a later program works.
    assert float(ct.jit(lambda x: x + 1)(1.0)) == 2.0


def test_an_exception_in_the_users_function_passes_through() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("mine")

    for transform in (ct.grad, ct.jit, ct.vmap, ct.jacfwd):
        with pytest.raises(KeyError, match="mine"):
            transform(broken)(X)
    assert float(ct.grad(lambda x: x * x)(3.0)) == 6.0


def test_errors_name_the_users_line() -> None:
    with pytest.raises(errors.ShapeError, match=r"test_errors\.py:\d+"):
        ct.jit(lambda a, b: a + b)(np.ones((2, 3)), np.ones((3, 2)))


MASKED = np.ma.masked_array([1.0, 2.0], [True, False])


@pytest.mark.parametrize(
    "use",
    [
        lambda: cnp.array(MASKED),
        lambda: cnp.sin(MASKED),
        lambda: cnp.ones(2) + MASKED,
        lambda: ct.jit(cnp.sin)(MASKED),
        lambda: ct.grad(cnp.sum)(MASKED),
        lambda: ct.vmap(cnp.sin)(MASKED),
        lambda: cnp.ones(2).at[:].set(MASKED),
    ],
)
def test_masked_arrays_do_not_lose_their_mask(use: Any) -> None:
    with pytest.raises(
        ValueError, match=r"a masked array of NumPy has elements that do not count(.|\n)*x\.filled\(value\)"
    ):
        use()


def test_masked_arrays_that_mask_nothing_are_their_elements() -> None:
    for mask in (np.ma.nomask, [False, False]):
        np.testing.assert_array_equal(cnp.sin(np.ma.masked_array([1.0, 2.0], mask)), np.sin(np.array([1.0, 2.0])))


def test_methods_that_are_none_are_no_methods() -> None:
    class Refusing:
        __jax_array__ = None

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise TypeError("not now")

    with pytest.raises(TypeError, match="not now"):
        cnp.sin(Refusing())


def test_a_jitted_function_that_calls_itself_is_told_so() -> None:
    @ct.jit
    def factorial(n: Any) -> Any:
        return ct.lax.cond(n > 1, lambda: n * factorial(n - 1), lambda: 1)

    with pytest.raises(RecursionError) as caught:
        factorial(5)
    (note,) = caught.value.__notes__
    assert "jit of factorial: it calls itself" in note
    assert "ct.lax.while_loop" in note

    def endless(n: Any) -> Any:
        return n + endless(n)

    with pytest.raises(RecursionError) as caught:
        ct.jit(endless)(1.0)
    assert not hasattr(caught.value, "__notes__"), "the recursion is Python's own"
