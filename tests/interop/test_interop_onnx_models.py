"""Models with programs inside, of other opsets and with functions of their own: what is read computes what onnxruntime does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cotangent as ct
import numpy as np
import pytest

read_tests = pytest.importorskip("test_interop_onnx_read")
onnx, helper, interop = read_tests.onnx, read_tests.helper, read_tests.interop
IMAGE, RNG, WHOLE, X = read_tests.IMAGE, read_tests.RNG, read_tests.WHOLE, read_tests.X
check, model_of, normal = read_tests.check, read_tests.model_of, read_tests.normal

# ---- Programs inside -------------------------------------------------------------------------------------------------


def node(name: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(name, ["" if x == "_" else x for x in inputs.split()], outputs.split(), **attributes)


def inside(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    return helper.make_graph(list(nodes), "inside", list(inputs), list(outputs))


def typed(name: str, dtype: int, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, dtype, list(shape))


FLOAT, INT, BOOL = 1, 7, 9


def loop_body(condition: str, *more: Any) -> Any:
    """Of c: c + x * i, which is stacked too; it goes on by this condition's name."""
    return inside(
        [
            node("Cast", "i", "f", to=FLOAT),
            node("Mul", "x f", "xf"),
            node("Add", "c xf", "next"),
            node("Identity", "next", "stacked"),
            *more,
        ],
        [typed("i", INT), typed("going", BOOL), typed("c", FLOAT, 3, 4)],
        [typed(condition, BOOL), typed("next", FLOAT, 3, 4), typed("stacked", FLOAT, 3, 4)],
    )


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_loops_whose_steps_are_known_stack_their_results(steps: int) -> None:
    body = loop_body("on", node("Identity", "going", "on"))
    loop = helper.make_node("Loop", ["steps", "", "x"], ["last", "all"], body=body)
    check(model_of([loop], {"x": X}, ["last", "all"], {"steps": np.int64(steps)}), {"x": X})
    constant = loop_body("on", node("Constant", "", "on", value=onnx.numpy_helper.from_array(np.array(True))))
    loop = helper.make_node("Loop", ["steps", "start", "x"], ["last", "all"], body=constant)
    model = model_of([loop], {"x": X}, ["last", "all"], {"steps": np.int64(steps), "start": np.array(True)})
    check(model, {"x": X})


def test_loops_that_end_by_what_they_compute() -> None:
    body = inside(
        [
            node("Add", "c c", "next"),
            node("ReduceSum", "next", "total", keepdims=0),
            node("Less", "total limit", "on"),
        ],
        [typed("i", INT), typed("going", BOOL), typed("c", FLOAT, 3, 4)],
        [typed("on", BOOL), typed("next", FLOAT, 3, 4)],
    )
    x = abs(X)
    for most in (np.int64(3), np.int64(100), None):
        for start in (True, False):
            given = {"limit": np.float32(1000), "start": np.array(start)}
            if most is not None:
                given["most"] = most
            loop = helper.make_node("Loop", ["" if most is None else "most", "start", "x"], ["y"], body=body)
            check(model_of([loop], {"x": x}, ["y"], given), {"x": x})
    computed = helper.make_node("Loop", ["steps", "", "x"], ["y"], body=body)
    inputs = {"x": x, "steps": np.array(2)}
    check(model_of([computed], inputs, ["y"], {"limit": np.float32(1e9)}), inputs)


def test_loops_that_stack_what_is_not_known_are_named() -> None:
    body = loop_body("on", node("ReduceSum", "next", "total", keepdims=0), node("Less", "total x0", "on"))
    loop = helper.make_node("Loop", ["steps", "", "x"], ["last", "all"], body=body)
    constants = {"steps": np.int64(5), "x0": np.float32(3)}
    read = interop.load(model_of([loop], {"x": X}, ["last", "all"], constants))
    with pytest.raises(NotImplementedError, match=r"onnx\.load: Loop with stacked results"):
        read(X)


def test_branches_see_what_is_around_them() -> None:
    branches = [
        inside([node("Mul", "x y", name)], [], [typed(name, FLOAT, 3, 4)])
        if name == "a"
        else inside([node("Sub", "x y", name)], [], [typed(name, FLOAT, 3, 4)])
        for name in ("a", "b")
    ]
    nodes = [
        node("Add", "x x", "y"),
        helper.make_node("If", ["test"], ["z"], then_branch=branches[0], else_branch=branches[1]),
    ]
    for test in (True, False):
        inputs = {"x": X, "test": np.array(test)}
        check(model_of(nodes, inputs, ["z"]), inputs)
        check(model_of(nodes, {"x": X}, ["z"], {"test": np.array([test])}), {"x": X})


