"""Interpreted or compiled: an executable begins with NumPy, and is compiled when that pays.

What runs once on a few numbers is done before LLVM has begun. So each call adds what NumPy is
estimated to take for it, and when that reaches what compiling is estimated to take, the graph is
compiled: at the first call if there is much to do, later if calls are many, never if they are few.
At worst the two together take twice as long as the better of them would have.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from lanewise.codegen.lift import lift
from lanewise.codegen.work import compiling, interpreting
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Graph
from lanewise.ir.types import ArrayType
from lanewise.ops.creation import constant
from lanewise.ops.regions import NATIVE, map_
from lanewise.passes.pipeline import lower
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.runtime.failed import KernelFailed
from lanewise.runtime.interpret import Plan, read_sizes

if TYPE_CHECKING:
    from lanewise.codegen.partition import Report

INTERPRET, COMPILE = "interpret", "native"
INFINITE = float("inf")
_lock = threading.RLock()


def backend() -> str | None:
    """Return what LANEWISE_BACKEND forces: ``interpret``, ``native``, or None for neither."""
    name = os.environ.get("LANEWISE_BACKEND") or None
    if name not in (None, INTERPRET, COMPILE):
        raise ValueError(f"LANEWISE_BACKEND must be interpret or native, not {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class Choice:
    """What a call runs: ``"interpret"`` or ``"native"``, and why."""

    backend: str
    reason: str


class _Ledger:
    """What NumPy was estimated to take for graphs that are equal but for numbers in them.

    They have the same kernels (see `lift`): a learning rate that changes at each step does not put
    off that they are compiled.
    """

    __slots__ = ("__weakref__", "spent")

    def __init__(self) -> None:
        self.spent = 0.0


_ledgers: WeakValueDictionary[Hashable, _Ledger] = WeakValueDictionary()


def _ledger_of(graph: Graph) -> _Ledger:
    rows: list[Hashable] = []
    for op in graph.operations:
        rows += op.primitive, tuple(op.params.values()), *[v.index for v in op.operands]
        rows += [lift(region)[0].key for region in op.regions]
    key = tuple([value.type for value in graph.inputs]), tuple(rows)
    with _lock:
        known = _ledgers.get(key)
        if known is None:
            known = _ledgers[key] = _Ledger()
        return known


class Executable:
    """A graph that runs on arrays: interpreted until compiling it pays, or as it is forced.

    Attributes
    ----------
    graph
        As it was recorded.
    native
        The plan with kernels, once it was compiled; None before, or where nothing can be.
    spent, cost
        Nanoseconds that NumPy is estimated to have taken in all calls so far (also of executables
        that differ in numbers only), and that compiling would take; that is infinite if there is
        nothing to compile.
    """

    __slots__ = ("_estimate", "_interpreter", "_ledger", "cost", "graph", "native")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.native: Plan | None = None
        has_maps = any(op.primitive is map_ for op in graph.operations)
        self.cost = compiling(graph) if has_maps and not graph.has_effects else INFINITE
        self._estimate: Callable[[Sequence[Any]], float] | None = None
        self._interpreter: Plan | None = None
        self._ledger = _Ledger() if self.cost == INFINITE else _ledger_of(graph)

    @property
    def spent(self) -> float:
        return self._ledger.spent

    def __call__(self, *arguments: Any) -> list[Any]:
        """Run on one array for each input of the graph (None for a token)."""
        return self.plan(arguments)(*arguments)

    def plan(self, arguments: Sequence[Any]) -> Plan:
        """Return the plan to run on these arguments."""
        forced = backend()
        if forced == INTERPRET or _is_strict():
            return self.interpreter
        if self.native is not None:
            return self.native
        if self.cost == INFINITE:
            return self.interpreter
        if forced != COMPILE:
            if self._estimate is None:
                self._estimate = _estimate(self.graph)
            self._ledger.spent += self._estimate(arguments)
            if self._ledger.spent < self.cost:
                return self.interpreter
        with _lock:
            if self.native is None and self.cost < INFINITE:
                self.native = self._compiled()
                if self.native is None:
                    self.cost = INFINITE
                else:
                    self._interpreter = None  # seldom needed again
        return self.native or self.interpreter

    @property
    def interpreter(self) -> Plan:
        """The plan without kernels."""
        plan = self._interpreter
        if plan is None:
            plan = self._interpreter = Plan(lower(self.graph))
        return plan

    def first_failing(self, error: Exception) -> int | None:
        """Return the first example that may have failed, where an error of a run tells.

        A kernel tells of itself only. So it must be the only one, and all else that may fail must
        have run before it.
        """
        plan = self.native
        if not isinstance(error, KernelFailed) or plan is None:
            return None
        *_, last = (op for op in plan.graph.operations if op.primitive is not constant)
        kernels = [op for op in plan.graph.operations if op.params.get("order") == NATIVE]
        return error.first if kernels == [last] else None

    def choice(self, sizes: Mapping[str, int]) -> Choice:
        """Return what the next call would run on arrays of these sizes, and why."""
        forced = backend()
        if forced == INTERPRET:
            return Choice(INTERPRET, "LANEWISE_BACKEND=interpret")
        if _is_strict():
            reason = "np.errstate asks for errors of floating point, which kernels do not tell"
            return Choice(INTERPRET, reason)
        if self.graph.has_effects:
            return Choice(INTERPRET, "it calls host code")
        if self.native is None and self.cost == INFINITE:
            return Choice(INTERPRET, "nothing in it has a native form")
        if forced == COMPILE:
            return Choice(COMPILE, "LANEWISE_BACKEND=native")
        spent = self.spent
        if self.native is None:
            each = max(interpreting(self.graph, sizes), 1.0)
            left = math.ceil((self.cost - spent) / each)
            if left > 1:
                return Choice(
                    INTERPRET,
                    f"NumPy should take {duration(each)} for it and compiling {duration(self.cost)}"
                    f"; it is compiled after {left - 1:,} more such call{'s' * (left > 2)}",
                )
            spent += each
        if spent < self.cost:
            return Choice(COMPILE, "it was compiled before")
        return Choice(
            COMPILE,
            f"NumPy should take {duration(spent)} for the calls that there were, "
            f"and compiling {duration(self.cost)}",
        )

    def native_graph(self, report: Report | None = None) -> Graph | None:
        """Return the graph with its kernels as native maps; None if there are none."""
        from lanewise.codegen.partition import partition
        from lanewise.runtime.kernels import KERNELS

        with _lock:
            graph = partition(merge_repeated(eliminate_dead(self.graph)), KERNELS, report)
        is_native = any(op.params.get("order") == NATIVE for op in graph.operations)
        return graph if is_native else None

    def _compiled(self) -> Plan | None:
        graph = self.native_graph()
        return None if graph is None else Plan(lower(graph))


def _estimate(graph: Graph) -> Callable[[Sequence[Any]], float]:
    """Return what tells how long NumPy is estimated to take on some arguments."""
    dims = [
        (number, axis, dim)
        for number, value in enumerate(graph.inputs)
        if isinstance(value.type, ArrayType)
        for axis, dim in enumerate(value.type.shape)
        if isinstance(dim, Dim)
    ]
    if len({dim for *_, dim in dims}) != 1:
        return lambda arguments: interpreting(graph, read_sizes(graph, arguments))
    number, axis, dim = dims[0]  # the estimate is linear in it
    fixed = interpreting(graph, {str(dim): 0})
    slope = interpreting(graph, {str(dim): 1}) - fixed
    return lambda arguments: fixed + slope * arguments[number].shape[axis]


def duration(nanoseconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> duration(2.3e6), duration(45e3)
    ('2.3 ms', '45 us')
    """
    size, units = nanoseconds / 1e3, ["us", "ms", "s"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.2g} {units[0]}" if size < 99.5 else f"{size:.0f} {units[0]}"


def _is_strict() -> bool:
    """Whether floating-point errors are to be raised or told, which kernels do not."""
    # NumPy (since 2.0) keeps that in a context variable: where none is set, it is as it was at the
    # start, and that takes a tenth of the time to see.
    return bool(copy_context()) and not _LENIENT.issuperset(np.geterr().values())


_LENIENT = frozenset(("ignore", "warn"))
