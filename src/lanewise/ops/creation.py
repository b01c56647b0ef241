"""Operations without operands: constants and index ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Operation, Signature, Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.facts import Held, Kind
from lanewise.ops.registry import absent, op


@op
class constant:
    """An array written into the graph, as bytes; meant for scalars and small tables."""

    kind, held = Kind.SOURCE, Held.NUMBERS
    is_literal = True

    def type(*, data: bytes, type: ArrayType):
        if len(data) != type.nbytes:
            raise ValueError(f"{len(data)} bytes given for a constant of type {type}")
        return type

    def numpy(*, data, type):
        return np.frombuffer(data, type.dtype).reshape(type.shape)

    def lanes(k, types, *, data, type):
        values = np.frombuffer(data, type.dtype)
        return k.elements(type.dtype, type.shape, [k.constant(type.dtype, x) for x in values])

    batch = absent("it has no operand that could be mapped")
    samples = absent("it has no operands; the tests of the text form cover it")


def number(value: Any, dtype: Any = np.intp) -> Value:
    """Record a constant without dimensions."""
    array = np.array(value, dtype)
    return constant(data=array.tobytes(), type=array_type(array.dtype, ()))


def literal(op: Operation | Signature | None) -> np.ndarray | None:
    """Return the array that an operation makes, if it is a constant."""
    return None if op is None or op.primitive is not constant else constant.numpy(**op.params)


@op
class iota:
    """The integers 0, 1, ..., length - 1."""

    kind, held = Kind.SOURCE, Held.NOWHERE
    any_size = True

    def type(*, length: DimLike, dtype: np.dtype):
        return array_type(dtype, (length,))

    def numpy(*, length, dtype):
        return np.arange(length, dtype=dtype)

    def lanes(k, types, *, length, dtype):
        return k.lazy(dtype, (length,), lambda i: k.convert(k.index(i), dtype), ready=True)

    batch = absent("it has no operand that could be mapped")
    samples = absent("it has no operands; the tests of symbolic dimensions cover it")


@op
class dimension:
    """A size that is known when the graph runs, as a number."""

    kind = Kind.SOURCE
    recompute = None  # another graph may not know the symbol
    any_size = True

    def type(*, size: DimLike):
        return array_type(np.dtype(np.intp), ())

    def numpy(*, size):
        return np.intp(size)

    def lanes(k, types, *, size):
        return k.elements(types[0].dtype, (), [k.index(size)])

    batch = absent("it has no operand that could be mapped")
    samples = absent("it has no operands; the tests of symbolic dimensions cover it")


@op
class define_size:
    """Says what a symbol of shapes stands for: a number, of which `least` is taken away.

    That is at most `most`, a size of the graph around; None where nothing is known of it. It has no
    results: the types of what is behind it in its graph, and in regions of that, have the symbol.
    So a slice that moves with a loop's counter is an operation like any other, on arrays of a size
    that each iteration knows.
    """

    conditions = ""
    may_fail = False
    must_run = is_definition = True
    any_size = True
    repeats = False

    def type(number, *, size: DimLike, least: int, most: DimLike | None):
        if number.dtype.kind not in "iu" or number.shape:
            raise TypeError(f"a size is an integer, not {number}")
        return ()

    numpy = absent("the interpreter enters the size itself")
    batch = absent("a size that differs from example to example has no array for all of them")
    samples = absent("it has no results; tests/control/test_sized_loops.py runs it")

    def lanes(k, types, number, *, size, least, most):
        k.define_size(size, number.at(), least, most)
        return ()
