"""What the steps before code generation are told by it."""

from __future__ import annotations

from functools import partial

import numpy as np

import lanewise as lw
from lanewise.codegen.partition import partition
from lanewise.passes.batches import has_kernels
from lanewise.passes.pipeline import outlined


def test_what_is_left_to_numpy_is_reported():
    def func(x):
        return np.linalg.eigvals(x @ x).real + np.exp(x).sum()

    graph = lw.function(lw.vmap(func)).get_concrete_function(np.ones((5, 2, 2))).graph
    left = []
    assert has_kernels(outlined(graph, partial(partition, report=left.append)))
    assert [refused.place.primitive.name for refused in left] == ["eigvals"]
