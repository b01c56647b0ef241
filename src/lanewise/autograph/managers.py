"""``with`` blocks in the body of a `try` on data (`lanewise.autograph.attempts`)."""

from __future__ import annotations

import contextlib
import dis
import inspect
import sysconfig
import warnings
from collections.abc import Generator
from types import FunctionType
from typing import Any

import numpy as np

from lanewise.autograph.attempts import Attempt
from lanewise.autograph.floating import FloatingErrors
from lanewise.errors import REFUSALS
from lanewise.ir.location import is_own_file
from lanewise.trace.trace import Stop, state

#: Those whose end means nothing to the examples that raise.
_HARMLESS = (contextlib.nullcontext, warnings.catch_warnings)


@contextlib.contextmanager
def _nothing() -> Generator[None]:
    yield


#: What ``@contextlib.contextmanager`` makes.
OF_GENERATORS: Any = type(_nothing())


#: Where packages are installed: what theirs end, such as ``pytest.raises``, they end on purpose.
INSTALLED = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))


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


class Swallowing(Managed):
    """A context manager that may end an exception: what data raise in its block is refused."""

    __slots__ = ()

    def __init__(self, manager: Any) -> None:
        super().__init__(manager, Attempt((), (), False, False))
        self.attempt.swallows = True

    def __enter__(self) -> Any:
        value = super().__enter__()
        state.attempt = self.attempt
        return value

    def __exit__(self, *error: Any) -> Any:
        self.attempt.leave()
        found = super().__exit__(*error)
        is_ours = error[0] is not None and issubclass(error[0], (Stop, *REFUSALS))
        return False if is_ours else found


def _may_swallow(manager: Any) -> bool:
    """Whether a context manager may go on as if nothing had been raised."""
    if isinstance(manager, contextlib.suppress):
        return True
    if type(manager) is OF_GENERATORS:
        steps = dis.get_instructions(manager.gen.gi_code)
        return any(step.opname == "CHECK_EXC_MATCH" for step in steps)
    exit_: Any = getattr(type(manager), "__exit__", None)
    exit_ = inspect.unwrap(exit_)
    if type(exit_) is not FunctionType:
        return False
    file = exit_.__code__.co_filename
    return not is_own_file(file) and not file.startswith(INSTALLED) and gives(exit_)


def gives(function: FunctionType) -> bool:
    """Whether a function may return anything but None and False."""
    before = None
    for step in dis.get_instructions(function):
        if step.opname == "RETURN_CONST" and step.argval not in (None, False):
            return True
        if step.opname == "RETURN_VALUE" and (
            before is None or before.opname != "LOAD_CONST" or before.argval not in (None, False)
        ):
            return True
        before = step
    return False


def managed(manager: Any) -> Any:
    """Return what a ``with`` statement is to enter."""
    if isinstance(manager, np.errstate) and state.trace is not None and not state.trace.is_eager:
        return FloatingErrors(manager)
    is_recorded = state.trace is not None and not state.trace.is_eager
    if is_recorded and _may_swallow(manager):
        return Swallowing(manager)
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
