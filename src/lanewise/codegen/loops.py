"""Loops in a kernel: their turns, the lanes that run them, and under which masks.

A loop's index is the same in all lanes. Where lanes make different numbers of turns it goes as far
as that of any active lane, and each turn runs under the mask of those that make it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Affine, Index, as_index
from lanewise.codegen.emitter import Emitter, Slot
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.numbers import Number, choose, kinds_of, of_vecs, vecs
from lanewise.codegen.sizes import is_long, varies
from lanewise.codegen.unrolling import UNROLLED, Unrolling
from lanewise.codegen.vector import Span, Vec, select
from lanewise.ir.dims import Dim, bounds

#: A loop asks whether the run should stop once in so many turns; of which some run in one go.
TURNS, STRIP = 1 << 14, 1 << 10
#: Bodies of loops over blocks of lanes are written twice, with masks and without, if they have at
#: most so many instructions.
MOST_TWICE = 400
#: Farther than any loop goes.
FAR = 1 << 62

#: Between which places loops run along some axes: the first one, and the one behind the last.
Ends: TypeAlias = Mapping[int, tuple[Index, Index]]
NOWHERE: Ends = MappingProxyType({})


class Loops:
    """Writes loops, and knows which lanes run the code at hand; a part of the builder."""

    def __init__(self, e: Emitter) -> None:
        #: Where instructions go.
        self.e = e
        #: The lanes that are active; None for all.
        self.mask: Vec | None = None
        #: Whether the code at hand runs in lanes: inside of the loop whose turns are the lanes.
        self.in_lanes = False
        #: Whether it is written to run once, before all examples.
        self.is_ahead = False
        #: Which loops are written out.
        self.unrolling = Unrolling()
        #: Where the function is left if it should stop.
        self.stopped = e.label("stopped")
        #: Turns of loops since it was last asked whether to stop.
        self._turns = e.slot("i32", False, e.constant("i32", 0))
        #: The scopes of the code at hand, by number: see `scope`.
        self.scopes = [0]
        self._next_scope = itertools.count(1)

    def variable(
        self, dtype: np.dtype, varying: bool | None = None, first: Number | None = None
    ) -> Variable:
        """Return a variable; one for each lane if it is `varying`, by default where lanes run.

        With `first` it is set to that here.
        """
        wide = self.in_lanes if varying is None else varying
        found = Variable([self.e.slot(kind, wide) for kind in kinds_of(dtype)])
        if first is not None:
            found.set(first)
        return found

    def poll(self, turns: Index = 1) -> None:
        """Write what a loop asks after some of its turns: whether the run should stop.

        After many short ones it does, or after fewer long ones that count as several.
        """
        e = self.e
        turns = self._turns.get() + (turns if isinstance(turns, int) else turns.to("i32"))
        self._turns.set(turns)
        ask, on = e.label("ask"), e.label("on")
        e.branch(turns < TURNS, on, ask)
        e.begin(ask)
        self._turns.set(e.constant("i32", 0))
        poll = e.write("load ptr, ptr %context")
        answer = e.uniform("i32", e.write(f"call i32 {poll}(ptr %context)"))
        e.branch(answer.ne(0), self.stopped, on)
        e.begin(on)

    # --- loops --------------------------------------------------------------------------------

    def range(
        self,
        start: Index,
        stop: Index | None = None,
        step: int = 1,
        *,
        unroll: bool | None = None,
        polls: bool = False,
        rolled: bool = False,
    ) -> Generator[Any]:
        """Write a loop: ``for i in k.loops.range(n): ...``, the index the same in all lanes.

        With `unroll` the turns are written one by one, and i is an int; by default where there are
        few, and the code at hand is not written often already. What turns hand on stands in
        variables or memory. With `polls` it may be a long one, and asks now and then whether the
        run should stop: between strips of turns, as LLVM does little with a loop that calls
        somebody in its turns. A short one that is `rolled` LLVM is not to write out either.
        """
        first, last = (0, start) if stop is None else (start, stop)
        if self._parts(first) or self._parts(last):
            yield from self._own_turns(first, last, step, polls)
            return
        known = None
        if isinstance(first, int) and isinstance(last, int):
            known = range(first, last, step)
            is_short = self.unrolling.is_short(len(known)) if unroll is None else len(known) <= 1
            if unroll or is_short:
                with self.unrolling.within(copies=len(known)):
                    yield from known
                return
        span = None
        if isinstance(first, (int, Dim)) and isinstance(last, (int, Dim)):
            span = (first, last - 1) if step > 0 else (last + 1, first)
        if not polls:
            is_rolled = rolled and known is not None and len(known) <= UNROLLED
            with self.unrolling.within(is_rolled=is_rolled):
                yield from self._counted(first, last, step, span, is_rolled)
        elif known is not None and len(known) <= STRIP:
            yield from self._counted(first, last, step, span)
            self.poll(len(known))
        else:
            for begin in self._counted(first, last, STRIP * step, span):
                end, bound = begin + STRIP * step, as_index(self.e, last)
                end = end.least(bound) if step > 0 else end.greatest(bound)
                yield from self._counted(begin, end, step, span)
                self.poll((end - begin).abs())

    def _parts(self, end: Index | Dim) -> bool:
        """Whether an end of a loop differs between lanes."""
        return end.varying if isinstance(end, Vec) else varies(end, self.e.counted)

    def _own_turns(
        self, first: Index | Dim, last: Index | Dim, step: int, polls: bool
    ) -> Generator[Vec]:
        """Write a loop of which each lane makes turns of its own, under the mask of those that do.

        It goes from the first turn of any active lane to the last one of any.
        """
        low, high, up = as_index(self.e, first), as_index(self.e, last), step > 0
        if low.varying and abs(step) != 1:
            raise CannotCompile("a loop that lanes begin at different places makes single steps")
        known = bounds(last)[1] if isinstance(last, Dim) and isinstance(first, int) and up else None
        begin, end = self._outmost(low, not up), self._outmost(high, up)
        for i in self.range(begin, end, step, unroll=False, polls=polls):
            if known is not None:
                i.span = first, known - 1
            own = high > i if up else high < i
            if low.varying:
                own = own & (low <= i if up else low >= i)
            with self.masked(self.both(own)):
                yield i

    def _outmost(self, x: Vec, greatest: bool) -> Vec:
        """Return the greatest or the least integer of the active lanes."""
        if not x.varying:
            return x
        if self.mask is not None:
            x = select(self.mask, x, -FAR if greatest else FAR)
        return self.e.extreme(x, greatest)

    def _counted(
        self, first: Index, last: Index, step: int, span: Span | None, rolled: bool = False
    ) -> Generator[Vec]:
        """Write a loop over a counter, which is known to stay within a span."""
        counter = self.e.slot("i64", False, as_index(self.e, first))
        with self.e.loop(rolled=rolled) as goes_on:
            at, bound = counter.get(), as_index(self.e, last)
            goes_on(at < bound if step > 0 else at > bound)
            at.span = span
            with self.scope():
                yield at
            counter.set(self.e.uniform("i64", at.parts[0]) + step)

    def indices(
        self,
        shape: Sequence[int],
        within: Ends = NOWHERE,
        *,
        unroll: bool | Sequence[bool | None] | None = None,
        rolled: bool = False,
        in_lanes: bool = False,
    ) -> Generator[tuple[Any, ...]]:
        """Write a nest of loops: ``for index in k.loops.indices(shape): ...``.

        Along the axes that `within` names, only from one to before another place. `unroll` and
        `rolled` are as for `range`; `unroll` may be given for each axis. With `in_lanes` the last
        axis runs in lanes.
        """

        def level(index: tuple[Index, ...]) -> Generator[tuple[Index, ...]]:
            axis = len(index)
            if axis == len(shape):
                yield index
                return
            ends = within.get(axis, (0, shape[axis]))
            if in_lanes and axis == len(shape) - 1:
                with self.lane_loop(*ends) as i:
                    yield (*index, i)
                return
            is_out = unroll[axis] if isinstance(unroll, Sequence) else unroll
            for i in self.range(*ends, unroll=is_out, rolled=rolled):
                yield from level((*index, i))

        return level(())

    def each(
        self,
        shape: Sequence[int],
        body: Callable[..., None],
        *,
        unroll: bool | None = None,
        within: Ends = NOWHERE,
        work: int = 1,
    ) -> None:
        """Write loops over all indices of a shape, of which no turn needs another.

        Outside of the lanes the last axis runs in lanes, if it is long enough. `unroll` is as for
        `range`, `within` as for `indices`, `work` about how many operations a turn takes.
        """
        in_lanes = bool(shape) and not self.in_lanes and is_long(shape[-1], self.e.group)
        is_out: Sequence[bool | None] = [unroll] * len(shape)
        if unroll is None:
            is_out = self.unrolling.written_out(shape, work)
        nest = self.indices(shape, within, unroll=is_out, rolled=unroll is None, in_lanes=in_lanes)
        for index in nest:
            body(*index)

    @contextmanager
    def lane_loop(self, start: Index, stop: Index) -> Generator[Affine]:
        """Write a loop whose turns are the lanes: a block of them at a time.

        A short body is written twice, without a mask for blocks that are whole, and for the rest:
        loads and stores under masks take longer, on some processors many times as long.
        """
        e, lanes = self.e, self.e.lanes
        known = stop - start if isinstance(start, int) and isinstance(stop, int) else None
        bound, counter = as_index(self.e, stop), e.slot("i64", False, as_index(self.e, start))
        with e.aside() as head:
            at = counter.get()
            tail = e.lane_index() < bound - at
        with e.aside() as lines, self.scope():
            outer = self.mask, self.in_lanes
            self.mask, self.in_lanes = tail if known is None or known % lanes else None, True
            yield Affine(e, at, 1)
            is_whole = self.mask is None
            self.mask, self.in_lanes = outer
            counter.set(at + lanes)
        if is_whole or (known is not None and known < lanes) or len(lines) > MOST_TWICE:
            with e.loop() as goes_on:
                goes_on(counter.get() < bound)
                e.lines += [*head, *lines]
            return
        with e.loop() as goes_on:
            now, every = counter.get(), e.constant("b", True).spread()
            goes_on(now + lanes <= bound)
            old, new = (*at.parts, *tail.parts), (*now.parts, *every.parts)
            e.again(lines, dict(zip(old, new, strict=True)))
        with e.when(counter.get() < bound):
            e.lines += [*head, *lines]

    @contextmanager
    def ahead(self, once: bool = True) -> Generator[None]:
        """Write code that runs once, before all examples; where not `once`, at its place."""
        e = self.e
        outer = e.lines, self.mask, self.is_ahead
        if once:
            e.lines, self.mask, self.is_ahead = e.prologue, None, True
        yield
        e.lines, self.mask, self.is_ahead = outer

    @contextmanager
    def scope(self) -> Generator[None]:
        """Mark code that may not run: what is kept in memory there is not there afterwards."""
        self.scopes.append(next(self._next_scope))
        yield
        self.scopes.pop()

    @contextmanager
    def masked(self, mask: Vec | None) -> Generator[None]:
        """Write code under another mask."""
        outer = self.mask
        self.mask = mask
        yield
        self.mask = outer

    def both(self, condition: Vec) -> Vec:
        """Return the active lanes in which a condition holds."""
        return condition if self.mask is None else condition & self.mask

    def is_folded_in_lanes(self, shape: Sequence[Any], work: int = 1) -> bool:
        """Whether steps that may be grouped at will have the last axis in lanes.

        Not if that would be a part of a turn, and may be written out.
        """
        if self.in_lanes or not shape or not is_long(shape[-1], self.e.group):
            return False
        return is_long(shape[-1], self.e.lanes) or not self.unrolling.is_written_out(shape, work)

    def fold(
        self,
        shape: Sequence[int],
        start: Sequence[Number],
        step: Callable[..., Sequence[Number]],
        combine: Callable[..., Sequence[Number]] | None = None,
        within: Ends = NOWHERE,
        work: int = 1,
    ) -> list[Number]:
        """Return numbers after a step for each index of a shape: ``step(index, *numbers)``.

        With `combine`, which joins two sets of numbers, the steps may be grouped at will: `start`
        then is its neutral element. Without it they are taken in order. `within` and `work` are as
        for `each`.
        """
        in_lanes = combine is not None and self.is_folded_in_lanes(shape, work)
        if not in_lanes and not within and self.unrolling.is_written_out(shape, work):
            found = list(start)
            with self.unrolling.within(copies=math.prod(shape)):
                for index in np.ndindex(*shape):
                    found = list(step(index, *found))
            return found
        wide, outer = self.in_lanes or in_lanes, self.mask
        variables = [self.variable(numbers.dtype_of(x), wide, x) for x in start]
        is_out = self.unrolling.written_out(shape, work)
        nest = self.indices(shape, within, unroll=is_out, rolled=True, in_lanes=in_lanes)
        for index in nest:
            before = [variable.get() for variable in variables]
            after = step(index, *before)
            if self.mask is not outer and self.mask is not None:  # some lanes make no turn
                pairs = zip(after, before, strict=True)
                after = [choose(self.mask, new, old) for new, old in pairs]
            for variable, new in zip(variables, after, strict=True):
                variable.set(new)
        found = [variable.get() for variable in variables]
        return numbers.across(self.e, found, combine) if in_lanes and combine is not None else found


@dataclass(frozen=True, slots=True)
class Variable:
    """A number that is set and read."""

    slots: Sequence[Slot]

    def get(self) -> Number:
        return of_vecs([slot.get() for slot in self.slots])

    def set(self, value: Number) -> None:
        for slot, part in zip(self.slots, vecs(value), strict=True):
            slot.set(part)
