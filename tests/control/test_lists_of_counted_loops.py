"""Lists that counted loops append to, in the forms that people write: one body for all turns."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import (
    ConcretizationError,
    ControlFlowError,
    DataDependentShapeError,
    UnsupportedError,
)
from support import random_lists
from support.comparing import define
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(4)
X = RNG.normal(size=(2, 24))
NARROW = X.astype(np.float32)
PROGRAMS = {}
REFUSED = ConcretizationError, ControlFlowError, DataDependentShapeError, UnsupportedError


def program(batch):
    """Note a function with the examples that it is called with."""

    def note(func):
        PROGRAMS[func.__name__] = func, batch
        return func

    return note


@program(X)
def running(x):
    out, s = ([], 0.0)
    for v in x:
        s = 0.9 * s + v
        out.append(s)
    return np.array(out)


@program(X)
def returned_list_mean(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] ** 2)
    return (np.mean(out), np.std(out), max(out), min(out), sum(out), len(out))


@program(X)
def last_read(x):
    xs = [x[0]]
    for v in x[1:]:
        xs.append(0.5 * xs[-1] + v)
    return np.asarray(xs)


@program(X)
def two_back(x):
    xs = [x[0], x[1]]
    for i in range(2, len(x)):
        xs.append(xs[-1] + 0.1 * xs[-2] + 0.01 * xs[i - 1])
    return np.array(xs)[::-1]


@program(X)
def arrays(x):
    y = np.array([x[0], 1.0, 0.0])
    path = []
    for v in x:
        y = y + 0.1 * np.array([v, -y[0], y[1]])
        path.append(y)
    return np.array(path)


@program(X)
def arrays_copy(x):
    y = np.array([x[0], 1.0, 0.0])
    path = [y.copy()]
    for v in x:
        y[0] += v
        y[1:] *= 0.9
        path.append(y.copy())
    return (np.stack(path), np.array(path)[-1])


@program(X)
def arrays_aliased(x):
    y = np.array([x[0], 1.0, 0.0])
    path = []
    for v in x:
        y[0] += v
        path.append(y)
    return np.array(path)


@program(X)
def element_written(x):
    path = []
    for v in x:
        path.append(np.array([v, 2 * v]))
    path[-1][0] = 7.0
    path[2] += 1
    r = path[3]
    r[1] = -1
    return np.array(path)


@program(X)
def tuples(x):
    pts = []
    a = b = 0.0
    for v in x:
        a, b = (a + v, b - v)
        pts.append((a, b))
    p = np.array(pts)
    return (p, p[:, 0].sum())


@program(X)
def zipped(x):
    xs, ys = ([], [])
    s = 0.0
    for v in x:
        s += v
        xs.append(s)
        ys.append(s * s)
    t = 0.0
    for a, b in zip(xs, ys, strict=True):
        t += a * b
    for i, a in enumerate(xs):
        t += i * a
    return (
        t,
        sum([a * b for a, b in zip(xs, ys, strict=True)]),
        np.trapezoid(ys, xs),
        np.array([xs, ys]).shape[1],
    )


@program(X)
def comprehension_over(x):
    xs = []
    for v in x:
        xs.append(v * 2)
    return (np.array([a + 1 for a in xs]), np.array([xs[i] - xs[i - 1] for i in range(1, len(xs))]))


@program(X)
def nested(x):
    out = []
    for i in range(len(x) // 6):
        for j in range(6):
            out.append(x[i * 6 + j] * (i - j))
    return np.array(out)


@program(X)
def ints(x):
    out = []
    k = 0
    for _ in x:
        k = (k * 3 + 1) % 7
        out.append(k)
    return (np.array(out), sum(out), max(out), np.array(out) / 2)


@program(X)
def ints_then_floats(x):
    out = [0]
    for v in x:
        out.append(out[-1] + v)
    return (np.array(out), max(out))


@program(NARROW)
def float32(x):
    out = []
    s = x[0]
    for v in x:
        s = s * np.float32(0.5) + v
        out.append(s)
    return np.array(out)


@program(NARROW)
def float32_from_zero(x):
    s = 0.0
    out = [s]
    for v in x:
        s = s * 0.5 + v
        out.append(s)
    return np.array(out)


@program(X)
def bools(x):
    out = []
    for v in x:
        out.append(v > 0)
    return (np.array(out), sum(out), any(out), all(out))


@program(X)
def sorted_use(x):
    out = []
    for v in x:
        out.append(v * v)
    s = sorted(out)
    return (s[len(s) // 2], np.median(out), np.percentile(out, 30), tuple(out)[1])


@program(X)
def returned(x):
    out = []
    for v in x:
        out.append(np.sin(v))
    return out


@program(X)
def passed_on(x):

    def total(items):
        items.append(1.0)
        return sum(items)

    out = []
    for v in x:
        out.append(np.sin(v))
    t = total(out)
    return (t, len(out), out[-1])


@program(X)
def helper_appends(x):

    def add(items, v):
        items.append(v)

    out = []
    for v in x:
        add(out, v * 2)
    return np.array(out)


@program(X)
def after_conditional(x):
    out = []
    for v in x:
        out.append(v)
    for v in x:
        if v > 0.5:
            out.append(-v)
    return (len(out), sum(out), out[-1])


@program(X)
def set_entries(x):
    out = [0.0]
    for v in x:
        out.append(v)
    out[0] = 5.0
    out[-1] += 1.0
    for i in range(1, len(out)):
        out[i] = out[i] + 0.5 * out[i - 1]
    return np.array(out)


@program(X)
def window(x):
    buf, out = ([], [])
    for v in x:
        buf.append(v)
        if len(buf) > 5:
            buf.pop(0)
        out.append(sum(buf) / len(buf))
    return np.array(out)


@program(X)
def slices_of(x):
    out = []
    for v in x:
        out.append(v)
    a = out[:5]
    b = out[-3:]
    a.append(1.0)
    return (sum(a), np.mean(b), np.mean(out[2:9]), len(out))


@program(X)
def while_list(x):
    out = []
    i = 0
    while i < len(x):
        out.append(x[i] * 2)
        i += 2
    return np.array(out)


@program(X)
def extend(x):
    out = []
    for v in x:
        out.extend([v, -v])
        out += [2 * v]
    return np.array(out)


@program(X)
def two_names(x):
    out = []
    keep = out
    for v in x:
        out.append(v)
    return (len(keep), np.sum(keep))


@program(X)
def rebound(x):
    out = []
    for v in x:
        out.append(v)
    out = np.array(out)
    return (out.mean(), out - x)


@program(X)
def concatenated(x):
    parts = []
    for i in range(0, 20):
        parts.append(x[i : i + 3] * i)
    return (np.concatenate(parts), np.vstack(parts), np.hstack(parts), np.column_stack(parts))


@program(X)
def euler(x):
    t, y, v = (0.0, 1.0, 0.0)
    ts, ys = ([t], [y])
    for k in range(len(x)):
        a = -y - 0.1 * v + x[k]
        v = v + 0.01 * a
        y = y + 0.01 * v
        t = t + 0.01
        ts.append(t)
        ys.append(y)
    return (np.array(ts), np.array(ys))


@program(X)
def with_break(x):
    out = []
    for v in x:
        if v > 2.0:
            break
        out.append(v)
    return (len(out), np.array(out).sum())


@program(X)
def in_test(x):
    seen = []
    n = 0
    for i in range(len(x)):
        seen.append(i)
        if i * 7 % 11 in seen:
            n += 1
    return n


@program(X)
def np_append(x):
    out = np.array([])
    for v in x:
        out = np.append(out, v * v)
    return out


@program(X)
def hstack_grow(x):
    out = np.zeros((0, 2))
    for v in x:
        out = np.vstack([out, [v, 2 * v]])
    return out


@program(X)
def turned(x):
    path = []
    k = 0
    while abs(x[k]) < 0.9 and k < 20:
        path.append(k)
        k += 1
    path.reverse()
    return (len(path), sum(path), path[0] if path else -1)


@program(X)
def sorted_in_place(x):
    vals = []
    for v in x:
        if v > 0.4:
            vals.append(v)
    vals.sort()
    return (vals[0], vals[-1], vals[len(vals) // 2], len(vals))


@program(X)
def emptied(x):
    buf = []
    out = 0.0
    for v in x:
        buf.append(v)
        if v > 0.7:
            out += sum(buf)
            buf.clear()
    return (out, len(buf))


@program(X)
def next_greater(x):
    res, stack = ([-1] * len(x), [])
    for i, v in enumerate(x):
        while stack and x[stack[-1]] < v:
            res[stack.pop()] = i
        stack.append(i)
    return np.array(res)


@program(X)
def turned_and_sorted(x):
    a = []
    for v in x:
        a.append(v * 2)
    a.reverse()
    a.append(1.0)
    a.sort()
    return np.array(a)


@program(X)
def sorted_tuples(x):
    a = []
    for v in x:
        a.append((v, 1.0))
    a.sort()
    return (a[0][0], np.array(a))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_is_like_the_loop(name):
    func, batch = PROGRAMS[name]
    assert_like_the_loop(func, batch, rtol=1e-6 if batch.dtype == np.float32 else 1e-9)


#: Of these the iterations are written out, or their number is data.
OTHERS = frozenset(("next_greater", "sorted_tuples"))


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - OTHERS))
def test_turns_are_recorded_once(name):
    func, batch = PROGRAMS[name]
    short, long = [_size_of_graph(func, np.resize(batch[0], n)) for n in (24, 96)]
    assert long <= short


def _size_of_graph(func, x):
    return len(str(lw.function(func).get_concrete_function(x).graph).splitlines())


def median_of_window(x):
    window, out = deque(maxlen=5), np.zeros_like(x)
    for i, v in enumerate(x):
        window.append(v)
        out[i] = sorted(window)[len(window) // 2]
    return out


def sum_of_window(x):
    window, total, out = deque(), 0.0, np.zeros_like(x)
    for i, v in enumerate(x):
        window.append(v)
        total += v
        if len(window) > 5:
            total -= window.popleft()
        out[i] = total / len(window)
    return out


@pytest.mark.parametrize("func", [median_of_window, sum_of_window])
def test_loops_are_recorded_once_their_containers_have_settled(func):
    assert_like_the_loop(func, X)
    short, long = [_size_of_graph(func, np.resize(X[0], n)) for n in (50, 200)]
    assert long <= short


def test_arrays_that_are_written_after_they_were_appended_are_refused():
    def func(x):
        y = np.zeros(3)
        path = []
        for v in x:
            y = y + v
            path.append(y)
        y[0] = 100.0
        return np.array(path)

    with pytest.raises(ControlFlowError, match=r"variable 'y' is written to \(.*loops\.py:"):
        lw.function(func)(X[0])


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_are_like_the_loop(seed):
    func = define(random_lists.draw_counted(seed), np=np)
    try:
        lw.function(func)(X[0])
        lw.vmap(func)(X)
    except REFUSED as error:
        pytest.skip(f"refused by name: {error}")
    except Exception:  # it is compared below
        pass
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
def test_elements_that_are_wider_than_the_first(dtype):
    """A list that begins with Python's 0 holds what later turns add, not what is left as an int."""

    def sums(x):
        total, kept = 0, []
        for each in x:
            kept.append(total)
            total = total + each
        return np.array(kept)

    def joined(x):
        total, kept = 0, []
        for each in x:
            kept = [*kept, total]
            total += each
        return np.array(kept)

    x = (np.random.default_rng(0).normal(size=24) * 5).astype(dtype)
    for f in (sums, joined):
        expected, found = f(x), lw.function(f)(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(lw.vmap(f)(np.stack([x, x]))[1], expected, rtol=1e-5)
