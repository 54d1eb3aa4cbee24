# Written from the records of primitives by `./dev docs`.
import builtins
from collections.abc import Sequence
from typing import Any

from cotangent._core import Array, Graph, Primitive

class _Plain(Primitive):
    def __call__(self, *operands: Any) -> Array: ...

class _Several:
    def __call__(self, *operands: Any) -> list[Array]: ...

class _AllGather(Primitive):
    def __call__(self, *operands: Any, axis_name: str, axis_size: int) -> Array: ...

class _AllToAll(Primitive):
    def __call__(self, *operands: Any, axis_name: str, axis_size: int) -> Array: ...

class _AxisIndex(Primitive):
    def __call__(self, *operands: Any, axis_name: str, axis_size: int) -> Array: ...

class _Bitcast(Primitive):
    def __call__(self, *operands: Any, dtype: Any) -> Array: ...

class _Broadcast(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int], shape: Sequence[int]) -> Array: ...

class _Call:
    def __call__(self, *operands: Any, graph: Graph, name: str, rule: Any = ..., backend: str = ...) -> list[Array]: ...

class _Checkpoint:
    def __call__(self, *operands: Any, graph: Graph, policy: str, prevent_cse: bool, recomputes: bool) -> list[Array]: ...

class _Cholesky(Primitive):
    def __call__(self, *operands: Any, upper: bool = ...) -> Array: ...

class _Concatenate(Primitive):
    def __call__(self, *operands: Any, axis: int) -> Array: ...

class _Cond:
    def __call__(self, *operands: Any, branches: Sequence[Graph]) -> list[Array]: ...

class _Convert(Primitive):
    def __call__(self, *operands: Any, dtype: Any, weak: bool = ...) -> Array: ...

class _Cummax(Primitive):
    def __call__(self, *operands: Any, axis: int, reverse: bool) -> Array: ...

class _Cummin(Primitive):
    def __call__(self, *operands: Any, axis: int, reverse: bool) -> Array: ...

class _Cumprod(Primitive):
    def __call__(self, *operands: Any, axis: int, reverse: bool) -> Array: ...

class _Cumsum(Primitive):
    def __call__(self, *operands: Any, axis: int, reverse: bool) -> Array: ...

class _CustomJvp:
    def __call__(self, *operands: Any, closed: int = ..., graph: Graph, jvp: Graph = ..., rule: Any = ...) -> list[Array]: ...

class _CustomVjpLinear:
    def __call__(self, *operands: Any, backward: Graph, num_residuals: int) -> list[Array]: ...

class _DimensionSize(Primitive):
    def __call__(self, *operands: Any, axis: int) -> Array: ...

class _DotGeneral(Primitive):
    def __call__(self, *operands: Any, lhs_batch: Sequence[int], lhs_contract: Sequence[int], rhs_batch: Sequence[int], rhs_contract: Sequence[int]) -> Array: ...

class _DynamicSlice(Primitive):
    def __call__(self, *operands: Any, batch_dims: int, sizes: Sequence[int]) -> Array: ...

class _DynamicUpdateSlice(Primitive):
    def __call__(self, *operands: Any, batch_dims: int) -> Array: ...

class _Eig:
    def __call__(self, *operands: Any, left: bool, right: bool) -> list[Array]: ...

class _Eigh:
    def __call__(self, *operands: Any, compute_vectors: bool, lower: bool) -> list[Array]: ...

class _Elementwise(Primitive):
    def __call__(self, *operands: Any, graph: Graph, name: str, partials: Sequence[Graph] = ...) -> Array: ...

class _Fft(Primitive):
    def __call__(self, *operands: Any, kind: str, lengths: Sequence[int]) -> Array: ...

class _FillPadding(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int], value: float) -> Array: ...

class _Full(Primitive):
    def __call__(self, *operands: Any, dtype: Any, shape: Sequence[int], value: builtins.complex, weak: bool) -> Array: ...

class _Gather(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int) -> Array: ...

class _HostCallback:
    def __call__(self, *operands: Any, batching: str, callback: Any, effect: str, lengths: int, ragged: Sequence[int], results: str) -> list[Array]: ...

class _Iota(Primitive):
    def __call__(self, *operands: Any, axis: int, dtype: Any, shape: Sequence[int]) -> Array: ...

class _LinearSolve:
    def __call__(self, *operands: Any, matvec: Graph, num_constants: Sequence[int], solve: Graph, transpose_solve: Graph = ..., vecmat: Graph = ...) -> list[Array]: ...

class _LuSolve(Primitive):
    def __call__(self, *operands: Any, conjugate_a: bool, transpose_a: bool) -> Array: ...

class _Mask:
    def __call__(self, *operands: Any, bounds: Sequence[int] = ..., graph: Graph, in_ragged: Sequence[int], num_lengths: int, out_ragged: Sequence[int]) -> list[Array]: ...

class _Pad(Primitive):
    def __call__(self, *operands: Any, high: Sequence[int], interior: Sequence[int], low: Sequence[int]) -> Array: ...

class _Ppermute(Primitive):
    def __call__(self, *operands: Any, axis_name: str, axis_size: int, sources: Sequence[int]) -> Array: ...

class _Psum(Primitive):
    def __call__(self, *operands: Any, axis_name: str, axis_size: int) -> Array: ...

class _Qr:
    def __call__(self, *operands: Any, full_matrices: bool, pivoting: bool) -> list[Array]: ...

class _RaggedConcatenate(Primitive):
    def __call__(self, *operands: Any, axis: int) -> Array: ...

class _RaggedPlace(Primitive):
    def __call__(self, *operands: Any, axis: int, size: int, start: int) -> Array: ...

class _RaggedWindow(Primitive):
    def __call__(self, *operands: Any, axis: int, size: int, start: int) -> Array: ...

