"""Nested containers: tuples, lists, dicts, named tuples, dataclasses and registered classes."""

from __future__ import annotations

import dataclasses
import operator
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from lanewise.errors import annotate
from lanewise.trace.trace import where

#: The namespace of classes that Lanewise, or its user through optree, has registered.
NAMESPACE = "lanewise"


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """Return the leaves of a tree, in order, and its structure. None is an empty container.

    ``is_leaf`` says of which containers the inside does not count.
    """
    leaves, structure = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    for leaf in leaves:
        is_dataclass = hasattr(type(leaf), "__dataclass_fields__")
        if is_dataclass and not (is_leaf and is_leaf(leaf)) and _register(type(leaf)):
            return flatten(tree, is_leaf)
    return leaves, structure


def can_change(node: Any) -> bool:
    """Whether it is a list, deque, dict or dataclass object."""
    return isinstance(node, (list, dict, deque)) or hasattr(type(node), "__dataclass_fields__")


def containers(tree: Any, sealed: Collection[int] = ()) -> list[Any]:
    """Return the lists, deques, dicts and dataclass objects of a tree, which may change.

    Those of the ids `sealed` do not count, and what is in them.
    """
    found: list[Any] = []

    def look(node: Any) -> bool:
        if id(node) in sealed:
            return True
        if can_change(node):
            found.append(node)
        return False

    flatten(tree, look)
    return found


def lists_within(tree: Any) -> set[int]:
    """Return the ids of the lists, deques, dicts and dataclass objects inside of a tree."""
    found: set[int] = set()

    def look(node: Any) -> bool:
        if node is not tree and can_change(node):
            found.add(id(node))
        return False

    if isinstance(tree, (list, tuple, dict, deque)):
        flatten(tree, look)
    return found


def lists_in_place(trees: Sequence[Any]) -> set[int]:
    """Return the ids of the containers that are at the same places in all of several trees."""
    found: set[int] = set()
    loose: set[int] = set()

    def look(nodes: Sequence[Any], is_top: bool) -> None:
        first = nodes[0]
        is_one = all([node is first for node in nodes])
        if is_one and can_change(first) and not is_top:
            found.add(id(first))
            return
        children = [children_of(node) for node in nodes]
        if any([each is None or each.keys() != (children[0] or {}).keys() for each in children]):
            loose.update(*[{id(node)} | lists_within(node) for node in nodes])
            return
        loose.update(map(id, nodes))
        for key in children[0] or ():
            look([each[key] for each in children if each is not None], False)

    if all([isinstance(each, (list, tuple, dict, deque)) for each in trees]):
        look(trees, True)
    return found - loose


