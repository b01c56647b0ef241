"""What a function under a map changes outside of itself, and what the loop would leave there.

The trace of a mapped function logs what it changes (`lanewise.trace.regions.Watched`). Where that
outlives the call, the function is traced again from the state that the first example left: if it
records the same, and takes nothing that the first one left, no example depends on another, and what
the loop leaves can be told from what the two have changed. Else one example reads what another
wrote, which is refused.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from lanewise.autograph.optional import optional
from lanewise.autograph.state import is_same, present
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.graph import Graph, Value
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.mixed import classes_of, is_mixed, note_mixed, own_code, presence
from lanewise.trace.regions import Region, Watched, holds_traced, set_slot
from lanewise.trace.slots import (
    ArraySlot,
    CellSlot,
    ContainerSlot,
    ItemSlot,
    Missing,
    Slot,
)
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import Stateful, Trace
from lanewise.trace.variable import Variable

#: From how many states before the last that a growing container has the function is traced again.
MAX_STATES = 8
_INSTEAD = (
    "Use lw.map_fn, which goes from example to example, or a loop, or make it an argument and a "
    "result"
)


class Change(NamedTuple):
    """A place outside of a trace that was changed: what it held before, and what it holds now."""

    slot: Slot
    before: Any
    after: Any
    line: Any


def outer_changes(trace: Watched, result: Any) -> list[Change]:
    """Return what a function has changed that outlives it, now that it has returned `result`."""
    trace.own_lists.clear()  # whoever else has one of these has it from outside
    trace.growing_lists.clear()
    trace.lent.clear()  # nothing is changed any more
    for home, *_ in trace.origins.values():  # a region, of which only sizes are asked for
        if isinstance(home, Region):
            home.changes.clear()
    slots = [slot for slot, _ in trace.changes.values() if slot.is_outer]
    inner = {id(container) for container in tree.containers(result)}
    own = [slot for slot in slots if id(slot.owner) in inner]
    kept = [slot for slot in own if not trace.has_born(slot.owner) and _is_kept(slot.owner)]
    slots = [slot for slot in slots if id(slot.owner) not in inner]
    old = [trace.changes[slot.key][1] for slot in slots]
    found = _held_elsewhere(slots, old, trace)
    if any([not _is_known(slot, trace) for slot in found]):
        gc.collect()  # of functions that hold themselves
        found = _held_elsewhere(slots, old, trace)
        for slot in found:
            if trace.lines[slot.key] is not None:
                code, _ = trace.lines[slot.key]
                _known.setdefault(code, set()).add(_instruction(slot, trace))
    changes = []
    for slot in [*kept, *found]:
        before, after = trace.changes[slot.key][1], slot.get()
        if not (before is after or _is_equal(before, after)):
            changes.append(Change(slot, before, after, trace.lines[slot.key]))
    return changes


#: Among how many objects it is looked for who has one, at most; else it counts as held elsewhere.
MOST_OBJECTS = 10_000
#: By code, instructions that were found to change a place outside: collecting garbage takes long.
_known: WeakKeyDictionary[CodeType, set[tuple[Any, ...]]] = WeakKeyDictionary()


def _instruction(slot: Slot, trace: Watched) -> tuple[Any, ...]:
    """Return which instruction changed a place first, of which mapped function."""
    return trace.lines[slot.key][1], slot.name, function_name(trace.function)


def _is_known(slot: Slot, trace: Watched) -> bool:
    if trace.lines[slot.key] is None:
        return False
    code, _ = trace.lines[slot.key]
    return _instruction(slot, trace) in _known.get(code, ())


def _held_elsewhere(slots: Sequence[Slot], old: Sequence[Any], trace: Watched) -> list[Slot]:
    """Return the places in objects that somebody else has: others went with the function.

    As Python's collector does it: of what the trace knows, and what that holds, those objects are
    held elsewhere that have more references than are known of, and all that is within them.
    """
    if not slots:
        return []
    known = Counter([id(x) for row in trace.by_array.values() for x in row[:2]])
    known.update([id(source) for source, _ in trace.captures])
    known.update([id(slot.owner) for slot in slots])
    known.update(map(id, trace.made()))
    known.update([id(x) for x in old for _ in range(2)])  # `old` and the trace's changes have them
    objects = {id(slot.owner): slot.owner for slot in slots}
    waiting = [*itertools.chain(*map(_inside, objects.values())), *old, *trace.made()]
    while waiting and len(objects) < MOST_OBJECTS:
        x = waiting.pop()
        if id(x) not in objects and _may_hold(x):
            objects[id(x)] = x
            waiting += _inside(x)
    x, waiting = None, []  # which refer to some of them, too
    known.update([id(x) for owner in objects.values() for x in _inside(owner)])
    objects[0] = object()  # which nobody else has: how Python counts differs between its versions
    counts = {key: sys.getrefcount(owner) for key, owner in objects.items()}
    alone = counts.pop(0)
    held = [objects[key] for key, count in counts.items() if count - alone > known[key]]
    reached: set[int] = set()
    while held:
        owner = held.pop()
        if id(owner) not in reached:
            reached.add(id(owner))
            held += [x for x in _inside(owner) if id(x) in objects]
    return [slot for slot in slots if id(slot.owner) in reached]


def _is_kept(container: Any) -> bool:
    """Whether somebody keeps what a function returns: a variable outside, an object, or a cache."""
    found = [x for x in gc.get_referrers(container) if not isinstance(x, _PASSING)]
    return any([not type(x).__module__.startswith("lanewise.") for x in found])


#: What has a container for a while, or is a container that has it, which is looked at for itself.
_PASSING = (FrameType, GeneratorType, tuple, list)


def _may_hold(x: Any) -> bool:
    """Whether something may refer to what a function has changed, and is none of Lanewise's own."""
    return gc.is_tracked(x) and not isinstance(x, (type, ModuleType, CodeType, Tensor, Trace))


