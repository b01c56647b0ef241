"""Making arrays: with ``like=`` a tensor, shaped like a tensor, or between traced ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, dim_max, dim_min
from lanewise.ir.location import here
from lanewise.ops.checks import checked as check
from lanewise.ops.creation import iota
from lanewise.ops.movement import broadcast_to, cast, slice_length
from lanewise.trace.data_indexing import require_whole
from lanewise.trace.foreign import check_dtype
from lanewise.trace.sizes import known_sizes, number_of, shape_from, size_from, size_of
from lanewise.trace.table.checks import check_device, checked, static
from lanewise.trace.table.registry import implements, refuse
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit
from lanewise.trace.ufuncs import apply
from lanewise.trace.views import as_stored

_PYTHON_NUMBERS = (int, float, complex)


def given_dtype(dtype: Any, otherwise: Any = None) -> Any:
    """Return an argument ``dtype`` as one that Lanewise computes with."""
    if dtype is None:
        return otherwise
    dtype = np.dtype(dtype)
    check_dtype(dtype, "an array to be made")
    return dtype


def array_like(x: Any) -> Any:
    """Return a tensor, or nested lists that hold one, as a tensor; anything else as an array."""
    if isinstance(x, (Tensor, Dim)) or contains_tensor(x):
        return as_tensor(x)
    return np.asarray(x)


def number_or_array(x: Any) -> Any:
    """Return a Python number as it is, to be promoted weakly, anything else as `array_like`."""
    if isinstance(x, Dim):
        return number_of(x)
    return x if type(x) in _PYTHON_NUMBERS else array_like(x)


def promoted(*operands: Any) -> np.dtype:
    """Return NumPy's ``result_type`` of tensors, arrays, dtypes and Python numbers."""
    return np.result_type(*[_promoting(x) for x in operands])


def _promoting(x: Any) -> Any:
    """Return the dtype of an array, or a Python number of the kind that x is, which gives way."""
    kind = as_tensor(x)._weak if isinstance(x, Tensor) else None
    if kind is not None and kind is not bool:
        return kind(0)
    return x.dtype if isinstance(x, (Tensor, np.ndarray)) else x


def converted(x: Any, dtype: np.dtype, *, set_alone: bool = False) -> Tensor:
    """Return x as a tensor of `dtype`; a Python number must fit into it."""
    tensor = as_stored(x, dtype, set_alone=set_alone)
    return tensor if tensor.dtype == dtype else emit(cast, tensor, dtype=dtype)


def full_tensor(shape: Any, value: Any, dtype: np.dtype) -> Tensor:
    """Return a tensor of one value, which may be data."""
    dims = shape_from(shape)
    if any(isinstance(d, int) and d < 0 for d in dims):
        raise ValueError("negative dimensions are not allowed")
    if type(value) in (float, complex) and not np.can_cast(type(value), dtype, "same_kind"):
        value = np.asarray(value)  # cast as `np.copyto` does, where an assignment would raise
    return emit(broadcast_to, converted(as_copied(value), dtype), shape=dims)


def as_copied(value: Any) -> Any:
    """Return what `np.copyto` makes of a value: only Python's ints must fit where it writes."""
    if type(value) is Tensor and value._weak not in (None, int):
        return value.copy()  # a scalar of NumPy's
    return value


# --- shaped like another ------------------------------------------------------------------------


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Tensor:  # fmt: skip
    check_device(device)
    a = array_like(a)
    if shape is None and isinstance(a, Tensor):
        require_whole(a)
    return full_tensor(a.shape if shape is None else shape, fill_value, given_dtype(dtype, a.dtype))


def _filled_like(value: int) -> Any:
    """Return the function that makes arrays of one number."""

    def function(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
        *, device: Any = None,
    ) -> Tensor:  # fmt: skip
        return full_like(a, value, dtype, shape=shape, device=device)

    return function


