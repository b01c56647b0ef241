"""Calls of C loops, NumPy's and others', within a kernel: transforms, LAPACK, special functions.

A loop takes addresses and steps (`ufunc_loops`). So it reads an array where it lies if that is as
NumPy has numbers: operands of the kernel, and memory of its own. All else is computed into such
memory first (`placed`). Where examples are in lanes, an element of all of them lies together: then
lanes are the loop's outer dimension, a step of one number apart. Lanes that are not active may hold
anything, so if there are some, each of the others has a call of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.codegen import ufunc_loops
from lanewise.codegen.addresses import Affine, Index, as_index, linear, plus, times
from lanewise.codegen.arrays import Array, Elements, Given, Stored
from lanewise.codegen.emitter import Slot
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import TURNS
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import convert, is_supported, kinds_of, vecs
from lanewise.codegen.sizes import varies
from lanewise.codegen.vector import Vec
from lanewise.ir.dims import DimLike, product
from lanewise.ops.contraction import parse_signature

#: Of how many nanoseconds of work a loop asks once whether the run should stop, with `TURNS`.
_PATIENCE = 10_000_000


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the numbers of an array lie.

    Attributes
    ----------
    pointer, start
        A pointer, and how many bytes behind it the first element of the first lane is.
    lane
        How many bytes lie between lanes; 0 where all read the same.
    strides
        How many bytes lie between neighbours along each axis.
    """

    pointer: str
    start: Index
    lane: int
    strides: tuple[Index, ...]

    def along(self, axis: int, size: DimLike, of: DimLike) -> Index:
        """Return the stride of an axis; 0 for one of a single element that stands for more."""
        return 0 if size == 1 and of != 1 else self.strides[axis]


def placed(k: Lowering, x: Array, dtype: np.dtype) -> Placed:
    """Return where an array of a dtype has its numbers as NumPy has them, so that C may read them.

    That is where they are, if they lie so, and else local memory that they are written to: a row of
    memory, or where examples are in lanes, a row for each lane.
    """
    if x.dtype == dtype and isinstance(x, Given):
        start = x.offset(*(0,) * x.ndim)
        strides = x.strides[len(x.lead) :]
        if isinstance(start, Affine):
            return Placed(x.pointer, start.base, start.step, strides)
        if isinstance(start, int) or not start.varying:
            return Placed(x.pointer, start, 0, strides)
    is_beside = isinstance(x, Stored) and x.buffer.beside == len(kinds_of(dtype))
    if x.dtype != dtype or not is_beside or not _is_even(k, x):
        is_same = isinstance(x, Elements) and not any([item.varying for item in x.items])
        x = _converted(k, x, dtype, k.in_lanes and not is_same)
    assert isinstance(x, Stored)
    lane = dtype.itemsize if x.buffer.wide else 0
    step = dtype.itemsize * (k.e.lanes if x.buffer.wide else 1)
    return Placed(x.buffer.pointers[0], 0, lane, tuple([times(s, step) for s in x.strides]))


def _is_even(k: Lowering, x: Array) -> bool:
    return not any([varies(size, k.e.counted) for size in x.shape])


