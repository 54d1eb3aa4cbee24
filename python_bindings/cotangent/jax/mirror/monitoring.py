"""``jax.monitoring``: events that programs record, and functions that are called with them. Nothing here records any itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]

_listeners: dict[str, list[Callable[..., None]]] = {"event": [], "duration": [], "span": [], "scalar": []}


def _recording(kind: str) -> Callable[..., None]:
    def record(event: str, *values: Any, **details: Any) -> None:
        """Calls the listeners."""
        for listener in list(_listeners[kind]):
            listener(event, *values, **details)

    return record


def _registering(kind: str) -> Callable[[Callable[..., None]], None]:
    def register(callback: Callable[..., None]) -> None:
        """Adds a listener."""
        _listeners[kind].append(callback)

    return register


def _unregistering(kind: str) -> Callable[[Callable[..., None]], None]:
    def unregister(callback: Callable[..., None]) -> None:
        """Takes a listener away, which must be there."""
        assert callback in _listeners[kind], "the listener is not registered"
        _listeners[kind].remove(callback)

    return unregister


record_event, record_event_duration_secs = _recording("event"), _recording("duration")
record_event_time_span, record_scalar = _recording("span"), _recording("scalar")
register_event_listener, register_event_duration_secs_listener = _registering("event"), _registering("duration")
register_event_time_span_listener, register_scalar_listener = _registering("span"), _registering("scalar")
unregister_event_listener, unregister_event_duration_listener = _unregistering("event"), _unregistering("duration")
unregister_event_time_span_listener, unregister_scalar_listener = _unregistering("span"), _unregistering("scalar")


def clear_event_listeners() -> None:
    """Takes all listeners away."""
    for kind in _listeners.values():
        kind.clear()
