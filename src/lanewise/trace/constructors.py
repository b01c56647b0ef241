"""What NumPy does not dispatch: making arrays and scalars of traced values, and scratch of others.

``np.array([t, 1.0])``, ``np.zeros(3)`` and ``np.float64(t)`` never ask a `Tensor`. Where a call is
seen before NumPy sees it (`lanewise.autograph`) it goes to the function that stands here for it.
Given traced values it makes a tensor, given others a `Scratch`; outside of a trace it is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce, wraps
from itertools import islice, zip_longest
from typing import Any, NoReturn

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.ops.elementwise import complex_
from lanewise.ops.movement import cast
from lanewise.ops.shapes import may_agree
from lanewise.trace.casting import as_element, is_scalar
from lanewise.trace.foreign import check_dtype
from lanewise.trace.scratch import Scratch, fresh, is_traced, refuse_export
from lanewise.trace.sizes import defined_sizes, known_sizes
from lanewise.trace.table.creation import given_dtype
from lanewise.trace.tensor import TABLE, Tensor, as_tensor, emit, tensor_of, unwrapped
from lanewise.trace.trace import state
from lanewise.trace.views import layout_of, writable

#: By NumPy's function or scalar type, what is called in its place.
CONSTRUCTORS: dict[Any, Callable[..., Any]] = {}


def _enter(
    function: Any, traced: Callable[..., Any], plain: Callable[..., Any] | None = None
) -> None:
    """Enter what is done with traced arguments; with others `plain`, by default the function."""
    plain = plain or function

    @wraps(function, updated=())
    def construct(*args: Any, **kwargs: Any) -> Any:
        if state.trace is None:
            return function(*args, **kwargs)
        if not is_traced(args) and not (kwargs and is_traced(kwargs)):
            return fresh(plain(*args, **kwargs), (args, kwargs))
        if is_traced(kwargs.get("like")):
            return function(*args, **kwargs)  # NumPy dispatches these
        result = traced(*unwrapped(args), **unwrapped(kwargs))
        if type(result) is Tensor:
            for given in (*args, *kwargs.values()):
                if result is tensor_of(given):
                    return given  # the array itself, where NumPy returns that
        return result

    CONSTRUCTORS[function] = construct


def constructs(*functions: Any, plain: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Enter the decorated function as what these do with traced arguments."""

    def enter(traced: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            _enter(function, traced, plain)
        return traced

    return enter


def scratch_method(bound: Any) -> Callable[..., Any] | None:
    """Return what to call for a method of an array that is not traced; None: the method itself.

    Its result is scratch, and it takes traced arguments where the function of its name does.
    """
    array, name = getattr(bound, "__self__", None), getattr(bound, "__name__", "")
    if state.trace is None or type(array) is not np.ndarray or name not in _MAKING:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_traced(args) and not is_traced(kwargs):
            return fresh(bound(*args, **kwargs), (array, args, kwargs))
        args = (args[0], array, *args[1:]) if name == "compress" else (array, *args)
        function = getattr(np, name, None)
        return bound(*args[1:], **kwargs) if function is None else TABLE[function](*args, **kwargs)

    return call


_MAKING = frozenset(
    """argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod
    cumsum diagonal dot flatten max mean min nonzero prod repeat round searchsorted std sum take
    trace var""".split()
)


# --- arrays of values -----------------------------------------------------------------------------


def as_array(x: Any) -> Any:
    """Return a tensor without dimensions as an array, which can be written to, not as a scalar."""
    if type(x) is tuple:
        return tuple([as_array(part) for part in x])
    return writable(x) if type(x) is Tensor and not x.shape else x


def _dtype(x: Any) -> np.dtype:
    """Return the dtype that ``np.array`` finds in nested lists."""
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (list, tuple)) and is_traced(x):
        return reduce(np.promote_types, map(_dtype, x))
    dtype = np.asarray(x).dtype
    check_dtype(dtype, f"an array to be made of traced values and of {x!r}")
    return dtype


def _nested(x: Any, dtype: np.dtype) -> Tensor:
    """Return nested lists of tensors, arrays and numbers as one tensor of a dtype."""
    if isinstance(x, Tensor):
        return _converted(x, dtype, set_alone=True)
    if not is_traced(x):
        return as_tensor(np.array(x, dtype))
    parts = [_nested(part, dtype) for part in x]
    if not all([may_agree(part.shape, parts[0].shape) for part in parts]):
        shapes = ", ".join(dict.fromkeys(str(part.shape) for part in parts))
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape: its parts have the shapes {shapes}{at(here())}"
        )
    return TABLE[np.stack](parts)


