"""JAX's phrases in errors of `jax.lax`, of control flow and of linear algebra, as those in `phrases_of_arrays`."""

from __future__ import annotations

__all__ = ["PHRASES_OF_LAX"]

PHRASES_OF_LAX = [
    # Shapes and axes
    (r"^lax\.broadcast_in_dim: \d+ axes need as many positions", "broadcast_dimensions must have length equal to operand ndim"),
    (r"^lax\.broadcast_in_dim: shape .* does not fit", "operand dimension sizes must either be 1, or be equal to their corresponding "
     "dimensions in the target broadcast shape"),
    (r"^lax\.broadcast_in_dim: an axis is named twice in (.*)", "broadcast_in_dim broadcast_dimensions must not contain duplicates, got {1}"),
    (r"^lax\.squeeze: an axis is named twice in (.*)", "dimensions are not unique: {1}"),
    (r"^lax\.squeeze: axis (\d+) of shape (\(.*\)) has not size 1",
     "cannot select an axis to squeeze out which has size not equal to one, got shape={2} and dimensions=({1},)"),
    (r"^lax\.squeeze: the axes must be an integer; got (\w+)", "'{1}' object cannot be interpreted as an integer"),
    (r"^lax\.split: sizes \((-?[\d, ]*-[\d, ]*)\) do not add up to (\d+)", "Sizes passed to split must be nonnegative, got {1}"),
    (r"^lax\.broadcast_shapes: sizes must not be negative", "Only non-negative indices are allowed when broadcasting static shapes"),
    (r"^lax\.pad: the padding must be a scalar; got shape (.+)", "padding_value must be a scalar; got shape {1}"),
    (r"^lax\.(\w+): axis (\(.*\)) names an axis twice", "duplicate value in 'axes' of {1}: {2}"),
    # Dtypes
    (r"^lax\.(\w+) takes operands of one dtype; got (.+)", "lax.{1} requires arguments to have the same dtypes, got {2}. "
     "(Tip: jnp.{1} is a similar function that does automatic type promotion on inputs)."),
    (r"^lax\.(\w+) takes .* arrays; got (\w+)", "{1} does not accept dtype {2}."),
    (r"^lax\.arg(?:min|max): index_dtype must be an integer dtype; got (\w+)", "index_dtype must be an integer type, but got {1}"),
    # Windows and products
    (r"padding must be \"SAME\", .*; got (.+)", "padding argument must be a string or a sequence of (low, high) integer pairs, got {1}"),
    (r"^convolution: input and filters must have equal ranks; got (\d+) and (\d+)",
     "conv_general_dilated lhs and rhs must have the same number of dimensions; got {1} and {2}"),
    (r"^lax\.conv: window_strides needs one number for each of (\d+) axes; got (.+)",
     "conv_general_dilated window and window_strides must have the same number of dimensions; got {1} and {2}"),
    (r"^lax\.reduce_window: (window_\w+) must be positive; got (.+)", "reduce_window {1} must have every element be positive, got {2}"),
    (r"^lax\.reduce_window: init_value must be a scalar; got shape (.+)",
     "reduce_window expected init_values to be scalars but init_values have shapes [{1}]."),
    (r"^lax\.reduce: init_values must be scalars; got shape (.+)", "reduce found non-scalar initial value: shape {1}"),
    (r"^dot: axis (\d+) of shape (\(.*\)) and axis (\d+) of shape (\(.*\)) are summed together",
     "dot_general requires contracting dimensions to have the same shape, got {2} and {4}."),
    (r"^fft: (\d+) transformed axes do not fit (\w+)\[(.*)\]",
     "FFT input shape ({3}) must have at least as many input dimensions as fft_lengths, of which there are {1}"),
    (r"^lax\.ragged_dot: one axis of lhs is ragged", "ragged_dot_general expects exactly one lhs ragged dimension"),
    (r"^lax\.ragged_dot: the ragged axis (-?\d+) must be one of lhs",
     "ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and less than the number of axes of the lhs; got {1}"),
    (r"^lax\.ragged_dot: rhs holds no groups where",
     "ragged_dot_general requires zero group dimensions in the rhs when lhs ragged dimension is contracting or batch"),
    (r"^lax\.ragged_dot: axis (\d+) of rhs holds the groups, and",
     "ragged_dot_general requires rhs group dimension numbers to be distinct from contracting and batch dimensions; got {1}"),
    (r"^lax\.ragged_dot: group_sizes has (\d+) groups, axis \d+ of rhs (\d+)", "expected rhs group dimension size to be {1}, got {2}"),
    (r"^lax\.ragged_dot: one axis of rhs holds the groups",
     "ragged_dot_general requires exactly one rhs group dimension when lhs ragged dimension is noncontracting"),
    # Control flow
    (r"^(fori_loop|while_loop|scan|cond|switch|associative_scan) expects a function, got (.+)", "lax.{1}: expected a callable, got {2}"),
    (r"^scan: xs(\S*) is a scalar", "scan got value with no leading axis to scan over at xs{1}"),
    (r"^(\w+): (.+) must return a carry of the structure",
     "{1} body {2}: function carry input and carry output must have the same pytree structure, but they differ"),
    (r"^(\w+): (.+): carry\S* has (?:dtype|shape) .+ on entry but the body returns",
     "{1} body {2}: function carry input and carry output must have equal types, but they differ"),
    (r"^scan: (.+) must return a pair \(carry, y\); it returned (.+)", "scan body output must be a pair, got {2}."),
    (r"^while_loop: (.+) must return one bool scalar; it returned (.+)",
     "cond_fun must return a boolean scalar, but got pytree or output type(s) {2}."),
    (r"^switch expects an index, and then functions; got (.+) and", "Index type must be an integer, got {1}"),
    (r"^platform_dependent: no function for the platform '(\w+)'", "translation rule not found for platform {1}"),
    (r"^custom_linear_solve: reverse mode needs a way to solve",
     "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve"),
    # Linear algebra
    (r"^norm: (.+) is no order of a vector norm", "Invalid order {1} for vector norm."),
    (r"^companion needs at least 2 elements; got shape (.+)", "The length of `a` along the last axis must be at least 2; got shape {1}"),
    (r"^(\w+): n must be positive; got (.+)", "n must be a positive integer, got {2}"),
    (r"^fiedler_companion needs at least 1 elements", "The input must be nonzero: it has no leading coefficient"),
    (r"^leslie takes f with at least two elements",
     "The length of f along the last axis must be at least 2, and one more than that of s"),
    (r"^invpascal: kind must be .*; got (.+)", "Expected kind to be one of: 'symmetric', 'lower', 'upper'; got {1}"),
    (r"^cg: x0 and b must have the same structure; got (.+)", "x0 and b must have matching tree structure: {1}"),
]  # fmt: skip
