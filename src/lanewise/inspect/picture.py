"""What a drawing of a program shows: boxes for operations, kernels, loops and branches, and lines.

Regions are isolated, so lines never lead from a box to what is in another one: each picture, that
of the program and that in each box, is laid out by itself. Where a picture would have many boxes,
those of one line of the source become one, and then neighbouring lines do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lanewise.inspect.findings import ProgramView
from lanewise.inspect.kernels import KernelView, count_of, inner_operations, places, size_of
from lanewise.inspect.names import named
from lanewise.inspect.rows import KERNEL, Row, name_of
from lanewise.inspect.text import share, time_of
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.creation import constant
from lanewise.ops.regions import DIVERGENT, NATIVE, map_

#: A picture with more boxes is folded, by lines and then further, to at most so many.
MOST = 28
#: What is in boxes within boxes is drawn to this depth.
DEPTH = 5
#: A region of more operations is not drawn, but told in a line.
LARGEST = 600


@dataclass(slots=True)
class Box:
    """One box: what is written in it, how it is coloured, what it tells on request, and contains.

    ``detail`` is a line, or several; ``kind`` is the fate of an operation, or ``input``,
    ``result``, ``region``, ``map``, ``other``.
    """

    title: str
    detail: str
    kind: str
    tip: str
    inside: Picture | None = None


@dataclass(slots=True)
class Picture:
    """Boxes, each after those it has lines from, and the lines: from, to, and what goes along."""

    boxes: list[Box] = field(default_factory=list)
    lines: dict[tuple[int, int], str] = field(default_factory=dict)


def picture_of(program: ProgramView, kernels: Sequence[KernelView], total: float | None) -> Picture:
    """Return the picture of a program.

    Parameters
    ----------
    program
        What ran.
    kernels
        All kernels of the explanation.
    total
        The seconds that all took, if it was measured.
    """
    return _Painter(program, kernels, total).program()


class _Painter:
    def __init__(
        self, program: ProgramView, kernels: Sequence[KernelView], total: float | None
    ) -> None:
        self.view, self.kernels, self.total = program, kernels, total
        self.walker, self.sizes = program.walker, program.sizes
        self.rows = {row.op: row for row in reversed(program.rows) if row.op is not None}
        self.by_place = {
            (row.op.place, row.operation): row for row in reversed(program.rows) if row.op
        }

    def program(self) -> Picture:
        """Return the whole picture, with inputs above and results below."""
        graph = self.view.graph
        read = {value for op in graph.operations for value in op.operands} | {*graph.outputs}
        inputs = [v for v in graph.inputs if v in read and isinstance(v.type, ArrayType)]
        outputs = [v for v in dict.fromkeys(graph.outputs) if isinstance(v.type, ArrayType)]
        names = named(graph.inputs, self.view.names)
        picture = Picture()
        maker: dict[Value, int] = {}
        if len(inputs) > 6:
            told = [f"{names[v]}: {_type(v)}" if v in names else _type(v) for v in inputs]
            picture.boxes.append(Box(f"{len(inputs)} inputs", "", "input", ", ".join(told)))
            maker.update(dict.fromkeys(inputs, 0))
        else:
            for value in inputs:
                maker[value] = len(picture.boxes)
                tip = f"An argument, or an array that the function captures: {_type(value)}"
                title = names.get(value, "input")
                picture.boxes.append(Box(title, _type(value), "input", tip))
        self.operations(graph, 0, picture, maker)
        for value in outputs:
            if value in maker:
                picture.boxes.append(
                    Box("result", _type(value), "result", f"A result: {value.type}")
                )
                place = len(picture.boxes) - 1
                picture.lines[maker[value], place] = _type(value)
        return picture

    def region(self, graph: Graph, depth: int) -> Picture:
        """Return the picture of what is in a region."""
        picture = Picture()
        count = sum([1 for _ in inner_operations(graph)])
        if depth > DEPTH or count > LARGEST:
            if count:
                picture.boxes.append(self._folded(list(inner_operations(graph))))
            return picture
        self.operations(graph, depth, picture, {})
        if not picture.boxes:
            picture.boxes.append(Box("nothing", "", "region", "It hands on what it takes"))
        return picture

    def operations(
        self, graph: Graph, depth: int, picture: Picture, maker: dict[Value, int]
    ) -> None:
        """Add the boxes of a graph's operations, and the lines to them."""
        shown = [op for op in graph.operations if op.primitive is not constant]
        for group in _folds(shown):
            place = len(picture.boxes)
            picture.boxes.append(
                self.operation(group[0], depth) if len(group) == 1 else self._folded(group)
            )
            for value in [value for op in group for value in op.operands]:
                start = maker.get(value)
                if start is not None and start != place:
                    known = picture.lines.get((start, place))
                    told = _type(value)
                    if known is None or told not in known.split("; "):
                        told = told if known is None else f"{known}; {told}"
                        picture.lines[start, place] = told
            for op in group:
                maker.update(dict.fromkeys(op.results, place))

    def operation(self, op: Operation, depth: int) -> Box:
        """Return the box of an operation, with what is in it."""
        if op.primitive is map_:
            return self._map(op, depth)
        row = self._row(op)
        kind = "other" if row is None else row.fate.split()[0]
        detail = ", ".join([_type(value) for value in op.results])
        inside = self._regions(op, depth) if op.regions else None
        return Box(name_of(op), self._with_time(detail, row), kind, self._tip(op, row), inside)

    def _map(self, op: Operation, depth: int) -> Box:
        order, chunk = op.params["order"], op.params["chunk"]
        (body,) = op.regions
        count = f"{evaluate(op.params['size'], self.sizes):,}" if self._is_known(op) else "all"
        if order == NATIVE:
            kernel = self.kernels[self.walker.numbers[op] - 1]
            what = "examples" if kernel.in_lanes else "elements"
            detail = f"{kernel.lanes} {what} at once, {size_of(kernel.nbytes)}"
            if kernel.running is not None:
                detail += f"\n{self._time(kernel.running)}"
            tip = f"Kernel {kernel.number}, {kernel}"
            name = f"{KERNEL} {kernel.number}"
            return Box(name, detail, KERNEL, tip, self.region(body, depth + 1))
        if order == DIVERGENT:
            (inner,) = body.operations
            row = self._row(op) or self._row(inner)
            detail = self._with_time("examples go their own way", row)
            tip, inside = self._tip(inner, row), self._regions(inner, depth)
            return Box(name_of(inner), detail, "divergent", tip, inside)
        if chunk is not None:
            tip = f"A map of {count} examples, {chunk:,} at a time (chunk_size)"
            part = self.walker.parts.get(op, body)
            return Box(f"chunks of {chunk:,}", "", "map", tip, self.region(part, depth + 1))
        tip = f"A map of {count} examples, one after the other"
        inside = self.region(body, depth + 1)
        return Box("one example after the other", "", "looped", tip, inside)

    def _is_known(self, op: Operation) -> bool:
        return isinstance(op.params["size"], int) or str(op.params["size"]) in self.sizes

    def _regions(self, op: Operation, depth: int) -> Picture:
        """Return the picture of an operation's regions, side by side if there are several."""
        if len(op.regions) == 1:
            return self.region(op.regions[0], depth + 1)
        names = op.primitive.region_names or [f"case {i}" for i in range(len(op.regions))]
        picture = Picture()
        for name, region in list(zip(names, op.regions, strict=True))[:MOST]:
            inside = self.region(region, depth + 2)
            picture.boxes.append(Box(name, "", "region", f"{name} of {name_of(op)}", inside))
        return picture

    def _folded(self, group: Sequence[Operation]) -> Box:
        """Return one box for several operations."""
        names = Counter([name_of(op) for op in group])
        found = {(p.file, p.line) for op in group if (p := op.location) is not None}
        title = places(sorted(found)) or "operations"
        common = ", ".join([f"{n} {name}" if n > 1 else name for name, n in names.most_common(4)])
        more = ", ..." if len(names) > 4 else ""
        rows = [row for op in group if (row := self._row(op))]
        fates = Counter([row.fate.split()[0] for row in rows])
        kind = fates.most_common(1)[0][0] if fates else "other"
        seconds = [row.seconds for row in rows if row.seconds]
        detail = f"{len(group):,} operations"
        if seconds:
            detail += f"\n{self._time(sum(seconds))}"
        return Box(title.rpartition("/")[2], detail, kind, f"{title}: {common}{more}")

    def _row(self, op: Operation) -> Row | None:
        return self.rows.get(op) or self.by_place.get((op.place, name_of(op)))

    def _with_time(self, detail: str, row: Row | None) -> str:
        if row is None or not row.seconds:
            return detail
        return "\n".join([*([detail] if detail else []), self._time(row.seconds)])

    def _time(self, seconds: float) -> str:
        part = f" ({share(seconds, self.total)})" if self.total else ""
        return time_of(seconds) + part

    def _tip(self, op: Operation, row: Row | None) -> str:
        parts = [f"{name_of(op)}: {row.fate}" if row is not None else name_of(op)]
        if row is not None and row.why:
            parts.append(row.why)
        if row is not None and not row.is_view and row.nbytes:
            parts.append(f"{size_of(row.nbytes)} of results")
        if row is not None and row.calls > 1:
            parts.append(f"{count_of(row.calls).strip()} calls")
        if op.location is not None:
            source = op.location.source
            parts.append(f"line {op.location.line}: {source}" if source else str(op.location))
        return "; ".join(parts)


def _type(value: Value) -> str:
    return str(value.type)


def _folds(operations: Sequence[Operation]) -> list[list[Operation]]:
    """Return operations as groups that are drawn as one box each.

    A group is a run of neighbours, so no line leads back. What has regions stays alone as long as
    there is room.
    """
    groups = [[op] for op in operations]
    for place in (_line, lambda op: None):
        if len(groups) > MOST:
            runs = groupby(operations, lambda op, place=place: op if op.regions else place(op))
            groups = [list(run) for _, run in runs]
    if len(groups) > MOST:
        each = -(-len(groups) // MOST)
        groups = [
            [op for group in groups[i : i + each] for op in group]
            for i in range(0, len(groups), each)
        ]
    return groups


def _line(op: Operation) -> tuple[str, int] | None:
    place = op.location
    return None if place is None else (place.file, place.line)
