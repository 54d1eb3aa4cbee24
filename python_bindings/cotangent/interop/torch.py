"""Functions of ours in torch's programs, and functions and modules of torch in ours; with derivatives both ways.

Tensors and arrays are exchanged by DLPack, on the host or on a GPU. A tensor becomes an array without a copy where nothing keeps the array; an
array becomes a tensor by one copy, as tensors may be written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.callbacks import pure_callback
from cotangent._base.capture import (
    ShapeDtypeStruct,
    aval_of,
    check_callable,
    function_name,
    is_inexact_dtype,
    transformed,
)
from cotangent._base.missing import needed
from cotangent._base.names import suggest_names
from cotangent._core import Array, PyTreeDef
from cotangent._transforms.custom_rules import custom_vjp
from cotangent._transforms.programs import eval_shape
from cotangent._transforms.reverse import fwd_and_bwd, vjp
from cotangent._transforms.staging import jit
from cotangent.numpy import conj, from_dlpack

__all__ = ["array", "function", "module", "tensor", "wrap"]


def _torch() -> Any:
    return needed("torch", "cotangent.interop.torch")


def array(tensor: Any, *, copy: bool = True) -> Array:
    """Returns a tensor of torch as an array; its history of derivatives stays behind.

    Parameters
    ----------
    tensor : torch.Tensor
        Of any shape and strides, on the host or on a GPU.
    copy : bool, default True
        False shares the tensor's memory where its strides are those of an array, and it must not be written to then.

    Returns
    -------
    array
        Of the same shape and dtype, where the tensor is.

    Raises
    ------
    TypeError
        It is no tensor, or of a dtype that arrays do not have.
    ImportError
        torch is not installed.

    Examples
    --------
    >>> import torch
    >>> ct.interop.torch.array(torch.tensor([1.5, 2.0], requires_grad=True))
    Array([1.5, 2. ], dtype=float32)
    """
    torch = _torch()
    tensor = tensor.detach()
    for name in ("resolve_conj", "resolve_neg"):
        tensor = getattr(tensor, name)()
    if not copy:
        tensor = tensor.contiguous()
    if tensor.dtype == torch.bool:  # which DLPack has not for all versions
        return from_dlpack(tensor.view(torch.uint8), copy=None if copy else False) != 0
    return from_dlpack(tensor, copy=None if copy else False)


def tensor(x: Any) -> Any:
    """Returns an array as a tensor of torch, which has memory of its own, where the array is.

    Parameters
    ----------
    x : array
        Not traced.

    Returns
    -------
    torch.Tensor
        Of the same shape and dtype.

    Raises
    ------
    ConcretizationError
        The array is traced: call functions of torch through `function`.
    TypeError
        It holds random keys.

    Examples
    --------
    >>> import torch
    >>> ct.interop.torch.tensor(ct.numpy.arange(3))
    tensor([0, 1, 2], dtype=torch.int32)
    """
    torch = _torch()
    x = _core.array(x)
    kind = _core.dtype_kind(x.dtype)
    if kind == "key":
        raise TypeError("interop.torch.tensor: torch has no random keys\n  ct.random.key_data(key) has their words")
    if kind == "bool":
        return tensor(_core.convert(x, np.dtype("uint8"))).view(torch.bool)
    return torch.utils.dlpack.from_dlpack(x.__dlpack__(copy=True))


# ---- Functions of ours in torch ----------------------------------------------------------------------------------------


class _Call:
    """A function of leaves for one structure and types of these: what it returns, and its two halves under differentiation."""

    def __init__(self, fun: Callable[..., Any], structure: PyTreeDef, types: Sequence[Any], wrt: Sequence[int]) -> None:
        self.wrt = list(wrt)

        def of_leaves(*leaves: Any) -> Any:
            args, kwargs = structure.unflatten(leaves)
            return fun(*args, **kwargs)

        found = eval_shape(of_leaves, *types)
        leaves, self.structure = _core.tree_flatten(found, None)
        self.inexact = [index for index, leaf in enumerate(leaves) if is_inexact_dtype(leaf.dtype)]

        def parted(*given: Any) -> tuple[list[Any], list[Any]]:
            results = _core.tree_flatten(of_leaves(*given), None)[0]
            return (
                [results[index] for index in self.inexact],
                [x for index, x in enumerate(results) if index not in self.inexact],
            )

        self.parted = parted
        self.forward, self.backward = fwd_and_bwd(parted, self.wrt, has_aux=True)

    def together(self, inexact: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        rest, known = iter(others), dict(zip(self.inexact, inexact, strict=True))
        return [known[i] if i in known else next(rest) for i in range(self.structure.num_leaves)]

    def pulled(self, leaves: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """As a function of all that it depends on, which has derivatives itself."""

        def of_some(*chosen: Any) -> Any:
            merged = list(leaves)
            for index, value in zip(self.wrt, chosen, strict=True):
                merged[index] = value
            return self.parted(*merged)[0]

        pullback = vjp(of_some, *(leaves[index] for index in self.wrt))[1]
        return pullback([conj(c) for c in cotangents])  # type: ignore[no-any-return]


def _conjugates(values: Sequence[Any]) -> list[Any]:
    # torch's derivatives by complex numbers are the conjugates of ours.
    return [x.conj() if _core.dtype_kind(x.dtype) == "complex" else x for x in values]


def _recorded(torch: Any) -> Any:
    """The class by which torch's history has a call of ours."""

    class Recorded(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, call: _Call, *tensors: Any) -> Any:
            ctx.call = call
            ctx.save_for_backward(*tensors)
            inexact, others, ctx.residuals = call.forward(*map(array, tensors))
            results = [tensor(x) for x in call.together(inexact, others)]
            ctx.mark_non_differentiable(*(x for i, x in enumerate(results) if i not in call.inexact))
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *slopes: Any) -> Any:
            call: _Call = ctx.call
            given = [slopes[i] for i in call.inexact]
            grads: list[Any] = [None] * (1 + len(ctx.saved_tensors))
            if torch.is_grad_enabled():  # they may be differentiated again
                pulled = wrap(call.pulled)(list(ctx.saved_tensors), given)
                pulled = [p.resolve_conj().conj() if p.is_complex() else p for p in pulled]
            else:
                cotangents = _conjugates([array(slope) for slope in given])
                pulled = [tensor(p) for p in _conjugates(call.backward(ctx.residuals, cotangents))]
            for index, slope in zip(call.wrt, pulled, strict=True):
                grads[1 + index] = slope
            return tuple(grads)

    return Recorded


