"""What operations are lowered with: their `lanes` rules write code through a `Lowering`.

A rule gets the lowering and its operands as arrays of the kernel (see arrays.py), and returns its
results. It computes with Python: numbers are Vecs, ``for i in k.range(n)`` writes a loop, and
``k.lazy(...)`` gives an array of which the elements are computed where they are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index
from lanewise.codegen.arrays import Array, Buffer, Elements, Given, Heap, Lazy, Shape, Stored
from lanewise.codegen.elementwise.ufuncs import Function, lookup
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import FAR, NOWHERE, UNROLLED, Ends, Loops
from lanewise.codegen.memory import Memory
from lanewise.codegen.numbers import Complex, Number, choose, convert, kinds_of, vecs
from lanewise.codegen.sizes import Counted, is_empty, is_long, is_unknown, room
from lanewise.codegen.vector import Vec, is_within, known_span, select
from lanewise.ir.dims import Dim, DimLike, most_of, never_below, product, symbols
from lanewise.ops.elementwise import loop_dtypes

#: Through so many operations an element is computed where it is read; what lies behind is kept.
#: Each of them is a few calls of Python's deep while the kernel is written.
DEEPEST = 64
#: An element that takes at most so many operations is computed again where it is repeated.
AGAIN = 16
#: One that takes at most so many is not worth memory of its own, nor lanes for itself.
CHEAP = 3


@dataclass(frozen=True, slots=True)
class Loop:
    """A ufunc's loop as a function of numbers, which it converts to its dtypes."""

    function: Function
    dtypes: Sequence[np.dtype]
    fail: Callable[[Vec], None]

    @property
    def fails(self) -> bool:
        """Whether it may end the run."""
        return self.function.fails

    def __call__(self, *operands: Number) -> Any:
        given = [convert(x, dtype) for x, dtype in zip(operands, self.dtypes, strict=True)]
        return self.function(*given, **({"fail": self.fail} if self.fails else {}))


