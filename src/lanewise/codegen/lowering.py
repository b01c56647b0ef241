"""What operations are lowered with: their `lanes` rules write code through a `Lowering`.

A rule gets the lowering and its operands as arrays of the kernel (see arrays.py), and returns its
results. It computes with Python: numbers are Vecs, ``for i in k.range(n)`` writes a loop, and
``k.lazy(...)`` gives an array of which the elements are computed where they are read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Affine, Index, as_index, linear
from lanewise.codegen.arrays import Array, Buffer, Elements, Given, Lazy, Shape, Stored, row_major
from lanewise.codegen.elementwise.ufuncs import lookup
from lanewise.codegen.emitter import Emitter, Slot
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.memory import Memory
from lanewise.codegen.numbers import Number, choose, convert, kinds_of, of_vecs, vecs
from lanewise.codegen.sizes import Counted, is_few, is_long, room
from lanewise.codegen.uniformity import IN_REGISTERS
from lanewise.codegen.vector import Vec, known_span
from lanewise.ir.dims import Dim, DimLike, most_of, product, symbols
from lanewise.ops.elementwise import loop_dtypes
from lanewise.ops.facts import usual
from lanewise.ops.ufuncs import instructions

#: A small array that takes more operations than this in all is computed by loops, into memory.
WRITTEN = 512
#: Through so many operations an element is computed where it is read; what lies behind is kept.
#: Each of them is a few calls of Python's deep while the kernel is written.
DEEPEST = 64
#: An element that takes at most so many operations is computed again where it is repeated.
AGAIN = 16
#: Loops of at most so many turns are written out, turn by turn.
UNROLLED = 8
#: A loop asks whether the run should stop once in so many turns; of which some run in one go.
TURNS, STRIP = 1 << 14, 1 << 10


class Lowering:
    """Writes one kernel.

    Attributes
    ----------
    e
        Where instructions go.
    mask
        The lanes that are active; None for all.
    in_lanes
        Whether the code at hand runs in lanes: inside of the loop whose turns are the lanes.
    memory
        The kernel's local memory.
    """

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self.mask: Vec | None = None
        self.in_lanes = False
        self.memory = Memory()
        #: Variables of the frame that hold memory of lists, to be given back.
        self.arenas: list[str] = []
        self._made: list[Buffer] = []
        self._depth = 0
        self._is_ahead = False
        self._scopes: list[int] = [0]
        self._next_scope = itertools.count(1)

    @property
    def scratch(self) -> int:
        """How many bytes of local memory the kernel takes."""
        return self.memory.size

    @property
    def is_outermost(self) -> bool:
        """Whether the operation at hand is in no region of another one."""
        return self._depth <= 1

    def is_shared(self, x: Array) -> bool:
        """Return whether an array is an operand of the kernel that all examples read alike."""
        if isinstance(x, Lazy):
            return x.is_ready and all([self.is_shared(part) for part in x.of])
        return isinstance(x, Given) and not x.lead

    def is_told(self, sizes: Iterable[DimLike]) -> bool:
        """Whether a size is known only when the kernel is called."""
        return any([name not in self.e.counted for size in sizes for name in symbols(size)])

    # --- numbers ------------------------------------------------------------------------------

    usual = staticmethod(usual)

    def constant(self, dtype: Any, value: Any) -> Number:
        return numbers.constant(self.e, np.dtype(dtype), value)

    def index(self, index: Index | Dim) -> Vec:
        return as_index(self.e, index)

    def ufunc(self, fn: np.ufunc, *operands: Number, dtype: np.dtype | None = None) -> Any:
        """Return a ufunc of numbers, with NumPy's promotion; a tuple if it has several results."""
        loop = loop_dtypes(fn, tuple([numbers.dtype_of(x) for x in operands]), dtype)
        return self.loop(fn, loop)(*operands)

    def loop(self, fn: np.ufunc, loop: tuple[np.dtype, ...]) -> Callable[..., Any]:
        """Return the function of numbers that a ufunc's loop is; it converts its operands."""
        found = lookup(fn, loop)
        if found is None:
            names = ", ".join(map(str, loop[: fn.nin]))
            raise CannotCompile(f"{fn.__name__} of {names} has no native form")
        given = loop[: fn.nin]
        extra = {"fail": self._fail_with} if getattr(found, "fails", False) else {}

        def call(*operands: Number) -> Any:
            return found(*[convert(x, d) for x, d in zip(operands, given, strict=True)], **extra)

        return call

    def loop_cost(self, fn: np.ufunc, loop: tuple[np.dtype, ...]) -> int:
        """Return about how many operations a ufunc's loop takes for an element."""
        return instructions(fn, loop)

    def loop_fails(self, fn: np.ufunc, loop: tuple[np.dtype, ...]) -> bool:
        """Return whether a ufunc's loop may end the run."""
        return getattr(lookup(fn, loop), "fails", False)

    def variable(self, dtype: np.dtype, varying: bool | None = None) -> Variable:
        """Return a variable; one for each lane if it is `varying`, by default where lanes run."""
        wide = self.in_lanes if varying is None else varying
        return Variable([self.e.slot(kind, wide) for kind in kinds_of(dtype)])

    def fail(self, condition: Vec) -> None:
        """End the run if a condition holds in an active lane: an example fails."""
        raise NotImplementedError

    def define_size(self, size: Dim, number: Number, least: int, most: DimLike | None) -> None:
        """Take a number, less `least`, for what a symbol of shapes is from here on."""
        (count,) = numbers.vecs(number)
        if count.varying:
            raise CannotCompile("the lanes have arrays of different sizes")
        (name,) = symbols(size)
        count = count.to("i64")
        span, named = known_span(count), most_of(name)
        most = most if named is None else named
        count = count - least if least else count
        if span is None or span[0] < least or not isinstance(most, int) or span[1] > least + most:
            # Memory is for no more: whoever made the graph may be wrong, the kernel may not.
            is_in_range = count >= 0
            self.fail(~(is_in_range if most is None else is_in_range & (count <= self.index(most))))
        self.e.counted[name] = Counted(count, most)

    def poll(self, turns: Index = 1) -> None:
        """Write what a loop asks after some of its turns: whether the run should stop.

        After many short ones it does, or after fewer long ones that count as several.
        """
        raise NotImplementedError

    def _fail_with(self, condition: Vec, error: str, message: str) -> None:
        del error, message  # the interpreter raises them, on the example that failed
        self.fail(condition)

    def leave(self, reason: str) -> NoReturn:
        """Leave the operation at hand to NumPy."""
        raise CannotCompile(reason)

    # --- arrays -------------------------------------------------------------------------------

    def lazy(
        self,
        dtype: np.dtype,
        shape: Sequence[Any],
        at: Callable[..., Number],
        of: Iterable[Array] = (),
        ready: bool = False,
        fails: bool = False,
        work: int = 1,
    ) -> Array:
        """Return an array whose element at an index is ``at(*index)``, computed where it is read.

        `of` are the arrays that `at` reads. `ready` says that it only moves elements of theirs,
        `fails` that it may end the run, as `fail` does, and `work` about how many operations an
        element takes, beside those of `of`.
        """
        of = tuple(of)
        work += sum([x.work for x in of if isinstance(x, Lazy) and not x.is_ready])
        found = Lazy(dtype, tuple(shape), at, of=of, ready=ready, fails=fails, work=work)
        if found.depth <= DEEPEST:
            return found
        small = self.is_small(found.shape)
        return self.elements(dtype, shape, self.items(found)) if small else self.materialized(found)

    def scalar(self, number: Number) -> Elements:
        """Return an array of no dimensions."""
        return Elements(numbers.dtype_of(number), (), [number])

    def elements(self, dtype: np.dtype, shape: Sequence[int], items: list[Number]) -> Elements:
        """Return an array of numbers, in row-major order."""
        return Elements(dtype, tuple(shape), items, self._spilled)

    def is_small(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape is kept in registers."""
        return is_few(shape, IN_REGISTERS)

    def settled(self, x: Array, uses: int) -> Array:
        """Return an array in the form in which it is kept for `uses` later uses."""
        if not isinstance(x, Lazy) or not uses:
            return x
        if self.is_small(x.shape):
            if x.size > 1 and x.size * x.work > WRITTEN and self._is_wide(x):
                return self.materialized(x)
            if uses == 1 and x.size > UNROLLED and self._is_last_reader(x):
                return x  # what is in memory need not go through registers to a loop
            return self.elements(x.dtype, x.shape, [x.at(*i) for i in np.ndindex(*x.shape)])
        if uses == 1 or x.is_ready:
            return x
        return self.materialized(x)

    def _is_wide(self, x: Array) -> bool:
        """Whether elements differ between lanes. What does not is in registers, as is analysed."""
        return any([part.varying for part in vecs(x.at(*(0,) * x.ndim))]) or not self.in_lanes

    @staticmethod
    def _is_last_reader(x: Array) -> bool:
        """Whether an array that no value is yet is read from memory that no value reads."""
        return bool(x.buffers) and not any(buffer.readers for buffer in x.buffers)

    def ready(self, x: Array) -> Array:
        """Return an array whose elements may be read again and again."""
        if x.is_ready:
            return x
        return (
            self.elements(x.dtype, x.shape, self.items(x))
            if self.is_small(x.shape)
            else (self.materialized(x))
        )

    def found_once(self, x: Array, shape: Shape) -> Array:
        """Return an array so that its elements are found once, if a result repeats costly ones."""
        if not isinstance(x, Lazy) or x.is_ready or x.work <= AGAIN or len(x.shape) > len(shape):
            return x
        own = (1,) * (len(shape) - len(x.shape)) + x.shape
        pairs = list(zip(own, shape, strict=True))
        is_repeated = any([a == 1 != b for a, b in pairs])
        return self.ready(x) if is_repeated and all([a in (1, b) for a, b in pairs]) else x

    def items(self, x: Array) -> list[Number]:
        """Return all elements of a small array, in row-major order."""
        return x.items if isinstance(x, Elements) else [x.at(*i) for i in np.ndindex(*x.shape)]

    def addressable(self, x: Array) -> Array:
        """Return an array that may be read at places that are data."""
        if isinstance(x, Elements):
            return self._spilled(x) if x.size > 1 else x
        if isinstance(x, Lazy) and not x.is_ready:
            return self.materialized(x)
        return x

    def _spilled(self, x: Elements) -> Stored:
        if x.stored is not None and x.scope in self._scopes:
            return x.stored
        wide = self.in_lanes and any([item.varying for item in x.items])
        x.stored, x.scope = self.materialized(x, wide), self._scopes[-1]
        x.stored.buffer.places = ()  # it is kept for whoever reads x later
        return x.stored

    def materialized(self, x: Array, wide: bool | None = None) -> Stored:
        """Return an array computed into memory of its own; see `local`."""
        result = self.local(x.dtype, x.shape, wide)
        strides = row_major(x.shape)
        if isinstance(x, Elements):
            for place, item in enumerate(x.items):
                result.store(place, item, None)
            return result
        if any([is_long(size, UNROLLED + 1) for size in x.shape]):
            self._spill_for_loops(x)
        self.each(x.shape, lambda *i: result.store(linear(i, strides), x.at(*i), self.tail(result)))
        return result

    def _spill_for_loops(self, x: Array) -> None:
        """Store what a loop over an array reads at the loop's index; else each turn would do so."""
        waiting, seen = [x], set()
        while waiting:
            read = waiting.pop()
            if isinstance(read, Elements):
                self.addressable(read)
            elif isinstance(read, Lazy) and read not in seen:
                seen.add(read)
                waiting += read.of

    def tail(self, x: Stored) -> Vec | None:
        """Return the mask to store with into an array made under the mask at hand."""
        return None if x.buffer.wide or not self.in_lanes else self.mask

    def local(self, dtype: np.dtype, shape: Sequence[int], wide: bool | None = None) -> Stored:
        """Return an array in local memory whose elements are not yet known.

        It has a place for each lane if it is `wide`, by default where lanes run.
        """
        size = product(room(shape, self.e.counted))
        wide = self.in_lanes if wide is None else wide
        kinds = kinds_of(dtype)
        bytes_of_part = size * (dtype.itemsize // len(kinds)) * (self.e.lanes if wide else 1)
        rows = [self._allocate(bytes_of_part) for _ in kinds]
        pointers = tuple([pointer for pointer, _ in rows])
        buffer = Buffer(pointers, kinds, wide, self.mask, depth=self._depth)
        if not self._is_ahead:
            buffer.places = tuple([place for _, place in rows if place is not None])
            self._made.append(buffer)
        return Stored(self.e, dtype, tuple(shape), buffer, lambda: self.mask)

    def _allocate(self, size: DimLike) -> tuple[str, tuple[DimLike, DimLike] | None]:
        """Return a pointer to local memory, and which it is for who hands it on."""
        # What is written ahead of all examples is there while others come and go.
        offset = self.memory.take(size, fresh=self._is_ahead)
        where = str(offset)
        if isinstance(size, Dim):
            (where,) = self.e.size(offset, is_place=True).parts
        name = self.e.name()
        self.e.entry.append(f"  {name} = getelementptr i8, ptr %scratch, i64 {where}")
        return name, (offset, size)

    @contextmanager
    def region(self) -> Generator[None]:
        """Write the operations of a region."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def handing_on(self, operands: Sequence[Array]) -> Generator[list[Array]]:
        """Write an operation, and hand on the memory that nobody reads any more after it.

        The caller appends the results to the list that it gets, after they were counted as readers.
        Of what was made outside of the region at hand others may know more: it stays.
        """
        first, results = len(self._made), []
        yield results
        dead = {buffer for x in (*operands, *results) for buffer in x.buffers}
        if not any(isinstance(x, Lazy) for x in results):  # nothing is computed later
            dead.update(self._made[first:])
        for buffer in dead:
            if not buffer.readers and buffer.depth >= self._depth:
                for place in buffer.places:
                    self.memory.give(*place)
                buffer.places = ()
        self._made = [buffer for buffer in self._made if buffer.places]

    def owned(self, x: Array, *others: Array) -> Stored:
        """Return memory with the elements of `x` that may be written to.

        It is x itself if nobody reads x any more. `others` are what will be written: where they
        read x, they must have been made `ready` before.
        """
        if (
            isinstance(x, Stored)
            and not x.buffer.readers
            and x.buffer.wide == self.in_lanes
            and not any(x.buffer in other.buffers for other in others)
        ):
            return x
        return self.materialized(x)

    def write(self, x: Stored, place: Index, value: Number) -> None:
        """Write an element of `owned` memory, in the active lanes."""
        same = x.buffer.mask is self.mask
        x.store(place, value, None if same else self.mask)

    # --- loops --------------------------------------------------------------------------------

    def range(
        self,
        start: Index,
        stop: Index | None = None,
        step: int = 1,
        *,
        unroll: bool | None = None,
        polls: bool = False,
    ) -> Generator[Any]:
        """Write a loop: ``for i in k.range(n): ...``, the index the same in all lanes.

        With `unroll` the turns are written one by one, and i is an int; by default where there are
        few. What turns hand on stands in variables or memory. With `polls` it may be a long one,
        and asks now and then whether the run should stop: between strips of turns, as LLVM does
        little with a loop that calls somebody in its turns.
        """
        first, last = ends = (0, start) if stop is None else (start, stop)
        known = None
        if isinstance(first, int) and isinstance(last, int):
            known = range(first, last, step)
            if len(known) <= (UNROLLED if unroll is None else len(known) if unroll else 1):
                yield from known
                return
        if not polls:
            yield from self._part_of_turns(first, last, step, ends)
        elif known is not None and len(known) <= STRIP:
            yield from self._part_of_turns(first, last, step, ends)
            self.poll(len(known))
        else:
            for begin in self._part_of_turns(first, last, STRIP * step, ends):
                end, bound = begin + STRIP * step, self.index(last)
                end = end.least(bound) if step > 0 else end.greatest(bound)
                yield from self._part_of_turns(begin, end, step, ends)
                self.poll((end - begin).abs())

    def _part_of_turns(
        self, first: Index, last: Index, step: int, ends: tuple[Index, Index]
    ) -> Generator[Any]:
        """Write the turns of a loop, or of a part of one that has these ends."""
        e = self.e
        counter = e.slot("i64", False)
        counter.set(self.index(first))
        head, body, done = e.label("head"), e.label("body"), e.label("done")
        e.jump(head)
        e.begin(head)
        at = counter.get()
        bound = self.index(last)
        e.branch(at < bound if step > 0 else at > bound, body, done)
        e.begin(body)
        start, stop = ends
        if isinstance(start, int) and isinstance(stop, int):
            at.span = (start, stop - 1) if step > 0 else (stop + 1, start)
        with self.scope():
            yield at
        counter.set(e.uniform("i64", at.parts[0]) + step)
        e.jump(head)
        e.begin(done)

    def each(
        self,
        shape: Sequence[int],
        body: Callable[..., None],
        *,
        unroll: bool | None = None,
        within: Mapping[int, tuple[Index, Index]] = MappingProxyType({}),
    ) -> None:
        """Write loops over all indices of a shape, of which no turn needs another.

        Outside of the lanes the last axis runs in lanes, if it is long enough. `unroll` is as for
        `range`. Along the axes that `within` names, only those from one to before another place.
        """

        def level(index: tuple[Index, ...]) -> None:
            axis = len(index)
            if axis == len(shape):
                body(*index)
                return
            first, last = within.get(axis, (0, shape[axis]))
            if axis == len(shape) - 1 and not self.in_lanes and is_long(shape[axis], self.e.group):
                with self.lane_loop(first, last) as i:
                    body(*index, i)
                return
            for i in self.range(first, last, unroll=unroll):
                level((*index, i))

        level(())

    @contextmanager
    def lane_loop(self, start: Index, stop: Index) -> Generator[Affine]:
        """Write a loop whose turns are the lanes: a block of them at a time."""
        e, lanes = self.e, self.e.lanes
        counter = e.slot("i64", False)
        counter.set(self.index(start))
        head, body, done = e.label("head"), e.label("body"), e.label("done")
        e.jump(head)
        e.begin(head)
        at = counter.get()
        bound = self.index(stop)
        e.branch(at < bound, body, done)
        e.begin(body)
        outer = self.mask, self.in_lanes
        index = Affine(e, at, 1)
        whole = isinstance(start, int) and isinstance(stop, int) and (stop - start) % lanes == 0
        self.in_lanes = True
        self.mask = None if whole else e.lane_index() < bound - at
        with self.scope():
            yield index
        self.mask, self.in_lanes = outer
        counter.set(at + lanes)
        e.jump(head)
        e.begin(done)

    @contextmanager
    def ahead(self, once: bool = True) -> Generator[None]:
        """Write code that runs once, before all examples; where not `once`, at its place."""
        e = self.e
        outer = e.lines, self.mask, self._is_ahead
        if once:
            e.lines, self.mask, self._is_ahead = e.prologue, None, True
        yield
        e.lines, self.mask, self._is_ahead = outer

    @contextmanager
    def scope(self) -> Generator[None]:
        """Mark code that may not run: what is kept in memory there is not there afterwards."""
        self._scopes.append(next(self._next_scope))
        yield
        self._scopes.pop()

    @contextmanager
    def masked(self, mask: Vec | None) -> Generator[None]:
        """Write code under another mask."""
        outer = self.mask
        self.mask = mask
        yield
        self.mask = outer

    @contextmanager
    def exactly(self) -> Generator[None]:
        """Write arithmetic that is rounded as IEEE 754 says, whatever else the user allows."""
        outer, self.e.flags = self.e.flags, ""
        yield
        self.e.flags = outer

    def both(self, condition: Vec) -> Vec:
        """Return the active lanes in which a condition holds."""
        return condition if self.mask is None else condition & self.mask

    def fold(
        self,
        shape: Sequence[int],
        start: Sequence[Number],
        step: Callable[..., Sequence[Number]],
        combine: Callable[..., Sequence[Number]] | None = None,
        within: Mapping[int, tuple[Index, Index]] = MappingProxyType({}),
    ) -> list[Number]:
        """Return numbers after a step for each index of a shape: ``step(index, *numbers)``.

        With `combine`, which joins two sets of numbers, the steps may be grouped at will: `start`
        then is its neutral element. Without it they are taken in order. `within` is as for `each`.
        """
        if combine is not None and not self.in_lanes and shape and is_long(shape[-1], self.e.group):
            return self._fold_in_lanes(shape, start, step, combine, within)
        if self.is_small(shape) and not within:
            found = list(start)
            for index in np.ndindex(*shape):
                found = list(step(index, *found))
            return found
        variables = [self.variable(numbers.dtype_of(x)) for x in start]
        for variable, x in zip(variables, start, strict=True):
            variable.set(x)

        def body(index: tuple[Index, ...]) -> None:
            if len(index) < len(shape):
                for i in self.range(*within.get(len(index), (0, shape[len(index)]))):
                    body((*index, i))
                return
            found = step(index, *[variable.get() for variable in variables])
            for variable, x in zip(variables, found, strict=True):
                variable.set(x)

        body(())
        return [variable.get() for variable in variables]

    def _fold_in_lanes(
        self, shape: Sequence[int], start: Sequence[Number], step: Any, combine: Any, within: Any
    ) -> list[Number]:
        wide = [self.variable(numbers.dtype_of(x), True) for x in start]
        for variable, x in zip(wide, start, strict=True):
            variable.set(x)

        def body(index: tuple[Index, ...]) -> None:
            ends = within.get(len(index), (0, shape[len(index)]))
            if len(index) < len(shape) - 1:
                for i in self.range(*ends):
                    body((*index, i))
                return
            with self.lane_loop(*ends) as i:
                before = [variable.get() for variable in wide]
                after = step((*index, i), *before)
                for variable, old, new in zip(wide, before, after, strict=True):
                    new = new if self.mask is None else choose(self.mask, new, old)
                    variable.set(new)

        body(())
        found = [variable.get() for variable in wide]
        return numbers.across(self.e, found, combine)


class Variable:
    """A number that is set and read."""

    __slots__ = ("slots",)

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots

    def get(self) -> Number:
        return of_vecs([slot.get() for slot in self.slots])

    def set(self, value: Number) -> None:
        for slot, part in zip(self.slots, vecs(value), strict=True):
            slot.set(part)
