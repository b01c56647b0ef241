"""Programs with control flow composed at random (`random_control_flow`), against the loop.

Results must be the loop's to the bit, host functions must be called for the same examples in the
same order, and where examples raise, the map must raise what one of them does, and name it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import event, given

import lanewise as lw
from support.random_control_flow import Case, Level, cases
from support.searching import searching

SCALAR = lw.TensorSpec((), float)
#: An array that is bound anew in one branch and written to in another is not always followed.
REFUSED = r"an array that .* was once is used|may be \(a view of\)"


class Notes:
    """The host function `note`, and what it was called with."""

    def __init__(self) -> None:
        self.calls: list[float] = []

    def record(self, x: Any) -> float:
        self.calls.append(float(x))
        return float(x) + 1.0

    def __call__(self, x: Any) -> Any:
        return lw.py_func(self.record, [x], SCALAR)


class LoopError(Exception):
    """What examples of a loop raised: of each, the error and its index."""

    def __init__(self, errors: list[tuple[int, Exception]]) -> None:
        self.errors = errors


def looped(f: Callable[..., Any], level: Level) -> Callable[..., Any]:
    """Return the function that runs `f` on one example after the other, and stacks the results."""

    def run(*args: Any) -> tuple[np.ndarray, ...]:
        rows, errors = [], []
        for i in range(level.size):
            pairs = zip(args, level.in_dims, strict=True)
            row = [np.copy(a if d is None else a[i]) for a, d in pairs]
            try:
                rows.append(leaves(f(*[a if a.ndim else a[()] for a in row])))
            except LoopError as error:
                errors += error.errors
            except Exception as error:
                errors.append((i, error))
        if errors:
            raise LoopError(errors)
        return tuple([np.stack([np.asarray(x) for x in c]) for c in zip(*rows, strict=True)])

    return run


def leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def assert_alike(got: Any, want: tuple[np.ndarray, ...]) -> None:
    got = leaves(got)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert type(g) is np.ndarray and g.shape == w.shape
        assert g.dtype == w.dtype, f"dtype {g.dtype}, the loop gives {w.dtype}"
        np.testing.assert_array_equal(g, w)


def check(case: Case) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _check(case)


def _check(case: Case) -> None:
    called, mapped_calls = Notes(), Notes()
    eager, mapped = case.function(called), case.function(mapped_calls)
    for level in case.maps:
        eager = looped(eager, level)
        mapped = lw.vmap(mapped, level.in_dims, chunk_size=level.chunk)
    errors: list[tuple[int, Exception]] = []
    expected = ()
    try:
        expected = eager(*case.arrays)
    except LoopError as error:
        errors = error.errors
    before = [a.copy() for a in case.arrays]
    try:
        got = mapped(*case.arrays)
    except Exception as raised:
        if isinstance(raised, lw.UnsupportedError) and re.search(REFUSED, str(raised)):
            event("refused")
            return
        kind = type(
            raised
        ).__name__  # the function's own class is made anew each time it is compiled
        alike = [i for i, error in errors if type(error).__name__ == kind]
        if not alike:
            raise
        if len(case.maps) == 1 and len(alike) < case.maps[0].size:  # all raise: without data
            text = " ".join([str(raised), *getattr(raised, "__notes__", [])])
            found = re.search(r"example (\d+)", text)
            assert found and int(found[1]) in alike, f"{text!r} names none of the examples {alike}"
        event("raised")
        return
    assert not errors, f"nothing raised; the loop gives {errors[0]!r}"
    for a, b in zip(case.arrays, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="an argument was changed")
    assert_alike(got, expected)
    assert mapped_calls.calls == called.calls
    if len(case.maps) == 1:
        check_map_fn(case, expected)


def check_map_fn(case: Case, expected: tuple[np.ndarray, ...]) -> None:
    f, dims = case.function(Notes()), case.maps[0].in_dims
    rows = [a for a, d in zip(case.arrays, dims, strict=True) if d == 0]

    def around(mapped: list[Any]) -> Any:
        rest = iter(mapped)
        pairs = zip(case.arrays, dims, strict=True)
        return f(*[next(rest) if d == 0 else np.copy(a)[()] for a, d in pairs])

    assert_alike(lw.map_fn(around, rows), expected)


@searching(25)
@given(cases())
def test_programs(case: Case) -> None:
    check(case)
