"""Random programs without a batch, traced and run both ways, against their plain Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import hypothesis
import numpy as np

import lanewise as lw
from compose.test_random_control_flow import REFUSED, Notes
from support import random_control_flow, random_programs
from support.searching import searching

#: By the bytes of a float: how far sums in another order may be off.
TOLERANCE = {2: 0.05, 4: 1e-3, 8: 1e-8}


def outcome(call: Any) -> tuple[Any, Exception | None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except Exception as error:
            return None, error


def first_examples(case: Any) -> list[np.ndarray]:
    """Return the arguments of a case without their batches."""
    arrays = list(case.arrays)
    for level in reversed(case.maps):
        arrays = [
            a if dim is None else np.take(a, 0, dim)
            for a, dim in zip(arrays, level.in_dims, strict=True)
        ]
    return [np.asarray(a) for a in arrays]


def assert_close(got: Any, want: Any, is_rough: bool) -> None:
    assert np.shape(got) == np.shape(want)
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    if want.dtype.kind not in "fc" or not is_rough:
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(got) & np.isfinite(want)
    tolerance = TOLERANCE[want.real.dtype.itemsize]
    scale = float(np.abs(want[finite]).max(initial=1.0))
    np.testing.assert_allclose(got[finite], want[finite], tolerance, tolerance * scale)


def given(arrays: Sequence[np.ndarray]) -> list[Any]:
    """Return arguments that may be written to: what has no dimensions is a scalar, as in a loop."""
    return [a.copy()[()] for a in arrays]


def test_programs(backend: str) -> None:
    @searching(12)
    @hypothesis.given(random_programs.cases())
    def check(case: Any) -> None:
        arrays = first_examples(case)
        f = case.program.function()
        left = given(arrays)
        want, error = outcome(lambda: f(*left))
        traced = lw.function(f)
        for _ in range(3):
            written = given(arrays)
            got, other = outcome(lambda written=written: traced(*written))
            if error is not None:
                assert other is not None, f"nothing raised; Python gives {error!r}"
                return
            assert other is None, f"only the trace raises {other!r}"
            for a, b in zip(written, left, strict=True):
                assert_close(a, b, bool(case.program.rough) or backend == "native")
            for name, g, w in zip(case.program.outputs, got, want, strict=True):
                # Of kernels the mathematics are their own, see docs/native.md.
                assert_close(g, w, name in case.program.rough or backend == "native")

    check()


def of_any_size(case: Any) -> tuple[lw.TensorSpec, ...]:
    """Return a signature for a case that names its sizes: those that are equal have one name."""
    return tuple(
        lw.TensorSpec([f"n{n}" if n > 1 else n for n in a.shape], a.dtype)
        for a in first_examples(case)
    )


def check_any_size(case: Any) -> None:
    """Trace a program for any size, and compare what it gives where it is traced."""
    arrays = first_examples(case)
    f = case.program.function()
    want, error = outcome(lambda: f(*given(arrays)))
    traced = lw.function(f, input_signature=of_any_size(case))
    for _ in range(3):
        got, other = outcome(lambda: traced(*given(arrays)))
        if "while tracing" in str(other):  # it is meant for certain sizes, or asks for them
            return
        if error is not None:
            assert other is not None, f"nothing raised; Python gives {error!r}"
            return
        assert other is None, f"only the trace raises {other!r}"
        for name, g, w in zip(case.program.outputs, got, want, strict=True):
            # Kernels for any size add up in an order of their own.
            assert_close(g, w, True)
            assert name in case.program.outputs


def test_programs_of_any_size(backend: str) -> None:
    searching(15)(hypothesis.given(random_programs.cases())(check_any_size))()


def test_control_flow(backend: str) -> None:
    @searching(6)
    @hypothesis.given(random_control_flow.cases())
    def check(case: Any) -> None:
        arrays = first_examples(case)
        called, seen = Notes(), Notes()
        want, error = outcome(lambda: case.function(called)(*given(arrays)))
        traced = lw.function(case.function(seen))
        for _ in range(3):
            seen.calls.clear()
            got, other = outcome(lambda: traced(*given(arrays)))
            if isinstance(other, lw.UnsupportedError) and re.search(REFUSED, str(other)):
                return
            if error is not None:
                assert type(other).__name__ == type(error).__name__, (other, error)
                return
            assert other is None, f"only the trace raises {other!r}"
            assert seen.calls == called.calls
            results = want if isinstance(want, tuple) else (want,)
            for g, w in zip(got if isinstance(got, tuple) else (got,), results, strict=True):
                assert_close(g, w, False)

    check()
