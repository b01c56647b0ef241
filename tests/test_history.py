"""The gate of the benchmarks: on made-up histories, and on the one that is kept."""

from __future__ import annotations

import doctest
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import history
from benchmarks.history import MEAN, Run

PEERS = ("numba", "jax", "torch")
WORKLOADS = [f"w{number}" for number in range(40)]
#: The standard deviation of the logarithm of a ratio, from run to run.
NOISE = 0.05


def run(draw: random.Random, noise: Mapping[str, float] | None = None, **changes: Any) -> Run:
    """Return a run in which all of a workload's ratios are off by a common factor."""
    ratios = {}
    for name in WORKLOADS:
        common = math.exp(draw.gauss(0, (noise or {}).get(name, NOISE)))
        ratios[name] = {peer: common * (2 + i) for i, peer in enumerate(PEERS)}
    return Run("suite", "2026-01-01", "abc", "processor", "versions", ratios, **changes)


def runs(seed: int, count: int = 6, **options: Any) -> list[Run]:
    draw = random.Random(seed)
    return [run(draw, **options) for _ in range(count)]


def scaled(one: Run, factor: Callable[[str, str], float]) -> Run:
    """Return a run with each ratio times a factor of its workload and peer."""
    ratios = {
        name: {peer: ratio * factor(name, peer) for peer, ratio in row.items()}
        for name, row in one.ratios.items()
    }
    return replace(one, ratios=ratios)


def fallen(known: list[Run]) -> list[str]:
    verdict = history.judge(known, "suite")
    assert verdict is not None
    return verdict.fallen


def test_the_history_that_is_kept_ends_without_a_regression():
    """The gate itself: it fails for who adds a run that is worse, and says what to do."""
    found = history.regressions(history.load(history.ROOT / history.PLACE))
    assert found == [], 'mend it, measure again, or say why in "accepted" of the run'


def test_what_varies_as_before_is_no_regression():
    alarms = [fallen(runs(seed)) for seed in range(50)]
    assert sum(map(bool, alarms)) <= 2, alarms


@pytest.mark.parametrize("seed", range(5))
def test_a_workload_that_became_slower_is_found(seed):
    *before, last = runs(seed)
    slower = scaled(last, lambda name, peer: 0.6 if name == "w7" else 1.0)
    assert fallen([*before, slower]) == ["w7"]
    (line,) = history.regressions([*before, slower])
    assert line.startswith("suite, w7: the peers' times over Lanewise's fell by ")


def test_all_that_became_a_little_slower_is_found_in_the_mean():
    *before, last = runs(3)
    slower = scaled(last, lambda name, peer: 0.9)
    assert fallen([*before, slower]) == [MEAN]


def test_a_peer_that_became_faster_is_no_regression():
    *before, last = runs(4)
    assert fallen([*before, scaled(last, lambda name, peer: 0.3 if peer == "jax" else 1.0)]) == []
    only = [replace(r, ratios={n: {"jax": row["jax"]} for n, row in r.ratios.items()})
            for r in (*before, last)]  # fmt: skip
    *before, last = only
    slower = scaled(last, lambda name, peer: 0.3 if name == "w7" else 1.0)
    assert "w7" in fallen([*before, slower]), "where there is no other peer to tell by"


def test_a_workload_that_varies_more_may_fall_more():
    draw = random.Random(5)
    *before, last = [run(draw, {"w1": 0.5}) for _ in range(8)]
    quiet = history.judge(before, "suite")
    assert quiet is not None
    assert quiet.allowed["w1"] > 3 * quiet.allowed["w2"]
    middle = before[-1].ratios
    level = replace(last, ratios={**middle, "w1": {p: 0.8 * (2 + i) for i, p in enumerate(PEERS)}})
    assert fallen([*before, level]) == []


def test_what_became_faster_once_does_not_make_room_for_falls():
    first, *others = runs(6, 7)
    slow = scaled(first, lambda name, peer: 0.2 if name < "w2" else 1.0)
    steady, risen = (
        history.judge([first, *others], "suite"),
        history.judge([slow, *others], "suite"),
    )
    assert steady is not None and risen is not None
    assert risen.allowed["w9"] < 1.3 * steady.allowed["w9"]


def test_other_processors_and_suites_are_not_compared_with():
    *before, last = runs(7)
    slower = scaled(last, lambda name, peer: 0.1)
    assert fallen([*before, replace(slower, processor="another")]) == []
    assert fallen([*[replace(r, suite="programs") for r in before], slower]) == []
    mixed = [replace(r, processor="another") for r in runs(8)]
    assert len(fallen([*before, *mixed, slower])) > len(WORKLOADS) / 2


def test_too_few_runs_are_said_to_be_too_few(monkeypatch, capsys):
    first, second, third = runs(9, 3)
    slower = scaled(third, lambda name, peer: 0.1)
    verdict = history.judge([first, slower], "suite")
    assert verdict is not None and (verdict.found, verdict.fallen) == ({}, [])
    (told,) = history.told(verdict)
    assert "not compared" in told
    assert fallen([first, second, slower])
    assert history.judge([], "suite") is None


def test_only_the_last_runs_are_compared_with():
    old, new = runs(10, 6), runs(11, 6)
    before = [scaled(r, lambda name, peer: 3.0) for r in old]
    assert fallen([*before, *new]) == [], "a fall that was long ago"


def test_what_is_accepted_is_no_regression_but_told(monkeypatch, capsys):
    *before, last = runs(12)
    slower = scaled(last, lambda name, peer: 0.5 if name == "w7" else 1.0)
    known = [*before, replace(slower, accepted={"w7": "it checks indices now"})]
    assert history.regressions(known) == []
    monkeypatch.setattr(history, "load", lambda path: known)
    assert history.main() == 0
    assert "it checks indices now" in capsys.readouterr().out
    monkeypatch.setattr(history, "load", lambda path: [*before, slower])
    assert history.main() == 1
    assert "regression: suite, w7" in capsys.readouterr().out


def test_workloads_come_and_go():
    *before, last = runs(13)
    ratios = {"new": {"numba": 0.1}, **{n: r for n, r in last.ratios.items() if n != "w3"}}
    assert fallen([*before, replace(last, ratios=ratios)]) == []


def test_runs_are_read_back(tmp_path: Path, monkeypatch):
    path = tmp_path / "history.jsonl"
    known = runs(14, 2)
    for one in known:
        history.append(path, one)
    assert history.load(path) == known
    monkeypatch.setattr(history, "ROOT", tmp_path)
    monkeypatch.setattr(history, "PLACE", "history.jsonl")
    monkeypatch.setattr(history, "commit", lambda: "abc+")
    ratios = {"dot": {"numba": 1.23456}, "alone": {}}
    history.add("suite", "A processor, 2 cores; Python 3.11.7", "NumPy 2", ratios)
    *_, added = history.load(path)
    assert (added.processor, added.versions) == ("A processor, 2 cores", "Python 3.11.7, NumPy 2")
    assert (added.commit, added.ratios) == ("abc+", {"dot": {"numba": 1.235}})


def test_documented_examples():
    result = doctest.testmod(history)
    assert result.attempted > 0 and result.failed == 0
