"""What is done with lists that grow in loops is compiled, all of it."""

from __future__ import annotations

import bisect
import re

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(0).normal(size=(8, 40))
A[2], A[3] = -1.0, 1.0

PROGRAMS = Programs()
program = PROGRAMS.note


@program(A)
def distinct(x):
    seen = []
    for v in x:
        if int(v * 2) not in seen:
            seen.append(int(v * 2))
    return len(seen)


@program(A)
def put_in(x):
    kept = []
    for v in x:
        if v > 0:
            kept.insert(len(kept) // 2, v)
    return len(kept), kept[0] if kept else 0.0


@program(A)
def taken_off_in_front(x):
    queue, total = [], 0.0
    for v in x:
        if v > 0:
            queue.append(v)
        elif queue:
            total = 0.5 * total + queue.pop(0)
    return total, len(queue)


@program(A)
def in_and_out(x):
    there = []
    for v in x:
        k = int(v * 2)
        if k in there:
            there.remove(k)
        else:
            there.append(k)
    return len(there), sum(there)


@program(A)
def taken_out(x):
    kept, total = [], 0.0
    for v in x:
        kept.append(v)
        if len(kept) > 3:
            del kept[1]
            total = 0.5 * total + kept.pop(int(v > 0))
    return total, len(kept)


@program(A)
def increasing(x):
    ends = []
    for v in x:
        k = bisect.bisect_left(ends, v)
        if k == len(ends):
            ends.append(v)
        else:
            ends[k] = v
    return len(ends), ends[-1]


@program(A)
def in_order(x):
    kept = []
    for v in x:
        if v > -1:
            bisect.insort(kept, v)
    return kept[len(kept) // 2] if kept else 0.0, bisect.bisect(kept, 0.0)


@program(A)
def looked_at_in_each_turn(x):
    kept, total = [], 0.0
    for v in x:
        if v > 0:
            kept.append(v)
        if kept:
            total += max(kept) + sum(kept[-3:]) / len(kept)
        for u in kept:
            total += u
        total += len([u for u in kept if u < v])
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_compiled(name, monkeypatch, capsys):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    traced = lw.function(lw.vmap(func))
    traced(*batches)
    told = (str(lw.explain(traced, *batches)) + capsys.readouterr().out).splitlines()[0]
    assert re.search(r"operations \(\d+ hoisted, 0 batched, 0 looped, \d+ in \d kernel", told)
