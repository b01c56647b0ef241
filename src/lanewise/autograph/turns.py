"""One recorded loop: its body, recorded until its carry is stable, and the operation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn

from lanewise.autograph.aliases import arrays_in, held_by, left_by, settle
from lanewise.autograph.carry import Carry
from lanewise.autograph.history import History
from lanewise.autograph.state import called
from lanewise.errors import ControlFlowError, at
from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Value
from lanewise.ir.location import here
from lanewise.ops.control import scan, while_
from lanewise.trace import tree
from lanewise.trace.lending import close_kept, kept_now
from lanewise.trace.mixed import classes_of
from lanewise.trace.regions import (
    Part,
    Region,
    record,
    resume,
    settled,
)
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import Stop, require_trace
from lanewise.trace.weak import weak_kind

#: What a branch or the body of a loop may raise that its driver wants to know of.
Failure = (Stop, Exception)
#: How often a body is recorded anew, at most, before its carry holds what it leaves.
ATTEMPTS = 20


def titles(names: Sequence[str]) -> list[str]:
    """Return what to call variables in messages."""
    return [called(name) for name in names]


def strengthened(entries: Sequence[Any], ends: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return what variables held, numbers that became NumPy's as such: None if none did.

    ``ends`` are what they held after a turn.
    """
    strong = [_strengthened(*pair) for pair in zip(entries, ends, strict=True)]
    is_same = all([new is entry for new, entry in zip(strong, entries, strict=True)])
    return None if is_same else tuple(strong)


def _strengthened(entry: Any, end: Any) -> Any:
    kind, known = weak_kind(entry), type(end) is Tensor and classes_of(end)
    if kind in (None, bool) or not known or end.shape or len(known) > 1 or end._weak is not None:
        return entry
    if type(entry) is Tensor:
        is_alone = entry._guard is None and entry._mixed is None and entry.dtype == end.dtype
        return Tensor(entry._trace, entry._value) if is_alone else entry
    try:
        number = end.dtype.type(entry)
    except (TypeError, OverflowError):
        return entry
    return number if number == entry else entry


def weakened(entries: Sequence[Any], strong: Sequence[Any]) -> tuple[Any, ...]:
    """Return what variables held, numbers of Python's in the dtypes that they have in `strong`."""
    trace = require_trace("a loop")
    return tuple([
        entry if entry is other
        else Tensor(trace, lift(other), None, weak_kind(entry))
        for entry, other in zip(entries, strong, strict=True)
    ])  # fmt: skip


def _recorded(leaf: Any, region: Region) -> Hashable:
    """Return what decides what is left by a turn."""
    if type(leaf) is not Tensor:
        is_number = isinstance(leaf, (bool, int, float, complex))
        return (type(leaf), repr(leaf)) if is_number else id(leaf)
    own = leaf._value.index if leaf._trace is region else id(leaf._value)
    return leaf._trace is region, own, leaf._weak, leaf._mixed is None


