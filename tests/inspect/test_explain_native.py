"""`explain` of compiled maps: kernels, what is left to NumPy, and what the next call runs."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from hypothesis import given

import lanewise as lw
from lanewise.inspect.estimates import flops
from lanewise.inspect.kernels import places
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY, Absent
from lanewise.runtime import dispatch, tiers
from lanewise.runtime.binding import read_sizes
from support.random_control_flow import Case, cases
from support.searching import searching

X = np.linspace(-1.0, 1.0, 32).reshape(8, 4)
W = np.ones(4)
S = np.ones((6, 3, 3)) + np.eye(3)
BIG = np.ones((4, 70, 70)) + 70 * np.eye(70)


@pytest.fixture
def native(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


@pytest.fixture
def free(monkeypatch):
    """Let the estimates decide, of executables that no other test has used."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(dispatch, "_cache", {})


def wave(x, w):
    scaled = x * w
    if scaled.sum() > 0:
        scaled = np.sin(scaled)
    return scaled


FIRST = inspect.getsourcelines(wave)[1]


def test_one_kernel(native, capsys):
    seen = lw.explain(lw.vmap(wave, in_dims=(0, None)), X, W)
    assert capsys.readouterr().out == f"{seen}\n"
    (kernel,) = seen.kernels
    assert {row.fate for row in seen.rows} == {"kernel 1"}
    assert [row.operation for row in seen.rows].count("sin") == 1  # what is in a branch is shown
    assert kernel.lines == tuple((__file__, FIRST + i) for i in (1, 2, 3))
    assert (kernel.number, kernel.examples, kernel.operations) == (1, 8, len(seen.rows))
    assert kernel.nbytes == 2 * X.nbytes + W.nbytes
    # The product, the sum, the comparison, and the longer branch: a sine is 40 instructions.
    assert kernel.flops == 8 * (4 + 4 + 1 + 4 * 40)
    assert kernel.lanes >= 2 and kernel.scratch >= 0
    assert kernel.seconds is not None and kernel.seconds > 0
    assert not seen.left
    assert seen.choices == [tiers.Choice("native", "LANEWISE_BACKEND=native")]
    text = str(seen)
    assert f"{len(seen.rows)} in 1 kernel)" in text
    assert "the next call is compiled: LANEWISE_BACKEND=native" in text
    assert f"\nkernels\n    1 | test_explain_native.py:{FIRST + 1}-{FIRST + 3}: " in text
    assert re.search(r" at once, about 1\.4 kflop, 544 B read and written.*, made in ", text)
    assert "left to NumPy" not in text


def test_only_what_a_kernel_gives_takes_memory(native):
    seen = lw.explain(lw.vmap(lambda x: (np.exp(x) + 1, x.sum())), X)
    sizes = {row.operation: row.nbytes for row in seen.rows}
    assert sizes == {"exp": 0, "add": X.nbytes, "reduce(add)": 8 * 8}
    assert seen.nbytes == X.nbytes + 8 * 8 and not any(row.is_view for row in seen.rows)


def test_code_is_shown_on_request(native):
    (kernel,) = lw.explain(lw.vmap(wave, in_dims=(0, None)), X, W).kernels
    assert kernel.ir.count("define i64 @kernel(") == 1 and "x double>" in kernel.ir
    assert "kernel:" in kernel.assembly and "ret" in kernel.assembly


def test_what_is_left_to_numpy_and_why(native):
    def func(x):
        y = x + 1
        w, v = np.linalg.eig(y)
        return (v * w) @ v

    seen = lw.explain(lw.vmap(func), S)
    line = inspect.getsourcelines(func)[1] + 2
    rule = REGISTRY["eig"].lanes
    assert isinstance(rule, Absent)
    fates = {row.operation: row.fate for row in seen.rows}
    assert fates["eig"] == "batched"
    assert fates["add"] == "kernel 1" and fates["dot_general"] == "kernel 2"
    (found,) = seen.left
    assert found.location is not None
    assert (found.operation, found.location.line) == ("eig", line)
    assert found.reason == f"eig has no native form: {rule.reason}"
    assert f"left to NumPy\n{line:5d} | eig has no native form: in which order" in str(seen)
    assert [kernel.operations for kernel in seen.kernels] == [1, 2]


def test_what_is_left_within_a_loop_is_named_with_its_line(native):
    def func(x):
        for _ in range(int(x[0, 0])):
            x = np.linalg.pinv(x)
        return x

    seen = lw.explain(lw.vmap(func), S)
    (found,) = seen.left
    assert found.operation == "while"
    line = inspect.getsourcelines(func)[1] + 2
    assert "while: pinv has no native form: what counts" in str(found)
    assert str(found).endswith(f"({__file__}:{line})")


