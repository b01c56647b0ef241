"""What is followed of libraries: NumPy's own Python code on data, ``sys.exit``, dates.

NumPy's (`numpy.polynomial`, ``np.r_``, ``np.mgrid``) is made of functions that are followed, but
does not dispatch: it asks for arrays, and Python's control flow stands in it. So it is converted
like a user's, where it is given data.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import polyutils

from lanewise.autograph import calls
from lanewise.autograph.advice import without_data
from lanewise.autograph.calls import ROWS, replaces
from lanewise.autograph.convert import convert
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.scratch import Scratch, is_traced, refuse_export
from lanewise.trace.table.checks import checked
from lanewise.trace.tensor import as_tensor


def _on_data(function: Any) -> Callable[..., Any]:
    """Return a function of NumPy's that is converted where it is given data."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_traced(args) and not is_traced(kwargs):
            return function(*args, **kwargs)
        return convert(function, calls.HOOKS[0])(*args, **kwargs)

    call.__name__ = function.__name__
    return call


for _indexed in (np.r_, np.ogrid):  # np.c_ and np.mgrid have the methods of these
    _getitem = type(_indexed).__getitem__
    ROWS[_getitem] = _on_data(_getitem)


@replaces(sys.exit)
def exit(*status: Any) -> Any:
    """``sys.exit``, which raises."""
    return convert(_exit, calls.HOOKS[0])(*status)


def _exit(status: Any = None) -> Any:
    raise SystemExit(status)


@replaces(np.ndenumerate)
def ndenumerate(arr: Any) -> Iterator[Any]:
    """``np.ndenumerate``, of data too: pairs of the index and the element."""
    if not is_traced(arr):
        return np.ndenumerate(arr)
    x = as_tensor(arr)
    return iter([(index, x[index]) for index in np.ndindex(x.shape)])


@replaces(polyutils.trimseq)
def trimseq(seq: Any) -> Any:
    """``trimseq``, which cuts off zeros: of data there must be none to cut off."""
    if not is_traced(seq):
        return polyutils.trimseq(seq)
    if len(seq) < 2:
        return seq
    message = (
        f"numpy.polynomial cuts off coefficients at the end that are 0{at(here())}: how many are "
        "left would depend on the data. Use np.convolve, and + and - of arrays of one length"
    )
    return checked(seq, as_tensor(seq)[-1] != 0, ValueError(message))


@replaces(memoryview)
def _memoryview(object: Any) -> memoryview:
    """``memoryview``, which an array of the traced function has none of."""
    if isinstance(object, Scratch) or is_traced(object):
        refuse_export("memoryview()")
    return memoryview(object)


#: What computes with the numbers themselves, each with what to write instead.
_REFUSED: dict[Any, str] = {
    np.nditer: "Write a loop over np.ravel(x), or over np.ndindex(x.shape)",
    np.broadcast: "Use np.broadcast_arrays, or np.broadcast_shapes",
    np.poly1d: "Use np.polyval(coefficients, x), np.polymul, np.polyadd",
    np.matrix: "Use arrays of two axes, and @",
    np.asmatrix: "Use arrays of two axes, and @",
    np.bmat: "Use np.block",
    np.lib.stride_tricks.as_strided: "Use np.lib.stride_tricks.sliding_window_view, or an index",
    **dict.fromkeys(
        (np.datetime64, np.timedelta64, datetime.date, datetime.datetime, datetime.time,
         datetime.timedelta),
        "Count days or seconds as integers, and make dates of what is returned",
    ),
}  # fmt: skip


for _function, _instead in _REFUSED.items():
    if _function not in ROWS:
        ROWS[_function] = without_data(_function, _instead)


@replaces(np.seterr)
def _seterr(*args: Any, **kinds: Any) -> Any:
    """``np.seterr``, which changes what later examples and the caller meet."""
    raise UnsupportedError(
        f"np.seterr() is called in a traced function{at(here())}, where nothing is computed yet. "
        "Write with np.errstate(...), or call it outside"
    )
