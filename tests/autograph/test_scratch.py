"""Scratch arrays: concrete until traced values are written to them, and aliased like NumPy's."""

import copy
import hashlib
import io
import operator
import pickle
import struct
import zlib

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, LeakedTensorError, UnsupportedError
from lanewise.trace.constructors import CONSTRUCTORS
from lanewise.trace.regions import Region
from lanewise.trace.scratch import Lifted, Scratch, as_state, settled
from lanewise.trace.tensor import Tensor, tensor_of
from support.draws import seeds
from support.oracle import assert_same, loop

XS = np.array([[1.5, -2.0, 0.25, 7.0], [3.0, 0.5, -1.0, 2.0], [0.0, 4.0, 9.0, -3.5]])
KS = np.array([2, 0, 1])


class _Numpy:
    """NumPy, with the constructors that stand in for it: outside of a trace they are NumPy's."""

    def __getattr__(self, name):
        function = getattr(np, name)
        return CONSTRUCTORS.get(function, function)


m = _Numpy()


def assert_maps(func, *args):
    """Assert that mapping gives what the loop gives, with the function converted and as it is."""
    expected = loop(func, args, (0,) * len(args))
    for autograph in (True, False):
        with np.errstate(all="ignore"):
            mapped = lw.vmap(func, autograph=autograph, randomness="same")
            assert_same(mapped(*args), expected)


def in_trace(body):
    """Run a function of one traced vector once, and return what it returned inside."""
    found = []

    def f(x):
        found.append(body(x))
        return x

    lw.vmap(f, autograph=False)(XS[:1])
    return found[0]


# --- as long as nothing traced is written ---------------------------------------------------------


def test_it_is_an_array_that_python_can_look_into():
    def body(x):
        z = m.arange(4.0)
        z[1:] *= 2
        assert isinstance(z, Scratch) and isinstance(z, np.ndarray) and not isinstance(z, Tensor)
        assert len(z) == 4 and bool(z[0] == 0) and int(z[3]) == 6 and z.tolist() == [0, 2, 4, 6]
        assert type(z[1]) is np.float64 and type(z.sum()) is np.float64
        assert repr(z) == "array([0., 2., 4., 6.])"
        assert list(range(int(z[1]))) == [0, 1] and [float(v) for v in z] == z.tolist()
        assert tensor_of(z) is None and as_state(z) is z
        return z

    z = in_trace(body)
    z[0] = 5.0  # after its trace it is an array like others
    assert z.sum() == 17


