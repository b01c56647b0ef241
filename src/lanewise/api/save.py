"""`save` and `load`: a traced function as a file, which runs without the source it was made of.

`docs/saving.md` describes the file. Reading one runs no code of the file's: see
`lanewise.api.saved_file` for the file as such, `lanewise.ir.archive` for the graph and
`lanewise.api.saved_values` for what else there is.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from lanewise.api.concrete import ConcreteFunction, executable_of
from lanewise.api.function import Function
from lanewise.api.keys import is_data, key_of
from lanewise.api.parameters import Parameters
from lanewise.api.saved_file import packed, unpacked
from lanewise.api.saved_values import (
    Classes,
    Decoder,
    Leaf,
    UnwritableError,
    decoded_classes,
    decoded_tree,
    encoded,
    encoded_classes,
    encoded_tree,
    primitive_name,
    primitive_named,
)
from lanewise.api.tracing import Arguments, Output, Recording
from lanewise.api.writing import Writes
from lanewise.errors import FormatError, UnsupportedError, at
from lanewise.ir.archive import (
    GraphReader,
    GraphWriter,
    index,
    listed,
    text_of,
)
from lanewise.ir.graph import Operation
from lanewise.ir.types import NUMERIC_KINDS, TOKEN, ArrayType, array_type
from lanewise.ops.lists import UNTRUSTED, list_arena
from lanewise.trace import tree
from lanewise.trace.variable import Variable

_KINDS = {kind.name: kind for kind in inspect._ParameterKind}
_ABSENT: Any = object()


def save(function: Any, path: Any) -> None:
    """Write a traced function to a file, from which `load` makes it again without its source.

    The file has the graph, the signature, the arrays that the function captured, and its variables
    with the values they have now.

    Parameters
    ----------
    function : ConcreteFunction or Function
        What ``get_concrete_function`` returns; or a traced function that was traced exactly once.
    path : path-like or binary file
        Where to. A file that is there is replaced when the new one is complete.

    Raises
    ------
    UnsupportedError
        If something of it has no form in a file: host code (`py_func`), a derivative or batching
        rule that Python computes, an object among the arguments. The message names the operation
        and its line, or the argument.
    TypeError
        If `function` is no traced function.
    ValueError
        If it was traced for more than one kind of arguments, or not at all.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import lanewise as lw
    >>> weights = np.array([1.0, 2.0])
    >>> score = lw.function(lambda x: x @ weights)
    >>> file = io.BytesIO()
    >>> lw.save(score.get_concrete_function(lw.TensorSpec([None, 2])), file)
    >>> loaded = lw.load(io.BytesIO(file.getvalue()))
    >>> loaded(np.ones((3, 2)))
    array([3., 3., 3.])
    """
    writer = _Writer(_only_trace(function))
    data = writer.file()
    if hasattr(path, "write"):
        path.write(data)
        return
    path = Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Any, classes: Iterable[type] = ()) -> ConcreteFunction:
    """Read a function that `save` wrote.

    It gives what the saved one gives, to the bit, on the same arguments, and refuses the same. It
    has variables of its own.

    Parameters
    ----------
    path : path-like or binary file
        Where from.
    classes : iterable of type
        The named tuples, dataclasses and exceptions that it takes, returns or raises, as far as
        they are wanted; they are found by their names. Of others a class alike is made: of the same
        name and fields, and of exceptions with the same built-in base.

    Returns
    -------
    ConcreteFunction
        To be called like the one that was saved.

    Raises
    ------
    FormatError
        If it is no such file, is damaged, or was written by a newer version; the message says
        which.
    OSError
        If the file cannot be read.

    Notes
    -----
    Files need not be trusted: nothing in one is run as code or imported, whatever it says of types
    and sizes is worked out again and compared, and the graph is verified. What a function computes,
    how long and with how much memory, is the file's to say.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> import lanewise as lw
    >>> step = lw.function(lambda x, rate=0.5: {"x": x - rate * x})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "step.lanewise")
    ...     lw.save(step.get_concrete_function(np.ones(2)), path)
    ...     loaded = lw.load(path)
    >>> print(loaded)
    <lambda>(x: float64[2], rate=0.5) -> {'x': float64[2]}
    >>> loaded(np.array([2.0, 4.0]))
    {'x': array([1., 2.])}
    """
    known = Classes(classes)
    if hasattr(path, "read"):
        data, name = path.read(), str(getattr(path, "name", "the file"))
    else:
        name, data = str(path), Path(path).read_bytes()
    try:
        program, arrays = unpacked(data)
        return _read(program, arrays, known)
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise FormatError(f"{name} cannot be loaded: {error}") from error


def _only_trace(function: Any) -> ConcreteFunction:
    if isinstance(function, ConcreteFunction):
        return function
    if not isinstance(function, Function):
        raise TypeError(
            f"save takes a function that was traced, not {function!r:.80}. Wrap it in "
            "lanewise.function, and save what its get_concrete_function(...) returns"
        )
    traces = function._traces.all()
    if len(traces) == 1:
        return traces[0]
    listed_traces = "".join(f"\n  {trace}" for trace in traces)
    raise ValueError(
        f"{function!r} was traced {len(traces)} times, and one trace is saved. Choose one by "
        f"get_concrete_function(...){':' if traces else ''}{listed_traces}"
    )


# --- writing --------------------------------------------------------------------------------------


class _Writer:
    """Collects what a trace consists of as plain data and arrays."""

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete
        self._arrays: list[np.ndarray] = []
        self._variables: list[Variable] = []
        self._graphs = GraphWriter(encoded, primitive_name, self._refuse)

    def file(self) -> bytes:
        """Return the file."""
        return packed(self._program(), self._arrays)

    def _program(self) -> dict[str, Any]:
        concrete = self._concrete
        if concrete.places:
            reason = "what they hold then cannot be written to a file"
            self._refuse_part("containers among its arguments that it changes", ValueError(reason))
        self._graphs.write(concrete.graph)
        program: dict[str, Any] = {
            "name": concrete.name,
            "compile": concrete._compile,
            "parameters": self._parameters(concrete._parameters),
            "labels": concrete._parameters.labels,
            "arguments": self._tree(concrete._structure, "its arguments"),
            "leaves": self._leaves(),
            "captures": self._captures(),
            "assigned": [self._variable(v) for v in concrete._assigned],
            "result": self._tree(concrete._result, "its result"),
            "outputs": [self._output(output) for output in concrete._outputs],
            "effects": bool(concrete._token),
        }
        if concrete.writes.positions:
            program["written"] = list(concrete.writes.positions)
        if concrete.kinds:
            program["kinds"] = [list(row) for row in concrete.kinds]
        program["variables"] = [
            {"name": v.name, "trainable": v.trainable, "array": self._array(v.current)}
            for v in self._variables
        ]
        return {**program, **self._graphs.data()}

    def _refuse(self, op: Operation, reason: str) -> NoReturn:
        raise UnsupportedError(
            f"{self._concrete.name} cannot be saved: {op.primitive.name}{at(op.place)}: {reason}"
            f"{op.primitive.instead}"
        ) from None

    def _refuse_part(self, what: str, reason: Exception) -> NoReturn:
        raise UnsupportedError(
            f"{self._concrete.name} cannot be saved, because of {what}: {reason}"
        ) from None

    def _parameters(self, parameters: Parameters) -> list[Any]:
        rows = []
        for row in parameters.signature.parameters.values():
            default = [] if row.default is row.empty else self._default(row.default)
            rows.append([row.name, row.kind.name, *default])
        return rows

    def _default(self, default: Any) -> list[Any]:
        """Return a default as its structure and leaves; nothing if it has no form in a file.

        What a trace does not need is not refused: it has its arguments, defaults among them.
        """
        leaves, structure = tree.flatten(default)
        try:
            return [[self._tree(structure, "a default"), [self._default_leaf(x) for x in leaves]]]
        except UnsupportedError:
            return []

    def _default_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in NUMERIC_KINDS:
            return {"array": self._array(np.asarray(leaf))}
        try:
            return {"value": encoded(leaf)}
        except UnwritableError as problem:
            self._refuse_part("a default", problem)

    def _tree(self, structure: Any, what: str) -> Any:
        marked = tree.unflatten(structure, [Leaf(i) for i in range(structure.num_leaves)])
        try:
            return encoded_tree(marked)
        except UnwritableError as problem:
            self._refuse_part(what, problem)

    def _leaves(self) -> list[Any]:
        rows: list[Any] = []
        for leaf, path in zip(self._concrete._leaves, self._concrete._paths, strict=True):
            if leaf.value is None:
                rows.append({"array": self._graphs.type(array_type(*leaf.key))})
                continue
            value = leaf.value()
            try:
                if value is None and any([isinstance(part, ref) for part in leaf.key]):
                    raise UnwritableError("an object that is gone has no form in a file")
                rows.append({"value": encoded(value)})
            except UnwritableError as problem:
                self._refuse_part(f"its argument {path}", problem)
        return rows

    def _captures(self) -> list[Any]:
        rows: list[Any] = []
        captures = self._concrete.captured_inputs
        owners = self._concrete._owners or [None] * len(captures)
        for array, owner in zip(captures, owners, strict=True):
            if owner is not None:
                rows.append({"variable": self._variable(owner)})
            elif isinstance(array, np.ndarray):
                rows.append({"array": self._array(array)})
            else:
                self._refuse_part("a list that grew outside of it", UnwritableError("pass it in"))
        return rows

    def _output(self, output: Output) -> Any:
        if output.value is None:
            return {"value": encoded(output.plain)}
        if output.argument is not None:
            return {"argument": output.argument}
        if output.is_array and not output.value.type.shape:
            return {"array": None}
        if output.classes:
            classes = encoded_classes(output.classes)
            return {"mixed": [output.code, encoded(output.weak), classes]}
        return {"number": encoded(output.weak)}

    def _variable(self, reference: Any) -> int:
        variable = self._concrete._alive(reference)
        if not any(known is variable for known in self._variables):
            self._variables.append(variable)
        return next(i for i, known in enumerate(self._variables) if known is variable)

    def _array(self, array: np.ndarray) -> int:
        for number, known in enumerate(self._arrays):
            if known is array:
                return number
        self._arrays.append(array)
        return len(self._arrays) - 1


# --- reading --------------------------------------------------------------------------------------


def _admitted(primitive: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an operation: of lists kernels check that they are lists."""
    if primitive is list_arena and not params["name"].startswith(UNTRUSTED):
        return {"name": UNTRUSTED + params["name"]}
    return params


