"""The benchmark suite: Lanewise beside its peers, all in one process, results checked.

``python -m benchmarks.suite`` prints the tables; ``make bench`` also writes ``docs/benchmarks.md``
and its chart. A workload is a file of ``workloads/``: the function of one example in plain NumPy,
which is what Lanewise maps, and the best idiomatic version of the batch for each peer.
"""
