"""The errors that Lanewise raises beside Python's and NumPy's own.

Each has an entry in ``docs/errors.md`` with the broken and the fixed code.
"""

from __future__ import annotations

import os
from functools import partial
from types import TracebackType
from typing import Any

from lanewise.ir.dims import Undecided
from lanewise.ir.location import Location, Place, is_of_lanewise, is_own_file


class ConcretizationError(TypeError):
    """A traced value was used where a concrete one is needed (``float(t)``, ``if t:``).

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vmap(lambda x: x if x > 0 else -x, autograph=False)(np.array([1.0, -2.0]))
    Traceback (most recent call last):
    ...
    lanewise.errors.ConcretizationError: ... Use np.where instead of if...
    """


class LeakedTensorError(RuntimeError):
    """A `Tensor` was used after the trace that made it had ended.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> kept = []
    >>> _ = lw.vmap(lambda x: kept.append(x), autograph=False)(np.ones(3))
    >>> kept[0] + 1
    Traceback (most recent call last):
    ...
    lanewise.errors.LeakedTensorError: ...
    """


class UnsupportedError(TypeError):
    """A NumPy function or argument that Lanewise does not follow was met while tracing.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vmap(lambda x: np.array2string(x))(np.ones(3))
    Traceback (most recent call last):
    ...
    lanewise.errors.UnsupportedError: ...
    """


class DataDependentShapeError(UnsupportedError):
    """The shape of a result would depend on data (``np.nonzero``, ``x[mask]``, ``np.unique``).

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vmap(lambda x: x[x > 0])(np.array([[1.0, -1.0], [2.0, 3.0]]))
    Traceback (most recent call last):
    ...
    lanewise.errors.DataDependentShapeError: ... Use np.where(mask, x, fill)...
    """


class ControlFlowError(UnsupportedError):
    """A variable that control flow steered by data cannot follow; the message names it.

    Where examples take different branches or leave a loop at different turns, what a variable holds
    afterwards must be of one shape and structure.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.vmap(lambda x: x if x.sum() > 0 else x.sum())(np.ones((2, 3)))
    Traceback (most recent call last):
    ...
    lanewise.errors.ControlFlowError: ...
    """


class CutOffError(UnsupportedError, IndexError):
    """A length that is data and is not what it was taken for while tracing, where that matters.

    A slice whose ends are a known number of elements apart, ``a[i : i + 4]``, is recorded as that
    many, ``np.bincount(x, minlength=n)`` as n counts; where an example's are fewer, or more, the
    function is traced again without that, or runs as plain Python. This is raised where neither can
    be: in what prints or calls host code, for instance. So it is of an integer above 2**63 - 1
    where the data decide whether it is one of int64 or of uint64.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def window(a, i):
    ...     print(i)
    ...     return a[i : i + 4].sum()
    >>> lw.vmap(window, in_dims=(None, 0))(np.arange(6.0), np.array([4]))
    Traceback (most recent call last):
    ...
    lanewise.errors.CutOffError: a slice of 4 elements between traced ends ...
    """


class EndlessRecursionError(ControlFlowError, RecursionError):
    """A function that calls itself as the data decide: while tracing both ways are taken.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def factorial(n):
    ...     return 1 if n < 2 else n * factorial(n - 1)
    >>> lw.vmap(factorial)(np.arange(3))
    Traceback (most recent call last):
    ...
    lanewise.errors.EndlessRecursionError: factorial calls itself ...
    """


class RetracingWarning(UserWarning):
    """A traced function is traced again and again; the message names the argument that changes.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import lanewise as lw
    >>> power = lw.function(lambda x, n: x**n)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for n in range(5):
    ...         _ = power(np.ones(3), n)
    >>> [warning.category.__name__ for warning in caught]
    ['RetracingWarning']
    """


class BakedInWarning(UserWarning):
    """Random numbers of NumPy's or Python's are drawn while a function is traced, and stay.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import lanewise as lw
    >>> noisy = lw.function(lambda x: x + np.random.normal(size=3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     same = (noisy(np.ones(3)) == noisy(np.ones(3))).all()
    >>> bool(same), [warning.category.__name__ for warning in caught]
    (True, ['BakedInWarning'])
    """


class PlainLoopWarning(UserWarning):
    """A function is not followed, and runs as plain Python, on one example after the other.

    What it gives is what the loop gives, and takes as long. The warning comes once for each
    function; its message is that of the error that ``LANEWISE_STRICT=1`` raises instead. So does
    a function that is not plain Python and NumPy of its arguments.

    Examples
    --------
    >>> import os
    >>> import warnings
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def digits(n):
    ...     return len(str(int(n)))
    >>> with (
    ...     patch.dict(os.environ, LANEWISE_STRICT="0"),
    ...     warnings.catch_warnings(record=True, action="always") as caught,
    ... ):
    ...     lw.vmap(digits)(np.array([7, 42, 1000]))
    array([1, 2, 4])
    >>> [warning.category.__name__ for warning in caught]
    ['PlainLoopWarning']
    """


