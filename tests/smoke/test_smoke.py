"""The smoke suite: what an installed wheel has to do on a machine with nothing but Python, NumPy and pytest.

One short program of each part, on values that NumPy or a formula says. It reads no file of the repository, so that it can be copied
anywhere: `./dev release` runs it in bare Debian systems without a network. A compiler of C is used where one is; nothing else is skipped.
"""

from __future__ import annotations

import ctypes
import importlib.util
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

rng = np.random.default_rng(0)
W = rng.normal(size=(4, 3)).astype(np.float32)
XS = rng.normal(size=(6, 4)).astype(np.float32)
YS = rng.normal(size=(6, 3)).astype(np.float32)


def loss(w: Any, x: Any, y: Any) -> Any:
    return cnp.sum((cnp.tanh(x @ w) - y) ** 2)


def gradient(w: Any, x: Any, y: Any) -> Any:
    """The gradient of `loss` by hand, in float64."""
    w, x, y = (np.asarray(part, np.float64) for part in (w, x, y))
    t = np.tanh(x @ w)
    return np.outer(x, 2 * (t - y) * (1 - t**2))


def test_jit() -> None:
    f = ct.jit(lambda x, y: cnp.exp(x) @ y + 1)
    x, y = rng.normal(size=(5, 7)), rng.normal(size=(7, 2))
    np.testing.assert_allclose(f(x, y), np.exp(x) @ y + 1, rtol=1e-5)
    assert f(x[:2], y).shape == (2, 2)  # compiled anew for another shape


def test_grad() -> None:
    np.testing.assert_allclose(ct.grad(loss)(W, XS[0], YS[0]), gradient(W, XS[0], YS[0]), rtol=1e-4, atol=1e-5)
    second = ct.jit(ct.grad(ct.grad(lambda x: cnp.sin(x) * x)))
    np.testing.assert_allclose(second(0.7), 2 * np.cos(0.7) - 0.7 * np.sin(0.7), rtol=1e-5)


def test_vmap_of_grad() -> None:
    found = ct.jit(ct.vmap(ct.grad(loss), in_axes=(None, 0, 0)))(W, XS, YS)
    np.testing.assert_allclose(found, [gradient(W, x, y) for x, y in zip(XS, YS, strict=True)], rtol=1e-4, atol=1e-5)


def test_mask_and_ragged() -> None:
    rows = [rng.normal(size=n).astype(np.float32) for n in (3, 0, 5, 1)]
    batch = ct.ragged(rows)
    found = ct.jit(ct.vmap(ct.mask(lambda row: cnp.cumsum(row) / (row.shape[0] + 1))))(batch)
    for row, out in zip(rows, found.to_list(), strict=True):
        np.testing.assert_allclose(out, np.cumsum(row) / (len(row) + 1), rtol=1e-5)
    back = ct.grad(lambda b: ct.vmap(ct.mask(lambda row: cnp.sum(row**2)))(b).sum())(batch)
    for row, out in zip(rows, back.to_list(), strict=True):
        np.testing.assert_allclose(out, 2 * row, rtol=1e-6)


def test_loops() -> None:
    total, sums = ct.jit(lambda x: ct.lax.scan(lambda c, r: (c + r, c), np.float32(0), x))(
        cnp.arange(6, dtype="float32")
    )
    assert float(total) == 15 and np.asarray(sums).tolist() == [0, 0, 1, 3, 6, 10]

    def root(a: Any) -> Any:
        return ct.lax.while_loop(lambda s: abs(s * s - a) > 1e-5, lambda s: (s + a / s) / 2, a)

    np.testing.assert_allclose(ct.grad(root)(4.0), 0.25, rtol=1e-3)


def test_per_example_gradients() -> None:
    norms = ct.per_example.norms(loss)(W, XS, YS)
    wanted = [np.linalg.norm(gradient(W, x, y)) for x, y in zip(XS, YS, strict=True)]
    np.testing.assert_allclose(norms, wanted, rtol=1e-4)
    clipped = ct.per_example.clipped_sum(loss, clip_norm=0.5)(W, XS, YS)
    factors = np.minimum(1, 0.5 / np.array(wanted))
    parts = [factor * gradient(W, x, y) for factor, x, y in zip(factors, XS, YS, strict=True)]
    leaf = next(leaf for leaf in ct.tree.leaves(clipped) if leaf.shape == W.shape)
    np.testing.assert_allclose(leaf, sum(parts), rtol=1e-3, atol=1e-5)


