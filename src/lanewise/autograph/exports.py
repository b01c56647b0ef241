"""What arrays may share memory with after branches: the places of joined arrays, and conditions.

What a branch leaves in a variable may be a view of an array around the branches, or of one that was
made in it and that another variable shows too. Such an array, the integers that say where in it the
view lies, and the conditions under which it is one of several become results of the branches as
well. So the views can be made again behind them, each a place of the joined array: see `Shared`.
Nothing is computed of that unless somebody writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from lanewise.autograph.aliases import (
    MAY_BE_ANOTHER,
    MOST_PLACES,
    Place,
    Shared,
    all_roots,
    locations,
    sharing,
    watch,
)
from lanewise.autograph.merge import Joined, Merge
from lanewise.autograph.state import DONT_CARE, bare, present
from lanewise.ir.graph import Value
from lanewise.ops.control import cond
from lanewise.ops.elementwise import elementwise
from lanewise.ops.slicing import take_slice
from lanewise.trace.packed import is_inner
from lanewise.trace.regions import Region, resumed
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import Tensor, emit
from lanewise.trace.trace import require_trace
from lanewise.trace.views import root_of

Build = Callable[[Sequence[Tensor]], Any]


class Cell(NamedTuple):
    """An array that was made in a branch: what it held at the end of that, and what guarded it."""

    now: Tensor
    guard: Shared | None


class Left(NamedTuple):
    """What a branch has left: of each array its `locations`, and what of these was made there."""

    locations: dict[int, list[tuple[Place | None, Tensor]]]
    cells: dict[int, Cell]


def left_in(region: Region, arrays: Iterable[Tensor]) -> Left:
    """Return what the open region leaves in arrays, by their ids."""
    left = Left({}, {})
    for array in arrays:
        found = left.locations[id(array)] = locations(array)
        for place, _ in found:
            if place is not None:
                _ = place.flag  # which is recorded when it is asked for: in the region
        for root in all_roots([view for _, view in found]):
            if root._trace is region and ("tensor", id(root)) not in region.changes:
                left.cells[id(root)] = Cell(Tensor(region, present(root)), sharing(root))
    return left


class Exports:
    """Finds the places of the arrays that a merge joins, and makes results of what they need.

    Parameters
    ----------
    left
        Of each branch what `left_in` gave.
    origins
        By the id of a tensor, what it was a view of before it was copied.
    flags
        For each branch what returns the truth value that says whether it was taken.
    """

    def __init__(
        self,
        merge: Merge,
        left: Sequence[Left],
        origins: Mapping[int, Tensor],
        flags: Sequence[Callable[[], Tensor]],
    ) -> None:
        self._merge = merge
        self._left = left
        self._origins = origins
        self._flags = flags
        self._roots: dict[tuple[int, int], Build] = {}
        users = [
            {id(root) for root in all_roots(view for _, view in self._locations(branch, leaf))}
            for joined in merge.joined
            for branch, leaf in enumerate(joined.leaves)
            if type(leaf) is Tensor
        ]
        counts = Counter([key for keys in users for key in keys])
        self._shared = {key for key, count in counts.items() if count > 1}
        self._joins = [self._join(joined) for joined in list(merge.joined)]

    def finish(self, results: Sequence[Tensor]) -> None:
        """Guard the joined arrays, the operation having been recorded."""
        for finish in self._joins:
            finish(results)

    def _locations(self, branch: int, array: Tensor) -> list[tuple[Place | None, Tensor]]:
        return self._left[branch].locations.get(id(array)) or locations(array)

    def _join(self, joined: Joined) -> Callable[[Sequence[Tensor]], None]:
        """Return what guards one joined array."""
        places: list[tuple[Build, Build]] = []
        hidden: list[Build] = []
        must_not, is_own = "", False
        for branch, leaf in enumerate(joined.leaves):
            if type(leaf) is not Tensor:
                is_own = True
                continue
            if leaf.dtype != joined.kind.dtype:
                must_not = MAY_BE_ANOTHER
            if id(leaf) in self._origins:
                hidden += [self._root(branch, r) for r in all_roots([self._origins[id(leaf)]])]
                is_own = True
                continue
            for place, view in self._locations(branch, leaf):
                key = id(root_of(view))
                cell = self._left[branch].cells.get(key)
                if cell is not None and cell.guard is None and key not in self._shared:
                    is_own = True
                elif _can_move(view, self._merge.regions[branch]):
                    places.append((self._flag(branch, place), self._view(branch, view)))
                else:
                    hidden += [self._root(branch, each) for each in all_roots([view])]
                    is_own = True

        def finish(results: Sequence[Tensor]) -> None:
            tensor = joined.tensor
            if tensor is None or not (places or hidden):
                return
            found = _unique([(flag(results), view(results)) for flag, view in places])
            own = bare(tensor) if found and is_own else None
            roots = [root(results) for root in hidden]
            if len(found) > MOST_PLACES:
                roots += [place.root for place in found]
                found, own = (), None
            watch(tensor, Shared(joined.name, roots, found, own, must_not))

        return finish

    def _flag(self, branch: int, place: Place | None) -> Callable[[Sequence[Tensor]], Any]:
        """Return what builds what returns the condition under which an array is at a place."""
        taken = self._flags[branch]
        if place is None:
            return lambda results: taken
        if place.has_flag and place.flag._trace is self._merge.regions[branch]:
            condition = self._one_sided("a condition", branch, place.flag, False)
            return lambda results: partial(condition, results)
        home = require_trace("a branch")

        def both() -> Tensor:
            with resumed(home):
                return emit(elementwise(np.logical_and), taken(), place.flag)

        return lambda results: both

    def _one_sided(self, name: str, branch: int, leaf: Any, other: Any) -> Build:
        """Return what builds a leaf of one branch, which is `other` in the others."""
        leaves = [other] * len(self._left)
        leaves[branch] = leaf
        return self._merge.leaf(name, leaves, must_be_alike=False)

    def _view(self, branch: int, array: Tensor) -> Build:
        """Return what makes a view that a branch has left again, of what it shows outside."""
        chain = []
        root = array
        while root._view is not None:
            chain.append((root, self._indices(branch, root)))
            root = root._view.base
        if id(root) not in self._left[branch].cells and not any(
            each._view.home is self._merge.regions[branch] for each, _ in chain
        ):
            return lambda results: array
        build_root = self._root(branch, root)

        def build(results: Sequence[Tensor]) -> Tensor:
            trace = require_trace("a view")
            base = build_root(results)
            for each, indices in reversed(chain):
                view = each._view.moved(base, tuple([index(results) for index in indices]))
                base = Tensor(trace, each._value, view)
            return base

        return build

    def _indices(self, branch: int, array: Tensor) -> list[Build]:
        """Return what builds the integers that say where a view lies: elsewhere, ones in range."""
        view = array._view
        others: list[Any] = [DONT_CARE if index.ndim else 0 for index in view.indices]
        if view.primitive is take_slice:
            others = [0, number_of(view.params["length"])]
        return [
            self._one_sided("an index", branch, index, other)
            for index, other in zip(view.indices, others, strict=True)
        ]

    def _root(self, branch: int, root: Tensor) -> Build:
        """Return what builds the array outside of the branches that a root is, or becomes."""
        cell = self._left[branch].cells.get(id(root))
        if cell is None:
            return lambda results: root
        key = branch, id(root)
        if key not in self._roots:
            self._roots[key] = lambda results: root  # it shows no part of itself
            self._roots[key] = self._made_in(branch, cell)
        return self._roots[key]

    def _made_in(self, branch: int, cell: Cell) -> Build:
        """Return what builds an array that was made in a branch."""
        value = self._one_sided("an array", branch, cell.now, DONT_CARE)
        guard = cell.guard
        hidden = [self._root(branch, r) for r, *_ in (guard.hidden if guard is not None else ())]
        made: list[Tensor] = []

        def build(results: Sequence[Tensor]) -> Tensor:
            if not made:
                made.append(value(results))
                if guard is not None:
                    roots = [root(results) for root in hidden]
                    watch(made[0], Shared(guard.name, roots, must_not=guard.must_not))
            return made[0]

        return build


def _unique(found: Sequence[tuple[Callable[[], Tensor], Tensor]]) -> tuple[Place, ...]:
    """Return places, one for each view, in such an order that the last that holds counts."""
    flags: dict[int, tuple[list[Callable[[], Tensor]], Tensor]] = {}
    for flag, view in found:
        others, _ = flags.pop(id(view), ((), view))
        flags[id(view)] = [*others, flag], view
    home = require_trace("a branch")

    def any_of(makers: list[Callable[[], Tensor]]) -> Tensor:
        with resumed(home):
            either = partial(emit, elementwise(np.logical_or))
            return reduce(either, [make() for make in makers])

    return tuple(
        [
            Place(makers[0] if len(makers) == 1 else partial(any_of, makers), view)
            for makers, view in flags.values()
        ]
    )


def _can_move(array: Tensor, region: Region) -> bool:
    """Whether a view of a region can be read where it has no meaning, at other integers."""
    while array._view is not None:
        view = array._view
        if view.primitive is take_slice and (
            view.params["step"] != 1 or is_inner(view.params["length"], region)
        ):
            return False
        array = view.base
    return True


def flags_of(primitive: Any, lead: Value, count: int) -> list[Callable[[], Tensor]]:
    """Return for each branch what gives the truth value that says whether it is taken."""
    home = require_trace("a branch")

    def flag(branch: int) -> Tensor:
        with resumed(home):
            if primitive is cond:
                values = (lead,)
                if branch:
                    values = home.record(elementwise(np.logical_not), values, {"dtype": None})
                return Tensor(home, values[0])
            index: Any = Tensor(home, lead)
            return (index == branch) | (index == branch - count)  # as Python counts

    once = cache(flag)
    return [partial(once, branch) for branch in range(count)]
