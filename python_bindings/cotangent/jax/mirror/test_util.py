"""``jax.test_util``: derivatives against differences."""

from cotangent.jax.internals.testing.closeness import check_jvp, check_vjp
from cotangent.test_util import check_grads

__all__ = ["check_grads", "check_jvp", "check_vjp"]