def _read(
    program: dict[str, Any], arrays: Sequence[np.ndarray], classes: Classes
) -> ConcreteFunction:
    try:
        return _Reader(program, arrays, classes).function()
    except KeyError as missing:
        raise ValueError(f"it lacks {missing}") from missing


class _Reader:
    """Makes a trace of plain data and arrays."""

    def __init__(
        self, program: dict[str, Any], arrays: Sequence[np.ndarray], classes: Classes
    ) -> None:
        self._program = program
        self._decoder = Decoder(classes)
        self._arrays = arrays
        self._variables = [self._variable(row) for row in listed(program["variables"])]
        self._graphs = GraphReader(program, self._decoder.value, primitive_named, _admitted)

    def function(self) -> ConcreteFunction:
        """Return the function."""
        program = self._program
        name, compile = text_of(program["name"]), program["compile"]
        if compile not in (None, False, True) or type(program["effects"]) is not bool:
            raise ValueError("how it is compiled is not said")
        graph = self._graphs.graph()
        arguments, shapes = self._arguments()
        captures, owners = self._captures()
        assigned = [ref(self._variables[self._number(i)]) for i in listed(program["assigned"])]
        structure, outputs = self._outputs(graph, shapes)
        data = [key for key in arguments.keys if is_data(key)]
        written = tuple([index(i, len(data)) for i in listed(program.get("written", []))])
        kinds = tuple([self._kind(row, shapes) for row in listed(program.get("kinds", []))])
        recording = Recording(
            graph, captures, structure, outputs, program["effects"], owners, assigned,
            Writes(written), kinds,
        )  # fmt: skip
        self._check_edges(recording, [array_type(dtype, shape) for dtype, shape in data])
        concrete = ConcreteFunction(
            name,
            self._parameters(),
            arguments,
            shapes,
            recording,
            partial(executable_of, name, compile),
            compile,
        )
        return concrete.keep()

    def _check_edges(self, recording: Recording, arguments: list[ArrayType]) -> None:
        """Raise unless the graph takes and gives what is said of the function."""
        graph = recording.graph
        token = [TOKEN] * recording.has_effects
        captured = [array_type(x.dtype, x.shape) for x in recording.captures]
        if [v.type for v in graph.inputs] != [*arguments, *captured, *token]:
            raise ValueError("the graph does not take the function's arguments and arrays")
        computed = [output.value for output in recording.outputs if output.is_computed]
        given = [value.type for value in computed if value is not None]
        written = recording.writes.positions
        last = [arguments[i] for i in written]
        if sorted({*written}) != list(written):
            raise ValueError("an argument is written to twice")
        variables: list[Any] = [reference() for reference in recording.assigned]
        assigned = [array_type(v.dtype, v.shape) for v in variables]
        if [v.type for v in graph.outputs] != [*given, *assigned, *last, *token]:
            raise ValueError("the graph does not give the function's results")
        if any(not isinstance(type_, ArrayType) for type_ in given):
            raise ValueError("a result is no array")
        if len({*map(id, variables)}) != len(variables):
            raise ValueError("a variable is assigned twice")
        sizes = {str(dim) for type_ in arguments for dim in type_.shape}
        if unknown := self._graphs.sizes - self._graphs.named - sizes:
            raise ValueError(f"the size {min(unknown)} cannot be read off the arguments")

    def _kind(self, row: Any, shapes: Sequence[Any]) -> tuple[int, bool]:
        position, is_array = listed(row)
        if type(is_array) is not bool or shapes[index(position, len(shapes))]:
            raise ValueError("of what kind an argument is is not said")
        return position, is_array

    def _parameters(self) -> Parameters:
        rows = []
        for row in listed(self._program["parameters"]):
            name, kind, *default = listed(row)
            value = self._default(*default) if default else inspect.Parameter.empty
            rows.append(inspect.Parameter(text_of(name), _KINDS[kind], default=value))
        labels = [text_of(label) for label in listed(self._program["labels"])]
        return Parameters.of(inspect.Signature(rows), labels)

    def _default(self, row: Any) -> Any:
        structure, rows = listed(row)
        leaves = [
            self._array(content) if tag == "array" else self._decoder.value(content)
            for tag, content in [_one(row, "array", "value") for row in listed(rows)]
        ]
        return decoded_tree(structure, self._decoder, lambda i: leaves[index(i, len(leaves))])

    def _structure(self, data: Any, count: int) -> Any:
        marked = decoded_tree(data, self._decoder, Leaf)
        leaves, structure = tree.flatten(marked)
        if [getattr(leaf, "number", None) for leaf in leaves] != list(range(count)):
            raise ValueError(f"a structure is not one of {count} leaves in order")
        return structure

    def _arguments(self) -> tuple[Arguments, list[Any]]:
        keys: list[Any] = []
        leaves: list[Any] = []
        shapes: list[Any] = []
        for row in listed(self._program["leaves"]):
            tag, content = _one(row, "array", "value")
            if tag == "array":
                type_ = self._graphs.type(content)
                if not isinstance(type_, ArrayType) or type_.dtype.kind not in NUMERIC_KINDS:
                    raise ValueError(f"an argument cannot be {type_}")
                keys.append((type_.dtype, type_.shape))
                shapes.append(type_.shape)
                leaves.append(_ABSENT)
            else:
                leaves.append(self._decoder.value(content))
                keys.append(key_of(leaves[-1], lambda: "an argument"))
        structure = self._structure(self._program["arguments"], len(leaves))
        whole = tree.unflatten(structure, list(leaves))
        if not (type(whole) is tuple and [type(part) for part in whole] == [tuple, dict]):
            raise ValueError("the arguments are no pair of positional and named ones")
        if not all(isinstance(name, str) for name in whole[1]):
            raise ValueError("an argument's name is no string")
        return Arguments(structure, leaves, keys, leaves), shapes

    def _captures(self) -> tuple[list[np.ndarray], list[Any]]:
        captures: list[np.ndarray] = []
        owners: list[Any] = []
        for row in listed(self._program["captures"]):
            tag, number = _one(row, "array", "variable")
            owner = self._variables[self._number(number)] if tag == "variable" else None
            captures.append(self._array(number) if owner is None else owner.current)
            owners.append(None if owner is None else ref(owner))
        return captures, owners

    def _outputs(self, graph: Any, shapes: Sequence[Any]) -> tuple[Any, list[Output]]:
        values = iter(graph.outputs)
        outputs = []
        for row in listed(self._program["outputs"]):
            tag, content = _one(row, "number", "array", "value", "argument", "mixed")
            if tag == "argument":
                position = index(content, len(shapes))
                if position not in listed(self._program.get("written", [])):
                    raise ValueError("a result is an argument that is not written to")
                outputs.append(Output(graph.inputs[position], argument=position))
            elif tag in ("number", "array", "mixed"):
                classes, code = (), -1
                if tag == "mixed":
                    code, content, described = listed(content)
                    code = index(code, len(self._program["outputs"]))
                    classes = decoded_classes(self._decoder, described)
                weak = self._decoder.value(content) if tag != "array" else None
                if weak not in (None, bool, int, float, complex):
                    raise ValueError(f"a result cannot stand for {weak!r:.60}")
                value = next(values, _ABSENT)
                if value is _ABSENT or (weak is not None and value.type.shape):
                    raise ValueError("the graph does not give the function's results")
                is_array = tag == "array"
                found = Output(value, weak=weak, is_array=is_array, classes=classes, code=code)
                outputs.append(found)
            else:
                plain = self._decoder.value(content)
                if type(plain) not in (bool, int, float, complex, str, bytes):
                    raise ValueError(f"a result cannot be {plain!r:.60}")
                outputs.append(Output(None, plain))
        count = len(outputs) - sum([output.code >= 0 for output in outputs])
        return self._structure(self._program["result"], count), outputs

    def _variable(self, row: Any) -> Variable:
        if type(row["trainable"]) is not bool:
            raise ValueError("whether a variable is trainable is not said")
        array = self._array(row["array"])
        return Variable(array, trainable=row["trainable"], name=text_of(row["name"]))

    def _number(self, number: Any) -> int:
        return index(number, len(self._variables))

    def _array(self, number: Any) -> np.ndarray:
        return self._arrays[index(number, len(self._arrays))]


def _one(row: Any, *tags: str) -> tuple[str, Any]:
    """Return the one entry of an object, which has one of these names, or raise `ValueError`."""
    if type(row) is not dict or len(row) != 1 or not row.keys() <= {*tags}:
        raise ValueError(f"expected {' or '.join(tags)}, found {row!r:.60}")
    ((tag, content),) = row.items()
    return tag, content
