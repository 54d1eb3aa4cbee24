// Docstrings of exceptions: when each is raised, what to do, and an example that is executed.
#pragma once

namespace ct::python::documentation {

inline constexpr char kShapeError[] = R"(Shapes that an operation cannot combine.

Raised by nearly every function of arrays, when it is called or captured. Look at the shapes in the message; bring them
together by indexing with ``None``, ``reshape`` or ``broadcast_to``. It is a TypeError and a ValueError.

Examples
--------
>>> np.float32([1, 2]) + ct.numpy.ones(3)
Traceback (most recent call last):
    ...
cotangent.errors.ShapeError: ...
)";

inline constexpr char kDTypeError[] = R"(A dtype that an operation does not take.

Raised by functions that are not defined for integers, bools, complex numbers or random keys, and by derivatives of
integers. Convert with ``astype``, or differentiate with respect to another argument. It is a TypeError and a ValueError.

Examples
--------
>>> ct.grad(lambda n: n * 2.0)(3)
Traceback (most recent call last):
    ...
cotangent.errors.DTypeError: ...
)";

inline constexpr char kConcretizationError[] =
    R"(The value of a traced array was asked for while there is none, or to leave a program that is differentiated.

Raised in functions under `jit`, `vmap`, `mask` and loops, by ``if``, ``while``, ``int``, ``float``, ``range`` and NumPy. Use
``ct.numpy.where``, ``ct.lax.cond`` or ``ct.lax.while_loop``; or make the argument static, ``jit(f, static_argnums=...)``.

Examples
--------
>>> ct.jit(lambda x: x if x > 0 else -x)(1.0)
Traceback (most recent call last):
    ...
cotangent.errors.ConcretizationError: ...
)";

inline constexpr char kTracerLeakError[] = R"(A traced array was used after the function that made it had returned.

Raised where a function under a transform has stored an array outside of itself: in a list, a global, an attribute. Return it
instead.

Examples
--------
>>> kept = []
>>> _ = ct.jit(lambda x: kept.append(x) or x)(1.0)
>>> kept[0] + 1
Traceback (most recent call last):
    ...
cotangent.errors.TracerLeakError: ...
)";

inline constexpr char kCorruptFileError[] = R"(A saved file that is damaged or of another format.

Raised by `ct.export.load`, `ct.ir.deserialize`, `ct.Ragged.load` and `ct.interop.safetensors.load`. Write the file again. It
is a ValueError.

Examples
--------
>>> ct.ir.deserialize(b"nothing")
Traceback (most recent call last):
    ...
cotangent.errors.CorruptFileError: ...
)";

inline constexpr char kNotDifferentiableError[] =
    R"(A derivative that does not exist or that the operation does not define.

Raised by `grad`, `jvp` and the others, for callbacks, forward mode through `custom_vjp`, and operations that are not linear
under `linear_transpose`. Give the function a rule with `custom_jvp` or `custom_vjp`, or keep it out of the derivative with
``ct.lax.stop_gradient``.

Examples
--------
>>> f = lambda x: ct.pure_callback(np.sinh, x, x)
>>> ct.grad(f)(1.0)
Traceback (most recent call last):
    ...
cotangent.errors.NotDifferentiableError: ...
)";

inline constexpr char kDeviceError[] = R"(A device that is not there, or whose driver reports a failure.

Raised by `ct.devices`, `ct.device_put`, programs for a GPU, and by what waits for their results. The message has what the
driver says. ``backend="cpu"`` runs the program on the processor.

Examples
--------
>>> try:
...     found = ct.devices("cuda")
... except ct.errors.DeviceError:
...     found = []
>>> len(found) == len(ct.devices()) - 1
True
)";

inline constexpr char kInternalError[] = R"(A bug of cotangent.

Raised where the library finds itself in a state that cannot be. Report the message with the program that causes it.

Examples
--------
>>> issubclass(ct.errors.InternalError, RuntimeError)
True
)";

}  // namespace ct::python::documentation
