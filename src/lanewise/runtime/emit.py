"""A graph as the source of a Python function that calls NumPy: a line or so an operation.

Control flow becomes Python's own: a `cond` is an ``if``, a `while` and a `scan` are loops, with
their regions written in place. A variable holds one value, or in a loop the carry of one place, and
is dropped after its last use, except that scalars stay. Every value without dimensions is a NumPy
scalar, on which operators are fast; only arguments of a plan without control flow may be arrays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.dims import Dim, DimLike, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import states_at
from lanewise.ir.types import ArrayType, has_dim
from lanewise.ops.control import BRANCHES, CONTROL, carry_of, cond, while_
from lanewise.ops.facts import is_made_anew
from lanewise.ops.indexing import scatter
from lanewise.ops.movement import update_slice
from lanewise.ops.regions import NATIVE
from lanewise.runtime.binding import bind, learned_symbols, of_any_size
from lanewise.runtime.buffers import around
from lanewise.runtime.clock import Clock
from lanewise.runtime.expressions import (
    array_expression,
    element_key,
    gives_scalars,
    is_scalar,
    scalar_expression,
    size_expression,
    sizes_expression,
    slice_key,
)
from lanewise.runtime.memory import Memory, analyze, last_uses
from lanewise.runtime.placing import (
    Place,
    line_of,
    main_file,
    placed,
    places_of,
    spelled,
)
from lanewise.trace.limits import check_time

#: Of so many turns of a loop that data end one looks at the time.
CHECKED = 64
#: Blocks nested deeper than this are functions of their own; Python allows 20 loops in each other.
MAX_DEPTH = 16
#: Gives what runs an operation with regions, which may write to the operands at some positions: it
#: takes the sizes of dimensions, then the operands.
Runner = Callable[[Operation, Collection[int]], Callable[..., Any]]


class At(NamedTuple):
    """Where an operation is written: in a block, with these variables, and operands that die."""

    memory: Memory
    variables: dict[Value, str]
    depth: int
    dying: Sequence[Value]


class Source:
    """The source of a function ``run``, the objects that it names, and the operations of its lines.

    It takes an array for each input, or None for a token, and where it is ``sized`` before them a
    dict with the sizes of the symbolic dimensions.
    """

    def __init__(
        self,
        graph: Graph,
        runner: Runner,
        *,
        sized: bool = False,
        memory: Memory | None = None,
        clock: Clock | None = None,
    ) -> None:
        #: The functions and constants that it refers to.
        self.names: dict[str, Any] = {}
        #: For each line, the operation that it belongs to.
        self.places: list[Operation | None] = []
        self._lines: list[str] = []
        self._runner = runner
        self._known: dict[int, str] = {}
        self._scalars: dict[str, str] = {}
        self._count = 0
        self._op: Operation | None = None
        #: What is asked of floating-point conditions where lines are written now.
        self._states: tuple[tuple[str, str], ...] = ()
        self._sizes: dict[Dim, str] = {}
        self._clock = clock
        #: The first line that runs when an argument that is lent is written to; 0 if none is.
        self.written = 0
        self._learned = learned_symbols(graph)
        self._defined: set[str] = set()
        self.file = main_file(places_of(graph))
        variables = {value: self._fresh() for value in graph.inputs}
        arguments = list(variables.values())
        controls = any(op.primitive in CONTROL for op in graph.operations)
        self._line(0, f"def run({', '.join(['sizes'] * sized + arguments)}):")
        self._line(1, "pass")  # the sizes, once it is known whether they are needed
        if clock is not None and clock.within:
            self._line(1, f"{self._refer(clock.reading(None))}()")
        if controls:
            for value in graph.inputs:
                if is_scalar(value.type):
                    self._line(1, f"{variables[value]} = {variables[value]}[()]")
        memory = analyze(graph) if memory is None else memory
        self._block(graph, memory, variables, 1, set(graph.inputs), {})
        results = ", ".join(variables[value] for value in graph.outputs)
        self._line(1, f"return [{results}]")
        if not sized and (self._sizes or any("sizes" in line for line in self._lines)):
            self._lines[1] = f"    sizes = {sizes_expression(graph, arguments, self._refer)}"
        if self._sizes:
            named = [f"{name} = {size_expression(dim)}" for dim, name in self._sizes.items()]
            self._lines[1] = "; ".join([self._lines[1], *named])
        self.text = "\n".join(self._lines)

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)
        self.places.append(self._op)

    def user_lines(self) -> list[int]:
        """Return for each line the one of the user's, in `file`, that it stands for."""
        lines, last = [], 0
        for op in self.places:
            place = None if op is None else op.place
            if place is not None and place[0].co_filename == self.file:
                last = line_of(place)
            lines.append(last)
        first = next(filter(None, lines), 1)
        return [line or first for line in lines]

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count - 1}"

    def _refer(self, thing: Any) -> str:
        """Return a name for an object."""
        name = self._known.setdefault(id(thing), f"k{len(self.names)}")
        self.names[name] = thing  # kept alive, so that its id stays its own
        return name

    # --- blocks -----------------------------------------------------------------------------------

    def _block(
        self,
        graph: Graph,
        memory: Memory,
        variables: dict[Value, str],
        depth: int,
        dropped: Collection[Value],
        wanted: dict[Value, str],
    ) -> None:
        """Write the operations of a graph, and enter the variables of their results.

        `variables` has those of the inputs, of which `dropped` may be dropped after their last use;
        `wanted` chooses the variables of some results.
        """
        first = len(self._lines)
        uses = last_uses(graph)
        inputs = set(graph.inputs).difference(dropped)
        filling = filled_by(graph)
        filled = set(filling.values())
        outside, states, around_op = depth, self._states, self._op
        for op in graph.operations:
            self._op = op
            if (around := states_at(op.place)) != self._states:
                self._states, depth = around, outside + (around != states)
                if around != states:
                    told = dict.fromkeys(dict(states), "warn") | dict(around)
                    self._line(outside, f"with {self._refer(partial(np.errstate, **told))}():")
                    self._line(depth, "pass")
            if is_made_anew(op) and not has_dim(op.params):
                variables[op.results[0]] = self._constant(op)
                continue
            for result in op.results:
                variables[result] = wanted.get(result) or self._fresh()
            dying = [v for v in uses.get(op, ()) if v not in inputs and _is_array(v)]
            dying = [v for v in dying if variables[v] not in self.names]
            begin = len(self._lines)
            if op in filling:
                self._fill(op, filling[op], variables, depth)
            elif op in filled:
                self._line(depth, f"{variables[op.results[0]]} = {variables[op.operands[1]]}")
            else:
                self._operation(op, At(memory, variables, depth, dying))
            if op is memory.first_lent:  # what is no loop or branch raises before it writes
                self.written = 1 + (begin if op.primitive in CONTROL else len(self._lines))
            results = {variables[v] for v in op.results if v not in dying}
            self._drop(depth, [variables[v] for v in dying if variables[v] not in results])
            if self._clock is not None:
                self._line(depth, f"{self._refer(self._clock.reading(op))}()")
        self._states, self._op = states, around_op
        if len(self._lines) == first:
            self._line(outside, "pass")

    def _drop(self, depth: int, names: Sequence[str]) -> None:
        if names:
            self._line(depth, f"{' = '.join(dict.fromkeys(names))} = None")

    def _constant(self, op: Operation) -> str:
        array = op.primitive.numpy(**op.params)
        array.flags.writeable = False  # it stays in the plan, so nobody may own it
        name = self._refer(array)
        if not array.ndim:
            self._scalars[name] = self._refer(array[()])
        return name

    def _scalar(self, name: str) -> str:
        """Return the variable that has the NumPy scalar of one that may be an array."""
        return self._scalars.get(name, name)

    def _operation(self, op: Operation, at: At) -> None:
        memory, variables, depth, _ = at
        if op.primitive in CONTROL and depth < MAX_DEPTH:
            loop = self._while if op.primitive is while_ else self._scan
            write = self._choose if op.primitive in BRANCHES else loop
            write(op, at)
            self._learn_sizes(op, variables, depth)
            return
        arrays = [variables[value] for value in op.operands]
        operands = [self._scalar(name) for name in arrays]
        results = [variables[value] for value in op.results]
        if op.primitive.is_definition:
            size, least = op.params["size"], op.params["least"]
            self._defined.add(str(size))
            self._define_size(size, f"int({operands[0]}) - {least}", depth)
            return
        if op in memory.in_place:
            self._line(depth, self._update(op, operands))
            if results != operands[:1]:
                self._line(depth, f"{results[0]} = {operands[0]}")
            return
        expression = scalar_expression(op, operands, self._refer, self.names)
        is_scalar_already = expression is not None or gives_scalars(op)
        if expression is None:
            expression = array_expression(op, operands, self._refer, self._spelled)
        if expression is None:  # ufuncs and kernels take arrays sooner than scalars
            takes_arrays = op.primitive.ufunc or op.params.get("order") == NATIVE
            expression = self._call(op, arrays if takes_arrays else operands, memory)
        place = op.place
        if place is not None and place[0].co_filename != self.file and not op.regions:
            expression = self._elsewhere(expression, place)
        several = len(results) != 1 or bool(op.regions)
        targets = f"{', '.join(results)}{',' * several} = " if results else ""
        self._line(depth, targets + expression)
        for name, value in zip(results, op.results, strict=True):
            if is_scalar(value.type) and not is_scalar_already:
                self._line(depth, f"{name} = {name}[()]")
        self._learn_sizes(op, variables, depth)

    def _elsewhere(self, expression: str, place: Place) -> str:
        """Return the call of a function that is an expression, at a place in another file."""
        code = re.sub(r"'[^']*'", "''", expression)  # symbols have names like variables'
        used = sorted(set(re.findall(r"\b[vkn]\d+\b|\bsizes\b", code)))
        names = {name: self.names[name] for name in used if name in self.names}
        arguments = [name for name in used if name not in names]
        made = spelled(expression, arguments, names, place)
        return f"{self._refer(made)}({', '.join(arguments)})"

    def _fill(
        self, op: Operation, update: Operation, variables: dict[Value, str], depth: int
    ) -> None:
        """Write the call of a kernel that writes its rows to where an update will have them.

        The variable of the rows has the whole array then.
        """
        (rows,) = [variables[value] for value in op.results]
        first, last = map(self._size, update.params["index"][0][:2])
        base = variables[update.operands[0]]
        self._line(depth, f"{rows} = {self._refer(around)}({base}, {first}, {last})")
        operands = [variables[value] for value in op.operands]
        arguments = [self._size(op.params["size"]), *operands, f"{rows}[{first}:{last}]"]
        self._line(depth, f"{self._refer(self._runner(op, ()))}({', '.join(arguments)})")

    def _learn_sizes(self, op: Operation, variables: dict[Value, str], depth: int) -> None:
        """Enter the sizes of dimensions that depend on the data: only results have them."""
        for value in op.results if self._learned else ():
            if isinstance(value.type, ArrayType):
                for axis, dim in enumerate(value.type.shape):
                    if str(dim) in self._learned and str(dim) not in self._defined:
                        self._define_size(dim, f"{variables[value]}.shape[{axis}]", depth)

    def _define_size(self, symbol: DimLike, number: str, depth: int) -> None:
        """Enter the size of a dimension that is known from here on."""
        self._line(depth, f"sizes = {{**sizes, {str(symbol)!r}: {number}}}")

    def _call(self, op: Operation, operands: Sequence[str], memory: Memory) -> str:
        """Return the call of an operation's meaning in NumPy."""
        if op.regions:
            runner = self._runner(op, memory.given.get(op, ()))
            size = op.params.get("size")
            is_told = op.params.get("order") == NATIVE and not of_any_size(op)
            sizes = str(size) if is_told and type(size) is int else "sizes"
            return f"{self._refer(runner)}({', '.join([sizes, *operands])})"
        if op.primitive.ufunc is not None and op.params.get("dtype") is None:
            own = op.primitive.row and op.primitive.row.numpy
            return self._meaning(placed(own or op.primitive.ufunc, op.place), {}, operands)
        return self._meaning(placed(op.primitive.numpy, op.place), op.params, operands)

    def _meaning(
        self, numpy: Callable[..., Any], params: dict[str, Any], operands: Sequence[str]
    ) -> str:
        """Return the call of a function with parameters, some of which depend on sizes."""
        known = {name: value for name, value in params.items() if not has_dim(value)}
        others = [f"{name}={self._spelled(params[name])}" for name in params if name not in known]
        call = self._refer(partial(numpy, **known) if known else numpy)
        return f"{call}({', '.join([*operands, *others])})"

    def _spelled(self, value: Any) -> str:
        """Return a parameter in source."""
        if isinstance(value, (int, Dim)):
            return self._size(value)
        if type(value) is tuple:
            parts = map(self._spelled, value)
            return f"({', '.join(parts)}{',' * (len(value) == 1)})"
        if has_dim(value):
            return f"{self._refer(partial(bind, value))}(sizes)"
        return self._refer(value)

    def _size(self, dim: DimLike) -> str:
        """Return a dimension: the variable of one that is worked out when the function begins."""
        if not isinstance(dim, Dim):
            return str(dim)
        expression = size_expression(dim)
        if expression is None:
            return f"{self._refer(partial(evaluate, dim))}(sizes)"
        if not self._learned.isdisjoint(symbols(dim)):
            return f"({expression})"
        return self._sizes.setdefault(dim, f"n{len(self._sizes)}")

    def _update(self, op: Operation, operands: Sequence[str]) -> str:
        """Return the statement that writes an update into its first operand."""
        x, values, *rest = operands
        if op.primitive is update_slice:
            key = slice_key(op.params["index"], self._refer, self._spelled)
            return f"{x}[{key}] = {values}"
        if op.primitive is scatter and op.params["fn"] is None:
            return f"{x}[{element_key(op.params['axis'], rest)}] = {values}"
        return self._meaning(op.primitive.into, op.params, operands)

    # --- control flow -----------------------------------------------------------------------------

    def _choose(self, op: Operation, at: At) -> None:
        """Write a `cond` or `switch`."""
        chosen = self._scalar(at.variables[op.operands[0]])
        is_cond = op.primitive is cond
        if not is_cond:
            # Looked up in a list, for Python's sense of negative indices and its error.
            index, choices = self._fresh(), self._refer(list(range(len(op.regions))))
            self._line(at.depth, f"{index} = {choices}[{chosen}]")
            chosen = index

        def choose(low: int, high: int, depth: int) -> None:
            if high - low == 1:
                self._branch(op, low, at, depth)
                return
            middle = (low + high) // 2
            self._line(depth, f"if {chosen}:" if is_cond else f"if {chosen} < {middle}:")
            choose(low, middle, depth + 1)
            self._line(depth, "else:")
            choose(middle, high, depth + 1)

        choose(0, len(op.regions), at.depth)

    def _branch(self, op: Operation, number: int, at: At, depth: int) -> None:
        """Write one region of a `cond` or `switch`, and put its outputs into the results."""
        memory, variables, _, dying = at
        region = op.regions[number]
        operands = op.operands[1:]
        names = [variables[value] for value in operands]
        inner = dict(zip(region.inputs, names, strict=True))
        dropped = {
            x
            for x, value in zip(region.inputs, operands, strict=True)
            if value in dying and names.count(variables[value]) == 1
        }
        results = [variables[value] for value in op.results]
        wanted = {
            value: name
            for value, name in zip(region.outputs, results, strict=True)
            if value not in region.inputs and region.outputs.count(value) == 1
        }
        self._block(region, memory.regions[op][number], inner, depth, dropped, wanted)
        self._move(depth, region, inner, results)

    def _move(
        self, depth: int, region: Graph, inner: dict[Value, str], targets: Sequence[str]
    ) -> None:
        """Put the outputs of a region into variables, all at once, and drop those they were in."""
        rows = [
            (target, self._scalar(inner[value]))
            for target, value in zip(targets, region.outputs, strict=False)
            if inner[value] != target
        ]
        if rows:
            self._line(depth, f"{', '.join(t for t, _ in rows)} = {', '.join(s for _, s in rows)}")
            left = [
                inner[value]
                for value in region.outputs
                if value not in region.inputs
                and _is_array(value)
                and inner[value] not in self.names
            ]
            self._drop(depth, [name for name in left if name not in targets])

    def _enter_loop(self, op: Operation, at: At) -> tuple[list[str], list[str]]:
        """Put the initial carry of a loop into the variables of its results.

        Return the variables of what the loop captures, and those.
        """
        memory, variables, depth, dying = at
        place = carry_of(op)
        carry = op.operands[place]
        names = [variables[value] for value in op.results[: len(carry)]]
        for position, (name, value) in enumerate(zip(names, carry, strict=True), place.start):
            copy = ".copy()" if position in memory.copied[op] else ""
            self._line(depth, f"{name} = {self._scalar(variables[value])}{copy}")
        others = (*op.operands[: place.start], *op.operands[place.stop :])
        done = [variables[v] for v in dying if v in carry and v not in others]
        self._drop(depth, [name for name in done if name not in names])
        return [self._scalar(variables[value]) for value in op.operands[: place.start]], names

    def _body(
        self, op: Operation, at: At, inputs: Sequence[str], carry: Sequence[str]
    ) -> dict[Value, str]:
        """Write one turn of a loop, up to the change of the carry; return its variables."""
        body = op.regions[-1]
        inner = dict(zip(body.inputs, inputs, strict=True))
        own = body.inputs[carry_of(op)]
        outputs = body.outputs[: len(carry)]
        place = {r: (i, op) for i, op in enumerate(body.operations) for r in op.results}
        last = {v: i for i, op in enumerate(body.operations) for v in op.operands}
        wanted = {}
        for name, old, value in zip(carry, own, outputs, strict=True):
            # The new value may take the variable of the old one where that is not read again.
            if value in place and body.outputs.count(value) == 1 and old not in body.outputs:
                position, maker = place[value]
                if last.get(old, -1) < position + (not maker.regions):
                    wanted[value] = name
        dropped = {value for value in own if value not in body.outputs}
        self._block(body, at.memory.regions[op][-1], inner, at.depth + 1, dropped, wanted)
        return inner

    def _while(self, op: Operation, at: At) -> None:
        memory, _, depth, _ = at
        test, body = op.regions
        captured, carry = self._enter_loop(op, at)
        turn = self._fresh()
        self._line(depth, f"{turn} = 0")
        self._line(depth, "while True:")
        inner = dict(zip(test.inputs, [*captured, *carry], strict=True))
        self._block(test, memory.regions[op][0], inner, depth + 1, set(), {})
        self._line(depth + 1, f"if not {inner[test.outputs[0]]}: break")
        self._line(depth + 1, f"{turn} += 1")
        self._line(depth + 1, f"if not {turn} % {CHECKED}: {self._refer(check_time)}()")
        inner = self._body(op, at, [*captured, *carry], carry)
        self._move(depth + 1, body, inner, carry)

    def _scan(self, op: Operation, at: At) -> None:
        _, variables, depth, _ = at
        (body,) = op.regions
        carried, last = op.params["carry"], carry_of(op).stop
        captured, carry = self._enter_loop(op, at)
        stacks = [variables[value] for value in op.results[carried:]]
        for name, value in zip(stacks, op.results[carried:], strict=True):
            shape, dtype = self._spelled(value.type.shape), self._refer(value.type.dtype)
            self._line(depth, f"{name} = {self._refer(np.empty)}({shape}, {dtype})")
        xs = [variables[value] for value in op.operands[last:]]
        slices = [self._fresh() for _ in xs]
        sources = [f"{name}[::-1]" if op.params["reverse"] else name for name in xs]
        turn = self._fresh()
        if stacks or not xs:
            length = self._size(op.params["length"])
            back = f"range({length} - 1, -1, -1)"
            sources.insert(0, back if op.params["reverse"] else f"range({length})")
            slices.insert(0, turn)
        many = f"zip({', '.join(sources)})" if len(sources) > 1 else sources[0]
        self._line(depth, f"for {', '.join(slices)} in {many}:")
        slices = slices[len(slices) - len(xs) :]
        inner = self._body(op, at, [*captured, *carry, *slices], carry)
        for name, value in zip(stacks, body.outputs[carried:], strict=True):
            self._line(depth + 1, f"{name}[{turn}] = {inner[value]}")
        self._move(depth + 1, body, inner, carry)
        taken = zip(slices, body.inputs[last:], strict=True)
        views = [name for name, value in taken if _is_array(value)]
        self._drop(depth, views)


