"""What is traced anew and what is not, and what says so."""

from __future__ import annotations

import copy
import enum
import math
import pickle
import threading
import warnings
from functools import partial

import numpy as np
import pytest

import lanewise as lw

X = np.arange(6.0)
many_traces = pytest.mark.filterwarnings("ignore::lanewise.RetracingWarning")


def counted(func=None, **options):
    """Return a traced function, and the list that each tracing of it grows."""
    seen = []

    def body(*args, **kwargs):
        seen.append(1)
        return func(*args, **kwargs) if func else args[0] + 0.0

    return lw.function(body, **options), seen


# --- what makes a trace --------------------------------------------------------------------------


@many_traces
def test_shapes_dtypes_structure_and_python_values_make_traces():
    f, seen = counted(lambda x: x)
    makes_a_new_one = [
        X,
        X[:2],
        X.reshape(2, 3),
        X.astype(np.float32),
        np.float64(1),
        np.float32(1),
        (X,),
        [X],
        {"a": X},
        {"b": X},
        {"a": X, "b": X},
        1,
        1.0,
        True,
        1 + 0j,
        0.0,
        -0.0,
        "1",
        b"1",
        None,
    ]
    for number, x in enumerate(makes_a_new_one, 1):
        f(x)
        f(x)
        assert len(seen) == number, x


def test_values_order_of_keys_and_objects_do_not_make_traces():
    f, seen = counted(lambda x, **rest: x)
    for x in (X, X + 1, X[::-1], X.copy()):
        f(x, scale=X, flag=True)
        f(x, flag=True, scale=X + 1)
    f({"a": X, "b": X[:1]})
    f({"b": X[1:2], "a": X})
    assert len(seen) == 2


def test_however_a_call_is_written():
    traced = []

    @lw.function
    def f(a, b=2, /, c=3, *, d=4):
        traced.append((b, c, d))
        return a * b + c * d

    calls = [
        lambda: f(X),
        lambda: f(X, 2),
        lambda: f(X, 2, 3),
        lambda: f(X, c=3),
        lambda: f(X, d=4),
        lambda: f(X, 2, d=4, c=3),
    ]
    for call in calls * 3:
        np.testing.assert_array_equal(call(), X * 2 + 12)
    assert traced == [(2, 3, 4)]
    np.testing.assert_array_equal(f(X, c=5), X * 2 + 20)
    assert len(traced) == 2
    for wrong in (lambda: f(), lambda: f(X, b=2), lambda: f(X, 2, 3, 4), lambda: f(X, e=1)):
        with pytest.raises(TypeError):
            wrong()
    assert len(traced) == 2


def test_defaults_that_are_arrays_are_data():
    weights = np.ones(6)

    @lw.function
    def f(x, w=weights):
        return x * w

    np.testing.assert_array_equal(f(X), X)
    weights[:] = 3
    np.testing.assert_array_equal(f(X), X * 3)
    assert f.experimental_get_tracing_count() == 1


def test_a_nan_does_not_trace_at_every_call():
    f, seen = counted(lambda x, k: x * k)
    for _ in range(3):
        assert math.isnan(f(1.0, float("nan")))
        f(X, complex(float("nan"), 0))
    assert len(seen) == 2


@many_traces
def test_equal_numbers_of_other_types_do_not_meet():
    f = lw.function(lambda x, k: (x * k, k))
    for k in (1, 1.0, True, 1, True, 1.0, 0.0, -0.0, 0.0, False, 0):
        product, same = f(np.ones(2, np.float32), k)
        assert type(same) is type(k) and math.copysign(1, same) == math.copysign(1, k)
        assert product.dtype == (np.ones(2, np.float32) * k).dtype


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@many_traces
def test_hashable_objects_decide_traces():
    f, seen = counted(lambda x, k: x)
    types = np.float32, float, np.dtype("f4")
    plain = slice(1, 2), slice(2), frozenset({1}), frozenset({True}), range(3), ..., NotImplemented
    for k in (Color.RED, Color.GREEN, *types, *plain, len, math):
        before = len(seen)
        f(X, k)
        f(X, k)
        assert len(seen) == before + 1, k


