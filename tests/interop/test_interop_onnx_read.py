"""Models that others write: what is read computes what onnxruntime does, jitted and not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from needs import needed

onnx = needed("onnx")
runtime = needed("onnxruntime")
helper = onnx.helper
interop = ct.interop.onnx
RNG = np.random.default_rng(5)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def described(name: str, value: Any, known: bool = True) -> Any:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape) if known else None
    )


def anything(name: str, dtype: int = 1) -> Any:
    return helper.make_tensor_value_info(name, dtype, None)


def model_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Any],
    outputs: Sequence[Any],
    constants: Mapping[str, Any] | None = None,
    opset: int = 18,
    **more: Any,
) -> Any:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [described(name, value) for name, value in inputs.items()],
        [anything(*value) if isinstance(value, tuple) else anything(value) for value in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *more.pop("opsets", [])], **more)
    model.ir_version = 9
    return model


def check(model: Any, inputs: Mapping[str, Any], rtol: float = 3e-5) -> None:
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(inputs))
    read = interop.load(model)
    for function in (read, ct.jit(read)):
        found = ct.tree.leaves(function(*inputs.values()))
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(np.asarray(a), b, rtol=rtol, atol=5e-6)


def operator(
    name: str,
    arrays: Sequence[Any],
    attributes: Mapping[str, Any],
    constants: Sequence[int] = (),
    outputs: int = 1,
    opset: int = 18,
) -> None:
    """One node; the arrays of these numbers are constants of the model, None is left out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
    given = {n: np.asarray(x) for n, x in zip(names, arrays, strict=True) if n}
    fixed = {f"x{i}" for i in constants}
    inputs = {n: x for n, x in given.items() if n not in fixed}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(name, names, results, **attributes)
    draft = model_of([node], inputs, results, {n: x for n, x in given.items() if n in fixed}, opset)
    inferred = onnx.shape_inference.infer_shapes(_untyped(draft))
    for value, found in zip(draft.graph.output, inferred.graph.output, strict=True):
        value.type.tensor_type.elem_type = found.type.tensor_type.elem_type
    check(draft, inputs)


def _untyped(model: Any) -> Any:
    copy = type(model)()
    copy.CopyFrom(model)
    for value in copy.graph.output:
        value.ClearField("type")
    return copy


# ---- Layers ----------------------------------------------------------------------------------------------------------

LINE, IMAGE, SOLID = normal(2, 4, 11), normal(2, 4, 9, 8), normal(1, 2, 5, 6, 7)
CASES: dict[str, tuple[Any, ...]] = {}


def case(
    label: str,
    name: str,
    *arrays: Any,
    constants: Sequence[int] = (),
    outputs: int = 1,
    opset: int = 18,
    **attributes: Any,
) -> None:
    assert label not in CASES
    CASES[label] = (name, arrays, attributes, constants, outputs, opset)


