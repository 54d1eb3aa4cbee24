"""``jax.test_util``: derivatives against differences."""

from cotangent.jax.mirror._src.testing.closeness import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
