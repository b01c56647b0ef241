"""Views and writing: a tensor that is a view shows what its base holds, and writes go through.

NumPy's basic slices, transposes and reshapes share memory with their base. Here a view remembers
its base, how to read itself out of it (an operation), and how to put a changed value back
(another). Nothing is recorded for an alias until one side is written to and the other is read
again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, most_of, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import ArrayType, array_type, has_dim
from lanewise.ops.boxes import unbox
from lanewise.ops.elementwise import complex_, imag, real
from lanewise.ops.movement import (
    AxisSlice,
    bitcast,
    broadcast_to,
    cast,
    reshape,
    slice_,
    transpose,
    update_slice,
)
from lanewise.ops.registry import Primitive
from lanewise.ops.shapes import broadcasts_to
from lanewise.ops.slicing import take_slice
from lanewise.trace.casting import as_element, elements
from lanewise.trace.mixed import ONE_DTYPE, by_class
from lanewise.trace.regions import note_tensor, resumed
from lanewise.trace.slots import TensorSlot
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit, read
from lanewise.trace.trace import Trace, require_trace, state


class View:
    """How a tensor shows part of a base: `primitive` with `params` reads, `write` puts back.

    `write` is given what the base holds, the values, and those of `indices`.
    """

    __slots__ = (
        "_root_seen",
        "_seen",
        "base",
        "home",
        "indices",
        "params",
        "primitive",
        "root",
        "write",
    )

    def __init__(
        self,
        base: Tensor,
        primitive: Primitive,
        params: dict[str, Any],
        write: Callable[..., Value],
        indices: tuple[Tensor, ...] = (),
    ) -> None:
        self.base = base
        self.root: Tensor = base if base._view is None else base._view.root
        self.primitive = primitive
        self.params = params
        self.write = write
        #: Tensors that say where in the base the view lies, as they were when it was made.
        self.indices = indices
        # Elsewhere the indices may be out of range: it is read where it was made, or within.
        self.home = state.trace
        self.saw()

    def moved(self, base: Tensor, indices: tuple[Tensor, ...]) -> View:
        """Return the same view of another base, which nobody has read yet."""
        result = View(base, self.primitive, self.params, self.write, indices)
        result._seen = result._root_seen = None
        return result

    _seen: Value | None
    _root_seen: Value | None

    def saw(self) -> None:
        """Remember that the view shows what its base, and the root of all, hold now."""
        self._seen = self.base._value
        self._root_seen = self.root._value

    def refresh(self, tensor: Tensor) -> None:
        """Read the view out of its base again if that has another value since.

        Every write reaches the root, so as long as that has its value nothing has changed.
        """
        if self.root._guard is not None:
            self.root._guard.reading(self.root)
        if self.root._value is self._root_seen:
            return
        stale = []
        view: View | None = self
        while view is not None and view._root_seen is not self.root._value:
            stale.append((tensor, view))
            tensor = view.base
            view = tensor._view
        for tensor, view in reversed(stale):  # no recursion: a loop may make views of views
            view._read_again(tensor)

    def _read_again(self, tensor: Tensor) -> None:
        base = self.base
        if base._value is not self._seen:
            with resumed(innermost(self.home, base._trace)) as trace:
                operands = tuple([read(each) for each in (base, *self.indices)])
                (tensor._value,) = trace.record(self.primitive, operands, self.params)
            tensor._trace = trace
        self.saw()


def innermost(*traces: Trace | None) -> Trace:
    """Return the innermost of traces that are open around here; where none is, that here."""
    around = trace = require_trace("a view")
    while around is not None and not any(around is each for each in traces):
        around = around.parent
    return trace if around is None else around


def view(
    base: Tensor,
    primitive: Primitive,
    write: Callable[..., Value],
    *indices: Tensor,
    **params: Any,
) -> Tensor:
    """Return the view of `base` that an operation reads; see `View` for what puts back."""
    result = emit(primitive, base, *indices, **params)
    if base._mixed is not None and result._mixed is None:
        raise UnsupportedError(
            "the data choose the dtype of an array, and a view of it shows its bits, or parts, as "
            f"another{at(here())}. {ONE_DTYPE}"
        )
    if not base.shape and base._view is None:
        return result  # of a scalar, which has no memory to show: NumPy copies it
    result._view = View(base, primitive, primitive.complete(params), write, indices)
    return result


def writable(x: Tensor) -> Tensor:
    """Return x to be written to: the array without dimensions that shows it, for a scalar."""
    if x.shape or x._view is not None:
        return x
    result = Tensor(require_trace("a view"), read(x))
    result._mixed = x._mixed
    result._view = View(x, slice_, {"index": ()}, lambda _, values: values, ())
    return result


def read_only_view(base: Tensor, primitive: Primitive, *indices: Tensor, **params: Any) -> Tensor:
    """Return a view that shows what `base` holds, but cannot be written to."""
    return view(writable(base), primitive, _refuse_writing, *indices, **params)


def _refuse_writing(base: Value, values: Value, *indices: Value) -> Value:
    raise ValueError(f"assignment destination is read-only{at(here())}")


def _record(primitive: Primitive, *operands: Value, **params: Any) -> Value:
    return require_trace("a view").record(primitive, operands, primitive.complete(params))[0]


def reshape_view(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """Return x under another shape: a view where NumPy gives one, else a copy."""
    if shape == x.shape:
        shape = x.shape
    if not reshape_shares_memory(x, shape):
        return emit(reshape, x, shape=shape)
    return reshaped_view(x, shape)


def flat_view(x: Tensor) -> Tensor:
    """Return the elements in a row; writing to them writes to x, whatever its layout."""
    return reshaped_view(x, (x.size,))


def reshaped_view(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """Return the view of x under another shape, as for axes of size 1 that come or go."""
    old = x.shape
    return view(x, reshape, lambda _, values: _record(reshape, values, shape=old), shape=shape)


def reshape_shares_memory(x: Tensor, shape: tuple[Any, ...]) -> bool:
    """Ask NumPy whether reshaping an array laid out like x gives a view."""
    if x._view is None:
        return True
    layout = layout_of(x)
    try:
        return layout.size == 0 or np.shares_memory(layout, layout.reshape(_usual(shape)))
    except ValueError:  # what stands for sizes that are not known has another number of elements
        if not has_dim((x.shape, shape)):
            raise
        return layout.flags.c_contiguous


def root_of(x: Tensor) -> Tensor:
    """Return the tensor that x is a view of, or a view of a view of; x itself if it is none."""
    return x if x._view is None else x._view.root


def layout_of(x: Tensor, root: np.ndarray | None = None) -> np.ndarray:
    """Return an array laid out as x would be in memory, as a view of `root`, laid out as its root.

    Elements are two bytes, for the two parts of a complex number; the others do not need them.
    """
    chain = []
    while x._view is not None:
        chain.append(x)
        x = x._view.base
    layout = np.empty(_usual(x.shape), np.int16) if root is None else root
    for each in reversed(chain):
        layout = _layout_of_view(each, layout)
    return layout


def _layout_of_view(x: Tensor, base: np.ndarray) -> np.ndarray:
    """Return an array laid out as the view x of something laid out like `base`."""
    view = x._view
    if view.primitive is unbox:
        return np.empty(_usual(x.shape), np.int16)
    if view.primitive is bitcast:
        return base if base.shape == _usual(x.shape) else np.empty(_usual(x.shape), np.int16)
    if view.primitive is real or view.primitive is imag:
        part = int(view.primitive is imag)
        return base[..., None].view(np.int8)[..., part]
    if not base.ndim and view.primitive is slice_:
        return base  # NumPy's would be a scalar
    if not view.indices:
        return view.primitive.numpy(base, **_usual(view.params))
    if view.primitive is take_slice:  # somewhere as well
        at = (slice(None),) * view.params["axis"]
        return base[(*at, slice(None, None, view.params["step"]))][
            (*at, slice(_usual(view.params["length"])))
        ]
    if base.size == 0 or any(index.ndim for index in view.indices):
        return np.empty(_usual(x.shape), np.int16)
    key = (slice(None),) * view.params["axis"] + (0,) * len(view.indices)
    return base[key]  # somewhere: the strides are what matters


def _usual(value: Any) -> Any:
    """Return a shape or a parameter with numbers for sizes that are not known.

    Layouts are asked for strides and shared memory only, which is the same for all sizes but those
    of no or of one element. Twelve can be divided by many numbers.
    """
    if isinstance(value, Dim):
        return evaluate(value, {name: min(12, most_of(name) or 12) for name in symbols(value)})
    if isinstance(value, dict):
        return {name: _usual(part) for name, part in value.items()}
    return tuple([_usual(part) for part in value]) if isinstance(value, tuple) else value


def transpose_view(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return the view of x with its axes in another order."""
    back = tuple(int(axis) for axis in np.argsort(axes))
    return view(x, transpose, lambda _, values: _record(transpose, values, axes=back), axes=axes)


