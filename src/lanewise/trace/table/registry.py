"""The table's rows: which NumPy function is carried out by what, and which is refused and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from lanewise.errors import DataDependentShapeError, UnsupportedError, at
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


def refuse(*functions: Any, instead: str, shape_is_data: bool = False) -> None:
    """Make calls of these functions on tensors an error that says what to write instead."""
    kind = DataDependentShapeError if shape_is_data else UnsupportedError
    reason = (
        "the shape of its result depends on the data" if shape_is_data else "it cannot be traced"
    )
    for function in functions:
        name = f"{function.__module__}.{function.__name__}"

        def refused(*args: Any, _name: str = name, **kwargs: Any) -> NoReturn:
            raise kind(f"{_name} is not followed{at(here())}: {reason}. {instead}")

        TABLE[function] = refused
        REFUSED[function] = instead
