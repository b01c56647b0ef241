"""`vectorized_map` and `map_fn`: TensorFlow's names for a map over nested elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanewise.api.collecting import Collect, collect_of, collected
from lanewise.api.mapping import MapCall, Options, as_array, refuse_generators
from lanewise.autograph.calls import fn as followed
from lanewise.errors import function_name, shown
from lanewise.ops.regions import SEQUENTIAL
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state, where


def vectorized_map(
    fn: Callable[[Any], Any],
    elems: Any,
    fallback_to_while_loop: bool = True,
    *,
    autograph: bool = True,
    on_error: str = "raise",
    fill_value: Any = None,
) -> Any:
    """Apply a function to every element of nested arrays, all elements at once.

    Parameters
    ----------
    fn : callable
        Takes one argument with the structure of `elems`, every array without its first dimension;
        returns arrays and numbers in any structure. Random numbers (`lanewise.random`) are other
        ones for each element.
    elems : array_like or tree of array_like
        Arrays whose first dimensions agree, or are 1 and broadcast.
    fallback_to_while_loop : bool
        Whether an operation that cannot be vectorized may run one element at a time.
    autograph : bool
        Whether Python's control flow in `fn` follows the data, as for `vmap`.
    on_error, fill_value
        Whether elements that raise end the call, or their exceptions are returned, as for `vmap`.

    Returns
    -------
    array or tree of arrays
        The results of `fn`, stacked along a new first dimension.

    Raises
    ------
    ValueError
        If first dimensions neither agree nor are 1; or if an operation would have to fall back and
        may not: the message names it and the line.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vectorized_map(lambda m: np.outer(m, m), np.arange(4.0).reshape(2, 2)).shape
    (2, 2, 2)
    >>> points = {"x": np.array([1.0, 2.0]), "y": np.array([10.0])}
    >>> lw.vectorized_map(lambda p: p["x"] + p["y"], points)
    array([11., 12.])
    """
    options = Options(fallback=bool(fallback_to_while_loop), autograph=bool(autograph))
    collect = collect_of("vectorized_map", on_error, fill_value)
    return _map_elements("vectorized_map", fn, elems, options, collect)


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    *,
    autograph: bool = True,
    on_error: str = "raise",
    fill_value: Any = None,
) -> Any:
    """Apply a function to every element of nested arrays, one element after the other.

    The function is traced once; what was recorded runs for each element in turn, in order. The
    results are those of `vectorized_map`, which is faster.

    Parameters
    ----------
    fn : callable
        As for `vectorized_map`.
    elems : array_like or tree of array_like
        Arrays whose first dimensions agree, or are 1 and broadcast.
    autograph : bool
        Whether Python's control flow in `fn` follows the data, as for `vmap`.
    on_error, fill_value
        Whether elements that raise end the call, or their exceptions are returned, as for `vmap`.

    Returns
    -------
    array or tree of arrays
        The results of `fn`, stacked along a new first dimension.

    Raises
    ------
    ValueError
        If first dimensions neither agree nor are 1.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.map_fn(lambda row: (row.sum(), row.max()), np.arange(4.0).reshape(2, 2))
    (array([1., 5.]), array([1., 3.]))
    """
    options = Options(order=SEQUENTIAL, autograph=bool(autograph))
    return _map_elements("map_fn", fn, elems, options, collect_of("map_fn", on_error, fill_value))


def _map_elements(
    name: str, fn: Callable[[Any], Any], elems: Any, options: Options, collect: Collect | None
) -> Any:
    if not callable(fn):
        raise TypeError(f"{name} takes a function, not {type(fn).__name__}")
    refuse_generators(fn)
    elems = tree.arrays_of_lists(elems, "elems")
    leaves, structure = tree.flatten(elems)
    if not leaves:
        raise ValueError(f"{name}({function_name(fn)}): elems holds no array to map over{where()}")
    arrays = [
        leaf
        if isinstance(leaf, Tensor)
        else as_array(leaf, lambda i=i: tree.paths(elems, "elems")[i])
        for i, leaf in enumerate(leaves)
    ]
    for index, array in enumerate(arrays):
        if not array.shape:
            raise ValueError(
                f"{name}({function_name(fn)}): {tree.paths(elems, 'elems')[index]} is a scalar, "
                f"which has no first dimension to map over{where()}"
            )
    lengths = [array.shape[0] for array in arrays]
    size = next((length for length in lengths if length != 1), 1)
    for index, length in enumerate(lengths):
        if length not in (1, size):
            paths = tree.paths(elems, "elems")
            raise ValueError(
                f"{name}({function_name(fn)}): the first dimension of {paths[index]} is {length}, "
                f"that of {paths[lengths.index(size)]} is {size}; they must agree or be 1{where()}"
            )
    # An array of length 1 beside longer ones is the same for every element.
    operands, axes = [], []
    for array, length in zip(arrays, lengths, strict=True):
        repeated = length == 1 and size != 1
        operands.append(array[0, ...] if repeated else array)
        axes.append(None if repeated else 0)

    def call(tensors: list[Tensor]) -> Any:
        function = followed(fn) if options.autograph else fn
        return function(tree.unflatten(structure, tensors))

    def path(index: int) -> str:
        return tree.paths(elems, "elems")[index]

    __tracebackhide__ = True  # of pytest and IPython
    try:
        call_ = MapCall(fn, operands, axes, size, call, lambda _, n: [0] * n, options, path)
        return collected(collect, call_)
    except Exception as error:
        if state.trace is not None:
            raise
        raise shown(error)  # noqa: B904  (the same exception)
