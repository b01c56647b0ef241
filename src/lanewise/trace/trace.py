"""Recording: a `Trace` is one run of a user's function, and makes the graph of a region.

Arrays that the function meets on its way (weights, tables, globals) become inputs of the graph.
A captured array that could still be written to is copied, so that the graph sees it as it was at
that moment, just as the plain function would.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self
from zlib import crc32

import numpy as np

from lanewise.errors import (
    ConcretizationError,
    EndlessRecursionError,
    LeakedTensorError,
    UnsupportedError,
    annotate,
    at,
    function_name,
)
from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Builder, Graph, Signature, Value
from lanewise.ir.location import here, place_of, user_places
from lanewise.ir.types import TOKEN, array_type
from lanewise.ops import checks
from lanewise.ops.creation import constant
from lanewise.ops.registry import Primitive
from lanewise.trace.limits import MOST_RECORDED, count_operation
from lanewise.trace.thread import state


def _literal(value: Any, dtype: np.dtype) -> Signature:
    params = {"data": np.array(value, dtype).tobytes(), "type": array_type(dtype, ())}
    return constant.signature((), params)


# Real numbers that are equal and of one type have the same bits, but for zeros (0.0 == -0.0).
@lru_cache(maxsize=1024)
def _number(value: Any, kind: type, dtype: np.dtype) -> Signature:
    return _literal(value, dtype)


#: Bytes up to which captured arrays that hold the same are one input: what is computed of it twice
#: (as by two calls of ``np.histogram``) is then seen to be.
MOST_COMPARED = 1 << 20
#: A function that is on the stack this often when that is full calls itself without end.
OFTEN = 20
_ENDLESS = (
    "where only data end a recursion, both ways are recorded, and so it never ends: write a loop "
    "with the stack in an array, or pass a depth that is a plain number, and end there"
)


class Stateful(BaseException):
    """Ends the trace of a mapped function of which each example depends on the one before.

    ``name`` is what to call the place that it changes; ``line`` the user's.
    """

    def __init__(self, name: str, line: Any) -> None:
        super().__init__(name)
        self.name, self.line = name, line


class Stop(BaseException):
    """Ends the trace of a branch that raises: no example goes on from there."""


class Concrete(Value):
    """A value whose array is known, as an `EagerTrace` makes them (`lanewise.trace.eager`)."""

    __slots__ = ("array",)

    def __init__(self, type: Any, index: int, array: Any) -> None:
        super().__init__(type, index)
        self.array = array


#: What writes a graph with other names of sizes; filled by `lanewise.passes.specialize`.
RENAMED: list[Callable[[Graph, Mapping[str, DimLike]], Graph]] = []
#: Told when an outermost trace opens (True) in any thread, and when it ends.
ON_OUTERMOST: list[Callable[[bool], None]] = []


class Trace(Builder):
    """One recording of a function: it builds the graph, and knows what was captured from outside.

    The function runs inside a ``with`` block of its trace.

    Attributes
    ----------
    parent : Trace or None
        The trace that was open when this one began; its values can be captured.
    captures : list of (source, Value)
        What the region takes from outside, in order: an array or a value of an outer trace (with
        that trace), each with the region's input that stands for it.
    lent : dict of id to Lent
        Lists, dicts and objects that may be others, as the data decide; see
        `lanewise.trace.lending`.
    kept : set of int, optional
        Of a branch that is closed, and not joined to others yet: the ids of those of which somebody
        keeps what they hold at its end.
    randomness : str or None
        Of a map's trace: whether its examples draw random numbers alike; see `lanewise.random`.
    number : Value or None
        Of a map's trace: the input that is the example's number, if something asks for it.
    rebound : set of Value
        Those of scalars that an operator such as ``+=`` has left as they are, and would change if
        they were arrays without dimensions.
    streams : dict of id to (Generator, stream)
        Of a map's trace: where the numbers come from that it draws from generators outside of it.
    rolled : set of places
        Of an outermost trace: loops that were recorded behind a first iteration of their own.
    answers : dict of Value to (tag, yes, no)
        Of an outermost trace: truths of what one of several objects is, the tag that says which,
        and the tags of those for which the truth is true and false.
    states : dict of id to (object, value, line), or None
        What objects hold that code in the trace has assigned (`lanewise.trace.variable`).
    history : History, or None
        What was seen of the loops in it when they were recorded before (`lanewise.autograph`).
    """

    __slots__ = (
        "_by_bits",
        "_by_value",
        "_outer",
        "_scalars",
        "answers",
        "by_array",
        "captures",
        "copies",
        "function",
        "growing_lists",
        "guesses",
        "history",
        "is_open",
        "journal",
        "kept",
        "lent",
        "names",
        "number",
        "origins",
        "own_lists",
        "owners",
        "parent",
        "randomness",
        "reads",
        "rebound",
        "rolled",
        "sized",
        "sizes",
        "states",
        "streams",
        "tags",
        "token",
    )  # fmt: skip

    #: Whether operations are carried out as they are recorded.
    is_eager = False

    def __init__(self, function: Any) -> None:
        Builder.__init__(self)  # super() takes longer, and a trace is made for every call
        self.parent: Trace | None = None
        self.function = function
        self.captures: list[tuple[Any, Value]] = []
        self.is_open = True
        self.token: tuple[Value, Value] | None = None
        self.names = 0
        #: By the ids of arrays from outside: each, how it was when it was read, and its value.
        self.by_array: dict[int, tuple[np.ndarray, np.ndarray, Value]] = {}
        self._by_bits: dict[Hashable, list[tuple[np.ndarray, Value]]] = {}
        self._by_value: dict[Value, Value] = {}
        self.lent: dict[int, Any] = {}
        self.kept: set[int] | None = None
        #: Where all that changes is noted from now on, as it may be undone.
        self.journal: Any = None
        self._scalars: dict[Any, Value] = {}
        #: The dimensions that numbers stand for (`lanewise.trace.sizes`).
        self.sizes: dict[Value, Dim] = {}
        #: By id, objects that stand for an array, each with all values that were read of it.
        self.reads: dict[int, tuple[Any, dict[Value, None]]] | None = None
        #: Of an outermost trace: by id, arrays that were read of objects, each with its object.
        self.owners: dict[int, tuple[np.ndarray, Any]] | None = None
        self.states: dict[int, tuple[Any, Any, Any]] | None = None
        self.rebound: set[Value] = set()
        self.rolled: set[Any] = set()
        self.history: Any = None
        self.randomness: str | None = None
        self.number: Value | None = None
        self.streams: dict[int, tuple[Any, Any]] | None = None
        #: Of an outermost trace: whether a slice was recorded that an end may cut off.
        self.guesses = False
        #: Of an outermost trace, by name: where sizes are known that are data, what has them, and
        #: what counts that.
        self.origins: dict[str, tuple[Trace, Any, Value | None]] = {}
        #: Of no region: by id, lists of which all uses are known (`lanewise.autograph.lists.uses`).
        self.own_lists: dict[int, list[Any]] = {}
        #: Of no region: by id, lists of which no code of the user's asks how long they are, and
        #: lists that are in them.
        self.growing_lists: dict[int, tuple[list[Any], Sequence[Any]]] = {}
        #: Of an outermost trace: objects that data choose, with tags (`lanewise.trace.variants`).
        self.tags: dict[Any, tuple[int, Any]] = {}
        #: Of an outermost trace: by id, objects that were joined, each with those that may be it.
        self.copies: dict[int, list[Any]] = {}
        self.answers: dict[Value, tuple[Any, frozenset[int], frozenset[int]]] = {}
        #: Of an outermost trace: how many sizes were named.
        self.sized = 0

    def with_own_names(self, graph: Graph) -> Graph:
        """Return a graph of another trace, its sizes under names that nothing in this one has.

        Another one, or the same one once more, may have sizes of the same names.
        """
        names = {name: self.own_size(name) for name in sorted(graph.defines)}
        return RENAMED[0](graph, names) if names else graph

    def own_size(self, name: str) -> Dim:
        """Return a size that nothing else in the outermost trace is called, of a known name."""
        root = self
        while root.parent is not None:
            root = root.parent
        root.sized += 1
        own = f"i{root.sized}_{name}"
        root.origins[own] = self, None, None
        return Dim.symbol(own)

    def __enter__(self) -> Self:
        """Open the trace inside the one that is open in this thread."""
        self.parent = state.trace
        if self.parent is None:
            state.has_contents, state.attempt, state.floating, state.messages = (
                False,
                None,
                None,
                (),
            )
            for tell in ON_OUTERMOST:
                tell(True)
        self._outer = state.attempt, state.floating, state.messages, state.room_to_record
        if state.room_to_record == math.inf and not self.is_eager:
            state.room_to_record = MOST_RECORDED
        state.trace = self
        if state.watch is not None:
            self._tell_watch(True)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """End the trace for good: its tensors are of no use from now on."""
        self.is_open = False
        # An error may have left open any of it.
        state.attempt, state.floating, state.messages, room = self._outer
        if room == math.inf:  # the outermost one
            state.room_to_record = room
        try:
            while state.trace is not self and state.trace is not None:
                state.trace.undo()
        finally:  # code of the user's may raise where it is undone
            state.trace = self.parent
            for tell in ON_OUTERMOST if self.parent is None else ():
                tell(False)
        if state.watch is not None:
            self._tell_watch(False)
        if error is None:
            if self.states:
                self._refuse_states()
            return
        if isinstance(error, Stop):  # whoever can go on with that has caught it
            raise UnsupportedError(
                f"{function_name(self.function)} raises whatever it is given{at(here())}, which a "
                "function with a rule of its own, or under lw.checkpoint, cannot. Raise outside"
            ) from None
        if isinstance(error, ValueError) and isinstance(
            error.__cause__, (ConcretizationError, UnsupportedError)
        ):
            # NumPy hides what went wrong in a[i] = t behind "setting an array element ...".
            raise error.__cause__ from None
        if isinstance(error, LeakedTensorError) and isinstance(error.__context__, UnsupportedError):
            # What is refused ran through a `finally`, of which the code met tensors of a branch.
            raise error.__context__ from None
        if isinstance(error, RecursionError) and not isinstance(error, EndlessRecursionError):
            self._refuse_recursion(traceback)
        if isinstance(error, Exception):
            place = at(place_of(traceback))
            if place and place not in str(error):
                annotate(error, f"while tracing{place}")

    def _refuse_recursion(self, traceback: Any) -> None:
        """Raise for a function of the user's that calls itself again and again, if there is one."""
        places = list(user_places(traceback))
        often = Counter([code for code, _ in places])
        for code, instruction in places:
            if often[code] >= OFTEN:
                place = at((code, instruction))
                raise EndlessRecursionError(
                    f"{code.co_qualname} calls itself{place}: {_ENDLESS}"
                ) from None

    def _tell_watch(self, is_opened: bool) -> None:
        """Tell who watches that an outermost trace opens or ends; a tape is none."""
        if not self.is_eager and (self.parent is None or self.parent.is_eager):
            assert state.watch is not None
            state.watch(is_opened)

    def _refuse_states(self) -> None:
        """Raise for what code in the trace has assigned, of which nobody has taken care."""
        names = " and ".join([repr(variable.name) for variable, *_ in (self.states or {}).values()])
        raise UnsupportedError(
            f"{function_name(self.function)} assigns the variable {names}, but it may run more "
            f"than once, or not at all{at(here())}. Return the value, and assign it outside"
        )

    def bear(self, container: Any) -> Any:
        """Return a container that is made in the trace; it remembers that where it is watched."""
        return container

    def undo(self) -> None:
        """Leave the trace unfinished."""
        state.trace = self.parent

    def record(self, primitive: Primitive, operands: tuple[Value, ...], params: dict[str, Any],
               regions: tuple[Graph, ...] = ()) -> tuple[Value, ...]:  # fmt: skip
        """Record one operation at the user's current line."""
        count_operation()
        signature = primitive.signature([v.type for v in operands], params, regions)
        self.location = here()
        return self.append(signature, operands)

    def scalar(self, value: bool | int | float | complex, dtype: np.dtype) -> Value:
        """Return the constant that a Python number is in `dtype`; OverflowError if out of range."""
        simple = value and type(value) is not complex
        signature = _number(value, type(value), dtype) if simple else _literal(value, dtype)
        known = self._scalars.get(signature)
        if known is None:
            (known,) = self.append(signature)
            self._scalars[signature] = known
        return known

    def adopt(self, value: Value, owner: Trace) -> Value:
        """Return `value` of another open trace as a value of this one, as a captured input."""
        known = self._by_value.get(value)
        if known is None:
            known = self._by_value[value] = self.input(value.type)
            self.captures.append(((owner, value), known))
        return known

    def capture(self, array: np.ndarray, owner: np.ndarray | None = None) -> Value:
        """Return a captured array as an input, as its elements are now.

        ``owner`` is the object that the user has, where `array` is only a view made of it.
        """
        owner = array if owner is None else owner
        known = self.known_capture(array, owner)
        if known is not None:
            return known
        snapshot = self.snapshot(array, owner)
        alike = self._alike(snapshot)
        value = next((v for kept, v in alike if same_bits(kept, snapshot)), None)
        if value is None:
            value = self.input(array_type(snapshot.dtype, snapshot.shape))
            self.captures.append((snapshot, value))
            alike.append((snapshot, value))
        self.remember_capture(owner, snapshot, value)
        return value

    def _alike(self, snapshot: np.ndarray) -> list[tuple[np.ndarray, Value]]:
        """Return the captured arrays that may hold the same, for one that is captured."""
        if id(snapshot) in (self.outermost().owners or ()) or snapshot.nbytes > MOST_COMPARED:
            return []
        return self._by_bits.setdefault(
            (snapshot.dtype, snapshot.shape, crc32(snapshot.tobytes())), []
        )

    def outermost(self) -> Trace:
        """Return the trace around all others."""
        trace = self
        while trace.parent is not None:
            trace = trace.parent
        return trace

    def capture_lists(self, arena: Any) -> Value:
        """Return the lists that a pullback has kept as an input; what it appends is its own."""
        known = self.by_array.get(id(arena))
        if known is not None:
            return known[2]
        own = arena.fork()
        value = self.input(array_type(np.dtype(object), ()))
        self.by_array[id(arena)] = (arena, arena, value)
        self.by_array[id(own)] = (own, own, value)
        self.captures.append((own, value))
        return value

    def read(self, source: Any, array: np.ndarray) -> Value:
        """Return the array that an object stands for now as an input."""
        self.own(source, array)
        value = self.capture(array)
        self.note_read(source, value)
        return value

    def note_read(self, source: Any, value: Value) -> None:
        """Remember that a value stood for an object."""
        if self.reads is None:
            self.reads = {}
        self.reads.setdefault(id(source), (source, {}))[1][value] = None

    def own(self, source: Any, array: np.ndarray) -> None:
        """Remember, for the trace around all others, of which object an array was read."""
        outermost = self.outermost()
        if outermost.owners is None:
            outermost.owners = {}
        outermost.owners[id(array)] = array, source

    def owners_of_captures(self) -> list[Any]:
        """Return for each capture the object that it was read of, None for one that was not."""
        by_snapshot = {
            id(self.by_array[key][1]): source
            for key, (_, source) in (self.owners or {}).items()
            if key in self.by_array
        }
        return [by_snapshot.get(id(source)) for source, _ in self.captures]

    def writable_captures(self) -> list[np.ndarray]:
        """Return the arrays that were captured, as far as somebody could write to them."""
        return [owner for owner, _, _ in self.by_array.values() if _is_writable(owner)]

    def known_capture(self, array: np.ndarray, owner: np.ndarray) -> Value | None:
        """Return the value that stands for an array, if it was captured as it is now."""
        known = self.by_array.get(id(owner))
        return known[2] if known is not None and is_unchanged(known[1], array) else None

    def remember_capture(self, owner: np.ndarray, snapshot: np.ndarray, value: Value) -> None:
        """Enter the value that stands for an array."""
        self.by_array[id(owner)] = (owner, snapshot, value)
        # A map within hands over the snapshot: the same input.
        self.by_array[id(snapshot)] = (snapshot, snapshot, value)

    def snapshot(self, array: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Return the array's elements as they are now, as an array that nobody can write to."""
        around = self.parent
        while around is not None:
            known = around.by_array.get(id(owner))
            if known is not None and is_unchanged(known[1], array):
                return known[1]
            around = around.parent
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        elif could_change(array):
            array = array.copy()
        else:
            return array
        array.flags.writeable = False
        return array

    def new_name(self, what: str) -> str:
        """Return a name that no trace in or around this one has; the same for the same code."""
        outermost = self.outermost()
        outermost.names += 1
        return f"{what}{outermost.names}"

    def check(
        self, ok: Value, operands: Sequence[Value], make: Callable[..., BaseException]
    ) -> None:
        """Record that each example raises what `make` makes of operands unless `ok` holds."""
        if state.attempt is None or not state.attempt.check(self, ok, operands, make):
            self.record(checks.check, (ok, *operands), {"make": make})

    def checked(self, value: Value, ok: Value, error: str, message: str) -> Value:
        """Return `value`, and record that the error of a name is raised unless `ok` holds."""
        if state.attempt is not None:
            found = state.attempt.checked(self, value, ok, checks.ERRORS[error](message))
            if found is not None:
                return found
        params = {"error": error, "message": message}
        return self.record(checks.checked, (value, ok), params)[0]

    def next_token(self) -> Value:
        """Return the token that the next effect takes; it must hand its own to `set_token`."""
        if self.token is None:
            first = self.input(TOKEN)
            self.token = (first, first)
        return self.token[1]

    def set_token(self, token: Value) -> None:
        assert self.token is not None
        self.token = (self.token[0], token)


def _is_writable(owner: Any) -> bool:
    if hasattr(type(owner), "_tensor"):  # made while tracing: nobody outside has it
        return False
    return isinstance(owner, np.ndarray) and could_change(owner)


def could_change(array: np.ndarray) -> bool:
    """Whether anybody holds a writable view of the array's memory, as far as can be seen."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    if base is None:
        return False
    try:  # bytes, a memory-mapped file, or whatever else lends its memory
        return not memoryview(base).readonly
    except TypeError:
        return True


def is_unchanged(copy: np.ndarray, array: np.ndarray) -> bool:
    """Whether an array still holds what it did when `copy` was made of it, as `snapshot` does."""
    shape = copy.shape == array.shape and copy.dtype == array.dtype
    return copy is array or (shape and (not could_change(array) or same_bits(copy, array)))


def same_bits(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether arrays hold the same, NaN and signs of zeros too."""
    if first is second:
        return True
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.nbytes <= 4096:
        return first.tobytes() == second.tobytes()
    bits = np.dtype(f"V{first.dtype.itemsize}")
    integers = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(first.dtype.itemsize)
    if integers is None:
        return bool((first.view(bits) == second.view(bits)).all())
    return bool(np.array_equal(first.view(integers), second.view(integers)))


#: How many places an array of a length that nothing bounds gets: one number for each trace.
ROOM = (256, 4096, 65536)


def current_trace() -> Trace | None:
    """Return the trace that this thread is recording, if any."""
    return state.trace


def where() -> str:
    """Return the user's line for a message, inside a trace; outside, the traceback shows it."""
    return "" if state.trace is None else at(here())


def require_trace(what: str) -> Trace:
    """Return the open trace, or raise for a tensor that outlived its own."""
    trace = state.trace
    if trace is not None:
        return trace
    if state.ambient is None:
        raise LeakedTensorError(f"{what} was used outside of a traced function{at(here())}")
    return state.ambient()


def resolve(value: Value, owner: Trace) -> Value:
    """Return `value`, made in the trace `owner`, as a value of the current trace.

    Raises
    ------
    LeakedTensorError
        If `owner` is not being traced here, naming the line that made the value and the line that
        uses it.
    """
    trace = around = state.trace
    if owner is trace:
        return value
    if type(value) is Concrete:
        while around is not None and not around.is_eager:
            around = around.parent
        if trace is None or trace.is_eager:
            return value
        return trace.capture(value.array) if around is None else trace.adopt(value, around)
    while around is not None and around is not owner:
        around = around.parent
    if trace is None or around is None:
        makers = [op.place for op in owner.operations if value in op.results]
        what = f"made{at(makers[0])}" if makers else "an argument"
        when = "in another thread" if owner.is_open else "after the trace has ended"
        raise LeakedTensorError(
            f"a Tensor leaked out of the traced function {function_name(owner.function)!r}: it was "
            f"{what} and is used{at(here())} {when}. Return it from the function instead of "
            "storing it in a variable outside"
        )
    return trace.adopt(value, owner)
