"""`x[...]` and `x[...] = v`: every form of NumPy's indexing, read and written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.errors import ConcretizationError, DataDependentShapeError, UnsupportedError
from support.oracle import assert_maps, assert_maps_everywhere
from support.searching import searching

X = np.arange(2 * 3 * 4 * 5, dtype=float).reshape(2, 3, 4, 5)
MASK = np.array([True, False, True])
PLANE = np.arange(12).reshape(3, 4) % 3 == 0

KEYS = {
    "int": 1,
    "negative int": -1,
    "numpy int": np.int8(1),
    "ints": (1, 2),
    "element": (1, 2, -3),
    "slice": slice(1, None),
    "steps": (slice(None, None, 2), slice(3, 0, -2)),
    "reversed": slice(None, None, -1),
    "empty slice": slice(2, 1),
    "out-of-range slice": slice(-9, 9),
    "ellipsis": ...,
    "ellipsis, int": (..., 1),
    "int, ellipsis": (1, ...),
    "element, ellipsis": (1, 2, 3, ...),
    "none": None,
    "nones": (None, slice(None), None, 1),
    "nothing": (),
    "list": [0, 2],
    "list of one": [1],
    "empty list": [],
    "array": np.array([[0, 1], [2, -1]]),
    "0-d array": np.array(1),
    "unsigned": np.array([0, 1], np.uint8),
    "range": range(2),
    "two arrays": ([0, 1], [1, 2]),
    "three arrays": ([0, 1], [1, 2], [-1, 0]),
    "broadcast arrays": ([[0], [1]], [1, 2, 3]),
    "apart": ([0, 1], slice(None), [1, 2]),
    "together behind": (slice(None), [0, 1], [1, 2]),
    "array and int": ([0, 1], 2),
    "int and array": (0, slice(None), [1, 2]),
    "int beside array": (slice(None), 0, [1, 2]),
    "array around ellipsis": ([0, 1], ..., [1, 2]),
    "full ellipsis apart": ([0, 1], slice(None), ..., [1, 2]),
    "ellipsis of nothing": ([0, 1], ..., [1, 2], [0, 0]),
    "array and none": ([0, 1], None, [1, 2]),
    "none and array": (None, [0, 1]),
    "steps and array": (slice(None, None, -1), [3, 0], slice(1, 3)),
    "mask": MASK,
    "mask as list": [True, False, True],
    "mask of none": np.zeros(3, bool),
    "mask of two axes": PLANE,
    "mask of all": np.broadcast_to(MASK[:, None, None], (3, 4, 5)),
    "mask and int": (MASK, 1),
    "mask and slice": (slice(None), np.array([True, False, True, True])),
    "mask and array": (MASK, [0, 3]),
    "plane and array": (PLANE, [0, 1, 2, 3]),
    "true": True,
    "false": False,
    "true and int": (True, 1),
    "true and slice": (slice(1, 3), True),
    "true and array": (np.True_, [0, 1]),
    "false and int": (1, False),
    "tuple of tuples": ((0, 1), (1, 2)),
    "empty beyond range": ([], [9]),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_reads(key):
    assert_maps_everywhere(lambda x: x[key], X)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_writes(key):
    def write(x, v):
        first, second, third = x.copy(), x.copy(), x.copy()
        first[key] = 7
        second[key] = v
        third[key] = np.zeros_like(third[key]) + 2.5
        third[key] += 1
        np.add.at(third, key, 1)
        return first, second, third

    assert_maps(write, X, np.array([1.5, 2.5]))
    assert_maps(write, X, np.float64(3), in_dims=(0, None))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, np.complex128])
def test_dtypes(dtype):
    x = (np.arange(24).reshape(2, 3, 4) - 5).astype(dtype)

    def index(x):
        y = x.copy()
        y[1] = x[0]
        y[[0, 2], 1:3] = x[1, :2]
        y[:, 0] = 1
        return x[::-1, [0, -1]], x[MASK, 1], y

    assert_maps(index, x)


# --- indices that are data ----------------------------------------------------------------------

SCALARS = np.array([1, -2])
ROWS = np.array([[0, -1, 1], [2, 2, 0]])

TRACED = {
    "row": (lambda x, i, r: x[i]),
    "column": (lambda x, i, r: x[:, i]),
    "last": (lambda x, i, r: x[..., i]),
    "element": (lambda x, i, r: x[i, i, i]),
    "two apart": (lambda x, i, r: x[i, :, i]),
    "beside int": (lambda x, i, r: x[i, 0]),
    "rows": (lambda x, i, r: x[r]),
    "columns": (lambda x, i, r: x[:, r]),
    "columns reversed": (lambda x, i, r: x[::-1, r]),
    "rows and columns": (lambda x, i, r: x[r, r]),
    "outer": (lambda x, i, r: x[r[:, None], r]),
    "apart": (lambda x, i, r: x[r, :, r]),
    "with constant": (lambda x, i, r: x[[0, 1, 2], r]),
    "with int": (lambda x, i, r: x[r, 1]),
    "with scalar": (lambda x, i, r: x[r, i]),
    "with mask": (lambda x, i, r: x[r[:2], np.array([True, False, False, True])]),
    "with none": (lambda x, i, r: x[None, r, None]),
    "list of scalars": (lambda x, i, r: x[[i, 0, i + 1]]),
    "comparison": (lambda x, i, r: x[(i > 0) * 1]),
    "unsigned": (lambda x, i, r: x[abs(r).astype(np.uint8)]),
    "argmax": (lambda x, i, r: x[np.argmax(r)]),
    "captured array": (lambda x, i, r: x * 0 + np.choose(i % 3, np.arange(3.0))),
}


@pytest.mark.parametrize("func", TRACED.values(), ids=TRACED.keys())
def test_traced_indices(func):
    assert_maps_everywhere(func, X, SCALARS, ROWS)


TRACED_WRITES = {
    "row": (lambda x, i, r: (x, i, 1.5)),
    "column": (lambda x, i, r: (x, (slice(None), i), x[:, 0] * 2)),
    "element": (lambda x, i, r: (x, (i, i, i), x[0, 0, 0])),
    "rows": (lambda x, i, r: (x, r, x[:, ::-1])),
    "last of equals": (lambda x, i, r: (x, (r, 0), x[:, 1])),
    "apart": (lambda x, i, r: (x, (r, slice(None), r), x[:, :, 0])),
    "value varies": (lambda x, i, r: (x, 1, i)),
}


@pytest.mark.parametrize("func", TRACED_WRITES.values(), ids=TRACED_WRITES.keys())
def test_traced_writes(func):
    def write(x, i, r):
        target, key, values = func(x.copy(), i, r)
        added, scaled = target.copy(), target.copy()
        target[key] = values
        np.add.at(added, key, values)
        scaled[key] *= 2
        return target, added, scaled

    assert_maps(write, X, SCALARS, ROWS)
    assert_maps(write, X[0], SCALARS, ROWS, in_dims=(None, 0, 0))
    assert_maps(write, X, SCALARS, ROWS[0], in_dims=(0, 0, None))


def test_traced_masks():
    x = X[0]

    def write(x, t):
        mask = x > t
        a, b, c, d, e, f = (x.copy() for _ in range(6))
        a[mask] = 0
        b[mask] = t
        c[x[:, 0] > t] = x[0]
        d[x[:, 0] > t, 1] = t
        e[:, x[0] > t] = -1
        f[..., x[0] > t] = [4.5]
        return a, b, c, d, e, f

    assert_maps(write, x, np.array([20.0, 3.0, 43.0]))

    def write_whole(x, t):
        y = x.copy()
        y[t > 10] = 1.5  # a scalar mask: all or nothing
        return y

    assert_maps(write_whole, x, np.array([20.0, 3.0, 43.0]))


def test_traced_masks_are_refused_where_the_shape_depends_on_them():
    for func in (
        lambda x: x[x > 1],
        lambda x: x[x > 1, None],
    ):
        with pytest.raises(DataDependentShapeError, match=r"np\.where"):
            lw.vmap(func)(np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 2.0]]))


# --- views --------------------------------------------------------------------------------------


def view_chain(x):
    y = x.copy()
    part = y[1:, ::-1].T
    part[0] = -1
    y[2] += 10
    part += 1
    return y, part, y[0]


def view_of_a_row(x):
    y = x.copy()
    row = y[1]
    row[2] = 50
    row += 1
    return y, row


def element_is_a_copy(x):
    y = x.copy()
    element, kept = y[1, 2], y[1, 2, ...]
    y[1, 2] = 99
    element += 1
    return y, element, kept


def ellipsis_is_a_view(x):
    y = x.copy()
    z = y[...]
    z[0] = 1
    w = y[1, 2, ...]
    w[...] = 5
    return y


def arrays_are_copies(x):
    y = x.copy()
    z = y[[0, 1]]
    z += 1
    w = y[MASK]
    w[...] = 0
    u = y[True]
    u[...] = 0
    return y, z, w


def reshaped_view(x):
    y = x.copy()
    flat = y.reshape(-1)
    flat[::5] = -1
    copied = y.T.reshape(-1)
    copied[...] = 0
    y.T.flat[1] = 77
    y.flat = [1, 2, 3]
    return y, flat


def swapped_rows(x):
    y = x.copy()
    y[[0, 1]] = y[[1, 0]]
    y[0], y[1] = y[1].copy(), y[0].copy()
    return y


def overlapping_write(x):
    y = x.copy()
    y[1:] = y[:-1]
    y[:, 1:] += y[:, :-1]
    return y


def iterated(x):
    y = x.copy()
    for row in y:
        row *= 2
    for i, element in enumerate(y[0]):
        y[1, i] = element
    a, b, c = y
    b[0] = 8
    return y, a + c


VIEWS = [view_chain, view_of_a_row, element_is_a_copy, ellipsis_is_a_view, arrays_are_copies,
         reshaped_view, swapped_rows, overlapping_write, iterated]  # fmt: skip


@pytest.mark.parametrize("func", VIEWS, ids=lambda f: f.__name__)
def test_views(func):
    assert_maps_everywhere(func, X[0].transpose(1, 0, 2).copy())


def test_arrays_of_no_axes():
    def write(x):
        a, b, c, d, e = (x.copy() for _ in range(5))
        a[None] = 3
        b[True] = 4
        c[...] = 5
        d[()] = x + 6
        e[None, ..., None] += 1
        np.add.at(d, (), 1)
        return a, b, c, d, e, x[None], x[...], x[()], x[True], x[False], x[..., None]

    got = lw.vmap(write)(np.arange(3.0))
    expected = [write(np.asarray(float(i))) for i in range(3)]
    for g, e in zip(got, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(g, np.stack(e))


def test_views_at_traced_integers():
    def write(x, i):
        y = x.copy()
        row = y[i]
        row += 1
        row[0] = -5
        element = y[i, 1]
        y[i] *= 2
        part = y[:, i][1:]
        part[...] = 8
        return y, row, element, part

    assert_maps(write, X[0].transpose(1, 0, 2).copy(), np.array([0, 2, -1, 1]))


def test_views_read_inside_a_nested_map():
    def func(x):
        y = x.copy()
        tail = y[1:]
        y += 1
        inner = lw.vmap(lambda row: row + tail.sum())(y)
        return inner, tail

    def loop(x):
        y = x + 1
        return y + y[1:].sum(), y[1:]

    got = lw.vmap(func)(X[0])
    expected = [loop(x) for x in X[0]]
    np.testing.assert_allclose(got[0], [e[0] for e in expected])
    np.testing.assert_allclose(got[1], [e[1] for e in expected])


def test_broadcast_views_are_read_only():
    for func in (
        lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1),
        lambda x: np.broadcast_to(x, (2, 3)).__iadd__(1),
        lambda x: np.diagonal(np.diag(x)).__setitem__(0, 1),
        lambda x: np.broadcast_to(x, (2, 3))[0].fill(1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            func(np.ones(3))
        with pytest.raises(ValueError, match="read-only"):
            lw.vmap(func)(np.ones((2, 3)))


# --- errors -------------------------------------------------------------------------------------

BAD = {
    "out of range": lambda x: x[3],
    "negative out of range": lambda x: x[-4],
    "list out of range": lambda x: x[[0, 3]],
    "second axis": lambda x: x[0, 4],
    "list and empty axis": lambda x: x[:, :0][[5]],
    "too many": lambda x: x[0, 0, 0, 0],
    "two ellipses": lambda x: x[..., ...],
    "float": lambda x: x[1.0],
    "list of floats": lambda x: x[[1.5]],
    "floats": lambda x: x[np.array([], float)],
    "text": lambda x: x["a"],
    "dict": lambda x: x[{}],
    "mask too short": lambda x: x[np.array([True, False])],
    "mask of wrong shape": lambda x: x[np.ones((3, 3), bool)],
    "shapes": lambda x: x[[0, 1], [0, 1, 2]],
    "zero step": lambda x: x[::0],
    "float slice": lambda x: x[1:2.5],
    "write out of range": lambda x: x.__setitem__(3, 1),
    "write wrong shape": lambda x: x.__setitem__(0, np.ones(3)),
    "write wrong shape to list": lambda x: x.__setitem__([0, 1], np.ones((3, 4, 5))),
    "write wrong count": lambda x: x.__setitem__(x.shape[0] * [True], np.ones((2, 4, 5))),
    "write complex": lambda x: x.__setitem__(0, 1j),
}


@pytest.mark.parametrize("func", BAD.values(), ids=BAD.keys())
def test_errors_are_those_of_numpy(func):
    with pytest.raises(Exception) as eager:
        func(X[0].copy())
    with pytest.raises(Exception) as traced:
        lw.vmap(func)(X)
    expected = eager.value
    kinds = (IndexError, ValueError, TypeError)
    kind = next(k for k in kinds if isinstance(expected, k))
    assert isinstance(traced.value, kind), (expected, traced.value)


def test_traced_indices_out_of_range_raise_when_run():
    for i in ([0, 3], [-4, 0]):
        with pytest.raises(IndexError):
            lw.vmap(lambda x, i: x[i])(X, np.array(i))
        with pytest.raises(IndexError):
            lw.vmap(lambda i: np.asarray(X[0], like=i)[i])(np.array(i))
    with pytest.raises(IndexError):

        def write(x, i):
            x = x.copy()
            x[i] = 0
            return x

        lw.vmap(write)(X, np.array([0, 3]))
    with pytest.raises(IndexError):
        lw.vmap(lambda x, i: x[i])(X, np.array([0.5, 1.0]))


def test_traced_slice_bounds_say_what_to_do():
    with pytest.raises(DataDependentShapeError, match=r"np\.where"):
        lw.vmap(lambda x, i: x[:i])(X, np.array([1, 2]))


def test_writing_to_an_array_that_is_not_traced():
    plain = np.zeros((2, 3))
    with pytest.raises((ConcretizationError, UnsupportedError)):
        lw.vmap(lambda x: plain.__setitem__(0, x))(np.ones((2, 3)))


# --- index expressions at random ----------------------------------------------------------------

shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


@st.composite
def index_of(draw, shape):
    """An index for an array of this shape: valid nearly always, of any mixture of kinds."""
    key = []
    axis = 0
    arrays = draw(st.sampled_from([(), (1,), (3,), (2, 1), (0,)]))
    has_ellipsis = False
    while axis < len(shape):
        size = shape[axis]
        kind = draw(st.sampled_from("issssnamelt"))
        if kind == "i" and size:
            key.append(draw(st.integers(-size, size - 1)))
        elif kind in "al" and size:
            rank = draw(st.integers(0, len(arrays)))
            array = draw(st.integers(0, 2**16))
            array = np.random.default_rng(array).integers(-size, size, arrays[len(arrays) - rank :])
            key.append(array.tolist() if kind == "l" and array.ndim else array)
        elif kind == "m":
            rank = draw(st.integers(1, len(shape) - axis))
            if arrays not in ((), (1,)):
                continue
            mask = np.zeros(shape[axis : axis + rank], bool)
            if mask.size:
                mask.flat[draw(st.integers(0, mask.size - 1))] = True
            key.append(mask)
            axis += rank
            continue
        elif kind == "n":
            key.append(None)
            continue
        elif kind == "t":
            if arrays in ((), (1,)):
                key.append(True)
            continue
        elif kind == "e":
            if has_ellipsis:
                continue
            has_ellipsis = True
            key.append(...)
            axis += draw(st.integers(0, len(shape) - axis))
            continue
        elif kind == "s":
            bound = st.none() | st.integers(-size - 1, size + 1)
            step = draw(st.none() | st.integers(-3, 3).filter(bool))
            key.append(slice(draw(bound), draw(bound), step))
        else:
            continue
        axis += 1
        if draw(st.integers(0, 9)) == 0:
            break
    if draw(st.integers(0, 3)) == 0:
        key.append(draw(st.sampled_from([None, True] if arrays in ((), (1,)) else [None])))
    return key[0] if len(key) == 1 and draw(st.booleans()) else tuple(key)


@st.composite
def indexed(draw):
    shape = draw(shapes)
    return shape, draw(index_of(shape)), draw(index_of(shape))


def check_index(drawn):
    """Assert that an index reads what NumPy does, or is refused as NumPy refuses it."""
    shape, key, _ = drawn
    x = np.arange(2 * np.prod(shape, dtype=int)).reshape(2, *shape)
    example = np.asarray(x[0])
    try:
        expected = [np.asarray(x[i, ...][key]) for i in range(2)]
    except IndexError:
        with pytest.raises(IndexError):
            lw.vmap(lambda x: x[key])(x)
        return
    got = lw.vmap(lambda x: x[key])(x)
    np.testing.assert_array_equal(got, np.stack(expected))
    assert got.shape[1:] == example[key].shape


@searching(40)
@given(indexed())
def test_any_index(drawn):
    check_index(drawn)


def check_write(drawn, broadcast):
    """Assert that writes at indices do what NumPy does."""
    shape, first, second = drawn
    x = np.arange(2.0 * np.prod(shape, dtype=int)).reshape(2, *shape)

    def write(x):
        y = x.copy()
        part = y[first]
        value = np.arange(part.size).reshape(part.shape) + 100
        y[first] = value[:1] if broadcast and value.ndim else value
        y[second] += 1
        np.add.at(y, first, 0.5)
        return y, y[second]

    try:
        expected = [write(x[i, ...]) for i in range(2)]
    except IndexError:
        with pytest.raises(IndexError):
            lw.vmap(write)(x)
        return
    got = lw.vmap(write)(x)
    for g, e in zip(got, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(g, np.stack(e))


@searching(30)
@given(indexed(), st.booleans())
def test_any_write(drawn, broadcast):
    check_write(drawn, broadcast)


@searching(30)
@given(indexed())
def test_any_index_with_its_arrays_traced(drawn):
    shape, key, _ = drawn
    x = np.arange(2 * np.prod(shape, dtype=int)).reshape(2, *shape)
    parts = key if isinstance(key, tuple) else (key,)
    at = [i for i, p in enumerate(parts) if isinstance(p, np.ndarray) and p.dtype.kind == "i"]
    arrays = [np.stack([parts[i], parts[i][..., ::-1] if parts[i].ndim else parts[i]]) for i in at]

    def read(x, *arrays):
        filled = list(parts)
        for i, array in zip(at, arrays, strict=True):
            filled[i] = array
        return x[tuple(filled)]

    try:
        expected = [read(x[i, ...], *[a[i, ...] for a in arrays]) for i in range(2)]
    except IndexError:
        return
    np.testing.assert_array_equal(lw.vmap(read)(x, *arrays), np.stack(expected))