def _inside(x: Any) -> Sequence[Any]:
    """Return what an object refers to."""
    if isinstance(x, FunctionType):
        return *(x.__closure__ or ()), *(x.__defaults__ or ())
    return gc.get_referents(x)


def leave_arguments(
    trace: Watched, result: Any, func: Any, given: dict[int, Any], constants: Sequence[Any]
) -> None:
    """Leave in objects outside of a traced function the arguments that its caller has given.

    They are `given` by the ids of the tensors that stand for them; `constants` are the others.

    Raises
    ------
    UnsupportedError
        If the function would leave any other traced value there, or changes one of the others,
        which each call would do.
    """
    owners = _within_objects(constants)
    for change in outer_changes(trace, result):
        is_given = id(change.slot.owner) in owners and not isinstance(change.after, Variable)
        if is_given and not holds_computed(change.after, given):
            raise UnsupportedError(
                f"{function_name(func)} changes {change.slot.name}{at(change.line)}, of an object "
                "among its arguments: what is no data is changed when the function is traced, not "
                "by each call. Return it, or keep it in a lw.Variable"
            )
        if not holds_traced(change.after):
            continue
        leaves, structure = tree.flatten(change.after)
        value = tree.unflatten(structure, [given.get(id(leaf), leaf) for leaf in leaves])
        if holds_traced(value):
            raise UnsupportedError(
                f"{function_name(func)} keeps a traced value in {_named(change.slot, func)}"
                f"{at(change.line)}, which is outside of it: the value has no numbers there. "
                "Return it, or keep it in a lw.Variable"
            )
        change.slot.set(value)


def holds_computed(value: Any, given: dict[int, Any]) -> bool:
    """Whether a value holds traced ones that are no arguments, as `given` has them."""
    leaves = tree.flatten(value)[0]
    return holds_traced([leaf for leaf in leaves if id(leaf) not in given])


def _within_objects(objects: Sequence[Any]) -> set[int]:
    """Return the ids of objects, and of the containers and objects that these hold."""
    found: dict[int, Any] = {}
    waiting = [x for x in objects if x is not None]
    while waiting and len(found) < MOST_OBJECTS:
        x = waiting.pop()
        if id(x) in found or isinstance(x, (type, ModuleType, FunctionType, Variable)):
            continue
        found[id(x)] = x
        if isinstance(x, (np.ndarray, np.generic)):
            continue
        if isinstance(x, (list, tuple, set, deque)):
            waiting += x
        elif isinstance(x, dict):
            waiting += x.values()
        else:
            waiting += getattr(x, "__dict__", {}).values()
            waiting += [getattr(x, name, None) for name in getattr(type(x), "__slots__", ())]
    return set(found)


def is_stateful(error: BaseException, trace: Watched) -> bool:
    """Whether a trace failed because examples depend on one another, or may have."""
    return isinstance(error, Stateful) or (trace.is_touched and isinstance(error, UnsupportedError))


