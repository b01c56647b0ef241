"""How a distribution is drawn from: its samples are functions of blocks, one block stream each.

A *sampler* is ordinary NumPy on a `Block` and parameters: of arrays where it is straight-line code,
of one sample where it loops until one is accepted. So a traced draw is part of what is traced: in a
kernel it fuses with what uses it, and a rejection loop is a loop of its example alone. An eager
draw is a map over samples, of which the executable is kept.

The sample number i of a generator is a function of its key and i only: it does not matter how many
are drawn at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.custom import stop_gradient
from lanewise.api.mapping import BATCH, close
from lanewise.api.vmap import vmap
from lanewise.ir.dims import Dim, DimLike, product
from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.random import U64, random_draw
from lanewise.ops.shapes import broadcast_shapes
from lanewise.passes.lanes import map_alone
from lanewise.random.streams import Taken, literal
from lanewise.runtime.dispatch import execute
from lanewise.trace.sizes import dim_of, size_from
from lanewise.trace.tensor import Tensor, as_tensor, emit, read
from lanewise.trace.trace import Trace, current_trace

Sampler = Callable[..., Any]
#: So many samples are an example of an eager draw: they have a row of memory to themselves, so
#: that the numbers of the samples need not be kept. A power of two.
ROW = 64


class Block:
    """The random numbers of one sample, or of an array of samples.

    Each of them is asked for by a number, an int or a traced ``uint64``: the same one gives the
    same, other ones are independent.

    Attributes
    ----------
    k0, k1, counter
        The key, and which samples.
    base
        Where the numbers of this block begin.
    """

    __slots__ = ("base", "counter", "k0", "k1")

    def __init__(self, k0: Any, k1: Any, counter: Any, base: int = 0) -> None:
        self.k0, self.k1, self.counter, self.base = k0, k1, counter, base

    def part(self, number: int) -> Block:
        """Return a block that is independent of the others: for a part of the computation."""
        return Block(self.k0, self.k1, self.counter, self.base + (number << 48))

    def _draw(self, law: str, number: Any, *bounds: Any) -> Any:
        place = literal(self.base + number) if type(number) is int else number + self.base
        return emit(random_draw, self.k0, self.k1, self.counter, place, *bounds, law=law)

    def bits(self, number: Any = 0) -> Any:
        """Return 64 random bits."""
        return self._draw("bits", number)

    def uniform(self, number: Any = 0) -> Any:
        """Return a multiple of 2^-53 of [0, 1)."""
        return self._draw("uniform", number)

    def positive(self, number: Any = 0) -> Any:
        """Return a multiple of 2^-53 of (0, 1]."""
        return 1.0 - self._draw("uniform", number)

    def exponential(self, number: Any = 0) -> Any:
        """Return a standard exponential number."""
        return self._draw("exponential", number)

    def normal(self, number: Any = 0) -> Any:
        """Return a standard normal number."""
        return self._draw("normal", number)

    def below(self, bound: Any, number: Any = 0) -> Any:
        """Return an integer below a bound, all of ``uint64``; 0 stands for 2^64."""
        return self._draw("below", number, bound)


class Law(NamedTuple):
    """A sampler, and how it is to be called.

    Attributes
    ----------
    of
        Takes a `Block` and parameters; the dtype as a keyword, where there are several.
    loops
        Whether it takes a single sample.
    fixed
        Parameters that are constants to derivatives, as those that decide what is rejected. How a
        sample changes with the others, derivatives follow.
    """

    of: Sampler
    loops: bool = False
    fixed: tuple[int, ...] = ()

    def giving(self, dtype: np.dtype | None) -> Sampler:
        """Return the sampler for a dtype; None for one that gives the same always."""
        return self.of if dtype is None else partial(self.of, dtype=dtype)


def shape_of(size: Any, params: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape of a draw: `size`, or what parameters broadcast to.

    Raises
    ------
    ValueError, TypeError
        If they do not go together, or are no sizes, as NumPy says it.
    """
    shapes = [x.shape for x in params]
    if size is None and not any(shapes):
        return ()
    if size is None:
        return _broadcast(shapes)
    if not isinstance(size, (tuple, list)):
        size = (size,) if not (isinstance(size, np.ndarray) and size.ndim) else tuple(size)
    shape = tuple([_size(n) for n in size])
    if any(shapes):
        given = _broadcast(shapes)
        if _broadcast([given, shape]) != shape:
            raise ValueError(
                f"Output size {shape} is not compatible with broadcast dimensions of inputs "
                f"{given}."
            )
    return shape


