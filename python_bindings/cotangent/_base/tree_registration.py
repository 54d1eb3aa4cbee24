"""Classes whose instances are containers of a pytree, and those of the standard library that are."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.tree_paths import KEYED, DictKey, GetAttrKey

__all__ = [
    "Partial",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
]


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Registers a class as a container.

    Transforms then take and return its instances; data that are not children are a part of the structure, by which
    `jit` tells programs apart.

    Parameters
    ----------
    nodetype : type
        The class.
    flatten_func : callable
        Object -> (children, auxiliary data); the data is part of the structure and must be comparable.
    unflatten_func : callable
        (auxiliary data, children) -> object.
    flatten_with_keys_func : callable, optional
        Object -> ((key, child) pairs, auxiliary data), for paths.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> ct.tree_util.register_pytree_node(Interval, lambda x: ((x.low, x.high), None), lambda _, xs: Interval(*xs))
    >>> float(ct.jit(lambda x: x.high - x.low)(Interval(2.0, 5.0)))
    3.0
    """
    if nodetype in (dict, list, tuple, type(None)):
        raise ValueError(
            f"the type is registered already: {nodetype!r}\n  register a class of your own, which may inherit from it"
        )
    _core.register_node(nodetype, flatten_func, unflatten_func)
    if flatten_with_keys_func is not None:
        KEYED[nodetype] = flatten_with_keys_func


def register_pytree_node_class(cls: Any) -> Any:
    """Registers a class with ``tree_flatten`` and ``tree_unflatten`` methods as a container; for use as a decorator.

    Parameters
    ----------
    cls : type
        With ``tree_flatten(self)``, which returns children and data, and the class method ``tree_unflatten(data, children)``.

    Returns
    -------
    type
        ``cls``.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> @ct.tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, x, unit):
    ...         self.x, self.unit = x, unit
    ...
    ...     def tree_flatten(self):
    ...         return (self.x,), self.unit
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> ct.tree.map(lambda x: 2 * x, Scaled(3, "m")).x
    6
    """
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Registers a class as a container whose children have keys.

    Parameters
    ----------
    nodetype : type
        The class.
    flatten_with_keys : callable
        Object -> ((key, child) pairs, auxiliary data).
    unflatten_func : callable
        (auxiliary data, children) -> object.
    flatten_func : callable, optional
        Object -> (children, auxiliary data), if that is quicker.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> key = ct.tree_util.GetAttrKey
    >>> ct.tree_util.register_pytree_with_keys(
    ...     Pair, lambda p: (((key("x"), p.x), (key("y"), p.y)), None), lambda _, xs: Pair(*xs)
    ... )
    >>> [ct.tree_util.keystr(path) for path, _ in ct.tree.leaves_with_path(Pair(1, 2))]
    ['.x', '.y']
    """

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(node)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Any) -> Any:
    """Registers a class with a ``tree_flatten_with_keys`` method as a container; for use as a decorator.

    Parameters
    ----------
    cls : type
        With ``tree_flatten_with_keys(self)``, whose children are pairs of a key and a child, and ``tree_unflatten(data, children)``.

    Returns
    -------
    type
        ``cls``.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> @ct.tree_util.register_pytree_with_keys_class
    ... class Layer:
    ...     def __init__(self, w):
    ...         self.w = w
    ...
    ...     def tree_flatten_with_keys(self):
    ...         return [(ct.tree_util.GetAttrKey("w"), self.w)], None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, _, children):
    ...         return cls(*children)
    >>> [ct.tree_util.keystr(path) for path, _ in ct.tree.leaves_with_path(Layer(1))]
    ['.w']
    """
    flatten_func = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten_func)
    return cls


def _fields_to_change(expected: set[str], given: set[str]) -> str:
    """What to do about fields that are named and not there, and about others that are not named."""
    parts = [f"leave out {', '.join(sorted(given - expected))}"] if given - expected else []
    if expected - given:
        parts.append(f"name {', '.join(sorted(expected - given))}, too, or pass it in drop_fields=")
    return "; ".join(parts)


def register_dataclass(
    nodetype: Any,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Registers a dataclass as a container; also as a decorator.

    Without lists of fields they are read from the class: those declared with ``metadata={"static": True}`` (see
    `static`) belong to the structure, the others are children. Dataclasses that are not registered are leaves.

    Parameters
    ----------
    nodetype : type
        The dataclass; or another class whose constructor takes the fields by name, if both lists are given.
    data_fields : sequence of str, optional
        The fields that are children.
    meta_fields : sequence of str, optional
        The fields that belong to the structure: hashable and comparable.
    drop_fields : sequence of str, default ()
        Fields that are neither, and get their default.

    Returns
    -------
    type
        ``nodetype``.

    Raises
    ------
    ValueError
        A field is missing, or is in both lists; only one of the two lists is given; the class is registered already.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @ct.tree_util.register_dataclass
    ... @dataclass
    ... class Layer:
    ...     w: object
    ...     name: str = ct.tree.static(default="layer")
    >>> ct.tree.map(lambda x: 2 * x, Layer(3))
    Layer(w=6, name='layer')
    """
    if (data_fields is None) != (meta_fields is None):
        raise ValueError(
            "register_dataclass: give both data_fields and meta_fields, or neither\n"
            "  pass an empty list for fields that there are none of: meta_fields=[]"
        )
    if data_fields is None or meta_fields is None:
        declared = getattr(nodetype, "__dataclass_fields__", None)
        if declared is None:
            raise ValueError(
                f"register_dataclass: {nodetype!r} is not a dataclass\n"
                "  decorate it with @dataclasses.dataclass first, or give data_fields= and meta_fields="
            )
        kept = {name: field for name, field in declared.items() if field.init and name not in drop_fields}
        meta_fields = [name for name, field in kept.items() if field.metadata.get("static", False)]
        data_fields = [name for name in kept if name not in meta_fields]
    elif hasattr(nodetype, "__dataclass_fields__"):
        expected = {name for name, field in nodetype.__dataclass_fields__.items() if field.init} - set(drop_fields)
        given = {*data_fields, *meta_fields}
        if expected != given:
            raise ValueError(
                f"register_dataclass: the fields of {nodetype.__name__} are {sorted(expected)}, but data_fields and meta_fields "
                f"name {sorted(given)}\n  {_fields_to_change(expected, given)}"
            )
    data_names, meta_names = tuple(data_fields), tuple(meta_fields)
    if both := sorted({*data_names} & {*meta_names}):
        raise ValueError(
            f"register_dataclass: fields both in data_fields and in meta_fields: {both}\n"
            "  name a field in data_fields if it has arrays, else in meta_fields"
        )

    def flatten_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(name), getattr(node, name)) for name in data_names], flatten(node)[1]

    def flatten(node: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple(getattr(node, name) for name in data_names), tuple(getattr(node, name) for name in meta_names)

    def unflatten(meta: Any, data: Iterable[Any]) -> Any:
        return nodetype(**dict(zip(data_names, data, strict=True)), **dict(zip(meta_names, meta, strict=True)))

    register_pytree_node(nodetype, flatten, unflatten, flatten_with_keys)
    return nodetype


def static(**options: Any) -> Any:
    """Declares a field of a dataclass that `register_dataclass` makes a part of the structure.

    Parameters
    ----------
    **options : object
        Those of `dataclasses.field`.

    Returns
    -------
    dataclasses.Field
        With ``metadata={"static": True}`` in it.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @ct.tree_util.register_dataclass
    ... @dataclass
    ... class Power:
    ...     x: object
    ...     n: int = ct.tree.static()
    >>> float(ct.jit(lambda p: p.x**p.n)(Power(3.0, 2)))
    9.0
    """
    import dataclasses  # whose import takes a while

    return dataclasses.field(**{**options, "metadata": {"static": True, **(options.get("metadata") or {})}})


def register_static(cls: Any) -> Any:
    """Registers a class whose instances have no leaves and belong to the structure; for use as a decorator.

    Parameters
    ----------
    cls : type
        Its instances must be hashable and comparable.

    Returns
    -------
    type
        ``cls``.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> @ct.tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> f = ct.jit(lambda x, mode: x + 1 if mode == "up" else x - 1)
    >>> float(f(1.0, Mode("up"))), float(f(1.0, Mode("down")))
    (2.0, 0.0)
    """
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


class _Once:
    """A `functools.partial` as a function that `Partial` does not take apart; it is the partial in comparisons."""

    def __init__(self, wrapped: functools.partial[Any]) -> None:
        functools.update_wrapper(self, wrapped)
        self._wrapped = wrapped

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self._wrapped == (other._wrapped if isinstance(other, _Once) else other))

    def __hash__(self) -> int:
        return hash(self._wrapped)

    def __repr__(self) -> str:
        return repr(self._wrapped)


