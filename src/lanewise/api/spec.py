"""`TensorSpec`: the shape and dtype of an array that is not there yet."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from lanewise.ir.dims import Dim, Shape
from lanewise.trace.sizes import size_from
from lanewise.trace.tensor import Tensor

#: A size, a name for a size that is not known, or None for one that nothing is known of. Within a
#: traced function also a size that it computes with.
Size: TypeAlias = int | str | Dim | None


class TensorSpec:
    """The shape and dtype of an array.

    Parameters
    ----------
    shape : iterable of int, str and None, or None
        The sizes of the dimensions. None is a size that is not known; so is a name, and where
        names are the same the sizes are. If `shape` itself is None not even their number is known.
    dtype : dtype_like
        The dtype, float64 unless said otherwise.
    name : str, optional
        What to call it in messages.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.TensorSpec((2, 3), "float32")
    TensorSpec(shape=(2, 3), dtype=float32)
    >>> lw.TensorSpec(["n", "n"])                       # square matrices
    TensorSpec(shape=('n', 'n'), dtype=float64)
    """

    __slots__ = ("dtype", "name", "shape")

    shape: tuple[Size, ...] | None

    def __init__(
        self, shape: Iterable[Size] | None, dtype: Any = float, name: str | None = None
    ) -> None:
        if isinstance(shape, str):
            raise TypeError(f"a shape is a list of sizes; write [{shape!r}] for one dimension")
        self.shape = None if shape is None else tuple([_size(dim) for dim in shape])
        self.dtype = np.dtype(dtype).newbyteorder("=") if _is_swapped(dtype) else np.dtype(dtype)
        self.name = name

    @property
    def is_known(self) -> bool:
        """Whether all sizes are numbers, or sizes that a function computes with."""
        return self.shape is not None and all([isinstance(dim, (int, Dim)) for dim in self.shape])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype, self.name) == (
            other.shape,
            other.dtype,
            other.name,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.name))

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}{name})"


def _is_swapped(dtype: Any) -> bool:
    """Whether a dtype is of another byte order: arrays are computed with in the machine's own."""
    return not np.dtype(dtype).isnative


def _size(dim: Any) -> Size:
    if dim is None:
        return None
    if isinstance(dim, (Dim, Tensor)):
        return size_from(dim)
    if isinstance(dim, str):
        if not dim.isidentifier():
            raise ValueError(f"the name of a dimension is a Python name, not {dim!r}")
        return dim
    size = operator.index(dim)
    if size < 0:
        raise ValueError(f"a dimension cannot be negative: {size}")
    return size


def spec_of(dtype: np.dtype, shape: Shape, name: str | None = None) -> TensorSpec:
    """Return the spec of what was traced; sizes that are not known keep their names."""
    names = [str(dim) if isinstance(dim, Dim) else "" for dim in shape]
    sizes = [
        dim if type(dim) is int else text if text.isidentifier() else None
        for dim, text in zip(shape, names, strict=True)
    ]
    return TensorSpec(sizes, dtype, name)


def is_of_shape(shape: tuple[int, ...], wanted: Shape) -> bool:
    """Whether an array may have a shape in which sizes may be any."""
    return len(shape) == len(wanted) and all(
        [isinstance(dim, Dim) or dim == size for size, dim in zip(shape, wanted, strict=True)]
    )
