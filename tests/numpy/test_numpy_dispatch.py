"""NumPy's and SciPy's functions of traced arrays record what the functions of the same names here do."""

from __future__ import annotations

import functools
import inspect
import operator
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
import scipy.linalg
import scipy.special
from cotangent import tree_util
from test_numpy import CASES, IDS, arguments

X = np.linspace(0.25, 2.0, 6).reshape(2, 3)


def dispatches(case: Any) -> bool:
    """Whether NumPy asks the arguments of the case for a function of their own."""
    given = tree_util.tree_leaves(arguments(case, case.dtypes[0])) if case.call is None else []
    # NumPy does not look into a list of keys, as it does into a tuple of them.
    if not any(isinstance(x, np.ndarray) for x in given) or (case.name == "lexsort" and isinstance(case.args[0], list)):
        return False
    function: Any = np
    for part in case.name.split("."):
        function = getattr(function, part, None)
    if isinstance(function, np.ufunc):
        return not case.kwargs
    # Some cases have options that only this package knows.
    return hasattr(function, "_implementation") and set(case.kwargs) <= set(inspect.signature(function).parameters)


def recorded(case: Any, namespace: Any, args: list[Any]) -> str:
    leaves, structure = tree_util.tree_flatten(args)
    arrays = [isinstance(x, (np.ndarray, np.generic)) for x in leaves]

    def call(*values: Any) -> Any:
        given = iter(values)
        return case(namespace, *structure.unflatten([next(given) if a else x for a, x in zip(arrays, leaves)]))

    try:
        return ct.make_ir(call)(*[x for a, x in zip(arrays, leaves) if a]).text()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("case", [pytest.param(c, id=IDS[id(c)]) for c in CASES if dispatches(c)])
def test_a_function_of_numpy_records_what_its_counterpart_does(case: Any) -> None:
    args = arguments(case, case.dtypes[0])
    ours = recorded(case, cnp, args)
    theirs = recorded(case, np, args)
    if ours.startswith("ConcretizationError"):  # needs to know values, whoever asks
        assert theirs.startswith("ConcretizationError")
    else:
        assert theirs == ours


def test_most_functions_are_tried() -> None:
    assert len({c.name for c in CASES if dispatches(c)}) > 150


def every_ufunc(theirs: Any, ours: Any) -> list[str]:
    return [
        name
        for name, function in vars(theirs).items()
        if isinstance(function, np.ufunc) and hasattr(ours, name) and function.__name__ != "_"
    ]


@pytest.mark.parametrize("name", every_ufunc(np, cnp))
def test_every_ufunc_of_numpy(name: str) -> None:
    theirs, ours = getattr(np, name), getattr(cnp, name)
    if theirs.signature:  # matmul and the like
        args: list[Any] = [np.ones((2, 2))] * theirs.nin
    else:
        kind = next((t[0] for t in theirs.types if t[0] in "d"), theirs.types[-1][0])
        kinds = next((t[: theirs.nin] for t in theirs.types if t[0] == "d"), theirs.types[-2][: theirs.nin])
        kinds = kinds if set(kinds) <= set("dil?") else "l" * theirs.nin
        args = [X.astype(np.dtype(k)) for k in kinds]
        assert kind
    assert ct.make_ir(theirs)(*args).text() == ct.make_ir(ours)(*args).text()


@pytest.mark.parametrize("name", every_ufunc(scipy.special, ct.scipy.special))
def test_every_ufunc_of_scipy(name: str) -> None:
    theirs, ours = getattr(scipy.special, name), getattr(ct.scipy.special, name)

    def recorded(function: Any) -> str:
        whole = {"bessel_jn": 0, "expn": 0, "polygamma": 0}.get(name)
        call = lambda *xs: function(*[2 if i == whole else x for i, x in enumerate(xs)])  # noqa: E731
        try:
            return ct.make_ir(call)(*[X * 0.3] * theirs.nin).text()
        except (TypeError, ValueError, NotImplementedError) as error:
            return str(error).splitlines()[0]

    assert recorded(theirs) == recorded(ours)
    assert "has its name" not in recorded(theirs)


GRADIENTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (lambda x: np.exp(x).sum(), np.exp),
    "sqrt": (lambda x: np.sqrt(x).sum(), lambda x: 0.5 / np.sqrt(x)),
    "expit": (lambda x: scipy.special.expit(x).sum(), lambda x: scipy.special.expit(x) * scipy.special.expit(-x)),
    "gammaln": (lambda x: scipy.special.gammaln(x).sum(), scipy.special.psi),
    "concatenate": (lambda x: np.concatenate([x, X, 2 * x]).sum(), lambda x: np.full_like(x, 3.0)),
    "norm": (lambda x: np.linalg.norm(x), lambda x: x / np.linalg.norm(x)),
    "fft": (lambda x: np.abs(np.fft.fft(x, axis=1)[:, 0]).sum(), np.ones_like),
    "einsum": (lambda x: np.einsum("ij,ij->", x, X), lambda x: X),
    "where": (lambda x: np.where(x > 1, x * x, 0.0).sum(), lambda x: np.where(x > 1, 2 * x, 0)),
    "sum": (lambda x: np.sum(x * x), lambda x: 2 * x),
    "mean": (lambda x: np.mean(x), lambda x: np.full_like(x, 1 / 6)),
    "add.reduce": (lambda x: np.add.reduce(x * x, axis=(0, 1)), lambda x: 2 * x),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x)[1].sum(), lambda x: x[::-1]),
    "subtract.outer": (lambda x: np.subtract.outer(2 * x, X).sum(), lambda x: np.full_like(x, 12.0)),
    "hypot.reduce": (lambda x: np.hypot.reduce(x).sum(), lambda x: x / np.hypot.reduce(x)),
    "array + x": (lambda x: (X + x).sum(), np.ones_like),
    "array @ x": (lambda x: (X.T @ x).sum(), lambda x: np.broadcast_to(X.sum(1)[:, None], (2, 3))),
    "array ** x": (lambda x: (X**x).sum(), lambda x: X**x * np.log(X)),
    "where= of a ufunc": (lambda x: np.log(x, where=X > 1).sum(), lambda x: np.where(X > 1, 1 / x, 0)),
    "where= of a sum": (lambda x: np.sum(x, where=X > 1), lambda x: (X > 1) * 1.0),
    "nested list": (lambda x: np.add(x, [[1, 2, 3]] * 2).sum(), np.ones_like),
    "float64 * x": (lambda x: (np.float64(3) * x).sum(), lambda x: np.full_like(x, 3.0)),
    "stack": (lambda x: np.vstack((x, X))[0].sum(), lambda x: np.array([[1.0] * 3, [0.0] * 3])),
    "partition by sort": (lambda x: np.sort(x, axis=None)[0], lambda x: np.eye(2, 3) * [[1, 0, 0], [0, 0, 0]]),
}


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    function, derivative = GRADIENTS[name]
    expected = derivative(X)
    np.testing.assert_allclose(ct.grad(function)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(ct.jit(ct.grad(function))(X), expected, rtol=1e-12)
    np.testing.assert_allclose(ct.vmap(ct.grad(function))(X[None])[0], expected, rtol=1e-12)
    np.testing.assert_allclose(ct.jit(function)(X), function(X), rtol=1e-12)


def test_ragged_values() -> None:
    x = ct.Ragged(cnp.asarray([0.0, np.log(2.0), 99.0]), {0: 2})
    f = lambda x: np.sum(np.exp(x) * np.arange(3.0)[0:1]) + np.max(x) + np.mean(np.multiply(x, x))  # noqa: E731
    expected = np.log(2.0) + np.log(2.0) ** 2 / 2
    np.testing.assert_allclose(ct.mask(f)(x), expected, rtol=1e-6)
    gradient = ct.grad(ct.mask(lambda x: np.sum(np.exp(x))))(x)
    np.testing.assert_allclose(gradient.unpad(), [1.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize("function", [np.sum, np.exp, np.add.reduce, np.linalg.norm, scipy.special.expit])
def test_outside_of_masks_ragged_values_are_numpys_where_they_are_known(function: Any) -> None:
    x = ct.Ragged(cnp.array([1.0, 2.0, np.nan]), {0: 2})
    np.testing.assert_array_equal(function(x), function(np.float32([1.0, 2.0])))
    with pytest.raises(
        TypeError, match=r"of a Ragged: the program that is captured does not have its values\n.*\n  take x\.unpad\(\)"
    ):
        ct.jit(lambda x: function(x))(x)
    with pytest.raises(TypeError, match=r"of a Ragged: it holds a batch(.|\n)*x\[0\]\.unpad\(\)"):
        function(ct.ragged([[1.0, 2.0], [3.0]]))


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod]
OPERATORS += [operator.lt, operator.ge, operator.eq, operator.ne, divmod]


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "other",
    [
        X,
        X.astype(np.float32),
        X.astype(np.int8),
        np.float32(2),
        np.float64(2),
        np.int32(2),
        np.float16(2),
        np.array(2.0),
    ],
    ids=lambda x: f"{type(x).__name__}-{x.dtype}",
)
def test_operators_with_numpy_on_the_left(operation: Any, other: Any) -> None:
    x32 = X.astype(np.float32)
    for x in (X, x32, x32.astype(np.float16)):
        left = ct.jit(lambda x: operation(other, x))(x)
        right = ct.jit(lambda x: operation(cnp.asarray(other), x))(x)
        concrete = operation(other, cnp.asarray(x))
        for a, b in zip(tree_util.tree_leaves(left), tree_util.tree_leaves(concrete), strict=True):
            assert isinstance(b, ct.Array)
            assert a.dtype == b.dtype
            np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=2e-3)
        if not isinstance(other, np.float64):  # which yields to arrays, as Python's numbers do
            assert [y.dtype for y in tree_util.tree_leaves(left)] == [y.dtype for y in tree_util.tree_leaves(right)]


