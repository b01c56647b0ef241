"""`while` loops that end by Python's own numbers: how often they go on, as a ``for`` loop knows.

``while i < n: ...; i += 1`` is ``for i in range(i, n): ...`` if `i` changes in no other way. What
changes by the same step in each iteration is seen in the first ones. The test, which computes with
such numbers alone, is asked how many more there are, and the loop is recorded as such a ``for``
loop is. Whether the numbers and the test are what they were taken for shows in what was recorded.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lanewise.autograph.values import traced
from lanewise.ir.graph import Value
from lanewise.ir.types import has_dim
from lanewise.trace.provenance import distance
from lanewise.trace.regions import Region
from lanewise.trace.tensor import Tensor, read

#: How many iterations are counted at most.
MOST = 100_000
#: What a test may consist of that gives the same whenever it is asked, and does nothing else.
PURE = (
    ast.Add, ast.And, ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Eq, ast.FloorDiv,
    ast.Gt, ast.GtE, ast.Load, ast.Lt, ast.LtE, ast.Mult, ast.Name, ast.Not, ast.NotEq, ast.Or,
    ast.Sub, ast.UnaryOp, ast.USub,
)  # fmt: skip
_SIZES = ("ndim", "shape", "size")


def names_in(test: ast.expr) -> frozenset[str] | None:
    """Return the names in a test of numbers and sizes of arrays; None for any other."""
    names: set[str] = set()
    waiting: list[ast.AST] = [test]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(name):
                names.add(name)
            case ast.Call(ast.Name("len"), [ast.Name(name)], []):
                names.add(name)
            case ast.Attribute(ast.Name(name), attribute) if attribute in _SIZES:
                names.add(name)
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant()):
                names.add(name)
            case _ if isinstance(node, PURE):
                waiting += ast.iter_child_nodes(node)
            case _:
                return None
    return frozenset(names)


class Sized:
    """What stands for an array whose shape a test asks for, and notes it if it asks for more."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.ndim, self.size = shape, len(shape), math.prod(shape)
        self.is_read = any([size < 0 for size in shape])

    def __len__(self) -> int:
        return max(self.shape[0], 0)

    def _read(self, *others: Any) -> bool:
        self.is_read = True
        return False

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _read
    __floordiv__ = __rfloordiv__ = _read
    __hash__ = None


class Counted:
    """Variables that change by the same step in each iteration.

    Attributes
    ----------
    others
        The positions of all other variables. Of some of them, arrays, the shapes change so.
    """

    __slots__ = ("_shapes", "_starts", "_steps", "others")

    def __init__(
        self,
        starts: dict[int, int],
        steps: dict[int, int],
        shapes: dict[int, tuple[int, ...]],
        size: int,
    ) -> None:
        self._starts, self._steps, self._shapes = starts, steps, shapes
        self.others = [i for i in range(size) if i not in steps]

    def asked(self, state: Sequence[Any], index: int) -> tuple[Any, ...]:
        """Return a state to ask the test of an iteration from now on, which reads no arrays."""
        held = list(self.at(state, index))
        for position, steps in self._shapes.items():
            shape = zip(held[position].shape, steps, strict=True)
            held[position] = Sized(tuple([size + index * step for size, step in shape]))
        return tuple(held)

    def at(self, state: Sequence[Any], index: Any) -> tuple[Any, ...]:
        """Return a state with what these variables are at an iteration from now on."""
        held = list(state)
        for position, step in self._steps.items():
            held[position] = index * step + self._starts[position]
        return tuple(held)

    def rest(self, state: Sequence[Any]) -> tuple[Any, ...]:
        """Return what the other variables hold."""
        return tuple([state[i] for i in self.others])

    def whole(self, rest: Sequence[Any], index: Any) -> tuple[Any, ...]:
        """Return a state of what the other variables hold, and these at an iteration."""
        held: list[Any] = [None] * (len(rest) + len(self._steps))
        for position, value in zip(self.others, rest, strict=True):
            held[position] = value
        return self.at(held, index)

    def since(self, turns: int) -> Counted:
        """Return these from so many iterations before."""
        starts = {at: start - turns * self._steps[at] for at, start in self._starts.items()}
        return Counted(starts, self._steps, self._shapes, len(self.others) + len(self._steps))

    def has_stepped(self, before: Sequence[Any], after: Sequence[Any]) -> bool:
        """Whether these variables surely have changed by their steps in an iteration."""
        for position, step in self._steps.items():
            old, new = before[position], after[position]
            if isinstance(old, Tensor):
                if traced(new) is None or new._weak is not int or distance(old, new) != step:
                    return False
            elif type(new) is not int or new - old != step:
                return False
        return True


def counted(states: Sequence[Sequence[Any]], tested: Sequence[int]) -> Counted | None:
    """Return the variables that change by the same step, if the test depends on no others.

    Parameters
    ----------
    states
        What the variables held before each of the last iterations, and hold now.
    tested
        The positions of those in the test.
    """
    steps: dict[int, int] = {}
    for position, row in enumerate(zip(*states, strict=True)):
        if all([type(x) is int for x in row]):
            found = {new - old for old, new in pairwise(row)}
            if len(found) == 1 and found != {0}:
                steps[position] = found.pop()
    now = states[-1]
    shapes = {i: found for i in tested if (found := _growth([row[i] for row in states]))}
    others = [position for position in tested if position not in steps and position not in shapes]
    if len(others) == len(tested) or any([states[0][i] is not now[i] for i in others]):
        return None
    return Counted({position: now[position] for position in steps}, steps, shapes, len(now))


def _growth(row: Sequence[Any]) -> tuple[int, ...] | None:
    """Return by how much arrays are larger than those before along each axis; None if by nothing.

    None also for anything else, and if each is larger by another number.
    """
    if not all([isinstance(x, (Tensor, np.ndarray)) for x in row]) or has_dim(
        [x.shape for x in row]
    ):
        return None
    if len({len(x.shape) for x in row}) > 1:
        return None
    found = {
        tuple([new - old for old, new in zip(before.shape, after.shape, strict=True)])
        for before, after in pairwise(row)
    }
    return steps if len(found) == 1 and any(steps := found.pop()) else None


def depends_on(answer: Any, index: Tensor, region: Region) -> bool:
    """Whether a test has computed its answer of the number of the iteration alone."""
    tensor = traced(answer)
    if tensor is None:
        return bool(answer) is True
    makers = {result: op for op in region.operations for result in op.results}
    allowed, waiting, seen = read(index), [read(tensor)], set[Value]()
    while waiting:
        value = waiting.pop()
        if value is allowed or value in seen:
            continue
        seen.add(value)
        if value not in makers:
            return False
        waiting += makers[value].operands
    return True
