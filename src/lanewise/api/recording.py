"""A function that is to be differentiated, recorded on its arguments; and running what it becomes.

Outside of any trace graphs are run right away; inside, they become part of what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lanewise.api.mapping import as_array, called, close, output_value
from lanewise.api.results import assign
from lanewise.autograph.calls import fn
from lanewise.ir.graph import Graph
from lanewise.ir.types import TOKEN, array_type
from lanewise.ops.lists import Arena
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.specialize import at_sizes_of
from lanewise.runtime.dispatch import execute
from lanewise.runtime.owning import own
from lanewise.trace import tree
from lanewise.trace.regions import Watched
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import Stop, current_trace, resolve
from lanewise.trace.variable import Variable, taken

#: The argument for the token that orders effects: prints, and calls of host code.
EFFECT = object()


class Recorded(NamedTuple):
    """A function's graph on certain arguments.

    Attributes
    ----------
    graph
        Takes `arguments`; gives the leaves of the result.
    arguments
        Arrays and tensors: the leaves that the caller named, then what else the function reads.
    structure
        Of the result.
    result
        What the function returned, to name parts of it in messages.
    variables
        Those that the function assigns: the graph gives their values behind the result's leaves.
    """

    graph: Graph
    arguments: list[Any]
    structure: Any
    result: Any
    variables: list[Variable]

    @property
    def size(self) -> int:
        """The number of leaves of the result."""
        return len(self.graph.outputs) - len(self.variables)

    def taken_apart(self, found: Sequence[Any]) -> Any:
        """Return the function's result, of what its graph gave; and assign what it assigned."""
        count = self.size
        assign(list(zip(self.variables, found[count : len(self.graph.outputs)], strict=True)))
        return tree.unflatten(self.structure, list(found[:count]))


def record(func: Callable[..., Any], leaves: Sequence[Any], call: Callable[..., Any]) -> Recorded:
    """Run a function on tensors in place of some arrays.

    Parameters
    ----------
    func
        The user's function.
    leaves
        Arrays and tensors that become inputs.
    call
        Calls the function it is given, with tensors for the leaves.
    """
    with Watched(func) as trace:  # which knows what lists and dicts the function has made
        weak = [x._weak if type(x) is Tensor else None for x in leaves]
        inputs = [trace.input(array_type(x.dtype, x.shape)) for x in leaves]
        tensors = [Tensor(trace, x, None, w) for x, w in zip(inputs, weak, strict=True)]
        result, has_stopped = called(func, trace, call, fn(func), tensors)
        found, structure = tree.flatten(result)
        outputs = [
            output_value(leaf, index, result, func, "differentiated")
            for index, leaf in enumerate(found)
        ]
        assigned = taken(trace)
        trace.forget()
    outputs += [value for _, value, _ in assigned]
    graph = close(trace, outputs, len(leaves))
    sources = [_source(source) for source, _ in trace.captures]
    if trace.token is not None:
        sources.append(EFFECT)
        graph = Graph(graph.inputs, graph.operations, outputs)
    if has_stopped:  # one of its branches raises, when it runs
        apply(graph, [*leaves, *sources])
        raise Stop
    variables = [variable for variable, *_ in assigned]
    return Recorded(graph, [*leaves, *sources], structure, result, variables)


def _source(source: Any) -> Any:
    """Return what a trace captured: an array, or a value of the trace around as a tensor."""
    if not isinstance(source, tuple):
        return source
    return Tensor(current_trace(), resolve(source[1], source[0]))  # ty: ignore[invalid-argument-type]


def apply(graph: Graph, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a graph on arrays: run now, or recorded where that is needed."""
    graph = merge_repeated(eliminate_dead(graph))
    trace = current_trace()
    is_effectful = any(x is EFFECT for x in arguments)
    if is_effectful:
        *_, last = (v for op in graph.operations for v in op.results if v.type is TOKEN)
        graph = Graph(graph.inputs, graph.operations, [*graph.outputs, last])
    if trace is not None and (is_effectful or any(isinstance(x, Tensor) for x in arguments)):
        values = [trace.next_token() if x is EFFECT else lift(x) for x in arguments]
        # A pullback that was made for lists of any length has those of its own by now.
        found = trace.inline(at_sizes_of(graph, values), values)
        if is_effectful:
            trace.set_token(found.pop())
        return [Tensor(trace, value) for value in found]
    arguments = [None if x is EFFECT else x for x in arguments]
    # A pullback may run many times, and at once: what it appends is nobody else's.
    arguments = [x.fork() if isinstance(x, Arena) else x for x in arguments]
    results = execute(None if is_effectful else graph.key, lambda: graph, arguments)
    if is_effectful:
        results = results[:-1]
    arrays = iter(own([x for x in results if not isinstance(x, Arena)], arguments))
    return [x if isinstance(x, Arena) else next(arrays) for x in results]


def leaf_array(leaf: Any, path: Callable[[], str]) -> Any:
    """Return an argument as an array or tensor that a graph takes."""
    return leaf if isinstance(leaf, Tensor) else as_array(leaf, path)
