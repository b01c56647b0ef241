"""What operations say of themselves is so: each fact against NumPy, and against their kernels.

Nothing here names an operation: a new one is tested as soon as it is defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.kernel import write
from lanewise.ir.graph import Builder, Graph, Operation
from lanewise.ops.facts import Kind, ask, is_moved, is_quiet, may_fail
from lanewise.ops.registry import Absent, Primitive, Sample, op
from ops.test_registry import CASES, assert_close, every_sample, reference, type_of

FLOATS = [np.nan, np.inf, 0.0, -np.inf, -0.0, 1.5]


def recorded(primitive: Primitive, case: Sample) -> Operation:
    return graph_of(primitive, case).operations[0]


def graph_of(primitive: Primitive, case: Sample) -> Graph:
    builder = Builder()
    values = [builder.input(type_of(x)) for x in case.operands]
    return builder.finish(builder.emit(primitive, values, primitive.complete(case.params)))


def nasty(x: np.ndarray, shift: int) -> np.ndarray:
    """Return an array of a type with the numbers that things go wrong with."""
    if x.dtype.kind in "fc":
        info = np.finfo(x.dtype)
        values = np.array([*FLOATS, info.max, info.tiny]).astype(x.dtype)
    elif x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        values = np.array([limits.min, limits.max, 0, 1, 7], x.dtype)
    else:
        values = np.array([True, False])
    return np.resize(np.roll(values, shift), x.shape)


def nasty_operands(case: Sample) -> Iterator[tuple[np.ndarray, ...]]:
    for shift in range(8):
        yield tuple([nasty(x, shift * (1 + i)) for i, x in enumerate(case.operands)])


def run(primitive: Primitive, operands: tuple[np.ndarray, ...], case: Sample) -> tuple[Any, ...]:
    return reference(primitive, operands, case.params)


@every_sample
def test_what_may_not_fail_does_not(primitive, case):
    if may_fail(recorded(primitive, case)):
        return
    for operands in nasty_operands(case):
        run(primitive, operands, case)


@every_sample
def test_what_is_quiet_is(primitive, case):
    operation = recorded(primitive, case)
    row = primitive.row
    if not is_quiet(operation) or may_fail(operation):
        return
    for operands in nasty_operands(case):
        if row is not None and row.divides:  # of which `select` looks at the divisor
            operands = (operands[0], np.full_like(operands[1], 3))
        arrays = [np.atleast_1d(x) for x in operands] if row is not None else operands
        with np.errstate(all="raise"):
            primitive.numpy(*arrays, **primitive.complete(case.params))


@every_sample
def test_what_allocates_has_memory_of_its_own(primitive, case):
    results = run(primitive, case.operands, case)
    if ask(primitive.allocates, recorded(primitive, case)):
        assert not any(np.shares_memory(y, x) for y in results for x in case.operands)
    if primitive.kind is Kind.VIEW and np.size(results[0]) and not primitive.shares:
        assert not results[0].flags.writeable


@every_sample
def test_what_moves_gives_what_there_was(primitive, case):
    if primitive.kind not in (Kind.VIEW, Kind.LOOKUP):
        return
    (result,) = run(primitive, case.operands, case)
    assert set(np.ravel(result)) <= set(np.ravel(case.operands[0]))
    assert primitive.flops == 0


@every_sample
def test_elements_are_computed_one_by_one(primitive, case):
    if primitive.kind is not Kind.ELEMENTWISE or primitive.shares:
        return  # what is checked is what it was, and a truth value may be about a whole row
    results = run(primitive, case.operands, case)
    shape = np.shape(results[0])
    given = [np.broadcast_to(x, shape) for x in case.operands]
    for place in list(np.ndindex(shape))[:4]:
        alone = run(primitive, tuple([np.asarray(x[place]) for x in given]), case)
        assert_close(alone, [np.asarray(y)[place] for y in results])


@every_sample
def test_what_stands_before_its_axis_is_apart(primitive, case):
    if primitive.along is None:
        return
    axis = primitive.along
    axis = case.params[axis] if isinstance(axis, str) else axis % case.operands[0].ndim
    if not axis or not case.operands[0].shape[0]:
        return
    whole = run(primitive, case.operands, case)
    for i in range(case.operands[0].shape[0]):
        part = run(primitive, tuple([x[i : i + 1] for x in case.operands]), case)
        assert_close(part, [y[i : i + 1] for y in whole])


@every_sample
def test_what_is_put_in_can_be_taken(primitive, case):
    if primitive.takes is None or case.params.get("fn") is not None:
        return
    whole, values, *places = case.operands
    (changed,) = run(primitive, case.operands, case)
    params = {name: x for name, x in case.params.items() if name != "fn"}
    (taken,) = reference(primitive.takes, [changed, *places], params)
    np.testing.assert_array_equal(taken, np.broadcast_to(values, taken.shape))
    assert primitive.kind is Kind.UPDATE and changed.shape == whole.shape


@every_sample
def test_kernels_fail_only_of_what_may_fail(primitive, case):
    if isinstance(primitive.lanes, Absent) or not case.operands:
        return
    graph = graph_of(primitive, case)
    try:
        kernel = write(graph, [0] * len(case.operands))
    except CannotCompile:
        return
    assert not kernel.may_fail or may_fail(graph.operations[0])


@every_sample
def test_facts_agree(primitive, case):
    operation = recorded(primitive, case)
    assert not primitive.takes or primitive.takes.step is None or primitive.kind is Kind.UPDATE
    assert not is_moved(operation) or (
        not may_fail(operation) and ask(primitive.flops, operation) == 0
    )
    assert max(primitive.reads_at_data, default=-1) < len(case.operands)
    for price in (primitive.instructions, primitive.products, primitive.flops):
        assert ask(price, operation) >= 0


def test_there_are_samples_of_each_kind():
    known = {primitive.kind for param in CASES for primitive in [param.values[0]]}
    assert known >= set(Kind) - {Kind.LISTS, Kind.STORE, Kind.SOURCE}


def test_what_is_misspelt_is_refused():
    rules = dict.fromkeys(("type", "numpy", "batch"), lambda x: x)
    strange = type(
        "strange", (), {"__doc__": "Strange.", **rules, "samples": (), "may_fial": False}
    )
    with pytest.raises(TypeError, match="may_fial of the primitive strange is no rule or fact"):
        op(strange)
