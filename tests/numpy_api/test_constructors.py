"""Constructors that NumPy does not dispatch, on traced values, against NumPy on each example."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from lanewise.trace.constructors import CONSTRUCTORS, scratch_method
from lanewise.trace.scratch import Scratch
from lanewise.trace.tensor import Tensor, weak
from support.oracle import assert_maps, assert_refused_alike

XS = np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0], [0.0, 4.0, 9.0], [2.0, 2.5, -3.5]])
KS = np.array([[2, 5], [0, -1], [1, 7], [-2, 3]])


class _Numpy:
    """NumPy, with the constructors that stand in for it: outside of a trace they are NumPy's."""

    def __getattr__(self, name):
        function = getattr(np, name)
        return CONSTRUCTORS.get(function, function)


m = _Numpy()


# --- arrays of values -----------------------------------------------------------------------------

ARRAYS = {
    "list": lambda x, k: m.array([x[0], x[1]]),
    "tuple": lambda x, k: m.array((x[0], x[1])),
    "numbers beside": lambda x, k: m.array([x[0], 1.0, 2, True]),
    "integers and a float": lambda x, k: m.array([k[0], 1.0]),
    "integers": lambda x, k: m.array([k[0], 1, k[1]]),
    "bools": lambda x, k: m.array([x[0] > 1, True]),
    "bool and integer": lambda x, k: m.array([x[0] > 1, k[0]]),
    "small float and numbers": lambda x, k: m.array([x[0].astype(np.float32), 1.0]),
    "small floats": lambda x, k: m.array([x[0].astype(np.float32), np.float32(2)]),
    "small integers": lambda x, k: m.array([k[0].astype(np.int8), True]),
    "small integer and number": lambda x, k: m.array([k[0].astype(np.int8), 100000]),
    "signed and unsigned": lambda x, k: m.array([k[0], np.uint64(3)]),
    "complex": lambda x, k: m.array([x[0], 1j]),
    "matrix": lambda x, k: m.array([[x[0], x[1]], [x[2], 0]]),
    "rows": lambda x, k: m.array([x, x + 1, [1, 2, 3]]),
    "row and scalars": lambda x, k: m.array([[x, [1, 2, x[0]]], [np.zeros(3), x * 2]]),
    "deep": lambda x, k: m.array([[[x[0]]], [[1]]]),
    "empty rows": lambda x, k: m.array([x[:0], []]),
    "array": lambda x, k: m.array(x),
    "scalar": lambda x, k: m.array(x[0]),
    "dtype": lambda x, k: m.array([x[0], 1.7], dtype=np.float32),
    "dtype of an array": lambda x, k: m.array(x, dtype=int),
    "dtype of a scalar": lambda x, k: m.array(x[0], np.complex64),
    "to integers": lambda x, k: m.array([x[0], 1.7], dtype=int),
    "to bools": lambda x, k: m.array([x[0], 0.0], dtype=bool),
    "to unsigned": lambda x, k: m.array([k[0], 3], dtype=np.uint8),
    "parts to integers": lambda x, k: m.array([x, np.ones(3)], dtype=np.int8),
    "ndmin": lambda x, k: m.array([x[0], 1], ndmin=3),
    "ndmin of a scalar": lambda x, k: m.array(x[0], ndmin=1),
    "copy None": lambda x, k: m.array([x[0]], copy=None),
    "order": lambda x, k: m.array([x, x], order="F"),
    "asarray": lambda x, k: m.asarray([x[0], 2]),
    "asarray of an array": lambda x, k: m.asarray(x, dtype=np.float32),
    "asarray of a scalar": lambda x, k: m.asarray(x[0]),
    "asanyarray": lambda x, k: m.asanyarray((x, x)),
    "ascontiguousarray": lambda x, k: m.ascontiguousarray([x[0], 1]),
    "ascontiguousarray of a scalar": lambda x, k: m.ascontiguousarray(x[0]),
    "asfortranarray": lambda x, k: m.asfortranarray([x, x]),
    "copy": lambda x, k: m.copy(x),
    "copy of a list": lambda x, k: m.copy([x[0], 1]),
    "fromiter": lambda x, k: m.fromiter((v * 2 for v in x), float),
    "fromiter to integers": lambda x, k: m.fromiter([x[0], 1.5], int),
    "fromiter counted": lambda x, k: m.fromiter(iter([x[0], 1, 2]), np.float32, count=2),
    "concatenate": lambda x, k: m.concatenate([[x[0], 1], x]),
    "stack": lambda x, k: m.stack([[x[0], 1], [2, 3]]),
    "diag": lambda x, k: m.diag([x[0], x[1]]),
    "diagflat": lambda x, k: m.diagflat([[x[0]], [x[1]]], 1),
    "repeat": lambda x, k: m.repeat([x[0], 1], 2),
    "tile": lambda x, k: m.tile([x[0], 1], (2, 2)),
    "where": lambda x, k: m.where([x[0] > 1, False], [x[0], 1], 2),
    "vander": lambda x, k: m.vander([x[0], 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_values(name):
    assert_maps(ARRAYS[name], XS, KS)


def test_conversions_that_fail_do_so_as_in_numpy():
    nan, big = np.array([np.nan, 1.0]), np.array([300, 2])
    for values, convert, error in [
        (nan, lambda t: m.array([t], dtype=int), ValueError),
        (nan + np.inf, lambda t: m.array([t], dtype=int), ValueError),
        (np.array([np.inf, 1.0]), lambda t: m.array([t, 1], dtype=np.int32), OverflowError),
        (np.array([1e20, 1.0]), lambda t: m.array([t, 1], dtype=np.int32), OverflowError),
        (big, lambda t: m.array([t], dtype=np.int8), OverflowError),
        (big, lambda t: m.array([t, 1000], dtype=np.int8), OverflowError),
    ]:
        assert_refused_alike(convert, values, error=error)
    # but these are casts
    assert_maps(lambda t: m.array([t], dtype=np.uint8), big)
    assert_maps(lambda t: m.array(t, dtype=np.int8), big)
    assert_maps(lambda t: m.array([m.array([t])], dtype=np.int8), big)
    assert_maps(lambda t: m.array([t], dtype=np.float16), np.array([1e10, 1.0]))
    with pytest.raises(TypeError):
        lw.vmap(lambda t: m.array([t, 1j], dtype=float))(nan)


def test_arrays_that_are_refused():
    with pytest.raises(ValueError, match=r"inhomogeneous.*\(\).*\(3,\).*test_constructors"):
        lw.vmap(lambda x: m.array([x[0], x]))(XS)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        lw.vmap(lambda x: m.array([x[0]], copy=False))(XS)
    for values in (["a"], [None], [{}]):
        with pytest.raises(UnsupportedError, match="dtype"):
            lw.vmap(lambda x, v=values: m.array([x[0], *v]))(XS)
    with pytest.raises(UnsupportedError, match="dtype object"):
        lw.vmap(lambda x: m.array([x[0]], dtype=object))(XS)
    with pytest.raises(ValueError, match="iterator too short"):
        lw.vmap(lambda x: m.fromiter([x[0]], float, 2))(XS)


def test_an_array_is_the_array_itself():
    def f(x):
        whole, z, flat = x + 1, m.zeros(3), m.ones((2, 3))
        assert m.asarray(whole) is whole and m.ascontiguousarray(whole) is whole
        z[0] = x[0]
        flat[0] = x
        assert m.asarray(z) is z and m.asanyarray(z) is z and m.ascontiguousarray(z) is z
        assert m.ascontiguousarray(flat.T) is not flat.T
        a, c, copied = m.asarray(z), m.array(z), m.ascontiguousarray(flat.T)
        a[1], c[2] = 5.0, 6.0
        flat[1, 1] = 7.0
        return z, c, copied, m.asarray(z, dtype=int)

    assert_maps(f, XS)


def test_arrays_without_dimensions_can_be_written_to():
    def f(x):
        first, second, third = m.array(x[0]), m.full((), x[1]), m.zeros_like(x[2])
        also = first
        first += 1
        second[...] = 4
        third[()] += x[0]
        return also, first, second, third

    assert_maps(f, XS)


def test_python_numbers_that_are_data():
    """A tensor that stands for a Python number is converted as Python numbers are."""

    def with_weak(function, kind):
        return lambda t: function(weak(t, kind)) if isinstance(t, Tensor) else function(kind(t))

    k, v = np.array([5, 100]), np.array([1.5, -2.0])
    for function in (
        lambda n: m.array([n, np.int8(1)]), lambda n: m.array(n), lambda n: m.int8(n),
        lambda n: m.array([n], np.uint8), lambda n: m.full(2, n), lambda n: m.float32(n),
        lambda n: m.full(2, n, dtype=np.float32), lambda n: m.bool_(n), lambda n: m.complex64(n),
    ):  # fmt: skip
        assert_maps(with_weak(function, int), k)
    for function in (m.array, m.float32, m.int16, lambda n: m.array([n, np.float32(1)])):
        assert_maps(with_weak(function, float), v)
    for function, value, error in [
        (m.int64, np.nan, ValueError),
        (m.int64, np.inf, OverflowError),
        (m.uint8, -1.5, OverflowError),
        (m.int8, 300.0, OverflowError),
        (m.uint64, 1e30, OverflowError),
        (lambda n: m.array([n], np.uint8), -1.0, OverflowError),
    ]:
        assert_refused_alike(with_weak(function, float), np.array([value, 1.0]), error=error)
    for function in (m.int8, m.uint8, lambda n: m.array(n, dtype=np.int8)):
        assert_refused_alike(with_weak(function, int), np.array([300, 1]), error=OverflowError)
    with pytest.raises(TypeError, match="not 'complex'"):
        lw.vmap(lambda t: m.float64(weak(t, complex)))(np.array([1j]))


# --- arrays of a shape ----------------------------------------------------------------------------

SHAPES = {
    "full": lambda x, k: m.full((2, 2), x[0]),
    "full of a row": lambda x, k: m.full((2, 3), x),
    "full of a list": lambda x, k: m.full((2, 2), [x[0], 1]),
    "full with a dtype": lambda x, k: m.full(3, x[0], dtype=np.float32),
    "full_like": lambda x, k: m.full_like(np.zeros((2, 2)), x[0]),
    "full_like of integers": lambda x, k: m.full_like(np.zeros(2, int), x[0]),
    "full_like of a list": lambda x, k: m.full_like([1.0, x[0]], 2),
    "zeros_like": lambda x, k: m.zeros_like(x) + m.ones_like([x[0], x[1]])[0],
    "linspace": lambda x, k: m.linspace(x[0], 5, 4),
    "linspace of lists": lambda x, k: m.linspace([x[0], 1], [2, 3], num=3),
    "linspace to": lambda x, k: m.linspace(0, x[0], num=3, endpoint=False),
    "linspace of integers": lambda x, k: m.linspace(k[0], 9, 3, dtype=int),
    "logspace": lambda x, k: m.logspace(0, x[0], 3),
    "logspace with a base": lambda x, k: m.logspace(0, 2, 3, base=abs(x[0]) + 1),
    "geomspace": lambda x, k: m.geomspace(1, abs(x[0]) + 1, 3),
    "eye": lambda x, k: m.eye(3, k=k[0]),
    "eye of two": lambda x, k: m.eye(2, 4, k[0], int),
    "tri": lambda x, k: m.tri(3, 4, k[0]),
    "tril": lambda x, k: m.tril(x[:2] * np.ones((2, 1)), -1),
    "tril at": lambda x, k: m.tril(np.arange(12).reshape(3, 4), k[0]),
    "triu at": lambda x, k: m.triu(np.arange(24.0).reshape(2, 3, 4), k=k[0]),
    "triu of a list": lambda x, k: m.triu([[x[0], 1], [x[1], 2]], k[0]),
    "triu of a row": lambda x, k: m.triu(x, k[0]),
    "fromfunction": lambda x, k: m.fromfunction(lambda i, j: i * x[0] + j, (2, 3)),
    "like": lambda x, k: m.array([1, 2], like=x) + m.zeros(2, like=x),
}


@pytest.mark.parametrize("name", SHAPES)
def test_arrays_of_a_shape(name):
    assert_maps(SHAPES[name], XS, KS)


SIZES = {
    "zeros": lambda k: m.zeros(k),
    "zeros of two": lambda k: m.zeros((2, k)),
    "ones": lambda k: m.ones(shape=k),
    "empty": lambda k: m.empty((k, 3), int),
    "full": lambda k: m.full((k,), 1.0),
    "zeros_like": lambda k: m.zeros_like(np.ones(3), shape=(k,)),
    "full_like": lambda k: m.full_like(np.ones(3), 2.0, shape=k),
    "arange": lambda k: m.arange(k),
    "arange from": lambda k: m.arange(0, k, 2),
    "arange of steps": lambda k: m.arange(0, 10, step=k),
    "linspace": lambda k: m.linspace(0, 1, k),
    "geomspace": lambda k: m.geomspace(1, 2, num=k),
    "eye": lambda k: m.eye(k),
    "identity": lambda k: m.identity(k),
    "tri": lambda k: m.tri(3, k),
    "indices": lambda k: m.indices((2, k)),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_are_data(name):
    counts = np.array([3, 1, 4])

    def total(k):
        found = SIZES[name](k) * 1.0
        return (np.zeros_like(found) if name == "empty" else found).sum(), found.size

    if name not in ("arange of steps", "geomspace"):
        got = lw.vmap(total)(counts)
        for k, *results in zip(counts, *got, strict=True):
            np.testing.assert_allclose(results, total(k))
        for k in counts:
            got, want = lw.function(SIZES[name])(k), SIZES[name](k)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            if name != "empty":
                np.testing.assert_allclose(got, want)
    with pytest.raises((lw.UnsupportedError, lw.ConcretizationError), match="test_constr"):
        lw.vmap(lambda k: SIZES[name](k) * 1.0)(counts)


@pytest.mark.parametrize("name", [n for n in SIZES if n[:6] not in ("arange", "geomsp")])
def test_sizes_must_not_be_negative(name):
    with pytest.raises(ValueError, match="negative"):
        lw.vmap(lambda k: SIZES[name](k).sum())(np.array([3, -1]))
    with pytest.raises(ValueError, match="negative"):
        lw.function(SIZES[name])(np.array(-2))


def test_scratch_by_the_class_itself():
    def func(x, k):
        rows, flags = np.ndarray((2, len(x)), np.float32), np.ndarray(len(x), dtype=bool, order="F")
        for i in range(len(x)):
            rows[0, i] = rows[1, i] = x[i] * 2
            flags[i] = x[i] > 1
        part = np.ndarray(shape=(k,))
        part[:] = x[:k]
        return rows, flags, part.sum()

    assert_maps(func, XS, np.array([1, 2, 0, 1]))
    f = lw.function(func, input_signature=[lw.TensorSpec(["n"]), lw.TensorSpec([], int)])
    for x in (np.arange(3.0), np.arange(5.0)):
        for got, want in zip(f(x, 2), func(x, 2), strict=True):
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == np.asarray(want).dtype
    with pytest.raises(lw.UnsupportedError, match="strides that are traced"):
        lw.vmap(lambda k: np.ndarray((2,), buffer=np.ones(4), offset=8 * k).sum())(np.array([1]))
    shared = np.arange(4.0)
    np.testing.assert_array_equal(
        lw.vmap(lambda x: np.ndarray((2,), buffer=shared, offset=8) * x)(np.ones(2)), [[1, 2]] * 2
    )


def test_ranges_of_data():
    for f in (
        lambda a, b: np.arange(a).sum(),
        lambda a, b: (np.arange(a, b) * 2).sum(),
        lambda a, b: np.arange(a, b, 3).size,
        lambda a, b: np.arange(a, b, -2).sum(),
        lambda a, b: np.arange(5, b, dtype=np.float32).sum(),
    ):
        ends = np.array([[3, 9], [9, 3], [0, 0], [-4, 4], [4, -4]])
        got = lw.vmap(f)(*ends.T)
        want = np.stack([f(*row) for row in ends])
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


# --- without traced arguments ---------------------------------------------------------------------

PLAIN = {
    "array": lambda n: n.array([1, 2.5]),
    "array of strings": lambda n: n.array(["a"]),
    "empty list": lambda n: n.array([]),
    "zeros": lambda n: n.zeros((2, 3), np.int16),
    "ones": lambda n: n.ones(()),
    "full": lambda n: n.full(2, 7),
    "arange": lambda n: n.arange(1, 9, 3),
    "linspace": lambda n: n.linspace(0, 1, 3),
    "linspace and its step": lambda n: n.linspace(0, 1, 3, retstep=True)[0],
    "logspace": lambda n: n.logspace(0, 1, 3),
    "geomspace": lambda n: n.geomspace(1, 8, 4),
    "eye": lambda n: n.eye(3, k=1),
    "identity": lambda n: n.identity(2),
    "diag": lambda n: n.diag([1, 2]),
    "tri": lambda n: n.tri(2),
    "tril": lambda n: n.tril(np.ones((2, 2))),
    "copy": lambda n: n.copy(np.arange(3)),
    "asarray": lambda n: n.asarray([1, 2]),
    "ascontiguousarray": lambda n: n.ascontiguousarray([1, 2]),
    "asfortranarray": lambda n: n.asfortranarray([[1, 2]]),
    "zeros_like": lambda n: n.zeros_like(np.arange(3)),
    "fromiter": lambda n: n.fromiter(range(3), float),
    "fromfunction": lambda n: n.fromfunction(lambda i: i * 2, (3,)),
    "repeat": lambda n: n.repeat([1, 2], 2),
    "tile": lambda n: n.tile([1, 2], 2),
    "concatenate": lambda n: n.concatenate([[1], [2]]),
    "float64": lambda n: n.float64(3),
    "float64 of nothing": lambda n: n.float64(),
    "float64 of a text": lambda n: n.float64("1.5"),
    "float64 of a list": lambda n: n.float64([1, 2]),
    "int8": lambda n: n.int8(3),
    "meshgrid": lambda n: n.meshgrid([1, 2], [3, 4])[0],
}


@pytest.mark.parametrize("name", PLAIN)
def test_others_are_scratch(name):
    expected, found = PLAIN[name](np), []
    lw.vmap(lambda x: found.append(PLAIN[name](m)) or x, autograph=False)(XS)
    np.testing.assert_array_equal(found[0], expected)
    assert found[0].dtype == expected.dtype and found[0].shape == expected.shape
    if isinstance(expected, np.ndarray) and expected.dtype.kind != "U":
        assert isinstance(found[0], Scratch)
    else:
        assert type(found[0]) is type(expected)
    assert type(PLAIN[name](m)) is type(expected)  # outside of a trace they are NumPy's


def test_errors_are_those_of_numpy():
    for call in (
        lambda: m.zeros(-1), lambda: m.array([1], copy=False), lambda: m.float64(1, 2),
        lambda: m.array([[1], [1, 2]]), lambda: m.int8(300), lambda: m.arange(1, 2, 0),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError, OverflowError, ZeroDivisionError)) as plain:
            call()
        with pytest.raises(type(plain.value)):
            lw.vmap(lambda x, call=call: (call(), x)[1])(XS)


def test_methods_of_arrays_of_the_user():
    mine = np.arange(6.0).reshape(2, 3)[:, ::-1]

    def f(x, k):
        made = [
            scratch_method(mine.copy)(), scratch_method(mine.astype)(int),
            scratch_method(mine.flatten)(), scratch_method(mine.repeat)(2),
        ]  # fmt: skip
        assert all(isinstance(a, Scratch) for a in made)
        assert type(scratch_method(mine.diagonal)()) is np.ndarray  # a view of what is the user's
        assert scratch_method(mine.fill) is None and scratch_method(made[0].copy) is None
        assert scratch_method([].append) is None and scratch_method(x.sum) is None
        made[0][0, 0] = x[0]
        return made[0], scratch_method(mine.dot)(x), scratch_method(mine.take)(abs(k))

    def expected(x, k):
        first = mine.copy()
        first[0, 0] = x[0]
        return first, mine.dot(x), mine.take(abs(k))

    assert scratch_method(mine.copy) is None
    ks = np.clip(KS, -2, 5)
    assert_maps(lambda x, k: (f if isinstance(x, Tensor) else expected)(x, k), XS, ks)


# --- scalars --------------------------------------------------------------------------------------

KINDS = [
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "longdouble", "complex64", "complex128", "intp", "longlong", "single",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_scalar_types(kind):
    convert = getattr(m, kind)
    assert_maps(lambda x: convert(x[0] * 30), np.abs(XS))
    assert_maps(lambda k: (convert(k[0]), convert(k), convert([k[1], 1]), convert(k > 1)), KS)


def test_scalars_are_scalars():
    def f(x):
        t = m.float64(x[0])
        other = t
        t += 1
        return t, other, m.float32(x[1]) * 2, m.complex128(x[0], x[1]), m.complex128(x[0])

    assert_maps(f, XS)
    with np.errstate(invalid="ignore"):
        assert_maps(lambda t: m.int64(t), np.array([np.nan, 1.5]))
        assert_maps(lambda t: m.int32(t), np.array([1e20, 1.5]))
    assert_maps(lambda t: m.int8(t), np.array([300, 2]))
    with pytest.raises(TypeError):
        lw.vmap(lambda x: m.float64(x[0], 2))(XS)