def slice_view(x: Tensor, index: tuple[AxisSlice, ...]) -> Tensor:
    """Return the view of a basic slice of x."""
    if all(part is None for part in index):
        return view(x, slice_, lambda _, values: values, index=index)

    def write(base: Value, values: Value) -> Value:
        return _record(update_slice, base, values, index=index)

    return view(x, slice_, write, index=index)


def real_view(x: Tensor) -> Tensor:
    """Return the real part: a view of complex numbers, x itself otherwise."""
    if x.dtype.kind != "c":
        return slice_view(x, (None,) * x.ndim)

    def write(base: Value, values: Value) -> Value:
        return _record(complex_, values, _record(imag, base))

    return view(x, real, write)


def imag_view(x: Tensor) -> Tensor:
    """Return the imaginary part: a view of complex numbers, zeros otherwise."""
    if x.dtype.kind != "c":
        return emit(imag, x)

    def write(base: Value, values: Value) -> Value:
        return _record(complex_, _record(real, base), values)

    return view(x, imag, write)


def bitcast_view(x: Tensor, dtype: np.dtype) -> Tensor:
    """Return the view that reads the bits of x as another dtype of the same size."""
    old = x.dtype
    return view(x, bitcast, lambda _, values: _record(bitcast, values, dtype=old), dtype=dtype)


