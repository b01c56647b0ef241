"""The benchmark suite at small sizes: every function, every form of the map, every peer there is.

The peers are an extra: a peer that is not installed is skipped here, as the suite leaves it out.
"""

from __future__ import annotations

import doctest
import importlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import lanewise as lw
from benchmarks.suite import measure, memory, report, results
from benchmarks.suite.chart import MARKS, chart
from benchmarks.suite.peers import PEERS
from benchmarks.suite.workload import Workload, leaves
from benchmarks.suite.workloads import workloads
from support.oracle import assert_same

ROOT = Path(__file__).parents[1]
WORKLOADS = {workload.name: workload for workload in workloads()}


def pairs() -> list[Any]:
    """Return each workload with each peer that is there; those that are not are one skip each."""
    found: list[Any] = []
    for name, peer in PEERS.items():
        if reason := peer.absent():
            found.append(pytest.param("", name, marks=pytest.mark.skip(reason), id=name))
        else:
            found += [(w.name, name) for w in WORKLOADS.values() if name in w.peers]
    return found


def examples(workload: Workload, args: tuple[np.ndarray, ...]) -> list[tuple[np.ndarray, ...]]:
    """Return the arguments of every example, those of nested maps in C order."""
    args = workload.first(args)
    found = [args]
    for axes in workload.maps or ((0,) * len(args),):
        size = next(len(a) for a, axis in zip(args, axes, strict=True) if axis == 0)
        found = [
            tuple(a if axis is None else a[i] for a, axis in zip(one, axes, strict=True))
            for one in found
            for i in range(size)
        ]
        args = found[0]
    return found


def plain(workload: Workload, each: list[tuple[np.ndarray, ...]]) -> Any:
    """Return the stacked results of the plain function."""
    with np.errstate(all="ignore"):
        results = [workload.plain(*(arg.copy() for arg in one)) for one in each]
    if isinstance(results[0], tuple):
        return tuple(np.stack(leaf) for leaf in zip(*results, strict=True))
    return np.stack(results)