RESULTS = [
    lambda z: z + 1,
    lambda z: -z,
    lambda z: z.sum(),
    lambda z: z.mean(axis=0),
    lambda z: z.max(),
    lambda z: z.std(),
    lambda z: z @ z.T,
    lambda z: np.dot(z, z.T),
    lambda z: z[0],
    lambda z: z[0, 1],
    lambda z: z[z > 1],
    lambda z: z[[0, 1]],
    lambda z: z.T,
    lambda z: z.reshape(-1),
    lambda z: z.ravel(),
    lambda z: np.where(z > 1, z, 0),
    lambda z: np.concatenate([z, z]),
    lambda z: np.sort(z, axis=1),
    lambda z: z.argmax(),
    lambda z: z.cumsum(),
    lambda z: z.take(0),
    lambda z: z.take([0, 1]),
    lambda z: np.linalg.norm(z),
    lambda z: np.linalg.svd(z)[1],
    lambda z: np.sum(z, axis=1),
    lambda z: divmod(z, 2.0)[1],
    lambda z: np.add.reduce(z),
    lambda z: np.add.outer(z[0], z[1]),
    lambda z: z.copy(),
    lambda z: z.astype(np.float32),
    lambda z: np.broadcast_to(z[0], (2, 3)),
    lambda z: np.split(z, 3, axis=1)[0],
    lambda z: np.median(z),
    lambda z: z.dot(z[0]),
    lambda z: z == z,
    lambda z: z.nonzero()[0],
    lambda z: np.argwhere(z > 1),
    lambda z: z.squeeze(),
    lambda z: np.modf(z)[0],
    lambda z: z.min(axis=1, keepdims=True),
    lambda z: z.searchsorted is None,
    lambda z: np.pad(z, 1),
    lambda z: np.interp(0.5, z[0], z[1]),
    lambda z: z.round(1),
    lambda z: z.real,
    lambda z: copy.copy(z),
    lambda z: copy.deepcopy(z),
    lambda z: z.flat[2],
    lambda z: z.flat[1:3],
    lambda z: np.add(z, 1, out=z),
    lambda z: z.clip(0, 1),
    lambda z: np.asarray(z, dtype=int),
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_results_are_those_of_numpy_and_arrays_are_scratch(number):
    function = RESULTS[number]
    plain = np.arange(6.0).reshape(2, 3)
    expected = function(plain.copy())
    got = in_trace(lambda x: function(m.array(plain)))
    np.testing.assert_array_equal(got, expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    if isinstance(expected, np.ndarray) and number != RESULTS.index(RESULTS[-1]):
        assert isinstance(got, Scratch)
    elif not isinstance(expected, np.ndarray):
        assert type(got) is type(expected)


def test_an_array_of_the_user_stays_the_users():
    mine = np.arange(3.0)

    def body(x):
        assert m.asarray(mine) is mine and m.ascontiguousarray(mine) is mine
        assert type(np.broadcast_arrays(m.zeros(3), mine)[1]) is np.ndarray
        assert np.add(m.ones(3), mine, out=mine) is mine
        assert isinstance(m.array(mine), Scratch)

    in_trace(body)
    assert mine.tolist() == [1, 2, 3]


def test_copies_of_it_are_arrays_elsewhere():
    def body(x):
        z = m.ones(3)
        back = pickle.loads(pickle.dumps(z))
        assert type(back) is np.ndarray and back.tolist() == [1, 1, 1]

    in_trace(body)


def test_one_capture_for_many_uses():
    def f(x):
        z = m.arange(4.0)
        return x * z + z - z * z

    assert lw.explain(f, XS) is not None
    assert_maps(f, XS)


# --- lifting --------------------------------------------------------------------------------------


def _set_item(z, x, k):
    z[1] = x[0]


def _set_slice(z, x, k):
    z[1:3] = x[:2]


def _set_list(z, x, k):
    z[:2] = [x[0], 1.0]


def _set_at_traced(z, x, k):
    z[k] = 4.0


def _set_by_mask(z, x, k):
    z[x > 1] = 4.0


def _fill(z, x, k):
    z.fill(x[0])


def _fill_slice(z, x, k):
    z[1:].fill(x[0])


def _add(z, x, k):
    z += x


def _out(z, x, k):
    assert np.add(z, x, out=z) is z


def _out_where(z, x, k):
    np.multiply(z, 2.0, out=z, where=x > 1)


def _out_of_function(z, x, k):
    assert np.clip(x, 0, 1, out=z) is z


def _out_of_reduction(z, x, k):
    assert np.sum(np.stack([x, x]), axis=0, out=z) is z


def _out_by_position(z, x, k):
    assert np.cumsum(x, 0, None, z) is z


def _out_of_concatenation(z, x, k):
    np.concatenate([x[:1], z[1:]], out=z)


def _two_outs(z, x, k):
    w = m.zeros(4)
    np.modf(x, out=(w, z))
    z += w


def _copyto(z, x, k):
    np.copyto(z, x)


def _copyto_where(z, x, k):
    np.copyto(z, 3.0, where=x > 0)


def _put(z, x, k):
    np.put(z, [1, 3], x[:2])


def _put_method(z, x, k):
    z.put(k, 8.0)


def _place(z, x, k):
    np.place(z, np.array([True, False, True, False]), x[:2])


def _putmask(z, x, k):
    np.putmask(z, x > 0, x)


def _add_at(z, x, k):
    np.add.at(z, [0, 0, 1], x[:3])


def _add_at_traced(z, x, k):
    np.add.at(z, k, 1)


def _put_along(z, x, k):
    np.put_along_axis(z, np.argsort(x), x, 0)


def _flat(z, x, k):
    z.flat[1] = x[0]


def _flat_all(z, x, k):
    z.flat = x


def _real(z, x, k):
    z.real = x


def _through_iteration(z, x, k):
    for row, value in zip(z.reshape(2, 2), x, strict=False):
        row[0] = value


def _then_sort(z, x, k):
    z[:3] = x[1:]
    z.sort()


def _then_concrete(z, x, k):
    z[0] = x[0]
    z[0] = 3.0
    z[-1] += 1


def _matmul(z, x, k):
    z @= np.eye(4) * x


def _nan_to_num(z, x, k):
    z[0] = np.log(x[1])
    np.nan_to_num(z, copy=False)


WRITES = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None) and value.__code__.co_varnames[:3] == ("z", "x", "k")
]


