"""Products that sum over shared axes, and generalized ufuncs: operations with core dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.ir.dims import DimLike, bounds, differ, product
from lanewise.ir.graph import Operation
from lanewise.ir.types import ArrayType, array_type, has_dim
from lanewise.ops.derivatives import is_linear, multilinear
from lanewise.ops.elementwise import loop_dtypes
from lanewise.ops.facts import Kind, count, usual
from lanewise.ops.movement import broadcasting, pad_rank, transpose
from lanewise.ops.registry import Batch, Family, Primitive, absent, op, sample
from lanewise.ops.shapes import broadcast_shapes, rank_of

#: Matrix products of more products of numbers than this are BLAS's.
MOST_PRODUCTS = 32**3
#: The same in branches and loops of examples in lanes, as all of a loop is left with what is in it.
MOST_IN_REGIONS = 128**3
#: The same of products with a matrix that all examples share, outside of loops.
MOST_OF_SHARED = 4096
#: A matrix of so few numbers takes no longer to multiply columns by that the kernel has computed
#: than these take to be written and read, as they must be for BLAS.
MOST_OF_COMPUTED = 64
#: Smaller ones are written out, in registers.
MOST_IN_REGISTERS = 256


def _products(op: Operation) -> int:
    """Return how many products and sums there are."""
    contracted = [op.operands[0].type.shape[i] for i, _ in op.params["contract"]]
    return 2 * usual(contracted) * count(op.results[0])


@op
class dot_general:
    """Sum of products over paired axes, batch axes carried along (XLA's DotGeneral).

    ``batch`` and ``contract`` each pair axes of x with axes of y. The result has the batch axes
    first, then the free axes of x, then the free axes of y.
    """

    kind, products = Kind.CONTRACTION, _products
    any_size = True
    repeats = False
    along_rows = True

    def alike(op):
        x, y = [value.type.shape for value in op.operands]
        return [(x[i], y[j]) for i, j in (*op.params["batch"], *op.params["contract"])]

    def flops(op):
        is_complex = op.results[0].type.dtype.kind == "c"
        return float(_products(op) * (4 if is_complex else 1))

    def type(x, y, *, batch: tuple[tuple[int, int], ...], contract: tuple[tuple[int, int], ...]):
        if x.dtype != y.dtype:
            raise TypeError(f"dot_general takes operands of one dtype, not {x.dtype} and {y.dtype}")
        for i, j in (*batch, *contract):
            if differ(x.shape[i], y.shape[j]):
                shapes = " and ".join(str(t.shape).replace(" ", "") for t in (x, y))
                raise ValueError(
                    f"shapes {shapes} not aligned: {x.shape[i]} (dim {i}) != {y.shape[j]} (dim {j})"
                )
        shared, free_x, free_y = _split(x.ndim, y.ndim, batch, contract)
        shape = (
            *(x.shape[i] for i in shared),
            *(x.shape[i] for i in free_x),
            *(y.shape[j] for j in free_y),
        )
        return array_type(x.dtype, shape)

    def numpy(x, y, *, batch, contract):
        for i, j in (*batch, *contract):
            if x.shape[i] != y.shape[j]:  # sizes that were not known; it would be broadcast
                raise ValueError(
                    f"shapes {x.shape} and {y.shape} not aligned: {x.shape[i]} (dim {i}) != "
                    f"{y.shape[j]} (dim {j})"
                )
        axes_x, axes_y, nx, ny = _layout(x.ndim, y.ndim, batch, contract)
        x, y, lead = x.transpose(axes_x), y.transpose(axes_y), len(batch)
        shape = x.shape[: lead + nx] + y.shape[lead : lead + ny]
        inner = x.shape[lead + nx :]
        if not inner:  # an outer product
            x = x.reshape(*x.shape, *(1,) * ny)
            return np.multiply(x, y.reshape(*y.shape[:lead], *(1,) * nx, *y.shape[lead:]))
        x = x.reshape(*x.shape[:lead], *_merged(x.shape[lead : lead + nx]), product(inner))
        y = y.reshape(*y.shape[:lead], *_merged(y.shape[lead : lead + ny]), product(inner))
        product_of, x, y, index = _stacks(x, y, bool(nx), bool(ny))
        return product_of(x, y)[index].reshape(shape)  # here, where warnings know the line

    def batch(b: Batch, x, y, *, batch, contract):
        in_x, in_y = b.mapped
        batch_axes = tuple((i + in_x, j + in_y) for i, j in batch)
        contract = tuple((i + in_x, j + in_y) for i, j in contract)
        if in_x and in_y:
            return dot_general(x, y, batch=((0, 0), *batch_axes), contract=contract)
        if in_y and not batch and rank_of(y) == len(contract) + 1:
            # A matrix by the vectors of the batch: with these first, rows come out as rows.
            return dot_general(y, x, batch=(), contract=tuple((j, i) for i, j in contract))
        result = dot_general(x, y, batch=batch_axes, contract=contract)
        # The example's axis is the first free axis of its operand: bring it to the front.
        free_y = rank_of(y) - len(batch) - len(contract)
        at = len(batch) if in_x else rank_of(result) - free_y
        axes = (at, *(axis for axis in range(rank_of(result)) if axis != at))
        return result if at == 0 else transpose(result, axes=axes)

    def lanes(k, types, x, y, *, batch, contract):
        axes_x, axes_y, nx, _ = _layout(x.ndim, y.ndim, batch, contract)
        shapes, lead = (*types[0].shape, *x.shape, *y.shape), len(batch)
        inner = [x.shape[i] for i, _ in contract]
        is_known = not has_dim(shapes)
        is_plain = is_known and len(types[0].shape) == 2 and not lead and nx == len(inner) == 1
        is_computed = is_plain and not y.is_ready and math.prod(x.shape) <= MOST_OF_COMPUTED
        x, y = k.ready(x), k.ready(y)
        # One matrix for all examples makes one product of the batch; else there is one for each.
        is_one = k.is_outermost and x.is_shared != y.is_shared
        most = MOST_IN_REGIONS if k.in_lanes and not k.is_outermost else MOST_PRODUCTS
        most = MOST_OF_SHARED if is_one else most
        is_large = types[0].shape and inner and usual(types[0].shape) * usual(inner) > most
        is_large = is_large and not k.is_own(shapes)
        if is_large and not (is_computed and not k.in_lanes):
            k.leave("a large matrix product is left to BLAS")

        one, other, within = k.products.factors_within(x, y, contract)

        def at(*i):
            shared, free_x, free_y = i[:lead], i[lead : lead + nx], i[lead + nx :]
            for factor in (one, other):
                k.storage.prepare_loops(factor, inner, 1)
            return k.products.sum_of_products(
                types[0].dtype,
                inner,
                lambda *j: one.transposed_at(axes_x, (*shared, *free_x, *j)),
                lambda *j: other.transposed_at(axes_y, (*shared, *free_y, *j)),
                within,
            )

        work = usual(inner)
        is_complex = types[0].dtype.kind == "c"
        if is_plain and work * math.prod(types[0].shape) > MOST_IN_REGISTERS:
            x, y = k.addressable(x), k.addressable(y)
            return k.products.matrix_product(
                types[0],
                work,
                lambda i, p: x.transposed_at(axes_x, (i, p)),
                lambda p, j: y.transposed_at(axes_y, (j, p)),
            )
        is_vector = is_known and len(types[0].shape) == len(inner) == 1 and not lead
        if is_vector and k.in_lanes and work * types[0].shape[0] > MOST_IN_REGISTERS:
            x, y = k.addressable(x), k.addressable(y)
            shape = (types[0].shape[0], 1) if nx else (1, types[0].shape[0])
            product = k.products.matrix_product(
                array_type(types[0].dtype, shape),
                work,
                lambda i, p: x.transposed_at(axes_x, (i, p) if nx else (p,)),
                lambda p, j: y.transposed_at(axes_y, (p,) if nx else (j, p)),
            )
            return k.views.reshaped(product, types[0].shape)
        work *= 4 if is_complex else 1
        return k.lazy(types[0].dtype, types[0].shape, at, (x, y), work=work)

    jvp = multilinear(0, 1)

    def transposed(d, ct, x, y, *, batch, contract):
        is_x = is_linear(x)
        one, other = (x, y) if is_x else (y, x)
        pairs = [p if is_x else p[::-1] for p in batch]
        inner = [p if is_x else p[::-1] for p in contract]
        shared, free, free_other = _split(one.ndim, other.ndim, pairs, inner)
        lead = len(shared)
        # The cotangent has the batch axes, then the free axes of x, then those of y.
        first = lead if not is_x else lead + len(free)
        over = tuple([(first + n, axis) for n, axis in enumerate(free_other)])
        moved = d.emit(
            dot_general,
            ct,
            other,
            batch=tuple([(n, j) for n, (_, j) in enumerate(pairs)]),
            contract=over,
        )
        # It has the batch axes, the operand's free axes, and the contracted, in the other's order.
        order = sorted(inner, key=lambda pair: pair[1])
        axes = [*[i for i, _ in pairs], *free, *[i for i, _ in order]]
        part = np.transpose(moved, np.argsort(axes).tolist())
        return (part, None) if is_x else (None, part)

    samples = (
        sample((3, 4), (4, 2), batch=(), contract=((1, 0),)),
        sample((4,), (4,), batch=(), contract=((0, 0),)),
        sample((2, 3, 4), (4, 2), batch=((0, 1),), contract=((2, 0),)),
        sample((2, 3), (4,), batch=(), contract=()),
        sample((2, 0), (0, 3), batch=(), contract=((1, 0),)),
    )


def _split(rank_x: int, rank_y: int, batch: Any, contract: Any) -> tuple[list[int], ...]:
    used_x = {i for i, _ in (*batch, *contract)}
    used_y = {j for _, j in (*batch, *contract)}
    free_x = [i for i in range(rank_x) if i not in used_x]
    free_y = [j for j in range(rank_y) if j not in used_y]
    return [i for i, _ in batch], free_x, free_y


@lru_cache(maxsize=4096)
def _layout(rank_x: int, rank_y: int, batch: Any, contract: Any) -> tuple[Any, Any, int, int]:
    """Return the axes of x and of y as batch, free, contracted, and how many of them are free."""
    shared, free_x, free_y = _split(rank_x, rank_y, batch, contract)
    axes_x = (*shared, *free_x, *(i for i, _ in contract))
    axes_y = (*(j for _, j in batch), *free_y, *(j for _, j in contract))
    return axes_x, axes_y, len(free_x), len(free_y)


def _merged(shape: tuple[DimLike, ...]) -> tuple[DimLike, ...]:
    return (product(shape),) if shape else ()


def _multiply_stacks(x: np.ndarray, y: np.ndarray, rows: bool, columns: bool) -> np.ndarray:
    """Contract the last axes of x (..., [m], k) and y (..., [n], k) with the fastest product."""
    product_of, x, y, index = _stacks(x, y, rows, columns)
    return product_of(x, y)[index]


def _forward(x: np.ndarray) -> np.ndarray:
    """Return vectors of which the elements follow each other: BLAS takes no others, NumPy does.

    For 4 products of 303 x 303 numbers with a vector of ones, which a single one stands for, NumPy
    takes 278 us, and 46 with a copy of it.
    """
    return x.copy() if x.shape[-1] > 1 and x.strides[-1] <= 0 else x


def _stacks(
    x: np.ndarray, y: np.ndarray, rows: bool, columns: bool
) -> tuple[np.ufunc, np.ndarray, np.ndarray, Any]:
    """Return the fastest product for stacks, its operands, and what to take of its result."""
    if rows and columns:
        return np.matmul, x, y.swapaxes(-1, -2), ...
    if rows:
        return np.matvec, x, _forward(y), ...
    if columns:
        return np.matvec, y, _forward(x), ...
    if x.dtype.kind != "c":  # vecdot and vecmat conjugate, a plain sum of products does not
        return np.vecdot, x, y, ...
    return np.matmul, x[..., None, :], y[..., :, None], (..., 0, 0)


# --- generalized ufuncs -------------------------------------------------------------------------


@lru_cache(maxsize=256)
def parse_signature(signature: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the core dimensions of the inputs and outputs of a gufunc's signature.

    Examples
    --------
    >>> parse_signature("(m,n),(n)->(m)")
    ((('m', 'n'), ('n',)), (('m',),))
    """

    def side(text: str) -> tuple[tuple[str, ...], ...]:
        groups = re.findall(r"\(([^()]*)\)", text)
        return tuple(tuple(n.strip() for n in g.split(",") if n.strip()) for g in groups)

    left, right = signature.replace(" ", "").split("->")
    return side(left), side(right)


def core_shapes(
    name: str, signature: str, operands: tuple[ArrayType, ...]
) -> tuple[tuple[DimLike, ...], list[tuple[DimLike, ...]]]:
    """Return the loop shape and the core shape of each output, or raise as NumPy does."""
    inputs, outputs = parse_signature(signature)
    sizes: dict[str, DimLike] = {}
    loops = []
    for position, (operand, names) in enumerate(zip(operands, inputs, strict=True)):
        present = names
        if operand.ndim < len(names):
            present = tuple(n for n in names if not n.endswith("?"))
        if operand.ndim < len(present):
            raise ValueError(
                f"{name}: Input operand {position} does not have enough dimensions (has "
                f"{operand.ndim}, gufunc core with signature {signature} requires {len(present)})"
            )
        split = operand.ndim - len(present)
        loops.append(operand.shape[:split])
        for core_name, dim in zip(present, operand.shape[split:], strict=True):
            if core_name.isdigit() and dim != int(core_name):
                raise ValueError(f"{name}: core dimension must be {core_name}, not {dim}")
            if sizes.setdefault(core_name, dim) != dim:
                raise ValueError(
                    f"{name}: Input operand {position} has a mismatch in its core dimension "
                    f"{core_name}, with gufunc signature {signature} "
                    f"(size {dim} is different from {sizes[core_name]})"
                )
    cores = []
    for names in outputs:
        missing = [n for n in names if n not in sizes and not n.isdigit() and not n.endswith("?")]
        if missing:
            raise ValueError(f"{name}: the size of the output dimension {missing[0]} is unknown")
        cores.append(
            tuple(int(n) if n.isdigit() else sizes[n] for n in names if n in sizes or n.isdigit())
        )
    return broadcast_shapes(*loops), cores


#: The generalized ufuncs that are sums of products, of which the first vector is conjugated.
PRODUCTS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.matmul: np.matmul,
    np.vecdot: lambda x, y: np.sum(np.conjugate(x) * y, axis=-1),
    np.matvec: lambda x, y: np.matmul(x, y[..., None])[..., 0],
    np.vecmat: lambda x, y: np.matmul(np.conjugate(x)[..., None, :], y)[..., 0, :],
}