def refuse_iterator(func: Any, error: BaseException) -> None:
    """Raise what a map says to a function that takes items of an iterator outside of it."""
    if isinstance(error, Stateful):
        refuse(f"vmap({function_name(func)})", error.name, error.line, error.line)


def refuse(done: str, name: str, written: Any, read_at: Any) -> NoReturn:
    """Raise for a place that an example changes and another reads."""
    why = "and it is not known what the loop would leave there"
    if read_at is not None:
        why = f"and read{at(read_at)}, so that an example would depend on the one before it"
    raise UnsupportedError(f"{done}: {name} is changed{at(written)}, {why}. {_INSTEAD}")


def _named(slot: Slot, func: Any) -> str:
    """Return what to call a place, by the function's own names as far as it has any."""
    code = getattr(getattr(func, "__func__", func), "__code__", None)
    closure = getattr(getattr(func, "__func__", func), "__closure__", None) or ()
    names = getattr(func, "__globals__", {})
    for variable, cell in zip(code.co_freevars if code else (), closure, strict=False):
        if isinstance(slot, CellSlot) and cell is slot.owner:
            return f"the variable {variable!r}"
        if not isinstance(slot, CellSlot) and _contents(cell) is slot.owner:
            return _within(slot, variable)
    if isinstance(slot, ItemSlot) and isinstance(slot.owner, dict) and "__builtins__" in slot.owner:
        return f"the global variable {slot.item!r}"
    for variable in code.co_names if code else ():
        if names.get(variable) is slot.owner:
            return _within(slot, variable)
    return slot.name


def _within(slot: Slot, variable: str) -> str:
    if isinstance(slot, (ContainerSlot, ArraySlot)):
        return f"{variable!r}, {slot.name}"
    return f"{slot.name} of {variable!r}"


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return Missing


# --- what the loop leaves -------------------------------------------------------------------------


class Left(NamedTuple):
    """What the loop leaves outside, by what the examples give.

    Attributes
    ----------
    outputs
        Values of one example that are needed for that.
    build
        Given the batches of these, and the number of examples, what to set each place to.
    """

    outputs: list[Value]
    build: Callable[[Sequence[Any], int], list[tuple[Slot, Any]]]


#: Traces the function again: returns the trace, what was returned, the graph and its captures.
Again = Callable[[], tuple[Watched, Any, Graph, list[Any]]]


def left_by(
    done: str, func: Any, trace: Watched, changes: Sequence[Change], first: tuple[Graph, list[Any]],
    again: Again, size: Any,
) -> Left:  # fmt: skip
    """Return what the loop leaves of some changes; raise if one example depends on another.

    Whatever happens, the places hold what they held before.
    """
    try:
        second = _same_again(done, func, trace, changes, first, again)
        pairs = _paired(done, func, trace, changes, second)
        second.forget()
        plan = _Plan(trace)
        rows = [(c.slot, plan.of(c.before, c.after, later, c, done, func)) for c, later in pairs]
        if (plan.grows or plan.counts) and type(size) is not int:
            refuse(done, _named(changes[0].slot, func), changes[0].line, None)
        if plan.counts:
            _check_counts(done, func, trace, changes, rows, plan, first, again)
        if plan.grows:
            for count in {*range(2, min(size, MAX_STATES)), size - 1} - {0, 1}:
                for slot, row in rows:
                    slot.set(row([], count))
                _same_again(done, func, trace, changes, first, again)
    finally:
        for change in changes:
            change.slot.set(change.before)

    def build(batches: Sequence[Any], count: int) -> list[tuple[Slot, Any]]:
        return [(slot, row(batches, count)) for slot, row in rows]

    return Left(plan.outputs, build)


def _same_again(
    done: str, func: Any, trace: Watched, changes: Sequence[Change],
    first: tuple[Graph, list[Any]], again: Again,
) -> Watched:  # fmt: skip
    """Trace once more, from the state of now; raise unless that records the same."""
    later, _, graph, captures = again()
    graph_before, captures_before = first
    taken = [value for source, value in later.captures if _is_of(source, trace)]
    is_same_graph = graph.key == graph_before.key and len(captures) == len(captures_before)
    if (
        taken
        or not is_same_graph
        or any([not _is_same_source(x, y) for x, y in zip(captures, captures_before, strict=True)])
    ):
        reading = [op.place for op in graph.operations if not set(taken).isdisjoint(op.operands)]
        if not taken:
            pairs = zip(graph.operations, graph_before.operations, strict=False)
            reading = [op.place for op, other in pairs if op.signature is not other.signature]
        change = changes[0]
        refuse(done, _named(change.slot, func), change.line, next(iter(reading), change.line))
    return later


