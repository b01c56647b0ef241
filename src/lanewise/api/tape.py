"""`GradientTape`: derivatives of ordinary code, recorded as it runs."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import lanewise.runtime.eager  # noqa: F401  (carries out what is recorded)
from lanewise.api.recording import apply
from lanewise.api.vmap import vmap
from lanewise.errors import at
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import here
from lanewise.ops.custom import assigned
from lanewise.trace import tree
from lanewise.trace.eager import EagerTrace
from lanewise.trace.tensor import Tensor, lift, read
from lanewise.trace.trace import Trace, current_trace, state
from lanewise.trace.variable import Variable
from lanewise.transforms.derivation import Derivation, is_differentiable
from lanewise.transforms.linearize import linearize
from lanewise.transforms.transpose import transpose

_UNCONNECTED = ("none", "zero")


class GradientTape:
    """Record code, and differentiate it afterwards.

    NumPy's arrays cannot be followed, so `watch` returns a tensor that can: compute with that. It
    has its numbers, so Python's ``if`` and ``while`` work on it, and NumPy takes it as an array.
    Inside of functions that are mapped or traced a tape works as well, on each example.

    Parameters
    ----------
    persistent : bool
        Whether gradients can be asked for more than once.
    watch_accessed_variables : bool
        Whether variables (`Variable`) that are read count as watched.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> with lw.GradientTape() as tape:
    ...     x = tape.watch(np.array([1.0, 2.0, 3.0]))
    ...     y = (x**2).sum()
    >>> tape.gradient(y, x)
    array([2., 4., 6.])
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._trace: Trace | None = None
        self._opened: EagerTrace | None = None
        #: What is watched, and from which operation on.
        self._watched: dict[Value, int] = {}
        self._given: list[np.ndarray] = []
        self._spans: list[list[int]] = []
        self._is_spent = False

    # --- recording --------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        """Begin to record."""
        if self._is_recording:
            raise ValueError(f"the tape is recording already{at(here())}")
        trace = current_trace()
        if trace is None or (trace.is_eager and not trace.keeps):  # ty: ignore[missing-attribute]
            self._opened = EagerTrace()
            self._opened.__enter__()
            trace = self._opened
        if self._trace is not trace:
            self._trace, self._spans = trace, []
            self._watched.clear()
        self._spans.append([len(trace.operations), -1])
        state.tapes += 1
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Stop recording."""
        assert self._trace is not None
        self._spans[-1][1] = len(self._trace.operations)
        state.tapes -= 1
        if self._opened is not None:
            self._opened.__exit__(kind, error, traceback)
            self._opened = None

    @property
    def _is_recording(self) -> bool:
        return bool(self._spans) and self._spans[-1][1] < 0

    def watch(self, x: Any) -> Any:
        """Return what x is as tensors that the tape follows: an array, or a tree of arrays."""
        if not self._is_recording:
            raise ValueError(f"watch() is of use only while the tape records{at(here())}")

        def watched(leaf: Any) -> Any:
            assert self._trace is not None
            now = len(self._trace.operations)
            if isinstance(leaf, Variable):
                self._watched[lift(leaf)] = now
                return leaf
            value = lift(leaf)
            if not is_differentiable(value.type):
                raise TypeError(
                    f"a tape watches floats and complex numbers, not {value.type}{at(here())}. "
                    "Convert it, as by x.astype(float)"
                )
            if isinstance(leaf, Tensor) and leaf._trace is self._trace:
                self._watched.setdefault(value, now)  # who goes on with x itself is followed too
                return leaf
            if isinstance(leaf, np.ndarray):
                self._given.append(leaf)
            tensor: Any = np.positive(Tensor(self._trace, value))
            self._watched[read(tensor)] = now
            return tensor

        return tree.map_leaves(watched, x)

    def reset(self) -> None:
        """Forget what was recorded and watched."""
        if not self._is_recording:
            raise ValueError(f"reset() is of use only while the tape records{at(here())}")
        assert self._trace is not None
        self._spans = [[len(self._trace.operations), -1]]
        self._watched.clear()
        self._is_spent = False

    @contextmanager
    def stop_recording(self) -> Generator[None]:
        """Leave out what is computed in the ``with`` block: it counts as constant."""
        if not self._is_recording:
            raise ValueError(f"stop_recording() is of use only while the tape records{at(here())}")
        assert self._trace is not None
        self._spans[-1][1] = len(self._trace.operations)
        try:
            yield
        finally:
            self._spans.append([len(self._trace.operations), -1])

    # --- derivatives ------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = "none",
    ) -> Any:
        """Return the gradient of a target in sources.

        Parameters
        ----------
        target : tensor or tree of tensors
            What was computed. Several, and elements of arrays, are summed.
        sources : tensor, variable, or tree of these
            What was watched, or computed on the way.
        output_gradients : array or tree of arrays, optional
            What each element of the target counts; 1 each otherwise.
        unconnected_gradients : {"none", "zero"}
            What there is for a source that the target does not depend on: None, or zeros.

        Returns
        -------
        array or tree of arrays
            Like the sources.

        Raises
        ------
        RuntimeError
            If the tape is not persistent, and gave a gradient before.
        """
        _check_unconnected(unconnected_gradients)
        self._check_use()
        targets, structure = tree.flatten(target)
        seeds = self._seeds(targets, structure, output_gradients)
        leaves, shape = tree.flatten(sources)
        found = self._pulled(targets, leaves, seeds)
        return tree.unflatten(shape, _completed(found, leaves, (), unconnected_gradients))

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: str = "none") -> Any:
        """Return the Jacobian of a target in sources.

        Parameters
        ----------
        target : tensor
            What was computed.
        sources, unconnected_gradients
            As for `gradient`.

        Returns
        -------
        array or tree of arrays
            Like the sources, in each place the axes of the target, then those of the source.

        Examples
        --------
        >>> import numpy as np
        >>> import lanewise as lw
        >>> with lw.GradientTape() as tape:
        ...     x = tape.watch(np.array([1.0, 2.0]))
        ...     y = x[0] * x
        >>> tape.jacobian(y, x)
        array([[2., 0.],
               [2., 1.]])
        """
        _check_unconnected(unconnected_gradients)
        self._check_use()
        shape, leaves = np.shape(target), tree.flatten(sources)[0]
        rows = self._rows(target, leaves, _units(shape, target))
        found = [
            None if x is None else np.reshape(x, (*shape, *np.shape(leaf)))
            for x, leaf in zip(rows, leaves, strict=True)
        ]
        found = _completed(found, leaves, shape, unconnected_gradients)
        return tree.unflatten(tree.flatten(sources)[1], found)

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: str = "none") -> Any:
        """Return the Jacobian of each row of a target in the same row of a source.

        What a row of the target depends on in other rows is added to it: there should be nothing.

        Parameters
        ----------
        target, source : tensor
            Arrays of as many rows.
        unconnected_gradients
            As for `gradient`.

        Returns
        -------
        array
            The axis of the rows, the other axes of the target, and those of the source.

        Examples
        --------
        >>> import numpy as np
        >>> import lanewise as lw
        >>> with lw.GradientTape() as tape:
        ...     x = tape.watch(np.array([[1.0, 2.0], [3.0, 4.0]]))
        ...     y = x[:, :1] * x
        >>> tape.batch_jacobian(y, x)[1]
        array([[6., 0.],
               [4., 3.]])
        """
        _check_unconnected(unconnected_gradients)
        shape, own = np.shape(target), np.shape(source)
        if not shape or not own or shape[0] != own[0]:
            raise ValueError(
                f"batch_jacobian: target and source must have as many rows, not the shapes {shape} "
                f"and {own}{at(here())}"
            )
        self._check_use()
        units = np.expand_dims(_units(shape[1:], target), 1)
        (found,) = self._rows(target, [source], np.repeat(units, shape[0], axis=1))
        if found is not None:
            found = np.reshape(np.moveaxis(found, 0, 1), (*shape, *own[1:]))
        return _completed([found], [source], shape, unconnected_gradients, 1)[0]

    def _rows(self, target: Any, sources: list[Any], seeds: np.ndarray) -> list[Any]:
        """Return the cotangents of sources for each of several of a target."""
        return vmap(lambda seed: self._pulled([target], sources, [seed]))(seeds)

    def _check_use(self) -> None:
        if self._trace is None:
            raise RuntimeError(f"the tape recorded nothing: use it in a with statement{at(here())}")
        if self._is_spent and not self._persistent:
            raise RuntimeError(
                f"a tape gives one gradient, unless it is made with persistent=True{at(here())}"
            )
        self._is_spent = True

    def _seeds(self, targets: list[Any], structure: Any, given: Any) -> list[Any]:
        if given is None:
            return [None] * len(targets)
        found, other = tree.flatten(given)
        if other != structure:
            raise ValueError(
                f"output_gradients are {other}, but the target is {structure}{at(here())}"
            )
        for target, seed in zip(targets, found, strict=True):
            if np.iscomplexobj(seed) and not np.iscomplexobj(target):
                raise TypeError(f"an output gradient is complex, but its target real{at(here())}")
            if np.shape(seed) != np.shape(target):
                raise ValueError(
                    f"an output gradient has shape {np.shape(seed)}, but its target "
                    f"{np.shape(target)}{at(here())}"
                )
        return found

    def _values(self, source: Any) -> list[Value]:
        """Return the values of the trace that a source is: of a variable, all that were read."""
        assert self._trace is not None
        if isinstance(source, Variable):
            return source.values_in(self._trace)
        if any([source is given for given in self._given]):
            raise ValueError(
                f"the source is an array of NumPy's, which a tape cannot follow{at(here())}. "
                "Compute with what watch returns, and give that: x = tape.watch(x)"
            )
        value = self._value(source)
        return [] if value is None else [value]

    def _value(self, x: Any) -> Value | None:
        """Return the value of this tape's trace that a tensor or variable is, if it is one."""
        trace = self._trace
        assert trace is not None
        if isinstance(x, Variable):
            return next(reversed(x.values_in(trace)), None)
        if not isinstance(x, Tensor):
            return None
        x = x if type(x) is Tensor else x._tensor
        if x._view is not None:
            x._view.refresh(x)
        return x._value

    def _operations(self) -> list[tuple[int, Operation]]:
        """Return what was recorded while the tape did, each with its number."""
        assert self._trace is not None
        recorded = self._trace.operations
        return [
            (number, recorded[number])
            for start, stop in self._spans
            for number in range(start, len(recorded) if stop < 0 else stop)
        ]

    def _pulled(self, targets: list[Any], sources: list[Any], seeds: list[Any]) -> list[Any]:
        """Return the cotangent of each source, None where nothing leads to it."""
        watched_from = dict(self._watched)
        for source in sources:
            if isinstance(source, Variable) and self._watches_variables and source.trainable:
                watched_from |= dict.fromkeys(self._values(source), 0)
        ends = [self._value(target) for target in targets]
        starts = [self._values(source) for source in sources]
        path: list[Operation] = []
        for number, op in self._operations():
            # What is assigned to a variable is a constant to a tape, as outside of traces.
            if op.primitive is assigned:
                continue
            if any([watched_from.get(v, number + 1) <= number for v in op.operands]):
                path.append(op)
                watched_from |= {v: 0 for v in op.results if is_differentiable(v.type)}
        watched = set(watched_from)
        used = [end for end in ends if end in watched]
        needed = set(used)
        kept: list[Operation] = []
        for op in reversed(path):
            if not needed.isdisjoint(op.results):
                kept.append(op)
                needed.update(op.operands)
        each = [v for row in starts for v in row]
        asked = list(dict.fromkeys([v for v in each if v in watched and v in needed]))
        if not asked:
            return [None] * len(sources)
        values = dict.fromkeys(asked)
        for op in kept:
            values.update(dict.fromkeys((*op.operands, *op.results)))
        values.update(dict.fromkeys(used))
        known = list(values)
        graph, taken = _pullback(
            Graph(known, kept[::-1], used), len(asked), [seed is not None for end, seed in
            zip(ends, seeds, strict=True) if end in watched],
        )  # fmt: skip
        given = [Tensor(self._trace, known[number]) for number in taken]  # ty: ignore
        given += [s for end, s in zip(ends, seeds, strict=True) if end in watched and s is not None]
        found = dict(zip(asked, apply(graph, _now(given)), strict=True))
        rows = [[found[v] for v in row if v in found] for row in starts]
        return [functools.reduce(operator.add, row) if row else None for row in rows]


