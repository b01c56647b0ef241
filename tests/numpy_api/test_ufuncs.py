"""Calls of NumPy's ufuncs: every one over pairs of dtypes and Python numbers, and all keywords."""

import itertools
import math

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_maps_everywhere, assert_same, loop

UFUNCS = sorted(
    {
        f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature
    }.items()
)
DTYPES = "?bBhILQefdgFD"
#: What the arguments of a few ufuncs have to stay within, for their answers to be defined.
SMALL = {"left_shift", "right_shift", "ldexp", "power", "float_power"}


def values(char, small=False):
    """Return a batch of two examples of three elements, with the dtype's special values."""
    dtype = np.dtype(char)
    if dtype.kind == "b":
        data = [[0, 1, 1], [1, 0, 0]]
    elif small:
        data = [[1, 2, 3], [3, 0, 1]]
    elif dtype.kind == "u":
        data = [[0, 1, 5], [3, 2, np.iinfo(dtype).max]]
    elif dtype.kind == "i":
        data = [[0, -3, 5], [7, 2, np.iinfo(dtype).min]]
    elif dtype.kind == "f":
        data = [[-0.0, 1.5, np.nan], [np.inf, -2.25, 0.5]]
    else:
        data = [[0.5j, 1 - 1j, np.nan], [2 + 3j, -2.25, 1j]]
    return np.array(data).astype(dtype)


def assert_like_numpy(func, *args):
    """Assert that mapping gives what the loop gives, be it values or the type of an error."""
    try:
        with np.errstate(all="ignore"):
            expected = loop(func, args, (0,) * len(args))
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(
            type(error) if type(error) in (ValueError, OverflowError) else TypeError
        ):
            lw.vmap(func)(*args)
        return
    with np.errstate(all="ignore"):
        assert_same(lw.vmap(func)(*args), expected)


def assert_all_like_numpy(cases):
    """Assert it of many functions, each of its own arguments: in one map, but for what raises."""
    calm = []
    for func, *args in cases:
        try:
            with np.errstate(all="ignore"):
                calm.append((func, args, loop(func, args, (0,) * len(args))))
        except (TypeError, ValueError, OverflowError):
            assert_like_numpy(func, *args)
    if not calm:
        return
    functions = [func for func, *_ in calm]
    with np.errstate(all="ignore"):
        results = lw.vmap(lambda *x: [f(*x[n]) for n, f in enumerate(functions)])(
            *[args for _, args, _ in calm]
        )
    for (_, args, expected), got in zip(calm, results, strict=True):
        try:
            with np.errstate(all="ignore"):
                assert_same(got, expected)
        except AssertionError as error:
            raise AssertionError(f"of {args}") from error


@pytest.mark.parametrize(("name", "ufunc"), UFUNCS)
def test_every_dtype(name, ufunc):
    batches = [values(char, name in SMALL) for char in DTYPES]
    if ufunc.nin > 2:
        assert_all_like_numpy([(ufunc, *[x] * ufunc.nin) for x in batches])
    else:
        combined = itertools.product(batches, repeat=ufunc.nin)
        assert_all_like_numpy([(ufunc, *some) for some in combined])


NUMBERS = (True, 2, -1, 300, 2**40, 2**63, 10**30, 2.5, 1e300, np.nan, -np.inf, 1 + 2j)
PAIRED = [(name, ufunc) for name, ufunc in UFUNCS if ufunc.nin == 2]


@pytest.mark.parametrize(("name", "ufunc"), PAIRED)
def test_python_numbers_give_way(name, ufunc):
    small = name in SMALL
    batches = [values(char, small) for char in "?bQlefD"]
    numbers = (True, 2, -1, 2.5, 1j) if small else NUMBERS
    pairs = list(itertools.product(numbers, batches))
    assert_all_like_numpy([(lambda x, n=number: ufunc(x, n), x) for number, x in pairs])
    assert_all_like_numpy([(lambda x, n=number: ufunc(n, x), x) for number, x in pairs])


SCALARS = (np.float32(2.5), np.int8(3), np.uint64(7), np.bool_(True), np.array(2.0), [1, 2, 3])


@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.maximum, np.less, np.arctan2, np.divmod])
def test_numpy_scalars_do_not(ufunc):
    for number in SCALARS:
        for char in "?bQefD":
            assert_like_numpy(lambda x, number=number: ufunc(x, number), values(char))
            assert_like_numpy(lambda x, number=number: ufunc(number, x), values(char))


INTEGERS = "bBhHiIlLqQ"
BORDERS = (-(10**30), -(2**63) - 1, -(2**63), -129, -128, -1, 0, 127, 128, 255, 256, 2**32, 2**63,
           2**64 - 1, 2**64, 10**30)  # fmt: skip
COMPARISONS = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


