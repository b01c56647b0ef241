"""One trace of a function: its graph, and how a call's arrays become its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from operator import itemgetter
from time import perf_counter_ns
from types import MethodType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from lanewise.api.faster import NONE_BY_NAME, FasterPlain, Postponed, run_itself
from lanewise.api.keys import (
    Key,
    Text,
    described,
    is_data,
    key_of,
    named,
    references,
    type_text,
)
from lanewise.api.mapping import as_array
from lanewise.api.parameters import Parameters
from lanewise.api.plain import NoBatchError, conformed
from lanewise.api.rebound import are_apart, put
from lanewise.api.refused import MOST_PASSES, may_run_itself
from lanewise.api.spec import is_of_shape, spec_of
from lanewise.api.tracing import Arguments, Output, Recording
from lanewise.api.writing import OnlyPlain, PlainCall, is_written_through
from lanewise.errors import CutOffError, UnsupportedError, at
from lanewise.ir.dims import DimLike, Shape
from lanewise.ir.graph import Graph, Value
from lanewise.passes.specialize import at_sizes_of
from lanewise.passes.survive import INTERNAL
from lanewise.runtime.dispatch import run
from lanewise.runtime.race import Race
from lanewise.runtime.tiers import COMPILE, INTERPRET, Executable
from lanewise.trace import tree
from lanewise.trace.limits import TookTooLong, limited
from lanewise.trace.mixed import note_mixed
from lanewise.trace.tensor import Tensor, lift, tensor_of
from lanewise.trace.trace import Trace, current_trace, where
from lanewise.trace.variable import Variable, assigning
from lanewise.trace.views import root_of, writable

#: The arguments of a call that changes no containers among them.
NO_PLACES: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})


class ConcreteFunction:
    """A function traced for certain dtypes, shapes and Python values; it can be called.

    `lanewise.function` makes them; ``get_concrete_function`` returns one.

    Attributes
    ----------
    name : str
        The name of the function.
    graph : Graph
        What was recorded; its inputs are the arrays among the arguments, in order, then
        `captured_inputs`.
    captured_inputs : list of ndarray
        The arrays that the function met on its way (globals, closures, attributes), as they were.
    variables : tuple of Variable
        The variables that the function reads or assigns: a call takes the values that they have
        then, and assigns when it is done. They are not kept alive by it, except by a concrete
        function that ``get_concrete_function`` has returned.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> scaled = lw.function(lambda x, by: x * by)
    >>> concrete = scaled.get_concrete_function(lw.TensorSpec([None, 2]), by=3)
    >>> print(concrete)
    <lambda>(x: float64[x_0,2], by=3) -> float64[x_0,2]
    >>> concrete(np.ones((1, 2)))
    array([[3., 3.]])
    """

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        arguments: Arguments,
        shapes: Sequence[Shape],
        recording: Recording,
        make: Callable[[Graph, Mapping[int, int]], Executable],
        compile: bool | None,
    ) -> None:
        self.name = name
        self.graph = recording.graph
        self.captured_inputs = recording.captures
        self._owners = recording.owners if any(recording.owners) else []
        self._assigned = recording.assigned
        self.writes, self.kinds = recording.writes, recording.kinds
        self.places = recording.places
        self._kept: Any = None
        self._parameters = parameters
        self._structure = arguments.structure
        args, kwargs = tree.unflatten(arguments.structure, list(arguments.leaves))
        self._paths = parameters.paths(args, kwargs)
        self._shapes = tuple(shapes)
        left = iter(shapes)
        self._leaves = [
            _Leaf((key[0], next(left)), None) if is_data(key) else _Leaf(key, _holder(leaf, key))
            for leaf, key in zip(arguments.leaves, arguments.keys, strict=True)
        ]
        self._result = recording.structure
        self._outputs = recording.outputs
        #: Places of results of several classes, of the numbers that say which, and the classes.
        self._mixed = [
            (place, output.code, output.classes)
            for place, output in enumerate(recording.outputs)
            if output.code >= 0
        ]
        #: How many results there are: codes are behind them.
        self._count = len(recording.outputs) - len(self._mixed)
        self._token = [None] if recording.has_effects else []
        self._more = (*recording.captures, *self._token)
        self._compile = compile
        first = len(self.graph.outputs) - len(self._token) - len(self.writes.positions)
        lent = {position: first + i for i, position in enumerate(self.writes.positions)}
        self._executable = make(self.graph, lent)
        #: What measures whether calls run the function itself; None if they do not.
        self.race: Race | None = None
        #: How many calls to leave to the function itself, and how many were left so last.
        self._passes = self._cut_off = 0
        #: Whether the function itself gives the results as well.
        self._may_run_itself = False
        #: The arrays that it reaches beside its arguments.
        self._reached: tuple[np.ndarray, ...] = ()
        computed = [output for output in self._outputs if output.is_computed]
        self._makers = [_maker(output) for output in computed]
        #: What makes the result of what was computed; None if more belongs to it.
        self._into: Callable[[list[Any]], Any] | None = None
        if len(computed) == len(self._outputs):
            self._into = _into(recording.structure, self._count)
        is_pure = not (recording.has_effects or self._assigned or self.writes.positions)
        self._is_array = is_pure and self._makers == [None] and recording.structure == _LEAF

    def watch(self, plain: Postponed) -> None:
        """Let calls run the function itself where that is faster."""
        self._may_run_itself = True
        # What a map gives is stacked.
        self._reached = () if plain.is_map else tuple(plain.unchanged.arrays)
        self.race = Race(self._executable, plain.unchanged, plain.is_map, plain.least)
        self._executable.told = self.race.told

    # --- running ------------------------------------------------------------------------------

    def run(
        self, arrays: Sequence[Any], args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] = NONE_BY_NAME, func: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """Run on arrays of the dtypes and shapes that this was traced for.

        ``func`` is the function itself, and ``args`` and ``kwargs`` are its arguments, if those are
        not the arrays, by position.

        Raises
        ------
        PlainCall
            If the function itself gives the results, or gives them faster.
        """
        if self._passes:
            self._passes -= 1
            raise OnlyPlain
        race, bound = self.race, NO_PLACES
        if self.places:
            assert args is not None
            bound = self._parameters.bind(tuple(args), kwargs)
            if not self.is_for(*bound):
                raise OnlyPlain
        elif race is None:
            return self.run_traced(arrays)
        if race is not None and race.is_plain(arrays):
            return self._run_itself(race, arrays, args, kwargs, func, bound)
        start = perf_counter_ns()
        patience = math.inf if race is None or self._token else race.patience
        try:
            with limited(patience) if patience < math.inf else nullcontext():
                result = self.left(self.run_traced(arrays), *bound)
        except TookTooLong:
            if race is None or patience == math.inf:
                raise
            race.note_given_up(patience)
            return self._run_itself(race, arrays, args, kwargs, func, bound)
        if race is not None:
            race.note_traced(perf_counter_ns() - start)
            if race.is_over():
                self._settle()
        return result

    def _run_itself(
        self, race: Race, arrays: Sequence[Any], args: Sequence[Any] | None,
        kwargs: dict[str, Any], func: Callable[..., Any] | None, bound: Any,
    ) -> Any:  # fmt: skip
        """Run the function itself, as the race says; see `run`."""
        positions = self.writes.positions
        given = arrays if args is None else args
        if func is not None and race.limit == math.inf:
            try:
                known = [*arrays, *self._reached] if self._reached else arrays
                return self._conformed(run_itself(func, given, kwargs, known, positions, race.note))
            except NoBatchError:
                self._settle()
            return self.left(self.run_traced(arrays), *bound)
        may_be_given_up = race.is_map or race.limit < math.inf
        exceeded = race.note_exceeded if may_be_given_up else None
        call = FasterPlain(
            positions, self._reached, race.note, race.bounded, exceeded, self._settle,
            self._conformed,
        )  # fmt: skip
        if func is None:
            raise call
        again = partial(self.run, arrays, args, kwargs, func)
        return call.run(func, given, kwargs, arrays, again)

    def _conformed(self, result: Any) -> Any:
        """Return what the function itself gives, in the dtypes of the trace where it is a map."""
        race = self.race
        return result if race is None or not race.is_map else conformed(result, race.dtypes)

    def _settle(self) -> None:
        """Have all calls run what was traced."""
        self.race = None

    def run_traced(self, arrays: Sequence[Any]) -> Any:
        """Run what was traced, whatever is faster.

        Raises
        ------
        PlainCall
            If only the function itself gives the results.
        """
        writes = self.writes
        if writes.positions:
            writes.check(arrays)
        try:
            if self._assigned:
                return self._run_and_assign(arrays)
            more = self._present() if self._owners else self._more
            outputs = run(self._executable, [*arrays, *more] if more else arrays)
        except UnsupportedError as error:
            if self._token:  # some of its effects may have happened
                raise
            if not (isinstance(error, CutOffError) or (self._may_run_itself and may_run_itself())):
                raise
            # What was cut off, or refused, for these arguments may be for the next ones.
            self._passes = self._cut_off = min(2 * self._cut_off + 1, MOST_PASSES)
            raise OnlyPlain from error
        if self._is_array:
            return outputs[0]
        if writes.positions:
            self._store(arrays, outputs)
        return self._assembled(outputs, arrays)

    def _run_and_assign(self, arrays: Sequence[Any]) -> Any:
        """Run, and then assign: a call that raises has assigned nothing."""
        with assigning:  # another thread's call reads what this one assigns
            variables = [self._alive(reference) for reference in self._assigned]
            outputs = run(self._executable, [*arrays, *self._present()])
            stop = len(outputs) - len(self._token) - len(self.writes.positions)
            start = stop - len(self._assigned)
            for variable, array in zip(variables, outputs[start:stop], strict=True):
                variable.current = np.asarray(array)
            self._store(arrays, outputs)
        return self._assembled(outputs, arrays)

    def _store(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Write to the arguments: a call that raises has written nothing."""
        stop = len(outputs) - len(self._token)
        self.writes.store(arrays, outputs[stop - len(self.writes.positions) : stop])

    def _present(self) -> list[Any]:
        """Return what the graph takes beside the arguments: variables have the values of now."""
        if not self._owners:
            return list(self._more)
        captures = zip(self._owners, self.captured_inputs, strict=True)
        return [*[x if v is None else self._alive(v).current for v, x in captures], *self._token]

    def _alive(self, reference: Any) -> Variable:
        variable = reference()
        if variable is None:
            raise RuntimeError(
                f"{self.name}: a variable that this trace was made with is gone: keep it, or call "
                "the function, which is traced again"
            )
        return variable

    def keep(self) -> ConcreteFunction:
        """Keep the variables alive, as long as this is."""
        self._kept = self.variables
        return self

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function reads or assigns."""
        found = [r() for r in (*self._owners, *self._assigned) if r is not None]
        return tuple(dict.fromkeys([x for x in found if x is not None]))

    def _assembled(self, outputs: list[Any], arrays: Sequence[Any]) -> Any:
        """Return what the function returns, made of the outputs of its graph and the arguments."""
        pairs = zip(self._makers, outputs, strict=False)  # behind them what is written
        computed = [x if make is None else make(x) for make, x in pairs]
        if self._into is not None:
            return self._into(self._of_classes(computed) if self._mixed else computed)
        found = iter(computed)
        leaves = [
            output.plain
            if output.value is None
            else arrays[output.argument]
            if output.argument is not None
            else next(found)
            for output in self._outputs
        ]
        return tree.unflatten(self._result, self._of_classes(leaves))

    def _of_classes(self, leaves: list[Any], make: Callable[..., Any] | None = None) -> list[Any]:
        """Return the leaves of the result, each of its class, of them and the codes behind them."""
        for place, code, classes in self._mixed:
            x = leaves[place]
            leaves[place] = (
                classes[leaves[code]].make(x) if make is None else make(x, classes, leaves[code])
            )
        return leaves[: self._count]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the dtypes, shapes and values that this was traced for.

        Arguments that are no data may be left out.
        """
        args, kwargs = self._parameters.bind(args, kwargs, self._known())
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self._structure:
            raise TypeError(
                f"{self.name}: this trace is for arguments of another structure: it is {self}"
            )
        trace = current_trace()
        arrays: list[Any] = []
        given: list[Any] = []
        for leaf, own_leaf, path in zip(leaves, self._leaves, self._paths, strict=True):
            if isinstance(leaf, Tensor):
                key: Key = (leaf.dtype, leaf.shape)
            else:
                key = key_of(leaf, lambda path=path: path)
            wanted = own_leaf.key
            if is_data(wanted) and is_data(key) and key[0] == wanted[0]:
                if not is_of_shape(key[1], wanted[1]):
                    raise ValueError(self._misfit(path, key, wanted))
                is_tensor = isinstance(leaf, Tensor)
                given.append(leaf)
                arrays.append(leaf if is_tensor else as_array(leaf, lambda path=path: path))
            elif key != wanted:
                raise TypeError(self._misfit(path, key, wanted))
        if not self.accepts([array.shape for array in arrays]):
            found = ", ".join([described((array.dtype, array.shape)) for array in arrays])
            raise ValueError(
                f"{self.name}: sizes that must be the same differ: {found}, for {self}"
            )
        if trace is not None:
            return self._inlined(trace, arrays, given)
        self._check_written(arrays, given)
        if not self.is_for(args, kwargs):
            raise ValueError(
                f"{self.name} changes a container among its arguments that is there twice: pass a "
                "copy of one, or call the lanewise.function that this was made of"
            )
        try:
            return self.left(self.run_traced(arrays), args, kwargs)
        except PlainCall as call:
            assert call.__cause__ is not None
            raise call.__cause__ from None

    def is_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether what a call changes in containers among its arguments is changed in one each."""
        return not self.places or are_apart(args, kwargs)

    def left(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call, and put the rest of it in containers among its arguments."""
        if self.places:
            result, values = result
            put(self.places, values, args, kwargs)
        return result

    def _check_written(self, arrays: Sequence[Any], given: Sequence[Any]) -> None:
        """Raise `ValueError` for arguments that cannot be written to as the plain function does."""
        data = [p for p, leaf in zip(self._paths, self._leaves, strict=True) if leaf.value is None]
        for i in self.writes.positions:
            if not is_written_through(given[i], arrays[i]):
                raise ValueError(
                    f"{self.name} writes to its argument {data[i]}, which has to be an array of "
                    f"NumPy's, not a {type(given[i]).__name__}"
                )
        for i, is_array in self.kinds:
            if isinstance(given[i], np.ndarray) is not is_array:
                wanted = "an array without dimensions" if is_array else "a scalar"
                raise ValueError(
                    f"{self.name}: this trace is for {data[i]} as {wanted}, which it writes to or "
                    "changes by an operator such as +=, and the two differ there"
                )
        try:
            self.writes.check(arrays)
        except PlainCall as call:
            if call.other == -1:
                raise ValueError("assignment destination is read-only") from None
            other = "a captured array" if call.other is None else data[call.other]
            other = "itself" if call.other == call.position else other
            raise ValueError(
                f"{self.name} writes to its argument {data[call.position]}, which overlaps with "
                f"{other}: pass a copy of one, or call the lanewise.function that this was made of"
            ) from None

    def _inlined(self, trace: Trace, arrays: Sequence[Any], given: Sequence[Any]) -> Any:
        """Record what the function does as a part of a trace, and return its results."""
        if self._token or self._assigned or self.places:
            raise UnsupportedError(
                f"{self.name}{where()}: a concrete function that prints, calls host code, assigns "
                "variables or changes a container among its arguments cannot become part of a "
                "trace. Call the lanewise.function that it was made of"
            )
        self._refuse_shared(given)
        graph = trace.with_own_names(self.graph)
        owners = self._owners or [None] * len(self.captured_inputs)
        captured = [
            x if v is None else self._alive(v).value
            for v, x in zip(owners, self.captured_inputs, strict=True)
        ]
        place = trace.location
        arguments = [lift(x) for x in (*arrays, *captured)]
        found = iter(trace.inline(at_sizes_of(graph, arguments), arguments))
        trace.location = place
        leaves = [
            output.plain
            if output.value is None
            else _tensor(trace, next(found), output)
            if output.argument is None
            else given[output.argument]
            for output in self._outputs
        ]
        for i, value in zip(self.writes.positions, found, strict=True):
            given[i][...] = Tensor(trace, value)
        return tree.unflatten(self._result, self._of_classes(leaves, note_mixed))

    def _refuse_shared(self, given: Sequence[Any]) -> None:
        """Raise for tensors that are written to and are views of others among the arguments."""
        roots = [root_of(tensor) for x in given if (tensor := tensor_of(x)) is not None]
        for i in self.writes.positions:
            target = tensor_of(given[i])
            if target is not None and sum([root_of(target) is root for root in roots]) > 1:
                raise UnsupportedError(
                    f"{self.name} writes to one of its arguments{where()}, which shares memory "
                    "with another: a concrete function cannot become part of a trace so. Call the "
                    "lanewise.function that it was made of"
                )

    def _misfit(self, path: str, found: Key, wanted: Key) -> str:
        return (
            f"{self.name}: {path} is {described(found)}, but this trace is for {described(wanted)}"
        )

    def _known(self) -> dict[str, Any]:
        """Return the arguments that are no data, as far as they are alive, by name."""
        leaves = [leaf.value() if leaf.value else _DATA for leaf in self._leaves]
        args, kwargs = tree.unflatten(self._structure, leaves)
        named = {**dict(zip(self._parameters.names, args, strict=False)), **kwargs}
        return {name: x for name, x in named.items() if _DATA not in tree.flatten(x)[0]}

    def accepts(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Whether arrays of the right dtypes and ranks have shapes that this was traced for."""
        sizes: dict[DimLike, int] = {}
        for shape, wanted in zip(shapes, self._shapes, strict=True):
            if shape == wanted:
                continue
            for size, dim in zip(shape, wanted, strict=True):
                if size != dim and (type(dim) is int or sizes.setdefault(dim, size) != size):
                    return False
        return True

    # --- what it is ---------------------------------------------------------------------------

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the arrays among the arguments; unknown sizes are symbols."""
        return self._shapes

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and the named arguments, with a `TensorSpec` for each array."""
        leaves = [
            spec_of(leaf.key[0], leaf.key[1], path) if leaf.value is None else leaf.value()
            for leaf, path in zip(self._leaves, self._paths, strict=True)
        ]
        return tree.unflatten(self._structure, leaves)

    @property
    def structured_outputs(self) -> Any:
        """What it returns, with a `TensorSpec` for each array."""
        leaves = [
            output.plain
            if output.value is None
            else spec_of(output.value.type.dtype, output.value.type.shape)
            for output in self._outputs
        ]
        result = tree.unflatten(self._result, leaves[: self._count])
        return result[0] if self.places else result

    def __repr__(self) -> str:
        return f"<concrete function {self}>"

    def __str__(self) -> str:
        args, kwargs = tree.unflatten(
            self._structure,
            [Text(described(leaf.key), leaf.value is None) for leaf in self._leaves],
        )
        label = self._parameters.label
        parts = [named(label(position), tree_text) for position, tree_text in enumerate(args)]
        parts += [named(name, kwargs[name]) for name in kwargs]
        outputs = [
            Text(repr(output.plain) if output.value is None else type_text(output.value.type))
            for output in self._outputs
        ]
        result = tree.unflatten(self._result, outputs[: self._count])
        result = result[0] if self.places else result
        return f"{self.name}({', '.join(parts)}) -> {result!r}"


class _Leaf(NamedTuple):
    """A leaf of the arguments: its key, and what gives its value if it is no data."""

    key: Key
    value: Callable[[], Any] | None


def _tensor(trace: Trace, value: Value, output: Output) -> Tensor:
    """Return what stands for a result in the trace that it has become a part of."""
    tensor = Tensor(trace, value, None, output.weak)
    return writable(tensor) if output.is_array and not tensor.shape else tensor


def _maker(output: Output) -> Callable[[Any], Any] | None:
    """Return what makes a result of what was computed for it; None if it is that itself."""
    assert output.value is not None
    shape, dtype = output.value.type.shape, output.value.type.dtype
    if shape:
        return None
    if output.is_array:
        return partial(np.array, dtype=dtype)
    # As NumPy, which gives scalars; or Python's number, if it stands for one.
    return dtype.type if output.weak is None else output.weak


def _into(structure: Any, count: int) -> Callable[[list[Any]], Any]:
    """Return what makes a structure of so many leaves."""
    if structure == _LEAF:
        return itemgetter(0)
    is_tuple = structure == tree.flatten((0,) * count)[1]
    return tuple if is_tuple else partial(tree.unflatten, structure)


def _holder(leaf: Any, key: Key) -> Callable[[], Any]:
    """Return what gives a leaf, without keeping alive what its key refers to weakly."""
    if isinstance(key[1], ref):
        return key[1]
    if key[0] is MethodType:
        function, target = [_holder(None, part) for part in key[1:]]
        return lambda: MethodType(function(), target())
    return (lambda: None) if references(key) else (lambda: leaf)


_DATA = object()
_LEAF = tree.flatten(0)[1]


def executable_of(
    name: str, compile: bool | None, graph: Graph, lent: Mapping[int, int]
) -> Executable:
    """Return what runs a graph; raise `ValueError` if it must be compiled and cannot be."""
    executable = Executable(graph, {None: None, False: INTERPRET, True: COMPILE}[compile], lent)
    if compile:
        left = [it for it in executable.uncompiled() if INTERNAL not in it[1]]
        found = [f"{_told(op.primitive.name, reason)}{at(op.place)}" for op, reason in left]
        if found:
            listed = "\n  ".join(dict.fromkeys(found))
            raise ValueError(
                f"{name} cannot be compiled, as experimental_compile asks:\n  {listed}"
            )
    return executable


def _told(name: str, reason: str) -> str:
    """Return why an operation cannot be compiled, with its name."""
    return reason if reason.startswith(name) else f"{name}: {reason}"