def test_computed_in_a_dtype() -> None:
    f = lambda x: np.add(x, 1, dtype=np.float32)  # noqa: E731
    assert ct.jit(f)(np.arange(3)).dtype == np.float32
    assert ct.jit(f)(np.arange(3)).tolist() == [1.0, 2.0, 3.0]
    assert ct.jit(lambda x: np.greater(x, 1, dtype=bool))(np.arange(3)).tolist() == [False, False, True]
    total = ct.jit(lambda x: np.add.reduce(x, dtype=np.int64))(np.full(3, 2**30, np.int32))
    assert int(total) == 3 * 2**30
    with pytest.raises(TypeError, match="is not that of its result"):
        ct.jit(lambda x: np.add(x, 1, dtype=bool))(np.arange(3))


def in_place(x: Any) -> Any:
    y = np.ones(3)
    y += x
    return y.sum()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (in_place, "numpy.add of a traced array: it writes into an array of NumPy"),
        (lambda x: np.exp(x, out=np.ones(3)), "numpy.exp of a traced array: it writes into"),
        (lambda x: np.add.at(np.ones(3), [0], x[0]), "numpy.add.at of a traced array: it writes into"),
        (lambda x: np.frompyfunc(abs, 1, 1)(x), "abs (vectorized) of a traced array: nothing in ct.numpy"),
        (lambda x: np.copyto(np.ones(3), x), "make that an array of ct.numpy first: x = ct.numpy.asarray(x)"),
        (lambda x: np.busday_count(x, x), "numpy.busday_count of a traced array: nothing in ct.numpy"),
        (lambda x: scipy.special.ellipj(x, x), "scipy.special.ellipj of a traced array: nothing in ct.numpy"),
        (lambda x: np.add(x, x, signature="dd->d"), "numpy.add of a traced array: the argument signature"),
    ],
)
@pytest.mark.parametrize("transform", [ct.jit, lambda f: ct.jvp(f, (np.ones(3),), (np.ones(3),))], ids=["jit", "jvp"])
def test_what_has_no_counterpart_says_so(function: Any, message: str, transform: Any) -> None:
    with pytest.raises(TypeError) as caught:
        transform(function)(np.ones(3))
    assert message in str(caught.value)
    assert f"at {__file__}:{function.__code__.co_firstlineno + (2 if function is in_place else 0)}" in str(caught.value)


MATRIX = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: np.polynomial.polynomial.polyval(x, MATRIX),
            "polynomial.polyval of a traced array: NumPy does not know x",
        ),
        (
            lambda x: np.polynomial.chebyshev.chebval(x, MATRIX),
            "pass c.reshape(c.shape + (1,) * x.ndim) and tensor=False",
        ),
        (lambda x: np.polynomial.legendre.leggrid2d(np.ones(2), x, MATRIX), "legendre.legval of a traced array"),
        (lambda x: np.polynomial.polynomial.polyvalfromroots(x, x), "conversion|is needed here"),
        (lambda x: np.polynomial.polynomial.polyvalfromroots(x, np.ones(3)), "pass r.reshape(r.shape + (1,) * x.ndim)"),
        (lambda x: scipy.linalg.circulant(x), "strides: a traced array has no memory"),
        (lambda x: scipy.linalg.circulant(x), "use ct.scipy.linalg.circulant, which takes traced arrays"),
        (lambda x: scipy.linalg.toeplitz(x), "use ct.scipy.linalg.toeplitz, which takes traced arrays"),
        (lambda x: scipy.linalg.fiedler(x), "use ct.scipy.linalg.fiedler, which takes traced arrays"),
        (lambda x: scipy.linalg.khatri_rao(x, x), "scipy.linalg.khatri_rao computes with elements: compose it"),
        (lambda x: statistics.mean(x), "use ct.numpy.mean, ct.numpy.var"),
    ],
)
def test_libraries_that_ask_for_elements(function: Any, message: str) -> None:
    for transform in (ct.jit, ct.vmap, lambda f: ct.grad(lambda x: cnp.sum(f(x)))):
        with pytest.raises(TypeError) as caught:
            transform(function)(np.ones(3) if transform is not ct.vmap else np.ones((2, 3)))
        assert any(part in str(caught.value) for part in message.split("|"))


