"""Recording a function as a graph: what it is called with, and what running it on tensors gave."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from lanewise.api.keys import Key, is_array_like, is_data, key_of
from lanewise.api.mapping import as_array, called, close, is_array, refuse_variant
from lanewise.api.outer import leave_arguments
from lanewise.api.parameters import Parameters
from lanewise.api.rebound import Given, Place
from lanewise.api.retraced import in_one_form
from lanewise.api.writing import Writes
from lanewise.autograph.calls import fn
from lanewise.autograph.optional import as_returned
from lanewise.errors import function_name
from lanewise.ir.dims import Shape
from lanewise.ir.graph import Graph, Value
from lanewise.ir.types import array_type
from lanewise.trace import tree
from lanewise.trace.mixed import Class, classes_of, is_mixed, own_code
from lanewise.trace.regions import Watched
from lanewise.trace.tensor import Tensor, lift, read
from lanewise.trace.trace import Trace, state
from lanewise.trace.variable import Variable, taken
from lanewise.trace.views import writable

#: What a function may return besides arrays: it is the same at each call.
_PLAIN = (bool, int, float, complex, str, bytes)
_GIVEN = (np.ndarray, np.generic, *_PLAIN)


class Arguments(NamedTuple):
    """The arguments of a call, taken apart.

    Attributes
    ----------
    structure
        Of the pair of positional and named arguments.
    leaves
        What stands in it.
    keys
        For each leaf what decides the trace.
    given
        The leaves as the caller has them, where data are not arrays yet.
    """

    structure: Any
    leaves: list[Any]
    keys: list[Key]
    given: list[Any]

    @classmethod
    def of(
        cls, name: str, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        """Take the arguments of a call of the function of that name apart.

        Raises
        ------
        TypeError
            If one is neither data nor hashable.
        """
        leaves, structure = tree.flatten((args, kwargs))
        given = list(leaves)

        def path(position: int) -> str:
            return f"{name}: {parameters.paths(args, kwargs)[position]}"

        keys: list[Key] = []
        for position, leaf in enumerate(leaves):
            if not is_array(leaf):
                if not is_array_like(leaf):
                    keys.append(key_of(leaf, partial(path, position)))
                    continue
                leaf = leaves[position] = as_array(leaf, partial(path, position))
            keys.append((leaf.dtype, leaf.shape))
        return cls(structure, leaves, keys, given)

    @property
    def arrays(self) -> list[Any]:
        """The leaves that are data."""
        return [x for x, key in zip(self.leaves, self.keys, strict=True) if is_data(key)]

    @property
    def given_data(self) -> list[Any]:
        """The leaves that are data, as the caller has them."""
        return [x for x, key in zip(self.given, self.keys, strict=True) if is_data(key)]

    @property
    def key(self) -> Hashable:
        """What decides the trace of calls of exactly these shapes."""
        return self.structure, *self.keys

    @property
    def is_plain(self) -> bool:
        """Whether the caller's data are NumPy's arrays and scalars, as they are."""
        return all(
            [
                isinstance(x, np.generic) or (type(x) is np.ndarray and x.dtype.isnative)
                for x in self.given_data
            ]
        )

    def is_array(self, position: int) -> bool:
        """Whether data without dimensions are an array, which can be written to, and no scalar."""
        return isinstance(self.given_data[position], np.ndarray)


class Output(NamedTuple):
    """A leaf of what the function returned: a value of the graph, or a plain object.

    ``argument`` is the position of the caller's array that it is, where that is written to. Without
    dimensions, ``is_array`` says that it is an array of NumPy's and not one of its scalars. Of a
    number of which the data choose the class, ``classes`` are those that it may have, and ``code``
    is the position of another output, behind the leaves, that says which it has.
    """

    value: Value | None
    plain: Any = None
    weak: type | None = None
    argument: int | None = None
    is_array: bool = False
    classes: tuple[Class, ...] = ()
    code: int = -1

    @property
    def is_computed(self) -> bool:
        """Whether it is one of the graph's outputs."""
        return self.value is not None and self.argument is None


