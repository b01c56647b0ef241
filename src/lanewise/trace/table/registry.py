"""The table's rows: which NumPy function is carried out by what, and which is refused and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.tensor import TABLE

F = TypeVar("F", bound=Callable[..., Any])

#: What to write instead of a function that cannot be followed, by function.
REFUSED: dict[Any, str] = {}


def implements(*functions: Any) -> Callable[[F], F]:
    """Make the decorated function what these NumPy functions do on tensors."""

    def enter(implementation: F) -> F:
        for function in dict.fromkeys(functions):  # NumPy has names that are one function
            if function in TABLE:
                raise ValueError(f"{function.__name__} stands in the table already")
            TABLE[function] = implementation
        return implementation

    return enter


def refuse(*functions: Any, instead: str) -> None:
    """Make calls of these functions on tensors an error that says what to write instead."""
    for function in functions:
        name = f"{function.__module__}.{function.__name__}"

        def refused(*args: Any, _name: str = name, **kwargs: Any) -> NoReturn:
            raise UnsupportedError(
                f"{_name} is not followed{at(here())}: it cannot be traced. {instead}"
            )

        TABLE[function] = refused
        REFUSED[function] = instead
