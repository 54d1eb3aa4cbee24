"""Programs in processes of their own, whose GPU is that of a driver that has none (tests/cpp/fake_cuda_driver.cc)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from needs import require_built
from places import ROOT

FAKE = ROOT / "build-release" / "tests" / "cpp" / "libfake_cuda_driver.so"
FAKE_CUBLASLT = FAKE.with_name("libfake_cublaslt.so")  # as CT_CUBLASLT; without it there is no library
FAKE_NVTX = FAKE.with_name("libfake_nvtx.so")  # as NVTX_INJECTION64_PATH

# What each program begins with: `calls(name)` since `restart`, `launches()` as lines.
PRELUDE = """
import ctypes, json, os
import numpy as np
import cotangent as ct
import cotangent.numpy as cnp
fake = ctypes.CDLL(os.environ["CT_CUDA_DRIVER"])
fake.fake_cuda_calls.restype = ctypes.c_int64
fake.fake_cuda_launches.restype = ctypes.c_char_p
def calls(name): return fake.fake_cuda_calls(name.encode())
def restart(fail=""): fake.fake_cuda_restart(fail.encode())
def launches(): return fake.fake_cuda_launches().decode().splitlines()
"""


def run(program: str, **environment: str) -> Any:
    """What a program prints last, as JSON, in a process of its own."""
    require_built(FAKE)
    ended = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env={**os.environ, "CT_CUDA_DRIVER": str(FAKE), "CT_CUBLASLT": "", **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    return json.loads(ended.stdout.splitlines()[-1])