@lru_cache(maxsize=1024)
def gufunc(fn: np.ufunc) -> Primitive:
    """Return the primitive of a generalized ufunc: any at all, by its signature."""
    signature = fn.signature
    assert signature is not None
    inputs, _ = parse_signature(signature)

    def infer(*operands: ArrayType, dtype: np.dtype | None = None) -> Any:
        loop, cores = core_shapes(fn.__name__, signature, operands)
        dtypes = loop_dtypes(fn, tuple(operand.dtype for operand in operands), dtype)
        results = zip(dtypes[fn.nin :], cores, strict=True)
        return tuple(array_type(dtype, (*loop, *core)) for dtype, core in results)

    def numpy(*operands: Any, dtype: np.dtype | None = None) -> Any:
        return fn(*operands) if dtype is None else fn(*operands, dtype=dtype)

    def lanes(k: Any, types: Any, *operands: Any, dtype: np.dtype | None) -> Any:
        if k.is_batched or "?" in signature:  # one thread at a time: it may raise
            k.leave(f"NumPy calls {fn.__name__} once for all")
        loop = loop_dtypes(fn, tuple([x.dtype for x in operands]), dtype)
        ns = float(sum([usual(x.shape) for x in operands]))
        return k.calls.gufunc(types, [fn], loop, operands, None, ns, is_locked=fn not in PRODUCTS)

    def jvp(d: Any, tangents: Any, z: Any, x: Any, y: Any, *, dtype: np.dtype | None) -> Any:
        x, y = x.astype(z.dtype), y.astype(z.dtype)
        terms = [
            PRODUCTS[fn](*[v.astype(z.dtype) for v in pair])
            for t, pair in zip(tangents, ((tangents[0], y), (x, tangents[1])), strict=True)
            if t is not None
        ]
        return sum(terms[1:], terms[0])

    return Primitive(
        f"gufunc.{fn.__name__}",
        type=infer,
        numpy=numpy,
        batch=stacked(*[len(names) for names in inputs]),
        lanes=lanes,
        jvp=jvp
        if fn in PRODUCTS
        else absent(f"the derivative of the generalized ufunc {fn.__name__} is not known"),
        samples=absent("any generalized ufunc; the tests of the NumPy table draw them"),
        doc=f"The generalized ufunc ``{fn.__name__}`` with signature ``{signature}``.",
    )


