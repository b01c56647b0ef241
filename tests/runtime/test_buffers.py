"""Memory of results: used again when nobody can see it any more, and never before."""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

from lanewise.runtime import buffers
from lanewise.runtime.buffers import LARGE, empty, kept, release
from lanewise.runtime.owning import own

FLOAT = np.dtype(float)
MIB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    release()
    yield
    release()


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize(
    "shape",
    [(), (0,), (3,), (8, 4), (0, 10**6), (10**6,), (300, 700), (2, 3, 5, 70_000), (1,) * 40],
)
@pytest.mark.parametrize("dtype", [float, np.float32, complex, bool, np.int8, np.longdouble, "U3"])
def test_arrays_are_as_numpys(shape, dtype):
    dtype = np.dtype(dtype)
    found, expected = empty(shape, dtype), np.empty(shape, dtype)
    assert found.shape == expected.shape
    assert found.dtype is expected.dtype or found.dtype == expected.dtype
    assert found.strides == expected.strides
    assert str(found.flags) == str(expected.flags)
    assert found.base is None
    assert type(found) is np.ndarray
    found[...] = np.ones((), dtype)
    assert (found == np.ones((), dtype)).all()


def test_unusual_arguments():
    assert empty((np.int64(2), 3), FLOAT).shape == (2, 3)
    assert empty((200, 3), np.dtype([("a", int), ("b", "f4")])).shape == (200, 3)
    objects = empty((200_000,), np.dtype(object))
    assert objects[0] is None
    assert get_handler_name(objects) != "lanewise"
    for shape in [(-1,), (10**6, -1), (3, -5)]:
        with pytest.raises(ValueError, match="negative dimensions"):
            empty(shape, FLOAT)
    with pytest.raises(TypeError):
        empty((2.5,), FLOAT)
    with pytest.raises(TypeError):
        empty()
    with pytest.raises(ValueError, match="maximum supported dimension"):
        empty((1,) * 65, FLOAT)


