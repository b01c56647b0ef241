"""What users' classes say of truth, order, equality and arithmetic, where that is data."""

from __future__ import annotations

import bisect
import functools
import heapq
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import Programs, assert_like_the_loop

A = np.array([1.5, 2.0, 0.5, -1.0, 0.0])
B = np.array([1.5, 1.0, -0.25, 3.0, -2.0])
P = np.random.default_rng(0).integers(-3, 4, (8, 4))
Q = np.random.default_rng(1).integers(0, 4, (8, 4))
PROGRAMS = Programs()


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __rmul__(self, k):
        return Vector(k * self.x, k * self.y)

    def __radd__(self, k):
        return Vector(k + self.x, k + self.y) if k > 0 else Vector(self.x, self.y)

    def __rsub__(self, k):
        return Vector(k - self.x, k - self.y)

    def __rtruediv__(self, k):
        return Vector(k / (2.5 + self.x), k / (2.5 + self.y))

    def __rpow__(self, k):
        return Vector(abs(k) ** abs(self.x), abs(k) ** 2)

    def __gt__(self, k):
        return self.x > k

    def __eq__(self, k):
        return self.x == k

    def norm(self):
        return math.hypot(self.x, self.y)


@PROGRAMS.note(A, B)
def numbers_beside_objects(a, b):
    v = Vector(a, b)
    made = [b * v, 0.5 * b * v, b + v, b - v, b / v, b**v, 2 * v, float(b) * v]
    return [each.norm() for each in made], 1 if b < v else 2, 3 if b == v else 4, b != v


class Sized:
    def __init__(self, x):
        self.x = [v for v in x if v > 0]

    def __len__(self):
        return len(self.x)

    def __contains__(self, v):
        return v in self.x


class Truth:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return bool(self.x > 0)


@PROGRAMS.note(A, B)
def lengths_as_truths(a, b):
    s, n = Sized([a, b, a - b]), 0
    if s:
        n += 10
    if not s:
        n += 100
    n += 1000 if a in s else 0
    return n, len(s), bool(s)


@PROGRAMS.note(A, B)
def truths(a, b):
    t, n = Truth(a), 0
    while not Truth(n - 3 - a):
        n += 1
    if t:
        n += 10
    n += 1000 if t and Truth(b) else 0
    n += 5000 if t or Truth(b) else 0
    n += 10000 if not t else 0
    parts = [Truth(a), Truth(b)]
    return n, bool(t), any(parts), all(parts), len(list(filter(None, parts)))


class Ranked:
    def __init__(self, key, value):
        self.key, self.value = key, value

    def __eq__(self, other):
        return self.key == other.key

    def __lt__(self, other):
        return self.key < other.key


@PROGRAMS.note(A, B)
def equal_objects(a, b):
    p, q, r = Ranked(a, 1), Ranked(b, 2), Ranked(a, 3)
    n = 0
    if p != q:
        n += 1
    if p == q:
        n += 10
    if p != r:
        n += 100
    if q in [p, r]:
        n += 1000
    if (p, 1) == (q, 1):
        n += 10000
    return n, [p, r].count(q)


@PROGRAMS.note(A, B)
def ordered_objects(a, b):
    ranked = [Ranked(a, 1), Ranked(b, 2), Ranked(a - b, 3), Ranked(0.3, 4), Ranked(a, 5)]
    ordered = sorted(ranked, reverse=True)
    ranked.sort()
    least, most = min(ranked), max(ranked, key=lambda p: p.value * p.key)
    pairs = sorted([(1, Ranked(b, 7)), (1, Ranked(a, 8)), (0, Ranked(a, 9))])
    return (
        [p.value for p in ranked], [p.key for p in ordered], least.value, most.value,
        [pair[1].value for pair in pairs],
    )  # fmt: skip


@PROGRAMS.note(A, B)
def sorted_objects_sorted_again(a, b):
    ranked = [Ranked(a, 1), Ranked(b, 2), Ranked(a - b, 3), Ranked(0.3, 4), Ranked(a, 5)]
    ranked.sort(key=lambda p: p.value * p.key)
    least, most = min(ranked), max(ranked)
    ranked.sort()
    anew = sorted(ranked, key=lambda p: -p.value)
    return least.value, most.value, [p.value for p in ranked], [p.value for p in anew]