def _check_counts(
    done: str, func: Any, trace: Watched, changes: Sequence[Change],
    rows: Sequence[tuple[Slot, Callable[[Sequence[Any], int], Any]]], plan: _Plan,
    first: tuple[Graph, list[Any]], again: Again,
) -> None:  # fmt: skip
    """Raise unless all that is done with numbers that each example adds to is to add to them."""
    plan.uses = []
    for slot, row in rows:
        slot.set(row([], 2))
    try:
        _same_again(done, func, trace, changes, first, again)
    except UnsupportedError:
        raise
    except Exception:  # whatever fails with it uses it
        plan.uses.append(changes[0].line)
    finally:
        uses, plan.uses = plan.uses, None
    if uses:
        refuse(done, _named(changes[0].slot, func), changes[0].line, uses[0])


def _is_same_source(x: Any, y: Any) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return all([part is other for part, other in zip(x, y, strict=True)])
    return x is y or (isinstance(x, np.ndarray) and x.dtype == y.dtype and _is_equal(x, y))


def _is_of(source: Any, trace: Watched) -> bool:
    return isinstance(source, tuple) and source[0] is trace


def _paired(
    done: str, func: Any, trace: Watched, changes: Sequence[Change], second: Watched
) -> list[tuple[Change, Any]]:
    """Return each change with what the second example made of the place."""
    known = {change.slot.key for change in changes}
    for key, (slot, before) in second.changes.items():
        if key not in known and id(slot.owner) not in trace.born:
            slots = _held_elsewhere([slot], [before], second)
            if slots and not _is_equal(before, slot.get()):
                name, line = _named(slot, func), second.lines[key]
                slot.set(before)
                refuse(done, name, line, None)
    return [(change, change.slot.get()) for change in changes]


class _Used(Exception):  # noqa: N818 - no error: the user's code never sees it raised
    """Ends a trace that does more with a counter than to add to it."""


class _Number:
    """Stands for a counter, of which is found out whether anything but adding is done with it."""

    def __init__(self, value: int, uses: list[Any]) -> None:
        self.value = value
        self.uses = uses

    def __add__(self, other: Any) -> Any:
        if not _is_count(other):
            self._use()
        return _Number(self.value + other, self.uses)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if _is_count(other) else self._use()

    def _use(self, *_: Any) -> Any:
        self.uses.append(here())
        raise _Used

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _use
    __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _use
    __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __neg__ = __abs__ = __divmod__ = _use
    __and__ = __or__ = __xor__ = __index__ = __int__ = __float__ = __round__ = _use
    __str__ = __repr__ = __format__ = __len__ = __iter__ = __array__ = _use

    def __getattr__(self, name: str) -> Any:
        self._use()


def _is_count(x: Any) -> bool:
    return type(x) is int


