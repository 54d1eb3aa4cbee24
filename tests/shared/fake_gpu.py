"""A GPU that there is not: the back end "cuda" of this process has the driver of tests/cpp/fake_cuda_driver.cc."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from fake_cuda import FAKE, FAKE_CUBLASLT

LACKING = "" if FAKE.exists() and FAKE_CUBLASLT.exists() else f"{FAKE.name} ('./dev test' builds it)"


def use(library: str = "", **settings: str) -> None:
    """Before anything asks for a GPU: the driver, with what ``CT_FAKE_CUDA_…`` says, and a cuBLASLt or none."""
    os.environ.update(CT_CUDA_DRIVER=str(FAKE), CT_CUBLASLT=library)
    os.environ.update({f"CT_FAKE_CUDA_{name}": value for name, value in settings.items()})


def products(fail: str = "") -> Any:
    """The same with a cuBLASLt, one of whose calls fails: its name, after how many, and its status."""
    use(str(FAKE_CUBLASLT))
    ctypes.CDLL(str(FAKE_CUBLASLT)).fake_cublaslt_restart(fail.encode())
