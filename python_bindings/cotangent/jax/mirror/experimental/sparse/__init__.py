"""``jax.experimental.sparse``: arrays of which some elements are given with their positions.

Products with dense arrays go by way of dense arrays: they are right, and no faster than those.
"""

from __future__ import annotations

from cotangent.jax.mirror.experimental.sparse import ad, api, bcoo, bcsr, coo, csr, random, transform, util
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse

_PUBLIC = {"CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning"}
__all__ = ["JAXSparse"]
for _module in (ad, api, bcoo, bcsr, coo, csr, random, transform, util):
    _names = [name for name in _module.__all__ if not name.startswith("_") and (_module is not util or name in _PUBLIC)]
    globals().update({name: getattr(_module, name) for name in _names})
    __all__ += _names
