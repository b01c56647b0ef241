"""Every method and attribute of `ndarray` on a `Tensor`."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, UnsupportedError
from support.oracle import assert_maps, assert_maps_everywhere

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4, 5))
Z = X + 1j * X[:, ::-1]
N = rng.integers(1, 9, (3, 4, 5))

#: What an array has and a tensor does not, with the reason.
ABSENT = {
    "__array_finalize__": "for subclasses",
    "__array_interface__": "there is no memory to show",
    "__array_struct__": "there is no memory to show",
    "__array_wrap__": "for subclasses",
    "__buffer__": "there is no memory to show",
    "__class_getitem__": "for annotations of arrays",
    "__setstate__": "a tensor is not pickled",
    "_set_dtype": "NumPy's own",
    "_set_shape": "NumPy's own",
}

#: What NumPy 2.2 still has, to say in an error what to write instead.
EXPIRED = {"itemset", "newbyteorder", "ptp", "tostring"}

METHODS = {
    "all any": lambda x: (x.all(), x.any(1), (x > 0).all(axis=0, keepdims=True)),
    "argmax argmin": lambda x: (x.argmax(), x.argmin(1), x.argmax(axis=0, keepdims=True)),
    "astype": lambda x: (
        x.astype(int), x.astype(np.float32, copy=False), x.astype("f4", casting="same_kind")
    ),
    "choose": lambda x: (x > 0).choose([x, 0]),
    "clip": lambda x: (x.clip(-1, 1), x.clip(max=0.5), x.clip(0)),
    "conj": lambda x: (x.conj(), x.conjugate()),
    "copy": lambda x: (x.copy(), x.copy("F")),
    "cumsum cumprod": lambda x: (x.cumsum(), x.cumprod(1)),
    "diagonal trace": lambda x: (x.diagonal(), x.trace(1)),
    "dot": lambda x: x.dot(x[0]),
    "fill": lambda x: filled(x.copy()),
    "flatten ravel": lambda x: (x.flatten(), x.T.flatten(order="F"), x.ravel(), x.T.ravel("F")),
    "flat": lambda x: (x.flat[3], x.T.flat[[1, -1]], sum(x[0].flat), len(x.flat)),
    "max min": lambda x: (x.max(), x.min(axis=1), x.max(0, keepdims=True), x.min(initial=0)),
    "mean std var": lambda x: (x.mean(), x.std(0), x.var(axis=1, ddof=1)),
    "partition": lambda x: np.sort(partitioned(x.copy())[:, :2]),
    "prod sum": lambda x: (x.prod(1), x.sum(), x.sum((0, 1)), x.sum(dtype=np.float32)),
    "put": lambda x: put(x.copy()),
    "repeat": lambda x: (x.repeat(2), x.repeat([1, 0, 2, 1], axis=0)),
    "reshape": lambda x: (
        x.reshape(5, 4), x.reshape((-1, 2)), x.reshape(20, order="F"), x.reshape(-1)
    ),
    "round": lambda x: (x.round(), x.round(1), x.round(decimals=-1)),
    "searchsorted": lambda x: np.sort(x[0]).searchsorted([0.0, 1.0], side="right"),
    "sort argsort": lambda x: (sort(x.copy()), x.argsort(), x.argsort(axis=0, kind="stable")),
    "squeeze": lambda x: (x[None].squeeze(), x[:, None].squeeze(axis=1)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: (x.take([0, 1]), x.take([0, 1], axis=1)),
    "transpose": lambda x: (
        x.transpose(), x.transpose(1, 0), x.transpose((1, 0)), x.transpose(None)
    ),
    "T mT": lambda x: (x.T, x.mT, x[0].T),
    "real imag": lambda x: (x.real, x.imag),
    "set real": lambda x: set_real(x.copy()),
    "view": lambda x: (x.view(), x.view(np.int64), x.view(np.uint8), x.view(np.int64).view(float)),
    "to_device": lambda x: x.to_device("cpu"),
    "len": lambda x: len(x) + len(x[0]),
    "numbers": lambda x: (x.ndim, x.size, x.itemsize, x.nbytes, x.shape[0]),
    "iteration": lambda x: [row for row in x] + list(x[0]),
    "round()": lambda x: (round(x[0, 0], 2), abs(x), -x, +x),
    "compress": lambda x: x.compress([True, False, True], axis=1),
}  # fmt: skip


def filled(x):
    x.fill(3)
    x[0].fill(x[1, 1])
    return x


def partitioned(x):
    x.partition(1, axis=1)
    return x


def put(x):
    x.put([0, -1], [7, 8])
    x.put(indices=3, values=1)
    return x


def sort(x):
    x.sort()
    x[:, 0].sort()
    return x


def set_real(x):
    x.real = 1
    x.real[0] += 1
    return x


@pytest.mark.parametrize("func", METHODS.values(), ids=METHODS.keys())
def test_methods(func):
    assert_maps_everywhere(func, X)


def test_complex_methods():
    def func(z):
        y = z.copy()
        y.imag = z.real
        y.imag[0] = 5
        y.real += 1
        return z.conj(), z.real, z.imag, y, z.view(float), z.round(1), abs(z)

    assert_maps_everywhere(func, Z)
    assert_maps(func, Z.astype(np.complex64))


def test_views_as_another_dtype():
    def func(z):
        y = z.copy()
        y.view(float)[:, ::2] = 7
        y.view(np.int64)[0] = 0
        return y, y[0, :4].real.copy().view(complex)

    assert_maps(func, Z)
    for bad in (lambda x: x.view(np.dtype("V3")), lambda x: x[0, 0, ...].view(np.int8),
                lambda x: x[:, :3].copy().view(complex)):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            bad(X[0])
        with pytest.raises((ValueError, TypeError)):
            lw.vmap(bad)(X)


def test_operators():
    def func(x, n):
        a = n.copy()
        a += 1
        a <<= 1
        a &= 14
        a |= 1
        a ^= 3
        a //= 2
        a %= 5
        a **= 2
        a >>= 1
        a *= 2
        a -= 1
        b = x.copy()
        b /= 2
        b @= np.eye(5)
        return (a, b, divmod(n, 3), divmod(9, n), 2**n, n @ n.T, n % 3, 7 // n, 1 / x, 2 - x, ~n,
                n << 1, 1 >> n, n & 3, 3 | n, n ^ n, x == 0, x != x, x < 1, x <= 1, x**2,
                x**-1)  # fmt: skip

    assert_maps_everywhere(func, X, N)


def test_the_attributes_of_arrays_are_there():
    missing = {name for name in dir(np.ndarray) if not hasattr(lw.Tensor, name)} - EXPIRED
    assert missing == set(ABSENT) & set(dir(np.ndarray))
    extra = {name for name in dir(lw.Tensor) if not name.startswith("_")} - set(dir(np.ndarray))
    assert extra == {"is_integer", "bit_count", "bit_length"}  # of scalars, which are tensors too


def test_base():
    def func(x):
        y = x.copy()
        assert y.base is None
        assert y[1:].base is y
        return y

    lw.vmap(func)(X)


@pytest.mark.parametrize("name", ["flags", "strides", "data", "ctypes"])
@pytest.mark.parametrize("ask", [getattr, hasattr, lambda x, name: getattr(x, name, None)])
def test_what_concerns_memory_is_refused_by_name(name, ask):
    """Whoever asks whether it is there would go another way than with NumPy's array."""
    with pytest.raises(UnsupportedError, match=f"no .{name}"):
        lw.vmap(lambda x: ask(x, name))(X)


