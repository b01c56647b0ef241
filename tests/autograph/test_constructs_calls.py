"""Functions that a mapped function calls are followed too, whatever kind of callable they are."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from support.control_flow_oracle import assert_follows

X = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])
N = np.array([0, 3, 1, 6, 2, 4])


def relu(x):
    if x > 0:
        return x
    return 0.0


def scaled(x, factor=2.0, *rest, shift=0.0, **more):
    if x > 0:
        x = x * factor
    for r in rest:
        x = x + r
    return x + shift + sum(more.values())


def times(factor):
    def inner(x):
        return x * factor if x < 1 else x

    return inner


def logged(function):
    @functools.wraps(function)
    def around(*args, **kwargs):
        result = function(*args, **kwargs)
        return result + 1 if result > 1 else result

    return around


@logged
def decorated(x):
    return x if x > 0 else -x


class Model:
    bias = 0.25

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return self.method(x) if x > self.bias else self.weight

    def method(self, x):
        if x > 1:
            return x * self.weight
        return x

    @staticmethod
    def static(x):
        return relu(x) + 1

    @classmethod
    def of_class(cls, x):
        return x + cls.bias if x > 0 else x

    @property
    def half(self):
        return self.weight / 2 if self.weight > 0 else 0.0

    def __getitem__(self, k):
        return self.weight * k if k > 2 else k

    def __lt__(self, other):
        return self.weight < other if other > 0 else True

    def __len__(self):
        return 3


class Child(Model):
    def __init__(self, weight):
        super().__init__(weight * 2)

    def method(self, x):
        if x > 2:
            return -1.0
        return super().method(x)


def helper(x, n):
    return relu(x) + relu(-x) * n


def keywords(x, n):
    return scaled(x, 3.0, n, 1, shift=n, extra=x) + scaled(factor=n, x=x) + scaled(*(x, 2.0))


def closures(x, n):
    return times(n)(x) + times(x)(1.0)


def lambdas(x, n):
    sign = lambda v: 1 if v > 0 else -1 if v < 0 else 0  # noqa: E731
    return sign(x) * n + (lambda v, k=n: v if k > 1 else -v)(x)


def partials(x, n):
    double = functools.partial(scaled, factor=n)
    return (
        double(x)
        + functools.partial(double, shift=1)(x)
        + functools.partial(Model.method, Model(n))(x)
    )


def decorators(x, n):
    return decorated(x) * n


def callables(x, n):
    model = Model(n)
    return model(x) + model.method(x) + model.static(x) + Model.of_class(x) + model.half


def special_methods(x, n):
    model = Model(n)
    return model[n] + model[1], model < x, len(model)


def inheritance(x, n):
    return Child(n)(x) + Child(x).method(n)


def functions_as_data(x, n):
    total = 0.0
    for function in (relu, abs, np.square, lambda v: v - 1 if v > n else v):
        total += function(x)
    table = {"a": relu, "b": decorated}
    return total + table["b"](x)


def mapped_builtins(x, n):
    return sum(map(relu, [x, n, -x])), sum(filter(lambda v: v > 0, [1, 2, -3])), max(
        [x, n], key=lambda v: v if v > 1 else -v
    )  # fmt: skip


def reduced(x, n):
    return functools.reduce(lambda a, b: a + b if b > a else a * 0.5, [x, n, 0.5, x + 1])


def operators(x, n):
    return operator.add(x, n), operator.gt(x, n) and operator.mul(x, 2) > 1


def numpy_and_scipy(x, n):
    if scipy.special.expit(x) > 0.5:
        return np.linalg.norm(np.array([x, n]))
    return np.hypot(x, n) + np.add.reduce(np.array([x, n]))


def conversions(x, n):
    k = int(x)
    for _ in range(abs(k)):
        k += int(n > 2)
    return k, float(n) / 2, bool(x > 0), int(np.floor(x)), round(x), divmod(n, 3), abs(x), x // 1


def generator_function(x, n):
    def produce(limit):
        for k in range(4):
            yield k * limit

    return sum(v if v > 2 else 1 for v in produce(n))


def recursion_of_plain_depth(x, n):
    def power(v, k):
        if k == 0:
            return 1.0
        half = power(v, k // 2)
        return half * half * (v if k % 2 else 1.0) if v > -10 else 0.0

    return power(x, 5)


def starred(x, n):
    first, *rest = (x, n, x + n)
    if first > 0:
        first, *rest = [*rest[::-1], first]
    return first, rest


def string_building(x, n):
    name = "a" + "b" * 2
    if len(name) == 3 and name.startswith("a") and x > 0:
        x = x + len(f"{name}!")
    return x


def try_without_data(x, n):
    try:
        y = {"a": 1}["b"]
    except KeyError:
        y = 2
    else:
        y = 3
    finally:
        z = 1
    return x + y + z if x > 0 else x


def try_around_branches(x, n):
    total = 0.0
    try:
        for k in range(n):
            if k == 2:
                break
            total += x if x > 0 else 1.0
    finally:
        total += 100
    return total


def return_in_with_and_try(x, n):
    with np.errstate(all="ignore"):
        try:
            if x > 0:
                return 1 / x
        except ZeroDivisionError:
            return -5.0
        return np.log(-x) if n > 1 else x


def annotations_and_globals(x: Any, n: int = 3) -> Any:
    y: float = 0.0
    z: int
    if x > 0:
        y: float = x
        z = 1
    else:
        z = 2
    assert isinstance(z, object), "always"
    return y, z


FUNCTIONS = [helper, keywords, closures, lambdas, partials, decorators, callables, special_methods,
             inheritance, functions_as_data, mapped_builtins, reduced, operators, numpy_and_scipy,
             conversions, generator_function, recursion_of_plain_depth, starred, string_building,
             try_without_data, try_around_branches, return_in_with_and_try,
             annotations_and_globals]  # fmt: skip


@pytest.mark.parametrize("func", FUNCTIONS)
def test_called(func):
    assert_follows(func, X, N)


@pytest.mark.parametrize(
    "func",
    [
        Model(2.0),
        Model(2.0).method,
        Child(0.5).method,
        Model.static,
        Model.of_class,
        functools.partial(scaled, factor=3.0),
        functools.partial(functools.partial(scaled), shift=1.0),
        decorated,
        times(3),
        functools.lru_cache(times)(2),
        lambda x: x if x > 0 else -x,
        lambda x: [v for v in (x, x + 1) if True][0 if len("a") else 1] if x > 0 else 0.0,
    ],
    ids=lambda f: getattr(f, "__qualname__", type(f).__name__),
)
def test_mapped_itself(func):
    assert_follows(func, X)


def test_a_method_mapped_as_decorator():
    class Classifier:
        limit = 0.0

        @lw.vmap
        def classify(self, x):
            return 1 if x > self.limit else 0

    np.testing.assert_array_equal(Classifier().classify(X), [0, 0, 0, 1, 1, 1])


def test_two_lambdas_of_one_line():
    both = [lambda x: x if x > 0 else -1.0, lambda x: 2 * x if x > 0 else -2.0]
    np.testing.assert_array_equal(lw.vmap(both[0])(X[:4]), [-1, -1, -1, 0.25])
    np.testing.assert_array_equal(lw.vmap(both[1])(X[:4]), [-2, -2, -2, 0.5])


def test_functions_stay_what_they_are():
    before = relu.__code__, relu.__name__, relu.__defaults__
    lw.vmap(helper)(X, N)
    assert (relu.__code__, relu.__name__, relu.__defaults__) == before
    assert relu(3.0) == 3.0 and helper(1.0, 2) == 1.0


def test_defaults_and_closures_are_read_when_called():
    limit = 0.0

    def func(x, offset=[1.0]):  # noqa: B006
        return x + offset[0] if x > limit else x

    assert_follows(func, X)
    limit = 2.0
    assert_follows(func, X)
    func.__defaults__[0][0] = 5.0
    assert_follows(func, X)


def test_a_changed_global_function_is_followed():
    global relu
    before = relu
    assert_follows(helper, X, N)
    try:
        relu = lambda v: 7.0 if v > 0 else 1.0  # noqa: E731
        assert_follows(helper, X, N)
    finally:
        relu = before


def test_recursion_that_data_end_raises_an_error_that_says_so():
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    with pytest.raises(RecursionError, match="only data end a recursion"):
        lw.vmap(factorial)(N)


def test_functions_without_source_work_as_before_and_say_why_not():
    scope: dict[str, Any] = {}
    exec("def plain(x): return x * 2\ndef branching(x): return x if x > 0 else -x", scope)
    np.testing.assert_array_equal(lw.vmap(scope["plain"])(X), X * 2)
    with pytest.raises(lw.ConcretizationError, match=r"(?s)if.*source"):
        lw.vmap(scope["branching"])(X)


def test_map_inside_of_a_called_function():
    def rows(matrix, n):
        return lw.vmap(lambda row: row.sum() if row[0] > n else row.max())(matrix)

    def func(matrix, n):
        if n > 1:
            return rows(matrix, n)
        return rows(-matrix, n)

    assert_follows(func, np.arange(72.0).reshape(6, 4, 3) % 7, N)


@pytest.mark.parametrize(
    ("func", "error", "message"),
    [
        (lambda v: lw.cond(v > 0, 3, abs, v), TypeError, r"true_fn of lw\.cond .* not int"),
        (lambda v: lw.cond(v > 0, abs, None, v), TypeError, r"false_fn of lw\.cond .* NoneType"),
        (lambda v: lw.switch_case(0, [abs, 1], v), TypeError, r"branches\[1\] of lw\.switch_case"),
        (lambda v: lw.switch_case(v, [abs], v), TypeError, "must be an integer"),
        (lambda v: lw.while_loop(1, abs, v), TypeError, r"cond_fn of lw\.while_loop"),
        (lambda v: lw.fori_loop(0, 3, "f", v), TypeError, r"body_fn of lw\.fori_loop"),
        (lambda v: lw.scan(lambda c, x: c + x, v, np.ones(3)), TypeError, "next carry and a res"),
        (lambda v: lw.scan(abs, v, np.ones(3), length=4), ValueError, r"\[3, 4\]"),
        (
            lambda v: lw.while_loop(lambda s: s < v, lambda s: (s, s), 0.0),
            lw.ControlFlowError,
            "the state is a Python float before",
        ),
    ],
)
def test_bad_arguments_of_the_named_forms(func, error, message):
    with pytest.raises(error, match=message) as raised:
        lw.vmap(func)(X)
    assert "test_constructs_calls.py:" in str(raised.value)


def totals_of_local_objects(x):
    class Part:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return self.v + other

    total = 0.0
    for i in range(len(x)):
        if x[i] > 1:
            part = Part(x[i])
            total = part + total
    return total


def caught_local_error(x):
    class BadError(Exception):
        def __init__(self, v):
            super().__init__(v)
            self.v = v

    try:
        for v in x:
            if v > 1:
                raise BadError(v)
    except BadError as error:
        return error.v
    return 0.0


@pytest.mark.parametrize("func", [totals_of_local_objects, caught_local_error])
def test_classes_of_a_function_are_followed_each_time_it_is_traced(func):
    for size in (12, 3, 5):
        rows = np.random.default_rng(size).normal(size=(8, size))
        expected = [func(row) for row in rows]
        np.testing.assert_array_equal(lw.vmap(func)(rows), expected)
        np.testing.assert_array_equal([lw.function(func)(row) for row in rows[:2]], expected[:2])
