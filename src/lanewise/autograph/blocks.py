"""``with`` blocks of the user's own managers, whose end is run for the examples that raise, too.

A converted block is the body of a ``try`` (`lanewise.autograph.desugar`)::

    with EXPR as TARGET:                ag__m1 = ag__.following(EXPR)
        BODY                            with ag__m1.outer as ag__v2:
                                            try:
                                                TARGET = ag__v2
                                                BODY
                                            except ag__m1.caught as ag__x3:
                                                ag__m1.handle(ag__x3)
                                            else:  # whichever way BODY ends
                                                ag__m1.end()
"""

from __future__ import annotations

import contextlib
import inspect
from types import FunctionType
from typing import Any

from lanewise.autograph.branches import branches
from lanewise.autograph.calls import fn
from lanewise.autograph.managers import INSTALLED, OF_GENERATORS, gives, managed
from lanewise.autograph.turns import Failure
from lanewise.errors import REFUSALS
from lanewise.ir.location import is_own_file
from lanewise.trace.trace import state


class Aside:
    """A context manager whose end means nothing to the examples that raise: Python's own."""

    __slots__ = ("outer",)
    caught = ()

    def __init__(self, manager: Any) -> None:
        self.outer = managed(manager)

    def handle(self, error: BaseException) -> None:
        """Never called: nothing is caught."""

    def end(self) -> None:
        """Nothing: Python ends the block."""


class Followed:
    """A context manager whose end is run for the examples that raise, and may end that.

    Attributes
    ----------
    caught
        What the handler around the block catches.
    """

    caught = (BaseException,)

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.outer = self

    def __enter__(self) -> Any:
        return _following_data(type(self.manager).__enter__)(self.manager)

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None and issubclass(error[0], REFUSALS):
            type(self.manager).__exit__(self.manager, *error)

    def end(self) -> None:
        """End the block for examples that did not raise."""
        _following_data(type(self.manager).__exit__)(self.manager, None, None, None)

    def handle(self, error: BaseException) -> None:
        """End the block for examples that raised; go on with those for which that is ended."""
        exit_ = _following_data(type(self.manager).__exit__)
        driver = branches(exit_(self.manager, type(error), error, error.__traceback__), (), ())
        for has_ended in driver:
            try:
                if not has_ended:
                    raise error
            except Failure as again:
                if driver.stop(again):
                    raise
            driver.end(())


def _following_data(method: Any) -> Any:
    """Return a method that follows data, as those of classes that are known do by themselves."""
    return method if inspect.unwrap(method) is not method else fn(method)


def _is_followed(manager: Any) -> bool:
    """Whether data may raise in a block at whose end Python code of the user's is run."""
    if state.trace is None or state.trace.is_eager or type(manager) is OF_GENERATORS:
        return False
    if type(manager) is contextlib.suppress:
        return True
    exit_: Any = getattr(type(manager), "__exit__", None)
    exit_ = inspect.unwrap(exit_)
    if type(exit_) is not FunctionType or not callable(getattr(type(manager), "__enter__", None)):
        return False
    file = exit_.__code__.co_filename
    if is_own_file(file) or file.startswith(INSTALLED):
        return False
    return state.attempt is not None or gives(exit_) or "print" in exit_.__code__.co_names


def following(manager: Any) -> Any:
    """Return what knows how a ``with`` block of a manager ends for the examples that raise."""
    return Followed(manager) if _is_followed(manager) else Aside(manager)
