"""`checkpoint`: derivatives that compute again instead of keeping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.api.mapping import close
from lanewise.api.results import assign
from lanewise.api.transformed import transformed
from lanewise.autograph.calls import fn
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.graph import Graph
from lanewise.ir.location import here
from lanewise.ops.custom import checkpoint as checkpoint_op
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor, lift, read
from lanewise.trace.trace import Trace, current_trace, resolve
from lanewise.trace.variable import taken


class Body:
    """A function recorded on a call's arguments, to be an operation with a region.

    Attributes
    ----------
    graph
        Takes the operands; gives the leaves of the result.
    operands
        Values of the trace around: the arrays among the arguments, then what the function captures.
    count
        How many operands are arguments.
    structure
        Of the result.
    variables
        Those that the function assigns, if it may: the graph gives their values last.
    """

    __slots__ = ("count", "graph", "operands", "structure", "variables")

    def __init__(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        what: str,
        assigns: bool = False,
    ) -> None:
        leaves, structure = tree.flatten((list(args), kwargs))
        places = [n for n, x in enumerate(leaves) if isinstance(x, (Tensor, np.ndarray))]
        given = [lift(leaves[n]) for n in places]
        weak = [leaves[n]._weak if isinstance(leaves[n], Tensor) else None for n in places]
        with Trace(func) as trace:
            tensors = [
                Tensor(trace, trace.input(v.type), None, kind)
                for v, kind in zip(given, weak, strict=True)
            ]
            for n, tensor in zip(places, tensors, strict=True):
                leaves[n] = tensor
            positional, named = tree.unflatten(structure, leaves)
            result = fn(func)(*positional, **named)
            found, self.structure = tree.flatten(result)
            values = [lift(x) for x in found]
            inputs = trace.inputs[: len(given)]
            written = [read(t) is not v for t, v in zip(tensors, inputs, strict=True)]
            assigned = taken(trace) if assigns else []
        if trace.token is not None or any(written):
            did = "writes to its arguments" if any(written) else "prints or calls host code"
            raise UnsupportedError(
                f"{function_name(func)} {did}, which a function under {what} cannot"
                f"{at(here())}, as it may run again. Let it return what it changes"
            )
        self.variables = [variable for variable, *_ in assigned]
        values += [value for _, value, _ in assigned]
        self.graph: Graph = close(trace, values, len(given))
        captured = [
            resolve(s[1], s[0]) if isinstance(s, tuple) else lift(s) for s, _ in trace.captures
        ]
        self.operands = (*given, *captured)
        self.count = len(given)


def is_traced(args: Any) -> bool:
    """Whether there are tensors in a tree."""
    return any(isinstance(x, Tensor) for x in tree.flatten(args)[0])


def checkpoint(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, of which derivatives keep the arguments only.

    Reverse mode keeps what it needs of a function's inner values until it goes back through it.
    Under `checkpoint` it keeps what the function is given, and computes the rest again. In a loop
    that saves most of the memory: put what a turn does in a function under `checkpoint`. Of nested
    loops, an outer turn that is under `checkpoint` saves nothing of the inner turns.

    Parameters
    ----------
    func : callable
        Takes and returns arrays, or trees of them. It may not write to its arguments, nor print.

    Returns
    -------
    callable
        The same function.

    Raises
    ------
    UnsupportedError
        If the function writes to its arguments, prints, or calls host code.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.checkpoint
    ... def step(x):
    ...     for _ in range(100):
    ...         x = x + 0.01 * np.sin(x)
    ...     return x
    >>> def loss(x):
    ...     for _ in range(3):
    ...         x = step(x)
    ...     return x
    >>> lw.vmap(lw.grad(loss))(np.array([0.0, 3.0])).round(6)
    array([19.788466,  0.049291])
    """

    @transformed(checkpoint, func)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is None or not is_traced((list(args), kwargs)):
            return func(*args, **kwargs)
        body = Body(func, args, kwargs, "lw.checkpoint", assigns=True)
        results = trace.record(checkpoint_op, tuple(body.operands), {}, (body.graph,))
        found = [Tensor(trace, v) for v in results]
        count = len(found) - len(body.variables)
        assign(list(zip(body.variables, found[count:], strict=True)))
        return tree.unflatten(body.structure, found[:count])

    return checkpointed
