"""`Ragged`: an array of a length that is data, as the full array and where in it the elements are.

``a[:n]`` and ``x[mask]`` have a shape that differs from example to example. They are kept as the
array that they were taken from, with an extent for each axis whose length is data. Reductions take
the places of the extents into account, writing changes those alone, and everything else refuses.

What stands between the elements, the padding, must not show: not as a number, and not as a warning
or an error either. So before an operation that could give one, the padding is filled with copies of
an element that is there. Of no elements, floats are NaN, which passes through without warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lanewise.errors import ConcretizationError, DataDependentShapeError, at
from lanewise.ir.dims import Shape
from lanewise.ir.location import here
from lanewise.ir.types import dtype_name
from lanewise.ops.checks import checked
from lanewise.ops.elementwise import where
from lanewise.ops.indexing import gather
from lanewise.ops.movement import slice_
from lanewise.trace.extents import Extent, choose, equal_counts, front, number
from lanewise.trace.tensor import Tensor, as_tensor, emit, read, weak
from lanewise.trace.trace import require_trace
from lanewise.trace.views import as_stored, store

#: What `Ragged` calls for NumPy's functions and ufuncs; filled by `lanewise.trace.table.ragged`.
TABLE: dict[Any, Callable[..., Any]] = {}
UFUNC_CALL: list[Callable[..., Any]] = []


class Ragged:
    """An array in a traced function of which some lengths are data, as of ``a[:n]``, ``x[mask]``.

    It can be reduced, combined with arrays of the same lengths, iterated over by a loop, indexed
    and written to. What would need its shape, such as returning it, raises
    `DataDependentShapeError`.

    Attributes
    ----------
    data : Tensor
        The elements, between others: a view where NumPy's array would be one.
    extents : tuple of (Extent or None)
        For each axis where the elements are; None: everywhere.
    quiet : bool
        Whether what stands between are copies of elements, or of none NaN (floats only).

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vmap(lambda x, n: (x[:n].sum(), x[x > 1].mean()))(
    ...     np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([2, 0])
    ... )
    (array([3., 0.]), array([2.5, 5. ]))
    """

    __slots__ = ("_quiet", "data", "extents", "origin")

    # As for a tensor; NumPy asks a tensor first, which hands over.
    __array_priority__ = 1001

    def __init__(
        self, data: Tensor, extents: tuple[Extent | None, ...], quiet: bool = False
    ) -> None:
        self.data = data
        self.extents = extents
        #: What it was a view of, where the data are a copy that nobody writes to instead of that.
        self.origin: Tensor | None = None
        #: The value that is quiet: what is written later may leave padding that is not.
        self._quiet = data._value if quiet else None

    if TYPE_CHECKING:  # operators and methods are entered by trace/table/ragged.py

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __setitem__(self, key: Any, values: Any) -> None: ...
        def __add__(self, other: Any) -> Any: ...

    # --- what is known while tracing --------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        return self._quiet is not None and self._quiet is self.data._value

    @property
    def dtype(self) -> np.dtype:
        """The dtype, as NumPy's."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.data.ndim

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.data.itemsize

    @property
    def dims(self) -> Shape:
        """The shape, a symbol where a length is data."""
        pairs = zip(self.data.shape, self.extents, strict=True)
        return tuple(size if extent is None else extent.dim for size, extent in pairs)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of one example: Python ints, and such that are data."""
        pairs = zip(self.data.shape, self.extents, strict=True)
        return tuple(size if extent is None else length(extent) for size, extent in pairs)

    @property
    def size(self) -> Any:
        """The number of elements, a Python int that is data."""
        result: Any = 1
        for size in self.shape:
            result = size * result
        return result

    def __repr__(self) -> str:
        pairs = zip(self.data.shape, self.extents, strict=True)
        shape = ",".join(str(size if extent is None else extent) for size, extent in pairs)
        return f"Ragged({dtype_name(self.dtype)}[{shape}])"

    # --- what would need the numbers --------------------------------------------------------------

    def refuse(self, use: str) -> NoReturn:
        """Raise `DataDependentShapeError`: the use named needs to know the shape."""
        extent = next(extent for extent in self.extents if extent is not None)
        raise DataDependentShapeError(
            f"{use} is not followed{at(here())}: the length of {extent.what}{at(extent.place)} "
            f"would be part of a shape, and depends on the data. {extent.instead}"
        )

    def __len__(self) -> int:
        self.refuse("len(), which gives a number that is not data,")

    def __iter__(self) -> NoReturn:
        self.refuse("iterating over it outside of a for loop in code that is converted")

    def __bool__(self) -> bool:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            f"Use a.any() or a.all(){at(here())}"
        )

    def __contains__(self, element: Any) -> bool:
        raise ConcretizationError(
            f"`in` needs the numbers of a traced array{at(here())}. Use np.any(a == element)"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.refuse("making an array of it")

    def __index__(self) -> int:
        self.refuse("using it as a Python index")

    def __float__(self) -> float:
        self.refuse("float()")

    def __int__(self) -> int:
        self.refuse("int()")

    def __complex__(self) -> complex:
        self.refuse("complex()")

    def __format__(self, spec: str) -> str:
        if spec:
            self.refuse("formatting")
        return repr(self)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise TypeError(f"an array cannot be hashed{at(here())}")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.refuse("pickling it, or sending it to another process,")

    def __copy__(self) -> Ragged:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Ragged:
        return self.copy()

    def copy(self, order: str = "C") -> Ragged:
        """The same elements, which later writes to this array do not change."""
        return Ragged(self.data.copy(), self.extents, self.quiet)

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return UFUNC_CALL[0](ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        implementation = TABLE.get(func)
        if implementation is None:
            self.refuse(f"{func.__module__}.{func.__name__} of an array of such a length")
        return implementation(*args, **kwargs)

    # --- loops ------------------------------------------------------------------------------------

    @property
    def length(self) -> Any:
        """The length of axis 0, a Python int that is data."""
        return self.shape[0]

    def at(self, index: Any) -> Any:
        """Return the element, or the row, number `index`, which must be within the length."""
        extent = self.extents[0]
        if extent is None:
            return self[index]
        place = extent.located(Tensor(require_trace("an index"), read(as_tensor(index))))
        return ragged(self.data[place], self.extents[1:], self.quiet)

    def in_front(self) -> Ragged:
        """Return it for joining with another one: its elements in front, all of it computed."""
        packed = pack(self)
        for extent in packed.extents:
            if extent is not None:
                extent.count()
        if packed.data is not self.data:
            packed.origin = self.data
        return packed

    def state_leaves(self) -> list[Tensor]:
        """Return the tensors that say all of it, its elements in front."""
        packed = pack(self)
        counts = [extent.count() for extent in packed.extents if extent is not None]
        return [packed.data, *counts]

    def from_leaves(self, leaves: Sequence[Tensor]) -> Ragged:
        """Return the array of other leaves, bounded alike."""
        data, *counts = leaves
        sizes = iter(counts)
        extents = [
            None if extent is None else front(extent.most, next(sizes), extent)
            for extent in self.extents
        ]
        return Ragged(data, tuple(extents))

    @property
    def state_key(self) -> tuple[Any, ...]:
        """What arrays must have in common for one to take the other's place in a loop."""
        pairs = zip(self.data.shape, self.extents, strict=True)
        return (self.dtype, *[(extent is None, extent.most if extent else size)
                              for size, extent in pairs])  # fmt: skip