def gufunc_call(
    k: Lowering,
    types: Sequence[Any],
    fns: Sequence[Any],
    dtypes: Sequence[np.dtype],
    operands: Sequence[Array],
    axes: Sequence[tuple[int, ...]] | None,
    nanoseconds: float,
    *,
    which: Vec | None = None,
    fails: bool = False,
    is_locked: bool = False,
) -> list[Array]:
    """Return the results of a generalized ufunc, whose loop is called for each example.

    Parameters
    ----------
    types
        Those of the results: the loop's own are converted.
    fns
        The function; or two of them, of which the second is called where `which` holds.
    dtypes
        Those of the loop, for operands and results.
    axes
        Which axes of each operand, and of each result, are core dimensions, in their order; None
        for the last ones. The others broadcast.
    nanoseconds
        What it takes for an example, about.
    fails
        Whether it gives NaN first where NumPy raises.
    is_locked
        Whether it is called under Python's lock, and may raise.
    """
    loops = [_known(fn, dtypes) for fn in fns]
    inputs, outputs = parse_signature(fns[0].signature)
    arrays = [*[x.shape for x in operands], *[type_.shape for type_ in types]]
    if any([varies(size, k.e.counted) for shape in arrays for size in shape]):
        raise CannotCompile(f"the lanes have arrays of different sizes, for {fns[0].__name__}")
    if axes is None:
        own = zip((*inputs, *outputs), arrays, strict=True)
        axes = [tuple(range(len(shape) - len(names), len(shape))) for names, shape in own]
    sizes: dict[str, DimLike] = {}
    for names, shape, own in zip((*inputs, *outputs), arrays, axes, strict=True):
        for name, axis in zip(names, own, strict=True):
            sizes.setdefault(name, shape[axis])
    given = [placed(k, x, dtype) for x, dtype in zip(operands, dtypes, strict=False)]
    made = [
        _room(k, dtype, type_, target)
        for dtype, type_, target in zip(dtypes[len(operands) :], types, k.places, strict=True)
    ]
    given += [placed(k, x, x.dtype) for x in made]
    lead = [axis for axis in range(len(types[0].shape)) if axis not in axes[len(operands)]]
    outer = [types[0].shape[axis] for axis in lead]
    rows = [_lead(x, shape, own, outer) for x, shape, own in zip(given, arrays, axes, strict=True)]
    core = [x.strides[axis] for x, own in zip(given, axes, strict=True) for axis in own]
    call = _Call(k, loops, which, [*sizes.values()], core, is_locked)

    def at(index: tuple[Index, ...]) -> list[Index]:
        return [
            plus(x.start, linear(index, row[: len(index)]))
            for x, row in zip(given, rows, strict=True)
        ]

    def level(index: tuple[Index, ...]) -> None:
        if k.in_lanes and len(index) == len(outer):
            call.in_lanes([x.pointer for x in given], at(index), [x.lane for x in given])
        elif not k.in_lanes and len(index) >= len(outer) - 1:
            count, steps = (outer[-1], [r[-1] for r in rows]) if outer else (1, [0] * len(rows))
            call.once([x.pointer for x in given], at(index), count, steps)
        else:
            for i in k.range(outer[len(index)], unroll=False):
                level((*index, i))

    level(())
    call.close()
    k.poll(_turns(k, nanoseconds))
    if fails:
        _fail_where_nan(k, made[0], lead)
    return [_as(k, x, type_) for x, type_ in zip(made, types, strict=True)]


def _room(k: Lowering, dtype: np.dtype, type_: Any, target: Given | None) -> Stored | Given:
    """Return memory for a result: where it belongs, if it is only given to whoever runs the kernel.

    Nothing is written there but by active lanes.
    """
    if target is not None and dtype == type_.dtype == target.dtype:
        start = target.offset(*(0,) * target.ndim)
        if isinstance(start, (int, Affine)) or not start.varying:
            return target
    return k.local(dtype, type_.shape, beside=True)


def _lead(
    x: Placed, shape: Sequence[DimLike], own: tuple[int, ...], outer: Sequence[DimLike]
) -> list[Index]:
    """Return the strides of an array along the axes in front, of which it may lack some."""
    axes = [axis for axis in range(len(shape)) if axis not in own]
    missing = len(outer) - len(axes)
    found = [
        x.along(axis, shape[axis], size) for axis, size in zip(axes, outer[missing:], strict=True)
    ]
    return [*[0] * missing, *found]


def ufunc_call(
    k: Lowering,
    types: Sequence[Any],
    fn: Any,
    dtypes: Sequence[np.dtype],
    parts: Sequence[Callable[..., Any]],
    nanoseconds: float,
    *,
    is_locked: bool = False,
) -> list[Array]:
    """Return the results of a ufunc, whose loop is called for all elements at once.

    Parameters
    ----------
    parts
        For each operand, what reads it at an index of the results.
    nanoseconds
        What it takes for an element, about.
    is_locked
        Whether it is called under Python's lock, and may raise.
    """
    shape = types[0].shape
    loop = _known(fn, dtypes)
    if any([varies(size, k.e.counted) for size in shape]):
        raise CannotCompile(f"the lanes have arrays of different sizes, for {fn.__name__}")
    rows = [k.lazy(d, shape, lambda *i, x=x: x(*i)) for x, d in zip(parts, dtypes, strict=False)]
    wide = k.in_lanes
    if wide and k.is_small(shape):  # what is the same in all lanes stays so
        rows = [k.elements(x.dtype, shape, k.items(x)) for x in rows]
        wide = any([part.varying for x in rows for item in x.items for part in vecs(item)])
    given = [_converted(k, x, d, wide) for x, d in zip(rows, dtypes, strict=False)]
    made = [k.local(dtype, shape, wide, beside=True) for dtype in dtypes[len(parts) :]]
    places = [*given, *made]
    count = k.index(product(shape))
    call = _Call(k, [loop], None, [], [], is_locked)
    pointers, sizes = [x.buffer.pointers[0] for x in places], [x.dtype.itemsize for x in places]
    if wide:
        call.elements_in_lanes(pointers, sizes, count)
    else:
        call.once(pointers, [0] * len(places), count, sizes)
    call.close()
    k.poll(_turns(k, nanoseconds * k.usual(shape)))
    return [_as(k, x, type_) for x, type_ in zip(made, types, strict=True)]