def _is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType) and bool(value.type.shape)


def filled_by(graph: Graph) -> dict[Operation, Operation]:
    """Return kernels whose rows all go to most rows of an array, and what writes them there.

    What a stencil gives is mostly the inside of an array. NumPy would be given the rows of the
    inside, and copy them into a copy of the array. Instead the kernel is handed a new array in
    which the rows outside of it stand already, and writes to the others.
    """
    read = [value for op in graph.operations for value in op.operands]
    count = Counter([*read, *graph.outputs, *graph.outputs])
    places = {op: place for place, op in enumerate(graph.operations)}
    found: dict[Operation, Operation] = {}
    for op in graph.operations:
        if op.primitive is not update_slice or op.params["index"][:1] in ((), (None,)):
            continue
        (first, last, step), *rest = op.params["index"]
        before, maker = [graph.makers.get(value) for value in op.operands[:2]]
        if (
            maker is not None
            and maker.params.get("order") == NATIVE
            and len(maker.results) == 1
            and not any(maker.params.get("columns", ()))
            and op.operands[1].type.dtype == op.results[0].type.dtype
            and count[op.operands[1]] == 1
            and maker.params["size"] == last - first
            and step == 1
            and not any(rest)
            and all([isinstance(n, int) for n in (first, last, *op.results[0].type.shape)])
            and 4 * (last - first) >= 3 * op.results[0].type.shape[0]
            and (before is None or places[before] < places[maker])
        ):
            found[maker] = op
    return found
