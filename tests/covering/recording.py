"""The record: which functions a sample of the tests of each file calls, and in what time."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from covering.choosing import ROOT, SOURCE, Record

#: Of the tests of a file so many are run, or as many as take so many seconds (being watched: about
#: twice what they take).
SAMPLE, SECONDS = 12, 5.0
#: How many files of tests are to call a function, of those that are named for a source file.
TIMES = 3
#: What it takes to begin with a file.
START = 1.0

#: A function: its file and its name there.
Function = tuple[str, str]


def recorded(arguments: Sequence[str]) -> Record:
    """Run samples of tests; return what they called."""
    watch = _Watch()
    with contextlib.redirect_stdout(io.StringIO()) as told:
        pytest.main(["-q", "-p", "no:cacheprovider", *arguments], [watch])
    print(told.getvalue()[-500:])
    return Record(chosen(watch.calls, watch.times()), watch.times())


def chosen(calls: dict[str, set[Function]], seconds: dict[str, float]) -> dict[str, list[str]]:
    """Return for each source file few and quick tests of which `TIMES` call each function.

    >>> f, g = ("a.py", "f"), ("a.py", "g")
    >>> chosen({"slow": {f, g}, "quick": {f}, "other": {("b.py", "h")}},
    ...        {"slow": 9.0, "quick": 1.0, "other": 1.0})
    {'a.py': ['quick', 'slow'], 'b.py': ['other']}
    """
    by_file: dict[str, dict[str, set[Function]]] = defaultdict(dict)
    for test, functions in calls.items():
        for function in functions:
            by_file[function[0]].setdefault(test, set()).add(function)
    return {file: _cover(tests, seconds) for file, tests in sorted(by_file.items())}


def _cover(tests: dict[str, set[Function]], seconds: dict[str, float]) -> list[str]:
    """Return tests, the most for their time first, until each function is called often enough."""
    callers = Counter(function for functions in tests.values() for function in functions)
    missing = {function: min(TIMES, count) for function, count in callers.items()}
    found: list[str] = []
    left = dict(tests)
    while missing:
        best = max(
            left, key=lambda test: len(left[test] & missing.keys()) / (START + seconds[test])
        )
        for function in left.pop(best) & missing.keys():
            missing[function] -= 1
            if not missing[function]:
                del missing[function]
        found.append(best)
    return found


class _Watch:
    """A plugin of pytest that runs a sample of each file's tests, and notes what they call."""

    def __init__(self) -> None:
        self.calls: dict[str, set[Function]] = defaultdict(set)
        self._seconds: dict[str, float] = defaultdict(float)
        self._ran: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._codes: dict[str, set[Any]] = defaultdict(set)
        self._prefix = str(ROOT / SOURCE) + "/"

    def times(self) -> dict[str, float]:
        """Return what the tests of each file should take, about."""
        return {
            file: round(self._seconds[file] / ran * self._counts[file], 1)
            for file, ran in sorted(self._ran.items())
        }

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep tests that are spread evenly over each file."""
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            files[_file(item)].append(item)
        items.clear()
        for file, found in files.items():
            self._counts[file] = len(found)
            step = max(1, len(found) / SAMPLE)
            items += [found[int(i * step)] for i in range(min(SAMPLE, len(found)))]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave out what is behind a file's seconds."""
        if self._seconds[_file(item)] > SECONDS:
            pytest.skip("enough is known")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Watch one test."""
        codes, prefix = self._codes[_file(item)], self._prefix

        def called(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(prefix):
                codes.add(frame.f_code)

        begun = time.perf_counter()
        threading.setprofile(called)
        sys.setprofile(called)
        yield
        sys.setprofile(None)
        threading.setprofile(None)
        self._ran[_file(item)] += 1
        self._seconds[_file(item)] += time.perf_counter() - begun

    def pytest_sessionfinish(self) -> None:
        for file, codes in self._codes.items():
            self.calls[file] = {
                (code.co_filename[len(str(ROOT)) + 1 :], code.co_qualname)
                for code in codes
                if not code.co_name.startswith("<")
            }


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