#: The forms of the map, each of a function of one example and of stacked arguments.
FORMS: dict[str, Callable[..., Any]] = {
    "vmap": lambda f, args: lw.vmap(f)(*args),
    "vmap, in chunks": lambda f, args: lw.vmap(f, chunk_size=7)(*args),
    "vectorized_map": lambda f, args: lw.vectorized_map(lambda one: f(*one), args),
    "map_fn": lambda f, args: lw.map_fn(lambda one: f(*one), args),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_forms_give_what_the_plain_function_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = WORKLOADS[name]
    args = workload.inputs(workload.small)
    each = examples(workload, args)
    assert math.prod(workload.shape(args)) == len(each)
    expected = plain(workload, each)
    near = {"rtol": workload.rtol, "atol": workload.atol}
    stacked = tuple(np.stack(column) for column in zip(*each, strict=True))
    with monkeypatch.context() as short:
        short.setenv("LANEWISE_LANES", "1")
        # `vmap`, and the others in turn.
        for form in ("vmap", [*FORMS][1 + workload.number % (len(FORMS) - 1)]):
            assert_same(FORMS[form](workload.function, stacked), expected, **near)
    # As it is measured: nested maps, arguments that are not mapped, examples last.
    rank = len(workload.shape(args))
    for call in (workload.call(args), workload.recorded(args)):
        measured = [np.moveaxis(x, -1, 0) if workload.last else x for x in leaves(call())]
        flat = [np.array(x.reshape(-1, *x.shape[rank:])) for x in measured]
        assert_same(flat, leaves(expected), **near)
        workload.check(call(), args)


@pytest.mark.parametrize(("name", "peer"), pairs())
def test_every_peer_gives_what_the_plain_function_gives(
    name: str, peer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, system = WORKLOADS[name], PEERS[peer]
    args = workload.inputs(workload.small)
    if peer == "torch.compile":  # run as it stands: compiling takes a second and more for each
        torch = importlib.import_module("torch")
        monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    compiled = system.compile(workload.peers[peer]())
    placed = workload.place.get(peer, system.place)(args)
    workload.check(system.bind(compiled, placed)(), args)


def test_each_workload_is_a_row_with_peers_and_sizes() -> None:
    numbers = [workload.number for workload in WORKLOADS.values()]
    assert numbers == list(range(1, len(numbers) + 1))
    for workload in WORKLOADS.values():
        assert set(workload.peers) <= set(PEERS)
        assert set(workload.place) <= set(workload.peers)
        assert workload.small <= workload.size
        again = workload.inputs(workload.small)
        for one, other in zip(workload.inputs(workload.small), again, strict=True):
            np.testing.assert_array_equal(one, other)  # a check compares two calls of it


def square(**changes: Any) -> Workload:
    """Return a workload that takes no time."""
    parts: dict[str, Any] = {
        "number": 1,
        "name": "square",
        "title": "x² & <x>",
        "size": 1000,
        "small": 5,
        "inputs": lambda size: (np.arange(float(size)),),
        "function": lambda x: x * x,
    }
    return Workload(**(parts | changes))


def test_a_wrong_result_is_found_wherever_it_is() -> None:
    workload = square()
    args = workload.inputs(1000)
    right = args[0] ** 2
    workload.check(right, args, exact=right)
    wrong = right.copy()
    wrong[998] += 1.0  # not among those that the plain function computes
    with pytest.raises(AssertionError, match="1 of 1000 examples differ from the other systems"):
        workload.check(wrong, args, exact=right)
    wrong[999] = np.nan
    with pytest.raises(AssertionError, match="differ from the plain function"):
        workload.check(wrong, args)
    square(stray=2e-3).check(right, args, exact=wrong)
    with pytest.raises(AssertionError, match="2 of 1000"):
        square(stray=1e-3).check(right, args, exact=wrong)


def test_results_of_all_systems_are_read_alike() -> None:
    array = np.arange(3.0)
    assert [leaf.tolist() for leaf in leaves((array, [array, -array]))] == [
        [0.0, 1.0, 2.0],
        [[0.0, -0.0], [1.0, -1.0], [2.0, -2.0]],
    ]


def test_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    there = PEERS["numba"]
    functions = {"good": lambda x: x * x, "bad": lambda x: x + x}

    def peer(name: str, absent: str | None = None) -> Any:
        same: Any = there.wait
        return type(there)(name, lambda: "1", lambda: absent, lambda a: a, same, same)

    found = {"good": peer("good"), "bad": peer("bad"), "gone": peer("gone", "not installed")}
    monkeypatch.setattr(measure, "PEERS", found)
    peers: Any = {name: lambda name=name: functions[name] for name in functions}
    workload = square(peers={**peers, "gone": lambda: None})
    row = measure.measure(workload, ["good", "bad", "gone", "other"], measure.Plan(2, turn=0.001))
    assert set(row.timings) == {"lanewise", "lanewise.vmap", "good"}
    assert row.missing["gone"] == "not installed"
    assert row.missing["bad"].startswith("AssertionError: square: ")
    for timing in row.timings.values():
        assert 0 < timing.lowest <= timing.median and len(timing.turns) == 2
        assert timing.factor == 1 and timing.examples == workload.size


def test_a_slow_system_is_measured_on_fewer_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LONGEST_CALL", 0.05)
    per_example = 2e-4

    def mapped() -> Callable[..., Any]:
        def slow(x: np.ndarray) -> np.ndarray:
            time.sleep(per_example * len(x))
            return x * x

        return slow

    row = measure.measure(square(mapped=mapped), [], measure.Plan(2, turn=0.001))
    timing = row.timings["lanewise"]
    assert timing.examples < 1000 and timing.factor == 1000 / timing.examples
    assert 1e3 * per_example * 1000 <= timing.lowest < 20e3 * per_example * 1000
    assert "times" in "".join(report.notes([row], []))


def test_a_wrong_result_of_lanewise_ends_the_run() -> None:
    with pytest.raises(AssertionError, match="differ from the plain function"):
        measure.measure(square(mapped=lambda: lambda x: x + x), [], measure.Plan(1))


def rows() -> list[measure.Row]:
    """Return two measured workloads: 8 and 2 times, so 4 in the mean."""

    def timing(*turns: float) -> measure.Timing:
        return measure.Timing(first=12.0, examples=1000, turns=list(turns))

    return [
        measure.Row(
            square(), {"lanewise": timing(1.5, 1.0), "numba": timing(9.0, 8.0), "jax": timing(20)}
        ),
        measure.Row(
            square(number=2, name="cube"),
            {"lanewise": timing(3.0), "jax": timing(6.0)},
            {"torch": "RuntimeError: no such thing"},
            memory=5.0,
        ),
    ]


def test_ratios_and_means_are_of_the_lowest_times() -> None:
    first, second = rows()
    assert report.ratio(first, PEERS) == 8.0
    assert report.ratio(second, ["numba"]) is None
    assert report.ratios([first, second]) == {
        "square": {"numba": 8.0, "jax": 20.0},
        "square (recorded)": {},  # which was not measured
        "cube": {"jax": 2.0},
        "cube (recorded)": {},
    }
    assert report.geometric_mean([first, second], tuple(PEERS)) == (pytest.approx(4.0), 2)
    assert report.geometric_mean([first, second], ("numba",)) == (pytest.approx(8.0), 1)
    setting = results.Setting("a machine", "versions", ("numba", "jax"))
    text = report.report([first, second], setting)
    assert "1 x² & <x>" in text and "**8.00**" in text and "cube, torch: RuntimeError" in text
    assert "1.25 (12)" in text  # the median, and the first call


def test_the_page_is_written_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    for text in ("first", "second"):
        report.write_section(page, text)
    assert page.read_text() == f"before\n{report.BEGIN}\n\nsecond\n\n{report.END}\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="has no lines"):
        report.write_section(page, "text")
    real = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text()
    assert real.count(report.BEGIN) == real.count(report.END) == 1


def test_the_chart_is_well_formed_and_to_scale() -> None:
    drawn = chart(rows(), ["means & more"], ["a machine <x>"])
    assert "a machine &lt;x&gt;" in drawn
    root = ElementTree.fromstring(drawn)
    marks = [node for node in root.iter() if node.get("class") == "mark"]
    assert len(marks) == 3
    at = [float(mark.get("transform", "").split("(")[1].split(",")[0]) for mark in marks]
    (line,) = (node for node in root.iter() if node.get("class") == "one")
    one = float(line.get("d", "")[1:].split(",")[0])
    ratios = [8.0, 20.0, 2.0]  # Numba's and JAX's of the first, JAX's of the second
    scale = (at[0] - one) / math.log(8.0)
    assert [one + scale * math.log(ratio) for ratio in ratios] == pytest.approx(at, abs=0.2)
    assert set(MARKS) == set(report.COLUMNS)
    chart([])  # nothing to show is no error


def test_what_was_measured_is_read_back(tmp_path: Path) -> None:
    measured, path = rows(), tmp_path / "results.json"
    setting = report.setting(["numba"])
    results.save(path, measured, setting)
    again, found = results.load(path, {row.workload.name: row.workload for row in measured})
    assert (again, found) == (measured, setting)
    assert results.load(path, {})[0] == []
    kept, setting = results.load(ROOT / "docs" / "benchmarks.json", WORKLOADS)
    assert {row.workload.name for row in kept} == set(WORKLOADS)
    drawn = (ROOT / "docs" / "benchmarks.svg").read_text()
    assert setting.machine in drawn and setting.versions in drawn


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_that_calls_keep_is_seen() -> None:
    kept: list[np.ndarray] = []

    def leaking() -> Callable[..., Any]:
        return lambda x: kept.append(np.ones(4 * memory.MEBIBYTE)) or x * x

    # Some may find room in what other tests have given back, which is no growth.
    grown, result_bytes = memory.growth(square(mapped=leaking), 1000, calls=6)
    assert result_bytes == 8000
    assert grown > 4 * 30 * memory.MEBIBYTE
    grown, _ = memory.growth(square(), 1000)
    assert grown < 8 * memory.MEBIBYTE


@pytest.mark.parametrize("module", ["workload", "report"])
def test_documented_examples(module: str) -> None:
    found = importlib.import_module(f"benchmarks.suite.{module}")
    result = doctest.testmod(found)
    assert result.attempted > 0 and result.failed == 0