zeros_like = implements(np.zeros_like)(_filled_like(0))
ones_like = implements(np.ones_like)(_filled_like(1))


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Tensor:  # fmt: skip
    return full_like(prototype, 0, dtype, shape=shape, device=device)


# --- with like= ---------------------------------------------------------------------------------


@implements(np.zeros, np.empty)
def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Tensor:
    check_device(device)
    return full_tensor(shape, 0, given_dtype(dtype, np.dtype(float)))


@implements(np.ones)
def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    check_device(device)
    return full_tensor(shape, 1, given_dtype(dtype, np.dtype(float)))


@implements(np.full)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Tensor:
    check_device(device)
    value = array_like(fill_value)
    return full_tensor(shape, fill_value, given_dtype(dtype, value.dtype))


@implements(np.eye)
def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
) -> Tensor:
    check_device(device)
    return _compared_places(np.equal, N, M, k, given_dtype(dtype, np.dtype(float)))


@implements(np.identity)
def identity(n: int, dtype: Any = None) -> Tensor:
    return _compared_places(np.equal, n, None, 0, given_dtype(dtype, np.dtype(float)))


@implements(np.tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tensor:  # noqa: N803
    return _compared_places(np.less_equal, N, M, k, given_dtype(dtype, np.dtype(float)))


def _compared_places(compare: np.ufunc, rows: Any, columns: Any, k: Any, dtype: Any) -> Tensor:
    """Return what comparing how far each column is behind the row with k gives."""
    rows = size_from(rows)
    columns = rows if columns is None else size_from(columns)
    i, j = (emit(iota, length=dim_max(n, 0), dtype=np.dtype(np.intp)) for n in (rows, columns))
    return np.astype(compare(j - i[:, None], k), dtype)


@implements(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return array_like(function(*np.indices(shape, dtype=dtype), **kwargs))


@implements(np.arange)
def arange(*args: Any, **kwargs: Any) -> Tensor:
    args, kwargs = known_sizes((args, kwargs))
    has_data = contains_tensor((args, tuple(kwargs.values())))
    if has_data or any([isinstance(x, Dim) for x in (*args, *kwargs.values())]):
        return _range(_range_of_data if has_data else _sized_range, *args, **kwargs)
    return as_tensor(np.arange(*args, **kwargs))


def _range(
    make: Callable[[Any, Any, Any], Tensor], start: Any, stop: Any = None, step: Any = 1,
    dtype: Any = None, *, device: Any = None,
) -> Tensor:  # fmt: skip
    check_device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    result = make(start, stop, 1 if step is None else step)
    return result if dtype is None else np.astype(result, given_dtype(dtype), copy=False)


def _range_of_data(start: Any, stop: Any, step: Any) -> Tensor:
    """Return the numbers of a range whose ends are data."""
    static(np.arange, "steps", step, "how long it is would depend on it")
    kinds = {np.asarray(_kind_of(part)).dtype.char for part in (start, stop, step)}
    if not kinds <= {"d", *np.typecodes["AllInteger"]}:
        raise UnsupportedError(
            "np.arange between ends that are data, or by a step, that are neither integers nor "
            f"float64{at(here())}: write start + step * np.arange(n), with n the number of elements"
        )
    if step == 0:
        raise ZeroDivisionError("division by zero")
    start, stop = [number_of(end) if isinstance(end, Dim) else end for end in (start, stop)]
    if "d" in kinds:
        return _range_of_floats(start, stop, step)
    span = stop - start if step > 0 else start - stop
    count = np.maximum((span + (abs(step) - 1)) // abs(step), 0)
    length = size_of(as_tensor(count).astype(np.intp), None, "np.arange(n)")
    return emit(iota, length=length, dtype=np.dtype(np.intp)) * step + start


def _kind_of(end: Any) -> Any:
    return np.zeros((), end.dtype) if isinstance(end, Tensor) else 0 if type(end) is Dim else end


#: What NumPy says of ranges that have no length, or would have too long a one.
_NO_LENGTH, _TOO_LONG = "arange: cannot compute length", "Maximum allowed size exceeded"


def _range_of_floats(start: Any, stop: Any, step: Any) -> Tensor:
    """Return a range by the steps that NumPy takes, to the same bits."""
    span = as_tensor(stop - start)
    turns = np.true_divide(span, step)
    turns = emit(check, turns, ~np.isnan(turns), error="ValueError", message=_NO_LENGTH)
    is_short = turns < np.iinfo(np.int32).max
    turns = emit(check, turns, is_short, error="ValueError", message=_TOO_LONG)
    is_lost = (span != 0) & (turns == 0)  # the quotient is too small for a number
    count = np.where(is_lost, ~np.signbit(turns), np.maximum(np.ceil(turns), 0))
    length = size_of(count.astype(np.intp), None, "np.arange(n)")
    places = emit(iota, length=length, dtype=np.dtype(np.intp))
    first = as_tensor(start).astype(float)
    second = first + step
    return np.where(places == 1, second, first + places * (second - first))


def _sized_range(start: Any, stop: Any, step: Any) -> Tensor:
    """Return the integers of a range whose ends are sizes."""
    if any([not isinstance(x, (int, np.integer, Dim)) for x in (start, stop, step)]):
        raise UnsupportedError(
            f"np.arange between a size that is not known and a float{at(here())}: write "
            "start + step * np.arange(n), with n the number of elements"
        )
    step = size_from(step)
    if not isinstance(step, int):
        raise UnsupportedError(f"np.arange with a step that is a size{at(here())}")
    if step == 0:
        raise ZeroDivisionError("division by zero")
    start, stop = size_from(start), size_from(stop)
    length = slice_length((start, stop, step))
    result = emit(iota, length=length, dtype=np.dtype(np.intp))
    result = result if step == 1 else result * step
    return result + start if isinstance(start, Dim) or start != 0 else result


@implements(np.array)
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K",
    subok: bool = False, ndmin: int = 0, ndmax: int = 0,
) -> Tensor:  # fmt: skip
    x = as_tensor(object)
    dtype = given_dtype(dtype, x.dtype)
    if copy is False and (not isinstance(object, Tensor) or x.dtype != dtype):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if x.dtype != dtype:
        x = emit(cast, x, dtype=dtype)
    elif copy:
        x = x.copy()
    return np.reshape(x, (*(1,) * (ndmin - x.ndim), *x.shape)) if ndmin > x.ndim else x


@implements(np.asarray, np.asanyarray)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> Tensor:
    check_device(device)
    return array(a, dtype, copy=copy)


@implements(np.ascontiguousarray, np.asfortranarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Tensor:
    return array(a, dtype, copy=None, ndmin=1)


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Tensor:
    return array(a, dtype, copy=None)


refuse(
    np.frombuffer, np.fromfile, np.fromiter, np.fromstring, np.loadtxt, np.genfromtxt,
    instead="Read the array first, and use np.asarray(array, like=t)",
)  # fmt: skip


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    return as_tensor(a).copy()


# --- between two ends ---------------------------------------------------------------------------


def _moved(y: Tensor, axis: int) -> Tensor:
    return np.moveaxis(y, 0, axis) if axis else y


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    check_device(device)
    num = size_from(num)
    if isinstance(num, Dim):
        return _sized_linspace(start, stop, num, endpoint, retstep, dtype, axis)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = number_or_array(start), number_or_array(stop)
    inexact = promoted(start, stop, 0.0)
    dtype = given_dtype(dtype, inexact)
    delta = apply(np.subtract, stop, start, dtype=inexact)
    places = np.arange(0, num, dtype=inexact).reshape(-1, *(1,) * delta.ndim)
    div = num - 1 if endpoint else num
    step: Any = math.nan
    if div > 0:
        step = delta / div
        # A step so small that it is zero: divide first, as NumPy does, not to lose the slope.
        y = np.where(np.any(step == 0), (places / div) * delta, places * step)
    else:
        y = places * delta
    y = y + start
    if endpoint and num > 1:
        y[-1, ...] = stop
    y = _spaced(y, axis, dtype)
    return (y, step) if retstep else y


def _spaced(y: Tensor, axis: int, dtype: np.dtype) -> Tensor:
    """Return evenly spaced numbers along an axis in the dtype that is asked for."""
    y = _moved(y, axis)
    return np.astype(np.floor(y) if dtype.kind in "iu" else y, dtype, copy=False)


def _sized_linspace(
    start: Any, stop: Any, num: Dim, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    """Return `linspace` of as many numbers as a size says."""
    start, stop = number_or_array(start), number_or_array(stop)
    inexact = promoted(start, stop, 0.0)
    dtype = given_dtype(dtype, inexact)
    delta = apply(np.subtract, stop, start, dtype=inexact)
    numbers = np.reshape(emit(iota, length=num, dtype=np.dtype(np.intp)), (-1, *(1,) * delta.ndim))
    places = np.astype(numbers, inexact)
    count = number_of(num)
    div = count - 1 if endpoint else count
    has_step = div > 0
    parts = np.astype(np.maximum(div, 1), inexact)
    step = delta / parts
    y = np.where(np.any(step == 0), (places / parts) * delta, places * step)
    y = np.where(has_step, y, places * delta) + start
    if endpoint:
        y = np.where(np.logical_and(numbers == div, has_step), stop, y)
    y = _spaced(y, axis, dtype)
    return (y, np.where(has_step, step, math.nan)) if retstep else y


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Tensor:  # fmt: skip
    if not isinstance(base, (float, int)) and np.ndim(base):
        base = array_like(base)
        rank = max(np.ndim(start), np.ndim(stop), base.ndim)
        start, stop, base = (
            np.reshape(x, (*(1,) * (rank - x.ndim), *x.shape))
            for x in (array_like(start), array_like(stop), base)
        )
        base = np.expand_dims(base, axis)
    y = linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    powers = np.power(base, y)
    return powers if dtype is None else np.astype(powers, given_dtype(dtype), copy=False)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    first, last = array_like(start), array_like(stop)
    inexact = promoted(first, last, float(num), given_dtype(dtype, np.dtype(float)))
    dtype = given_dtype(dtype, inexact)
    problem = ValueError("Geometric sequence cannot include zero")
    first, last = (checked(converted(x, inexact), np.all(x != 0), problem) for x in (first, last))
    # Turned so that the start is a positive real number, and turned back in the end.
    sign = np.sign(first)
    first, last = first / sign, last / sign
    result = logspace(np.log10(first), np.log10(last), num, endpoint, 10.0, inexact)
    if num > 0:  # 10 ** log10(x) need not be x
        result[0] = first
        if num > 1 and endpoint:
            result[-1] = last
    return np.astype(_moved(result * sign, axis), dtype, copy=False)


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    np.meshgrid(indexing=indexing)  # raises for another
    count = len(xi)
    grids = []
    for i, x in enumerate(xi):
        place = 1 - i if indexing == "xy" and i < 2 and count > 1 else i
        grids.append(np.reshape(array_like(x), (*(1,) * place, -1, *(1,) * (count - place - 1))))
    if not sparse:
        grids = list(np.broadcast_arrays(*grids))
    return tuple([grid.copy() for grid in grids]) if copy else (grids if sparse else tuple(grids))


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    x = array_like(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = size_from(x.shape[0] if N is None else N)
    dtype = np.promote_types(x.dtype, int)
    powers = emit(
        broadcast_to, np.astype(x, dtype)[:, None], shape=(x.shape[0], dim_max(columns - 1, 0))
    )
    ones = full_tensor((x.shape[0], dim_min(columns, 1)), 1, dtype)
    result = np.concatenate([ones, np.multiply.accumulate(powers, axis=1)], 1)
    return result if increasing else result[:, ::-1]
