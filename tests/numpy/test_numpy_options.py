"""cotangent.numpy where NumPy's own tests look: narrow dtypes that would wrap, options that few programs pass, complex NaN.

Each call is made of both modules, and the values are NumPy's.
"""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

LINE = np.array([1.0, 4.0, 9.0, 16.0, 30.0])
GRID = np.arange(20.0).reshape(4, 5) ** 2
MISSING = np.array([[1 + 2j, np.nan, 3], [1, 2j, complex(np.nan, 3)], [np.nan, 4 - 1j, 4 + 1j]])
POINTS = np.array([1, 2, 2.5, 3, 4])
UNDEFINED = np.array([complex(0, np.nan), complex(np.nan, 0), 1 + 1j, complex(2, np.nan)])

CALLS = {
    "coordinates that decrease in uint8": lambda m: m.gradient(LINE, np.array([200, 100, 70, 50, 0], np.uint8)),
    "coordinates far apart in int8": lambda m: m.gradient(LINE, np.array([-128, -100, 0, 1, 127], np.int8)),
    "two elements": lambda m: m.gradient(LINE[:2]),
    "two elements, coordinates": lambda m: m.gradient(LINE[:2], np.array([7, 3], np.uint8)),
    "edges of order 2": lambda m: m.gradient(LINE, edge_order=2),
    "edges of order 2, a distance": lambda m: m.gradient(LINE, 0.5, edge_order=2),
    "edges of order 2, coordinates": lambda m: m.gradient(LINE, np.array([0, 1, 3, 4, 9]), edge_order=2),
    "edges of order 2, three elements": lambda m: m.gradient(LINE[:3], np.array([0.0, 1.0, 3.0]), edge_order=2),
    "edges of order 2, axes": lambda m: m.gradient(GRID, 2.0, np.array([0, 1, 3, 4, 9.0]), edge_order=2)[1],
    "edges of order 2, another axis": lambda m: m.gradient(GRID, 2.0, np.arange(5.0), edge_order=2)[0],
    "a ramp down in uint8": lambda m: m.pad(np.array([3], np.uint8), 3, mode="linear_ramp"),
    "a ramp in integers": lambda m: m.pad(np.array([20, 5]), (6, 7), mode="linear_ramp", end_values=(-29, 40)),
    "the mean of nothing": lambda m: m.pad(LINE, (2, 1), mode="mean", stat_length=0),
    "the median of nothing": lambda m: m.pad(LINE, (2, 1), mode="median", stat_length=0),
    "nothing along an axis that stays": lambda m: m.pad(np.zeros((0, 2)), ((0, 0), (1, 1)), mode="mean"),
    "whole numbers between ends": lambda m: m.linspace(0, 100, 101, dtype=int),
    "whole numbers before an end": lambda m: m.linspace(0, -49, 49, endpoint=False, dtype="int32"),
    "whole numbers between arrays": lambda m: m.linspace([0, 7], [49, 56], 50, dtype=int, axis=1),
    "whole powers": lambda m: m.logspace(0, 9, 10, dtype=int),
    "whole multiples": lambda m: m.geomspace(1, 1000000, 7, dtype=int),
    "the largest but NaN, complex": lambda m: m.nanmax(MISSING, axis=1),
    "the largest from an initial one": lambda m: m.nanmax(MISSING, axis=1, initial=3.5),
    "the smallest from an initial one": lambda m: m.nanmin(MISSING, axis=0, initial=0.5),
    "the smallest of some": lambda m: m.nanmin(MISSING, axis=1, initial=9, where=np.array([True, True, False])),
    "where the largest is, complex": lambda m: m.nanargmax(MISSING, axis=1),
    "where the smallest is, complex": lambda m: m.nanargmin(MISSING),
    "a corrected variance": lambda m: m.nanvar(np.array([1, np.nan, 3, 8]), correction=1),
    "a corrected deviation": lambda m: m.nanstd(np.array([1, np.nan, 3, 8]), correction=1.5),
    "a matrix of shares": lambda m: m.quantile(GRID, [[0.1, 0.25], [0.5, 0.9]], axis=1),
    "a matrix of percentages": lambda m: m.percentile(GRID, np.full((2, 3), 40.0), axis=(0, 1), keepdims=True),
    "a matrix of shares without NaN": lambda m: m.nanquantile(np.where(GRID > 9, GRID, np.nan), [[0.1, 0.5]], axis=1),
    "a matrix of percentages without NaN": lambda m: m.nanpercentile(GRID, np.array([[10], [50]]), method="nearest"),
    "a matrix of weighted shares": lambda m: m.quantile(
        LINE, [[0.1, 0.5], [0.7, 1.0]], method="inverted_cdf", weights=np.array([1.0, 2, 1, 1, 3])
    ),
    "lengths that axes have": lambda m: m.fft.fft2(GRID, s=(-1, 3)),
    "lengths that axes have, inverse": lambda m: m.fft.ifftn(GRID, s=(3, -1), axes=(1, 0)),
    "lengths that axes have, of half a spectrum": lambda m: m.fft.irfftn(GRID, s=(-1, -1), axes=(0, 1)),
    "lengths that axes have, of real numbers": lambda m: m.fft.rfft2(GRID, s=(2, -1)),
    "dtypes of results": lambda m: m.vectorize(lambda x: x * 2.5, otypes="i")(np.arange(4.0)),
    "dtypes of several results": lambda m: m.vectorize(lambda x: (x, x > 2), otypes=[np.float32, "d"])(LINE)[1],
    "a table": lambda m: m.isin([1, 2, 3], [3, 1], kind="table"),
    "positions by columns": lambda m: m.unravel_index(np.array([25, 4]), (3, 5, 2), order="F"),
    "positions by columns, back": lambda m: m.ravel_multi_index(
        m.unravel_index(np.array([25, 4]), (3, 5, 2), order="F"), (3, 5, 2), order="F"
    ),
    "a grid of ranges": lambda m: GRID[tuple(map(np.asarray, m.ix_(range(1, 3), range(0, 5, 2))))],
    "labels from a range": lambda m: m.einsum(GRID, range(2), LINE, range(1, 2), [0]),
    "labels in an array": lambda m: m.einsum(GRID, np.arange(2), [1, 0]),
    "a greedy order": lambda m: m.einsum("ij,kj,kl->il", GRID, GRID, GRID, optimize="greedy"),
    "a greedy order in little memory": lambda m: m.einsum("ij,kj,kl->il", GRID, GRID, GRID, optimize=("greedy", 0)),
    "an optimal order": lambda m: m.einsum("ij,kj,kl->il", GRID, GRID, GRID, optimize=("optimal", 1e9)),
    "bins that decrease": lambda m: m.digitize(LINE, [20.0, 9.0, 1.0]),
    "a number without zeros": lambda m: m.trim_zeros(np.array(0.0)),
    "infinite values between points": lambda m: m.interp(
        [1, 2, 2.5, 2.7, 3, 4], LINE[:5] / 4, [1, 2, np.inf, np.inf, 4]
    ),
    "points with infinite values": lambda m: m.interp(POINTS, POINTS, [1, 2, np.inf, np.inf, 4]),
    "complex points with infinite values": lambda m: m.interp(POINTS, POINTS, [1, 2j, complex(np.inf, 0.5), np.inf, 4]),
    "infinite points": lambda m: [
        m.interp(0.5, *ends)
        for ends in (
            ([-np.inf, 1], [0, 10]),
            ([-np.inf, np.inf], [10, 10]),
            ([-np.inf, np.inf], [0, 10]),
            ([0, np.inf], [0, 10]),
            ([0, 1], [-np.inf, 10]),
            ([0, 1], [np.inf, np.inf]),
            ([0, 1], [-np.inf, np.inf]),
            ([-np.inf, 0.4, np.inf], [1, 2, 3]),
        )
    ],
    "half of a circle": lambda m: m.geomspace(-1, 1, 5, dtype=complex),
    "a line through negative numbers": lambda m: m.geomspace(-1 + 0j, -100, 3),
    "a spiral": lambda m: m.geomspace(1 + 1j, 100 - 3j, 5),
    "powers of bases": lambda m: m.logspace([0, 1], [1, 2], num=3, base=np.array([2.0, 3.0])),
    "powers of more bases": lambda m: m.logspace(0, [1, 2], num=3, base=np.array([[2.0], [3.0]]), axis=-1),
    "infinite numbers for NaN": lambda m: m.nan_to_num(np.array([np.nan, np.inf, -np.inf]), nan=np.inf, posinf=999.0),
    "numbers for infinite ones": lambda m: m.nan_to_num(np.array([np.nan, np.inf, 2]), posinf=-np.inf, neginf=3.0),
    "complex NaN in order": lambda m: m.less(UNDEFINED, np.array([1, 1, 1 + 2j, 2])),
    "complex NaN in the other order": lambda m: m.greater_equal(np.array([1, 1, 1 + 2j, 2]), UNDEFINED),
    "positions that may raise": lambda m: m.take(GRID, [-1, 3, 0], axis=0, mode="raise"),
    "a window of a whole float": lambda m: m.kaiser(np.float32(4), 14.0),
    "a dtype by name": lambda m: m.asarray(LINE).astype(dtype="int32"),
    "rounding to zero": lambda m: m.fix(np.array([1.7, -1.7])),
    "zeros by columns": lambda m: m.zeros((2, 3), order="F"),
    "ones by rows": lambda m: m.ones((2, 3), int, "C"),
    "one number by columns": lambda m: m.full((2, 3), 7.5, order="F"),
    "a diagonal by columns": lambda m: m.eye(2, 3, 1, order="F"),
    "zeros as those": lambda m: m.zeros_like(GRID, order="A"),
    "ones as those": lambda m: m.ones_like(GRID, order="K"),
    "a number as those": lambda m: m.full_like(GRID, 3, order="F"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_are_those_of_numpy(call):
    expected, actual = call(np), call(cnp)
    if not isinstance(expected, (tuple, list)):
        expected, actual = (expected,), (actual,)
    for x, y in zip(actual, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-6, atol=1e-10)


def test_shares_may_have_any_number_of_axes():
    shares = np.linspace(0, 1, 6).reshape(1, 2, 3)
    for axis, rest in ((1, (4,)), (None, ())):
        found = cnp.quantile(GRID, shares, axis=axis)
        assert found.shape == (1, 2, 3, *rest)
        assert_allclose(found, np.quantile(GRID, shares.ravel(), axis=axis).reshape(1, 2, 3, *rest))


def test_whole_multiples_are_not_rounded_down():
    # NumPy has 242 and 2186 here.
    assert cnp.geomspace(1, 3**8, 9, dtype=int).tolist() == [3**i for i in range(9)]


def test_ranges_of_computed_lengths_are_whole_numbers():
    rows = ct.ragged([np.zeros(n, np.float32) for n in (101, 50, 1)])
    made = ct.vmap(ct.mask(lambda x: cnp.linspace(0, x.shape[0] - 1, x.shape[0], dtype=int)))(rows)
    assert [row.tolist() for row in made.to_list()] == [list(range(n)) for n in (101, 50, 1)]


@pytest.mark.parametrize("make", [cnp.zeros, cnp.ones, cnp.empty, cnp.eye])
def test_orders_of_memory_are_looked_at(make):
    assert make(2, order="C").shape == make(2, order="F").shape
    with pytest.raises(ValueError, match=f"{make.__name__}: order must be"):
        make(2, order="Z")


def test_slopes_at_edges_of_order_two_have_derivatives():
    points = np.array([0.0, 1.0, 3.0, 4.0])

    def slopes(x):
        return cnp.gradient(x, points, edge_order=2)

    jacobian = np.asarray(ct.jacobian(slopes)(LINE[:4]))
    expected = np.stack([np.gradient(unit, points, edge_order=2) for unit in np.eye(4)], 1)
    assert_allclose(jacobian, expected, rtol=1e-6, atol=1e-12)


def test_functions_of_elements_are_decorated():
    @cnp.vectorize(otypes=["float64"], doc="Twice.")
    def twice(x):
        return x * 2

    assert twice.__doc__ == "Twice."
    assert twice(np.arange(3)).dtype == np.dtype("float64")
    assert twice(np.arange(3)).tolist() == [0.0, 2.0, 4.0]


def test_bins_that_are_known_later_may_be_in_any_order():
    found = ct.jit(cnp.digitize)(np.array([0.5, 2.5]), np.array([1.0, 2.0]))
    assert found.tolist() == [0, 2]


def test_slopes_at_points_are_those_of_lines():
    slopes = [float(ct.grad(cnp.interp)(x, [1.0, 2.0, 2.0, 4.0], [3.0, 2.0, 2.0, 8.0])) for x in (1.0, 1.5, 2.0, 3.0)]
    assert slopes == [-1.0, -1.0, 3.0, 3.0]
