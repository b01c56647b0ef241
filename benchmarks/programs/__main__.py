"""The command: measures the programs and prints or writes what was found."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BEGIN = "<!-- begin: written by make bench-programs -->"
END = "<!-- end: written by make bench-programs -->"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.programs",
        description="Measure plain NumPy programs under lw.function, and beside Numba.",
    )
    parser.add_argument("only", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (default 9)")
    parser.add_argument("--scale", type=float, default=1.0, help="of linear sizes (default 1)")
    parser.add_argument(
        "--write", action="store_true", help="write docs/benchmarks.md, and add to history.jsonl"
    )
    options = parser.parse_args()
    if options.write and (options.only or options.scale != 1):
        parser.error("--write takes all programs at their full sizes")
    if options.rounds < 1 or options.scale <= 0:
        parser.error("--rounds: at least 1; --scale: more than 0")
    return options


def main() -> None:
    options = parse()
    os.environ["LANEWISE_CACHE"] = "0"  # what is kept on disk would make first calls look quick
    from benchmarks import history
    from benchmarks.programs import programs
    from benchmarks.programs.run import measure, ratios, report
    from benchmarks.suite.measure import Plan, warm_up
    from benchmarks.suite.peers import PEERS
    from benchmarks.suite.report import machine, milliseconds, versions, write_section

    chosen = programs()
    names = [program.name for program in chosen]
    if unknown := set(options.only) - set(names):
        raise SystemExit(f"no program {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    peers = [name for name in ("numba",) if PEERS[name].absent() is None]
    warm_up(peers)
    plan = Plan(rounds=options.rounds, seconds=2.0)
    rows = []
    for program in chosen:
        if options.only and program.name not in options.only:
            continue
        rows.append(measure(program, plan, options.scale))
        found = (f"{name} {milliseconds(t.lowest)}" for name, t in rows[-1].timings.items())
        print(f"{program.name}: {', '.join(found)}", flush=True)
    here, those = machine(), versions(peers)
    text = f"{here}. {those}. Milliseconds, the fastest of several turns.\n\n"
    text += report(rows)
    print(f"\n{text}")
    if options.write:
        write_section(DOCS / "benchmarks.md", text, BEGIN, END)
        history.add("programs", here, those, ratios(rows))


if __name__ == "__main__":
    main()
