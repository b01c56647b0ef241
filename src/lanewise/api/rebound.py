"""What a traced function puts in containers among its arguments: the caller finds it in his own.

A trace runs on copies of these containers. Where it leaves another array in place of one, a call
does the same to the container that the caller has given. Any other change, of a length, a key or a
plain number, would be another trace with each call: it is refused, and the function itself runs. So
is an array that shares memory with another, or is one or another as the data say: the caller's
would be a copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import UnsupportedError, at, function_name
from lanewise.trace import tree
from lanewise.trace.regions import Watched
from lanewise.trace.slots import AttributeSlot
from lanewise.trace.tensor import Tensor

#: Containers of items; others have attributes.
_ITEMS = (list, dict, deque)


class Place(NamedTuple):
    """A place in a container among the arguments.

    Attributes
    ----------
    container
        Which it is of `tree.containers` of the arguments.
    key
        The index, key, or name of the attribute.
    """

    container: int
    key: Any


class Given:
    """The containers among the arguments of a trace, and what was in them before."""

    def __init__(self, trace: Watched, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._trace, self._tree = trace, (args, kwargs)
        self._leaves, self._structure = tree.flatten(self._tree)
        self._containers = tree.containers(self._tree)
        self._children = [tree.children_of(each) or {} for each in self._containers]
        trace.given = {id(each) for each in self._containers}

    def rebound(self) -> dict[Place, Tensor]:
        """Return what the function has put in place of arrays.

        Raises
        ------
        UnsupportedError
            If it has changed a container in another way.
        """
        found: dict[Place, Tensor] = {}
        leaves = set(map(id, self._leaves))
        pairs = zip(self._containers, self._children, strict=True)
        for number, (container, before) in enumerate(pairs):
            after = tree.children_of(container) or {}
            if list(after) != list(before):
                self._refuse(container)
            for key, child in after.items():
                if child is not before[key]:
                    if not (_is_array(before[key]) and _is_array(child)):
                        self._refuse(container)
                    if id(child) not in leaves and (child._view or child._guard):
                        self._refuse(container)
                    found[Place(number, key)] = child
            if any([name not in before for name in self._attributes_set(container)]):
                self._refuse(container)
        now, structure = tree.flatten(self._tree)
        others = [x for x, y in zip(now, self._leaves, strict=False) if x is not y]
        if structure != self._structure or len(others) != len(found):
            self._refuse(self._tree)
        return found

    def _attributes_set(self, x: Any) -> list[str]:
        slots = [slot for slot, _ in self._trace.changes.values() if slot.owner is x]
        return [slot.attribute for slot in slots if isinstance(slot, AttributeSlot)]

    def _refuse(self, container: Any) -> None:
        changes, places = self._trace.changes, self._trace.lines
        lines = [places[key] for key, (slot, _) in changes.items() if slot.owner is container]
        kind = "container" if container is self._tree else type(container).__name__
        raise UnsupportedError(
            f"{function_name(self._trace.function)} changes a {kind} among its arguments"
            f"{at(lines[0]) if lines else ''}: only new arrays can be put there in place of "
            "arrays. Return a new one"
        )


def are_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether no container among arguments is there twice."""
    found = [id(each) for each in tree.containers((args, kwargs))]
    return len({*found}) == len(found)


def put(
    places: Sequence[Place], values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Put values in containers among the arguments of a call."""
    containers = tree.containers((args, kwargs))
    for place, value in zip(places, values, strict=True):
        container = containers[place.container]
        if isinstance(container, _ITEMS):
            container[place.key] = value
        else:
            setattr(container, place.key, value)


def contents_of(args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the containers among the arguments of a call, each with a copy of what it holds."""
    if not kwargs and all([type(x) is np.ndarray for x in args]):
        return []
    found = tree.containers((tuple(args), tuple(kwargs.values())))
    return [(x, x.copy() if isinstance(x, _ITEMS) else tree.children_of(x)) for x in found]


def put_back(contents: Sequence[tuple[Any, Any]]) -> None:
    """Have containers hold what they held."""
    for container, held in contents:
        if isinstance(container, dict):
            container.clear()
            container.update(held)
        elif isinstance(container, _ITEMS):
            container.clear()
            container.extend(held)
        else:
            for name, value in held.items():
                if getattr(container, name) is not value:
                    setattr(container, name, value)


def _is_array(x: Any) -> bool:
    """Whether it is an array or a scalar of NumPy's, which does not decide the trace."""
    return type(x) is Tensor and x._weak is None and x._mixed is None