def test_random_numbers_are_the_same_everywhere() -> None:
    key = ct.random.key(0)
    np.testing.assert_array_equal(ct.random.bits(key, (3,)), ct.random.bits(ct.random.key(0), (3,)))
    draws = np.asarray(ct.jit(lambda k: ct.random.normal(k, (20_000,)))(key))
    assert abs(draws.mean()) < 0.03 and abs(draws.std() - 1) < 0.03
    one, two = ct.random.split(key)
    assert not np.array_equal(ct.random.bits(one, (4,)), ct.random.bits(two, (4,)))


def test_linear_algebra_and_transforms() -> None:
    a = rng.normal(size=(6, 6)) + 6 * np.eye(6)
    b = rng.normal(size=6)
    np.testing.assert_allclose(ct.jit(cnp.linalg.solve)(a, b), np.linalg.solve(a, b), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(cnp.fft.rfft(b), np.fft.rfft(b), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(cnp.sort(cnp.array(b)), np.sort(b))


def test_einsum_of_several_operands_needs_no_package() -> None:
    parts = [rng.normal(size=shape) for shape in ((3, 4), (4, 5), (5, 2), (2, 3))]
    np.testing.assert_allclose(
        cnp.einsum("ab,bc,cd,da->bd", *parts), np.einsum("ab,bc,cd,da->bd", *parts), rtol=1e-3, atol=1e-4
    )


@pytest.mark.skipif(bool(importlib.util.find_spec("ml_dtypes")), reason="ml_dtypes is installed")
def test_small_floats_say_which_package_numpy_lacks() -> None:
    x = cnp.full(3, 1.5, "bfloat16")
    assert x.shape == (3,) and cnp.bfloat16 != cnp.float16
    with pytest.raises(ImportError, match="ml_dtypes"):
        _ = x.dtype


def test_pytrees_and_pickles() -> None:
    tree = {"a": cnp.ones(2), "b": [cnp.zeros(3), None, (cnp.arange(2),)]}
    doubled = ct.tree.map(lambda x: 2 * x, tree)
    assert [np.asarray(leaf).tolist() for leaf in ct.tree.leaves(doubled)] == [[2, 2], [0, 0, 0], [0, 2]]
    back = pickle.loads(pickle.dumps(doubled))
    assert ct.tree.structure(back) == ct.tree.structure(tree)
    np.testing.assert_array_equal(back["a"], doubled["a"])


def test_threads() -> None:
    f = ct.jit(ct.grad(lambda x: cnp.sum(cnp.sin(x) ** 2)))
    inputs = [np.full(200_000, k / 10, np.float32) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for x, found in zip(inputs, pool.map(f, inputs), strict=True):
            np.testing.assert_allclose(found, np.sin(2 * x), rtol=1e-4, atol=1e-6)


def test_errors_say_what_does_not_fit() -> None:
    with pytest.raises(ct.errors.ShapeError, match=r"axis 1 of shape \(2, 3\) and axis 0 of shape \(2, 3\)"):
        ct.jit(lambda x: x @ x)(np.ones((2, 3)))


def test_saved_programs(tmp_path: Path) -> None:
    exported = ct.export.compile(ct.grad(loss), W, XS[0], YS[0], name="gradient")
    exported.save(tmp_path)
    loaded = ct.export.load(tmp_path)
    np.testing.assert_array_equal(loaded(W, XS[0], YS[0]), ct.jit(ct.grad(loss))(W, XS[0], YS[0]))


def test_exported_library_is_called_without_python(tmp_path: Path) -> None:
    """The library is made by our own linker: a machine without a compiler can make, and call, one."""
    ct.export.compile(lambda x: 2 * x + 1, np.zeros(5, np.float32), name="line", results="y").save(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libline.so"))
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    pointer = ctypes.POINTER(ctypes.c_float)
    status = library.line(x.ctypes.data_as(pointer), y.ctypes.data_as(pointer), None)
    assert status == 0 and y.tolist() == [1, 3, 5, 7, 9]


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler of C here")
def test_exported_source_is_compiled(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: cnp.sin(x) * 3, np.zeros(4, np.float32), name="wave", results="y")
    made.save(tmp_path, files=("h", "c"))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "wave.h"\nint main(void) {\n'
        "  float x[4] = {0, 1, 2, 3}, y[4];\n"
        "  if (wave(x, y, 0) != CT_OK) return 1;\n"
        '  for (int i = 0; i < 4; ++i) printf("%.6f\\n", y[i]);\n  return 0;\n}\n'
    )
    subprocess.run(["cc", "-O1", "-o", "main", "main.c", "wave.c", "-lm"], cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(line) for line in out.split()], 3 * np.sin(np.arange(4)), atol=1e-5)


def test_programs_of_jax() -> None:
    program = (
        "import jax, jax.numpy as jnp\n"
        "print(float(jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)))(jnp.ones(3))[0]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import cotangent.jax; cotangent.jax.install()\n{program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(float(done.stdout), np.sin(2.0), rtol=1e-5)
