"""`vmap`: a function of one example becomes a function of a batch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.check import Sides, checked, tolerance_of
from lanewise.api.collecting import RAISE, Collect, collect_of, collected
from lanewise.api.elsewhere import answers
from lanewise.api.mapping import MapCall, Options, as_array, is_array, refuse_generators
from lanewise.api.parameters import Parameters
from lanewise.api.plain import is_plain, loop, may_repeat, plainly
from lanewise.api.remembered import orders_in, token_of_number
from lanewise.api.transformed import reduced
from lanewise.autograph.calls import fn
from lanewise.errors import UnsupportedError, function_name, shown
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor, unwrapped
from lanewise.trace.trace import state, where

RANDOMNESS = ("error", "different", "same")
_USUAL = {kind: Options(randomness=kind) for kind in RANDOMNESS}


@answers("vmap")
def vmap(
    func: Any = ...,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
    axis_size: int | None = None,
    autograph: bool = True,
    fastmath: bool = False,
    check: bool | float = False,
    plain: bool = False,
    on_error: str = "raise",
    fill_value: Any = None,
) -> Callable[..., Any]:
    """Map a function of one example over a batch.

    Returns a function that takes the arguments of `func`, each with one more dimension (the
    batch), and gives the results of `func`, each with one more dimension: what stacking
    ``func(x[0]), func(x[1]), ...`` would give, value, dtype and shape.

    Parameters
    ----------
    func : callable
        Takes and returns arrays and numbers, in tuples, lists, dicts, named tuples, dataclasses or
        registered classes, nested as one likes. It is run once, on tensors that stand for one
        example; its ``if``, ``while`` and ``for`` follow the data of each example. Without it, what
        is returned decorates a function: ``@lw.vmap(in_dims=1)``.
    in_dims : int, None, or a tree of these
        Which dimension of each argument is the batch (negative counts from the end); None where
        every example gets the whole argument. A tree is shaped like the tuple of positional
        arguments, or like the upper part of it. Keyword arguments are never mapped.
    out_dims : int, None, or a tree of these
        Where the batch goes in each result; None for a result that does not depend on the
        example, which is returned once.
    randomness : {"error", "different", "same"}
        Whether random draws are refused, differ between examples, or are the same for all.
    chunk_size : int, optional
        Compute at most so many examples at a time, which bounds the memory that intermediates
        take. The results are the same.
    axis_size : int, optional
        The number of examples, needed only where no argument is mapped.
    autograph : bool
        Whether Python's control flow in `func`, and in functions that it calls, follows the data.
        If not, data that steer Python raise `ConcretizationError`.
    fastmath : bool
        Whether compiled code may round sums, products and quotients otherwise than NumPy: fuse a
        product with a sum, take sums in another order, multiply by reciprocals. NaN and infinities
        keep their meaning. By default every operation is rounded as IEEE 754 says.
    check : bool or float
        Whether each call compares up to 16 examples (the first, the last, and some between) with
        what `func` gives as plain Python and NumPy, and raises `CheckError` at the first that
        differs. A number is the relative tolerance for floats, instead of 1e-9 for double
        precision, 1e-4 for single and 1e-2 for half; all else must be equal.
    plain : bool
        Whether to run the plain Python loop, for debugging: `func` gets NumPy's arrays, and
        breakpoints, prints and tracebacks are those of plain Python.
    on_error : {"raise", "collect"}
        Whether the first example that raises ends the call, or the mapped function returns
        ``(results, failures)``: `failures` is a dict from the index of each example that raised
        (an int; a tuple under further maps) to its exception, with the line.
    fill_value : number, or a tree of these like the results, optional
        What stands for the results of examples that raised; NaN by default, where there is one.

    Returns
    -------
    callable
        The mapped function. Its results are fresh, writable ``numpy.ndarray``; inputs never change.

    Raises
    ------
    ValueError
        If `in_dims` or `out_dims` do not fit, sizes of the batch disagree, nothing is mapped, or
        `func` returns something that is no array. The message names the argument and the sizes.
    TypeError
        If `func` is a generator or coroutine function.
    RuntimeError
        If `func` draws random numbers, and `randomness` is "error".
    CheckError
        If `check` is asked for and an example differs.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> batched_dot = lw.vmap(np.dot)
    >>> batched_dot(np.ones((4, 3)), np.arange(12.0).reshape(4, 3))
    array([ 3., 12., 21., 30.])

    Every example with the same second argument, and the batch last in the result:

    >>> lw.vmap(lambda x, w: x * w, in_dims=(0, None), out_dims=1)(np.eye(2), np.array([2.0, 3.0]))
    array([[2., 0.],
           [0., 3.]])

    A bad example does not lose the batch:

    >>> matrices = np.stack([2 * np.eye(2), np.ones((2, 2))])
    >>> inverses, failures = lw.vmap(np.linalg.inv, on_error="collect")(matrices)
    >>> inverses[:, 0]
    array([[0.5, 0. ],
           [nan, nan]])
    >>> {index: type(error).__name__ for index, error in failures.items()}
    {1: 'LinAlgError'}
    """
    if func is ...:
        given = dict(locals())
        del given["func"]
        return partial(vmap, **given)
    if not callable(func):
        raise TypeError(f"vmap takes a function, not {type(func).__name__}")
    refuse_generators(func)
    if randomness not in RANDOMNESS:
        raise ValueError(f"randomness must be one of {', '.join(RANDOMNESS)}, not {randomness!r}")
    if chunk_size is not None:
        chunk_size = operator.index(chunk_size)
        if chunk_size < 1:
            raise ValueError(f"chunk_size must be at least 1, but is {chunk_size}")
    if axis_size is not None:
        axis_size = operator.index(axis_size)
        if axis_size < 0:
            raise ValueError(f"axis_size must not be negative, but is {axis_size}")
    if type(in_dims) is not int:
        in_dims = _checked_in_dims(tree.axes(in_dims, "in_dims"), axis_size)
    if type(out_dims) is not int:
        out_dims = tree.axes(out_dims, "out_dims")
    usual = chunk_size is None and autograph is True and not fastmath
    options = _USUAL[randomness]
    if not usual:
        options = Options(
            chunk=chunk_size,
            autograph=bool(autograph),
            fastmath=bool(fastmath),
            randomness=randomness,
        )
    tolerance = tolerance_of(check, randomness)
    collect = None
    if on_error != RAISE or fill_value is not None:
        collect = collect_of("vmap", on_error, fill_value)
    return Mapped(func, in_dims, out_dims, options, axis_size, tolerance, bool(plain), collect)


def _checked_in_dims(in_dims: Any, axis_size: int | None) -> Any:
    if in_dims is None and axis_size is None:
        raise ValueError(
            "in_dims is None for every argument, so there is no batch; map at least one, or say "
            "axis_size"
        )
    if isinstance(in_dims, (int, tuple, NoneType)):
        return in_dims
    if isinstance(in_dims, list):
        return tuple(in_dims)
    raise ValueError(
        "in_dims must be an int, or a tuple with an entry for each positional argument, not "
        f"{in_dims!r}; write ({in_dims!r},) for one argument"
    )


class _Loop(NamedTuple):
    """The plain loop over arrays of some dtypes and shapes; see `lanewise.api.plain.loop`."""

    shapes: Sequence[Any]
    axes: Sequence[int | None]
    size: int
    call: Callable[[Any], Any]
    place: Callable[[Any, int], list[int | None]]


def _shapes(args: Sequence[Any]) -> list[Any]:
    """Return the dtypes and shapes of arrays; None for other arguments."""
    return [(x.dtype, x.shape) if type(x) is np.ndarray else None for x in args]


class Mapped:
    """A function of a batch, as `vmap` returns it; it looks like the function it was made of."""

    def __init__(
        self, func: Callable[..., Any], in_dims: Any, out_dims: Any, options: Options,
        axis_size: int | None, check: float | None = None, plain: bool = False,
        collect: Collect | None = None,
    ) -> None:  # fmt: skip
        self.__wrapped__ = func
        self.__doc__ = getattr(func, "__doc__", None)
        self.__module__ = getattr(func, "__module__", __name__)
        self._settings = (in_dims, out_dims, options, axis_size)
        self._check = check
        self._plain = plain
        self._collect = collect
        self._known: _Loop | None = None
        #: Whether nobody sees it if the function is called again on an example.
        self._repeats = False
        self._as_loop: Mapped | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of pytest and IPython
        try:
            if self._plain:
                return self._looped(args, kwargs)
            if self._check is not None and not is_plain():
                return self._compared(args, kwargs)
            return map_call(self.__wrapped__, args, kwargs, *self._settings, self._collect)
        except Exception as error:
            if state.trace is not None:
                raise
            raise shown(error)  # noqa: B904  (the same exception)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What decides what it gives, beside the function."""
        return self._settings

    @property
    def is_usual(self) -> bool:
        """Whether the plain loop gives what it gives, and nothing else was asked for."""
        is_bare = self._check is None and self._collect is None and not self._plain
        return is_bare and self._settings[2] is _USUAL["error"]

    def looped(self) -> Mapped:
        """Return the same as a plain loop, of a function that does nothing but return."""
        found = self._as_loop
        if found is None:
            found = Mapped(self.__wrapped__, *self._settings, plain=True)
            found._repeats = True
            self._as_loop = found
        return found

    def _looped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function on one example after the other."""
        if state.trace is not None:
            raise UnsupportedError(
                f"vmap({function_name(self.__wrapped__)}, plain=True) is called within a function "
                f"that is traced or mapped, where examples have no values yet{where()}. Put "
                "plain=True on the outermost vmap, or set LANEWISE_DISABLE=1"
            )
        known = self._known
        is_known = known is not None and not kwargs and known.shapes == _shapes(args)
        with plainly(self._repeats):
            if is_known:
                settings = known.axes, known.size, known.call, known.place
                return loop(args, *settings, may_repeat())
            result = map_call(self.__wrapped__, args, kwargs, *self._settings, self._collect)
        self._known = None if kwargs else self._loop_of(args)
        return result

    def _loop_of(self, args: tuple[Any, ...]) -> _Loop | None:
        """Return what runs the plain loop on arrays like those that it ran on, straight away."""
        in_dims, out_dims, _, axis_size = self._settings
        dims = in_dims if type(in_dims) is tuple else (in_dims,) * len(args)
        is_simple = type(out_dims) is int and axis_size is None and self._collect is None
        if not (is_simple and all([type(dim) in (int, NoneType) for dim in dims])):
            return None
        if not all(map(is_array, args)):
            return None
        axes = [None if dim is None else dim % x.ndim for x, dim in zip(args, dims, strict=True)]
        size = next(x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None)
        if not size:  # nothing is run, so it is traced
            return None
        func = self.__wrapped__
        return _Loop(_shapes(args), axes, size, lambda x: func(*x), lambda _, n: [out_dims] * n)

    def _compared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with some examples compared."""
        func, settings = self.__wrapped__, self._settings
        in_dims, out_dims, _, axis_size = settings
        sides = Sides(_entries(func, args, in_dims, axis_size), out_dims, axis_size)
        call = partial(map_call, func, args, kwargs, *settings)
        assert self._check is not None
        return checked(func, args, kwargs, sides, self._check, call)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function, so that `vmap` can decorate a method; self is not mapped."""
        if instance is None:
            return self
        bind = getattr(self.__wrapped__, "__get__", None)
        bound = self.__wrapped__ if bind is None else bind(instance, owner)
        return Mapped(bound, *self._settings, self._check, self._plain, self._collect)

    def __reduce__(self) -> Any:
        options = self._check, self._plain, self._collect
        return reduced(self, self.__wrapped__, (self.__wrapped__, *self._settings, *options))

    def __setstate__(self, state: Any) -> None:
        self.__init__(*state)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<vmap of {function_name(self.__wrapped__)}>"


def map_call(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_dims: int | tuple[Any, ...] | None,
    out_dims: Any,
    options: Options,
    axis_size: int | None = None,
    collect: Collect | None = None,
) -> Any:
    """Carry out one call of a mapped function."""
    if type(in_dims) is int and not kwargs and args and not _has_container(args):
        leaves, structure = args, None  # the usual case: no tree to take apart
        dims: list[int | None] = [in_dims] * len(args)
    else:
        entries = _entries(func, args, in_dims, axis_size)
        args = tuple(
            [
                tree.arrays_of_lists(arg, f"args[{i}]") if type(dim) is int else arg
                for i, (arg, dim) in enumerate(zip(args, entries, strict=True))
            ]
        )
        leaves, structure = tree.flatten((args, kwargs))
        dims = tree.broadcast_prefix(entries, args, "in_dims", "args")
        dims += [None] * (len(leaves) - len(dims))
    size = axis_size
    sized_by: int | None = None  # the position of the argument that the size was read off
    positions: list[int] = []
    operands: list[Any] = []
    axes: list[int | None] = []
    for position, leaf in enumerate(leaves):
        axis = dims[position]
        if type(leaf) is not np.ndarray:
            leaf = unwrapped(leaf)  # of an array made inside that holds data, its tensor
        if axis is None:
            if type(leaf) is Tensor:
                operand = leaf
            elif isinstance(leaf, np.ndarray) and leaf.dtype.kind in NUMERIC_KINDS:
                operand = as_array(leaf, partial(_path, args, kwargs, position))
            else:
                continue  # a number or any other object: every example gets it as it is
        else:
            if type(leaf) is Tensor or is_array(leaf):
                operand = leaf
            else:
                operand = as_array(leaf, partial(_path, args, kwargs, position))
            shape = operand.shape
            if axis < 0:
                axis += len(shape)
            if not 0 <= axis < len(shape):
                hint = "" if shape else _told_not_mapped(args, kwargs, dims, position)
                raise ValueError(
                    f"vmap({function_name(func)}): in_dims is {dims[position]} for "
                    f"{_path(args, kwargs, position)}, which has {len(shape)} "
                    f"dimension{'s' * (len(shape) != 1)} (shape {shape}){where()}{hint}"
                )
            length = shape[axis]
            if size is None:
                size, sized_by = length, position
            elif length != size:
                other = "axis_size" if sized_by is None else _path(args, kwargs, sized_by)
                raise ValueError(
                    f"vmap({function_name(func)}): the batch has {length} examples in "
                    f"{_path(args, kwargs, position)} (dimension {axis} of shape {shape}) "
                    f"but {size} in {other}{where()}"
                    f"{_told_not_mapped(args, kwargs, dims, position)}"
                )
        positions.append(position)
        operands.append(operand)
        axes.append(axis)
    if size is None:
        raise ValueError(
            f"vmap({function_name(func)}): no argument is mapped, so there is no batch; give "
            f"in_dims an int for at least one argument, or say axis_size{where()}"
        )

    def call(tensors: list[Tensor]) -> Any:
        function = fn(func) if options.autograph else func
        if structure is None:
            return function(*tensors)
        filled = list(leaves)
        for position, tensor in zip(positions, tensors, strict=True):
            filled[position] = tensor
        call_args, call_kwargs = tree.unflatten(structure, filled)
        return function(*call_args, **call_kwargs)

    def place(result: Any, count: int) -> list[int | None]:
        if out_dims is None or type(out_dims) is int:
            return [out_dims] * count
        return tree.broadcast_prefix(out_dims, result, "out_dims", "the result")

    def name(index: int) -> str:
        return Parameters(func).paths(args, kwargs)[positions[index]]

    given = MapCall(func, operands, axes, size, call, place, options, name)
    if collect is not None:
        return collected(collect, given)
    alike = None
    if type(out_dims) in (int, NoneType):
        mapped = set(positions)
        numbers = [token_of_number(x) for i, x in enumerate(leaves) if i not in mapped]
        orders = structure is None or orders_in((args, kwargs))
        if None not in (orders, *numbers):
            alike = "vmap", out_dims, structure, orders, *numbers
    return given.run(alike=alike)


def _told_not_mapped(args: Any, kwargs: Any, dims: list[int | None], position: int) -> str:
    """Return what to write if one leaf of the arguments was not meant to be mapped."""
    path = _path(args, kwargs, position)
    if len(dims) != len(args) or path != f"args[{position}]":
        return f". If every example gets all of {path}, its entry in in_dims is None"
    entries = [None if i == position else dim for i, dim in enumerate(dims)]
    told = f"({', '.join(map(str, entries))}{',' * (len(entries) == 1)})"
    return f". If every example gets all of {path}, write in_dims={told}"


def _has_container(args: tuple[Any, ...]) -> bool:
    """Whether any argument could be more than one array."""
    for arg in args:  # noqa: SIM110 - this stands in the way of every call, and any() takes longer
        if type(arg) is not np.ndarray and type(arg) is not Tensor:
            return True
    return False


def _entries(
    func: Callable[..., Any], args: tuple[Any, ...], in_dims: Any, axis_size: int | None
) -> tuple[Any, ...]:
    """Return the entry of in_dims for each positional argument."""
    if isinstance(in_dims, tuple):
        if len(in_dims) != len(args):
            raise ValueError(
                f"vmap({function_name(func)}): in_dims has {len(in_dims)} entries for {len(args)} "
                f"positional arguments{where()}"
            )
        return in_dims
    if not args and axis_size is None:
        raise ValueError(
            f"vmap({function_name(func)}) got no positional arguments: nothing to map over{where()}"
        )
    return (in_dims,) * len(args)


def _path(args: Any, kwargs: Any, position: int) -> str:
    paths = tree.paths(args, "args") + tree.paths(kwargs, "kwargs")
    return paths[position]