@pytest.mark.parametrize(
    ("func", "args", "reason"),
    [
        (lw.vmap(np.linalg.pinv), (S,), "pinv has no native form"),
        (lw.vmap(np.linalg.eigvals), (S,), "eigvals has no native form: in which"),
        (lw.vmap(np.linalg.inv), (BIG,), "inv: matrices of 70x70 are left to LAPACK"),
        (lw.vmap(np.linalg.inv, chunk_size=2), (BIG,), "inv: matrices of 70x70 are left to LAPACK"),
        (lambda x: lw.map_fn(np.sin, x), (X,), "map: its examples run one after the other"),
        (lw.vmap(lambda: np.ones(2), axis_size=3), (), "map: no example differs from another"),
        (lw.vmap(np.sin), (X.astype(np.longdouble),), "sin: f128[4] is not an array of numbers"),
    ],
)
def test_why_nothing_is_compiled(native, func, args, reason):
    seen = lw.explain(func, *args)
    assert not seen.kernels and any(str(found).startswith(reason) for found in seen.left), seen.left
    assert seen.choices == [tiers.Choice("interpret", "nothing in it has a native form")]
    assert "why nothing is compiled" in str(seen) and "the next call is interpreted" in str(seen)


def test_host_code_is_interpreted(native):
    seen = lw.explain(lw.vmap(lambda r: lw.py_func(lambda v: v, [r * 2], float)), X[:, 0])
    assert not seen.kernels
    assert seen.choices == [tiers.Choice("interpret", "it calls host code")]


def test_what_a_kernel_leaves_to_numpy_as_it_runs(native):
    matrices = S.copy()
    matrices[2, 0, 0] = np.nan
    with np.errstate(all="ignore"):
        seen = lw.explain(lw.vmap(np.linalg.inv), matrices)
    reason = "LANEWISE_BACKEND=native; kernels left 1 example of it to NumPy"
    assert seen.choices == [tiers.Choice("native", reason)]
    assert [row.fate for row in seen.rows] == ["kernel 1"]
    with np.errstate(all="ignore"):
        seen = lw.explain(lw.vmap(np.linalg.inv), np.repeat(matrices[2:3], 1000, axis=0))
    assert seen.choices == [tiers.Choice("interpret", dispatch.CAUTIOUS)]
    assert [row.fate for row in seen.rows] == ["batched"] and len(seen.kernels) == 1
    seen = lw.explain(lw.vmap(np.linalg.inv), S)
    assert seen.choices == [tiers.Choice("native", "LANEWISE_BACKEND=native")]


@pytest.mark.parametrize("chunk", [None, 3])
def test_results_that_are_the_same_for_all_examples(chunk, native):
    """They are broadcast: no kernel is compiled for them."""

    def func(x, w):
        return np.sin(x), 3, np.zeros(2), w, np.exp(w)[:1]

    mapped = lw.vmap(func, in_dims=(0, None), chunk_size=chunk)
    w = np.arange(3.0)
    seen = lw.explain(mapped, X, w)
    assert [kernel.operations for kernel in seen.kernels] == [1]
    assert sum(row.operation == "broadcast_to" and row.is_view for row in seen.rows) == 4
    assert not [row for row in seen.rows if row.operation == "copy"]
    got = mapped(X, w)
    for i, want in enumerate(zip(*[func(x, w) for x in X], strict=True)):
        np.testing.assert_allclose(got[i], np.stack(want), rtol=1e-15)
        assert got[i].flags.writeable and got[i].flags.owndata
    assert not lw.explain(lw.vmap(lambda x: np.ones(2)), X).kernels


def test_lanes_that_are_refilled(native):
    def func(x):
        while x > 1e-3:
            small = np.tanh(x) * np.cos(x) ** 2 * np.exp(-x)
            x = np.sin(x) ** 2 * small / 2  # at most half of it
        return x

    (kernel,) = lw.explain(lw.vmap(func), np.linspace(0, 9, 1000)).kernels
    assert kernel.refills and " at once, refilled, " in str(kernel)
    (kernel,) = lw.explain(lw.vmap(np.sin), X).kernels
    assert not kernel.refills and "refilled" not in str(kernel)


def test_several_maps_number_their_kernels_in_one_row(native):
    seen = lw.explain(lambda x: lw.vmap(np.sin)(x) + lw.vmap(np.cos)(x), X)
    assert [row.fate for row in seen.rows] == ["kernel 1", "kernel 2"]
    assert [kernel.number for kernel in seen.kernels] == [1, 2] and len(seen.choices) == 2
    assert str(seen).count("the next call is compiled") == 1  # both say the same