def _check_unconnected(choice: str) -> None:
    if choice not in _UNCONNECTED:
        raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {choice!r}")


def _completed(
    found: list[Any], sources: list[Any], axes: tuple[int, ...], choice: str, shared: int = 0
) -> list[Any]:
    """Return what was found, zeros in place of None if they are chosen.

    They have the target's axes before the sources' own, of which the first may be shared.
    """
    if choice == "none":
        return found
    return [
        np.zeros((*axes, *np.shape(source)[shared:]), source.dtype) if ct is None else ct
        for source, ct in zip(sources, found, strict=True)
    ]


def _units(shape: tuple[int, ...], like: Any) -> np.ndarray:
    """Return all arrays of a shape that are one in one place."""
    size = math.prod(shape)
    return np.eye(size, dtype=like.dtype).reshape((size, *shape))


def _now(arguments: Sequence[Any]) -> list[Any]:
    """Return tensors outside of any trace as the arrays that they are."""
    if current_trace() is not None:
        return list(arguments)
    return [np.asarray(x) for x in arguments]


def _pullback(graph: Graph, count: int, seeded: Sequence[bool]) -> tuple[Graph, list[int]]:
    """Return a graph of the cotangents of the first inputs of another, and which inputs it takes.

    Behind those it takes the cotangents of the results that are `seeded`; others are ones.
    """
    lin = linearize(graph, [number < count for number in range(len(graph.inputs))])
    back = transpose(lin.linear, [False] * len(lin.sources) + [True] * count).graph
    used = {value for op in lin.primal.operations for value in op.operands}
    used.update(lin.primal.outputs[len(graph.outputs) :])
    taken = [
        number
        for number, value in enumerate(lin.primal.inputs)
        if value in used or number in lin.sources
    ]
    with Derivation() as trace:
        inputs = trace.tensors([graph.inputs[number].type for number in taken])
        places = dict(zip(taken, inputs, strict=True))
        values = {lin.primal.inputs[number]: x._value for number, x in places.items()}
        for op in lin.primal.operations:
            trace.copy(op, values)
        kept = iter(lin.primal.outputs[len(graph.outputs) :])
        residuals = [
            values[next(kept)] if source is None else places[source]._value
            for source in lin.sources
        ]
        cts = []
        for value, is_moved, is_seeded in zip(graph.outputs, lin.moved, seeded, strict=True):
            one = np.ones((), value.type.dtype)
            given: Any = (
                trace.tensors([value.type])[0] if is_seeded else trace.zeros(value.type) + one
            )
            if is_moved:
                cts.append(given._value)
        found = trace.inline(back, [*residuals, *cts])
    return Graph(trace.inputs, trace.operations, found), taken
