"""Lists that go on in several ways, which kernels keep in memory of their own each."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.ir.text import parse_graph
from lanewise.ops import REGISTRY
from lanewise.ops.lists import Arena, list_copy
from lanewise.passes.apart import separated
from support.backends import backend
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(4)
A = RNG.normal(size=(37, 9))
A[3], A[5] = np.abs(A[3]), -np.abs(A[5])
N = RNG.integers(0, 7, 37)
PROGRAMS = Programs()
program = PROGRAMS.note


def positive(x):
    """Return a list of which the data say how long it is."""
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


@program(A)
def begun_anew_in_each_turn(x):
    output = positive(x)
    for edge in x[:4]:
        points, output = output, []
        for p in points:
            if p > edge:
                output.append(p)
                output.append(p - edge)
            else:
                output.append(p * 0.5)
        if not output:
            break
    return len(output), sum(output)


@program(A)
def filtered_in_each_turn(x):
    kept, sizes = [0.0], 0
    for v in x:
        sums = [u + v for u in kept]
        sizes += len(sums)
        kept = [u for u, s in zip(kept, sums, strict=False) if s > -0.5]
        kept.append(v)
    return sizes, sum(kept), len(kept)


@program(A)
def swapped(x):
    a, b = positive(x), positive(-x)
    for v in x:
        a, b = b, a
        a.append(v)
    return len(a), sum(a), len(b), sum(b)


@program(A)
def rotated(x):
    a, b, c = positive(x), positive(-x), []
    for v in x:
        a, b, c = b, c, a
        if v > 0:
            c.append(v)
        elif b:
            b.pop()
    return sum(a), sum(b), sum(c), len(a), len(b), len(c)


@program(A)
def read_when_changed(x):
    a = positive(x)
    for v in x:
        before = list(a)
        if a and v > 0:
            a[0] = v
            a.pop()
        a.append(v)
        a.append(sum(before))
    return len(a), a[0], a[-1]


@program(A, N)
def chosen(x, n):
    a, b = positive(x), positive(-x)
    more = a if n % 2 else b
    both = [*more, x[0]]
    if n > 3:
        a, b = b, []
    b.append(x[1])
    return sum(both), len(both), sum(a), sum(b), len(a), len(b)


@program(A, N)
def grown_in_two_ways(x, n):
    a = positive(x)
    b = [*a, x[0], x[1]]
    c = [*a, x[2]]
    k = 0
    while k < n:
        b, c = c, b
        b.append(x[k])
        k += 1
    return sum(a), sum(b), sum(c), len(a), len(b), len(c)


@program(A)
def rows_of_arrays(x):
    rows = [x[:2]]
    for v in x:
        rows = [row * v for row in rows if row[0] < 1.5]
        rows.append(np.array([v, v * v]))
    return len(rows), np.sum([row.sum() for row in rows])


@program(A, N)
def nested_loops(x, n):
    layer = [x[0]]
    total = 0.0
    for k in range(6):
        new = []
        for v in layer:
            if v > -1.0:
                new.append(v * 0.9 + k * 0.01)
                if len(new) < n:
                    new.append(v - 0.3)
        layer = new
        total += len(layer)
    return total, sum(layer)


@program(A, N)
def lists_in_a_test(x, n):
    kept = positive(x)
    while len([v for v in kept if v > 0.2]) > n % 3 and len(kept) < 9:
        kept.pop()
        kept = [v + 0.05 for v in kept]
        kept.append(-1.0)
        kept.append(-0.5)
    return len(kept), sum(kept)


class UnderflowError(Exception):
    """A stack has no element."""


class Machine:
    """A machine with a stack that grows as its program says."""

    def __init__(self, code):
        self.code, self.stack, self.at = code, [], 0

    def pop(self):
        if not self.stack:
            raise UnderflowError
        return self.stack.pop()

    def step(self):
        op = self.code[self.at]
        self.at += 1
        if op < 3:
            self.stack.append(op)
        elif op == 3:
            self.stack.append(self.pop() + self.pop())
        elif op == 4:
            b, a = self.pop(), self.pop()
            self.stack.extend((b, a))
        else:
            value = self.pop()
            self.stack += [value, value + 1]


@program(RNG.integers(0, 6, (37, 12)))
def stack_machine(code):
    machine, faults = Machine(code.tolist()), 0
    while machine.at < len(machine.code):
        try:
            machine.step()
        except UnderflowError:
            faults += 1
    return faults, len(machine.stack), machine.stack[-1] if machine.stack else -1


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_one_kernel(name):
    func, batches = PROGRAMS[name]
    with backend("native"):
        found = lw.explain(lw.vmap(func), *batches)
    assert found.kernels
    assert "list" not in "".join([each.reason for each in found.left])


def test_lists_of_a_graph_without_such_stay():
    text = "graph(%0: f64[4]) { %1 = add(%0, %0) return %1 }"
    graph = parse_graph(text, REGISTRY)
    assert [op.primitive.name for op in separated(graph).operations] == ["add"]


def test_copies_are_lists_of_another_arena():
    one, other = Arena(), Arena()
    lists = one.of(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    other.of(np.array([[9.0]]))
    copies = list_copy.numpy(other, lists, one, dtype=np.dtype(float), shape=())
    found = [other.elements(int(each)).tolist() for each in copies]
    assert found == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    scalar = list_copy.numpy(other, lists[1], one, dtype=np.dtype(float), shape=())
    assert other.elements(int(scalar)).tolist() == [4.0, 5.0, 6.0]
