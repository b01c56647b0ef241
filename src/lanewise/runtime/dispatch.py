"""From a recorded map to arrays: find its executable, run it, own the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph
from lanewise.runtime.diagnose import explain_failure
from lanewise.runtime.failed import KernelFailed
from lanewise.runtime.interpret import read_sizes
from lanewise.runtime.tiers import INTERPRET, Choice, Executable

#: How many executables are kept; the oldest goes first.
CACHE_SIZE = 1024

#: Why a call is interpreted of which a kernel said that an example fails, and none does.
CAUTIOUS = (
    "a kernel began it and left it to NumPy, as it met what is NumPy's to decide, "
    "such as a matrix that may be singular"
)

_cache: dict[Any, Executable] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Program:
    """A graph that was run, the sizes of its symbolic dimensions in that run, and what runs next.

    Attributes
    ----------
    choice
        What the next such call would run.
    """

    executable: Executable
    sizes: dict[str, int]
    choice: Choice

    @property
    def graph(self) -> Graph:
        """As it was recorded."""
        return self.executable.graph


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


def compile(graph: Graph) -> Executable:
    """Return the executable of a graph without looking at the cache."""
    return Executable(graph)


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
    executable = None if key is None else _cache.get(key)
    if executable is None:
        executable = compile(program())
        if key is not None:
            with _lock:
                _cache[key] = executable
                if len(_cache) > CACHE_SIZE:
                    _cache.pop(next(iter(_cache)))
    try:
        plan = executable.plan(arguments)
        if _observed.programs is not None:
            sizes = read_sizes(executable.graph, arguments)
            _observed.programs.append(Program(executable, sizes, executable.choice(sizes)))
        return plan(*arguments)
    except Exception as error:
        found = explain_failure(error, program(), arguments, executable.first_failing(error))
        if found is error:
            found = None
            if not isinstance(error, KernelFailed):
                raise
    if found is None:  # kernels are more cautious than need be
        if _observed.programs is not None:
            last = _observed.programs[-1]
            _observed.programs[-1] = replace(last, choice=Choice(INTERPRET, CAUTIOUS))
        return _interpret(executable, program, arguments)
    try:
        raise found from found.__cause__
    finally:
        del found  # its traceback holds this frame


def _interpret(
    executable: Executable, program: Callable[[], Graph], arguments: Sequence[Any]
) -> list[Any]:
    """Run a graph without kernels."""
    try:
        return executable.interpreter(*arguments)
    except Exception as error:
        found = explain_failure(error, program(), arguments)
        if found is error:
            del found
            raise
    try:
        raise found from found.__cause__
    finally:
        del found


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
