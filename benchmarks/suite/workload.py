"""What a workload is: one example in plain NumPy, how it is mapped, and how the peers write it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lanewise as lw

#: For each argument 0, its mapped axis, or None: as `in_dims` of `lw.vmap`.
Axes = tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One row of the benchmark table; each file of `workloads/` defines one as ``WORKLOAD``.

    Parameters
    ----------
    number
        The row.
    name
        What `--only` takes.
    title
        What the table says: the function, how many examples, the dtype if it is not float64.
    size
        How many examples are measured.
    small
        How many examples the tests take.
    inputs
        Makes the arguments for about so many examples; the same ones each time.
    function
        One example, as a scientist writes it. `lw.vmap` is given just this.
    maps
        The nested maps, outermost first: which arguments each maps, along axis 0.
    peers
        For each peer a function without arguments, which imports the peer and returns the best
        idiomatic version of the batch: a function of the peer's own arrays.
    place
        How a peer's arguments are laid out, if not as `lanewise`'s; see `peers.PEERS`.
    mapped
        The batch function made from `function`, if not by `maps`; None while there is no such form.
    rtol, atol
        How far a result may be from NumPy's.
    stray
        What part of the examples may differ by more, for a reason that the workload's file says.
    limit
        Milliseconds that bandwidth or arithmetic allow (see ``docs/benchmarks.md``), if worked out.
    held_out
        Whether it is one that nothing was measured on while Lanewise was written: beside the
        others, these show that no workload has code of its own.
    samples
        How many examples are compared with the plain function in Python.

    Examples
    --------
    >>> square = Workload(
    ...     number=0, name="square", title="x * x", size=1000, small=5,
    ...     inputs=lambda size: (np.arange(float(size)),), function=lambda x: x * x,
    ... )
    >>> args = square.inputs(square.small)
    >>> square.call(args)()
    array([ 0.,  1.,  4.,  9., 16.])
    >>> square.check(square.call(args)(), args)
    """

    number: int
    name: str
    title: str
    size: int
    small: int
    inputs: Callable[[int], tuple[np.ndarray, ...]]
    function: Callable[..., Any]
    maps: tuple[Axes, ...] = ()
    peers: Mapping[str, Callable[[], Callable[..., Any]]] = field(default_factory=dict)
    place: Mapping[str, Callable[[tuple[np.ndarray, ...]], tuple[Any, ...]]] = field(
        default_factory=dict
    )
    mapped: Callable[[], Callable[..., Any] | None] | None = None
    rtol: float = 1e-9
    atol: float = 0.0
    stray: float = 0.0
    limit: float | None = None
    held_out: bool = False
    samples: int = 16

    def batch(self) -> Callable[..., Any]:
        """Return the mapped function, made anew as a user's call makes it."""
        if not self.maps:
            return lw.vmap(self.function)
        mapped = self.function
        for axes in reversed(self.maps):
            mapped = lw.vmap(mapped, in_dims=axes)
        return mapped

    def call(self, args: tuple[np.ndarray, ...]) -> Callable[[], Any] | None:
        """Return what is timed: the map of `function` made and called, or None if there is none."""
        if self.mapped is None:
            return lambda: self.batch()(*args)
        mapped = self.mapped()
        return mapped and (lambda: mapped(*args))

    def shape(self, args: tuple[np.ndarray, ...]) -> tuple[int, ...]:
        """Return how many examples each of the nested maps has."""
        shape, left = [], args
        for axes in self.maps or ((0,) * len(args),):
            shape.append(next(len(a) for a, axis in zip(left, axes, strict=True) if axis == 0))
            left = _example(left, axes, 0)
        return tuple(shape)

    def check(self, result: Any, args: tuple[np.ndarray, ...], exact: Any = None) -> None:
        """Raise `AssertionError` unless a result is NumPy's.

        A sample of the examples is computed by the plain function. With `exact`, which has itself
        been checked so, all the others are compared with it.
        """
        shape = self.shape(args)
        total = math.prod(shape)
        arrays = [array.reshape(total, -1) for array in leaves(result)]
        chosen = np.unique(np.linspace(0, total - 1, min(self.samples, total)).astype(int))
        expected = [self.example(args, np.unravel_index(i, shape)) for i in chosen]
        with np.errstate(all="ignore"):
            for leaf, array in enumerate(arrays):
                rows = np.stack([np.ravel(leaves(example)[leaf]) for example in expected])
                self._compare(array[chosen], rows, "the plain function")
            if exact is not None:
                for array, other in zip(arrays, leaves(exact), strict=True):
                    self._compare(array, other.reshape(total, -1), "the other systems")

    def example(self, args: tuple[np.ndarray, ...], index: tuple[int, ...]) -> Any:
        """Return the plain function of the example at an index of the nested maps."""
        for axes, i in zip(self.maps or ((0,) * len(args),), index, strict=True):
            args = _example(args, axes, int(i))
        with np.errstate(all="ignore"):  # of copies: a function may write to its arguments
            return self.function(*(arg.copy() for arg in args))

    def _compare(self, found: np.ndarray, expected: np.ndarray, source: str) -> None:
        near = np.isclose(found, expected, self.rtol, self.atol, equal_nan=True)
        wrong = np.flatnonzero(~np.asarray(near).all(axis=1))
        if len(wrong) > self.stray * len(found):
            at = wrong[0]
            raise AssertionError(
                f"{self.name}: {len(wrong)} of {len(found)} examples differ from {source}, "
                f"first {found[at][:4]} from {expected[at][:4]}"
            )


def _example(args: tuple[np.ndarray, ...], axes: Axes, index: int) -> tuple[np.ndarray, ...]:
    return tuple(a if axis is None else a[index] for a, axis in zip(args, axes, strict=True))


def leaves(result: Any) -> list[np.ndarray]:
    """Return a result's arrays as NumPy's: a tuple is several, a list the columns of one."""
    if isinstance(result, tuple):
        return [array for part in result for array in leaves(part)]
    if isinstance(result, list):
        return [np.stack([leaves(column)[0] for column in result], axis=-1)]
    return [result.numpy() if hasattr(result, "numpy") else np.asarray(result)]
