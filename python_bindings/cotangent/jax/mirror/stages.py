"""``jax.stages``: the objects of `jit(f).lower(x).compile()`, by their classes."""

from __future__ import annotations

from typing import Any

import cotangent as ct
from cotangent import _core

__all__ = ["Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

_lowered = ct.jit(lambda x: x).lower(0.0)
Lowered: Any = type(_lowered)
Compiled: Any = type(_lowered.compile())
Wrapped = _core.JitFunction
CompilerOptions = dict[str, Any]
Traced: Any = type(ct.jit(lambda x: x).trace(0.0)) if hasattr(_core.JitFunction, "trace") else type("Traced", (), {})
