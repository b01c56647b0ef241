"""Traces of maps that are kept: a map that is called again is not traced again.

``lw.vmap(f)(xs)`` makes a new map each time, so what is kept belongs to the code of `f`, with what
its closure and its defaults hold. A trace is as good as a new one while all that the function
reaches is as it was (`lanewise.api.contained`); of functions that reach more none is kept.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from lanewise.api.contained import Unchanged, contained
from lanewise.ir.graph import Graph
from lanewise.runtime.dispatch import is_observed

#: So many traces are kept of one code, and so many bytes of what each takes beside arguments.
MOST, MOST_BYTES = 16, 1 << 20
_kept: WeakKeyDictionary[CodeType, dict[Hashable, Kept]] = WeakKeyDictionary()


class Kept(NamedTuple):
    """What runs a map again that was traced.

    Attributes
    ----------
    key
        Of its executable.
    make
        Gives the graph of that, if there is none any more.
    sources
        What the graph takes beside the operands.
    structure, dims
        Of the results, and where the batch goes in each.
    holds, unchanged
        What its function differs in from others of its code, and what tells whether all else that
        it reaches is as it was.
    """

    key: Hashable
    make: Callable[[], Graph]
    sources: Sequence[Any]
    structure: Any
    dims: Sequence[int | None]
    holds: tuple[Any, ...] = ()
    unchanged: Unchanged | None = None


def find(func: Any, call: Hashable) -> Kept | None:
    """Return what was kept of a call of a function like this one, which reaches what it did.

    Parameters
    ----------
    func
        The user's function.
    call
        What decides the trace, besides the function.
    """
    if type(func) is not FunctionType:
        return None
    found = _kept.get(func.__code__, {}).get((func.__code__.co_filename, call))
    if found is None or is_observed():
        return None
    assert found.unchanged is not None
    holds = _holds(func)
    is_alike = len(holds) == len(found.holds) and all(map(operator.is_, holds, found.holds))
    return found if is_alike and found.unchanged() else None


def keep(func: Any, call: Hashable, made: Kept) -> None:
    """Keep what runs a call again, if the function depends on nothing but what is looked at."""
    size = sum([getattr(source, "nbytes", 0) for source in made.sources])
    if type(func) is not FunctionType or size > MOST_BYTES:
        return
    unchanged = contained([func], with_data=True)
    if unchanged is None:
        return
    calls = _kept.setdefault(func.__code__, {})
    if len(calls) >= MOST:
        calls.clear()
    calls[func.__code__.co_filename, call] = made._replace(holds=_holds(func), unchanged=unchanged)


def forget() -> None:
    """Keep nothing of what was kept so far."""
    _kept.clear()


def _holds(func: FunctionType) -> tuple[Any, ...]:
    """Return what a function differs in from others of its code."""
    cells = [cell.cell_contents for cell in func.__closure__ or ()]
    options = (func.__kwdefaults__ or {}).values()
    return (func.__globals__, *(func.__defaults__ or ()), *options, *cells)
