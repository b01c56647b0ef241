"""Objects of users' classes that are made in branches and loops that follow the data."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).normal(size=(30, 3))


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    def norm(self):
        return np.sqrt(self.x**2 + self.y**2)


class Dual:
    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __mul__(self, other):
        slope = self.value * other.slope + self.slope * other.value
        return Dual(self.value * other.value, slope)

    def relu(self):
        return self if self.value > 0 else Dual(0.0, 0.0)


class Result:
    def __init__(self, code, value, message):
        self.code, self.value, self.message = code, value, message


class Body:
    def __init__(self, position, velocity):
        self.position, self.velocity = position, velocity

    def step(self, dt):
        return Body(self.position + self.velocity * dt, self.velocity * 0.9)


class Part:
    def __init__(self, x):
        self.x, self.history = np.array([x, 0.0]), []


class Machine:
    def __init__(self):
        self.current, self.count = Vec(0.0, 0.0), 0

    def update(self, v):
        if v > 0:
            self.current = self.current + Vec(v, 1.0)
            self.count += 1


class Answering:
    def __init__(self, a):
        self.a = a

    def __getattr__(self, name):
        return name


class Ring:
    def __init__(self, value):
        self.value, self.me = value, self


ZERO = Vec(0.0, 0.0)


def one_or_another(x):
    p = Vec(x[0], x[1]) if x[2] > 0 else Vec(x[1], 1.0)
    p.x += 1
    return p.norm()


def in_a_branch(x):
    total = ZERO
    for v in x:
        if v > 0:
            total = total + Vec(v, 1.0)
    return total.x, total.y


def in_a_long_loop(x):
    total = Vec(0.0, 0.0)
    for k in range(40):
        if x[0] * k > x[1]:
            total = total * 0.9 + Vec(k * x[2], 1.0)
    return total.x, total.y


def while_data_say(x):
    p, i = Vec(x[0], x[1]), 0
    while p.norm() < 5 and i < 50:
        p = p * 1.3 + Vec(0.1, 0.0)
        i += 1
    return p.x, i


def duals(x):
    y = Dual(x[0], 1.0).relu() * Dual(x[1]).relu()
    return y.value, y.slope


def of_others(x):
    body = Body(Vec(x[0], x[1]), Vec(x[1], x[2]))
    for _ in range(30):
        if body.position.norm() < 2:
            body = body.step(0.1)
        else:
            body = Body(body.position * 0.5, body.velocity)
    return body.position.x, body.velocity.y


def solve(a, b):
    if a > 0:
        return Result(0, b / a, "ok")
    if b > 0:
        return Result(1, 0.0, "negative")
    return Result(2, b, "both")


def returned(x):
    result = solve(x[0], x[1])
    value = result.value if result.message == "ok" else -result.value
    return result.code, value, result.message == "both"


def returned_or_none(x):
    def first():
        for v in x:
            if v > 0.2:
                return Vec(v, 2.0)
        return None

    found = first()
    return found.x if found is not None else 0.0


def the_best(x):
    best = None
    for v in x:
        if v > 0.1:
            p = Vec(v, 1.0)
            if best is None or p.x < best.x:
                best = p
    return -1.0 if best is None else best.x


def the_last(x):
    last, i = None, 0
    while i < 3 and x[i] > -2:
        if x[i] > 0.1:
            last = Vec(x[i], 1.0)
        i += 1
    return -1.0 if last is None else last.x + last.norm()


def in_a_growing_list(x):
    found = []
    for v in x:
        if v > 0:
            found.append(Vec(v, 1.0))
    best = None
    for p in found:
        if best is None or p.x > best.x:
            best = p
    total = sum([p.norm() for p in found])
    found.sort(key=lambda p: -p.x)
    first = found[0].x if found else -1.0
    return total, len(found), first, -1.0 if best is None else best.x


def on_a_stack(x):
    stack, count, total = [Vec(x[0], 0.0)], 0, 0.0
    while stack and count < 20:
        p = stack.pop()
        count += 1
        total += p.x
        if p.y < 3 and p.x > -0.5:
            stack.append(Vec(p.x * 0.5, p.y + 1))
            stack.append(Vec(p.x - 0.3, p.y + 1))
    return count, total


def beside_numbers(x):
    found, i = [], 0
    while i < 3 and x[i] < 1:
        found.append((i, Vec(x[i], x[0])))
        i += 1
    return sum([p.x * k for k, p in found]), len(found)


def in_places_of_a_list(x):
    rows = [Vec(0.0, 0.0) for _ in range(3)]
    for i, v in enumerate(x):
        if v > 0:
            rows[i] = Vec(v, 1.0)
    return tuple([p.x for p in rows])


def in_entries_of_a_dict(x):
    table = {"a": Vec(x[0], 0.0), "b": Vec(x[1], 1.0)}
    table["a" if x[2] > 0 else "b"] = Vec(9.0, x[0])
    return table["a"].x, table["b"].y


def in_attributes(x):
    machine = Machine()
    for v in x:
        machine.update(v)
    return machine.current.x, machine.current.y, machine.count


def in_attributes_in_a_loop(x):
    machine, i = Machine(), 0
    while i < 3 and x[i] > -1:
        machine.update(x[i])
        i += 1
    return machine.current.x, machine.count


def of_arrays(x):
    p = q = Part(x[0])
    if x[1] > 0:
        p = Part(x[2])
    q.x[0] = 7.0
    return p.x, q.x * 2


FOLLOWED = [
    one_or_another, in_a_branch, in_a_long_loop, while_data_say, duals, of_others, returned,
    returned_or_none, the_best, the_last, in_a_growing_list, on_a_stack, beside_numbers,
    in_places_of_a_list, in_entries_of_a_dict, in_attributes, in_attributes_in_a_loop, of_arrays,
]  # fmt: skip


@pytest.mark.parametrize("f", FOLLOWED)
def test_they_are_joined_by_what_they_hold(f):
    assert_like_the_loop(f, X, rtol=1e-12)


def test_derivatives():
    def f(x):
        total = Vec(0.0, 0.0)
        for v in x:
            total = total + (Vec(v * v, 1.0) if v > 0 else Vec(v, 2.0) * 3.0)
        return total.x * total.y

    found = lw.vmap(lw.grad(f))(X)
    for x, row in zip(X, found, strict=True):
        steps = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(row, steps, rtol=1e-6, atol=1e-7)


def changed_under_another_name(x):
    p = q = Vec(x[0], 1.0)
    if x[1] > 0:
        p = Vec(x[2], 2.0)
    q.x = 9.0
    return p.x


def asked_which_it_is(x):
    p = q = Vec(x[0], 1.0)
    if x[1] > 0:
        p = Vec(x[2], 2.0)
    return 1.0 if p is q else 2.0


def asked_whether_they_are_equal(x):
    p = q = Vec(x[0], 1.0)
    if x[1] > 0:
        p = Vec(x[2], 2.0)
    return 1.0 if p == q else 2.0


def changed_once_in_a_list(x):
    found = []
    for v in x:
        if v > 0:
            p = Vec(v, 1.0)
            found.append(p)
            p.x = 5.0
    return sum([p.x for p in found])


def looked_for_in_a_list(x):
    found, last = [], Vec(0.0, 0.0)
    for v in x:
        if v > 0:
            last = Vec(v, 1.0)
            found.append(last)
    return 1.0 if last in found else 0.0


def that_answers_to_any_name(x):
    return (Answering(x[0]) if x[1] > 0 else Answering(1.0)).a


def that_holds_itself(x):
    ring = Ring(x[0]) if x[1] > 0 else Ring(x[2])
    return ring.me.value


def linked(x):
    head = None
    for v in x:
        if v > 0:
            head = Body(v, head)
    total = 0.0
    while head is not None:
        total += head.position
        head = head.velocity
    return total


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize(
    "f",
    [
        changed_under_another_name, asked_which_it_is, asked_whether_they_are_equal,
        changed_once_in_a_list, looked_for_in_a_list, that_answers_to_any_name,
        that_holds_itself, linked,
    ],
)  # fmt: skip
def test_where_it_matters_which_one_it_is_the_plain_loop_runs(f, monkeypatch):
    with pytest.raises((ControlFlowError, UnsupportedError, ConcretizationError)):
        lw.vmap(f)(X)
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    np.testing.assert_array_equal(lw.vmap(f)(X), [f(x) for x in X])
