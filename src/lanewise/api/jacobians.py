"""Jacobians and Hessians: products with a basis, mapped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.api.elsewhere import answers
from lanewise.api.gradients import (
    Argnums,
    Call,
    checked_argnums,
    differentiated,
    jvp,
    linearize,
    vjp,
)
from lanewise.api.transformed import transformed
from lanewise.api.vmap import vmap
from lanewise.autograph.calls import fn
from lanewise.trace import tree
from lanewise.trace.sizes import has_sizes
from lanewise.trace.tensor import TABLE


@answers("gradient")
def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that gives the Jacobian of a function, a row at a time (reverse mode).

    Best where there are fewer results than arguments.

    Parameters
    ----------
    func : callable
        Returns arrays, in any tree.
    argnums : int or tuple of int
        Which positional arguments to differentiate in: arrays of floats, or trees of them.
    has_aux : bool
        Whether `func` returns a pair, of which the second part is handed on.
    chunk_size : int, optional
        How many rows are computed at a time; all of them otherwise.

    Returns
    -------
    callable
        Returns a tree like the result of `func`, in each place of which there is one like the
        argument (a tuple of several): arrays of the result's shape, then the argument's.

    Raises
    ------
    TypeError, UnsupportedError
        As `lanewise.grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.jacrev(lambda x: np.array([x[0] * x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [1., 0.]])
    """
    numbers = checked_argnums(argnums)

    @transformed(jacrev, func, argnums=argnums, has_aux=has_aux, chunk_size=chunk_size)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        own, chosen = _partial(func, numbers, args, kwargs)
        value, pullback, *aux = vjp(own, *chosen, has_aux=has_aux)
        leaves, structure = tree.flatten(value)
        rows = vmap(pullback, chunk_size=chunk_size)(tree.unflatten(structure, _basis(leaves)))
        flat, inner = tree.flatten(rows if len(numbers) > 1 or _several(argnums) else rows[0])
        blocks = [_split(x, leaves) for x in flat]
        found = [
            tree.unflatten(inner, [block[number] for block in blocks])
            for number in range(len(leaves))
        ]
        result = tree.unflatten(structure, found)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


@answers("gradient")
def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that gives the Jacobian of a function, a column at a time (forward mode).

    Best where there are fewer arguments than results.

    Parameters
    ----------
    func, argnums, has_aux
        As for `jacrev`.
    chunk_size : int, optional
        How many columns are computed at a time; all of them otherwise.

    Returns
    -------
    callable
        As `jacrev` returns it.

    Raises
    ------
    TypeError, UnsupportedError
        As `lanewise.grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.jacfwd(np.sin)(np.zeros(2))
    array([[1., 0.],
           [0., 1.]])
    """
    numbers = checked_argnums(argnums)

    @transformed(jacfwd, func, argnums=argnums, has_aux=has_aux, chunk_size=chunk_size)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        own, chosen = _partial(func, numbers, args, kwargs)
        given, inner = tree.flatten(list(chosen))
        given = [np.asarray(x) if isinstance(x, (float, complex)) else x for x in given]

        aux: list[Any] = []
        if has_aux:  # there is one for all columns
            _, derivative, *aux = linearize(own, *chosen, has_aux=True)
        else:
            derivative = lambda *tangents: jvp(own, chosen, tangents)[1]  # noqa: E731

        def column(*tangents: Any) -> Any:
            return derivative(*tree.unflatten(inner, list(tangents)))

        mapped = vmap(column, out_dims=-1, randomness="same", chunk_size=chunk_size)
        columns = mapped(*_basis(given))
        leaves, structure = tree.flatten(columns)
        found = []
        for leaf in leaves:
            parts, start = [], 0
            for x in given:
                stop = start + math.prod(x.shape)
                part = leaf[..., start:stop]
                parts.append(np.reshape(part, (*leaf.shape[:-1], *x.shape)))
                start = stop
            each = tree.unflatten(inner, parts)
            found.append(tuple(each) if _several(argnums) else each[0])
        result = tree.unflatten(structure, found)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


@answers("gradient")
def jacobian(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the Jacobian of a function, in the mode that takes less.

    Parameters
    ----------
    func, argnums, has_aux
        As for `jacrev`.

    Returns
    -------
    callable
        As `jacrev` returns it.

    Raises
    ------
    TypeError, UnsupportedError
        As `lanewise.grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.jacobian(lambda x: x.sum())(np.ones(3))
    array([1., 1., 1.])
    """
    numbers = checked_argnums(argnums)

    @transformed(jacobian, func, argnums=argnums, has_aux=has_aux)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        own, chosen = _partial(func, numbers, args, kwargs)
        # Recorded only: it runs, draws and assigns in the mode that is chosen.
        recorded = Call(own, chosen, {}, tuple(range(len(chosen))), "jacobian").recorded
        _, count = differentiated(func, recorded, has_aux)
        results = sum(math.prod(v.type.shape) for v in recorded.graph.outputs[:count])
        arguments = sum(math.prod(np.shape(x)) for x in tree.flatten(list(chosen))[0])
        mode = jacfwd if arguments <= results else jacrev
        return mode(func, argnums, has_aux)(*args, **kwargs)

    return jacobian_of


@answers("gradient")
def hessian(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the second derivatives of a function.

    Forward over reverse mode.

    Parameters
    ----------
    func, argnums, has_aux
        As for `jacrev`.

    Returns
    -------
    callable
        The Jacobian of the Jacobian: trees nest as in `jacrev`, twice.

    Raises
    ------
    TypeError, UnsupportedError
        As `lanewise.grad` does.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacfwd(jacrev(func, argnums, has_aux), argnums, has_aux)


def _several(argnums: Argnums) -> bool:
    return not isinstance(argnums, int)


def _partial(
    func: Callable[..., Any],
    numbers: tuple[int, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of the chosen arguments alone, and those."""

    def own(*chosen: Any) -> Any:
        filled = list(args)
        for number, value in zip(numbers, chosen, strict=True):
            filled[number] = value
        return fn(func)(*filled, **kwargs)

    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ValueError(
                f"argnums has {number}, but there are {len(args)} positional arguments"
            )
    return own, tuple([args[number] for number in numbers])


def _basis(leaves: Sequence[Any]) -> list[Any]:
    """Return for each array its part of the unit vectors of all of them, one a row."""
    sizes = [math.prod(np.shape(x)) for x in leaves]
    rows, start = [], 0
    if has_sizes(sizes):
        total = sum(sizes)
        for x, size in zip(leaves, sizes, strict=True):
            part = TABLE[np.eye](total, size, -start, x.dtype)
            rows.append(np.reshape(part, (total, *np.shape(x))))
            start = start + size
        return rows
    for x, size in zip(leaves, sizes, strict=True):
        part = np.zeros((sum(sizes), size), x.dtype)
        part[start : start + size] = np.eye(size)
        rows.append(part.reshape((sum(sizes), *np.shape(x))))
        start += size
    return rows


def _split(rows: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return rows, one for each element of all arrays, as a block for each array."""
    blocks, start = [], 0
    for x in leaves:
        stop = start + math.prod(np.shape(x))
        blocks.append(np.reshape(rows[start:stop], (*np.shape(x), *rows.shape[1:])))
        start = stop
    return blocks
