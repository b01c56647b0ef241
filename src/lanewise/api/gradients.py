"""Gradients, vector-Jacobian and Jacobian-vector products of functions of arrays in trees."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.api.elsewhere import answers
from lanewise.api.recording import Recorded, apply, leaf_array, record
from lanewise.api.transformed import transformed
from lanewise.errors import at, function_name
from lanewise.ir.graph import Graph
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor, read
from lanewise.transforms.derivation import Derivation
from lanewise.transforms.linearize import jvp as jvp_graph
from lanewise.transforms.linearize import linearize as linearize_graph
from lanewise.transforms.linearize import moves
from lanewise.transforms.transpose import transpose

Argnums = int | Sequence[int]


@answers("gradient")
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradient of a function.

    It works through NumPy code as it is: branches, loops of any number of turns, in-place writes.

    Parameters
    ----------
    func : callable
        Returns one real number; with `has_aux` a pair of that and anything else.
    argnums : int or tuple of int
        Which positional arguments to differentiate in: arrays of floats, or trees of them.
    has_aux : bool
        Whether `func` returns more, which is handed on.

    Returns
    -------
    callable
        Takes the arguments of `func`; returns the gradient, like the argument, or a tuple of them
        if `argnums` is one; with `has_aux` a pair of that and the rest.

    Raises
    ------
    TypeError
        If an argument holds integers or truth values, or `func` returns more than a real number.
    UnsupportedError
        If something in it has no derivative, naming the line.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.grad(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> def root(a):
    ...     x = a
    ...     while abs(x * x - a) > 1e-12:
    ...         x = (x + a / x) / 2
    ...     return x
    >>> lw.vmap(lw.grad(root))(np.array([0.25, 4.0, 25.0])).round(6)
    array([1.  , 0.25, 0.1 ])
    """
    both = value_and_grad(func, argnums, has_aux)

    @transformed(grad, func, argnums=argnums, has_aux=has_aux)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