def replaced(old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the containers of a tree that are not those of another one, and what those are.

    What is within counts as far as both have the same keys.
    """
    if new is old:
        return
    if type(new) is type(old) and can_change(new):
        yield new, old
    own, others = children_of(new), children_of(old)
    if own is not None and others is not None and own.keys() == others.keys():
        for key, each in own.items():
            yield from replaced(others[key], each)


def unflatten(structure: Any, leaves: list[Any]) -> Any:
    """Return the tree of a structure with these leaves."""
    return optree.tree_unflatten(structure, leaves)


def map_leaves(function: Callable[..., Any], *trees: Any) -> Any:
    """Return the tree of what a function gives on the leaves of trees of one structure."""
    flat, structures = zip(*[flatten(tree) for tree in trees], strict=True)
    return unflatten(structures[0], [function(*leaves) for leaves in zip(*flat, strict=True)])


def paths(tree: Any, root: str) -> list[str]:
    """Return what to write to reach each leaf of a tree: ``root[0]['x']``."""
    flatten(tree)  # registers dataclasses on the way
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [accessor.codify(root) for accessor in accessors]


def arrays_of_lists(tree: Any, path: str) -> Any:
    """Return a tree with the lists of plain numbers in it as the arrays that they are.

    An empty list is an array where it is the whole tree, and an empty container within one.

    Raises
    ------
    ValueError
        If such a list is ragged; the message names `path`.
    """
    if type(tree) is list and not tree:
        return np.asarray(tree)
    try:
        return optree.tree_map(
            lambda leaf: np.asarray(leaf) if type(leaf) is list else leaf,
            tree,
            is_leaf=_is_numbers,
            namespace=NAMESPACE,
        )
    except ValueError as error:
        annotate(error, f"in {path}")
        raise


def _is_numbers(node: Any) -> bool:
    if type(node) is not list:
        return False
    leaves, _ = flatten(node)
    return bool(leaves) and all([isinstance(leaf, _NUMBERS) for leaf in leaves])


_NUMBERS = (bool, int, float, complex, np.generic)


def axes(dims: Any, name: str) -> Any:
    """Return a tree of axes, each an ``int`` or None, or raise `ValueError` for anything else."""

    def axis(accessor: Any, leaf: Any) -> int | None:
        if leaf is None:
            return None
        try:
            if not isinstance(leaf, (bool, np.bool_)):
                return operator.index(leaf)
        except TypeError:
            pass
        raise ValueError(
            f"{name} takes ints, None, and containers of these, but {accessor.codify(name)} is "
            f"{leaf!r}"
        )

    flatten(dims)  # registers dataclasses on the way
    return optree.tree_map_with_accessor(axis, dims, none_is_leaf=True, namespace=NAMESPACE)


def broadcast_prefix(prefix: Any, tree: Any, name: str, of: str) -> list[int | None]:
    """Return for each leaf of `tree` the axis in `prefix` above it.

    Parameters
    ----------
    prefix
        Axes, as `axes` returns them, in containers shaped like the upper part of `tree`.
    tree
        The tree that they are for.
    name, of
        What to write to reach the two, in the message of an error.

    Raises
    ------
    ValueError
        If `prefix` is not shaped like the upper part of `tree`.
    """
    if prefix is None or type(prefix) is int:
        return [prefix] * len(flatten(tree)[0])
    entries, children = _matching(prefix, tree, name, of)
    result = []
    for key in children:
        step = f"[{key!r}]"
        result += broadcast_prefix(entries[key], children[key], name + step, of + step)
    return result


def parts(prefix: Any, tree: Any, name: str, of: str) -> list[Any]:
    """Return for each leaf of `prefix` the part of `tree` in its place.

    Raises
    ------
    ValueError
        If `prefix` is not shaped like the upper part of `tree`.
    """
    if prefix is None:
        return []
    if children_of(prefix) is None:
        return [tree]
    entries, children = _matching(prefix, tree, name, of)
    result = []
    for key in entries:
        step = f"[{key!r}]"
        result += parts(entries[key], children[key], name + step, of + step)
    return result


def _matching(prefix: Any, tree: Any, name: str, of: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the children of two containers, which must have the same keys."""
    entries, children = children_of(prefix) or {}, children_of(tree)
    if children is None or entries.keys() != children.keys():
        found = f"a single {type(tree).__name__}" if children is None else _outline(tree, children)
        raise ValueError(
            f"{name} is {_outline(prefix, entries)} where {of} is {found}: it must be shaped like "
            f"that, or like the upper part of it{where()}"
        )
    return entries, children


def _outline(tree: Any, children: dict[Any, Any]) -> str:
    """Return what to call a container in a message."""
    kind = type(tree).__name__
    if isinstance(tree, dict):
        return f"a {kind} with the keys {', '.join(map(repr, children)) or 'none'}"
    return f"a {kind} of {len(children)}"


def children_of(tree: Any) -> dict[Any, Any] | None:
    """Return the children of a container by key, in the order of `flatten`; None for a leaf."""
    if optree.tree_is_leaf(tree, namespace=NAMESPACE) and not _register(type(tree)):
        return None
    children, _, entries, _ = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    return dict(zip(entries, children, strict=True))


def _register(kind: type) -> bool:
    """Register a plain dataclass as a container, the first time one is met; False for no such."""
    if not dataclasses.is_dataclass(kind):
        return False
    with _lock:
        if kind not in _registered:
            _registered.add(kind)
            _enter(kind)
    return True


def _enter(kind: type) -> None:
    names = tuple([field.name for field in dataclasses.fields(kind)])  # ty: ignore[invalid-argument-type]

    def flatten_one(value: Any) -> tuple[list[Any], type, tuple[str, ...]]:
        return [getattr(value, name) for name in names], kind, names

    def unflatten_one(_: Any, children: Any) -> Any:
        value = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(value, name, child)
        return value

    optree.register_pytree_node(
        kind,  # ty: ignore[invalid-argument-type]
        flatten_one,
        unflatten_one,
        path_entry_type=optree.GetAttrEntry,
        namespace=NAMESPACE,
    )


def with_children(tree: Any, children: dict[Any, Any]) -> Any:
    """Return a container like another one, with other children."""
    if hasattr(type(tree), "with_children"):  # what is rebuilt by its children would be no such
        return tree.with_children(children)
    found = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    return found[3](found[1], [children[key] for key in found[2]])


_registered: set[type] = set()
_lock = threading.Lock()