def length(extent: Extent) -> Any:
    """Return a length as the Python int that ``len()`` gives, which is data."""
    return weak(extent.count(), int)


def length_of(x: Ragged) -> Any:
    """Return what ``len(x)`` is: an int, or one that is data."""
    if not x.ndim:
        raise TypeError("len() of unsized object")
    return x.length


def ragged(data: Tensor, extents: Sequence[Extent | None], quiet: bool = False) -> Any:
    """Return an array with these extents: an ordinary tensor where no length is data."""
    if any(extent is not None for extent in extents):
        return Ragged(data, tuple(extents), quiet)
    return data


# --- padding --------------------------------------------------------------------------------------


def full_mask(x: Ragged, axes: Sequence[int] | None = None) -> Any:
    """Return which places of the data are elements, as to these axes; it broadcasts to the data."""
    result: Any = None
    for axis, extent in enumerate(x.extents):
        if extent is None or (axes is not None and axis not in axes):
            continue
        mask = along(extent.mask(), axis, x.ndim)
        result = mask if result is None else np.logical_and(result, mask)
    assert result is not None
    return result


def along(x: Any, axis: int, ndim: int) -> Any:
    """Return something of one axis as an array of `ndim` axes of which it is `axis`."""
    shape = (*(1,) * axis, x.shape[0], *(1,) * (ndim - 1 - axis))
    return x if ndim == 1 else np.reshape(x, shape)


