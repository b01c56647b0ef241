"""What the steps before code generation ask of it (`lanewise.passes.target`)."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.codegen.choices import runs_in_lanes
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.partition import Report, partition
from lanewise.ir.graph import Graph


class Native:
    """Code generation for this processor; ``report`` is told of what is left to NumPy."""

    def __init__(self, report: Report | None = None) -> None:
        self._report = report

    def runs_in_lanes(self, region: Graph, in_dims: Sequence[int | None]) -> bool:
        """Whether the kernel of a region has an example in each lane."""
        return runs_in_lanes(region, in_dims)

    def partition(self, graph: Graph) -> Graph:
        """Return a graph with native maps for all that kernels can do of its parallel ones."""
        return partition(graph, KERNELS, self._report)
