"""Whatever fails between a recorded graph and its result, the result is right, with one warning."""

from __future__ import annotations

import itertools
import os
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import lanewise as lw
from codegen.test_operations import NATIVE, examples, program, reference, uses_of
from lanewise.codegen import llvm
from lanewise.ops.registry import REGISTRY
from lanewise.passes import survive
from lanewise.runtime import dispatch, kernels, tiers
from support import faults, survivors
from support.draws import EXAMPLES
from support.survivors import MODES, PROGRAMS, WS, XS, branches

#: These cannot fail without there being nothing left: they are what survives, and what runs last.
_LAST = ("survive.", "in_turn.")
PASSES = faults.functions("lanewise.passes")
CODEGEN = {
    name: function
    for name, function in faults.functions("lanewise.codegen").items()
    if EXAMPLES or not name.startswith(("codegen.mathlib", "codegen.elementwise"))
}
STEPS = {
    name: function
    for name, function in {**PASSES, **CODEGEN}.items()
    if not name.removeprefix("passes.").startswith(_LAST)
    # In each run of tests a part of the helpers; all with LANEWISE_EXAMPLES.
    and (EXAMPLES or not name.rpartition(".")[2].startswith("_"))
}


@pytest.fixture(autouse=True)
def _afresh():
    faults.forget()
    yield
    faults.forget()


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory):
    """A folder of machine code, as most faults leave the kernels of the programs what they are."""
    return str(tmp_path_factory.mktemp("machine_code"))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_is_survived(name, machine_code, monkeypatch):
    if not name.startswith(("codegen.llvm", "codegen.background")):
        monkeypatch.setenv("LANEWISE_CACHE", machine_code)
    first = sum(map(ord, name))  # another of the ways to run for each
    struck = 0
    for number, called in enumerate(PROGRAMS, first):
        for mode in MODES if EXAMPLES else (MODES[number % len(MODES)],):
            struck += bool(survivors.run(called, mode, faults.failing(STEPS[name])))
        if struck and not EXAMPLES:
            return


def test_the_programs_go_through_the_steps():
    seen = set()
    names = ["passes.pipeline.lower", "passes.vectorize.vectorize", "passes.spread.spread",
             "passes.elements.over_elements", "passes.single.as_maps",
             "passes.simplify.eliminate_dead",
             "passes.forward.forwarded", "codegen.partition.partition", "codegen.kernel.write",
             "codegen.refill.plan", "codegen.control.run",
             "codegen.lift.lift", "codegen.work.compiling"]  # fmt: skip
    for name in names:
        for called, mode in itertools.product(PROGRAMS, MODES):
            if survivors.run(called, mode, faults.failing({**PASSES, **CODEGEN}[name])):
                seen.add(name)
                break
    assert seen == set(names)