def _converted(k: Lowering, x: Array, dtype: np.dtype, wide: bool) -> Stored:
    converted = k.lazy(dtype, x.shape, lambda *i: convert(x.at(*i), dtype), (x,))
    return k.materialized(converted, wide, beside=True)


def _known(fn: Any, dtypes: Sequence[np.dtype]) -> str:
    """Return the name of a loop, or leave it to NumPy."""
    name = ufunc_loops.loop_of(fn, tuple(dtypes))
    if name is None or not all(map(is_supported, dtypes)):
        names = ", ".join(map(str, dtypes[: fn.nin]))
        raise CannotCompile(f"{fn.__name__} of {names} has no loop that can be called")
    return name


def _turns(k: Lowering, nanoseconds: float) -> int:
    """Return how many turns of a loop a call counts as, where it is asked whether to stop."""
    each = k.e.lanes if k.in_lanes else 1
    return min(max(int(TURNS * nanoseconds * each / _PATIENCE), 1), TURNS)


def _fail_where_nan(k: Lowering, x: Array, lead: Sequence[int]) -> None:
    """End the run where the first number of a result is NaN, as it is where LAPACK failed."""

    def check(*index: Index) -> None:
        places = dict(zip(lead, index, strict=True))
        first = x.at(*[places.get(axis, 0) for axis in range(x.ndim)])
        k.fail(vecs(first)[0].isnan())

    k.each([x.shape[axis] for axis in lead], check, unroll=False)


def _as(k: Lowering, x: Array, type_: Any) -> Array:
    if x.dtype == type_.dtype:
        return x
    return k.lazy(type_.dtype, x.shape, lambda *i: convert(x.at(*i), type_.dtype), (x,))