def test_backends_that_are_forced(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    seen = lw.explain(lw.vmap(np.sin), X)
    assert [row.fate for row in seen.rows] == ["batched"]
    assert seen.choices == [tiers.Choice("interpret", "LANEWISE_BACKEND=interpret")]
    assert len(seen.kernels) == 1 and "kernels, if it is compiled" in str(seen)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    with np.errstate(divide="raise"):
        seen = lw.explain(lw.vmap(np.sin), X)
    assert seen.choices[0].backend == "interpret" and "np.errstate" in seen.choices[0].reason
    assert [row.fate for row in seen.rows] == ["batched"]


def test_the_choice_comes_true(free, monkeypatch):
    """A small map is compiled after as many calls as `explain` says, and not before."""
    monkeypatch.setattr(tiers, "FAR_OFF", np.inf)
    mapped = lw.vmap(lambda x: np.exp(x) / 3 + np.sin(x) * np.cos(x))
    seen = lw.explain(mapped, X)
    (choice,) = seen.choices
    assert choice.backend == "interpret"
    told = re.search(r"compiled after ([\d,]+) more such call", choice.reason)
    assert told is not None
    left = int(told[1].replace(",", ""))
    (executable,) = dispatch._cache.values()
    for _ in range(left):
        mapped(X)
    assert executable.native is None
    assert executable.choice(read_sizes(executable.graph, [X])).backend == "native"
    mapped(X)
    assert executable.native is not None
    seen = lw.explain(mapped, X)
    assert seen.choices[0].backend == "native"
    assert re.match(r"NumPy should take .* for the calls that there were", seen.choices[0].reason)
    assert {row.fate for row in seen.rows} == {"kernel 1"}


def test_a_large_map_is_compiled_at_once(free):
    large = np.ones((200_000, 40))
    seen = lw.explain(lw.vmap(lambda x: np.exp(x) / 3 + np.sin(x) * np.cos(x)), large)
    assert seen.choices[0].backend == "native" and seen.kernels[0].examples == 200_000


def test_explaining_changes_no_count_of_its_own(free):
    """What `explain` asks is not a call: only the one that it makes counts."""
    mapped = lw.vmap(np.sin)
    lw.explain(mapped, X)
    (executable,) = dispatch._cache.values()
    spent = executable.spent
    executable.choice(read_sizes(executable.graph, [X]))
    executable.native_graph()
    assert executable.spent == spent and executable.native is None
    lw.explain(mapped, X)
    assert executable.spent == pytest.approx(2 * spent)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("graph(%0: f64[4], %1: f64[4]) { %2 = add(%0, %1) return %2 }", 4),
        ("graph(%0: c128[4], %1: c128[4]) { %2 = add(%0, %1) return %2 }", 8),
        ("graph(%0: f64[4], %1: f64[4]) { %2 = divide(%0, %1) return %2 }", 32),
        ("graph(%0: f64[4,5]) { %1 = transpose[axes=(1, 0)](%0) return %1 }", 0),
        (
            "graph(%0: f64[4,5], %1: f64[5,3]) "
            "{ %2 = dot_general[batch=(), contract=((1, 0),)](%0, %1) return %2 }",
            2 * 4 * 3 * 5,
        ),
        ("graph(%0: f64[6,6]) { %1 = cholesky[upper=False](%0) return %1 }", 72),
        ("graph(%0: f64[3,3], %1: f64[3,1]) { %2 = solve(%0, %1) return %2 }", 36),
        ("graph(%0: f64[2,8]) { %1 = sort[axis=1, kind=None](%0) return %1 }", 2 * 16 * 3),
        (
            "graph(%0: f64[]) { %1 = while[captures=0](%0) "
            "graph(%0: f64[]) { %1 = less(%0, %0) return %1 } "
            "graph(%0: f64[]) { %1 = exp(%0) return %1 } return %1 }",
            50 * 26,
        ),
    ],
)
def test_flops(text, count):
    assert flops(parse_graph(text, REGISTRY)) == pytest.approx(count)


def test_places_of_several_files():
    assert places([("a.py", 1), ("a.py", 3), ("a.py", 4), ("b.py", 4)]) == "a.py:1,3-4 b.py:4"
    assert places([]) == ""


@searching(4)
@given(cases())
def test_random_programs(case: Case) -> None:
    """What runs natively is explained as such: each kernel, and what is in each."""
    mapped = case.function(lambda x: lw.py_func(float, [x], lw.TensorSpec((), float)))
    for level in case.maps:
        mapped = lw.vmap(mapped, level.in_dims, chunk_size=level.chunk)
    errors = []

    def call(*arrays):
        try:
            mapped(*arrays)
        except Exception as error:
            errors.append(error)
            raise

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setenv("LANEWISE_BACKEND", "native")
        warnings.simplefilter("ignore")
        try:
            seen = lw.explain(call, *case.arrays)
        except Exception as error:
            assert error in errors, "explain itself fails"
            return  # the tests of programs look at what raises
    numbers = {f"kernel {kernel.number}" for kernel in seen.kernels}
    is_native = [choice.backend == "native" for choice in seen.choices]
    assert {row.fate for row in seen.rows if row.in_kernel} == numbers
    assert any(is_native) or not numbers  # there may be none, if nothing is computed
    assert all(kernel.flops >= 0 and kernel.nbytes > 0 for kernel in seen.kernels)
    assert str(seen)
