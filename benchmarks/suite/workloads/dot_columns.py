"""Dot products of 64, with an array for each component: the examples lie along the last axes."""

from __future__ import annotations

from benchmarks.suite.workload import examples_last
from benchmarks.suite.workloads.dot import WORKLOAD as ROWS
from benchmarks.suite.workloads.dot import drjit

WORKLOAD = examples_last(ROWS, 23, drjit)