def test_only_large_arrays_use_kept_memory():
    assert get_handler_name(empty((LARGE // 8,), FLOAT)) == "lanewise"
    assert get_handler_name(empty((LARGE // 8 - 1,), FLOAT)) == "default_allocator"
    assert get_handler_name(empty((LARGE - 1,), np.dtype(np.int8))) == "default_allocator"
    assert get_handler_name(np.empty(LARGE)) == "default_allocator"


def test_memory_is_used_again_when_its_array_is_gone():
    first = empty((MIB,), FLOAT)
    where = address(first)
    second = empty((MIB,), FLOAT)
    assert address(second) != where
    del first
    assert kept() == 8 * MIB
    third = empty((1024, 1024), FLOAT)
    assert address(third) == where
    assert kept() == 0


@pytest.mark.parametrize(
    "see",
    [
        lambda x: x[5:6],
        lambda x: x.reshape(2, -1).T,
        lambda x: x.view(np.int8)[:1],
        lambda x: memoryview(x),
        lambda x: np.frombuffer(x, np.int8),
        lambda x: np.asarray(memoryview(x)[3:7]),
        lambda x: x.flat,
        lambda x: np.broadcast_to(x, (3, MIB)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 4),
    ],
)
def test_memory_that_is_seen_through_a_view_is_not_used_again(see):
    array = empty((MIB,), FLOAT)
    where = address(array)
    view = see(array)
    del array
    gc.collect()
    assert address(empty((MIB,), FLOAT)) != where
    del view
    gc.collect()
    assert kept() == 16 * MIB
    pair = empty((MIB,), FLOAT), empty((MIB,), FLOAT)
    assert where in map(address, pair)


def churn(seed):
    """Make and drop arrays and views at random; each must keep what was written to it."""
    random = np.random.default_rng(seed)
    alive: list[tuple[np.ndarray, int]] = []
    for turn in range(150):
        size = int(
            random.choice([LARGE, LARGE + 4096, 2 * LARGE, 3 * LARGE]) + random.integers(100)
        )
        array = empty((size,), np.dtype(np.uint8))
        value = (seed * 50 + turn) % 251
        array.fill(value)
        alive.append((array if random.random() < 0.5 else array[random.integers(size) :], value))
        del array
        if len(alive) > 4:
            view, value = alive.pop(int(random.integers(len(alive))))
            assert view.size == 0 or (view == value).all()
    return all((view == value).all() for view, value in alive)


def test_arrays_never_share_memory():
    assert churn(0)


def test_many_threads():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(churn, range(1, 5)))
    finally:
        sys.setswitchinterval(interval)


def test_an_array_made_in_one_thread_and_dropped_in_another():
    made = [empty((MIB,), FLOAT)]
    where = address(made[0])
    thread = threading.Thread(target=made.clear)
    thread.start()
    thread.join()
    assert address(empty((MIB,), FLOAT)) == where


def test_written_memory_costs_no_page_faults():
    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        empty((2 * MIB,), FLOAT).fill(1.0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert faults() > 4  # 8 pages of 2 MiB at the very least
    assert max(faults() for _ in range(5)) <= 2


def test_a_block_is_not_used_for_a_much_smaller_array():
    first = empty((4 * MIB,), np.dtype(np.uint8))
    where = address(first)
    del first
    small = empty((3 * MIB,), np.dtype(np.uint8))
    assert address(small) != where
    nearly = empty((4 * MIB - 400_000,), np.dtype(np.uint8))
    assert address(nearly) == where


def test_no_more_than_the_bound_is_kept(monkeypatch):
    monkeypatch.setattr(buffers, "MOST_KEPT", 10 * MIB)
    assert kept() == 0
    arrays = [empty((3 * MIB + i * 4096,), np.dtype(np.uint8)) for i in range(5)]
    newest = {address(array) for array in arrays[2:]}
    huge = empty((20 * MIB,), np.dtype(np.uint8))
    while arrays:
        del arrays[0]
    assert kept() == 9 * MIB + (2 + 3 + 4) * 4096
    del huge  # larger than the bound: not kept, and nothing makes room for it
    assert kept() == 9 * MIB + (2 + 3 + 4) * 4096
    again = {address(empty((3 * MIB + i * 4096,), np.dtype(np.uint8))) for i in (2, 3, 4)}
    assert again <= newest  # the oldest went
    assert release() == 9 * MIB + (2 + 3 + 4) * 4096
    assert kept() == 0


def test_no_more_than_64_blocks_are_kept():
    arrays = [empty((LARGE,), np.dtype(np.uint8)) for _ in range(80)]
    for array in arrays:
        array[:] = 1
    del array
    arrays.clear()
    assert kept() == 64 * LARGE


def test_released_memory_goes_back_to_the_system():
    def resident():
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()

    array = empty((64 * MIB,), np.dtype(np.uint8))
    array.fill(1)
    full = resident()
    del array
    assert release() == 64 * MIB
    assert resident() < full - 60 * MIB


def test_resize_keeps_the_contents():
    array = empty((MIB,), FLOAT)
    array[:] = np.arange(MIB)
    array.resize(3 * MIB, refcheck=False)
    np.testing.assert_array_equal(array[:MIB], np.arange(MIB))
    np.testing.assert_array_equal(array[MIB:], 0)
    array.resize(10, refcheck=False)
    np.testing.assert_array_equal(array, np.arange(10))
    del array
    array = empty((MIB,), FLOAT)
    array.fill(0)
    array.resize(0, refcheck=False)
    assert array.size == 0


def test_results_are_owned_without_a_copy():
    array, other = empty((MIB,), FLOAT), empty((MIB,), FLOAT)
    assert own([array], [])[0] is array
    assert [x is y for x, y in zip(own([array, other], []), [array, other], strict=True)] == [
        True
    ] * 2
    assert own([array], [array])[0] is not array


def test_too_little_memory_is_an_error_and_changes_nothing():
    with pytest.raises(MemoryError):
        empty((1 << 45,), FLOAT)
    with pytest.raises(ValueError, match=r"too (big|large)"):
        empty((1 << 62, 4), FLOAT)
    assert get_handler_name(np.empty(LARGE)) == "default_allocator"
    assert empty((MIB,), FLOAT).size == MIB


def test_data_are_aligned():
    arrays = [empty((size,), FLOAT) for size in (LARGE // 8, 300_001, 5 * MIB)]
    sides = (mmap.PAGESIZE, 2 * MIB, 2 * MIB)  # of a page that the array can fill
    assert [address(array) % side for array, side in zip(arrays, sides, strict=True)] == [0, 0, 0]


def in_child(queue, array):
    where, intact = address(array), bool((array == 7).all())
    array.fill(8)
    fresh = empty((MIB,), FLOAT)
    fresh.fill(9)
    queue.put((intact, where == address(array), address(fresh) != where, churn(3)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_copies():
    array, dropped = empty((MIB,), FLOAT), empty((MIB,), FLOAT)
    array.fill(7)
    dropped.fill(7)
    del dropped
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=in_child, args=(queue, array))
    process.start()
    process.join(10)
    assert process.exitcode == 0
    assert queue.get() == (True, True, True, True)
    assert (array == 7).all()
    assert kept() == 8 * MIB


def test_arrays_that_live_to_the_end_of_the_interpreter():
    text = """
import sys, threading, numpy as np
from lanewise.runtime.buffers import empty
x = empty((1 << 20,), np.dtype(float)); x.fill(1)
sys.kept = [empty((1 << 20,), np.dtype(float)) for _ in range(3)]
class Late:
    def __del__(self, empty=empty, dtype=np.dtype(float)):
        empty((1 << 20,), dtype).fill(2)
sys.late = Late()
print("leaving")
"""
    done = subprocess.run(
        [sys.executable, "-c", text], timeout=20, capture_output=True, text=True, env=os.environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
