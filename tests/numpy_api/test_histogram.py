"""Counting: bincount, digitize, histograms."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import CutOffError, DataDependentShapeError
from support.oracle import assert_maps, assert_maps_everywhere
from support.pairing import in_turn

pytestmark = pytest.mark.filterwarnings("ignore:(Converting input from bool|invalid value)")

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(3, 30)), np.tile([-1.0, 0.0, 0.5, 1.0, 2.0], (3, 1))], axis=1)
W = RNG.normal(size=X.shape)
ARRAYS = {
    "f8": X,
    "f4": X.astype(np.float32),
    "f2": X.astype(np.float16),
    "i8": RNG.integers(-3, 4, X.shape),
    "i1": RNG.integers(-100, 100, X.shape).astype(np.int8),
    "u1": RNG.integers(0, 200, X.shape).astype(np.uint8),
    "bool": X > 0,
}
HISTOGRAM = {
    "default": np.histogram,
    "number": lambda x: np.histogram(x, 4),
    "range": lambda x: np.histogram(x, 7, (-1.0, 1.0)),
    "range-ints": lambda x: np.histogram(x, bins=5, range=(-2, 3)),
    "range-one": lambda x: np.histogram(x, bins=5, range=(1, 1)),
    "range-numpy": lambda x: np.histogram(x, 3, (np.float32(-1), np.float32(2.5))),
    "edges": lambda x: np.histogram(x, [-1.5, -1, 0, 0.5, 2]),
    "edges-ints": lambda x: np.histogram(x, np.arange(-2, 3)),
    "edges-repeated": lambda x: np.histogram(x, [-1, 0, 0, 1, 1]),
    "edges-two": lambda x: np.histogram(x, [0, 1]),
    "edges-one": lambda x: np.histogram(x, [0.0]),
    "density": lambda x: np.histogram(x, 4, density=True),
    "density-edges": lambda x: np.histogram(x, [-1, 0, 2, 2.5], density=True),
    "density-range": lambda x: np.histogram(x, 3, (-2, 2), density=True),
    "one": lambda x: np.histogram(x[:1], 3),
    "none": lambda x: np.histogram(x[:0], 3),
    "none-edges": lambda x: np.histogram(x[:0], [0, 1, 2]),
    "matrix": lambda x: np.histogram(np.reshape(x, (5, 7)), 6),
    "bin_edges": lambda x: np.histogram_bin_edges(x, 5),
    "bin_edges-range": lambda x: np.histogram_bin_edges(x, 5, (0, 1)),
}


@pytest.mark.parametrize(("name", "dtype"), in_turn(HISTOGRAM, ARRAYS))
def test_histogram(name, dtype):
    assert_maps(HISTOGRAM[name], ARRAYS[dtype])


WEIGHTED = {
    "default": lambda x, w: np.histogram(x, weights=w),
    "range": lambda x, w: np.histogram(x, 7, (-1.0, 1.0), weights=w),
    "edges": lambda x, w: np.histogram(x, [-1.5, -1, 0, 0.5, 2], weights=w),
    "density": lambda x, w: np.histogram(x, 4, weights=w, density=True),
    "density-edges": lambda x, w: np.histogram(x, [-1, 0, 2], None, True, w),
    "static-values": lambda x, w: np.histogram(np.linspace(-1, 1, 35), 4, weights=w),
    "static-weights": lambda x, w: np.histogram(x, 4, (-1, 1), weights=np.arange(35)),
}
WEIGHTS = {
    "f8": W, "f4": W.astype(np.float32), "i8": ARRAYS["i8"], "u1": ARRAYS["u1"],
    "c16": W + 1j * X, "c8": (W + 1j * X).astype(np.complex64), "f2": W.astype(np.float16),
}  # fmt: skip


@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name, dtype):
    # Sums of single and half precision depend on their order by their own rounding.
    rtol = {"f2": 2e-2, "f4": 2e-5, "c8": 2e-5}.get(dtype)
    assert_maps(WEIGHTED[name], X, WEIGHTS[dtype], rtol=rtol)


def test_weights_that_are_truth_values():
    assert_maps(WEIGHTED["range"], X, W > 0)


def test_values_that_are_not_numbers():
    x = X.copy()
    x[0, :3] = np.nan, np.inf, -np.inf
    assert_maps(HISTOGRAM["range"], x)
    assert_maps(HISTOGRAM["edges"], x)
    assert_maps(WEIGHTED["range"], x, W)
    assert_maps(WEIGHTED["edges"], x, W)


def test_values_at_the_edges_of_bins():
    edges = np.linspace(0.1, 0.7, 8)
    x = np.stack([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    assert_maps(lambda x: np.histogram(x, 7, (0.1, 0.7)), x)
    assert_maps(lambda x: np.histogram(x, 7), x)
    assert_maps(lambda x: np.histogram(x.astype(np.float32), 7, (0.1, 0.7)), x)


def test_traced_edges_and_range():
    edges = np.sort(RNG.normal(size=(3, 5)), axis=1)
    assert_maps(lambda x, e: np.histogram(x, e), X, edges)
    assert_maps(lambda x, e, w: np.histogram(x, e, weights=w), X, edges, W)
    assert_maps(lambda x, e: np.histogram(x, 4, (e[0], e[4])), X, edges)
    assert_maps(lambda x, e: np.histogram(x, 4, (-5.0, e[4]), density=True), X, edges)


def test_everywhere():
    assert_maps_everywhere(HISTOGRAM["number"], X)
    assert_maps_everywhere(HISTOGRAM["edges"], X)
    assert_maps_everywhere(WEIGHTED["range"], X, W)


Y = RNG.normal(size=X.shape)
MANY = {
    "2d": lambda x, y, w: np.histogram2d(x, y),
    "2d-bins": lambda x, y, w: np.histogram2d(x, y, bins=(3, 4)),
    "2d-range": lambda x, y, w: np.histogram2d(x, y, 4, [[-1, 1], [-2.0, 2.0]]),
    "2d-edges": lambda x, y, w: np.histogram2d(x, y, [-1, 0, 1, 2]),
    "2d-both": lambda x, y, w: np.histogram2d(x, y, [[-1, 0, 2], [-2, 0, 0.5, 1]]),
    "2d-mixed": lambda x, y, w: np.histogram2d(x, y, [3, np.array([-1.0, 0, 1])]),
    "2d-density": lambda x, y, w: np.histogram2d(x, y, 3, density=True),
    "2d-weights": lambda x, y, w: np.histogram2d(x, y, 3, weights=w),
    "2d-static": lambda x, y, w: np.histogram2d(x, np.linspace(-1, 1, 35), 3),
    "dd": lambda x, y, w: np.histogramdd(np.stack([x, y, w], axis=-1), bins=3),
    "dd-list": lambda x, y, w: np.histogramdd([x, y], bins=[2, 3], density=True),
    "dd-one": lambda x, y, w: np.histogramdd(x, bins=4),
    "dd-range": lambda x, y, w: np.histogramdd((x, y), 3, [(-1, 1), None], weights=w),
}


@pytest.mark.parametrize("name", MANY)
def test_more_dimensions(name):
    assert_maps(MANY[name], X, Y, W)
    assert_maps(MANY[name], ARRAYS["f4"], Y.astype(np.float32), ARRAYS["i8"])


def test_more_dimensions_everywhere():
    assert_maps_everywhere(MANY["2d-density"], X, Y, W)


COUNTS = RNG.integers(0, 6, (3, 9))
BINCOUNT = {
    "plain": lambda x, w: np.bincount(x, minlength=8),
    "weights": lambda x, w: np.bincount(x, w, 6),
    "small": lambda x, w: np.bincount(x.astype(np.int8), w.astype(np.float32), minlength=7),
    "unsigned": lambda x, w: np.bincount(x.astype(np.uint8), minlength=np.int64(7)),
    "bool": lambda x, w: np.bincount(x > 2, minlength=2),
    "none": lambda x, w: np.bincount(x[:0], minlength=3),
    "none-at-all": lambda x, w: np.bincount(x[:0]),
    "static": lambda x, w: np.bincount([0, 3, 1, 1, 0, 2, 7, 7, 7], w),
    "list": lambda x, w: np.bincount(x, weights=[1, 2, 3, 4, 5, 6, 7, 8, 9], minlength=6),
}


@pytest.mark.parametrize("name", BINCOUNT)
def test_bincount(name):
    assert_maps(BINCOUNT[name], COUNTS, RNG.normal(size=(3, 9)))


def test_bincount_everywhere():
    assert_maps_everywhere(BINCOUNT["weights"], COUNTS, RNG.normal(size=(3, 9)))


def test_bincount_out_of_range_says_what_to_do():
    with pytest.raises(CutOffError, match=r"(?s)larger minlength=, or clip.*in example [0-2]"):
        lw.vmap(lambda x: np.bincount(x, minlength=3))(COUNTS)
    with pytest.raises(DataDependentShapeError, match="lengths minlength that are not traced"):
        lw.vmap(lambda x: np.bincount(x, minlength=x[0]))(COUNTS)


DIGITIZE = {
    "plain": lambda x, b: np.digitize(x, [-1, 0, 0.5, 1]),
    "right": lambda x, b: np.digitize(x, np.array([-1, 0, 0.5, 1]), right=True),
    "falling": lambda x, b: np.digitize(x, [1, 0.5, 0, -1]),
    "falling-right": lambda x, b: np.digitize(x, [1, 0.5, 0, -1], True),
    "one": lambda x, b: np.digitize(x[0], [0]),
    "none": lambda x, b: np.digitize(x, []),
    "constant": lambda x, b: np.digitize(x, [0, 0, 0]),
    "traced": np.digitize,
    "traced-right": lambda x, b: np.digitize(x, b, right=True),
    "traced-falling": lambda x, b: np.digitize(x, b[::-1]),
    "of-static": lambda x, b: np.digitize([[0.0, -1], [3, np.nan]], b),
}


@pytest.mark.parametrize("name", DIGITIZE)
def test_digitize(name):
    bins = np.sort(RNG.normal(size=(3, 4)), axis=1)
    bins[1] = bins[1, ::-1]
    assert_maps(DIGITIZE[name], X, bins)
    assert_maps(DIGITIZE[name], ARRAYS["i8"], bins.astype(np.float32))


def test_digitize_everywhere():
    assert_maps_everywhere(np.digitize, X, np.sort(RNG.normal(size=(3, 4)), axis=1))


I = ARRAYS["i8"]  # noqa: E741
ERRORS = {
    "bins-zero": (lambda x: np.histogram(x, 0), ValueError),
    "bins-float": (lambda x: np.histogram(x, 2.5), TypeError),
    "bins-deep": (lambda x: np.histogram(x, [[1, 2]]), ValueError),
    "bins-falling": (lambda x: np.histogram(x, [2, 1]), ValueError),
    "bins-falling-traced": (lambda x: np.histogram(x, -np.sort(x)), ValueError),
    "bins-name": (lambda x: np.histogram(x, "no"), ValueError),
    "bins-name-weights": (lambda x: np.histogram(x, "auto", weights=x), TypeError),
    "range-order": (lambda x: np.histogram(x, 3, (2, 1)), ValueError),
    "range-order-traced": (lambda x: np.histogram(x, 3, (2, x[0] - 99)), ValueError),
    "range-infinite": (lambda x: np.histogram(x, 3, (0, np.inf)), ValueError),
    "not-finite": (lambda x: np.histogram(x / 0, 3), ValueError),
    "too-many": (lambda x: np.histogram(x, 3, (1e16, 1e16 + 2)), ValueError),
    "weights-shape": (lambda x: np.histogram(x, 3, weights=x[:2]), ValueError),
    "weights-bool": (lambda x: np.histogram(x, [0, 1], weights=x > 0), TypeError),
    "2d-lengths": (lambda x: np.histogram2d(x, x[:2]), ValueError),
    "dd-bins": (lambda x: np.histogramdd([x, x], [1, 2, 3]), ValueError),
    "dd-range": (lambda x: np.histogramdd([x, x], 3, [(0, 1)]), ValueError),
    "dd-zero": (lambda x: np.histogramdd([x, x], 0), ValueError),
    "dd-float": (lambda x: np.histogramdd([x, x], 1.5), TypeError),
    "dd-falling": (lambda x: np.histogramdd([x, x], [[2, 1], 3]), ValueError),
    "dd-deep": (lambda x: np.histogramdd([x, x], [[[1, 2]], 3]), ValueError),
    "dd-weights": (lambda x: np.histogramdd([x, x], 3, weights=x[:2]), ValueError),
    "bincount-floats": (lambda x: np.bincount(x / 2, minlength=9), TypeError),
    "bincount-negative": (lambda x: np.bincount(x - 9, minlength=9), ValueError),
    "bincount-deep": (lambda x: np.bincount(x[None], minlength=9), ValueError),
    "bincount-scalar": (lambda x: np.bincount(x[0], minlength=9), ValueError),
    "bincount-weights": (lambda x: np.bincount(abs(x), x[:2], minlength=9), ValueError),
    "bincount-complex": (lambda x: np.bincount(abs(x), x * 1j, minlength=9), TypeError),
    "bincount-minlength": (lambda x: np.bincount(abs(x), minlength=-1), ValueError),
    "bincount-none": (lambda x: np.bincount(abs(x), minlength=None), TypeError),
    "bincount-float": (lambda x: np.bincount(abs(x), minlength=2.0), TypeError),
    "digitize-complex": (lambda x: np.digitize(x * 1j, [1]), TypeError),
    "digitize-complex-bins": (lambda x: np.digitize(x, [1j]), TypeError),
    "digitize-monotonic": (lambda x: np.digitize(x, [1, 3, 2]), ValueError),
    "digitize-traced": (lambda x: np.digitize(x, np.stack([x[0], x[0] + 1, x[0]])), ValueError),
    "digitize-deep": (lambda x: np.digitize(x, [[1]]), ValueError),
    "digitize-scalar": (lambda x: np.digitize(x, 1), ValueError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(I[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(I)


@pytest.mark.parametrize("bins", ["auto", "fd", "sturges"])
def test_numbers_of_bins_that_are_data_are_refused(bins):
    with pytest.raises(DataDependentShapeError, match="number of bins depends on the data"):
        lw.vmap(lambda x: np.histogram(x, bins))(X)


@pytest.mark.parametrize(
    "count",
    [
        lambda x: np.bincount(x, minlength=300),
        lambda x: np.histogram(x * 1.0, bins=8, range=(0, 8))[0],
        lambda x: np.histogramdd(x[:, None] * 1.0, bins=[np.arange(9.0)])[0],
    ],
    ids=["bincount", "histogram", "histogramdd"],
)
def test_the_ones_that_are_counted_take_no_memory(count):
    x = (np.arange(5000) % 7).astype(np.uint8)
    concrete = lw.function(count).get_concrete_function(x)
    assert sum([array.nbytes for array in concrete.captured_inputs]) < 4000
    np.testing.assert_array_equal(concrete(x), count(x))


def test_values_that_a_dtype_does_not_have_are_not_looked_for():
    for dtype, length in (("u1", 256), ("?", 2), ("i1", 128)):
        x = np.array([1, 0, 1], dtype)
        f = lw.function(lambda x, length=length: np.bincount(x, minlength=length))
        operations = f.get_concrete_function(x).graph.operations
        assert sum([op.primitive.name == "checked" for op in operations]) == (dtype == "i1")
        np.testing.assert_array_equal(f(x), np.bincount(x, minlength=length))
    with pytest.raises(CutOffError, match="a value of 1 or more with minlength=1"):
        lw.vmap(lambda x: np.bincount(x, minlength=1))(np.array([[True, False]]))


COUNTED = {
    "histogram": lambda x, w: np.histogram(x, 10)[0],
    "weights": lambda x, w: np.histogram(x, 100, weights=w)[0],
    "density": lambda x, w: np.histogram(x, 10, range=(-1.0, 1.0), density=True)[0],
    "edges": lambda x, w: np.histogram(x, np.array([-1.0, 0.0, 1.5]))[0],
    "two": lambda x, w: np.histogram2d(x, w, 5)[0],
    "one number at many places": lambda x, w: _added((abs(x) * 9).astype(int) % 50, w[0]),
    "one number everywhere": lambda x, w: np.cos(np.full((len(x) // 8, 8), w[0])).sum(axis=0),
    "one row everywhere": lambda x, w: np.add(np.full((len(x) // 8, 8), w[0]), w[:8]).sum(axis=0),
}


def _added(k, w):
    counts = np.zeros(50)
    np.add.at(counts, k, w)
    return counts


@pytest.mark.parametrize("name", COUNTED)
def test_sizes_from_which_large_arrays_are_cut_up(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    f = COUNTED[name]
    first = list(COUNTED).index(name)
    sizes = ((16376, 16392), (16384, 262144))[first // 2 % 2]
    for number, size in enumerate(sizes, first):
        x, w = np.random.default_rng(size).normal(size=(2, size))
        if number % 2:
            assert_maps(f, x[None], w[None], rtol=1e-9)
        else:
            np.testing.assert_allclose(lw.function(f)(x, w), f(x, w), 1e-9)
