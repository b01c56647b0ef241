"""``out=`` of another kind, another rank, or that overlaps: what NumPy gives, or what it raises."""

import numpy as np
import pytest

import lanewise as lw

XS = np.random.default_rng(0).uniform(-3, 3, (3, 4))
KINDS = [np.float64, np.float32, np.int64, np.int8, bool, np.complex128]
REDUCTIONS = [
    np.std, np.var, np.mean, np.median, np.argmax, np.argmin, np.sum, np.prod, np.max, np.any,
    np.all, np.nanmean, np.nansum, np.nanstd, np.nanmax, np.nanargmax, np.nanmedian,
    lambda x, out: np.quantile(x, 0.3, out=out), lambda x, out: np.percentile(x, 30, out=out),
]  # fmt: skip
RUNNING = [np.cumsum, np.cumprod, np.add.accumulate, np.nancumsum, np.sqrt, np.negative]


def outcome(f, *args):
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except TypeError as error:
            return type(error).__mro__[-3:], "Cannot cast" in str(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(REDUCTIONS) + len(RUNNING)))
def test_kinds(number, kind):
    function = [*REDUCTIONS, *RUNNING][number]
    shape = () if number < len(REDUCTIONS) else (4,)

    def f(x):
        out = np.zeros(shape, kind)
        function(x, out=out)
        return out

    traced = lw.function(f)
    want = outcome(lambda xs: np.stack([f(x) for x in xs]), np.abs(XS))
    for got in (
        outcome(lw.vmap(f), np.abs(XS)),
        outcome(lambda xs: np.stack([traced(x) for x in xs]), np.abs(XS)),
    ):
        if isinstance(want, tuple):
            assert got == want
        else:
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-12)


OVERLAPPING = [
    lambda w, b: np.concatenate([w[2:], w[:2]], out=w),
    lambda w, b: np.concatenate([w[1:], w[:1]], out=w),
    lambda w, b: np.stack([w[2:], w[:2]], out=w.reshape(2, 2)),
    lambda w, b: np.stack([w[2:], w[:2]], axis=1, out=w.reshape(2, 2)),
    lambda w, b: np.divmod(w, b, b, w),
    lambda w, b: np.modf(w[:2], w[2:], w[:2]),
    lambda w, b: np.vecdot(b.reshape(2, 2), w.reshape(2, 2), out=w[:2]),
    lambda w, b: np.matmul(w.reshape(2, 2), b.reshape(2, 2), out=w.reshape(2, 2).T),
    lambda w, b: np.add(w[:-1], w[1:], out=w[1:]),
    lambda w, b: np.cumsum(w[::-1], out=w),
    lambda w, b: np.take(w, [3, 2, 1, 0], out=w, mode="clip"),
    lambda w, b: np.clip(w[::-1], w, b, out=w),
]


@pytest.mark.parametrize("number", range(len(OVERLAPPING)))
def test_overlapping(number):
    write = OVERLAPPING[number]

    def f(x):
        w, b = x.copy(), np.array([2.0, 3.0, 4.0, 5.0])
        write(w, b)
        return np.concatenate([w, b])

    want = np.stack([f(x) for x in XS])
    np.testing.assert_allclose(lw.vmap(f)(XS), want, rtol=1e-13)
    np.testing.assert_allclose([lw.function(f)(x) for x in XS], want, rtol=1e-13)


@pytest.mark.parametrize(
    "write", [lambda w: np.modf(w, w, w), lambda w: np.divmod(w[1:3], 2.0, w[:2], w[1:3])]
)
def test_two_results_in_one_place_are_refused(write):
    def f(x):
        w = x.copy()
        write(w)
        return w

    with pytest.raises(lw.UnsupportedError, match="writes two results to one place"):
        lw.vmap(f)(XS)


def test_rank():
    def f(x):
        return np.concatenate([x], out=np.zeros((1, 4)))

    with pytest.raises(ValueError, match="wrong dimensionality"):
        lw.vmap(f)(XS)
