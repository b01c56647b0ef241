"""The verifier: what every graph keeps to. It runs between passes where ``LANEWISE_VERIFY=1``.

* A value is defined once, before it is used, and in the graph that uses it: regions are isolated.
* An operation has its primitive's parameters, in order and hashable, and the types that the
  primitive's type rule gives; with regions, the rule checks that they fit the operands.
* There is one thread of effects: at most one token comes in, and every token is taken exactly
  once, by the next effect or as an output. An operation that takes a token gives one; a region of
  it without effects may leave its token alone (the test of a loop).
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.errors import InvalidGraphError, at
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.text import format_operation
from lanewise.ir.types import TokenType


def verify(graph: Graph) -> None:
    """Check a graph and the regions in it.

    Raises
    ------
    InvalidGraphError
        If the graph breaks a rule; the message says which, and shows the operation.
    """
    _verify(graph, None)


def _verify(graph: Graph, outside: frozenset[Value] | None) -> None:
    """Check a graph; of a region, `outside` are the values of the graphs around it."""
    if graph.is_verified:
        return
    defined: dict[Value, None] = {}
    numbers: set[int] = set()
    live: set[Value] = set()  # tokens that nobody has taken yet

    def define(values: Sequence[Value], op: Operation | None) -> None:
        for value in values:
            if value in defined or value.index in numbers:
                raise _invalid(f"%{value.index} is defined twice", op)
            defined[value] = None
            numbers.add(value.index)
            if isinstance(value.type, TokenType):
                live.add(value)
        if len(live) > 1:
            raise _invalid("there is more than one thread of effects", op)

    def use(values: Sequence[Value], op: Operation | None) -> None:
        for value in values:
            if outside and value in outside and value not in defined:
                raise _invalid(f"a region uses %{value.index} of the graph around it", op)
            if value not in defined:
                raise _invalid(f"%{value.index} is used before it is defined", op)
            if isinstance(value.type, TokenType):
                if value not in live:
                    raise _invalid(f"the token %{value.index} is used twice", op)
                live.remove(value)

    define(graph.inputs, None)
    for op in graph.operations:
        use(op.operands, op)
        for region in op.regions:
            _verify(region, (outside or frozenset()) | defined.keys())
        _verify_types(op)
        define(op.results, op)
        if op.regions and any(isinstance(v.type, TokenType) for v in op.operands) and not live:
            raise _invalid("it takes a token and gives none: effects would lose their order", op)
    use(graph.outputs, None)
    if live and (outside is None or live.isdisjoint(graph.inputs)):
        raise _invalid(f"the token %{live.pop().index} is lost: no output hands it on", None)
    graph.is_verified = True


def _verify_types(op: Operation) -> None:
    try:
        names = tuple(op.primitive.complete(dict(op.params)))
        hash(tuple(op.params.values()))
        types = op.primitive.infer([value.type for value in op.operands], op.params, op.regions)
    except Exception as error:
        raise _invalid(f"its type rule refuses: {error}", op) from error
    if tuple(op.params) != names:
        raise _invalid(f"its parameters must stand in the order {', '.join(names)}", op)
    found = tuple([value.type for value in op.results])
    if found != types:
        raise _invalid(f"its results have the types {found}, but its type rule gives {types}", op)


def _invalid(problem: str, op: Operation | None) -> InvalidGraphError:
    if op is None:
        return InvalidGraphError(problem)
    return InvalidGraphError(f"{problem}{at(op.location)}, in\n{format_operation(op)}")
