"""What converted code calls, as the attributes of ``ag__``: one name for each hook.

`lanewise.autograph.rewrite` says where each stands in converted code.
"""

from __future__ import annotations

import operator
from typing import Any

from lanewise.autograph.blocks import following
from lanewise.autograph.branches import and_, branches, ifexp, not_, or_
from lanewise.autograph.builtins import size_of
from lanewise.autograph.calls import fn
from lanewise.autograph.classes import class_of, isinstance_
from lanewise.autograph.containers import in_
from lanewise.autograph.displays import binary, entries, joined_anew, set_of, spread
from lanewise.autograph.folds import fold, foldable, foldable_alone
from lanewise.autograph.for_loops import For
from lanewise.autograph.identity import is_
from lanewise.autograph.iterables import (
    gone_through,
    in_turn,
    named,
    taken_at_once,
    through,
    unstopped,
)
from lanewise.autograph.iterators import begun, owned_here
from lanewise.autograph.lists import gathered, pulling  # noqa: F401  (which are called by others)
from lanewise.autograph.lists.changed_records import (
    index_in,
    new,
    places,
    with_attribute,
    with_call,
    with_part,
)
from lanewise.autograph.lists.edits import (
    added,
    copied,
    found,
    in_order,
    inserted,
    joined,
    removed,
    without,
)
from lanewise.autograph.lists.grown import held, owned
from lanewise.autograph.lists.hooks import (
    again,
    appended,
    appended_left,
    as_index,
    entry_of,
    given,
    grows,
    has_any,
    has_objects,
    items_for,
    items_of,
    kept,
    matched,
    part,
    plain,
    popped,
    popped_left,
    row_of,
    total_of,
    unpacked,
    with_entry,
)
from lanewise.autograph.loops import While
from lanewise.autograph.managers import managed
from lanewise.autograph.messages import deferred, percent, print_, raise_, shown, text
from lanewise.autograph.pulled import Suspension, follows
from lanewise.autograph.sequences import Numbered
from lanewise.autograph.state import Lost, Maybe, Undefined, unbound
from lanewise.autograph.subscripts import (
    cells,
    changing,
    closure,
    delattr,
    delitem,
    getitem,
    setattr,
    setcell,
    setitem,
)
from lanewise.autograph.templates import Templates
from lanewise.autograph.tries import try_
from lanewise.autograph.turns import Failure
from lanewise.autograph.values import compare, traced
from lanewise.trace.regions import born
from lanewise.trace.tensor import lift
from lanewise.trace.trace import Stop, require_trace

__all__ = [
    "AssertionError",
    "Failure",
    "Stop",
    "Suspension",
    "Undefined",
    "added",
    "again",
    "and_",
    "appended",
    "appended_left",
    "as_index",
    "begun",
    "binary",
    "born",
    "branches",
    "cells",
    "changing",
    "class_of",
    "closure",
    "compare",
    "copied",
    "deferred",
    "defined",
    "delattr",
    "delitem",
    "elements",
    "entries",
    "entry_of",
    "fn",
    "fold",
    "foldable",
    "foldable_alone",
    "following",
    "follows",
    "for_",
    "found",
    "getitem",
    "given",
    "gone_through",
    "grows",
    "has_any",
    "has_objects",
    "held",
    "ifexp",
    "in_",
    "in_order",
    "in_turn",
    "index_in",
    "inserted",
    "is_",
    "is_instance",
    "items_for",
    "items_of",
    "joined",
    "joined_anew",
    "kept",
    "managed",
    "matched",
    "named",
    "new",
    "not_",
    "operator",
    "or_",
    "owned",
    "owned_here",
    "part",
    "percent",
    "places",
    "plain",
    "popped",
    "popped_left",
    "print_",
    "raise_",
    "removed",
    "returned",
    "row_of",
    "set_of",
    "setattr",
    "setcell",
    "setitem",
    "shown",
    "size_of",
    "slice",
    "spread",
    "taken_at_once",
    "text",
    "through",
    "total_of",
    "try_",
    "unpacked",
    "unstopped",
    "while_",
    "with_attribute",
    "with_call",
    "with_entry",
    "with_part",
    "without",
]

while_ = While
for_ = For
#: Builtins that converted code needs, whatever the user's own names are.
slice = slice
AssertionError = AssertionError


def is_instance(value: Any, cls: Any) -> Any:
    """``case cls():``."""
    if not isinstance(cls, type):
        match value:  # raises what Python does
            case cls():
                pass
    return isinstance_(value, cls)


def elements(x: Any, taker: Any = None) -> Any:
    """Return ``x.tolist()``, which nobody has but a loop, or what gives it its items by position.

    That is ``taker``, if it is not the loop itself.
    """
    tensor = traced(x)
    if tensor is not None and taker in (None, enumerate, reversed, zip):
        found = Numbered.of(tensor)
        if found is not None:
            return found
    return fn(x.tolist)()


def defined(value: Any, free: bool = False) -> Any:
    """Return the value of a variable that may have none; raise as Python does where it has none.

    ``free`` says that the variable belongs to a function around.
    """
    if not isinstance(value, (Undefined, Maybe)):
        return value
    if isinstance(value, Lost):
        value.refuse()
    error = unbound(value.name, free)
    if isinstance(value, Undefined):
        raise error
    trace = require_trace(f"the variable {value.name!r}")
    trace.check(lift(value.flag), (), Templates({}).exception(error))
    return value.value


def returned(value: Any) -> Any:
    """Return what a function returns, out of the variable that its ``return`` statements set."""
    if isinstance(value, Undefined):
        return None
    return value.value if isinstance(value, Maybe) else value
