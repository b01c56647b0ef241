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

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lanewise.ir.dims import DimLike, never_below, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import BRANCHES, LOOPS, scan
from lanewise.ops.creation import constant, dimension, iota
from lanewise.ops.elementwise import elementwise
from lanewise.ops.exact import exact
from lanewise.ops.facts import is_elementwise, is_moved, is_quiet, may_fail
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import broadcast_to, slice_, update_slice
from lanewise.passes.frames import (
    INT,
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
from lanewise.passes.points import integer
from lanewise.passes.specialize import has_sizes

#: Integers that count with the turns stay below this, so that none overflows.
MOST = 2**62
#: A symbol of sizes is less, so that sums of a few fit as well: kernels are not told of more.
MOST_SYMBOL = 2**48
#: Constants of at most so many elements are written into the turns that need them.
FEW = 64
#: Functions whose total does not change when its neutral element is taken in, by that element.
NEUTRAL: dict[np.ufunc, Any] = {
    np.add: -0.0, np.multiply: 1, np.bitwise_or: 0, np.bitwise_xor: 0, np.bitwise_and: -1,
    np.logical_or: False, np.logical_and: True, np.maximum: None, np.minimum: None,
}  # fmt: skip


class Turns:
    """One try at a loop's body.

    Parameters
    ----------
    length
        How many turns there are.
    carries
        The types of what is carried.
    cells
        What was learned of the turns' own cells: for each carried array, at which places of which
        axes they lie. It grows.
    refused
        The axes of carried arrays that do not tell cells apart. It grows too.
    outside
        Records what is the same in all turns.
    """

    def __init__(
        self,
        length: DimLike,
        carries: Sequence[ArrayType],
        cells: Sequence[dict[int, Key]],
        refused: set[tuple[int, int]],
        outside: Builder,
    ) -> None:
        self.length, self.carries, self.outside = length, carries, outside
        self.cells, self.refused = cells, refused
        self.frame = Frame(self)
        #: The symbols of sizes that a turn defines.
        self.sizes: frozenset[str] = frozenset()

    def type_of(self, key: Key) -> Any:
        """Return the type of one turn's entry of a source."""
        if key[0] == "same":
            return key[1].type
        if key[0] == "turn":
            return array_type(INT, ())
        if key[0] == "cell":
            type_, cell = self.carries[key[1]], self.cells[key[1]]
            return array_type(
                type_.dtype,
                tuple([n for axis, n in enumerate(type_.shape) if axis not in cell]),
            )
        type_, axis = key[1].type, key[2]
        return array_type(type_.dtype, (*type_.shape[:axis], *type_.shape[axis + 1 :]))

    def run(self, frame: Frame, region: Graph, kinds: Sequence[Kind]) -> list[Kind]:
        """Go through a region whose inputs are of these kinds; return what its outputs are."""
        known = dict(zip(region.inputs, kinds, strict=True))
        for op in region.operations:
            frame.builder.location = op._place
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
        if primitive is gather:
            return [self._gather(frame, op, kinds)]
        if isinstance(kinds[0] if kinds else None, Part):
            part = kinds[0]
            assert isinstance(part, Part)
            if primitive is scatter:
                return [self._scatter(frame, part, kinds[1], kinds[2:], op)]
            if primitive is slice_:
                return [self._slice(frame, part, params["index"])]
            if primitive is update_slice:
                return [self._update_slice(frame, part, kinds[1], params["index"])]
        if primitive in BRANCHES:
            return self._branch(frame, op, kinds)
        if primitive in LOOPS:
            return self._loop(frame, op, kinds)
        if any(isinstance(kind, Running) for kind in kinds):
            return [self._running(frame, op, kinds)]
        for kind in kinds:
            if isinstance(kind, Part) and self.is_open(kind):
                self._give_up(kind)
        if self._may_hoist(frame, op, kinds):
            operands = tuple([k.value for k in kinds if isinstance(k, Same)])
            self.outside.location = op._place
            return [Same(value) for value in self.outside.emit(primitive, operands, params)]
        operands = tuple([frame.value(kind) for kind in kinds])
        return [Own(value) for value in frame.builder.emit(primitive, operands, params, op.regions)]

    def _constant(self, frame: Frame, op: Operation) -> Kind:
        type_, data = op.params["type"], op.params["data"]
        if type_ == array_type(INT, ()):
            return Turn(0, int(np.frombuffer(data, INT)[0]))
        if type_.nbytes <= FEW * type_.dtype.itemsize:
            return Own(frame.builder.emit(constant, (), op.params)[0])
        return Same(self.outside.emit(constant, (), op.params)[0])

    def _may_hoist(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> bool:
        """Whether an operation may run once, before the loop, though no turn might come to it."""
        if op.regions or op.must_run or not all(isinstance(kind, Same) for kind in kinds):
            return False
        if self.sizes and has_sizes(op, self.sizes):
            return False
        return frame.parent is None or (_is_light(op) and is_quiet(op) and not may_fail(op))

    def _fits(self, turn: Turn) -> bool:
        ends = turn.start, turn.start + turn.step * self.length
        return max([abs(at_most(end)) for end in ends]) < MOST

    def is_open(self, part: Part) -> bool:
        """Whether a part has more than the turn's own cell."""
        cell = self.cells[part.carry]
        return any([own in cell for own in part.axes])

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

    def _give_up(self, part: Part) -> None:
        """Take it that a part's axes do not tell cells apart."""
        known = [axis for axis in part.axes if axis in self.cells[part.carry]]
        if not known:
            raise Dependent
        self._refuse(part.carry, *known)

    def _refuse(self, carry: int, *axes: Any) -> None:
        for axis in axes:
            self.refused.add((carry, axis))
            self.cells[carry].pop(axis, None)
        raise Again

    def _indexed(self, part: Part, axis: int, places: Sequence[Kind]) -> list[Kind]:
        """Return those of the indices of consecutive axes that are not of the own cell."""
        cell, others = self.cells[part.carry], []
        shape = self.carries[part.carry].shape
        for place, own in zip(places, part.axes[axis : axis + len(places)], strict=True):
            key = None if own is None else self.place(place, shape[own])
            if own is not None and own in cell:
                if key != cell[own]:
                    self._refuse(part.carry, own)
                continue
            if own is not None and key is not None and (part.carry, own) not in self.refused:
                cell[own] = key
                raise Again
            others.append(place)
        return others

    def _own_axis(self, part: Part, axis: int) -> int:
        """Return which axis of the cell an axis of a part is."""
        return sum([own not in self.cells[part.carry] for own in part.axes[:axis]])

    def _gather(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> Kind:
        whole, *places = kinds
        axis, shape = op.params["axis"], op.results[0].type.shape
        if isinstance(whole, Part):
            others = self._indexed(whole, axis, places)
            new = len(shape) - len(whole.axes) + len(places)
            axes = (*whole.axes[:axis], *[None] * new, *whole.axes[axis + len(places) :])
            cell = self._taken(frame, whole, others, axis)
            return Part(whole.carry, axes, ("gather", whole.rest, axis, tuple(places)), cell)
        if isinstance(whole, Same):
            found = self._read(frame, whole, axis, places)
            if found is not None:
                return found
            if self._may_hoist(frame, op, kinds):
                operands = tuple([k.value for k in kinds if isinstance(k, Same)])
                return Same(self.outside.emit(gather, operands, op.params)[0])
        operands = tuple([frame.value(kind) for kind in kinds])
        return Own(frame.builder.emit(gather, operands, op.params)[0])

    def _taken(self, frame: Frame, part: Part, others: Sequence[Kind], axis: int) -> Value | None:
        """Return what a part's cell has at further indices; None for all of one not yet read."""
        if not others:
            return part.cell
        operands = (frame.cell(part), *[frame.value(place) for place in others])
        return frame.builder.emit(gather, operands, {"axis": self._own_axis(part, axis)})[0]

    def _read(self, frame: Frame, whole: Same, axis: int, places: Sequence[Kind]) -> Kind | None:
        """Return an element of an array that no turn changes, at a place of the turn's own."""
        shape = whole.value.type.shape
        keys = [self.place(kind, n) for kind, n in zip(places, shape[axis:], strict=False)]
        if any(isinstance(p, Turn) and key is None for p, key in zip(places, keys, strict=True)):
            return None
        counting = [key if key is not None and key[0] == "turn" else () for key in keys]
        kept = [i for i, key in enumerate(counting) if not key or key[1]]
        moving = [i for i in kept if counting[i]]
        if len(moving) > 1 or (kept and not moving):
            return None
        value = whole.value
        with building(self.outside):
            for i in reversed(range(len(places))):
                key = counting[i]
                if i not in kept:  # the same place in all turns
                    value = gather(value, integer(key[2]), axis=axis + i)
        if not moving:
            return Same(value)
        (first,) = moving
        _, step, start = counting[first]
        found = frame.source(("along", value, axis + kept.index(first), step, start))
        others = [places[i] for i in kept if i != first]
        if not others:
            return Own(found)
        operands = (found, *[frame.value(place) for place in others])
        return Own(frame.builder.emit(gather, operands, {"axis": axis})[0])

    def _scatter(
        self, frame: Frame, whole: Part, given: Kind, places: Sequence[Kind], op: Operation
    ) -> Kind:
        axis, fn = op.params["axis"], op.params["fn"]
        others = self._indexed(whole, axis, places)
        cell = self.cells[whole.carry]
        left = (*whole.axes[:axis], *whole.axes[axis + len(places) :])
        if any(own in cell for own in left):
            # The cell lies within what is written: the rest of that must stay as it is.
            rest = ("gather", whole.rest, axis, tuple(places))
            if fn is not None or not self._is_put_back(whole, given, rest):
                self._refuse(whole.carry, *[own for own in left if own in cell])
            assert isinstance(given, Part)
            new = frame.cell(given)
        else:
            new = frame.value(given)
        if others:
            operands = (frame.cell(whole), new, *[frame.value(place) for place in others])
            params = {"axis": self._own_axis(whole, axis), "fn": fn}
            new = frame.builder.emit(scatter, operands, params)[0]
        elif fn is not None:
            old = frame.cell(whole)
            if fn.nin != 2 or old.type != new.type:
                raise Dependent
            new = frame.builder.emit(elementwise(fn), (old, new), {"dtype": None})[0]
            if new.type != old.type:
                raise Dependent
        return Part(whole.carry, whole.axes, whole.rest, new)

    def _is_put_back(self, whole: Part, given: Kind, rest: Hashable) -> bool:
        """Whether what is written is what was read there, but for the own cell."""
        return isinstance(given, Part) and (given.carry, given.rest) == (whole.carry, rest)

    def _slice(self, frame: Frame, part: Part, index: tuple[Any, ...]) -> Kind:
        axes = self._sliced_axes(part, index)
        cell = part.cell
        own = self._own_slices(part, index)
        if any(own):
            cell = frame.builder.emit(slice_, (frame.cell(part),), {"index": own})[0]
        return Part(part.carry, axes, ("slice", part.rest, index), cell)

    def _update_slice(self, frame: Frame, whole: Part, given: Kind, index: tuple[Any, ...]) -> Kind:
        self._sliced_axes(whole, index)
        if not self.is_open(whole):  # it is the turn's own
            operands = (frame.cell(whole), frame.value(given))
            cell = frame.builder.emit(update_slice, operands, {"index": index})[0]
            return Part(whole.carry, whole.axes, whole.rest, cell)
        if not self._is_put_back(whole, given, ("slice", whole.rest, index)):
            self._give_up(whole)
        assert isinstance(given, Part)
        cell, own = frame.cell(given), self._own_slices(whole, index)
        if any(own):
            operands = (frame.cell(whole), cell)
            cell = frame.builder.emit(update_slice, operands, {"index": own})[0]
        return Part(whole.carry, whole.axes, whole.rest, cell)

    def _sliced_axes(self, part: Part, index: tuple[Any, ...]) -> tuple[int | None, ...]:
        """Return the axes of a slice of a part, which must have those of cells whole."""
        cell = self.cells[part.carry]
        cut = [own for own, one in zip(part.axes, index, strict=True) if one and own in cell]
        if cut:
            self._refuse(part.carry, *cut)
        return tuple([None if one else own for own, one in zip(part.axes, index, strict=True)])

    def _own_slices(self, part: Part, index: tuple[Any, ...]) -> tuple[Any, ...]:
        cell = self.cells[part.carry]
        return tuple([one for own, one in zip(part.axes, index, strict=True) if own not in cell])

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

    def _neutral(self, frame: Frame, fn: np.ufunc, type_: ArrayType) -> Value:
        dtype, value = type_.dtype, NEUTRAL[fn]
        if fn in (np.maximum, np.minimum):
            if dtype.kind not in "iuf":
                raise Dependent
            limits = np.iinfo(dtype) if dtype.kind in "iu" else None
            low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
            value = low if fn is np.maximum else high
        elif dtype.kind not in "fc":
            value = int(value)
        with building(frame.builder):
            data = np.array(value).astype(dtype).tobytes()
            number = constant(data=data, type=array_type(dtype, ()))
            return broadcast_to(number, shape=type_.shape) if type_.shape else number

    # --- regions ----------------------------------------------------------------------------------

    def _branch(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> list[Kind]:
        chosen = frame.value(kinds[0])
        frames = [Frame(self, frame) for _ in op.regions]
        rows = [
            self.run(inner, region, [inner.bind(kind) for kind in kinds[1:]])
            for inner, region in zip(frames, op.regions, strict=True)
        ]
        totals = {kind for kind in kinds[1:] if isinstance(kind, Running)}
        entered = {kind.carry: kind for kind in totals}
        if len(entered) < len(totals):
            raise Dependent  # a total before and after a term: a branch forgets which was which
        outputs: list[list[Value]] = [[] for _ in frames]
        joins = []
        for column, result in zip(zip(*rows, strict=True), op.results, strict=True):
            kind, given = self._join(frames, column, result.type)
            joins.append((kind, len(given[0])))
            for values, more in zip(outputs, given, strict=True):
                values += more
        keys = list(dict.fromkeys([key for inner in frames for key in inner.taken]))
        regions = tuple(
            [inner.finish(keys, (), values) for inner, values in zip(frames, outputs, strict=True)]
        )
        operands = (chosen, *frames[0].outer(keys))
        results = list(frame.builder.emit(op.primitive, operands, op.params, regions))
        found: list[Kind] = []
        for kind, count in joins:
            values, results = results[:count], results[count:]
            if isinstance(kind, Part) and values:
                kind = Part(kind.carry, kind.axes, kind.rest, values[0])
            elif isinstance(kind, Running):
                before = entered[kind.carry].terms
                kind = Running(kind.carry, kind.fn, (*before, *values), kind.checked)
            elif kind is None:
                kind = Own(values[0])
            found.append(kind)
        return found

    def _join(
        self, frames: Sequence[Frame], kinds: Sequence[Kind], type_: Any
    ) -> tuple[Any, list[list[Value]]]:
        """Return what the same result of all branches is, and the values that each gives for it."""
        first = kinds[0]
        if all(kind == first for kind in kinds) and (
            isinstance(first, (Same, Turn))
            or (isinstance(first, Part) and first.cell is None)
            or (isinstance(first, Running) and not first.terms)
        ):
            return first, [[] for _ in frames]
        if isinstance(first, Part) and all(_is_same_part(first, kind) for kind in kinds):
            rows = zip(frames, kinds, strict=True)
            return first, [[inner.cell(part)] for inner, part in rows if isinstance(part, Part)]
        if isinstance(first, Running):
            return self._join_totals(frames, kinds)
        return None, [[inner.value(kind)] for inner, kind in zip(frames, kinds, strict=True)]

    def _join_totals(
        self, frames: Sequence[Frame], kinds: Sequence[Kind]
    ) -> tuple[Any, list[list[Value]]]:
        totals = [kind for kind in kinds if isinstance(kind, Running)]
        kept = {(kind.carry, kind.fn, kind.checked) for kind in totals if kind.fn is not None}
        if len(totals) < len(kinds) or len({kind.carry for kind in totals}) > 1 or len(kept) != 1:
            raise Dependent
        ((carry, fn, is_exact),) = kept
        assert fn is not None
        count = max([len(kind.terms) for kind in totals])
        given = []
        for inner, kind in zip(frames, totals, strict=True):
            missing = count - len(kind.terms)
            none = [self._neutral(inner, fn, self.carries[carry]) for _ in range(missing)]
            given.append([*kind.terms, *none])
        return Running(carry, fn, (), is_exact), given

    def _loop(self, frame: Frame, op: Operation, kinds: Sequence[Kind]) -> list[Kind]:
        params = op.params
        first = params["captures"]
        last = first + params["carry"] if op.primitive is scan else len(kinds)
        state = [
            frame.cell(kind) if isinstance(kind, Part) else frame.value(kind)
            for kind in kinds[first:last]
        ]
        slices = [frame.value(kind) for kind in kinds[last:]]
        frames, ends, own = [], [], []
        for region in op.regions:
            inner = Frame(self, frame)
            given = [inner.builder.input(value.type) for value in state]
            more = [inner.builder.input(value.type) for value in region.inputs[last:]]
            carried = [
                Part(kind.carry, kind.axes, kind.rest, value)
                if isinstance(kind, Part)
                else Own(value)
                for kind, value in zip(kinds[first:last], given, strict=True)
            ]
            captured = [inner.bind(kind) for kind in kinds[:first]]
            found = self.run(inner, region, [*captured, *carried, *[Own(v) for v in more]])
            frames.append(inner)
            own.append([*given, *more])
            ends.append(found)
        kept = [
            isinstance(old, Part) and _is_same_part(old, new)
            for old, new in zip(kinds[first:last], ends[-1], strict=False)
        ]
        for old, is_kept in zip(kinds[first:last], kept, strict=True):
            if isinstance(old, Part) and not is_kept and self.is_open(old):
                self._give_up(old)
        outputs = []
        for inner, found in zip(frames, ends, strict=True):
            is_body = found is ends[-1]
            outputs.append(
                [
                    inner.cell(kind)
                    if is_body and number < len(kept) and kept[number] and isinstance(kind, Part)
                    else inner.value(kind)
                    for number, kind in enumerate(found)
                ]
            )
        keys = list(dict.fromkeys([key for inner in frames for key in inner.taken]))
        regions = tuple(
            [
                inner.finish(keys, given, values)
                for inner, given, values in zip(frames, own, outputs, strict=True)
            ]
        )
        operands = (*frames[0].outer(keys), *state, *slices)
        results = frame.builder.emit(
            op.primitive, operands, {**params, "captures": len(keys)}, regions
        )
        found: list[Kind] = [Own(value) for value in results]
        for number, old in enumerate(kinds[first:last]):
            if isinstance(old, Part) and kept[number]:
                found[number] = Part(old.carry, old.axes, old.rest, results[number])
        return found


def _is_light(op: Operation) -> bool:
    """Whether an operation is as little work as moving what it takes."""
    return is_moved(op) or is_elementwise(op)


def _is_same_part(part: Part, kind: Kind) -> bool:
    """Whether a value is a part of the same carried array that was read in the same way."""
    return isinstance(kind, Part) and (kind.carry, kind.axes, kind.rest) == (
        part.carry,
        part.axes,
        part.rest,
    )


def _counted(op: Operation, kinds: Sequence[Kind]) -> Turn | None:
    """Return what an operation makes of integers that count with the turns, if that counts too."""
    fn = op.params["fn"] if op.primitive is exact else op.primitive.ufunc
    results = op.results
    if fn is None or len(results) != 1 or results[0].type != array_type(INT, ()):
        return None
    if op.params.get("dtype") is not None:
        return None
    pairs = [(kind.step, kind.start) for kind in kinds if isinstance(kind, Turn)]
    if fn is np.negative:
        ((step, start),) = pairs
        return Turn(-step, -start)
    if len(pairs) != 2:
        return None
    (step, start), (other, offset) = pairs
    if fn is np.add:
        return Turn(step + other, start + offset)
    if fn is np.subtract:
        return Turn(step - other, start - offset)
    if fn is np.multiply and not (step and other):
        each = step * offset + other * start
        return Turn(each, start * offset) if isinstance(each, int) else None
    return None


def at_most(size: DimLike) -> int:
    """Return what a number is where all symbols in it are as large as may be."""
    with suppress(ValueError):  # of two sizes that must be the same
        return evaluate(size, dict.fromkeys(symbols(size), MOST_SYMBOL))
    return MOST
