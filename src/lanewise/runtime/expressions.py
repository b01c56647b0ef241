"""What an operation is in Python source, where NumPy has an operator or a method for it.

On scalars an operator takes a tenth of the time that calling the ufunc does. It stands for the
ufunc only where it gives the same value, of the same dtype, whatever the operands, as
tests/control/test_scalars.py finds out. So comparisons of complex numbers (the operators order
those with a NaN otherwise), powers of floats and products of complex numbers (the last bit) are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from lanewise.ir.dims import Call, Dim, DimLike, never_below
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import ArrayType, has_dim
from lanewise.ops.elementwise import imag, real, where
from lanewise.ops.exact import exact
from lanewise.ops.indexing import gather
from lanewise.ops.movement import (
    AxisSlice,
    cast,
    python_slice,
    python_slices,
    reshape,
    slice_,
    transpose,
)
from lanewise.ops.ufuncs import row_of
from lanewise.runtime.binding import input_sizes

#: Gives a name to an object that the source refers to.
Refer = Callable[[Any], str]


def is_scalar(type: Any) -> bool:
    """Return whether values of a type are numbers without dimensions."""
    return isinstance(type, ArrayType) and not type.shape and type.dtype.kind != "O"


def scalar_expression(
    op: Operation, operands: Sequence[str], refer: Refer, constants: Mapping[str, Any]
) -> str | None:
    """Return an operation on scalars in Python source; None if there is only the ufunc.

    `constants` tells the values of those operands that are constants.
    """
    types = [value.type for value in op.operands]
    if not types or not all(map(is_scalar, types)):
        return None
    if op.primitive is cast:
        return f"{refer(op.params['dtype'].type)}({operands[0]})"
    if op.primitive is where:
        condition, x, y = operands
        if types[1] is types[2]:
            return f"{x} if {condition} else {y}"
        return f"{refer(op.results[0].type.dtype.type)}({x} if {condition} else {y})"
    if op.primitive is exact:
        return _exact_expression(op, operands, refer, constants)
    ufunc = op.primitive.ufunc
    if not isinstance(ufunc, np.ufunc) or op.params.get("dtype") is not None:
        return None
    row, kinds = row_of(ufunc), {type.dtype.kind for type in types}
    if row.is_of_one_type and types[0] is not types[1]:
        return None
    for template, allowed in row.scalar:
        if kinds <= set(allowed):
            true = refer(np.True_) if "{true}" in template else ""
            own = refer(ufunc) if "{ufunc}" in template else ""
            return template.format(*operands, true=true, ufunc=own)
    return None


def _exact_expression(
    op: Operation, operands: Sequence[str], refer: Refer, constants: Mapping[str, Any]
) -> str | None:
    fn = op.params["fn"]
    known = row_of(fn).exact
    if known is None:
        return None
    template, bits = known
    low, high = refer(np.int64(-(2**bits) + 1)), refer(np.int64(2**bits - 1))
    unknown = [x for x in dict.fromkeys(operands) if abs(int(constants.get(x, 2**63))) >= 2**bits]
    small = " and ".join(f"{low} <= {x} <= {high}" for x in unknown) or "True"
    checked = f"{refer(partial(op.primitive.numpy, fn=fn))}({', '.join(operands)})"
    return f"{template.format(*operands)} if {small} else {checked}"


def array_expression(
    op: Operation, operands: Sequence[str], refer: Refer, spelled: Callable[[Any], str]
) -> str | None:
    """Return an operation that moves elements in Python source, None for all others.

    `spelled` gives the source of a size, or a tuple of them.
    """
    primitive, x = op.primitive, operands[0] if operands else ""
    if primitive is gather:
        return f"{x}[{element_key(op.params['axis'], operands[1:])}]"
    if primitive is slice_:
        return f"{x}[{slice_key(op.params['index'], refer, spelled)}]"
    if primitive is reshape:
        old, shape = op.operands[0].type.shape, op.params["shape"]
        if op.results[0].type is op.operands[0].type:
            return x
        if has_dim(shape) and old[:1] == shape[:1] and not has_dim(shape[1:]):
            return f"{x}.reshape({x}.shape[0], {', '.join(map(str, shape[1:]))})"
        return f"{x}.reshape({spelled(shape)})"
    if primitive is transpose:
        return f"{x}.transpose({op.params['axes']})"
    if primitive is cast:
        return f"{x}.astype({refer(op.params['dtype'])})"
    if primitive is real or primitive is imag:
        return f"{x}.{primitive.name}"
    return None


def size_expression(dim: DimLike) -> str | None:
    """Return a dimension in Python source, with ``sizes`` to look symbols up in.

    None if working it out may raise, which is for the operation that needs it.
    """
    if not isinstance(dim, Dim):
        return str(dim)
    terms = []
    for monomial, coefficient in dim.terms:
        factors = [str(coefficient)] if coefficient != 1 or not monomial else []
        for atom in monomial:
            factor = f"sizes[{atom!r}]" if isinstance(atom, str) else _call_expression(atom)
            if factor is None:
                return None
            factors.append(factor)
        terms.append(" * ".join(factors))
    return " + ".join(terms)


def sizes_expression(graph: Graph, arguments: Sequence[str], refer: Refer) -> str:
    """Return what gives the sizes that arguments give to the symbols of a graph's inputs."""
    entries, text = [], ""
    for name, position, axis, rest in input_sizes(graph):
        size = f"{arguments[position]}.shape[{axis}]"
        if not isinstance(rest, Dim):
            entries.append(f"{name!r}: {size}" + (f" - {rest}" if rest else ""))
            continue
        less = size_expression(rest) or f"{refer(partial(evaluate, rest))}(sizes)"
        text += f"; sizes[{name!r}] = {size} - ({less})"
    return f"{{{', '.join(entries)}}}{text}"


def _call_expression(call: Call) -> str | None:
    args = [size_expression(arg) for arg in call.args]
    if None in args:
        return None
    match call.name:
        case "max":
            return f"max({args[0]}, {args[1]})"
        case "negative":
            return f"({args[1]} if {args[0]} < 0 else {args[2]})"
        case "floordiv" | "mod" if isinstance(call.args[1], int) and call.args[1] > 0:
            return f"(({args[0]}) {'//' if call.name == 'floordiv' else '%'} {args[1]})"
    return None


def slice_key(index: tuple[AxisSlice, ...], refer: Refer, spelled: Callable[[Any], str]) -> str:
    """Return the key of a slice, whose ends may depend on sizes; see `array_expression`."""
    if not has_dim(index):
        return refer(python_slices(index))
    parts = []
    for part in index:
        if part is None:
            parts.append(":")
            continue
        start, stop, step = part
        ends = [spelled(end) for end in (start, stop)]
        if step > 0 and never_below(start, 0) and never_below(stop, 0):
            parts.append(f"{ends[0]}:{ends[1]}" + (f":{step}" if step != 1 else ""))
        else:
            parts.append(f"{refer(python_slice)}({ends[0]}, {ends[1]}, {step})")
    return ", ".join(parts)


def element_key(axis: int, indices: Sequence[str]) -> str:
    """Return the key that indexes consecutive axes, from `axis` on."""
    return ", ".join([*[":"] * axis, *indices]) or "()"


def gives_scalars(op: Operation) -> bool:
    """Return whether NumPy gives scalars, not arrays of no dimensions, for an operation."""
    if op.primitive is gather:
        return op.params["axis"] == 0 and all(is_scalar(value.type) for value in op.operands[1:])
    return isinstance(op.primitive.ufunc, np.ufunc)