@pytest.mark.parametrize("ufunc", COMPARISONS)
def test_comparisons_with_python_integers_are_exact(ufunc):
    for char, number in itertools.product(INTEGERS, BORDERS):
        info = np.iinfo(char)
        x = np.array([[info.min, 0, info.max]], char)
        assert_like_numpy(lambda x, number=number: ufunc(x, number), x)
        assert_like_numpy(lambda x, number=number: ufunc(number, x), x)


def test_arithmetic_with_python_integers_out_of_range():
    for operation in (np.add, np.multiply, np.maximum, np.bitwise_and, np.divmod, np.left_shift):
        with pytest.raises(OverflowError):
            lw.vmap(lambda x, f=operation: f(x, 300))(np.ones((2, 3), np.int8))
        with pytest.raises(OverflowError):
            lw.vmap(lambda x, f=operation: f(-1, x))(np.ones((2, 3), np.uint16))


OPERATORS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "truediv": lambda x, y: x / y, "floordiv": lambda x, y: x // y, "mod": lambda x, y: x % y,
    "divmod": divmod, "pow": lambda x, y: x**y, "and": lambda x, y: x & y,
    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "lshift": lambda x, y: x << y,
    "rshift": lambda x, y: x >> y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y, "neg": lambda x, y: -x, "pos": lambda x, y: +x,
    "abs": lambda x, y: abs(x), "invert": lambda x, y: ~x,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Bitwise inversion '~' on bool:DeprecationWarning")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    operator = OPERATORS[name]
    batches = [values(char, small=True) for char in "?bQefD"]
    assert_all_like_numpy([(operator, *pair) for pair in itertools.product(batches, repeat=2)])
    for number in (True, 2, -1, 300, 2.5, 1j, np.float32(2)):
        assert_all_like_numpy([(lambda x, n=number: operator(x, n), x) for x in batches])
        assert_all_like_numpy([(lambda x, n=number: operator(n, x), x) for x in batches])


@pytest.mark.parametrize("name", ["add", "truediv", "divmod", "pow", "lt", "and"])
def test_zero_dimensions(name):
    operator = OPERATORS[name]
    for char in "?blefdD":
        x = values(char, small=True)[:, 1]
        assert_like_numpy(operator, x, x[::-1])
        assert_like_numpy(lambda x: operator(x, 2), x)
        assert_like_numpy(lambda x: operator(np.arange(3), x), x)


def test_broadcasting():
    x, y = np.arange(24.0).reshape(2, 4, 3), np.arange(1.0, 7).reshape(2, 3)
    z = np.arange(1.0, 9).reshape(2, 4, 1)
    assert_maps_everywhere(lambda x, y: np.add(x, y), x, y)
    assert_maps_everywhere(lambda x, z: np.arctan2(z, x), x, z)
    assert_maps_everywhere(lambda z, y: np.divmod(z, y), z, y)
    assert_maps_everywhere(lambda x: np.modf(x / 3), x)
    assert_maps_everywhere(lambda x: np.frexp(x), x)
    assert_maps(lambda x, y: np.add(x[:, :0], y[:1]), x, y)


X = np.arange(1.0, 25).reshape(2, 4, 3) / 7
Y = np.arange(24.0)[::-1].reshape(2, 4, 3) - 11
MASK = np.arange(24).reshape(2, 4, 3) % 3 > 0
I4 = np.arange(24, dtype=np.int32).reshape(2, 4, 3)


def into(write, dtype=float, shape=(4, 3)):
    def func(x, y, m, i):
        out = np.ones_like(x, shape=shape, dtype=dtype)
        result = write(x, y, m, i, out)
        return out, result

    return func