def padded(x: Ragged, value: Any, axes: Sequence[int] | None = None) -> Tensor:
    """Return the data with `value` in place of all that is no element, as to these axes."""
    return choose(full_mask(x, axes), x.data, _as_dtype(value, x.dtype), x.dtype)


def filled(x: Ragged, empty: Any = None) -> Tensor:
    """Return the data with copies of elements in place of all that is none.

    Where there are no elements these are `empty`, by default NaN and for other dtypes 1.
    """
    is_inexact = x.dtype.kind in "fc"
    if x.quiet and is_inexact and empty is None:
        return x.data
    value = empty if empty is not None else np.nan if is_inexact else 1
    value = _as_dtype(value, x.dtype)
    data = x.data
    for axis, extent in enumerate(x.extents):
        if extent is None or extent.bound == 0:
            continue
        if x.quiet:
            data = emit(where, extent.is_any(), data, value)
            continue
        first = emit(gather, data, extent.first(), axis=axis)
        first = emit(where, extent.is_any(), first, value)
        mask = along(extent.mask(), axis, x.ndim)
        data = emit(where, mask, data, np.expand_dims(first, axis))
    return data


def _as_dtype(value: Any, dtype: np.dtype) -> Tensor:
    if isinstance(value, Tensor):
        return value if value.dtype == dtype else value.astype(dtype)
    return number(value, dtype)


# --- moving elements to the front -----------------------------------------------------------------


def pack(x: Ragged, axes: Sequence[int] | None = None) -> Ragged:
    """Return a copy whose elements stand in front along these axes, copies of elements behind."""
    data, extents, quiet = x.data, list(x.extents), x.quiet
    for axis, extent in enumerate(x.extents):
        if extent is None or extent.in_front or (axes is not None and axis not in axes):
            continue
        extents[axis] = front(extent.most, extent.count(), extent)
        if extent.bound != 0:
            data = emit(gather, data, extent.order(), axis=axis)
            quiet = quiet and x.quiet
    return Ragged(data, tuple(extents), quiet)


def cut(data: Tensor, axis: int, size: int) -> Tensor:
    """Return the first `size` of the places along an axis."""
    if data.shape[axis] == size:
        return data
    index = tuple([(0, size, 1) if a == axis else None for a in range(data.ndim)])
    return emit(slice_, data, index=index)


# --- lining up ------------------------------------------------------------------------------------


def line_up(operands: Sequence[Any], what: str = "operands") -> tuple[list[Any], list[Any]]:
    """Return operands that broadcast against each other as they lie, and the result's extents.

    Where two have different extents along an axis their elements are moved to the front, and a
    check is recorded that the lengths agree. A length that agrees with a static one is that.
    """
    operands = [x if isinstance(x, (Ragged, *_NUMBERS)) else as_tensor(x) for x in operands]
    ranks = [0 if isinstance(x, _NUMBERS) else x.ndim for x in operands]
    extents: list[Extent | None] = []
    for axis in range(-max(ranks), 0):
        taking = [i for i, x in enumerate(operands) if ranks[i] >= -axis and size_of(x, axis) != 1]
        axes = {i: axis + ranks[i] for i in taking}
        extents.append(line_up_axis(operands, axes, what))
    return operands, extents


_NUMBERS = (bool, int, float, complex)


def size_of(x: Any, axis: int) -> Any:
    """Return the size of an axis; None where it is data."""
    if not isinstance(x, Ragged):
        return x.shape[axis]
    return x.data.shape[axis] if x.extents[axis] is None else None


