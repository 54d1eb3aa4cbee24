"""A function of this package on a function of the user's: checks of what both are given, and what errors say.

Start at `Caller`; `reduced` in batches.py is how most functions use one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from cotangent import _core, random
from cotangent import numpy as cnp
from cotangent._base.arguments import suggestion
from cotangent._base.boundary import leaving
from cotangent._base.capture import check_callable, function_name, wraps
from cotangent._base.messages import sizes_of
from cotangent._core import Array
from cotangent._transforms.chunks import checked_chunk_size
from cotangent._transforms.staging import jit
from cotangent.errors import DTypeError, MismatchError, ShapeError
from cotangent.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_structure

Function = Callable[..., Any]
Tree = Any


class Caller:
    """A function of this package on a function of the user's: what errors are about, and how they begin.

    Args:
        name: of this package's function.
        function: the user's.
        chunk_size: how many examples are computed at a time, or None for all.
        has_aux: whether the user's function returns ``(value, aux)``; None where that is no option.
    """

    def __init__(
        self, name: str, function: Function, chunk_size: int | None = None, has_aux: bool | None = None
    ) -> None:
        check_callable(function, f"per_example.{name}")
        self.text = f"per_example.{name} of {function_name(function)}"
        self.function = function
        self.chunk_size = checked_chunk_size(chunk_size, f"per_example.{name}")
        self.has_aux = has_aux
        self.before: tuple[str, ...] = ("params",)  # the parameters in front of the batch

    def by_position(self, batch: tuple[Any, ...], by_name: dict[str, Any]) -> tuple[Function, tuple[Any, ...]]:
        """The user's function with the arguments that are given by name behind the others, and all of these arguments."""
        if by_name:
            self._check_names(by_name)
        count = len(batch)

        @wraps(self.function)
        def function(params: Tree, *arguments: Any) -> Any:
            named = zip(by_name, arguments[count:], strict=True)
            return self.called(params, *arguments[:count], **dict(named))

        return function, (*batch, *by_name.values())

    def called(self, params: Tree, /, *example: Any, **by_name: Any) -> Any:
        """What the user's function returns for one example. What it raises about an array says that it is given no batch.

        Raises:
            TypeError: the batch has fewer arrays, or more, than the function has parameters.
        """
        try:
            return self.function(params, *example, **by_name)
        except (TypeError, IndexError, ValueError) as error:
            parameters = _parameters_not_fitting(self.function, params, *example, **by_name)
            if parameters is not None:
                before = ", ".join(self.before)
                raise TypeError(
                    f"{self.text}: {error}\n  give the arrays of a batch one by one: f({', '.join([*self.before, *parameters[1:]])}),"
                    f" where f is {self.text.partition(' ')[0]}({function_name(self.function)}, ...); those in a tuple as f({before}, *batch)"
                ) from None
            if (explained := self._of_one_example(error, (example, by_name))) is not None:
                raise explained.with_traceback(error.__traceback__) from None
            raise

    def _of_one_example(self, error: Exception, example: Tree) -> Exception | None:
        """An error about axes that says that the function is given one example; None for another error.

        Who computes with the whole batch in it asks for an axis that is not there.
        """
        if type(error) not in (AxisError, IndexError, ShapeError) and "array without axes" not in str(error):
            return None
        arrays = ", ".join(_short(x) for x in tree_leaves(example) if isinstance(x, Array))
        what, link, section = str(error).partition("\n  see docs/")
        return type(error)(
            f"{what}\n  {self.text.partition(' ')[0]} gives {function_name(self.function)} one example at a time, here {arrays}:"
            f" write it for one, without the axis of the batch{link}{section}"
        )

    def _check_names(self, by_name: dict[str, Any]) -> None:
        """Raises TypeError where the user's function has no parameter of the name: it may be one that was meant for this package's."""
        try:
            parameters = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return  # it has none that can be looked at
        if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for name in by_name:
            if name not in parameters:
                raise TypeError(
                    f"{self.text}: {name!r} is no parameter of {function_name(self.function)}, whose are"
                    f" {', '.join(parameters)}{suggestion(name, parameters)}\n"
                    "  which examples of a batch count says present=, where this function takes it; the others are the batch's"
                )

    def loss(self, function: Function) -> Function:
        """The user's function as a loss: what it returns for one example is looked at."""

        @wraps(function)
        def loss(params: Tree, *example: Any) -> Any:
            found = function(params, *example)
            if not self.has_aux:
                self._check_loss(found)
            elif isinstance(found, tuple) and len(found) == 2:
                self._check_loss(found[0])
            else:
                raise TypeError(
                    f"{self.text}: with has_aux=True it must return a pair (loss, aux); it returned {_described(found)}\n"
                    "  return both, or leave out has_aux"
                )
            return found

        return loss

    def named(self, function: Any) -> Function:
        """What this package's function returns, under a name that Python's errors about its arguments begin with."""
        function.__name__ = function.__qualname__ = self.text
        signature = inspect.signature(function)
        parameters = signature.parameters.values()
        self.before = tuple(x.name for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD))
        if "batch" in signature.parameters:
            function.__signature__ = self._with_names_of_batch(signature)
        return functools.wraps(function)(leaving(function))

    def _with_names_of_batch(self, signature: inspect.Signature) -> inspect.Signature:
        """The parameters of what this package's function returns, with those of the user's function for ``*batch``: what help shows, and an export names."""
        try:
            taken = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return signature
        of_batch = [x for x in taken[1:] if x.kind not in (x.KEYWORD_ONLY, x.VAR_KEYWORD)]
        names = {x.name for x in of_batch} & signature.parameters.keys() - {"batch"}
        if names or not taken or taken[0].kind in (taken[0].VAR_POSITIONAL, taken[0].KEYWORD_ONLY):
            return signature
        of_batch = [
            x.replace(kind=x.kind if x.kind == x.VAR_POSITIONAL else x.POSITIONAL_OR_KEYWORD, annotation=x.empty)
            for x in of_batch
        ]
        parts = [[x] if x.name != "batch" else of_batch for x in signature.parameters.values()]
        return signature.replace(parameters=[x for part in parts for x in part])

    def _check_loss(self, found: Any) -> None:
        """One real floating number."""
        if not isinstance(found, (Array, np.ndarray, np.number)) and not _core.is_python_scalar(found):
            pair = ", or (loss, aux) with has_aux=True"
            if self.has_aux is None:
                pair = ", as of lambda *arguments: loss(*arguments)[0]" if isinstance(found, (tuple, list)) else ""
            raise TypeError(
                f"{self.text}: it must return one scalar, the loss of an example; it returned {_described(found)}\n"
                f"  return the loss alone{pair}"
            )
        value = cnp.asarray(found)
        if value.shape != ():
            raise ShapeError(
                f"{self.text}: the loss of an example must be a scalar; it has shape {value.shape}\n"
                "  reduce it (sum, mean); the batch has the examples along axis 0, and the loss is given one of them"
            )
        if _core.dtype_kind(value.dtype) != "float":
            raise DTypeError(
                f"{self.text}: the loss of an example must be a real floating scalar; it is {value.dtype}\n"
                "  convert it with .astype, or take the real part"
            )

    def evaluate(self, program: Function, *args: Any) -> Any:
        """Runs a program as one: only then does the compiler see gradients together with what becomes of them, and need not store them.

        It is captured anew by every call, so that what the user's function refers to is what it is now; what was compiled is found again.
        """
        if _core.is_capturing():
            return program(*args)
        program.__name__ = self.text  # in errors
        return jit(program)(*args)

    def check_params(self, params: Tree, called: str = "params") -> None:
        """Parameters are floating arrays, at least one."""
        entries = tree_flatten_with_path(params)[0]
        if not entries:
            raise ValueError(
                f"{self.text}: {called} has no arrays\n  give what gradients are of as {called}: an array, or a tree of arrays"
            )
        for path, leaf in entries:
            dtype = self._array_like(leaf, f"{called}{keystr(path)}").dtype
            if _core.dtype_kind(dtype) != "float":
                raise DTypeError(
                    f"{self.text}: {called}{keystr(path)} has dtype {dtype}; gradients are of real floating parameters\n"
                    "  close over what is constant, and write complex parameters as real and imaginary parts"
                )

    def check_like_params(self, vector: Tree, params: Tree, called: str = "vector") -> Tree:
        """A direction has the structure, shapes and dtypes of the parameters."""
        if tree_structure(vector) != tree_structure(params):
            raise MismatchError(
                f"{self.text}: {called} has the structure {tree_structure(vector)}, params {tree_structure(params)}\n"
                f"  the arguments are ({called}, params, *batch), and {called} is a tree like params"
            )

        def checked(path: Any, x: Any, like: Any) -> Array:
            x, like = cnp.asarray(self._array_like(x, f"{called}{keystr(path)}")), cnp.asarray(like)
            if x.shape != like.shape:
                raise MismatchError(
                    f"{self.text}: {called}{keystr(path)} has shape {x.shape}, params{keystr(path)} {like.shape}\n"
                    f"  the arguments are ({called}, params, *batch), and {called} is a tree like params"
                )
            if x.dtype != like.dtype and not x.weak_type:
                raise MismatchError(
                    f"{self.text}: {called}{keystr(path)} has dtype {x.dtype}, params{keystr(path)} {like.dtype}\n"
                    f"  convert it with .astype({str(like.dtype)!r})"
                )
            converted: Array = x.astype(like.dtype)
            return converted

        entries, structure = tree_flatten_with_path(vector)
        leaves = tree_flatten(params)[0]
        return structure.unflatten([checked(path, x, like) for (path, x), like in zip(entries, leaves, strict=True)])

    def _array_like(self, leaf: Any, where: str) -> Array:
        """A leaf of an argument; another object than an array or a number is a TypeError that says what to do."""
        try:
            array: Array = leaf if isinstance(leaf, Array) else _core.leaf(leaf, f"{self.text}: {where}")
        except DTypeError as error:
            raise DTypeError(f"{self.text}: {where}: {error}") from None
        return array

    def size(self, batch: tuple[Any, ...], by_name: dict[str, Any] | None = None, called: str = "the batch") -> Any:
        """How many examples a batch has; inside of `mask` it may be a size that only the data knows."""
        entries = tree_flatten_with_path(batch)[0] + tree_flatten_with_path(by_name or {})[0]
        if not entries:
            raise TypeError(f"{self.text}: {called} has no arrays\n  give the arguments of the examples after params")
        sizes = {}
        for path, leaf in entries:
            shape = self._array_like(leaf, f"{called}{keystr(path)}").shape
            if not shape:
                raise ShapeError(
                    f"{self.text}: {called}{keystr(path)} is a scalar; every array of a batch has the examples along its first axis\n"
                    "  close over what is the same for all examples, and make an array of a list of numbers, which is a tree"
                )
            sizes[keystr(path)] = shape[0]
        first = next(iter(sizes.values()))
        if any(size != first for size in sizes.values()):
            listing = ", ".join(f"{path}: {size}" for path, size in sizes.items())
            raise ShapeError(
                f"{self.text}: the arrays of {called} have different numbers of examples ({listing})\n"
                "  close over what is the same for all examples; every array here has the examples along its first axis"
            )
        return first

    def check_vector(self, x: Any, count: Any, called: str, of: str = "examples") -> Array:
        """One number for each of something; a word for how many there are, where any count will do."""
        if (
            not isinstance(x, (Array, np.ndarray, list, tuple, np.number))
            and not _core.is_python_scalar(x)
            and not hasattr(x, "__array__")
        ):
            raise TypeError(
                f"{self.text}: {called} must be an array ({count},), one number for each of the {of}; got {_described(x)}\n"
                "  pass an array or a list of numbers"
            )
        try:
            array = cnp.asarray(x)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.text}: {called}: {error}") from None
        if array.ndim != 1 or (array.shape != (count,) and not isinstance(count, str)):
            raise ShapeError(
                f"{self.text}: {called} has shape {array.shape}; {count} {of} need ({count},)\n"
                f"  pass one number for each of the {of}; ct.numpy.full({count}, x) has the same for all"
            )
        if _core.dtype_kind(array.dtype) == "complex":
            raise DTypeError(
                f"{self.text}: {called} has dtype {array.dtype}; it must be real\n  take the real part, {called}.real"
            )
        return array


