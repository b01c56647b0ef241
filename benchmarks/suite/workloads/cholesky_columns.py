"""Cholesky solves, with an array for each component: the examples lie along the last axes."""

from __future__ import annotations

from benchmarks.suite.workload import examples_last
from benchmarks.suite.workloads.cholesky import WORKLOAD as ROWS
from benchmarks.suite.workloads.cholesky import drjit

WORKLOAD = examples_last(ROWS, 24, drjit)