class Partial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` as a pytree: its arguments are children, so that it can be passed through transforms.

    Arguments that the function was given before, by `functools.partial`, stay a part of the function.

    Parameters
    ----------
    func : callable
        The function; it belongs to the structure.
    *args : pytrees
        Its first arguments.
    **keywords : pytrees
        Its keyword arguments.

    Examples
    --------
    >>> power = ct.tree_util.Partial(lambda n, x: x**n, 3)
    >>> int(ct.jit(lambda f, x: f(x))(power, 2))
    8
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        if isinstance(func, functools.partial):
            return super().__new__(cls, _Once(func), *args, **keywords)
        return super().__new__(cls, func, *args, **keywords)


# ---- containers of the standard library ------------------------------------------------------------------------------


def _sorted_items(node: defaultdict[Any, Any]) -> tuple[list[tuple[DictKey, Any]], Any]:
    keys = tuple(sorted(node))
    return [(DictKey(key), node[key]) for key in keys], (node.default_factory, keys)


register_pytree_with_keys(
    OrderedDict,
    lambda node: ([(DictKey(key), value) for key, value in node.items()], tuple(node)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda node: (list(node.values()), tuple(node)),
)
register_pytree_with_keys(
    defaultdict, _sorted_items, lambda data, values: defaultdict(data[0], zip(data[1], values, strict=True))
)
register_pytree_with_keys(
    Partial,
    lambda node: (((GetAttrKey("args"), node.args), (GetAttrKey("keywords"), node.keywords)), node.func),
    lambda func, children: _partial(func, *children),
)


def _partial(func: Any, args: Any, keywords: Any) -> Partial:
    return Partial(func, *args, **keywords)


check_arguments(globals())
