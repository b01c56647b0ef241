"""``np.errstate(...="raise")`` in traced code: the examples that meet the condition raise there."""

import re

import numpy as np
import pytest

import lanewise as lw

XS = np.array([2.0, 0.0, 1e-320, np.inf, np.nan, -3.0, 1e200, 750.0])
GLOBAL_STATE = np.errstate


def outcome(f, *args):
    """What a call gives, or the class and message of what it raises."""
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except Exception as error:
            return type(error), str(error).splitlines()[0]


def same(got, want):
    if isinstance(want, tuple) and isinstance(want[0], type):
        assert isinstance(got, tuple), (got, want)
        assert got[0] is want[0]
        assert got[1] == want[1]
    else:
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype


def uncaught(x):
    with np.errstate(divide="raise"):
        return 1 / x


def caught_inside(x):
    with np.errstate(all="raise"):
        try:
            return 1 / x
        except FloatingPointError:
            return 7.0


def caught_around(x):
    try:
        with np.errstate(all="raise"):
            y = np.exp(x) * x**2
            z = np.log(y)
    except FloatingPointError as error:
        if "overflow" in str(error):
            return 1.0
        return 2.0
    return z


def in_a_loop(x):
    total = 0.0
    for i in range(6):
        try:
            with np.errstate(invalid="raise", over="raise"):
                total += np.sqrt(x - i)
        except FloatingPointError:
            total += 100.0
    return total


def in_a_loop_on_data(x):
    n = 0
    y = x
    while n < 8 and not y > 1e100:
        with np.errstate(over="raise", divide="raise"):
            try:
                y = y * 1e60 + 1 / (x - n)
            except FloatingPointError as error:
                y = 5.0 if "overflow" in str(error) else -1.0
        n += 1
    return y


def arrays(x):
    v = np.array([x, x * 2, 3.0])
    with np.errstate(over="raise", divide="raise"):
        try:
            w = (v * 1e200).sum()
        except ArithmeticError:
            return -1.0
        try:
            with np.errstate(divide="ignore"):
                w += (1 / v)[0]
        except ArithmeticError:
            return -2.0
        return w


def helper(x):
    return np.log(x)


def in_a_helper(x):
    with np.errstate(divide="raise", invalid="raise"):
        try:
            return helper(x)
        except FloatingPointError:
            return -9.0


def in_a_branch(x):
    if x > 1:
        with np.errstate(over="raise"):
            try:
                x = np.exp(x)
            except FloatingPointError:
                x = 0.5
    return x


def kept_until_then(x):
    out = np.zeros(3)
    with np.errstate(all="raise"):
        try:
            out[0] = 1.0
            out[1] = np.sqrt(x)
            out[2] = np.exp(x)
        except FloatingPointError:
            out *= 2
    return out


def as_float32(x):
    with np.errstate(over="raise"):
        try:
            return np.float64(x).astype(np.float32)
        except FloatingPointError:
            return np.float32(3)


def reduced(x):
    v = np.array([x, 1e308, x])
    with np.errstate(over="raise"):
        try:
            return np.prod(v) + np.cumsum(v)[-1]
        except FloatingPointError:
            return 1.0


def with_finally(x):
    y = 0.0
    try:
        with np.errstate(divide="raise"):
            y = np.reciprocal(x)
    except ZeroDivisionError:
        y = 1.0
    except FloatingPointError:
        y = 2.0
    else:
        y += 3.0
    finally:
        y *= 2.0
    return y


def around_a_loop(x):
    total = 0.0
    with np.errstate(all="raise"):
        try:
            for i in range(6):
                total += np.log(x - i)
        except FloatingPointError:
            total *= 2
    return total


def stored(x):
    v = np.zeros(4, np.float32)
    with np.errstate(over="raise"):
        try:
            v[:2] = np.array([x, 1.0])
            v[2] = 5
        except FloatingPointError:
            v[3] = 7
    return v


def recursive(x):
    return caught_inside(x - 1) + deeper(x, 3)


def deeper(x, n):
    if n == 0:
        return x
    with np.errstate(invalid="raise"):
        try:
            return np.sqrt(deeper(x - 1, n - 1))
        except FloatingPointError:
            return 50.0


def in_place(x):
    v = np.array([x, 1.0])
    w = np.full(2, 3.0)
    with np.errstate(all="raise"):
        try:
            v *= 1e200
            w -= 1
            np.divide(1.0, v, out=w)
        except FloatingPointError:
            v += w
    return v + w


def masked(x):
    v = np.array([x, 1.0, 0.0, 4.0])
    out = np.full(4, 9.0)
    with np.errstate(divide="raise", invalid="raise"):
        try:
            np.divide(1.0, v, out=out, where=v != 0)
            np.log(v, out=out, where=v > 2)
            np.sqrt(v, out=out, where=v != 1)
        except FloatingPointError:
            out += 20
    return out


