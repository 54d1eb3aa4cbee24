"""Sparse arrays of `jax.experimental.sparse` under the hook: each function against the same one of dense arrays."""

from __future__ import annotations

from jax_hook_process import run

_HEAD = """
        import jax, jax.numpy as jnp, numpy as np
        from jax import lax
        from jax.experimental import sparse
        from jax.experimental.sparse import BCOO, BCSR
        rng = np.random.default_rng(0)
        def some(*shape):
            x = rng.integers(1, 9, shape).astype("float32")
            return jnp.asarray(np.where(rng.uniform(size=shape) < 0.5, 0, x))
        def same(x, y):
            np.testing.assert_allclose(np.asarray(sparse.todense(x)), np.asarray(y), rtol=1e-5)
"""


def _passes(body: str) -> None:
    assert run(_HEAD + body + "\n        print('done')") == "done"


def test_every_layout_gives_the_dense_array_back() -> None:
    _passes("""
        dense = some(3, 4, 5)
        for n_batch in range(4):
            for n_dense in range(4 - n_batch):
                x = BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense)
                assert (x.n_batch, x.n_dense, x.n_sparse) == (n_batch, n_dense, 3 - n_batch - n_dense)
                same(x, dense)
                same(x.update_layout(n_batch=0, n_dense=0), dense)
                same(x.update_layout(n_batch=1, n_dense=1, on_inefficient=None), dense)
                same(jax.jit(lambda x: x.todense())(x), dense)
                same(x.sum_duplicates(), dense)
        try:
            BCOO.fromdense(dense).update_layout(n_batch=1)
        except sparse.SparseEfficiencyError:
            pass
        else:
            raise AssertionError
    """)


def test_functions_of_shapes_equal_those_of_dense_arrays() -> None:
    _passes("""
        dense = some(3, 4, 5)
        for n_batch in range(3):
            x = BCOO.fromdense(dense, n_batch=n_batch)
            same(x[1], dense[1])
            same(x[:, 1:, ::-2], dense[:, 1:, ::-2])
            same(x[np.array([[2, 0], [1, 1]])], dense[np.array([[2, 0], [1, 1]])])
            same(x.sum(0), dense.sum(0))
            same(x.sum((1, 2)), dense.sum((1, 2)))
            same(x.sum(), dense.sum())
            same(sparse.bcoo_rev(x, (0, 2)), lax.rev(dense, (0, 2)))
            same(sparse.bcoo_concatenate([x, x], dimension=1), jnp.concatenate([dense, dense], 1))
            same(sparse.bcoo_dynamic_slice(x, (jnp.int32(1), 9, 2), (2, 2, 2)), lax.dynamic_slice(dense, (1, 9, 2), (2, 2, 2)))
        same(BCOO.fromdense(dense).reshape(4, 15), dense.reshape(4, 15))
        same(BCOO.fromdense(dense, n_batch=1).reshape(3, 20), dense.reshape(3, 20))
        same(BCOO.fromdense(dense).transpose((2, 0, 1)), dense.transpose((2, 0, 1)))
    """)


def test_parts_outside_and_at_one_position_count_as_they_should() -> None:
    _passes("""
        x = BCOO((jnp.array([1.0, 2.0, 3.0, 100.0]), jnp.array([[1], [2], [1], [5]])), shape=(5,))
        dense = jnp.array([0.0, 4.0, 2.0, 0.0, 0.0])
        same(x, dense)
        same(x**2, dense**2)
        same(x * x, dense * dense)
        same(x.sum(), 6.0)
        same(x @ x, dense @ dense)
        assert x.sum_duplicates().nse == 2
        same(sparse.bcoo_extract(x, jnp.arange(5.0), assume_unique=False).data, [1.0, 2.0, 0.0, 0.0])
    """)


def test_arithmetic_equals_that_of_dense_arrays() -> None:
    _passes("""
        a, b, v = some(3, 4), some(4, 5), jnp.arange(1.0, 5.0)
        x, y = BCOO.fromdense(a), BCOO.fromdense(b)
        same(x @ v, a @ v)
        same(x @ y, a @ b)
        same(jnp.ones(3) @ x, jnp.ones(3) @ a)
        same(x * v, a * v)
        same(x / v, a / v)
        same(x + BCOO.fromdense(2 * a), 3 * a)
        same(x - x, 0 * a)
        row, column = some(1, 4), some(3, 1)
        same(BCOO.fromdense(row) * BCOO.fromdense(column), row * column)
        for wrong in (lambda: x + 1.0, lambda: x - a, lambda: a / x, lambda: x > 0, lambda: x**-1):
            try:
                wrong()
            except NotImplementedError:
                continue
            raise AssertionError
    """)


def test_other_formats_equal_dense_arrays() -> None:
    _passes("""
        dense, batches = some(3, 4), some(2, 3, 4)
        for kind in (sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC):
            x = kind.fromdense(dense)
            same(x, dense)
            same(x @ jnp.arange(4.0), dense @ jnp.arange(4.0))
            same(jax.jit(lambda x: x @ jnp.ones((4, 2)))(x), dense @ jnp.ones((4, 2)))
        same(sparse.CSR.fromdense(dense).T, dense.T)
        same(BCSR.fromdense(batches, n_batch=1), batches)
        same(BCSR.from_bcoo(BCOO.fromdense(batches, n_batch=1)).to_bcoo(), batches)
        for name in ("bcoo", "coo", "csr", "csc"):
            same(sparse.eye(3, 4, 1, sparse_format=name), jnp.eye(3, 4, 1))
            same(sparse.empty((3, 4), sparse_format=name), jnp.zeros((3, 4)))
        m = sparse.CSR.fromdense(dense[:, :3] + 9 * jnp.eye(3))
        x = sparse.linalg.spsolve(m.data, m.indices, m.indptr, jnp.arange(3.0))
        np.testing.assert_allclose(m.todense() @ x, jnp.arange(3.0), atol=1e-5)
    """)


