// Docstrings of Graph, in the style of all: numpydoc's sections, with an example that is executed.
#pragma once

namespace ct::python::documentation {

inline constexpr char kGraph[] = R"(A captured program: a pure function of arrays as a list of equations.

What `ct.make_ir` and `ct.ir.parse` return. Printed, it has shapes, dtypes, bytes and the user's lines; graphs of the same
program are equal. `ct.ir.equations` lists its equations.

Examples
--------
>>> graph = ct.make_ir(lambda x, y: x * y)(2.0, 3.0)
>>> graph.num_inputs, graph.num_equations
(2, 1)
)";

inline constexpr char kAval[] = R"(Returns shape, dtype and weak type of a variable.

Parameters
----------
var : int
    Its number.

Returns
-------
tuple
    A tuple of int, a dtype, and a bool.

Raises
------
IndexError
    There is no such variable.

Examples
--------
>>> ct.make_ir(lambda x: x * 2)(np.float32([1, 2])).aval(0)
((2,), dtype('float32'), False)
)";

inline constexpr char kEquations[] = R"(Lists the equations as dicts; `ct.ir.equations` has them as objects.

Returns
-------
list of dict
    In the order in which they run.

Examples
--------
>>> [eqn["primitive"] for eqn in ct.make_ir(lambda x: ct.numpy.exp(-x))(1.0).equations()]
['neg', 'exp']
)";

inline constexpr char kBindEquation[] =
    R"(Returns the results of an equation for other operands; `ct.ir.Equation.bind` does.

Parameters
----------
index : int
    Which equation.
operands : list of array
    One for each operand.
changes : dict
    Attributes that replace the equation's own.

Returns
-------
list of array
    One for each result: computed, or recorded where a transform is capturing.

Examples
--------
>>> graph = ct.make_ir(lambda x: x.sum(axis=1))(np.ones((2, 3), np.float32))
>>> graph.bind_equation(0, [np.float32([[1, 2], [3, 4]])], {"axes": [0]})
[Array([4., 6.], dtype=float32)]
)";

inline constexpr char kExpandEquation[] = R"(Returns what an equation is made of; `ct.ir.Equation.expand` does.

Parameters
----------
index : int
    Which equation.

Returns
-------
Graph or None
    A graph of its operands; None where it is elementary.

Examples
--------
>>> ct.make_ir(ct.numpy.sin)(1.0).expand_equation(0) is None
True
)";

inline constexpr char kText[] = R"(Returns the text form, which `ct.ir.parse` reads back.

Returns
-------
str
    One equation a line.

Examples
--------
>>> graph = ct.make_ir(lambda x: x * 2)(1.0)
>>> ct.ir.parse(graph.text()) == graph
True
)";

inline constexpr char kEvaluate[] = R"(Runs the program, operation by operation.

Parameters
----------
operands : list of array
    One for each input.

Returns
-------
list of array
    The outputs.

Examples
--------
>>> [float(y) for y in ct.make_ir(lambda x: x * 2)(1.0).evaluate([3.0])]
[6.0]
)";

inline constexpr char kEvaluateReference[] =
    R"(Runs the program, operation by operation, each as simply as it can be computed: what compiled programs are tested with.

Parameters
----------
operands : list of array
    One for each input.

Returns
-------
list of array
    The outputs.

Examples
--------
>>> [float(y) for y in ct.make_ir(lambda x: x * 2)(1.0).evaluate_reference([3.0])]
[6.0]
)";

inline constexpr char kCheck[] = R"(Looks for what is wrong with the program.

Returns
-------
str
    What it is; empty where nothing is.

Examples
--------
>>> ct.make_ir(lambda x: x * 2)(1.0).check()
''
)";

inline constexpr char kSerialize[] = R"(Returns the program as bytes, which `ct.ir.deserialize` reads back.

Returns
-------
bytes
    The same for equal graphs.

Examples
--------
>>> graph = ct.make_ir(lambda x: x * 2)(1.0)
>>> ct.ir.deserialize(graph.serialize()) == graph
True
)";

}  // namespace ct::python::documentation