def stacked(*cores: int) -> Family:
    """Return the batching rule of operands with so many core axes behind the axes of a loop.

    Those of the loop are lined up.
    """

    def rule(primitive: Primitive, b: Batch, *operands: Any, **params: Any) -> Any:
        rows = list(zip(operands, b.mapped, cores, strict=True))
        rank = max(rank_of(value) - mapped - core for value, mapped, core in rows)
        lined_up = [
            pad_rank(value, rank + core) if mapped else value for value, mapped, core in rows
        ]
        return primitive(*lined_up, **params)

    return Family(rule)


@op
class correlate:
    """Sliding dot products of x (..., n) with v (..., m), m <= n, no conjugate.

    ``y[..., i] = sum over j of x[..., i + j - before] * v[..., j]``, of the products for which x
    has an element. `before` and `behind` say how far v may stand out of x, less than m each.
    """

    kind, numpy_ns, along_rows = Kind.CONTRACTION, 5.0, True

    def instructions(op):
        return op.operands[1].type.shape[0]

    def flops(op):
        both = 8 if op.results[0].type.dtype.kind == "c" else 2  # a product and a sum
        return float(both * count(op.results[0]) * usual(op.operands[1].type.shape[-1:]))

    def type(x, v, *, before: int = 0, behind: int = 0):
        if x.dtype != v.dtype:
            raise TypeError(f"correlate takes operands of one dtype, not {x.dtype} and {v.dtype}")
        lead = broadcast_shapes(x.shape[:-1], v.shape[:-1])
        return array_type(x.dtype, (*lead, x.shape[-1] - v.shape[-1] + 1 + before + behind))

    def numpy(x, v, *, before, behind):
        size = v.shape[-1]
        is_finite = v.dtype.kind not in "fc" or np.isfinite(v).all()
        if (before or behind) and is_finite:  # zeros beside x add nothing
            borders = [np.zeros((*x.shape[:-1], width), x.dtype) for width in (before, behind)]
            x = np.concatenate([borders[0], x, borders[1]], -1)
            before = behind = 0
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)
        inside = _multiply_stacks(windows, v, rows=True, columns=False)
        if not before and not behind:
            return inside
        head = [_last_product(x[..., : size - k], v[..., k:]) for k in range(before, 0, -1)]
        tail = [_last_product(x[..., k - size :], v[..., : size - k]) for k in range(1, behind + 1)]
        return np.concatenate([*head, inside, *tail], -1)

    batch = broadcasting

    def lanes(k, types, x, v, *, before, behind):
        return k.products.correlated(types[0], x, v, before)

    jvp = multilinear(0, 1)

    def transposed(d, ct, x, v, *, before, behind):
        if is_linear(x):
            return _swept(d, np.flip(v, -1), ct, v.shape[-1] - 1 - before, x.shape[-1]), None
        return None, _swept(d, ct, x, before, v.shape[-1])

    samples = (
        sample((7,), (3,), before=0, behind=0),
        sample((2, 5), (5,), before=4, behind=0),
        sample((4,), (3, 2), before=1, behind=1),
    )


def _swept(d: Any, short: Any, long: Any, before: int, size: int) -> Any:
    """Return for `size` places the products of `short` with what `long` has from there on.

    The first place lies `before` elements before `long`, which may be the shorter of them.
    """
    n, m = long.shape[-1], short.shape[-1]
    least, _ = bounds(m - n)
    if least is None or least <= 0:  # of sizes that are not known `long` is taken for the longer
        return d.emit(correlate, long, short, before=before, behind=size - 1 + m - n - before)
    found = d.emit(correlate, short, long, before=size - 1 - before, behind=n - m + before)
    return np.flip(found, -1)


def _last_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _multiply_stacks(x, y, rows=False, columns=False)[..., None]
