"""What decides which trace a call runs: of arrays their dtype and shape, of all else the value.

The key of an array is its dtype and shape; that of anything else begins with its class, so that 1,
1.0 and True do not meet. Objects are referred to weakly: a key does not keep one alive.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from lanewise.ir.types import ArrayType
from lanewise.trace.foreign import plain_array
from lanewise.trace.variable import Variable

Key: TypeAlias = tuple[Any, ...]


def is_data(key: Key) -> bool:
    """Whether a key is that of an array."""
    return isinstance(key[0], np.dtype)


def is_array_like(leaf: Any) -> bool:
    """Whether an argument is data: an array or scalar of NumPy's, or what says that it is one."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return True
    if isinstance(leaf, Variable):  # the function may assign it: it is not just its value
        return False
    return hasattr(type(leaf), "__array__") and not isinstance(leaf, type)


def key_of(leaf: Any, path: Callable[[], str]) -> Key:
    """Return the key of one leaf of the arguments.

    Raises
    ------
    TypeError
        If it is neither data nor hashable; the message names `path`.

    Examples
    --------
    >>> key_of(np.ones((2, 3)), str), key_of(3, str), key_of(True, str) == key_of(1, str)
    ((dtype('float64'), (2, 3)), (<class 'int'>, 3), False)
    """
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf.dtype, leaf.shape
    plain = _PLAIN.get(kind)
    if plain is not None:
        return kind, plain(leaf)
    if is_array_like(leaf):
        array = plain_array(leaf, path)
        return array.dtype, array.shape
    return _key_of_object(leaf, path)


def _key_of_object(leaf: Any, path: Callable[[], str]) -> Key:
    """Return the key of what is no data."""
    kind = type(leaf)
    plain = _PLAIN.get(kind)
    if plain is not None:
        return kind, plain(leaf)
    if isinstance(leaf, np.generic):
        return kind, leaf.dtype, leaf.tobytes()
    if kind is MethodType:  # made anew wherever it is looked up
        return kind, _key_of_object(leaf.__func__, path), _key_of_object(leaf.__self__, path)
    if kind is Variable:
        return kind, _Identity(leaf)
    if kind is slice:
        return kind, *[_key_of_object(x, path) for x in (leaf.start, leaf.stop, leaf.step)]
    if kind is frozenset:
        return kind, frozenset([_key_of_object(part, path) for part in leaf])
    try:
        hash(leaf)
    except TypeError:
        raise TypeError(
            f"{path()} is a {kind.__qualname__}, which is not hashable: arguments that are no "
            "arrays decide which trace runs, which is looked up by their hash. Pass an array, a "
            "tuple or a frozenset, or an object that can be hashed"
        ) from None
    try:
        return kind, ref(leaf)
    except TypeError:  # nothing can refer to it weakly: it is kept as long as the trace
        return kind, leaf


class _Identity(ref):
    """A weak reference that equals one to the same object only: those of arrays compare these."""

    __slots__ = ("_id",)

    def __new__(cls, target: Any) -> _Identity:
        self = super().__new__(cls, target)
        self._id = id(target)
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is _Identity and self() is other() and self() is not None
        )

    def __hash__(self) -> int:
        return self._id


def _number_key(x: Any) -> Hashable:
    """Tell 0.0 from -0.0, and find a NaN equal to itself."""
    return x if x and x == x else struct.pack("d", x)


#: Of classes whose values are keys, the function that makes a key of one.
_PLAIN: dict[type, Callable[[Any], Hashable]] = {
    bool: lambda x: x,
    int: lambda x: x,
    str: lambda x: x,
    bytes: lambda x: x,
    float: _number_key,
    complex: lambda x: struct.pack("dd", x.real, x.imag),
}


def references(key: Key) -> list[Any]:
    """Return the objects that a key refers to weakly, as far as they are alive."""
    found = []
    for part in key:
        if isinstance(part, ref):
            target = part()
            if target is not None:
                found.append(target)
        elif isinstance(part, (tuple, frozenset)):
            found += references(tuple(part))
    return found


def described(key: Key) -> str:
    """Return a key for people.

    Examples
    --------
    >>> described(key_of(np.ones((2, 3)), str)), described(key_of("fast", str))
    ('float64[2,3]', "'fast'")
    """
    if is_data(key):
        dtype, shape = key
        return f"{dtype}[{','.join(map(str, shape))}]"
    kind = key[0]
    if kind in (float, complex) and isinstance(key[-1], bytes):
        numbers = struct.unpack("d" * (len(key[-1]) // 8), key[-1])
        return repr(kind(*numbers))
    if kind in _PLAIN:
        return repr(key[1])
    value = key[1]() if isinstance(key[1], ref) else None
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"a {kind.__qualname__}"


class Text:
    """A leaf in the text of a signature."""

    def __init__(self, text: str, is_data: bool = True) -> None:
        self.text = text
        self.is_data = is_data

    def __repr__(self) -> str:
        return self.text


def named(name: str, value: Any) -> str:
    """Return an argument of a signature: its name, and what it is."""
    is_value = isinstance(value, Text) and not value.is_data
    return f"{name}={value!r}" if is_value or value is None else f"{name}: {value!r}"


def type_text(type_: ArrayType) -> str:
    """Return the dtype and shape of what has this type."""
    return described((type_.dtype, type_.shape))
