"""Lists, dicts and sets of comprehensions and generators, gathered by loops: element by element.

``{int(v) for v in x if v > 0}`` is a set to which a loop adds, as is ``set(v for v in x if v)``.
Then what the data decide is followed as it is in any other loop: whether there is an element, and
of which key it is.
"""

from __future__ import annotations

import builtins
import collections
import math
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.autograph.folds import FOLDS, Fold
from lanewise.autograph.lists.hooks import given
from lanewise.autograph.lists.loops import written
from lanewise.trace.regions import born


class Gathered(Fold):
    """A container that is made empty, and given the elements one after the other.

    A function may be called with it in the end.
    """

    def __init__(
        self,
        empty: Any,
        put: Callable[[Any, Any], None],
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.start = born(empty)
        self._put, self._function = put, function

    def add(self, total: Any, element: Any) -> Any:
        self._put(total, element)
        return total

    def result(self, total: Any) -> Any:
        if self._function is None:
            return total
        return fn(self._function)(given(self._function, total)[1])


def _append(items: Any, element: Any) -> None:
    items.append(element)


def _add(elements: Any, element: Any) -> None:
    elements.add(element)


def _enter(entries: Any, pair: Any) -> None:
    key, value = pair
    entries[key] = value


def _count(counts: Any, element: Any) -> None:
    counts[element] = counts[element] + 1


FOLDS.update(
    {
        builtins.list: lambda: Gathered([], written(_append)),
        # Its sum is rounded once.
        math.fsum: lambda: Gathered([], written(_append), math.fsum),
        builtins.set: lambda: Gathered(set(), written(_add)),
        builtins.dict: lambda: Gathered({}, written(_enter)),
        collections.Counter: lambda: Gathered(collections.Counter(), written(_count)),
        collections.deque: lambda maxlen=None: Gathered(
            collections.deque(maxlen=maxlen), written(_append)
        ),
    }
)
FOLDS["SetComp"], FOLDS["DictComp"] = FOLDS[builtins.set], FOLDS[builtins.dict]
