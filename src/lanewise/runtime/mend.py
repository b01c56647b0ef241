"""Examples that fail in a kernel are interpreted, and only those.

A kernel returns at the first block of lanes in which an example fails: because the example raises,
or because NumPy has to decide (a matrix with NaN, an integer beyond 64 bits). A single one among
a million must not send all of them to the interpreter, and one that raises should do so at once,
as the examples behind it may never end. So

1. The first example that fails is looked for in that block, and interpreted by itself. If it
   raises, that is the error: nothing before it failed.
2. Otherwise the kernel goes on, on all threads. Blocks that fail are set aside (``c/mend.c``), and
   their examples are run one by one. Those that fail again, and no others, are interpreted
   together, and their results written between those of the kernel. So what an example gives
   depends neither on its neighbours nor on the number of threads.

Where too many are set aside, it is quicker to interpret all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from lanewise.ir.graph import Operation
from lanewise.runtime.binding import sizes_of
from lanewise.runtime.failed import KernelFailed, first_failing, left
from lanewise.runtime.interpret import Plan, chunked_graph, examples_of, planned
from lanewise.runtime.launch import Entry
from lanewise.runtime.native import Library, layout, program
from lanewise.runtime.pool import Context, the_pool

#: At most this part of all examples is set aside, or a few blocks if those are more. What is set
#: aside is run one by one, which takes as long as that part would take in as many runs as there are
#: lanes. Measured with 16 lanes: where a kernel is 23 times as fast as NumPy it pays up to nine
#: tenths, and by that where it is 5 times as fast up to a quarter.
MOST, BLOCKS = 0.5, 8
#: A chunk is this part of all examples, and at most so many blocks; or so many examples that are
#: run one by one.
_PART, _LARGEST, _SINGLES = 64, 1024, 16


@dataclass(eq=False)
class Mender:
    """Does what the kernel of a native map leaves undone: called by `launch`, where one fails."""

    op: Operation
    entry: Entry
    #: Where in the scratch the kernel notes which examples it had at hand; None if they are those
    #: of a block.
    lost: int | None
    #: Those that the kernel is told of, behind its operands.
    sizes: Mapping[str, int]

    def __call__(
        self,
        results: tuple[np.ndarray, ...],
        code: int,
        context: int,
        size: Any,
        *operands: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Return the results, completed; raise `KernelFailed` if that is not to be.

        The kernel has written them, but for what follows where it failed. Its code is four times
        an example before which all are done, and more; its context is given by the address. It was
        called with what comes then: a number of examples that may be anything that is no int.
        """
        assert self.lost is not None or not self.entry.refills
        if not isinstance(size, int):
            pairs = zip(operands, self.entry.axes, strict=True)
            size = next(x.shape[axis] for x, axis in pairs if axis is not None)
        examples = _Examples(self, context, size, operands)
        start = code >> 2
        first = examples.first_failing(start)
        found = None if first is None else examples.interpreted(np.array([first]))
        # A kernel that refills its lanes has them filled by where it begins: as without a failure.
        failing = examples.all_failing(0 if self.entry.refills else start)
        if found is not None:
            failing = failing[failing != first]
            for result, part in zip(results, found, strict=True):
                result[first] = part[0]
        if len(failing):
            for result, part in zip(results, examples.interpreted(failing), strict=True):
                result[failing] = part
        left.examples += len(failing) + (found is not None)
        return results

    @cached_property
    def plan(self) -> Plan:
        """The map's region, for as many examples as fail."""
        axes = self.entry.axes[: len(self.op.operands)]  # but what the kernel is told
        return planned(chunked_graph(self.op, axes), sized=True)


@dataclass(eq=False)
class _Examples:
    """The examples of a call: run in the kernel again, or interpreted."""

    mender: Mender
    context: int
    size: int
    operands: Sequence[np.ndarray]

    @property
    def entry(self) -> Entry:
        return self.mender.entry

    def first_failing(self, start: int) -> int | None:
        """Return the first example that fails in the kernel, of those from `start` on."""
        lanes = self.entry.lanes
        suspects = self._set_aside(start, lanes, at_once=True)
        assert suspects is not None
        for number in sorted(suspects):
            if lanes == 1 or len(self._failing_alone(np.array([number]))):
                return int(number)
        return None

    def all_failing(self, start: int) -> np.ndarray:
        """Return the examples that fail in the kernel, from `start` on; run all others there."""
        lanes = self.entry.lanes
        suspects = self._set_aside(start, max(int(MOST * self.size), BLOCKS * lanes))
        if suspects is None:
            raise KernelFailed(None, self.mender.op)
        return np.sort(suspects if lanes == 1 else self._failing_alone(suspects))

    def _set_aside(self, start: int, room: int, at_once: bool = False) -> np.ndarray | None:
        """Run the kernel from an example on; return those of blocks that fail.

        There must be fewer than `room`, else None is returned. With `at_once` it stops as soon as
        there are so many.
        """
        entry, count = self.entry, self.size - start
        numbers = np.empty(room, np.int64)
        notes = -1 if self.mender.lost is None else self.mender.lost
        known = layout("known")(
            entry.address, start, entry.lanes, numbers.ctypes.data, room, notes=notes
        )
        blocks = -(-count // entry.lanes)
        grain = min(-(-blocks // _PART), _LARGEST) * entry.lanes
        grain = count if at_once else max(grain, entry.chunks()[1])
        if self._run("go_on", known, count, grain) and not at_once:
            return None
        numbers = numbers[: known.taken]
        return numbers[(numbers >= 0) & (numbers < self.size)]

    def _failing_alone(self, numbers: np.ndarray) -> np.ndarray:
        """Run the kernel for each of some examples; return those that fail."""
        known = layout("known")(self.entry.address, list=numbers.ctypes.data)
        self._run("one_by_one", known, len(numbers), _SINGLES)
        return numbers[numbers >= 0]

    def _run(self, name: str, known: ctypes.Structure, count: int, grain: int) -> int:
        """Run a function of ``c/mend.c``, which knows this, in the place of the kernel."""
        last = self.context + Context.from_address(self.context).bytes - 8
        ctypes.c_int64.from_address(last).value = ctypes.addressof(known)
        return the_pool().run(_functions()[name], self.context, count, grain, self.entry.scratch)

    def interpreted(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Return what some examples give in NumPy, in order; tell of the first that raises."""
        outputs = self._attempt(numbers)
        if outputs is None:
            first = first_failing(
                len(numbers), lambda low, high: self._attempt(numbers[low:high]) is None
            )
            raise KernelFailed(int(numbers[first]), self.mender.op)
        return outputs

    def _attempt(self, numbers: np.ndarray) -> list[np.ndarray] | None:
        """Return what some examples give in NumPy; None if they raise."""
        plan = self.mender.plan
        parts = examples_of(self.operands, self.entry.axes, numbers)[: len(plan.graph.inputs)]
        sizes = {**self.mender.sizes, **sizes_of(plan.graph.inputs, parts)}
        try:
            return plan.step(sizes, *parts)
        except MemoryError:
            raise
        except Exception:
            return None


@cache
def _functions() -> dict[str, int]:
    """Return the addresses of the functions of ``c/mend.c``."""
    library = Library(program("mend"))
    return {name: library.address(name) for name in ("go_on", "one_by_one")}
