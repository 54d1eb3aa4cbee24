"""``jax.extend.core``: the names of `jax.core`, all of them."""

from cotangent.jax.mirror.core import *
from cotangent.jax.mirror.core import __all__ as __all__
