// Docstrings of Array, and of its properties that are written in C++.
#pragma once

namespace ct::python::documentation {

inline constexpr char kShape[] = R"(Sizes of the axes, a tuple.

Examples
--------
>>> ct.numpy.ones((2, 3)).shape
(2, 3)
)";

inline constexpr char kDtype[] = R"(Element type, a numpy.dtype.

Examples
--------
>>> ct.numpy.ones(2).dtype
dtype('float32')
)";

inline constexpr char kNdim[] = R"(Number of axes.

Examples
--------
>>> ct.numpy.ones((2, 3)).ndim
2
)";

inline constexpr char kSize[] = R"(Number of elements.

Examples
--------
>>> ct.numpy.ones((2, 3)).size
6
)";

inline constexpr char kNbytes[] = R"(Bytes of all elements.

Examples
--------
>>> ct.numpy.ones((2, 3)).nbytes
24
)";

inline constexpr char kItemsize[] = R"(Bytes of one element.

Examples
--------
>>> ct.numpy.ones((2, 3)).itemsize
4
)";

inline constexpr char kWeakType[] = R"(Whether the dtype came from a Python number and yields to others.

Examples
--------
>>> ct.numpy.asarray(1.0).weak_type, ct.numpy.ones(2).weak_type
(True, False)
)";

inline constexpr char kArray[] = R"(An n-dimensional array: concrete, or traced while a transform captures a function.

Functions of `ct.numpy` make arrays; the class is for ``isinstance``. It has the methods and operators of NumPy's arrays;
``x.at[i].set(y)`` returns a changed copy, and ``x[i] = y`` makes the object one, in the function that made it; memory never
changes. NumPy reads it without a copy, as a read-only array.

Examples
--------
>>> x = ct.numpy.array([[1.0, 2.0], [3.0, 4.0]])
>>> isinstance(x, ct.Array), x.shape, x.dtype
(True, (2, 2), dtype('float32'))
>>> x.at[0, 0].set(9.0).tolist()
[[9.0, 2.0], [3.0, 4.0]]
)";

}  // namespace ct::python::documentation