class _Plan:
    """Finds out what each place will hold, of what it holds after one and after two examples."""

    def __init__(self, trace: Watched) -> None:
        self.outputs: list[Value] = []
        self.grows = False
        self.counts = False
        #: While it is found out whether counters are used: where they are.
        self.uses: list[Any] | None = None
        self._trace = trace

    def of(
        self, before: Any, first: Any, second: Any, change: Change, done: str, func: Any
    ) -> Callable[[Sequence[Any], int], Any]:
        """Return what makes the value of the place after some number of examples."""
        row = None
        if isinstance(change.slot, ContainerSlot):
            row = self._container(before, first, second)
            if self.grows and id(change.slot.owner) in self._trace.lengths:
                refuse(done, _named(change.slot, func), change.line, change.line)
        elif not isinstance(change.slot, ArraySlot):
            row = self._value(first, second, before)
        elif _is_equal(first, second):
            row = lambda batches, count: first  # noqa: E731
        if row is None:
            refuse(done, _named(change.slot, func), change.line, None)
        return row

    def _value(
        self, first: Any, second: Any, before: Any = None
    ) -> Callable[[Sequence[Any], int], Any] | None:
        """Return what makes what is assigned by each example anew: the last one's stays."""
        leaves, structure = tree.flatten(first)
        others, other = tree.flatten(second)
        if structure != other:
            return None
        if all(map(_is_count, (before, first, second))) and second - first == first - before != 0:
            return self._count(before, first)
        rows = [self._leaf(x, y) for x, y in zip(leaves, others, strict=True)]
        if any([row is None for row in rows]):
            return None

        def row(batches: Sequence[Any], count: int) -> Any:
            return tree.unflatten(structure, [row(batches, count - 1) for row in rows if row])

        return row

    def _count(self, before: int, first: int) -> Callable[[Sequence[Any], int], Any]:
        """Return what gives a number that each example adds to."""
        self.counts = True

        def row(batches: Sequence[Any], count: int) -> Any:
            value = before + count * (first - before)
            return value if self.uses is None else _Number(value, self.uses)

        return row

    def _leaf(self, x: Any, y: Any) -> Callable[[Sequence[Any], int], Any] | None:
        """Return what gives a leaf that the example of a number has left."""
        if type(x) is Tensor and type(y) is Tensor:
            if x._type != y._type or x._weak is not y._weak or classes_of(x) != classes_of(y):
                return None
            if (presence(x) is None) is not (presence(y) is None):
                return None
            return self._tensor(x, x is y)
        if type(x) is type(y) is np.ndarray and x.dtype == y.dtype and _is_equal(x, y):
            return lambda batches, number: x if x is y else x.copy()
        same = x is y or (not isinstance(x, Tensor) and is_same(x, y))
        return (lambda batches, number: x) if same else None

    def _tensor(self, x: Tensor, is_first: bool) -> Callable[[Sequence[Any], int], Any]:
        """Return what gives what a tensor stands for in the example of a number."""
        position, classes, flag = len(self.outputs), classes_of(x), presence(x)
        assert classes is not None
        self.outputs.append(read(x) if flag is None else present(x))
        if is_mixed(x):
            self.outputs.append(own_code(x))
        if flag is not None:
            self.outputs.append(read(flag))
        last = len(self.outputs) - 1

        def taken(batches: Sequence[Any], number: int) -> Any:
            if not batches:
                return x  # while it is traced
            number = 0 if is_first else number
            found = batches[position][number]
            is_there: Any = True if flag is None else batches[last][number]
            if not isinstance(is_there, Tensor) and not is_there:
                return None
            code: Any = batches[position + 1][number] if len(classes) > 1 else 0
            if isinstance(found, Tensor):
                tensor = Tensor(found._trace, read(found), None, x._weak)
                tensor = note_mixed(tensor, classes, code) if len(classes) > 1 else tensor
                return tensor if flag is None else optional(tensor, is_there)
            return classes[code].make(found) if not found.shape else found.copy()

        return taken

    def _container(
        self, before: Any, first: Any, second: Any
    ) -> Callable[[Sequence[Any], int], Any] | None:
        """Return what makes the contents of a list or dict."""
        if _is_equal(first, second):
            return lambda batches, count: first
        if isinstance(first, dict):
            if list(first) != list(second):
                return None
            none = 0 if isinstance(first, (Counter, defaultdict)) else None
            rows = {
                key: self._value(x, second[key], before.get(key, none)) for key, x in first.items()
            }
            if None in rows.values():
                return None
            return lambda b, count: {key: row(b, count) for key, row in rows.items() if row}
        if not isinstance(first, list):
            return None
        if len(first) == len(second):
            old = before if len(before) == len(first) else first
            entries = [self._value(*parts) for parts in zip(first, second, old, strict=True)]
            if None in entries:
                return None
            return lambda batches, count: [row(batches, count) for row in entries if row]
        size, grown = len(before), len(first) - len(before)
        is_kept = all([x is y for x, y in zip(before + first[size:], second, strict=False)])
        if grown <= 0 or len(second) != len(first) + grown or first[:size] != before or not is_kept:
            return None
        self.grows = True
        more = [self._value(x, y) for x, y in zip(first[size:], second[len(first) :], strict=True)]
        if None in more:
            return None
        return lambda batches, count: [
            *before, *[row(batches, n + 1) for n in range(count) for row in more if row]
        ]  # fmt: skip


def _is_equal(x: Any, y: Any) -> bool:
    """Whether two values hold the same objects, or equal numbers."""
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return list(x) == list(y) and all([_is_equal(x[key], y[key]) for key in x])
    if isinstance(x, (list, tuple)) or type(x).__name__ == "deque":
        return len(x) == len(y) and all(map(_is_equal, x, y))
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return x is y
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape == y.shape and x.tobytes() == y.tobytes()
    return is_same(x, y) or (isinstance(x, (set, bytearray)) and x == y)


def settle(changes: Sequence[tuple[Slot, Any]]) -> None:
    """Make places hold what the loop leaves there."""
    for slot, value in changes:
        set_slot(slot, value)