class _ReduceMax(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int]) -> Array: ...

class _ReduceMin(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int]) -> Array: ...

class _ReduceProd(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int]) -> Array: ...

class _ReduceSum(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int]) -> Array: ...

class _Reshape(Primitive):
    def __call__(self, *operands: Any, shape: Sequence[int]) -> Array: ...

class _Reverse(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int]) -> Array: ...

class _Scan:
    def __call__(self, *operands: Any, counted: bool = ..., graph: Graph, length: int, num_carries: int, num_constants: int, pieces: bool = ..., reverse: bool) -> list[Array]: ...

class _Scatter(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int, unique: bool = ...) -> Array: ...

class _ScatterAdd(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int, unique: bool = ...) -> Array: ...

class _ScatterMax(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int, unique: bool = ...) -> Array: ...

class _ScatterMin(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int, unique: bool = ...) -> Array: ...

class _ScatterMul(Primitive):
    def __call__(self, *operands: Any, axis: int, batch_dims: int, unique: bool = ...) -> Array: ...

class _Schur:
    def __call__(self, *operands: Any, compute_vectors: bool) -> list[Array]: ...

class _SetLength(Primitive):
    def __call__(self, *operands: Any, axis: int, cuts: bool = ...) -> Array: ...

class _Slice(Primitive):
    def __call__(self, *operands: Any, limit: Sequence[int], start: Sequence[int], stride: Sequence[int]) -> Array: ...

class _Sort:
    def __call__(self, *operands: Any, axis: int, count: int = ..., descending: bool = ..., num_keys: int, ragged: bool = ..., unread: bool = ...) -> list[Array]: ...

class _Svd:
    def __call__(self, *operands: Any, compute_uv: bool, full_matrices: bool) -> list[Array]: ...

class _Tag(Primitive):
    def __call__(self, *operands: Any, name: str) -> Array: ...

class _Transpose(Primitive):
    def __call__(self, *operands: Any, permutation: Sequence[int]) -> Array: ...

class _TriangularSolve(Primitive):
    def __call__(self, *operands: Any, conjugate_a: bool, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool) -> Array: ...

class _VmapRegion:
    def __call__(self, *operands: Any, binds: str = ..., graph: Graph, in_axes: Sequence[int], size: int) -> list[Array]: ...

class _While:
    def __call__(self, *operands: Any, body: Graph, condition: Graph, num_body_constants: int, num_condition_constants: int) -> list[Array]: ...

class _WindowSlice(Primitive):
    def __call__(self, *operands: Any, axes: Sequence[int], dilation: Sequence[int], offset: Sequence[int], sizes: Sequence[int], step: Sequence[int], window_axes: Sequence[int], window_step: Sequence[int]) -> Array: ...

abs: _Plain
add: _Plain
all_gather: _AllGather
all_to_all: _AllToAll
and_: _Plain
atan2: _Plain
axis_index: _AxisIndex
bitcast: _Bitcast
broadcast: _Broadcast
call: _Call
ceil: _Plain
checkpoint: _Checkpoint
cholesky: _Cholesky
clamp_length: _Plain
complex: _Plain
concatenate: _Concatenate
cond: _Cond
conj: _Plain
convert: _Convert
cos: _Plain
cummax: _Cummax
cummin: _Cummin
cumprod: _Cumprod
cumsum: _Cumsum
custom_jvp: _CustomJvp
custom_vjp_linear: _CustomVjpLinear
dimension_size: _DimensionSize
div: _Plain
div_no_nan: _Plain
dot_general: _DotGeneral
dynamic_slice: _DynamicSlice
dynamic_update_slice: _DynamicUpdateSlice
eig: _Eig
eigh: _Eigh
elementwise: _Elementwise
eq: _Plain
erf: _Plain
exp: _Plain
expm1: _Plain
fft: _Fft
fill_padding: _FillPadding
floor: _Plain
full: _Full
gather: _Gather
ge: _Plain
gt: _Plain
host_callback: _HostCallback
imag: _Plain
iota: _Iota
is_finite: _Plain
le: _Plain
leading_zeros: _Plain
linear_solve: _LinearSolve
log: _Plain
log1p: _Plain
lt: _Plain
lu: _Several
lu_solve: _LuSolve
mask: _Mask
max: _Plain
min: _Plain
mul: _Plain
mul_no_nan: _Plain
ne: _Plain
neg: _Plain
not_: _Plain
or_: _Plain
pad: _Pad
population_count: _Plain
pow: _Plain
ppermute: _Ppermute
psum: _Psum
qr: _Qr
ragged_concatenate: _RaggedConcatenate
ragged_place: _RaggedPlace
ragged_window: _RaggedWindow
real: _Plain
reduce_max: _ReduceMax
reduce_min: _ReduceMin
reduce_prod: _ReduceProd
reduce_sum: _ReduceSum
rem: _Plain
reshape: _Reshape
reverse: _Reverse
round: _Plain
scan: _Scan
scatter: _Scatter
scatter_add: _ScatterAdd
scatter_max: _ScatterMax
scatter_min: _ScatterMin
scatter_mul: _ScatterMul
schur: _Schur
select: _Plain
set_length: _SetLength
shift_left: _Plain
shift_right_arithmetic: _Plain
shift_right_logical: _Plain
sign: _Plain
sin: _Plain
slice: _Slice
sort: _Sort
sqrt: _Plain
stop_gradient: _Plain
sub: _Plain
svd: _Svd
sylvester: _Plain
tag: _Tag
tanh: _Plain
threefry2x32: _Several
transpose: _Transpose
triangular_solve: _TriangularSolve
vmap_region: _VmapRegion
while_: _While
window_slice: _WindowSlice
xor: _Plain