def test_bound_methods_made_anew_are_the_same():
    class Thing:
        def double(self, x):
            return x * 2

    f, seen = counted(lambda x, g: g(x))
    one, two = Thing(), Thing()
    for _ in range(3):
        np.testing.assert_array_equal(f(X, one.double), X * 2)
    f(X, two.double)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1, 2}, "options"),
        ([bytearray(1)], r"options\[0\]"),
        ({"a": {"b": {3}}}, r"options\['a'\]\['b'\]"),
    ],
)
def test_unhashable_arguments_are_refused_by_name(value, path):
    @lw.function
    def f(x, options):
        return x

    with pytest.raises(TypeError, match=rf"f: {path} is a \w+, which is not hashable"):
        f(X, value)


def test_generators_are_refused():
    def gen(x):
        yield x

    async def coroutine(x):
        return x

    for func in (gen, coroutine, partial(gen)):
        with pytest.raises(TypeError, match="cannot be traced"):
            lw.function(func)
    with pytest.raises(TypeError, match="takes a function, not int"):
        lw.function(3)


# --- side effects, captures ----------------------------------------------------------------------


def test_python_runs_only_while_tracing():
    seen = []

    @lw.function(autograph=False)
    def f(x):
        seen.append(x)
        return x + 1

    for _ in range(5):
        f(X)
    assert len(seen) == 1 and isinstance(seen[0], lw.Tensor)
    with pytest.raises(lw.LeakedTensorError):
        seen[0] + 1
    with pytest.raises(lw.LeakedTensorError):
        f(seen[0])


def test_arrays_met_elsewhere_are_as_they_were_when_traced():
    w = np.ones(6)
    f = lw.function(lambda x: x * w)
    np.testing.assert_array_equal(f(X), X)
    w[:] = 5
    np.testing.assert_array_equal(f(X), X)
    (captured,) = f.get_concrete_function(X).captured_inputs
    np.testing.assert_array_equal(captured, np.ones(6))
    assert not captured.flags.writeable


def test_an_error_while_tracing_leaves_no_trace():
    fails = [True]

    @lw.function
    def f(x):
        if fails[0]:
            raise KeyError("mine")
        return x + 1

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(X)
    assert f.experimental_get_tracing_count() == 0
    fails[0] = False
    np.testing.assert_array_equal(f(X), X + 1)


def test_errors_of_shapes_name_the_users_line():
    @lw.function
    def f(x, y):
        return x + y  # here

    with pytest.raises(ValueError, match="# here"):
        f(np.ones(2), np.ones(3))


# --- recursion and nesting -----------------------------------------------------------------------


def test_recursion_is_refused():
    @lw.function
    def f(x):
        return x if x < 1 else f(x - 1)

    @lw.function
    def even(x):
        return odd(x - 1) if x > 0 else True

    @lw.function
    def odd(x):
        return even(x - 1) if x > 0 else False

    with pytest.raises(lw.EndlessRecursionError, match="f calls itself"):
        f(np.array(3.0))
    with pytest.raises(RecursionError, match="even calls itself"):
        even(np.array(3))
    with pytest.raises(RecursionError, match="f calls itself"):
        lw.vmap(f)(X)
    np.testing.assert_array_equal(lw.function(lambda x: x + 1)(X), X + 1)


def test_the_same_function_twice_is_no_recursion():
    @lw.function
    def square(x):
        return x * x

    @lw.function
    def f(x):
        return square(square(x)) + lw.vmap(square)(x)

    np.testing.assert_allclose(f(X), X**4 + X**2)


@lw.function
def power(x, n):
    return x * power(x, n - 1) if n > 0 else 1.0


@lw.function
def fibonacci(n, x):
    return x if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x)


