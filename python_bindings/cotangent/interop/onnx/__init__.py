"""Programs to and from ONNX: `export` writes a function as a model, `load` gives a model as a function of ours.

Both read one table of primitives and operators (``_table.py``); what it has not is an error that names the operation and the user's line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name
from cotangent._base.missing import needed
from cotangent._base.names import suggest_names
from cotangent.interop.onnx._reader import OPSET, Reader, unread
from cotangent.interop.onnx._writer import Writer, onnx_package
from cotangent.interop.onnx._writing import SPECIAL

__all__ = ["export", "load"]


def export(fun: Callable[..., Any], *specs: Any, name: str | None = None) -> Any:
    """Makes of a function a model of ONNX (opset 18), with what it closes over inside.

    ONNX has no derivatives: rules of `custom_jvp`, `stop_gradient` and the like are not part of a model.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays, transformed or not.
    *specs : pytrees of arrays or ShapeDtypeStruct
        Its arguments; only shapes and dtypes matter. The model's inputs are their leaves, its outputs those of the
        result.
    name : str, optional
        Of the model's graph; by default the function's.

    Returns
    -------
    onnx.ModelProto
        For ``onnx.save(model, "model.onnx")``.

    Raises
    ------
    NotImplementedError
        An operation that is no operator of ONNX here; it names the user's line.
    ImportError
        onnx is not installed.

    Examples
    --------
    >>> model = ct.interop.onnx.export(lambda x: ct.numpy.tanh(x) * 2, ct.numpy.ones(3))
    >>> [node.op_type for node in model.graph.node]
    ['Tanh', 'Expand', 'Mul', 'Identity']
    """
    check_callable(fun, "interop.onnx.export")
    writer = Writer(SPECIAL)
    onnx = writer.onnx
    leaves, structure = flatten_arguments((specs, {}), function_name(fun))
    captured = capture(fun, leaves, structure, "jit", name=function_name(fun))
    count = len(leaves)
    helper = onnx.helper
    named = [f"input{index}" for index in range(count)]
    constants = [writer.constant(_core.to_numpy(x, "onnx.export")) for x in captured.closure]
    found = writer.graph(captured.graph, [*named, *constants])
    results = [f"output{index}" for index in range(len(found))]
    for source, result in zip(found, results, strict=True):
        writer.nodes.append(helper.make_node("Identity", [source], [result]))

    def described(names: Sequence[str], avals: Sequence[Any]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, writer.dtype(dtype), list(shape))
            for name, (shape, dtype, _) in zip(names, avals, strict=True)
        ]

    graph = helper.make_graph(
        writer.nodes,
        name or function_name(fun),
        described(named, captured.graph.in_avals[:count]),
        described(results, captured.graph.out_avals),
        writer.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="cotangent")
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


def load(model: Any) -> Callable[..., Any]:
    """Makes of a model of ONNX a function of arrays, for `jit`, `grad`, `vmap` and the others.

    Parameters
    ----------
    model : onnx.ModelProto, bytes, str or path
        The model, its bytes, or the path of a file.

    Returns
    -------
    callable
        A function of the model's inputs, in their order, that returns its output, or a tuple of several. It runs the
        model's operators one by one: jit it.

    Raises
    ------
    NotImplementedError
        An operator that is not read, or a reading of it that is not.
    ImportError
        onnx is not installed.

    Examples
    --------
    >>> made = ct.interop.onnx.export(lambda x: ct.numpy.tanh(x) * 2, ct.numpy.ones(3))
    >>> f = ct.interop.onnx.load(made)
    >>> ct.grad(lambda x: f(x).sum())(ct.numpy.zeros(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    onnx = onnx_package()
    if isinstance(model, bytes):
        model = onnx.load_from_string(model)
    elif isinstance(model, (str, os.PathLike)):
        model = onnx.load(model)
    model = _at_opset(onnx, model)
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    unknown = sorted(unread(graph))
    if unknown:
        raise NotImplementedError(
            f"onnx.load: operators that are not read: {', '.join(unknown)}\n"
            "  export the model without them, and compute these parts with functions of cotangent"
        )
    reader = Reader(onnx)

    def run(*arrays: Any) -> Any:
        if len(arrays) != len(inputs):
            raise TypeError(
                f"{graph.name} takes {len(inputs)} array{'s' * (len(inputs) != 1)} ({', '.join(inputs)}), called with {len(arrays)}\n"
                f"  call {graph.name}({', '.join(inputs)})"
            )
        given = {name: _core.array(x) for name, x in zip(inputs, arrays, strict=True)}
        results = tuple(_core.array(x) for x in reader.graph(graph, given))
        return results[0] if len(results) == 1 else results

    run.__name__ = graph.name or "model"
    return _core.leaving(run)


def _at_opset(onnx: Any, model: Any) -> Any:
    """The model with its own functions written out, and with operators as the opset has them that is read."""
    if model.functions:
        model = needed("onnx.inliner", "cotangent.interop.onnx").inline_local_functions(model)
    versions = [opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    if not versions or versions[0] >= OPSET:
        return model
    try:
        return needed("onnx.version_converter", "cotangent.interop.onnx").convert_version(model, OPSET)
    except Exception as error:
        raise NotImplementedError(
            f"onnx.load: a model of opset {versions[0]} that onnx does not convert to opset {OPSET}: {error}\n"
            f"  export the model again for opset {OPSET}"
        ) from error


check_arguments(globals())
suggest_names(globals())
