"""The command: measures the workloads and prints or writes what was found."""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.suite.measure import Row
    from benchmarks.suite.results import Setting

#: What systems keep on disk would make their first calls look quick. Read when they are imported.
CACHES = {"LANEWISE_CACHE": "0", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}

CAPTION = "How many times as long the peers take as Lanewise, by workload"
DOCS = Path(__file__).parents[2] / "docs"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suite", description="Measure Lanewise beside its peers."
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these workloads")
    parser.add_argument("--peers", metavar="A,B", help="only these; 'none' for Lanewise alone")
    parser.add_argument("--quick", action="store_true", help="batches 16 times smaller, 3 rounds")
    parser.add_argument("--rounds", type=int, help="turns of each system (default 9)")
    parser.add_argument("--no-memory", action="store_true", help="leave out the steady memory")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/benchmarks.md, .svg and .json, and add to history.jsonl",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing: write .md and .svg from .json"
    )
    options = parser.parse_args()
    if options.write and (options.only or options.peers or options.quick):
        parser.error("--write takes all workloads, all peers and the full sizes")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def main() -> None:
    options = parse()
    os.environ.update(CACHES)
    warnings.filterwarnings("ignore", message="dynamo_pgo force disabled")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRJIT_CACHE_DIR"] = folder
        run(options)


def run(options: argparse.Namespace) -> None:
    # Imported now that the environment is set.
    from benchmarks import history
    from benchmarks.suite.measure import LANEWISE, Plan, measure, warm_up
    from benchmarks.suite.memory import steady_memory
    from benchmarks.suite.peers import PEERS
    from benchmarks.suite.report import milliseconds, ratios, report, setting
    from benchmarks.suite.results import load, save
    from benchmarks.suite.workloads import workloads

    chosen = workloads()
    if options.redraw:
        write(*load(DOCS / "benchmarks.json", {workload.name: workload for workload in chosen}))
        return
    names = [workload.name for workload in chosen]
    if options.list:
        print("\n".join(f"{w.number:2} {w.name:14} {w.title}" for w in chosen))
        return
    if unknown := set(options.only or ()) - set(names):
        raise SystemExit(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if options.only:
        chosen = [workload for workload in chosen if workload.name in options.only]
    systems = list(PEERS)
    if options.peers:
        systems = [] if options.peers == "none" else options.peers.split(",")
    if unknown := set(systems) - set(PEERS):
        raise SystemExit(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    for name in systems:
        if reason := PEERS[name].absent():
            print(f"{name} is absent: {reason}")
    warm_up(name for name in systems if PEERS[name].absent() is None)

    plan = Plan(rounds=3, shrink=16) if options.quick else Plan()
    if options.rounds:
        plan = Plan(rounds=options.rounds, shrink=plan.shrink)
    rows = []
    for workload in chosen:
        row = measure(workload, systems, plan)
        own = row.timings.get(LANEWISE)
        if own and own.factor == 1 and not options.no_memory:
            row.memory = steady_memory(workload, own.examples)
        rows.append(row)
        found = (f"{name} {milliseconds(t.lowest)}" for name, t in row.timings.items())
        print(f"{workload.name}: {', '.join(found)}", flush=True)
    here = setting(systems)
    text = report(rows, here)
    if plan.shrink > 1:
        text = f"Batches are {plan.shrink} times smaller than the titles say.\n\n{text}"
    print(f"\n{text}")
    if options.write:
        save(DOCS / "benchmarks.json", rows, here)
        write(rows, here)
        history.add("suite", here.machine, here.versions, ratios(rows))


def write(rows: Sequence[Row], setting: Setting) -> None:
    """Write the page's section and the chart."""
    from benchmarks.suite.chart import chart
    from benchmarks.suite.report import AGAINST, geometric_mean, report, write_section

    text = report(rows, setting)
    write_section(DOCS / "benchmarks.md", f"![{CAPTION}](benchmarks.svg)\n\n{text}")
    counted = [row for row in rows if not row.workload.held_out]
    means = []
    for title in ("the best peer of each", "JAX", "hand-written Numba"):
        mean, count = geometric_mean(counted, AGAINST[title])
        if count:
            means.append(f"{mean:.2f} times {title}")
    intro = [f"geometric means: {', '.join(means)}"] if means else []
    lines = [setting.machine, setting.versions]
    (DOCS / "benchmarks.svg").write_text(chart(rows, intro, lines))


if __name__ == "__main__":
    main()
