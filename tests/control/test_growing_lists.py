"""Lists and arrays that grow and shrink as the data say, in the forms that people write."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(1)
A = RNG.normal(size=(6, 9))
N = np.array([0, 9, 3, 5, 1, 7])
CODES = RNG.integers(0, 6, size=(6, 9))
PROGRAMS = Programs()
program = PROGRAMS.note


@program(A, N)
def filtered(x, n):
    out = []
    for v in x:
        if v > 0:
            out.append(v * n)
    return (len(out), sum(out), np.array(out).sum())


@program(A)
def queues_that_lists_extend(x):
    def above(i):
        return [k for k in range(len(x)) if x[k] > x[i]]

    queue = deque(above(0))
    other = deque()
    steps = 0
    while queue and steps < 6:
        steps += 1
        more = above(queue.popleft())
        if len(more) > 2:
            queue.extend(more)
            other.extend(x[k] for k in more)
            other.extend(np.nonzero(x > 1)[0])
    return len(queue), sum(queue), len(other), sum(other)


@program(A, N)
def stack_sum(x, n):
    stack = [0]
    total, steps = (0.0, 0)
    while stack:
        i = stack.pop()
        total += x[i]
        steps += 1
        if 2 * i + 1 < n:
            stack.append(2 * i + 1)
        if 2 * i + 2 < n:
            stack.append(2 * i + 2)
    return (total, steps)


@program(A)
def adaptive_simpson(x):

    def f(t):
        return np.exp(-t * x[0]) + t * t * x[1]

    stack = [(0.0, 1.0)]
    total = 0.0
    evals = 0
    while stack:
        a, b = stack.pop()
        m = (a + b) / 2
        whole = (b - a) / 6 * (f(a) + 4 * f(m) + f(b))
        left = (m - a) / 6 * (f(a) + 4 * f((a + m) / 2) + f(m))
        right = (b - m) / 6 * (f(m) + 4 * f((m + b) / 2) + f(b))
        evals += 1
        if abs(left + right - whole) < 1e-06:
            total += left + right
        else:
            stack.append((a, m))
            stack.append((m, b))
    return (total, evals)


@program(CODES)
def run_length(x):
    values = np.zeros(0, x.dtype)
    counts = np.zeros(0, int)
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        values = np.append(values, x[i])
        counts = np.append(counts, j - i)
        i = j
    return (len(values), (values * counts).sum(), counts.max())


@program(CODES)
def run_length_lists(x):
    counts = []
    i = 0
    while i < len(x):
        j = i
        while j < len(x) and x[j] == x[i]:
            j += 1
        counts.append(j - i)
        i = j
    return (len(counts), max(counts), sum(counts), counts[0], counts[-1])


@program(A, N)
def bisect_slices(x, n):
    x = np.sort(x)
    target = x[n % 9]
    off = 0
    while len(x) > 1:
        m = len(x) // 2
        if x[m] <= target:
            x = x[m:]
            off += m
        else:
            x = x[:m]
    return (off, x[0])


@program(N)
def sieve(n):
    n = n * 3 + 2
    is_prime = np.ones(n, bool)
    is_prime[:2] = False
    p = 2
    while p * p < n:
        if is_prime[p]:
            is_prime[p * p :: 2] &= True
            k = p * p
            while k < n:
                is_prime[k] = False
                k += p
        p += 1
    return (is_prime.sum(), np.flatnonzero(is_prime)[-1])


@program(A, N)
def quickselect(x, n):
    k = min(n, 8)
    while True:
        p = x[len(x) // 2]
        lo, hi = (x[x < p], x[x > p])
        if k < len(lo):
            x = lo
        elif k >= len(x) - len(hi):
            k -= len(x) - len(hi)
            x = hi
        else:
            return p


@program(A)
def lis_tails(x):
    tails = np.zeros(0)
    for v in x:
        i = np.searchsorted(tails, v)
        if i == len(tails):
            tails = np.append(tails, v)
        else:
            tails[i] = v
    return (len(tails), tails.sum())


@program(CODES, N)
def knapsack(w, cap):
    best = np.zeros(cap + 1)
    for i in range(len(w)):
        wi = w[i] + 1
        if wi <= cap:
            new = best.copy()
            new[wi:] = np.maximum(best[wi:], best[:-wi] + wi * 1.5)
            best = new
    return (best[-1], best.sum())


@program(CODES)
def dedup(x):
    out = np.array([x[0]])
    for v in x[1:]:
        if not (out == v).any():
            out = np.append(out, v)
    return (len(out), out.sum(), out[-1])


@program(CODES)
def dedup_list(x):
    seen = np.zeros(6, bool)
    out = []
    for v in x:
        if not seen[v]:
            seen[v] = True
            out.append(v)
    return (len(out), out[0], out[-1], max(out))


@program(CODES)
def hist_bins(x):
    h = np.zeros(x.max() + 1, int)
    for v in x:
        h[v] += 1
    return (h.max(), h.argmax(), len(h))


@program(A, N)
def restarts(x, n):
    best = np.inf
    for r in range(n):
        p = x[r % 9]
        steps = 0
        while steps < 20:
            g = 2 * (p - 1)
            p = p - 0.3 * g
            steps += 1
            if abs(g) < 0.001:
                break
        best = min(best, p)
        if best < 1.0001:
            break
    return best


@program(CODES)
def tokens(x):
    starts, ends = ([], [])
    inside = False
    for i in range(len(x)):
        if x[i] > 2 and (not inside):
            starts.append(i)
            inside = True
        elif x[i] <= 2 and inside:
            ends.append(i)
            inside = False
    if inside:
        ends.append(len(x))
    longest = 0
    for k in range(len(starts)):
        longest = max(longest, ends[k] - starts[k])
    return (len(starts), longest)


@program(CODES, N)
def bfs(adj, s):
    queue = [s % 9]
    seen = np.zeros(9, bool)
    seen[s % 9] = True
    order = 0
    while queue:
        v = queue.pop(0)
        order = order * 3 + v
        for d in range(1, 3):
            w = (v * d + adj[v] + 1) % 9
            if not seen[w]:
                seen[w] = True
                queue.append(w)
    return (order, seen.sum())


@program(A, N)
def window_max(x, n):
    dq = []
    out = 0.0
    k = n % 4 + 1
    for i in range(len(x)):
        while dq and x[dq[-1]] <= x[i]:
            dq.pop()
        dq.append(i)
        if dq[0] <= i - k:
            dq.pop(0)
        if i >= k - 1:
            out += x[dq[0]]
    return out


@program(CODES)
def brackets(x):
    stack = []
    bad = 0
    for c in x:
        if c < 3:
            stack.append(c)
        elif len(stack) > 0 and stack[-1] == c - 3:
            stack.pop()
        else:
            bad += 1
    return (bad, len(stack))


@program(A, N)
def entries_out_of_range(x, n):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out[n]


@program(N)
def fib_list(n):
    f = [0, 1]
    while len(f) <= n:
        f.append(f[-1] + f[-2])
    return (f[n], np.array(f).sum())


@program(A)
def two_lists(x):
    pos, neg = ([], [])
    pos = []
    neg = []
    for v in x:
        if v > 0:
            pos.append(v)
        else:
            neg.append(-v)
    s = 0.0
    for v in pos:
        s = s * 0.5 + v
    for v in neg:
        s = s * 0.5 + v
    return (s, len(pos), len(neg))


@program(A)
def reset_list(x):
    best, run = (0, [])
    for v in x:
        if v > 0:
            run.append(v)
        else:
            run = []
        best = max(best, len(run))
    return best


@program(CODES)
def label_prop(x):
    lab = np.arange(9)
    changed = True
    while changed:
        new = np.minimum(lab, lab[(np.arange(9) + x) % 9])
        changed = (new != lab).any()
        lab = new
    return (len(np.unique(lab)), lab)


@program(A)
def newton_history(x):
    h = np.array([x[0]])
    while abs(h[-1] ** 3 - 2) > 1e-06 and len(h) < 40:
        v = h[-1]
        h = np.append(h, v - (v**3 - 2) / (3 * v * v + 0.001))
    return (len(h), h[-1], np.abs(np.diff(h)).sum())


@program(A, N)
def in_branch(x, n):
    path = []
    if n > 3:
        while n > 0:
            path.append(n * x[0])
            n //= 2
    return (len(path), sum(path))


@program(A, N)
def nested_lists(x, n):
    total = 0
    for i in range(n):
        part = []
        while len(part) < i % 3 + (x[i % 9] > 0):
            part.append(i)
        total += len(part) * 10 + sum(part)
    return total


@program(A, N)
def return_in_loop(x, n):
    seen = []
    while True:
        v = x[len(seen) % 9]
        if v > 1 or len(seen) > n:
            return (len(seen), v)
        seen.append(v)


@program(A, N)
def with_plain_loop(x, n):
    rows = []
    for i in range(3):
        rows.append(x * i)
    return np.array(rows).sum(axis=0)


@program(A)
def popped_empty(x):
    stack = [x[0]]
    total = 0.0
    for v in x:
        total += stack.pop()
        if v > -0.5:
            stack.append(v)
    return total


@program(A, N)
def conditions(x, n):
    out = []
    while len(out) < n % 4:
        out.append(x[n % 9])
    y = x[1:] if out else x * 2
    total = y.sum() if not out and n > 0 else 1.0
    while out and total < 9:
        total += out.pop(0)
    return total, y.size


@program(A, N)
def other_statements(x, n):
    out: list[float] = [x[0]]
    while len(out) < n:
        out += [out[-1] * 0.5, out[0] + 1]
        out += []
    return sum(out), len(out), out[-1]


@program(A, N)
def looked_at_by_name(x, n):
    out = []
    out.append(x[0])
    return len(locals()["out"]) + n


@program(A, N)
def of_several_kinds(x, n):
    out = [0]
    while n > 0:
        out.append(n * 0.5)
        if n > 3:
            out.append(n > 4)
        n -= 1
    return out[-1] * 0.5 + out[0], (out[len(out) // 2] + out[0]) * 1.5, len(out)


@program(N)
def of_pairs_of_several_kinds(n):
    out = [(0, 1.5)]
    total = 0
    while n > 0:
        out.append((n * 0.5, n))
        n -= 2
    while out:
        a, b = out.pop()
        total = total * 0.5 + a - b
    return total


@program(A, N)
def begun_again(x, n):
    run, best = [], 0
    while n > 0:
        if n % 4 == 0:
            run = []
        run.append(x[n % 9])
        best = max(best, len(run), run[0])
        n -= 1
    return best * 1.0


@program(A, N)
def array_of_a_list_that_goes_on(x, n):
    out = [x[0]]
    while n > 0:
        out.append(x[n % 9])
        n -= 1
    before = np.array(out)
    out.pop()
    out.append(x[1] * 100)
    return before.sum(), sum(out), np.array(out).max(), before.argmin()


@program(A, N)
def queue_that_is_filled(x, n):
    queue, total = [n], 0
    while queue and total < 60:
        v = queue.pop(0)
        total += v
        if v > 1:
            queue.append(v - 1)
            queue.append(v // 2)
    return total, len(queue), sum(queue)


@program(N)
def popped_though_nobody_uses_it(n):
    stack = [1, 2, 3]
    while n > 0:
        stack.pop()
        n -= 1
    return len(stack)


@program(N)
def greatest_of_numbers_of_the_code_and_others(n):
    out = [1, 4, n]
    return max(out), min(out)


@program(N[1:])
def greatest_of_an_array(n):
    out = []
    while n > 3:
        out.append(n * 0.5)
        n -= 1
    return np.array(out).max()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_functions_return_arrays_of_lists():
    def collatz(n):
        n = n + 1
        path = [n]
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            path.append(n)
        return np.array(path), max(path), sum(path)

    def digits(n):
        out = []
        while n > 0:
            out.append(n % 3)
            n //= 3
        return np.array(out[::-1], dtype=int)

    assert_like_the_loop(collatz, N, maps=False)
    assert_like_the_loop(digits, N, maps=False)


def test_sums_of_empty_lists_are_ints():
    def func(n, x):
        out = []
        while n > 3:
            out.append(x)
            n -= 1
        return sum(out)

    assert_like_the_loop(func, N, A[:, 0], maps=False)


def test_totals_have_the_kind_that_their_elements_say():
    def func(n):
        out = [True]
        while n > 0:
            out.append(n * 1.5 if n > 3 else n)
            n -= 1
        return sum(out), max(out), min(out), np.array(out).sum()

    assert_like_the_loop(func, N, maps=False)


def test_a_list_in_a_kernel_takes_memory_as_it_grows():
    def func(n):
        path, total = [], 0
        while n > 0:
            path.append(n)
            n -= 1
        for v in path:
            total = total * 3 % 1001 + v
        return total, sum(path)

    assert_like_the_loop(func, np.array([3, 5000, 0, 17, 1]))


# --- what is refused -----------------------------------------------------------------------------


def returned(n):
    out = []
    while n > 0:
        out.append(n)
        n -= 1
    return out


def known_elsewhere(n):
    out = []
    other = out
    while n > 0:
        out.append(n)
        n -= 1
    return len(other)


def test_a_list_whose_length_is_data_is_not_returned():
    refusals = ControlFlowError, UnsupportedError
    for call in (lambda: lw.vmap(returned)(N), lambda: lw.function(returned)(N[1])):
        with pytest.raises(refusals, match=r"returns a list.*test_growing_lists\.py:"):
            call()


def test_arrays_of_empty_lists_need_a_dtype():
    def func(n):
        out = []
        while n > 0:
            out.append(n)
            n -= 1
        return np.array(out).sum()

    with pytest.raises(UnsupportedError, match=r"np.array\(\).*dtype"):
        lw.vmap(func)(N)
    assert_like_the_loop(func, N[1:])


def test_lists_of_tuples_are_matrices():
    def func(n):
        out = []
        while n > 0:
            out.append((n, 0.5))
            n -= 1
        table = np.array(out)
        return table.sum(), table[:, 0].max(), len(table), table.shape[1]

    assert_like_the_loop(func, N[1:])


def test_largest_tuples():
    def func(n):
        out = []
        while n > 0:
            out.append((n, 0.5))
            n -= 1
        return max(out)[0], min(out, key=lambda pair: -pair[0])[0]

    assert_like_the_loop(func, N)


def of_one_name(x):
    rows = [[2 * v for v in row] for row in x.reshape(-1, 1)]
    row, total = [], 0.0
    for each in rows:
        row.append(each[0])
        if each[0] > total:
            row = [v * 0.5 for v in row if v > 0]
        total += sum(row) + sum(v for v in [row for row in row]) + (lambda row: row)(1.0)
    return total, len(row), {row: row + 1 for row in range(3)}[2]


def test_variables_of_comprehensions_may_have_the_names_of_lists():
    assert_like_the_loop(of_one_name, np.random.default_rng(2).normal(size=(5, 20)))