@answers("gradient")
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """Return a function that gives a function's value and its gradient.

    Parameters
    ----------
    func, argnums, has_aux
        As for `grad`.

    Returns
    -------
    callable
        Returns a pair: the value, or with `has_aux` the pair that `func` returns; and the gradient.

    Raises
    ------
    TypeError, UnsupportedError
        As `grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.value_and_grad(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    (array(5.), array([2., 4.]))
    """
    numbers = checked_argnums(argnums)

    @transformed(value_and_grad, func, argnums=argnums, has_aux=has_aux)
    def both(*args: Any, **kwargs: Any) -> Any:
        call = Call(func, args, kwargs, numbers, "grad")
        recorded = call.recorded
        _, count = differentiated(func, recorded, has_aux)
        leaves = recorded.graph.outputs
        if count != 1 or leaves[0].type.shape:
            what = f"{count} arrays" if count != 1 else f"{leaves[0].type}"
            raise TypeError(
                f"grad: {function_name(func)} must return one number, but returned {what}"
                f"{at(here())}. Sum it, or use jacrev, or vjp"
            )
        if leaves[0].type.dtype.kind != "f":
            raise TypeError(
                f"grad: {function_name(func)} must return a float, but returned "
                f"{leaves[0].type.dtype}{at(here())}"
            )
        graph = _gradient(recorded.graph, call.active)
        found = apply(graph, recorded.arguments)
        value = recorded.taken_apart(found)
        parts = call.parts(found[len(leaves) :])
        return value, parts[0] if isinstance(argnums, int) else tuple(parts)

    return both


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return a function's value, and the function that pulls cotangents back to its arguments.

    Parameters
    ----------
    func : callable
        Returns arrays, in any tree.
    *primals
        Its arguments: arrays of floats, or trees of them.
    has_aux : bool
        Whether `func` returns a pair of that and anything else, which is handed on.

    Returns
    -------
    value, pullback
        ``pullback(cotangent)`` takes what is like the value, and returns a tuple with an entry for
        each argument: the cotangent times the Jacobian. It can be mapped over a basis. With
        `has_aux` the rest comes third.

    Raises
    ------
    TypeError, UnsupportedError
        As `grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> y, pullback = lw.vjp(lambda v: v**2, np.array([1.0, 2.0]))
    >>> lw.vmap(pullback)(np.eye(2))[0]
    array([[2., 0.],
           [0., 4.]])
    """
    call = Call(func, primals, {}, tuple(range(len(primals))), "vjp")
    recorded = call.recorded
    structure, count = differentiated(func, recorded, has_aux)
    outputs = recorded.graph.outputs
    wanted = [
        is_moved and number < count
        for number, is_moved in enumerate(moves(recorded.graph, call.active))
    ]
    lin = linearize_graph(recorded.graph, call.active, wanted)
    found = apply(lin.primal, recorded.arguments)
    kept = iter(found[len(outputs) :])
    residuals = [next(kept) if s is None else recorded.arguments[s] for s in lin.sources]
    moving = sum(call.active)
    back = transpose(lin.linear, [False] * len(residuals) + [True] * moving).graph

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        cts = like("pullback: the cotangent", cotangent, structure, outputs[:count])
        given = [ct for ct, is_moved in zip(cts, wanted[:count], strict=True) if is_moved]
        return tuple(call.parts(apply(back, [*residuals, *given])))

    result = recorded.taken_apart(found)
    return (result[0], pullback, result[1]) if has_aux else (result, pullback)


def jvp(
    func: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Return a function's value, and how it changes as its arguments change.

    Parameters
    ----------
    func : callable
        Returns arrays, in any tree.
    primals : tuple or list
        Its arguments: arrays of floats, or trees of them.
    tangents : tuple or list
        The change of each argument, like the argument.

    Returns
    -------
    value, tangent
        The tangent is like the value: the Jacobian times the tangents.

    Raises
    ------
    TypeError, UnsupportedError
        As `grad` does.
    ValueError
        If the tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.jvp(np.square, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"jvp: primals and tangents are tuples, one entry an argument{at(here())}")
    call = Call(func, tuple(primals), {}, tuple(range(len(primals))), "jvp")
    recorded = call.recorded
    values = [
        v for v, is_active in zip(recorded.graph.inputs, call.active, strict=True) if is_active
    ]
    moved = like("jvp: the tangents", list(tangents), call.structure, values)
    total = len(recorded.graph.outputs)
    wanted = [number < recorded.size for number in range(total)]
    both = jvp_graph(recorded.graph, call.active, wanted)
    found = apply(both.graph, [*recorded.arguments, *moved])
    return recorded.taken_apart(found), tree.unflatten(recorded.structure, found[total:])


def linearize(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return a function's value, and the linear function that is its derivative there.

    What does not depend on tangents is computed once, so applying it to many is cheaper than `jvp`.

    Parameters
    ----------
    func : callable
        Returns arrays, in any tree.
    *primals
        Its arguments: arrays of floats, or trees of them.
    has_aux : bool
        Whether `func` returns a pair of that and anything else, which is handed on.

    Returns
    -------
    value, derivative
        ``derivative(*tangents)`` returns the tangent of the value. With `has_aux` the rest comes
        third.

    Raises
    ------
    TypeError, UnsupportedError
        As `grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> y, derivative = lw.linearize(np.sin, np.array(0.0))
    >>> derivative(np.array(2.0))
    array(2.)
    """
    call = Call(func, primals, {}, tuple(range(len(primals))), "linearize")
    recorded = call.recorded
    structure, count = differentiated(func, recorded, has_aux)
    total = len(recorded.graph.outputs)
    values = [
        v for v, is_active in zip(recorded.graph.inputs, call.active, strict=True) if is_active
    ]
    wanted = [number < count for number in range(total)]
    lin = linearize_graph(recorded.graph, call.active, wanted)
    found = apply(lin.primal, recorded.arguments)
    kept = iter(found[total:])
    residuals = [next(kept) if s is None else recorded.arguments[s] for s in lin.sources]

    def derivative(*tangents: Any) -> Any:
        moved = like("linearize: the tangents", list(tangents), call.structure, values)
        return tree.unflatten(structure, apply(lin.linear, [*residuals, *moved]))

    result = recorded.taken_apart(found)
    return (result[0], derivative, result[1]) if has_aux else (result, derivative)


def hvp(func: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of a function's Hessian with a vector, without the Hessian.

    Parameters
    ----------
    func : callable
        Returns one real number.
    primals, tangents : tuple or list
        Its arguments, and what to multiply with: as for `jvp`.

    Returns
    -------
    array or tree of arrays
        Like the first argument; of several a tuple.

    Raises
    ------
    TypeError, UnsupportedError
        As `grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.hvp(lambda x: (x**3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(func, argnums), primals, tangents)[1]


# --- what these have in common --------------------------------------------------------------------


class Call:
    """A function recorded on the arguments of one call, some of which it is differentiated in.

    Attributes
    ----------
    recorded
        Its graph takes all arrays among the arguments.
    active
        Which of the graph's inputs it is differentiated in; those come first.
    structure
        Of the list of those arguments.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: tuple[int, ...],
        what: str,
    ) -> None:
        if not callable(func):
            raise TypeError(f"{what} takes a function, not {type(func).__name__}{at(here())}")
        numbers = _places(func, argnums, len(args), what)
        chosen = [args[number] for number in numbers]
        leaves, self.structure = tree.flatten(chosen)
        paths = [
            path
            for number, arg in zip(numbers, chosen, strict=True)
            for path in tree.paths(arg, _name(func, number))
        ]
        moving = [_differentiable(x, p, what) for x, p in zip(leaves, paths, strict=True)]
        others = [x for number, x in enumerate(args) if number not in numbers]
        rest, structure = tree.flatten((others, kwargs))
        places = [n for n, x in enumerate(rest) if isinstance(x, (np.ndarray, Tensor))]
        fixed = [leaf_array(rest[n], lambda: "an argument") for n in places]

        def call(function: Any, tensors: list[Tensor]) -> Any:
            filled = list(rest)
            for place, tensor in zip(places, tensors[len(moving) :], strict=True):
                filled[place] = tensor
            left, named = tree.unflatten(structure, filled)
            left = iter(left)
            own = dict(
                zip(numbers, tree.unflatten(self.structure, tensors[: len(moving)]), strict=True)
            )
            given = [own[n] if n in own else next(left) for n in range(len(args))]
            return function(*given, **named)

        self.recorded: Recorded = record(func, [*moving, *fixed], call)
        count = len(self.recorded.graph.inputs)
        self.active = [number < len(moving) for number in range(count)]

    def parts(self, found: list[Any]) -> list[Any]:
        """Return what was found for the leaves of the arguments as trees like those."""
        return tree.unflatten(self.structure, found)


