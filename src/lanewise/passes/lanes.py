"""Values and regions on their way to taking a whole batch, and maps of regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder, recorded
from lanewise.ops.movement import repeat_unmapped, transpose
from lanewise.ops.regions import batched_type, map_
from lanewise.ops.registry import Batch
from lanewise.ops.shapes import rank_of

#: What becomes of an operation under a map: run once; run once for all; run for each example; run
#: for those examples together that go the same way.
HOISTED, BATCHED, LOOPED, DIVERGED = "hoisted", "batched", "looped", "divergent"
#: Told what became of each operation of a region: the operation, the fate, and the new operations.
Report = Callable[[Operation, str, Sequence[Operation]], None]


@dataclass(frozen=True, slots=True)
class Lane:
    """A value of a region in the batched graph, and whether it has the batch as axis 0."""

    value: Value
    mapped: bool

    @property
    def operand(self) -> tuple[Value, int | None]:
        """The value, and the axis along which a map takes it."""
        return self.value, 0 if self.mapped else None


def repeated(lane: Lane, size: DimLike) -> Value:
    """Return the value of a lane with the batch as axis 0, repeated where it is not mapped."""
    return repeat_unmapped(Batch(size, (lane.mapped,)), lane.value)[0]


def with_axis_first(value: Value, axis: int | None) -> Value:
    """Return the value with an axis moved to the front; as it is for None."""
    if not axis:
        return value
    rest = (i for i in range(rank_of(value)) if i != axis)
    return transpose(value, axes=(axis, *rest))


def isolated(
    group: Sequence[Operation], outputs: Sequence[Value]
) -> tuple[Graph, tuple[Value, ...]]:
    """Return operations as a region of their own, and the values that it takes."""
    inner = Builder()
    values: dict[Value, Value] = {}
    taken: list[Value] = []

    def take(needed: Sequence[Value]) -> None:
        for value in needed:
            if value not in values:
                values[value] = inner.input(value.type)
                taken.append(value)

    for member in group:
        take(member.operands)
        inner.copy(member, values)
    take(outputs)
    return inner.finish([values[value] for value in outputs]), tuple(taken)


def record_map(
    region: Graph, taken: Sequence[tuple[Value, int | None]], **params: Any
) -> tuple[Value, ...]:
    """Record a map of a region over operands, each with the axis along which it is mapped.

    Its results have the batch as axis 0 unless `out_mapped` is among the parameters.
    """
    params = {"out_mapped": (True,) * len(region.outputs), **params}
    params["in_dims"] = tuple([axis for _, axis in taken])
    operands = tuple([value for value, _ in taken])
    return current_builder().emit(map_, operands, map_.complete(params), (region,))


def map_alone(region: Graph, params: Mapping[str, Any]) -> Graph:
    """Return the graph of one map of a region, whose operands are the graph's inputs."""
    size, axes = params["size"], params["in_dims"]
    pairs = zip(region.inputs, axes, strict=True)
    return recorded(
        [batched_type(value.type, size, axis) for value, axis in pairs],
        lambda *inputs: record_map(region, list(zip(inputs, axes, strict=True)), **params),
    )


@dataclass(frozen=True, slots=True)
class OpenRegion:
    """A region whose operations take the batch, and whose outputs can still be repeated along it.

    What became of its operations is reported when it is finished: regions of loops are lowered
    again and again, until it is known which of the carry varies.
    """

    builder: Builder
    outputs: tuple[Lane, ...]
    size: DimLike
    told: Sequence[tuple[Operation, str, Sequence[Operation]]]
    report: Report | None

    @property
    def mapped(self) -> tuple[bool, ...]:
        """Which outputs vary from example to example."""
        return tuple([lane.mapped for lane in self.outputs])

    def finish(self, mapped: Sequence[bool] | None = None) -> Graph:
        """Return the region, its outputs repeated where they do not vary but are to be `mapped`."""
        if self.report is not None:
            for row in self.told:
                self.report(*row)
        wanted = self.mapped if mapped is None else mapped
        with building(self.builder):
            outputs = [
                repeated(lane, self.size) if want else lane.value
                for lane, want in zip(self.outputs, wanted, strict=True)
            ]
        return self.builder.finish(outputs)
