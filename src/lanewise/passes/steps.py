"""Steps, and lists of them: how a graph becomes another one, in the sight of whoever asks.

``LANEWISE_SHOW=vectorize`` prints the graph after the step of that name, to the standard error; the
name of a pipeline, the graph that it is given and that after each of its steps; several names are
separated by commas, and ``all`` is each of them. ``LANEWISE_VERIFY=1`` checks the graph before and
after every step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

from lanewise.ir.graph import Graph
from lanewise.ir.text import format_graph
from lanewise.ir.verify import verify
from lanewise.passes.survive import attempt, meant

#: What can be asked for: `Pipeline` adds to it.
_names = {"all"}


@dataclass(frozen=True, slots=True)
class Step:
    """A function from graph to graph, and which of the options of its pipeline it takes.

    Where it fails it is left out; see `lanewise.passes.survive`. Or `otherwise` makes of the graph
    what is taken instead.
    """

    run: FunctionType
    takes: tuple[str, ...] = ()
    otherwise: Callable[[Graph], Graph] | None = None

    @property
    def name(self) -> str:
        return self.run.__name__


class Pipeline:
    """Steps in order. To call it is to carry them out.

    Examples
    --------
    >>> def without_outputs(graph):
    ...     return Graph(graph.inputs, graph.operations, ())
    >>> emptied = Pipeline("emptied", Step(without_outputs))
    >>> emptied(Graph((), (), ())).outputs
    ()
    """

    def __init__(self, name: str, *steps: Step) -> None:
        self.name = name
        self.steps = steps
        _names.update((name, *[step.name for step in steps]))

    def __call__(self, graph: Graph, **options: Any) -> Graph:
        """Return the graph after all steps, which take the options that they name.

        Raises
        ------
        ValueError
            If LANEWISE_SHOW asks for a step or a pipeline that there is not.
        """
        unknown = _asked() - _names
        if unknown:
            known = ", ".join(sorted(_names))
            raise meant(
                ValueError(f"LANEWISE_SHOW asks for {', '.join(unknown)}: there are {known}")
            )
        attempt(f"the graph given to {self.name}", graph, _looked, (self.name,), self.name)
        for step in self.steps:
            given = {name: options[name] for name in step.takes}
            instead = None if step.otherwise is None else partial(step.otherwise, graph)
            graph = attempt(step.name, graph, self._run, step, given, otherwise=instead)
        return graph

    def _run(self, graph: Graph, step: Step, given: dict[str, Any]) -> Graph:
        names = self.name, step.name
        return _looked(step.run(graph, **given), names, ": ".join(names))


def _asked() -> set[str]:
    return set(filter(None, os.environ.get("LANEWISE_SHOW", "").split(",")))


def _looked(graph: Graph, names: tuple[str, ...], title: str) -> Graph:
    """Print the graph where one of the names is asked for, then check it: to see why it fails."""
    if not _asked().isdisjoint({*names, "all"}):
        print(f"# {title}\n{format_graph(graph, locations=True)}", file=sys.stderr)
    if os.environ.get("LANEWISE_VERIFY") == "1":
        verify(graph)
    return graph
