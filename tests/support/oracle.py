"""The oracle of all tests of mapping: NumPy on one example at a time, results stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree
import pytest

import lanewise as lw

#: Relative tolerance by dtype character: a few ULP times the lengths that tests sum over.
TOLERANCE = {"e": 4e-3, "f": 2e-5, "d": 1e-12, "F": 2e-5, "D": 1e-12, "g": 1e-12, "G": 1e-12}


def example(args: Sequence[Any], in_dims: Sequence[int | None], index: int) -> list[Any]:
    """Return one example's arguments, as copies."""
    return [
        np.copy(a) if axis is None else np.take(a, index, axis)
        for a, axis in zip(args, in_dims, strict=True)
    ]


def loop(func: Callable[..., Any], args: Sequence[Any], in_dims: Sequence[int | None]) -> Any:
    """Return the stacked results of ``func`` on every example."""
    sizes = {np.shape(a)[axis] for a, axis in zip(args, in_dims, strict=True) if axis is not None}
    (size,) = sizes
    with np.errstate(all="ignore"):
        results = [func(*example(args, in_dims, i)) for i in range(size)]
    flat = [optree.tree_flatten(r)[0] for r in results]
    structure = optree.tree_structure(results[0])
    stacked = [
        np.stack([np.asarray(leaf) for leaf in leaves]) for leaves in zip(*flat, strict=True)
    ]
    return optree.tree_unflatten(structure, stacked)


def assert_same(got: Any, expected: Any, rtol: float | None = None, atol: float = 0.0) -> None:
    """Assert equal structure, dtype, shape and values (exact but for rounding of floats)."""
    got_leaves, got_structure = optree.tree_flatten(got)
    expected_leaves, structure = optree.tree_flatten(expected)
    assert got_structure == structure
    for g, e in zip(got_leaves, expected_leaves, strict=True):
        e = np.asarray(e)
        assert type(g) is np.ndarray, f"a result is a {type(g).__name__}"
        assert g.dtype == e.dtype, f"dtype {g.dtype}, NumPy gives {e.dtype}"
        assert g.shape == e.shape, f"shape {g.shape}, NumPy gives {e.shape}"
        assert g.flags.writeable
        if e.dtype.kind in "fc":
            tolerance = TOLERANCE[e.dtype.char] if rtol is None else rtol
            scale = np.abs(e[np.isfinite(e)]).max(initial=0.0)
            absolute = atol or tolerance * float(scale)
            np.testing.assert_array_equal(np.isnan(g), np.isnan(e))
            # Apart: beside an infinity the other part is rounded too; beside NaN it is anything.
            for part in ("real", "imag") if e.dtype.kind == "c" else ("real",):
                x, y = (np.where(np.isnan(z), np.nan, getattr(z, part)) for z in (g, e))
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=absolute)
        else:
            np.testing.assert_array_equal(g, e)


def assert_maps(
    func: Callable[..., Any],
    *args: Any,
    in_dims: Any = 0,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Assert that ``vmap(func)`` gives what the loop gives, inputs unchanged."""
    dims = (in_dims,) * len(args) if isinstance(in_dims, int) else tuple(in_dims)
    before = [np.copy(a) for a in args]
    with np.errstate(all="ignore"):
        got = lw.vmap(func, in_dims=dims)(*args)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert_same(got, loop(func, args, dims), rtol, atol)


def assert_maps_everywhere(
    func: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float = 0.0
) -> None:
    """Assert `assert_maps` for many ways to lay out and map batches; axis 0 of `args` is the batch.

    Batch first, batch last with negative strides in Fortran's order, one argument unmapped in turn,
    a batch of one, an empty batch of read-only inputs, and two nested maps over different axes.
    """
    args = tuple(np.asarray(a) for a in args)
    options: dict[str, Any] = {"rtol": rtol, "atol": atol}
    assert_maps(func, *args, **options)
    last = [np.moveaxis(np.asfortranarray(a)[::-1], 0, -1) for a in args]
    assert_maps(func, *last, in_dims=-1, **options)
    if len(args) > 1:
        for unmapped in range(len(args)):
            mixed = [a[0] if i == unmapped else a for i, a in enumerate(args)]
            dims = [None if i == unmapped else 0 for i in range(len(args))]
            assert_maps(func, *mixed, in_dims=dims, **options)
    first = [a[:1] for a in args]
    one = lw.vmap(func)(*first)
    assert_same(one, loop(func, first, (0,) * len(args)), rtol, atol)
    for a in args:
        a.flags.writeable = False
    empty = lw.vmap(func)(*[a[:0] for a in args])
    for e, o in zip(optree.tree_leaves(empty), optree.tree_leaves(one), strict=True):
        assert e.shape == (0, *o.shape[1:]) and e.dtype == o.dtype
    twice = [np.stack([a, a[::-1], a], axis=-1) for a in args]
    with np.errstate(all="ignore"):
        nested = lw.vmap(lw.vmap(func), in_dims=-1)(*twice)
    expected = [loop(func, [t[..., k] for t in twice], (0,) * len(args)) for k in range(3)]
    stacked = optree.tree_map(lambda *leaves: np.stack(leaves), *expected)
    assert_same(nested, stacked, rtol, atol)


def assert_refused_alike(
    func: Callable[..., Any], *args: Any, error: type[Exception] = TypeError
) -> None:
    """Assert that the function raises this error on one example, and under `vmap`."""
    with pytest.raises(error):
        func(*[a[0] for a in args])
    with pytest.raises(error):
        lw.vmap(func)(*args)