@pytest.mark.parametrize("write", WRITES, ids=lambda w: w.__name__[1:])
def test_writes(write):
    def f(x, k):
        z = m.arange(4.0)
        before, after = z[::-1], z + 0
        write(z, x, k)
        assert not isinstance(x, Tensor) or (isinstance(z, Lifted) and isinstance(z, np.ndarray))
        return z, before, after, z.sum(), z[1], 2 * z, z.T, x + z, np.where(z > 1, z, x)

    assert_maps(f, XS, KS)


def test_fill_diagonal():
    def f(x):
        z = m.zeros((4, 4))
        np.fill_diagonal(z, x)
        return z

    assert_maps(f, XS)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "ifloordiv", "imod", "ipow", "itruediv"])
def test_in_place_operators(name):
    def f(x):
        z = m.full(4, 3.0)
        other = z
        z = getattr(operator, name)(z, x)
        assert z is other
        z = getattr(operator, name)(z, 2)
        assert z is other
        return z

    assert_maps(f, np.abs(XS) + 1)


@pytest.mark.parametrize("name", ["iand", "ior", "ixor", "ilshift", "irshift"])
def test_in_place_operators_of_integers(name):
    def f(k):
        z = m.array([1, 6, 3])
        z = getattr(operator, name)(z, k)
        return z

    assert_maps(f, KS)


def test_operators_of_a_lifted_array():
    def f(x):
        z = m.ones(4)
        z[0] = x[0]
        w = m.arange(4.0)
        return (
            z + w, w + z, np.arange(4.0) - z, np.float64(2) * z, z ** 2, 2 ** z, z > w, w <= z,
            z == z, -z, abs(z), z @ w, w @ z, divmod(z, 2), z // w.max(), ~(z > 1),
            np.float32(1) / z, sum(z), round(z[0], 1), z.astype(int), z.shape == (4,),
            z.dtype == float, len(z), z[1:],
        )  # fmt: skip

    assert_maps(f, XS)


def test_arguments_hold_lifted_arrays():
    def f(x, k):
        z, i = m.ones(4), m.zeros(2, int)
        z[0], i[1] = x[0], k
        return (
            np.stack([z, x]),
            x[i],
            m.where([z[0] > 1, True], 1, 0),
            x[z > 0.5].sum(),
            z[i],
            z[i[1]],
        )

    assert_maps(f, XS, KS)


# --- reading with traced indices ------------------------------------------------------------------


def test_an_element_at_a_traced_index_does_not_lift():
    def f(x, k):
        table, grid = m.array([3.0, 1.0, 2.0]), m.arange(9).reshape(3, 3)
        result = table[k], grid[k, 1], table[[k, 0]], table[:, None][k, 0], grid[:, 1].take(k)
        assert not isinstance(table, Lifted) and not isinstance(grid, Lifted)
        return result

    assert_maps(f, XS, KS)


def test_a_row_at_a_traced_index_shows_the_array():
    def f(x, k):
        z = m.arange(12.0).reshape(3, 4)
        row = z[k]
        row[1] = -1.0
        z[1, 0] = 5.0
        return z, row

    assert_maps(f, XS, KS)


# --- aliasing -------------------------------------------------------------------------------------

