"""Random programs on memory between inaccessible pages: no access of theirs is out of bounds.

Each program must also give what the interpreter does. They run in a process of their own, because
an access out of bounds ends it; the last program that it names is the one. See `guarded`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from codegen import test_random_native as native
from control import test_random_writes
from function import test_random, test_sizes, test_sizes_composed
from numpy_api import test_indexing
from support.backends import backend
from support.guarded import assert_done, guarding, run_apart
from support.searching import searching

#: What draws programs, what checks one, and how many of them.
KINDS: dict[str, tuple[st.SearchStrategy[Any], Callable[..., Any], int]] = {
    "programs": (native.PROGRAMS, native.check_program, 8),
    "numerics": (native.NUMERICS, native.check_program, 8),
    "control flow": (native.CONTROL_FLOW, native.check_control_flow, 4),
    "graphs": (
        st.tuples(st.integers(0, 2**32), st.just(3), st.sampled_from([3, 9, 50])),
        lambda drawn: native.check_graph(*drawn),
        4,
    ),
    "writes": (
        st.tuples(test_random_writes.programs(2), st.integers(0, 2**32)),
        lambda drawn: native.check_writes(*drawn),
        6,
    ),
    "indices": (test_indexing.indexed(), test_indexing.check_index, 20),
    "indexed writes": (
        st.tuples(test_indexing.indexed(), st.booleans()),
        lambda drawn: test_indexing.check_write(*drawn),
        6,
    ),
    "unknown sizes": (
        st.tuples(
            st.sampled_from(sorted(test_sizes.ALL)), st.lists(st.integers(0, 40), min_size=4)
        ),
        lambda drawn: test_sizes.check(test_sizes.ALL[drawn[0]], (5, *drawn[1])),
        10,
    ),
    "maps of unknown sizes": (
        st.tuples(
            st.sampled_from(test_sizes_composed.MAPPED), st.lists(st.integers(0, 40), min_size=3)
        ),
        lambda drawn: test_sizes_composed.check_map(drawn[0], (5, *drawn[1])),
        10,
    ),
    "programs of any size": (native.PROGRAMS, test_random.check_any_size, 8),
}


def run_guarded() -> None:
    """Run the programs of all kinds; what the last line names is what the process ended in."""
    for kind, (strategy, check, count) in KINDS.items():
        with backend("native"), guarding() as guarded:
            _search(kind, strategy, check, count)
        assert guarded.calls > count / 4, f"hardly anything was compiled of {kind}"
    print("DONE", flush=True)


def _search(
    kind: str, strategy: st.SearchStrategy[Any], check: Callable[..., Any], count: int
) -> None:
    @searching(count)
    @given(strategy)
    def run(drawn: Any) -> None:
        print("BEGIN", kind, drawn, flush=True)
        check(drawn)

    run()


def test_random_programs_stay_within_their_memory():
    assert_done(run_apart("codegen.test_guard_pages_random", "run_guarded"))
