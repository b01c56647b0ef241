"""Control flow in which examples go different ways: those that go the same way run together.

Of a `cond` or a `switch`, the examples of each branch are gathered, run as one batch, and
scattered. A branch that nobody takes is not run, and what all examples take needs no gathering. Of
arrays of which a branch reads or writes single elements, no rows are gathered; see rows.py. For
loops see lockstep.py.

Nothing here writes into memory that others hold: operands (but those that are given away), views,
arrays that two results share. The results are memory of their own, which nobody else holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ops.control import BRANCHES, cond
from lanewise.passes.divergent import batched_region
from lanewise.runtime.examples import Make, Run, Setting, Step, spread, used_values
from lanewise.runtime.lockstep import Loop
from lanewise.runtime.rows import ROWS, rowwise


def divergent(op: Operation, given: Collection[int], make: Make) -> Callable[..., Sequence[Any]]:
    """Return the runner of a divergent map; it takes the sizes of dimensions, then the operands.

    It may write to the operands at the positions `given`.
    """
    setting = Setting(op, given, make)
    runner: Any = Branches(setting) if setting.inner.primitive in BRANCHES else Loop(setting)
    (region,) = op.regions
    outputs = [setting.inner.results.index(value) for value in region.outputs]
    size, places, rows_at = op.params["size"], setting.places, setting.rows_at

    def run(sizes: dict[str, int], *operands: Any) -> Sequence[Any]:
        arrays = [operands[place] for place in places]
        rows = {i: operands[place] for i, place in rows_at.items()}
        results = runner.run(Run(setting, sizes, evaluate(size, sizes), arrays, rows, {}))
        return [results[j] for j in outputs]

    return run


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch over a number of examples: what it takes, gives, and hands on as it is."""

    plan: Step | None
    #: The operands that it takes, and which of them it takes whole.
    takes: Sequence[int]
    whole: Sequence[int]
    #: The results that it gives, whether they vary, and which are whole arrays written to.
    gives: Sequence[int]
    out_mapped: Sequence[bool]
    updated: Collection[int]
    #: The results that are operands, and the operands.
    through: dict[int, int]


class Branches:
    """Runs a `cond` or `switch` whose predicate varies."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.inner = setting.inner
        self.branches: dict[int, _Branch] = {}

    def branch(self, number: int) -> _Branch:
        """Return a branch, made when it is first taken."""
        known = self.branches.get(number)
        if known is None:
            known = self.branches[number] = self.compiled(self.inner.regions[number])
        return known

    def compiled(self, region: Graph) -> _Branch:
        setting = self.setting
        place = {value: i for i, value in enumerate(region.inputs, 1)}  # the predicate comes first
        through = {j: place[v] for j, v in enumerate(region.outputs) if v in place}
        gives = [j for j in range(len(region.outputs)) if j not in through]
        rest = Graph(region.inputs, region.operations, [region.outputs[j] for j in gives])
        mapped = [kind is not None for kind in setting.kinds[1:]]
        graph, out_mapped = batched_region(rest, mapped, setting.symbol, setting.fallback)
        used = used_values(graph)
        takes = [i for i, value in enumerate(graph.inputs, 1) if value in used]
        graph = Graph([graph.inputs[i - 1] for i in takes], graph.operations, graph.outputs)
        if not graph.operations and not gives:
            return _Branch(None, (), (), gives, out_mapped, (), through)
        updates = {
            position: takes.index(k)
            for position, j in enumerate(gives)
            if (k := setting.updated.get(j)) in takes and k not in through.values()
        }
        candidates = [position for position, i in enumerate(takes) if setting.has_rows(i)]
        found = rowwise(graph, setting.symbol, candidates, updates)
        count = len(found.whole)
        plan = setting.make(found.graph, [count + i for i in found.updated.values()])
        return _Branch(
            plan, takes, [takes[i] for i in found.whole], gives, out_mapped,
            [gives[position] for position in found.updated], through,
        )  # fmt: skip

    def run(self, run: Run) -> Sequence[Any]:
        """Return the results, each with a row for each example or whole."""
        updated = self.setting.updated
        results: list[Any] = [None] * len(self.setting.types)
        groups = self.groups(run.arrays[0])
        for number, chosen in groups:
            self.run_branch(run, self.branch(number), chosen, results)
        for j, k in updated.items():
            if results[j] is None:  # written to, or handed on by every branch that was taken
                results[j] = run.base(k)
        return [run.empty(j) if x is None else x for j, x in enumerate(results)]

    def groups(self, chosen: np.ndarray) -> list[tuple[int, np.ndarray | None]]:
        """Return each branch that is taken, and the examples that take it; None for all."""
        if not len(chosen):
            return []
        if self.inner.primitive is cond:
            count = np.count_nonzero(chosen)
            if count in (0, len(chosen)):
                return [(int(not count), None)]
            return [(0, chosen.nonzero()[0]), (1, (~chosen).nonzero()[0])]
        count = len(self.inner.regions)
        if np.any(chosen >= count) or np.any(chosen < -count):
            raise IndexError("list index out of range")
        chosen = chosen.astype(np.intp)
        chosen[chosen < 0] += count
        taken = np.flatnonzero(np.bincount(chosen, minlength=count))
        if len(taken) == 1:
            return [(int(taken[0]), None)]
        return [(int(number), (chosen == number).nonzero()[0]) for number in taken]

    def run_branch(
        self, run: Run, branch: _Branch, chosen: np.ndarray | None, results: list[Any]
    ) -> None:
        """Run a branch for some examples, or for all, and put what it gives into the results."""
        setting, updated = self.setting, self.setting.updated
        outputs = self.outputs(run, branch, chosen)
        for j, i in branch.through.items():
            if updated.get(j) != i:
                outputs[j] = run.taken(i, chosen), setting.kinds[i] is not None
        for j, (output, varies) in outputs.items():
            k = updated.get(j)
            if k is not None and (chosen is not None or setting.kinds[k] == ROWS):
                run.base(k)[run.rows_of(k, chosen)] = output
            elif chosen is not None:
                if results[j] is None:
                    results[j] = run.empty(j)
                results[j][chosen] = output
            else:
                results[j] = output if varies else spread(output, run.size)
                others = [other for i, (other, _) in outputs.items() if i != j]
                if not run.is_fresh(results[j], others):
                    results[j] = results[j].copy()

    def outputs(
        self, run: Run, branch: _Branch, chosen: np.ndarray | None
    ) -> dict[int, tuple[Any, bool]]:
        """Return what a branch gives for some examples or all, and whether it varies.

        What it writes to stands among the bases of the run.
        """
        if branch.plan is None:
            return {}
        updated = {self.setting.updated[j] for j in branch.updated}
        rows = [run.rows_of(i, chosen) for i in branch.whole]
        arguments = [
            run.base(i)
            if i in updated
            else run.arrays[i]
            if i in branch.whole
            else run.taken(i, chosen)
            for i in branch.takes
        ]
        sizes = run.with_size(run.size if chosen is None else len(chosen))
        given = branch.plan.step(sizes, *rows, *arguments)
        found = {}
        for j, output, varies in zip(branch.gives, given, branch.out_mapped, strict=True):
            if j in branch.updated:
                run.bases[self.setting.updated[j]] = output
            else:
                found[j] = output, varies
        return found
