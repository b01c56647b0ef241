"""The memory of steady calls of Lanewise, measured in a process of its own.

What counts is how far the process grows over repeated calls beyond its arguments, which are there
before, and the results of one call. That it compiled and warmed up on few examples is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.suite.workload import Workload, leaves

MEBIBYTE = 2**20


def _status(field: str) -> int:
    """Return a field of the process's status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field} in the process's status")


def growth(workload: Workload, examples: int, calls: int = 4) -> tuple[int, int]:
    """Return by how many bytes repeated calls grow this process, and the bytes of one result."""
    few = workload.inputs(max(workload.small, examples // 64))
    call = workload.call(few)
    for _ in range(calls):
        call()
    args = tuple(np.ascontiguousarray(arg) for arg in workload.inputs(examples))
    call = workload.call(args)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _status("VmRSS")
    result_bytes = 0
    for _ in range(calls):
        result_bytes = sum(array.nbytes for array in leaves(call()))
    return _status("VmHWM") - before, result_bytes


def steady_memory(workload: Workload, examples: int) -> float | None:
    """Return the mebibytes of a call beyond arguments and results; None where it cannot be told.

    Parameters
    ----------
    workload
        What to call.
    examples
        On how many examples.

    Returns
    -------
    float or None
        Mebibytes; None on systems without Linux's ``/proc``.
    """
    if not Path("/proc/self/clear_refs").exists():
        return None
    command = [sys.executable, "-m", "benchmarks.suite.memory", workload.name, str(examples)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {workload.name} failed:\n{done.stderr}")
    grown, result_bytes = json.loads(done.stdout)
    return max(0.0, (grown - result_bytes) / MEBIBYTE)


def main() -> None:
    from benchmarks.suite.workloads import workloads

    name, examples = sys.argv[1:]
    os.environ["LANEWISE_BACKEND"] = "native"  # what it compiles is compiled while it warms up
    workload = next(found for found in workloads() if found.name == name)
    print(json.dumps(growth(workload, int(examples))))


if __name__ == "__main__":
    main()