def _parameters_not_fitting(function: Function, /, *args: Any, **by_name: Any) -> list[str] | None:
    """The parameters of a function that arguments do not fit; None where they do, or it has none that can be looked at."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **by_name)
    except TypeError:
        return list(signature.parameters)
    return None


def _short(x: Array) -> str:
    return f"{x.dtype}[{', '.join(sizes_of(x.shape))}]"


def _described(x: Any) -> str:
    """What something is, in errors."""
    if isinstance(x, tuple):
        return f"a tuple of {len(x)}"
    if isinstance(x, (Array, np.ndarray)):
        return f"an array of {x.dtype} and shape {x.shape}"
    return f"a {type(x).__name__}" if x is not None else "None"


def check_key(key: Any, text: str, arguments: str) -> None:
    """One random key, which is easily forgotten in front of the parameters.

    Args:
        text: how errors begin.
        arguments: those of the function.
    """
    try:
        shape = random.key_data(key).shape
    except TypeError:
        raise TypeError(
            f"{text}: key must be a random key, as ct.random.key(seed) is; got {_described(key)}\n"
            f"  the arguments are ({arguments})"
        ) from None
    if shape != (2,):
        raise ValueError(
            f"{text}: key must be one random key; got an array of them of shape {shape[:-1]}\n"
            "  use ct.vmap to call it with each key"
        )


def is_real(x: Any) -> bool:
    """Whether it is a real number, or an array of them."""
    if isinstance(x, (Array, np.ndarray, np.number)):
        return _core.dtype_kind(x.dtype) != "complex" and x.dtype.kind != "O"
    return _core.is_python_scalar(x) and not isinstance(x, complex)


def checked_scalar(
    x: Any, called: str, text: str, valid: Callable[[Any], Any], requirement: str, typical: float
) -> Any:
    """A number that an option of a function is, a Python float where it is known.

    Of a traced one only the program knows the value: it is NaN where it is not valid, and so is what is made of it.

    Args:
        text: how errors begin.
        valid: whether a value is allowed, for numbers and arrays.
        requirement: the same in words, after "must be".
        typical: a value that is allowed.
    """
    remedy = f"\n  pass {called}={typical}, say"
    if not is_real(x):
        raise TypeError(f"{text}: {called} must be a number, {requirement}; got {x!r}{remedy}")
    if cnp.shape(x) != ():
        raise ShapeError(f"{text}: {called} must be one number, {requirement}; it has shape {cnp.shape(x)}{remedy}")
    if _core.is_traced(x):
        return cnp.where(valid(x), x, cnp.nan)
    if not valid(x):
        raise ValueError(f"{text}: {called} must be {requirement}; got {x}{remedy}")
    return float(x)
