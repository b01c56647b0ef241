"""Arguments that must be known while tracing, and checks of data that is known only later."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.errors import DataDependentShapeError, UnsupportedError, at
from lanewise.ir.location import Location, here
from lanewise.ir.types import Shape
from lanewise.ops.checks import checked as checked_op
from lanewise.trace.sizes import number_of, same_sizes
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit, read
from lanewise.trace.trace import require_trace


def deprecated(message: str) -> None:
    """Warn at the user's line of what NumPy warns of there."""
    place = here()
    if place is not None:
        location = Location(*place)
        warnings.warn_explicit(message, DeprecationWarning, location.file, location.line)


def static(
    function: Any, name: str, value: Any, instead: str, *, shape_is_data: bool = False
) -> None:
    """Raise for an argument that is traced where it must be known while tracing."""
    if not contains_tensor(value):
        return
    kind = DataDependentShapeError if shape_is_data else UnsupportedError
    raise kind(
        f"{function.__module__}.{function.__name__} takes {name} that are not traced"
        f"{at(here())}: {instead}"
    )


def check_device(device: Any) -> None:
    """Raise what NumPy raises for an argument ``device`` that is not the host."""
    if device not in (None, "cpu"):
        raise ValueError(
            f'Device not understood. Only "cpu" is allowed, but received: {device}{at(here())}'
        )


def must_cast(given: Any, wanted: Any, casting: Any = "safe") -> None:
    """Raise what NumPy raises where it does not convert one dtype to another."""
    if not np.can_cast(given, wanted, casting):
        raise TypeError(
            f"Cannot cast array data from {given!r} to {np.dtype(wanted)!r} according to the rule "
            f"'{casting}'"
        )


def must_be_row(x: Any) -> None:
    """Raise what NumPy raises for what has another number of axes than one."""
    if x.ndim != 1:
        depth = "too deep" if x.ndim else "of too small depth"
        raise ValueError(f"object {depth} for desired array")


@dataclass(frozen=True)
class _Raising:
    """Makes an exception; equal where the exceptions are."""

    kind: type[Exception]
    message: str

    def __call__(self) -> Exception:
        return self.kind(self.message)


def required(ok: Any, problem: Exception) -> None:
    """Raise, now or at run time, where `ok` does not hold; also where no result depends on it."""
    if isinstance(ok, Tensor):
        make = _Raising(type(problem), str(problem))
        require_trace("a check").check(read(ok), (), make)
    elif not ok:
        raise problem


def checked(x: Any, ok: Any, problem: Exception) -> Any:
    """Return x; where `ok` (a bool, or truth values) does not hold, raise, now or at run time."""
    if not isinstance(ok, Tensor):
        if not np.all(ok):
            raise problem
        return x
    return emit(checked_op, x, ok, error=type(problem).__name__, message=str(problem))


def of_shape(x: Any, shape: Shape, problem: Exception) -> Any:
    """Return x; where it has not the shape, as data may decide, raise, now or at run time."""
    if x.shape == shape:
        return x
    x = checked(as_tensor(x), same_sizes(x.shape, shape), problem)
    return np.broadcast_to(x, shape)


def of_truth(x: Tensor) -> Tensor:
    """Return what of an array the truth is asked of: its only element, which it has to have."""
    if not x.shape:
        return x
    size = number_of(x.size)
    required(size < 2, ValueError(
        "The truth value of an array with more than one element is ambiguous. "
        f"Use a.any() or a.all(){at(here())}"
    ))  # fmt: skip
    required(size > 0, ValueError(
        "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
        f"array is not empty{at(here())}"
    ))  # fmt: skip
    return np.ravel(x)[0]
