"""What sliding windows see."""

from __future__ import annotations

from typing import Any

import numpy as np

from records import BOOLS, COMPLEXES, NUMBERS, ragged, record


def seen(
    x: Any, axes: Any, window_axes: Any, sizes: Any, step: Any, window_step: Any, dilation: Any, offset: Any
) -> Any:
    """By the definition, element by element."""
    shape = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    result = np.zeros(shape, x.dtype)
    for position in np.ndindex(*shape):
        at, inside = list(position), True
        for k, axis in enumerate(axes):
            place = position[axis] * step[k] + position[window_axes[k]] * window_step[k] + offset[k]
            inside = inside and place % dilation[k] == 0 and 0 <= place // dilation[k] < x.shape[axis]
            at[axis] = place // dilation[k]
        if inside:
            result[position] = x[tuple(at)]
    return result


def windows(**attrs: Any) -> dict[str, Any]:
    """Attributes of one spatial axis, 1, and its window axis, 0; lists override."""
    every = {"axes": 1, "window_axes": 0, "step": 1, "window_step": 1, "dilation": 1, "offset": 0} | attrs
    return {name: value if isinstance(value, list) else [value] for name, value in every.items()}


for attrs in [
    windows(sizes=3),
    windows(sizes=6, offset=-1),
    windows(sizes=3, step=2, offset=-2, window_step=2),
    windows(sizes=9, dilation=2, offset=-3),
    windows(sizes=5, dilation=3, step=2, offset=4, window_step=-2),
    windows(sizes=0),
]:
    record(
        "window_slice",
        lambda x, a=attrs: seen(x, **a),
        (3, 5, 2),
        attrs=attrs,
        dtypes=(*NUMBERS, *COMPLEXES, *BOOLS) if attrs["offset"] == [-1] else NUMBERS[:1],
        masks=(ragged({0: "w"}), ragged({1: "n"}), ragged({2: "m"}), ragged({0: "w", 1: "n", 2: "m"})),
    )
record(
    "window_slice",
    lambda x: seen(x, [1, 3], [2, 0], [3, 2], [1, 2], [1, -1], [2, 1], [0, 1]),
    (2, 3, 2, 3),
    attrs=windows(
        axes=[1, 3], window_axes=[2, 0], sizes=[3, 2], step=[1, 2], window_step=[1, -1], dilation=[2, 1], offset=[0, 1]
    ),
    dtypes=NUMBERS[:1],
)
