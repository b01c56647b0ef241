"""Algorithms in ordinary style, with the control flow of their data, mapped as they stand.

None was written with Lanewise in mind. Every function is first checked itself, on one example;
then that its batch makes examples go different ways; then `vmap` of it against the loop.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import lanewise as lw
from programs.corpus.case import Case
from support.control_flow_oracle import assert_follows
from support.oracle import example

FILES = sorted(Path(__file__).parent.glob("corpus/[a-z]*.py"))
MODULES = [importlib.import_module(f"programs.corpus.{f.stem}") for f in FILES if f.stem != "case"]
CASES = [
    pytest.param(case, id=f"{module.__name__.split('.')[-1]}.{case.func.__name__}")
    for module in MODULES
    for case in module.CASES
]
RAISING = [param for param in CASES if param.values[0].error]


def examples(case: Case) -> list[list[Any]]:
    dims = (0,) * len(case.batch)
    return [example(case.batch, dims, i) for i in range(len(case.batch[0]))]


def assert_equal(got: Any, expected: Any) -> None:
    got, expected = optree.tree_leaves(got), optree.tree_leaves(expected)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_function_itself(case):
    if callable(case.expect):
        for args in examples(case):
            copies = [np.copy(a) if np.ndim(a) else a for a in args]
            assert_equal(case.func(*args), case.expect(*copies))
    else:
        for args, expected in case.expect:
            assert_equal(case.func(*args), expected)
    if case.error:
        with pytest.raises(case.error):
            case.func(*[np.asarray(a)[()] for a in case.bad])


def path(case: Case, args: list[Any]) -> tuple[int, ...]:
    """Return the instructions of the corpus, in order, that one example executes."""
    done: list[int] = []

    def follow(frame: Any, event: str, _: Any) -> Any:
        if "corpus" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            done.append(frame.f_lasti)
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        case.func(*args)
    finally:
        sys.settrace(before)
    return tuple(done)


@pytest.mark.parametrize("case", CASES)
def test_the_examples_diverge(case):
    ways = {path(case, args) for args in examples(case)}
    assert len(ways) >= (1 if case.error else 2)


@pytest.mark.parametrize("case", CASES)
def test_mapped(case, monkeypatch):
    monkeypatch.setenv("LANEWISE_LANES", "1")  # of several vectors in flight there are other tests
    assert_follows(case.func, *case.batch, rtol=case.rtol)


@pytest.mark.parametrize("case", RAISING)
def test_mapped_with_an_example_that_raises(case):
    batch = [np.insert(a, 5, b, axis=0) for a, b in zip(case.batch, case.bad, strict=True)]
    with pytest.raises(case.error, match="example 5"), np.errstate(all="ignore"):
        lw.vmap(case.func)(*batch)
