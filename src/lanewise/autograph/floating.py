"""``with np.errstate(divide="raise")`` on data: whoever meets the condition raises there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Operation, Value
from lanewise.ir.location import Location, here, states_at
from lanewise.ops.checks import CONDITIONS, SCALAR_OPERATORS, condition
from lanewise.ops.movement import cast
from lanewise.trace.table.checks import required
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, require_trace, resolve, state


class FloatingErrors:
    """``np.errstate`` in traced code: what is an error in its block is checked when the graph runs.

    Attributes
    ----------
    flags : tuple of str
        The conditions that are errors, in the order in which NumPy tells of them.
    """

    def __init__(self, manager: np.errstate) -> None:
        self._manager = manager
        self._around = np.errstate(all="print")  # which nobody asks for: to see what is asked for
        self._outer: Any = None
        self.flags: tuple[str, ...] = ()
        #: Of operations recorded just now: which condition they meet, and what they are called.
        self._met: list[tuple[Tensor, str]] = []
        self._is_writing = False

    def __enter__(self) -> None:
        before: dict[str, Any] = dict(np.geterr())
        self._around.__enter__()
        self._manager.__enter__()
        self._outer = state.floating
        outer = () if self._outer is None else self._outer.flags
        asked: dict[str, Any] = dict(np.geterr())
        if "call" in asked.values():
            self._leave(None, None, None)
            raise UnsupportedError(
                f"np.errstate(...='call') is used in a traced function{at(here())}, where nothing "
                "is computed yet. Put it around the call"
            )
        np.seterr(**{flag: before[flag] for flag, what in asked.items() if what == "print"})
        self.flags = tuple(
            [
                flag
                for flag in CONDITIONS
                if asked[flag] == "raise" or (asked[flag] == "print" and flag in outer)
            ]
        )
        state.floating = self if self.flags else None
        # What is an error is checked for by itself: nothing else is to tell of it.
        told = {flag: what for flag, what in asked.items() if what != "print"}
        told |= dict.fromkeys(self.flags, "ignore")
        self._states = tuple(sorted(told.items()))
        self._trace = require_trace("np.errstate")
        self._before = len(self._trace.operations)

    def __exit__(self, *error: Any) -> None:
        within, trace = [], state.trace
        while trace is not None and trace is not self._trace:  # regions opened in the block
            within.append(trace)
            trace = trace.parent
        if trace is not None:
            set_states(trace.operations[self._before :], self._states)
            for region in within:
                set_states(region.operations, self._states)
        self._leave(*error)

    def _leave(self, *error: Any) -> None:
        state.floating = self._outer
        self._manager.__exit__(*error)
        self._around.__exit__(None, None, None)

    def meets(
        self,
        trace: Trace,
        primitive: Any,
        operands: Sequence[Value],
        params: dict[str, Any],
        operator: np.ufunc | None = None,
    ) -> tuple[Trace, tuple[Value, ...]]:
        """Check what an operation is going to meet; return the trace then, and the operands in it.

        `operator` is the ufunc of the operator of Python's that was written, if one was.
        """
        name = primitive.conditions
        if trace.is_eager or name == "" or (primitive is cast and _is_exact(operands[0], params)):
            return trace, tuple(operands)
        if name is None:
            listed = ", ".join([f"{flag}='raise'" for flag in self.flags])
            raise UnsupportedError(
                f"{primitive.name} is computed in a block of np.errstate({listed}){at(here())}: "
                "whether it meets such a condition is not known. Compute it outside of the block, "
                "and check what it gives: if not np.isfinite(y).all(): raise FloatingPointError"
            )
        scalar = None
        if operator in SCALAR_OPERATORS and not any([x.type.shape for x in operands]):
            assert operator is not None
            name = f"scalar {operator.__name__}"
            scalar = operator if operator.nin == len(operands) else None  # not of a short cut
        given = {"name": primitive.name, "params": tuple(params.items()), "flags": self.flags}
        params = condition.complete({**given, "scalar": scalar})
        (found,) = trace.record(condition, tuple(operands), params)
        self._met.append((Tensor(trace, found), name))
        if not self._is_writing:
            self._raise_met()
        now = require_trace(name)
        return now, tuple([x if now is trace else resolve(x, trace) for x in operands])

    def after_writing(self, write: Callable[[], Any]) -> Any:
        """Call what writes to an array; NumPy tells of conditions when that is done."""
        if self._is_writing:
            return write()
        self._is_writing = True
        try:
            result = write()
        finally:
            self._is_writing = False
        self._raise_met()
        return result

    def _raise_met(self) -> None:
        """Raise for the examples that have met a condition."""
        met, self._met = self._met, []
        state.floating = None
        try:
            for found, name in met:
                for number, flag in enumerate(self.flags, 1):
                    problem = FloatingPointError(f"{CONDITIONS[flag]} encountered in {name}")
                    required(found != number, problem)
        finally:
            state.floating = self


def set_states(operations: Sequence[Operation], states: tuple[tuple[str, str], ...]) -> None:
    """Note of operations, and of those within, what is asked of floating-point conditions."""
    for op in operations:
        if op.place is not None:
            merged = dict(states) | dict(states_at(op.place))
            op.place = Location(*op.place[:2], tuple(sorted(merged.items())))
        for region in op.regions:
            set_states(region.operations, states)


def _is_exact(operand: Value, params: dict[str, Any]) -> bool:
    """Whether every number of a dtype has one in the dtype that it is cast to."""
    return np.can_cast(operand.type.dtype, params["dtype"], "safe")
