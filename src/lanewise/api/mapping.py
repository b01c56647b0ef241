"""Recording a map: what `vmap`, `vectorized_map`, `map_fn` and `vectorize` have in common."""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.kept import Kept, mapped, with_more_room
from lanewise.api.lengths import First, with_lengths
from lanewise.api.outer import Left, is_stateful, left_by, outer_changes, refuse_iterator, settle
from lanewise.api.plain import is_plain, loop, may_repeat
from lanewise.api.refused import PlainWay
from lanewise.api.results import assign, check_out_dims, last_of, refuse_varying, uniform
from lanewise.api.retraced import in_one_form
from lanewise.autograph.describe import describe
from lanewise.autograph.optional import there
from lanewise.errors import CutOffError, LostWriteWarning, UnsupportedError, at, function_name
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Graph, Value
from lanewise.ir.location import Location
from lanewise.ir.types import NUMERIC_KINDS, array_type, has_dim
from lanewise.ops.creation import iota
from lanewise.ops.regions import PARALLEL, SEQUENTIAL, example_type, map_
from lanewise.passes.lanes import map_alone
from lanewise.runtime.dispatch import execute
from lanewise.runtime.owning import own
from lanewise.trace import tree
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.foreign import plain_array
from lanewise.trace.lending import refuse_unknown
from lanewise.trace.limits import limited
from lanewise.trace.mixed import in_common, is_mixed
from lanewise.trace.origins import refuse_escape
from lanewise.trace.regions import Watched
from lanewise.trace.tensor import Tensor, as_tensor, lift, read, unwrapped
from lanewise.trace.trace import Stateful, Stop, Trace, current_trace, resolve, state, where
from lanewise.trace.variable import Assigned, Variable, taken
from lanewise.trace.variants import Variant, are_integers

#: The size of the outermost map, which is an argument of the executable.
BATCH = Dim.symbol("batch")


class Options(NamedTuple):
    """How a map is recorded and run; see `lanewise.ops.regions.map_`."""

    order: str = PARALLEL
    chunk: int | None = None
    fallback: bool = True
    autograph: bool = True
    fastmath: bool = False
    randomness: str = "different"


_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def refuse_generators(func: Any, done: str = "mapped") -> None:
    """Raise `TypeError` for what does not return when called: generators and coroutines.

    ``done`` is what was to be done with it.
    """
    code = getattr(func, "__code__", None)
    if code is None:
        while isinstance(func, partial):
            func = func.func
        inner = func if hasattr(func, "__code__") else type(func).__call__
        code = getattr(inner, "__code__", None)
    if code is not None and code.co_flags & _SUSPENDING:
        raise TypeError(
            f"{function_name(func)} is a generator or coroutine function, which cannot be {done}: "
            "write a function that returns its result"
        )


def is_array(leaf: Any) -> bool:
    """Whether `as_array` would return this very object."""
    if type(leaf) is not np.ndarray:
        return False
    dtype = leaf.dtype
    return dtype.kind in NUMERIC_KINDS and dtype.isnative


def as_array(leaf: Any, path: Callable[[], str]) -> np.ndarray:
    """Return an argument as an array that Lanewise computes with, or raise naming its path."""
    array = plain_array(leaf, path)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refuse_variant(leaf: Any, path: str, func: Any, done: str) -> None:
    """Raise for a result that is one of several objects, or unknown."""
    refuse_unknown(leaf)
    if type(leaf) is Variant:
        raise UnsupportedError(
            f"{function_name(func)} returns {describe(leaf)} as {path}, as the data choose, but a "
            f"{done} function returns arrays and numbers. Return a number in its place"
        )


def output_value(leaf: Any, index: int, result: Any, func: Any, done: str = "mapped") -> Value:
    """Return one leaf of what a function returned as a value of its trace, or raise naming it.

    ``done`` is what is done with the function.
    """
    if done == "mapped" and are_integers(leaf):
        leaf = unwrapped(leaf)  # of an `IntEnum`, which the array of the results has as a number
    if isinstance(leaf, Tensor):
        state.asked_for_lengths |= has_dim(leaf.shape)
        refuse_escape(leaf, f"returning it from a {done} function")
        return read(in_common(as_tensor(leaf)) if is_mixed(leaf) else leaf)
    path = tree.paths(result, "the result")[index]
    refuse_variant(leaf, path, func, done)
    if isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic, Variable)):
        return lift(leaf, path)
    kind = "str" if isinstance(leaf, str) else getattr(leaf, "stands_for", type(leaf).__name__)
    raise ValueError(
        f"{function_name(func)} returned {path} of type {kind}, but a {done} "
        "function returns arrays, numbers, None, or containers of these"
    )


