"""Operators and methods of `Ragged`: each is a NumPy function called on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.trace import ragged_indexing
from lanewise.trace.ragged import TABLE, UFUNC_CALL, Ragged, assign
from lanewise.trace.ragged_ufuncs import astype, ufunc_call
from lanewise.trace.table.methods import OPERATORS
from lanewise.trace.tensor import TAKES_OVER

UFUNC_CALL.append(ufunc_call)
TAKES_OVER.append(Ragged)


def _binary(ufunc: np.ufunc, *, swapped: bool) -> Callable[[Ragged, Any], Any]:
    def operator(self: Ragged, other: Any) -> Any:
        if other is None or isinstance(other, (str, bytes, dict)):
            return NotImplemented
        return ufunc(other, self) if swapped else ufunc(self, other)

    return operator


def _in_place(ufunc: np.ufunc) -> Callable[[Ragged, Any], Ragged]:
    def operator(self: Ragged, other: Any) -> Any:
        return ufunc(self, other, out=self)

    return operator


for _name, _ufunc in OPERATORS.items():
    setattr(Ragged, f"__{_name}__", _binary(_ufunc, swapped=False))
    setattr(Ragged, f"__r{_name}__", _binary(_ufunc, swapped=True))
    if _name != "divmod":
        setattr(Ragged, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}.items():  # fmt: skip
    setattr(Ragged, f"__{_name}__", _binary(_ufunc, swapped=False))
for _name, _ufunc in {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}.items():  # fmt: skip
    setattr(Ragged, f"__{_name}__", lambda self, _ufunc=_ufunc: _ufunc(self))
Ragged.__getitem__ = ragged_indexing.getitem  # type: ignore[method-assign]
Ragged.__setitem__ = ragged_indexing.setitem  # type: ignore[method-assign]

for _name in (
    "all any argmax argmin argsort cumprod cumsum dot max mean min nonzero prod ravel "
    "searchsorted std sum swapaxes take var"
).split():  # fmt: skip

    def _method(self: Ragged, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        return TABLE[getattr(np, _name)](self, *args, **kwargs)

    _method.__name__ = _name
    _method.__doc__ = f"``np.{_name}`` of the array; see there."
    setattr(Ragged, _name, _method)


def _astype(
    self: Ragged, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Ragged:  # fmt: skip
    """The elements converted to another dtype."""
    if not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} "
            f"according to the rule '{casting}'"
        )
    return astype(self, dtype)


def _fill(self: Ragged, value: Any) -> None:
    """Write one value to all elements."""
    assign(self, value)


def _sort(self: Ragged, axis: int = -1, **kwargs: Any) -> None:
    """Sort in place along one axis."""
    assign(self, np.sort(self, axis=axis, **kwargs))


def _round(self: Ragged, decimals: int = 0, out: Any = None) -> Any:
    """Elements rounded to so many decimals."""
    return np.round(self, decimals) if out is None else self.refuse(".round() with out=")


def _clip(self: Ragged, min: Any = None, max: Any = None, **kwargs: Any) -> Any:
    """Elements below the least and above the greatest value replaced by these."""
    return np.clip(self, min, max, **kwargs)


def _flatten(self: Ragged, order: str = "C") -> Any:
    """A flat copy."""
    return np.ravel(self).copy()  # type: ignore[call-overload]


def _reshape(self: Ragged, *shape: Any, **kwargs: Any) -> Any:
    """The same elements in a row, as -1; no other shape can be known."""
    return np.reshape(self, shape[0] if len(shape) == 1 else shape, **kwargs)  # type: ignore[call-overload]


def _transpose(self: Ragged, *axes: Any) -> Any:
    """Axes in another order; reversed by default."""
    if not axes or axes == (None,):
        return np.transpose(self)  # type: ignore[call-overload]
    return np.transpose(self, axes[0] if isinstance(axes[0], (tuple, list)) else axes)  # type: ignore[call-overload]


def _conjugate(self: Ragged) -> Any:
    """The complex conjugate; of real numbers the array itself."""
    return np.conjugate(self) if self.dtype.kind == "c" else self


Ragged.astype = _astype  # type: ignore[method-assign]
Ragged.fill = _fill  # type: ignore[method-assign]
Ragged.sort = _sort  # type: ignore[method-assign]
Ragged.round = _round  # type: ignore[method-assign]
Ragged.clip = _clip  # type: ignore[method-assign]
Ragged.flatten = _flatten  # type: ignore[method-assign]
Ragged.reshape = _reshape  # type: ignore[method-assign]
Ragged.transpose = _transpose  # type: ignore[method-assign]
Ragged.conj = Ragged.conjugate = _conjugate  # type: ignore[method-assign]
Ragged.T = property(_transpose, doc="The axes reversed.")  # type: ignore[assignment]
Ragged.real = property(lambda self: np.real(self), doc="The real part.")  # type: ignore[assignment]
Ragged.imag = property(lambda self: np.imag(self), doc="The imaginary part.")  # type: ignore[assignment]
Ragged.nbytes = property(lambda self: self.size * self.itemsize, doc="The bytes.")  # type: ignore[assignment]


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Ragged, *args: Any, **kwargs: Any) -> Any:
        self.refuse(f".{name}() of an array of such a length")

    method.__name__ = name
    return method


# All other methods of arrays need the shape.
for _name in dir(np.ndarray):
    if not _name.startswith("_") and not hasattr(Ragged, _name):
        _attribute = getattr(np.ndarray, _name)
        _refuse = _refused(_name)
        setattr(Ragged, _name, _refuse if callable(_attribute) else property(_refuse))
