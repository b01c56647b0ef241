"""Many threads mapping at once: first calls, captures, traces and errors do not mix."""

from __future__ import annotations

import dataclasses
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import lanewise as lw

THREADS = 8


@pytest.fixture(autouse=True)
def switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(work, count=THREADS):
    """Run work(i) in as many threads, all starting at once, and return the results."""
    barrier = threading.Barrier(count)

    def run(index):
        barrier.wait()
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_the_first_call_of_one_function_in_many_threads():
    for size in range(3, 23):  # shapes that nobody has seen
        x = np.arange(5.0 * size).reshape(5, size)
        w = np.arange(float(size))
        mapped = lw.vmap(lambda row, w=w: (np.sort(row * w)[::-1] @ w, np.concatenate([row, w])))
        expected = mapped(x)
        lw.runtime.dispatch._cache.clear()
        for got in together(lambda _, mapped=mapped, x=x: mapped(x)):
            np.testing.assert_array_equal(got[0], expected[0])
            np.testing.assert_array_equal(got[1], expected[1])


def test_types_that_no_thread_has_met_are_the_same_object_in_all():
    from lanewise.ir.types import array_type

    for extent in range(1000, 1040):
        shape = (extent, 17, 3)
        kinds = together(lambda _, shape=shape: array_type(np.dtype(float), shape), 4)
        assert len({id(kind) for kind in kinds}) == 1


def test_a_dataclass_met_first_by_many_threads():
    for _ in range(20):

        @dataclasses.dataclass
        class Fresh:
            a: Any
            b: Any

        mapped = lw.vmap(lambda p: Fresh(p.a + p.b, p.a))
        for got in together(
            lambda i, Fresh=Fresh, mapped=mapped: mapped(Fresh(np.ones(3), i * np.ones(3)))
        ):
            assert type(got) is Fresh
            np.testing.assert_array_equal(got.b, np.ones(3))


def test_captures_and_arguments_are_not_mixed():
    local = threading.local()

    def func(row):
        inner = lw.vmap(lambda v: v * local.scale + local.table.sum())(row)
        return inner + local.table[:1] * row.sum()

    x = np.arange(12.0).reshape(3, 4)

    def work(index):
        local.scale, local.table = float(index), np.full(index + 1, index)
        results = []
        for turn in range(30):
            batch = x + turn
            got = lw.vmap(func, chunk_size=(None, 2)[turn % 2])(batch)
            expected = batch * index + local.table.sum() + index * batch.sum(1, keepdims=True)
            results.append(np.array_equal(got, expected))
        return all(results)

    assert all(together(work))


def test_errors_and_host_calls_stay_in_their_thread():
    def work(index):
        log = []

        def host(v):
            log.append(float(v))
            if v == index:
                raise KeyError(index)
            return v

        def func(v):
            return lw.py_func(host, [v], float) * 2

        for _ in range(10):
            log.clear()
            with pytest.raises(KeyError, match=rf"in example {index} "):
                lw.vmap(func)(np.arange(float(THREADS)))
            if log != [float(i) for i in range(index + 1)]:
                return False
        return True

    assert all(together(work))


def test_a_map_inside_of_host_code_in_other_threads():
    x = np.arange(6.0).reshape(2, 3)
    with ThreadPoolExecutor(2) as pool:

        def host(row):
            return pool.submit(lw.vmap(lambda v: v * 2), row).result()

        got = lw.vmap(lambda row: lw.py_func(host, [row], float) + 1)(x)
    np.testing.assert_array_equal(got, x * 2 + 1)


def test_explain_sees_its_own_thread_only(capsys):
    def work(index):
        seen = lw.explain(
            lw.vmap(lambda v: np.sin(v) * np.arange(index + 1.0).sum()), np.ones(index + 2)
        )
        return seen.examples == [index + 2] and len(seen.rows) == 2

    assert all(together(work))
