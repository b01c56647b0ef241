"""A number beside an object of somebody's class: ``2.0 * vector`` is what the class says.

Python's numbers leave it to the object. NumPy's scalars make it an array of one object, whose
arithmetic is Python's: the object is asked beside the Python number. If it is a sequence, NumPy
computes with its elements.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from lanewise.trace.tensor import Tensor, sees_to_it, weak

#: The method that Python asks of what is on the right, by the ufunc of the operator.
_REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.power: "__rpow__", np.bitwise_and: "__rand__", np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__", np.left_shift: "__rlshift__", np.right_shift: "__rrshift__",
    np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__",
    np.equal: "__eq__", np.not_equal: "__ne__",
}  # fmt: skip
#: What says that NumPy computes with what an object holds, or leaves it alone.
_AS_ARRAY = ("__array__", "__array_interface__", "__array_struct__", "__array_ufunc__")
#: What a sequence has.
_ITEMS = ("__getitem__", "__len__")
_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def asked_of(ufunc: np.ufunc, x: Tensor, other: Any) -> Callable[[], Any] | None:
    """Return what asks the object on the right of a number, if it is for that to answer."""
    kind = type(other)
    if kind is Tensor or kind is float or kind is int or x.shape:
        return None
    if sees_to_it(kind) or any([hasattr(kind, name) for name in _AS_ARRAY]):
        return None
    is_weak = x._weak is not None or x._mixed is not None
    is_written = FunctionType in (type(getattr(kind, name, None)) for name in _ITEMS)
    if not is_weak and is_written and all([hasattr(kind, name) for name in _ITEMS]):
        return lambda: ufunc(x, [other[i] for i in range(len(other))])
    method = getattr(kind, _REFLECTED.get(ufunc, ""), None)
    if ufunc is np.not_equal and type(method) is not FunctionType:
        equal = asked_of(np.equal, x, other)
        return None if equal is None else lambda: _negated(equal())
    if type(method) is not FunctionType:
        return None
    return lambda: method(other, x if is_weak else weak(x, _PYTHON[x.dtype.kind]))


def _negated(x: Any) -> Any:
    if x is NotImplemented:
        return x
    return weak(np.logical_not(x), bool) if type(x) is Tensor else not x
