"""`TensorArray`: a list of arrays of one shape that loops append to.

Where the number of elements is known while tracing it is a Python list. Where a recorded branch or
loop appends, it becomes a list of the graph (`lanewise.ops.lists`), which grows as the graph runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lanewise.errors import ConcretizationError, UnsupportedError, at
from lanewise.ir.dims import Shape
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import array_type
from lanewise.ops.creation import constant
from lanewise.ops.lists import (
    INTP,
    list_append,
    list_arena,
    list_read,
    list_stack,
    list_write,
    out_of_range,
)
from lanewise.ops.movement import cast
from lanewise.trace.counting import count_between
from lanewise.trace.foreign import check_dtype
from lanewise.trace.origins import refuse_escape
from lanewise.trace.regions import Region, born, note_state, resumed
from lanewise.trace.scratch import tensor_of
from lanewise.trace.sizes import size_of
from lanewise.trace.tensor import (
    WEAK_DTYPES,
    Tensor,
    contains_tensor,
    lift,
    read,
    stack_nested,
    weak,
)
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.weak import give_way

#: Up to which bound the elements are stacked in rows of a length that is known; see `list_stack`.
_MOST = 4096


class _Kind(NamedTuple):
    """What an element is: dtype, shape, and the Python number that it stands for."""

    dtype: np.dtype
    shape: Shape
    weak: type | None


class _Grown(NamedTuple):
    """A list of the graph: its last entry, an array of no elements like it, and its length."""

    last: Tensor
    like: Tensor
    length: Any

    @property
    def kind(self) -> _Kind:
        return _Kind(self.like.dtype, self.like.shape[1:], self.like._weak)


class TensorArray:
    """A list of arrays, scalars or numbers of one shape, to append to in loops and branches.

    In a traced function the number of elements may depend on the data: each example has its own.
    The elements promote to one dtype, to which Python numbers give way.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def running_sums(row):
    ...     sums, total = lw.TensorArray(), 0.0
    ...     for value in row:
    ...         total = total + value
    ...         sums.append(total)
    ...     return sums.stack()
    >>> lw.vmap(running_sums)(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([[ 1.,  3.,  6.],
           [ 4.,  9., 15.]])

    >>> def mean_of_halves(x):
    ...     halves = lw.TensorArray()
    ...     while x >= 1:
    ...         halves.append(x)
    ...         x = x / 2
    ...     return halves.stack().mean()
    >>> lw.vmap(mean_of_halves)(np.array([1.0, 4.0, 10.0]))
    array([1.        , 2.33333333, 4.6875    ])
    """

    __slots__ = ("_arena", "_grown", "_home", "_items")

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._home: Trace | None = state.trace
        #: Where the elements are kept once the graph grows the list, which then says which.
        self._arena: Tensor | None = None
        self._grown: _Grown | None = None
        born(self)

    # --- changing it ------------------------------------------------------------------------------

    def append(self, value: Any) -> None:
        """Add an element at the end.

        Parameters
        ----------
        value : array_like
            The element, of the shape of those before it. It is copied.

        Examples
        --------
        >>> import lanewise as lw
        >>> values = lw.TensorArray()
        >>> values.append(2.0)
        >>> values.append(3.0)
        >>> values.stack()
        array([2., 3.])
        """
        value = _element(value)
        if not self._grows():
            _joined([_kind_of(item) for item in (*self._items[-1:], value)])
            self._items.append(value)
            return
        grown, stored = self._room_for(value)
        last = self._emit(list_append, grown.last, stored)
        self._grown = _Grown(last, grown.like, grown.length + 1)

    def write(self, index: Any, value: Any) -> TensorArray:
        """Replace the element at an index, or extend the list to it with zeros.

        Parameters
        ----------
        index : int
            Which element; negative counts from the end.
        value : array_like
            The element, of the shape of the others.

        Returns
        -------
        TensorArray
            The list itself.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.TensorArray().write(2, 5).stack()
        array([0, 0, 5])
        """
        value = _element(value)
        if self._grows() or _is_traced(index):
            grown, stored = self._room_for(value)
            last = self._emit(list_write, grown.last, _position(index), stored)
            self._grown = _Grown(last, grown.like, _reaching(grown.length, index))
            return self
        kind = _joined([_kind_of(item) for item in (*self._items[-1:], value)])
        place = self._place(index, extending=True)
        self._items.extend(np.zeros(kind.shape, kind.dtype)[()] for _ in
                           range(len(self._items), place + 1))  # fmt: skip
        self._items[place] = value
        return self

    def clear(self) -> None:
        """Remove all elements.

        Examples
        --------
        >>> import lanewise as lw
        >>> values = lw.TensorArray().write(2, 5)
        >>> values.clear()
        >>> len(values)
        0
        """
        if not self._grows():
            self._items.clear()
        elif self._grown is not None or self._items:
            if self._grown is None:
                self._leave_home(_kind_of(self._items[0]))
            note_state(self)
            assert self._grown is not None
            trace = require_trace("a TensorArray")
            last = Tensor(trace, trace.scalar(0, INTP))
            self._grown = self._grown._replace(last=last, length=0)

    # --- reading it -------------------------------------------------------------------------------

    def read(self, index: Any) -> Any:
        """Return an element.

        Parameters
        ----------
        index : int
            Which element; negative counts from the end.

        Returns
        -------
        array or scalar
            The element. An index out of range raises `IndexError`.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.TensorArray().write(0, 5).read(-1)
        5
        """
        if self._grown is not None:
            kind = self._grown.kind
            params = {"dtype": kind.dtype, "shape": kind.shape}
            found = self._emit(list_read, self._grown.last, _position(index), **params)
            return Tensor(found._trace, found._value, None, kind.weak)
        if _is_traced(index):
            return self.stack()[tensor_of(index)]
        item = self._items[self._place(index)]
        return item.copy() if isinstance(item, (np.ndarray, Tensor)) and item.shape else item

    def stack(self) -> Any:
        """Return the elements as one array, along a new axis 0.

        Returns
        -------
        array
            As ``np.stack`` gives it; of no elements it has the shape (0,). Where its length depends
            on the data it may be reduced, indexed and looped over, but not returned.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.TensorArray().write(0, [1, 2]).write(1, [3, 4]).stack()
        array([[1, 2],
               [3, 4]])
        """
        if self._grown is not None:
            return self._stacked(self._grown)
        if not self._items:
            return np.zeros(0)
        kind = _joined([_kind_of(item) for item in self._items])
        if not any(map(_is_traced, self._items)):
            return np.stack([np.asarray(item, kind.dtype) for item in self._items])
        trace = require_trace("a TensorArray")
        return np.stack([Tensor(trace, _converted(item, kind)) for item in self._items])

    def _stacked(self, grown: _Grown) -> Any:
        kind, trace = grown.kind, require_trace("a TensorArray")
        least, most = count_between(grown.length) or (0, None)
        is_known = least == most
        if most is not None and most > _MOST and not is_known:
            most = None
        params = {
            "dtype": kind.dtype,
            "shape": kind.shape,
            "least": max(least, 0),
            "most": most,
            "size": trace.new_name("grown"),
        }
        data = self._emit(list_stack, grown.last, **params)
        if is_known:
            return data
        bound: Any = data.shape[0]
        length = Tensor(trace, _position(grown.length))
        return data[: size_of(length, bound, "a TensorArray")]

    @property
    def length(self) -> Any:
        """The number of elements: an int, or one that is data.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.TensorArray().write(2, 5).length
        3
        """
        if self._grown is None:
            return len(self._items)
        least, most = count_between(self._grown.length) or (0, None)
        return least if least == most else self._grown.length

    def at(self, index: Any) -> Any:
        """Return the element at an index within the length, as a loop over the elements asks."""
        return self.read(index)

    def __len__(self) -> int:
        length = self.length
        if isinstance(length, int):
            return length
        self._refuse("len() of it")

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self.length, int):
            self._refuse("iterating over it")
        return (self.read(index) for index in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return self.stack()[key] if isinstance(key, slice) else self.read(key)

    def __repr__(self) -> str:
        return f"<TensorArray of {self.length} elements>"

    # --- as the state of a branch or a loop -------------------------------------------------------

    def state_leaves(self) -> list[Any]:
        """Return what a branch or a loop changes when it appends."""
        assert self._grown is not None, "it grows before a branch or a loop changes it"
        return list(self._grown)

    def set_state(self, leaves: Sequence[Any]) -> None:
        """Make `leaves` what the list holds."""
        self._grown = _Grown(*leaves)

    # --- growing ----------------------------------------------------------------------------------

    def _grows(self) -> bool:
        """Whether it is the graph that appends."""
        if self._grown is not None or state.trace is self._home:
            if self._grown is None:
                note_state(self)
            return self._grown is not None
        trace = state.trace
        while isinstance(trace, Region) and trace is not self._home:
            trace = trace.parent
        if trace is not self._home:
            raise UnsupportedError(
                "a mapped function appends to a TensorArray that was made outside of it"
                f"{at(here())}: each example would append something else. Make it in the "
                "function, and return what its stack() gives"
            )
        return True

    def _room_for(self, value: Any) -> tuple[_Grown, Tensor]:
        """Return the list of the graph, of a kind that can hold a value, and the value as that."""
        found = _kind_of(value)
        if self._grown is None:
            self._leave_home(found)
        note_state(self)
        grown = self._grown
        assert grown is not None
        kind = _joined([grown.kind, found])
        if kind != grown.kind:
            grown = grown._replace(like=_like(kind))
        return grown, Tensor(require_trace("an element"), _converted(value, kind))

    def _leave_home(self, found: _Kind) -> None:
        """Make it a list of the graph, where it was made: outside of the branch or loop."""
        assert self._home is not None
        with resumed(self._home):
            trace = self._home
            kind = _joined([*map(_kind_of, self._items), found])
            (arena,) = trace.record(list_arena, (), {"name": trace.new_name("list")})
            last = trace.scalar(0, INTP)
            for item in self._items:
                operands = (arena, last, _converted(item, kind))
                (last,) = trace.record(list_append, operands, {})
            self._arena = Tensor(trace, arena)
            self._grown = _Grown(Tensor(trace, last), _like(kind), len(self._items))
            self._items = []

    def _emit(self, primitive: Any, *operands: Any, **params: Any) -> Tensor:
        trace = require_trace("a TensorArray")
        assert self._arena is not None
        values = [x if isinstance(x, Value) else lift(x) for x in (self._arena, *operands)]
        (result,) = trace.record(primitive, tuple(values), params)
        return Tensor(trace, result)

    def _place(self, index: Any, extending: bool = False) -> int:
        size, place = len(self._items), index.__index__()
        place += size if place < 0 else 0
        if place < 0 or (place >= size and not extending):
            raise out_of_range(index, size)
        return place

    def _refuse(self, use: str) -> NoReturn:
        raise ConcretizationError(
            f"the number of elements of a TensorArray depends on the data, and {use} needs it as a "
            f"number{at(here())}. Use its stack(), or a for loop in the traced function"
        )


def _element(value: Any) -> Any:
    """Return a value to be kept: a tensor, an array, a scalar or a Python number of its own."""
    lifted = tensor_of(value)
    value = value if lifted is None else lifted
    if isinstance(value, (list, tuple)):
        value = stack_nested(value) if contains_tensor(value) else np.asarray(value)
    if isinstance(value, Tensor):
        refuse_escape(value, "appending it to a TensorArray")
        return Tensor(require_trace("an element"), read(value), None, value._weak)
    if type(value) in WEAK_DTYPES:
        return value
    array = np.array(value)
    check_dtype(array.dtype, "an element of a TensorArray")
    return array[()]


def _kind_of(value: Any) -> _Kind:
    if type(value) in WEAK_DTYPES:
        return _Kind(WEAK_DTYPES[type(value)], (), type(value))
    return _Kind(value.dtype, value.shape, value._weak if isinstance(value, Tensor) else None)


_NUMBERS: dict[Any, Any] = {bool: np.dtype(bool), int: 0, float: 0.0, complex: 0j}
_ORDER = (bool, int, float, complex)


def _joined(kinds: Sequence[_Kind]) -> _Kind:
    """Return the kind of elements of several kinds, or raise where their shapes differ."""
    shape = kinds[0].shape
    for kind in kinds:
        if kind.shape != shape:
            raise ValueError(
                f"the elements of a TensorArray have one shape, but one of {_shown(kind.shape)} "
                f"was given to one of {_shown(shape)}{at(here())}"
            )
    weaks = [kind.weak for kind in kinds]
    if all(kind is not None for kind in weaks):
        common: Any = max(weaks, key=_ORDER.index)
        return _Kind(WEAK_DTYPES[common], shape, common)
    parts = [kind.dtype if kind.weak is None else _NUMBERS[kind.weak] for kind in kinds]
    return _Kind(np.result_type(*parts), shape, None)


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _converted(value: Any, kind: _Kind) -> Value:
    """Return an element as a value of the current trace and of a kind."""
    trace = require_trace("an element")
    if type(value) in WEAK_DTYPES:
        return trace.scalar(value, kind.dtype)
    found = lift(value)
    if found.type.dtype == kind.dtype:
        return found
    if isinstance(value, Tensor) and value._weak is not None:
        return give_way(trace, found, kind.dtype)
    return trace.record(cast, (found,), {"dtype": kind.dtype})[0]


def _like(kind: _Kind) -> Tensor:
    """Return an array of no elements of a kind: it tells loops what the elements are."""
    trace = require_trace("a TensorArray")
    params = {"data": b"", "type": array_type(kind.dtype, (0, *kind.shape))}
    (value,) = trace.record(constant, (), params)
    return Tensor(trace, value, None, kind.weak)


def _is_traced(x: Any) -> bool:
    return tensor_of(x) is not None


def _position(index: Any) -> Value:
    """Return an index as a value of the current trace."""
    if not _is_traced(index):
        return require_trace("an index").scalar(index.__index__(), INTP)
    tensor: Any = tensor_of(index)
    if tensor.dtype.kind not in "iu" or tensor.shape:
        raise TypeError(f"an index is one integer, not {tensor!r}{at(here())}")
    value = read(tensor)
    if value.type.dtype == INTP:
        return value
    return require_trace("an index").record(cast, (value,), {"dtype": INTP})[0]


def _reaching(length: Any, index: Any) -> Any:
    """Return the length after an element was written at an index."""
    if not _is_traced(index) and isinstance(length, int):
        return max(length, index.__index__() + 1)
    end: Any = weak(Tensor(require_trace("an index"), _position(index)), int)
    return weak(np.maximum(end + 1, length), int)
