"""The thread pool: every chunk once, the first failure, several callers, signals, fork, exit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import timeit
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime import pool
from lanewise.runtime.pool import Pool, the_pool
from support.pool_kernels import Context, Work, address, spinning, threads_of


@pytest.fixture(autouse=True)
def three_threads():
    before = lw.get_num_threads()
    lw.set_num_threads(3)
    yield
    lw.set_num_threads(before)


@pytest.fixture
def run():
    return the_pool().run


# --- chunks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_every_item_is_run_once_and_chunks_begin_at_multiples(run, threads):
    lw.set_num_threads(threads)
    random = np.random.default_rng(threads)
    for _ in range(60):
        total, grain = int(random.integers(0, 2000)), int(random.integers(1, 70))
        work = Work(total)
        assert work.run(run, grain) == 0
        np.testing.assert_array_equal(work.seen, 1)
        np.testing.assert_array_equal(work.starts, np.arange(total) // grain * grain)


def test_all_threads_work(run):
    seen = threads_of(run, 3)
    assert len(seen) == 3
    assert threading.get_ident() in seen


def test_small_work_wakes_nobody():
    own = Pool(3)
    work = Work(50)
    assert work.run(own.run, 50) == 0
    assert own.census() == (0, 0)
    assert set(work.threads.tolist()) == {threading.get_ident()}


def test_there_are_no_more_threads_than_chunks():
    own = Pool(8)
    Work(3).run(own.run, 1)
    assert own.census()[0] == 2


def test_a_huge_grain_is_one_chunk(run):
    work = Work(10)
    assert work.run(run, 2**62) == 0
    np.testing.assert_array_equal(work.starts, 0)


@pytest.mark.parametrize(
    ("total", "grain", "scratch"), [(-1, 1, 0), (1, 0, 0), (1, -1, 0), (1, 1, -1), (2**60, 1, 0)]
)
def test_numbers_out_of_range(run, total, grain, scratch):
    context = Context()
    with pytest.raises(ValueError, match="out of range"):
        run(address("nothing"), context.address, total, grain, scratch)


def test_bad_arguments(run):
    context = Context()
    with pytest.raises(TypeError):
        run(address("nothing"), context.address, "10", 1, 0)
    with pytest.raises(ValueError, match="out of range"):
        run(address("nothing"), context.address, 1 << 70, 1, 0)
    with pytest.raises(ValueError, match="out of range"):
        run(0, context.address, 1, 1, 0)


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_lowest_failing_item_is_found(run, threads):
    lw.set_num_threads(threads)
    random = np.random.default_rng(threads)
    for _ in range(40):
        work = Work(400)
        bad = random.integers(0, 400, random.integers(1, 20))
        work.codes[bad] = 1000 + bad
        work.turns[random.integers(0, 400, 6)] = 3
        assert work.run(run, int(random.integers(1, 40))) == 1000 + bad.min()
        assert work.failed == bad.min()
        np.testing.assert_array_equal(work.seen[: bad.min() + 1], 1)


def test_a_chunk_below_a_failing_one_runs_to_its_end(run):
    work = Work(200)
    work.codes[[0, 1]] = 5, 7
    work.turns[0] = 200  # item 1 has failed long before item 0 does
    assert work.run(run, 1) == 5
    assert work.failed == 0
    assert work.seen[0] == 1
    assert work.seen[3:].sum() < 197  # and the rest was not begun


def test_a_chunk_above_a_failing_one_is_told_to_leave(run):
    work = Work(2)
    work.codes[0] = 5
    work.turns[:] = 50, 100_000  # item 1 would take more than ten seconds
    begin = time.perf_counter()
    assert work.run(run, 1) == 5
    assert time.perf_counter() - begin < 2
    assert work.seen.tolist() == [1, 0]


def test_after_a_failure_the_pool_is_as_before(run):
    work = Work(100)
    work.codes[50] = 3
    assert work.run(run, 5) == 3
    work.codes[50] = 0
    work.seen[:] = 0
    assert work.run(run, 5) == 0
    np.testing.assert_array_equal(work.seen, 1)


# --- scratch --------------------------------------------------------------------------------------


def test_scratch_is_aligned_and_each_threads_own(run):
    scratches = set(threads_of(run, 3, 1000).values())
    assert len(scratches) == 3
    assert all(scratch and scratch % 64 == 0 for scratch in scratches)


@pytest.mark.parametrize("size", [1, 64, 100_000, 3_000_000, 20_000_000, 300_000, 50])
def test_all_of_the_scratch_can_be_written(run, size):
    context = Context(size)
    assert run(address("fill"), context.address, 12, 1, size) == 0
    assert run(address("fill"), context.address, 1, 1, size) == 0


def test_a_run_within_a_run_has_scratch_of_its_own(run, handling):
    inner = Work(1)

    def handler(*_):
        inner.run(run, 1, 256)

    handling(handler, 0.05)
    outer = Work(1)
    outer.turns[:] = 1500
    outer.run(run, 1, 256)
    assert inner.seen[0] == outer.seen[0] == 1
    assert inner.scratches[0] != outer.scratches[0]


# --- several callers ------------------------------------------------------------------------------


def test_many_python_threads_at_once(run):
    def call(index):
        for turn in range(30):
            work = Work(300)
            bad = (index * 37 + turn) % 300
            work.codes[bad] = bad + 1
            found.append((work.run(run, 7, 64 * index), work.failed, bad))

    found: list[tuple[int, int, int]] = []
    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 180
    assert all(code == bad + 1 and failed == bad for code, failed, bad in found)


def test_a_job_does_not_wait_for_another_to_end(run):
    """While all workers are in a long job, a second caller does its own work by itself."""
    long = Work(3)
    long.turns[:] = 100_000
    thread = threading.Thread(target=long.run, args=(run, 1))
    thread.start()
    time.sleep(0.1)
    short = Work(100)
    assert short.run(run, 1) == 0
    np.testing.assert_array_equal(short.seen, 1)
    assert not long.seen.any()
    long.turns[:] = 0
    thread.join(2)
    np.testing.assert_array_equal(long.seen, 1)


def test_the_gil_is_released(run):
    ticks = []
    work = Work(1)
    work.turns[:] = 2000
    thread = threading.Thread(target=work.run, args=(run, 1))
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.005)
    assert len(ticks) > 10


# --- signals --------------------------------------------------------------------------------------


class HandledError(Exception):
    pass


@pytest.fixture
def handling():
    """Install a handler for a timer that goes off once."""
    before = signal.getsignal(signal.SIGALRM)

    def install(handler, seconds):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield install
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def raise_handled(*_):
    raise HandledError("from the handler")


def time_to_interrupt(call, tries=3):
    """Send a real SIGINT into a call; return how long it went on, the least of several tries."""

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    seconds = []
    for _ in range(tries):  # on a busy machine, one may take longer
        sent: list[float] = []
        timer = threading.Timer(0.07, send)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        seconds.append(time.perf_counter() - sent[0])
        timer.join()
    return min(seconds)


@pytest.mark.parametrize(("total", "threads"), [(1, 3), (64, 1), (64, 3)])
def test_ctrl_c_within_a_tenth_of_a_second(run, total, threads):
    lw.set_num_threads(threads)
    assert time_to_interrupt(lambda: spinning(run, total)) < 0.1
    work = Work(100)
    assert work.run(run, 3) == 0
    np.testing.assert_array_equal(work.seen, 1)


def test_ctrl_c_while_the_caller_waits_for_a_worker(run):
    """Item 0 is the caller's or a worker's: whoever has it, the other is done at once."""
    for slow in (0, 1):
        work = Work(2)
        work.turns[slow] = 100_000
        work.turns[1 - slow] = 20
        assert time_to_interrupt(partial(work.run, run, 1)) < 0.1


def test_what_a_handler_raises_comes_out_of_run(run, handling):
    handling(raise_handled, 0.05)
    with pytest.raises(HandledError, match="from the handler"):
        spinning(run, 64)


def test_a_handler_that_returns_lets_the_kernel_go_on(run, handling):
    seen = []
    handling(lambda *_: seen.append(threading.current_thread()), 0.03)
    work = Work(6)
    work.turns[:] = 300
    assert work.run(run, 1) == 0
    assert seen == [threading.main_thread()]
    np.testing.assert_array_equal(work.seen, 1)


def test_a_handler_may_run_kernels_and_change_the_threads(run, handling):
    inner = Work(500)

    def handler(*_):
        lw.set_num_threads(2)
        inner.run(run, 3)

    handling(handler, 0.05)
    outer = Work(60)
    outer.turns[:] = 30
    assert outer.run(run, 1) == 0
    np.testing.assert_array_equal(inner.seen, 1)
    np.testing.assert_array_equal(outer.seen, 1)


def test_a_kernel_in_another_thread_leaves_signals_to_the_main_thread(run, handling):
    seen = []
    handling(lambda *_: seen.append(time.perf_counter()), 0.05)
    work = Work(1)
    work.turns[:] = 2000
    thread = threading.Thread(target=work.run, args=(run, 1))
    begin = time.perf_counter()
    thread.start()
    while not seen and time.perf_counter() - begin < 2:
        time.sleep(0.01)
    assert thread.is_alive()  # the handler ran, the kernel still does
    assert seen
    thread.join()
    assert work.seen[0] == 1


# --- processes ------------------------------------------------------------------------------------


def child_works(queue):
    work = Work(60)
    code = work.run(the_pool().run, 1)
    queue.put((code, work.seen.tolist(), len(threads_of(the_pool().run, 3))))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_forked_child_makes_its_own_workers(run, is_busy):
    Work(60).run(run, 1)
    assert pool.the_pool.made is not None
    assert pool.the_pool.made.census()[0] == 2
    background = Work(40)
    background.turns[:] = 30
    thread = threading.Thread(target=background.run, args=(run, 1))
    if is_busy:
        thread.start()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child_works, args=(queue,))
    process.start()
    process.join(10)
    assert process.exitcode == 0
    assert queue.get() == (0, [1] * 60, 3)
    if is_busy:
        thread.join()
        np.testing.assert_array_equal(background.seen, 1)


def script(text, timeout=10, **environment):
    """Run a program in a Python of its own; end it and its children if it hangs."""
    command = [sys.executable, "-c", textwrap.dedent(text)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_a_handler_that_forks_in_the_middle_of_a_run():
    """The child lacks the workers that had part of the job; it must neither hang nor return."""
    done = script("""
        import os, signal
        import lanewise as lw
        from lanewise.runtime.pool import the_pool
        from support.pool_kernels import Work, threads_of
        lw.set_num_threads(3)
        Work(60).run(the_pool().run, 1)
        children = []
        signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        work = Work(12)
        work.turns[:] = 300
        try:
            code = work.run(the_pool().run, 1)
        except RuntimeError as error:
            assert "forked" in str(error) and children == [0]
            os._exit(7 if len(threads_of(the_pool().run, 3)) == 3 else 1)
        assert code == 0 and (work.seen == 1).all()
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
        print("both")
    """)
    assert done.stdout == "both\n", done.stderr


@pytest.mark.parametrize("count", [1, 64])
def test_the_interpreter_exits_with_idle_workers_and_in_the_middle_of_a_kernel(count):
    done = script(f"""
        import threading, time
        import lanewise as lw
        from lanewise.runtime.pool import the_pool
        from support.pool_kernels import Work, spinning
        lw.set_num_threads(3)
        Work(60).run(the_pool().run, 1)
        threading.Thread(target=spinning, args=(the_pool().run, {count}), daemon=True).start()
        time.sleep(0.1)
        print("leaving")
    """)
    assert (done.returncode, done.stdout) == (0, "leaving\n"), done.stderr


def test_idle_workers_use_no_processor_time(run):
    Work(300).run(run, 1)
    time.sleep(0.01)
    seconds = []
    for _ in range(3):  # other threads of the process may have something to do in one of them
        begin = time.process_time()
        time.sleep(0.2)
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 0.02


# --- the number of threads ------------------------------------------------------------------------


def test_fewer_threads_end_the_surplus_workers():
    own = Pool(5)
    Work(100).run(own.run, 1)
    assert own.census()[0] == 4
    own.resize(2)
    deadline = time.perf_counter() + 2
    while own.census() != (1, 1) and time.perf_counter() < deadline:
        time.sleep(0.001)
    assert own.census() == (1, 1)
    assert len(threads_of(own.run, 2)) == 2


@pytest.mark.parametrize("absent", [["pthread_create"], None])
def test_without_posix_threads_all_runs_on_the_calling_thread(absent):
    names = "mutex_init mutex_lock mutex_unlock condattr_init condattr_setclock cond_init "
    names += "cond_wait cond_timedwait cond_signal cond_broadcast attr_init attr_setstacksize "
    names += "attr_setdetachstate sigmask create"
    everything = [f"pthread_{name}" for name in names.split()]
    everything += ["sigfillset", "sigdelset", "clock_gettime"]
    own = Pool(4, absent or everything)
    work = Work(200)
    work.codes[150] = 8
    assert work.run(own.run, 3, 100) == 8
    assert work.failed == 150
    assert set(work.threads[:151].tolist()) == {threading.get_ident()}
    assert own.census() == (0, 0)


def test_set_and_get():
    lw.set_num_threads(np.int64(2))
    assert lw.get_num_threads() == 2
    for bad in (0, -1, 5000):
        with pytest.raises(ValueError, match=f"1 to 1024, not {bad}"):
            lw.set_num_threads(bad)
    for bad in (2.0, "2", None, True):
        with pytest.raises(TypeError, match="must be an integer"):
            lw.set_num_threads(bad)
    assert lw.get_num_threads() == 2


COUNT = "import lanewise as lw; print(lw.get_num_threads())"


def test_the_environment_variable(monkeypatch):
    assert script(COUNT, LANEWISE_NUM_THREADS=" 7 ").stdout == "7\n"
    for bad in ("0", "-2", "two", "1.5", "99999"):
        monkeypatch.setenv("LANEWISE_NUM_THREADS", bad)
        monkeypatch.setattr(pool, "_threads", None)
        with pytest.raises(ValueError, match=f"LANEWISE_NUM_THREADS .* 1 to 1024, not '{bad}'"):
            lw.get_num_threads()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot be set here")
def test_the_processors_that_the_process_may_use_count():
    one = f"import os; os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); {COUNT}"
    assert script(one, LANEWISE_NUM_THREADS="").stdout == "1\n"


# --- cost -----------------------------------------------------------------------------------------


def test_an_empty_call_costs_microseconds(run):
    kernel, context = address("nothing"), Context()
    where = context.address
    seconds = timeit.repeat(lambda: run(kernel, where, 8, 8, 64), number=2000, repeat=20)
    assert min(seconds) / 2000 < 5e-6  # half of it to get there from Python
