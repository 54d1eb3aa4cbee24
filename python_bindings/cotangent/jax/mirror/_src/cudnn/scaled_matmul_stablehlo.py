"""``jax._src.cudnn.scaled_matmul_stablehlo``."""

from __future__ import annotations

from typing import Any

from cotangent.jax.missing import missing

_NAMES = ("quantize", "quantize_to_qtype", "scaled_dot_general_transpose_wrapper", "scaled_dot_general_wrapper", "scaled_matmul_wrapper",
          "shape_normalization")  # fmt: skip

globals().update({name: missing(f"{__name__.removeprefix('cotangent.jax.mirror.')}.{name}") for name in _NAMES})

__all__: list[Any] = list(_NAMES)
