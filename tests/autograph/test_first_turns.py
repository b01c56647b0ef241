"""The first turn of a loop is recorded with the others where it is like them, else by itself."""

from collections import defaultdict

import numpy as np
import pytest

import lanewise as lw

x = np.random.default_rng(3).normal(size=40)


def primitives(f, *args):
    graph = lw.function(f).get_concrete_function(*args).graph
    needed, found = set(graph.outputs), []
    for op in reversed(graph.operations):
        if op.must_run or not needed.isdisjoint(op.results):
            needed.update(op.operands)
            found.append(op.primitive.name)
    return found


def assert_as_plain(f, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    for rows in (np.stack([x, -x, 3 * x]), np.zeros((2, 40)), np.full((2, 40), -0.0)):
        for row in rows:
            own = row.copy()
            expected, found = f(own), lw.function(f)(given := row.copy())
            np.testing.assert_equal(given, own)
            assert lw.function(f)(row.copy()) is not None
            wanted = expected if isinstance(expected, tuple) else (expected,)
            found = found if isinstance(found, tuple) else (found,)
            for one, other in zip(wanted, found, strict=True):
                assert type(one) is type(other)
                np.testing.assert_allclose(one, other, rtol=1e-13)
                assert np.asarray(one).dtype == np.asarray(other).dtype
                assert np.array_equal(np.signbit(one), np.signbit(other))


def stencil(v):
    for _ in range(30):
        v[1:-1] = 0.5 * (v[:-2] + v[2:])
    return v


def smallest_first(v):
    for i in range(len(v)):
        k = i
        for j in range(i + 1, len(v)):
            if v[j] < v[k]:
                k = j
        v[i], v[k] = v[k], v[i]
    return v


def sum_from_int(v):
    s = 0
    for each in v:
        s += each
    return s


def sum_from_float(v):
    s = 0.0
    for i in range(len(v)):
        s = s + v[i] * v[-1]
    return s


def product_of_rows(v):
    y = np.zeros(len(v))
    for i in range(len(v)):
        s = 0
        for j in range(len(v)):
            s += v[i] * v[j]
        y[i] = s
    return y


def sum_in_nest(v):
    s = 0
    for i in range(len(v)):
        for j in range(len(v)):
            s += v[i] * v[j]
    return s


def sum_of_float32(v):
    single, s, n = v.astype(np.float32), 0, 0
    whole = v.astype(np.int32)
    for i in range(len(v)):
        s += single[i]
        n += whole[i]
    return s, n


def difference(v):
    total, before = 0, 0.0
    for each in v:
        total += each - before
        before = each
    return total, before


class Box:
    def __init__(self):
        self.total, self.seen = np.zeros(2), [0.0, 0.0]


def attribute(v):
    box = Box()
    for i in range(len(v)):
        box.total[0] += v[i]
        box.seen[1] = v[i] * 2
    return box.total, box.seen[1]


WHOLE = [
    stencil, smallest_first, sum_from_int, sum_from_float, product_of_rows, sum_in_nest,
    sum_of_float32, difference,
]  # fmt: skip


@pytest.mark.parametrize("f", WHOLE)
def test_first_turn_is_recorded_with_the_others(f):
    found = primitives(f, x)
    assert found.count("scan") == 1
    for name in ("add", "subtract", "multiply", "update_slice", "scatter", "less"):
        assert name not in found


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("f", [*WHOLE, attribute])
def test_whole_loops_are_as_plain_python(f, backend, monkeypatch):
    assert_as_plain(f, backend, monkeypatch)


def from_the_end(v):
    y, box = np.zeros(len(v)), Box()
    for i in range(len(v)):
        y[i] = v[i - 1] + v[i]
        box.total[0] += y[i]
        box.seen[0] = y[i]
    return y, box.total, box.seen[0]


def by_class(v):
    s = 0.0
    for each in v:
        s = s + each if isinstance(s, np.floating) else s - each
    return s


def both_weak(v):
    s, t = 0, 0.0
    for each in v:
        s = s + t
        t = t + each
    return s, t


def used_elsewhere(v):
    s, y = 0, np.ones(3, np.float32)
    for each in v:
        y = np.ones(3, np.float32) * s
        s = s + each
    return s, y


def floored(v):
    s = 1
    for each in v:
        s = s // 2 + each
    return s


def some_turns(v):
    s = 0
    for each in v:
        if each > 0:
            s += each
    return s


def by_rows(v):
    s, rows = 0, v.reshape(8, 5)
    for i in range(8):
        s += rows[i]
    return s


def object_in_the_first(v):
    box, kept = Box(), {}
    for i in range(len(v)):
        if i == 0:
            kept["first"] = v[0]
        box.total[1] = kept["first"] + v[i]
    return box.total, kept["first"]


def left_early(v):
    s = 0.0
    for each in v:
        if each > 1.5:
            break
        s += each
    return s


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize(
    "f",
    [from_the_end, by_class, both_weak, used_elsewhere, floored, some_turns, by_rows,
     object_in_the_first, left_early],
)  # fmt: skip
def test_other_first_turns_are_as_plain_python(f, backend, monkeypatch):
    assert_as_plain(f, backend, monkeypatch)


def test_python_runs_behind_a_first_turn_that_is_undone():
    """What the loop changed is there again when it is not recorded with its first turn."""
    seen = []

    def f(v):
        y, names = np.zeros(len(v)), ["start"]
        for i in range(len(v)):
            names[0] = "turn"
            y[i] = v[i - 1] * 2
        seen.append(list(names))
        return y

    np.testing.assert_array_equal(lw.function(f, jit_compile=True)(x), np.roll(x, 1) * 2)
    assert seen[-1] == ["turn"]


def test_iterators_are_not_taken_from_twice():
    def f(v):
        factors = iter([float(n) for n in range(1, 41)])
        s = 0.0
        for each in v:
            s += each * next(factors)
        return s

    np.testing.assert_allclose(lw.function(f)(x), f(x), rtol=1e-13)


def test_derivatives_of_whole_loops():
    def f(v):
        s = 0
        for i in range(len(v)):
            s += np.sin(v[i]) * v[i]
        return s

    np.testing.assert_allclose(lw.grad(f)(x), np.cos(x) * x + np.sin(x), rtol=1e-12)
    np.testing.assert_allclose(
        lw.vmap(lw.grad(f))(np.stack([x, 2 * x]))[1], np.cos(2 * x) * 2 * x + np.sin(2 * x)
    )


def in_dict(w):
    o = {"u": 0.0}
    for _ in range(20):
        o["u"] += w
    return o["u"]


def in_list(w):
    o = [0.0, 0]
    for _ in range(20):
        o[0] = o[0] + w
        o[1] += 1
    return o[0] * o[1]


def in_attribute(w):
    box = Box()
    for _ in range(20):
        box.total[1] += w
        box.sum = getattr(box, "sum", 0.0) + box.total[1]
    return box.sum + box.total[1]


def in_nonlocal(w):
    s, n = 0.0, 0

    def add():
        nonlocal s, n
        s, n = s + w, n + 1

    for _ in range(20):
        add()
    return s * n


def in_list_that_grows(w):
    kept = []
    for k in range(20):
        kept.append(w * k)
        if len(kept) > 3:
            kept.pop(0)
    return sum(kept)


def in_defaultdict(w):
    found = defaultdict(float)
    for k in range(20):
        found[k % 2] += w
    return found[0] * found[1]


def in_a_while_loop(w):
    o, i = {"u": 0.0}, 0
    while i < 20:
        o["u"] += w * i
        i += 1
    return o["u"] * i


@pytest.mark.parametrize(
    "f",
    [in_dict, in_list, in_attribute, in_nonlocal, in_list_that_grows, in_defaultdict,
     in_a_while_loop],
)  # fmt: skip
def test_derivatives_with_respect_to_what_loops_keep_elsewhere(f):
    w, h = 0.75, 1e-6
    slope = (f(w + h) - f(w - h)) / (2 * h)
    for value, derivative in (
        (lw.function(f)(w), lw.grad(f)(w)),
        lw.value_and_grad(f)(w),
        lw.jvp(f, (w,), (1.0,)),
        [row[0] for row in (lw.vmap(f)(np.full(2, w)), lw.vmap(lw.grad(f))(np.full(2, w)))],
    ):
        np.testing.assert_allclose(value, f(w), rtol=1e-13)
        np.testing.assert_allclose(derivative, slope, rtol=1e-6)
    lw.check_gradients(f, w)