def close(trace: Trace, outputs: list[Value], count: int) -> Graph:
    """Return the traced graph: the examples' inputs, then the captures in order, then the token."""
    inputs = trace.inputs[:count]
    if trace.number is not None:
        inputs.append(trace.number)
    if trace.captures:
        inputs += [value for _, value in trace.captures]
    if trace.token is not None:
        inputs.append(trace.token[0])
        outputs = [*outputs, trace.token[1]]
    return Graph(inputs, trace.operations, outputs)


class MapCall(NamedTuple):
    """A call of a mapped function.

    Attributes
    ----------
    func
        The user's function, for messages.
    operands
        Arrays and tensors, the mapped ones with their axis in `in_dims`.
    in_dims
        For each operand the non-negative mapped axis, or None.
    size
        How many examples there are.
    call
        Calls the user's function on one tensor an operand.
    out_dims
        Given what the function returned and its number of leaves, where the batch goes in each.
    options
        How the map is run.
    path
        What to call one of the operands in messages.
    """

    func: Callable[..., Any]
    operands: Sequence[Any]
    in_dims: Sequence[int | None]
    size: int | Dim
    call: Callable[[list[Tensor]], Any]
    out_dims: Callable[[Any, int], list[int | None]]
    options: Options
    path: Callable[[int], str]

    @property
    def is_empty(self) -> bool:
        """Whether there surely is no example, so that nothing is assigned or changed outside."""
        return not isinstance(self.size, Dim) and not self.size

    def run(self, may_loop: bool = True, alike: Hashable | None = None) -> Any:
        """Return the results: record the map, and run it unless a trace around needs it recorded.

        Parameters
        ----------
        may_loop
            Whether the plain loop may run if the function is refused.
        alike
            What decides the results besides the function, the operands, `in_dims` and `options`; if
            it is None more does, and no trace is kept.
        """
        # What is not given but arrays may be changed.
        repeats = alike is not None
        if is_plain() and not self.is_empty:
            return self._again(repeats)
        options = self.options
        may_loop = may_loop and options.fallback and options.autograph and current_trace() is None
        is_known = may_loop and not self.is_empty
        if not is_known or any([type(x) is not np.ndarray for x in self.operands]):
            return _run_traced(self)
        asked = options, *self.in_dims, *map(_type, self.operands, self.in_dims)
        way, plain = PlainWay(self.func, (alike, asked)), partial(self._again, repeats)
        if not way.is_known():
            try:
                if alike is None:
                    return _run_traced(self)
                traced = partial(_run_traced, self)
                size = operator.index(self.size)  # of arrays
                return mapped(self.func, (alike, asked), self.operands, size, plain, traced)
            except Exception as error:
                if not way.takes(error):
                    raise
        # Outside of the handler: what it raises is the user's, with no exception before it.
        return way.run(plain)

    def _again(self, repeats: bool) -> Any:
        """Return what the plain loop gives, as what is around wants it."""
        return self.loop(repeats and may_repeat())

    def loop(self, may_repeat: bool = False) -> Any:
        """Return what the plain loop gives; `may_repeat` as for `lanewise.api.plain.loop`."""
        if isinstance(self.size, Dim):
            raise UnsupportedError(
                f"map_fn of a function that changes what is outside of it{where()} needs a number "
                "of elements that is known"
            )
        size = operator.index(self.size)
        return loop(self.operands, self.in_dims, size, self.call, self.out_dims, may_repeat)


