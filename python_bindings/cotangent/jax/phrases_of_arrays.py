"""JAX's phrases in errors of functions of arrays: our wording as a pattern, and the phrase, in which ``{name}`` is the function that was called.

`wording` reads the table.
"""

from __future__ import annotations

__all__ = ["PHRASES_OF_ARRAYS"]

PHRASES_OF_ARRAYS = [
    # Shapes, axes and sizes
    (r"axis (\(.*\)|\[.*\]) names an axis twice", "duplicate value in 'axis': {1} (repeated axis)"),
    (r"^cannot broadcast shape (\(.*\)) to (\(.*\))\n  sum or index", "Cannot broadcast to shape with fewer dimensions: arr_shape={1} shape={2}"),
    (r"^cannot broadcast shape (\(.*\)) to (\(.*\))", "Incompatible shapes for broadcasting: {1} and requested shape {2}"),
    (r"^(?:\w+: )?a size (?:must be an integer; got (.+)|is a value that the program computes)",
     "Shapes must be 1D sequences of concrete values of integer type, got {1}\n"
     "If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions. It arose in jax.nn.{name} argument `num_classes`, "
     "or in another size."),
    (r"^(\w+): shape is one argument, a tuple where there are several; got (.+)",
     "Did you accidentally write `jax.numpy.{name}({2})` when you meant `jax.numpy.{name}(({2}))`?"),
    (r"^diagonal: axis1 and axis2 must be different", "axis1 and axis2 can not be same"),
    (r"^rot90: axis \d+ is out of bounds", "rot90 requires its first argument to have ndim at least two, but got first argument of fewer"),
    (r"^tensordot: axes=(\d+) does not fit arrays with (\d+) and (\d+) axes",
     "Number of tensordot axes (axes {1}) exceeds input ranks ({2} and {3})"),
    (r"^tensordot: axes must be an integer, or", "tensordot axes argument must be an int, a pair of ints, or a pair of lists of ints."),
    (r"^tensordot: axes must come in pairs",
     "tensordot requires axes lists to have equal length; tensordot requires both axes lists to be either ints, tuples or lists"),
    (r"^(\w+): s must have at most (\d+) elements; got (\d+)", "s must have at most x.ndim ({2}) elements, got {3}"),
    # Dtypes
    (r"^(?:\w+: )?the dtype must be floating or complex; got|^cov: the dtype must be floating", "{name}: dtype must be a subclass of float or complex"),
    (r"^not a supported dtype: (.+)", "data type {1} not understood: JAX only supports number, bool, and string dtypes"),
    (r"^the Python int (-?\d+) does not fit (\w+)", "Python int too large to convert to {2}: {1}"),
    (r"with an element of type NoneType", "None is not a valid value for jnp.array"),
    (r"^clip takes real arrays", "Complex values have no ordering and cannot be clipped."),
    (r"^hypot takes real arrays", "jnp.hypot is not well defined for complex-valued inputs."),
    (r"^arange takes real start, stop and step", "Passing complex start/stop/step to jnp.arange is no longer supported"),
    (r"^sici takes real arrays", "Argument `x` to sici must be real-valued."),
    (r"integers cannot be raised to the negative power (-\d+)", "Integers cannot be raised to negative powers, got integer_pow(…, {1})"),
    # Reductions
    (r"where must be an array of bools; got (\S+)", "jnp.{name}: where must be None or a boolean array; got dtype={1}."),
    (r"initial must be a number; got an array of shape (\(.*\))", "initial value must be a scalar. Got array of shape {1}"),
    (r"^(argm\w+) of zero elements", "attempt to get {1} of an empty sequence: reductions require non-empty reduced dimension"),
    (r"^cumulative_\w+: an array with 0 axes", "The input must be non-scalar to take a cumulative sum, however a scalar value was given."),
    (r"^cumulative_\w+: an array with (\d+) axes", "The input array has rank {1}, however axis was not set to an explicit value."),
    # Ranges
    (r"^arange: a bound is a value",
     "It arose in a slice start of jnp.mgrid or jnp.ogrid; or: It arose in the jnp.arange argument 'start'; or: It arose in the jnp.arange argument 'stop'"),
    (r"^(c_|r_): '(.*)' is not a directive", "could not understand directive '{2}'"),
    # Indices
    (r"^indices must be integers; got (\S+)", "{name} indices must be of integer type, got {1}"),
    (r"^take: axis \d+ has no elements", "Cannot do a non-empty jnp.take() from an empty axis."),
    (r"^a bool index of shape (\(.*\)) does not fit axes of sizes (\(.*\))", "boolean index did not match shape of indexed array: {1} and {2}"),
    (r"^cannot index axis (\d+), which has no elements", "index is out of bounds for axis {1} with size 0"),
    (r"^cannot index axis \d+ with str", "JAX does not support string indexing"),
    (r"^arrays used as indices must be of integers or bools; axis \d+ is indexed with (\w+)",
     "Indexer must have integer or boolean type, got indexer with type {1}"),
    (r"^cannot index axis \d+ with (\w+)", "Indexer must have integer or boolean type, got indexer with type {1}"),
    (r"^choose: mode .raise. needs indices",
     "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use mode='wrap' or mode='clip' instead."),
    (r"^ravel_multi_index: .*known when the program",
     "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. Use mode='wrap' or mode='clip' instead."),
    # Other functions
    (r"^pad: mode '?(\w+)'? is not supported", "Unimplemented padding mode '{1}' for np.pad."),
    (r"^vectorize: dimension '(\w+)' is (\d+), but (\d+)", "inconsistent size for core dimension '{1}': {3} vs {2}"),
    (r"^vectorize: excluded positions must not be negative; got (.+)", "excluded={{{1}}} contains negative numbers"),
    (r"^vectorize: argument (\d+) is None, but the signature", "Cannot pass None at locations {{{1}}} with a signature that has axes there"),
    (r"^debug\.print: the format does not use these arguments: (.+)",
     "Unused keyword arguments to `jax.debug.print`: ['{1}']. You may be passing an f-string"),
    (r"^debug\.callback expects a function, got (.+)", "first argument to debug callback must be callable, got {1}; or: "
     "debug_callback received unexpected arguments in the two-call form"),
    (r"^check: pred must be a bool scalar; got (.+)", "debug_check takes a scalar pred; got {1}"),
    (r"^variance_scaling needs weights of at least two axes; got shape (.+)", "Can't compute input and output sizes of a 1-dimensional weights "
     "tensor with default in_axis. Must be at least 2D or specify in_axis explicitly."),
    (r"^map_coordinates: mode '(.*)' is not supported", "jax.scipy.ndimage.map_coordinates does not yet support mode {1}"),
    (r"^host_callback: vmap of a pure_callback", "vmap is only supported for pure_callback with a vmap_method"),
    (r"^pad: mode '(\w+)' takes (?:the|no) options?.*; got (.+)", "unsupported keyword arguments for mode '{1}': {2}"),
    (r"^vectorize: the signature has (\d+) arguments?, but (\d+) are given", "wrong number of positional arguments: expected {1}, got {2}"),
    (r"^vectorize: argument \d+ of shape (\(.*\)) needs the axes", "input with shape {1} does not have enough dimensions for all core dimensions"),
    (r"^vectorize: excluded holds positions and names", "jax.numpy.vectorize can only exclude integers and strings"),
    (r"^vectorize: the function returned shape (\(.*\)), but the signature has (\((\w+).*\)) with",
     "output shape {1} does not match core dimensions {2}: inconsistent size for core dimension '{3}'"),
    (r"^vectorize: the signature has (\d+) results?; the function returned (\d+)",
     "wrong number of output arguments: expected {1}, got {2} (output must be a tuple of them)"),
    (r"^(\w+) takes one axis; got (.+)",
     "jax.numpy.fft.{1} does not support multiple axes. Please use jax.numpy.fft.{1}n. Got axis = {2}."),
    (r"^(\w+2) takes two axes; got (.+)", "jax.numpy.fft.{1} only supports 2 axes. Got axes = {2}."),
    (r"^(\w+n): axes must not repeat; got (.+)", "jax.numpy.fft.{1} does not support repeated axes. Got axes {2}."),
    (r"^minimize: args must be a tuple; got (.+)", "args argument to jax.scipy.optimize.minimize must be a tuple, got {1}"),
    (r"^map_coordinates: order (\S+) is not supported", "jax.scipy.ndimage.map_coordinates currently requires order<=1"),
    # Random numbers
    (r"^bits: the dtype must be an unsigned integer; got (\w+)", "dtype argument to `bits` must be an unsigned int dtype, got {1}"),
    (r"^(\w+): the dtype must be (floating|an integer); got (\w+)", "dtype argument to `{1}` must be a dtype that is {2}, got {3}"),
    (r"^categorical: (\d+) different positions were asked for, but there are (\d+)",
     "Number of samples without replacement ({1}) cannot exceed number of categories ({2})."),
    (r"^expected one random key; this function got an array of keys of shape (\(.*\))",
     "{name} accepts a single key, but was given a key array of shape {1}."),
    (r"the seed must be an integer scalar; got (.+)", "PRNG key seed must be an integer; {name} accepts a scalar seed; got {1}"),
    (r"^there is no random generator (.+)", "unrecognized PRNG implementation {1}"),
    (r"^an array of random keys cannot be converted", "JAX array with PRNGKey dtype cannot be converted to a NumPy array."),
    # Arrays
    (r"^__cuda_array_interface__: of arrays on a GPU", "__cuda_array_interface__ is only defined for NVIDIA GPU buffers."),
    (r"^the buffer protocol has no format for bfloat16", "Buffers of type BF16 are not supported by the Python buffer protocol."),
    (r"^this array of type .* was deleted", "Array has been deleted."),
    # Operators, whichever operand is on the left
    (r"^an operator has an array and an? (\w+)", "unsupported operand type(s): 'ArrayImpl' and '{1}'; or: '{1}' and 'ArrayImpl'"),
    (r"^an array cannot be compared with an? (\w+)", "unsupported operand type(s): 'ArrayImpl' and '{1}'"),
]  # fmt: skip
