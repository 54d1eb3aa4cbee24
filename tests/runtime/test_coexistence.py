"""Libraries that bring an LLVM, an abseil or a BLAS of their own can live in one process with us, in either order.

Each case is a fresh process. torch from PyPI for Linux x86-64 needs several gigabytes of CUDA libraries, so it is not a
requirement; where it is not in the environment, Debian's CPU build (the python3-torch package) is used if installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEBIAN_PACKAGES = Path("/usr/lib/python3/dist-packages")

OURS = """
import numpy as np
import cotangent as ct
out = ct.jit(ct.grad(lambda x: ct.numpy.sum(ct.numpy.exp(x) * x)))(np.ones(8, np.float32))
np.testing.assert_allclose(np.asarray(out), np.full(8, 2 * np.e, np.float32), rtol=1e-5)
"""

THEIRS = {
    "jax": """
import jax
assert abs(float(jax.jit(jax.grad(lambda x: x * x))(3.0)) - 6.0) < 1e-6
""",
    "llvmlite": """
import ctypes
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
module = llvm.parse_assembly('define i32 @f(i32 %x) {\\n  %y = add i32 %x, 1\\n  ret i32 %y\\n}\\n')
engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
engine.finalize_object()
assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address("f"))(41) == 42
""",
    "torch": f"""
import sys, warnings
warnings.simplefilter("ignore")
try:
    import torch
except ImportError:
    sys.path.append({str(DEBIAN_PACKAGES)!r})
    import torch
x = torch.ones(3, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
""",
}


def has_torch() -> bool:
    """Whether a torch that this Python can load exists."""
    found = subprocess.run([sys.executable, "-c", THEIRS["torch"]], capture_output=True, check=False)
    return found.returncode == 0


@pytest.mark.parametrize("order", ["before", "after", "around"])
@pytest.mark.parametrize("library", list(THEIRS))
def test_lives_in_one_process(library: str, order: str) -> None:
    if library == "torch" and not has_torch():
        pytest.skip("no torch: install python3-torch (Debian, CPU) or torch (PyPI, several GB)")
    theirs = THEIRS[library]
    script = {"before": theirs + OURS, "after": OURS + theirs, "around": theirs + OURS + theirs + OURS}[order]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_extension_module_exports_only_its_entry_point_and_what_gdb_looks_for() -> None:
    import cotangent._core as core

    listing = subprocess.run(["nm", "-D", "--defined-only", core.__file__], capture_output=True, text=True, check=True)
    names = sorted(line.split()[-1] for line in listing.stdout.splitlines())
    assert names == ["PyInit__core", "__jit_debug_descriptor", "__jit_debug_register_code"]
