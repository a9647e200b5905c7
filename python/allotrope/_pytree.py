"""Nested tuples, lists and dicts taken apart into their leaves and put together again: the one way of
`func` and of `utils._pytree`."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

# What takes a container apart into parts and what else it is made of, and what puts it together.
_Flatten = Callable[[Any], tuple[list[Any], Any]]
_Unflatten = Callable[[list[Any], Any], Any]

_NODES: dict[Any, tuple[_Flatten, _Unflatten]] = {
    tuple: (lambda node: (list(node), None), lambda parts, _: tuple(parts)),
    list: (lambda node: (list(node), None), lambda parts, _: parts),
    dict: (lambda node: (list(node.values()), list(node)), lambda parts, keys: dict(zip(keys, parts))),
    OrderedDict: (
        lambda node: (list(node.values()), list(node)),
        lambda parts, keys: OrderedDict(zip(keys, parts)),
    ),
    defaultdict: (
        lambda node: (list(node.values()), (node.default_factory, list(node))),
        lambda parts, plan: defaultdict(plan[0], zip(plan[1], parts)),
    ),
    deque: (lambda node: (list(node), node.maxlen), lambda parts, longest: deque(parts, longest)),
}


def register_pytree_node(cls: type, flatten_fn: _Flatten, unflatten_fn: _Unflatten, **_names: Any) -> None:
    """Makes objects of a class containers: the first function gives a list of parts and what else there
    is to know, the second makes an object of both.

    >>> from allotrope.utils import _pytree as pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> pytree.tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    _NODES[cls] = (flatten_fn, unflatten_fn)


def _parts(tree: Any) -> tuple[Any, Any, list[Any]] | None:
    """The kind of a container, what else it is made of, and its parts; None of a leaf."""
    kind = type(tree)
    node = _NODES.get(kind)
    if node is not None:
        parts, context = node[0](tree)
        return kind, context, list(parts)
    # Other tuples, lists and dicts are what they are derived from; those with named fields stay it.
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return kind, None, list(tree)
    for base in (tuple, list, dict):
        if isinstance(tree, base):
            parts, context = _NODES[base][0](tree)
            return (kind if base is not dict else dict), context, parts
    return None


class TreeSpec:
    """How leaves are nested: what `tree_flatten` gives beside them.

    >>> from allotrope.utils import _pytree as pytree
    >>> leaves, spec = pytree.tree_flatten({"a": [1, 2], "b": 3})
    >>> spec.num_leaves, spec.unflatten([10, 20, 30])
    (3, {'a': [10, 20], 'b': 30})
    """

    __slots__ = ("type", "context", "children_specs", "num_leaves")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves: int = sum(child.num_leaves for child in children_specs) if type else 1

    def is_leaf(self) -> bool:
        """Whether it is of a single leaf.

        >>> from allotrope.utils import _pytree as pytree
        >>> pytree.tree_structure(1).is_leaf()
        True
        """
        return self.type is None

    def unflatten(self, leaves: Any) -> Any:
        """Leaves, put together.

        >>> from allotrope.utils import _pytree as pytree
        >>> pytree.tree_structure((0, [0])).unflatten([1, 2])
        (1, [2])
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"tree_unflatten: {len(leaves)} leaves; {self.num_leaves} are accepted")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        parts = [child._build(leaves) for child in self.children_specs]
        node = _NODES.get(self.type)
        if node is not None:
            return node[1](parts, self.context)
        return self.type(*parts) if hasattr(self.type, "_fields") else self.type(parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        own, others = ((s.type, s.context, s.children_specs) for s in (self, other))
        return own == others

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested tuples, lists and dicts, in order, and how they are nested.

    >>> from allotrope.utils import _pytree as pytree
    >>> leaves, spec = pytree.tree_flatten([1, (2, {"a": 3})])
    >>> leaves, pytree.tree_unflatten([x * 10 for x in leaves], spec)
    ([1, 2, 3], [10, (20, {'a': 30})])
    """
    leaves: list[Any] = []
    return leaves, _walk(tree, is_leaf, leaves)


# No function within another, which would hold itself and the leaves until they are collected.
def _walk(tree: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    parts = None if is_leaf is not None and is_leaf(tree) else _parts(tree)
    if parts is None:
        leaves.append(tree)
        return TreeSpec(None, None, [])
    kind, context, children = parts
    return TreeSpec(kind, context, [_walk(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """Leaves, put together as a specification of `tree_flatten` says.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_unflatten([1, 2], pytree.tree_structure({"a": 0, "b": 0}))
    {'a': 1, 'b': 2}
    """
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_leaves({"a": 1, "b": [2]})
    [1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """How leaves are nested.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_structure((1, 2)) == pytree.tree_structure((3, 4))
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """What a function gives for every leaf, nested as they are; of several trees for leaves at one place.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    if any(len(other) != len(leaves) for other in others):
        counts = ", ".join(str(len(each)) for each in (leaves, *others))
        raise ValueError(f"tree_map: trees of several forms: {counts} leaves; trees of one form are accepted")
    return spec.unflatten(func(*each) for each in zip(leaves, *others))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree itself, after a function was called with every leaf.

    >>> from allotrope.utils import _pytree as pytree
    >>> tree = {"a": al.ones(2)}
    >>> pytree.tree_map_(lambda x: x.mul_(3), tree) is tree, tree["a"]
    (True, tensor([3., 3.]))
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is_kind(kinds: Any) -> Callable[[Any], bool]:
    if isinstance(kinds, (type, tuple)):
        return lambda leaf: isinstance(leaf, kinds)
    return kinds  # type: ignore[no-any-return]


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: Any, **options: Any) -> Any:
    """What a function gives for every leaf of some classes, and other leaves as they are.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_map_only(int, lambda x: -x, [1, "a", (2,)])
    [-1, 'a', (-2,)]
    """
    is_meant = _is_kind(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if is_meant(leaf) else leaf, tree, **options)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something is true of every leaf.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_all(lambda x: x > 0, [1, (2,)])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something is true of a leaf.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_any(lambda x: x > 1, [1, (2,)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types_or_pred: Any, pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something is true of every leaf of some classes.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_all_only(int, lambda x: x > 0, [1, "a"])
    True
    """
    is_meant = _is_kind(type_or_types_or_pred)
    return all(pred(leaf) for leaf in tree_leaves(tree) if is_meant(leaf))


def tree_any_only(type_or_types_or_pred: Any, pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether something is true of a leaf of some classes.

    >>> from allotrope.utils import _pytree as pytree
    >>> pytree.tree_any_only(int, lambda x: x > 1, [1, "a"])
    False
    """
    is_meant = _is_kind(type_or_types_or_pred)
    return any(pred(leaf) for leaf in tree_leaves(tree) if is_meant(leaf))


PyTree = Any

__all__ = [
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]