class Turns:
    """Records one loop: its body until the carry is stable, then the operation.

    `history` is what was seen of it before; `can_unroll` says that it is unrolled instead if it
    cannot be recorded.
    """

    def __init__(
        self, names: Sequence[str], state: Sequence[Any], history: History, can_unroll: bool = False
    ) -> None:
        self.names = names
        self.carry = Carry(names, state, history, can_unroll)
        self.region: Region | None = None
        self.inputs: list[Value] = []
        self.left: dict[Any, Any] = {}
        #: The containers of which somebody keeps what they hold before a turn, by their ids.
        self._kept: set[int] = set()

    def begin(self, count: Callable[[Region], Any] = lambda region: 0) -> tuple[Any, ...]:
        """Open the region of a turn; return what the variables hold in it.

        ``count`` says how many turns there were before.
        """
        if self.region is not None:
            self.region.forget()
        self._kept = kept_now()
        self.region, self.inputs, held = self.carry.begin(count)
        resume()
        return held

    def end(self, ends: tuple[Any, ...] | None) -> tuple[bool, tuple[Any, ...] | None]:
        """End a turn; return whether the carry holds what it leaves, and that."""
        assert self.region is not None
        ends = settled(self.region, self.names, ends)
        ends = None if ends is None else tuple([settle(value) for value in ends])
        self.left = left_by(self.region)
        held = () if ends is None else (*ends, *[value for _, value in self.left.values()])
        arrays = [array for value in held for array in arrays_in(value)]
        self.region.leave(held_by(arrays) if self.region.changes else ())
        close_kept(self.region, self._kept)
        ends, self.left = self.carry.as_left(self.region, self.left, ends)
        return self.carry.meet(self.region, self.left, ends), ends

    def recorded(self, ends: tuple[Any, ...] | None) -> Hashable:
        """Return what decides what the turn does that was just recorded, which left these ends."""
        region = self.region
        assert region is not None
        sources = [
            id(source[1]) if isinstance(source, tuple) else id(source)
            for source, _ in region.captures
        ]
        left = [(key, value) for key, (_, value) in self.left.items()]
        leaves, structure = tree.flatten((ends, left))
        held = [_recorded(leaf, region) for leaf in leaves]
        return Graph(region.inputs, region.operations, ()).key, *sources, structure, *held

    def give_up(self) -> NoReturn:
        """Refuse a loop of which no form of the variables holds what its turns leave."""
        raise ControlFlowError(
            f"{self.carry.unsettled} is of another form after each turn of a loop{at(here())}, "
            "however often that is recorded. Use an array, or a list of one form before the loop"
        )

    def record_while(
        self, test: Region, tested: Sequence[Value], go_on: Value, ends: Any
    ) -> tuple[Any, ...]:
        """Record the loop with the region of its test; return what the variables hold after it."""
        assert self.region is not None
        self.carry.check_sharing(self.region, self.left, ends)
        given = self.carry.give(self.region, self.left, ends)
        parts = (
            Part(test, carry=tested, outputs=(go_on,), hands_token_on=False),
            Part(self.region, carry=self.inputs, outputs=given),
        )
        values = record(
            while_, parts, carry=self.carry.entry(), params=lambda n, _: {"captures": n}
        )
        result = self.carry.finish(self.region, self.left, ends, values)
        self.region.forget()
        resume()
        return result

    def record_scan(
        self,
        length: DimLike,
        ends: Any,
        xs: Sequence[Value],
        slices: Sequence[Value],
        ys: Sequence[Value] = (),
        reverse: bool = False,
        has_turns: bool = False,
    ) -> tuple[tuple[Any, ...], list[Tensor]]:
        """Record the loop over the rows of `xs`, of which a turn is given `slices`.

        Parameters
        ----------
        has_turns
            Whether there is at least one turn, and the loop can be unrolled instead.

        Returns
        -------
        state, stacked
            What the variables hold after the loop; and what each turn gave beside, stacked.
        """
        assert self.region is not None
        self.carry.check_sharing(self.region, self.left, ends)
        if has_turns:
            self.carry.refuse_views(self.region, self.left, ends)
        given = self.carry.give(self.region, self.left, ends)
        part = Part(self.region, carry=self.inputs, xs=slices, outputs=given, ys=ys)

        def params(captures: int, carry: int) -> dict[str, Any]:
            return {"captures": captures, "carry": carry, "length": length, "reverse": reverse}

        values = record(scan, (part,), carry=self.carry.entry(), xs=xs, params=params)
        trace = require_trace("a loop")
        stacked = [Tensor(trace, value) for value in values[len(given) :]]
        own = values[: len(given)]
        self.carry.turns.made = length
        turns = length if isinstance(length, int) else None
        result = self.carry.finish(self.region, self.left, ends, own, turns, has_turns)
        self.region.forget()
        resume()
        return result, stacked
