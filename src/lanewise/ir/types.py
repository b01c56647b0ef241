"""Types of values: arrays (dtype and shape) and the token that orders effects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from lanewise.ir.dims import Dim, Shape, product, symbols

#: NumPy's version, where what it does depends on that.
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))

#: Kinds of dtype that a graph computes with: bool, integers, floats, complex.
NUMERIC_KINDS = "biufc"


class ArrayType:
    """Type of an array: its dtype and its shape (of ``int`` and `Dim`). Build with `array_type`.

    Equal types are the same object, so comparing and hashing them costs nothing.
    """

    __slots__ = ("__weakref__", "dtype", "shape")

    def __init__(self, dtype: np.dtype, shape: Shape) -> None:
        if any([isinstance(dim, int) and dim < 0 for dim in shape]):
            raise ValueError("negative dimensions are not allowed")  # as NumPy says it
        self.dtype = dtype
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int | Dim:
        return product(self.shape) * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"


_lock = threading.Lock()
_types: WeakValueDictionary[tuple[np.dtype, Shape], ArrayType] = WeakValueDictionary()


@lru_cache(maxsize=4096)  # the types in use at the moment, at C speed
def array_type(dtype: np.dtype, shape: Shape) -> ArrayType:
    """Return the type of arrays of this dtype and shape: always the same object."""
    with _lock:  # two threads must not make two objects of one type
        known = _types.get((dtype, shape))
        if known is None:
            if dtype.kind in "iu":  # of two that are equal the usual one: uint64, not ulonglong
                dtype = np.dtype(dtype.str)
            known = _types[dtype, shape] = ArrayType(dtype, shape)
        return known


@dataclass(frozen=True, slots=True)
class TokenType:
    """Type of the value that threads effects: whoever takes it runs after whoever gave it."""

    def __repr__(self) -> str:
        return "token"


Type: TypeAlias = ArrayType | TokenType
TOKEN = TokenType()


def has_dim(value: Any) -> bool:
    """Return whether a type, a parameter, or a container of these holds a symbolic dimension."""
    if isinstance(value, Dim):
        return True
    if isinstance(value, dict):
        return any(map(has_dim, value.values()))
    if isinstance(value, tuple):
        return any(map(has_dim, value))
    return isinstance(value, ArrayType) and has_dim(value.shape)


def dims_in(value: Any) -> Iterator[Dim]:
    """Yield the symbolic dimensions in a type, a parameter, or a container of these."""
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, ArrayType):
        yield from dims_in(value.shape)
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from dims_in(part)


def symbols_in(value: Any) -> frozenset[str]:
    """Return the symbols of the dimensions in a type, a parameter, or a container of these.

    Examples
    --------
    >>> sorted(symbols_in((array_type(np.dtype(float), (Dim.symbol("n"), 3)), {"by": 2})))
    ['n']
    """
    if isinstance(value, ArrayType):
        return _symbols_of_shape(value.shape)
    if isinstance(value, Dim):
        return frozenset(symbols(value))
    if isinstance(value, dict):
        value = tuple(value.values())
    return frozenset().union(*map(symbols_in, value)) if isinstance(value, tuple) else frozenset()


@lru_cache(maxsize=4096)
def _symbols_of_shape(shape: Shape) -> frozenset[str]:
    return frozenset().union(*map(symbols, shape))


#: Dtypes whose size is not in their name; an object is what only the runtime looks into.
_NAMED = {"b": "bool", "O": "object"}


def dtype_name(dtype: np.dtype) -> str:
    """Return the short name of a dtype: ``f64``, ``i8``, ``c128``, ``bool``."""
    return _NAMED.get(dtype.kind) or f"{dtype.kind}{8 * dtype.itemsize}"


def parse_dtype(name: str) -> np.dtype:
    """Return the dtype that `dtype_name` gave `name` to."""
    if name in _NAMED.values():
        return np.dtype(name)
    return np.dtype(f"{name[0]}{int(name[1:]) // 8}")


def with_dims(value: Any, change: Callable[[Dim], Any]) -> Any:
    """Return a type, a parameter or a container of these with its symbolic dimensions changed."""
    if isinstance(value, Dim):
        return change(value)
    if isinstance(value, dict):
        return {name: with_dims(part, change) for name, part in value.items()}
    if type(value) is tuple:
        return tuple([with_dims(part, change) for part in value])
    if isinstance(value, ArrayType):
        return array_type(value.dtype, with_dims(value.shape, change))
    return value
