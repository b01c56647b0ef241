"""`while` loops that Python's own numbers end however these change: they are computed ahead.

``while t < end: ...; t += dt`` goes on as often as `t` says, to which nothing but arithmetic is
done. The statements that assign such variables are a function of their own, which is run until the
test fails. Then it is known how many iterations there are, and the loop is recorded as a ``for``
loop is; see `lanewise.autograph.counted` for those of which the numbers count.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.build import clone, function, place_all, tuple_
from lanewise.autograph.counted import PURE

_ARITHMETIC = (*PURE, ast.Div, ast.Mod, ast.Pow, ast.IfExp, ast.UAdd)
_FUNCTIONS = frozenset(("abs", "max", "min"))


class _Other(Exception):  # noqa: N818 (nothing went wrong)
    """Ends the search where more than arithmetic is done."""


def steps_in(
    loop: ast.While, tested: frozenset[str], carried: Sequence[str], made: str
) -> tuple[list[int], ast.FunctionDef] | None:
    """Return which variables a test needs, and a function that gives them after an iteration.

    None if the body does more than arithmetic to assign them, or assigns none of them.

    Parameters
    ----------
    carried
        The names of the variables that an iteration hands to the next.
    made
        The name of the function.
    """
    changed = _assigned(loop.body)
    names, before = tested & changed, frozenset[str]()
    statements: list[ast.stmt] = []
    try:
        while names != before:
            before = names
            statements = _of(loop.body, names)
            read = {x.id for s in statements for x in ast.walk(s) if isinstance(x, ast.Name)}
            names |= read & changed
    except _Other:
        return None
    positions = [at for at, name in enumerate(carried) if name in names]
    if not positions:
        return None
    own = [carried[at] for at in positions]
    step = function(made, own, [*statements, ast.Return(tuple_(own))])
    place_all([step], loop.test)
    return positions, step


def _assigned(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the names that statements assign, or define, or let functions assign."""
    found: set[str] = set()
    for node in [part for each in nodes for part in ast.walk(each)]:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        for attribute in ("name", "asname", "rest"):
            if isinstance(name := getattr(node, attribute, None), str):
                found.add(name)
    return frozenset(found)


def _of(body: Sequence[ast.stmt], names: frozenset[str]) -> list[ast.stmt]:
    """Return what statements do to some variables; raise `_Other` if that is not arithmetic."""
    found: list[ast.stmt] = []
    for node in body:
        if names.isdisjoint(_assigned([node])):
            continue
        match node:
            case ast.If():
                _require(node.test)
                then, other = _of(node.body, names), _of(node.orelse, names)
                found.append(ast.If(clone(node.test), then or [ast.Pass()], other))
            case ast.AugAssign(ast.Name(), _, value):
                _require(value, node.op)
                found.append(clone(node))
            case ast.Assign([ast.Name()], value):
                _require(value)
                found.append(clone(node))
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                pairs = list(zip(targets, values, strict=True))
                own = [(x, v) for x, v in pairs if isinstance(x, ast.Name) and x.id in names]
                is_plain = not any([isinstance(x, ast.Starred) for pair in pairs for x in pair])
                if not is_plain or {x.id for x, _ in own} != names & _assigned([node]):
                    raise _Other
                _require(*[v for _, v in own])
                sides = [[clone(side) for side in row] for row in zip(*own, strict=True)]
                left, right = ast.Tuple(sides[0], ast.Store()), ast.Tuple(sides[1], ast.Load())
                found.append(ast.Assign([left], right))
            case _:
                raise _Other
    return found


def _require(*nodes: ast.AST) -> None:
    """Raise `_Other` if an expression is more than arithmetic."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id not in _FUNCTIONS:
                raise _Other
            waiting += node.args
        elif isinstance(node, _ARITHMETIC):
            waiting += ast.iter_child_nodes(node)
        else:
            raise _Other


class Ahead:
    """Variables that are computed ahead, and the positions of all.

    Attributes
    ----------
    others
        The positions of the variables that a loop hands on: all.
    """

    __slots__ = ("_count", "_now", "_positions", "_step", "others")

    def __init__(
        self, step: Callable[..., tuple[Any, ...]], positions: Sequence[int], size: int
    ) -> None:
        self._step, self._positions = step, positions
        self._now: tuple[Any, ...] = ()
        self._count = 0
        self.others = list(range(size))

    def asked(self, state: Sequence[Any], index: int) -> tuple[Any, ...] | None:
        """Return a state to ask the test of the next iteration; None if nobody knows it."""
        try:
            now = self._step(*self._now) if index else [state[at] for at in self._positions]
        except Exception:  # the iterations one by one will show it
            return None
        self._now, self._count = tuple(now), index
        return self.whole(state, index) if all(map(_is_plain, self._now)) else None

    def since(self, turns: int) -> Ahead:
        """Return these from so many iterations before."""
        return self

    def rest(self, state: Sequence[Any]) -> tuple[Any, ...]:
        """Return what the variables hold."""
        return tuple(state)

    def whole(self, rest: Sequence[Any], index: Any) -> tuple[Any, ...]:
        """Return a state in an iteration; behind the last one, with what was computed last."""
        held = list(rest)
        if type(index) is int and index == self._count:
            for position, value in zip(self._positions, self._now, strict=True):
                held[position] = value
        return tuple(held)


def _is_plain(x: Any) -> bool:
    """Whether a value is a number that a trace holds as it is."""
    if type(x) is int:
        return abs(x) < 2**62
    return type(x) in (bool, float) or isinstance(x, np.generic)
