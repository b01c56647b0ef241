"""``vmap(f, check=True)``: some examples again, by the plain function and NumPy.

The reference is the function as it stands, called on one example after the other: no trace, no
graph, no kernel. Maps within it go through their examples in the same way.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.mapping import as_array
from lanewise.api.plain import plainly
from lanewise.errors import CheckError, UnsupportedError, function_name
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.trace import tree
from lanewise.trace.trace import current_trace, state, where

#: How many examples are compared: the first, the last, and others chosen by a fixed seed.
SAMPLE, SEED = 16, 20240607
#: By how many bytes a real number has, how far results may be apart, relative to the larger of the
#: value and of what else stands in that example's result, if `check` does not say it.
TOLERANCES = {2: 1e-2, 4: 1e-4, 8: 1e-9}
#: And what they may be apart relative to the largest argument of the example, in units of the
#: dtype's precision: sums in another order differ by that much where they cancel.
CANCELLED = 64
#: What is told of an error of one example (`lanewise.runtime.interpret.told`).
_EXAMPLE = re.compile(r"\bin example (\d+)")
#: The kinds of dtype, each of which holds the numbers of those before it.
_KINDS = "biufc"


#: What is wrong with a function that assigns variables.
_ASSIGNED = (
    "but check=True calls the function again for each example that is compared, which would assign "
    "it again. Compare a function that returns the value"
)


class Sides(NamedTuple):
    """How a function is mapped: the entry of each argument in ``in_dims``, and ``out_dims``."""

    entries: Sequence[Any]
    out_dims: Any
    axis_size: int | None


class _Reference(threading.local):
    #: Whether a map around is compared, and with it all that is mapped within.
    is_covered = False


_reference = _Reference()


@contextmanager
def _running_plainly() -> Generator[None]:
    before, state.no_assigning = state.no_assigning, _ASSIGNED
    # Whoever wants warnings to be errors gets them of the map as well: it is interpreted then.
    quiet = {kind: "ignore" for kind, how in np.geterr().items() if how in ("warn", "print")}
    try:
        with plainly(), np.errstate(**quiet):  # ty: ignore[invalid-argument-type]
            yield
    finally:
        state.no_assigning = before


@contextmanager
def _covering() -> Generator[None]:
    before = _reference.is_covered, state.no_assigning
    _reference.is_covered, state.no_assigning = True, _ASSIGNED
    try:
        yield
    finally:
        _reference.is_covered, state.no_assigning = before


def tolerance_of(check: Any, randomness: str) -> float | None:
    """Return ``check`` as a relative tolerance; 0 for the usual ones, None for no check."""
    if check is False or check is None:
        return None
    if check is not True and (
        isinstance(check, bool) or not isinstance(check, (float, np.floating)) or not 0 < check < 1
    ):
        raise ValueError(f"check is True, False, or a tolerance between 0 and 1, not {check!r}")
    if randomness != "error":
        raise ValueError(
            f'check=True needs randomness="error", not {randomness!r}: the plain function would '
            "draw other numbers. Pass keys or numbers that were drawn as arguments"
        )
    return 0.0 if check is True else float(check)


def checked(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    sides: Sides,
    tolerance: float,
    call: Callable[[], Any],
) -> Any:
    """Return what a mapped function gives, after comparing some examples with the plain function.

    Parameters
    ----------
    func
        The function of one example.
    args, kwargs
        Of the mapped function.
    sides
        What is mapped, and where.
    tolerance
        See `tolerance_of`.
    call
        Calls the mapped function.

    Raises
    ------
    CheckError
        If an example differs.
    UnsupportedError
        Within a trace, where there are no examples to compare; or if the function assigns variables
        or draws from generators that are not its own: what is compared would change them again.
    """
    name = function_name(func)
    if current_trace() is not None:
        if _reference.is_covered:
            return call()
        raise UnsupportedError(
            f"vmap({name}, check=True) is called within a function that is traced or mapped, where "
            f"examples have no values yet{where()}. Put check=True on the outermost vmap: maps "
            "within it are compared too"
        )
    examples = _Examples(func, args, kwargs, sides)
    try:
        with _covering():
            result = call()
    except Exception as error:
        found = _EXAMPLE.findall("\n".join([str(error), *getattr(error, "__notes__", ())]))
        if found:
            examples.compare_failure(int(found[-1]), error)
        raise
    examples.compare(result, tolerance)
    return result


class _Examples:
    """The examples of a call, and what the plain function gives on each."""

    def __init__(self, func: Callable[..., Any], args: Any, kwargs: Any, sides: Sides) -> None:
        self.name = function_name(func)
        self.func = getattr(func, "python_function", func)  # of a `lanewise.function`
        self.sides = sides
        args = tuple(
            [
                tree.arrays_of_lists(arg, f"args[{i}]") if type(entry) is int else arg
                for i, (arg, entry) in enumerate(zip(args, sides.entries, strict=True))
            ]
        )
        self.leaves, self.structure = tree.flatten((args, kwargs))
        dims = tree.broadcast_prefix(tuple(sides.entries), args, "in_dims", "args")
        self.dims = [*dims, *[None] * (len(self.leaves) - len(dims))]
        self.size = -1 if sides.axis_size is None else sides.axis_size
        for position, dim in enumerate(self.dims):
            if dim is not None:
                path = partial(self._path, args, kwargs, position)
                array = self.leaves[position] = as_array(self.leaves[position], path)
                if self.size < 0 and -array.ndim <= dim < array.ndim:
                    self.size = array.shape[dim]  # if others differ, the map says so

    @staticmethod
    def _path(args: Any, kwargs: Any, position: int) -> str:
        return (tree.paths(args, "args") + tree.paths(kwargs, "kwargs"))[position]

    def arguments(self, index: int) -> list[Any]:
        """Return the leaves of one example's arguments, of which arrays are its own."""
        found = []
        for leaf, dim in zip(self.leaves, self.dims, strict=True):
            if dim is not None:
                leaf = np.moveaxis(leaf, dim, 0)[index]
            found.append(leaf.copy() if isinstance(leaf, np.ndarray) else leaf)
        return found

    def plain(self, index: int) -> Any:
        """Return what the plain function gives on one example."""
        args, kwargs = tree.unflatten(self.structure, self.arguments(index))
        with _running_plainly():
            return self.func(*args, **kwargs)

    def sample(self) -> list[int]:
        """Return the examples to compare, in order.

        They are the first, the last, and others that depend on the number of examples only.
        """
        if self.size <= SAMPLE:
            return list(range(self.size))
        others = random.Random(SEED).sample(range(1, self.size - 1), SAMPLE - 2)
        return [0, *sorted(others), self.size - 1]

    # --- comparing --------------------------------------------------------------------------------

    def compare_failure(self, index: int, error: Exception) -> None:
        """Raise `CheckError` unless the plain function fails at an example as the map did."""
        for i in [j for j in self.sample() if j < index] + [index]:
            try:
                value = self.plain(i)
            except UnsupportedError:
                raise
            except Exception as plain:
                if i == index and type(plain) is type(error):
                    return
                gives = f"raises {_told(plain)}"
            else:
                if i < index:
                    continue
                gives = f"returns {value!r}"
            raise CheckError(
                f"vmap({self.name}): example {i} differs: the plain function {gives}, but the "
                f"mapped one raises {_told(error)}"
            ) from error

    def compare(self, result: Any, tolerance: float) -> None:
        """Raise `CheckError` if an example of the result is not what the plain function gives."""
        sample = self.sample()
        plain = []
        for i in sample:
            try:
                plain.append(self.plain(i))
            except UnsupportedError:
                raise
            except Exception as error:
                raise CheckError(
                    f"vmap({self.name}): example {i} differs: the plain function raises "
                    f"{_told(error)}, but the mapped one returned"
                ) from error
        leaves, structure = tree.flatten(result)
        paths = tree.paths(result, "the result")
        dims = tree.broadcast_prefix(self.sides.out_dims, result, "out_dims", "the result")
        flat = []
        for i, value in zip(sample, plain, strict=True):
            found, own = tree.flatten(value)
            if own != structure:
                self._differ(
                    i, "the result", f"{_outline(result)}", f"{_outline(value)}", "structure"
                )
            flat.append(found)
        columns = list(zip(*flat, strict=True)) or [()] * len(leaves)
        dtypes = [_dtype(column, leaf) for column, leaf in zip(columns, leaves, strict=True)]
        for number, i in enumerate(sample):
            for leaf, dim, path, dtype, column in zip(
                leaves, dims, paths, dtypes, columns, strict=True
            ):
                mapped = leaf if dim is None else np.moveaxis(leaf, dim, 0)[i]
                self._compare_leaf(i, path, np.asarray(mapped), column[number], dtype, tolerance)

    def _compare_leaf(
        self, i: int, path: str, mapped: np.ndarray, value: Any, dtype: np.dtype, tolerance: float
    ) -> None:
        """Compare one array of one example's result."""
        plain = np.asarray(value)
        if mapped.shape != plain.shape:
            self._differ(i, path, str(mapped.shape), str(plain.shape), "shape")
        if mapped.dtype != dtype:
            self._differ(i, path, str(mapped.dtype), str(dtype), "dtype")
        is_off = _apart(mapped, plain, tolerance, self._scale(i))
        if is_off.any():
            place = tuple([int(k) for k in np.argwhere(is_off)[0]])
            many = np.count_nonzero(is_off)
            a, b = mapped[place], plain[place]
            where_ = f"{path}[{', '.join(map(str, place))}]" if place else path
            more = f" ({many:,} of {plain.size:,} elements differ)" if plain.size > 1 else ""
            self._differ(i, where_, repr(a), repr(b), "value", _distance(a, b) + more)

    def _scale(self, index: int) -> float:
        """Return the largest finite number among the arguments of an example."""
        numbers = [
            np.abs(leaf[np.isfinite(leaf)]).max(initial=0.0)
            for leaf in map(np.asarray, self.arguments(index))
            if leaf.dtype.kind in "iufc"
        ]
        return float(max(numbers, default=0.0))

    def _differ(
        self, i: int, path: str, mapped: str, plain: str, what: str, distance: str = ""
    ) -> None:
        raise CheckError(
            f"vmap({self.name}): example {i} differs from the plain function in the {what} of "
            f"{path}:\n  the mapped function gives {mapped}\n  the plain function gives  {plain}"
            f"{distance}\n  (of {self.size:,} examples {min(self.size, SAMPLE)} are compared)"
        )


