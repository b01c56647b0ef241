"""Convolution, gradients, sliding windows, and the ``poly*`` functions."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.oracle import assert_maps, assert_maps_everywhere

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 9))
B = rng.normal(size=(3, 4))
F = rng.normal(size=(3, 4, 5))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(9, 4), (4, 9), (5, 5), (1, 1), (6, 1), (1, 3), (3, 2)])
def test_convolve_and_correlate(mode, sizes):
    a, b = rng.normal(size=(3, sizes[0])), rng.normal(size=(3, sizes[1]))

    def func(a, b):
        return np.convolve(a, b, mode), np.correlate(a, b, mode)

    assert_maps_everywhere(func, a, b, atol=1e-13)
    assert_maps(func, a + 1j * a[:, ::-1], b - 2j * b, atol=1e-13)
    assert_maps(func, a, b - 2j * b, atol=1e-13)
    assert_maps(func, (a * 9).astype(np.int8), (b * 99).astype(np.int8))
    assert_maps(func, a > 0, b > 0)
    assert_maps(func, a.astype(np.float32), (b * 9).astype(np.int64), atol=1e-4)


def test_convolve_at_borders_does_not_mix_in_zeros():
    b = B.copy()
    b[0, 1], b[1, 0], b[2, 3] = np.inf, np.nan, -np.inf
    for mode in ("full", "same", "valid"):
        assert_maps(lambda a, b: (np.convolve(a, b, mode), np.correlate(b, a, mode)), A, b)  # noqa: B023
        assert_maps(lambda a, b: (np.convolve(a, b, mode), np.correlate(b, a, mode)), b, A)  # noqa: B023


def test_convolve_defaults_and_numbers():
    assert_maps(lambda a, b: (np.convolve(a, b), np.correlate(a, b), np.convolve(a, 2.0)), A, B)
    assert_maps(lambda a: np.convolve(a, [1, 2, 3], "same"), A)


GRADIENTS = {
    "plain": lambda f, h, c: np.gradient(f),
    "spacing": lambda f, h, c: np.gradient(f, 2),
    "float32 spacing": lambda f, h, c: np.gradient(f, np.float32(0.5)),
    "spacings": lambda f, h, c: np.gradient(f, 2.0, 0.5),
    "coordinates": lambda f, h, c: np.gradient(f, [0, 1, 3, 7], np.array([0.0, 1, 2, 3, 4])),
    "coordinates and axis": lambda f, h, c: np.gradient(f, [0.0, 1.5, 3, 3.5, 9], axis=1),
    "axis": lambda f, h, c: np.gradient(f, axis=-1),
    "axes": lambda f, h, c: np.gradient(f, 2, 3, axis=(1, 0)),
    "second order": lambda f, h, c: np.gradient(f, edge_order=2),
    "second order uneven": lambda f, h, c: np.gradient(f, [0, 1, 3, 7], 2, edge_order=2),
    "spacing of data": lambda f, h, c: np.gradient(f, h),
    "coordinates of data": lambda f, h, c: np.gradient(f, h, c),
    "second order of data": lambda f, h, c: np.gradient(f, c, axis=1, edge_order=2),
    "of a row": lambda f, h, c: np.gradient(f[0], c),
}


@pytest.mark.parametrize("func", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_gradient(func):
    h = rng.uniform(1, 2, 3)
    c = np.cumsum(rng.uniform(0.5, 2, (3, 5)), 1)
    assert_maps_everywhere(func, F, h, c, atol=1e-12)
    assert_maps(func, (F * 9).astype(np.int8), h, c, atol=1e-12)
    assert_maps(func, F.astype(np.float32), h, c, rtol=1e-5, atol=1e-5)
    assert_maps(func, F + 1j, h, c, atol=1e-12)
    assert_maps(func, (F * 9).astype(np.uint8), h, (c * 9).astype(int), atol=1e-12)


def test_sliding_window_view():
    window = np.lib.stride_tricks.sliding_window_view

    def func(f):
        y = f.copy()
        early = window(y, (2, 3))
        y += 1
        return early, window(f, 3, axis=1), window(f, (2, 2), axis=(0, 0)), window(f[0], 5)

    assert_maps_everywhere(func, F)
    with pytest.raises(ValueError, match="read-only"):
        lw.vmap(lambda f: window(f[0], 2).__setitem__(0, 1))(F)
    with pytest.raises(UnsupportedError):
        lw.vmap(lambda f: window(f[0], 2, writeable=True))(F)


POLYNOMIALS = {
    "polyval": lambda p, q: (np.polyval(p, q), np.polyval(p, 2.0), np.polyval([1, 2, 3], q)),
    "polyval of poly1d": lambda p, q: np.polyval(np.poly1d([1, 2, 3]), q),
    "poly1d called": lambda p, q: np.poly1d([1, 2, 3])(q),
    "polyval of a matrix": lambda p, q: np.polyval(p, np.outer(q, q)),
    "polyder": lambda p, q: (np.polyder(p), np.polyder(p, 2), np.polyder(q, 0), np.polyder(q, 9)),
    "polyint": lambda p, q: (
        np.polyint(p), np.polyint(p, 2), np.polyint(p, 2, k=3), np.polyint(p, 2, k=q[:2]),
        np.polyint(q, 0), np.polyint(q, k=[2.0]),
    ),
    "polyadd": lambda p, q: (
        np.polyadd(p, q), np.polyadd(q, p), np.polyadd(p, 1), np.polyadd(p, p)
    ),
    "polysub": lambda p, q: (np.polysub(p, q), np.polysub(q, [1, 2]), np.polysub(1, q)),
    "polymul": lambda p, q: (np.polymul(p, q), np.polymul([0, 0, 1, 2], q), np.polymul(q, 3)),
    "polydiv": lambda p, q: (np.polydiv(p, q), np.polydiv(q, p), np.polydiv(p, [2.0, 1])),
    "poly": lambda p, q: (np.poly(q), np.poly(np.outer(q, q) + np.diag(q)), np.poly(q[:1])),
    "roots": lambda p, q: roots(q),
}  # fmt: skip


def roots(q):
    """In an order that does not depend on rounding, and complex in the loop too."""
    found = np.roots(q)
    return np.stack([np.sum(found**k).real for k in range(1, 4)])


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    func = POLYNOMIALS[name]
    assert_maps_everywhere(func, A[:, :6].copy(), B, rtol=1e-9, atol=1e-9)
    if name not in ("poly", "roots", "polydiv"):
        assert_maps(func, (A[:, :6] * 9).astype(int) | 1, (B * 9).astype(int) | 1)
        assert_maps(func, A[:, :6].astype(np.float32), B.astype(np.float32), rtol=1e-4)
        assert_maps(func, A[:, :6] + 1j, B - 1j)


def test_polyfit():
    x, y = np.sort(rng.normal(size=(3, 9)), 1), rng.normal(size=(3, 9))

    def func(x, y):
        return (np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=x + 3), np.polyfit(x, y, 0),
                np.polyfit(x, np.stack([y, y**2], 1), 2), np.polyfit(x, y, 2, cov=True),
                np.polyfit(x, y, 1, cov="unscaled"))  # fmt: skip

    assert_maps_everywhere(func, x, y, rtol=1e-9, atol=1e-9)
    with pytest.raises(UnsupportedError, match="lstsq"):
        lw.vmap(lambda x, y: np.polyfit(x, y, 1, full=True))(x, y)


BAD = {
    "convolve empty": lambda x: np.convolve(x, x[:0]),
    "convolve rank": lambda x: np.convolve(x, x[None]),
    "convolve mode": lambda x: np.convolve(x, x, "most"),
    "correlate empty": lambda x: np.correlate(x[:0], x),
    "gradient small": lambda x: np.gradient(x[:1]),
    "gradient edge_order": lambda x: np.gradient(x, edge_order=3),
    "gradient count": lambda x: np.gradient(x, 1, 2),
    "gradient length": lambda x: np.gradient(x, [1, 2]),
    "gradient rank": lambda x: np.gradient(x, np.ones((2, 2))),
    "gradient axis": lambda x: np.gradient(x, axis=1),
    "window": lambda x: np.lib.stride_tricks.sliding_window_view(x, 10),
    "window negative": lambda x: np.lib.stride_tricks.sliding_window_view(x, -1),
    "window axes": lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
    "polyder": lambda x: np.polyder(x, -1),
    "polyint": lambda x: np.polyint(x, -1),
    "polyint constants": lambda x: np.polyint(x, 3, k=[1, 2]),
    "poly": lambda x: np.poly(x[None]),
    "roots": lambda x: np.roots(x[None]),
    "polyfit degree": lambda x: np.polyfit(x, x, -1),
    "polyfit lengths": lambda x: np.polyfit(x, x[:3], 1),
    "polyfit rank": lambda x: np.polyfit(x[None], x, 1),
    "polyfit weights": lambda x: np.polyfit(x, x, 1, w=x[:2]),
    "polyfit points": lambda x: np.polyfit(x[:2], x[:2], 1, cov=True),
}


@pytest.mark.parametrize("func", BAD.values(), ids=BAD.keys())
def test_errors_are_those_of_numpy(func):
    kinds = (np.exceptions.AxisError, IndexError, ValueError, TypeError)
    with pytest.raises(kinds) as eager:
        func(A[0])
    kind = next(k for k in kinds if isinstance(eager.value, k))
    with pytest.raises(kind):
        lw.vmap(func)(A)


def test_roots_of_data_need_a_leading_coefficient():
    with pytest.raises(ValueError, match="leading"):
        lw.vmap(np.roots)(np.array([[1.0, 2, 3], [0, 1, 2]]))
