"""`TensorSpec`: the shape and dtype of an array that is not there yet."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np


class TensorSpec:
    """The shape and dtype of an array.

    Parameters
    ----------
    shape : iterable of int, or None
        The sizes of the dimensions.
    dtype : dtype_like
        The dtype, float64 unless said otherwise.
    name : str, optional
        What to call it in messages.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.TensorSpec((2, 3), "float32")
    TensorSpec(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Iterable[int], dtype: Any = float, name: str | None = None) -> None:
        self.shape = tuple(operator.index(dim) for dim in shape)
        if any(dim < 0 for dim in self.shape):
            raise ValueError(f"a dimension cannot be negative: {self.shape}")
        self.dtype = np.dtype(dtype)
        self.name = name

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
