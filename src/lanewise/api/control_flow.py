"""Control flow by name: `cond`, `switch_case`, `while_loop`, `fori_loop` and `scan`.

Plain ``if``, ``while`` and ``for`` are followed where they stand in a function's source; these are
for functions without source, for code written for other libraries, and for results stacked as a
loop goes. Outside of a traced function they run as plain Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.branches import choose, truth
from lanewise.autograph.builtins import range_
from lanewise.autograph.calls import fn
from lanewise.autograph.loops import accumulate, count, repeat
from lanewise.autograph.values import traced
from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.ops.control import cond as cond_op
from lanewise.ops.control import switch as switch_op
from lanewise.trace import tree
from lanewise.trace.tensor import read
from lanewise.trace.trace import current_trace


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """Call one of two functions, as `pred` says; under a map, for each example its own.

    Parameters
    ----------
    pred : bool or array of one element
        Which of the two is called.
    true_fn, false_fn : callable
        Take the operands. Where examples take different branches, what they return must be of the
        same structure and shapes; dtypes are promoted.
    *operands
        What to call them on.

    Returns
    -------
    array or tree of arrays
        What the function returned.

    Raises
    ------
    ControlFlowError
        If the two return different structures or shapes, and data decide.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> root = lambda x: lw.cond(x > 0, np.sqrt, lambda x: 0.0, x)
    >>> lw.vmap(root)(np.array([4.0, -4.0, 9.0]))
    array([2., 0., 3.])
    """
    _check_callable("cond", true_fn=true_fn, false_fn=false_fn)
    tensor = traced(pred)
    if tensor is None:
        return fn(true_fn if pred else false_fn)(*operands)
    return choose(cond_op, truth(tensor), [fn(true_fn), fn(false_fn)], operands)


def _check_callable(name: str, **functions: Any) -> None:
    """Raise `TypeError` for an argument that is no function, naming it."""
    for argument, function in functions.items():
        if not callable(function):
            kind = type(function).__name__
            raise TypeError(f"{argument} of lw.{name} must be a function, not {kind}{at(here())}")


def switch_case(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Call ``branches[index]``; under a map, for each example its own.

    Parameters
    ----------
    index : int or integer scalar
        Which one, as in indexing a list: negative counts from the end.
    branches : sequence of callable
        Take the operands; what they return must be of the same structure and shapes.
    *operands
        What to call them on.

    Returns
    -------
    array or tree of arrays
        What the function returned.

    Raises
    ------
    IndexError
        If `index` is out of range, naming the example.
    ControlFlowError
        If the functions return different structures or shapes, and data decide.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> shapes = [lambda r: 4 * r**2, lambda r: np.pi * r**2]
    >>> area = lambda kind, r: lw.switch_case(kind, shapes, r)
    >>> lw.vmap(area)(np.array([0, 1, 0]), np.array([1.0, 1.0, 2.0])).round(2)
    array([ 4.  ,  3.14, 16.  ])
    """
    if not branches:
        raise ValueError(f"switch_case has no branches{at(here())}")
    _check_callable("switch_case", **{f"branches[{i}]": f for i, f in enumerate(branches)})
    tensor = traced(index)
    if tensor is None:
        return fn(branches[operator.index(index)])(*operands)
    if tensor.shape or tensor.dtype.kind not in "iu":
        raise TypeError(f"the index of switch_case must be an integer, not {tensor}{at(here())}")
    return choose(switch_op, read(tensor), [fn(branch) for branch in branches], operands)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], state: Any) -> Any:
    """Take turns of `body_fn` on a state while `cond_fn` of it holds.

    Under a map every example takes as many turns as it needs, and no more.

    Parameters
    ----------
    cond_fn : callable
        Takes the state; returns a truth value.
    body_fn : callable
        Takes the state and returns the next, of the same structure and shapes. Dtypes are promoted
        until they are stable.
    state : array, number or a tree of these
        The first state.

    Returns
    -------
    array or tree of arrays
        The first state for which `cond_fn` does not hold.

    Raises
    ------
    ControlFlowError
        If structure or shapes change from turn to turn, and data decide.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def halvings(x):
    ...     return lw.while_loop(lambda s: s[0] > 1, lambda s: (s[0] / 2, s[1] + 1), (x, 0))[1]
    >>> lw.vmap(halvings)(np.array([1.0, 5.0, 1000.0]))
    array([ 0,  3, 10])
    """
    _check_callable("while_loop", cond_fn=cond_fn, body_fn=body_fn)
    return repeat(fn(cond_fn), fn(body_fn), state)


def fori_loop(lower: Any, upper: Any, body_fn: Callable[[Any, Any], Any], state: Any) -> Any:
    """Take a turn of `body_fn` for every integer from `lower` to `upper` - 1.

    Parameters
    ----------
    lower, upper : int or integer scalar
        Where to begin, and where to stop; under a map they may differ between examples.
    body_fn : callable
        Takes the integer and the state; returns the next state.
    state : array, number or a tree of these
        The first state.

    Returns
    -------
    array or tree of arrays
        The last state.

    Raises
    ------
    ControlFlowError
        If structure or shapes change from turn to turn, and data decide.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> factorial = lambda n: lw.fori_loop(1, n + 1, lambda i, p: p * i, 1)
    >>> lw.vmap(factorial)(np.array([0, 3, 5]))
    array([  1,   6, 120])
    """
    _check_callable("fori_loop", body_fn=body_fn)
    return count(range_(lower, upper), fn(body_fn), state)


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Take a turn of `step` for every row of `xs`, and stack what the turns give.

    Parameters
    ----------
    step : callable
        Takes the carry and a row of `xs`; returns the next carry and a result.
    carry : array, number or a tree of these
        The first carry.
    xs : array, tree of arrays, or None
        What to go through, along the first dimension.
    length : int, optional
        The number of turns; needed only where `xs` is None.
    reverse : bool
        Whether to go from the last row to the first. Results are stacked in the order of `xs`.

    Returns
    -------
    carry, ys
        The last carry, and the results stacked along a new first dimension.

    Raises
    ------
    ValueError
        If the first dimensions of `xs`, or `length`, disagree.
    ControlFlowError
        If structure or shapes of the carry change from turn to turn.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> add = lambda total, x: (total + x, total)
    >>> lw.vmap(lambda row: lw.scan(add, 0.0, row))(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([3., 7.]), array([[0., 1.],
           [0., 3.]]))
    """
    _check_callable("scan", step=step)
    rows = tree.flatten(xs)[0]
    lengths: list[Any] = [np.shape(row)[0] if np.ndim(row) else None for row in rows]
    lengths += [] if length is None else [operator.index(length)]
    if not lengths or any(each is None or each != lengths[0] for each in lengths):
        raise ValueError(
            f"scan goes through the first dimension of xs, and length is needed where there is none"
            f": the lengths are {lengths}{at(here())}"
        )
    turns = lengths[0]
    step = fn(step)
    if current_trace() is not None:
        return accumulate(step, carry, xs, turns, reverse)
    results = []
    for index in reversed(range(turns)) if reverse else range(turns):
        carry, result = step(carry, tree.map_leaves(lambda row, i=index: row[i], xs))
        results.append(result)
    results = results[::-1] if reverse else results
    if not results:
        raise ValueError("scan of no rows outside of a traced function: its results have no shape")
    return carry, tree.map_leaves(lambda *leaves: np.stack(leaves), *results)
