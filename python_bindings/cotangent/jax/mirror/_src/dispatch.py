"""``jax._src.dispatch``."""

from __future__ import annotations

from cotangent import effects_barrier as wait_for_tokens

__all__ = ["runtime_tokens", "wait_for_tokens"]


class _RuntimeTokens:
    """What orders side effects: a program that has them waits for those before it itself, so that nothing is kept between programs."""

    def block_until_ready(self) -> None:
        wait_for_tokens()

    def clear(self) -> None:
        wait_for_tokens()


runtime_tokens = _RuntimeTokens()