PROGRAMS = [
    in_place, masked,
    around_a_loop, stored, recursive,
    uncaught, caught_inside, caught_around, in_a_loop, in_a_loop_on_data, arrays, in_a_helper,
    in_a_branch, kept_until_then, as_float32, reduced, with_finally,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_examples_leave_where_their_operation_raises(f, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    want = outcome(lambda xs: np.stack([f(x) for x in xs]), XS)
    same(outcome(lw.vmap(f), XS), want)
    traced = lw.function(f)
    for x in XS:
        same(outcome(traced, x), outcome(f, x))


@pytest.mark.parametrize("f", PROGRAMS[1:], ids=lambda f: f.__name__)
def test_nested_maps(f):
    def rows(xs):
        return np.stack([f(x) for x in xs])

    grid = np.stack([XS, XS[::-1]])
    same(outcome(lw.vmap(lw.vmap(f)), grid), outcome(lambda g: np.stack([*map(rows, g)]), grid))


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8])
@pytest.mark.parametrize(
    "operate",
    [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a // b,
        lambda a, b: a % b, lambda a, b: a / b, lambda a, b: -a + b, lambda a, b: abs(a),
        lambda a, b: divmod(a, b)[0], np.add, np.floor_divide, lambda a, b: a**2,
    ],
)  # fmt: skip
def test_integers(kind, operate):
    def f(a, b):
        with np.errstate(all="raise"):
            try:
                return operate(a, b) * 1.0
            except FloatingPointError as error:
                if "divide by zero" in str(error):
                    return np.float64(-1)
                return np.float64(-2)

    info = np.iinfo(kind)
    a = np.array([3, info.max, info.min, info.min, 7], kind)
    b = np.array([2, info.max, 1, 0, info.max], kind)
    want = np.stack([f(x, y) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(lw.vmap(f)(a, b), want)


def test_message_names_the_example_and_the_line():
    def f(x):
        with np.errstate(invalid="raise"):
            y = np.sqrt(x)  # this line
        return y

    with pytest.raises(FloatingPointError, match="invalid value encountered in sqrt") as caught:
        lw.vmap(f)(np.array([1.0, 2.0, -1.0, -1.0]))
    line = f.__code__.co_firstlineno + 2
    assert re.search(rf"example 2(.|\n)*test_floating_errors\.py:{line}", str(caught.value)) or (
        f"test_floating_errors.py:{line}" in "\n".join(caught.value.__notes__)
        and "example 2" in "\n".join(caught.value.__notes__)
    )


def test_collected():
    results, failures = lw.vmap(uncaught, on_error="collect")(np.array([1.0, 0.0, 4.0]))
    np.testing.assert_array_equal(results, [1.0, np.nan, 0.25])
    assert str(failures[1]).startswith("divide by zero encountered in scalar divide")


def test_gradient_of_the_way_taken():
    def f(x):
        with np.errstate(divide="raise"):
            try:
                return np.log(x)
            except FloatingPointError:
                return 3 * x

    np.testing.assert_array_equal(lw.vmap(lw.grad(f))(np.array([2.0, 0.0, 4.0])), [0.5, 3, 0.25])


def test_a_traced_function_called_in_a_block_is_recorded_there():
    inner = lw.function(lambda x: 1 / x)

    def f(x):
        plain = inner(x + 1)
        with np.errstate(divide="raise"):
            try:
                return inner(x) + plain
            except FloatingPointError:
                return 0.0

    np.testing.assert_array_equal(lw.vmap(f)(np.array([1.0, 0.0])), [1.5, 0.0])


def test_the_state_made_outside_and_the_one_around():
    kept = np.errstate(divide="raise")

    def f(x):
        with kept:
            try:
                return 1 / x
            except FloatingPointError:
                return 5.0

    before = np.geterr()
    np.testing.assert_array_equal(lw.vmap(f)(np.array([1.0, 0.0])), [1.0, 5.0])
    assert np.geterr() == before


def test_decorated():
    @np.errstate(divide="raise")
    def f(x):
        if x > 5:
            x = x - 5
        return 1 / x

    np.testing.assert_array_equal(lw.vmap(f)(np.array([1.0, 6.0])), [1.0, 1.0])
    with pytest.raises(FloatingPointError, match="divide by zero encountered in scalar divide"):
        lw.vmap(f)(np.array([1.0, 0.0]))

    def g(x):
        try:
            return f(x)
        except FloatingPointError:
            return 8.0

    np.testing.assert_array_equal(lw.vmap(g)(np.array([1.0, 0.0, 6.0])), [1.0, 8.0, 1.0])


def test_what_is_not_followed_is_refused_by_name():
    def product(x):
        with np.errstate(over="raise"):
            return x @ x

    with pytest.raises(lw.UnsupportedError, match=r"computed in a block of np\.errstate\(over="):
        lw.vmap(product)(np.ones((2, 3)))

    def set_for_good(x):
        np.seterr(divide="raise")
        return 1 / x

    with pytest.raises(lw.UnsupportedError, match=r"np\.seterr\(\) is called"):
        lw.vmap(set_for_good)(XS)

    def called(x):
        with np.errstate(call=print, divide="call"):
            return 1 / x

    before = np.geterr()
    with pytest.raises(lw.UnsupportedError, match="'call'"):
        lw.vmap(called)(XS)
    assert np.geterr() == before


HARMLESS = [
    np.mean, np.std, np.var, np.median, np.sort, np.argmax, np.diff,
    np.cumprod, np.ptp, np.nanmean, np.gradient, np.unwrap, np.trapezoid, np.round, np.clip,
    np.sum, np.prod, np.max, np.hypot, np.logaddexp, np.average, np.quantile, np.roll, np.angle,
]  # fmt: skip


@pytest.mark.parametrize("f", HARMLESS, ids=lambda f: f.__name__)
def test_nothing_is_raised_where_numpy_raises_nothing(f):
    more = {np.clip: (0.0, 1.0), np.hypot: (2.0,), np.logaddexp: (1.0,), np.quantile: (0.3,)}
    more[np.roll] = (1,)

    def g(x):
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return f(x, *more.get(f, ()))

    x = np.array([[0.0, 1.0, 2.0, -1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 1.0, 1.0, 2.0]])
    np.testing.assert_array_equal(lw.vmap(g)(x), np.stack([g(row) for row in x]))