class LostWriteWarning(UserWarning):
    """A mapped function writes to its argument and returns nothing: nobody sees what it wrote.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def double(x):
    ...     x *= 2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     lw.vmap(double)(np.ones((2, 3)))
    >>> [warning.category.__name__ for warning in caught]
    ['LostWriteWarning']
    """


class FormatError(ValueError):
    """A file that `load` cannot read: damaged, foreign, or written by a newer version.

    Examples
    --------
    >>> import io
    >>> import lanewise as lw
    >>> lw.load(io.BytesIO(b"something else"))
    Traceback (most recent call last):
    ...
    lanewise.errors.FormatError: the file cannot be loaded: lanewise.save did not write it...
    """


class CheckError(AssertionError):
    """A mapped function does not give what the plain one gives: ``vmap(f, check=True)`` found it.

    The message names the example, the part of the result, both values and how far they are apart.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> calls = []
    >>> def count(x):           # not a function of its arguments
    ...     calls.append(x)
    ...     return x + len(calls)
    >>> lw.vmap(count, check=True, autograph=False)(np.zeros(3))
    Traceback (most recent call last):
    ...
    lanewise.errors.CheckError: vmap(count): example 0 differs from the plain function in ...
    """


class InternalErrorWarning(RuntimeWarning):
    """Lanewise met an error of its own making, and went on without the step that failed.

    The result is right; it may have taken longer. The warning comes once for each function.

    Examples
    --------
    >>> import os
    >>> import warnings
    >>> from unittest.mock import patch
    >>> import numpy as np
    >>> import lanewise as lw
    >>> with (
    ...     patch("lanewise.runtime.tiers.compiling", side_effect=KeyError("a defect")),
    ...     patch.dict(os.environ, LANEWISE_STRICT="0"),
    ...     warnings.catch_warnings(record=True, action="always") as caught,
    ... ):
    ...     lw.vmap(lambda x: np.sin(x) + 7.5)(np.zeros(3))
    array([7.5, 7.5, 7.5])
    >>> [warning.category.__name__ for warning in caught]
    ['InternalErrorWarning']
    """


class InvalidGraphError(RuntimeError):
    """A graph that breaks a rule: a mistake of Lanewise's own, found by the verifier."""


#: What Lanewise raises of its own accord, where plain Python would raise something else or nothing.
REFUSALS = (ConcretizationError, LeakedTensorError, UnsupportedError, InvalidGraphError, Undecided)


def annotate(error: BaseException, note: str) -> None:
    """Put `note` behind the error's message, once, keeping the error's type.

    Notes of an exception do not show in ``str(error)``; the message does.
    """
    if any(note in str(part) for part in (*error.args[:1], *getattr(error, "__notes__", ()))):
        return
    if len(error.args) == 1 and isinstance(error.args[0], str) and str(error) == error.args[0]:
        error.args = (f"{error.args[0]}\n  {note}",)
    else:
        error.add_note(note)


def function_name(func: Any) -> str:
    """Return what to call a function in messages.

    >>> function_name(partial(int, base=2))
    'int'
    """
    while isinstance(func, partial):
        func = func.func
    return getattr(func, "__qualname__", None) or type(func).__name__


def at(place: Place | None) -> str:
    """Return ``" (file:line: source)"`` for a message, empty where the place is unknown."""
    if place is None:
        return ""
    location = Location(*place)
    return f" ({location}: {location.source})" if location.source else f" ({location})"


def size_of(count: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size_of(1536)
    '1.5 KiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def shown(error: BaseException) -> BaseException:
    """Return an exception whose traceback holds the user's frames; all with a switch.

    Left out are Lanewise's own frames, and those of libraries that Lanewise calls.
    """
    if os.environ.get("LANEWISE_TRACEBACK") == "full":
        return error
    chained: BaseException | None = error
    for _ in range(_CHAINED):
        chained = chained.__cause__ or chained.__context__
        if chained is None:
            break
        chained.__traceback__ = _of_user(chained.__traceback__)
    return error.with_traceback(_of_user(error.__traceback__))


#: How many exceptions that led to one another are looked at.
_CHAINED = 8


def _of_user(place: TracebackType | None) -> TracebackType | None:
    """Return a traceback without Lanewise's frames, and those of what it calls."""
    kept, is_ours = [], False
    while place is not None:
        code = place.tb_frame.f_code
        is_ours = is_of_lanewise(code) or (is_ours and is_own_file(code.co_filename))
        if not is_ours:
            kept.append(place)
        place = place.tb_next
    traceback = None
    for place in reversed(kept):
        traceback = TracebackType(traceback, place.tb_frame, place.tb_lasti, place.tb_lineno)
    return traceback