def refuse_view(kind: type) -> NoReturn:
    """Raise where an array of the traced function is to be seen as one of another class."""
    raise UnsupportedError(
        f"a view as {kind.__name__} of an array of the traced function is not followed{at(here())}."
        " Use the array itself"
    )


def change_by_class(change: Callable[..., Any], target: Tensor, *args: Any) -> None:
    """Carry out ``change(target, ...)``, which writes to an array, for each class that this has."""

    def changed(x: Tensor, *args: Any) -> Tensor:
        x = writable(x)
        change(x, *args)
        return x

    result = read(by_class(changed, target, *args))
    if result.type.dtype != target._type.dtype:  # one in all examples that get here
        result = _record(cast, result, dtype=target._type.dtype)
    assign(target, result)


def assign(target: Tensor, value: Value) -> None:
    """Make `value`, of the target's own type, what the target holds, and its bases with it."""
    assert value.type == target._type
    trace = require_trace("an assignment")
    root = root_of(target)
    if root._guard is not None:
        root._guard.writing(root)
    if root._trace is not trace and not (root._guard is not None and root._guard.is_copy):
        note_tensor(root)
    if trace.journal is not None:
        trace.journal.log(TensorSlot(root))
    tensors, values = [target], [value]
    while tensors[-1]._view is not None:
        view = tensors[-1]._view
        indices = [read(index) for index in view.indices]
        values.append(view.write(read(view.base), values[-1], *indices))
        tensors.append(view.base)
    for tensor, new in zip(tensors, values, strict=True):
        tensor._value = new
        tensor._trace = trace
    for tensor in tensors[:-1]:
        tensor._view.saw()
    if root._guard is not None:
        root._guard.written(root)


def store(target: Any, values: Any, casting: str = "unsafe", *, set_alone: bool = False) -> None:
    """Write `values`, broadcast and converted, to all elements of `target`: ``target[...] = v``."""
    target = as_out(target)
    if target._mixed is not None:
        write = partial(store, casting=casting, set_alone=set_alone)
        return change_by_class(write, target, values)

    def write() -> None:
        assign(target, fit(values, target._type, casting, set_alone=set_alone))

    write() if state.floating is None else state.floating.after_writing(write)


def as_out(out: Any) -> Tensor:
    """Return what stands at ``out=`` as the tensor to write to, or raise where there is none."""
    if isinstance(out, Tensor):
        out = as_tensor(out)
        if out._type.shape or out._view is not None:
            return out
    elif isinstance(out, np.ndarray):
        raise UnsupportedError(
            f"out= is an array that is not traced{at(here())}: it would have to hold a result that "
            "is not known yet. Make it with np.zeros_like(t, shape=...), or use the result"
        )
    raise TypeError("return arrays must be of ArrayType")


def fit(values: Any, type: ArrayType, casting: str = "unsafe", *, set_alone: bool = False) -> Value:
    """Return `values` broadcast and converted to `type`, or raise what assignment raises."""
    tensor = as_stored(values, type.dtype, set_alone=set_alone)
    if not np.can_cast(tensor.dtype, type.dtype, casting):  # ty: ignore[invalid-argument-type]
        raise TypeError(
            f"Cannot cast from {tensor.dtype!r} to {type.dtype!r} with casting rule {casting!r}"
        )
    value = read(tensor)
    shape = tensor.shape
    while len(shape) > len(type.shape) and shape[0] == 1:  # NumPy drops leading ones
        shape = shape[1:]
    if not broadcasts_to(shape, type.shape):
        raise ValueError(
            f"could not broadcast input array from shape {tensor.shape} into shape {type.shape}"
        )
    if shape != tensor.shape:
        value = _record(reshape, value, shape=shape)
    if tensor.dtype != type.dtype:
        value = read(emit(cast, Tensor(require_trace("an assignment"), value), dtype=type.dtype))
    if value.type != array_type(type.dtype, type.shape):
        value = _record(broadcast_to, value, shape=type.shape)
    return value


def as_stored(values: Any, dtype: np.dtype, *, set_alone: bool = False) -> Tensor:
    """Return what is assigned to an element of `dtype` as a tensor; Python numbers must fit.

    `set_alone`: whether elements are set one by one; see `lanewise.trace.casting`.
    """
    if isinstance(values, Tensor):
        return as_element(as_tensor(values), dtype, set_alone=set_alone)
    trace = require_trace("an assignment")
    if isinstance(values, (bool, int, float, complex)) and not isinstance(values, np.generic):
        if isinstance(values, complex) and dtype.kind not in "bc":
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        return Tensor(trace, trace.scalar(values, dtype))
    if isinstance(values, (list, tuple)) and contains_tensor(values):
        return elements(values, dtype)
    return as_tensor(values)
