"""All of ``np.fft``."""

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_maps_everywhere, assert_refused_alike

RNG = np.random.default_rng(5)
NORMS = [None, "backward", "ortho", "forward"]
REAL_ONLY = ("rfft", "ihfft", "rfft2", "rfftn")
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]


def draw(*shape, dtype="f8"):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "g", "c16", "c8", "i8", "i1", "?"])
@pytest.mark.parametrize("name", LINES + PLANES)
def test_dtypes(name, dtype):
    if dtype in ("c16", "c8") and name in REAL_ONLY:
        assert_refused_alike(getattr(np.fft, name), draw(3, 4, 5, dtype=dtype))
        return
    function = getattr(np.fft, name)
    rtol = {"f2": 1e-2, "f4": 1e-5, "c8": 1e-5}.get(dtype, 1e-12)
    assert_maps(function, draw(3, 4, 5, dtype=dtype), rtol=rtol)
    assert_maps(function, draw(4, 2, 3, 3, dtype=dtype), in_dims=-1, rtol=rtol)


@pytest.mark.parametrize(
    ("name", "axis", "n", "norm"),
    [
        (name, axis, n, NORMS[(i + j + k) % len(NORMS)])
        for i, name in enumerate(LINES)
        for j, axis in enumerate((-1, 0, 1))
        for k, n in enumerate((None, 1, 2, 4, 7))
    ],
)
def test_lines(name, axis, n, norm):
    function = getattr(np.fft, name)
    x = draw(3, 4, 5, dtype="f8" if name in REAL_ONLY else "c16")
    assert_maps(lambda x: function(x, n, axis, norm), x)


SIZES_AND_AXES = [
    (None, (0, 1)),
    ((3, 4), (0, 2)),
    ((7, 2), (-1, 1)),
    ((-1, 3), (0, 1)),
    (None, (2,)),
    (None, (0, 0)),
    ([2, 3], [1, 0]),
]


@pytest.mark.parametrize(
    ("name", "s", "axes", "norm"),
    [
        (name, s, axes, NORMS[(i + j) % len(NORMS)])
        for i, name in enumerate(PLANES)
        for j, (s, axes) in enumerate(SIZES_AND_AXES)
    ],
)
def test_planes(name, s, axes, norm):
    function = getattr(np.fft, name)
    x = draw(2, 3, 4, 5, dtype="f8" if name in REAL_ONLY else "c16")
    assert_maps(lambda x: function(x, s, axes, norm), x)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_all_axes(name):
    assert_maps(getattr(np.fft, name), draw(2, 3, 4))
    with pytest.warns(DeprecationWarning):
        lw.vmap(lambda x: getattr(np.fft, name)(x, (3, 3)))(draw(2, 3, 4))
    with pytest.warns(DeprecationWarning):
        lw.vmap(lambda x: getattr(np.fft, name)(x, (None, 3), (0, 1)))(draw(2, 3, 4))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_deprecated_shapes(name):
    assert_maps(lambda x: getattr(np.fft, name)(x, (3, 3)), draw(2, 3, 4))
    assert_maps(lambda x: getattr(np.fft, name)(x, (None, 3), (0, 1)), draw(2, 3, 4))


@pytest.mark.parametrize("name", LINES + PLANES)
def test_layouts(name):
    assert_maps_everywhere(getattr(np.fft, name), draw(3, 4, 4))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, -1, (0,), (0, 1), [1]])
def test_shifts(name, axes):
    function = getattr(np.fft, name)
    assert_maps(lambda x: function(x, axes), draw(3, 4, 5))
    assert_maps(lambda x: function(x, axes), draw(3, 1, 0))


def test_frequencies_are_plain_arrays():
    assert_maps(lambda x: np.fft.fft(x) * np.fft.fftfreq(x.size, 0.1), draw(3, 5))
    assert_maps(lambda x: np.fft.rfft(x) * np.fft.rfftfreq(len(x)), draw(3, 6))


def test_special_values():
    x = np.array([[1, np.nan, 2], [np.inf, 1, 0], [0.0, -0.0, 0.0]])
    assert_maps(np.fft.fft, x)
    assert_maps(np.fft.irfft, x)


@pytest.mark.parametrize("name", [*LINES, *PLANES])
def test_out(name):
    function = getattr(np.fft, name)
    x = draw(3, 4, 4)

    def run(x):
        out = np.zeros_like(x, shape=function(x).shape, dtype=function(x).dtype)
        return function(x, out=out), out

    assert_maps(run, x)


ERRORS = {
    "points": lambda x: np.fft.fft(x, 0),
    "points-empty": lambda x: np.fft.fft(x[:0], axis=0),
    "points-one": lambda x: np.fft.irfft(x[:, :1]),
    "points-float": lambda x: np.fft.fft(x, 2.0),
    "norm": lambda x: np.fft.fft(x, norm="x"),
    "norm-inverse": lambda x: np.fft.irfft(x, norm="x"),
    "norm-hfft": lambda x: np.fft.hfft(x, norm="x"),
    "axis": lambda x: np.fft.fft(x, axis=2),
    "axis-points": lambda x: np.fft.fft(x, 3, axis=2),
    "scalar": lambda x: np.fft.fft(x[0, 0]),
    "complex": lambda x: np.fft.rfft(x * 1j),
    "lengths": lambda x: np.fft.fft2(x, (1, 2), (0,)),
    "axes": lambda x: np.fft.fft2(x, axes=(0, 2)),
    "rank": lambda x: np.fft.fft2(x[0]),
    "shift-axis": lambda x: np.fft.fftshift(x, 2),
    "out-shape": lambda x: np.fft.fft(x, out=np.zeros_like(x, shape=(2, 2), dtype=complex)),
    "out-dtype": lambda x: np.fft.fft(x, out=np.zeros_like(x)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    x = draw(2, 3, 4)
    with pytest.raises(Exception) as plain:
        ERRORS[name](x[0])
    kind = plain.type if not plain.type.__name__.startswith(("_", "UFunc")) else TypeError
    with pytest.raises(kind):
        lw.vmap(ERRORS[name])(x)


def test_a_traced_length_is_refused():
    with pytest.raises(lw.ConcretizationError, match="length"):
        lw.vmap(lambda x, n: np.fft.fft(x, n))(draw(2, 4), np.array([2, 3]))