def _run_traced(
    given: MapCall, limit: float = math.inf, kept: Callable[..., Kept | None] | None = None
) -> Any:
    """Map a function by its trace; see `lanewise.api.kept.mapped`."""
    start = perf_counter_ns()
    func, operands, in_dims, size, _, _, options, _ = given
    outer = current_trace()
    trace: Any = None

    def attempt() -> _Example:
        nonlocal trace
        trace = Watched(func)
        trace.randomness = options.randomness
        try:
            return _example(given, trace)
        except BaseException:
            trace.put_back()
            raise

    try:
        with limited(limit, start):
            first = First(operands, in_dims, size, given.call) if options.autograph else None
            example = in_one_form(lambda: with_lengths(first, attempt, lambda: trace))
    except BaseException as error:
        if options.order == SEQUENTIAL and not given.is_empty and is_stateful(error, trace):
            return given.loop()
        refuse_iterator(func, error)
        raise
    result, structure, outputs, dims, has_stopped, left, assigned = example
    trace.forget()
    assignments = uniform(func, trace, in_dims, assigned) if assigned else []
    if any(dims):
        check_out_dims(func, result, outputs, dims)
    if None in dims:
        refuse_varying(func, trace, in_dims, result, outputs, dims)
    graph = close(trace, outputs, len(operands))
    sources = [source for source, _ in trace.captures] if trace.captures else []
    has_effects = trace.token is not None
    # What uses what the trace around records cannot be run right away.
    is_around = has_effects or any([isinstance(x, Tensor) for x in operands])
    is_around = is_around or any([isinstance(source, tuple) for source in sources])
    belongs = outer is not None and is_around
    if trace.number is not None:
        operands, in_dims = [*operands, _numbers(size, outer if belongs else None)], [*in_dims, 0]
    unmapped = len(graph.inputs) - len(operands)
    axes = (*in_dims, *[None] * unmapped)
    # The size is an argument of the executable, if there is an argument to read it off. If not, no
    # example differs from another, and nothing is gained by chunks of them.
    is_read_off = axes.count(None) < len(axes)
    out_mapped = tuple([dim is not None for dim in dims])
    if has_effects:
        out_mapped += (False,)
    columns = last_of(outputs, dims) if any(dims) else ()
    params = {
        "size": BATCH if is_read_off and not belongs else size,
        "in_dims": axes,
        "out_mapped": out_mapped,
        "order": options.order,
        "chunk": options.chunk if is_read_off else None,
        "fallback": options.fallback,
        "fastmath": options.fastmath,
        "columns": columns,
    }
    if belongs:
        assert outer is not None
        results = _record(outer, graph, params, operands, sources)
        if has_stopped:
            raise Stop
    else:
        arguments = [*operands, *sources]
        if has_effects:
            arguments.append(None)
        fixed = None if is_read_off else size
        # Warnings name lines, so equal functions of two places are not one.
        code = getattr(func, "__code__", None)
        place = None if code is None else (code.co_filename, code.co_firstlineno)
        key = (
            None if has_effects else (graph.key, axes, out_mapped, columns, fixed, place, *options)
        )
        make = partial(map_alone, graph, params)
        made = None
        if kept is not None and is_read_off and not (trace.number or assigned or left):
            with limited(limit, start):
                made = kept(key, make, sources, partial(_assemble, structure, dims))
        try:
            if made is not None:
                return made.run(operands, operator.index(size), partial(given._again, True))
            found = execute(key, make, arguments)
        except CutOffError as error:
            if has_effects:  # some of them may have happened
                raise
            return with_more_room(error, state.room, partial(_run_traced, given, kept=kept))
        if has_effects:
            found.pop()
        results = own(found, arguments)
    if not given.is_empty:  # no example assigns
        assign(assignments)
    _leave(left, results, size)
    return _assemble(structure, dims[: len(results)], results)


class _Example(NamedTuple):
    """What one example of a mapped function gives, traced.

    Attributes
    ----------
    result
        What was returned.
    structure
        Of its tree; None if it is one tensor.
    outputs, dims
        Its leaves, and behind them those of `left`, each with where the batch goes.
    has_stopped
        Whether it always raises.
    left
        What it leaves outside, if it changes something there.
    assigned
        What it assigns to variables.
    """

    result: Any
    structure: Any
    outputs: list[Value]
    dims: list[int | None]
    has_stopped: bool
    left: Left | None
    assigned: Sequence[Assigned]


def _example(given: MapCall, trace: Watched) -> _Example:
    """Trace one example; raise `Stateful` if it takes what the one before has left."""
    func, left = given.func, None
    with trace:
        tensors, result, has_stopped = _traced(given, trace)
        changes = outer_changes(trace, result) if trace.changes else []
        if changes and given.is_empty:
            trace.put_back()
            changes = []
        if changes and given.options.order == SEQUENTIAL:
            raise Stateful(changes[0].slot.name, changes[0].line)
        if type(result) is Tensor:  # the usual case: no tree to take apart
            leaves, structure = [result], None
        else:
            leaves, structure = tree.flatten(result)
        dims = given.out_dims(result, len(leaves))
        if not leaves and not has_stopped:
            _warn_of_lost_writes(given, trace, tensors)
        outputs = [output_value(leaf, index, result, func) for index, leaf in enumerate(leaves)]
        assigned = taken(trace) if trace.states else []
        if changes:
            graph = close(trace, outputs, len(tensors))
            first = graph, [source for source, _ in trace.captures]
            again = partial(_again, given, trace)
            name = f"vmap({function_name(func)})"
            left = left_by(name, func, trace, changes, first, again, given.size)
            trace.states = None
            outputs += left.outputs
            dims = [*dims, *[0] * len(left.outputs)]
    return _Example(result, structure, outputs, dims, has_stopped, left, assigned)


