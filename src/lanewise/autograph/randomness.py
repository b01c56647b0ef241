"""NumPy's and Python's own random numbers in traced code: drawn once, while it is traced.

A function that is traced once holds the numbers that it drew then. That is seldom meant, so it is
said where it happens. `lanewise.random` draws at every call.

In a mapped function the map says what becomes of them; `lanewise.random.foreign` does it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lanewise.autograph.calls import METHODS, OUTSIDE
from lanewise.errors import BakedInWarning
from lanewise.ir.location import Location, here
from lanewise.trace.trace import state

#: Draws in a mapped function: of the method, its arguments and keywords. It gives None if there is
#: no map, else what draws instead.
MAPPED: list[Callable[..., Callable[[], Any] | None]] = []
#: Whether a generator belongs to what is traced.
OWN: list[Callable[[Any], bool]] = []
#: What a generator has beside methods that draw.
_OTHERS = {"bit_generator", "spawn", "seed", "get_state", "set_state", "getstate", "setstate"}


def _draw(method: Any, *args: Any, **kwargs: Any) -> Any:
    """Draw numbers of a generator that is not Lanewise's, while something is traced."""
    instead = MAPPED[0](method, args, kwargs) if MAPPED else None
    if state.function is not None and not (OWN and OWN[0](method.__self__)):
        place = here()
        if place is not None:
            location = Location(*place)
            warnings.warn_explicit(
                f"{method.__name__}() draws random numbers while {state.function} is traced: they "
                "are the same in all its calls. Use lw.random, which draws at each call, or pass "
                "the numbers as an argument",
                BakedInWarning,
                location.file,
                location.line,
            )
    return method(*args, **kwargs) if instead is None else instead()


for _class in (np.random.Generator, np.random.RandomState, random.Random):
    METHODS[_class] = {
        name: lambda method: partial(_draw, method)
        for name in dir(_class)
        if not name.startswith("_") and name not in _OTHERS
    }
    OUTSIDE.add(_class)
