"""Einstein summation, lowered to one `dot_general` for each pair of operands."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from lanewise.ir.dims import differ
from lanewise.ops.contraction import dot_general
from lanewise.ops.elementwise import where
from lanewise.ops.movement import cast, diagonal, reshape
from lanewise.trace.table.contraction import write_out
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import TABLE, Tensor, as_tensor, contains_tensor, emit, lift
from lanewise.trace.trace import require_trace
from lanewise.trace.views import view

#: The name of an axis: a letter, an int of the sublist form, or ("...", i) for one of an ellipsis.
Label = Hashable
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@implements(np.einsum)
def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K",
    casting: str = "safe",
) -> Any:  # fmt: skip
    """NumPy's einsum. The order of contraction is ``np.einsum_path``'s, also without `optimize`."""
    if order not in tuple("CFAKcfak"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    xs, terms, output = _parse(operands)
    sizes = _sizes(terms, [x.shape for x in xs])
    single = len(xs) == 1
    for i, term in enumerate(terms):
        if len(set(term)) < len(term):
            xs[i], terms[i] = _take_diagonals(xs[i], term, i, single)
    if single and out is None and set(terms[0]) == set(output):
        return np.transpose(xs[0], [terms[0].index(label) for label in output])  # a view, writable
    result_dtype = _result_dtype(xs, out, dtype, casting)
    # Sums of half-precision numbers are carried in single precision, as NumPy's loop does.
    carried = np.dtype(np.float32) if result_dtype == np.float16 else result_dtype
    for i, x in enumerate(xs):
        xs[i], terms[i] = _drop_broadcast(x, terms[i], sizes)
        xs[i] = xs[i] if x.dtype == carried else emit(cast, xs[i], dtype=carried)
    result = _contract(xs, terms, output, optimize)
    if carried != result_dtype:
        result = emit(cast, result, dtype=result_dtype)
    return result if out is None else write_out(out, result, casting)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """NumPy's own path: it depends on the shapes alone."""
    return np.einsum_path(*map(_without_data, operands), optimize=optimize)


def _without_data(operand: Any) -> Any:
    """Return an array of the shape of a tensor that takes no memory; anything else as it is."""
    if not isinstance(operand, Tensor) and not contains_tensor(operand):
        return operand
    shape: Any = as_tensor(operand).shape
    return np.broadcast_to(np.zeros(()), shape)


# --- reading the subscripts -----------------------------------------------------------------------


