"""Whether the turns of a loop need each other: its body, run once on what its values stand for.

A carried array does not tie turns together if each turn reads and writes it at places of its own:
along some axis at ``step * turn + start``. To prove that, the body is gone through once. Each value
is one of a few kinds: the `Same` in all turns; an integer that counts with them, a `Turn`; `Own`,
which is computed in a turn and for it alone; a `Part` of a carried array, of which all but the
turn's own cell is as it was before the loop; and a `Running` total. What else is done with a `Part`
or a `Running` makes turns `Dependent`. At the same time the body is recorded anew as it is for one
turn alone: on its own cells of carried arrays, and its own elements of what it reads.

Which cell is a turn's own is not known at first: it is learned where the array is first indexed,
and the body is gone through again (`Again`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike, never_below, substitute, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, LOOPS, carry_of
from lanewise.ops.creation import constant, dimension, iota
from lanewise.ops.elementwise import elementwise
from lanewise.ops.exact import exact
from lanewise.ops.facts import is_elementwise, is_moved, is_quiet, may_fail
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import broadcast_to, slice_, update_slice
from lanewise.passes.frames import (
    Again,
    Dependent,
    Frame,
    Key,
    Kind,
    Own,
    Part,
    Running,
    Same,
    Turn,
)
from lanewise.passes.numbers import INTEGER, NEUTRAL, arithmetic, integer, neutral, number
from lanewise.passes.specialize import has_sizes

#: Integers that count with the turns stay below this, so that none overflows.
MOST = 2**62
#: A symbol of sizes is less, so that sums of a few fit as well: kernels are not told of more.
MOST_SYMBOL = 2**48
#: The number of the turn.
_TURN = Dim.symbol("%turn")


class Turns:
    """A loop of so many turns, which carries values of these types, and what is learned of it.

    ``cells`` are the turns' own cells: for each carried array, at which places of which axes they
    lie; ``refused`` are the axes of carried arrays that do not tell cells apart. Both grow.
    ``outside`` records what is the same in all turns.
    """

    def __init__(self, length: DimLike, carries: Sequence[ArrayType], outside: Builder) -> None:
        self.length, self.carries, self.outside = length, carries, outside
        self.cells: list[dict[int, Key]] = [{} for _ in carries]
        self.refused: set[tuple[int, int]] = set()
        self.begin()

    def begin(self) -> None:
        """Begin to go through the body, with what was learned."""
        self.frame = Frame(self.carries, self.cells)
        #: The symbols of sizes that a turn defines.
        self.sizes: frozenset[str] = frozenset()

    def run(self, frame: Frame, region: Graph, kinds: Sequence[Kind]) -> list[Kind]:
        """Go through a region whose inputs are of these kinds; return what its outputs are."""
        known = dict(zip(region.inputs, kinds, strict=True))
        for op in region.operations:
            frame.builder.location = op.place
            found = self._operation(frame, op, [known[value] for value in op.operands])
            known.update(zip(op.results, found, strict=True))
        return [known[value] for value in region.outputs]

    # --- operations -------------------------------------------------------------------------------

    def _operation(self, frame: Frame, op: Operation, kinds: list[Kind]) -> Sequence[Kind]:
        primitive, params = op.primitive, op.params
        if primitive is constant:
            return [self._constant(frame, op)]
        if primitive is dimension and self._fits(Turn(0, params["size"])):
            return [Turn(0, params["size"])]
        if primitive.is_definition:
            self.sizes |= {str(params["size"])}
            frame.builder.emit(primitive, (frame.value(kinds[0]),), params)
            return []
        if primitive is iota:  # inside, where inner loops are seen to count
            return [Own(frame.builder.emit(iota, (), params)[0])]
        if kinds and all(isinstance(kind, Turn) for kind in kinds):
            counted = _counted(op, kinds)
            if counted is not None and self._fits(counted):
                return [counted]
        if kinds and isinstance(part := kinds[0], Part):
            if primitive is gather or primitive is slice_:
                return [self._read(frame, op, part, kinds[1:])]
            if primitive is scatter or primitive is update_slice:
                return [self._written(frame, op, part, kinds[1], kinds[2:])]
        if primitive is gather and isinstance(kinds[0], Same):
            found = self._element(frame, kinds[0], op.params["axis"], kinds[1:])
            if found is not None:
                return [found]
        if primitive in BRANCHES:
            return self._branch(frame, op, kinds)
        if primitive in LOOPS:
            return self._loop(frame, op, kinds)
        if any(isinstance(kind, Running) for kind in kinds):
            return [self._running(frame, op, kinds)]
        for kind in kinds:
            if isinstance(kind, Part) and self.frame.is_open(kind):
                self._give_up(kind, kind.axes)
        if self._may_hoist(frame, op, kinds):
            operands = tuple([k.value for k in kinds if isinstance(k, Same)])
            self.outside.location = op.place
            return [Same(value) for value in self.outside.emit(primitive, operands, params)]
        operands = tuple([frame.value(kind) for kind in kinds])
        return [Own(value) for value in frame.builder.emit(primitive, operands, params, op.regions)]

    def _constant(self, frame: Frame, op: Operation) -> Kind:
        if op.params["type"] is INTEGER:
            return Turn(0, int(op.primitive.numpy(**op.params)))
        return Own(frame.builder.emit(constant, (), op.params)[0])

    def _may_hoist(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> bool:
        """Whether an operation may run once, before the loop, though no turn might come to it."""
        if op.regions or op.must_run or not all(isinstance(kind, Same) for kind in kinds):
            return False
        if self.sizes and has_sizes(op, self.sizes):
            return False
        is_light = is_moved(op) or is_elementwise(op)
        return not frame.is_within or (is_light and is_quiet(op) and not may_fail(op))

    def _fits(self, turn: Turn) -> bool:
        ends = turn.start, turn.start + turn.step * self.length
        return max([abs(at_most(end)) for end in ends]) < MOST

    # --- places -----------------------------------------------------------------------------------

    def place(self, kind: Kind, size: Any) -> Key | None:
        """Return what a place along an axis is known by; None if it is not known."""
        if isinstance(kind, Same):
            return None if kind.value.type.shape else ("same", kind.value)
        if not isinstance(kind, Turn):
            return None
        # There is a turn, or else no place is asked for.
        low, high = kind.start, kind.start + kind.step * (self.length - 1)
        low, high = (low, high) if kind.step >= 0 else (high, low)
        shift = size if never_below(-1, high) else 0
        if not never_below(low + shift, 0) or not never_below(size - 1, high + shift):
            return None
        return "turn", kind.step, kind.start + shift

    def _give_up(self, part: Part, axes: Sequence[int | None]) -> None:
        """Take it that some axes of what a part is of do not tell cells apart."""
        known = [axis for axis in axes if axis is not None and axis in self.cells[part.carry]]
        if not known:
            raise Dependent
        for axis in known:
            self.refused.add((part.carry, axis))
            del self.cells[part.carry][axis]
        raise Again

    def _indexed(self, part: Part, axis: int, places: Sequence[Kind]) -> list[Kind]:
        """Return those of the indices of consecutive axes that are not of the own cell."""
        cell, others = self.cells[part.carry], []
        shape = self.carries[part.carry].shape
        for place, own in zip(places, part.axes[axis : axis + len(places)], strict=True):
            key = None if own is None else self.place(place, shape[own])
            if own is not None and own in cell:
                if key != cell[own]:
                    self._give_up(part, [own])
                continue
            if own is not None and key is not None and (part.carry, own) not in self.refused:
                cell[own] = key
                raise Again
            others.append(place)
        return others

    def _view(
        self, op: Operation, part: Part, places: Sequence[Kind], rank: int
    ) -> tuple[Part, dict[str, Any] | None, Sequence[Kind]]:
        """Return the view, of so many axes, of a part that an operation takes or puts back.

        Then the parameters with which to do the same to the own cell, and the indices: None where
        the view has all of the cell.
        """
        cell = self.cells[part.carry]
        if op.primitive.indices is None:
            index = op.params["index"]
            cuts = list(zip(part.axes, index, strict=True))
            broken = [own for own, cut in cuts if cut and own in cell]
            if broken:
                self._give_up(part, broken)
            axes = tuple([None if cut else own for own, cut in cuts])
            inner = tuple([cut for own, cut in cuts if own not in cell])
            view = Part(part.carry, axes, ("slice", part.rest, index), part.cell)
            return view, {"index": inner} if any(inner) else None, ()
        axis = op.params["axis"]
        before, behind = part.axes[:axis], part.axes[axis + len(places) :]
        others = self._indexed(part, axis, places)
        axes = (*before, *[None] * (rank - len(before) - len(behind)), *behind)
        view = Part(part.carry, axes, ("gather", part.rest, axis, tuple(places)), part.cell)
        own_axis = sum([own not in cell for own in before])
        return view, {**op.params, "axis": own_axis} if others else None, others

    def _read(self, frame: Frame, op: Operation, part: Part, places: Sequence[Kind]) -> Kind:
        """Return what is read of a part."""
        view, params, others = self._view(op, part, places, op.results[0].type.ndim)
        if params is None:
            return view
        operands = (frame.cell(part), *map(frame.value, others))
        return replace(view, cell=frame.builder.emit(op.primitive, operands, params)[0])

    def _written(
        self, frame: Frame, op: Operation, whole: Part, given: Kind, places: Sequence[Kind]
    ) -> Kind:
        """Return a part into which something was written."""
        fn = op.params.get("fn")
        view, params, others = self._view(op, whole, places, op.operands[1].type.ndim)
        if self.frame.is_open(view):
            # The cell lies within what is written: the rest of that must stay as it is.
            if fn is not None or not _is_same_part(view, given):
                self._give_up(view, view.axes)
            assert isinstance(given, Part)
            new = frame.cell(given)
        else:
            new = frame.value(given)
        if params is not None:
            operands = (frame.cell(whole), new, *map(frame.value, others))
            new = frame.builder.emit(op.primitive, operands, params)[0]
        elif fn is not None:
            raise Dependent
        return replace(whole, cell=new)

    def _element(self, frame: Frame, whole: Same, axis: int, places: Sequence[Kind]) -> Kind | None:
        """Return an element of an array that no turn changes, at a place of the turn's own."""
        shape = whole.value.type.shape
        keys = [self.place(kind, n) for kind, n in zip(places, shape[axis:], strict=False)]
        if any(isinstance(p, Turn) and key is None for p, key in zip(places, keys, strict=True)):
            return None
        turning = {i: key[1:] for i, key in enumerate(keys) if key is not None and key[0] == "turn"}
        fixed = {i: start for i, (step, start) in turning.items() if not step}
        kept = [i for i in range(len(places)) if i not in fixed]
        moving = [i for i in kept if i in turning]
        if len(moving) > 1 or (kept and not moving):
            return None
        value = whole.value
        with building(self.outside):
            for i in sorted(fixed, reverse=True):  # the same place in all turns
                value = gather(value, integer(fixed[i]), axis=axis + i)
        if not moving:
            return Same(value)
        (first,) = moving
        step, start = turning[first]
        found = frame.source(("along", value, axis + kept.index(first), step, start))
        others = [places[i] for i in kept if i != first]
        if not others:
            return Own(found)
        operands = (found, *map(frame.value, others))
        return Own(frame.builder.emit(gather, operands, {"axis": axis})[0])

    # --- totals -----------------------------------------------------------------------------------

    def _running(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> Kind:
        """Return a total that has taken in another term."""
        type_ = op.results[0].type
        fn, is_exact = op.primitive.ufunc, False
        if op.primitive is exact:
            fn, is_exact = op.params["fn"], True
        elif fn is None or op.params["dtype"] is not None:
            raise Dependent
        if fn.nin != 2 or any(value.type.dtype != type_.dtype for value in op.operands):
            raise Dependent
        total, term = kinds
        if isinstance(term, Running):
            total, term = term, total
            if fn not in (np.add, np.multiply) and type_.dtype.kind in "fc":
                raise Dependent  # at a tie of zeros, the order of operands decides
            if fn is np.subtract:
                raise Dependent
        assert isinstance(total, Running)
        value = frame.value(term)
        if fn is np.subtract and not is_exact and type_.dtype.kind in "iufc":
            fn = np.add
            value = frame.builder.emit(elementwise(np.negative), (value,), {"dtype": None})[0]
        if fn not in NEUTRAL or (is_exact and fn is not np.add):
            raise Dependent
        if total.fn is not None and (total.fn, total.checked) != (fn, is_exact):
            raise Dependent
        if self.carries[total.carry] != type_:
            raise Dependent
        if value.type != type_:
            value = frame.builder.emit(broadcast_to, (value,), {"shape": type_.shape})[0]
        return Running(total.carry, fn, (*total.terms, value), is_exact)

    def _neutral(self, frame: Frame, fn: Any, type_: ArrayType) -> Value:
        value = neutral(fn, type_.dtype)
        if value is None:
            raise Dependent
        with building(frame.builder):
            one = number(value, type_.dtype)
            return broadcast_to(one, shape=type_.shape) if type_.shape else one

    # --- regions ----------------------------------------------------------------------------------

    def _branch(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> list[Kind]:
        chosen = frame.value(kinds[0])
        frames = [frame.within() for _ in op.regions]
        rows = [
            self.run(inner, region, list(map(inner.bind, kinds[1:])))
            for inner, region in zip(frames, op.regions, strict=True)
        ]
        totals = {kind for kind in kinds[1:] if isinstance(kind, Running)}
        entered = {kind.carry: kind for kind in totals}
        if len(entered) < len(totals):
            raise Dependent  # a total before and after a term: a branch forgets which was which
        joins = [self._join(frames, column, entered) for column in zip(*rows, strict=True)]
        outputs = [[v for _, given in joins for v in given[n]] for n in range(len(frames))]
        own = [()] * len(frames)
        results = iter(frame.record(op, frames, own, outputs, before=[chosen]))
        return [_with_values(kind, list(islice(results, len(given[0])))) for kind, given in joins]

    def _join(
        self, frames: Sequence[Frame], kinds: Sequence[Kind], entered: Mapping[int, Running]
    ) -> tuple[Kind | None, list[list[Value]]]:
        """Return what the same result of all branches is, and the values that each gives for it."""
        first = kinds[0]
        if isinstance(first, Running):
            return self._join_totals(frames, kinds, entered)
        if isinstance(first, Part) and all(_is_same_part(first, kind) for kind in kinds):
            parts = [kind for kind in kinds if isinstance(kind, Part)]
            return first, [[inner.cell(part)] for inner, part in zip(frames, parts, strict=True)]
        return None, [[inner.value(kind)] for inner, kind in zip(frames, kinds, strict=True)]

    def _join_totals(
        self, frames: Sequence[Frame], kinds: Sequence[Kind], entered: Mapping[int, Running]
    ) -> tuple[Kind, list[list[Value]]]:
        totals = [kind for kind in kinds if isinstance(kind, Running)]
        carries = {kind.carry for kind in totals}
        kept = {(kind.fn, kind.checked) for kind in totals if kind.fn is not None}
        if len(totals) < len(kinds) or len(carries) > 1 or len(kept) > 1:
            raise Dependent
        (carry,) = carries
        ((fn, is_exact),) = kept or {(None, False)}
        count = max([len(kind.terms) for kind in totals])
        given = []
        for inner, kind in zip(frames, totals, strict=True):
            missing = count - len(kind.terms)
            none = [self._neutral(inner, fn, self.carries[carry]) for _ in range(missing)]
            given.append([*kind.terms, *none])
        return replace(entered[carry], fn=fn, checked=is_exact), given

    def _loop(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> list[Kind]:
        where = carry_of(op)
        carried = kinds[where]
        state = [
            frame.cell(kind) if isinstance(kind, Part) else frame.value(kind) for kind in carried
        ]
        slices = list(map(frame.value, kinds[where.stop :]))
        frames, own, ends = [], [], []
        for region in op.regions:
            inner = frame.within()
            types = [value.type for value in (*state, *region.inputs[where.stop :])]
            given = list(map(inner.builder.input, types))
            captured = map(inner.bind, kinds[: where.start])
            turning = [_with_values(kind, [value]) for kind, value in zip_longest(carried, given)]
            frames.append(inner)
            own.append(given)
            ends.append(self.run(inner, region, [*captured, *turning]))
        after: list[Kind | None] = [None] * len(ends[-1])
        for place, (old, new) in enumerate(zip(carried, ends[-1], strict=False)):
            if isinstance(new, Part) and _is_same_part(new, old):
                after[place] = old
                ends[-1][place] = Own(frames[-1].cell(new))
            elif isinstance(old, Part) and frame.is_open(old):
                self._give_up(old, old.axes)
        outputs = [list(map(inner.value, end)) for inner, end in zip(frames, ends, strict=True)]
        results = frame.record(op, frames, own, outputs, behind=[*state, *slices])
        return [_with_values(kind, [value]) for kind, value in zip(after, results, strict=True)]


def _with_values(kind: Kind | None, values: Sequence[Value]) -> Kind:
    """Return a kind of value as one that has these: a cell, more terms, or what was computed."""
    if isinstance(kind, Running):
        return replace(kind, terms=(*kind.terms, *values))
    return replace(kind, cell=values[0]) if isinstance(kind, Part) else Own(values[0])


def _is_same_part(part: Part, kind: Kind) -> bool:
    """Whether a value is a part of the same carried array that was read in the same way."""
    return isinstance(kind, Part) and kind.rest == part.rest


def _counted(op: Operation, kinds: Sequence[Kind]) -> Turn | None:
    """Return what an operation makes of integers that count with the turns, if that counts too."""
    found = arithmetic(
        op, [kind.start + kind.step * _TURN for kind in kinds if isinstance(kind, Turn)]
    )
    if found is None:
        return None
    start, after = [substitute(found, {"%turn": number}) for number in (0, 1)]
    step = after - start
    return Turn(step, start) if isinstance(step, int) and found == start + step * _TURN else None


def at_most(size: DimLike) -> int:
    """Return what a number is where all symbols in it are as large as may be."""
    with suppress(ValueError):  # of two sizes that must be the same
        return evaluate(size, dict.fromkeys(symbols(size), MOST_SYMBOL))
    return MOST
