"""Interpreted or compiled: an executable begins with NumPy, and is compiled when that pays.

What runs once on a few numbers is done before LLVM has begun. So each call adds what NumPy is
estimated to take for it, and when that reaches what compiling is estimated to take from callers,
the graph is compiled, in the background: calls go on with NumPy, and have kernels once these are
there. Only a call that should take longer than compiling waits for it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

import lanewise.ops.paths  # noqa: F401  (what kernels are written of is in the registry, too)
from lanewise.codegen.background import Work, begin, go_on, is_alone, lend
from lanewise.codegen.lift import lift
from lanewise.codegen.ufunc_loops import scipy_tells
from lanewise.codegen.work import compiling, interpreting, writing
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import dims_in
from lanewise.loading import late
from lanewise.ops.facts import may_fail, seen
from lanewise.passes.assume import Assumed, assumed
from lanewise.passes.pipeline import RECORDED
from lanewise.passes.survive import INTERNAL, attempt, carrying_out, survives
from lanewise.runtime.binding import input_sizes, read_sizes
from lanewise.runtime.failed import KernelFailed, NotCompiled
from lanewise.runtime.interpret import Plan, planned
from lanewise.runtime.parts import INTERPRETED_BYTES, MOST_SIZES, NATIVE_BYTES, Parts
from lanewise.runtime.pool import get_threads, processors
from lanewise.runtime.settings import COMPILE, INTERPRET, NO_MEMORY, PLAIN, backend

if TYPE_CHECKING:
    from lanewise.codegen.partition import Report
    from lanewise.runtime.few import Few

making = late("lanewise.runtime.few")
kernels = late("lanewise.runtime.kernels")
CALLS_HOST = "it calls host code"
#: Of what LLVM takes, callers are taken to lose so much: it works on another core. If processes end
#: before, they wait for the kernel that is at work.
LLVM_SHARE = 0.1
#: For so many ranges of sizes there are kernels of their own; those for the others assume nothing.
MOST_ASSUMED = 2
_CORES = processors()
#: An estimate of what NumPy takes is corrected if it takes so many times as long.
FAR_OFF = 3.0

_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Choice:
    """What a call runs: ``"interpret"``, ``"native"`` or ``"plain"``, and why."""

    backend: str
    reason: str


@dataclass(slots=True, weakref_slot=True, eq=False)
class _Ledger:
    """What NumPy was estimated to take for graphs that are equal but for numbers in them.

    They have the same kernels (see `lift`): a learning rate that changes at each step does not put
    off that they are compiled.
    """

    spent: float = 0.0
    #: Whether their kernels are compiled.
    is_compiled: bool = False


_ledgers: WeakValueDictionary[Hashable, _Ledger] = WeakValueDictionary()


def _ledger_of(graph: Graph) -> _Ledger:
    rows: list[Hashable] = []
    for op in graph.operations:
        rows += op.primitive, tuple(op.params.values()), *[v.index for v in op.operands]
        rows += [lift(region)[0].key for region in op.regions]
    key = tuple([value.type for value in graph.inputs]), tuple(rows)
    with _lock:
        return _ledgers.setdefault(key, _Ledger())


class Executable:
    """A graph that runs on arrays: interpreted until compiling it pays, or as it is forced."""

    def __init__(
        self,
        graph: Graph,
        forced: str | None = None,
        lent: Mapping[int, int] = MappingProxyType({}),
        assumes: int = MOST_ASSUMED,
    ) -> None:
        #: As it was recorded.
        self.graph = graph
        #: The inputs whose last values belong into their memory, with the outputs that these are.
        self.lent = lent
        #: Tells why the function that was traced runs the next call: nothing where it does not.
        self.told: Callable[[], str] = str
        #: What LANEWISE_BACKEND may say too, which goes first.
        self._forced = forced
        #: The plan with kernels, for many examples if there is another; None until it is compiled.
        self.native: Plan | None = None
        self._few: Few | None = None
        #: The same for parts of a batch, if NumPy does some of it.
        self._mixed: Parts | None = None
        #: What is being compiled, in the background.
        self._work: Work | None = None
        #: By the number of threads and sizes, the plan that suits them.
        self._best: dict[tuple[int, ...], Plan] = {}
        #: The code of kernels that were compiled before they ran.
        self._codes: list[Any] = []
        #: What runs where sizes are not what the kernels assume.
        self._others: Executable | None = None
        #: How many ranges of sizes may have kernels of their own.
        self._assumes = assumes
        #: Nanoseconds that compiling should take, from callers and by whomever: infinite if there
        #: is nothing to compile.
        self.cost = self.whole = math.inf
        self._ledger = _Ledger()
        self._estimate: Callable[[Sequence[Any]], float] | None = None
        #: Of the last interpreted call; how much longer they take, and how many there were.
        self._estimated, self._error, self._runs = 0.0, 1.0, 0
        self._parts: Parts | None = None
        #: What calls run without asking any more.
        self.kept: Plan | None = None
        with carrying_out(graph) as faults:
            self.graph = graph = RECORDED(graph)
            self._assumed = Assumed(graph, {})
            if graph.operations and not graph.has_effects:
                self.cost, self.whole = attempt(
                    "the estimate", graph, _prices, otherwise=lambda: (math.inf, math.inf)
                )
            if self.cost < math.inf:
                self._ledger = attempt("the ledger", graph, _ledger_of, otherwise=_Ledger)
        #: Why it is not compiled, or what was left out, where that should not be so.
        self.fault = ", ".join(faults)

    @property
    def spent(self) -> float:
        """Nanoseconds that NumPy should have taken in all calls so far, whatever the numbers."""
        return self._ledger.spent

    def __call__(self, *arguments: Any) -> list[Any]:
        """Run on one array for each input of the graph (None for a token)."""
        return self.plan(arguments)(*arguments)

    def plan(self, arguments: Sequence[Any]) -> Plan:
        """Return the plan to run on these arguments."""
        forced = backend() or self._forced
        plan = None
        if forced != INTERPRET and not is_strict():
            try:
                plan = self._chosen(forced == COMPILE, arguments)
            except Exception as error:
                self._survive(error)
        return plan or self.interpreter.plan(arguments)

    def _chosen(self, is_forced: bool, arguments: Sequence[Any]) -> Plan | None:
        """Return the plan to run, which is compiled now if it is forced, or worth to wait for.

        None where the call is to be interpreted.
        """
        if self.native is None:
            if self.cost == math.inf:
                return None
            waits = is_forced
            if not waits:
                took = self._note(arguments)
                if self.spent < self.cost:
                    return None
                waits = took >= self.whole or self._ledger.is_compiled
            self._make(arguments, waits)
            if self.native is None:
                return None
        plan, found, few, mixed = self.native, self._assumed, self._few, self._mixed
        if found.sizes or few is not None:
            sizes = read_sizes(self.graph, arguments)
            if found.sizes and found.solved(sizes) is None:
                with _lock:
                    self._others = self._others or Executable(
                        self.graph, self._forced, self.lent, self._assumes - 1
                    )
                return self._others.plan(arguments)
            if few is not None:
                key = get_threads(), *sizes.values()
                if key not in self._best:
                    self._make(arguments, is_forced)
                plan = self._best.get(key) or next(iter(self._best.values()), plan)
        return plan if mixed is None or plan is not mixed.whole else mixed.plan(arguments)

    def prepare(self, arguments: Sequence[Any]) -> None:
        """Have the plan for some arguments compiled in the background, where something else runs.

        Of arguments that have the shapes that were recorded, the last may be left out.
        """
        try:
            self._make(arguments, waits=False)
        except Exception as error:
            self._survive(error)

    def _make(self, arguments: Sequence[Any], waits: bool) -> None:
        """Have the plan for some arguments compiled, in the background unless it is awaited."""
        with _lock:
            work = self._work
            if work is None or work.is_lost:
                sizes = read_sizes(self.graph, arguments)
                if waits:
                    self._compile(sizes)  # and its kernels as they run
                    return
                work = self._work = begin(partial(self._compile, sizes, [*map(_like, arguments)]))
        if waits:
            work.run()
            work.wait()
        elif not work.is_done:
            lend(work)
        if work.is_done:
            self._work = None
            work.result()

    @property
    def is_compiling(self) -> bool:
        """Whether something is being compiled, in the background."""
        return self._work is not None and not self._work.is_done

    @property
    def is_due(self) -> bool:
        """Whether it is time to `prepare`."""
        return self.native is None and self.spent >= self.cost and not self.is_compiling

    def _survive(self, error: Exception) -> None:
        """Go on interpreted where compiling raised an error, if it is one to be survived."""
        if isinstance(error, NotCompiled):
            self.give_up(error.reason)
        elif isinstance(error, MemoryError):
            self.give_up(NO_MEMORY)
        elif survives(error, "compiling", self.graph):
            self.give_up(f"{INTERNAL} in compiling")
        else:
            raise error

    def give_up(self, reason: str, plan: Plan | None = None) -> None:
        """Run without kernels from now on, because of this; by a plan, if one is given."""
        self.cost = math.inf  # first: what is being compiled is not taken then
        self.native = self._few = self._mixed = self._work = None
        self._assumed = Assumed(self.graph, {})
        self.fault = self.fault or reason
        if plan is not None:
            self._parts = self._interpreted(plan)

    def _note(self, arguments: Sequence[Any]) -> float:
        """Add what NumPy is estimated to take for a call, and return it."""
        if self._estimate is None:
            self._estimate = _estimate(self.graph)
        self._estimated = self._estimate(arguments)
        took = self._estimated * self._error
        self._ledger.spent += took
        return took

    @property
    def is_waiting(self) -> bool:
        """Whether calls are interpreted until compiling pays."""
        return self.native is None and self.cost < math.inf

    def note_run(self, nanoseconds: float) -> None:
        """Note what an interpreted call took: estimates of later ones are corrected by that."""
        if self._estimated > 0:
            error = nanoseconds / self._estimated
            error = error if error > FAR_OFF else 1.0
            # The first call is slower than others, and now and then one is.
            self._error = error if self._runs == 1 else min(self._error, error)
            self._runs += 1

    def spend(self, nanoseconds: float) -> None:
        """Add what a call took that ran otherwise."""
        self._ledger.spent += nanoseconds

    @property
    def settled(self) -> Plan | None:
        """The plan that all calls run from now on, unless `is_strict`; None while that is open.

        LANEWISE_BACKEND is asked here for the last time.
        """
        forced = backend() or self._forced
        if forced == INTERPRET or (self.native is None and self.cost == math.inf):
            return self.interpreter.settled
        # Otherwise the sizes decide.
        if self._assumed.sizes or self._few is not None:
            return None
        return self.native if self._mixed is None else self._mixed.settled

    @property
    def interpreter(self) -> Parts:
        """What runs without kernels."""
        parts = self._parts
        if parts is None:
            parts = self._parts = self._interpreted(planned(self.graph, lent=self.lent))
        return parts

    def _interpreted(self, whole: Plan) -> Parts:
        make = partial(planned, lent=self.lent)
        return Parts(self.graph, whole, make, INTERPRETED_BYTES)

    def failing(self, error: Exception) -> slice | None:
        """Return among which examples the first is that fails, where an error of a run tells.

        A kernel tells of itself: what comes after it may fail at an example before.
        """
        plan = self.native
        if not isinstance(error, KernelFailed) or plan is None or error.first is None:
            return None
        ops = [op for op in plan.graph.operations if op.regions or may_fail(op)]
        if error.op not in ops:  # one of turns, or elements
            return None
        return slice(error.first if ops[-1] is error.op else 0, error.first + 1)

    def choice(self, sizes: Mapping[str, int]) -> Choice:
        """Return what the next call would run on arrays of these sizes, and why."""
        forced = backend() or self._forced
        by = (
            f"LANEWISE_BACKEND={forced}"
            if backend()
            else f"experimental_compile={forced == COMPILE}"
        )
        if forced == INTERPRET:
            return Choice(INTERPRET, by)
        if is_strict():
            reason = "np.errstate asks for errors of floating point, which kernels do not tell"
            return Choice(INTERPRET, reason)
        if self.graph.has_effects:
            return Choice(INTERPRET, CALLS_HOST)
        if self.native is None and self.cost == math.inf:
            return Choice(INTERPRET, self.fault or "nothing in it has a native form")
        if forced is None and (reason := self.told()):
            return Choice(PLAIN, reason)
        choice = Choice(COMPILE, by) if forced == COMPILE else self._tier(sizes)
        if self.fault:
            return replace(choice, reason=f"{choice.reason}; {self.fault} was survived")
        return choice

    def _tier(self, sizes: Mapping[str, int]) -> Choice:
        """Return what the next call would run where nothing but the work decides, and why."""
        spent = self.spent
        if self.native is None and self._work is None:
            each = max(interpreting(self.graph, sizes) * self._error, 1.0)
            left = math.ceil((self.cost - spent) / each)
            if left > 1:
                return Choice(
                    INTERPRET,
                    f"NumPy should take {duration(each)} for it and compiling {duration(self.cost)}"
                    f"; it is compiled after {left - 1:,} more such call{'s' * (left > 2)}",
                )
            spent += each
        elif self.native is None:
            return Choice(INTERPRET, "it is being compiled, in the background")
        if spent < self.cost:
            return Choice(COMPILE, "it was compiled before")
        return Choice(
            COMPILE,
            f"NumPy should take {duration(spent)} for the calls that there were, "
            f"and compiling {duration(self.cost)}",
        )

    def native_graph(
        self, report: Report | None = None, sizes: Mapping[str, int] | None = None
    ) -> Graph | None:
        """Return the graph with its kernels as native maps; None if there are none.

        It is that for many examples, or where `sizes` of dimensions are given the one that suits.
        """
        recorded, known = (self.graph, None) if sizes is None else self._under(sizes)
        if known is not None and self._mixed is not None:
            recorded = self._mixed.graph_for(known)
        with _lock, seen(known or {}):
            return making.native_graph(recorded, report, known)

    def sizes(self, arguments: Sequence[Any]) -> dict[str, int]:
        """Return the sizes of the symbols that the graph has, and those of what runs."""
        found = read_sizes(self.graph, arguments)
        return {**found, **self._under(found)[1]}

    def _assuming(self, sizes: Mapping[str, int]) -> Assumed:
        """Return what kernels assume, or would if they were made for these sizes."""
        if self.native is not None or not self._assumes:
            return self._assumed
        found = attempt("assumed", self.graph, assumed, sizes, otherwise=lambda: None)
        return found or self._assumed

    def _under(self, sizes: Mapping[str, int]) -> tuple[Graph, Mapping[str, int]]:
        """Return the graph of which kernels for some sizes are made, and its symbols' sizes."""
        known = {name: sizes[name] for name, *_ in input_sizes(self.graph)}
        found = self._assuming(known)
        solved = found.solved(known)
        if solved is None:
            return (self.graph, known) if self._others is None else self._others._under(known)
        return found.graph, solved

    def uncompiled(self) -> list[tuple[Operation, str]]:
        """Return the operations that are left to NumPy where all else is compiled, and why."""
        if self.graph.has_effects:
            return [(op, CALLS_HOST) for op in self.graph.operations if op.has_effect]
        found: list[tuple[Operation, str]] = []
        known = None if input_sizes(self.graph) else {}
        self.native_graph(lambda refused: found.append((refused.place, refused.reason)), known)
        return found

    def _compile(self, own: dict[str, int], like: Sequence[Any] | None = None) -> None:
        """Make the plan that suits some sizes, which those of a call show to be assumed.

        Where arrays are given that lie in memory as the arguments do, its kernels are compiled.
        """
        few, native = self._few, self.native
        with carrying_out(self.graph) as faults:
            try:
                found = self._assuming(own)
                sizes = found.solved(own) or {}
                if native is None:
                    native, few = making.plans(found.graph, sizes, self.lent)
                if native is None:
                    self.cost = math.inf
                    return
                is_few = few is not None and few.is_better_for(native.graph, sizes)
                best = few.plan if is_few else native
                if like is not None:
                    given = dict(zip(best.graph.inputs, like, strict=False))
                    for op, free in best.kernels:
                        go_on()
                        self._codes.append(kernels.compiled(op, free, given))
            finally:
                self.fault = ", ".join([*filter(None, [self.fault]), *faults])
        if self.cost == math.inf:
            return
        known = self._best if len(self._best) < MOST_SIZES else {}
        self._best = {**known, (get_threads(), *own.values()): best}
        self._assumed, self._few = found, few if sizes else None
        if self.native is None and making.is_mixed(native.graph):
            make = partial(making.plan_of, otherwise=native, lent=self.lent)
            self._mixed = Parts(found.graph, native, make, NATIVE_BYTES)
        self._ledger.is_compiled = True
        self._parts = None  # seldom needed again
        self.native = native  # last: from now on calls run it