def _dtype(column: Sequence[Any], mapped: Any) -> np.dtype:
    """Return the dtype that results of examples have together.

    Python's numbers take that of the mapped result, if it is of a kind that holds them: they give
    way to what a branch that was not taken would return.
    """
    wanted = np.asarray(mapped).dtype
    typed = [x.dtype for x in column if isinstance(x, (np.ndarray, np.generic))]
    if typed:
        dtype = np.result_type(*typed)
        if len(typed) == len(column):
            return dtype
    else:
        dtype = np.dtype(bool)
    numbers = [np.asarray(x).dtype for x in column if not isinstance(x, (np.ndarray, np.generic))]
    needed = max([dtype, *numbers], key=lambda each: _KINDS.find(each.kind.replace("u", "i")))
    holds = _KINDS.find(wanted.kind) >= _KINDS.find(needed.kind.replace("u", "i"))
    return wanted if holds else np.result_type(dtype, *numbers)


def _apart(a: np.ndarray, b: np.ndarray, tolerance: float, scale: float) -> np.ndarray:
    """Return which elements of two arrays differ by more than they may.

    Examples
    --------
    >>> _apart(np.array([1.0, np.nan]), np.array([1 + 1e-14, np.nan]), 0.0, 1.0)
    array([False, False])
    >>> _apart(np.array([1.0, np.inf]), np.array([1 + 1e-6, -np.inf]), 0.0, 1.0)
    array([ True,  True])
    """
    if a.dtype.kind not in "fc" or b.dtype.kind not in NUMERIC_KINDS:
        return np.asarray(a != b)
    real = np.finfo(a.dtype)
    relative = tolerance or TOLERANCES.get(a.real.itemsize, TOLERANCES[8])
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(b), b, 0))
        largest = max(float(size.max(initial=0.0)), 0.0)
        allowed = relative * np.maximum(size, largest) + CANCELLED * float(real.eps) * scale
        is_near = np.abs(a - b) <= allowed
        is_same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(~(is_same | (is_near & np.isfinite(a) & np.isfinite(b))))