VIEWS = {
    "itself": lambda z: z,
    "whole": lambda z: z[:],
    "row": lambda z: z[1],
    "rows": lambda z: z[::2],
    "reversed": lambda z: z[::-1, ::-2],
    "column": lambda z: z[:, 2],
    "block": lambda z: z[1:, 1:3],
    "transposed": lambda z: z.T,
    "transposed row": lambda z: z.T[1],
    "flat": lambda z: z.reshape(-1),
    "ravel": lambda z: z.ravel(),
    "stretched": lambda z: z[None, :, None, :],
    "swapped": lambda z: np.swapaxes(z, 0, 1)[::-1],
    "other shape": lambda z: z.reshape(4, 3),
    "view": lambda z: z.view(),
    "of a view": lambda z: z[1:][0][1:],
    "one element": lambda z: z[1:2, 2:3],
    "no dimensions": lambda z: z[1, 2, ...],
    "nothing": lambda z: z[3:],
    "diagonal": lambda z: np.einsum("ii->i", z[:, :3]),
    "windows": lambda z: np.lib.stride_tricks.as_strided(z, (3, 2), (8, 16), subok=True),
    "split": lambda z: np.split(z, 2, axis=1)[1],
    "squeezed": lambda z: np.squeeze(z[:1]),
    "expanded": lambda z: np.expand_dims(z, 1),
    "moved": lambda z: np.moveaxis(z, 1, 0),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_arrays_show_each_other(name, order):
    get = VIEWS[name]

    def make():
        z = m.zeros((3, 4), order=order)
        z[...] = np.arange(12.0).reshape(3, 4)
        return z

    def through_array(x):
        z = make()
        view = get(z)
        z[1] = x
        z[:, 2] *= 2
        return view, z

    def through_view(x):
        z = make()
        view, other = get(z), z[1:, ::-1]
        view[...] = x[0]
        first = z.copy()
        view += 1
        other[0, 0] = x[1]
        return view, z, other, first

    assert_maps(through_array, XS)
    assert_maps(through_view, XS)


@pytest.mark.parametrize("seed", seeds(12))
def test_random_views_and_writes(seed):
    def f(x):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 4, rng.integers(1, 4)))
        z = m.zeros(shape, order=rng.choice(["C", "F"]))
        z[...] = rng.normal(size=shape)
        arrays = [z]
        for _ in range(8):
            base = arrays[rng.integers(len(arrays))]
            kind = rng.integers(5)
            if kind == 0 and base.ndim:
                key = [slice(None, None, int(rng.choice([1, -1, 2]))) for _ in base.shape]
                at = rng.integers(base.ndim)
                key[at] = int(rng.integers(base.shape[at])) if base.shape[at] else slice(None)
                arrays.append(base[(*key, ...)])
            elif kind == 1:
                arrays.append(np.transpose(base, rng.permutation(base.ndim)))
            elif kind == 2:
                arrays.append(base.reshape(-1))  # a view or a copy
            elif kind == 3:
                base[...] = x[rng.integers(4)]
            else:
                base += x[rng.integers(4)] if rng.integers(2) else 1.0
        return arrays

    assert_maps(f, XS)


def test_parts_of_complex_numbers():
    def f(x):
        z = m.zeros(4, complex)
        re, im = z.real, z[1:].imag
        z[0] = x[0] * 1j
        re[1] = x[1]
        im += x[:3]
        w = m.ones(4, complex)
        w.imag = x
        w.real[1] = x[0]
        return z, re, im, w

    assert_maps(f, XS)


def test_other_dtypes_of_the_same_bits():
    def f(x):
        z = m.ones(4)
        bits = z.view(np.int64)
        z[1] = x[0]
        bits[0] = 0
        return z, bits

    assert_maps(f, XS)


def test_a_view_as_bytes_is_lost():
    def f(x):
        z = m.ones(4)
        data = z.view(np.uint8)
        z[1] = x[0]
        return data[0]

    with pytest.raises(UnsupportedError, match=r"as another dtype.*test_scratch"):
        lw.vmap(f)(XS)


def test_arrays_without_dimensions():
    def f(x):
        z, w = m.zeros(()), m.array(2.0)
        also, seen = w, z[...]
        z[...] = x[0]
        w += x[1]
        assert also is w
        seen += 1
        w[()] += 1
        return z, w, also, seen, z[()] + 1

    assert_maps(f, XS)


def test_a_broadcast_array_shows_what_is_written():
    def f(x):
        z = m.zeros(4)
        wide = np.broadcast_to(z, (2, 4))
        z[1] = x[0]
        return wide

    assert_maps(f, XS)


def test_many_views():
    def f(x):
        z = m.zeros((200, 2))
        rows = list(z)
        for row in z:
            row[1] = 1.0
        rows[7][0] = x[0]
        z[9] = x[1]
        return z, rows[9]

    assert_maps(f, XS)


# --- what is not possible -------------------------------------------------------------------------


def test_read_only():
    def f(x):
        z = m.zeros(3)
        z.flags.writeable = False
        z[0] = x[0]
        return z

    with pytest.raises(ValueError, match="read-only"):
        lw.vmap(f)(XS)

    def g(x):
        z = m.zeros((2, 2))
        fixed = np.broadcast_to(z, (3, 2, 2))
        z[0] = x[0]
        fixed[0] = 1.0
        return z

    with pytest.raises(ValueError, match="read-only"):
        lw.vmap(g)(XS)


