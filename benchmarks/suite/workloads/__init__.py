"""The workloads, a file each: whatever file here defines ``WORKLOAD`` is measured."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.suite.workload import Workload


def workloads() -> list[Workload]:
    """Return the workloads of this folder in the order of their numbers."""
    names = [f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__)]
    return sorted(
        (importlib.import_module(name).WORKLOAD for name in names), key=lambda w: w.number
    )