def differentiated(func: Any, recorded: Recorded, has_aux: bool) -> tuple[Any, int]:
    """Return the structure of what is differentiated of a result, and the number of its leaves."""
    if not has_aux:
        return recorded.structure, recorded.size
    result = recorded.result
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{function_name(func)} must return a pair (value, aux) for has_aux=True{at(here())}"
        )
    leaves, structure = tree.flatten(result[0])
    return structure, len(leaves)


def checked_argnums(argnums: Any) -> tuple[int, ...]:
    """Return argnums as a tuple, or raise for what is none, empty or repeated."""
    try:
        numbers = (operator.index(argnums),) if not isinstance(argnums, (tuple, list)) else tuple(
            [operator.index(number) for number in argnums]
        )  # fmt: skip
    except TypeError:
        raise TypeError(f"argnums must be an int or a tuple of ints, not {argnums!r}") from None
    if not numbers or len(set(numbers)) != len(numbers):
        raise ValueError(f"argnums must name at least one argument, and each once, not {argnums!r}")
    return numbers


def _places(func: Callable[..., Any], argnums: tuple[int, ...], count: int, what: str) -> list[int]:
    places = []
    for number in argnums:
        if not -count <= number < count:
            raise ValueError(
                f"{what}: argnums has {number}, but {function_name(func)} was called with {count} "
                f"positional argument{'s' * (count != 1)}{at(here())}"
            )
        places.append(number % count)
    if len(set(places)) != len(places):
        raise ValueError(f"{what}: argnums {argnums} names an argument twice{at(here())}")
    return places


def _name(func: Callable[..., Any], number: int) -> str:
    code = getattr(func, "__code__", None)
    if code is not None and number < code.co_argcount:
        return code.co_varnames[number]
    return f"args[{number}]"


def _differentiable(leaf: Any, path: str, what: str) -> Any:
    """Return a leaf of an argument that is differentiated in, or raise naming it."""
    if isinstance(leaf, (bool, int)) and not isinstance(leaf, np.generic):
        dtype: Any = type(leaf).__name__
    else:
        leaf = leaf_array(leaf, lambda: path)
        dtype = leaf.dtype
        if dtype.kind in "fc":
            return leaf
    raise TypeError(
        f"{what}: the argument {path} is of dtype {dtype}, and only floats and complex numbers "
        f"have derivatives{at(here())}. Convert it, as by {path}.astype(float), or leave it out of "
        "argnums"
    )


def like(what: str, given: Any, structure: Any, values: Sequence[Any]) -> list[Any]:
    """Return the leaves of a tree that has the structure and shapes of others, in their dtypes."""
    leaves, found = tree.flatten(given)
    if found != structure:
        raise ValueError(f"{what} must have the structure {structure}, not {found}{at(here())}")
    results = []
    for number, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
        array = leaf_array(leaf, lambda: what)
        if array.shape != value.type.shape:
            path = tree.paths(given, "it")[number]
            raise ValueError(
                f"{what} must have the shape {value.type.shape} in {path}, not {array.shape}"
                f"{at(here())}"
            )
        if array.dtype.kind == "c" and value.type.dtype.kind != "c":
            raise TypeError(
                f"{what} must be real, as what they belong to is {value.type}, not of dtype "
                f"{array.dtype}{at(here())}"
            )
        if array.dtype != value.type.dtype and value.type.dtype.kind in "fc":
            array = array.astype(value.type.dtype)
        results.append(array)
    return results


def _gradient(graph: Graph, active: Sequence[bool]) -> Graph:
    """Return a graph that gives the results of another, then the gradient of the first of them."""
    lin = linearize_graph(graph, active, [True] + [False] * (len(graph.outputs) - 1))
    back = transpose(lin.linear, [False] * len(lin.sources) + [True] * sum(active)).graph
    with Derivation() as trace:
        inputs = trace.tensors([value.type for value in graph.inputs])
        values = [x._value for x in inputs]
        found = trace.inline(lin.primal, values)
        results, kept = found[: len(graph.outputs)], iter(found[len(graph.outputs) :])
        residuals = [next(kept) if s is None else values[s] for s in lin.sources]
        one = read(trace.zeros(graph.outputs[0].type) + 1)  # ty: ignore[unsupported-operator]
        parts = trace.inline(back, [*residuals, one])
    return Graph(trace.inputs, trace.operations, [*results, *parts])