def _prices(graph: Graph) -> tuple[float, float]:
    """Return what compiling takes from callers, and what by whomever, in nanoseconds."""
    whole, written = compiling(graph), writing(graph)
    if is_alone() or _CORES == 1:
        return whole, whole
    return written + LLVM_SHARE * (whole - written), whole


def _like(x: Any) -> Any:
    """Return what lies in memory as an array does, and takes none."""
    if not isinstance(x, np.ndarray):
        return np.asarray(x)
    return np.lib.stride_tricks.as_strided(np.empty(0, x.dtype), x.shape, x.strides)


def _estimate(graph: Graph) -> Callable[[Sequence[Any]], float]:
    """Return what tells how long NumPy is estimated to take on some arguments."""
    read = input_sizes(graph)
    if not read:
        known = interpreting(graph, {})
        return lambda arguments: known
    if len(set(dims_in(tuple([value.type for value in graph.inputs])))) != 1:
        return lambda arguments: interpreting(graph, read_sizes(graph, arguments))
    ((symbol, number, axis, less),) = read  # the estimate is linear in it, from two examples on
    assert isinstance(less, int)
    two = interpreting(graph, {symbol: 2})
    slope = interpreting(graph, {symbol: 3}) - two
    fixed = two - slope * (2 + less)
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


def is_strict() -> bool:
    """Whether floating-point errors are to be raised or told, which kernels do not."""
    # NumPy (since 2.0) keeps that in a context variable: where none is set, it is as it was at the
    # start, and that takes a tenth of the time to see.
    if bool(copy_context()) and not _LENIENT.issuperset(np.geterr().values()):
        return True
    return scipy_tells()


_LENIENT = frozenset(("ignore", "warn"))