@PROGRAMS.note(A, B)
def chosen_texts_in_order(a, b):
    x, y = "b" if a > b else "zz", "a" if b > 0 else "q"
    texts = sorted([x, y, "c", "d", "k", "c"])
    return texts.index("c"), texts.index("d"), min(x, y, "c", "d", "k") == "a", max(texts) == x


@functools.total_ordering
class Version:
    def __init__(self, major, minor):
        self.major, self.minor = major, minor

    def __eq__(self, other):
        return (self.major, self.minor) == (other.major, other.minor)

    def __lt__(self, other):
        return (self.major, self.minor) < (other.major, other.minor)


@PROGRAMS.note(A, B)
def a_total_ordering(a, b):
    v, w = Version(int(a), b), Version(int(b), a)
    return v < w, v <= w, v > w, v >= w, v != w, max(v, w).minor


@dataclass(order=True)
class Event:
    time: float
    order: int
    name: str = field(compare=False, default="")


@PROGRAMS.note(A, B)
def ordered_dataclasses(a, b):
    first, second = Event(a, 1, "a"), Event(b, 2, "b")
    events = sorted([first, second, Event(0.0, 0)])
    return (
        first < second, first <= second, first > second, first >= second, first == second,
        first != second, [e.order for e in events], min(first, second).time,
    )  # fmt: skip


@PROGRAMS.note(A, B)
def heaps_of_dataclasses(a, b):
    heap, total = [], 0.0
    for i, time in enumerate((a, b, a - b, 0.25, 3.0, 4.0)):
        if time > 0:
            heapq.heappush(heap, Event(time, i))
    bisect.insort(ordered := [Event(-5.0, 7), Event(5.0, 8)], Event(a, 9))
    for _ in range(30):
        if not heap:
            break
        event = heapq.heappop(heap)
        total = total * 2 + event.order
        if event.time < 2 and a > 0:
            heapq.heappush(heap, Event(event.time + 1 + a, event.order + 3))
    return total, [e.order for e in ordered]


@PROGRAMS.note(A, B)
def one_dataclass_in_two_places(a, b):
    events = [Event(a, 1), Event(b, 2)]
    first, i = events[0], 1 if a > 0 else 0
    if b > 0:
        events[i] = first
    return events[0].order, events[1].time


class Dual:
    __slots__ = ("d", "v")

    def __init__(self, v, d=0.0):
        self.v, self.d = v, d

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.v * other.v, self.v * other.d + self.d * other.v)

    __rmul__ = __mul__

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.v + other.v, self.d + other.d)

    __radd__ = __add__

    def bump(self, x):
        self.v = self.v + x
        return self


class Marked(Dual):
    __slots__ = ("extra",)

    def __init__(self, v, d, extra):
        super().__init__(v, d)
        self.extra = extra


@PROGRAMS.note(A, B)
def slots_in_loops(a, b):
    x = Dual(a, 1.0)
    for _ in range(int(abs(b) * 4) + 1):
        x = x * x + 0.5 * a
        if x.v > 3:
            x = Dual(b, x.d * 0.5)
        elif x.v < -1:
            x.bump(2.0)
    return x.v, x.d


@PROGRAMS.note(A, B)
def slots_of_base_classes(a, b):
    s = Marked(a, b, 1.0) if a > b else Marked(b, a, 2.0)
    while s.v < 5:
        s.v += abs(b) + 1
        s.extra *= 2
        if s.extra > 10:
            s = Marked(s.v, s.extra, 0.5)
    return s.v, s.d, s.extra


@PROGRAMS.note(A, B)
def slots_in_lists(a, b):
    items, out = [Dual(a * i, b) for i in range(4)], []
    best = items[0]
    for item in items:
        if item.v * b > best.v:
            best = item
        if item.v > 0:
            out.append(Dual(item.v, 1.0))
    best.v += 1
    return items[0].v, items[3].v, best.d, sum([x.v for x in out]), len(out)


class Sequence:
    def __init__(self, *c):
        self.c = list(c)

    def __len__(self):
        return len(self.c)

    def __getitem__(self, i):
        return self.c[i]

    def __iter__(self):
        return iter(self.c)

    def __mul__(self, k):
        return Sequence(*[a * k for a in self])

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, Sequence) and all(a == b for a, b in zip(self, other, strict=True))

    def __abs__(self):
        return math.sqrt(sum(a * a for a in self))

    def __contains__(self, x):
        return any(a == x for a in self.c)

    def __float__(self):
        return float(abs(self))


