"""What runs the graph of a traced function, which must be compiled if the function says so."""

from __future__ import annotations

from collections.abc import Mapping

from lanewise.errors import at
from lanewise.ir.graph import Graph
from lanewise.passes.survive import INTERNAL
from lanewise.runtime.tiers import COMPILE, INTERPRET, Executable


def executable_of(
    name: str, compile: bool | None, graph: Graph, lent: Mapping[int, int]
) -> Executable:
    """Return what runs a graph; raise `ValueError` if it must be compiled and cannot be."""
    executable = Executable(graph, {None: None, False: INTERPRET, True: COMPILE}[compile], lent)
    if compile:
        left = [it for it in executable.uncompiled() if INTERNAL not in it[1]]
        found = [f"{_told(op.primitive.name, reason)}{at(op._place)}" for op, reason in left]
        if found:
            listed = "\n  ".join(dict.fromkeys(found))
            raise ValueError(
                f"{name} cannot be compiled, as experimental_compile asks:\n  {listed}"
            )
    return executable


def _told(name: str, reason: str) -> str:
    """Return why an operation cannot be compiled, with its name."""
    return reason if reason.startswith(name) else f"{name}: {reason}"
