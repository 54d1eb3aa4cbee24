"""torch: that of the environment, or Debian's CPU build (python3-torch), which knows no NumPy 2: tensors are made of lists."""

from __future__ import annotations

import sys
import warnings
from typing import Any

_DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"


def _import_torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import torch
        except ImportError:
            sys.path.append(_DEBIAN_PACKAGES)
            try:
                import torch
            except ImportError:
                return None
            finally:
                sys.path.remove(_DEBIAN_PACKAGES)
    return torch


torch = _import_torch()
LACKING = "" if torch else "torch: python3-torch (Debian, CPU) or torch (PyPI)"