def line_up_axis(operands: list[Any], axes: dict[int, int], what: str) -> Extent | None:
    """Make an axis of some of the operands agree; return the extent that it has then.

    ``axes`` says which axis of which operand, by position.
    """
    bounded = [i for i, axis in axes.items() if size_of(operands[i], axis) is None]
    if not bounded:
        return None
    sizes = [size_of(operands[i], axis) for i, axis in axes.items() if i not in bounded]
    extents: list[Extent] = [operands[i].extents[axes[i]] for i in bounded]
    if not sizes and all(extent.agrees(extents[0]) for extent in extents):
        return extents[0]
    message = (
        f"{what} could not be broadcast together: a length that is data, of {extents[0].what}"
        f"{at(extents[0].place)}, is another one than "
    )
    if sizes:
        ok = extents[0].count() == sizes[0]
        message += str(sizes[0])
        if len(extents) > 1:
            ok = np.logical_and(ok, equal_counts(extents))
        bound = sizes[0]
    else:
        ok = equal_counts(extents)
        message += f"that of {extents[1].what}{at(extents[1].place)}"
        bound = min(extent.most for extent in extents)
    if any(extent.most < bound for extent in extents):
        raise ValueError(message)
    result = None if sizes else front(bound, extents[0].count(), extents[0])
    for turn, i in enumerate(bounded):
        axis = axes[i]
        x = pack(operands[i], [axis])
        data = cut(x.data, axis, bound)
        if not turn:
            data = emit(checked, data, ok, error="ValueError", message=message)
        new = list(x.extents)
        new[axis] = result
        operands[i] = ragged(data, new)
    return result


# --- writing --------------------------------------------------------------------------------------


def assign(target: Ragged, values: Any, casting: str = "unsafe") -> None:
    """Carry out ``target[...] = values``: nothing but the elements of `target` is changed."""
    data = target.data
    new = _laid_out(values, target)
    if isinstance(new, Tensor) and new is data:
        return  # ``a[:n] += 1`` writes to a, and then assigns a[:n] to itself
    if not np.can_cast(new.dtype, data.dtype, casting):  # ty: ignore[invalid-argument-type]
        raise TypeError(
            f"Cannot cast from {new.dtype!r} to {data.dtype!r} with casting rule {casting!r}"
        )
    new = new if new.dtype == data.dtype else new.astype(data.dtype)
    store(data, emit(where, full_mask(target), new, data))


def _laid_out(values: Any, target: Ragged) -> Tensor:
    """Return what is written so that it broadcasts against the data of `target`."""
    shape = target.data.shape
    if isinstance(values, Ragged):
        extents: list[Extent | None] = list(values.extents)
        is_aligned = len(extents) <= target.ndim and all(
            extent is not None and own is not None and extent.agrees(own)
            if extent is not None or own is not None else size in (1, of)
            for extent, own, size, of in zip(
                reversed(extents), reversed(target.extents), reversed(values.data.shape),
                reversed(shape), strict=False,
            )
        )  # fmt: skip
        kinds = (values.dtype.kind, target.dtype.kind)
        # Padding must not be what cannot be converted.
        loses = values.dtype != target.dtype and kinds[0] in "fc"
        if is_aligned:
            return padded(values, 0) if loses else values.data
        values = pack(values)
        new = padded(values, 0) if loses else values.data
        extents = list(values.extents)
    else:
        new = as_stored(values, target.dtype)
        extents = [None] * new.ndim
    while new.ndim > target.ndim and new.shape[0] == 1 and extents[0] is None:
        new, extents = new[0], extents[1:]
    if new.ndim > target.ndim:
        raise ValueError(
            f"could not broadcast input array from shape {np.shape(new)} into shape {target.dims}"
        )
    for axis in range(-new.ndim, 0):
        new = _lay_out_axis(new, axis, extents[axis], target.extents[axis], shape[axis])
    return new


def _lay_out_axis(new: Any, axis: int, given: Any, own: Extent | None, size: Any) -> Any:
    """Lay one axis of what is written, its elements in front, out as that of the target."""
    have = new.shape[axis]
    if given is None and (have == 1 or (own is None and have == size)):
        return new
    if own is None:
        ok = given.count() == size if given is not None else False
    else:
        ok = (given.count() if given is not None else have) == own.count()
    what = (own or given).what
    message = (
        f"could not broadcast input array into {what}{at((own or given).place)}: its length, "
        "which is data, is another one"
    )
    if ok is False:
        raise ValueError(
            f"could not broadcast input array from shape {new.shape}: an axis of {have} elements "
            f"does not fit into one of {size}{at(here())}"
        )
    new = emit(checked, new, ok, error="ValueError", message=message)
    if own is None:
        return cut(new, axis % new.ndim, size) if have > size else new
    if not have or (own.in_front and have == own.bound):
        return new if have else np.zeros_like(new, shape=_with_size(new, axis, own.bound))
    place = np.minimum(np.maximum(own.rank(), 0), have - 1)
    return emit(gather, new, place, axis=axis % new.ndim)


def _with_size(x: Tensor, axis: int, size: int) -> Shape:
    shape = list(x.shape)
    shape[axis] = size
    return tuple(shape)
