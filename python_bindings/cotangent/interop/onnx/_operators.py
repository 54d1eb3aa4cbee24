"""What operators compute that are no row of the table, or that exporters of others write differently: `OPERATORS`, by name.

Each takes the operator's inputs, None for those that are left out, and its attributes by name. Shapes, axes and other numbers that decide what is computed
must be known when the model is run or captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core, lax, nn
from cotangent import numpy as cnp
from cotangent.interop.onnx._layers import LAYERS
from cotangent.interop.onnx._table import REDUCTIONS


def _axes(given: Any, rank: int) -> list[int]:
    return [int(axis) % rank for axis in np.asarray(given).reshape(-1)]


def _reduction(primitive: str) -> Callable[..., Any]:
    def read(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        x = _core.array(x)
        if axes is None or not np.asarray(axes).size:
            if noop_with_empty_axes:
                return x
            axes = range(x.ndim)
        places = sorted(_axes(list(axes), x.ndim))
        result = _core.primitives[primitive](x, axes=places)
        return cnp.expand_dims(result, places) if keepdims else result

    return read


def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    x = _core.array(x)
    sizes = [int(size) for size in np.asarray(shape)]
    return x.reshape([x.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(sizes)])


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    x = _core.array(x)
    count = len(np.asarray(starts))
    places = range(count) if axes is None else _axes(axes, x.ndim)
    index: list[Any] = [slice(None)] * x.ndim
    for i, axis in enumerate(places):
        step = 1 if steps is None else int(np.asarray(steps)[i])
        end = int(np.asarray(ends)[i])
        index[axis] = slice(int(np.asarray(starts)[i]), None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(index)]


def _pad(x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant") -> Any:
    x = _core.array(x)
    places = range(x.ndim) if axes is None else _axes(axes, x.ndim)
    amounts = np.zeros((x.ndim, 2), int)
    for i, axis in enumerate(places):
        amounts[axis] = int(np.asarray(pads)[i]), int(np.asarray(pads)[i + len(places)])
    if mode != "constant":
        return cnp.pad(x, amounts.tolist(), mode=mode)
    value = _core.convert(_core.array(0 if value is None else value), x.dtype).reshape(())
    return lax.pad(x, value, [(int(a), int(b), 0) for a, b in amounts])


def _gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0
) -> Any:
    a, b = (_core.array(a).T if transA else _core.array(a)), (_core.array(b).T if transB else _core.array(b))
    product = a @ b if alpha == 1 else alpha * (a @ b)
    return product if c is None else product + (c if beta == 1 else beta * _core.array(c))


def _expand(x: Any, shape: Any) -> Any:
    x = _core.array(x)
    return cnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(n) for n in np.asarray(shape))))


def _flatten(x: Any, *, axis: int = 1) -> Any:
    x = _core.array(x)
    return x.reshape(int(np.prod(x.shape[: axis + x.ndim if axis < 0 else axis])), -1)


def _squeeze(x: Any, axes: Any = None) -> Any:
    return cnp.squeeze(x, None if axes is None else tuple(np.asarray(axes).tolist()))


# ---- Elements --------------------------------------------------------------------------------------------------------


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else cnp.maximum(x, low)
    return x if high is None else cnp.minimum(x, high)


def _folded(combine: Callable[..., Any]) -> Callable[..., Any]:
    def read(first: Any, *others: Any) -> Any:
        result = _core.array(first)
        for x in others:
            result = combine(result, x)
        return result

    return read


def _mean(*xs: Any) -> Any:
    return _folded(cnp.add)(*xs) / len(xs)


def _mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    return cnp.fmod(x, y) if fmod else cnp.mod(x, y)


def _is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    x = _core.array(x)
    return (cnp.isposinf(x) & bool(detect_positive)) | (cnp.isneginf(x) & bool(detect_negative))


def _bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    return cnp.left_shift(x, y) if direction == "LEFT" else cnp.right_shift(x, y)


def _divided(x: Any, y: Any) -> Any:
    x, y = cnp.broadcast_arrays(x, y)
    return _core.primitives["div"](x, y)  # integers towards zero


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate=approximate == "tanh")


def _prelu(x: Any, slope: Any) -> Any:
    return cnp.where(_core.array(x) < 0, slope * _core.array(x), x)


def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return nn.celu(_core.array(x), alpha)


def _selu(x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return gamma * nn.elu(_core.array(x), alpha)


def _hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return cnp.clip(alpha * _core.array(x) + beta, 0, 1)


def _thresholded(x: Any, *, alpha: float = 1.0) -> Any:
    return cnp.where(_core.array(x) > alpha, x, 0)


def _shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    x = _core.array(x)
    return cnp.where(x < -lambd, x + bias, cnp.where(x > lambd, x - bias, 0))


def _dropout(x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int = 0) -> Any:
    if training_mode is not None and np.asarray(training_mode):
        raise NotImplementedError(
            "onnx.load: Dropout with training_mode=1 is not read\n  export the model in evaluation mode"
        )
    x = _core.array(x)
    return x, cnp.ones(x.shape, bool)


# ---- Reductions and orders -------------------------------------------------------------------------------------------


def _reduced(name: str, reduce: Callable[..., Any], integers: bool = False) -> Callable[..., Any]:
    def read(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        x = _core.array(x)
        if not integers and _core.dtype_kind(x.dtype) != "float":
            raise NotImplementedError(
                f"onnx.load: {name} of {x.dtype} is not read\n  put a Cast to float32 in front of it"
            )
        if axes is None or not np.asarray(axes).size:
            axes = () if noop_with_empty_axes else range(x.ndim)
        places = tuple(_axes(list(axes), x.ndim))
        return _core.convert(reduce(x, axis=places, keepdims=bool(keepdims)), x.dtype)

    return read


def _averaged(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    if _core.dtype_kind(x.dtype) == "float":
        return cnp.mean(x, axis=axis, keepdims=keepdims)
    count = int(np.prod([x.shape[place] for place in axis]))
    total = _core.convert(cnp.sum(x, axis=axis, keepdims=keepdims), x.dtype)
    return _divided(total, np.asarray(count, x.dtype))


def _of_largest(find: Callable[..., Any]) -> Callable[..., Any]:
    def read(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        x = _core.array(x)
        found = find(cnp.flip(x, axis) if select_last_index else x, axis=axis, keepdims=bool(keepdims))
        found = _core.convert(found, np.int64)
        return x.shape[axis] - 1 - found if select_last_index else found

    return read


def _top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    x = _core.array(x)
    axis %= x.ndim
    places = _core.primitives["iota"](dtype=np.int64, shape=list(x.shape), axis=axis)
    count = int(np.asarray(k).reshape(()))
    return tuple(_core.primitives["sort"](x, places, axis=axis, num_keys=1, descending=bool(largest), count=count))


def _cumulative_sum(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    x = _core.array(x)
    place = int(np.asarray(axis).reshape(())) % x.ndim
    total = _core.primitives["cumsum"](x, axis=place, reverse=bool(reverse))
    if not exclusive:
        return total
    ends = [(0, 0, 0)] * x.ndim
    ends[place] = (-1, 1, 0) if reverse else (1, -1, 0)
    return lax.pad(total, cnp.zeros((), x.dtype), ends)


# ---- Positions and shapes --------------------------------------------------------------------------------------------


def _from_start(indices: Any, size: int) -> Any:
    """Positions that may be counted from the end."""
    indices = _core.convert(_core.array(indices), np.int64)
    return cnp.where(indices < 0, indices + size, indices)


def _gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    x = _core.array(x)
    axis %= x.ndim
    return _core.primitives["gather"](x, _from_start(indices, x.shape[axis]), axis=axis, batch_dims=0)


def _gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    x = _core.array(x)
    return x[_grid(indices, axis % x.ndim, x.shape)]


def _grid(indices: Any, axis: int, shape: Any) -> Any:
    """The index of elements at positions along an axis, and where they are along the others."""
    at = _from_start(indices, shape[axis])
    return tuple(
        at if i == axis else _core.array(np.arange(n).reshape([-1 if k == i else 1 for k in range(at.ndim)]))
        for i, n in enumerate(at.shape)
    )


def _in_rows(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    """The index that the last axis of an array of positions is, of the axes behind those of the batch."""
    indices = _core.array(indices)
    batch = [
        _core.array(np.arange(n).reshape([-1 if k == i else 1 for k in range(indices.ndim - 1)]))
        for i, n in enumerate(indices.shape[:batch_dims])
    ]
    columns = range(indices.shape[-1])
    return (*batch, *(_from_start(indices[..., i], x.shape[batch_dims + i]) for i in columns))


def _gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    x = _core.array(x)
    return x[_in_rows(x, indices, batch_dims)]


_UPDATES = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}


def _scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    x = _core.array(x)
    return getattr(x.at[_in_rows(x, indices)], _UPDATES[reduction])(updates)


def _scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    x = _core.array(x)
    return getattr(x.at[_grid(indices, axis % x.ndim, x.shape)], _UPDATES[reduction])(updates)


def _shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return np.asarray(x.shape[start:end], np.int64)


def _split(x: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int = 0) -> Any:
    x = _core.array(x)
    size = x.shape[axis]
    if split is None:
        part = -(-size // outputs)
        ends = [min(part * (i + 1), size) for i in range(outputs)]
    else:
        ends = np.cumsum(np.asarray(split)).tolist()
    starts = [0, *ends[:-1]]
    return tuple(lax.slice_in_dim(x, a, b, axis=axis % x.ndim) for a, b in zip(starts, ends, strict=True))


def _constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    filled = np.zeros(1, np.float32) if value is None else value
    return np.full([int(n) for n in np.asarray(shape)], filled[0], filled.dtype)


def _range(start: Any, limit: Any, delta: Any) -> Any:
    first = np.asarray(start)
    count = max(int(np.ceil((np.asarray(limit) - first) / np.asarray(delta))), 0)
    return (first + np.arange(count) * np.asarray(delta)).astype(first.dtype)


def _one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    count, values = int(np.asarray(depth).reshape(())), _core.array(values)
    at = _from_start(indices, count)
    places = axis % (at.ndim + 1)
    line = np.arange(count).reshape([-1 if i == places else 1 for i in range(at.ndim + 1)])
    return cnp.where(cnp.expand_dims(at, places) == line, values[1], values[0])


def _triangle(x: Any, k: Any = 0, *, upper: int = 1) -> Any:
    diagonal = int(np.asarray(k).reshape(()))
    return cnp.triu(x, diagonal) if upper else cnp.tril(x, diagonal)


def _tiled(x: Any, repeats: Any) -> Any:
    return cnp.tile(x, [int(n) for n in np.asarray(repeats)])


def _depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b, rest = blocksize, c // blocksize**2
    if mode == "DCR":
        y = cnp.transpose(cnp.reshape(x, (n, b, b, rest, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        y = cnp.transpose(cnp.reshape(x, (n, rest, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return y.reshape(n, rest, h * b, w * b)


def _space_to_depth(x: Any, *, blocksize: int) -> Any:
    n, c, h, w = x.shape
    b = blocksize
    y = cnp.transpose(cnp.reshape(x, (n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
    return y.reshape(n, c * b * b, h // b, w // b)


OPERATORS: dict[str, Callable[..., Any]] = {
    **{theirs: _reduction(ours) for ours, theirs in REDUCTIONS.items()},
    **LAYERS,
    "Acos": cnp.arccos,
    "Acosh": cnp.arccosh,
    "ArgMax": _of_largest(cnp.argmax),
    "ArgMin": _of_largest(cnp.argmin),
    "Asin": cnp.arcsin,
    "Asinh": cnp.arcsinh,
    "Atan": cnp.arctan,
    "Atanh": cnp.arctanh,
    "BitShift": _bit_shift,
    "CastLike": lambda x, like, *, saturate=1: _core.convert(_core.array(x), _core.array(like).dtype),
    "Celu": _celu,
    "Clip": _clip,
    "ConstantOfShape": _constant_of_shape,
    "Cosh": cnp.cosh,
    "CumSum": _cumulative_sum,
    "DepthToSpace": _depth_to_space,
    "Div": _divided,
    "Dropout": _dropout,
    "Einsum": lambda *xs, equation: cnp.einsum(equation, *xs),
    "Elu": lambda x, *, alpha=1.0: nn.elu(_core.array(x), alpha),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda x: x * _hard_sigmoid(x, alpha=1 / 6),
    "Identity": lambda x: x,
    "IsInf": _is_inf,
    "IsNaN": cnp.isnan,
    "LeakyRelu": lambda x, *, alpha=0.01: cnp.where(_core.array(x) < 0, alpha * _core.array(x), x),
    "LogSoftmax": lambda x, *, axis=-1: nn.log_softmax(x, axis),
    "MatMul": cnp.matmul,
    "Max": _folded(cnp.maximum),
    "Mean": _mean,
    "Min": _folded(cnp.minimum),
    "Mish": lambda x: x * cnp.tanh(nn.softplus(x)),
    "Mod": _mod,
    "OneHot": _one_hot,
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": lambda x, y: _core.convert(cnp.power(x, y), _core.array(x).dtype),
    "Range": _range,
    "Reciprocal": lambda x: 1 / _core.array(x),
    "ReduceL1": _reduced("ReduceL1", lambda x, **where: cnp.sum(abs(x), **where), integers=True),
    "ReduceL2": _reduced("ReduceL2", lambda x, **where: cnp.sqrt(cnp.sum(x * x, **where))),
    "ReduceLogSum": _reduced("ReduceLogSum", lambda x, **where: cnp.log(cnp.sum(x, **where))),
    "ReduceLogSumExp": _reduced("ReduceLogSumExp", nn.logsumexp),
    "ReduceMean": _reduced("ReduceMean", _averaged, integers=True),
    "ReduceSumSquare": _reduced("ReduceSumSquare", lambda x, **where: cnp.sum(x * x, **where), integers=True),
    "Relu": lambda x: cnp.maximum(x, 0),
    "Reshape": _reshape,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Selu": _selu,
    "Shape": _shape,
    "Shrink": _shrink,
    "Sigmoid": nn.sigmoid,
    "Sinh": cnp.sinh,
    "Size": lambda x: np.asarray(x.size, np.int64),
    "Slice": _slice,
    "Softmax": lambda x, *, axis=-1: nn.softmax(x, axis),
    "Softplus": nn.softplus,
    "Softsign": nn.soft_sign,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sum": _folded(cnp.add),
    "Tan": cnp.tan,
    "ThresholdedRelu": _thresholded,
    "Tile": _tiled,
    "TopK": _top_k,
    "Transpose": lambda x, *, perm=None: cnp.transpose(x, perm),
    "Trilu": _triangle,
    "Unsqueeze": lambda x, axes: cnp.expand_dims(x, tuple(np.asarray(axes).tolist())),
}
