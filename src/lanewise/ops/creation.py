"""Operations without operands: constants and index ranges."""

from __future__ import annotations

import numpy as np

from lanewise.ir.dims import DimLike
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
