"""Variables that are assigned in traced functions: as in plain Python, at every call."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import lanewise as lw


@pytest.fixture(autouse=True, params=["interpret", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    return request.param


class Plain:
    """What a `Variable` is to code that is not traced: the oracle."""

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)

    def assign(self, value: Any) -> None:
        self.value = np.array(value, self.value.dtype)

    def assign_add(self, value: Any) -> None:
        self.value = (self.value + value).astype(self.value.dtype)

    def assign_sub(self, value: Any) -> None:
        self.value = (self.value - value).astype(self.value.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = self.value.copy()
        self.value[key] = value


def straight(v, w, x):
    v.assign_add(x)
    w[1:] = v.value[:2]
    v.assign_sub(1)
    return v.value + w.value


def branches(v, w, x):
    if x.sum() > 0:
        v.assign(x * 2)
        if x[0] > 1:
            w.assign_add(v.value)
    else:
        w.assign(-x)
    return v.value - w.value


def loops(v, w, x):
    total = x.sum()
    while total < 40:
        v.assign_add(total)
        for i in range(3):
            w[i] = w.value[i] + v.value[2 - i]
            if w.value[i] > 30:
                break
        total = total + np.abs(v.value).sum() + 1
    return total


def twice(v, w, x):
    w.assign(v.value)
    v.assign(x)
    v.assign(v.value * w.value)
    return straight(v, w, x) * branches(v, w, x)


@pytest.mark.parametrize("program", [straight, branches, loops, twice])
def test_equals_plain_python(program):
    v, w = lw.Variable(np.arange(3.0)), lw.Variable(np.ones(3))
    plain_v, plain_w = Plain(np.arange(3.0)), Plain(np.ones(3))
    traced = lw.function(lambda x: program(v, w, x))
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=3)
        np.testing.assert_allclose(traced(x), program(plain_v, plain_w, x), rtol=1e-13)
        np.testing.assert_allclose(v.value, plain_v.value, rtol=1e-13)
        np.testing.assert_allclose(w.value, plain_w.value, rtol=1e-13)
    assert traced.experimental_get_tracing_count() == 1


def test_variables_are_read_at_each_call():
    v, other = lw.Variable(3.0), lw.Variable(np.ones(2))
    plain = lw.function(lambda x: x * v + other)
    mapped = lw.function(lw.vmap(lambda x: x * v))
    x = np.arange(2.0)
    for value in (3.0, 5.0, -1.0, -1.0):
        v.assign(value)
        other[0] = value
        np.testing.assert_array_equal(plain(x), x * value + [value, 1])
        np.testing.assert_array_equal(mapped(x), x * value)
    assert plain.experimental_get_tracing_count() == 1
    assert set(plain.get_concrete_function(x).variables) == {v, other}
    with lw.GradientTape() as tape:
        y = plain(x).sum()
    assert float(tape.gradient(y, v)) == 1


def test_the_values_of_a_call_share_no_memory():
    v, w = lw.Variable(np.zeros(2)), lw.Variable(np.zeros(2))

    @lw.function
    def both(x):
        y = x * 2
        v.assign(y)
        w.assign(y)
        return y, v.value, x

    for call in range(30):  # the way changes, as a function settles on one
        x = np.full(2, call)
        for result in both(x):
            result[:] = 9
        x[:] = 7
        np.testing.assert_array_equal(v.value, [2 * call] * 2)
        np.testing.assert_array_equal(w.value, [2 * call] * 2)
    with pytest.raises(ValueError, match="read-only"):
        v.value[0] = 1


def test_variables_swap():
    v, w = lw.Variable([1.0, 2.0]), lw.Variable([3.0, 4.0])

    @lw.function
    def swap():
        kept = v.value
        v.assign(w)
        w.assign(kept)

    assert swap() is None
    np.testing.assert_array_equal(v.value, [3, 4])
    swap()
    np.testing.assert_array_equal(w.value, [3, 4])


def test_a_variable_can_be_returned():
    v = lw.Variable(1)
    count = lw.function(lambda: (v.assign_add(1), v)[1])
    assert count() == 2 and type(count()) is np.int64 and v.value == 3


def test_by_name_control_flow():
    v = lw.Variable(0.0)

    @lw.function
    def run(n, xs):
        def body(i, state):
            v.assign(v * 2 + i)
            return state + v.value

        def step(carry, x):
            v.assign_add(x)
            return carry + 1, v.value

        first = lw.fori_loop(0, n, body, 0.0)
        count, sums = lw.scan(step, 0, xs)
        lw.while_loop(lambda i: i > 0, lambda i: (v.assign_sub(1), i - 1)[1], n)
        lw.cond(n > 2, lambda: v.assign_add(100), lambda: v.assign_add(200))
        return first, count, sums

    first, count, sums = run(np.array(3), np.arange(4.0))
    assert first == 0 + 1 + 4 and count == 4
    np.testing.assert_array_equal(sums, [4, 5, 7, 10])
    assert v.value == 10 - 3 + 100


def test_functions_within_functions_assign_in_order():
    v = lw.Variable(0.0)

    @lw.function
    def put(x):
        v.assign(v * 10 + x)
        return v.value

    @lw.function
    def twice(x):
        return put(x), put(x + 1), v.value

    assert twice(np.array(1.0)) == (1, 12, 12)
    assert put(np.array(5.0)) == 125


@pytest.mark.parametrize("where", ["data", "trace", "host"])
def test_a_call_that_raises_has_assigned_nothing(where):
    v, w = lw.Variable(0.0), lw.Variable(0.0)

    def host(x):
        if x > 0:
            raise KeyError("host")

    @lw.function
    def fails(x):
        v.assign(x)
        if where == "data" and x > 0:
            raise KeyError("data")
        if where == "host":
            lw.py_func(host, [x], None)
        if where == "trace":
            raise KeyError("trace")
        w.assign(x)

    with pytest.raises(KeyError, match=where):
        fails(np.array(1.0))
    assert v.value == 0 == w.value
    if where != "trace":
        fails(np.array(-1.0))
        assert v.value == -1 == w.value


# --- maps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["each call", "traced"])
def test_a_map_assigns_what_is_uniform_once(wrap):
    v, table = lw.Variable(1.0), np.array([3.0, 4.0])

    def per_example(x):
        v.assign(v * 2 + table[1])
        if table.sum() > 5:
            v.assign_add(1)
        return x * v.value

    mapped = wrap(lw.vmap(per_example))
    for expected in (7, 19):
        np.testing.assert_array_equal(mapped(np.arange(3.0)), expected * np.arange(3.0))
        assert v.value == expected
    nested = wrap(lw.vmap(lw.vmap(per_example)))
    np.testing.assert_array_equal(nested(np.ones((2, 3))), np.full((2, 3), 43.0))
    assert v.value == 43


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["each call", "traced"])
def test_uniform_assignments_beside_what_varies_in_loops(wrap):
    count, total = lw.Variable(0), lw.Variable(0.0)

    def per_example(x):
        for _ in range(5):
            count.assign_add(1)
            x = x * 2

        def step(carry, y):
            total.assign_add(y)
            return carry + x, total.value

        return lw.scan(step, 0.0, np.arange(3.0))[1] + x

    found = wrap(lw.vmap(per_example))(np.arange(2.0))
    np.testing.assert_array_equal(found, [[0, 1, 3], [32, 33, 35]])
    assert count.value == 5 and total.value == 3


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["each call", "traced"])
def test_a_map_over_no_examples_assigns_nothing(wrap):
    v = lw.Variable(1.0)
    mapped = wrap(lw.vmap(lambda x: (v.assign_add(1), x)[1]))
    assert mapped(np.ones((0, 2))).shape == (0, 2) and v.value == 1
    assert mapped(np.ones((1, 2))).shape == (1, 2) and v.value == 2


def direct(v, x):
    v.assign(x)


def by_branch(v, x):
    if x > 0:
        v.assign_add(1)


def by_loop(v, x):
    while x > 0:
        v.assign_sub(1)
        x -= 1


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["each call", "traced"])
@pytest.mark.parametrize("program", [direct, by_branch, by_loop])
def test_a_map_refuses_to_assign_what_differs(program, wrap):
    v = lw.Variable(0.0, name="momentum")
    mapped = wrap(lw.vmap(lambda x: (program(v, x), x)[1]))
    with pytest.raises(ValueError, match=r"'momentum' is assigned what differs .*test_state\.py:"):
        mapped(np.arange(3.0))
    assert v.value == 0


def test_what_is_put_back_is_not_an_assignment():
    v = lw.Variable(5.0)

    def per_example(x):
        kept = v.value
        v.assign(x)
        y = v * 2
        v.assign(kept)
        return y

    np.testing.assert_array_equal(lw.vmap(per_example)(np.arange(3.0)), [0, 2, 4])
    assert v.value == 5


# --- derivatives ----------------------------------------------------------------------------------


def test_derivatives_assign_once():
    count = lw.Variable(0)

    def loss(x):
        count.assign_add(1)
        return (x * x).sum() * (1 + 0 * count.value)

    x = np.array([1.0, 2.0])
    derivatives = (
        lw.grad(loss), lw.value_and_grad(loss), lambda x: lw.vjp(loss, x)[0],
        lambda x: lw.jvp(loss, (x,), (x,)), lambda x: lw.linearize(loss, x)[0], lw.jacrev(loss),
        lw.jacfwd(loss), lw.jacobian(loss), lw.hessian(loss), lw.function(lw.grad(loss)),
    )  # fmt: skip
    for calls, derivative in enumerate(derivatives, 1):
        derivative(x)
        assert count.value == calls


def test_derivatives_go_through_what_is_assigned():
    v = lw.Variable(0.0)

    def f(x):
        v.assign(x * x)
        return v * x

    assert lw.grad(f)(2.0) == 12
    assert v.value == 4
    np.testing.assert_array_equal(lw.vmap(lw.grad(lambda x: x * v))(np.ones(2)), [4, 4])


def test_checkpointed_functions_assign():
    v = lw.Variable(0)

    @lw.checkpoint
    def step(x):
        v.assign_add(1)
        return np.sin(x)

    found = lw.grad(lambda x: step(step(x)))(1.0)
    np.testing.assert_allclose(found, np.cos(np.sin(1)) * np.cos(1))
    assert v.value == 2


def test_a_rule_of_ones_own_must_not_assign():
    v = lw.Variable(0)

    @lw.custom_gradient
    def double(x):
        v.assign_add(1)
        return 2 * x, lambda ct: 2 * ct

    with pytest.raises(lw.UnsupportedError, match=f"double assigns the variable '{v.name}'"):
        lw.grad(double)(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["eager", "traced"])
def test_a_tape_stops_at_an_assignment(wrap):
    v = lw.Variable(2.0)

    @wrap
    def gradient():
        with lw.GradientTape() as tape:
            before = v * 3
            v.assign(v * 2)
            y = before + v * 5
        return tape.gradient(y, v)

    assert gradient() == 8  # 3 for the value before, 5 for that after
    assert v.value == 4


def test_a_step_of_training_is_one_call():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    y = x @ [1.0, 2.0, 3.0] + 0.5
    weight, bias = lw.Variable(np.zeros(3)), lw.Variable(0.0)

    @lw.function
    def train(x, y):
        with lw.GradientTape() as tape:
            loss = ((x @ weight + bias - y) ** 2).mean()
        for v, d in zip((weight, bias), tape.gradient(loss, (weight, bias)), strict=True):
            v.assign_sub(0.1 * d)
        return loss

    losses = [train(x, y) for _ in range(200)]
    assert losses[-1] < 1e-12 * losses[0]
    np.testing.assert_allclose(weight.value, [1, 2, 3], rtol=1e-6)
    assert train.experimental_get_tracing_count() == 1


# --- creation -------------------------------------------------------------------------------------


class Counter:
    def __init__(self) -> None:
        self.total = None

    @lw.function
    def add(self, x):
        if self.total is None:
            self.total = lw.Variable(np.zeros(2) + 5)
        self.total.assign_add(x.sum())
        return self.total.value


def test_creation_is_lifted_out_of_the_first_trace():
    one, two = Counter(), Counter()
    np.testing.assert_array_equal(one.add(np.ones(2)), [7, 7])
    np.testing.assert_array_equal(one.add(np.ones(2)), [9, 9])
    np.testing.assert_array_equal(one.add(np.ones(3)), [12, 12])  # traced again, made no more
    np.testing.assert_array_equal(two.add(np.ones(3)), [8, 8])
    assert isinstance(one.total, lw.Variable)


def test_creation_in_another_trace_is_refused():
    @lw.function
    def scaled(x):
        v = lw.Variable(2.0)
        v.assign_add(1)
        return v * x

    # Nobody has it when the call is done: each call has its own, as in plain Python.
    np.testing.assert_array_equal(scaled(np.ones(2)), [3, 3])
    np.testing.assert_array_equal(scaled(np.ones(2)), [3, 3])
    with pytest.raises(ValueError, match=r"a Variable is made \(.*scaled was traced before"):
        scaled(np.ones(3))


def test_a_first_value_must_not_depend_on_arguments():
    kept = []
    made = lw.function(lambda x: kept.append(lw.Variable(x * 2)))
    with pytest.raises(ValueError, match=r"first value of a Variable depends on the arguments"):
        made(np.ones(2))
    host = lw.function(lambda: kept.append(lw.Variable(lw.py_func(float, [1.0], float))))
    with pytest.raises(lw.UnsupportedError, match="host code"):
        host()
    assert not kept


def test_variables_are_arguments_by_reference():
    @lw.function
    def add(v, x):
        v.assign_add(x)
        return v.value

    one, two = lw.Variable(np.zeros(2)), lw.Variable(np.zeros(2))
    for _ in range(3):
        add(one, np.ones(2))
    np.testing.assert_array_equal(add(two, np.ones(2)), [1, 1])
    np.testing.assert_array_equal(one.value, [3, 3])
    assert add.experimental_get_tracing_count() == 2


# --- memory ---------------------------------------------------------------------------------------


def test_freed_variables_free_their_traces():
    @lw.function
    def add(v, x):
        v.assign_add(x)
        return v.value

    v = lw.Variable(np.zeros(2))
    x = np.ones(2)
    for _ in range(4):
        add(v, x)
    trace = weakref.ref(add._traces.all()[0])
    variable = weakref.ref(v)
    del v
    gc.collect()
    assert variable() is None and trace() is None


def test_a_variable_that_a_global_gave_way_is_seen():
    table = {"v": lw.Variable(1.0)}
    scaled = lw.function(lambda x: x * table["v"])
    assert scaled(np.array(2.0)) == 2
    table["v"] = lw.Variable(5.0)
    gc.collect()
    assert scaled(np.array(2.0)) == 10


def test_a_concrete_function_keeps_its_variables():
    def made():
        v = lw.Variable(1.0)
        f = lw.function(lambda x: (v.assign_add(x), v.value)[1])
        return f.get_concrete_function(lw.TensorSpec([])), weakref.ref(v)

    concrete, v = made()
    gc.collect()
    assert concrete.variables == (v(),)
    assert concrete(np.array(2.0)) == 3 and concrete(np.array(2.0)) == 5


def test_threads_lose_no_assignment():
    count = lw.Variable(0)
    add = lw.function(lambda: count.assign_add(1))
    threads = [
        threading.Thread(target=lambda: [add() for _ in range(200)] and None) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.value == 800
    assert add.experimental_get_tracing_count() == 1


# --- bad values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, lw.function], ids=["eager", "traced"])
@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda v, x: v.assign(np.ones(3)), ValueError, r"assign: .*'v' has shape \(2,\), not \(3"),
        (lambda v, x: v.assign(x.sum()), ValueError, r"has shape \(2,\), not \(\)"),
        (lambda v, x: v.assign(1j * x), TypeError, "float64, to which complex128 is not"),
        (lambda v, x: v.assign_add(np.ones(3)), ValueError, r"to which \(3,\) is not broadcast"),
        (lambda v, x: v.assign_sub(np.ones((2, 2))), ValueError, r"\(2, 2\) is not broadcast"),
        (lambda v, x: v.assign("two"), lw.UnsupportedError, "dtype <U3"),
    ],
)
def test_what_does_not_fit_is_refused(wrap, change, error, message):
    v = lw.Variable(np.zeros(2), name="v")
    changed = wrap(lambda x: change(v, x))
    with pytest.raises(error, match=message):
        changed(np.ones(2))
    np.testing.assert_array_equal(v.value, [0, 0])


def test_numbers_do_not_widen():
    for dtype in (np.float32, np.int8, np.complex64):
        eager, traced = lw.Variable(np.array(3, dtype)), lw.Variable(np.array(3, dtype))
        number = 3 if dtype is np.int8 else 0.1
        eager.assign_add(number)
        lw.function(lambda v=traced, n=number: v.assign_add(n))()
        assert eager.dtype == traced.dtype == dtype
        assert eager.value == traced.value == (np.array(3, dtype) + number).astype(dtype)


def test_functional_call_goes_past_the_variables():
    class Layer(lw.nn.Module):
        def __init__(self) -> None:
            self.scale = lw.Variable(2.0)

        @lw.function
        def __call__(self, x):
            self.scale.assign_add(1)
            return x * self.scale

    layer = Layer()
    x = np.ones(2)
    for scale in (10, 20.0, np.float32(30)):
        found = lw.nn.functional_call(layer, {"scale": scale}, x)
        np.testing.assert_array_equal(found, [scale + 1] * 2)
    assert layer.scale.value == 2
    np.testing.assert_array_equal(layer(x), [3, 3])
    with pytest.raises(TypeError, match="scale has dtype float64, to which complex128"):
        lw.nn.functional_call(layer, {"scale": 1j}, x)
