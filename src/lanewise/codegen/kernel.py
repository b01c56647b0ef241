"""A kernel: a map's region, written as one native function over a range of examples.

The function is called with a context, the first example and the one behind the last, and memory to
work in. Behind the context's head, which belongs to the thread pool, stand a pointer for each
operand, one for sizes if it is told of any, and one for each result; then of those that are columns
(see `blocks`) the bytes from neighbour to neighbour along each axis of an example. It returns 0, or
`FAILED` plus four times the first example of the block in which an example failed, or `STOPPED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lanewise.codegen import control, lists, refill
from lanewise.codegen.addresses import Affine, Index
from lanewise.codegen.algorithms.linalg import LinearAlgebra
from lanewise.codegen.algorithms.orthogonal import Orthogonal
from lanewise.codegen.algorithms.sorting import Sorting
from lanewise.codegen.arrays import Array, Elements, Given, row_major
from lanewise.codegen.blocks import packed, unpack
from lanewise.codegen.builder import Builder
from lanewise.codegen.choices import (
    count,
    defines_sizes,
    only_called,
    only_indexed,
    runs_in_lanes,
    shape_of_lanes,
)
from lanewise.codegen.costs import each_ns
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.errors import CannotCompile, TooLong
from lanewise.codegen.functions import Functions
from lanewise.codegen.library import Calls
from lanewise.codegen.lists import Arena
from lanewise.codegen.loops import TURNS
from lanewise.codegen.overwriting import Overwriting, Shared
from lanewise.codegen.products import Products
from lanewise.codegen.reductions import Reductions
from lanewise.codegen.sizes import is_empty, is_few, is_unknown
from lanewise.codegen.uniformity import IN_REGISTERS
from lanewise.codegen.unrolling import share_of
from lanewise.codegen.updates import Updates
from lanewise.codegen.vector import Vec
from lanewise.codegen.views import Views
from lanewise.codegen.work import count_operations
from lanewise.ir.dims import DimLike, product
from lanewise.ir.graph import Graph
from lanewise.ir.types import ArrayType, symbols_in
from lanewise.passes.paths import has_writes
from lanewise.passes.pipeline import KERNEL
from lanewise.passes.specialize import at_usual_sizes, defined_sizes, unknown_sizes
from lanewise.passes.survive import INTERNAL, survives

#: Bytes of a context that belong to whoever calls the kernel; the first is a function to poll.
HEAD = 32
#: What a kernel returns, in the lowest two bits: an example failed; somebody asked it to stop.
FAILED, STOPPED = 1, 2
#: What LLVM may do to arithmetic where the user allows it; NaN and infinities keep their meaning.
FAST = "reassoc nsz arcp contract"
#: Between examples that should take longer, one after the other, a kernel asks whether to stop.
SHORT_NS = 100.0
#: Results of at least so many bytes an example are written past the caches.
LONG = 8 << 10


@dataclass(frozen=True, slots=True)
class Kernel:
    """The text of a kernel, and what it takes."""

    text: str
    lanes: int
    in_lanes: bool
    scratch: int
    #: Which operands, and behind them results, have their examples side by side.
    columns: tuple[bool, ...]
    refills: bool = False
    #: Nanoseconds for an example, about.
    work: float = 1.0
    name: str = "kernel"
    #: One that refills its lanes has any examples at hand when it fails: it notes their numbers in
    #: its scratch, from this byte on, a number of 64 bits for each lane, -1 for none; and behind
    #: them from which example on none has begun.
    lost: int | None = None
    #: How many bytes of scratch it takes beside those, by sizes that are known when it is called.
    unknown: DimLike = 0
    #: Those that it is told then, as one array of 64-bit integers behind its operands; None if it
    #: knows all.
    sizes: tuple[DimLike, ...] | None = None
    #: Whether there are examples that it leaves undone.
    may_fail: bool = True
    #: What it was written of.
    body: Graph | None = None


def write(
    body: Graph,
    in_dims: Sequence[int | None],
    fastmath: bool = False,
    columns: Sequence[bool] = (),
    shared: Shared = (),
) -> Kernel:
    """Write the kernel of a map.

    Where it writes to arrays, chains of views are made one operation each before (passes/paths.py).

    Parameters
    ----------
    body, in_dims
        The map's region, and which of its inputs are mapped. Each mapped operand has the batch as
        its first axis and, like all others, no gaps, if it is not among `columns`.
    fastmath
        Whether arithmetic may be rounded otherwise than IEEE 754 says.
    columns
        Which operands and results should have their examples side by side, by default none. What
        becomes of it, `Kernel.columns` says: a kernel with elements in its lanes takes rows.
    shared
        Pairs of an operand and a result that lie in the same memory when it is called. An operand
        that is not mapped may be one where there is a single example.

    Raises
    ------
    CannotCompile
        If something in the region has no native form.
    """
    for type_ in [value.type for value in (*body.inputs, *body.outputs)]:
        if not isinstance(type_, ArrayType) or type_.dtype.kind == "O":
            raise CannotCompile(f"it takes or gives {type_}, not numbers")
    wanted = _Wanted(body, in_dims, fastmath, columns, shared)
    try:
        if has_writes(body):
            try:
                return _written(replace(wanted, body=KERNEL(body, most=IN_REGISTERS)))
            except TooLong:
                raise
            except CannotCompile:
                pass  # then the operations as they were recorded tell what it was
        return _written(wanted)
    except CannotCompile:
        raise
    except Exception as error:
        if not survives(error, "code generation", body):
            raise
        raise CannotCompile(f"{INTERNAL} in code generation") from error


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a kernel is written of; see `write`."""

    body: Graph
    in_dims: Sequence[int | None]
    fastmath: bool
    columns: Sequence[bool]
    shared: Shared


