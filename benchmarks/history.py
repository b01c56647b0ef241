"""How many times as long peers took as Lanewise, run after run; and whether the newest is worse.

`make bench` and `make bench-programs` add a line to `history.jsonl` when they write their tables:
the date, the commit, the processor, the versions, and for each workload the ratio of each peer's
time to Lanewise's. `make bench-gate` (that is `python -m benchmarks.history`) measures nothing: it
compares the newest run of each suite with earlier ones, and fails where that is a regression. A
test of every change does the same, so that whoever adds a run hears of it.

Runs are compared on one kind of processor only. What counts of a workload is the median over its
peers of how its ratios changed (as logarithms): a peer that became faster moves one of them, while
Lanewise moves all. It is compared with the median of the earlier runs, and what it may fall by is
a multiple of how much ratios vary from one run to the next, so far: all workloads', or its own
where that varies more. The mean of all workloads is held to what means vary.

A regression that is known and taken has its reason in ``accepted`` of its run, by workload.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Where it is kept, in this repository.
PLACE = "benchmarks/history.jsonl"

#: Runs on one kind of processor that the newest one is compared with, at most and at least.
MOST_EARLIER, LEAST_EARLIER = 5, 2
#: A fall by so many standard deviations is a regression: about one false alarm in fifty runs of 62
#: workloads, if ratios were spread as normal numbers are.
DEVIATIONS = 3.5
#: Workloads are said to vary by themselves from so many changes on.
LEAST_CHANGES = 3
#: What the mean over all workloads is called, in ``accepted`` too.
MEAN = "geometric mean"

Ratios = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Run:
    """What was measured once.

    Parameters
    ----------
    suite
        Which workloads: ``"suite"`` or ``"programs"``.
    date, commit
        When, and what; a commit that was changed has a ``+``.
    processor, versions
        On what kind of processor, and with what.
    ratios
        The times of each peer over Lanewise's, by workload.
    accepted
        Why a workload may be worse than before, by workload.
    """

    suite: str
    date: str
    commit: str
    processor: str
    versions: str
    ratios: Ratios
    accepted: Mapping[str, str] = field(default_factory=dict)


# --- keeping --------------------------------------------------------------------------------------


def load(path: Path) -> list[Run]:
    """Return all runs, the newest last."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Run(**json.loads(line)) for line in lines]


def append(path: Path, run: Run) -> None:
    """Add a run at the end."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run), ensure_ascii=False) + "\n")


def add(suite: str, machine: str, versions: str, ratios: Ratios) -> None:
    """Add what was measured here and now.

    Parameters
    ----------
    suite
        Which workloads.
    machine
        What `benchmarks.suite.report.machine` says: the processor, and Python's version.
    versions, ratios
        As for `Run`.
    """
    processor, _, python = machine.partition("; ")
    rounded = {
        name: {peer: float(f"{ratio:.4g}") for peer, ratio in row.items()}
        for name, row in ratios.items()
        if row
    }
    day = datetime.now(UTC).date().isoformat()
    append(ROOT / PLACE, Run(suite, day, commit(), processor, f"{python}, {versions}", rounded))


def commit() -> str:
    """Return the commit that is measured, with a ``+`` if the sources are not as it has them."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks/suite", "benchmarks/programs")
    return git("rev-parse", "--short", "HEAD") + "+" * bool(changed)


# --- comparing ------------------------------------------------------------------------------------


def changes(new: Run, old: Sequence[Run]) -> dict[str, float]:
    """Return how the ratios of each workload changed since older runs: the logarithm of a factor.

    Examples
    --------
    >>> old = Run("suite", "", "", "", "", {"dot": {"numba": 2.0, "jax": 3.0, "torch": 4.0}})
    >>> new = Run("suite", "", "", "", "", {"dot": {"numba": 1.0, "jax": 3.0, "torch": 4.0}})
    >>> changes(new, [old])
    {'dot': 0.0}
    """
    found = {}
    for name, row in new.ratios.items():
        of_peers = []
        for peer, ratio in row.items():
            before = [r.ratios[name][peer] for r in old if peer in r.ratios.get(name, {})]
            if before:
                of_peers.append(math.log(ratio / statistics.median(before)))
        if of_peers:
            found[name] = statistics.median(of_peers)
    return found


def spread(differences: Sequence[float]) -> float:
    """Return the standard deviation of single runs, from differences of two.

    From the median, so that what really changed among them does not count.
    """
    if not differences:
        return 0.0
    return 1.4826 * statistics.median([abs(x) for x in differences]) / math.sqrt(2)


