"""Windows, blocks and tiles in long loops, cut off at the ends of an array as NumPy has it."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace.trace import state
from support.oracle import assert_maps


def window(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i : i + 4].sum()
    return s


def blocks_written(a):
    for i in range(0, len(a), 8):
        a[i : i + 8] += 1
    return a


def clamped_below(a):
    o = np.zeros(len(a))
    for i in range(len(a)):
        o[i] = a[max(0, i - 2) : i + 3].mean()
    return o


def clamped(a):
    o = np.zeros(len(a))
    for i in range(len(a)):
        o[i] = a[max(0, i - 2) : min(len(a), i + 3)].max()
    return o


def tiles_written(a):
    m = a.reshape(5, -1)[:, :8].copy()
    for i in range(0, 5, 2):
        for j in range(0, 8, 3):
            m[i : i + 2, j : j + 3] *= i + j
    return m


def tiles_read(a):
    m = np.outer(a, a[:20])
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i : i + 3, j : j + 2].sum() * (i - j)
    return s


def negative_starts(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i - 3 : i].sum()
    return s


def steps(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i : i + 9 : 2].sum() + a[i + 5 : i : -2].sum()
    return s


def shrinking_written(a):
    s = a.copy()
    for i in range(len(a)):
        s[i:] += a[i]
    return s


def shrinking_read(a):
    s = 0.0
    for i in range(len(a)):
        s += a[:i].sum() - a[i:].min()
    return s


def backward_and_left(a):
    s = 0.0
    for i in range(len(a) - 1, -1, -1):
        s += a[i : i + 3].sum()
        if s > 40:
            break
    return s


def filled(a):
    for i in range(len(a)):
        a[i : i + 2] = i
    return a


def appended(a):
    o = []
    for i in range(0, len(a), 3):
        o.append(a[i : i + 3].sum())
    return np.array(o)


def enumerated(a):
    s = 0.0
    for k, v in enumerate(a):
        s += v * a[k : k + 5].sum()
    return s


def from_the_end(a):
    s = 0.0
    for i in range(len(a)):
        s += a[-i - 3 : -i].sum()
    return s


def ends_of_windows(a):
    n = len(a)
    o = np.zeros(n)
    for i in range(n):
        t = a[i : i + 4]
        o[i] = t[-1] + t[0] + len(t)
    return o


def in_branches(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0:
            s += a[i : i + 4].sum()
        else:
            s -= a[i - 1 : i + 2].sum()
    return s


def nested_to_a_bound(a):
    s = 0.0
    for i in range(0, len(a), 4):
        for j in range(i, min(i + 4, len(a))):
            s += a[j : j + 2].sum()
    return s


def block_product(a):
    m = np.outer(a, a)
    b = 6
    o = np.zeros_like(m)
    n = len(a)
    for i in range(0, n, b):
        for j in range(0, n, b):
            for k in range(0, n, b):
                o[i : i + b, j : j + b] += m[i : i + b, k : k + b] @ m[k : k + b, j : j + b]
    return o


def dot(a):
    s = 0.0
    for i in range(len(a)):
        s = s + np.dot(a[i : i + 4], a[i : i + 4]) * 0.5
    return s


def beyond(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i + 30 : i + 34].sum()
    return s


def functions_of_windows(a):
    s = 0.0
    for i in range(len(a)):
        s += np.std(a[i : i + 10]) + np.median(a[i : i + 10]) + np.sort(a[i : i + 10])[0]
    return s


def helper(a):
    def win(v, i, w):
        return v[i : i + w]

    return sum([win(a, i, 5).prod() for i in range(len(a))])


def reversed_windows(a):
    o = np.empty(len(a))
    for i in range(len(a)):
        o[i : i + 3] = a[i : i + 3][::-1]
    return o


def shrinking_on_both_sides(a):
    for i in range(len(a) // 2):
        a[i : len(a) - i] += 1
    return a


def swapped(a):
    for i in range(0, len(a), 2):
        a[i], a[i + 1 : i + 2] = a[i] + 1, a[i]
    return a


FUNCTIONS = [
    window,
    blocks_written,
    clamped_below,
    clamped,
    tiles_written,
    tiles_read,
    negative_starts,
    steps,
    shrinking_written,
    shrinking_read,
    backward_and_left,
    filled,
    appended,
    enumerated,
    from_the_end,
    ends_of_windows,
    in_branches,
    nested_to_a_bound,
    block_product,
    dot,
    beyond,
    functions_of_windows,
    helper,
    reversed_windows,
    shrinking_on_both_sides,
    swapped,
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_slices_that_are_cut_off(f):
    xs = np.random.default_rng(1).normal(size=(3, 40))
    assert_maps(f, xs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", [window, blocks_written, tiles_written, block_product])
def test_of_traced_functions_and_nested_maps(f):
    xs = np.random.default_rng(1).normal(size=(2, 2, 40))
    expected = np.stack([np.stack([f(x.copy()) for x in rows]) for rows in xs])
    np.testing.assert_allclose(lw.vmap(lw.vmap(f))(xs), expected, 1e-12, 1e-12)
    np.testing.assert_allclose(lw.function(f)(xs[0, 0].copy()), expected[0, 0], 1e-12, 1e-12)


def test_derivatives():
    x = np.random.default_rng(1).normal(size=40)
    counts = np.minimum(np.arange(40) + 1, 4)
    np.testing.assert_allclose(lw.grad(window)(x), counts)


def test_long_loops_are_recorded_still():
    recorded = []

    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += a[i : i + 4].sum()
        recorded.append(len(state.trace.operations))
        return s

    xs = np.random.default_rng(1).normal(size=(2, 2000))
    np.testing.assert_allclose(lw.vmap(f)(xs), [f_plain(x) for x in xs])
    assert recorded[0] < 100


def f_plain(a):
    return sum(a[i : i + 4].sum() for i in range(len(a)))


def in_a_loop(a):
    n = 0
    for i in range(len(a)):
        n += len(list(a[i : i + 4])) + len([*a[i : i + 3]]) + len(sorted(a[i : i + 2]))
    return n


def test_lists_of_windows_of_which_only_the_length_is_asked_for():
    xs = np.random.default_rng(1).normal(size=(2, 40))
    assert lw.vmap(in_a_loop)(xs).tolist() == [in_a_loop(x) for x in xs]


@pytest.mark.parametrize("listed", [list, sorted])
def test_lists_of_as_many_as_there_are(listed):
    def f(i):
        return len(listed(np.arange(10.0)[i : i + 4] * i))

    assert lw.vmap(f)(np.array([0, 6, 8])).tolist() == [f(0), f(6), f(8)]


@pytest.mark.parametrize("listed", [tuple, lambda w: (lambda *v: v)(*w), lambda w: [*w][1:]])
def test_lists_of_windows_that_data_place(listed):
    def f(i):
        return len(listed(np.arange(10.0)[i : i + 4] * i))

    assert lw.vmap(f)(np.array([0, 6])).tolist() == [f(0), f(6)]
    with pytest.raises(lw.UnsupportedError, match="a slice of 4 elements"):
        lw.vmap(f)(np.array([0, 8]))
