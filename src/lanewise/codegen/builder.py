"""The builder of a kernel: `lanes` rules write code through it, where they call it `k`.

A rule gets the builder and its operands as arrays of the kernel (see arrays.py), and returns its
results. It computes with Python: numbers are Vecs, ``for i in k.loops.range(n)`` writes a loop, and
``k.lazy(...)`` gives an array of which the elements are computed where they are read. What all
rules are made of is the builder's own; the rest belongs to its parts, each with a purpose and a
file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, as_index
from lanewise.codegen.arrays import Array, Elements, Lazy, Shape, items_of
from lanewise.codegen.elementwise.ufuncs import Function, lookup
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import FAR, Loops
from lanewise.codegen.numbers import Complex, Number, choose, convert, vecs
from lanewise.codegen.sizes import Counted, is_counted, is_empty, is_long, is_unknown
from lanewise.codegen.storage import Storage
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.unrolling import UNROLLED
from lanewise.codegen.vector import Vec, is_within, known_span, select
from lanewise.ir.dims import Dim, DimLike, most_of, never_below, symbols
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


class Failures:
    """Where a kernel's function is left if an example fails."""

    def __init__(self, loops: Loops) -> None:
        e, self._loops = loops.e, loops
        #: The first of the examples at hand.
        self.first = e.constant("i64", 0)
        #: Where the function is left, and the first of the examples that were at hand then.
        self.failed, self.failure = e.label("failed"), e.slot("i64", False)
        #: What to note in local memory where an example fails: a number for each lane, then one.
        self.note: Callable[[], tuple[Vec, Vec]] | None = None
        self.may_fail = False

    def where(self, condition: Vec) -> None:
        """Leave the function if a condition holds in an active lane.

        Where lanes are active at all: code under a mask is jumped over where none is.
        """
        e = self._loops.e
        condition = self._loops.both(condition) if condition.varying else condition
        on = e.label("fine")
        self.may_fail = True
        self.failure.set(self.first)
        e.branch(e.any(condition), self.failed, on)
        e.begin(on)


class Builder:
    """Writes one kernel.

    Its own parts write `loops`, where `failures` lead, and arrays to `storage`, or decide that they
    need none (`fusion`). The others are made of a builder (`with_parts` in kernel.py).
    """

    functions: Any  # of numbers, that are no ufuncs
    views: Any  # of arrays: what moves elements
    updates: Any
    reductions: Any
    products: Any  # and their sums
    linalg: Any
    orthogonal: Any  # transformations of matrices
    sorting: Any
    calls: Any  # of C loops
    list_arena: Any  # the memory of lists

    def __init__(self, e: Emitter) -> None:
        #: Where instructions go.
        self.e = e
        self.loops = Loops(e)
        self.failures = Failures(self.loops)
        self.storage = Storage(self.loops, self.fail)
        self.fusion = Fusion(self)
        #: Whether it computes many examples, of which NumPy would do all at once.
        self.has_batch = True
        #: Whether its main work is one loop, whose lanes take the next examples as they are done.
        self.refills = False

    @property
    def mask(self) -> Vec | None:
        """The lanes that are active; None for all."""
        return self.loops.mask

    @property
    def in_lanes(self) -> bool:
        """Whether the code at hand runs in lanes: inside of the loop whose turns are the lanes."""
        return self.loops.in_lanes

    @property
    def is_outermost(self) -> bool:
        """Whether the operation at hand is in no region of another one."""
        return self.storage.depth <= 1

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
        """Return a constant of a dtype."""
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

    # --- indices, sizes and checks ----------------------------------------------------------

    def fail(self, condition: Vec) -> None:
        """End the run if a condition holds in an active lane: an example fails."""
        self.failures.where(condition)

    def is_own(self, shape: Sequence[DimLike]) -> bool:
        """Whether it has sizes that examples define: what does is not left to NumPy alone.

        All that has such sizes would be with it, one example after the other.
        """
        return any([is_counted(size, self.e.counted) for size in shape])

    def leave(self, reason: str) -> NoReturn:
        """Leave the operation at hand to NumPy."""
        raise CannotCompile(reason)

    def index(self, index: Index | Dim) -> Vec:
        """Return an index, or a size, as a number."""
        return as_index(self.e, index)

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

    def require(self, ok: Array) -> None:
        """End the run if an element does not hold."""
        if is_empty(ok.shape):
            return
        (found,) = self.loops.fold(
            ok.shape,
            [self.e.constant("b", True)],
            lambda i, known: [known & self.truth(ok.at(*i))],
            lambda a, b: [a[0] & b[0]],
        )
        self.fail(~self.truth(found))

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
        return found if found.depth <= DEEPEST else self.computed(found)

    def scalar(self, number: Number) -> Elements:
        """Return an array of no dimensions."""
        return Elements(numbers.dtype_of(number), (), [number])

    def elements(self, dtype: np.dtype, shape: Sequence[int], items: list[Number]) -> Elements:
        """Return an array of numbers, in row-major order."""
        return Elements(dtype, tuple(shape), items, self.storage.spilled)

    def view(self, x: Array, shape: Sequence[int], source: Callable[..., Sequence[Index]]) -> Array:
        """Return an array whose element at an index is that of `x` at ``source(*index)``."""
        if x.may_fail and (is_unknown((*x.shape, *shape)) or math.prod(shape) < x.size):
            x = self.ready(x)  # what is not read would not be checked
        if isinstance(x, Elements) and is_small(shape):
            items = [x.at(*source(*i)) for i in np.ndindex(*shape)]
            return self.elements(x.dtype, shape, items)
        return self.lazy(x.dtype, shape, lambda *i: x.at(*source(*i)), (x,), ready=True)

    def ready(self, x: Array) -> Array:
        """Return an array whose elements may be read again and again."""
        return x if x.is_ready else self.computed(x)

    def computed(self, x: Array) -> Array:
        """Return an array with its elements found: in registers if there are few."""
        if is_small(x.shape):
            return self.elements(x.dtype, x.shape, items_of(x))
        return self.storage.materialized(x)

    def addressable(self, x: Array) -> Array:
        """Return an array that may be read at places that are data."""
        if isinstance(x, Elements):
            return self.storage.spilled(x) if is_long(x.size, 2) else x
        if isinstance(x, Lazy) and not x.is_ready:
            return self.storage.materialized(x)
        return x


