"""Operations that say themselves how they are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.graph import Graph
from lanewise.ops.derivatives import flat, linear
from lanewise.ops.registry import Batch, absent, leading_axes, op, sample

# --- x as it is -----------------------------------------------------------------------------------


def _same(x):
    return x


def _in_lanes(k, types, x):
    return x


def _cotangent(d, ct, x):
    return ct


_SAMPLES = (sample((2, 3)), sample(np.array([1 + 2j])))


@op
class stop_gradient:
    """x as it is, and constant to derivatives."""

    conditions = ""
    may_fail = False

    type = numpy = _same
    batch, lanes = leading_axes, _in_lanes
    jvp = flat
    samples = _SAMPLES


@op
class again:
    """x as it is. What is computed of it is not the same to passes as what is computed of x.

    So what is computed again to save memory is not merged with what was computed first.
    """

    may_fail = False

    type = numpy = _same
    batch, lanes = leading_axes, _in_lanes
    jvp, transposed = linear(0), _cotangent
    samples = _SAMPLES


@op
class assigned:
    """x as it is, once it is the value of a variable: where a tape stops (`api/tape.py`)."""

    may_fail = False

    type = numpy = _same
    batch, lanes = leading_axes, _in_lanes
    jvp, transposed = linear(0), _cotangent
    samples = _SAMPLES


# --- regions that take the place of an operation --------------------------------------------------


@op
class custom:
    """The first region's results, differentiated by the other regions.

    With `residuals` None there is one other region: it takes the operands, then a tangent for each
    that is differentiable, and gives a tangent for each differentiable result. Else there are two:
    one gives the results, then so many residuals; the other takes those and a cotangent for each
    differentiable result, and gives one for each differentiable operand. If `residuals` is a
    function, it gives the other regions, for the types of the operands, when a derivative is taken.

    What runs is the first region in its place (`passes/inline.py`).
    """

    instead = ". Files hold no Python code: let the rule compute without calling its own function"

    def type(*operands: Any, regions: tuple[Graph, ...], residuals: Any) -> Any:
        return tuple([value.type for value in regions[0].outputs])

    numpy = absent("its region takes its place before it runs")
    batch = absent("its region takes its place before it is mapped")
    lanes = absent("its region takes its place before it is compiled")
    samples = absent("it holds regions; tests/derivatives covers it")


@op
class custom_linear:
    """A linear function of tangents that is known by its transpose, and perhaps by itself.

    The operands are residuals, then tangents. The first region takes the residuals and cotangents;
    a second one, if there is one, takes the operands and gives the results.
    """

    def type(*operands: Any, regions: tuple[Graph, ...], types: tuple[Any, ...]) -> Any:
        return types

    numpy = absent("a region takes its place before it runs")
    batch = absent("a region takes its place before it is mapped")
    lanes = absent("a region takes its place before it is compiled")
    samples = absent("it holds regions; tests/derivatives covers it")


@op
class checkpoint:
    """The region's results, of which derivatives keep nothing but the operands.

    What runs is the region in its place (`passes/inline.py`).
    """

    def type(*operands: Any, regions: tuple[Graph, ...]) -> Any:
        return tuple([value.type for value in regions[0].outputs])

    numpy = absent("its region takes its place before it runs")
    batch = absent("its region takes its place before it is mapped")
    lanes = absent("its region takes its place before it is compiled")
    jvp = absent("it holds a region; see transforms/checkpoint.py")
    samples = absent("it holds a region; tests/derivatives covers it")


@op
class custom_vmap:
    """The region's results, which ``owner`` computes for a whole batch in its own way.

    ``owner.batched(batch, region, operands)`` records that, where it is mapped. Elsewhere the
    region takes its place.
    """

    sees_batch = True
    instead = ". Files hold no Python code: save the function without its rule for batches"

    def type(*operands: Any, regions: tuple[Graph, ...], owner: Any) -> Any:
        return tuple([value.type for value in regions[0].outputs])

    numpy = absent("its region takes its place before it runs")

    def batch(b: Batch, *operands: Any, regions: tuple[Graph, ...], owner: Any):
        return owner.batched(b, regions[0], operands)

    lanes = absent("it has a batching rule of its own (lw.custom_vmap)")
    jvp = absent("it holds a region; see transforms/custom.py")
    samples = absent("it holds a region; tests/derivatives covers it")


#: Operations of which a region takes the place before they run: which one.
INLINED = {custom: 0, custom_linear: 1, checkpoint: 0}
#: ... and those of which one does once all maps are lowered.
LEFT = {custom_vmap: 0}
#: All of these: passes leave them as they are.
WHOLE = (*INLINED, *LEFT)
