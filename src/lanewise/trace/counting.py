"""How often something was counted up, where the data do not decide it: lengths of grown lists.

A recorded loop counts up a number that is a result of the loop for the graph, though it is the same
whatever the data: after n turns that add one each it is n more. Where turns add one or none it is
at most n more. To see it the operations are followed back, into branches and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.graph import Operation, Value
from lanewise.ops.checks import checked
from lanewise.ops.control import BRANCHES, LOOPS, cond, scan
from lanewise.ops.creation import constant, iota, literal
from lanewise.ops.exact import exact
from lanewise.ops.movement import cast, python_slices, slice_
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import Trace, require_trace

#: How many values are looked at, at most.
_LIMIT = 100_000


class _Range(NamedTuple):
    """An integer between two constants, or between some value plus each of them."""

    base: Value | None
    low: int
    high: int

    def plus(self, other: _Range) -> _Range | None:
        if self.base is not None and other.base is not None:
            return None
        return _Range(self.base or other.base, self.low + other.low, self.high + other.high)

    def joined(self, other: _Range) -> _Range | None:
        """Return the range that holds both."""
        if self.base is not other.base:
            return None
        return _Range(self.base, min(self.low, other.low), max(self.high, other.high))


#: An integer, an array whose elements are known, or None for what is not followed.
_Known = _Range | np.ndarray | None


def count_between(tensor: Any) -> tuple[int, int] | None:
    """Return the least and the greatest value that an integer surely lies between, if seen."""
    if not isinstance(tensor, Tensor):
        return int(tensor), int(tensor)
    found = _Follower().outer(require_trace("a length"), read(tensor))
    return found[1:] if isinstance(found, _Range) and found.base is None else None


class _Scope:
    """A graph, or a trace under way: who made its values, and what is known of them."""

    __slots__ = ("known", "makers")

    def __init__(self, operations: Sequence[Operation], known: dict[Value, _Known]) -> None:
        self.makers = {result: op for op in operations for result in op.results}
        self.known = known

    def again(self, known: dict[Value, _Known]) -> _Scope:
        """Return the same graph, on other inputs."""
        scope = object.__new__(_Scope)
        scope.makers, scope.known = self.makers, known
        return scope


#: Comparisons that hold for a counter below an end: whether the end stands first, and whether the
#: counter may reach it.
_COMPARISONS = {
    np.less: (False, 0),
    np.less_equal: (False, 1),
    np.greater: (True, 0),
    np.greater_equal: (True, 1),
}


def _is_and(op: Operation, result: Value) -> bool:
    """Whether a `cond` gives its predicate where that is false: ``predicate and other``."""
    otherwise = op.regions[1]
    output = otherwise.outputs[op.results.index(result)]
    if output in otherwise.inputs:
        return op.operands[1 + otherwise.inputs.index(output)] is op.operands[0]
    made = next((m for m in otherwise.operations if output in m.results), None)
    return made is not None and made.primitive is constant and made.params["data"] == b"\0"


class _Follower:
    def __init__(self) -> None:
        self.left = _LIMIT
        self.scopes: dict[int, _Scope] = {}

    def outer(self, trace: Trace, value: Value) -> _Known:
        """Return what is known of a value of a trace that is open."""
        scope = self.scopes.get(id(trace))
        if scope is None:
            scope = self.scopes[id(trace)] = _Scope(trace.operations, {})
            for source, inner in trace.captures:
                if isinstance(source, tuple):
                    scope.known[inner] = self.outer(*source)
                elif source.dtype.kind in "iu":
                    scope.known[inner] = source
        return self.value(scope, value)

    def value(self, scope: _Scope, value: Value) -> _Known:
        """Return what is known of a value of a graph."""
        if value in scope.known:
            return scope.known[value]
        self.left -= 1
        if self.left < 0:
            return None
        op = scope.makers.get(value)
        result = None if op is None else self._made(scope, op, op.results.index(value))
        if result is None and value.type.dtype.kind in "iu" and not value.type.shape:
            result = _Range(value, 0, 0)
        scope.known[value] = result
        return result

    def _made(self, scope: _Scope, op: Operation, position: int) -> _Known:
        primitive = op.primitive
        if (data := literal(op)) is not None:
            is_integer = data.size == 1 and data.dtype.kind in "iu"
            return _Range(None, data.item(), data.item()) if is_integer else None
        if primitive is iota:
            length = op.params["length"]
            return np.arange(length) if isinstance(length, int) else None
        if primitive is slice_:
            whole = self.value(scope, op.operands[0])
            is_known = isinstance(whole, np.ndarray)
            return whole[python_slices(op.params["index"])] if is_known else None
        if primitive is cast or primitive is checked:
            return self.value(scope, op.operands[0])
        if primitive in BRANCHES:
            return self._branches(scope, op, position)
        if primitive in LOOPS:
            follow = self._scan if primitive is scan else self._while
            return follow(scope, op, position)
        ufunc = op.params["fn"] if primitive is exact else primitive.ufunc
        if ufunc not in (np.add, np.subtract, np.maximum):
            return None
        first, second = (self.value(scope, operand) for operand in op.operands)
        if not isinstance(first, _Range) or not isinstance(second, _Range):
            return None
        if ufunc is np.add:
            return first.plus(second)
        if ufunc is np.subtract:
            return first.plus(_Range(None, -second.high, -second.low)) if not second.base else None
        if first.base is not second.base:
            return None
        return _Range(first.base, max(first.low, second.low), max(first.high, second.high))

    def _branches(self, scope: _Scope, op: Operation, position: int) -> _Known:
        operands = [self.value(scope, operand) for operand in op.operands[1:]]
        result: _Range | None = None
        for region in op.regions:
            inner = _Scope(region.operations, dict(zip(region.inputs, operands, strict=True)))
            end = self.value(inner, region.outputs[position])
            if not isinstance(end, _Range) or end.base in inner.makers:
                return None
            result = end if result is None else result.joined(end)
            if result is None:
                return None
        return result

    def _scan(self, scope: _Scope, op: Operation, position: int) -> _Known:
        length = op.params["length"]
        if position >= op.params["carry"] or not isinstance(length, int):
            return None
        operands = [self.value(scope, operand) for operand in op.operands]
        turn = self._turn(op, operands, position)
        if turn is not None:
            start = operands[op.params["captures"] + position]
            each = _Range(None, length * turn.low, length * turn.high)
            return start.plus(each) if isinstance(start, _Range) else None
        return self._turns(op, operands, position)

    def _while(self, scope: _Scope, op: Operation, position: int) -> _Known:
        """Follow a loop that also counts its turns, up to a number that is known."""
        operands = [self.value(scope, operand) for operand in op.operands]
        turn = self._turn(op, operands, position)
        start = operands[op.params["captures"] + position]
        if turn is None or not isinstance(start, _Range):
            return None
        for count in self._most_turns(op, operands):
            return start.plus(_Range(None, count * min(turn.low, 0), count * max(turn.high, 0)))
        return None

    def _most_turns(self, op: Operation, operands: Sequence[_Known]) -> Iterator[int]:
        """Yield how many turns a `while` takes at most, by each part of its test that tells."""
        test, first = op.regions[0], op.params["captures"]
        known = dict(zip(test.inputs[:first], operands[:first], strict=True))
        scope = _Scope(test.operations, known)
        parts = [test.outputs[0]]
        for part in parts:
            made = scope.makers.get(part)
            if made is None:
                continue
            ufunc = made.primitive.ufunc
            if ufunc in (np.logical_and, np.bitwise_and):
                parts += made.operands
            elif made.primitive is cond and _is_and(made, part):
                parts.append(made.operands[0])
            elif ufunc in _COMPARISONS:
                is_swapped, margin = _COMPARISONS[ufunc]
                counter, end = [self.value(scope, operand) for operand in made.operands][
                    :: -1 if is_swapped else 1
                ]
                if not isinstance(counter, _Range) or not isinstance(end, _Range):
                    continue
                if counter.base not in test.inputs[first:] or end.base is not None:
                    continue
                place = test.inputs.index(counter.base)
                turn, start = self._turn(op, operands, place - first), operands[place]
                is_start_known = isinstance(start, _Range) and start.base is None
                if turn is not None and turn.low >= 1 and is_start_known:
                    yield max(end.high + margin - counter.low - start.low, 0)

    def _turn(self, op: Operation, operands: Sequence[_Known], position: int) -> _Range | None:
        """Return what each turn of a loop adds to a number; None where it does something else."""
        body, first = op.regions[-1], op.params["captures"]
        captures = dict(zip(body.inputs[:first], operands[:first], strict=True))
        end = self.value(_Scope(body.operations, captures), body.outputs[position])
        if isinstance(end, _Range) and end.base is body.inputs[first + position]:
            return _Range(None, end.low, end.high)
        return None

    def _turns(self, op: Operation, operands: Sequence[_Known], position: int) -> _Known:
        """Follow the turns of a `scan` one by one: the number depends on itself and the turn."""
        (body,), first = op.regions, op.params["captures"]
        own, behind = first + position, first + op.params["carry"]
        captures = dict(zip(body.inputs[:first], operands[:first], strict=True))
        scope = _Scope(body.operations, {})
        state = operands[own]
        turns = range(op.params["length"])
        for turn in reversed(turns) if op.params["reverse"] else turns:
            known = {**captures, body.inputs[own]: state}
            for x, given in zip(body.inputs[behind:], operands[behind:], strict=True):
                if isinstance(given, np.ndarray) and given.ndim == 1:
                    known[x] = _Range(None, int(given[turn]), int(given[turn]))
            state = self.value(scope.again(known), body.outputs[position])
            if not isinstance(state, _Range):
                return None
            if state.base in body.inputs or state.base in scope.makers:
                return None
        return state