def test_plain_numbers_end_recursion():
    assert power(np.float64(2.0), 10) == 1024
    assert power.experimental_get_tracing_count() == 11
    np.testing.assert_array_equal(lw.vmap(lambda x: power(x, 3))(X), X**3)
    assert fibonacci(15, np.float64(1.0)) == 987
    assert fibonacci.experimental_get_tracing_count() == 16


# --- threads -------------------------------------------------------------------------------------


def test_concurrent_first_calls_trace_once():
    seen = []
    start = threading.Barrier(8)

    @lw.function
    def f(x):
        seen.append(threading.get_ident())
        for _ in range(50):
            x = np.sin(x) + 1
        return x

    results = []

    def call():
        start.wait()
        results.append(f(X))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1 and len(results) == 8
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_functions_that_call_each_other_from_two_threads_do_not_wait_for_ever():
    start = threading.Barrier(2)

    @lw.function
    def f(x, deep):
        return g(x, False) + 1 if deep else x * 2

    @lw.function
    def g(x, deep):
        return f(x, False) + 1 if deep else x * 3

    def call(function):
        start.wait()
        function(X, True)

    threads = [threading.Thread(target=call, args=(h,), daemon=True) for h in (f, g)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


# --- the warning ---------------------------------------------------------------------------------


def retracing(f, calls):
    """Return what is warned while calls are made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            f(*args)
    assert all(w.category is lw.RetracingWarning for w in caught)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def test_the_warning_names_the_argument():
    @lw.function
    def f(x, scale=1):
        return x * scale

    (told,) = retracing(f, [(X, n) for n in range(5)])
    assert "f was traced 5 times in its last 10 calls" in told
    assert "the argument scale changes (from 3 to 4)" in told and "np.asarray(scale)" in told
    (told,) = retracing(f, [(np.ones(n),) for n in range(1, 7)])
    assert "the argument x changes (from float64[" in told and "reduce_retracing" in told
    (told,) = retracing(f, [([X] * n,) for n in range(5)])
    assert "structure" in told
    (told,) = retracing(lw.function(lambda x, k: x), [(X, object()) for n in range(5)])
    assert "k changes" in told and "Pass the same object each time" in told


def test_no_warning_where_traces_are_few_among_many_calls():
    f = lw.function(lambda x, n: x * n)
    calls = [(X, n // 10) for n in range(100)]
    assert retracing(f, calls) == []


# --- what it is ----------------------------------------------------------------------------------


@lw.function
def at_module_level(x):
    """Doubles."""
    return x * 2


def test_it_looks_like_its_function():
    f = at_module_level
    assert f.__name__ == "at_module_level" and f.__doc__ == "Doubles."
    assert f.__module__ == __name__ and f.python_function(3) == 6
    assert repr(f) == "<function at_module_level of lanewise>"
    assert pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f
    assert f.input_signature is None


def test_as_a_decorator_with_arguments():
    @lw.function(experimental_autograph_options=(lw.Feature.LISTS, lw.Feature.ALL))
    def f(x):
        return x + 1

    np.testing.assert_array_equal(f(X), X + 1)
    for wrong in (3, "lists", (lw.Feature.ALL, None)):
        with pytest.raises(TypeError, match=r"takes a lanewise\.Feature"):
            lw.function(lambda x: x, experimental_autograph_options=wrong)


def test_without_autograph_data_cannot_steer_python():
    @lw.function(autograph=False)
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(lw.ConcretizationError):
        f(np.array(1.0))


def test_pretty_signatures():
    @lw.function
    def f(x, options, *rest, flag=False):
        return {"y": x, "n": 3}

    assert f.pretty_printed_concrete_signatures() == ""
    f(X, {"a": np.float32(1), "b": "fast"}, 2)
    f(X, None, flag=True)
    assert f.pretty_printed_concrete_signatures().splitlines() == [
        "f(x: float64[6], options: {'a': float32[], 'b': 'fast'}, args[2]=2, flag=False) -> "
        "{'y': float64[6], 'n': 3}",
        "f(x: float64[6], options=None, flag=True) -> {'y': float64[6], 'n': 3}",
    ]
