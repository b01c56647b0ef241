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
from lanewise.codegen.addresses import Affine, Index, address, as_index, linear, plus, times
from lanewise.codegen.arrays import Array, Elements, Given, Stored, items_of
from lanewise.codegen.builder import Builder
from lanewise.codegen.emitter import Slot
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import TURNS
from lanewise.codegen.numbers import convert, is_supported, kinds_of, vecs
from lanewise.codegen.sizes import varies
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec
from lanewise.ir.dims import DimLike, product
from lanewise.ops.contraction import parse_signature
from lanewise.ops.facts import usual

#: Of how many nanoseconds of work a loop asks once whether the run should stop, with `TURNS`.
_PATIENCE = 10_000_000


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the numbers of an array lie."""

    #: A pointer, and how many bytes behind it the first element of the first lane is.
    pointer: str
    start: Index
    #: How many bytes lie between lanes; 0 where all read the same.
    lane: int
    #: How many bytes lie between neighbours along each axis.
    strides: tuple[Index, ...]


def placed(k: Builder, x: Array, dtype: np.dtype) -> Placed:
    """Return where an array of a dtype has its numbers as NumPy has them, so that C may read them.

    That is where they are, if they lie so, and else local memory that they are written to: a row of
    memory, or where examples are in lanes, a row for each lane.
    """
    if x.dtype == dtype and isinstance(x, Given) and (found := _as_it_lies(x)) is not None:
        return found
    is_beside = isinstance(x, Stored) and x.buffer.beside == len(kinds_of(dtype))
    if x.dtype != dtype or not is_beside:
        wide = k.in_lanes and (x.varies or not isinstance(x, Elements))
        x = k.storage.materialized(k.views.converted(x, dtype), wide, beside=True)
    assert isinstance(x, Stored)
    lane = dtype.itemsize if x.buffer.wide else 0
    step = dtype.itemsize * (k.e.lanes if x.buffer.wide else 1)
    return Placed(x.buffer.pointers[0], 0, lane, tuple([times(s, step) for s in x.strides]))


def _as_it_lies(x: Given) -> Placed | None:
    """Return where an array is that the kernel is called with; None if lanes read it anywhere."""
    start, strides = x.offset(*(0,) * x.ndim), x.strides[len(x.lead) :]
    if isinstance(start, Affine):
        return Placed(x.pointer, start.base, start.step, strides)
    is_anywhere = isinstance(start, Vec) and start.varying
    return None if is_anywhere else Placed(x.pointer, start, 0, strides)


def _room(k: Builder, dtype: np.dtype, type_: Any, target: Given | None) -> Stored | Given:
    """Return memory for a result: where it belongs, if it is only given to whoever runs the kernel.

    Nothing is written there but by active lanes.
    """
    if target is None or not dtype == type_.dtype == target.dtype or _as_it_lies(target) is None:
        return k.storage.local(dtype, type_.shape, beside=True)
    return target


def _lead(
    x: Placed, shape: Sequence[DimLike], own: tuple[int, ...], outer: Sequence[DimLike]
) -> list[Index]:
    """Return the strides of an array along the axes in front, of which it may lack some.

    They are 0 along axes that it lacks, and along those of a single element that stands for more.
    """
    axes = [axis for axis in range(len(shape)) if axis not in own]
    missing = len(outer) - len(axes)
    pairs = zip(axes, outer[missing:], strict=True)
    found = [0 if shape[axis] == 1 != size else x.strides[axis] for axis, size in pairs]
    return [*[0] * missing, *found]


def _known(
    k: Builder, fn: Any, dtypes: Sequence[np.dtype], shapes: Sequence[Sequence[DimLike]]
) -> str:
    """Return the name of a loop for arrays of these shapes, or leave it to NumPy."""
    name = ufunc_loops.loop_of(fn, tuple(dtypes))
    if name is None or not all(map(is_supported, dtypes)):
        names = ", ".join(map(str, dtypes[: fn.nin]))
        raise CannotCompile(f"{fn.__name__} of {names} has no loop that can be called")
    if any([varies(size, k.e.counted) for shape in shapes for size in shape]):
        raise CannotCompile(f"the lanes have arrays of different sizes, for {fn.__name__}")
    return name


def _turns(k: Builder, nanoseconds: float) -> int:
    """Return how many turns of a loop a call counts as, where it is asked whether to stop."""
    each = k.e.lanes if k.in_lanes else 1
    return min(max(int(TURNS * nanoseconds * each / _PATIENCE), 1), TURNS)


def _fail_where_nan(k: Builder, x: Array, lead: Sequence[int]) -> None:
    """End the run where the first number of a result is NaN, as it is where LAPACK failed."""

    def check(*index: Index) -> None:
        places = dict(zip(lead, index, strict=True))
        first = x.at(*[places.get(axis, 0) for axis in range(x.ndim)])
        k.fail(vecs(first)[0].isnan())

    k.loops.each([x.shape[axis] for axis in lead], check, unroll=False)


class _Call:
    """Writes calls of a loop, or of the second of two where `which` holds.

    Operands and results lie at the pointers; core dimensions have sizes, and bytes between
    neighbours. If it `is_locked`, calls take Python's lock, and look whether something was raised.
    """

    def __init__(
        self,
        k: Builder,
        loops: Sequence[str],
        which: Vec | None,
        pointers: Sequence[str],
        sizes: Sequence[DimLike],
        strides: Sequence[Index],
        is_locked: bool,
    ) -> None:
        self.k, self._pointers, self._sizes, self._strides = k, pointers, sizes, strides
        e = k.e
        for loop in loops:
            e.module.declarations[loop] = f'@"{loop}" = external global [2 x ptr]'
        at = f'@"{loops[0]}"'
        if which is not None:
            at = e.write(f'select i1 {which.parts[0]}, ptr @"{loops[1]}", ptr {at}')
        self._function = e.write(f"load ptr, ptr {at}")
        self._data = e.write(f"load ptr, ptr {address(e, at, 8)}")
        self._raised: Slot | None = None
        if is_locked:
            ufunc_loops.require_locking()
            self._raised = e.slot("b", False, e.constant("b", False))

    def once(self, starts: Sequence[Index], count: Any, steps: Sequence[Index]) -> None:
        """Write a call for so many, each some bytes from the one before."""
        e = self.k.e
        rows = zip(self._pointers, starts, strict=True)
        operands = self._array("ptr", [address(e, pointer, start) for pointer, start in rows])
        sizes = self._array("i64", self._numbers(count, *self._sizes))
        strides = self._array("i64", self._numbers(*steps, *self._strides))
        given = f"ptr {operands}, ptr {sizes}, ptr {strides}, ptr {self._data}"
        if self._raised is None:
            e.do(f"call void {self._function}({given})")
            return
        state = e.external("i32", "PyGILState_Ensure")
        e.do(f"call void {self._function}({given})")
        is_raised = e.write(f"icmp ne ptr {e.external('ptr', 'PyErr_Occurred')}, null")
        e.external("void", "PyErr_Clear")
        e.external("void", "PyGILState_Release", ("i32", state))
        self._raised.set(self._raised.get() | e.uniform("b", is_raised))

    def close(self) -> None:
        """Write what ends the run if one of the calls raised; NumPy then raises the same."""
        if self._raised is not None:
            self.k.fail(self._raised.get())

    def in_lanes(self, starts: Sequence[Index], apart: Sequence[int]) -> None:
        """Write calls for the active lanes, these bytes apart: one for each run of them."""

        def run(lane: Index, count: Index) -> None:
            at = [plus(start, times(lane, step)) for start, step in zip(starts, apart, strict=True)]
            self.once(at, count, apart)

        self._runs(run)

    def elements_in_lanes(self, sizes: Sequence[int], count: Vec) -> None:
        """Write calls for the elements of all active lanes, which lie together."""
        k, lanes = self.k, self.k.e.lanes
        starts = [0] * len(sizes)
        if k.mask is None:
            self.once(starts, count * lanes, sizes)
            return

        def run(lane: Index, run: Index) -> None:
            for each in k.loops.range(run, unroll=False):
                at = [times(plus(lane, each), size) for size in sizes]
                self.once(at, count, [size * lanes for size in sizes])

        is_whole = k.e.all(k.mask)
        with k.e.when(is_whole):
            self.once(starts, count * lanes, sizes)
        with k.e.when(~is_whole):
            if count.value == 1:
                self.in_lanes(starts, sizes)
            else:
                self._runs(run)

    def _runs(self, run: Callable[[Index, Index], None]) -> None:
        """Write something for each run of active lanes, told of the first and their number."""
        e, mask = self.k.e, self.k.mask
        if mask is None:
            run(0, e.lanes)
            return
        parts, step = mask.spread().parts, 64 // e.group  # whose lanes are the bits of an integer
        for part in range(0, e.parts, step):
            lanes = Vec(e, "b", True, parts[part : part + step])
            _each_run(e.bits(lanes), part * e.group, run)

    def _numbers(self, *values: Any) -> list[str]:
        return [as_index(self.k.e, x).parts[0] for x in values]

    def _array(self, type_: str, items: Sequence[str]) -> str:
        """Return an array in the function's frame, its items stored where the code at hand is."""
        e = self.k.e
        name = e.at_entry(f"alloca [{len(items)} x {type_}]")
        for place, item in enumerate(items):
            at = e.write(f"getelementptr {type_}, ptr {name}, i64 {place}")
            e.do(f"store {type_} {item}, ptr {at}")
        return name


