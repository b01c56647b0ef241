"""Shapes and axes, joining and splitting, repetition, padding: against NumPy, one example each."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import DataDependentShapeError, UnsupportedError
from support.oracle import assert_maps, assert_maps_everywhere

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 2, 3, 4))
V = rng.normal(size=(3, 5))
I8 = rng.integers(-9, 9, (3, 4, 2, 3)).astype(np.int8)
Z = X[..., 0] + 1j * X[..., 1]
SQUARE = rng.normal(size=(3, 4, 4))
EMPTY = np.zeros((3, 0, 2))

ONE = {
    "reshape": lambda x: np.reshape(x, (4, -1)),
    "reshape F": lambda x: np.reshape(x, (4, 6), order="F"),
    "reshape A": lambda x: (np.reshape(x, -1, order="A"), np.reshape(x.T, -1, order="A")),
    "reshape copy": lambda x: np.reshape(x, 24, copy=True),
    "reshape no copy": lambda x: np.reshape(x, 24, copy=False),
    "ravel": lambda x: [np.ravel(x.swapaxes(0, 1), order=o) for o in "CFAK"],
    "ravel K of reversed": lambda x: np.ravel(x[::-1].T, order="K"),
    "flatten": lambda x: (x.flatten(), x.T.flatten("F")),
    "transpose": lambda x: (np.transpose(x), np.transpose(x, (1, -1, 0)), np.permute_dims(x)),
    "matrix_transpose": lambda x: (np.matrix_transpose(x), x.mT, np.linalg.matrix_transpose(x)),
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "moveaxis": lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, [0, 1], [-1, 0])),
    "rollaxis": lambda x: [np.rollaxis(x, 2, s) for s in (-3, -1, 0, 1, 2, 3)],
    "expand_dims": lambda x: (np.expand_dims(x, 1), np.expand_dims(x, (0, -1))),
    "squeeze": lambda x: (np.squeeze(x[None, :, :1]), np.squeeze(x[None], 0), x[:1].squeeze()),
    "broadcast_to": lambda x: np.broadcast_to(x, (5, *x.shape)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0, :, :1], 1.5),
    "atleast": lambda x: (
        np.atleast_1d(x[0, 0, 0]), np.atleast_2d(x[0, 0]), np.atleast_3d(x[0, 0], x[0], x, 1)
    ),
    "concatenate": lambda x: (
        np.concatenate([x, x[:1]]), np.concatenate((x, x), axis=-1), np.concatenate([x, x], None),
        np.concatenate([x, x], dtype=np.complex128), np.concat([x, x], axis=1),
    ),
    "stack": lambda x: (np.stack([x, x]), np.stack([x, x, x], axis=-1)),
    "hstack": lambda x: (np.hstack([x, x]), np.hstack([x[0, 0], 1.0]), np.hstack((x[0, 0, 0], 2))),
    "vstack": lambda x: (np.vstack([x, x]), np.vstack([x[0, 0], [1, 2, 3, 4]])),
    "dstack": lambda x: (np.dstack([x, x]), np.dstack([x[0, 0], x[0, 1]])),
    "column_stack": lambda x: np.column_stack([x[0], x[1, :, 0], np.arange(3)]),
    "block": lambda x: (
        np.block([[x[0], x[1]], [np.ones((1, 8))]]), np.block(x), np.block([x[0, 0], 1.0, 2]),
        np.block([[[x]], [[x]]]),
    ),
    "append": lambda x: (np.append(x, 1), np.append(x, x, axis=1), np.append(x[0, 0], [1, 2])),
    "split": lambda x: (np.split(x, 2), np.split(x, [1, 3], axis=2), np.split(x, (2,), -2)),
    "array_split": lambda x: (
        np.array_split(x, 3, axis=-1), np.array_split(x, [3, 1, 9, -1], axis=1),
        np.array_split(x, 5, axis=1),
    ),
    "hvdsplit": lambda x: (
        np.hsplit(x, 3), np.vsplit(x, 2), np.dsplit(x, [1]), np.hsplit(x[0, 0], 2)
    ),
    "unstack": lambda x: (np.unstack(x), np.unstack(x, axis=-1)),
    "flip": lambda x: (np.flip(x), np.flip(x, 0), np.flip(x, (0, -1)), np.fliplr(x), np.flipud(x)),
    "rot90": lambda x: [
        np.rot90(x, k, axes) for k in (-1, 0, 1, 2, 3, 6) for axes in ((0, 1), (2, 1), (-1, 0))
    ],
    "roll": lambda x: (
        np.roll(x, 1), np.roll(x, -5, 1), np.roll(x, (1, -1), (0, 2)), np.roll(x, 2, (0, 1)),
        np.roll(x, (1, 2), 2), np.roll(x, 1, (0, 0)), np.roll(x, 0, 1),
    ),
    "tile": lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 1, 3)), np.tile(x, (1, 2)), np.tile(x, 1),
                       np.tile(x, 0)),
    "repeat": lambda x: (
        np.repeat(x, 2), np.repeat(x, 3, axis=1), np.repeat(x, [1, 0, 2], 1), x.repeat([2], -1),
        np.repeat(x, 0, 0), np.repeat(x[0, 0, 0], 3),
    ),
    "resize": lambda x: (np.resize(x, (5, 7)), np.resize(x, 3), np.resize(x, (0, 2))),
    "delete": lambda x: (
        np.delete(x, 1, 0), np.delete(x, [0, -1], 2), np.delete(x, slice(0, None, 2), 1),
        np.delete(x, 3), np.delete(x, np.array([True, False, True]), 1), np.delete(x, [], 0),
        np.delete(x, [1], 1),
    ),
    "insert": lambda x: (
        np.insert(x, 1, 5, axis=0), np.insert(x, [1, 3], 9, axis=1),
        np.insert(x, [1, 3], [[7], [8]], axis=1), x[0].size,
        np.insert(x, -1, x[:, :, 0], axis=2), np.insert(x, 4, [1, 2, 3]),
        np.insert(x, slice(0, 2), 1, axis=1), np.insert(x, [1], x[:, :2], axis=1),
        np.insert(x, [2, 0, 2], 4, axis=1), np.insert(x, [], 4, axis=1),
        np.insert(x[0, 0], np.array([True, False, False, True]), [1, 2]),
        np.insert(x[0, 0], [1, 1], x[0, 0, :2]), np.insert(x[0], 1, x[0, 0], axis=0),
    ),
    "astype": lambda x: (np.astype(x, np.float32), x.astype(int), x.astype(x.dtype, copy=False)),
    "copy": lambda x: (np.copy(x), x.copy(), x.__copy__(), np.copy(x, order="F")),
    "shape": lambda x: (np.shape(x)[1], np.ndim(x), np.size(x), np.size(x, 1), np.size(x, (0, 2))),
    "attributes": lambda x: (x.shape[0], x.ndim, x.size, x.itemsize, x.nbytes, len(x)),
}  # fmt: skip


@pytest.mark.parametrize("func", ONE.values(), ids=ONE.keys())
def test_shapes(func):
    assert_maps_everywhere(func, X)


#: Axes, shapes and counts as ranges and arrays, which NumPy takes where it takes lists.
SEQUENCES = {
    "reshape": lambda x: (
        np.reshape(x, np.array([4, 6])), x.reshape(np.array([4, -1])), x.reshape(range(4, 7, 2)),
        x.reshape(np.array(24)),
    ),
    "transpose": lambda x: (
        np.transpose(x, range(2, -1, -1)), x.transpose(range(2, -1, -1)),
        x.transpose(np.array([2, 0, 1])), x.transpose(*np.array([1, 2, 0])), x.transpose(None),
        x[0, 0].transpose(0), np.permute_dims(x, np.array([2, 0, 1])),
    ),
    "moveaxis": lambda x: (
        np.moveaxis(x, range(1), [2]), np.moveaxis(x, np.array([0, 1]), np.array([2, 0])),
        np.moveaxis(x, np.array(0), np.int32(2)),
    ),
    "flip": lambda x: (np.flip(x, np.array([0, 1])), np.flip(x, range(2)), np.flip(x, [0, 2])),
    "roll": lambda x: (np.roll(x, np.array([1, 2]), np.array([0, 1])), np.roll(x, range(2), 0)),
    "tile": lambda x: (np.tile(x, range(1, 3)), np.tile(x, np.array(2)), np.tile(x, np.array([2]))),
    "broadcast_to": lambda x: (
        np.broadcast_to(x, np.array([5, *x.shape])), np.broadcast_to(x[0, 0, 0], range(1, 3)),
        np.broadcast_to(x[0, 0, 0], np.array([3])), np.broadcast_to(x[0, 0, 0], np.array(3)),
    ),
    "filled": lambda x: (
        np.full(np.array([2, 3]), x[0, 0, 0]), np.full(range(2, 4), x[0, 0, 0]),
        np.zeros_like(x, shape=np.array([2, 3])), np.full_like(x, 1.5, shape=range(2, 4)),
        np.ones_like(x, shape=np.array(3)),
    ),
    "windows": lambda x: (
        np.lib.stride_tricks.sliding_window_view(x, range(1, 3), axis=range(2)),
        np.lib.stride_tricks.sliding_window_view(x, np.array([2, 2]), axis=np.array([0, 1])),
    ),
    "fftshift": lambda x: (np.fft.fftshift(x, np.array([0, 1])), np.fft.ifftshift(x, range(2))),
    "einsum": lambda x: np.einsum(x, range(3), range(2)),
    "index": lambda x: (
        np.unravel_index(np.argmax(x), range(2, 5)), np.ravel_multi_index((np.argmax(x) % 2, 1),
                                                                          range(2, 4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("func", SEQUENCES.values(), ids=SEQUENCES.keys())
def test_axes_and_shapes_in_any_sequence(func):
    assert_maps(func, X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16, np.float32, complex])
@pytest.mark.parametrize("name", ["stack", "append", "insert", "tile", "roll", "hstack", "resize"])
def test_shapes_of_other_dtypes(name, dtype):
    assert_maps(ONE[name], (X * 5).astype(dtype))


@pytest.mark.parametrize(
    "func",
    [
        lambda x: (np.roll(x, 1, 0), np.tile(x, 2), np.repeat(x, 2, 0), np.flip(x), np.rot90(x)),
        lambda x: (
            np.resize(x, (2, 3)),
            np.concatenate([x, x]),
            np.split(x, 2),
            np.delete(x, [], 0),
        ),
        lambda x: (np.pad(x, 1), np.pad(x, ((1, 0), (0, 0))), np.insert(x, 0, 1, axis=0)),
        lambda x: (np.append(x, x), np.ravel(x), np.reshape(x, (2, 0))),
        lambda x: np.pad(x, ((0, 0), (2, 1)), mode="edge"),
    ],
)
def test_empty_axes(func):
    assert_maps(func, EMPTY)


TWO = {
    "concatenate": lambda x, y: np.concatenate([x[0], y[:, None], y[:, None] > 0], axis=1),
    "stack": lambda x, y: np.stack([x[0, :, 0], y], axis=1),
    "insert": lambda x, y: np.insert(x, 2, y, axis=2)[0],
    "block": lambda x, y: np.block([[x[0], y[:, None]], [np.ones((1, 4)), np.ones((1, 1))]]),
    "broadcast_arrays": lambda x, y: np.broadcast_arrays(x, y[:, None]),
    "append": lambda x, y: np.append(x, y),
    "roll by data": lambda x, y: np.roll(x, (y[0] * 5).astype(int), axis=1),
    "rolls by data": lambda x, y: np.roll(x, (y[:2] * 5).astype(int), axis=(0, 2)),
    "flat roll by data": lambda x, y: np.roll(x, (y[0] * 5).astype(int)),
    "pad with data": lambda x, y: np.pad(x, 1, constant_values=y[0]),
    "pad with pairs": lambda x, y: np.pad(x[0], 1, constant_values=((y[0], 1), (2, y[1]))),
    "pad with array": lambda x, y: np.pad(x[0], (1, 2), constant_values=y[:2]),
    "ramp to data": lambda x, y: np.pad(x, 2, "linear_ramp", end_values=y[1]),
    "meshgrid": lambda x, y: np.meshgrid(x[0, 0], y),
}


@pytest.mark.parametrize("func", TWO.values(), ids=TWO.keys())
def test_two_arguments(func):
    assert_maps_everywhere(func, X, V[:, :3].copy())


def test_insert_and_delete_at_a_traced_position():
    def func(x, i):
        return (np.delete(x, i), np.insert(x, i, 7), np.delete(x.reshape(2, 3), i % 2, 0),
                np.insert(x.reshape(2, 3), i % 2, x[:3], axis=0))  # fmt: skip

    assert_maps(func, rng.normal(size=(4, 6)), np.array([0, 5, -1, -6]))
    for bad in (6, -7):
        with pytest.raises(IndexError):
            lw.vmap(np.delete)(rng.normal(size=(2, 6)), np.array([0, bad]))
    for bad in (7, -7):
        with pytest.raises(IndexError):
            lw.vmap(lambda x, i: np.insert(x, i, 0))(rng.normal(size=(2, 6)), np.array([0, bad]))


DELETED = {
    "rows and columns": lambda x: np.delete(np.delete(x, p := np.where(x.sum(0) < 3)[0], 0), p, 1),
    "mask": lambda x: np.delete(x, x[0] > 1, axis=1),
    "flat": lambda x: np.delete(x, np.flatnonzero(x > 1)),
    "negative, and twice": lambda x: np.delete(
        x, np.append(np.argsort(x[:, 0])[:1] - 3, [0, 0]), 0
    ),
    "none": lambda x: np.delete(x, np.flatnonzero(x[0] > 100), 1),
}


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("name", DELETED)
def test_delete_of_many_places_that_are_data(name, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)

    def f(x):
        y = DELETED[name](x)
        return y.sum(), (y * y).sum(), y.shape[0], y.size

    x = np.array([[[1.0, 1, 3], [0, 2, 1], [0, 0, 0]], [[3.0, 0, 1], [0, 1, 5], [1, 1, 1]]])
    assert_maps(f, x)


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_delete_of_what_is_not_there(backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    x = np.arange(8.0).reshape(2, 4)
    with pytest.raises(IndexError):
        lw.vmap(lambda x: np.delete(x, np.argsort(x)[:2] + 9).sum())(x)
    with pytest.raises(ValueError, match="match the axis length of 4"):
        lw.vmap(lambda x: np.delete(x, x[:3] > 1).sum())(x)


# --- pad ----------------------------------------------------------------------------------------

WIDTHS = [1, (2, 0), ((1, 2), (0, 3), (5, 4)), ((9, 8), (4, 0), (0, 7))]
PADS = {
    "constant": {},
    "constant value": {"mode": "constant", "constant_values": 2.5},
    "constant pair": {"constant_values": (1, 2)},
    "constants": {"constant_values": ((1, 2), (3, 4), (5, 6))},
    "column of constants": {"constant_values": ((1,), (3,), (5,))},
    "edge": {"mode": "edge"},
    "linear_ramp": {"mode": "linear_ramp"},
    "linear_ramp to": {"mode": "linear_ramp", "end_values": (3, -4)},
    "maximum": {"mode": "maximum"},
    "maximum of some": {"mode": "maximum", "stat_length": 2},
    "mean": {"mode": "mean"},
    "mean of some": {"mode": "mean", "stat_length": (1, 2)},
    "median": {"mode": "median", "stat_length": 3},
    "minimum": {"mode": "minimum", "stat_length": ((1, 2), (9, 1), (2, 2))},
    "reflect": {"mode": "reflect"},
    "reflect odd": {"mode": "reflect", "reflect_type": "odd"},
    "symmetric": {"mode": "symmetric"},
    "symmetric odd": {"mode": "symmetric", "reflect_type": "odd"},
    "wrap": {"mode": "wrap"},
}


@pytest.mark.parametrize("options", PADS.values(), ids=PADS.keys())
def test_pad(options):
    for widths in WIDTHS:
        assert_maps(lambda x: np.pad(x, widths, **options), X)  # noqa: B023
    assert_maps(lambda x: np.pad(x, 3, **options), I8)
    assert_maps(lambda x: np.pad(x, 3, **options), I8[:, :1])
    assert_maps(lambda x: np.pad(x, (2, 1), **options), X.astype(np.float32), in_dims=-1)
    if options.get("mode") not in ("maximum", "minimum", "median"):
        assert_maps(lambda x: np.pad(x[None], 2, **options), Z)


def test_pad_by_a_function_and_dict_and_empty():
    def fill(row, widths, axis, options):
        before, behind = widths
        row[:before] = options.get("value", 10) + row[before]
        if behind:
            row[-behind:] = row[-behind - 1] * 2

    assert_maps(lambda x: np.pad(x[0], 2, fill), X)
    assert_maps(lambda x: np.pad(x[0], ((1, 0), (0, 2)), fill, value=3), X)
    assert_maps(lambda x: np.pad(x, {0: 1, -1: (2, 0)}), X)
    assert_maps(lambda x: np.pad(x, 1, mode="empty")[1:-1, 1:-1, 1:-1], X)
    assert_maps(lambda x: np.pad(x, 2, constant_values=1), X[:, 0, 0, 0])


# --- copyto, dtypes, memory ---------------------------------------------------------------------


def test_copyto():
    def func(x, v):
        a, b, c, d = x.copy(), x.copy(), x.copy(), x.copy()
        np.copyto(a, v)
        np.copyto(b, 7)
        np.copyto(c, v, where=x > 0)
        np.copyto(d[0], v.astype(int), where=[True, False, True, False])
        return a, b, c, d

    assert_maps_everywhere(func, X, V[:, :4].copy())
    for value in (1.5, 300, 1j, np.float64(2), np.ones(7, np.int8)):
        for x in (np.zeros((2, 3), np.int8), np.zeros((2, 3), np.uint8)):
            with pytest.raises((TypeError, ValueError, OverflowError)) as eager:
                np.copyto(x[0], value)
            with pytest.raises(eager.type):
                lw.vmap(lambda x: np.copyto(x, value))(x)  # noqa: B023
    assert_maps(lambda x: (np.copyto(x, 3), x)[1].copy(), np.zeros((2, 3), np.uint8))
    with pytest.raises(UnsupportedError, match="zeros_like"):
        lw.vmap(lambda x: np.copyto(np.zeros(3), x), autograph=False)(np.zeros((2, 3)))


def test_dtypes_and_shared_memory():
    seen = {}

    def func(x):
        seen["result_type"] = np.result_type(x, 1.0), np.result_type(x, np.int64), x.dtype
        seen["can_cast"] = np.can_cast(x, np.int8), np.can_cast(x.dtype, np.float64)
        seen["common_type"] = np.common_type(x, x), np.iscomplexobj(x), np.isrealobj(x)
        seen["min_scalar_type"] = np.min_scalar_type(x)
        seen["views"] = [
            np.shares_memory(x, y)
            for y in (x[1:], x.T, x[::-1].reshape(-1), x.T.reshape(-1), x.copy(), x + 1, x.real)
        ]
        seen["apart"] = np.shares_memory(x[::2], x[1::2]), np.may_share_memory(x[0], x[:, 0])
        return x

    for x in (X[0, 0].astype(np.float32), X[0, 0].astype(complex), np.ones((2, 3), int)):
        func(x)
        expected = dict(seen)
        lw.vmap(func)(x[None])
        assert seen == expected


LIKE = {
    "zeros": lambda t: np.zeros((2, 3), like=t),
    "ones": lambda t: np.ones(3, np.int8, like=t),
    "full": lambda t: (np.full((2,), 3, like=t), np.full(2, t[0], like=t)),
    "empty": lambda t: np.empty(2, like=t).shape[0],
    "eye": lambda t: (np.eye(3, k=1, like=t), np.eye(2, 3, dtype=int, like=t)),
    "identity": lambda t: np.identity(2, like=t),
    "arange": lambda t: (np.arange(4, like=t), np.arange(1, 3, 0.5, like=t)),
    "array": lambda t: (
        np.array([t, t + 1], like=t), np.array([[t[0], 1], [2, t[1]]], np.float32, like=t),
        np.array(t, ndmin=3, like=t), np.array([1, 2], like=t), np.array(t, copy=False, like=t),
    ),
    "asarray": lambda t: (np.asarray(t, like=t), np.asanyarray([1.5], dtype=int, like=t)),
    "contiguous": lambda t: (np.ascontiguousarray(t[0], like=t), np.require(t, like=t)),
    "tri": lambda t: np.tri(3, 4, 1, like=t),
    "fromfunction": lambda t: np.fromfunction(lambda i, j: i + j, (2, 2), like=t),
    "likes": lambda t: (
        np.zeros_like(t), np.ones_like(t, dtype=int), np.full_like(t, 2, shape=(2, 2)),
        np.full_like(t, t[0], dtype=complex), np.zeros_like(t, shape=3), np.empty_like(t).shape[0],
    ),
    "written": lambda t: written(t),
}  # fmt: skip


def written(t):
    out = np.zeros((2, *t.shape), like=t)
    out[0] = t
    return out


@pytest.mark.parametrize("func", LIKE.values(), ids=LIKE.keys())
def test_creation_like(func):
    assert_maps_everywhere(func, V)


BETWEEN = {
    "linspace": lambda a, b: (np.linspace(a, b), np.linspace(a, b, 5, endpoint=False)),
    "linspace from 0": lambda a, b: (
        np.linspace(0, b, 4),
        np.linspace(a, 1, 1),
        np.linspace(a, b, 0),
    ),
    "linspace of ints": lambda a, b: np.linspace(a, b * 9, 7, dtype=int),
    "linspace step": lambda a, b: np.linspace(a, b, 5, retstep=True),
    "linspace same": lambda a, b: np.linspace(a, a, 5),
    "logspace": lambda a, b: (np.logspace(a, b, 5), np.logspace(a, b, 4, base=2, endpoint=False)),
    "logspace base": lambda a, b: np.logspace(0, 1, 4, base=np.abs(b) + 1),
    "geomspace": lambda a, b: (
        np.geomspace(a, a * 5, 6),
        np.geomspace(a, 2 * a, 4, endpoint=False),
    ),
    "geomspace of complex": lambda a, b: np.geomspace(a, a * 1j, 4),
    "vander": lambda a, b: np.vander(np.hstack([a, b]), 4),
}


@pytest.mark.parametrize("func", BETWEEN.values(), ids=BETWEEN.keys())
def test_between_two_ends(func):
    assert_maps_everywhere(func, V[:, 0].copy(), V[:, 1].copy())
    single = V.astype(np.float32)
    assert_maps(func, single[:, 0], single[:, 1], rtol=1e-4)


def test_between_arrays_of_ends():
    def func(a, b):
        return (np.linspace(a, b, 4, axis=-1), np.linspace(a, 2, 3), np.logspace(a, b, 4, axis=1),
                np.geomspace(abs(a), abs(b), 4, axis=1),
                np.logspace(a, b, 3, base=abs(b) + 1, axis=-1))  # fmt: skip

    assert_maps_everywhere(func, V, V[:, ::-1].copy())
    with pytest.raises(ValueError, match="cannot include zero"):
        lw.vmap(lambda a: np.geomspace(a, 1))(np.array([1.0, 0.0]))


def test_meshgrid_and_vander():
    assert_maps_everywhere(
        lambda x: (np.meshgrid(x, x[:2], x[:3], indexing="ij"), np.meshgrid(x, x[:2], sparse=True),
                   np.meshgrid(x), np.meshgrid(x, [1, 2], x[:3], copy=False)), V,
    )  # fmt: skip
    for x in (V, I8[..., 0, 0], I8[..., 0, 0] > 0, Z[:, 0]):
        assert_maps(lambda x: (np.vander(x), np.vander(x, 3, increasing=True), np.vander(x, 0)), x)


# --- errors -------------------------------------------------------------------------------------

BAD = {
    "reshape": lambda x: np.reshape(x, (5, -1)),
    "reshape two unknown": lambda x: np.reshape(x, (-1, -1)),
    "reshape order": lambda x: np.reshape(x, 24, order="K"),
    "reshape without copy": lambda x: np.reshape(x.T, 24, copy=False),
    "transpose": lambda x: np.transpose(x, (0, 1)),
    "transpose repeated": lambda x: np.transpose(x, (0, 1, 1)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 3),
    "moveaxis": lambda x: np.moveaxis(x, [0, 1], [0]),
    "rollaxis": lambda x: np.rollaxis(x, 0, 5),
    "squeeze": lambda x: np.squeeze(x, 0),
    "squeeze list": lambda x: np.squeeze(x[None], [0]),
    "expand_dims": lambda x: np.expand_dims(x, (0, 0)),
    "broadcast_to": lambda x: np.broadcast_to(x, (3, 4)),
    "broadcast_to negative": lambda x: np.broadcast_to(x, (-1, 2, 3, 4)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones(3)),
    "concatenate": lambda x: np.concatenate([x, x[..., :2]]),
    "concatenate nothing": lambda x: np.concatenate([x[0], x]),
    "concatenate axis": lambda x: np.concatenate([x, x], axis=3),
    "stack": lambda x: np.stack([x, x[0]]),
    "block tuple": lambda x: np.block([(x, x)]),
    "block depths": lambda x: np.block([[x], x]),
    "block empty": lambda x: np.block([[x], []]),
    "split": lambda x: np.split(x, 2, axis=1),
    "array_split": lambda x: np.array_split(x, 0),
    "hsplit": lambda x: np.hsplit(x[0, 0, 0, ...], 1),
    "vsplit": lambda x: np.vsplit(x[0, 0], 2),
    "dsplit": lambda x: np.dsplit(x[0], 2),
    "unstack": lambda x: np.unstack(x[0, 0, 0, ...]),
    "flip": lambda x: np.flip(x, 3),
    "fliplr": lambda x: np.fliplr(x[0, 0]),
    "rot90": lambda x: np.rot90(x, 1, (0, 0)),
    "rot90 axes": lambda x: np.rot90(x, 1, (0, 1, 2)),
    "rot90 range": lambda x: np.rot90(x, 1, (0, 3)),
    "roll": lambda x: np.roll(x, (1, 2), (0, 1, 2)),
    "roll axis": lambda x: np.roll(x, 1, 3),
    "repeat": lambda x: np.repeat(x, [1, 2], 1),
    "repeat negative": lambda x: np.repeat(x, -1),
    "repeat float": lambda x: np.repeat(x, np.array([1.5])),
    "tile": lambda x: np.tile(x, -1),
    "resize": lambda x: np.resize(x, (2, -1)),
    "delete": lambda x: np.delete(x, 3, 1),
    "delete several": lambda x: np.delete(x, [0, 3], 1),
    "delete mask": lambda x: np.delete(x, np.array([True]), 1),
    "insert": lambda x: np.insert(x, 4, 0, 1),
    "insert shape": lambda x: np.insert(x, [0, 1], np.ones((5, 5)), 1),
    "pad mode": lambda x: np.pad(x, 1, "sideways"),
    "pad keyword": lambda x: np.pad(x, 1, "edge", constant_values=1),
    "pad float": lambda x: np.pad(x, 1.5),
    "pad negative": lambda x: np.pad(x, -1),
    "pad shape": lambda x: np.pad(x, ((1, 1), (2, 2))),
    "pad empty": lambda x: np.pad(x[:, :0], 1, "reflect"),
    "pad stat_length": lambda x: np.pad(x, 1, "maximum", stat_length=0),
    "linspace": lambda x: np.linspace(x, x, -1),
    "linspace float": lambda x: np.linspace(x, x, 2.5),
    "vander": lambda x: np.vander(x),
    "meshgrid": lambda x: np.meshgrid(x[0, 0], indexing="yx"),
    "zeros_like": lambda x: np.zeros_like(x, shape=(-1,)),
}


@pytest.mark.parametrize("func", BAD.values(), ids=BAD.keys())
def test_errors_are_those_of_numpy(func):
    kinds = (np.exceptions.AxisError, IndexError, ValueError, TypeError)
    with pytest.raises(kinds) as eager:
        func(X[0])
    kind = next(k for k in kinds if isinstance(eager.value, k))
    with pytest.raises(kind):
        lw.vmap(func)(X)


@pytest.mark.parametrize(
    "func",
    [
        lambda x, n: np.repeat(x, n),
        lambda x, n: np.tile(x, n),
        lambda x, n: np.split(x, [n]),
        lambda x, n: np.resize(x, n),
        lambda x, n: np.pad(x, n),
        lambda x, n: np.arange(n, like=x),
    ],
)
def test_shapes_that_depend_on_data_are_refused(func):
    with pytest.raises((DataDependentShapeError, UnsupportedError), match=r"depend|needed"):
        lw.vmap(func)(np.ones((2, 3)), np.array([1, 2]))
