"""What the methods of distributions draw with, and where they write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import product
from lanewise.random.checks import parameter
from lanewise.random.draws import Law, draw, shape_of
from lanewise.random.samplers import INTEGERS
from lanewise.random.streams import Kept, Stream
from lanewise.trace.scratch import tensor_of
from lanewise.trace.tensor import Tensor

FLOAT64 = np.dtype(np.float64)
FLOATS = (FLOAT64, np.dtype(np.float32))


class Drawing(ABC):
    """Something that draws samples of laws."""

    __slots__ = ()

    @abstractmethod
    def _stream(self) -> Kept | Stream:
        """Return where its numbers come from."""

    def _sample(
        self,
        law: Law,
        params: Sequence[Any],
        size: Any,
        dtype: np.dtype | None = None,
        out: Any = None,
    ) -> Any:
        """Return samples of a law, of a size or of what parameters broadcast to, or fill `out`."""
        shape = shape_of(size, params)
        found = draw(law, self._stream().take(product(shape)), shape, params, dtype)
        if out is not None:
            out[...] = found
            return out
        if shape or isinstance(found, Tensor):
            return found
        if size is not None:
            return np.asarray(found)
        return found if law is INTEGERS else found.item()

    def _drawn(self, law: Law, size: Any, **given: tuple[Any, ...]) -> Any:
        """Return samples of a law: of each parameter what is given, and the conditions on it."""
        return self._sample(law, [parameter(name, *row) for name, row in given.items()], size)


def into(out: Any, size: Any, dtype: Any, name: str) -> tuple[np.dtype, Any]:
    """Return the dtype and the size of a draw that may go into an array.

    Raises
    ------
    TypeError, ValueError
        What NumPy raises if they do not go together.
    """
    kind = np.dtype(dtype)
    if kind not in FLOATS:
        raise TypeError(f"Unsupported dtype {kind!r} for {name}")
    if out is None:
        return kind, size
    if not isinstance(out, (np.ndarray, Tensor)):
        raise ValueError(f"Supplied output array must be an array, not {type(out).__name__}")
    is_plain = tensor_of(out) is None
    if is_plain and not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("Supplied output array is not contiguous, writable or aligned.")
    if out.dtype != kind:
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {kind.name}, got {out.dtype.name}"
        )
    if size is not None:
        wanted = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        if wanted != tuple(out.shape):
            raise ValueError("size must match out.shape when used together")
    return kind, tuple(out.shape)