def _written(wanted: _Wanted) -> Kernel:
    """Write the kernel of a map as its region stands.

    Where examples define sizes and it cannot be written in one form, it is in the other.
    """
    wanted = replace(wanted, body=lists.each_in_one_way(wanted.body))
    body, in_dims = wanted.body, wanted.in_dims
    if not defined_sizes(body).isdisjoint(symbols_in(tuple([v.type for v in body.outputs]))):
        raise CannotCompile("examples give arrays of sizes of their own")
    try:
        # What is best depends on sizes: where they are not known it is decided by usual ones.
        usual = at_usual_sizes(body)
    except (ValueError, IndexError) as error:  # they are not sizes that it is meant for
        raise CannotCompile("it has to know the sizes") from error
    wanted = replace(wanted, columns=() if unknown_sizes(body) else _columns(wanted))
    in_lanes = runs_in_lanes(body, in_dims, wanted.columns)
    try:
        return _in_form(wanted, usual, in_lanes)
    except TooLong:
        raise
    except CannotCompile:
        if wanted.shared or not defines_sizes(body, in_dims):
            raise
        with suppress(CannotCompile):
            return _in_form(wanted, usual, not in_lanes)
        raise


def _columns(wanted: _Wanted) -> tuple[bool, ...]:
    """Return which operands and results can be columns: such of a single number are rows too."""
    body = wanted.body
    arrays = [*zip(body.inputs, wanted.in_dims, strict=True), *[(v, 0) for v in body.outputs]]
    columns = wanted.columns or (False,) * len(arrays)
    return tuple(
        [
            is_wanted and axis is not None and count(value) > 1
            for is_wanted, (value, axis) in zip(columns, arrays, strict=True)
        ]
    )


