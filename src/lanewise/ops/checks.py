"""Checks of the data, made when the graph runs."""

from __future__ import annotations

import numpy as np

from lanewise.ops.movement import repeat_unmapped
from lanewise.ops.registry import Batch, op, sample

#: The errors that a check can raise, by name.
ERRORS: dict[str, type[Exception]] = {
    "ValueError": ValueError,
    "IndexError": IndexError,
    "TypeError": TypeError,
    "ZeroDivisionError": ZeroDivisionError,
    "LinAlgError": np.linalg.LinAlgError,
}


@op
class checked:
    """x as it is, once every element of `ok` holds; else the error of that name is raised."""

    def type(x, ok, *, error: str, message: str):
        if ok.dtype != np.dtype(bool):
            raise TypeError(f"a check takes truth values, not {ok}")
        if error not in ERRORS:
            raise TypeError(f"a check raises one of {', '.join(ERRORS)}, not {error}")
        return x

    def numpy(x, ok, *, error, message):
        if not np.all(ok):
            raise ERRORS[error](message)
        return x

    def batch(b: Batch, x, ok, *, error, message):
        (x,) = repeat_unmapped(Batch(b.size, b.mapped[:1]), x)
        return checked(x, ok, error=error, message=message)

    samples = (
        sample((2, 3), np.array([True, True]), error="ValueError", message="no"),
        sample((), np.zeros((0, 2), bool), error="IndexError", message="no"),
    )