def _converted(x: Any, dtype: np.dtype, *, set_alone: bool = False) -> Tensor:
    """Return x as a tensor of a dtype; Python numbers must fit, and scalars that are set alone."""
    found = as_element(x, dtype, set_alone=set_alone)
    if found is not x:
        return found
    return x.copy() if x.dtype == dtype else emit(cast, x, dtype=dtype)


def _plain_array(object: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(object, Scratch):  # stays the same object where it is not copied
        kwargs["subok"] = True
    return np.array(object, *args, **kwargs)


@constructs(np.array, plain=_plain_array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Tensor:
    """Return ``np.array`` of a tensor, or of nested lists with tensors in them."""
    is_whole = isinstance(object, Tensor)
    if is_whole and not is_scalar(object):
        result = TABLE[np.array](object, dtype, copy=copy)
    elif copy is False:
        raise ValueError(
            f"Unable to avoid copy while creating an array as requested{at(here())}. Leave out "
            "copy=False, or use copy=None"
        )
    else:
        to = given_dtype(dtype, _dtype(object) if dtype is None else None)
        result = _converted(object, to) if is_whole else _nested(object, to)
    if ndmin > result.ndim:
        result = np.reshape(result, (*(1,) * (ndmin - result.ndim), *result.shape))
    return as_array(result)


def _plain_asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **kwargs: Any
) -> Any:
    function = np.asanyarray if isinstance(a, Scratch) else np.asarray
    return function(a, dtype, order, copy=copy, **kwargs)


@constructs(np.asarray, np.asanyarray, plain=_plain_asarray)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Tensor:
    """Return ``np.asarray`` of traced values: an array itself, if it has the dtype."""
    return array(a, dtype, copy=copy)


def _contiguous(function: Any, order: Any) -> None:
    def plain(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
        return _plain_array(a, dtype, copy=None, order=order, ndmin=1)

    def traced(a: Any, dtype: Any = None, *, like: Any = None) -> Tensor:
        x = array(a, dtype, copy=None, ndmin=1)
        if x._view is None and (order == "C" or x.ndim < 2):
            return x
        if x._view is not None and all(isinstance(dim, int) for dim in x.shape):
            flags = layout_of(x).flags
            if flags.c_contiguous if order == "C" else flags.f_contiguous:
                return x
        return x.copy()

    _enter(function, traced, plain)


_contiguous(np.ascontiguousarray, "C")
_contiguous(np.asfortranarray, "F")


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    if isinstance(iter, Tensor) and iter.ndim == 1 and count < 0:  # of data length, too
        return array(iter, dtype)
    items = list(iter if count < 0 else islice(iter, count))
    if state.trace is None or not is_traced(items):
        result = np.fromiter(items, dtype, count)
        return result if state.trace is None else fresh(result)
    if len(items) < count:
        raise ValueError(
            f"iterator too short: Expected {count} but iterator had only {len(items)} items."
        )
    return array(unwrapped(items), dtype)


CONSTRUCTORS[np.fromiter] = _fromiter


# --- arrays of a shape ----------------------------------------------------------------------------


def _sized(function: Any, names: tuple[str, ...]) -> None:
    """Enter a function of the table whose arguments of these names are sizes, which may be data."""
    what = f"np.{function.__name__}(n)"

    def traced(*args: Any, **kwargs: Any) -> Any:
        of_place = [sized(name, x) for name, x in zip_longest(names, args, fillvalue="")]
        named = {name: sized(name, x) for name, x in kwargs.items()}
        return as_array(TABLE[function](*of_place[: len(args)], **named))

    def sized(name: str, given: Any) -> Any:
        is_size = bool(name) and name in names
        return defined_sizes(given, what) if is_size else known_sizes(given)

    _enter(function, traced)


for _function in (np.zeros, np.ones, np.empty):
    _sized(_function, ("shape",))
_sized(np.full, ("shape", ""))
_sized(np.identity, ("n",))
_sized(np.linspace, ("", "", "num"))
for _function in (np.arange, np.logspace, np.geomspace):
    _sized(_function, ())
for _function in (np.zeros_like, np.ones_like, np.empty_like):
    _sized(_function, ("", "", "", "", "shape"))
_sized(np.full_like, ("", "", "", "", "", "shape"))


@constructs(np.ndarray)
def ndarray(
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: Any = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    """Return an array of a size that is not known: scratch, as ``np.empty`` makes it."""
    if buffer is not None or offset or strides is not None:
        raise UnsupportedError(
            f"np.ndarray of a buffer, an offset or strides that are traced{at(here())}. Use "
            "np.empty(shape), or a slice of the array"
        )
    return CONSTRUCTORS[np.empty](shape, dtype, order or "C")


@constructs(np.frombuffer)
def frombuffer(buffer: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse ``np.frombuffer`` of traced values; of scratch it is a view."""
    refuse_export("np.frombuffer()")


@constructs(np.indices)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Return ``np.indices`` of sizes that are not known."""
    shape = defined_sizes(tuple(dimensions), "np.indices(n)")
    last = len(shape) - 1
    axes = [
        np.reshape(TABLE[np.arange](n, dtype=dtype), (*(1,) * i, -1, *(1,) * (last - i)))
        for i, n in enumerate(shape)
    ]
    if sparse:
        return tuple(axes)
    if not axes:
        return as_tensor(np.indices((), dtype))
    return np.stack([np.broadcast_to(places, shape) for places in axes])


@constructs(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Return ``np.fromfunction`` of sizes that are not known."""
    if is_traced(shape):
        return function(*indices(shape, dtype), **kwargs)
    return np.fromfunction(function, shape, dtype=dtype, **kwargs)


def _of_places(function: Any) -> None:
    """Enter ``np.eye`` or ``np.tri``, whose diagonal may be data but not the size."""

    def traced(N: Any, M: Any = None, k: Any = 0, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
        sizes = defined_sizes((N, M), f"np.{function.__name__}(n)")
        return TABLE[function](*sizes, k, *args, **kwargs)

    _enter(function, traced)


_of_places(np.eye)
_of_places(np.tri)


def _triangle(function: Any, offset: int) -> None:
    def traced(m: Any, k: Any = 0) -> Any:
        if not isinstance(k, Tensor):
            return TABLE[function](m, k)
        m: Any = as_tensor(array(m)) if is_traced(m) else np.asanyarray(m)
        if m.ndim == 1:
            m = np.broadcast_to(m, (*m.shape, *m.shape))
        below = TABLE[np.tri](*m.shape[-2:], k + offset, bool)
        return np.where(below if function is np.tril else ~below, m, np.zeros((), m.dtype))

    _enter(function, traced)


_triangle(np.tril, 0)
_triangle(np.triu, -1)


def _listed(function: Any) -> Callable[..., Any]:
    """Return a function that NumPy would dispatch, if the tensors did not stand in lists."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        if any([isinstance(x, Scratch) for x in (*args, *kwargs.values())]):
            return function(*args, **kwargs)  # an `out`, which knows how it is written to
        result = TABLE[function](*args, **kwargs)
        is_bare = gives_array and type(result) is Tensor and not result.shape
        return writable(result) if is_bare else result

    gives_array = function in (
        np.where,
        np.tile,
        np.block,
    )  # and not a scalar, even without dimensions
    return traced


# Functions whose lists may hold tensors, or which make an array of others.
for _function in (
    np.copy, np.diag, np.diagflat, np.repeat, np.tile, np.concatenate, np.stack, np.hstack,
    np.vstack, np.dstack, np.column_stack, np.block, np.outer, np.kron, np.meshgrid, np.vander,
    np.where, np.roll, np.pad, np.append, np.insert, np.delete, np.sort, np.argsort, np.cumsum,
    np.cumprod, np.diff, np.full_like,
):  # fmt: skip
    if _function not in CONSTRUCTORS:
        _enter(_function, _listed(_function))


@constructs(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    """Return ``np.copy`` of traced values, an array even of a scalar."""
    return array(a)


# --- scalars --------------------------------------------------------------------------------------


def _scalar(kind: type[np.generic]) -> None:
    dtype = np.dtype(kind)

    def traced(*args: Any) -> Tensor:
        if len(args) == 2 and dtype.kind == "c":
            parts = [_converted(as_tensor(x), dtype.type(0).real.dtype) for x in args]
            return emit(complex_, *parts)
        if len(args) != 1:
            raise TypeError(f"{kind.__name__} takes at most 1 argument ({len(args)} given)")
        x = args[0]
        return _converted(x if isinstance(x, Tensor) else array(x), dtype)

    _enter(kind, traced)


for _code in np.typecodes["All"]:
    if np.dtype(_code).kind in NUMERIC_KINDS:
        _scalar(np.dtype(_code).type)


__all__ = ["CONSTRUCTORS", "scratch_method"]
