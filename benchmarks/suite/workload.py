"""What a workload is: one example in plain NumPy, how it is mapped, and how the peers write it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import PEERS

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
    reference
        One example by NumPy alone, if `function` has Lanewise make a derivative: the derivative by
        hand, which results are checked against.
    maps
        The nested maps, outermost first: which arguments each maps, along axis 0 (see `last`).
    peers
        For each peer a function without arguments, which imports the peer and returns the best
        idiomatic version of the batch: a function of the peer's own arrays.
    place
        How a peer's arguments are laid out, if not as `lanewise`'s; see `peers.PEERS`.
    mapped
        Makes the function of the batch that is measured, if not `lw.function` of the map.
    last
        Whether the examples lie along the last axis of every mapped argument and of the results.
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
    reference: Callable[..., Any] | None = None
    maps: tuple[Axes, ...] = ()
    peers: Mapping[str, Callable[[], Callable[..., Any]]] = field(default_factory=dict)
    place: Mapping[str, Callable[[tuple[np.ndarray, ...]], tuple[Any, ...]]] = field(
        default_factory=dict
    )
    mapped: Callable[[], Callable[..., Any]] | None = None
    last: bool = False
    rtol: float = 1e-9
    atol: float = 0.0
    stray: float = 0.0
    limit: float | None = None
    held_out: bool = False
    samples: int = 16

    @property
    def plain(self) -> Callable[..., Any]:
        """The function of one example that Lanewise has no part in."""
        return self.reference or self.function

    def batch(self) -> Callable[..., Any]:
        """Return the mapped function, made anew as a user's call makes it."""
        if self.last:
            axes = [None if axis is None else -1 for axis in self.maps[0]]
            return lw.vmap(self.function, in_dims=tuple(axes), out_dims=-1)
        if not self.maps:
            return lw.vmap(self.function)
        mapped = self.function
        for axes in reversed(self.maps):
            mapped = lw.vmap(mapped, in_dims=axes)
        return mapped

    def call(self, args: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        """Return what is timed: the compiled map of `function`, called."""
        mapped = lw.function(self.batch()) if self.mapped is None else self.mapped()
        return lambda: mapped(*args)

    def recorded(self, args: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        """Return a call that makes the map anew and so records `function` each time."""
        return lambda: self.batch()(*args)

    def shape(self, args: tuple[np.ndarray, ...]) -> tuple[int, ...]:
        """Return how many examples each of the nested maps has."""
        shape, left = [], self.first(args)
        for axes in self.maps or ((0,) * len(args),):
            shape.append(next(len(a) for a, axis in zip(left, axes, strict=True) if axis == 0))
            left = _example(left, axes, 0)
        return tuple(shape)

    def first(self, args: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return arguments with their examples along the first axis."""
        if not self.last:
            return args
        (axes,) = self.maps
        return tuple(
            a if axis is None else np.moveaxis(a, -1, 0) for a, axis in zip(args, axes, strict=True)
        )

    def check(self, result: Any, args: tuple[np.ndarray, ...], exact: Any = None) -> None:
        """Raise `AssertionError` unless a result is NumPy's.

        A sample of the examples is computed by the plain function. With `exact`, which has itself
        been checked so, all the others are compared with it.
        """
        shape = self.shape(args)
        total = math.prod(shape)
        arrays = [self._rows(array, total) for array in leaves(result, self.last)]
        chosen = np.unique(np.linspace(0, total - 1, min(self.samples, total)).astype(int))
        expected = [self.example(args, np.unravel_index(i, shape)) for i in chosen]
        with np.errstate(all="ignore"):
            for leaf, array in enumerate(arrays):
                rows = np.stack([np.ravel(leaves(example)[leaf]) for example in expected])
                self._compare(array[chosen], rows, "the plain function")
            if exact is not None:
                for array, other in zip(arrays, leaves(exact, self.last), strict=True):
                    self._compare(array, self._rows(other, total), "the other systems")

    def example(self, args: tuple[np.ndarray, ...], index: tuple[int, ...]) -> Any:
        """Return the plain function of the example at an index of the nested maps."""
        args = self.first(args)
        for axes, i in zip(self.maps or ((0,) * len(args),), index, strict=True):
            args = _example(args, axes, int(i))
        with np.errstate(all="ignore"):  # of copies: a function may write to its arguments
            return self.plain(*(arg.copy() for arg in args))

    def _rows(self, result: np.ndarray, examples: int) -> np.ndarray:
        """Return a result, which may be flat, with a row for each example."""
        return result.reshape(-1, examples).T if self.last else result.reshape(examples, -1)

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


def examples_last(workload: Workload, number: int, drjit: Callable[..., Any] | None) -> Workload:
    """Return a workload whose arrays have the examples along their last axes.

    That is how Dr.Jit lays out arrays of its own, an array for each component.

    Parameters
    ----------
    workload
        The same of examples along the first axes; one map.
    number
        The new row.
    drjit
        Dr.Jit's version, of nested lists of its flat arrays.
    """
    (axes,) = workload.maps or ((0,) * len(workload.inputs(1)),)

    def inputs(size: int) -> tuple[np.ndarray, ...]:
        given = zip(workload.inputs(size), axes, strict=True)
        return tuple(
            a if axis is None else np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a, axis in given
        )

    def jax() -> Callable[..., Any]:
        import jax.numpy as jnp

        batch = workload.peers["jax"]()

        def moved(*args: Any) -> Any:
            given = zip(args, axes, strict=True)
            first = [a if axis is None else jnp.moveaxis(a, -1, 0) for a, axis in given]
            return jnp.moveaxis(batch(*first), 0, -1)

        return moved

    def rows(args: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        given = zip(args, axes, strict=True)
        return tuple(a if axis is None else np.moveaxis(a, -1, 0) for a, axis in given)

    def views(name: str) -> Callable[[], Callable[..., Any]]:
        def version() -> Callable[..., Any]:
            batch = workload.peers[name]()

            return lambda *args: _last(batch(*args))

        return version

    peers: dict[str, Callable[[], Callable[..., Any]]] = {"jax": jax}
    peers |= {name: views(name) for name in ("numba", "torch") if name in workload.peers}
    if drjit is not None:
        peers["drjit"] = drjit
    place = {
        "numba": rows,
        "torch": lambda args: PEERS["torch"].place(rows(args)),
        "drjit": lambda args: PEERS["drjit"].place(rows(args)),
    }
    return replace(
        workload,
        number=number,
        name=f"{workload.name}_columns",
        title=f"{workload.title}, examples last",
        inputs=inputs,
        maps=(axes,),
        peers=peers,
        place={name: place[name] for name in peers if name in place},
        limit=None,
        last=True,
    )


def _last(result: Any) -> Any:
    return result if result.ndim == 1 else result.T  # of vectors, at most


def leaves(result: Any, last: bool = False) -> list[np.ndarray]:
    """Return a result's arrays as NumPy's: a tuple is several, a list the columns of one.

    Parameters
    ----------
    result
        Of Lanewise or of a peer.
    last
        Whether the columns of a list lie one behind the other.
    """
    if isinstance(result, tuple):
        return [array for part in result for array in leaves(part, last)]
    if isinstance(result, list):
        columns = [leaves(column)[0] for column in result]
        return [np.stack(columns, axis=0 if last else -1)]
    return [result.numpy() if hasattr(result, "numpy") else np.asarray(result)]
