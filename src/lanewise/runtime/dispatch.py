"""From a recorded map to arrays: find its executable, run it, own the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph
from lanewise.passes.pipeline import lower
from lanewise.runtime.diagnose import explain_failure
from lanewise.runtime.interpret import Plan, read_sizes

#: How many executables are kept; the oldest goes first.
CACHE_SIZE = 1024

_cache: dict[Any, Plan] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Program:
    """A graph that was run, and the sizes of its symbolic dimensions in that run."""

    graph: Graph
    sizes: dict[str, int]


class _Observed(threading.local):
    programs: list[Program] | None = None


_observed = _Observed()


@contextmanager
def observing() -> Generator[list[Program]]:
    """Collect the programs that this thread runs, while the ``with`` block lasts."""
    before = _observed.programs
    _observed.programs = []
    try:
        yield _observed.programs
    finally:
        _observed.programs = before


def compile(graph: Graph) -> Plan:
    """Return the executable of a graph without looking at the cache."""
    return Plan(lower(graph))


def execute(key: Any, program: Callable[[], Graph], arguments: Sequence[Any]) -> list[Any]:
    """Run a graph on its arguments and return its outputs, as NumPy gives them.

    Parameters
    ----------
    key
        All that decides the meaning of the graph, to look the executable up; None to keep none.
        (A graph with host code is not kept: it would keep that code, and what it refers to, alive.)
    program
        Makes the graph, when there is no executable yet.
    arguments
        An array for each input, None for a token.
    """
    if key is None:
        graph = program()
        plan = compile(graph)
    else:
        plan = _cache.get(key)
        if plan is None:
            plan = compile(program())
            with _lock:
                _cache[key] = plan
                if len(_cache) > CACHE_SIZE:
                    _cache.pop(next(iter(_cache)))
    if _observed.programs is not None:
        graph = program()
        _observed.programs.append(Program(graph, read_sizes(graph, arguments)))
    try:
        return plan(*arguments)
    except Exception as error:
        found = explain_failure(error, program(), arguments)
        if found is error:
            del found
            raise
    try:
        raise found from found.__cause__
    finally:
        del found  # its traceback holds this frame


def own(outputs: Sequence[Any], arguments: Sequence[Any]) -> list[np.ndarray]:
    """Return the outputs as writable arrays that share memory with no argument and each other.

    Nor does an output keep more memory alive than its own: a part of a larger array is copied.
    """
    if len(outputs) == 1 and type(outputs[0]) is np.ndarray:
        array = outputs[0]
        if array.base is None and array.flags.writeable:
            for argument in arguments:
                if array is argument:
                    break
            else:
                return [array]
    taken = {id(_root(array)) for array in arguments}
    owned = []
    for output in outputs:
        array = output if type(output) is np.ndarray else np.asarray(output)
        root = _root(array)
        is_whole = type(root) is np.ndarray and root.nbytes == array.nbytes
        if not is_whole or id(root) in taken or not array.flags.writeable:
            array = root = array.copy()
        taken.add(id(root))
        owned.append(array)
    return owned


def _root(array: Any) -> Any:
    """Return the object that owns the memory of an array."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