KEYWORDS = {
    "dtype": lambda x, y, m, i: np.add(x, y, dtype=np.float32),
    "dtype-int": lambda x, y, m, i: np.add(i, i, dtype=np.int8, casting="unsafe"),
    "dtype-wider": lambda x, y, m, i: np.multiply(i, 3, dtype=complex),
    "dtype-divide": lambda x, y, m, i: np.divide(i, 7, dtype=np.float32),
    "dtype-name": lambda x, y, m, i: np.exp(i, dtype="f4"),
    "dtype-numbers": lambda x, y, m, i: np.add(x, 1, dtype=np.float16),
    "casting": lambda x, y, m, i: np.add(x, i, casting="safe"),
    "signature": lambda x, y, m, i: np.add(x, y, signature="ff->f", casting="unsafe"),
    "signature-tuple": lambda x, y, m, i: np.add(x, i, signature=(None, None, np.complex128)),
    "sig": lambda x, y, m, i: np.add(i, 1, sig="dd->d"),
    "where-out": into(lambda x, y, m, i, o: np.add(x, y, out=o, where=m)),
    "where-out-static": into(
        lambda x, y, m, i, o: np.sqrt(np.abs(y), out=o, where=np.array([True, False, True]))
    ),
    "out": into(lambda x, y, m, i, o: np.add(x, y, out=o)),
    "out-positional": into(lambda x, y, m, i, o: np.add(x, y, o)),
    "out-tuple": into(lambda x, y, m, i, o: np.multiply(x, 2, out=(o,))),
    "out-wider": into(lambda x, y, m, i, o: np.add(i, i, out=o), complex),
    "out-narrower": into(lambda x, y, m, i, o: np.add(x, y, out=o), np.float32),
    "out-broadcast": into(lambda x, y, m, i, o: np.add(x, y, out=o), float, (2, 4, 3)),
    "out-unsafe": into(lambda x, y, m, i, o: np.add(x, y, out=o, casting="unsafe"), int),
    "order": lambda x, y, m, i: np.add(x, y, order="F", subok=False),
    "divmod": lambda x, y, m, i: np.divmod(y, x),
    "modf": lambda x, y, m, i: np.modf(y / 3),
    "frexp": lambda x, y, m, i: np.frexp(x),
    "plain-out": into(lambda x, y, m, i, o: np.add(np.arange(3.0), 1, out=o)),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords(name):
    assert_maps(KEYWORDS[name], X, Y, MASK, I4)


def test_two_outputs_into_arrays():
    def func(x, y, m):
        quotient, rest = np.zeros_like(x), np.ones_like(x)
        np.divmod(x, y, out=(quotient, rest), where=m)
        fraction = np.zeros_like(x)
        np.modf(x, out=(fraction, None))
        return quotient, rest, fraction

    assert_maps(func, X, Y, MASK)


ERRORS = {
    "dtype-unsafe": (lambda x: np.add(x, x, dtype=np.int8), TypeError),
    "dtype-no-loop": (lambda x: np.less(x, x, dtype=float), TypeError),
    "casting": (lambda x: np.add(x, x.astype(int), casting="no"), TypeError),
    "out-dtype": (lambda x: np.add(x, x, out=x.astype(int)), TypeError),
    "out-shape": (lambda x: np.add(x, x, out=x[0].copy()), ValueError),
    "keyword": (lambda x: np.add(x, x, colour=1), TypeError),
    "operands": (lambda x: np.add(x), TypeError),
    "shapes": (lambda x: np.add(x, x[:, :2]), ValueError),
    "no-loop": (lambda x: np.bitwise_or(x, x), TypeError),
    "minus-bool": (lambda x: np.subtract(x > 0, x > 0), TypeError),
    "negative-bool": (lambda x: np.negative(x > 0), TypeError),
    "complex-floor": (lambda x: np.floor(x + 1j), TypeError),
    "signature-length": (lambda x: np.add(x, x, signature="dd->dd"), ValueError),
    "dtype-and-signature": (lambda x: np.add(x, x, dtype=float, signature="dd->d"), TypeError),
    "negative-power": (lambda x: np.power(x.astype(int), -1), ValueError),
    "uint64-bits": (lambda x: x.astype(np.uint64) | x.astype(np.int64), TypeError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(X[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(X)


def test_where_without_out_is_refused():
    with pytest.raises(TypeError, match=r"leaves elements unset.*Give out="):
        lw.vmap(lambda x, m: np.add(x, 1, where=m))(X, MASK)


def test_out_that_is_not_traced_is_refused():
    out = np.zeros((4, 3))
    with pytest.raises(TypeError, match="out= is an array that is not traced"):
        lw.vmap(lambda x: np.add(x, 1, out=out))(X)


@pytest.mark.parametrize("dtype", "fdD")
@pytest.mark.parametrize(
    "power",
    [
        lambda x: x**0.5,
        lambda x: x ** np.float64(0.5),
        lambda x: np.power(x, 0.5),
        lambda x: np.power(x, np.array(0.5)),
        lambda x: np.power(x, np.full(3, 0.5)),
        lambda x: x[0] ** 0.5,
        lambda x: np.power(x[0], 0.5),
        lambda x: x[0] ** x.dtype.type(0.5),
        lambda x: x**-0.5,
        lambda x: x[0] ** -0.5,
    ],
    ids=range(10),
)
def test_roots_that_are_powers(power, dtype):
    """NumPy takes the root for some, C's power for others: -0 and -infinity tell them apart."""
    data = np.array([[-0.0, 4.0, 2.0], [-np.inf, -0.0, 2.0], [-4.0, np.inf, 0.0], [9.0, 1.0, 0.25]])
    with np.errstate(all="ignore"):
        assert_maps(power, data.astype(dtype), rtol=1e-6)


@pytest.mark.parametrize("power", [lambda x: math.pow(x[0], 0.5), lambda x: float(x[0]) ** 0.5])
def test_powers_of_python(power):
    assert_maps(power, np.array([[-0.0], [-np.inf], [4.0]]))