@pytest.mark.parametrize("name", NATIVE)
def test_a_native_form_that_fails_is_left_to_numpy(name, monkeypatch):
    uses = [use for use in itertools.islice(uses_of(REGISTRY[name]), 40) if all(use.mapped)][:1]
    if not uses:
        pytest.skip("its samples take no floating-point operands")
    (use,) = uses
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    graph = program([use])
    given = examples(use, 5)
    with (
        faults.failing_rule(REGISTRY[name]) as count,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        executable = tiers.Executable(graph)
        got = executable(*given)
    assert count[0], "its native form was not asked for"
    assert [w.category for w in caught].count(lw.InternalErrorWarning) == 1
    if name not in ("partition", "argpartition"):
        for g, w in zip(got, reference(use, given, 5), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


RAISING = ["passes.vectorize.vectorize", "codegen.kernel.write", "passes.elements.over_elements",
           "codegen.work.compiling"]  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_strict_raises(name, monkeypatch):
    assert os.environ["LANEWISE_STRICT"] == "1"
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    struck = 0
    for called, mode in itertools.product(PROGRAMS, ("vmap", "function")):
        faults.forget()
        with faults.failing({**PASSES, **CODEGEN}[name]) as count:
            try:
                lw.function(called)(XS[0], WS[0]) if mode == "function" else lw.vmap(called)(XS, WS)
            except faults.FaultError:
                assert count[0]
                struck += 1
            else:
                assert not count[0]
    assert struck


def test_llvm_fails_at_the_call(monkeypatch):
    """Kernels are compiled when they first run, in the middle of a plan."""

    def broken(text):
        raise RuntimeError("LLVM IR parsing error")

    monkeypatch.setattr(kernels, "_codes", {})
    monkeypatch.setattr(llvm, "compile_object", broken)
    for called in PROGRAMS:
        for mode in ("native", "function-native"):
            count = nullcontext([1])
            survivors.run(called, mode, count)


def test_memory_that_is_too_little_to_compile_is_no_fault(monkeypatch):
    def broken(text):
        raise MemoryError

    monkeypatch.setattr(kernels, "_codes", {})
    monkeypatch.setattr(llvm, "compile_object", broken)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    with dispatch.observing() as programs:
        got = lw.vmap(branches)(XS, WS)
    np.testing.assert_allclose(got, survivors.expected(branches, "native"))
    (seen,) = programs
    choice = seen.executable.choice(seen.sizes)
    assert (choice.backend, choice.reason) == ("interpret", tiers.NO_MEMORY)


def test_explain_tells(monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    with (
        faults.failing(CODEGEN["codegen.work.compiling"]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        lw.explain(lw.vmap(branches), XS, WS)
    assert "an internal error in the estimate" in capsys.readouterr().out
    faults.forget()
    with (
        faults.failing(PASSES["passes.forward.forwarded"]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        lw.explain(lw.function(survivors.writes), XS[0], WS[0])
    assert "an internal error in forwarded was survived" in capsys.readouterr().out


def test_errors_of_the_users_are_theirs(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")

    def f(x):
        if x > 2:
            raise ValueError(f"too large: {x}")
        return 1 / int(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in ("interpret", "native"):
            monkeypatch.setenv("LANEWISE_BACKEND", mode)
            with pytest.raises(ValueError, match="too large: 3"):
                lw.vmap(f)(np.array([1.0, 3.0, 0.0]))
            with pytest.raises(ZeroDivisionError):
                lw.vmap(f)(np.array([1.0, 0.0, 3.0]))
            with pytest.raises(lw.UnsupportedError):
                lw.vmap(lambda x: np.array2string(x))(np.ones(3))
            with pytest.raises(ValueError, match="out_dims"):
                lw.vmap(lambda x: x, out_dims=None)(np.ones(3))
            with pytest.raises(ValueError, match="cannot be vectorized"):
                lw.vectorized_map(
                    lambda x: lw.py_func(np.sin, [x], lw.TensorSpec((), float)),
                    np.ones(3),
                    fallback_to_while_loop=False,
                )


def test_a_fault_in_running_is_survived(monkeypatch):
    """A plan that raises what no example raises was made wrongly."""
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    from lanewise.runtime import interpret

    init = interpret.Plan.__init__

    def wrong(self, graph, **options):
        init(self, graph, **options)
        if not options.get("sized"):

            def run(*arguments):
                raise KeyError("a wrong plan")

            self._run = run

    monkeypatch.setattr(interpret.Plan, "__init__", wrong)
    for called, mode in itertools.product(PROGRAMS, MODES):
        survivors.run(called, mode, nullcontext([1]))


def test_a_warning_comes_once_for_each_function(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")

    def first(x):
        return x + 1

    def second(x):
        return x + 1

    with (
        faults.failing(PASSES["passes.simplify.merge_repeated"]),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        for size in (2, 3):
            for called in (first, second):
                for _ in range(2):
                    dispatch._cache.clear()
                    lw.vmap(called)(np.ones((4, size)))
    lines = [first.__code__.co_firstlineno + 1, second.__code__.co_firstlineno + 1]
    assert [w.lineno for w in caught] == lines
    assert all("Please report it" in str(w.message) for w in caught)
    assert survive._told
