"""`explain`: what becomes of each line of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import CodeType
from typing import Any

from lanewise.api import concrete, function, vectorize, vmap
from lanewise.errors import function_name
from lanewise.inspect.drawing import draw
from lanewise.inspect.findings import Findings, ProgramView
from lanewise.inspect.kernels import KernelView, Left, left
from lanewise.inspect.memory import memory_of
from lanewise.inspect.names import Names, innermost
from lanewise.inspect.page import fragment, page
from lanewise.inspect.rows import Walker
from lanewise.inspect.text import show, text_of
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.location import ipython_shell
from lanewise.ops.facts import usual_size
from lanewise.ops.regions import map_
from lanewise.passes.inline import inline
from lanewise.runtime.dispatch import Program, observing
from lanewise.runtime.tiers import COMPILE, INTERPRET


class Explanation(Findings):
    """What `explain` found.

    Attributes
    ----------
    name
        What was called.
    rows
        One for each operation, in the order in which they run.
    examples
        The size of each map.
    choices
        What the next such call runs, NumPy or kernels, and why; one for each map.
    kernels
        The kernels that there are, or would be if it were compiled; each with its ``ir`` and
        ``assembly``.
    left
        What is left to NumPy when the rest is compiled, and why.
    memory
        Of each program: ``arguments``, ``results`` and ``peak`` in bytes, ``chunk``, ``whole``.
    traces
        Of a `lanewise.function`: its traces, and whether each is the one that was called.
    programs
        The graphs that ran, with all of this for each.
    code
        Of the function that was called; None if it is not written in Python.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> seen = lw.explain(lw.vmap(np.sinh), np.ones((8, 4)))  # doctest: +ELLIPSIS
    vmap of sinh: 8 examples, 1 operation ...
    >>> seen.memory[0].peak, seen.html()[:15], seen.svg()[:4]
    (256, '<!DOCTYPE html>', '<svg')
    """

    #: The number of the cell that has shown it.
    _shown_in: int | None = None

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {len(self.rows)} operations>"

    def __str__(self) -> str:
        return text_of(self)

    def show(self) -> None:
        """Print it: in colours on a terminal where ``rich`` is installed, plainly elsewhere.

        A notebook shows the page.
        """
        notebook = _notebook()
        if notebook is None:
            show(self)
        else:
            notebook.display_pub.publish({"text/plain": str(self), "text/html": fragment(self)})
            self._shown_in = notebook.execution_count

    def svg(self) -> str:
        """Return a drawing of the operations and kernels, as a file of its own.

        Kernels, loops and branches are boxes around what is in them. Where there is much,
        operations of one line are drawn as one.
        """
        return draw(self)

    def html(self) -> str:
        """Return a page: the source with what became of each line, the drawing, and the rest.

        It is one file, without scripts, that refers to nothing else.
        """
        return page(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, or the drawing alone if the name ends in ``.svg``.

        Raises
        ------
        ValueError
            If the name ends neither in ``.html`` or ``.htm`` nor in ``.svg``.
        """
        kinds = {".html": self.html, ".htm": self.html, ".svg": self.svg}
        path = Path(path)
        make = kinds.get(path.suffix.lower())
        if make is None:
            raise ValueError(f"an explanation is saved as .html or .svg, not as {path.name!r}")
        path.write_text(make(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return fragment(self)

    def _ipython_display_(self) -> None:
        """Show the page in a notebook, unless the cell that ends in this showed it when it ran."""
        notebook = _notebook()
        if notebook is None:
            raise NotImplementedError  # a terminal: IPython prints the representation
        was_shown, self._shown_in = self._shown_in == notebook.execution_count, None
        if not was_shown:
            self.show()
            self._shown_in = None


def _notebook() -> Any:
    """Return the IPython that runs here if it shows pages."""
    shell = ipython_shell()
    shows = shell is not None and "text/html" in shell.display_formatter.active_types
    return shell if shows else None


def explain(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Call a function once, and print for each line what the next such call makes of it.

    For every line of the user's source: the operations that it became; whether each is *hoisted*
    (computed once, as no example differs), *batched* (all examples in one operation), *looped*
    (one example at a time, as there is no rule to batch it) or in a *kernel* (compiled); the type
    of its result; its bytes. Control flow is *branched* (all examples take the same branch), in
    *lockstep* (all make the same turns of a loop) or *divergent* (examples that go the same way run
    together, in batches of up to the size that is shown); what it holds stands with it, with the
    bytes of one turn.

    Then the kernels, also where they would be compiled only after more calls: the lines and the
    operations that each holds, how many examples it computes at once, about how much it computes,
    reads and writes. And what is left to NumPy, with the reason.

    The function runs once, as a call without `explain` would run it: its side effects happen once.
    All that is told is worked out from what was recorded. What each part takes is measured by
    `lanewise.profile`.

    Parameters
    ----------
    func : callable
        What `lanewise.vmap`, `lanewise.function`, `lanewise.grad` and their like returned, or any
        function that uses them while it runs.
    *args, **kwargs
        What to call it with.

    Returns
    -------
    Explanation
        The same as data: ``rows``, ``nbytes``, ``choices``, ``kernels`` (with the ``ir`` and
        ``assembly`` of each), ``left``, ``memory``; ``str()`` of it is what was printed, ``html()``
        is a page, ``svg()`` a drawing, and ``save("x.html")`` writes one.

    Raises
    ------
    TypeError
        If `func` is not callable.
    Exception
        What the function raises.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> seen = lw.explain(lw.vmap(lambda x, w: x * np.exp(w), in_dims=(0, None)),
    ...                   np.ones((8, 4)), np.ones(4))  # doctest: +ELLIPSIS
    vmap of <lambda>: 8 examples, 2 operations (1 hoisted, 1 batched, 0 looped), 288 B of ...
    the next call is interpreted: NumPy should take ... more such calls
    ...
    >>> [(row.operation, row.fate, row.nbytes) for row in seen.rows]
    [('exp', 'hoisted', 32), ('multiply', 'batched', 256)]
    >>> [(kernel.operations, kernel.nbytes) for kernel in seen.kernels]
    [(2, 544)]
    """
    check_callable(func, "explain")
    names = Names(func, args, kwargs)
    with observing() as programs:
        func(*args, **kwargs)
    kernels: list[KernelView] = []
    refused: list[Left] = []
    views = []
    for program, calls in merged(programs):
        walker = Walker(kernels)
        graph = native_graph(program, refused)
        if graph is not None and program.choice.backend == COMPILE:
            lowered = walker.lowered(graph)
        else:
            if graph is not None:
                walker.list_kernels(walker.lowered(graph), program.sizes)
            lowered = walker.lowered(program.executable.interpreter.graph_for(program.sizes))
        views.append(view_of(program, calls, lowered, walker, graph is not None, names))
    explanation = Explanation(
        name_of_call(func),
        views,
        examples_of(programs),
        kernels,
        refused,
        traces(func, programs),
        code_of_call(func),
    )
    explanation.show()
    return explanation


def check_callable(func: Any, name: str) -> None:
    """Raise `TypeError` for what cannot be called."""
    if not callable(func):
        raise TypeError(
            f"{name} takes a function and then its arguments, not {type(func).__name__}"
        )


def merged(programs: Sequence[Program]) -> list[tuple[Program, int]]:
    """Return the programs that ran, those that ran again with the same sizes once, and how often.

    Of what they chose, the last holds.
    """
    found: dict[tuple[int, tuple[tuple[str, int], ...]], tuple[Program, int]] = {}
    for program in programs:
        key = id(program.executable), tuple(program.sizes.items())
        found[key] = program, found.get(key, (None, 0))[1] + 1
    return list(found.values())


def native_graph(program: Program, refused: list[Left]) -> Graph | None:
    """Return the graph of a program with its kernels, if it has any; note what is left to NumPy."""
    if program.graph.has_effects:
        return None
    return program.executable.native_graph(lambda f: refused.append(left(f)), program.sizes)


def view_of(
    program: Program, calls: int, lowered: Graph, walker: Walker, has_kernels: bool, names: Names
) -> ProgramView:
    """Return what to tell of a program, given the graph that runs."""
    choice = program.choice
    if not has_kernels and not program.graph.has_effects and choice.backend == COMPILE:
        choice = replace(choice, backend=INTERPRET, reason="nothing in it has a native form")
    rows = walker.rows(lowered, program.sizes)

    def scratch(op: Operation) -> int:
        return walker.kernels[walker.numbers[op] - 1].scratch if op in walker.numbers else 0

    memory = memory_of(program.graph, lowered, program.sizes, scratch)
    return ProgramView(
        lowered, program.sizes, choice, calls, memory, rows, walker, names.of(program)
    )


def examples_of(programs: Sequence[Program]) -> list[int]:
    """Return the size of each map of the programs that ran."""
    return [
        usual_size(op.params["size"], program.sizes)
        for program, _ in merged(programs)
        for op in program.graph.operations
        if op.primitive is map_
    ]


#: What to call the functions of a batch, and those that were traced.
_KINDS = {
    vmap.Mapped: "vmap of ",
    vectorize.vectorize: "vectorize of ",
    function.Function: "function ",
}


def name_of_call(func: Any) -> str:
    """Return what to call a function in an explanation."""
    if isinstance(func, concrete.ConcreteFunction):
        return f"concrete function {func.name}"
    kind = _KINDS.get(type(func), "")
    name = function_name(getattr(func, "__wrapped__", func) if kind else func)
    return kind + name.rpartition(".")[2]


def code_of_call(func: Any) -> CodeType | None:
    """Return the code of the user's function, where it is written in Python."""
    code = getattr(innermost(func), "__code__", None)
    return code if isinstance(code, CodeType) else None


def traces(func: Any, programs: Sequence[Program]) -> list[tuple[str, bool]]:
    """Return the traces of a traced function, and whether each is the one that ran."""
    if not isinstance(func, function.Function):
        return []
    keys = [program.graph.key for program in programs]
    found = [(str(trace), inline(trace.graph).key in keys) for trace in func._traces.all()]
    return found if sum(is_it for _, is_it in found) == 1 else [(text, False) for text, _ in found]
