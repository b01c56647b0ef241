"""`custom_vmap`: functions that say themselves how a batch of them is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from lanewise.api.checkpoint import Body, is_traced
from lanewise.autograph.calls import fn
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.graph import Graph, Value, current_builder
from lanewise.ir.location import here
from lanewise.ops.custom import custom_vmap as operation
from lanewise.ops.movement import broadcast_to
from lanewise.ops.registry import Batch
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor, emit, lift
from lanewise.trace.trace import current_trace
from lanewise.transforms.derivation import Derivation


class CustomVmap:
    """A function with a batching rule of its own; see `custom_vmap`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        update_wrapper(self, func)
        self._func = func
        self._rule: Callable[..., Any] | None = None

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the batching rule: ``rule(axis_size, in_batched, *args)``."""
        self._rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        trace = current_trace()
        if trace is None or not is_traced(list(args)):
            return self._func(*args)
        if self._rule is None:
            raise TypeError(
                f"{function_name(self._func)} has no batching rule yet: give it one by def_vmap"
                f"{at(here())}"
            )
        # All leaves become arrays, as the rule is told which of them are batched.
        leaves, structure = tree.flatten(list(args))
        given = [x if isinstance(x, Tensor) else Tensor(trace, lift(x)) for x in leaves]
        body = Body(self._func, tuple(tree.unflatten(structure, given)), {}, "lw.custom_vmap")
        if len(body.operands) != len(given):
            raise UnsupportedError(
                f"{function_name(self._func)} reads an array from outside, which its batching rule "
                f"would not know of{at(here())}. Give it as an argument"
            )
        owner = _Owner(self, structure, body.structure)
        results = trace.record(operation, body.operands, {"owner": owner}, (body.graph,))
        return tree.unflatten(body.structure, [Tensor(trace, v) for v in results])


class _Owner:
    """A custom function and the structures of one call: equal where these are."""

    __slots__ = ("function", "given", "made")

    def __init__(self, function: CustomVmap, given: Any, made: Any) -> None:
        self.function, self.given, self.made = function, given, made

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Owner)
            and self.function is other.function
            and (self.given, self.made) == (other.given, other.made)
        )

    def __hash__(self) -> int:
        return hash((id(self.function), len(str(self.given))))

    def batched(self, batch: Batch, region: Graph, operands: Sequence[Value]) -> list[Value]:
        """Record what the rule does with a batch; each result has the batch as axis 0."""
        rule = self.function._rule
        name = function_name(rule)
        types = [value.type for value in region.outputs]
        with Derivation(rule) as trace:
            tensors = trace.tensors([value.type for value in operands])
            pair = fn(rule)(
                batch.size,
                tree.unflatten(self.given, list(batch.mapped)),
                *tree.unflatten(self.given, tensors),
            )
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"{name} must return a pair: results, and which are batched")
            found, structure = tree.flatten(pair[0])
            flags, _ = tree.flatten(pair[1])
            if structure != self.made or len(flags) != len(found):
                raise ValueError(
                    f"{name} must return results of the structure {self.made}, and for each "
                    f"whether it is batched, not {structure} and {len(flags)} truth values"
                )
            outputs = []
            for x, is_batched, type_ in zip(found, flags, types, strict=True):
                value = lift(x)
                shape = (batch.size, *type_.shape) if is_batched else type_.shape
                if value.type.shape != shape:
                    raise ValueError(
                        f"{name} returned {value.type} where {type_} of a batch of {batch.size} "
                        f"has the shape {shape}"
                    )
                if value.type.dtype != type_.dtype:
                    value = lift(Tensor(trace, value).astype(type_.dtype))
                if not is_batched:
                    whole = (batch.size, *type_.shape)
                    value = emit(broadcast_to, Tensor(trace, value), shape=whole)._value
                outputs.append(value)
        graph = Graph(trace.inputs, trace.operations, outputs)
        return list(current_builder().inline(graph, operands))


def custom_vmap(func: Callable[..., Any]) -> CustomVmap:
    """Give a function a batching rule of its own, by ``def_vmap``.

    Parameters
    ----------
    func : callable
        Takes and returns arrays, or trees of them, and reads no array from outside.

    Returns
    -------
    callable
        The function; its method ``def_vmap(rule)`` sets the rule.
        ``rule(axis_size, in_batched, *args)`` is told for each array of the arguments whether it
        is batched: then it has the batch as axis 0. It returns the results, and for each whether it
        is batched. Derivatives are those of the function.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.custom_vmap
    ... def norm(x):
    ...     return np.sqrt((x * x).sum())
    >>> @norm.def_vmap
    ... def rule(axis_size, in_batched, x):
    ...     return np.linalg.norm(x, axis=1), True
    >>> lw.vmap(norm)(np.array([[3.0, 4.0], [6.0, 8.0]]))
    array([ 5., 10.])
    """
    return CustomVmap(func)
