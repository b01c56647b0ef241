"""Code that is written for a few numbers and run: what arrays and rules of kernels give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.codegen.arrays import Elements
from lanewise.codegen.builder import Builder
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.kernel import with_parts
from lanewise.codegen.numbers import Number, dtype_of, vecs
from lanewise.codegen.vector import Vec
from support.driver import compile_elementwise

FLOAT = np.dtype(np.float64)


class Writing(Builder):
    """A builder without a kernel around it: conditions of failures are collected."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        with_parts(self)
        self.loops.poll = lambda turns=1: None
        self.failing: list[Vec] = []

    def fail(self, condition: Vec) -> None:
        self.failing.append(condition)

    def row(self, shape: tuple[int, ...], *items: Number) -> Elements:
        """Return an array of numbers in registers."""
        return self.elements(dtype_of(items[0]), shape, list(items))

    def with_failure(self, result: Vec) -> tuple[Vec, Vec]:
        """Return a result, and 1.0 where something has failed."""
        found = self.e.constant("b", False)
        for condition in self.failing:
            found = found | condition
        return result, found.spread_if(result.varying).to("f64")


def run(
    build: Callable[..., Any], *arrays: Any, group: int = 8, dtypes: tuple[Any, ...] | None = None
) -> Any:
    """Return what ``build(k, *numbers)`` gives for the elements of some arrays.

    With ``group=0`` the code is scalar.
    """
    taken = dtypes or tuple([np.asarray(x).dtype for x in arrays])

    def function(*numbers: Number) -> Any:
        e = vecs(numbers[0])[0].e
        k = Writing(e)
        k.loops.in_lanes = group != 0
        return build(k, *numbers)

    return compile_elementwise(function, taken, group)(*arrays)
