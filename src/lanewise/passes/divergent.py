"""What runs inside a divergent map: the regions of its operation, for some examples at a time.

The regions of a divergent map are kept as they are for one example; the runtime asks for them over
a number of examples that is known only when they run, a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Graph, Operation
from lanewise.ops.control import carry_of
from lanewise.passes.lanes import Report
from lanewise.passes.pipeline import DIVERGED
from lanewise.passes.specialize import symbols_of, symbols_of_values
from lanewise.passes.vectorize import Mapper, settled, vectorize


def batched_region(
    region: Graph,
    mapped: Sequence[bool],
    size: DimLike,
    fallback: bool,
    report: Report | None = None,
) -> tuple[Graph, tuple[bool, ...]]:
    """Return a region over `size` examples, simplified, and which of its outputs vary.

    ``mapped`` says which of its inputs have the batch as axis 0. For ``size`` see `fresh_symbol`.
    ``fallback`` says whether an operation without batching rule may run one example at a time;
    ``report`` is told what became of each operation.
    """
    opened = Mapper(size, fallback, report).region(vectorize(region), mapped)
    return DIVERGED(opened.finish()), opened.mapped


def batched_loop(
    op: Operation,
    mapped: Sequence[bool],
    size: DimLike,
    fallback: bool,
    report: Report | None = None,
) -> tuple[Graph, Graph, tuple[bool, ...]]:
    """Return the test and the body of a `while` over `size` examples, which turn in lockstep.

    ``mapped`` says which operands (captures, then carry) have the batch as axis 0; what is returned
    last, which inputs of the regions: of the carry also what varies after some turns.
    """
    test, body = [vectorize(region) for region in op.regions]
    mapper = Mapper(size, fallback, report)
    turn, taken = settled(mapper, body, mapped, carry_of(op))
    question = mapper.region(test, taken).finish()
    return DIVERGED(question), DIVERGED(turn.finish(taken[carry_of(op)])), tuple(taken)


def fresh_symbol(graph: Graph) -> Dim:
    """Return a dimension that no type or parameter in a graph or its regions depends on."""
    taken = symbols_of_values(graph.inputs).union(*map(symbols_of, graph.walk()))
    return Dim.symbol(next(n for i in count() if (n := f"live{i or ''}") not in taken))
