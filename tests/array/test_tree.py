"""Pytrees against jax.tree_util: leaves, paths, structures, registration."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import cotangent as ct
import cotangent.tree_util as tree
import numpy as np
import pytest
from needs import needs

try:
    import jax.tree_util as jax_tree
except ImportError:
    jax_tree = None

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    (),
    [1, (2, {"b": 3, "a": None})],
    {"z": [1], "a": (2, 3)},
    Point(1, [2, 3]),
    OrderedDict([("b", 1), ("a", [2])]),
    defaultdict(list, {"b": 1, "a": 2}),
]
needs_jax = needs("jax")


@needs_jax
@pytest.mark.parametrize("value", TREES, ids=str)
def test_leaves_and_paths_are_jax_s(value):
    assert tree.tree_leaves(value) == jax_tree.tree_leaves(value)
    expected = [(jax_tree.keystr(path), leaf) for path, leaf in jax_tree.tree_leaves_with_path(value)]
    assert [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path(value)] == expected
    leaves, structure = tree.tree_flatten(value)
    rebuilt = structure.unflatten(leaves)
    assert rebuilt == value
    assert type(rebuilt) is type(value)
    assert structure.num_leaves == jax_tree.tree_structure(value).num_leaves
    assert [c.num_leaves for c in tree.treedef_children(structure)] == [
        c.num_leaves for c in jax_tree.tree_structure(value).children()
    ]
    assert tree.treedef_is_leaf(structure) == jax_tree.treedef_is_leaf(jax_tree.tree_structure(value))
    assert tree.is_tree_node(type(value)) == jax_tree.is_tree_node(type(value))


def test_the_order_of_an_ordered_dict_is_part_of_its_structure():
    first, second = OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)
    assert tree.tree_structure(first) != tree.tree_structure(second)
    assert tree.tree_structure({"a": 1, "b": 2}) == tree.tree_structure({"b": 2, "a": 1})


def test_maps_with_paths_and_prefixes():
    value = {"w": [1, 2], "b": 3}
    assert ct.tree.map_with_path(
        lambda path, x, y: (tree.keystr(path, simple=True, separator="/"), x + y), value, value
    ) == {
        "w": [("w/0", 2), ("w/1", 4)],
        "b": ("b", 6),
    }
    assert ct.tree.broadcast((1, 2), ((3, 4), [5, 6])) == ((1, 1), [2, 2])
    assert ct.tree.map(lambda x, y: y, {"a": 0, "b": 1}, {"a": [1, 2], "b": 3}) == {"a": [1, 2], "b": 3}
    assert ct.tree.map(lambda x: x is None, [None, 1], is_leaf=lambda x: x is None) == [True, False]
    with pytest.raises(ValueError, match="structures differ"):
        ct.tree.map(lambda x, y: x, (1, 2), [1, 2])


Pair = namedtuple("Pair", "x y")
Other = namedtuple("Other", "x y")


@pytest.mark.parametrize(
    ("expected", "given", "difference"),
    [
        ([1, [2]], [1, 7], r"Expected list, got 7\."),
        ({"a": (1,)}, {"a": [7]}, r"Expected tuple, got \[7\]\."),
        ([1, 2], [7], r"List arity mismatch: 1 != 2; list: \[7\]\."),
        ((1,), (7, 8), r"Tuple arity mismatch: 2 != 1; tuple: \(7, 8\)\."),
        ([{"a": 1}], [{"b": 7}], r"Dict key mismatch; expected keys: \['a'\]; dict: \{'b': 7\}\."),
        (Pair(1, 2), (1, 2), r"Expected named tuple, got \(1, 2\)\."),
        (Pair(1, 2), Other(1, 2), "Named tuple type mismatch: expected <class '.*Pair'>"),
        (None, [2], r"Expected None, got \[2\]\."),
        ([tree.Partial(max, 1)], [3], r"Expected <class '.*Partial'>, got 3\."),
    ],
)
def test_errors_say_where_structures_differ(expected, given, difference):
    with pytest.raises(ValueError, match="structures differ: expected (.|\n)*" + difference):
        ct.tree.structure(expected).flatten_up_to(given)


def test_folds():
    assert ct.tree.reduce(lambda a, b: a - b, [1, (2, 3)]) == -4
    assert ct.tree.reduce(lambda a, b: a + b, [], 7) == 7
    assert ct.tree.reduce_associative(lambda a, b: a + b, ["a", ("b", "c"), "d", "e"]) == "abcde"
    assert ct.tree.reduce_associative(lambda a, b: a + b, [], identity=0) == 0
    with pytest.raises(TypeError, match="identity"):
        ct.tree.reduce_associative(lambda a, b: a + b, [])
    assert ct.tree.all([True, (1,)])
    assert not ct.tree.all([True, (0,)])
    assert tree.all_leaves([1, 2])
    assert not tree.all_leaves([1, None])


def test_structures_combine():
    a, b = tree.tree_structure([1, 2]), tree.tree_structure({"x": 1})
    both = tree.treedef_tuple([a, b])
    assert both == tree.tree_structure(([1, 2], {"x": 1}))
    assert both.unflatten([1, 2, 3]) == ([1, 2], {"x": 3})
    assert tree.treedef_children(both) == [a, b]
    assert both.node_data() == (tuple, None)
    assert b.node_data() == (dict, ["x"])
    assert tree.tree_structure(1).node_data() is None
    assert tree.flatten_one_level({"b": 1, "a": [2]}) == ([[2], 1], ["a", "b"])
    assert tree.flatten_one_level_with_keys([4])[0] == [(tree.SequenceKey(0), 4)]
    with pytest.raises(ValueError, match="leaf"):
        tree.flatten_one_level(3)
    assert tree.tree_transpose(a, b, [{"x": 1}, {"x": 2}]) == {"x": [1, 2]}
    assert tree.tree_transpose(a, None, [{"x": 1}, {"x": 2}]) == {"x": [1, 2]}
    for wrong in ([{"x": 1}], [{"x": 1}, {"x": [2, 3]}]):
        with pytest.raises(TypeError, match="mismatch"):
            tree.tree_transpose(a, b, wrong)


@tree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    name: str = dataclasses.field(default="dense", metadata={"static": True})


@tree.register_static
class Mode(str):
    pass


@tree.register_pytree_with_keys_class
class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def tree_flatten_with_keys(self):
        return ((tree.GetAttrKey("left"), self.left), (tree.GetAttrKey("right"), self.right)), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_registered_classes_pass_through_transforms():
    layer = Layer(np.arange(3.0), "first")
    assert [tree.keystr(path) for path, _ in tree.tree_leaves_with_path(layer)] == [".weight"]
    assert tree.tree_structure(layer) != tree.tree_structure(Layer(1.0, "second"))
    gradient = ct.jit(ct.grad(lambda one: (one.weight**2).sum()))(layer)
    assert isinstance(gradient, Layer) and gradient.name == "first"
    np.testing.assert_allclose(gradient.weight, 2 * np.arange(3.0))

    traced = []

    @ct.jit
    def f(x, mode):
        traced.append(mode)
        return x + 1 if mode == "add" else x - 1

    assert [float(f(1.0, Mode(m))) for m in ("add", "sub", "add")] == [2.0, 0.0, 2.0]
    assert traced == ["add", "sub"]

    pair = ct.vmap(lambda p: Pair(p.right, p.left))(Pair(np.ones(2), np.zeros(2)))
    np.testing.assert_array_equal(pair.left, [0.0, 0.0])
    assert [tree.keystr(path) for path, _ in tree.tree_leaves_with_path(pair)] == [".left", ".right"]

    power = tree.Partial(lambda n, x, scale: scale * x**n, 2.0, scale=3.0)
    assert float(ct.jit(lambda f, x: f(x))(power, 2.0)) == 12.0
    assert float(ct.grad(lambda f, x: f(x), argnums=1)(power, 2.0)) == 12.0
    assert tree.tree_leaves(power) == [2.0, 3.0]


def test_partials_of_partials_keep_their_own_arguments():
    inner = functools.partial(lambda a, b, c: a + b * c, 2.0)
    partial = tree.Partial(inner, 3.0)
    assert partial.args == (3.0,) and tree.tree_leaves(partial) == [3.0]
    assert partial.func == inner and hash(partial.func) == hash(tree.Partial(inner).func)
    assert float(ct.jit(lambda f, x: f(x))(partial, 4.0)) == 14.0


@needs_jax
@pytest.mark.parametrize("value", TREES, ids=str)
def test_structures_compose_fold_and_pickle(value):
    structure, inner = tree.tree_structure(value), tree.tree_structure([0, (1, None)])
    both = structure.compose(inner)
    expected = jax_tree.tree_structure(value).compose(jax_tree.tree_structure([0, (1, None)]))
    assert (both.num_leaves, both.num_nodes) == (expected.num_leaves, expected.num_nodes)
    assert both == tree.tree_structure(tree.tree_map(lambda _: [0, (1, None)], value))
    for kept in (structure, both):
        again = pickle.loads(pickle.dumps(kept))
        assert again == kept and hash(again) == hash(kept)
        assert again.unflatten(range(kept.num_leaves)) == kept.unflatten(range(kept.num_leaves))
    count = lambda children, data: 1 + sum(children)  # noqa: E731
    assert structure.walk(count, lambda leaf: 1, tree.tree_leaves(value)) == structure.num_nodes
    with pytest.raises(ValueError, match="leaves was given"):
        both.walk(count, None, [0] * (both.num_leaves + 1))


@pytest.mark.parametrize(
    "state",
    [
        ([],),
        ([(2, 5, None, None)],),
        ([(2, 2**32 - 1, None, None)],),
        ([(99, 0, None, None)],),
        ([(0, 3, None, None)],),
        ([(0, 0, None, None), (0, 0, None, None)],),
        ([(4, 2, None, [1]), (0, 0, None, None), (0, 0, None, None)],),
        ([(5, 0, 3, None)],),
        ([(7, 0, int, None)],),
    ],
)
def test_damaged_pickles_are_errors(state):
    structure = tree.PyTreeDef.__new__(tree.PyTreeDef)
    with pytest.raises(ValueError, match="damaged"):
        structure.__setstate__(state)


def test_paths_decide_what_is_a_leaf():
    value = ((1, 2), [3, {4: 4, 5: 5}])
    deep = lambda path, _: len(path) >= 2  # noqa: E731
    found, structure = tree.tree_flatten_with_path(value, deep, is_leaf_takes_path=True)
    assert [leaf for _, leaf in found] == [1, 2, 3, {4: 4, 5: 5}]
    assert structure == tree.tree_structure(((0, 0), [0, 0]))
    assert tree.tree_leaves_with_path(value, deep, is_leaf_takes_path=True) == found
    mapped = tree.tree_map_with_path(
        lambda path, x: (path[0].idx, x), value, is_leaf=lambda _, x: isinstance(x, list), is_leaf_takes_path=True
    )
    assert mapped == (((0, 1), (0, 2)), (1, [3, {4: 4, 5: 5}]))
    assert tree.tree_map_with_path(lambda path, x: x, [None], is_leaf=lambda x: x is None) == [None]


class Unkeyed(Point):
    pass


tree.register_pytree_node(Unkeyed, lambda node: ((node.x,), node.y), lambda y, xs: Unkeyed(xs[0], y))


def test_keys_of_registered_namedtuples_and_keys_in_patterns():
    ((path, leaf),) = tree.tree_leaves_with_path(Unkeyed(3, "static"))
    assert (tree.keystr(path), leaf) == ("[<flat index 0>]", 3)
    assert [tree.keystr(path) for path, _ in tree.tree_leaves_with_path(OrderedDict(b=1, a=2))] == ["['b']", "['a']"]
    for key, value in [(tree.SequenceKey(idx=1), 1), (tree.DictKey(key="k"), "k"), (tree.GetAttrKey(name="n"), "n")]:
        match key:
            case tree.SequenceKey(found) | tree.DictKey(found) | tree.GetAttrKey(found):
                assert found == value


def test_dataclasses_are_leaves_until_they_are_registered():
    @dataclasses.dataclass
    class Moments:
        mean: object
        square: object

    moments = ct.tree.map(lambda x: Moments(x, x * x), {"a": 2, "b": 3})
    assert ct.tree.map(lambda m: m.square, moments) == {"a": 4, "b": 9}
    assert not tree.is_tree_node(Moments)
    with pytest.raises(TypeError, match=r"unsupported type Moments at .*\n.*register_dataclass"):
        ct.jit(lambda m: m.mean)(Moments(1.0, 2.0))
    tree.register_dataclass(Moments)
    assert ct.grad(lambda m: m.mean * m.square)(Moments(3.0, 4.0)) == Moments(4.0, 3.0)


def test_static_fields():
    @tree.register_dataclass
    @dataclasses.dataclass
    class Scaled:
        value: object
        factor: object = ct.tree.static(default=2, metadata={"unit": "m"})

    assert tree.tree_leaves(Scaled(1.0)) == [1.0]
    assert Scaled.__dataclass_fields__["factor"].metadata == {"static": True, "unit": "m"}
    assert float(ct.jit(lambda s: s.value * s.factor)(Scaled(3.0))) == 6.0
    run = ct.jit(lambda s: s.value)
    run(Scaled(1.0, np.arange(4)))
    with pytest.raises(ValueError, match="cannot be compared"):
        run(Scaled(1.0, np.arange(4)))


@pytest.mark.parametrize("flattened", ["hello", (2, 3, 4), (7, 7), None])
def test_flatten_functions_that_return_something_else(flattened):
    class Bad:
        pass

    tree.register_pytree_node(Bad, lambda node: flattened, lambda data, children: Bad())
    with pytest.raises(ValueError, match=r"must return .children, auxiliary data."):
        tree.tree_flatten(Bad())


@pytest.mark.parametrize("builtin", [dict, list, tuple, type(None)])
def test_what_python_itself_has_is_registered_already(builtin: type) -> None:
    for register in (
        tree.register_static,
        lambda cls: tree.register_pytree_node(cls, lambda x: ((), x), lambda x, _: x),
    ):
        with pytest.raises(ValueError, match="registered already"):
            register(builtin)
    assert tree.tree_leaves({"a": [1, (2, None)]}) == [1, 2]


def test_registration_errors():
    with pytest.raises(ValueError, match="registered already"):
        tree.register_pytree_node(Pair, lambda p: ((), None), lambda _, c: None)
    with pytest.raises(ValueError, match="not a dataclass"):
        tree.register_dataclass(object)
    with pytest.raises(ValueError, match="both"):
        tree.register_dataclass(Layer, ["weight"])

    @dataclasses.dataclass
    class Other:
        a: int
        b: int

    with pytest.raises(ValueError, match="name"):
        tree.register_dataclass(Other, ["a"], [])
    with pytest.raises(ValueError, match="both in"):
        tree.register_dataclass(Other, ["a", "b"], ["b"])


def test_keys_compare_by_kind():
    assert tree.DictKey(0) != tree.SequenceKey(0)
    assert len({tree.DictKey("a"), tree.DictKey("a"), tree.GetAttrKey("a")}) == 2
    assert repr(tree.SequenceKey(1)) == "SequenceKey(idx=1)"
    assert tree.DictKey("a").key == "a" and tree.GetAttrKey("n").name == "n" and tree.SequenceKey(2).idx == 2


def test_jitted_dictionaries_in_any_order():
    add = ct.jit(lambda d: {key: value + 1 for key, value in d.items()})
    forward = {f"key{i:02d}": float(i) for i in range(20)}
    backward = dict(reversed(forward.items()))
    for values in (forward, backward, forward, {("key" + key[3:]): value for key, value in backward.items()}):
        result = add(values)
        assert list(result) == sorted(forward)
        assert {key: float(value) for key, value in result.items()} == {key: i + 1 for key, i in forward.items()}
    assert add._cache_size() == 1
    with pytest.raises(KeyError):
        result["other"]
