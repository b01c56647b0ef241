"""Sizes of arrays in a kernel: what is known only when it runs is taken to be large."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lanewise.ir.dims import Dim, DimLike


def is_unknown(shape: Sequence[DimLike]) -> bool:
    """Whether some size of a shape is known only when the kernel runs."""
    return any([isinstance(size, Dim) for size in shape])


def is_long(size: DimLike, least: int) -> bool:
    """Whether an axis has at least so many elements, as far as is known."""
    return isinstance(size, Dim) or size >= least


def is_few(shape: Sequence[DimLike], most: int) -> bool:
    """Whether a shape has at most so many elements."""
    return not is_unknown(shape) and math.prod(shape) <= most


def is_empty(shape: Sequence[DimLike]) -> bool:
    """Whether a shape surely has no elements."""
    return any([not isinstance(size, Dim) and size == 0 for size in shape])
