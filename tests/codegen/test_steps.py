"""What the compiler makes of graphs, on those of the text files beside this module."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lanewise.codegen import lists
from lanewise.codegen.control import is_indexed
from lanewise.codegen.kernel import write
from lanewise.codegen.overwriting import keeps_places
from lanewise.codegen.partition import Refused, partition
from lanewise.codegen.uniformity import varying_outputs, varying_values
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.text import format_graph
from lanewise.ops.regions import NATIVE
from support.cases import Case, cases_beside
from support.steps import check, operations


def _refused(graph: Graph) -> str:
    """Return what is left to NumPy, and why."""
    told: list[str] = []

    def report(refused: Refused) -> None:
        told.append(f"{refused.op.primitive.name}: {refused.reason}")

    partition(graph, report)
    return "\n".join(told) or "nothing"


def _kernels(graph: Graph) -> str:
    """Return what is known of each kernel that does not depend on the processor."""

    def say(op: Operation) -> str | None:
        if op.params.get("order") != NATIVE:
            return None
        kernel = write(op.regions[0], op.params["in_dims"])
        fails = "may leave examples undone" if kernel.may_fail else "never fails"
        told = "" if kernel.sizes is None else f", is told of {list(kernel.sizes)}"
        return f"{fails}{told}"

    return operations(partition(graph), say) or "no kernel"


def _varying(graph: Graph, inputs: Sequence[bool]) -> str:
    """Return which results of operations vary, by their numbers, and which outputs."""
    values = set(varying_values(graph, inputs))

    def say(op: Operation) -> str:
        return ", ".join(["varies" if value in values else "uniform" for value in op.results])

    outputs = ["varies" if out else "uniform" for out in varying_outputs(graph, inputs)]
    return "\n".join([operations(graph, say), f"outputs: {', '.join(outputs)}"])


def _keeps(graph: Graph) -> str:
    """Return which outputs take of the first input no more than is at their own place."""
    source = graph.inputs[0]
    return "\n".join(
        [
            f"%{value.index}: {'at its place' if keeps_places(graph, source, value) else 'more'}"
            for value in graph.outputs
        ]
    )


def _indexed(graph: Graph) -> str:
    """Return which inputs are read at places that are data."""
    return "\n".join(
        [
            f"%{value.index}: {'at data' if is_indexed(graph, value) else 'at known places'}"
            for value in graph.inputs
        ]
    )


def _lists(graph: Graph) -> str:
    found = lists.each_in_one_way(graph)
    return "each list goes on in one way" if found is graph else format_graph(found)


STEPS = {
    "indexed": _indexed,
    "keeps_places": _keeps,
    "kernels": _kernels,
    "left_to_numpy": _refused,
    "lists": _lists,
    "partition": partition,
    "varying": _varying,
}


@pytest.mark.parametrize("case", cases_beside(__file__))
def test_step(case: Case):
    check(case, STEPS)