def _each_run(bits: Vec, lane: int, run: Callable[[Index, Index], None]) -> None:
    """Write something for each run of bits that are set; the lowest is that of a lane."""
    e, left = bits.e, bits.e.slot("u64", False, bits)

    def turn() -> None:
        bits = left.get()
        first = e.zeros("cttz", bits)
        run(first + lane, e.zeros("cttz", ~(bits >> first.as_kind("u64"))))
        left.set(bits & (bits + (bits & -bits)))  # what is carried clears the lowest run

    e.repeat(lambda: left.get().ne(0), turn)


class Calls:
    """Calls of C loops; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def gufunc(
        self,
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

        They are converted to `types`; `dtypes` are those of the loop, for operands and results. Of
        two functions `fns` the second is called where `which` holds. `axes` say which axes of each
        operand, and of each result, are core dimensions, in their order, None that the last ones
        are; the others broadcast. It takes `nanoseconds` for an example, about. One that `fails`
        gives NaN first where NumPy raises; one that `is_locked` is called under Python's lock, and
        may raise.
        """
        k = self.k
        inputs, outputs = parse_signature(fns[0].signature)
        cores = (*inputs, *outputs)
        arrays = [*[x.shape for x in operands], *[type_.shape for type_ in types]]
        loops = [_known(k, fn, dtypes, arrays) for fn in fns]
        if axes is None:
            own = zip(cores, arrays, strict=True)
            axes = [tuple(range(len(shape) - len(names), len(shape))) for names, shape in own]
        sizes: dict[str, DimLike] = {}
        for names, shape, own in zip(cores, arrays, axes, strict=True):
            for name, axis in zip(names, own, strict=True):
                sizes.setdefault(name, shape[axis])
        given = [placed(k, x, dtype) for x, dtype in zip(operands, dtypes, strict=False)]
        made = [
            _room(k, dtype, type_, target)
            for dtype, type_, target in zip(
                dtypes[len(operands) :], types, k.storage.places, strict=True
            )
        ]
        given += [placed(k, x, x.dtype) for x in made]
        lead = [axis for axis in range(len(types[0].shape)) if axis not in axes[len(operands)]]
        outer = [types[0].shape[axis] for axis in lead]
        rows = [
            _lead(x, shape, own, outer) for x, shape, own in zip(given, arrays, axes, strict=True)
        ]
        core = [x.strides[axis] for x, own in zip(given, axes, strict=True) for axis in own]
        call = _Call(
            k, loops, which, [x.pointer for x in given], [*sizes.values()], core, is_locked
        )
        # The last loop is the function's own, but where its turns are the lanes.
        inner = [] if k.in_lanes else outer[-1:]
        for index in k.loops.indices(outer[: len(outer) - len(inner)], unroll=False):
            starts = [
                plus(x.start, linear(index, row[: len(index)]))
                for x, row in zip(given, rows, strict=True)
            ]
            if k.in_lanes:
                call.in_lanes(starts, [x.lane for x in given])
            else:
                call.once(starts, product(inner), [row[-1] if inner else 0 for row in rows])
        call.close()
        k.loops.poll(_turns(k, nanoseconds))
        if fails:
            _fail_where_nan(k, made[0], lead)
        return [k.views.converted(x, type_.dtype) for x, type_ in zip(made, types, strict=True)]

    def ufunc(
        self,
        types: Sequence[Any],
        fn: Any,
        dtypes: Sequence[np.dtype],
        parts: Sequence[Callable[..., Any]],
        nanoseconds: float,
        *,
        is_locked: bool = False,
    ) -> list[Array]:
        """Return the results of a ufunc, whose loop is called for all elements at once.

        For each operand `parts` has what reads it at an index of the results. The `nanoseconds` are
        those of an element, all else is as for `gufunc`.
        """
        k = self.k
        shape = types[0].shape
        loop = _known(k, fn, dtypes, [shape])
        rows = [
            k.lazy(dtype, shape, lambda *i, part=part, dtype=dtype: convert(part(*i), dtype))
            for part, dtype in zip(parts, dtypes, strict=False)
        ]
        wide = k.in_lanes
        if wide and is_small(shape):  # what is the same in all lanes stays so
            rows = [k.elements(x.dtype, shape, items_of(x)) for x in rows]
            wide = any([x.varies for x in rows])
        given = [k.storage.materialized(x, wide, beside=True) for x in rows]
        made = [k.storage.local(dtype, shape, wide, beside=True) for dtype in dtypes[len(parts) :]]
        places = [*given, *made]
        count = k.index(product(shape))
        call = _Call(k, [loop], None, [x.buffer.pointers[0] for x in places], [], [], is_locked)
        sizes = [x.dtype.itemsize for x in places]
        if wide:
            call.elements_in_lanes(sizes, count)
        else:
            call.once([0] * len(places), count, sizes)
        call.close()
        k.loops.poll(_turns(k, nanoseconds * usual(shape)))
        return [k.views.converted(x, type_.dtype) for x, type_ in zip(made, types, strict=True)]
