"""Operators, ndarray methods and attributes of `Tensor`: each is a NumPy function called on it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import indexing, ufunc_methods, ufuncs
from lanewise.trace.mixed import applied, is_mixed, presence
from lanewise.trace.reflected import asked_of
from lanewise.trace.table.checks import must_cast
from lanewise.trace.tensor import (
    STANDS_FOR,
    TABLE,
    UFUNC_CALL,
    Tensor,
    contains_tensor,
    implement,
    sees_to_it,
    weak,
)
from lanewise.trace.views import (
    as_stored,
    bitcast_view,
    flat_view,
    imag_view,
    real_view,
    refuse_view,
    store,
    writable,
)

UFUNC_CALL.append(ufunc_methods.call)

OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "divmod": np.divmod, "pow": np.power,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul,
}  # fmt: skip
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


_weak_power = ufuncs.binary_operator(np.power)

#: Whether arrays take the short cuts for NumPy's scalars, too, as they did before NumPy 2.3.
_ALSO_OF_SCALARS = (np.ones(1, np.float32) ** np.float64(2)).dtype == np.float32


def _of_scalar(x: Tensor, exponent: Any) -> Any:
    """Return ``x ** n`` for a scalar n that has a short cut before NumPy 2.3; else None."""
    kind = getattr(getattr(exponent, "dtype", None), "kind", "f" if type(exponent) is float else "")
    if not x.ndim or kind not in tuple("iuf") or isinstance(exponent, Tensor) or np.ndim(exponent):
        return None
    number = float(exponent)
    if x.dtype.kind in "fc" and number in (2, 1, 0.5, -1):
        return _power(x, number)
    if x.dtype.kind in "fc" and number == 0:
        return np.ones_like(x)
    if x.dtype.kind in "biu" and number == 2:
        return np.square(x.astype(float) if kind == "f" and x.dtype.kind in "iu" else x)
    return None


def _scalar_power(self: Tensor) -> np.ufunc | None:
    """Return the ufunc of the operator ``**`` where scalars have no short cut."""
    return None if self.ndim else np.power


def _power(self: Tensor, exponent: Any, modulo: Any = None) -> Any:
    """``x ** n`` takes the same short cuts as NumPy for the exponents that have one."""
    if (asked := asked_of(np.power, self, exponent)) is not None:
        return asked()
    if self._mixed is not None or is_mixed(exponent):
        return applied(np.power, operator.pow, (self, exponent), is_operator=True)
    if self._weak is not None:
        return _weak_power(self, exponent)
    if type(exponent) in (int, float) and self.dtype.kind in "fc":
        if exponent == 2:
            return ufuncs.apply(np.square, self, operator=_scalar_power(self))
        if exponent == 1:
            return ufuncs.apply(np.positive, self, operator=_scalar_power(self))
        if exponent == 0.5 and self.ndim:  # of -0 and -infinity it is another number for a scalar
            return ufuncs.apply(np.sqrt, self)
        if exponent == -1:
            return ufuncs.apply(np.reciprocal, self, operator=_scalar_power(self))
    # A NumPy bool, unlike an array of bools, has no short cut.
    elif (
        type(exponent) is int
        and exponent == 2
        and self.dtype.kind in ("biu" if self.ndim else "iu")
    ):
        return ufuncs.apply(np.square, self, operator=_scalar_power(self))
    elif self.ndim and ufuncs.root_dtype(self, exponent):
        return ufuncs.apply(np.power, self, exponent)
    elif _ALSO_OF_SCALARS and (found := _of_scalar(self, exponent)) is not None:
        return found
    return ufuncs.apply(np.power, self, exponent, operator=np.power)


def _in_place(ufunc: np.ufunc, plain: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
    def operator(self: Tensor, other: Any) -> Any:
        if self.ndim == 0 and self._view is None:  # a scalar of NumPy's: the name is rebound
            self._trace.rebound.add(self._value)
            return plain(self, other)
        return ufunc(self, other, out=self)

    return operator


def _through_numpy(ufunc: np.ufunc, *, swapped: bool) -> Callable[[Tensor, Any], Any]:
    """Return an operator whose ufunc has its own way to be called: matmul, or two results."""

    def operator(self: Tensor, other: Any) -> Any:
        return ufunc(other, self) if swapped else ufunc(self, other)

    return operator


for _name, _ufunc in OPERATORS.items():
    _make = _through_numpy if _ufunc in (np.matmul, np.divmod) else ufuncs.binary_operator
    setattr(Tensor, f"__{_name}__", _make(_ufunc, swapped=False))
    setattr(Tensor, f"__r{_name}__", _make(_ufunc, swapped=True))
    if _name != "divmod":
        _plain = _power if _ufunc is np.power else getattr(Tensor, f"__{_name}__")
        setattr(Tensor, f"__i{_name}__", _in_place(_ufunc, _plain))
for _name, _ufunc in _COMPARISONS.items():
    setattr(Tensor, f"__{_name}__", ufuncs.binary_operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Tensor, f"__{_name}__", ufuncs.unary_operator(_ufunc))


def _equal_to_none(
    x: Tensor, other: Any, answer: bool, compare: Callable[[Tensor, Any], Any]
) -> Any:
    """Return how x compares that is None in some examples; None where that is not so."""
    flag, of_other = presence(x), presence(other)
    if (flag is None) is (of_other is None):  # which raises where both are None in some examples
        return None
    if flag is None:
        assert of_other is not None
        return _equal_to_none(other, x, answer, compare)
    there = np.logical_not(flag) if answer else flag
    if other is None:
        return weak(np.logical_not(there), bool)
    held = Tensor(x._trace, x._value, None, x._weak)
    held._mixed = x._mixed
    found = compare(held, other)
    if found is NotImplemented:
        return None
    result = (np.logical_or if answer else np.logical_and)(there, found)
    return weak(result, bool) if found._weak is bool else result


def _negated(x: Any) -> Any:
    return weak(np.logical_not(x), bool) if type(x) is Tensor else not x


def _equal_to_anything(ufunc: np.ufunc, answer: bool) -> Callable[[Tensor, Any], Any]:
    """``t == None`` and ``t == "text"`` are plain answers for every element, as in NumPy."""
    compare = ufuncs.binary_operator(ufunc)

    def operator(self: Tensor, other: Any) -> Any:
        if self._guard is not None or (type(other) is Tensor and other._guard is not None):
            for x in (self, other):
                guard = x._guard if type(x) is Tensor else None
                guard = getattr(guard, "beneath", None) or guard
                if hasattr(guard, "equal"):  # a code, which is no number
                    same = guard.equal(self, other)
                    return _negated(same) if answer else same
            found = _equal_to_none(self, other, answer, compare)
            if found is not None:
                return found
        result = compare(self, other)
        if result is NotImplemented and type(other) not in STANDS_FOR:
            return np.full(self.shape, answer)
        return result

    return operator


def _round(self: Tensor, ndigits: int | None = None) -> Any:
    """``round(t)``: like that of a NumPy float it gives an integer, with digits a float."""
    if ndigits is None:
        return np.rint(self).astype(np.intp)
    return np.round(self, ndigits)


def _contains(self: Tensor, element: Any) -> Any:
    self._refuse("`in`", "Use np.any(t == element)")


def _is_integer(x: Tensor) -> Any:
    if x.dtype.kind in "iu":
        return True
    return weak(np.logical_and(np.isfinite(x), np.floor(x) == x), bool)


def _bit_length(x: Tensor) -> Tensor:
    # Unsigned: the least integer is its own absolute value, and would be shifted with its sign.
    bits = np.absolute(Tensor(x._trace, x._value)).astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):  # all bits below the highest are set
        bits = bits | (bits >> shift)
    return weak(np.bitwise_count(bits), int)


#: Methods of numbers that arrays do not have: for which kinds of dtype, of Python's only or not.
_OF_NUMBERS: dict[str, tuple[str, bool, Callable[[Tensor], Any]]] = {
    "is_integer": ("iuf", False, _is_integer),
    "bit_count": ("iu", False, lambda x: weak(np.bitwise_count(x), int)),
    "bit_length": ("i", True, _bit_length),
}


def _of_numbers(name: str) -> property:
    kinds, is_pythons, function = _OF_NUMBERS[name]

    def get(self: Tensor) -> Callable[[], Any]:
        if self.shape or self.dtype.kind not in kinds or (is_pythons and self._weak is not int):
            raise AttributeError(f"a {self._type!r} has no attribute {name!r}")
        return lambda: function(self)

    return property(get, doc=f"As the method ``{name}`` of a number.")


for _name in _OF_NUMBERS:
    setattr(Tensor, _name, _of_numbers(_name))

# Methods that are the NumPy function of the same name, the array first.
for _name in (
    "all any argmax argmin argpartition argsort choose cumprod cumsum diagonal dot max mean min "
    "nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split():  # fmt: skip

    def _method(self: Tensor, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        function = getattr(np, _name)
        if any([sees_to_it(type(x)) for x in (*args, *kwargs.values())]):  # an `out`, perhaps
            return function(self, *args, **kwargs)
        return implement(function, TABLE[function], (self, *args), kwargs)

    _method.__name__ = _name
    _method.__doc__ = f"``np.{_name}`` of the tensor; see there."
    setattr(Tensor, _name, _method)


def _reshape(self: Tensor, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    """The same elements under another shape, given as a tuple or as several ints."""
    dims = shape[0] if len(shape) == 1 else shape
    return np.reshape(self, dims, order=order, copy=copy)  # type: ignore[arg-type]


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    """Axes in another order, given as a sequence or as several ints; reversed by default."""
    if len(axes) == 1:
        return np.transpose(self, axes[0])
    return np.transpose(self, axes or None)


def _astype(
    self: Tensor,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Tensor:
    """The elements converted to another dtype."""
    must_cast(self.dtype, dtype, casting)
    return np.astype(self, np.dtype(dtype), copy=copy)


def _flatten(self: Tensor, order: str = "C") -> Tensor:
    """A flat copy."""
    return np.reshape(self, -1, order=order).copy()  # type: ignore[arg-type]


def _fill(self: Tensor, value: Any) -> None:
    """Write one value to all elements."""
    store(self, value, set_alone=True)


def _sort(
    self: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort in place along one axis."""
    store(self, np.sort(self, axis=axis, kind=kind, order=order, stable=stable))


