"""`py_func` and `print`: host code inside a traced function."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.api.spec import TensorSpec
from lanewise.autograph.messages import LATE, deferred, print_
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.host import checked
from lanewise.ops.host import py_func as py_func_op
from lanewise.trace import tree
from lanewise.trace.foreign import check_dtype
from lanewise.trace.mixed import by_class
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import current_trace, require_trace


def print(
    *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None,
    flush: bool = False,
) -> None:  # fmt: skip
    """Print at every run of a traced function, in the order of the program.

    Python's own ``print`` does so too where it prints numbers that are traced, where data decide
    and in mapped functions; what else a traced function prints, it prints while it is traced.

    Parameters
    ----------
    *values, sep, end, file, flush
        As for Python's ``print``. In a mapped function each example prints.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.function
    ... def halve(x):
    ...     lw.print("halving", x)
    ...     return x / 2
    >>> halve(np.array(3.0))
    halving 3.0
    np.float64(1.5)
    >>> halve(np.array(5.0))
    halving 5.0
    np.float64(2.5)
    """
    handle = deferred()
    if handle is None:
        builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
    else:
        print_(handle, print, *values, sep=sep, end=end, file=file, flush=flush)


LATE.add(print)


def py_func(
    func: Callable[..., Any], inputs: Sequence[Any], output_types: Any, *, vectorized: bool = False
) -> Any:
    """Call a Python function on the numbers themselves, inside a function that is traced.

    Parameters
    ----------
    func : callable
        Takes one ``numpy.ndarray`` an input, its own copy; returns arrays as announced.
    inputs : sequence of array_like
        What to call it on.
    output_types : dtype, TensorSpec, tree of TensorSpec, or None
        What it returns: a dtype for an array shaped like the first input, a `TensorSpec` for any
        other, a tree of these for several, None for no result.
    vectorized : bool
        Under a map, call `func` once for the whole batch, with the batch as axis 0 of every input
        and every result, rather than once for each example in order.

    Returns
    -------
    array or tree of arrays
        What `func` returned.

    Raises
    ------
    TypeError
        If `func` returns something else than announced. What `func` itself raises passes through
        with its type.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> total = lambda row: lw.py_func(lambda r: float(sum(r)), [row], lw.TensorSpec((), float))
    >>> lw.vmap(total)(np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    """
    if not callable(func):
        raise TypeError(f"py_func takes a function, not {type(func).__name__}")
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(
            f"py_func takes a list of inputs, not {type(inputs).__name__}; write [x] for one"
        )
    specs, structure = tree.flatten(output_types)
    types = tuple([_type_of(spec, inputs) for spec in specs])

    def flat(*arrays: np.ndarray) -> list[Any]:
        result = func(*arrays)
        try:
            return tree.parts(output_types, result, "output_types", "what the function returned")
        except ValueError as error:
            raise TypeError(f"py_func: {error}") from None

    trace = current_trace()
    if trace is None:
        found = flat(*[np.array(value) for value in inputs])
        results = [checked(r, t)[()] for r, t in zip(found, types, strict=True)]
        return tree.unflatten(structure, results)
    params = {"func": flat, "types": types, "vectorized": bool(vectorized)}

    def called(*inputs: Any) -> Any:
        trace = require_trace("py_func")
        values = [lift(value, "an input of py_func") for value in inputs]
        token, *results = trace.record(py_func_op, (trace.next_token(), *values), params)
        trace.set_token(token)
        return tree.unflatten(structure, [Tensor(trace, value) for value in results])

    return by_class(called, *inputs)


def _type_of(spec: Any, inputs: Sequence[Any]) -> ArrayType:
    """Return the type that an announced result has: a `TensorSpec`, or a dtype."""
    dtype = spec.dtype if isinstance(spec, TensorSpec) else np.dtype(spec)
    check_dtype(dtype, "a result of py_func")
    if isinstance(spec, TensorSpec):
        if not spec.is_known:
            raise ValueError(f"a result of py_func must have a known shape, not {spec}")
        return array_type(dtype, spec.shape)
    if not inputs:
        raise ValueError("py_func without inputs needs a TensorSpec: a dtype alone has no shape")
    return array_type(dtype, np.shape(inputs[0]))
