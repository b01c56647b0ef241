"""What a function returns that is as long as the data say: as long as in an example."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.autograph.lists.columns import Columns
from lanewise.autograph.lists.grown import Grown, whole
from lanewise.autograph.tables import as_lists
from lanewise.autograph.values import require
from lanewise.trace import tree
from lanewise.trace.contents import concerns, holds
from lanewise.trace.origins import origin_of
from lanewise.trace.regions import born
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import require_trace


def as_long_as(result: Any, example: Any, refusal: Exception) -> Any:
    """Return what a function returns, lists and arrays checked to be as long as in an example.

    ``refusal`` is raised for one that is not.
    """
    leaves, structure = tree.flatten(result := as_lists(result), concerns)
    try:
        parts = structure.flatten_up_to(example)
    except ValueError:  # of another form
        return result
    error = type(refusal)(*refusal.args)
    pairs = zip(leaves, parts, strict=True)
    return tree.unflatten(structure, [_as_long(leaf, part, error) for leaf, part in pairs])


def _as_long(leaf: Any, part: Any, error: Exception) -> Any:
    if type(leaf) is Tensor and leaf.ndim == np.ndim(part):
        trace = require_trace("a result")
        for axis, size in enumerate(leaf.shape):
            if origin_of((size,), trace) is not None:
                require(number_of(size) == np.shape(part)[axis], error)
                leaf = np.take(leaf, np.arange(np.shape(part)[axis]), axis)
    elif type(leaf) is type(part) is list and holds(leaf):
        items = whole(leaf)
        if type(items) in (Columns, Grown) and type(items.length) is not int:
            require(items.length == len(part), error)
            return born([items.at(i) for i in range(len(part))])
    return leaf