@dataclass(frozen=True)
class Verdict:
    """What the newest run of a suite is like, beside earlier ones.

    Parameters
    ----------
    newest, earlier
        The run, and those that it was compared with; too few are not compared with.
    found, allowed
        How each workload changed, and by how much it may fall.
    """

    newest: Run
    earlier: Sequence[Run]
    found: Mapping[str, float]
    allowed: Mapping[str, float]

    @property
    def fallen(self) -> list[str]:
        """The workloads that are worse than they may be, accepted or not."""
        return [name for name, change in self.found.items() if change < -self.allowed[name]]


def judge(runs: Sequence[Run], suite: str) -> Verdict | None:
    """Compare the newest run of a suite with earlier ones; None if it never ran."""
    known = [run for run in runs if run.suite == suite]
    if not known:
        return None
    *before, newest = known
    earlier = [run for run in before if run.processor == newest.processor][-MOST_EARLIER:]
    if len(earlier) < LEAST_EARLIER:
        return Verdict(newest, earlier, {}, {})
    steps = [changes(new, [old]) for old, new in _pairs(before)]
    found = changes(newest, earlier)
    # The median of several is known better than a single run, by about as much as their mean is.
    factor = DEVIATIONS * math.sqrt(1 + 1 / len(earlier))
    of_all = spread([change for step in steps for change in step.values()])
    allowed = {}
    for name in found:
        own = [step[name] for step in steps if name in step]
        of_one = spread(own) if len(own) >= LEAST_CHANGES else 0.0
        allowed[name] = factor * max(of_all, of_one)
    if found:
        of_means = spread([statistics.fmean(step.values()) for step in steps if step])
        found[MEAN] = statistics.fmean(found.values())
        allowed[MEAN] = factor * max(of_all / math.sqrt(len(allowed)), of_means)
    return Verdict(newest, earlier, found, allowed)


def _pairs(runs: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Yield each run with the one before it on that kind of processor."""
    last: dict[str, Run] = {}
    for run in runs:
        if run.processor in last:
            yield last[run.processor], run
        last[run.processor] = run


def verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return what the newest run of each suite is like."""
    suites = dict.fromkeys(run.suite for run in runs)
    return [verdict for suite in suites if (verdict := judge(runs, suite)) is not None]


def regressions(runs: Sequence[Run]) -> list[str]:
    """Return what is worse in the newest run of a suite than it may be, and is not accepted."""
    return [
        f"{verdict.newest.suite}, {name}: the peers' times over Lanewise's fell by "
        f"{-math.expm1(verdict.found[name]):.0%}, of at most "
        f"{-math.expm1(-verdict.allowed[name]):.0%}, at {verdict.newest.commit}"
        for verdict in verdicts(runs)
        for name in verdict.fallen
        if name not in verdict.newest.accepted
    ]


# --- telling --------------------------------------------------------------------------------------


def means(run: Run) -> dict[str, float]:
    """Return the geometric mean over all workloads of each peer's ratio."""
    peers = dict.fromkeys(peer for row in run.ratios.values() for peer in row)
    return {
        peer: statistics.geometric_mean([row[peer] for row in run.ratios.values() if peer in row])
        for peer in peers
    }


def told(verdict: Verdict) -> Iterator[str]:
    """Yield what to say of a verdict."""
    newest, earlier = verdict.newest, verdict.earlier
    head = f"{newest.suite}, {newest.date}, {newest.commit}, {newest.processor}"
    if len(earlier) < LEAST_EARLIER:
        yield f"{head}: not compared: {len(earlier)} of {LEAST_EARLIER} earlier runs there"
        return
    change = f"{math.exp(verdict.found[MEAN]):.2f} times the ratios" if verdict.found else "nothing"
    yield f"{head}: {change} of the {len(earlier)} runs before it there, in the mean"
    for name in verdict.fallen:
        reason = newest.accepted.get(name)
        yield f"  {name}: {math.exp(verdict.found[name]):.2f}" + (f" ({reason})" if reason else "")


def main() -> int:
    """Print all runs, and how the newest compare; return 1 if one is a regression."""
    runs = load(ROOT / PLACE)
    for run in runs:
        ratios = ", ".join(f"{peer} {ratio:.2f}" for peer, ratio in means(run).items())
        print(f"{run.date} {run.commit:9} {run.suite:8} {run.processor}: {ratios}")
    for verdict in verdicts(runs):
        print("\n".join(told(verdict)))
    found = regressions(runs)
    for line in found:
        print(f"regression: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
