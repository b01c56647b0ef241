"""Programs composed at random (`random_programs`), mapped over random batches, against the loop.

Results of correctly rounded operations must be the loop's to the bit, rough ones within a
tolerance. A program that raises on an example must raise the same error when it is mapped.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume, given

import lanewise as lw
from support import random_numerics
from support.random_programs import Case, Map, cases, example
from support.searching import searching

#: What a write can raise; which comes first, where several things are wrong, is left open.
WRONG = (TypeError, ValueError, IndexError, OverflowError)


def looped(f: Callable[..., Any], level: Map) -> Callable[..., Any]:
    """Return the function that runs `f` on one example after the other, and stacks the results."""

    def run(*args: np.ndarray) -> tuple[np.ndarray, ...]:
        rows = []
        for i in range(max(level.size, 1)):
            row = []
            for x, dim in zip(args, level.in_dims, strict=True):
                row.append(x.copy() if dim is None else example(x, i, dim))
            rows.append(f(*row))
        columns = zip(*rows, strict=True)
        return tuple(
            np.stack([np.asarray(x) for x in column], dim)
            for column, dim in zip(columns, level.out_dims, strict=True)
        )

    return run


def _warned(messages: list[Any], text: str) -> bool:
    return any(text in str(m.message) for m in messages)


def check(case: Case) -> None:
    eager = mapped = case.program.function()
    for level in case.maps:
        eager = looped(eager, level)
        mapped = lw.vmap(mapped, tuple(level.in_dims), level.out_dims, chunk_size=level.chunk)
    error = None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            expected = eager(*[a.copy() for a in case.arrays])
        except Exception as e:
            error = e
    # What a float beyond an integer's range becomes differs between NumPy's own loops.
    assume(not _warned(caught, "invalid value encountered in cast"))
    arrays = [_cut(a, position, case.maps) for position, a in enumerate(case.arrays)]
    before = [a.copy() for a in arrays]
    is_empty = any(level.size == 0 for level in case.maps)
    if error is not None:
        assume(not is_empty)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mapped(*arrays)
            except Exception as other:
                if isinstance(error, type(other)):  # NumPy's own may be a private class below it
                    return
                raised = other
                is_write = not re.match(r"v\d+ = ", case.program.lines[-1])
                if is_write and isinstance(error, WRONG) and isinstance(raised, WRONG):
                    return  # several of index, shape, dtype and number were wrong
            else:
                # A scalar that an integer element cannot hold raises; an array does not, in NumPy
                # either, and a map has only arrays.
                assume(not re.search("cannot convert float|out of bounds for .?int", str(error)))
                raise AssertionError(f"nothing raised; the loop gives {error!r}")
        raise AssertionError(f"the loop gives {error!r}, but mapped: {raised!r}") from raised
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = mapped(*arrays)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y, err_msg="an argument was changed")
    for name, got, want in zip(case.program.outputs, results, expected, strict=True):
        assert type(got) is np.ndarray
        assert got.dtype == want.dtype, f"{name}: dtype {got.dtype}, the loop gives {want.dtype}"
        if is_empty:
            sizes = [n for n, m in zip(got.shape, want.shape, strict=True) if n != m]
            assert got.size == 0 and not any(sizes), f"{name}: {got.shape} for {want.shape}"
            continue
        assert got.shape == want.shape, f"{name}: shape {got.shape}, the loop gives {want.shape}"
        if name in case.program.rough and want.dtype.kind in "fc":
            _assert_close(name, got, want)
        else:
            np.testing.assert_array_equal(got, want, err_msg=name)


def _assert_close(name: str, got: np.ndarray, want: np.ndarray) -> None:
    finite = np.isfinite(got) & np.isfinite(want)
    got, want = got[finite], want[finite]
    tolerance = {2: 0.05, 4: 1e-3, 8: 1e-8}[want.real.dtype.itemsize]
    scale = float(np.abs(want).max(initial=1.0))
    np.testing.assert_allclose(got, want, tolerance, tolerance * scale, err_msg=name)


def _cut(array: np.ndarray, position: int, maps: list[Map]) -> np.ndarray:
    """Make a batch of none out of a batch of one, where the size is 0."""
    shape_axes = list(range(array.ndim))
    cut = array
    for level in maps[::-1]:
        dim = level.in_dims[position]
        if dim is None:
            continue
        axis = shape_axes.pop(dim)
        if level.size == 0:
            cut = np.take(cut, [], axis)
    return cut


@searching(150)
@given(cases())
def test_programs(case: Case) -> None:
    check(case)


@searching(35)
@given(random_numerics.cases())
def test_numerics(case: Case) -> None:
    check(case)
