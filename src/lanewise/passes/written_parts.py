"""Writes of what is there already: an array that was read, made longer and is written back.

``x = np.append(x, v)`` in a loop is carried in an array of its largest size. Recorded, it reads the
front, joins v to it, and writes both. What is joined is written part by part here, and what a part
reads where it would be written is not written: a turn costs its new elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.movement import AxisSlice, concatenate, reshape, slice_, update_slice

Index = tuple[AxisSlice, ...]


def write_parts(graph: Graph) -> Graph:
    """Return the graph without writes of what is there already, or of arrays with such parts."""
    return graph.rewritten(_Writes().rule)


class _Writes:
    """Writes part by part, in a graph of which all operations before are known."""

    def __init__(self) -> None:
        self._makers: dict[Value, Operation] = {}

    def rule(self, op: Operation, values: dict[Value, Value]) -> list[Value] | Operation | None:
        """Return what stands for an operation; see `Graph.rewritten`."""
        for result in op.results:
            self._makers[result] = op
        if op.primitive is not update_slice:
            return op.map_regions(write_parts) if op.regions else None
        target, written = op.operands
        found = list(self._parts(written, op.params["index"]))
        new = [each for each in found if not self._is_there(each[0], target, each[1])]
        if len(new) == len(found):
            return None
        result = values[target]
        for part, index in new:
            result = update_slice(result, values[part], index=index)
        return [result]

    def _maker(self, value: Value) -> Operation | None:
        """Return what makes a value, but for reshapes that change nothing."""
        op = self._makers.get(value)
        while op is not None and op.primitive is reshape and op.operands[0].type is value.type:
            op = self._makers.get(op.operands[0])
        return op

    def _parts(self, value: Value, index: Index) -> Iterator[tuple[Value, Index]]:
        """Yield the parts of what is written at a place, each with its own place."""
        made = self._maker(value)
        axis = None if made is None else _joined_along(made, index)
        if made is None or axis is None:
            yield value, index
            return
        start: DimLike = 0 if (whole := index[axis]) is None else whole[0]
        for part in made.operands:
            stop = start + part.type.shape[axis]
            yield from self._parts(part, (*index[:axis], (start, stop, 1), *index[axis + 1 :]))
            start = stop

    def _is_there(self, value: Value, target: Value, index: Index) -> bool:
        """Whether a value was read where it is to be written, and nothing has been since."""
        made = self._maker(value)
        if made is None or made.primitive is not slice_ or made.operands[0] is not target:
            return False
        shape = target.type.shape
        return _placed(made.params["index"], shape) == _placed(index, shape)


def _joined_along(op: Operation, index: Index) -> int | None:
    """Return along which axis an operation joins parts that may be written one by one."""
    if op.primitive is not concatenate or any(
        [part.type.dtype != op.results[0].type.dtype for part in op.operands]
    ):
        return None
    axis = op.params["axis"]
    whole = index[axis] if axis < len(index) else None
    return axis if whole is None or whole[2] == 1 else None


def _placed(index: Index, shape: tuple[DimLike, ...]) -> Index:
    """Return an index in which no axis is left out."""
    return tuple([(0, d, 1) if s is None else s for s, d in zip(index, shape, strict=True)])