def _traced(given: MapCall, trace: Trace) -> tuple[list[Tensor], Any, bool]:
    """Call the function on tensors; return these, its result, and whether it always raises."""
    tensors = []
    for x, axis in zip(given.operands, given.in_dims, strict=True):
        tensors.append(Tensor(trace, trace.input(_type(x, axis))))
        if is_mixed(x):
            tensors[-1]._mixed = x._mixed  # each of its rows is of the class of all
    result, has_stopped = called(given.func, trace, given.call, tensors)
    return tensors, result if type(result) is Tensor else there(result), has_stopped


def called(
    func: Any, trace: Trace, call: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Any, bool]:
    """Call what traces `func`; return its result, and whether all of its branches raise."""
    example, state.example = state.example, None  # that of maps within is another
    try:
        result = call(*args, **kwargs)
        if example is not None:
            result = ON_CONTENTS["as_long_as"](result, *example)
        return ON_CONTENTS["returned"](result, func) if state.has_contents else result, False
    except Stop:
        if current_trace() is not trace:
            raise UnsupportedError(
                f"{function_name(func)} raises within an expression that the data decide, "
                "which is not followed there. Write an if statement"
            ) from None
        return None, True


def _again(given: MapCall, first: Trace) -> tuple[Watched, Any, Graph, list[Any]]:
    """Trace the function again, within the trace of its first example; see `left_by`."""
    with Watched(given.func) as trace:
        trace.randomness = first.randomness
        tensors, result, _ = _traced(given, trace)
        leaves = enumerate(tree.flatten(result)[0])
        outputs = [output_value(leaf, index, result, given.func) for index, leaf in leaves]
        trace.states = None
    graph = close(trace, outputs, len(tensors))
    return trace, result, graph, [source for source, _ in trace.captures]


def _leave(left: Left | None, results: list[Any], size: Any) -> None:
    """Make what the function changed outside of itself what the loop leaves there."""
    if left is None:
        return
    first = len(results) - len(left.outputs)
    batches = results[first:]
    del results[first:]
    settle(left.build(batches, size))


def _warn_of_lost_writes(given: MapCall, trace: Trace, tensors: list[Tensor]) -> None:
    """Warn that a function writes to an argument, if it returns nothing."""
    for position, (tensor, value) in enumerate(zip(tensors, trace.inputs, strict=False)):
        if tensor._value is value:
            continue
        place = next((op.place for op in trace.operations if tensor._value in op.results), None)
        location = None if place is None else Location(*place)
        name = f"vmap({function_name(given.func)}): {given.path(position)}"
        warnings.warn_explicit(
            f"{name} is written to{at(place)}, but each example writes to its own copy and "
            "nothing is returned: what it wrote is lost. Return it, or call lw.function(...) on "
            "the whole array, which writes to the caller's",
            LostWriteWarning,
            "<unknown>" if location is None else location.file,
            0 if location is None else location.line,
        )


def _numbers(size: int | Dim, outer: Trace | None) -> Any:
    """Return the numbers of so many examples, 0, 1, ..., as an array, or a tensor of a trace."""
    dtype = np.dtype(np.uint64)
    if outer is None:
        return np.arange(operator.index(size), dtype=dtype)
    return Tensor(outer, outer.record(iota, (), {"length": size, "dtype": dtype})[0])


def _type(operand: Any, axis: int | None) -> Any:
    return example_type(array_type(operand.dtype, operand.shape), axis)


def _assemble(structure: Any, dims: Sequence[int | None], results: list[Any]) -> Any:
    """Return the tree of results, the batch of each moved to where ``out_dims`` wants it."""
    for index, dim in enumerate(dims):
        if dim:
            results[index] = np.moveaxis(results[index], 0, dim)
    return results[0] if structure is None else tree.unflatten(structure, results)


def _record(
    outer: Trace, region: Graph, params: dict[str, Any], operands: Sequence[Any], sources: list[Any]
) -> list[Tensor]:
    """Record the map in the trace around it."""
    values = [lift(operand) for operand in operands]
    for source in sources:
        values.append(resolve(source[1], source[0]) if isinstance(source, tuple) else lift(source))
    has_token = len(values) < len(region.inputs)
    if has_token:
        values.append(outer.next_token())
    results = outer.record(map_, tuple(values), params, (region,))
    if has_token:
        outer.set_token(results[-1])
        results = results[:-1]
    return [Tensor(outer, value) for value in results]
