"""Lists, dicts and objects that may be one, as the data decide: what a change means for the others.

What branches or iterations leave in a variable is joined to a new list, which stands for several:
for one of them in each example. All of them can be read. Once one of them changes, nobody knows
what the others hold: a list or dict that was made in the function is then unknown (`Unknown`), and
refused where it is used; a change that concerns anything else is refused itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from lanewise.errors import ControlFlowError, at
from lanewise.ir.location import here
from lanewise.trace.trace import Trace, require_trace


@dataclass(slots=True)
class Lent:
    """A container that others may be as well."""

    container: Any
    name: str
    #: By id, what may be the same object; and whether somebody else keeps what it holds now.
    twins: dict[int, Any] = field(default_factory=dict)
    is_kept: bool = False
    #: Whether it was made in what is traced.
    is_own: bool = True
    #: Whether it was not made in what is traced, as far as anybody noted.
    is_foreign: bool = False
    #: Whether somebody else has it, who is not known, and wants to see what it holds later.
    is_elsewhere: bool = False

    def refuse(self) -> NoReturn:
        """Refuse a change."""
        raise ControlFlowError(
            f"a {type(self.container).__name__} is changed{at(here())} that is, or may be, what "
            f"{self.name} stands for, as the data decide. Make the change where the data decide, "
            "or copy it"
        )


class Refusing:
    """Stands for what is of no use to anybody: `refuse` says why."""

    __slots__ = ()

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse its use."""
        raise NotImplementedError

    def _use(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.refuse()

    __array__ = __array_ufunc__ = __array_function__ = __bool__ = __len__ = __iter__ = _use
    __getitem__ = __setitem__ = __contains__ = __index__ = __int__ = __float__ = _use
    __complex__ = __neg__ = __pos__ = __abs__ = __invert__ = __call__ = __format__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _use
    __rmatmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = _use
    __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = _use
    __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __lt__ = __le__ = _use
    __gt__ = __ge__ = __eq__ = __ne__ = __repr__ = _use  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Unknown(Refusing):
    """What a list, dict, set or object holds that may have been changed under another name.

    Or the values of a dict that `are_none`: as many as the data say.
    """

    __slots__ = ("are_none", "name", "place")
    __hash__ = object.__hash__

    def __init__(self, name: str, are_none: bool = False) -> None:
        self.name = name
        self.are_none = are_none
        self.place = here()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("dtype", "ndim", "shape"):
            raise AttributeError(name)  # which Python, or Lanewise, looks for
        self.refuse()

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse its use."""
        if self.are_none:
            raise ControlFlowError(
                f"the values of a dict are asked for{at(here())} that are all None, as "
                f"dict.fromkeys() makes them{at(self.place)}, while the data say how many there "
                "are. Give it a number for them"
            )
        raise ControlFlowError(
            f"a list or dict is used{at(here())} that was, or may have been, changed"
            f"{at(self.place)} as what {self.name} stands for, as the data decide. Use it under "
            "that name, or copy it before"
        )


def refuse_unknown(*values: Any) -> None:
    """Refuse what is unknown among some values."""
    for value in values:
        if type(value) is Unknown:
            value.refuse()


def lent_of(container: Any, name: str, is_own: bool = True) -> Lent:
    """Return what is known of a container; what the rest says if nothing is yet."""
    lent = require_trace("a list").lent
    if id(container) not in lent:
        lent[id(container)] = Lent(container, name, is_own=is_own)
    return lent[id(container)]


def are_elsewhere(containers: Iterable[Any]) -> bool:
    """Whether somebody who is not known has one of some containers or objects."""
    lent = require_trace("a list").lent
    return bool(lent) and any([id(x) in lent and lent[id(x)].is_elsewhere for x in containers])


def keeper_of(containers: Iterable[Any], branch: Trace | None = None) -> str | None:
    """Return who keeps what one of some containers holds now, or held at the end of a branch."""
    lent = require_trace("a list").lent
    at_end: set[int] = set() if branch is None or branch.kept is None else branch.kept
    found = [lent[id(each)] for each in containers if id(each) in lent]
    kept = [each for each in found if each.is_kept or id(each.container) in at_end]
    return kept[0].name if kept else None


def all_lent() -> dict[int, Lent]:
    """Return a copy of what is known now of containers that others may be."""
    lent = require_trace("a list").lent
    return {key: replace(each, twins=dict(each.twins)) for key, each in lent.items()}


def forget(before: dict[int, Lent]) -> None:
    """Know of containers what was known before, as what was done since is undone."""
    lent = require_trace("a list").lent
    lent.clear()
    lent.update(before)


def lend(containers: Iterable[Any], name: str) -> None:
    """Remember containers of which somebody keeps what they hold: they must not change.

    Nor may what may be one of them.
    """
    at_end = require_trace("a list").kept
    for container in containers:
        lent = lent_of(container, name)
        lent.is_foreign = not _is_made(container)
        if at_end is not None:
            at_end.update((id(container), *lent.twins))
            continue
        lent.is_kept = True
        for twin in lent.twins.values():
            lent_of(twin, name).is_kept = True


def unlend(containers: Iterable[Any]) -> None:
    """Forget that somebody has containers, which were made just now: they may change."""
    trace = require_trace("a list")
    for container in containers:
        trace.lent.pop(id(container), None)
        if trace.kept is not None:
            trace.kept.discard(id(container))


def lend_like(made: Iterable[Any], others: Iterable[Any], branch: Trace | None = None) -> None:
    """Remember containers if somebody keeps what others hold that they may be; see `keeper_of`."""
    keeper = keeper_of(others, branch)
    if keeper is not None:
        lend(made, keeper)


def kept_now() -> set[int]:
    """Return the ids of the containers of which somebody keeps what they hold."""
    return {key for key, each in require_trace("a list").lent.items() if each.is_kept}


def kept_from_outside(turn: Trace) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return what a turn that is closed has somebody keep, and was there before, by its id.

    What it has made itself is another object in each turn. Of the second nobody noted where it was
    made.
    """
    lent = require_trace("a list").lent
    known = [lent[key] for key in turn.kept or () if key in lent and not lent[key].is_kept]
    own = {id(x.container): x.container for x in known if _is_made(x.container)}
    return own, {id(x.container): x.container for x in known if x.is_foreign}


def _is_made(container: Any) -> bool:
    """Whether a container was made in a trace that is open, also in one around a map's."""
    trace: Any = require_trace("a list")
    while trace is not None and id(container) not in getattr(trace, "born", ()):
        trace = trace.parent
    return trace is not None


def keep(containers: Mapping[int, Any]) -> None:
    """Know that somebody keeps what containers hold, but not of what may be one of these."""
    _keep_only(kept_now() | containers.keys())


def close_kept(branch: Trace, before: set[int]) -> None:
    """Note what is kept at the end of a branch or turn; know again what was `before` it."""
    branch.kept = kept_now()
    _keep_only(before)


def join_kept(branches: Iterable[Trace]) -> None:
    """Know that what is kept in one of some branches, or turns, is kept."""
    kept = kept_now()
    for branch in branches:
        kept |= branch.kept or set()
        branch.kept = None
    _keep_only(kept)


def _keep_only(kept: set[int]) -> None:
    for key, each in require_trace("a list").lent.items():
        each.is_kept = key in kept
