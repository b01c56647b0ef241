"""Derivatives of one's own: `custom_gradient`, `custom_jvp`, `stop_gradient`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.mapping import close
from lanewise.autograph.calls import fn
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.graph import Graph, Value
from lanewise.ir.location import here
from lanewise.ops.custom import custom
from lanewise.ops.custom import stop_gradient as stop
from lanewise.ops.movement import broadcast_to
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor, emit, lift, read
from lanewise.trace.trace import Trace, current_trace, require_trace, resolve
from lanewise.trace.variable import Variable
from lanewise.transforms.derivation import is_differentiable


def stop_gradient(x: Any) -> Any:
    """Return x, as a constant to derivatives.

    Parameters
    ----------
    x : array or tree of arrays
        What derivatives should not go through.

    Returns
    -------
    array or tree of arrays
        The same numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.grad(lambda x: x * lw.stop_gradient(x))(3.0)
    array(3.)
    """

    def stopped(leaf: Any) -> Any:
        return emit(stop, leaf) if isinstance(leaf, (Tensor, Variable)) else leaf

    return x if current_trace() is None else tree.map_leaves(stopped, x)


class CustomGradient:
    """A function that returns its value and its pullback; see `custom_gradient`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        update_wrapper(self, func)
        self._func = func

    def __call__(self, *args: Any) -> Any:
        if not _is_traced(args):
            return _pair(self._func(*args), self._func)[0]
        return _recorded(self, args)

    def primal(self, *args: Any) -> Any:
        """Return the value alone, in a trace."""
        return _pair(fn(self._func)(*args), self._func)[0]

    def derive(
        self, trace: Trace, tensors: list[Tensor], structure: Any
    ) -> tuple[Any, list[Value], Graph, int | None]:
        """Record the function in a trace, and its pullback as a graph of its own.

        Returns the result, what the pullback has from the trace, its graph, and how many those are.
        """
        result, pullback = _pair(
            fn(self._func)(*tree.unflatten(structure, list(tensors))), self._func
        )
        outputs, shape = tree.flatten(result)
        values = [lift(x) for x in outputs]
        with Trace(pullback) as back:
            cts = [Tensor(back, back.input(v.type)) for v in values if is_differentiable(v.type)]
            seeds = iter(cts)
            given = [
                next(seeds) if is_differentiable(v.type) else np.zeros(v.type.shape) for v in values
            ]
            with _rule_of(self):
                found = fn(pullback)(*_spread(tree.unflatten(shape, given)))
            found = found if isinstance(found, (tuple, list)) else (found,)
            parts = _parts(self._func, structure, found, tensors)
        count = len(cts)
        graph = close(back, parts, count)
        sources = [
            resolve(s[1], s[0]) if isinstance(s, tuple) else trace.capture(s)
            for s, _ in back.captures
        ]
        graph = Graph(
            [*graph.inputs[count:], *graph.inputs[:count]], graph.operations, graph.outputs
        )
        return result, sources, graph, len(sources)


def custom_gradient(func: Callable[..., Any]) -> CustomGradient:
    """Give a function a gradient of its own.

    Parameters
    ----------
    func : callable
        Takes arrays, or trees of them; returns a pair: its value, and a function of the gradient in
        the value (for each part of the value an argument) that returns the gradient in each of its
        arguments.

    Returns
    -------
    callable
        Returns the value. Derivatives use the pullback; they may be taken again.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.custom_gradient
    ... def log1pexp(x):
    ...     e = np.exp(x)
    ...     return np.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    >>> lw.vmap(lw.grad(log1pexp))(np.array([0.0, 100.0]))
    array([0.5, 1. ])
    """
    return CustomGradient(func)


