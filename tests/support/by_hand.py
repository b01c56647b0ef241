"""Graphs built by hand, of primitives: control flow with functions for its regions."""

from __future__ import annotations

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph, building
from lanewise.ir.types import array_type
from lanewise.ops.control import cond, scan, while_
from lanewise.ops.creation import constant
from lanewise.ops.elementwise import elementwise
from lanewise.ops.indexing import scatter
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.interpret import Plan

F8, I8, B1 = np.dtype("f8"), np.dtype("i8"), np.dtype("?")
FLOAT, INT = array_type(F8, ()), array_type(I8, ())
N = Dim.symbol("n")


def number(value, dtype=None):
    array = np.asarray(value, dtype)
    return constant(data=array.tobytes(), type=array_type(array.dtype, array.shape))


def calls(fn):
    primitive = elementwise(fn)

    def call(*operands):
        return primitive(*[x if hasattr(x, "type") else number(x) for x in operands])

    return call


add, sub, mul, div, mod, floordiv, less, greater, equal, log, negative = map(
    calls,
    (np.add, np.subtract, np.multiply, np.divide, np.remainder, np.floor_divide, np.less,
     np.greater, np.equal, np.log, np.negative),
)  # fmt: skip


def graph_of(function, *types) -> Graph:
    """Return the graph of a function of values that calls primitives."""
    builder = Builder()
    inputs = [builder.input(type) for type in types]
    with building(builder):
        outputs = function(*inputs)
    return builder.finish(outputs if isinstance(outputs, (tuple, list)) else [outputs])


def results(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def region(function, operands):
    return graph_of(function, *[value.type for value in operands])


def if_(pred, true, false, *operands):
    return cond(pred, *operands, regions=(region(true, operands), region(false, operands)))


def loop(test, body, *operands, captures=0):
    regions = (region(test, operands), region(body, operands))
    return while_(*operands, regions=regions, captures=captures)


def for_(body, length, *operands, captures=0, carry=0, reverse=False):
    slices = [
        array_type(x.type.dtype, x.type.shape[1:]) if i >= captures + carry else x.type
        for i, x in enumerate(operands)
    ]
    return scan(
        *operands,
        regions=(graph_of(body, *slices),),
        captures=captures,
        carry=carry,
        length=length,
        reverse=reverse,
    )


def mapped(function, *types, in_dims=None) -> Graph:
    """Return the graph of a function mapped over n examples."""
    in_dims = in_dims or (0,) * len(types)
    body = graph_of(function, *types)
    builder = Builder()
    operands = [
        builder.input(t if axis is None else array_type(t.dtype, (N, *t.shape)))
        for t, axis in zip(types, in_dims, strict=True)
    ]
    params = {
        "size": N, "in_dims": in_dims, "out_mapped": (True,) * len(body.outputs),
        "order": "parallel", "chunk": None, "fallback": True, "fastmath": False, "columns": (),
    }  # fmt: skip
    return builder.finish(builder.emit(map_, tuple(operands), params, (body,)))


def run(graph, *arguments):
    return Plan(lower(graph))(*arguments)


def alone(function, *types):
    """Return the plan of the function for one example."""
    return Plan(lower(graph_of(function, *types)))


def set_at(x, i, v, fn=None):
    return scatter(x, v, i, axis=0, fn=fn)
