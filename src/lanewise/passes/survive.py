"""Internal errors are survived: a step that fails is left out, told once, and the call goes on.

Whatever leads from a recorded graph to its result is a step that the result does not depend on: a
pass can be left out, a kernel can be left to NumPy, a plan to the plainest evaluation of the graph
(`lanewise.runtime.reference`). So each such step runs under `attempt`, or asks `survives` when it
has failed. A failure is a defect of Lanewise's own: it gives one `InternalErrorWarning` for each
function, at the user's line, and shows in `lanewise.explain`.

``LANEWISE_STRICT=1`` raises instead, as all tests of Lanewise do. Errors that mean something to the
user, or to whoever called the step, are never survived: see `meant`.
"""

from __future__ import annotations

import os
import threading
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lanewise.errors import ConcretizationError, InternalErrorWarning, UnsupportedError
from lanewise.ir.graph import Graph
from lanewise.ir.location import Location
from lanewise.trace.limits import check_time

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

#: How the reason begins why something is not compiled that an internal error keeps from it.
INTERNAL = "an internal error"
_MEANT = (MemoryError, UnsupportedError, ConcretizationError)
_told: set[Any] = set()


class _Subject(threading.local):
    """The graph that steps are carried out for in this thread, and which of them failed."""

    graph: Graph | None = None
    faults: list[str] | None = None


_subject = _Subject()


def is_raising() -> bool:
    """Whether internal errors are raised."""
    return os.environ.get("LANEWISE_STRICT", "0") not in ("", "0")


def meant(error: E) -> E:
    """Mark an error that a step raises for the user to see, which is not survived."""
    error._lanewise_is_meant = True  # ty: ignore
    return error


def attempt(
    step: str,
    graph: Graph,
    run: Callable[..., T],
    *arguments: Any,
    otherwise: Callable[[], T] | None = None,
    **options: Any,
) -> T:
    """Return ``run(graph, *arguments, **options)``; where that fails, the graph or something else.

    That is told by the name of the step, at the user's line that the graph begins with; what is
    returned ``otherwise`` is the graph itself if nothing else is given.

    Examples
    --------
    >>> from lanewise.ir.graph import Graph
    >>> graph = Graph((), (), ())
    >>> attempt("a pass", graph, lambda graph: graph) is graph
    True
    """
    check_time()
    try:
        return run(graph, *arguments, **options)
    except Exception as error:
        if not _is_internal(error):
            raise
        instead: Any = graph if otherwise is None else otherwise()
        _report(step, graph, error)
        return instead


def survives(error: Exception, step: str, graph: Graph) -> bool:
    """Whether the caller goes on without a step that raised an error, which is told then."""
    if not _is_internal(error):
        return False
    _report(step, graph, error)
    return True


@contextmanager
def carrying_out(graph: Graph) -> Generator[list[str]]:
    """Collect which steps fail while the ``with`` block lasts: all of them are for this graph."""
    before = _subject.graph, _subject.faults
    _subject.graph, _subject.faults = graph, (faults := [])
    try:
        yield faults
    finally:
        _subject.graph, _subject.faults = before


def _is_internal(error: Exception) -> bool:
    is_meant = isinstance(error, _MEANT) or getattr(error, "_lanewise_is_meant", False)
    return not is_meant and not is_raising()


def _report(step: str, graph: Graph, error: Exception) -> None:
    """Note that a step failed, and tell it if it is the first of its function."""
    if _subject.faults is not None:
        fault = f"{INTERNAL} in {step}"
        if fault not in _subject.faults:
            _subject.faults.append(fault)
    place = _first_place(_subject.graph or graph)
    file, line, first = "<lanewise>", 1, 0
    if place is not None:
        file, line, first = place.file, place.line, place.code.co_firstlineno
    key = (file, first) if place is not None else step
    if key in _told:
        return
    _told.add(key)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    message = (
        f"an internal error of Lanewise in {step} was survived: the call gives its result without "
        "that, perhaps more slowly. Please report it, with the function and the dtypes and shapes "
        f"of its arguments: {type(error).__name__}{where}: {error}. "
        "LANEWISE_STRICT=1 raises it instead, with all of its traceback"
    )
    warnings.warn_explicit(message, InternalErrorWarning, file, line)


def _first_place(graph: Graph) -> Location | None:
    """Return the first place in the user's code that a graph was recorded at."""
    places = [op.place for op in graph.walk() if op.place is not None]
    return Location(*places[0]) if places else None
