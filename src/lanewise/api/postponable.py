"""Which functions may run themselves until their trace is worth it, and what runs them then."""

from __future__ import annotations

from typing import Any

from lanewise.api.contained import contained
from lanewise.api.faster import Postponed
from lanewise.api.keys import is_data
from lanewise.api.refused import PlainWay, is_open, is_refusal, may_be_refusal
from lanewise.api.remembered import MANY
from lanewise.api.tracing import Arguments
from lanewise.api.vmap import Mapped


def postponable(
    func: Any, arguments: Arguments, known: Postponed | None = None
) -> Postponed | None:
    """Return what bounds how long a function may be traced, if calls may run the function itself.

    Parameters
    ----------
    func
        The user's function.
    arguments
        Those of a call of it.
    known
        What was returned for another attempt.
    """
    if not (is_open() and arguments.is_plain):
        return None
    if known is not None and known.unchanged():
        return known
    is_map = isinstance(func, Mapped)
    if isinstance(func, Mapped):
        if not func.is_usual:
            return None
        func = func.__wrapped__
    # What no map tells is told while it is traced, unless data are told.
    roots = [func, *_constants(arguments)]
    unchanged = contained(roots, with_data=True, may_tell=is_map)
    return None if unchanged is None else Postponed(arguments.arrays, unchanged, is_map)


def plain_way(func: Any, arguments: Arguments) -> PlainWay:
    """Return what may run a function in place of its trace, where that is refused."""
    is_single = not isinstance(func, Mapped)
    return PlainWay(func, others=_constants(arguments), is_single=is_single).look()


def as_it_stands(
    func: Any, arguments: Arguments, way: PlainWay, error: BaseException,
    known: Postponed | None = None,
) -> Postponed | None:  # fmt: skip
    """Return what runs a function in place of its trace, which has raised an error; or None.

    `known` is what did so the last time.
    """
    if is_refusal(error) or may_be_refusal(error):  # before anything has happened
        way.put_back()
    if not (arguments.is_plain and way.takes(error)):
        return None
    passes = 1 if known is None else 2 * known.passes
    return Postponed(arguments.arrays, way.unchanged, isinstance(func, Mapped), way, passes)


class Refusals:
    """The last traces of a function, as far as they were refused: others are rarely followed.

    A function that appends to a list among its arguments is called with another one each time.
    """

    def __init__(self) -> None:
        self._count = self._left = 0

    def note(self, last: Postponed | None) -> None:
        """Note that a trace was refused, and what runs the function then; or that one was made."""
        self._count = 0 if last is None or last.is_map else self._count + 1
        self._left = 0 if self._count < MANY else 2 ** (self._count - MANY)

    def skips(self) -> bool:
        """Whether the next call runs the function without asking whether its trace is known."""
        if not (self._left and is_open()):
            return False
        self._left -= 1
        return True


def _constants(arguments: Arguments) -> list[Any]:
    """Return the arguments of a call that are no data."""
    pairs = zip(arguments.leaves, arguments.keys, strict=True)
    return [x for x, key in pairs if not is_data(key)]


def itself(func: Any) -> Any:
    """Return what runs a function as it stands: a map as the plain loop."""
    return func.looped() if isinstance(func, Mapped) else func