def _size(n: Any) -> DimLike:
    known = dim_of(n)
    if isinstance(known, Dim):
        return known
    if isinstance(n, Tensor):
        return size_from(n)
    number = n.__index__() if hasattr(n, "__index__") else None
    if number is None:
        raise TypeError(f"'{type(n).__name__}' object cannot be interpreted as an integer")
    if number < 0:
        raise ValueError("negative dimensions are not allowed")
    return number


def _broadcast(shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    if all(type(n) is int for shape in shapes for n in shape):
        return np.broadcast_shapes(*shapes)
    return broadcast_shapes(*shapes)


def draw(law: Law, taken: Taken, shape: tuple[Any, ...], params: Sequence[Any],
         dtype: np.dtype | None = None) -> Any:  # fmt: skip
    """Return samples: a tensor where something is traced, else an array or a NumPy scalar."""
    trace = current_trace()
    data = (*taken, *params)
    if trace is not None and (not trace.is_eager or any([isinstance(x, Tensor) for x in data])):
        return _recorded(law, taken, shape, params, dtype)
    count = math.prod(shape)
    if not count:
        ones = [np.ones((), x.dtype) for x in params]
        return np.empty(shape, _run(law, taken, 1, ones, dtype).dtype)
    flat = [x.reshape(()) if x.size == 1 else np.broadcast_to(x, shape).ravel() for x in params]
    found = _run(law, taken, count, flat, dtype)
    return found.reshape(shape) if shape else found[0]


# --- in a trace -----------------------------------------------------------------------------------


def _recorded(
    law: Law, taken: Taken, shape: tuple[Any, ...], params: Sequence[Any], dtype: np.dtype | None
) -> Any:
    of = law.giving(dtype)
    k0, k1, counter = taken
    params = [
        stop_gradient(x) if place in law.fixed and isinstance(x, Tensor) else x
        for place, x in enumerate(params)
    ]
    if not shape:
        return of(Block(k0, k1, counter), *[np.reshape(x, ()) if np.ndim(x) else x for x in params])
    numbers = emit(iota, length=product(shape), dtype=U64)
    if not law.loops:
        counters = np.reshape(numbers, shape) + counter
        return of(Block(k0, k1, counters), *params)

    def one(number: Any, words: Any, *rest: Any) -> Any:
        return of(Block(*words, number), *rest)

    wide = [product(x.shape) != 1 for x in params]
    given = [
        np.reshape(np.broadcast_to(as_tensor(x), shape), (product(shape),))
        if is_wide
        else np.reshape(x, ())
        for x, is_wide in zip(params, wide, strict=True)
    ]
    dims = (0, None, *[0 if is_wide else None for is_wide in wide])
    # Within a loop over samples nothing is drawn from a generator.
    found = vmap(one, in_dims=dims, autograph=False)(numbers + counter, (k0, k1), *given)
    return np.reshape(found, shape)


# --- outside of traces ----------------------------------------------------------------------------


def _run(
    law: Law, taken: Taken, count: int, params: Sequence[np.ndarray], dtype: np.dtype | None
) -> np.ndarray:
    """Return so many samples, by a map that is kept for all counts."""
    mapped = tuple([x.ndim > 0 for x in params])
    row = 1 if law.loops or any(mapped) else ROW
    kinds = tuple([x.dtype for x in params])
    numbers = np.arange(-(-count // row), dtype=U64)
    arguments = [np.asarray(x) for x in (*taken, numbers, *params)]
    key = ("random", law, dtype, row, mapped, kinds)
    (found,) = execute(key, lambda: _program(law, dtype, row, mapped, kinds), arguments)
    return np.asarray(found).reshape(-1)[:count]


def _program(
    law: Law, dtype: np.dtype | None, row: int, mapped: Sequence[bool], kinds: Sequence[np.dtype]
) -> Any:
    with Trace(law.of) as trace:
        tensors: list[Any] = [
            Tensor(trace, trace.input(array_type(dtype, ()))) for dtype in (U64,) * 4 + tuple(kinds)
        ]
        k0, k1, start, number, *params = tensors
        counter = start + number
        if row > 1:
            counter = start + number * row + emit(iota, length=row, dtype=U64)
        outputs = [read(law.giving(dtype)(Block(k0, k1, counter), *params))]
    graph = close(trace, outputs, 4 + len(kinds))
    dims = (None, None, None, 0, *[0 if is_mapped else None for is_mapped in mapped])
    dims += (None,) * (len(graph.inputs) - len(dims))
    return map_alone(graph, {"size": BATCH, "in_dims": dims})