def test_what_is_absent_is_said_to_be() -> None:
    ct.jit(lambda x: [hasattr(x, name) for name in ("strides", "flags", "data")] == [False] * 3 or 1 / 0)(1.0)
    values, coefficients = np.linspace(0, 1, 3), MATRIX
    for name in ("polynomial.polyval", "chebyshev.chebval", "laguerre.lagval"):
        evaluate = functools.reduce(getattr, name.split("."), np.polynomial)
        wide = coefficients.reshape(*coefficients.shape, 1)
        actual = ct.jit(lambda x: evaluate(x, wide, tensor=False))(values)
        np.testing.assert_allclose(np.asarray(actual), evaluate(values, coefficients), rtol=1e-6)


def test_others_are_asked_too() -> None:
    class Foreign:
        def __array_ufunc__(self, *_: Any, **__: Any) -> str:
            return "theirs"

        def __array_function__(self, *_: Any, **__: Any) -> str:
            return "theirs"

    seen = []
    ct.jit(lambda x: seen.append((np.add(x, Foreign()), np.dot(x, Foreign()))) or x)(1.0)
    assert seen == [("theirs", "theirs")]


def test_concrete_arrays_are_numpys_to_numpy() -> None:
    x = cnp.asarray(X)
    for result in (np.exp(x), np.add(X, x), np.concatenate([x, x]), np.linalg.norm(x), scipy.special.expit(x)):
        assert isinstance(result, (np.ndarray, np.generic))
    for result in (X + x, x + X, np.float32(2) * x, X @ x.T, x < X):
        assert isinstance(result, ct.Array)
    y = np.ones((2, 3))
    y += x
    np.testing.assert_array_equal(y, X + 1)


@pytest.mark.parametrize("name", ["median", "diff", "histogram", "trapezoid", "polyval"])
def test_functions_that_are_loaded_at_first_use(name: str) -> None:
    """In a process of their own, in which nothing has asked for them."""
    program = (
        "import numpy as np, cotangent as ct\n"
        f"function = np.{name}\n"
        "x = np.float32([3, 1, 2])\n"
        f"more = {{'polyval': (2.0,)}}.get('{name}', ())\n"
        "first = lambda values: values[0] if isinstance(values, tuple) else values\n"
        "print(np.allclose(first(ct.jit(lambda x: function(x, *more))(x)), first(function(x, *more)), rtol=1e-6))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def _out_of_a_product(x):
    made = x + 1
    assert np.multiply(made, 2, out=made) is made
    return made


def _out_where(x):
    made = np.multiply(x, 3)
    np.add(x, 1, out=made, where=x > 0)
    return made


def _outs(x):
    whole = np.zeros_like(x)
    fraction, also = np.modf(x * 1.5, out=(None, whole))
    assert also is whole
    return fraction + 10 * whole


def _out_of_a_reduction(x):
    total = np.zeros_like(x[0])
    np.add.reduce(x, out=total)
    return total * x


@pytest.mark.parametrize("function", [_out_of_a_product, _out_where, _outs, _out_of_a_reduction])
def test_out_is_assigned_to(function):
    x = np.array([-1.0, 2.25, 3.5], np.float32)
    expected = function(x.copy())
    np.testing.assert_allclose(ct.jit(function)(x), expected)
    np.testing.assert_allclose(ct.vmap(function)(np.stack([x, 2 * x]))[0], expected)
    slope = ct.grad(lambda x: cnp.sum(function(x)))(x)
    shifted = [np.sum(function(x + sign * np.float32([0, 0.125, 0]))) for sign in (1, -1)]
    assert abs(slope[1] - (shifted[0] - shifted[1]) / 0.25) < 1e-3
    np.testing.assert_array_equal(x, np.array([-1.0, 2.25, 3.5], np.float32))


@pytest.mark.parametrize("name", ["concatenate", "hstack", "stack", "vstack"])
def test_casting_of_joined_arrays(name):
    join = getattr(np, name)
    x, y = np.float32([[1.5, 2.5]]), np.array([[3, 4]])
    for options in (
        {"casting": "same_kind"},
        {"dtype": "float64", "casting": "safe"},
        {"dtype": "int16", "casting": "unsafe"},
    ):
        found = ct.jit(lambda x, y: join((x, y), **options))(x, y)
        expected = join((x, y), **options)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == options.get("dtype", found.dtype)
    with pytest.raises(TypeError, match="float32 are not to become int32 by the rule casting='same_kind'"):
        ct.jit(lambda x, y: join((x, y), dtype="int32", casting="same_kind"))(x, y)


def test_real_if_close_of_known_values():
    for x in ([1.0, 2.0], [1 + 1e-9j, 2], [1 + 1e-3j, 2]):
        expected = np.real_if_close(np.complex64(x))
        found = cnp.real_if_close(np.complex64(x))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert cnp.real_if_close(np.complex64([1 + 0.1j]), tol=0.2).dtype == "float32"
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(np.real_if_close)(np.complex64([1]))
