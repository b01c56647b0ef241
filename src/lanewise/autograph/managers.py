"""``with`` blocks in the body of a `try` on data (`lanewise.autograph.attempts`)."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from lanewise.autograph.floating import FloatingErrors
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.trace import state

#: Those whose end means nothing to the examples that raise.
_HARMLESS = (contextlib.nullcontext, warnings.catch_warnings)


class Managed:
    """A context manager that a ``try`` around knows of."""

    __slots__ = ("attempt", "manager")

    def __init__(self, manager: Any, attempt: Any) -> None:
        self.manager = manager
        self.attempt = attempt

    def __enter__(self) -> Any:
        value = type(self.manager).__enter__(self.manager)
        self.attempt.managers.append(self.manager)
        return value

    def __exit__(self, *error: Any) -> Any:
        self.attempt.managers.pop()
        return type(self.manager).__exit__(self.manager, *error)


def suppressed(function: Any, *kinds: Any) -> Any:
    """Return what ``with contextlib.suppress(...)`` catches, as the handler of a ``try``."""
    if function is contextlib.suppress:
        return kinds
    raise UnsupportedError(
        f"a function is called suppress{at(here())} that is not contextlib.suppress, in a with "
        "statement. Give it another name"
    )


def managed(manager: Any) -> Any:
    """Return what a ``with`` statement is to enter."""
    if isinstance(manager, np.errstate) and state.trace is not None and not state.trace.is_eager:
        return FloatingErrors(manager)
    if (
        state.attempt is None
        or isinstance(manager, _HARMLESS)
        or type(manager).__module__.startswith("lanewise.")
    ):
        return manager
    kind = type(manager)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        return manager  # Python says what is wrong with it
    return Managed(manager, state.attempt)