def test_scans_go_in_both_directions_along_any_axis() -> None:
    body = inside(
        [node("Add", "c a", "next"), node("Mul", "next b", "product"), node("Sub", "a b", "rest")],
        [typed("c", FLOAT, 3), typed("a", FLOAT, 3), typed("b", FLOAT, 3)],
        [typed("next", FLOAT, 3), typed("product", FLOAT, 3), typed("rest", FLOAT, 3)],
    )
    scan = helper.make_node(
        "Scan",
        ["c", "a", "b"],
        ["last", "products", "rests"],
        body=body,
        num_scan_inputs=2,
        scan_input_axes=[0, 1],
        scan_input_directions=[1, 0],
        scan_output_axes=[1, 0],
        scan_output_directions=[0, 1],
    )
    inputs = {"c": normal(3), "a": normal(5, 3), "b": normal(3, 5)}
    check(model_of([scan], inputs, ["last", "products", "rests"]), inputs)


# ---- Models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [9, 11, 12, 13, 15, 17, 18, 19, 20, 21])
def test_opsets(opset: int) -> None:
    axes = {"axes": [1]} if opset < 13 else {}
    more = ["x", "axes"] if opset >= 13 else ["x"]
    reduced = {"axes": [1]} if opset < 18 else {}
    nodes = [
        helper.make_node("Unsqueeze", more, ["u"], **axes),
        helper.make_node("ReduceMean", ["u", "axes"] if opset >= 18 else ["u"], ["m"], keepdims=0, **reduced),
        helper.make_node("Softmax", ["m"], ["s"], axis=1),
        helper.make_node("Clip", ["s"], ["c"], min=0.1, max=0.4)
        if opset < 11
        else helper.make_node("Clip", ["s", "low", "high"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "scale", "scale", "scale", "scale"], ["y"]),
    ]
    constants: dict[str, Any] = {"scale": np.arange(1, 5, dtype=np.float32)}
    if opset >= 13:
        constants["axes"] = np.array([1])
    if opset >= 11:
        constants |= {"low": np.float32(0.1), "high": np.float32(0.4)}
    check(model_of(nodes, {"x": X}, ["y"], constants, opset), {"x": X})


def test_functions_of_the_model_are_written_out() -> None:
    function = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [node("Add", "a a", "t"), node("Tanh", "t", "b")],
        [helper.make_opsetid("", 18)],
    )
    nodes = [
        helper.make_node("Twice", ["x"], ["t"], domain="mine"),
        helper.make_node("Twice", ["t"], ["y"], domain="mine"),
    ]
    model = model_of(nodes, {"x": X}, ["y"], opsets=[helper.make_opsetid("mine", 1)], functions=[function])
    check(model, {"x": X})


def test_operators_of_others_are_named() -> None:
    model = model_of(
        [helper.make_node("Gelu", ["x"], ["y"], domain="theirs")],
        {"x": X},
        ["y"],
        opsets=[helper.make_opsetid("theirs", 1)],
    )
    with pytest.raises(NotImplementedError, match=r"operators that are not read: theirs\.Gelu"):
        interop.load(model)
    for name, attributes, what in (
        ("BatchNormalization", {"training_mode": 1}, "BatchNormalization with training_mode=1"),
        ("Resize", {"antialias": 1, "mode": "linear"}, "Resize with antialias"),
        ("Resize", {"coordinate_transformation_mode": "tf_crop_and_resize"}, "tf_crop_and_resize"),
        ("ReduceL2", {}, "ReduceL2 of int32"),
        ("MaxPool", {"kernel_shape": [2, 2]}, "MaxPool with 2 outputs"),
    ):
        c = np.ones(4, np.float32)
        given = {
            "BatchNormalization": {"s": c, "b": c, "m": c, "v": c},
            "Resize": {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 2], np.float32)},
        }.get(name, {})
        outputs = ["y", "i"] if name == "MaxPool" else ["y"]
        x = WHOLE if name == "ReduceL2" else IMAGE
        model = model_of([helper.make_node(name, ["x", *given], outputs, **attributes)], {"x": x}, ["y"], given)
        with pytest.raises(NotImplementedError, match=f"onnx.load: .*{what}"):
            interop.load(model)(x)


def test_layers_that_are_read_have_derivatives() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"]),
    ]
    read = interop.load(model_of(nodes, {"x": IMAGE, "w": normal(3, 4, 3, 3)}, ["y"]))
    x, w = IMAGE.astype(np.float64), RNG.normal(size=(3, 4, 3, 3))
    ct.test_util.check_grads(lambda w: read(x, w).sum(), (w,), order=1)
