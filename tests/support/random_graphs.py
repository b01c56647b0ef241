"""Random graphs with control flow in maps in control flow, for tests of lowering and running."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph, Value, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import cond, scan, switch, while_
from lanewise.ops.creation import constant
from lanewise.ops.elementwise import elementwise
from lanewise.ops.regions import batched_type, map_

FLOAT = array_type(np.dtype("f8"), ())
VECTOR = array_type(np.dtype("f8"), (3,))
INTEGER = array_type(np.dtype("i8"), ())
TRUTH = array_type(np.dtype(bool), ())
TYPES = (FLOAT, VECTOR, INTEGER)


def random_graph(
    seed: int, depth: int = 3, length: int = 3, counts: Sequence[int] = (0, 1, 4, 7)
) -> tuple[Graph, list[Any]]:
    """Return a graph that maps a random function over a batch, and arguments for it.

    Vectors have `length` elements, and the batch one of `counts` examples.
    """
    rng = random.Random(seed)
    size = Dim.symbol("batch")
    writer = _Writer(rng, depth, length)
    types = [rng.choice(writer.types) for _ in range(4)]
    mapped = [True, True, *rng.choices((True, False), k=2)]
    builder = Builder()
    operands = [
        builder.input(batched_type(type, size) if m else type)
        for type, m in zip(types, mapped, strict=True)
    ]
    wanted = [rng.choice(writer.types) for _ in range(3)]
    region = writer.region(types, wanted)
    params = {"size": size, "in_dims": tuple([0 if m else None for m in mapped]),
              "out_mapped": (True,) * 3, "order": "parallel", "chunk": None,
              "fallback": True, "fastmath": False, "columns": ()}  # fmt: skip
    if rng.random() < 0.15:
        params["chunk"] = 2
    elif rng.random() < 0.15:
        params["order"] = "sequential"
    results = builder.emit(map_, tuple(operands), map_.complete(params), (region,))
    data = np.random.default_rng(seed)
    count = rng.choice(counts)
    arguments = [
        data.integers(-4, 5, shape) if type is INTEGER else data.normal(size=shape)
        for type, m in zip(types, mapped, strict=True)
        for shape in [((count,) if m else ()) + type.shape]
    ]
    return builder.finish(results), arguments


class _Writer:
    """Writes operations into the current builder, at random."""

    def __init__(self, rng: random.Random, depth: int, length: int = 3) -> None:
        self.rng = rng
        self.depth = depth
        self.length = length
        self.vector = array_type(VECTOR.dtype, (length,))
        self.types = (FLOAT, self.vector, INTEGER)

    def region(self, types: Sequence[ArrayType], wanted: Sequence[ArrayType]) -> Graph:
        """Return a region that takes and gives values of these types."""
        with building(Builder()) as builder:
            values = [builder.input(type) for type in types] or [self.literal(FLOAT)]
            for _ in range(self.rng.randint(1, 4)):
                self.step(values)
            return builder.finish([self.pick(values, type) for type in wanted])

    def pick(self, values: list[Value], type: ArrayType) -> Value:
        """Return a value of a type: one that is there, most often a late one, or a constant."""
        found = [value for value in values if value.type is type]
        if found and self.rng.random() < 0.9:
            return found[-1] if self.rng.random() < 0.7 else self.rng.choice(found)
        if type is TRUTH:
            return self.compare(values)
        return self.literal(type)

    def literal(self, type: ArrayType) -> Value:
        number = self.rng.randint(-2, 3) if type is INTEGER else self.rng.choice((0.0, 0.5, -1.0))
        return constant(data=np.full(type.shape, number, type.dtype).tobytes(), type=type)

    def call(self, name: str, *operands: Value) -> Value:
        return elementwise(getattr(np, name))(*operands, dtype=None)

    def compare(self, values: list[Value]) -> Value:
        type = self.rng.choice((FLOAT, INTEGER))
        name = self.rng.choice(("less", "greater", "not_equal"))
        return self.call(name, self.pick(values, type), self.pick(values, type))

    def small(self, values: list[Value], count: int) -> Value:
        """Return an integer from 0 to ``count - 1``."""
        number = np.array(count).tobytes()
        return self.call("remainder", self.pick(values, INTEGER),
                         constant(data=number, type=INTEGER))  # fmt: skip

    def some(self, values: list[Value]) -> list[Value]:
        return self.rng.choices(values, k=self.rng.randint(0, 4))

    def step(self, values: list[Value]) -> None:
        """Write one operation, or one with regions."""
        simple = (self.arithmetic, self.arithmetic, self.compare_and_keep)
        nested = (self.branch, self.branch, self.choice, self.loop, self.loop, self.walk, self.each)
        if self.depth and self.rng.random() < 0.6:
            self.depth -= 1
            values += self.rng.choice(nested)(values)
            self.depth += 1
        else:
            values += self.rng.choice(simple)(values)

    def arithmetic(self, values: list[Value]) -> list[Value]:
        type = self.rng.choice(self.types)
        first, second = self.pick(values, type), self.pick(values, type)
        if type is INTEGER:
            name = self.rng.choice(("add", "subtract", "maximum"))
            result = self.call(name, first, second)
            nine = constant(data=np.array(9).tobytes(), type=INTEGER)
            return [self.call("remainder", result, nine)]
        if type is self.vector and self.rng.random() < 0.3:
            second = self.pick(values, FLOAT)
        name = self.rng.choice(("add", "subtract", "multiply", "maximum"))
        return [self.call("sin", self.call(name, first, second))]

    def compare_and_keep(self, values: list[Value]) -> list[Value]:
        return [self.compare(values)]

    def branch(self, values: list[Value]) -> list[Value]:
        operands, wanted = self.some(values), self.rng.choices(self.types, k=self.rng.randint(1, 3))
        types = [value.type for value in operands]
        regions = self.region(types, wanted), self.region(types, wanted)
        return _several(cond(self.pick(values, TRUTH), *operands, regions=regions))

    def choice(self, values: list[Value]) -> list[Value]:
        operands, wanted = self.some(values), self.rng.choices(self.types, k=self.rng.randint(1, 2))
        types = [value.type for value in operands]
        regions = tuple([self.region(types, wanted) for _ in range(self.rng.randint(1, 3))])
        index = self.small(values, len(regions))
        return _several(switch(index, *operands, regions=regions))

    def loop(self, values: list[Value]) -> list[Value]:
        """Write a loop of at most three turns: the limit is a capture, the turn is counted."""
        captures = [self.small(values, 4), *self.some(values)]
        zero = constant(data=np.array(0).tobytes(), type=INTEGER)
        carry = [zero, *self.rng.choices(values, k=self.rng.randint(1, 3))]
        operands = [*captures, *carry]
        with building(Builder()) as builder:
            inputs = [builder.input(value.type) for value in operands]
            answer = self.call("less", inputs[len(captures)], inputs[0])
            if self.rng.random() < 0.3:
                answer = self.call("logical_and", answer, self.compare(inputs))
            test = builder.finish([answer])
        with building(Builder()) as builder:
            inputs = [builder.input(value.type) for value in operands]
            one = constant(data=np.array(1).tobytes(), type=INTEGER)
            turn = self.call("add", inputs[len(captures)], one)
            inner = list(inputs)
            for _ in range(self.rng.randint(1, 3)):
                self.step(inner)
            body = builder.finish([turn, *[self.pick(inner, v.type) for v in carry[1:]]])
        return _several(while_(*operands, regions=(test, body), captures=len(captures)))

    def walk(self, values: list[Value]) -> list[Value]:
        """Write a scan along one or two vectors."""
        captures = self.some(values)
        carry = self.rng.choices(values, k=self.rng.randint(0, 2))
        xs = [self.pick(values, self.vector) for _ in range(self.rng.randint(0, 2))]
        ys = [FLOAT, self.rng.choice(self.types)][: self.rng.randint(0 if carry else 1, 2)]
        types = [*[value.type for value in (*captures, *carry)], *[FLOAT] * len(xs)]
        body = self.region(types, [*[value.type for value in carry], *ys])
        return _several(
            scan(*captures, *carry, *xs, regions=(body,), captures=len(captures),
                 carry=len(carry), length=self.length, reverse=self.rng.random() < 0.3)
        )  # fmt: skip

    def each(self, values: list[Value]) -> list[Value]:
        """Write a map over a few examples."""
        operands = [self.pick(values, self.vector), *self.some(values)]
        in_dims = [0 if v.type is self.vector and (not i or self.rng.random() < 0.5) else None
                   for i, v in enumerate(operands)]  # fmt: skip
        types = [FLOAT if axis == 0 else value.type
                 for value, axis in zip(operands, in_dims, strict=True)]  # fmt: skip
        region = self.region(types, [FLOAT, self.rng.choice(self.types)])
        order = self.rng.choice(("parallel", "parallel", "parallel", "sequential"))
        chunk = 2 if order == "parallel" and self.rng.random() < 0.2 else None
        return _several(
            map_(*operands, regions=(region,), size=self.length, in_dims=tuple(in_dims),
                 out_mapped=(True, True), order=order, chunk=chunk)
        )  # fmt: skip


def _several(results: Any) -> list[Value]:
    return list(results) if isinstance(results, tuple) else [results]
