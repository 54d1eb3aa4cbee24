"""`cotangent.jax`: rotations of ``jax.scipy.spatial.transform``, against SciPy's, and slices that begin at values."""

from __future__ import annotations

import pytest
from jax_hook_process import run
from needs import needed

needed("scipy")

WAYS = [
    "as_rotvec()",
    "as_rotvec(degrees=True)",
    "as_matrix()",
    "as_mrp()",
    "as_quat()",
    "as_quat(canonical=True)",
    "as_quat(scalar_first=True)",
    "as_euler('xyz')",
    "as_euler('XYZ', degrees=True)",
    "as_euler('zxz')",
    "as_euler('ZYZ')",
    "magnitude()",
    "inv().as_matrix()",
    "mean().as_matrix()",
    "mean(np.arange(1.0, 8.0)).as_matrix()",
    "apply(np.arange(3.0))",
    "apply(np.arange(3.0), inverse=True)",
    "__getitem__(slice(2, 4)).as_matrix()",
]
MADE = [
    "from_rotvec(np.concatenate([v, np.zeros((1, 3)), 1e-5 * v]))",
    "from_rotvec(40 * v, degrees=True)",
    "from_mrp(v)",
    "from_euler('xyz', v)",
    "from_euler('ZYX', 60 * v, degrees=True)",
    "from_euler('y', v[:, :1])",
    "from_euler('xy', v[0, :2])",
    "from_matrix(m)",
    "from_quat(q[0])",
    "identity()",
    "identity(3)",
]


def test_rotations_are_scipys() -> None:
    lines = "\n".join(f"check({text!r}, lambda R: {text})" for text in [
        *(f"R.from_quat(q).{way}" for way in WAYS),
        *(f"R.{made}.as_matrix()" for made in MADE),
        "(R.from_quat(q) * R.from_quat(q[::-1])).as_matrix()",
        "(R.from_quat(q[0]) * R.from_quat(q)).as_matrix()",
        "R.concatenate([R.from_quat(q), R.from_quat(q[:2])]).as_matrix()",
    ])  # fmt: skip
    program = f"""
import numpy as np
import scipy.spatial.transform as theirs
import jax
from jax.scipy.spatial.transform import Rotation, Slerp

rng = np.random.default_rng(0)
q, v = rng.normal(size=(7, 4)), rng.normal(size=(7, 3))
m = theirs.Rotation.from_quat(q).as_matrix()
jax.config.update("jax_enable_x64", True)

def check(text, f):
    found, expected = np.asarray(f(Rotation)), f(theirs.Rotation)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9), (text, found, expected)

{lines}
times, at = np.array([0.0, 1.0, 2.5, 4.0, 5.0, 6.0, 7.0]), np.array([0.0, 0.3, 2.5, 3.9, 7.0])
found = Slerp.init(times, Rotation.from_quat(q))(at).as_matrix()
assert np.allclose(found, theirs.Slerp(times, theirs.Rotation.from_quat(q))(at).as_matrix(), atol=1e-9)
grad = jax.grad(lambda v: Rotation.from_rotvec(v).as_matrix()[0, 1])(np.zeros(3))
print(grad, len(Rotation.from_quat(q)), jax.jit(lambda r: r.inv())(Rotation.from_quat(q[0])).single)
"""
    assert run(program) == "[ 0.  0. -1.] 7 True"


@pytest.mark.parametrize("call", ["Rotation.from_euler('xxz', v)", "Rotation.from_euler('xyq', v)", "Rotation.from_euler('xyz', v[:2])",
                                  "Rotation.identity().as_euler('xy')", "Slerp.init(v, Rotation.identity())"])  # fmt: skip
def test_what_makes_no_rotation_is_an_error(call: str) -> None:
    program = f"""
    import numpy as np
    from jax.scipy.spatial.transform import Rotation, Slerp
    v = np.ones(3)
    try:
        {call}
    except ValueError as error:
        print("ValueError", len(str(error)) > 20)
    """
    assert run(program) == "ValueError True"


def test_slices_begin_at_values() -> None:
    program = """
    import numpy as np
    import jax, jax.numpy as jnp
    from jax._src.indexing import Slice
    x = jnp.arange(24).reshape(4, 6)
    print(x[1, jax.ds(2, 3)].tolist(), x[jax.ds(1, 2), 0].tolist(), x[..., jax.ds(0, 2, 3)].tolist()[0])
    f = jax.jit(lambda i: x[jax.ds(i, 2), None, 1])
    print(f(1).tolist(), f(9).tolist(), jax.ds(None), jax.ds(3) == Slice(0, 3))
    print(jax.tree.leaves(jax.ds(jnp.array(1), 2)), jax.grad(lambda y: y[jax.ds(jnp.array(1), 2)].sum())(jnp.ones(4)))
    """
    assert run(program).splitlines() == [
        "[8, 9, 10] [6, 12] [0, 3]",
        "[[7], [13]] [[13], [19]] slice(None, None, None) True",
        "[Array(1, dtype=int32, weak_type=True)] [0. 1. 1. 0.]",
    ]