@PROGRAMS.note(A, B)
def sequences_beside_numbers(a, b):
    v = Sequence(a, b, 1.0)
    scaled = abs(2.0 * v), (v * b)[1], (a * v)[1], (a + v)[2], (b - v).sum()
    return *scaled, float(v), 1.0 in v, v == Sequence(a, b, 1.0), v != Sequence(b, a, 1.0), max(v)


class Fraction:
    def __init__(self, n, d):
        g = math.gcd(int(n), int(d)) or 1
        self.n, self.d = n // g, d // g

    def __lt__(self, other):
        return self.n * other.d < other.n * self.d

    def __eq__(self, other):
        if not isinstance(other, Fraction):
            return NotImplemented
        return self.n == other.n and self.d == other.d

    def __add__(self, other):
        return Fraction(self.n * other.d + other.n * self.d, self.d * other.d)

    def __radd__(self, other):
        return self if other == 0 else Fraction(self.n + other * self.d, self.d)

    def __bool__(self):
        return bool(self.n != 0)


@PROGRAMS.note(P[:, 0], P[:, 1])
def fractions(p, q):
    parts = [Fraction(p, 3), Fraction(q, 4), Fraction(p + q, 7)]
    total, most = sum(parts), max(parts)
    by_denominator = functools.cmp_to_key(lambda x, y: int(x.d > y.d) - int(x.d < y.d))
    return (
        total.n, total.d, most.n, [f.n for f in sorted(parts)], parts[0] == parts[1],
        parts[0] != parts[1], parts[0] == 3, Fraction(1, 2) in parts, 1 if parts[0] else 0,
        parts.index(most), not parts[1], [f.n for f in sorted(parts, key=by_denominator)],
    )  # fmt: skip


@PROGRAMS.note(A)
def orders_that_are_known(a):
    names = sorted("bac", key=functools.cmp_to_key(lambda x, y: (x > y) - (x < y)), reverse=True)
    ranked = sorted([Ranked(3, 0), Ranked(1, 1), Ranked(2, 2)])
    return {"a": 1.0, "b": 2.0, "c": 3.0}[names[0]] * a, np.zeros(ranked[0].key + 1).sum()


@dataclass(frozen=True, order=True)
class Point:
    x: float
    y: float = 1.0


@PROGRAMS.note(A, B)
def frozen_dataclasses(a, b):
    p = Point(a) if a > b else Point(b, 2.0)
    return max(p, Point(0.5)).y, min([p, Point(0.0), Point(a)]).x, p == Point(a), p in (Point(a), p)


class Ratio:
    def __init__(self, n, d):
        if d == 0:
            raise ZeroDivisionError
        self.n, self.d = n, d

    def plus(self, other):
        return Ratio(self.n * other.d + other.n * self.d, self.d * other.d)


@PROGRAMS.note(P, Q)
def constructors_that_raise(p, q):
    total, skipped = Ratio(0, 1), 0
    for a, b in zip(p, q, strict=True):
        try:
            term = Ratio(a, b)
            total = total.plus(term) if a > 1 else total.plus(total)
        except ZeroDivisionError:
            skipped += 1
    return total.n, total.d, skipped


@PROGRAMS.note(P, Q)
def what_was_made_before_it_raised(p, q):
    total, skipped, term = Ratio(0, 1), 0, Ratio(7, 3)
    for a, b in zip(p, q, strict=True):
        try:
            term = Ratio(a, 2)
            if b > 1:
                term = Ratio(term.n + 1, b - 2)
            total = total.plus(term)
        except ZeroDivisionError:
            skipped += term.n
    return total.n, total.d, skipped


@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_are_asked(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_a_truth_that_is_no_bool_is_refused_as_python_does():
    class Odd:
        def __init__(self, x):
            self.x = x

        def __bool__(self):
            return self.x > 0

    def func(a):
        return 1 if Odd(a) else 2

    with pytest.raises(TypeError, match=r"__bool__ should return bool, returned numpy\.bool"):
        func(A[0])
    with pytest.raises(TypeError, match="__bool__ should return bool, returned"):
        lw.vmap(func)(A)
