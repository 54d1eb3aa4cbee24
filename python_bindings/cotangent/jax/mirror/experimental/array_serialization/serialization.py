"""``jax.experimental.array_serialization.serialization``: what managers of checkpoints derive from. Libraries write arrays by themselves."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["GlobalAsyncCheckpointManagerBase"]


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """What writes and reads arrays in the background."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raises what went wrong in the background."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Returns when everything is written."""

    @abc.abstractmethod
    def serialize(self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]) -> None:
        """Begins to write arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> Any:
        """Reads arrays."""