class Recording(NamedTuple):
    """What running a function on tensors gave.

    ``kinds`` says of data without dimensions whether they were arrays (True) or scalars, where that
    makes a difference: ``x += 1`` writes to an array, and rebinds the name of a scalar.
    """

    graph: Graph
    captures: list[np.ndarray]
    structure: Any
    outputs: list[Output]
    has_effects: bool
    owners: list[ref[Variable] | None]  # of the captures, those that are a variable's value
    assigned: list[ref[Variable]]  # the graph gives their values behind the outputs
    writes: Writes = Writes(())  # the graph gives what they hold at the end behind those
    kinds: tuple[tuple[int, bool], ...] = ()
    is_alone: bool = False  # changes nothing outside of itself but arrays among its arguments
    places: tuple[Place, ...] = ()  # the result is a pair then, with the values for these places

    def settled(self) -> Recording:
        """Return the same without variables that nobody has any more: they are constants then."""
        owners = [None if r is None or r() is None else r for r in self.owners]
        assigned = [r for r in self.assigned if r() is not None]
        outputs, graph = iter(self.graph.outputs), self.graph
        kept = [next(outputs) for output in self.outputs if output.is_computed]
        kept += [v for r, v in zip(self.assigned, outputs, strict=False) if r() is not None]
        kept += outputs  # what arguments hold, the token
        graph = Graph(graph.inputs, graph.operations, kept)
        return self._replace(graph=graph, owners=owners, assigned=assigned)


def record(
    func: Callable[..., Any], arguments: Arguments, shapes: Sequence[Shape], autograph: bool
) -> Recording:
    """Run a function on tensors in place of its arrays, and return what it did.

    Parameters
    ----------
    func
        The user's function.
    arguments
        Those of the call at hand.
    shapes
        The shapes of the arrays among them, which may have symbolic dimensions.
    autograph
        Whether Python's control flow follows the data.
    """

    def attempt() -> Recording:
        trace = Watched(func)
        try:
            return _recorded(func, trace, arguments, shapes, autograph)
        except BaseException:
            # As plain Python, it leaves the rest, unless it is called once more.
            trace.put_back(only_tensors=not state.gave_up_lengths or state.keeps_lengths)
            raise

    return in_one_form(attempt)


def _recorded(
    func: Callable[..., Any], trace: Watched, arguments: Arguments,
    shapes: Sequence[Shape], autograph: bool,
) -> Recording:  # fmt: skip
    with trace:
        own = _Inputs(trace, arguments, shapes)
        args, kwargs = tree.unflatten(arguments.structure, own.filled)
        given = Given(trace, args, kwargs)
        call = fn(func) if autograph else func
        with own.known():
            result, _ = called(func, trace, call, *args, **kwargs)
        rebound = given.rebound()
        if rebound:
            result = result, list(rebound.values())
        del args, kwargs, given  # containers among them are the function's own
        is_alone = all([id(slot.owner) in trace.given for slot, _ in trace.changes.values()])
        if trace.changes:
            constants = [x for x in own.filled if not isinstance(x, Tensor)]
            constants.append(getattr(func, "__self__", None))
            leave_arguments(trace, result, func, own.given(), constants)
        trace.forget()
        result = as_returned(result)
        leaves, structure = tree.flatten(result)
        positions = own.written()
        returned = {id(own.tensors[i]): i for i in positions}
        outputs = [
            _output(leaf, index, result, func)._replace(argument=returned.get(id(leaf)))
            for index, leaf in enumerate(leaves)
        ]
        if rebound:  # an array of the caller's own stays it
            of_caller = {id(x): i for i, x in enumerate(own.tensors) if arguments.is_array(i)}
            for index in range(len(leaves) - len(rebound), len(leaves)):
                argument = of_caller.get(id(leaves[index]))
                outputs[index] = outputs[index]._replace(argument=argument)
        for index, leaf in enumerate(leaves):
            if is_mixed(leaf):
                outputs[index] = outputs[index]._replace(
                    classes=classes_of(leaf) or (), code=len(outputs)
                )
                outputs.append(Output(own_code(leaf)))
        last = [read(own.roots[i]) for i in positions]
        assigned = taken(trace)
    values = [output.value for output in outputs if output.value is not None and output.is_computed]
    graph = close(trace, [*values, *[value for _, value, _ in assigned], *last], len(own.roots))
    captures = [source for source, _ in trace.captures]
    owners = trace.writable_captures() if positions else []
    return Recording(
        graph, captures, structure, outputs, trace.token is not None,
        [None if x is None else ref(x) for x in trace.owners_of_captures()],
        [ref(variable) for variable, *_ in assigned],
        Writes(positions, tuple([ref(owner) for owner in owners])),
        own.kinds(positions),
        is_alone and trace.token is None and not (assigned or trace.streams or trace.reads),
        tuple(rebound),
    )  # fmt: skip


