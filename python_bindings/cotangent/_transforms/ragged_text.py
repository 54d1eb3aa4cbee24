"""How a `Ragged` is printed: its rows without padding, as nested lists; types where values are traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array
from cotangent._transforms.ragged import Ragged


def _is_known(x: Any) -> bool:
    return isinstance(x, Array) and not _core.is_traced(x) and not _core.is_deleted(x)


def _type_text(x: Any) -> str:
    if not isinstance(x, Array):
        return repr(x)
    if _core.is_deleted(x):
        return repr(x)
    return (
        f"Traced<{x.dtype.name}[{','.join(map(str, x._bound_shape))}]>" if _core.is_traced(x) else str(_known_list(x))
    )


def _known_list(x: Any) -> Any:
    return _core.to_numpy(x).tolist()


def _fits(value: Ragged) -> bool:
    """Whether lengths are lengths of the data: a node may have been made of anything."""
    data = value.data
    if not isinstance(data, Array) or _core.dtype_kind(data.dtype) == "key" or not _is_known(data):
        return False
    for axis, length in value._lengths.items():
        if not _is_known(length) or _core.kind(length) not in ("signed", "unsigned") or data.ndim < -axis:
            return False
        known = _core.to_numpy(length)
        front = known.ndim > data.ndim + axis or known.shape != tuple(data._bound_shape[: known.ndim])
        if front or (known.size and (known.min() < 0 or known.max() > data._bound_shape[axis])):
            return False
    return True


def _exact(
    value: Ragged, data: np.ndarray[Any, Any], lengths: dict[int, np.ndarray[Any, Any]]
) -> list[Any] | np.ndarray[Any, Any]:
    """Nested lists down to arrays of exact sizes."""
    if all(length.ndim == 0 for length in lengths.values()):
        cut = [slice(None)] * data.ndim
        for axis, length in lengths.items():
            cut[axis] = slice(0, int(length))
        return data[tuple(cut)] if cut else data
    return [
        _exact(value, data[i], {axis: x[i] if x.ndim else x for axis, x in lengths.items()}) for i in range(len(data))
    ]


def _rows_text(rows: Any, prefix: int, space: list[int]) -> str:
    """Nested rows as text. ``space`` counts the elements that are still printed before ``...`` stands for the others."""
    if isinstance(rows, np.ndarray):
        left = max(space[0], 0)
        space[0] -= rows.size
        return np.array2string(rows, separator=", ", prefix=" " * prefix, max_line_width=100, threshold=left)
    edge = int(np.get_printoptions()["edgeitems"])
    many = len(rows) > 2 * edge and (len(rows) > 100 or space[0] < sum(map(_count, rows)))
    texts = [_rows_text(row, prefix + 1, space) for row in (rows[:edge] if many else rows)]
    if many:
        texts += ["...", *(_rows_text(row, prefix + 1, space) for row in rows[-edge:])]
    separator = ",\n" + " " * (prefix + 1) if any("\n" in text for text in texts) or sum(map(len, texts)) > 80 else ", "
    return f"[{separator.join(texts)}]"


def _count(rows: Any) -> int:
    return rows.size if isinstance(rows, np.ndarray) else sum(map(_count, rows))


def _lengths_text(value: Ragged) -> str:
    texts = []
    for axis, length in value._lengths.items():
        rank = getattr(value.data, "ndim", 0)
        if _is_known(length):
            text = np.array2string(_core.to_numpy(length), separator=", ", max_line_width=100, threshold=20)
        else:
            text = _type_text(length)
        texts.append(f"{axis + rank if rank else axis}: {' '.join(text.split())}")
    return "{" + ", ".join(texts) + "}"


def _text(value: Ragged, head: str) -> str:
    names = f", names={value.names}" if isinstance(value.data, Array) and value.names else ""
    if not _fits(value):
        return f"{head}{_type_text(value.data) if not _is_known(value.data) else repr(value.data)}, lengths={_lengths_text(value)}{names})"
    data = _core.to_numpy(value.data)
    rows = _exact(value, data, {axis: _core.to_numpy(x) for axis, x in value._lengths.items()})
    threshold = int(np.get_printoptions()["threshold"])
    body = _rows_text(rows, len(head), [threshold])
    return f"{head}{body}, lengths={_lengths_text(value)}{names}, dtype={value.dtype.name})"


def ragged_format(value: Ragged, spec: str) -> str:
    """Its text. There is no other format of several numbers."""
    if not spec:
        return str(value)
    raise TypeError(
        f"the format {spec!r} is for one number; got a Ragged\n"
        f"  format each, [[format(v, {spec!r}) for v in row] for row in x.tolist()], or print the whole under numpy.printoptions(precision=3)"
    )


def ragged_repr(value: Ragged) -> str:
    """``Ragged([[1., 2.], [3.]], lengths={1: [2, 1]}, dtype=float32)``."""
    return _text(value, "Ragged(")
