"""What steps ask of code generation, which comes after them: `lanewise.codegen.target` answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lanewise.ir.graph import Graph


class Target(Protocol):
    """What steps ask of code generation, which comes after them."""

    def runs_in_lanes(self, region: Graph, in_dims: Sequence[int | None]) -> bool:
        """Whether the kernel of a region has an example in each lane."""
        ...

    def partition(self, graph: Graph) -> Graph:
        """Return a graph with native maps for all that kernels can do of its parallel ones."""
        ...