class _Call:
    """Writes calls of a loop.

    Parameters
    ----------
    loops
        Its name; or two, of which the second is called where `which` holds.
    sizes, strides
        Its core dimensions, and the bytes between neighbours along them.
    is_locked
        Whether calls take Python's lock, and look whether something was raised.
    """

    def __init__(
        self,
        k: Lowering,
        loops: Sequence[str],
        which: Vec | None,
        sizes: Sequence[DimLike],
        strides: Sequence[Index],
        is_locked: bool,
    ) -> None:
        self.k, self._sizes, self._strides = k, sizes, strides
        e = k.e
        for loop in loops:
            e.module.declarations[loop] = f'@"{loop}" = external global [2 x ptr]'
        at = f'@"{loops[0]}"'
        if which is not None:
            at = e.write(f'select i1 {which.parts[0]}, ptr @"{loops[1]}", ptr {at}')
        behind = e.write(f"getelementptr i8, ptr {at}, i64 8")
        self._function = e.write(f"load ptr, ptr {at}")
        self._data = e.write(f"load ptr, ptr {behind}")
        self._raised: Slot | None = None
        if is_locked:
            ufunc_loops.require_locking()
            self._raised = e.slot("b", False)
            self._raised.set(e.constant("b", False))

    def once(
        self, pointers: Sequence[str], starts: Sequence[Index], count: Any, steps: Sequence[Index]
    ) -> None:
        """Write a call for so many, each some bytes from the one before."""
        e = self.k.e
        at = [_at(self.k, pointer, start) for pointer, start in zip(pointers, starts, strict=True)]
        operands = self._array("ptr", at)
        sizes = self._array("i64", [self._number(x) for x in (count, *self._sizes)])
        strides = self._array("i64", [self._number(x) for x in (*steps, *self._strides)])
        given = f"ptr {operands}, ptr {sizes}, ptr {strides}, ptr {self._data}"
        if self._raised is None:
            e.do(f"call void {self._function}({given})")
            return
        e.module.declare("PyGILState_Ensure", "i32")
        e.module.declare("PyGILState_Release", "void", "i32")
        e.module.declare("PyErr_Occurred", "ptr")
        e.module.declare("PyErr_Clear", "void")
        state = e.write("call i32 @PyGILState_Ensure()")
        e.do(f"call void {self._function}({given})")
        is_raised = e.write(f"icmp ne ptr {e.write('call ptr @PyErr_Occurred()')}, null")
        e.do("call void @PyErr_Clear()")
        e.do(f"call void @PyGILState_Release(i32 {state})")
        self._raised.set(self._raised.get() | e.uniform("b", is_raised))

    def close(self) -> None:
        """Write what ends the run if one of the calls raised; NumPy then raises the same."""
        if self._raised is not None:
            self.k.fail(self._raised.get())

    def in_lanes(
        self, pointers: Sequence[str], starts: Sequence[Index], apart: Sequence[int]
    ) -> None:
        """Write calls for the active lanes: one for each run of them."""

        def run(lane: Index, count: Index) -> None:
            at = [plus(start, times(lane, step)) for start, step in zip(starts, apart, strict=True)]
            self.once(pointers, at, count, apart)

        self._runs(run)

    def elements_in_lanes(self, pointers: Sequence[str], sizes: Sequence[int], count: Vec) -> None:
        """Write calls for the elements of all active lanes, which lie together."""
        k, lanes = self.k, self.k.e.lanes
        if k.mask is None:
            self.once(pointers, [0] * len(sizes), count * lanes, sizes)
            return

        def run(lane: Index, run: Index) -> None:
            if count.value == 1:
                self.once(pointers, [times(lane, size) for size in sizes], run, sizes)
                return
            for each in k.range(run, unroll=False):
                at = [times(plus(lane, each), size) for size in sizes]
                self.once(pointers, at, count, [size * lanes for size in sizes])

        whole, apart, called = (k.e.label(hint) for hint in ("whole", "apart", "called"))
        k.e.branch(k.e.all(k.mask), whole, apart)
        k.e.begin(whole)
        self.once(pointers, [0] * len(sizes), count * lanes, sizes)
        k.e.jump(called)
        k.e.begin(apart)
        self._runs(run)
        k.e.jump(called)
        k.e.begin(called)

    def _runs(self, run: Callable[[Index, Index], None]) -> None:
        """Write something for each run of active lanes, told of the first and their number."""
        e, mask = self.k.e, self.k.mask
        if mask is None:
            run(0, e.lanes)
            return
        active = self._array("i8", [], e.lanes)
        for part, lanes in enumerate(mask.spread().parts):
            bits = e.write(f"zext {e.type('b', True)} {lanes} to <{e.group} x i8>")
            at = e.write(f"getelementptr i8, ptr {active}, i64 {part * e.group}")
            e.do(f"store <{e.group} x i8> {bits}, ptr {at}, align 1")

        def past(first: Vec, holds: str) -> Vec:
            """Return the lane, from the first on, from which on the mask does not hold so."""
            lane = e.slot("i64", False)
            lane.set(first)
            head, look, on, end = (e.label(hint) for hint in ("head", "look", "on", "end"))
            e.jump(head)
            e.begin(head)
            here = lane.get()
            e.branch(here < e.lanes, look, end)
            e.begin(look)
            at = e.write(f"getelementptr i8, ptr {active}, i64 {here.parts[0]}")
            is_so = e.write(f"icmp eq i8 {e.write(f'load i8, ptr {at}')}, {holds}")
            e.branch(e.uniform("b", is_so), on, end)
            e.begin(on)
            lane.set(here + 1)
            e.jump(head)
            e.begin(end)
            return lane.get()

        at = e.slot("i64", False)
        at.set(e.constant("i64", 0))

        def turn() -> None:
            first = past(at.get(), "0")
            last = past(first, "1")
            with e.when(first < last):
                run(first, last - first)
            at.set(last)

        e.repeat(lambda: at.get() < e.lanes, turn)

    def _number(self, x: Any) -> str:
        return as_index(self.k.e, x).parts[0]

    def _array(self, type_: str, items: Sequence[str], count: int | None = None) -> str:
        """Return an array in the function's frame, its items stored where the code at hand is."""
        e, name = self.k.e, self.k.e.name()
        e.entry.append(f"  {name} = alloca [{count or len(items)} x {type_}]")
        for place, item in enumerate(items):
            at = e.write(f"getelementptr {type_}, ptr {name}, i64 {place}")
            e.do(f"store {type_} {item}, ptr {at}")
        return name


def _at(k: Lowering, pointer: str, start: Index) -> str:
    if isinstance(start, int) and start == 0:
        return pointer
    return k.e.write(f"getelementptr i8, ptr {pointer}, i64 {as_index(k.e, start).parts[0]}")
