"""What libraries use of ``jax._src.interpreters.batching`` that its public counterpart has not."""

from cotangent.jax.mirror.interpreters.batching import matchaxis

__all__ = ["matchaxis"]