for rank, x in ((1, LINE), (2, IMAGE), (3, SOLID)):
    c = x.shape[1]
    window = (3, 2, 2)[:rank]
    for label, group, attributes in (
        ("plain", 1, {}),
        ("pads", 1, {"pads": [1, 0, 2, 1, 2, 0][: 2 * rank], "strides": [2, 1, 3][:rank]}),
        ("dilated", 1, {"dilations": [2, 3, 1][:rank], "pads": [2] * (2 * rank)}),
        ("grouped", 2, {"kernel_shape": window}),
        ("depthwise", c, {"strides": [1, 2, 1][:rank]}),
        ("upper", 1, {"auto_pad": "SAME_UPPER", "strides": [2, 1, 2][:rank]}),
        ("lower", 1, {"auto_pad": "SAME_LOWER", "strides": [2, 1, 2][:rank]}),
        ("valid", 1, {"auto_pad": "VALID"}),
    ):
        case(
            f"Conv{rank}_{label}",
            "Conv",
            x,
            normal(2 * c, c // group, *window),
            normal(2 * c),
            group=group,
            **attributes,
        )
    case(f"Conv{rank}_no_bias", "Conv", x, normal(3, c, *window))
    for label, group, attributes in (
        ("plain", 1, {}),
        ("pads", 1, {"pads": [1, 0, 1, 1, 0, 1][: 2 * rank], "strides": [2, 1, 3][:rank]}),
        ("dilated", 1, {"dilations": [2, 3, 1][:rank]}),
        ("grouped", 2, {"strides": [2] * rank}),
        ("output_padding", 1, {"strides": [3, 2, 2][:rank], "output_padding": [2, 1, 0][:rank]}),
        ("upper", 1, {"auto_pad": "SAME_UPPER", "strides": [2, 2, 2][:rank]}),
        ("lower", 1, {"auto_pad": "SAME_LOWER", "strides": [2, 2, 2][:rank]}),
        ("shape", 1, {"strides": [2] * rank, "output_shape": [2 * n for n in x.shape[2:]]}),
        ("shape_odd", 1, {"strides": [2] * rank, "output_shape": [2 * n - 1 for n in x.shape[2:]]}),
        ("valid", 1, {"auto_pad": "VALID", "strides": [2] * rank}),
    ):
        case(
            f"ConvTranspose{rank}_{label}",
            "ConvTranspose",
            x,
            normal(c, 3, *window),
            normal(3 * group),
            group=group,
            **attributes,
        )
    for name in ("MaxPool", "AveragePool"):
        for label, attributes in {
            "plain": {},
            "strided": {"strides": [2, 3, 1][:rank]},
            "pads": {"pads": [1, 0, 1, 1, 1, 0][: 2 * rank], "strides": [2, 1, 2][:rank]},
            "ceil": {"ceil_mode": 1, "strides": [2, 3, 2][:rank]},
            "ceil_pads": {"ceil_mode": 1, "strides": [2, 3, 2][:rank], "pads": [1] * (2 * rank)},
            "ceil_far": {"ceil_mode": 1, "strides": [4, 5, 4][:rank], "pads": [1] * (2 * rank)},
            "upper": {"auto_pad": "SAME_UPPER", "strides": [2, 1, 2][:rank]},
            "lower": {"auto_pad": "SAME_LOWER", "strides": [2, 1, 2][:rank]},
            "valid": {"auto_pad": "VALID", "strides": [2, 1, 2][:rank]},
            **({"dilated": {"dilations": [2, 3, 1][:rank]}} if name == "MaxPool" else {}),
            **(
                {"dilated_ceil": {"dilations": [2, 3, 1][:rank], "ceil_mode": 1, "strides": [3, 2, 2][:rank]}}
                if name == "MaxPool"
                else {}
            ),
            **({"counted": {"count_include_pad": 1, "pads": [1] * (2 * rank)}} if name == "AveragePool" else {}),
            **(
                {
                    "counted_ceil": {
                        "count_include_pad": 1,
                        "pads": [1] * (2 * rank),
                        "ceil_mode": 1,
                        "strides": [2, 3, 2][:rank],
                    }
                }
                if name == "AveragePool"
                else {}
            ),
        }.items():
            case(f"{name}{rank}_{label}", name, x, kernel_shape=(3, 2, 3)[:rank], **attributes)
    case(f"GlobalAveragePool{rank}", "GlobalAveragePool", x)
    case(f"GlobalMaxPool{rank}", "GlobalMaxPool", x)
    case(
        f"BatchNormalization{rank}",
        "BatchNormalization",
        x,
        normal(c),
        normal(c),
        normal(c),
        normal(c) ** 2,
        epsilon=1e-3,
    )
    case(f"InstanceNormalization{rank}", "InstanceNormalization", x, normal(c), normal(c), epsilon=1e-2)
case("AveragePool2_dilated", "AveragePool", IMAGE, kernel_shape=[2, 2], dilations=[2, 3], opset=19)
case("BatchNormalization0", "BatchNormalization", normal(3, 4), normal(4), normal(4), normal(4), normal(4) ** 2)
case("LayerNormalization", "LayerNormalization", IMAGE, normal(8), normal(8))
case("LayerNormalization_axes", "LayerNormalization", IMAGE, normal(9, 8), normal(9, 8), axis=2, epsilon=1e-2)
case("LayerNormalization_outputs", "LayerNormalization", IMAGE, normal(4, 9, 8), axis=-3, outputs=3)
case(
    "MaxPool_int",
    "MaxPool",
    np.arange(-20, 20, dtype=np.int8).reshape(1, 1, 5, 8),
    kernel_shape=[2, 3],
    pads=[1, 1, 1, 1],
)

for mode in ("nearest", "linear", "cubic"):
    for where in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"):
        for label, scales, sizes in (
            ("up", np.array([1, 1, 2, 1.5], np.float32), None),
            ("down", np.array([1, 1, 0.5, 0.6], np.float32), None),
            ("sizes", None, np.array([2, 4, 13, 5])),
        ):
            more = {"nearest_mode": "floor"} if mode == "nearest" else {}
            opset = 19 if where == "half_pixel_symmetric" else 18
            number = 2 if sizes is None else 3
            arrays = (IMAGE, None, scales) if sizes is None else (IMAGE, None, None, sizes)
            case(
                f"Resize_{mode}_{where}_{label}",
                "Resize",
                *arrays,
                constants=[number],
                opset=opset,
                mode=mode,
                coordinate_transformation_mode=where,
                **more,
            )
for rounded in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    case(
        f"Resize_{rounded}",
        "Resize",
        IMAGE,
        None,
        np.array([1, 1, 2, 1.5], np.float32),
        constants=[2],
        nearest_mode=rounded,
    )
case(
    "Resize_excluded",
    "Resize",
    IMAGE,
    None,
    np.array([1, 1, 2, 1.5], np.float32),
    constants=[2],
    mode="cubic",
    exclude_outside=1,
)
case(
    "Resize_coefficient",
    "Resize",
    IMAGE,
    None,
    np.array([1, 1, 2, 1.5], np.float32),
    constants=[2],
    mode="cubic",
    cubic_coeff_a=-0.5,
)
case("Resize_axes", "Resize", IMAGE, None, np.array([2, 1.5], np.float32), constants=[2], mode="linear", axes=[2, 3])

# ---- Elements, reductions, positions ---------------------------------------------------------------------------------

X, Y = normal(3, 4), normal(3, 4)
WHOLE = RNG.integers(-9, 9, (3, 4)).astype(np.int32)
for name in [
    "Abs",
    "Ceil",
    "Cos",
    "Erf",
    "Exp",
    "Floor",
    "Neg",
    "Round",
    "Sign",
    "Sin",
    "Tanh",
    "Acos",
    "Asin",
    "Asinh",
    "Atan",
    "Cosh",
    "Sinh",
    "Tan",
    "Elu",
    "Celu",
    "Selu",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Relu",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Softmax",
    "LogSoftmax",
    "ThresholdedRelu",
    "Shrink",
    "Identity",
    "IsNaN",
    "IsInf",
    "Size",
    "Shape",
    "Flatten",
    "Transpose",
    "Trilu",
    "Reciprocal",
    "Atanh",
]:
    case(name, name, X / 4 if name in ("Acos", "Asin", "Atanh") else X, opset=20 if name == "Gelu" else 18)
for name in ("Sqrt", "Log", "Acosh"):
    case(name, name, abs(X) + 1)
for name in (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "Equal",
    "PRelu",
    "Sum",
    "Mean",
    "Pow",
):
    case(name, name, abs(X) if name == "Pow" else X, Y)
    case(f"{name}_broadcast", name, abs(X) if name == "Pow" else X, Y[0])
case("Max_three", "Max", X, Y, X - Y)
case("Min_nan", "Min", np.array([1, np.nan, 3], np.float32), np.array([2, 1, np.nan], np.float32))
case("Sum_three", "Sum", X, Y, X[0])
case("Div_int", "Div", WHOLE, np.full((3, 4), 4, np.int32))
case("Mod_int", "Mod", WHOLE, np.full((3, 4), -4, np.int32))
case("Mod_fmod", "Mod", X, Y, fmod=1)
case("Pow_int", "Pow", X, np.array(3, np.int64))
case("Pow_of_int", "Pow", WHOLE, np.array(2.0, np.float32))
case("BitShift", "BitShift", np.array([1, 200, 9], np.uint8), np.array([1, 2, 3], np.uint8), direction="LEFT")
case("BitShift_right", "BitShift", np.array([1, 200, 9], np.uint32), np.array([1, 2, 3], np.uint32), direction="RIGHT")
for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    case(name, name, WHOLE, WHOLE[::-1].copy())
case("BitwiseNot", "BitwiseNot", WHOLE)
for name in ("And", "Or", "Xor"):
    case(name, name, X > 0, Y > 0)
case("Not", "Not", X > 0)
case("Where", "Where", X > 0, X, Y[0])
case("Gelu_tanh", "Gelu", X, approximate="tanh", opset=20)
case("Elu_alpha", "Elu", X, alpha=0.3)
case("Celu_alpha", "Celu", X, alpha=0.3)
case("Selu_alpha", "Selu", X, alpha=0.3, gamma=2.0)
case("LeakyRelu_alpha", "LeakyRelu", X, alpha=0.3)
case("HardSigmoid_alpha", "HardSigmoid", X, alpha=0.3, beta=0.4)
case("Shrink_bias", "Shrink", X, bias=0.2, lambd=0.4)
case("IsInf_positive", "IsInf", np.array([np.inf, -np.inf, np.nan, 1], np.float32), detect_negative=0)
case("Softmax_axis", "Softmax", IMAGE, axis=1)
case("LogSoftmax_axis", "LogSoftmax", IMAGE, axis=-2)
case("Clip", "Clip", X, np.float32(-0.5), np.float32(0.5))
case("Clip_high", "Clip", X, None, np.float32(0.5))
case("Clip_int", "Clip", WHOLE, np.int32(-2), np.int32(3))
case("CastLike", "CastLike", X, WHOLE)
case("Cast", "Cast", X * 3, to=onnx.TensorProto.INT64)
case("Dropout", "Dropout", X, outputs=2)

for name in [
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceMean",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceSumSquare",
    "ReduceLogSum",
]:
    x = abs(IMAGE) if name == "ReduceLogSum" else IMAGE
    case(f"{name}_all", name, x)
    case(f"{name}_axes", name, x, np.array([1, -1]), constants=[1], keepdims=0)
    case(f"{name}_kept", name, x, np.array([2]), constants=[1])
    case(f"{name}_noop", name, x, np.zeros(0, np.int64), constants=[1], noop_with_empty_axes=1)
case("ReduceSum_int", "ReduceSum", WHOLE, np.array([0]), constants=[1])
case("ReduceMean_int", "ReduceMean", WHOLE, np.array([0]), constants=[1])
case("ReduceL1_int", "ReduceL1", WHOLE, np.array([0]), constants=[1])
case("ReduceSumSquare_int", "ReduceSumSquare", WHOLE, np.array([0]), constants=[1])
case("ReduceMax_bool", "ReduceMax", X > 0, np.array([0]), constants=[1], opset=20)
for name in ("ArgMax", "ArgMin"):
    case(name, name, WHOLE)
    case(f"{name}_last", name, WHOLE, axis=1, keepdims=0, select_last_index=1)
case("TopK", "TopK", IMAGE, np.array([3]), constants=[1], outputs=2)
case("TopK_least", "TopK", WHOLE, np.array([2]), constants=[1], outputs=2, axis=0, largest=0)
for exclusive in (0, 1):
    for reverse in (0, 1):
        case(
            f"CumSum_{exclusive}{reverse}",
            "CumSum",
            X,
            np.int64(-1),
            constants=[1],
            exclusive=exclusive,
            reverse=reverse,
        )

AT = np.array([[0, -1, 2, 1], [1, 1, 0, -3]])
case("Gather", "Gather", X, AT, axis=0)
case("Gather_axis", "Gather", IMAGE, np.array([-1, 0]), axis=-2)
case("Gather_scalar", "Gather", IMAGE, np.array(1), axis=1)
case("GatherElements", "GatherElements", X, AT, axis=0)
case("GatherElements_axis", "GatherElements", X, AT[:, :2] % 3, axis=1)
case("GatherND", "GatherND", IMAGE, np.array([[0, -1], [1, 2]]))
case("GatherND_batch", "GatherND", IMAGE, np.array([[[0, -1]], [[3, 2]]]), batch_dims=1)
for reduction in ("none", "add", "mul", "max", "min"):
    places = np.array([[0, 2, 1, 0], [1, 0, -1, 2]])
    if reduction != "none":
        places = np.array([[0, 0, 1, 0], [0, 0, -1, 2]])
    case(f"ScatterElements_{reduction}", "ScatterElements", X, places, Y[:2], axis=0, reduction=reduction)
    case(
        f"ScatterElements_{reduction}_axis",
        "ScatterElements",
        X,
        np.array([[0, 3], [1, -1]]),
        Y[:2, :2],
        axis=1,
        reduction=reduction,
    )
    rows = np.array([[0, 1], [2, -1]]) if reduction == "none" else np.array([[0, 1], [0, 1]])
    case(f"ScatterND_{reduction}", "ScatterND", X, rows, Y[0, :2], reduction=reduction)
    case(f"ScatterND_{reduction}_rows", "ScatterND", X, np.array([[2], [-3]]), Y[:2], reduction=reduction)
case("OneHot", "OneHot", np.array([[0, 2, -1], [5, 1, 3]]), np.int64(4), np.array([-1, 7], np.float32), constants=[1])
case(
    "OneHot_axis",
    "OneHot",
    np.array([[0, 2, -1], [-5, 1, 3]]),
    np.int64(4),
    np.array([-1, 7], np.float32),
    constants=[1],
    axis=0,
)
case("Trilu_upper", "Trilu", IMAGE, np.int64(2), constants=[1])
case("Trilu_lower", "Trilu", IMAGE, np.int64(-1), constants=[1], upper=0)
case("Tile", "Tile", X, np.array([2, 3]), constants=[1])
case("Expand", "Expand", X[:, None], np.array([2, 1, 5, 1]), constants=[1])
case("Squeeze", "Squeeze", X[None, :, None], np.array([0, -2]), constants=[1])
case("Squeeze_all", "Squeeze", X[None, :, None])
case("Unsqueeze", "Unsqueeze", X, np.array([-1, 0]), constants=[1])
case("Reshape", "Reshape", X, np.array([2, -1, 2]), constants=[1])
case("Reshape_zero", "Reshape", IMAGE, np.array([0, -1, 0]), constants=[1])
case("Flatten_axis", "Flatten", IMAGE, axis=-1)
case("Flatten_none", "Flatten", IMAGE, axis=0)
case("Shape_part", "Shape", IMAGE, start=1, end=-1)
case("Transpose_perm", "Transpose", IMAGE, perm=[2, 0, 3, 1])
case("Concat", "Concat", X, Y, X, axis=-1)
case("Split", "Split", IMAGE, np.array([2, 3, 4]), constants=[1], axis=2, outputs=3)
case("Split_count", "Split", IMAGE, axis=-2, num_outputs=4, outputs=4)
case(
    "Slice",
    "Slice",
    IMAGE,
    np.array([1, -3]),
    np.array([100, -1]),
    np.array([1, -1]),
    np.array([2, 1]),
    constants=[1, 2, 3, 4],
)
case(
    "Slice_back",
    "Slice",
    X,
    np.array([-1]),
    np.array([-(2**40)]),
    np.array([1]),
    np.array([-2]),
    constants=[1, 2, 3, 4],
)
case("Slice_back_part", "Slice", X, np.array([3]), np.array([0]), np.array([1]), np.array([-1]), constants=[1, 2, 3, 4])
case("Slice_first", "Slice", X, np.array([1]), np.array([3]), constants=[1, 2])
case("Slice_none", "Slice", X, np.array([2]), np.array([1]), constants=[1, 2])
for mode in ("constant", "reflect", "edge", "wrap"):
    case(f"Pad_{mode}", "Pad", X, np.array([1, 2, 0, 1]), constants=[1], mode=mode, opset=19)
case("Pad_value", "Pad", X, np.array([1, -1, 0, 2]), np.float32(7), constants=[1, 2])
case("Pad_axes", "Pad", X, np.array([1, 2]), np.float32(7), np.array([-1]), constants=[1, 2, 3])
case("DepthToSpace", "DepthToSpace", normal(2, 8, 3, 4), blocksize=2)
case("DepthToSpace_crd", "DepthToSpace", normal(2, 8, 3, 4), blocksize=2, mode="CRD")
case("SpaceToDepth", "SpaceToDepth", normal(2, 3, 4, 6), blocksize=2)
case("MatMul", "MatMul", IMAGE, normal(4, 8, 3))
case("MatMul_vector", "MatMul", IMAGE, normal(8))
case("Einsum", "Einsum", X, Y, equation="ij,kj->ik")
case("Einsum_dots", "Einsum", IMAGE, normal(8, 3), equation="...i,ij->...j")
case("Gemm", "Gemm", X, normal(5, 4), normal(5), transB=1, alpha=0.5, beta=2.0)
case("Gemm_a", "Gemm", X, normal(3, 5), transA=1)
case("Range", "Range", np.int64(2), np.int64(11), np.int64(3), constants=[0, 1, 2])
case("Range_back", "Range", np.float32(2), np.float32(-1), np.float32(-0.5), constants=[0, 1, 2])
case(
    "ConstantOfShape",
    "ConstantOfShape",
    np.array([2, 3]),
    constants=[0],
    value=onnx.numpy_helper.from_array(np.array([7], np.int32)),
)


@pytest.mark.parametrize("label", list(CASES))
def test_operators(label: str) -> None:
    operator(*CASES[label])


def test_every_operator_that_is_read_has_a_case() -> None:
    read = {*ct.interop.onnx._operators.OPERATORS, *ct.interop.onnx._table.BY_OPERATOR}
    assert read == {name for name, *_ in CASES.values()}