class CustomJvp:
    """A function with a forward derivative of its own; see `custom_jvp`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        update_wrapper(self, func)
        self._func = func
        self._rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the derivative: of tuples of primals and of tangents, the value and its tangent."""
        self._rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        if not _is_traced(args):
            return self._func(*args)
        if self._rule is None:
            raise TypeError(
                f"{function_name(self._func)} has no derivative yet: give it one by defjvp"
            )
        return _recorded(self, args)

    def primal(self, *args: Any) -> Any:
        """Return the value, in a trace."""
        return fn(self._func)(*args)

    def derive(
        self, trace: Trace, tensors: list[Tensor], structure: Any
    ) -> tuple[Any, list[Value], Graph, int | None]:
        """Record the function in a trace, and its rule as a graph of its own.

        Returns the result, what the rule has from the trace, its graph, and None.
        """
        args = tree.unflatten(structure, list(tensors))
        result = fn(self._func)(*args)
        values = [lift(x) for x in tree.flatten(result)[0]]
        with Trace(self._rule) as rule:
            primals = [Tensor(rule, rule.input(x._type), None, x._weak) for x in tensors]
            moved = [
                Tensor(rule, rule.input(x._type), None, x._weak)
                for x in tensors
                if is_differentiable(x._type)
            ]
            left = iter(moved)
            tangents = [
                next(left) if is_differentiable(x._type) else np.zeros(x.shape) for x in tensors
            ]
            with _rule_of(self):
                found = fn(self._rule)(
                    tuple(tree.unflatten(structure, primals)),
                    tuple(tree.unflatten(structure, tangents)),
                )
            _, tangent = _pair(found, self._rule)
            parts = [
                _fitted(x, v)
                for x, v in zip(tree.flatten(tangent)[0], values, strict=True)
                if is_differentiable(v.type)
            ]
        graph = close(rule, parts, len(primals) + len(moved))
        sources = [
            resolve(s[1], s[0]) if isinstance(s, tuple) else trace.capture(s)
            for s, _ in rule.captures
        ]
        return result, sources, graph, None


def custom_jvp(func: Callable[..., Any]) -> CustomJvp:
    """Give a function a forward derivative of its own, by ``defjvp``.

    Parameters
    ----------
    func : callable
        Takes and returns arrays, or trees of them.

    Returns
    -------
    callable
        The function; its method ``defjvp(rule)`` sets the derivative. ``rule(primals, tangents)``
        returns the value and its tangent, which must be linear in the tangents.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.custom_jvp
    ... def safe_sqrt(x):
    ...     return np.sqrt(x)
    >>> @safe_sqrt.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     y = np.sqrt(x)
    ...     return y, np.where(x > 0, t / (2 * np.where(x > 0, y, 1)), 0)
    >>> lw.vmap(lw.grad(safe_sqrt))(np.array([0.0, 4.0]))
    array([0.  , 0.25])
    """
    return CustomJvp(func)


def _is_traced(args: Sequence[Any]) -> bool:
    return any(isinstance(x, Tensor) for x in tree.flatten(args)[0])


