"""What was measured, as a file: the page and the chart can be made again without measuring.

`docs/benchmarks.json` holds the machine, the versions, and for each workload the milliseconds of
each turn of each system.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.suite.measure import Row, Timing
from benchmarks.suite.workload import Workload


@dataclass(frozen=True)
class Setting:
    """What a measurement was made on and with.

    Parameters
    ----------
    machine
        The processor, its cores, and Python's version.
    versions
        Those of Lanewise, NumPy and the peers.
    systems
        The peers that were asked for.
    """

    machine: str
    versions: str
    systems: tuple[str, ...]


def save(path: Path, rows: Sequence[Row], setting: Setting) -> None:
    """Write what was measured."""
    found = {
        row.workload.name: {
            "timings": {name: asdict(timing) for name, timing in row.timings.items()},
            "missing": row.missing,
            "memory": row.memory,
        }
        for row in rows
    }
    path.write_text(json.dumps({**asdict(setting), "workloads": found}, indent=1) + "\n")


def load(path: Path, workloads: Mapping[str, Workload]) -> tuple[list[Row], Setting]:
    """Read what was measured.

    Parameters
    ----------
    path
        What `save` wrote.
    workloads
        The workloads there are, by name. Those that are no more are left out.
    """
    found = json.loads(path.read_text())
    rows = [
        Row(
            workloads[name],
            {system: Timing(**timing) for system, timing in row["timings"].items()},
            row["missing"],
            row["memory"],
        )
        for name, row in found["workloads"].items()
        if name in workloads
    ]
    return rows, Setting(found["machine"], found["versions"], tuple(found["systems"]))
