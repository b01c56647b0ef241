"""The command: draws programs, measures them, and tells the share that breaks a bound."""

from __future__ import annotations

import argparse
import os

from benchmarks.cliffs.forms import program
from benchmarks.cliffs.measure import MODES, measured
from benchmarks.suite.report import machine


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cliffs",
        description="Draw ordinary programs, and find those that are slower than plain Python.",
    )
    parser.add_argument("--seed", default="1", help="what programs are drawn from (default 1)")
    parser.add_argument("--programs", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default 0)")
    parser.add_argument("--modes", nargs="*", default=[*MODES], choices=[*MODES])
    options = parser.parse_args()
    os.environ["LANEWISE_CACHE"] = "0"  # what is kept on disk would make first calls look quick
    count = broken = 0
    for number in range(options.first, options.first + options.programs):
        seed = f"{options.seed}:{number}"
        mode = options.modes[number % len(options.modes)]
        found = measured(seed, mode)
        count += 1
        broken += bool(found.broken)
        ratio = found.steady / found.plain
        told = f"{1e3 * found.plain:9.3f} ms, {ratio:7.2f} x  {', '.join(found.broken)}"
        print(f"{seed:>8} {mode:4} {program(seed)[0]:24} {told}", flush=True)
    print(f"\n{broken} of {count} programs break a bound ({broken / count:.0%}). {machine()}.")


if __name__ == "__main__":
    main()
