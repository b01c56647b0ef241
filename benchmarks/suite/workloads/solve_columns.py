"""General solves, with an array for each component: the examples lie along the last axes."""

from __future__ import annotations

from benchmarks.suite.workload import examples_last
from benchmarks.suite.workloads.solve import WORKLOAD as ROWS
from benchmarks.suite.workloads.solve import drjit

WORKLOAD = examples_last(ROWS, 25, drjit)