def wrap(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes of a function of arrays one of torch's tensors, which torch can differentiate, any number of times.

    Parameters
    ----------
    fun : callable
        A function of pytrees of arrays. It is jitted: once for each combination of structures, shapes and dtypes.

    Returns
    -------
    callable
        A function of pytrees of tensors, numbers and arrays that returns tensors, where the arguments are. Arguments
        that require gradients are differentiated by reverse mode of ours.

    Raises
    ------
    ImportError
        torch is not installed.

    Examples
    --------
    >>> import torch
    >>> smooth = ct.interop.torch.wrap(lambda x: ct.numpy.sum(x**3))
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> smooth(x).backward()
    >>> x.grad
    tensor([ 3., 12.])
    """
    check_callable(fun, "interop.torch.wrap")
    torch = _torch()
    recorded = _recorded(torch)
    jitted = jit(fun)
    calls: dict[Any, _Call] = {}

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = _core.tree_flatten((args, kwargs), None)
        is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        asks = torch.is_grad_enabled()
        wrt = tuple(i for i, leaf in enumerate(leaves) if asks and is_tensor[i] and leaf.requires_grad)
        if not wrt:
            arrays = [array(x, copy=False) if is_tensor[i] else x for i, x in enumerate(leaves)]
            given, named = structure.unflatten(arrays)
            results, out = _core.tree_flatten(jitted(*given, **named), None)
            return out.unflatten([tensor(x) for x in results])
        place = leaves[wrt[0]].device
        tensors = [x if is_tensor[i] else tensor(x).to(place) for i, x in enumerate(leaves)]
        types = tuple((tuple(x.shape), str(x.dtype)) for x in tensors)
        key = (structure, types, wrt)
        if key not in calls:
            specs = [ShapeDtypeStruct(shape, dtype.partition(".")[2]) for shape, dtype in types]
            calls[key] = _Call(fun, structure, specs, wrt)
        call = calls[key]
        return call.structure.unflatten(list(recorded.apply(call, *tensors)))

    return transformed(fun)(wrapped)


# ---- Functions and modules of torch in our programs ----------------------------------------------------------------------


def _tensor_types(tree: Any) -> Any:
    torch = _torch()
    leaves, structure = _core.tree_flatten(tree, None)
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise TypeError(
                f"a function of torch must return tensors; got {type(leaf).__name__}\n  return torch.as_tensor(result)"
            )
    return structure.unflatten([ShapeDtypeStruct(tuple(x.shape), str(x.dtype).partition(".")[2]) for x in leaves])


def function(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes of a function of torch's tensors one of arrays, for programs of ours.

    `jit`, `grad`, `vmap` and the others take it. The program calls Python for it, on the host. Derivatives are torch's,
    by reverse mode, of any order. ``vmap`` calls it for one example after the other.

    Parameters
    ----------
    fun : callable
        A function of pytrees of tensors, without side effects, that returns tensors. It is called once with zeros where
        a program is captured, to see what it returns; and again in the backward pass, so one that draws random numbers
        draws others there.

    Returns
    -------
    callable
        A function of pytrees of arrays that returns arrays.

    Raises
    ------
    ImportError
        torch is not installed.
    TypeError
        It returns something else than tensors.

    Examples
    --------
    >>> import torch
    >>> cube = ct.interop.torch.function(lambda x: x**3)
    >>> float(ct.jit(ct.grad(lambda x: cube(x) + x))(2.0))
    13.0
    """
    check_callable(fun, "interop.torch.function")
    torch = _torch()

    def results(*args: Any) -> Any:
        zeros = []
        leaves, structure = _core.tree_flatten(args, None)
        for leaf in leaves:
            shape, dtype, _ = aval_of(leaf)
            zeros.append(tensor(np.zeros(shape, dtype)))
        with torch.no_grad():
            return _tensor_types(fun(*structure.unflatten(zeros)))

    def run(*args: Any) -> Any:
        leaves, structure = _core.tree_flatten(args, None)
        with torch.no_grad():
            found, out = _core.tree_flatten(fun(*structure.unflatten([tensor(x) for x in leaves])), None)
        return out.unflatten([np.asarray(array(x)) for x in found])

    def slopes(args: Any, cotangents: Any) -> Any:
        """Of the inexact leaves of the arguments; a function of torch's tensors again."""
        leaves, structure = _core.tree_flatten(args, None)
        moving = [i for i, x in enumerate(leaves) if x.is_floating_point() or x.is_complex()]
        with torch.enable_grad():
            again = list(leaves)
            for i in moving:
                again[i] = leaves[i] if leaves[i].requires_grad else leaves[i].detach().requires_grad_()
            found = _core.tree_flatten(fun(*structure.unflatten(again)), None)[0]
            depends = [i for i, x in enumerate(found) if x.requires_grad]
            given = [cotangents[i] for i in depends]
            pulled = (
                torch.autograd.grad(
                    [found[i] for i in depends],
                    [again[i] for i in moving],
                    [c.conj() if c.is_complex() else c for c in given],
                    create_graph=torch.is_grad_enabled(),
                    allow_unused=True,
                )
                if depends
                else [None] * len(moving)
            )
        filled = [torch.zeros_like(again[i]) if p is None else p for i, p in zip(moving, pulled, strict=True)]
        return [p.conj().resolve_conj() if p.is_complex() else p for p in filled]

    @custom_vjp
    def called(*args: Any) -> Any:
        return pure_callback(run, results(*args), *args, vmap_method="sequential")

    def forward(*args: Any) -> Any:
        return called(*args), args

    def backward(args: Any, cotangent: Any) -> Any:
        leaves, structure = _core.tree_flatten(args, None)
        types = results(*args)
        given = [
            x if is_inexact_dtype(t.dtype) else np.zeros(t.shape, np.float32)
            for x, t in zip(_core.tree_flatten(cotangent, None)[0], _core.tree_flatten(types, None)[0], strict=True)
        ]
        pulled = iter(function(slopes)(args, given))
        return structure.unflatten([next(pulled) if is_inexact_dtype(aval_of(x)[1]) else None for x in leaves])

    called.defvjp(forward, backward)
    return transformed(fun)(lambda *args: called(*args))


def module(module: Any) -> tuple[dict[str, Array], Callable[..., Any]]:
    """Returns a module of torch as its parameters and a function of ours.

    What `function` says holds for the function. Buffers stay in the module: put it in evaluation mode where it would
    change them.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters are copied.

    Returns
    -------
    tuple
        A dict of arrays by name, and ``apply(parameters, *inputs)``.

    Raises
    ------
    ImportError
        torch is not installed.

    Examples
    --------
    >>> import torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = torch.nn.init.constant_(layer.weight, 2.0)
    >>> parameters, apply = ct.interop.torch.module(layer)
    >>> slopes = ct.grad(lambda p, x: apply(p, x).sum())(parameters, np.float32([[1, 2], [3, 4]]))
    >>> slopes["weight"].tolist(), slopes["bias"].tolist()
    ([[4.0, 6.0]], [2.0])
    """
    torch = _torch()
    functional = getattr(torch, "func", None) or needed("torch.nn.utils.stateless", "cotangent.interop.torch")
    parameters = {name: array(value) for name, value in module.named_parameters()}

    def apply(parameters: Any, *inputs: Any) -> Any:
        return functional.functional_call(module, parameters, inputs)

    apply.__name__ = function_name(module)
    return parameters, function(apply)


check_arguments(globals())
suggest_names(globals())
