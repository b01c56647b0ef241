"""Users' classes, which follow data where Python calls them by itself, as long as one traces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from lanewise.trace.trace import ON_OUTERMOST


class Following:
    """Replaces members of users' classes while there is a trace in any thread.

    No converted code stands between ``a < b`` or ``a.area`` and the method of a class. So the
    operators and properties of the class itself ask meanwhile what to call: in threads that trace
    nothing that is no more than a look. In between the classes are as their authors wrote them.

    Parameters
    ----------
    member
        Gives what stands for a member, of which it is told the class, the name and the value, or
        None.
    """

    def __init__(self, member: Callable[[type, str, Any], Any]) -> None:
        self._member, self._count, self._lock = member, 0, threading.RLock()
        #: Of classes the members that are replaced, by name: as they are, and as they ask.
        self._members: dict[type, dict[str, tuple[Any, Any]]] = {}
        ON_OUTERMOST.append(self._tell)

    def _tell(self, is_opened: bool) -> None:
        with self._lock:
            before = self._count
            self._count += 1 if is_opened else -1
            if not before or not self._count:
                for cls in self._members:
                    self._replace(cls)

    def add(self, cls: type) -> None:
        """Have a class follow data."""
        with self._lock:
            if cls not in self._members:
                pairs = {name: (x, self._member(cls, name, x)) for name, x in [*vars(cls).items()]}
                self._members[cls] = {name: pair for name, pair in pairs.items() if pair[1]}
                self._replace(cls)

    def _replace(self, cls: type) -> None:
        for name, (value, asking) in self._members[cls].items():
            old, new = (value, asking) if self._count else (asking, value)
            if vars(cls).get(name) is old:  # and nobody has assigned another
                setattr(cls, name, new)
