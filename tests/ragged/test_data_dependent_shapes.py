"""Results whose shape depends on values: Ragged under `jit` and `vmap`, lengths inside of `mask`, arrays where values are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.array([3.0, -1.0, 2.0, -5.0, 3.0, 0.0], np.float32)
Y = np.array([2.0, 3.0, 7.0], np.float32)

# Each of numpy, or of what stands for it, and arrays.
CASES: dict[str, Callable[..., Any]] = {
    "mask": lambda m, x: x[x > 0],
    "mask of two axes": lambda m, x: x.reshape(2, 3)[x.reshape(2, 3) > 0],
    "mask of rows": lambda m, x: x.reshape(3, 2)[x.reshape(3, 2).sum(1) > 0],
    "mask of columns": lambda m, x: x.reshape(3, 2)[:, x.reshape(3, 2).sum(0) > 0],
    "mask beside an index": lambda m, x: x.reshape(3, 2)[x.reshape(3, 2).sum(1) > 0, 1],
    "mask, then more": lambda m, x: m.cumsum(m.sort(x[x > 0]) * 2),
    "nonzero": lambda m, x: m.nonzero(x),
    "nonzero of two axes": lambda m, x: m.nonzero(x.reshape(2, 3)),
    "flatnonzero": lambda m, x: m.flatnonzero(x > 1),
    "argwhere": lambda m, x: m.argwhere(x.reshape(2, 3) > 1),
    "where": lambda m, x: m.where(x > 1)[0],
    "compress": lambda m, x: m.compress(x > 1, x),
    "compress rows": lambda m, x: m.compress((x > 1)[:3], x.reshape(3, 2), axis=0),
    "extract": lambda m, x: m.extract(x > 1, x),
    "unique": lambda m, x: m.unique(x),
    "unique with all": lambda m, x: m.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "unique of two axes": lambda m, x: m.unique(x.reshape(2, 3), return_inverse=True),
    "unique rows": lambda m, x: m.unique(m.concatenate([x.reshape(3, 2)] * 2), axis=0),
    "union1d": lambda m, x: m.union1d(x, Y),
    "intersect1d": lambda m, x: m.intersect1d(x, Y),
    "intersect1d with indices": lambda m, x: m.intersect1d(x, Y, return_indices=True),
    "setdiff1d": lambda m, x: m.setdiff1d(x, Y),
    "setdiff1d in order": lambda m, x: m.setdiff1d(x, Y, assume_unique=True),
    "setxor1d": lambda m, x: m.setxor1d(x, Y),
    "delete": lambda m, x: x[m.arange(6) != m.argmax(x)],
    "slice": lambda m, x: x[: m.argmax(x == 2)],
    "slice backward": lambda m, x: x[m.argmax(x == 2) :: -1],
    "zeros": lambda m, x: m.zeros(m.sum(x > 0)),
    "arange": lambda m, x: m.arange(m.sum(x > 0)),
    "repeat": lambda m, x: m.repeat(x, m.clip(x.astype("int32"), 0, 3)),
    "concatenated": lambda m, x: m.concatenate([x[x > 0], x[x <= 0]]),
    "chosen and the rest": lambda m, x: m.concatenate([x[x > 2], x]),
    "filtered twice": lambda m, x: (lambda y: y[y < 3])(x[x > 0]),
    "statistics": lambda m, x: m.stack([x[x > 0].mean(), x[x > 0].max(), m.median(x[x > 0])]),
}


def plain(tree: Any) -> list[np.ndarray[Any, Any]]:
    leaves = ct.tree.leaves(tree, is_leaf=lambda x: isinstance(x, ct.Ragged))
    return [np.asarray(x.unpad() if isinstance(x, ct.Ragged) else x) for x in leaves]


def check(found: Any, wanted: Any) -> None:
    ours, theirs = plain(found), plain(wanted)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("values", [X, -X, np.zeros(6, np.float32), np.arange(6, dtype=np.float32)], ids="abcd")
@pytest.mark.parametrize("name", CASES)
def test_under_jit_it_is_what_numpy_gives(name: str, values: Any) -> None:
    with np.errstate(all="ignore"):
        try:
            wanted = CASES[name](np, values)
        except ValueError:
            pytest.skip("NumPy has an error for it")
    if name == "unique of two axes":
        wanted = [wanted[0], wanted[1].reshape(2, 3)]
    program = lambda x: CASES[name](cnp, x)  # noqa: E731
    check(ct.jit(program)(values), wanted)
    check(ct.mask(program)(values), wanted)
    check(program(cnp.array(values)), wanted)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("mask of", "statistics"))])
def test_of_a_ragged_argument(name: str) -> None:
    """Of the elements that it has; what is padding is not counted."""
    if "reshape" in CASES[name].__code__.co_names or name == "delete":
        pytest.skip("written for six elements")
    for length in (0, 1, 4, 6):
        padded = ct.Ragged(np.where(np.arange(6) < length, X, np.nan).astype(np.float32), {0: length})
        try:
            wanted = CASES[name](np, X[:length])
        except ValueError:
            continue
        check(ct.mask(lambda x: CASES[name](cnp, x))(padded), wanted)


@pytest.mark.parametrize(
    "name", ["mask", "unique", "nonzero", "argwhere", "setdiff1d", "repeat", "slice", "filtered twice"]
)
def test_vmap_gives_a_ragged_batch(name: str) -> None:
    rows = np.stack([X, -X, X[::-1], np.abs(X)])
    program = lambda x: CASES[name](cnp, x)  # noqa: E731
    for mapped in (ct.vmap(program), ct.jit(ct.vmap(program)), ct.vmap(ct.jit(program))):
        found = mapped(rows)
        for i, row in enumerate(rows):
            check(ct.tree.map(lambda x: x, [part[i] for part in (found if isinstance(found, tuple) else [found])]),
                  [program(cnp.array(row))] if not isinstance(found, tuple) else list(program(cnp.array(row))))  # fmt: skip


def test_derivatives() -> None:
    program = lambda x: (x[x > 0] ** 3).sum()  # noqa: E731
    wanted = np.where(X > 0, 3 * X * X, 0)
    for gradient in (ct.grad(program), ct.jit(ct.grad(program)), ct.grad(ct.jit(program))):
        np.testing.assert_allclose(gradient(cnp.array(X)), wanted)
    np.testing.assert_allclose(ct.jit(ct.hessian(program))(X), np.diag(np.where(X > 0, 6 * X, 0)))
    found = ct.jit(ct.vmap(ct.grad(program)))(np.stack([X, -X]))
    np.testing.assert_allclose(found, np.stack([wanted, np.where(-X > 0, 3 * X * X, 0)]))
    out, pull = ct.vjp(ct.jit(lambda x: x[x > 0]), cnp.array(X))
    np.testing.assert_array_equal(pull(2 * out)[0], np.where(X > 0, 2 * X, 0))
    out, tangent = ct.jvp(ct.jit(lambda x: x[x > 0]), (cnp.array(X),), (cnp.arange(6.0),))
    np.testing.assert_array_equal(tangent.unpad(), np.arange(6.0)[X > 0])


def test_one_program_serves_all_counts() -> None:
    traces = 0

    @ct.jit
    def positive(x: Any) -> Any:
        nonlocal traces
        traces += 1
        return x[x > 0]

    for values in (X, -X, X * 0, np.abs(X) + 1):
        check(positive(values), values[values > 0])
    assert traces <= 2  # once as ever, once with sizes that are values


def test_ragged_arguments_of_jit_stay_ragged() -> None:
    rows = ct.ragged([[1.0, 2.0, 3.0], [4.0], []])
    found = ct.jit(lambda r: (r * 2, r.sum(axis=1), r.data[r.data > 1.5]))(rows)
    assert isinstance(found[0], ct.Ragged) and found[0].tolist() == [[2.0, 4.0, 6.0], [8.0], []]
    assert found[1].tolist() == [6.0, 4.0, 0.0]
    assert found[2].unpad().tolist() == [2.0, 3.0, 4.0]


def test_a_loop_whose_output_grows() -> None:
    @ct.jit
    def collatz(start: Any) -> Any:
        def step(state: Any) -> Any:
            path, i = state
            last = path[i - 1]
            return path.at[i].set(cnp.where(last % 2 == 0, last // 2, 3 * last + 1)), i + 1

        path = cnp.zeros(32, int).at[0].set(start)
        path, count = ct.lax.while_loop(lambda state: state[0][state[1] - 1] != 1, step, (path, 1))
        return path[:count]

    assert collatz(6).tolist() == [6, 3, 10, 5, 16, 8, 4, 2, 1]
    assert collatz(1).tolist() == [1]


def test_stages_and_shapes_show_the_bound() -> None:
    program = lambda x: x[x > 0]  # noqa: E731
    shape = ct.eval_shape(program, cnp.array(X))
    assert isinstance(shape, ct.Ragged) and shape.data.shape == (6,)
    assert ct.jit(program).lower(X).compile()(X).tolist() == X[X > 0].tolist()
    assert "mask" in ct.make_ir(program)(X).text()
    assert "scratch_bytes" in dir(ct.explain(program)(X))


def test_static_arguments_and_keywords() -> None:
    @ct.jit
    def chosen(x: Any, *, least: Any) -> Any:
        return {"kept": x[x > least], "count": (x > least).sum()}

    found = chosen(X, least=1.0)
    assert found["kept"].tolist() == [3.0, 2.0, 3.0] and int(found["count"]) == 3
    found = ct.jit(lambda x, up: x[x > 0] if up else x[x < 0], static_argnums=1)(X, False)
    assert found.tolist() == [-1.0, -5.0]


def test_what_cannot_be_bounded_says_so() -> None:
    with pytest.raises(ct.errors.ConcretizationError, match=r"nothing says how large it can be(\n.*)+ct.dimension"):
        ct.jit(lambda n: cnp.zeros(n))(3)
    with pytest.raises(ct.errors.ConcretizationError, match="repeat: the number of elements of the result"):
        ct.jit(lambda x, n: cnp.repeat(x, n))(X, np.array([1, 2, 3, 4, 5, 6]).astype(np.int32))
    with pytest.raises(ct.errors.DataDependentShapeError, match=r"ct.mask\(f\) makes results of such sizes Ragged"):
        ct.linear_transpose(lambda x: x[: ct.numpy.argmax(x)], X)


def test_loops_and_branches_of_any_size() -> None:
    """A step or branch may compute with sizes of its own, and return them: each has its own length."""
    for wrap in (lambda f: f, ct.jit):
        values = cnp.array(X)
        sums = wrap(lambda x: ct.lax.map(lambda v: x[x > v].sum(), x))(values)
        np.testing.assert_allclose(sums, [X[v < X].sum() for v in X])
        kept = wrap(lambda x: ct.lax.map(lambda v: x[x > v], x))(values)
        assert kept.tolist() == [X[v < X].tolist() for v in X]
        prefix = wrap(lambda x: ct.lax.fori_loop(0, 4, lambda i, s: s + x[:i].sum(), 0.0))(values)
        np.testing.assert_allclose(prefix, sum(X[:i].sum() for i in range(4)))
        for up in (True, False):
            chosen = wrap(lambda x, up: ct.lax.cond(up, lambda x: x[x > 0], lambda x: x[x < 0], x))(values, up)
            assert chosen.tolist() == X[X > 0 if up else X < 0].tolist()


def test_operands_of_other_sizes_are_errors() -> None:
    """As in NumPy; that an array is as large as the bound says nothing."""
    for program in (
        lambda x: x[x > 0] + x,
        lambda x: x[x > 0] + cnp.ones(6),
        lambda x: x[:3][x[:3] > 0] * np.ones(3, np.float32),
        lambda x: x[x > 0] < x,
    ):
        with pytest.raises(ct.errors.ShapeError, match="meets a ragged one"):
            ct.jit(program)(X)
    for program in (lambda x: x[x < 0][x[x > 0] > 2], lambda x: x[x > 0][np.array([True] * 6)]):
        with pytest.raises(IndexError, match="their lengths are not known to be equal"):
            ct.jit(program)(X)
    for program in (
        lambda x: x.at[:].set(x[x > 0]),
        lambda x: x[x < 0].at[:].set(x[x > 0]),
        lambda x: x.at[x < 0].set(x[x > 0]),
    ):
        with pytest.raises(ct.errors.ShapeError, match="not known to be as long as what is indexed"):
            ct.jit(program)(X)
    np.testing.assert_array_equal(ct.jit(lambda x: x.at[x > 0].set(x[x > 0] * 2))(X), np.where(X > 0, 2 * X, X))
    with pytest.raises(ct.errors.ShapeError, match="whatever the lengths"):
        ct.mask(lambda x: x.reshape(x.shape[0] + 1))(ct.Ragged(X, {0: 3}))


def test_statistics_of_nothing() -> None:
    assert np.isnan(ct.jit(lambda x: cnp.median(x[x > 100]))(X))
    assert np.isnan(ct.mask(lambda x: cnp.quantile(x, 0.3))(ct.Ragged(X, {0: 0})))


def test_an_exported_function_returns_its_length(tmp_path: Path) -> None:
    compiled = ct.export.compile(lambda x: x[x > 0] * 2, ct.ShapeDtypeStruct((6,), "float32"), name="positive")
    compiled.save(tmp_path)
    assert ct.export.load(tmp_path)(X).unpad().tolist() == [6.0, 4.0, 6.0]