class Fusion:
    """Decides whether elements are found where they are read, or once before."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def settled(self, x: Array, uses: int) -> Array:
        """Return an array in the form in which it is kept for `uses` later uses."""
        if not isinstance(x, Lazy) or not uses:
            return x
        if is_small(x.shape):
            if not self.k.loops.unrolling.is_written_out(x.shape, x.work) and self._is_wide(x):
                return self.k.storage.materialized(x)
            is_last_reader = bool(x.buffers) and not any(buffer.readers for buffer in x.buffers)
            if uses == 1 and x.size > UNROLLED and is_last_reader:
                return x  # what is in memory need not go through registers to a loop
        elif uses == 1 or x.is_ready:
            return x
        return self.k.computed(x)

    def _is_wide(self, x: Array) -> bool:
        """Whether elements differ between lanes. What does not is in registers, as is analysed."""
        return any([part.varying for part in vecs(x.at(*(0,) * x.ndim))]) or not self.k.in_lanes

    def found_once(self, x: Array, shape: Shape) -> Array:
        """Return an array so that its elements are found once, if a result repeats costly ones."""
        if not isinstance(x, Lazy) or x.is_ready or x.work <= AGAIN or len(x.shape) > len(shape):
            return x
        own = (1,) * (len(shape) - len(x.shape)) + x.shape
        pairs = list(zip(own, shape, strict=True))
        is_repeated = any([a == 1 != b for a, b in pairs])
        return self.k.ready(x) if is_repeated and all([a in (1, b) for a, b in pairs]) else x

    def read_once(self, x: Array, shape: Shape, written: Sequence[Array]) -> Array:
        """Return an array whose elements are each read once, while others are written to."""
        is_cheap = isinstance(x, Lazy) and x.work <= CHEAP and not is_small(x.shape)
        is_apart = not any([x.buffers & other.buffers for other in written])
        return x if is_cheap and is_apart and tuple(x.shape) == tuple(shape) else self.k.ready(x)

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
        k = self.k
        if k.loops.unrolling.is_written_out(shape, work):
            rows = [at(*i) for i in np.ndindex(*shape)]
            columns = [[row[n] for row in rows] for n in range(len(types))]
            return [k.elements(t.dtype, shape, x) for t, x in zip(types, columns, strict=True)]
        results = [k.storage.local(t.dtype, shape) for t in types]

        def body(*i: Index) -> None:
            for result, item in zip(results, at(*i), strict=True):
                result.put(i, item, k.storage.tail(result))

        k.loops.each(shape, body, work=max(work, 1))
        return list(results)


class Variables:
    """What is set to and read as a small array like another one: a variable for each element.

    If it is `wide` each lane has its own.
    """

    __slots__ = ("_each", "dtype", "k", "shape")

    def __init__(self, k: Builder, like: Array, wide: bool) -> None:
        self.k, self.dtype, self.shape = k, like.dtype, like.shape
        self._each = [k.loops.variable(like.dtype, wide) for _ in range(like.size)]

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
