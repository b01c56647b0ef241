"""Arrays that may share memory with others, as the data decide: what guards them.

``row = a[0] if c else a[1]`` is a view of one place or of another. Where the places and the
conditions are known, as after branches (`lanewise.autograph.exports`), a write is followed: it goes
to each place, where its condition holds, and what is written there shows in the array. After loops
they are not known: reading is right as long as nobody writes; writing to such an array, or to what
it may show, is refused by name rather than lost.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.state import Absent, Maybe, bare, kind_of, not_asking, present
from lanewise.errors import ControlFlowError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.elementwise import where
from lanewise.ops.movement import broadcast_to, cast
from lanewise.trace import tree
from lanewise.trace.limits import ROOTS
from lanewise.trace.regions import Region, resumed, set_guard
from lanewise.trace.scratch import Scratch, settled
from lanewise.trace.slots import (
    AttributeSlot,
    ContainerSlot,
    ItemSlot,
    Slot,
    StateSlot,
    TensorSlot,
)
from lanewise.trace.tensor import Tensor, as_tensor, emit, read
from lanewise.trace.trace import require_trace, state
from lanewise.trace.views import assign, innermost, root_of

#: What a container holds: a list, a dict, an object of a dataclass.
_CONTENTS = (ContainerSlot, ItemSlot, AttributeSlot)
#: In how many places an array may be for a write to be followed, which is written to all of them.
MOST_PLACES = 12


class Place:
    """What an array is (a view of) where a flag says so; `seen` is what the root of that held."""

    __slots__ = ("_flag", "_home", "_make_flag", "root", "seen", "view")

    def __init__(self, make_flag: Callable[[], Tensor], view: Tensor) -> None:
        self._make_flag, self._home = make_flag, require_trace("a view")
        self._flag: Tensor | None = None
        self.view = view
        self.root = root_of(view)
        self.seen = self.root._value

    @property
    def has_flag(self) -> bool:
        """Whether the flag was asked for before."""
        return self._flag is not None

    @property
    def flag(self) -> Tensor:
        if self._flag is None:
            with resumed(self._home):  # who asks next may be in another region
                self._flag = self._make_flag()
        return self._flag

    def has_changed(self) -> bool:
        """Whether its root holds something else since."""
        if self.root._guard is not None:
            with not_asking(self.root):
                self.root._guard.reading(self.root)
        return self.root._value is not self.seen

    def read(self) -> Tensor:
        """Return what stands there, as an array of its own."""
        with not_asking(self.root):
            return Tensor(require_trace("a view"), read(self.view))

    def write(self, array: Tensor) -> None:
        """Write an array there, where the flag is set."""
        with not_asking(self.root):
            assign(self.view, read(self.choose(array, self.view)))

    def choose(self, yes: Tensor, no: Tensor) -> Tensor:
        """Return one array where the flag is set, another of the same shape elsewhere."""
        if yes.dtype != no.dtype:
            yes = emit(cast, yes, dtype=no.dtype)
        flag = emit(broadcast_to, self.flag, shape=no.shape) if no.shape else self.flag
        return emit(where, flag, yes, no)


class Shared:
    """Guards an array that was joined of several, which others may share memory with.

    Attributes
    ----------
    places : tuple of Place
        What it may be a view of, where that is known. It is one of them at most.
    own : Tensor or None
        Where there are places: what it is, if it is none of them. The array is then no more than a
        copy of what stands in these, made anew when they have changed.
    hidden : list of (Tensor, value, guard)
        What it may be a view of as well, nobody knows where and for whom, and what that held when
        it was joined.
    must_not : str
        Why it cannot be written to; empty where it can.
    apart : dict of id to Tensor
        Arrays that it does not share memory with, though both may be views of one array.
    """

    __slots__ = (
        "_seen", "apart", "hidden", "hidden_roots", "home", "must_not", "name", "own", "places",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        hidden: Iterable[Tensor] = (),
        places: tuple[Place, ...] = (),
        own: Tensor | None = None,
        must_not: str = "",
    ) -> None:
        self.name = name
        roots = all_roots(hidden)
        self.hidden = [(root, root._value, root._guard) for root in roots]
        self.hidden_roots = dict(zip(map(id, roots), roots, strict=True))
        self.places = places
        self.own = own
        self.must_not = must_not or repeating(roots)
        self.apart: dict[int, Tensor] = {}
        self.home = state.trace
        self._seen = None if own is None else own._value

    @property
    def is_copy(self) -> bool:
        """Whether the array is no more than a copy of what stands in its places."""
        return bool(self.places)

    def known(self) -> list[Tensor]:
        """Return what the array is a view of for whom a flag says so."""
        own = [] if self.own is None else [self.own]
        return [*[place.root for place in self.places], *own]

    def roots(self) -> list[Tensor]:
        """Return all that the array may be a view of."""
        return [*self.known(), *[root for root, *_ in self.hidden]]

    def reading(self, tensor: Tensor) -> None:
        """Have the array show what its places hold; raise if what is hidden has changed."""
        for root, seen, guard in self.hidden:
            now = root._guard
            if type(now) is Stale and now is not guard and id(now.writer) not in self.apart:
                now.reading(root)
            if root._value is not seen:
                raise ControlFlowError(
                    f"{self.name} may be (a view of) an array that was written to since"
                    f"{at(here())}: which one depends on the data. Assign a copy, with .copy()"
                )
        if not self.places:
            return
        changes = [place.has_changed() for place in self.places]
        if any(changes) or (self.own is not None and self.own._value is not self._seen):
            self._read_again(tensor)

    def _read_again(self, tensor: Tensor) -> None:
        own, places = self.own, self.places
        with resumed(innermost(self.home, *[root._trace for root in self.roots()])) as trace:
            value = places[0].read() if own is None else own
            if value.dtype != tensor.dtype:
                value = emit(cast, value, dtype=tensor.dtype)
            for place in places if own is not None else places[1:]:
                value = place.choose(place.read(), value)
            tensor._value, tensor._trace = read(value), trace
        self._saw()

    def _saw(self) -> None:
        self._seen = None if self.own is None else self.own._value
        for place in self.places:
            place.seen = place.root._value

    def writing(self, tensor: Tensor) -> None:
        """Give up what is hidden; raise where the array cannot be written to."""
        must_not = self.must_not or repeating([root for root, *_ in self.hidden])
        if must_not:
            refuse_write(self.name, must_not)
        self.reading(tensor)
        if self.hidden:
            for root, _, _ in self.hidden:
                make_stale(root, self.name, tensor)
            rest = Shared(self.name, (), self.places, self.own) if self.places else None
            set_guard(tensor, rest)

    def written(self, tensor: Tensor) -> None:
        """Write what the array holds now to its places."""
        if not self.places:
            return
        now = bare(tensor)
        for place in self.places:
            place.write(now)
        if self.own is not None:
            assign(self.own, read(now))
        self._saw()


def one_of(found: Tensor, items: Sequence[Any], index: Any, name: str) -> Tensor:
    """Return an array that is one of several, at an index that is data."""
    arrays = [item for item in items if type(item) is Tensor]
    if len(arrays) < len(items) or len(arrays) > MOST_PLACES:
        guard = Shared(name, arrays, must_not=MAY_BE_ANOTHER)
    else:
        at = index if index.dtype.kind == "b" else (index + len(items)) % len(items)
        flags = [lambda i=i: as_tensor(np.equal(at, i)) for i in range(len(arrays))]
        guard = Shared(name, (), tuple(map(Place, flags, arrays)))
    result = Tensor(require_trace(name), read(found))
    watch(result, guard)
    return result


def locations(array: Tensor) -> list[tuple[Place | None, Tensor]]:
    """Return what an array is a view of: arrays that are no copies of others, and where they are.

    The place None stands for what it is where it is none of the other places.
    """
    root = root_of(array)
    guard = sharing(root)
    if guard is None or not guard.places:
        return [(None, array)]
    own = [] if guard.own is None else [(None, rebased(array, guard.own))]
    return own + [(place, rebased(array, place.view)) for place in guard.places]


def rebased(array: Tensor, root: Tensor) -> Tensor:
    """Return the view that an array is of its root, of another array of the same shape."""
    chain = []
    while array._view is not None:
        chain.append(array)
        array = array._view.base
    for each in reversed(chain):
        root = Tensor(each._trace, each._value, each._view.moved(root, each._view.indices))
    return root


class Stale:
    """Guards an array that was written to under another name, for some examples or turns only."""

    __slots__ = ("name", "writer")
    is_copy = False

    def __init__(self, name: str, writer: Tensor | None = None) -> None:
        self.name = name
        self.writer = writer

    def reading(self, tensor: Tensor) -> NoReturn:
        """Raise: nobody knows what the array holds."""
        raise ControlFlowError(
            f"an array that {self.name} was once is used{at(here())} after it was written to "
            "under that name, for some examples or turns of a loop only. Assign a copy there, with "
            ".copy()"
        )

    def writing(self, tensor: Tensor) -> NoReturn:
        """Raise, as for reading."""
        self.reading(tensor)

    def written(self, tensor: Tensor) -> None:
        """Nothing: it is never written to."""


def watch(tensor: Tensor, guard: Shared) -> None:
    """Guard a tensor made just now, which may be None for some examples already."""
    if isinstance(tensor._guard, Absent):
        tensor._guard.beneath = guard
    else:
        tensor._guard = guard


def sharing(tensor: Tensor) -> Shared | None:
    """Return what guards an array that may share memory with others."""
    guard = tensor._guard.beneath if isinstance(tensor._guard, Absent) else tensor._guard
    return guard if isinstance(guard, Shared) else None


def all_roots(arrays: Iterable[Tensor]) -> list[Tensor]:
    """Return all that arrays may be views of, without what is only a copy of that."""
    found: dict[int, Tensor] = {}
    rest = [root_of(array) for array in arrays]
    while rest:
        root = rest.pop()
        if id(root) in found:
            continue
        found[id(root)] = root
        guard = sharing(root)
        if guard is not None:
            rest += [root for root in guard.known() if id(root) not in found]
            found.update(guard.hidden_roots)  # all that those may be views of is among them
    state.room_to_record -= len(found) // ROOTS
    copies = {
        key
        for key, root in found.items()
        if (guard := root._guard) is not None
        and (type(guard) is not Shared or guard.places)
        and guard.is_copy
    }
    return [root for key, root in found.items() if key not in copies]


def may_overlap(first: Tensor, second: Tensor) -> bool:
    """Whether two arrays may share memory."""
    rest, seen = [(root_of(first), root_of(second))], set[frozenset[int]]()
    while rest:
        pair = one, other = rest.pop()
        if one is other:
            return True
        if (key := frozenset(map(id, pair))) in seen:  # it is reached in many ways
            continue
        seen.add(key)
        for this, that in (pair, pair[::-1]):
            guard = sharing(this)
            if guard is not None and id(that) in guard.apart:
                break
            rest += [(root_of(root), that) for root in (() if guard is None else guard.roots())]
    return False


def repeating(arrays: Iterable[Tensor]) -> str:
    """Return `REPEATS` if parts of one of the arrays may be one array; else nothing."""
    guards = [sharing(root) for root in all_roots(arrays)]
    return REPEATS if any(each is not None and each.must_not is REPEATS for each in guards) else ""


def refuse_write(name: str, must_not: str) -> NoReturn:
    """Raise for an array that must not be written to."""
    raise ControlFlowError(
        f"{name} is written to{at(here())}, and {must_not}: "
        "which one depends on the data. Assign a copy, with .copy()"
    )


def freeze(arrays: Iterable[Tensor], name: str) -> None:
    """See to it that nothing writes to arrays any more, of which somebody keeps what they hold."""
    for root in all_roots(arrays):
        if _is_written_in_a_turn(root):
            refuse_write(name, REPEATS)
        guard = sharing(root)
        if guard is not None and (guard.places or isinstance(root._guard, Absent)):
            refuse_write(name, MAY_BE_ANOTHER)
        if guard is not None:
            guard.reading(root)
        if not _is_frozen(guard):
            hidden = () if guard is None else guard.hidden_roots.values()
            set_guard(root, Shared(name, hidden, must_not=REPEATS))


def _is_frozen(guard: Any) -> bool:
    return isinstance(guard, Shared) and guard.must_not is REPEATS


def _is_written_in_a_turn(root: Tensor) -> bool:
    """Whether a turn of a loop writes to an array that is there in all turns."""
    key, region = TensorSlot(root).key, state.trace
    while isinstance(region, Region):
        if key in region.changes:
            home, inner = region.changes[key][1]._trace, region
            while isinstance(inner, Region) and inner is not home:
                if inner.is_turn:
                    return True
                inner = inner.parent
        region = region.parent
    return False


def make_stale(root: Tensor, name: str, writer: Tensor | None = None) -> None:
    """Let every further use of an array raise, since nobody knows what it holds."""
    set_guard(root, Stale(name, writer))


def set_apart(groups: Sequence[Sequence[Tensor]], together: Container[frozenset[int]]) -> None:
    """Tell arrays that do not share memory so; `together` are the groups that may, by position."""
    for i, group in enumerate(groups):
        for j, others in enumerate(groups):
            if i == j or frozenset((i, j)) in together:
                continue
            for array in group:
                guard = sharing(array)
                if guard is not None:
                    guard.apart.update({id(other): other for other in others})


def pairs_together(groups: Sequence[Sequence[Tensor]]) -> set[frozenset[int]]:
    """Return which groups of arrays may share memory with which, by their positions."""
    return {
        frozenset((i, j))
        for j in range(len(groups))
        for i in range(j)
        if any(may_overlap(x, y) for x in groups[i] for y in groups[j])
    }


def join_guards(regions: Iterable[Region]) -> None:
    """Guard tensors after branches or turns as one of these left them guarded."""
    for region in regions:
        for tensor, _, guard in region.guards.values():
            is_kept = _is_frozen(tensor._guard) and not isinstance(guard, Stale)
            if not is_kept and not isinstance(tensor._guard, Stale):
                set_guard(tensor, guard)


def settle(value: Any) -> Any:
    """Return what a variable holds, arrays made in the function as tensors.

    For a variable that becomes one of several: what shares memory with it must be known.
    """
    if isinstance(value, Scratch):
        return settled(value)
    if isinstance(value, Maybe):
        return Maybe(value.name, settle(value.value), value.flag)
    if kind_of(value) is None:
        leaves, structure = tree.flatten(value)
        if any(leaf is not value and isinstance(leaf, Scratch) for leaf in leaves):
            return tree.unflatten(structure, [settle(leaf) for leaf in leaves])
    return value


def arrays_in(value: Any) -> list[Tensor]:
    """Return the tensors with dimensions in what a variable holds."""
    if type(value) is Tensor:
        return [value] if value.shape else []
    if isinstance(value, Maybe):
        return arrays_in(value.value)
    if kind_of(value) is not None:
        return []
    leaves = tree.flatten(value)[0]
    if len(leaves) == 1 and leaves[0] is value:
        return []
    return [x for leaf in leaves for x in arrays_in(leaf)]


def held_by(arrays: Iterable[Tensor]) -> list[tuple[Tensor, Value]]:
    """Return arrays that the open region leaves, each with what it holds now."""
    return [(array, present(array)) for array in arrays]


def is_place(slot: Slot) -> bool:
    """Whether a slot is a place that holds objects, such as an entry of a list."""
    return not isinstance(slot, (TensorSlot, StateSlot))


def left_by(region: Region) -> dict[Any, tuple[Slot, Any]]:
    """Return what the open region has changed, and what is there now, settled."""
    found = {key: (slot, slot.get()) for key, (slot, _) in region.changes.items()}
    region.left = {
        key: (slot, settle(value) if is_place(slot) else value)
        for key, (slot, value) in found.items()
    }
    return region.left


@contextmanager
def changed_again(slots: Sequence[tuple[Slot, Any]]) -> Generator[None]:
    """Have places hold what a region left there, in a ``with`` block."""
    before = [(slot, slot.get()) for slot, _ in slots]
    for slot, now in slots:
        slot.set(now)
    try:
        yield
    finally:
        for slot, old in reversed(before):
            slot.set(old)


def as_left(
    value: Any,
    region: Region,
    left: Mapping[Any, tuple[Slot, Any]],
    sealed: Container[int],
    origins: dict[int, tuple[Any, Any]],
) -> Any:
    """Return what a variable holds at the end of a region that was left.

    The region's changes are undone by then. Containers that hold what it changed are others, but
    for those whose ids are `sealed`; in whose place each is, `origins` says by its id.
    """
    slots = [(slot, now) for slot, now in left.values() if isinstance(slot, _CONTENTS)]
    owners = {id(slot.owner) for slot, _ in slots}
    if not slots or owners.isdisjoint(map(id, tree.containers(value))):
        return value
    with changed_again(slots):
        leaves, structure = tree.flatten(
            value, lambda x: id(x) in sealed or owners.isdisjoint(map(id, tree.containers(x)))
        )
        same = set(map(id, leaves))
        given = tree.containers(value, same)
    found = tree.unflatten(structure, leaves)
    for container, origin in zip(tree.containers(found, same), given, strict=True):
        region.bear(container)
        origins[id(container)] = container, origin
    return found


#: What is said of an array that several variables may be.
MAY_BE_ANOTHER = "may be (a view of) another array"
#: What is said of a list whose elements are arrays of which it may hold one twice.
REPEATS = "some of its elements may be one array"


def mark_aliases(
    names: Sequence[str],
    region: Region,
    ends: Sequence[Sequence[Any] | None],
    joined: Sequence[Any],
    origins: Mapping[int, Sequence[Tensor]],
    together: Container[frozenset[int]],
) -> None:
    """Mark variables after a loop that may share memory with each other, or with what is outside.

    Parameters
    ----------
    names, joined
        The variables, and what they hold after having been joined.
    region, ends
        The body, and what the variables held before it and at its end (None: it never ended).
    origins
        By the id of a tensor that the body was given, what it stood for outside.
    together
        Which variables may share memory, by their positions.
    """
    users: dict[int, set[int]] = {}
    roots: list[dict[int, Tensor]] = []
    for position in range(len(joined)):
        own: dict[int, Tensor] = {}
        for end in ends:
            for root in all_roots(arrays_in(end[position])) if end is not None else ():
                for each in (root, *origins.get(id(root), ())):
                    own[id(each)] = each
                    users.setdefault(id(each), set()).add(position)
        roots.append(own)
    groups: list[list[Tensor]] = []
    for position, (name, value) in enumerate(zip(names, joined, strict=True)):
        before = [array for end in ends if end is not None for array in arrays_in(end[position])]
        # One that was packed shows a part of what the loop gave.
        fresh = [root_of(t) for t in arrays_in(value) if not any(t is old for old in before)]
        outer = [r for r in roots[position].values() if r._trace is not region]
        inner = [key for key, root in roots[position].items() if root._trace is region]
        is_shared = any(len(users[key]) > 1 for key in inner)
        must_not = repeating(before) or (MAY_BE_ANOTHER if is_shared else "")
        if outer or must_not:
            for tensor in fresh:
                watch(tensor, Shared(name, outer, must_not=must_not))
        groups.append(fresh)
    set_apart(groups, together)
