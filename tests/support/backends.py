"""Runs a call in both backends, and compares them: the interpreter defines the meaning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optree

from lanewise.ir.graph import Operation
from lanewise.ops.regions import NATIVE
from lanewise.runtime import dispatch, failed, kernels

#: Units in the last place by which floats of one operation may differ: NumPy's own functions are
#: up to 4 of them off, and so may be the kernels', to the other side.
ULP = 8


@contextmanager
def backend(name: str) -> Generator[None]:
    """Force a backend while the ``with`` block lasts."""
    before = os.environ.get("LANEWISE_BACKEND")
    os.environ["LANEWISE_BACKEND"] = name
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ["LANEWISE_BACKEND"]
        else:
            os.environ["LANEWISE_BACKEND"] = before


class Kernels:
    """What ran natively: the maps, and how often kernels gave up though nothing was wrong."""

    def __init__(self) -> None:
        self.maps: list[Operation] = []
        self.given_up = 0
        failed.left.examples = 0

    @property
    def cautious(self) -> int:
        """How many examples, or calls, were left to NumPy and did not raise."""
        return self.given_up + failed.left.examples

    @property
    def primitives(self) -> set[str]:
        """The names of the primitives that stood in kernels."""
        found: set[str] = set()
        graphs = [region for op in self.maps for region in op.regions]
        while graphs:
            for op in graphs.pop().operations:
                found.add(op.primitive.name)
                graphs += op.regions
        return found


@contextmanager
def watched() -> Generator[Kernels]:
    """Force the native backend, and note what is compiled and what gives up."""
    seen = Kernels()
    compile_map, interpret = kernels.native, dispatch._interpret

    def native(op: Operation, free: Any = ()) -> Any:
        assert op.params["order"] == NATIVE
        seen.maps.append(op)
        return compile_map(op, free)

    def interpreted(*arguments: Any) -> Any:
        found = interpret(*arguments)
        seen.given_up += 1
        return found

    kernels.native, dispatch._interpret = native, interpreted  # ty: ignore[invalid-assignment]
    try:
        with backend("native"):
            yield seen
    finally:
        kernels.native, dispatch._interpret = compile_map, interpret


def outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return what a call gives, and what it raises."""
    try:
        return call(), None
    except Exception as error:
        return None, error


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return by how many units in the last place floats differ; NaN differs from numbers only."""
    bits = np.dtype(f"i{want.dtype.itemsize}")

    def ordered(x: np.ndarray) -> np.ndarray:
        whole = np.where(np.isnan(x), np.full_like(x, np.nan), np.abs(x)).view(bits)
        return np.where(np.signbit(x) & ~np.isnan(x), -whole, whole)

    a, b = ordered(np.ascontiguousarray(got)), ordered(np.ascontiguousarray(want))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return high.astype(np.uint64) - low.astype(np.uint64)


def assert_equal(got: Any, want: Any, exact: bool = True) -> None:
    """Assert that results are the same: their structure, dtypes, shapes and values.

    Integers and truth values are compared to the bit, floats to the bit but for the bits of NaN;
    if they need not be `exact`, floats may be `ULP` off.
    """
    found, structure = optree.tree_flatten(got)
    expected, other = optree.tree_flatten(want)
    assert structure == other
    for g, w in zip(found, expected, strict=True):
        assert type(g) is np.ndarray
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        for part in ("real", "imag") if w.dtype.kind == "c" else ("real",):
            a, b = getattr(g, part), getattr(w, part)
            if w.dtype.kind not in "fc" or w.dtype.char in "gG":
                np.testing.assert_array_equal(a, b)
                continue
            off = ulps(a, b)
            if off.max(initial=0) > (0 if exact else ULP):
                worst = np.unravel_index(off.argmax(), off.shape)
                raise AssertionError(
                    f"{off.max()} ULP at {tuple(map(int, worst))}: {g[worst]!r} for {w[worst]!r}"
                )


def assert_close(got: Any, want: Any, tolerance: float) -> None:
    """Assert as `assert_equal`, but floats only up to a part of the largest of them."""
    for g, w in zip(optree.tree_leaves(got), optree.tree_leaves(want), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        if w.dtype.kind not in "fc":
            np.testing.assert_array_equal(g, w)
            continue
        finite = np.isfinite(w)
        scale = float(np.abs(w[finite]).max(initial=0.0))
        np.testing.assert_allclose(g, w, tolerance, tolerance * scale)


def assert_same_outcome(call: Callable[[], Any], exact: bool = True) -> Kernels:
    """Assert that a call gives, or raises, in both backends the same; return what was compiled."""
    with backend("interpret"):
        want, error = outcome(call)
    with watched() as seen:
        got, other = outcome(call)
    assert_same_error(other, error)
    if error is None:
        assert_equal(got, want, exact)
    return seen


def assert_same_error(got: Exception | None, want: Exception | None) -> None:
    """Assert that errors are of one type, and say the same."""
    if want is None and got is not None:
        raise AssertionError(f"only the kernels raise {got!r}") from got
    if want is not None and got is None:
        raise AssertionError(f"only the interpreter raises {want!r}") from want
    assert type(got) is type(want), (got, want)
    assert str(got) == str(want)


def layouts(x: np.ndarray) -> Sequence[np.ndarray]:
    """Return an array in every layout that memory has: the same numbers."""
    wide = np.repeat(x[..., None], 2, axis=-1)
    locked = x.copy()
    locked.flags.writeable = False
    swapped = x.astype(x.dtype.newbyteorder()) if x.dtype.itemsize > 1 else x
    unaligned = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    return [
        np.ascontiguousarray(x), np.asfortranarray(x), wide[..., 1], np.flip(np.flip(x).copy()),
        locked, swapped, unaligned,
    ]  # fmt: skip