def _distance(a: Any, b: Any) -> str:
    """Return how far two numbers are apart, for a message.

    Examples
    --------
    >>> _distance(np.float64(1.0), np.nextafter(1.0, 2.0)).strip()
    'they are 2.22e-16 apart, 1 ULP'
    >>> _distance(np.int64(3), np.int64(5)).strip()
    'they are 2 apart'
    """
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return f"\n  they are {abs(int(a) - int(b))} apart"
    if a.dtype.kind not in "fc" or not (np.isfinite(a) and np.isfinite(b)):
        return ""
    apart = f"\n  they are {abs(a - b):.3g} apart"
    if a.dtype.kind == "c" or a.dtype != b.dtype or a.dtype.itemsize > 8:
        return apart
    return f"{apart}, {ulps(a, b):,} ULP"


def ulps(a: np.floating, b: np.floating) -> int:
    """Return how many floating-point numbers it takes to get from one to another.

    Examples
    --------
    >>> ulps(np.float32(1), np.nextafter(np.float32(1), np.float32(2))), ulps(0.0, -0.0)
    (1, 0)
    """

    def order(x: Any) -> int:
        x = np.asarray(x)
        bits = int(x.view(f"i{x.itemsize}"))
        return bits if bits >= 0 else -(bits + (1 << (8 * x.itemsize - 1)))

    return abs(order(a) - order(b))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _outline(value: Any) -> str:
    """Return the structure of a result, for a message."""
    leaves, structure = tree.flatten(value)
    return repr(tree.unflatten(structure, [_Leaf()] * len(leaves)))


class _Leaf:
    def __repr__(self) -> str:
        return "*"
