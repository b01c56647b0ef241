"""Runs random programs in all modes for some time, shrinks what differs, and keeps it.

    python -m tests.fuzz --seconds 3600 --seed 7 --jobs 2
    python -m tests.fuzz --program 7:1234              # that program again, shrunk

A line for each difference, and at the end how many programs ran, in how many modes, and what share
was refused. What differs is written to tests/fuzz/found/ with ``--keep``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
os.environ.setdefault("LANEWISE_CACHE", "0")
os.environ.setdefault("LANEWISE_STRICT", "1")

import numpy as np  # noqa: E402

from fuzz import keeping, programs, running, shrinking  # noqa: E402

#: Programs that one process runs.
TOGETHER = 200
#: Modes that each program runs in.
MODES = 3


def modes_of(name: str, source: str) -> list[str]:
    """Return the modes that a program runs in: the same for each run."""
    draw = random.Random(f"modes {name}")
    has_effects = any(word in source for word in ("print(", "warnings.warn", "log.append"))
    known = {m: weight for m, (weight, exact) in running.MODES.items() if exact or not has_effects}
    found: list[str] = []
    while len(found) < MODES:
        mode = draw.choices(list(known), list(known.values()))[0]
        if mode not in found:
            found.append(mode)
    return found


def one(name: str, features: frozenset[str], counts: Counter[str]) -> list[tuple[Any, Any]]:
    """Run one program; return what differs."""
    example = programs.example(name, features)
    differences = []
    case = running.Compared(example)
    for mode in modes_of(name, example.source):
        status, found = case.mode(mode)
        counts[status] += 1
        if status == "refused" and found is not None:
            counts["refused: " + pattern(found.detail)] += 1
        elif found is not None:
            differences.append((example, found))
    case.close()
    return differences


def pattern(text: str) -> str:
    """Return a message without names, numbers and places."""
    first = text.splitlines()[0] if text else ""
    return re.sub(r"\(<fuzz.*|'[^']*'|\d+", "_", first)[:90]


def work(arguments: Any) -> None:
    """Run programs one after the other, and print a line of JSON for each that differs."""
    warnings.simplefilter("ignore")
    features = frozenset(arguments.features)
    counts: Counter[str] = Counter()
    end = time.monotonic() + arguments.seconds
    for number in range(arguments.first, arguments.first + arguments.programs):
        if time.monotonic() > end:
            break
        name = f"{arguments.seed}:{number}"
        print(json.dumps({"at": name}), flush=True)
        for _, found in one(name, features, counts):
            row = {"name": name, "mode": found.mode, "what": found.what, "detail": found.detail}
            print(json.dumps(row), flush=True)
        counts["programs"] += 1
    print(json.dumps({"counts": counts}), flush=True)


def again(arguments: Any) -> int:
    """Run one program again, and show what differs as small as it can be."""
    example = programs.example(arguments.program, frozenset(arguments.features))
    if arguments.show:
        print(example.source, example.arrays, example.layouts)
    counts: Counter[str] = Counter()
    differences = one(arguments.program, frozenset(arguments.features), counts)
    for whole, found in differences[:1]:
        small = shrinking.shrunk(whole, found)
        _, found = running.compared(found.mode, small)
        assert found is not None
        text = keeping.text(small, found, arguments.program)
        print(text)
        if arguments.keep:
            path = TESTS / "fuzz" / "found" / f"{arguments.keep}.py"
            path.write_text(text, encoding="utf-8")
    print(dict(counts))
    return len(differences)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="the first program")
    parser.add_argument("--programs", type=int, default=1 << 60, help="how many at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long at most")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--program", help="run the program of this name alone, and shrink it")
    parser.add_argument("--show", action="store_true", help="print it before")
    parser.add_argument("--keep", help="keep it in tests/fuzz/found/ under this name")
    parser.add_argument("--features", nargs="*", default=list(programs.FEATURES))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    if arguments.program:
        return min(again(arguments), 1)
    start = time.monotonic()
    counts: Counter[str] = Counter()
    differences = []
    running_: list[tuple[Any, int]] = []
    first, last = arguments.first, arguments.first + arguments.programs
    while running_ or (first < last and time.monotonic() - start < arguments.seconds):
        while (
            len(running_) < arguments.jobs
            and first < last
            and time.monotonic() - start < arguments.seconds
        ):
            count = min(TOGETHER, last - first)
            command = [sys.executable, "-m", "tests.fuzz", "--worker", "--seed", arguments.seed]
            command += ["--first", str(first), "--programs", str(count)]
            left = arguments.seconds - (time.monotonic() - start)
            command += ["--seconds", str(left), "--features", *arguments.features]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent)
            running_.append((process, first))
            first += count
        process, _ = running_.pop(0)
        at = None
        for line in process.stdout:
            row = json.loads(line)
            at = row.get("at", at)
            counts.update(row.get("counts", {}))
            if "mode" in row:
                differences.append(row)
                detail = " ".join(row["detail"].split())[:160]
                print(f"{row['name']} {row['mode']}: {row['what']}: {detail}", flush=True)
        if process.wait():
            differences.append({"name": at, "what": "the process ended"})
            print(f"{at}: the process ended with {process.returncode}", flush=True)
    seconds = time.monotonic() - start
    told = {name: n for name, n in counts.items() if not name.startswith("refused: ")}
    runs = sum(told.get(s, 0) for s in ("same", "raised", "unused", "refused", "differs")) or 1
    print(
        f"seed {arguments.seed}: {counts['programs']:,} programs in {seconds:.0f} s, "
        f"{runs:,} runs: "
        f"{told}; {100 * told.get('refused', 0) / runs:.1f} % refused by name; "
        f"{len(differences)} differences in {len({row['name'] for row in differences})} programs"
    )
    for name, n in counts.most_common(60):
        if name.startswith("refused: "):
            print(f"  {n:6} {name.removeprefix('refused: ')}")
    return min(len(differences), 1)


assert np
if __name__ == "__main__":
    sys.exit(main())