def _partition(
    self: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Partition in place along one axis."""
    store(self, np.partition(self, kth, axis=axis, kind=kind, order=order))


def _clip(self: Tensor, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """Elements below the least and above the greatest value replaced by these."""
    return np.clip(self, min, max, out=out, **kwargs)  # type: ignore[call-overload]


def _conjugate(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The complex conjugate; of real numbers the tensor itself."""
    if self.dtype.kind != "c" and not args and not kwargs:
        return weak(self, int) if self._weak is bool else self
    return np.conjugate(self, *args, **kwargs)


def _put(self: Tensor, indices: Any, values: Any, mode: str = "raise") -> None:
    """Write values at flat indices."""
    np.put(self, indices, values, mode)  # type: ignore[arg-type]


def _view(self: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """The same bits read as another dtype; of another size, the last axis is longer or shorter."""
    if inspect.isclass(dtype) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type is not None and type is not np.ndarray:
        refuse_view(type)
    if dtype is None:
        return self[...]  # type: ignore[index]
    return bitcast_view(self, np.dtype(dtype))


def _item(self: Tensor, *args: Any) -> Any:
    self._refuse(".item()", "Leave the value as it is, or index it")


def _compress(self: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """The elements along an axis where a condition that is not traced holds."""
    return np.compress(condition, self, axis, out)


def _refused(name: str, instead: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f".{name}() of a traced value is not followed{at(here())}. {instead}"
        )

    method.__name__ = name
    return method


#: What to write instead of methods that are not followed.
REFUSED_METHODS = {
    "resize": "Use np.resize, or np.pad",
    "tofile": "Return the value and write the array that comes out",
    "dump": "Return the value and write the array that comes out",
    "dumps": "Return the value and write the array that comes out",
    "byteswap": "Lanewise computes in the machine's byte order",
    "setflags": "A traced value has no flags",
    "setfield": "Fields of bytes are not traced",
    "getfield": "Fields of bytes are not traced",
}
for _name, _instead in REFUSED_METHODS.items():
    setattr(Tensor, _name, _refused(_name, _instead))


def _real(self: Tensor) -> Tensor:
    """The real part."""
    if self._weak is None:
        return real_view(self)
    kind = {bool: int, complex: float}.get(self._weak, self._weak)
    return weak(np.real(self.copy()), kind)


def _imag(self: Tensor) -> Tensor:
    """The imaginary part."""
    if self._weak is None:
        return imag_view(self)
    kind = float if self._weak in (float, complex) else int
    return weak(np.imag(self.copy()), kind)


def _set_real(self: Tensor, values: Any) -> None:
    store(real_view(writable(self)), values)


def _set_imag(self: Tensor, values: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    store(imag_view(writable(self)), values)


def _flat(self: Tensor) -> Tensor:
    return flat_view(writable(self))


def _set_flat(self: Tensor, values: Any) -> None:
    if isinstance(values, Tensor) or contains_tensor(values):
        values = as_stored(values, self.dtype)
    flat_view(writable(self))[...] = np.resize(values, self.size)  # type: ignore[index]


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor itself: all are on the host."""
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device}. Only 'cpu' is accepted.")
    return self


def _dlpack(self: Tensor, **kwargs: Any) -> Any:
    self._refuse(
        "DLPack (from_dlpack)", "Share the array that comes out, or call host code by lw.py_func"
    )


def _delete_item(self: Tensor, key: Any) -> None:
    raise ValueError("cannot delete array elements")


def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of, None if it is none."""
    return None if self._view is None else self._view.base


#: Attributes of where and how the elements lie in memory.
MEMORY = ("ctypes", "data", "flags", "strides")


def _no_memory(name: str) -> property:
    def attribute(self: Tensor) -> Any:
        raise UnsupportedError(
            f"a traced value has no .{name}{at(here())}: where and how its elements will lie in "
            "memory is decided later. Ask the array that comes out"
        )

    return property(attribute)


for _name in MEMORY:
    setattr(Tensor, _name, _no_memory(_name))


for _name, _value in {
    "__pow__": _power, "__getitem__": indexing.getitem, "__setitem__": indexing.setitem,
    "__delitem__": _delete_item, "__contains__": _contains, "__round__": _round,
    "__eq__": _equal_to_anything(np.equal, False), "__ne__": _equal_to_anything(np.not_equal, True),
    "__floor__": lambda self: np.floor(self).astype(np.intp),
    "__ceil__": lambda self: np.ceil(self).astype(np.intp),
    "__trunc__": lambda self: np.trunc(self).astype(np.intp),
    "reshape": _reshape, "transpose": _transpose, "astype": _astype, "flatten": _flatten,
    "fill": _fill, "clip": _clip, "conj": _conjugate, "conjugate": _conjugate, "put": _put,
    "compress": _compress, "sort": _sort, "partition": _partition, "view": _view,
    "T": property(np.transpose, doc="The axes reversed."),
    "mT": property(np.matrix_transpose, doc="The last two axes swapped."),
    "real": property(_real, _set_real), "imag": property(_imag, _set_imag),
    "flat": property(_flat, _set_flat, doc="The elements in a row, as a view."),
    "base": property(_base), "device": "cpu", "to_device": _to_device,
    "__dlpack__": _dlpack, "__dlpack_device__": lambda self: (1, 0),  # DLPack's host
}.items():  # fmt: skip
    setattr(Tensor, _name, _value)
