"""Questions that the type of a tensor answers: shapes, dtypes, shared memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, known_size
from lanewise.trace.views import layout_of, root_of


def stand_in(x: Any) -> Any:
    """Return an array of the type of a tensor that takes no memory; anything else as it is."""
    if isinstance(x, Tensor):
        shape = [known_size(dim, "a size of its shape") for dim in x.shape]
        return np.broadcast_to(np.zeros((), x.dtype), shape)
    if contains_tensor(x):
        return stand_in(as_tensor(x))
    return x


def _answered(function: Any) -> Any:
    """Return what asks NumPy's own function about arrays of the tensors' types."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return function(
            *[stand_in(x) for x in args], **{name: stand_in(x) for name, x in kwargs.items()}
        )

    return answer


@implements(np.ndim)
def ndim(a: Any) -> int:
    return as_tensor(a).ndim


def _of_types(function: Any) -> Any:
    """Return what asks NumPy's own function about numbers of the tensors' dtypes."""

    def answer(*args: Any) -> Any:
        return function(*map(_of_its_type, args))

    return answer


def _of_its_type(x: Any) -> Any:
    if not contains_tensor(x):
        return x
    model = np.zeros((), as_tensor(x).dtype)
    return model if isinstance(x, Tensor) else [model]


for _function in (np.common_type, np.iscomplexobj, np.isrealobj):
    implements(_function)(_of_types(_function))
for _function in (
    np.can_cast, np.diag_indices_from,
    np.tril_indices_from, np.triu_indices_from,
):  # fmt: skip
    implements(_function)(_answered(_function))


@implements(np.shape)
def shape(a: Any) -> Any:
    return as_tensor(a).shape


@implements(np.size)
def size(a: Any, axis: Any = None) -> Any:
    x = as_tensor(a)
    if axis is None:
        return x.size
    axes = normalize_axis_tuple(axis, x.ndim)
    return math.prod(x.shape[i] for i in axes)


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*[x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes])


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype:
    """Of a scalar NumPy looks at the number itself; a traced one has the answer of its dtype."""
    return as_tensor(a).dtype


@implements(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or root_of(a) is not root_of(b):
        return False
    memory = layout_of(root_of(a))
    return np.shares_memory(layout_of(a, memory), layout_of(b, memory))