def _in_form(wanted: _Wanted, usual: Graph, in_lanes: bool) -> Kernel:
    """Write the kernel of a map with examples in its lanes, or elements.

    `usual` is the region with sizes in place of unknown ones.
    """
    body, in_dims = wanted.body, wanted.in_dims
    is_told = bool(unknown_sizes(body))
    columns = tuple(wanted.columns)
    if is_told or not in_lanes:
        columns = (False,) * (len(body.inputs) + len(body.outputs))
    group, parts = shape_of_lanes(usual, in_dims, in_lanes, columns)
    module = Module()
    e = Emitter(module, group, parts, FAST if wanted.fastmath else "")
    k = with_parts(Builder(e))
    k.has_batch = any([axis is not None for axis in in_dims])
    k.loops.unrolling.share = share_of(count_operations(body), in_lanes)
    work = each_ns(usual, in_dims, e.lanes, in_lanes)
    examples = _Examples(k, replace(wanted, columns=columns), in_lanes, is_told)
    begin, end = examples.begin, examples.end
    plan = refill.plan(body, in_dims, e.lanes) if in_lanes and not is_told else None
    if plan is not None and wanted.shared:
        raise CannotCompile("lanes that are filled again read operands that others have written to")
    k.refills = plan is not None
    if plan is not None:
        k.failures.first = begin
        given, store = examples.operand, examples.store
        k.failures.note = refill.write(k, plan, given, store, in_dims, begin, end)
    elif in_lanes:
        with k.loops.lane_loop(begin, end) as example:
            k.failures.first = example.base
            examples.run(example)
            k.loops.poll(TURNS // 16)
    else:
        # LLVM does little with a loop that calls somebody: short examples wait longest for that.
        is_short = work < SHORT_NS
        for example in k.loops.range(begin, end, polls=is_short):
            k.failures.first = example
            examples.run(example)
            if not is_short:
                k.loops.poll(TURNS // 16)
    lists.release(k)
    e.do("ret i64 0")
    lost = _close(k)
    arguments = ["ptr noalias %context", "i64 %begin", "i64 %end", "ptr noalias %scratch"]
    module.functions["kernel"] = e.finish("kernel", "i64", arguments, "nounwind")
    scratch = k.storage.memory.size
    sizes = tuple([scratch + dim if is_place else dim for dim, is_place in e.sizes])
    return Kernel(
        module.text(),
        e.lanes,
        in_lanes,
        scratch,
        # Between operands and results stands what it is told of sizes.
        (*columns, False) if is_told else columns,
        k.refills,
        work,
        lost=lost,
        unknown=k.storage.memory.unknown,
        sizes=sizes if is_told else None,
        may_fail=k.failures.may_fail,
        body=body,
    )


class _Examples:
    """The examples of a kernel: where their operands and results lie, and what is done for them."""

    def __init__(self, k: Builder, wanted: _Wanted, in_lanes: bool, is_told: bool) -> None:
        e, body, in_dims = k.e, wanted.body, wanted.in_dims
        self.k, self.body, self.in_dims, self.in_lanes = k, body, in_dims, in_lanes
        self.begin, self.end = e.uniform("i64", "%begin"), e.uniform("i64", "%end")
        self._types = [value.type for value in (*body.inputs, *body.outputs)]
        pointers = [
            _argument(e, "ptr", HEAD + 8 * place) for place in range(len(self._types) + is_told)
        ]
        if is_told:
            e.table = pointers.pop(len(body.inputs))
        self._pointers = pointers
        self._strides: dict[int, list[Index]] = {}
        offset = HEAD + 8 * len(self._types)
        for number, is_column in enumerate(wanted.columns):
            if is_column:
                rank = self._types[number].ndim
                self._strides[number] = [
                    e.uniform("i64", _argument(e, "i64", offset + 8 * axis)) for axis in range(rank)
                ]
                offset += 8 * rank
        self._numbers: dict[int, Array] = {}
        for number, axis in enumerate(in_dims):
            if axis is None and product(body.inputs[number].type.shape) == 1:
                # It is loaded here, outside of all loops.
                self._numbers[number] = _in_registers(k, self._given(number, None))
        self._overwriting = Overwriting(k, body, wanted.shared)

    def operand(self, number: int, example: Index | None) -> Array:
        """Return an operand, or behind them a result: of some examples, or for None whole."""
        known = self._numbers.get(number) if example is None else None
        return self._given(number, example) if known is None else known

    def _given(self, number: int, example: Index | None) -> Given:
        type_ = self._types[number]
        lead = () if example is None else (example,)
        shape = type_.shape if example is None else (1, *type_.shape)
        size = type_.dtype.itemsize
        apart = self._strides.get(number)
        strides = [s * size for s in row_major(shape)] if apart is None else [size, *apart]
        pointer = self._pointers[number]
        return Given(self.k.loops, type_.dtype, type_.shape, pointer, lead, tuple(strides))

    def run(self, example: Index) -> None:
        """Write what is done for an example, or for a block of them in lanes."""
        k = self.k
        lent, k.storage.lent = self._overwriting, {}
        arguments = [
            self.operand(number, None) if axis is None else self._example(number, example)
            for number, axis in enumerate(self.in_dims)
        ]
        for number in lent.operands:
            axis = self.in_dims[number]
            given = self._given(number, None if axis is None else example)
            arguments[number] = lent.operand(number, arguments[number], given)
        for x in arguments:
            for buffer in x.buffers:
                buffer.mask = k.mask
        results = range(len(self.body.outputs))
        places = [self._given(len(self.in_dims) + number, example) for number in results]
        if not lent.operands:
            read = {value for op in self.body.operations for value in op.operands}
            k.storage.targets = {
                value: places[number]
                for number, value in enumerate(self.body.outputs)
                if value not in read and self.body.outputs.count(value) == 1
            }
        found = control.run(k, self.body, arguments)
        for number, value in lent.in_order(found, places):
            self.store(number, value, example)

    def store(self, number: int, value: Array, example: Index) -> None:
        """Write a result of an example, or of a block of them in lanes, to where it belongs."""
        k = self.k
        target = self._given(len(self.in_dims) + number, example)
        in_order = isinstance(example, Affine) and not is_unknown(value.shape)
        if in_order and not is_few(value.shape, 1):
            unpack(k, value, target, example, self.end)
        elif isinstance(value, Elements):
            for place, item in zip(np.ndindex(*target.shape), value.items, strict=True):
                target.store(place, item, k.mask)
        elif is_empty(value.shape):
            return
        elif number in self._overwriting.results or not self._is_long(target):
            k.loops.each(target.shape, lambda *i: target.store(i, value.at(*i), k.mask))
        else:
            aligned = self._aligned(target)
            k.loops.each(target.shape, lambda *i: target.stream(i, value.at(*i), aligned))

    def _is_long(self, target: Given) -> bool:
        """Whether a result is so large that writing it should not push all else out of caches."""
        size = target.dtype.itemsize
        rows = row_major(target.shape)
        return (
            not self.in_lanes
            and not is_unknown(target.shape)
            and target.size * size >= LONG
            and target.dtype.kind in "iuf"
            and target.shape[-1] % self.k.e.lanes == 0
            and all(stride * size % 64 == 0 for stride in (target.size, *rows[:-1]))
        )

    def _aligned(self, target: Given) -> Vec:
        """Return whether a result begins at a boundary of vectors."""
        e = self.k.e
        address = e.uniform("i64", e.write(f"ptrtoint ptr {target.pointer} to i64"))
        return (address & 63).eq(0)

    def _example(self, number: int, example: Index) -> Array:
        """Return what an example has of a mapped operand, in lanes if they are examples."""
        x = self._given(number, example)
        if not self.in_lanes or is_empty(x.shape) or is_unknown(x.shape):
            return x
        if x.size == 1:
            return _in_registers(self.k, x)
        if only_indexed(self.body, number) or only_called(self.body, number):
            return x
        assert isinstance(example, Affine)
        value = self.body.inputs[number]
        uses = sum([op.operands.count(value) for op in self.body.operations])
        return packed(self.k, x, example, self.end, uses + self.body.outputs.count(value))


def with_parts(k: Builder) -> Builder:
    """Give a builder the parts that are made of what it is itself."""
    k.functions, k.views, k.updates = Functions(k), Views(k), Updates(k)
    k.reductions, k.products = Reductions(k), Products(k)
    k.linalg, k.orthogonal, k.sorting = LinearAlgebra(k), Orthogonal(k), Sorting(k)
    k.calls, k.list_arena = Calls(k), partial(Arena, k)
    return k


def _close(k: Builder) -> int | None:
    """Write where the function is left early; return where it notes which examples it had."""
    e = k.e
    e.begin(k.failures.failed)
    place = None
    if k.failures.note is not None and k.failures.may_fail:
        memory = k.storage.local(np.dtype(np.int64), (2,), True)
        places = [offset for offset, _ in memory.buffer.places]
        place = next((offset for offset in places if isinstance(offset, int)), None)
        for row, numbers in enumerate(k.failures.note()):
            memory.store(row, numbers, None)
    code = k.failures.failure.get() * 4 + FAILED
    lists.release(k)
    e.do(f"ret i64 {code.parts[0]}")
    e.begin(k.loops.stopped)
    lists.release(k)
    e.do(f"ret i64 {STOPPED}")
    return place


def _in_registers(k: Builder, x: Given) -> Array:
    """Return an array of one number, loaded where the code at hand is."""
    return k.elements(x.dtype, x.shape, [x.at(*(0,) * x.ndim)])


def _argument(e: Emitter, type_: str, offset: int) -> str:
    at = e.at_entry(f"getelementptr i8, ptr %context, i64 {offset}")
    return e.at_entry(f"load {type_}, ptr {at}, !invariant.load !0")
