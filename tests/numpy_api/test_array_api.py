"""The array API standard 2024.12 through ``x.__array_namespace__()``: every name of it, once.

`STANDARD` lists the names as the standard does. The tables below hold one call of each; a name that
has none is a failure.
"""

import operator

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace.table.array_api import VERSIONS
from support.oracle import assert_maps

STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": """
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
        ones_like tril triu zeros zeros_like""",
    "data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "data types": """
        bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
        complex128""",
    "elementwise": """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
        bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
        expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less
        less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
        maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
        round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """
        broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape
        roll squeeze stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "version": "__array_api_version__",
    "linalg": """
        linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh
        linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank
        linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve
        linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm""",
    "fft": """
        fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft
        fft.ihfft fft.fftfreq fft.rfftfreq fft.fftshift fft.ifftshift""",
}
NAMES = [name for names in STANDARD.values() for name in names.split()]

RNG = np.random.default_rng(24)
#: Operands by the letter that a call takes them under; axis 0 is the batch.
OPERANDS = {
    "x": RNG.normal(size=(3, 2, 4)) * 2,
    "y": RNG.normal(size=(3, 2, 4)) + 0.5,
    "p": RNG.uniform(0.1, 0.9, size=(3, 2, 4)),  # in every function's domain, or 1 over it is
    "f": RNG.normal(size=(3, 5)).astype("f4"),
    "c": RNG.normal(size=(3, 2, 4)) + 1j * RNG.normal(size=(3, 2, 4)),
    "i": RNG.integers(-9, 9, (3, 2, 4)),
    "j": RNG.integers(1, 4, (3, 2, 4)),
    "u": RNG.integers(0, 200, (3, 5)).astype("u1"),
    "b": RNG.random((3, 2, 4)) < 0.5,
    "m": RNG.normal(size=(3, 3, 3)),
    "s": np.einsum("bij,bkj->bik", *[RNG.normal(size=(3, 3, 3))] * 2) + np.eye(3),  # definite
    "v": RNG.normal(size=(3, 3)),
    "w": RNG.normal(size=(3, 3)),
}


def call(letters, function):
    """Return a row: which operands, and what to do with the namespace and them."""
    return letters, function


UNARY = {
    "x": """
        abs asinh atan ceil conj cos cosh exp expm1 floor isfinite isinf isnan negative positive
        real round sign signbit sin sinh square tan tanh trunc reciprocal all any max mean min prod
        std sum var argmax argmin argsort sort count_nonzero flip diff unstack squeeze
        matrix_transpose tril triu empty_like ones_like zeros_like linalg.matrix_norm
        linalg.matrix_rank linalg.matrix_transpose linalg.pinv linalg.svd linalg.svdvals linalg.qr
        linalg.vector_norm linalg.diagonal linalg.trace fft.fft fft.fftn fft.rfft fft.rfftn
        fft.ihfft fft.fftshift fft.ifftshift""",
    "p": "acos asin atanh log log1p log2 log10 sqrt",
    "c": "imag fft.ifft fft.ifftn fft.irfft fft.irfftn fft.hfft",
    "i": "bitwise_invert",
    "b": "logical_not",
    "f": "cumulative_prod cumulative_sum",
    "m": "linalg.det linalg.inv linalg.slogdet",
    "s": "linalg.cholesky linalg.eigh linalg.eigvalsh",
}
BINARY = {
    "xy": """
        add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal
        logaddexp maximum minimum multiply nextafter not_equal remainder subtract vecdot
        linalg.vecdot""",
    "px": "pow",
    "ij": "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor",
    "bx": "logical_and logical_or logical_xor",
    "mx": "",
    "ms": "matmul tensordot linalg.matmul linalg.tensordot",
    "mv": "linalg.solve",
    "vw": "linalg.cross linalg.outer",
}


def attribute(xp, name):
    """Return ``xp.name``, also of an extension: ``"fft.rfft"``."""
    return operator.attrgetter(name)(xp)


CALLS = {}
for table in (UNARY, BINARY):
    for letters, names in table.items():
        for name in names.split():
            CALLS[name] = call(letters, lambda xp, *a, name=name: attribute(xp, name)(*a))
for name in "e inf nan pi".split():
    CALLS[name] = call("x", lambda xp, x, name=name: x * getattr(xp, name))
for name in STANDARD["data types"].split():
    CALLS[name] = call("u", lambda xp, u, name=name: xp.astype(u, getattr(xp, name)))
CALLS |= {
    "newaxis": call("x", lambda xp, x: x[:, xp.newaxis]),
    # Creation takes no arrays, but for what asks for their dtype and device.
    "arange": call("x", lambda xp, x: x[0] + xp.arange(4, dtype=x.dtype, device=x.device)),
    "asarray": call("x", lambda xp, x: xp.asarray(x, dtype=xp.float32, copy=True)),
    "empty": call("x", lambda xp, x: 0 * x + xp.ones_like(xp.empty(x.shape, dtype=x.dtype))),
    "empty_like": call("x", lambda xp, x: xp.zeros_like(xp.empty_like(x, dtype=xp.int8))),
    "eye": call("m", lambda xp, m: m - xp.eye(3, dtype=m.dtype, device="cpu")),
    "full": call("x", lambda xp, x: xp.full((2, 2), x[0, 0], device=x.device)),
    "full_like": call("x", lambda xp, x: xp.full_like(x, x[0, 1])),
    "linspace": call("x", lambda xp, x: xp.linspace(x[0, 0], x[0, 1], 5, endpoint=False)),
    "meshgrid": call("vf", lambda xp, v, f: xp.meshgrid(v, f, indexing="ij")),
    "ones": call("x", lambda xp, x: x + xp.ones(x.shape, dtype=x.dtype)),
    "zeros": call("x", lambda xp, x: x + xp.zeros(x.shape, dtype=xp.float32)),
    "tril": call("m", lambda xp, m: xp.tril(m, k=-1)),
    "triu": call("m", lambda xp, m: xp.triu(m, k=1)),
    "astype": call("x", lambda xp, x: xp.astype(x, xp.int64, copy=False, device="cpu")),
    "can_cast": call("fx", lambda xp, f, x: f * xp.can_cast(x, xp.float32)),
    "finfo": call("f", lambda xp, f: f + xp.finfo(f.dtype).max / 2),
    "iinfo": call("u", lambda xp, u: xp.iinfo(u.dtype).max - u),
    "isdtype": call(
        "f", lambda xp, f: f + (2 if xp.isdtype(f.dtype, ("real floating", "integral")) else 1)
    ),
    "result_type": call("fu", lambda xp, f, u: xp.astype(u, xp.result_type(f, u, 1.0))),
    "clip": call("xpy", lambda xp, x, p, y: xp.clip(x, min=y, max=y + p)),
    "acosh": call("p", lambda xp, p: xp.acosh(1 / p)),
    "take": call("xj", lambda xp, x, j: xp.take(x, j[0], axis=1)),
    "take_along_axis": call("xj", lambda xp, x, j: xp.take_along_axis(x, j, axis=-1)),
    "__array_namespace_info__": call(
        "x", lambda xp, x: xp.astype(x, xp.__array_namespace_info__().default_dtypes()["integral"])
    ),
    "__array_api_version__": call("x", lambda xp, x: x + (xp.__array_api_version__ >= "2023.12")),
    "broadcast_arrays": call("xv", lambda xp, x, v: xp.broadcast_arrays(x, v[:2, None])),
    "broadcast_to": call("x", lambda xp, x: xp.broadcast_to(x, (3, 2, 4))),
    "concat": call("xi", lambda xp, x, i: xp.concat([x, i], axis=-1)),
    "expand_dims": call("x", lambda xp, x: xp.expand_dims(x, axis=1)),
    "flip": call("x", lambda xp, x: xp.flip(x, axis=-1)),
    "moveaxis": call("x", lambda xp, x: xp.moveaxis(x, 0, -1)),
    "permute_dims": call("x", lambda xp, x: xp.permute_dims(x, (1, 0))),
    "repeat": call("x", lambda xp, x: xp.repeat(x, 3, axis=0)),
    "reshape": call("x", lambda xp, x: xp.reshape(x, (4, -1), copy=True)),
    "roll": call("x", lambda xp, x: xp.roll(x, (1, -1), axis=(0, 1))),
    "squeeze": call("x", lambda xp, x: xp.squeeze(x[:1], axis=0)),
    "stack": call("xy", lambda xp, x, y: xp.stack([x, y], axis=1)),
    "tile": call("x", lambda xp, x: xp.tile(x, (2, 1, 3))),
    "unstack": call("x", lambda xp, x: xp.unstack(x, axis=1)),
    "argmax": call("x", lambda xp, x: xp.argmax(x, axis=0, keepdims=True)),
    "argmin": call("x", lambda xp, x: xp.argmin(x, axis=1)),
    "count_nonzero": call("b", lambda xp, b: xp.count_nonzero(b, axis=1, keepdims=True)),
    "searchsorted": call("fx", lambda xp, f, x: xp.searchsorted(xp.sort(f), x, side="right")),
    "where": call("bxi", lambda xp, b, x, i: xp.where(b, x, i)),
    "argsort": call("x", lambda xp, x: xp.argsort(x, axis=0, stable=True)),
    "sort": call("x", lambda xp, x: xp.sort(x, axis=0, stable=False)),
    "cumulative_sum": call(
        "x", lambda xp, x: xp.cumulative_sum(x, axis=1, dtype=xp.float32, include_initial=True)
    ),
    "cumulative_prod": call(
        "x", lambda xp, x: xp.cumulative_prod(x, axis=0, include_initial=True)
    ),
    "mean": call("x", lambda xp, x: xp.mean(x, axis=(0, 1), keepdims=True)),
    "std": call("x", lambda xp, x: xp.std(x, axis=1, correction=1)),
    "var": call("x", lambda xp, x: xp.var(x, correction=1.5)),
    "prod": call("i", lambda xp, i: xp.prod(i, axis=0, dtype=xp.float32)),
    "sum": call("u", lambda xp, u: xp.sum(u)),
    "diff": call("xv", lambda xp, x, v: xp.diff(x, n=2, axis=1, prepend=v[:2, None])),
    "tensordot": call("ms", lambda xp, m, s: xp.tensordot(m, s, axes=((0,), (1,)))),
    "vecdot": call("xy", lambda xp, x, y: xp.vecdot(x, y, axis=0)),
    "linalg.cholesky": call("s", lambda xp, s: xp.linalg.cholesky(s, upper=True)),
    "linalg.matrix_norm": call("x", lambda xp, x: xp.linalg.matrix_norm(x, keepdims=True, ord=1)),
    "linalg.matrix_power": call("m", lambda xp, m: xp.linalg.matrix_power(m, -3)),
    "unique_inverse": call("x", lambda xp, x: xp.unique_inverse(x).inverse_indices),
    "linalg.qr": call("x", lambda xp, x: tuple(xp.linalg.qr(x, mode="complete"))),
    "linalg.svd": call("x", lambda xp, x: tuple(xp.linalg.svd(x, full_matrices=False))),
    "linalg.eigh": call("s", lambda xp, s: tuple(xp.linalg.eigh(s))),
    "linalg.slogdet": call("m", lambda xp, m: tuple(xp.linalg.slogdet(m))),
    "linalg.trace": call("x", lambda xp, x: xp.linalg.trace(x, offset=1, dtype=xp.float32)),
    "linalg.vector_norm": call("x", lambda xp, x: xp.linalg.vector_norm(x, axis=0, ord=3)),
    "fft.fft": call("f", lambda xp, f: xp.fft.fft(f, n=7, axis=-1, norm="ortho")),
    "fft.fftn": call("x", lambda xp, x: xp.fft.fftn(x, s=(3, 4), axes=(0, 1))),
    "fft.fftfreq": call("x", lambda xp, x: xp.fft.fftfreq(5, d=x[0, 0], device="cpu")),
    "fft.rfftfreq": call("x", lambda xp, x: x[0, 0] * xp.fft.rfftfreq(6)),
}  # fmt: skip

#: What has no result whose shape is known, or no memory to share.
REFUSED = {
    "nonzero": lw.DataDependentShapeError,
    "unique_all": lw.DataDependentShapeError,
    "unique_counts": lw.DataDependentShapeError,
    "unique_values": lw.DataDependentShapeError,
    "from_dlpack": lw.ConcretizationError,
}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFUSED])
def test_functions(name):
    letters, function = CALLS[name]
    assert_maps(
        lambda *args: function(args[0].__array_namespace__(), *args),
        *[OPERANDS[letter] for letter in letters],
    )


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(REFUSED[name], match=r"Use |Sort with|Share "):
        batch = OPERANDS["x"].copy()
        batch[-1] = 0  # of another length than the first
        lw.vmap(lambda x: getattr(x.__array_namespace__(), name)(x))(batch)


def test_every_call_is_of_the_standard():
    assert sorted(NAMES) == sorted({*CALLS, *REFUSED})
    assert {name for name in NAMES if "." not in name} <= set(dir(traced_namespace()))


# --- the namespace --------------------------------------------------------------------------------


def traced_namespace(version=None):
    """Return the namespace that a traced array gives."""
    got = []

    def f(x):
        got.append(x.__array_namespace__(api_version=version))
        return x

    lw.vmap(f)(np.ones(2))
    return got[0]


@pytest.mark.parametrize("version", [None, *VERSIONS])
def test_versions(version):
    newest = min("2024.12", np.__array_api_version__)
    assert traced_namespace(version).__array_api_version__ == newest == VERSIONS[-1]


@pytest.mark.parametrize("version", ["2020.10", "2124.12", "", 2024])
def test_unknown_versions(version):
    for x in (
        traced_namespace,
        lambda version: np.ones(2).__array_namespace__(api_version=version),
    ):
        with pytest.raises(ValueError, match=r"Array API"):
            x(version)


def test_info():
    info, numpy = traced_namespace().__array_namespace_info__(), np.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": False,
        "data-dependent shapes": False,
        "max dimensions": 63,
    }
    assert info.default_device() == "cpu" and info.devices() == numpy.devices()
    assert info.default_dtypes(device="cpu") == numpy.default_dtypes()
    assert info.dtypes(kind="integral") == numpy.dtypes(kind="integral")


def test_arrays_that_are_not_traced():
    xp = traced_namespace()
    for made, expected in [
        (xp.asarray([1, 2], dtype=xp.int8), np.asarray([1, 2], np.int8)),
        (xp.full((2,), 3), np.full(2, 3)),
        (xp.arange(1, 9, 2), np.arange(1, 9, 2)),
        (xp.arange(3.5), np.arange(3.5)),
        (xp.from_dlpack(np.ones(2)), np.ones(2)),
        (xp.linalg.det(np.eye(2)), np.linalg.det(np.eye(2))),
    ]:
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


def test_names_that_it_has_not():
    xp = traced_namespace()
    with pytest.raises(AttributeError):
        _ = xp.no_such_function
    with pytest.raises(AttributeError):
        _ = xp._core


def test_limits_of_arrays():
    """The standard takes arrays here too; NumPy takes dtypes only."""

    def f(x):
        xp = x.__array_namespace__()
        assert xp.finfo(x).eps == np.finfo("f4").eps
        assert xp.iinfo(xp.astype(x, xp.int8)).max == 127
        return x

    lw.vmap(f)(OPERANDS["f"])


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.asarray([x, 2 * x, np.arange(4)]),
        lambda xp, x: xp.asarray((x[0], 1)),
        lambda xp, x: xp.asarray([x[0], [1, x[1]]][1]),
        lambda xp, x: xp.asarray([[x[0], True], [x[1], 2]], dtype=xp.float32),
        lambda xp, x: xp.asarray(x, copy=False),
        lambda xp, x: xp.asarray(x, dtype=x.dtype, device=x.device),
        lambda xp, x: xp.asarray(x, dtype=bool),
        lambda xp, x: xp.full(3, x[:1]),
        lambda xp, x: xp.full((2, 4), x, dtype=xp.complex64),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
def test_asarray_and_full(function, dtype):
    x = (RNG.normal(size=(3, 4)) * 3).astype(dtype)
    with np.errstate(all="ignore"):
        assert_maps(lambda x: function(x.__array_namespace__(), x), x)


def test_asarray_copies_or_not():
    def f(x):
        xp = x.__array_namespace__()
        same, other = xp.asarray(x), xp.asarray(x, copy=True)
        same[0] = 1
        return x, other

    assert_maps(f, OPERANDS["x"])


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda xp, x: xp.asarray(x, dtype=xp.int8, copy=False), ValueError),
        (lambda xp, x: xp.asarray([x, x], copy=False), ValueError),
        (lambda xp, x: xp.asarray([x, x[0]]), ValueError),
        (lambda xp, x: xp.asarray(x, device="gpu"), ValueError),
        (lambda xp, x: xp.astype(x, xp.float32, device="gpu"), ValueError),
        (lambda xp, x: xp.zeros_like(x, device="gpu"), ValueError),
        (lambda xp, x: xp.full((2, 3), x), ValueError),
        (lambda xp, x: xp.no_such_function, AttributeError),
    ],
)
def test_errors_as_numpy(function, error):
    x = OPERANDS["x"]
    with pytest.raises(error):
        function(np, x[0])
    with pytest.raises(error):
        lw.vmap(lambda x: function(x.__array_namespace__(), x))(x)


def test_lengths_that_are_data():
    found = lw.vmap(lambda n: n.__array_namespace__().arange(n).sum())(np.array([3, 4]))
    np.testing.assert_array_equal(found, [3, 6])
    with pytest.raises(lw.UnsupportedError, match="long"):
        lw.vmap(lambda n: n.__array_namespace__().arange(0, step=n, stop=4))(np.array([3, 4]))


# --- the array object -----------------------------------------------------------------------------

OPERATORS = {
    "xy": "add sub mul truediv floordiv mod pow lt le gt ge eq ne",
    "ij": "and_ or_ xor lshift rshift",
    "ms": "matmul",
    "x": "neg pos abs",
    "i": "invert",
}
METHODS = {
    "dtype": call("x", lambda x: x + x.dtype.itemsize),
    "device": call("x", lambda x: x * (x.device == "cpu")),
    "mT": call("x", lambda x: x.mT),
    "T": call("x", lambda x: x.T),
    "ndim": call("x", lambda x: x * x.ndim),
    "shape": call("x", lambda x: x * x.shape[1]),
    "size": call("x", lambda x: x * x.size),
    "to_device": call("x", lambda x: x.to_device("cpu")),
    "__dlpack_device__": call("x", lambda x: x + x.__dlpack_device__()[0]),
    "__getitem__": call("x", lambda x: (x[0], x[..., ::-1], x[1, 2], x[:, None], x[-1, 1:3])),
    "__setitem__": call("xv", lambda x, v: set_items(x, v)),
}


def set_items(x, v):
    x = x + 0
    x[0, :3] = v
    x[..., -1] = 5
    return x


@pytest.mark.parametrize("name", METHODS)
def test_attributes_and_methods(name):
    letters, function = METHODS[name]
    assert_maps(function, *[OPERANDS[letter] for letter in letters])


@pytest.mark.parametrize(
    ("name", "letters"),
    [(name, letters) for letters, names in OPERATORS.items() for name in names.split()],
)
def test_operators(name, letters):
    function = getattr(operator, name)
    args = [np.abs(OPERANDS[letter]) if name == "pow" else OPERANDS[letter] for letter in letters]
    assert_maps(function, *args)
    method = f"__{name.strip('_')}__"
    assert_maps(lambda *args: getattr(args[0], method)(*args[1:]), *args)
    if len(args) == 1 or name == "matmul":
        return
    number = 2 if letters == "ij" else 1.5
    assert_maps(lambda x: function(x, number), args[0])
    assert_maps(lambda x: function(number, x), args[1])


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        (name, letters)
        for name, letters in [
            *[(name, "xy") for name in "add sub mul truediv floordiv mod pow".split()],
            *[(name, "ij") for name in "and or xor lshift rshift".split()],
            ("matmul", "ms"),
        ]
    ],
)
def test_operators_in_place_and_reflected(name, letters):
    args = [np.abs(OPERANDS[letter]) if name == "pow" else OPERANDS[letter] for letter in letters]
    in_place = getattr(operator, f"i{name}")

    def f(x, y):
        x = x + 0
        kept = x
        x = in_place(x, y)
        return x, kept

    assert_maps(f, *args)
    assert_maps(lambda x, y: getattr(x, f"__r{name}__")(y), *args)


@pytest.mark.parametrize("method", [bool, float, int, complex, operator.index])
def test_python_numbers_are_refused(method):
    x = np.arange(3) if method is operator.index else np.ones(3)
    with pytest.raises(lw.ConcretizationError):
        lw.vmap(method, autograph=False)(x)


def test_devices_and_memory_that_there_are_not():
    x = OPERANDS["x"]
    for f in (lambda x: x.to_device("gpu"), lambda x: x.to_device("cpu", stream=1)):
        with pytest.raises(ValueError):
            f(x)
        with pytest.raises(ValueError):
            lw.vmap(f)(x)
    for f in (np.from_dlpack, lambda x: x.__dlpack__()):
        with pytest.raises(lw.ConcretizationError, match="DLPack"):
            lw.vmap(f)(x)


def test_code_written_for_the_standard():
    """A library function as one finds it in packages that support the standard."""

    def standardize(x, axis=None):
        xp = x.__array_namespace__()
        if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
            x = xp.astype(x, xp.__array_namespace_info__().default_dtypes()["real floating"])
        spread = xp.std(x, axis=axis, keepdims=True)
        safe = xp.where(spread == 0, xp.ones_like(spread), spread)
        return (x - xp.mean(x, axis=axis, keepdims=True)) / safe

    for letter in "xijfu":
        assert_maps(lambda x: standardize(x, axis=-1), OPERANDS[letter])
    assert_maps(standardize, OPERANDS["x"], in_dims=-1)
