"""Cotangents of lists, which are tables: where they come from, and how regions add to them.

Adding two tables up costs as much as they are long. So a rule is told what is known of a table's
cotangent (`Linear.so_far`), and gives it with its own part in it. A loop that reads a list of
outside carries its cotangent along; the examples of a map each have one, which are then added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanewise.ir.graph import Graph, Value
from lanewise.ops.derivatives import is_linear
from lanewise.ops.tables import TABLES, kept_table, list_tangents, table_total
from lanewise.transforms.derivation import Derivation, is_table


def has_begun(operand: Any) -> bool:
    """Whether something is known already of the cotangent of an operand, which is a table."""
    return is_linear(operand) and operand.so_far is not None


def captured_tables(captures: Sequence[Any]) -> list[bool]:
    """Return which of a loop's captures are tables: every turn adds to their cotangents."""
    return [is_linear(x) and is_table(x.type) for x in captures]


def first_totals(d: Derivation, captures: Sequence[Any]) -> list[Any]:
    """Return the cotangents of a loop's linear captures before its first turn."""
    return [x.so_far if has_begun(x) else d.zeros(x) for x in captures if is_linear(x)]


def added_up(total: Any, part: Any) -> Any:
    """Return the cotangent of a capture after a turn; of a table the turn gives the total."""
    return part if is_table(total._type) else total + part


def total_of_examples(
    d: Derivation, region: Graph, number: int, operands: Sequence[Any], ct: Any
) -> Any:
    """Return the cotangent of a table that all examples of a map read, given that of each."""
    store = _store_of(d, region, number, operands)
    return kept_table(d, d.emit(table_total, store, ct), store, operands[number])


def _store_of(d: Derivation, region: Graph, number: int, operands: Sequence[Any]) -> Any:
    """Return the store of a table that is an input of a region, given the region's operands."""
    table = region.inputs[number]
    places = {value: n for n, value in enumerate(region.inputs)}

    def outside(value: Value) -> Any:
        if value in places:
            return operands[places[value]]
        maker = region.makers[value]
        assert maker.primitive is list_tangents, "the tables that are read were made outside"
        return d.emit(list_tangents, outside(maker.operands[0]), order=maker.params["order"])

    for op in region.operations:
        if table not in op.operands:
            continue
        if op.primitive in TABLES:
            return outside(op.operands[0])
        given = op.operands[len(op.operands) - len(op.regions[0].inputs) :]
        inner = [outside(v) if v.type.dtype.kind == "O" else None for v in given]
        return _store_of(d, op.regions[0], given.index(table), inner)
    raise AssertionError("a table that nothing reads has no cotangent")
