"""What has a size that is data, and what is said where it would escape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from lanewise.errors import DataDependentShapeError, at
from lanewise.ir.dims import Dim, DimLike, symbols
from lanewise.ir.location import here
from lanewise.trace.trace import Trace

INSTEAD = (
    "Use np.where(mask, x, fill), or a reduction with where=mask, on the whole array; reduce it "
    "(sum, max, mean, ...), or write through it"
)


class Origin(NamedTuple):
    """What has a size that is data, for messages: what made it, where, and what to do instead."""

    what: str
    place: Any
    instead: str


#: Of a size that a call of a function has which was recorded before.
_OF_A_CALL = Origin("an array", None, INSTEAD)


def origin_of(shape: Iterable[DimLike], trace: Trace) -> Origin | None:
    """Return what a size in a shape is of that is data; None where all of them are known."""
    names = [name for dim in shape if isinstance(dim, Dim) for name in symbols(dim)]
    origins = trace.outermost().origins if names else {}
    return next((origins[name][1] or _OF_A_CALL for name in names if name in origins), None)


def refuse_escape(x: Any, use: str) -> None:
    """Raise `DataDependentShapeError` if an array has a size that is data: it would escape."""
    for size in x.shape:
        refuse_size(size, x._trace, use)


def refuse_size(size: DimLike, trace: Trace, use: str) -> None:
    """Raise `DataDependentShapeError` if a size is data."""
    origin = origin_of((size,), trace)
    if origin is not None:
        raise DataDependentShapeError(
            f"{use} is not followed{at(here())}: the length of {origin.what}{at(origin.place)} "
            f"would be part of a shape, and depends on the data. {origin.instead}"
        )
