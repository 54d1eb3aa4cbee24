"""The errors of cotangent.numpy: each says what, and what to do."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

A, B, V = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32), np.ones(4, np.float32)
T3 = np.ones((2, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cnp.sum(A, axis=2), ValueError, "sum: axis 2 is out of bounds for an array with 2 axes"),
        (lambda: cnp.sum(A, axis=(0, 0)), ValueError, "names an axis twice"),
        (lambda: cnp.std(A, axis=2), ValueError, "std: axis 2 is out of bounds"),
        (lambda: cnp.std(A, ddof=1, correction=1), ValueError, "std: ddof and correction are two names"),
        (lambda: cnp.fliplr(V), ValueError, "fliplr: axis 1 is out of bounds"),
        (lambda: cnp.flipud(1.0), ValueError, "flipud: axis 0 is out of bounds"),
        (lambda: cnp.identity(-1), ValueError, "identity: sizes must not be negative"),
        (lambda: cnp.correlate(A, V), ValueError, "correlate takes arrays with one axis"),
        (lambda: cnp.correlate(V, V, "whole"), ValueError, "correlate: mode must be"),
        (lambda: ct.scipy.signal.welch(V, average="none"), ValueError, "welch: average must be"),
        (lambda: ct.scipy.signal.welch(V, nperseg=0), ValueError, "welch: "),
        (lambda: ct.scipy.signal.csd(V, V, average="none"), ValueError, "csd: average must be"),
        (lambda: cnp.sum(A, axis=1.5), TypeError, "an axis must be an integer"),
        (lambda: cnp.sum(A, out=A), NotImplementedError, "the out argument is not supported"),
        (lambda: cnp.max(np.zeros(0)), ValueError, "max of zero elements has no value"),
        (lambda: cnp.max(A, where=A > 0), ValueError, "where needs initial"),
        (lambda: cnp.sum(A, where=A), ValueError, "where must be an array of bools; got float32"),
        (lambda: cnp.mean(A, where=[1, 0, 2, 1]), TypeError, "write where=mask != 0"),
        (lambda: cnp.max(A, initial=0, where=1), TypeError, "where must be an array of bools; got int"),
        (lambda: cnp.tensordot(T3, V, axes=2), TypeError, "tensordot: axes=2 does not fit"),
        (lambda: cnp.tensordot(T3, V, axes="badaxes"), TypeError, "axes must be an integer, or the axes of a and"),
        (lambda: cnp.tensordot(T3, V, axes=([0], [0, 1])), TypeError, "axes must come in pairs; got 1 and 2"),
        (lambda: ct.lax.broadcast_in_dim(V, (4, 4), (0, 1)), TypeError, "1 axes need as many positions"),
        (lambda: ct.lax.broadcast_in_dim(A, (3, 4), (0, 0)), TypeError, "an axis is named twice"),
        (
            lambda: ct.lax.conv_general_dilated_patches(T3[None], (1, 1), (1, 1), padding=[1, 2]),
            ValueError,
            "padding must be",
        ),
        (lambda: cnp.sum(A, initial=V), ValueError, "sum: initial must be a number; got an array of shape (4,)"),
        (lambda: cnp.min(A, initial=V[:1]), ValueError, "min: initial must be a number"),
        (lambda: cnp.ravel_multi_index((np.array([3]),), (3,)), ValueError, "invalid entry in coordinates array"),
        (lambda: cnp.take(A, 0, mode="one_hot"), ValueError, "mode must be 'fill', 'clip', 'wrap' or 'raise'"),
        (
            lambda: cnp.choose([0, 2], [V, V]),
            ValueError,
            "invalid entry in choice array: choose has 2 choices, and an index is not from 0 to 1",
        ),
        (lambda: cnp.choose([0, 1], [V, V], mode="first"), ValueError, "mode must be 'raise', 'clip' or 'wrap'"),
        (
            lambda: ct.jit(lambda i: cnp.choose(i, [V, V]))(0),
            ct.errors.ConcretizationError,
            "use mode='clip' or 'wrap'",
        ),
        (lambda: cnp.argmax(np.zeros(0)), ValueError, "argmax of zero elements"),
        (lambda: cnp.clip(np.ones(2, np.complex64), 0), ValueError, "clip takes real arrays"),
        (lambda: cnp.array([[0, "one"]]), TypeError, "a list with an element of type str"),
        (lambda: cnp.hypot(1j, A), TypeError, "hypot takes real arrays; got complex64"),
        (lambda: cnp.hypot(1j, A), ValueError, "hypot(abs(x), abs(y))"),
        (
            lambda: cnp.pad(V, 1, "edge", constant_values=1),
            ValueError,
            "mode 'edge' takes no options; got constant_values",
        ),
        (lambda: cnp.pad(V, 1, stat_length=2), ValueError, "takes the option constant_values; got stat_length"),
        (lambda: cnp.pad(V, 1, "mean", end_values=2), ValueError, "takes the option stat_length; got end_values"),
        (lambda: cnp.array([0.0, None]), TypeError, "a list with an element of type NoneType"),
        (lambda: cnp.array([(1, 2), None]), TypeError, "a list with an element of type NoneType"),
        (lambda: cnp.power(np.array([1, 2]), -1), TypeError, "integers cannot be raised to the negative power -1"),
        (lambda: cnp.reshape(A, (5, -1)), TypeError, "do not fill"),
        (lambda: cnp.reshape(A, (-1, -1)), ValueError, "only one size can be -1"),
        (lambda: cnp.reshape(A, (-2, 3)), ValueError, "sizes must not be negative"),
        (lambda: cnp.reshape(A, (5, 5)), TypeError, "cannot reshape"),
        (lambda: cnp.reshape(A, 12, order="B"), ValueError, "order must be"),
        (lambda: cnp.transpose(A, (0, 0)), ValueError, "are not a permutation"),
        (lambda: cnp.matrix_transpose(V), ValueError, "needs at least two axes"),
        (lambda: cnp.moveaxis(A, (0, 1), 0), ValueError, "must name as many different axes"),
        (lambda: cnp.squeeze(A, 0), ValueError, "axis 0 has size 3, not 1"),
        (lambda: cnp.broadcast_to(A, (2, 4)), TypeError, "broadcast"),
        (lambda: cnp.concatenate([]), ValueError, "needs at least one array"),
        (lambda: cnp.concatenate([1.0, 2.0]), ValueError, "arrays without axes cannot be joined"),
        (lambda: cnp.nonzero(3.0), ValueError, "a scalar has no indices"),
        (lambda: cnp.stack([]), ValueError, "needs at least one array"),
        (lambda: cnp.stack([A, B]), ValueError, "must have the same shape"),
        (lambda: cnp.split(A, 2), ValueError, "do not divide into 2 equal parts"),
        (lambda: cnp.split(A, 0), ValueError, "must be positive"),
        (lambda: cnp.tile(A, -1), ValueError, "counts must not be negative"),
        (lambda: cnp.repeat(A, -1), ValueError, "counts must not be negative"),
        (lambda: cnp.rot90(A, 1, (0, 0)), ValueError, "axes must be different"),
        (lambda: cnp.pad(A, -1), ValueError, "widths must not be negative"),
        (lambda: cnp.pad(A, 1, "other"), NotImplementedError, "mode 'other' is not supported"),
        (lambda: cnp.zeros((-1,)), ValueError, "sizes must not be negative"),
        (lambda: cnp.zeros((1.5,)), TypeError, "a size must be an integer"),
        (lambda: cnp.arange(0, 1, 0), ValueError, "step must not be 0"),
        (lambda: cnp.linspace(0, 1, -1), ValueError, "num must not be negative"),
        (lambda: cnp.meshgrid(A), ValueError, "must have one axis"),
        (lambda: cnp.meshgrid(V, indexing="ab"), ValueError, "must be 'xy' or 'ij'"),
        (lambda: cnp.diag(T3), ValueError, "diag needs one or two axes"),
        (lambda: cnp.tril(V), ValueError, "needs at least two axes"),
        (lambda: cnp.where(A > 0, A), ValueError, "the condition alone"),
        (lambda: cnp.select([], []), ValueError, "at least one condition"),
        (lambda: cnp.array("abc"), TypeError, "cannot make an array of a str"),
        (lambda: cnp.array([[1, 2], [3]]), ValueError, "ragged"),
        (lambda: cnp.array(float("nan"), np.int32), ValueError, "does not fit int32"),
        (lambda: cnp.dot(A, A), TypeError, "dot: axis 1 of shape (3, 4) and axis 0 of shape (3, 4)"),
        (lambda: cnp.matmul(A, A), TypeError, "are summed together, but their sizes differ"),
        (lambda: cnp.matmul(A, 1.0), ValueError, "matmul takes arrays with at least one axis"),
        (lambda: cnp.tensordot(A, B, ((0,), (0, 1))), ValueError, "must come in pairs"),
        (lambda: cnp.tensordot(A, B, 5), ValueError, "does not fit arrays"),
        (lambda: cnp.einsum("ij,jk->ik", A), ValueError, "describes 2 operands, but there are 1"),
        (lambda: cnp.einsum("i->i", A), ValueError, "operand 0 has 2 axes"),
        (lambda: cnp.einsum("ij->ik", A), ValueError, "which no operand has"),
        (lambda: cnp.einsum("ij->ii", A), ValueError, "occurs twice in the result"),
        (lambda: cnp.einsum("i1->i", A), ValueError, "is not a label"),
        (lambda: cnp.einsum("ij,jk", A, A), TypeError, "label 'j' has size"),
        (lambda: cnp.diff(A, -1), ValueError, "n must not be negative"),
        (lambda: cnp.take(A, 1.5), TypeError, "indices must be integers"),
        (lambda: cnp.take(A, 1, mode="none"), ValueError, "mode must be"),
        (lambda: cnp.take_along_axis(A, np.array([1]), 0), ValueError, "they must be equal"),
        (lambda: cnp.average(A, weights=V), ValueError, "average: weights of shape"),
        (lambda: cnp.convolve(A, V), ValueError, "arrays with one axis"),
        (lambda: cnp.cross(np.ones(4), np.ones(4)), ValueError, "vectors of 2 or 3 elements"),
        (lambda: cnp.add(A, B), TypeError, "do not broadcast"),
        (lambda: cnp.unknown_function, AttributeError, "has no attribute 'unknown_function'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ct.linear_transpose(cnp.nonzero, A), ct.errors.DataDependentShapeError, "pass size="),
        (lambda: ct.linear_transpose(cnp.unique, A), ct.errors.DataDependentShapeError, "pass size="),
        (lambda: ct.jit(cnp.bincount)(np.array([1])), ct.errors.ConcretizationError, "pass length="),
        (lambda: cnp.put(A, 0, 1.0), ValueError, "inplace=True is not supported"),
        (lambda: cnp.place(A, A > 0, 1.0), ValueError, "inplace=True is not supported"),
        (lambda: cnp.fill_diagonal(A, 1.0), ValueError, "inplace=True is not supported"),
        (lambda: cnp.add.at(A, 0, 1.0), ValueError, "inplace=True is not supported"),
        (lambda: cnp.sort(A, kind="bubblesort"), ValueError, "kind must be 'quicksort'"),
        (lambda: cnp.partition(V, 9), ValueError, "kth=9 is out of bounds"),
        (lambda: cnp.searchsorted(A, 1.0), ValueError, "must have one axis"),
        (lambda: cnp.quantile(A, 0.5, method="none"), ValueError, "unknown method 'none'"),
        (lambda: cnp.quantile(V[:0], 0.5), ValueError, "zero elements"),
        (lambda: cnp.polyadd(np.ones((2, 2)), np.ones((3, 1))), ValueError, "do not fit the last 2 of shape (3, 1)"),
        (lambda: ct.nn.dot_product_attention(A, A, A), ValueError, "axes of positions, heads and features"),
        (lambda: cnp.polyfit(V, V, 1, cov="none"), TypeError, "cov is True, False or 'unscaled'; got 'none'"),
        (lambda: cnp.linalg.tensorsolve(A, A, axes=""), TypeError, "an axis must be an integer; got ''"),
        (lambda: cnp.linalg.tensorsolve(A, A, axes=(5,)), ValueError, "axis 5 is out of bounds"),
        (lambda: cnp.insert(V, 9, 1.0), IndexError, "a position is outside"),
        (lambda: cnp.ravel_multi_index((9,), (3,)), ValueError, "pass mode='clip' or mode='wrap'"),
        (lambda: cnp.vectorize(cnp.dot, signature="(n,(n)->()"), ValueError, "is not a signature"),
        (lambda: cnp.vectorize(cnp.dot, signature="(n),(n)->()")(V, V[:3]), TypeError, "dimension 'n' is 4, but 3"),
        (lambda: cnp.gradient(V, edge_order=3), ValueError, "edge_order must be 1 or 2"),
        (lambda: cnp.interp(1.0, A, A), ValueError, "points must have one axis"),
        (
            lambda: cnp.var(np.ones(2, np.complex64), dtype="float32"),
            ValueError,
            "complex numbers need a complex dtype",
        ),
        (lambda: cnp.var(A, ddof=1, correction=1), ValueError, "two names of one argument"),
        (lambda: cnp.cov(A, dtype=int), ValueError, "the dtype must be floating or complex"),
        (lambda: cnp.arange(1j), ValueError, "arange takes real start, stop and step"),
        (lambda: cnp.size(A, (0, 0)), ValueError, "names an axis twice"),
        (lambda: cnp.average(A, (0, 1), np.ones((4, 3))), ValueError, "need the sizes of axes"),
        (lambda: cnp.add(A, B), ValueError, "do not broadcast"),
        (lambda: setattr(cnp.add, "nin", 3), AttributeError, "cannot be set"),
        (lambda: cnp.block([[A], A]), ValueError, "nested to different depths"),
        (lambda: cnp.asarray([1.0], copy=False), ValueError, "this needs a copy"),
        (lambda: cnp.zeros(2, device="tpu"), ValueError, "unknown device 'tpu'"),
        (lambda: cnp.ones(2).__array_namespace__(api_version="1999.1"), ValueError, "is not supported"),
    ],
)
def test_errors_of_what_came_later(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


NEGATIVE = {
    "ones": lambda: cnp.ones((2, -1)),
    "full": lambda: cnp.full((-3,), V),
    "empty": lambda: cnp.empty(-1),
    "zeros_like": lambda: cnp.zeros_like(V, shape=(-1,)),
    "tri": lambda: cnp.tri(-1),
    "vander": lambda: cnp.vander(V, -1),
    "indices": lambda: cnp.indices((-1,)),
    "diag_indices": lambda: cnp.diag_indices(-1),
    "one_hot": lambda: ct.nn.one_hot(np.arange(3), -1),
    "broadcast_to": lambda: cnp.broadcast_to(V, (-1, 4)),
    "broadcast_shapes": lambda: cnp.broadcast_shapes((-1,), (1,)),
    "unravel_index": lambda: cnp.unravel_index(3, (-1, 2)),
    "resize": lambda: cnp.resize(V, -1),
    "lax.full": lambda: ct.lax.full((-1,), 1.0),
    "lax.broadcast_in_dim": lambda: ct.lax.broadcast_in_dim(V, (-1, 4), (1,)),
    "lax.reshape": lambda: ct.lax.reshape(V, (-1,)),
    "uniform": lambda: ct.random.uniform(ct.random.key(0), (-1,)),
    "gamma": lambda: ct.random.gamma(ct.random.key(0), 1.0, (-1,)),
    "split": lambda: ct.random.split(ct.random.key(0), -1),
    "ball": lambda: ct.random.ball(ct.random.key(0), -1),
}
NEGATIVE_COUNTS = {
    "geomspace: num": lambda: cnp.geomspace(1, 2, -1),
    "logspace: num": lambda: cnp.logspace(1, 2, -1),
    "nonzero: size": lambda: cnp.nonzero(V, size=-1),
    "unique: size": lambda: cnp.unique(V, size=-1),
    "bincount: length": lambda: cnp.bincount(np.arange(3), length=-1),
    "histogram: the number of bins": lambda: cnp.histogram(V, -2),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_sizes(name):
    with pytest.raises(ct.errors.ShapeError, match=f"^{name}: sizes must not be negative; got "):
        NEGATIVE[name]()


@pytest.mark.parametrize("what", NEGATIVE_COUNTS)
def test_negative_counts(what):
    with pytest.raises(ValueError, match=f"^{what} must not be negative; got -"):
        NEGATIVE_COUNTS[what]()