def _parse(operands: Sequence[Any]) -> tuple[list[Any], list[list[Label]], list[Label]]:
    """Return the operands, the labels of their axes, and those of the result."""
    if isinstance(operands[0], str):
        xs = [as_tensor(array) for array in operands[1:]]
        terms, output = _named(operands[0], tuple([x.ndim for x in xs]))
        return xs, [list(term) for term in terms], list(output)
    xs = [as_tensor(array) for array in operands[: len(operands) // 2 * 2 : 2]]
    ranks = [x.ndim for x in xs]
    given = list(operands)
    given[: 2 * len(xs) : 2] = _ones(ranks)
    np.einsum(*map(_without_data, given))  # raises for what is no sum
    lists = [_numbers(labels) for labels in operands[1::2]]
    output = _numbers(operands[-1]) if len(operands) % 2 else None
    return xs, *_name_every_axis(lists, output, ranks)


def _ones(ranks: Iterable[int]) -> list[np.ndarray]:
    """Return arrays of one element each, of which NumPy tells whether subscripts fit them."""
    return [np.ones((1,) * rank) for rank in ranks]


@lru_cache(maxsize=1024)
def _named(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[list[Label]], list[Label]]:
    """Return the labels that a string gives; not to be written to."""
    np.einsum(subscripts, *_ones(ranks))  # raises for what is no sum
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = [_letters(term) for term in inputs.split(",")]
    return _name_every_axis(terms, _letters(result) if arrow else None, ranks)


def _letters(text: str) -> list[Any]:
    before, dots, after = text.partition("...")
    return [*before, *([Ellipsis] if dots else []), *after]


def _numbers(labels: Sequence[Any]) -> list[Any]:
    return [n if n is Ellipsis else _LETTERS[operator.index(n)] for n in labels]


def _name_every_axis(
    terms: list[list[Any]], output: list[Any] | None, ranks: Sequence[int]
) -> tuple[list[list[Label]], list[Label]]:
    """Return the labels with every ellipsis spelled out, and the output where it is implicit."""
    count = Counter(label for term in terms for label in term if label is not Ellipsis)
    hidden = [
        rank - sum(label is not Ellipsis for label in term)
        for term, rank in zip(terms, ranks, strict=True)
    ]
    if output is None:
        output = [Ellipsis, *sorted(label for label, n in count.items() if n == 1)]
    named = [_spell_out(term, own) for term, own in zip(terms, hidden, strict=True)]
    return named, _spell_out(output, max(hidden))


def _spell_out(term: list[Any], hidden: int) -> list[Label]:
    """Replace the ellipsis by labels; they count from the right, since shapes broadcast so."""
    dots = [("...", i) for i in range(hidden, 0, -1)]
    return [name for label in term for name in (dots if label is Ellipsis else [label])]


def _sizes(terms: list[list[Label]], shapes: list[tuple[Any, ...]]) -> dict[Label, Any]:
    """Return the size of each label's axis; axes of size 1 broadcast."""
    sizes: dict[Label, Any] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for label, dim in zip(term, shape, strict=True):
            if sizes.setdefault(label, dim) == 1:
                sizes[label] = dim
            elif dim != 1 and differ(dim, sizes[label]):
                raise ValueError(
                    f"operands could not be broadcast together: the size of subscript {label!r} is "
                    f"{dim} in operand {i} of einsum and {sizes[label]} before"
                )
    return sizes


# --- carrying it out ------------------------------------------------------------------------------


def _result_dtype(xs: list[Tensor], out: Any, dtype: Any, casting: Any) -> np.dtype:
    kinds = [x.dtype for x in xs] + ([out.dtype] if isinstance(out, Tensor) else [])
    result = np.result_type(*kinds) if dtype is None else np.dtype(dtype)
    for i, x in enumerate(xs):
        if not np.can_cast(x.dtype, result, casting):
            raise TypeError(
                f"Iterator operand {i} dtype could not be cast from {x.dtype!r} to {result!r} "
                f"according to the rule '{casting}'"
            )
    return result


def _take_diagonals(
    x: Any, term: list[Label], position: int, single: bool
) -> tuple[Any, list[Label]]:
    """Replace the axes of each label that stands twice by one: their diagonal."""
    term = list(term)
    for label, n in Counter(term).items():
        for _ in range(n - 1):
            i = term.index(label)
            j = term.index(label, i + 1)
            if differ(x.shape[i], x.shape[j]):
                where_ = "in single operand" if single else f"in operand {position}"
                raise ValueError(
                    f"dimensions {where_} for collapsing index '{label}' don't match "
                    f"({x.shape[i]} != {x.shape[j]})"
                )
            rest = [axis for axis in range(x.ndim) if axis not in (i, j)]
            x = diagonal_view(np.transpose(x, [*rest, i, j]))
            term = [*(term[axis] for axis in rest), label]
    return x, term


def diagonal_view(x: Any) -> Tensor:
    """Return the diagonal of the last two, equal, axes; writing to it writes to x."""

    def write(base: Any, values: Any) -> Any:
        trace = require_trace("a view")
        column = (*x.shape[:-2], x.shape[-1], 1)
        (values,) = trace.record(reshape, (values,), {"shape": column})
        size = x.shape[-1]
        mask: Any = (
            np.eye(size, dtype=bool) if type(size) is int else TABLE[np.eye](size, dtype=bool)
        )
        mask = lift(mask)
        return trace.record(where, (mask, values, base), {})[0]

    return view(x, diagonal, write, offset=0)


def _drop_broadcast(x: Any, term: list[Label], sizes: dict[Label, Any]) -> tuple[Any, list[Label]]:
    """Leave out axes of size 1 whose label is longer elsewhere: the others repeat along it."""
    kept = [i for i, label in enumerate(term) if x.shape[i] != 1 or sizes[label] == 1]
    if len(kept) == x.ndim:
        return x, term
    return np.reshape(x, tuple(x.shape[i] for i in kept)), [term[i] for i in kept]


def _contract(
    xs: list[Tensor], terms: list[list[Label]], output: list[Label], optimize: Any
) -> Any:
    """Contract the operands along the path, two at a time."""
    shapes = tuple(x.shape for x in xs)
    for group in _path(tuple(map(tuple, terms)), tuple(output), shapes, _hashable(optimize)):
        chosen = [(xs.pop(i), terms.pop(i)) for i in sorted(group, reverse=True)][::-1]
        x, term = chosen[0]
        for position, (y, term_y) in enumerate(chosen[1:], 2):
            later = [other for _, other in chosen[position:]]
            x, term = _pair(x, term, y, term_y, set(chain(output, *terms, *later)))
        x, term = _sum_lone(x, term, set(chain(output, *terms)))
        xs.append(x)
        terms.append(term)
    if terms[0] == output:
        return xs[0]
    return np.transpose(xs[0], [terms[0].index(label) for label in output])


def _pair(
    x: Tensor, term_x: list[Label], y: Tensor, term_y: list[Label], needed: set[Label]
) -> tuple[Tensor, list[Label]]:
    """Multiply two operands, and sum over the labels that nothing else needs."""
    x, term_x = _sum_lone(x, term_x, needed | set(term_y))
    y, term_y = _sum_lone(y, term_y, needed | set(term_x))
    shared = [label for label in term_x if label in term_y]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    result = emit(
        dot_general,
        x,
        y,
        batch=tuple((term_x.index(label), term_y.index(label)) for label in batch),
        contract=tuple((term_x.index(label), term_y.index(label)) for label in summed),
    )
    free = [label for label in (*term_x, *term_y) if label not in shared]
    return result, batch + free


def _sum_lone(x: Tensor, term: list[Label], needed: set[Label]) -> tuple[Tensor, list[Label]]:
    """Sum over the labels that nothing else needs, before anything is multiplied."""
    axes = tuple(i for i, label in enumerate(term) if label not in needed)
    if not axes:
        return x, term
    total = np.add.reduce(x, axis=axes, dtype=x.dtype)
    return total, [label for label in term if label in needed]


@lru_cache(maxsize=1024)
def _path(
    terms: tuple[tuple[Label, ...], ...],
    output: tuple[Label, ...],
    shapes: tuple[tuple[int, ...], ...],
    optimize: Any,
) -> list[tuple[int, ...]]:
    """Return the order of contraction that NumPy finds, from the shapes alone."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    names = {label: i for i, label in enumerate(dict.fromkeys(sum(terms, ())))}
    if len(names) > len(_LETTERS):  # more than NumPy has letters for: from left to right
        return [(0, 1), *[(0, len(terms) - i - 1) for i in range(1, len(terms) - 1)]]
    arguments: list[Any] = []
    for term, shape in zip(terms, shapes, strict=True):
        nonempty = np.broadcast_to(0, tuple(max(dim, 1) for dim in shape))
        arguments += [nonempty, [names[label] for label in term]]
    arguments.append([names[label] for label in output])
    choice = list(optimize) if isinstance(optimize, tuple) else optimize
    return np.einsum_path(*arguments, optimize="greedy" if choice in (False, None) else choice)[0][
        1:
    ]


def _hashable(optimize: Any) -> Any:
    if isinstance(optimize, (list, tuple)):
        return tuple(tuple(p) if isinstance(p, list) else p for p in optimize)
    if optimize is not None and not isinstance(optimize, (bool, str)):
        raise TypeError(f"Did not understand the path: {optimize}")
    return optimize
