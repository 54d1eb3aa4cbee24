"""jaxtyping and beartype look at our arrays, in a process that has no JAX and not the hook that stands for it."""

from __future__ import annotations

from pathlib import Path

from missing_packages import run_without
from needs import require

PROGRAM = """
import sys
import numpy as np
import pytest
import cotangent as ct
import cotangent.numpy as cnp
from beartype import beartype
from beartype.roar import BeartypeCallHintParamViolation
from jaxtyping import Bool, Complex, Float, Int, Key, Shaped, TypeCheckError, jaxtyped

typed = jaxtyped(typechecker=beartype)
x, v = cnp.ones((2, 3)), cnp.ones(3)

@typed
def product(x: Float[ct.Array, "a b"], v: Float[ct.Array, "b"]) -> Float[ct.Array, "a"]:
    return x @ v

assert product(x, v).tolist() == [3.0, 3.0]
assert ct.jit(product)(x, v).tolist() == [3.0, 3.0]
assert ct.grad(lambda x: product(x, v).sum())(x).shape == (2, 3)
assert ct.vmap(product, in_axes=(0, None))(cnp.ones((4, 2, 3)), v).shape == (4, 2)
for function in (product, ct.jit(product)):
    with pytest.raises(TypeCheckError, match="parameter 'v'"):
        function(x, cnp.ones(2))

kinds = {
    Float: [cnp.ones(2), cnp.ones(2, dtype="bfloat16"), cnp.ones(2, dtype="float16"), cnp.zeros(0)], Int: [cnp.arange(2), cnp.arange(2, dtype="int8")],
    Bool: [cnp.arange(2) > 0], Complex: [cnp.ones(2) * 1j], Key: [ct.random.split(ct.random.key(0))],
}
for kind, arrays in kinds.items():
    for other, others in kinds.items():
        for array in others:
            assert isinstance(array, kind[ct.Array, "n"]) == (kind is other), (kind, array)
            assert isinstance(array, Shaped[ct.Array, "n"])
assert isinstance(cnp.asarray(1.0), Float[ct.Array, ""])
assert not isinstance(np.ones(2), Float[ct.Array, "n"])

@typed
def total(row: Float[ct.Array, "n"]) -> Float[ct.Array, ""]:
    return row.sum()
assert ct.vmap(ct.mask(total))(ct.ragged([[1.0, 2.0], []])).tolist() == [3.0, 0.0]

@beartype
def scaled(x: ct.Array, n: int) -> ct.Array:
    return x * n
assert ct.jit(scaled, static_argnums=1)(v, 2).tolist() == [2.0, 2.0, 2.0]
with pytest.raises(BeartypeCallHintParamViolation):
    scaled(np.ones(2), 2)

@beartype
def anything(x: ct.typing.ArrayLike) -> ct.Array:
    return cnp.asarray(x)
assert [anything(x).ndim for x in (1.0, v, np.ones(2), True)] == [0, 1, 1, 0]
with pytest.raises(BeartypeCallHintParamViolation):
    anything("text")

@beartype
def doubled(rows: ct.Ragged) -> ct.Ragged:
    return 2 * rows
assert doubled(ct.ragged([[1.0], []])).tolist() == [[2.0], []]
assert "jax" not in sys.modules
print("done")
"""


def test_annotations_without_jax(tmp_path: Path) -> None:
    require("jaxtyping")
    require("beartype")
    done = run_without("jax", PROGRAM, tmp_path)
    assert done.stdout == "done\n", done.stderr[-3000:]