@pytest.mark.parametrize(
    "func",
    [
        lambda x: x.tobytes(),
        lambda x: float(x[0, 0]),
        lambda x: int(x[0, 0]),
        lambda x: complex(x[0, 0]),
        lambda x: bool(x[0, 0]),
        lambda x: range(x[0, 0].astype(int)),
        lambda x: np.asarray(x),
        lambda x: np.array([x, x]),
        lambda x: 1.0 in x,
        lambda x: f"{x[0, 0]:.2f}",
        lambda x: np.from_dlpack(x),
    ],
)
def test_what_needs_the_numbers_says_so(func):
    with pytest.raises(ConcretizationError, match="numbers"):
        lw.vmap(func, autograph=False)(X)


@pytest.mark.parametrize(
    "name", ["resize", "tofile", "dump", "dumps", "byteswap", "setflags", "setfield", "getfield"]
)
def test_methods_that_are_refused_say_what_to_do(name):
    with pytest.raises(UnsupportedError, match=name):
        lw.vmap(lambda x: getattr(x, name)())(X)


def test_other_errors():
    def delete(x):
        del x[0]

    for func, error in (
        (delete, ValueError),
        (hash, TypeError),
        (lambda x: bool(x), ValueError),
        (lambda x: len(x[0, 0]), TypeError),
        (lambda x: list(x[0, 0]), TypeError),
        (lambda x: x.astype(np.int8, casting="safe"), TypeError),
        (lambda x: setattr(x, "imag", 1), TypeError),
        (lambda x: x.to_device("gpu"), ValueError),
        (lambda x: x + None, TypeError),
        (lambda x: x + "a", TypeError),
    ):
        with pytest.raises(error):
            lw.vmap(func)(X)
    assert_maps(lambda x: x == "a", X)


def test_representation():
    seen = []
    lw.vmap(lambda x: seen.append((repr(x), str(x), f"{x}")) or x, autograph=False)(X)
    assert seen[0][0] == "Tensor(f64[4,5])" == seen[0][1] == seen[0][2]


@pytest.mark.parametrize(
    "func",
    [
        lambda x: x[1, 2].item() * np.float32(2),
        lambda x: x.item(3) + x.item(1, 2) + x.item((2, 0)),
        lambda x: x.tolist(),
        lambda x: x[:1, :1].item(),
        lambda x: (x[0] > 1).tolist(),
        lambda x: x.astype(np.uint64).item(7) / 2,
        lambda x: sum(x[0].astype(np.int8).tolist()) * 100,
        lambda x: (x[0, 0] + 1j).item(),
    ],
)
def test_elements_as_python_numbers(func):
    assert_maps_everywhere(func, np.abs(X))


def test_python_ints_have_64_bits():
    with pytest.raises(OverflowError, match="example 1"):
        lw.vmap(lambda x: x.item())(np.array([1, 2**63], np.uint64))


def test_methods_of_numbers():
    x = np.array([1.0, 2.5, -3.0, np.inf, np.nan])
    n = np.array([0, 5, -8, 2**62, -(2**63) + 1, -(2**63)])
    assert_maps(lambda v: v.is_integer(), x)
    assert_maps(lambda v: float(v).is_integer() if v < 9 else False, x)
    assert_maps(lambda v: (v.is_integer(), v.bit_count(), int(v).bit_length()), n)
    for name, v in (("is_integer", X), ("bit_length", n), ("bit_count", x)):
        with pytest.raises(AttributeError, match=name):
            lw.vmap(lambda v, name=name: getattr(v, name)())(v)