STALE = {
    "ufunc": lambda a: np.asarray(a) + 1,
    "sum": lambda a: np.asarray(a).sum(),
    "dtype": lambda a: np.asarray(a, dtype=float),
    "list": lambda a: np.array([a, a], dtype=float),
    "write": lambda a: np.ones(3).__setitem__(slice(None), a),
    "method": lambda a: np.ndarray.dot(a, a),
    "index": lambda a: np.arange(3)[np.asarray(a)],
    "copy": lambda a: np.array(a, subok=True),
    "buffer": lambda a: np.frombuffer(a),
    "memory": lambda a: memoryview(a),
    "bytes": lambda a: bytes(a),
    "checksum": lambda a: zlib.crc32(a),
    "digest": lambda a: hashlib.md5(a),
    "unpack": lambda a: struct.unpack_from("d", a),
    "write bytes": lambda a: io.BytesIO().write(a),
    "read bytes": lambda a: io.BytesIO(b"12345678").readinto(a),
}


@pytest.mark.parametrize("name", STALE)
@pytest.mark.parametrize("early", [False, True])
def test_code_that_does_not_ask_meets_an_error_and_not_old_numbers(name, early):
    def body(x):
        z = m.zeros(6, int)
        a = z[::2]
        (a if early else z)[0] = 2 * x.size
        z[0] = x[0]
        for each in (z, a, z[:1]):
            with pytest.raises((TypeError, IndexError, ValueError)):
                STALE[name](each)

    in_trace(body)


def test_objects_are_refused():
    def f(x):
        z = m.zeros(3).astype(object)
        z[0] = x[0]
        return x

    with pytest.raises((UnsupportedError, ConcretizationError)):
        lw.vmap(f)(XS)


def test_after_its_trace():
    plain, lifted = in_trace(lambda x: (m.zeros(3), _lifted(x)))
    assert (plain + 1).tolist() == [1, 1, 1]
    with pytest.raises(LeakedTensorError):
        lifted + 1
    with pytest.raises(LeakedTensorError):
        lifted[0] = 1.0

    def f(x):
        plain[0] = x[0]
        return x

    with pytest.raises(
        UnsupportedError, match=r"made outside of the traced function.*test_scratch"
    ):
        lw.vmap(f)(XS)
    assert lw.vmap(lambda x: x[:3] + plain)(XS).shape == (3, 3)


def _lifted(x):
    z = m.zeros(3)
    z[0] = x[0]
    return z


# --- regions and nested maps ----------------------------------------------------------------------


def test_a_write_in_a_region_is_the_regions():
    def body(x):
        z = m.arange(3.0)
        view = z[1:]
        region = Region(body)
        region.open()
        view[0] = 7.0  # concrete, but for some examples only
        own = m.zeros(2)
        own[0] = 1.0
        assert isinstance(own, Scratch)
        inside = tensor_of(z)._value
        ((slot, _),) = region.changes.values()
        assert slot.get()._value is inside
        region.leave()
        assert isinstance(z, Lifted) and isinstance(view, Lifted)
        assert tensor_of(z)._value is not inside
        return z

    in_trace(body)


def test_settled():
    def body(x):
        z = m.zeros((2, 2))
        rows = settled(z[0]), settled(z[1])
        assert all(isinstance(row, Tensor) for row in rows) and isinstance(z, Lifted)
        assert settled(x) is x and settled(3) == 3
        rows[1][0] = x[0]
        return z

    assert tensor_of(in_trace(body)) is not None


@pytest.mark.parametrize("value", [1.0, None])
def test_a_nested_map_does_not_write_to_it(value):
    def f(x):
        z = m.zeros(3)

        def inner(y):
            z[0] = y if value is None else value
            return y

        return lw.vmap(inner)(x), z

    with pytest.raises(
        UnsupportedError, match="a mapped function writes to an array of the function"
    ):
        lw.vmap(f)(XS)


def test_a_nested_map_reads_it():
    def f(x):
        z, w = m.zeros(3), m.ones(2)
        z[0] = x[0]
        return lw.vmap(lambda y: y * z[0] + w[1])(x)

    assert_maps(lambda x: f(x) if isinstance(x, Tensor) else x * x[0] + 1, XS)


def test_its_class_is_that_of_an_array():
    def f(x):
        made, written = np.zeros(3), np.zeros(3)
        written[0] = x[0]
        return [
            float(type(a) is np.ndarray and type(a) in (list, np.ndarray))
            + (type(a).__name__ == "ndarray") + (a.__class__ is type(x))
            for a in (made, made[1:], written, made + 1, x)
        ]  # fmt: skip

    assert f(np.ones(3)) == lw.function(f)(np.ones(3)) == [3.0] * 5
