"""Results of which the data say how long they are, and which are equally long in all examples.

A list that a loop fills may be as long in each example, though no one can tell that from the code:
a topological order, a merged list, what is padded to a size. How long it is says the function
itself, called with the first example; the trace checks it for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.trace.regions import Watched
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state

_T = TypeVar("_T")


class First(NamedTuple):
    """The first example of a map.

    Attributes
    ----------
    operands
        Arrays and tensors.
    axes
        Along which axis each is mapped; None for one that is the same for all examples.
    size
        How many examples there are.
    call
        Calls the function with what stands for the operands.
    """

    operands: Sequence[Any]
    axes: Sequence[int | None]
    size: Any
    call: Callable[[list[Any]], Any]

    def result(self) -> tuple[Any] | None:
        """Return what the function gives, in a tuple; None where that cannot be known."""
        arrays = [_array_of(x) if type(x) is Tensor else x for x in self.operands]
        if any([type(x) is not np.ndarray for x in arrays]) or self.size == 0:
            return None
        if any([not x.shape[d] for x, d in zip(arrays, self.axes, strict=True) if d is not None]):
            return None
        rows = [
            x.copy() if axis is None else np.take(x, 0, axis)
            for x, axis in zip(arrays, self.axes, strict=True)
        ]
        trace, state.trace = state.trace, None
        try:
            return (self.call(rows),)
        except Exception:  # which some example raises, as whoever runs them all will see
            return None
        finally:
            state.trace = trace


def _array_of(x: Tensor) -> Any:
    """Return the array that a tensor stands for, if nobody has written to it."""
    value, array = state.arrays.get(id(x), (None, None))
    return array if x._value is value else None


def with_lengths(
    first: First | None, attempt: Callable[[], _T], trace_of: Callable[[], Watched]
) -> _T:
    """Return what an attempt to trace an example gives, once more where lengths have to be known.

    `first` is None where nothing is followed; `trace_of` gives the trace of the last attempt: where
    it shows that the function does more than to return, it is not called.
    """
    state.asked_for_lengths, has_contents = False, state.has_contents
    try:
        return attempt()
    except UnsupportedError as error:
        trace, refusal = trace_of(), error
        does_more = trace.token is not None or trace.changes or trace.streams or trace.states
        # A slice that was cut off says more than that its length is data.
        is_asked = state.asked_for_lengths and not does_more and not state.room
        found = first.result() if is_asked and first is not None else None
        if found is None:
            raise
    # Outside of the handler: what is raised there has no exception before it.
    before, state.example = state.example, (*found, refusal)
    state.has_contents = has_contents
    try:
        return attempt()
    except Exception:  # what the first attempt has raised says more
        raise refusal from None
    finally:
        state.example = before