def test_vmap_and_derivatives_take_sparse_arrays() -> None:
    _passes("""
        batches, v = some(2, 3, 4), jnp.arange(1.0, 5.0)
        x = BCOO.fromdense(batches, n_batch=1)
        same(jax.vmap(lambda m: m @ v)(x), batches @ v)
        doubled = jax.vmap(lambda m: m * 2)(x)
        assert isinstance(doubled, BCOO) and doubled.shape == (2, 3, 4) and doubled.n_batch == 1
        same(doubled, 2 * batches)
        a = batches[0]
        m = BCOO.fromdense(a)
        slope = sparse.grad(lambda m: jnp.sum((m @ v) ** 2))(m)
        whole = jax.grad(lambda a: jnp.sum((a @ v) ** 2))(a)
        np.testing.assert_allclose(slope.data, sparse.bcoo_extract(m, whole).data, rtol=1e-5)
        assert np.array_equal(slope.indices, m.indices)
        try:
            jax.vmap(lambda m: m @ v)(m)
        except ValueError as error:
            assert "n_batch=0" in str(error)
        else:
            raise AssertionError
    """)


def test_sparsify_keeps_what_is_sparse() -> None:
    _passes("""
        a, v = some(3, 4), jnp.arange(3.0)
        x = BCOO.fromdense(a)
        f = lambda m, v: -jnp.sin(jnp.pi / 7 * m).T @ (v + 1)
        np.testing.assert_allclose(sparse.sparsify(f)(x, v), f(a, v), atol=1e-5)
        g = lambda m: (2 * m).sum(0)
        out = sparse.sparsify(jax.jit(g))(x)
        assert isinstance(out, BCOO)
        same(out, g(a))
        rows = sparse.sparsify(lambda m: lax.concatenate([m, m], 0))(BCSR.fromdense(a))
        assert isinstance(rows, BCSR)
        same(rows, jnp.concatenate([a, a], 0))
        try:
            sparse.sparsify(lax.cos)(x)
        except NotImplementedError as error:
            assert "sparse rule for cos is not implemented because it would result in dense output" in str(error)
        else:
            raise AssertionError
    """)


def test_sparsify_keeps_the_order_of_elements() -> None:
    """Not that of rows that are sorted: what is beside the elements may count on it. Rules of custom functions are gone into."""
    _passes("""
        data, columns = jnp.arange(1.0, 6.0), jnp.array([3, 1, 1, 2, 0])
        x = BCSR((data, columns, jnp.array([0, 2, 2, 5])), shape=(3, 4))
        for f in (lax.neg, jnp.copy):
            y = sparse.sparsify(f)(x)
            same(y, f(x.todense()))
            assert y.indices.tolist() == columns.tolist() and y.indptr.tolist() == [0, 2, 2, 5]
        square = jax.custom_jvp(lambda x: x**2)
        square.defjvp(lambda p, t: (p[0] ** 2, 2 * t[0] * p[0]))
        v = BCOO.fromdense(jnp.arange(5.0))
        same(sparse.sparsify(square)(v), jnp.arange(5.0) ** 2)
        same(sparse.sparsify(jax.grad(lambda x: square(x).sum()))(v), 2 * jnp.arange(5.0))
    """)


def test_lobpcg_finds_the_largest_eigenvalues() -> None:
    _passes("""
        from jax.experimental.sparse.linalg import lobpcg_standard
        basis = np.linalg.qr(rng.normal(size=(60, 60)))[0]
        values = np.concatenate([[30, 20, 20, 3], np.linspace(2, 0.1, 56)])
        a = jnp.asarray((basis * values) @ basis.T, "float32")
        start = jnp.asarray(rng.normal(size=(60, 4)), "float32")
        for product in (a, lambda x: a @ x):
            for wrap in (lambda f: f, jax.jit):
                theta, u, steps = wrap(lambda x: lobpcg_standard(product, x))(start)
                np.testing.assert_allclose(theta, values[:4], rtol=1e-5)
                np.testing.assert_allclose(a @ u, u * theta, atol=2e-3)
                np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-5)
                assert 0 < int(steps) < 100
        assert int(lobpcg_standard(a, start, m=2)[2]) == 2
        theta = lobpcg_standard(jnp.diag(jnp.arange(30.0)), jnp.eye(30, 2)[::-1])[0]  # from the solution
        np.testing.assert_allclose(theta, [29, 28], rtol=1e-5)
        for a, x, text in ((a, start[:, :0], "dim > 0"), (a[:50], start, r"A must be (60, 60)"), (a, start[:, :1].astype("bfloat16"), "same dtypes"),
                           (a[:20, :20], start[:20], "matrix dim"), (a, start[0], "shape (n, k)")):
            try:
                lobpcg_standard(a, x)
            except ValueError as error:
                assert text in str(error), error
            else:
                raise AssertionError(text)
    """)