class Lowering(Loops):
    """Writes one kernel."""

    #: Its parts for whole algorithms, each a class that is described in its file.
    functions: Any
    views: Any
    updates: Any
    reductions: Any
    products: Any
    linalg: Any
    orthogonal: Any
    sorting: Any
    calls: Any
    list_arena: Any

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        #: The kernel's local memory.
        self.memory = Memory()
        #: Whether it computes many examples, of which NumPy would do all at once.
        self.has_batch = True
        #: Whether its main work is one loop, whose lanes take the next examples as they are done.
        self.refills = False
        #: Where results belong that nobody else reads: of values, and of the operation at hand.
        self.targets: dict[Any, Given] = {}
        self.places: list[Given | None] = []
        #: Variables of the frame that hold memory of lists, to be given back.
        self.arenas: list[str] = []
        #: The first of the examples at hand.
        self.first = e.constant("i64", 0)
        #: Where the function is left if an example fails, and the first of those at hand then.
        self.failed, self.failure = e.label("failed"), e.slot("i64", False)
        #: What to note in local memory where an example fails: a number for each lane, then one.
        self.note: Callable[[], tuple[Vec, Vec]] | None = None
        self.may_fail = False
        self._made: list[Buffer] = []
        self._depth = 0

    @property
    def is_outermost(self) -> bool:
        """Whether the operation at hand is in no region of another one."""
        return self._depth <= 1

    @property
    def is_batched(self) -> bool:
        """Whether NumPy would do the operation at hand for all examples in one call."""
        return self.is_outermost and not self.refills

    # --- numbers ------------------------------------------------------------------------------

    convert = staticmethod(convert)
    truth = staticmethod(numbers.truth)
    choose = staticmethod(choose)
    parts = staticmethod(vecs)
    joined = staticmethod(Complex)

    def constant(self, dtype: Any, value: Any) -> Number:
        return numbers.constant(self.e, np.dtype(dtype), value)

    def ufunc(self, fn: np.ufunc, *operands: Number) -> Any:
        """Return a ufunc of numbers, with NumPy's promotion; a tuple if it has several results."""
        loop = loop_dtypes(fn, tuple([numbers.dtype_of(x) for x in operands]), None)
        return self.loop(fn, loop)(*operands)

    def has_loop(self, fn: np.ufunc, loop: tuple[np.dtype, ...]) -> bool:
        """Return whether a ufunc's loop has a native form."""
        return lookup(fn, loop) is not None

    def loop(self, fn: np.ufunc, loop: tuple[np.dtype, ...]) -> Loop:
        """Return the function of numbers that a ufunc's loop is."""
        found = lookup(fn, loop)
        if found is None:
            names = ", ".join(map(str, loop[: fn.nin]))
            raise CannotCompile(f"{fn.__name__} of {names} has no native form")
        return Loop(found, loop[: fn.nin], self.fail)

    def fail(self, condition: Vec) -> None:
        """End the run if a condition holds in an active lane: an example fails."""
        e, condition = self.e, self.both(condition)
        on = e.label("fine")
        self.may_fail = True
        self.failure.set(self.first)
        e.branch(e.any(condition), self.failed, on)
        e.begin(on)

    def require(self, ok: Array) -> None:
        """End the run if an element does not hold."""
        if is_empty(ok.shape):
            return
        (found,) = self.fold(
            ok.shape,
            [self.e.constant("b", True)],
            lambda i, known: [known & self.truth(ok.at(*i))],
            lambda a, b: [a[0] & b[0]],
        )
        self.fail(~self.truth(found))

    def place(self, index: Number, size: DimLike) -> Index:
        """Return an index as NumPy takes it: negative from the end, checked to be in range."""
        (number,) = vecs(index)
        is_known = number.value is not None and isinstance(size, int)
        if is_known and int(number.value) in range(-size, size):
            return int(number.value) % size
        found = number.to("i64")
        span = known_span(found)
        if is_within(span, 0, size):
            return found
        if is_within(span, -size, 0):
            return found + self.index(size)
        end = self.index(size)
        if number.kind == "u64":
            self.fail(found < 0)
        elif number.kind[0] == "i" and (is_known or span is None or not never_below(span[0], 0)):
            found = select(found < 0, found + end, found)  # of one that is outside, none known
        self.fail(found.as_kind("u64") >= end.as_kind("u64"))
        return found

    def define_size(self, size: Dim, number: Number, least: int, most: DimLike | None) -> None:
        """Take a number, less `least`, for what a symbol of shapes is from here on."""
        (count,) = vecs(number)
        (name,) = symbols(size)
        count = count.to("i64")
        span, named = known_span(count), most_of(name)
        most = most if named is None else named
        if count.varying and isinstance(most, Dim):
            raise CannotCompile("the lanes have arrays of different sizes, without a known bound")
        count = count - least if least else count
        if most is None or not is_within(span, least, most + least + 1):
            # Memory is for no more: whoever made the graph may be wrong, the kernel may not.
            end = FAR if most is None else self.index(most)
            self.fail(~((count >= 0) & (count <= end)))
        self.e.counted[name] = Counted(count, most)

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
        found = Lazy(dtype, tuple(shape), at, tuple(of), ready, fails, work)
        return found if found.depth <= DEEPEST else self._computed(found)

    def scalar(self, number: Number) -> Elements:
        """Return an array of no dimensions."""
        return Elements(numbers.dtype_of(number), (), [number])

    def elements(self, dtype: np.dtype, shape: Sequence[int], items: list[Number]) -> Elements:
        """Return an array of numbers, in row-major order."""
        return Elements(dtype, tuple(shape), items, self._spilled)

    def view(self, x: Array, shape: Sequence[int], source: Callable[..., Sequence[Index]]) -> Array:
        """Return an array whose element at an index is that of `x` at ``source(*index)``."""
        if x.may_fail and (is_unknown((*x.shape, *shape)) or math.prod(shape) < x.size):
            x = self.ready(x)  # what is not read would not be checked
        if isinstance(x, Elements) and self.is_small(shape):
            items = [x.at(*source(*i)) for i in np.ndindex(*shape)]
            return self.elements(x.dtype, shape, items)
        return self.lazy(x.dtype, shape, lambda *i: x.at(*source(*i)), (x,), ready=True)

    def settled(self, x: Array, uses: int) -> Array:
        """Return an array in the form in which it is kept for `uses` later uses."""
        if not isinstance(x, Lazy) or not uses:
            return x
        if self.is_small(x.shape):
            if not self.is_written_out(x.shape, x.work) and self._is_wide(x):
                return self.materialized(x)
            is_last_reader = bool(x.buffers) and not any(buffer.readers for buffer in x.buffers)
            if uses == 1 and x.size > UNROLLED and is_last_reader:
                return x  # what is in memory need not go through registers to a loop
        elif uses == 1 or x.is_ready:
            return x
        return self._computed(x)

    def _is_wide(self, x: Array) -> bool:
        """Whether elements differ between lanes. What does not is in registers, as is analysed."""
        return any([part.varying for part in vecs(x.at(*(0,) * x.ndim))]) or not self.in_lanes

    def ready(self, x: Array) -> Array:
        """Return an array whose elements may be read again and again."""
        return x if x.is_ready else self._computed(x)

    def _computed(self, x: Array) -> Array:
        if self.is_small(x.shape):
            return self.elements(x.dtype, x.shape, self.items(x))
        return self.materialized(x)

    def found_once(self, x: Array, shape: Shape) -> Array:
        """Return an array so that its elements are found once, if a result repeats costly ones."""
        if not isinstance(x, Lazy) or x.is_ready or x.work <= AGAIN or len(x.shape) > len(shape):
            return x
        own = (1,) * (len(shape) - len(x.shape)) + x.shape
        pairs = list(zip(own, shape, strict=True))
        is_repeated = any([a == 1 != b for a, b in pairs])
        return self.ready(x) if is_repeated and all([a in (1, b) for a, b in pairs]) else x

    def read_once(self, x: Array, shape: Shape, written: Sequence[Array]) -> Array:
        """Return an array whose elements are each read once, while others are written to."""
        is_cheap = isinstance(x, Lazy) and x.work <= CHEAP and not self.is_small(x.shape)
        is_apart = not any([x.buffers & other.buffers for other in written])
        return x if is_cheap and is_apart and tuple(x.shape) == tuple(shape) else self.ready(x)

    def items(self, x: Array) -> list[Number]:
        """Return all elements of a small array, in row-major order."""
        return x.items if isinstance(x, Elements) else [x.at(*i) for i in np.ndindex(*x.shape)]

    def addressable(self, x: Array) -> Array:
        """Return an array that may be read at places that are data."""
        if isinstance(x, Elements):
            return self._spilled(x) if is_long(x.size, 2) else x
        if isinstance(x, Lazy) and not x.is_ready:
            return self.materialized(x)
        return x

    def _spilled(self, x: Elements) -> Stored:
        if x.stored is not None and x.scope in self._scopes:
            return x.stored
        x.stored, x.scope = self.materialized(x, self.in_lanes and x.varies), self._scopes[-1]
        x.stored.buffer.places = ()  # it is kept for whoever reads x later
        return x.stored

    def materialized(
        self, x: Array, wide: bool | None = None, beside: bool = False, within: Ends = NOWHERE
    ) -> Stored:
        """Return an array computed into memory of its own; see `local` and `each`."""
        result = self.local(x.dtype, x.shape, wide, beside)
        if isinstance(x, Elements):
            for place, item in enumerate(x.items):
                result.store(place, item, None)
            return result
        work = x.work if isinstance(x, Lazy) else 1
        self.prepare_loops(x, x.shape, work)
        self.each(
            x.shape,
            lambda *i: result.put(i, x.at(*i), self.tail(result)),
            within=within,
            work=work,
        )
        return result

    def several(
        self,
        types: Sequence[Any],
        shape: Sequence[int],
        at: Callable[..., Sequence[Number]],
        work: int = 0,
    ) -> list[Array]:
        """Return the arrays whose elements at an index are ``at(*index)``.

        Of small ones these are written out; if `work` says how many operations that is, about, only
        if they are not too many.
        """
        if self.is_written_out(shape, work):
            rows = [at(*i) for i in np.ndindex(*shape)]
            return [
                self.elements(t.dtype, shape, [row[n] for row in rows]) for n, t in enumerate(types)
            ]
        results = [self.local(t.dtype, shape) for t in types]

        def body(*i: Index) -> None:
            for result, item in zip(results, at(*i), strict=True):
                result.put(i, item, self.tail(result))

        self.each(shape, body, work=max(work, 1))
        return list(results)

    def prepare_loops(self, x: Array, shape: Sequence[DimLike], work: int) -> None:
        """Store what loops over a shape read of an array at their indices, unless these are written
        out: else each turn would do so. `work` is about how many operations a turn takes.
        """
        is_short = not any([is_long(size, UNROLLED + 1) for size in shape])
        is_out = is_short and all(self.written_out(shape, work))
        if is_out and not self.is_folded_in_lanes(shape, work):
            return
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

    def local(
        self,
        dtype: np.dtype,
        shape: Sequence[DimLike],
        wide: bool | None = None,
        beside: bool = False,
    ) -> Stored:
        """Return an array in local memory whose elements are not yet known.

        It has a place for each lane if it is `wide`, by default where lanes run. The parts of
        complex numbers lie `beside` each other, as NumPy has them, or apart, as lanes want them.
        """
        wide = self.in_lanes if wide is None else wide
        kinds = kinds_of(dtype)
        try:
            size = product(room(shape, self.e.counted))
        except CannotCompile:
            if beside or self._is_ahead or is_unknown(shape[1:]):
                raise
            heap = Heap(self, dtype, wide)
            heap.reserve(self.index(shape[0]), shape[1:])
            return Stored(self, dtype, tuple(shape), heap.buffer())
        count = len(kinds) if beside else 1
        bytes_of_part = size * (dtype.itemsize * count // len(kinds))
        bytes_of_part *= self.e.lanes if wide else 1
        rows = [self._allocate(bytes_of_part) for _ in kinds[count - 1 :]]
        pointers = tuple([pointer for pointer, _ in rows])
        buffer = Buffer(pointers, kinds, wide, self.mask, depth=self._depth, beside=count)
        if not self._is_ahead:
            buffer.places = tuple([place for _, place in rows if place is not None])
            self._made.append(buffer)
        return Stored(self, dtype, tuple(shape), buffer)

    def _allocate(self, size: DimLike) -> tuple[str, tuple[DimLike, DimLike] | None]:
        """Return a pointer to local memory, and which it is for who hands it on."""
        # What is written ahead of all examples is there while others come and go.
        offset = self.memory.take(size, fresh=self._is_ahead)
        where = str(offset)
        if isinstance(size, Dim):
            (where,) = self.e.size(offset, is_place=True).parts
        return self.e.at_entry(f"getelementptr i8, ptr %scratch, i64 {where}"), (offset, size)

    @contextmanager
    def region(self) -> Generator[None]:
        """Write the operations of a region."""
        equal = self.e.equal
        self._depth += 1
        yield
        self._depth -= 1
        self.e.equal = equal

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


class Variables:
    """What is set to and read as a small array like another one: a variable for each element.

    If it is `wide` each lane has its own.
    """

    __slots__ = ("_each", "dtype", "k", "shape")

    def __init__(self, k: Lowering, like: Array, wide: bool) -> None:
        self.k, self.dtype, self.shape = k, like.dtype, like.shape
        self._each = [k.variable(like.dtype, wide) for _ in range(like.size)]

    def get(self) -> Elements:
        items = [variable.get() for variable in self._each]
        return self.k.elements(self.dtype, self.shape, items)

    def set(self, items: Iterable[Number], mask: Vec | None = None) -> None:
        """Set all elements, in the lanes in which a mask holds."""
        for variable, item in zip(self._each, items, strict=True):
            variable.set(item if mask is None else choose(mask, item, variable.get()))

    def clear(self) -> None:
        """Set all elements to zero."""
        self.set([self.k.constant(self.dtype, 0)] * len(self._each))
