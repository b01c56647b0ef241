"""Tracing once more, and otherwise, what was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lanewise.api.refused import is_refusal
from lanewise.trace.trace import state

_T = TypeVar("_T")


def in_one_form(attempt: Callable[[], _T]) -> _T:
    """Return what an attempt to trace gives; if it is refused, what another one does.

    In the first, loops are recorded though their iterations decide how long lists are: these lists
    have lengths that are data then, with which less can be done. In the other one they are unrolled
    however long that takes.
    """
    if state.trace is not None or state.keeps_lengths:  # whoever traces what is around does it
        return attempt()
    state.gave_up_lengths = False
    try:
        return attempt()
    except Exception as error:
        if not (state.gave_up_lengths and is_refusal(error)):
            raise
    state.keeps_lengths = True
    try:
        return attempt()
    finally:
        state.keeps_lengths = False