def _pair(result: Any, func: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{function_name(func)} must return a pair{at(here())}")
    return result


def _spread(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (tuple, list)) else (result,)


def _fitted(x: Any, like: Any) -> Value:
    """Return a tangent or cotangent as a value of the type of what it belongs to."""
    type_ = like.type if isinstance(like, Value) else like._type
    if x is None:
        trace = require_trace("a derivative")
        zero = Tensor(trace, trace.scalar(0, type_.dtype))
        return read(emit(broadcast_to, zero, shape=type_.shape) if type_.shape else zero)
    value = lift(x)
    if value.type.shape != type_.shape:
        raise ValueError(
            f"a derivative of one's own has shape {value.type.shape}, but belongs to {type_}"
            f"{at(here())}"
        )
    if value.type.dtype == type_.dtype:
        return value
    return read(Tensor(current_trace(), value).astype(type_.dtype))  # ty: ignore


def _parts(func: Any, structure: Any, found: Sequence[Any], tensors: list[Tensor]) -> list[Value]:
    """Return the cotangents of the leaves of the arguments that have one."""
    wanted = tree.unflatten(structure, list(tensors))
    if len(found) != len(wanted):
        raise ValueError(
            f"the pullback of {function_name(func)} must return the gradient in each of its "
            f"{len(wanted)} arguments, but returned {len(found)}{at(here())}"
        )
    leaves = []
    for own, part in zip(wanted, found, strict=True):
        count = len(tree.flatten(own)[0])
        leaves += [None] * count if part is None else tree.flatten(part)[0]
    return [
        _fitted(part, x)
        for x, part in zip(tensors, leaves, strict=True)
        if is_differentiable(x._type)
    ]


class _Open(threading.local):
    owners: tuple[Any, ...] = ()


_open = _Open()


@contextmanager
def _rule_of(owner: Any) -> Generator[None]:
    """Note, in this thread, whose rule is being recorded."""
    before, _open.owners = _open.owners, (*_open.owners, owner)
    try:
        yield
    finally:
        _open.owners = before


@dataclass(frozen=True, slots=True)
class Deferred:
    """The rules of a call that stands in the function's own rule: recorded when they are needed.

    A rule may call its own function, as in implicit differentiation, where the derivative of the
    root depends on the root. Recorded with it, rules would hold rules for ever.
    """

    owner: Any
    structure: Any
    weak: tuple[type | None, ...]

    def __call__(
        self, types: Sequence[Any]
    ) -> tuple[tuple[Graph, ...], int | None, list[np.ndarray]]:
        """Return the regions, the number of residuals, and what they take beyond the operands."""
        with Trace(self.owner) as trace:
            leaves = [
                Tensor(trace, trace.input(type_), None, weak)
                for type_, weak in zip(types, self.weak, strict=False)
            ]
            call = _prepared(self.owner, leaves, self.structure, self.owner.derive)
        arrays = [source for source, _ in trace.captures]
        if any(isinstance(source, tuple) for source in arrays):
            raise UnsupportedError(
                f"the rule of {function_name(self.owner)} calls the function, which uses what is "
                "computed outside of it. Give it that as an argument"
            )
        more = len(call.operands) - len(types)
        return call.regions, call.residuals, arrays[len(arrays) - more :]


class _Call(NamedTuple):
    """A call that is to be recorded: its operands, regions and `residuals`; and what it returns."""

    operands: tuple[Value, ...]
    regions: tuple[Graph, ...]
    residuals: Any
    structure: Any


def _recorded(owner: Any, args: tuple[Any, ...]) -> Any:
    """Record a call of a function with a derivative of its own."""
    outer = current_trace()
    assert outer is not None
    leaves, structure = tree.flatten(list(args))
    is_within = any(other is owner for other in _open.owners)
    call = _prepared(owner, leaves, structure, None if is_within else owner.derive)
    params = {"residuals": call.residuals}
    results = outer.record(custom, call.operands, params, call.regions)
    return tree.unflatten(call.structure, [Tensor(outer, v) for v in results])


def _prepared(owner: Any, leaves: list[Any], structure: Any, derive: Any) -> _Call:
    """Record a function, and its rule if `derive` is given; else that is deferred."""
    given = [lift(x) for x in leaves]
    weak = tuple([x._weak if type(x) is Tensor else None for x in leaves])
    with Trace(owner) as trace:
        tensors = [
            Tensor(trace, trace.input(v.type), None, kind)
            for v, kind in zip(given, weak, strict=True)
        ]
        sources: list[Value] = []
        rule: Any = None
        residuals: int | None = None
        if derive is None:
            result = owner.primal(*tree.unflatten(structure, list(tensors)))
        else:
            result, sources, rule, residuals = derive(trace, tensors, structure)
        outputs, shape = tree.flatten(result)
        values = [lift(x) for x in outputs]
    if trace.token is not None:
        raise UnsupportedError(
            f"{function_name(owner)} prints, or calls host code (lw.py_func){at(here())}, which a "
            "function with a derivative of its own cannot do. Call it outside, and pass in what it "
            "gives"
        )
    count = len(given)
    primal = close(trace, values, count)
    captured = [resolve(s[1], s[0]) if isinstance(s, tuple) else lift(s) for s, _ in trace.captures]
    operands = (*given, *captured)
    if derive is None:
        return _Call(operands, (primal,), Deferred(owner, structure, weak), shape)
    extra = [v for _, v in trace.captures]
    if residuals is None:
        moving = sum(is_differentiable(v.type) for v in extra)
        rule = _with_captures(rule, primal, sources, count, moving)
        return _Call(operands, (primal, rule), None, shape)
    forward = Graph(primal.inputs, primal.operations, [*primal.outputs, *sources])
    return _Call(operands, (primal, forward, _with_zeros(rule, extra)), residuals, shape)


def _with_zeros(rule: Graph, extra: Sequence[Value]) -> Graph:
    """Return a pullback that gives no gradient in what the function has from outside."""
    with Trace(None) as trace:
        inputs = [trace.input(v.type) for v in rule.inputs]
        found = trace.inline(rule, inputs)
        found += [_fitted(None, v) for v in extra if is_differentiable(v.type)]
    return Graph(trace.inputs, trace.operations, found)


def _with_captures(
    rule: Graph, primal: Graph, sources: Sequence[Value], count: int, moving: int
) -> Graph:
    """Return a rule that takes the operands, what the function has from outside among them.

    What only the rule itself has from outside is computed from those again.
    """
    extra = primal.inputs[count:]
    with Trace(None) as trace:
        operands = [trace.input(v.type) for v in primal.inputs]
        split = len(rule.inputs) - len(sources)
        moved = [trace.input(v.type) for v in rule.inputs[count:split]]
        for v in extra:
            if is_differentiable(v.type):
                trace.input(v.type)
        places = Graph(primal.inputs, primal.operations, sources)
        known = trace.inline(places, operands)
        found = trace.inline(rule, [*operands[:count], *moved, *known])
    return Graph(trace.inputs, trace.operations, found)