class _Inputs:
    """The tensors that stand for the arrays among the arguments of a call.

    Attributes
    ----------
    filled
        The leaves of the arguments, with tensors in place of arrays.
    tensors
        Those tensors.
    roots
        What holds their values: of an array without dimensions, the scalar that it shows.
    """

    def __init__(self, trace: Trace, arguments: Arguments, shapes: Sequence[Shape]) -> None:
        self.filled = list(arguments.leaves)
        self.tensors: list[Tensor] = []
        self.roots: list[Tensor] = []
        self._trace, self._arguments = trace, arguments
        left = iter(shapes)
        for position, key in enumerate(arguments.keys):
            if is_data(key):
                tensor = Tensor(trace, trace.input(array_type(key[0], next(left))))
                self.roots.append(tensor)
                if not tensor.shape and isinstance(arguments.given[position], np.ndarray):
                    tensor = writable(tensor)
                self.tensors.append(tensor)
                self.filled[position] = tensor
        self._values = list(trace.inputs)

    def given(self) -> dict[int, Any]:
        """Return, by the id of each tensor, what the caller has given, if that is no tensor."""
        pairs = zip(self.tensors, self._arguments.given_data, strict=True)
        return {id(x): given for x, given in pairs if isinstance(given, _GIVEN)}

    @contextmanager
    def known(self) -> Generator[None]:
        """Have it known in a ``with`` block what the tensors stand for."""
        before, given = state.arrays, self.given()
        state.arrays = {id(x): (x._value, given[id(x)]) for x in self.tensors if id(x) in given}
        try:
            yield
        finally:
            state.arrays = before

    def written(self) -> tuple[int, ...]:
        """Return the positions of those that hold something else than at the start."""
        for root in self.roots:
            if root._guard is not None:  # which may have been written to as the data say
                root._guard.reading(root)
        pairs = zip(self.roots, self._values, strict=False)
        return tuple([i for i, (root, value) in enumerate(pairs) if root._value is not value])

    def kinds(self, written: Sequence[int]) -> tuple[tuple[int, bool], ...]:
        """Return what `Recording.kinds` says."""
        rebound = self._trace.rebound
        return tuple(
            [
                (i, self._arguments.is_array(i))
                for i, (root, value) in enumerate(zip(self.roots, self._values, strict=False))
                if not root.shape and (i in written or value in rebound)
            ]
        )


def _output(leaf: Any, index: int, result: Any, func: Any) -> Output:
    if isinstance(leaf, Tensor):
        is_array = leaf._view is not None  # a scalar shares no memory with anything
        weak = leaf._weak if type(leaf) is Tensor else None
        return Output(read(leaf), weak=weak, is_array=is_array)
    if type(leaf) in _PLAIN:
        return Output(None, leaf)
    path = tree.paths(result, "the result")[index]
    refuse_variant(leaf, path, func, "traced")
    if isinstance(leaf, (np.ndarray, np.generic, Variable)):
        return Output(lift(leaf, path), is_array=isinstance(leaf, np.ndarray))
    kind = getattr(leaf, "stands_for", type(leaf).__name__)
    raise ValueError(
        f"{function_name(func)} returned {path} of type {kind}, but a traced "
        "function returns arrays, numbers, strings, None, or containers of these"
    )
