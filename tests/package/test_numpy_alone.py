"""The package beside NumPy and nothing else: what `pip install cotangent` brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from needs import needed

# Packages that were, or might be, taken for granted.
OTHERS = ["ml_dtypes", "opt_einsum", "scipy", "jax", "torch", "packaging", "typing_extensions"]


def run_alone(program: str, folder: Path) -> str:
    """What a program prints that finds NumPy, and none of the others."""
    for name in OTHERS:
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})")
    before = os.environ.get("PYTHONPATH")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), before]))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_module_is_imported(tmp_path: Path) -> None:
    """But those that are for another package, which say so when they are used, and einops' back end."""
    program = """
import importlib, pkgutil
import cotangent
seen = 0
for found in pkgutil.walk_packages(cotangent.__path__, "cotangent."):
    if any(part.startswith("_") for part in found.name.split(".")[1:]) or found.name == "cotangent.interop.einops":
        continue
    if found.name.startswith("cotangent.jax.mirror") or found.name.startswith("cotangent.jax.internals"):
        continue
    importlib.import_module(found.name)
    seen += 1
print(seen)
"""
    assert int(run_alone(program, tmp_path)) > 40


def test_einsum_has_the_same_order_and_bits(tmp_path: Path) -> None:
    program = """
import numpy as np
import cotangent.numpy as cnp
rng = np.random.default_rng(0)
parts = [rng.standard_normal(shape).astype(np.float32) for shape in ((9, 40), (40, 50), (50, 3), (3, 9))]
path, report = cnp.einsum_path("ab,bc,cd,d...->a...", *parts)
print(path, np.asarray(cnp.einsum("ab,bc,cd,d...->a...", *parts)).sum(dtype=np.float64).hex(), "FLOP" in str(report))
try:
    cnp.einsum("ab,bc,cd->ad", *parts[:3], optimize="dp")
except ImportError as error:
    print(error)
"""
    alone = run_alone(program, tmp_path).splitlines()
    needed("opt_einsum")
    here = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert alone[0] == here.splitlines()[0] and alone[0].endswith("True")
    assert alone[1:] == ["einsum with optimize='dp' needs the package opt_einsum", "  pip install opt_einsum"]


def test_small_floats_say_what_numpy_lacks(tmp_path: Path) -> None:
    program = """
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp
x = cnp.full(3, 1.25, "bfloat16")
print(x.shape, cnp.zeros(2, cnp.bfloat16).shape)
print(cnp.bfloat16 == cnp.float32, cnp.bfloat16 == cnp.bfloat16, cnp.float8_e5m2 == cnp.bfloat16)
print(len({cnp.bfloat16, cnp.float8_e5m2, cnp.float32, cnp.bfloat16}), isinstance(1.5, cnp.bfloat16))
for ask in (lambda: x.dtype, lambda: np.asarray(x), lambda: cnp.finfo("bfloat16"), lambda: cnp.bfloat16.dtype):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    lines = run_alone(program, tmp_path).splitlines()
    assert lines[:3] == ["(3,) (2,)", "False True False", "3 False"]
    assert lines[3:] == ["NumPy's dtype bfloat16 needs the package ml_dtypes", "  pip install ml_dtypes"] * 4


def test_types_of_small_floats_where_the_package_is() -> None:
    ml_dtypes = needed("ml_dtypes")
    assert cnp.bfloat16 == ml_dtypes.bfloat16 and cnp.bfloat16 != cnp.float16
    assert hash(cnp.bfloat16) == hash(ml_dtypes.bfloat16)
    assert cnp.zeros(2, cnp.bfloat16).dtype == np.dtype(ml_dtypes.bfloat16)
    assert isinstance(ml_dtypes.bfloat16(1), cnp.bfloat16)
    assert ct.dtypes.bfloat16 is cnp.bfloat16
