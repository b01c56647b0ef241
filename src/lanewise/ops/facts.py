"""What passes, the compiler and `explain` ask of an operation, beside its rules.

A definition states of these facts what is so of it; what it does not state is safe, and at worst
slower than it could be. Most follow from its `kind`. So nothing outside of this package lists
operations: a pass asks what it needs to know, and a new operation is treated as those like it.

Some facts depend on the parameters or types of an operation: these may be functions of it (`ask`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike, Shape, most_of, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.derivatives import OfRegions
from lanewise.ops.ufuncs import UNKNOWN, Row, instructions, row_of

#: A fact that may depend on the operation.
Rule = Callable[[Operation], Any]
#: All kinds of dtypes of numbers.
NUMBERS = "biufc"


class Kind(Enum):
    """What an operation is. What is none of these is treated with care, one by one."""

    OTHER = "something else"
    SOURCE = "makes elements out of nothing"
    VIEW = "shows elements of its operand, which NumPy answers with a view"
    COPY = "puts elements where no data decide"
    LOOKUP = "reads elements where data decide"
    UPDATE = "gives its first operand with some elements changed"
    ELEMENTWISE = "computes each element of one element of each operand, which broadcast"
    ALONG = "computes along one axis, and keeps the others apart"
    REDUCTION = "takes elements along axes together"
    CONTRACTION = "sums products"
    MATRIX = "is linear algebra"
    LISTS = "makes or changes a list or a table"
    STORE = "is the memory of lists or tables"


class Held(Enum):
    """Where a kernel has a result that is the same in all lanes."""

    MEMORY = "in memory with a place for each lane"
    NUMBERS = "in registers, if it is small"
    NOWHERE = "in its operands: it is read through"


@dataclass(slots=True, kw_only=True, eq=False)
class Facts:
    """What is so of an operation.

    Attributes
    ----------
    kind
        What it is.
    row
        Of a ufunc, its row in the table.
    along
        The axis that it works along, from which those before it are apart: the parameter that says
        so, or a number. None if there is none.
    takes
        Of one that puts back a part: what takes that part.
    into
        Of one that gives a copy of its first operand with some of it written: what writes that into
        the array itself. It takes what `numpy` takes.
    step
        Of a view that may be written through: of its parameters and the number of its integers, the
        step to it from its operand (`ops/paths.py`).
    has_effect, must_run
        Whether it takes and gives a token; whether it runs though nobody uses its results.
    is_definition
        Whether it says what a symbol of sizes is, which operations behind it have in their types:
        it must run where its graph does.
    sees_batch
        Whether what it gives for an example may depend on which others are in the batch.
    may_fail
        Whether it may raise on data, once types and sizes are right, beside what NumPy is asked to
        raise of floating-point conditions. What may not may run on data that are not its own.
    conditions
        What NumPy calls it in "overflow encountered in ...": "" if it meets no such condition, None
        where that is not known.
    quiet
        The kinds of operands' dtypes for which it meets none. Follows from `conditions`.
    reads_at_data
        Which operands it reads or writes at places that are data.
    indices
        From which operand on they are integers that index axes one after the other, from the
        parameter `axis` on. None if none are.
    repeats
        Whether an axis of one element may stand for many in its operands (those from `indices` on,
        if there are any).
    alike
        Pairs of sizes, where that these are equal is all that it asks of sizes.
    allocates
        Whether NumPy gives results in memory of their own.
    shares
        Whether NumPy may give the memory of the first operand, which can be written to.
    held
        Where a kernel has its results.
    any_size
        Whether its `lanes` rule works where sizes are symbols.
    space
        The sizes that its loop goes through, and what else several must have in common for one loop
        to be theirs (rule `together`); None if it has one of its own.
    along_rows
        Whether it may run well in a kernel with the elements of an array in the lanes.
    numpy_ns
        Nanoseconds of an element in NumPy, beside what moving it takes.
    instructions
        About how many an element of its largest array takes in a kernel (of its results, if it
        looks them up), and `products` how many it takes beside them in all.
    products
        See `instructions`.
    call_ns
        Nanoseconds that a call of a library takes in a kernel for an example, if it is one there:
        neither lanes nor what is done beside it make that less.
    setup_ns
        What such a call takes beside that once, for all examples that are in lanes.
    flops
        How many operations on numbers an element of the larger of its result and its first operand
        is, for `explain`; as a function, how many it is in all.
    recompute
        What an element takes that is computed again rather than kept, in additions; None for what
        is kept.
    of_regions
        Of one with regions, its rules of derivatives.
    tangent_of_last
        Whether its result has a tangent if its last operand may have one, whatever its own type.
    continues, overwrites
        Whether it gives the list or table of its second operand as it goes on, which in a kernel is
        in the same memory; and whether it changes elements of that, so that it is gone.
    is_literal
        Whether graphs' text has its elements.
    region_names
        What its regions are called.
    instead
        What to do about it where a function is to be saved.
    """

    kind: Kind = Kind.OTHER
    row: Row | None = None
    along: str | int | None = None
    takes: Any = None
    into: Callable[..., None] | None = None
    step: Callable[[dict[str, Any], int], tuple[Any, ...]] | None = None
    has_effect: bool = False
    must_run: bool = False
    is_definition: bool = False
    sees_batch: bool = False
    may_fail: bool | Rule = True
    conditions: str | None = None
    quiet: str | Rule = ""
    reads_at_data: tuple[int, ...] = ()
    indices: int | None = None
    repeats: bool = True
    alike: Callable[[Operation], list[tuple[DimLike, DimLike]]] | None = None
    allocates: bool | Rule = False
    shares: bool = False
    held: Held = Held.MEMORY
    any_size: bool = False
    space: Callable[[Operation], tuple[Shape, Hashable] | None] | None = None
    along_rows: bool = False
    numpy_ns: float | Rule = 0.0
    instructions: float | Rule = 1
    products: float | Rule = 0
    call_ns: float | Rule = 0
    setup_ns: float | Rule = 0
    flops: float | Rule = 1
    recompute: float | None = None
    of_regions: OfRegions | None = None
    tangent_of_last: bool = False
    continues: bool = False
    overwrites: bool = False
    is_literal: bool = False
    region_names: tuple[str, ...] = ()
    instead: str = ""


def is_elementwise(op: Operation) -> bool:
    """Whether each element of a result is computed of one element of each operand."""
    return op.primitive.kind is Kind.ELEMENTWISE


def is_update(op: Operation) -> bool:
    """Whether an operation gives its first operand with some elements changed."""
    return op.primitive.kind is Kind.UPDATE


def is_plain_view(op: Operation) -> bool:
    """Whether NumPy answers an operation with a view that has each element once, to be written."""
    return op.primitive.kind is Kind.VIEW and op.primitive.shares


def is_moved(op: Operation) -> bool:
    """Whether an operation puts elements where no data decide, or makes them out of nothing."""
    kind = op.primitive.kind
    is_update = kind is Kind.UPDATE and not op.primitive.reads_at_data
    return kind in (Kind.SOURCE, Kind.VIEW, Kind.COPY) or is_update


def is_made_anew(op: Operation) -> bool:
    """Whether an operation may be repeated wherever its result is needed: a constant or a range."""
    return op.primitive.kind is Kind.SOURCE and op.primitive.recompute is not None


def is_quiet(op: Operation) -> bool:
    """Whether an operation meets no floating-point condition, whatever the numbers are."""
    quiet = ask(op.primitive.quiet, op)
    return all([value.type.dtype.kind in quiet for value in op.operands])


def ask(fact: Any, op: Operation) -> Any:
    """Return what a fact says of an operation."""
    return fact(op) if callable(fact) else fact


def may_fail(op: Operation) -> bool:
    """Whether an operation, not its regions, may raise on data."""
    return bool(ask(op.primitive.may_fail, op))


# --- prices -------------------------------------------------------------------------------------


#: What an unknown size is taken to be where something has to be estimated.
USUAL = 256
#: The sizes of symbols with which what is compiled now was called.
_seen: ContextVar[Mapping[str, int]] = ContextVar("seen", default=MappingProxyType({}))


@contextmanager
def seen(sizes: Mapping[str, int]) -> Generator[None]:
    """Take unknown sizes for these, of a call that there was, where something is estimated."""
    before = _seen.set({**_seen.get(), **sizes})
    try:
        yield
    finally:
        _seen.reset(before)


def usual_size(size: DimLike, sizes: Mapping[str, int] = MappingProxyType({})) -> int:
    """Return a size where `sizes` are known, or what it may be.

    What a loop counts is taken at the middle of the loop.
    """
    if not isinstance(size, Dim):
        return size
    known = {name: sizes.get(name, _expected(name)) for name in symbols(size)}
    if None in known.values():
        return USUAL
    try:
        return evaluate(size, known)  # type: ignore[arg-type]
    except ValueError:  # of two sizes that must be the same each was taken for another
        return max(known.values())  # type: ignore[type-var]


def _expected(name: str) -> int | None:
    most = most_of(name)
    return _seen.get().get(name) if most is None else (most + 1) // 2


def usual(shape: Sequence[DimLike]) -> int:
    """Return how many elements a shape has, or may have."""
    return math.prod(map(usual_size, shape))


def count(value: Value) -> int:
    """Return how many elements a value has, or may have where that is not known."""
    return usual(value.type.shape) if isinstance(value.type, ArrayType) else 0


def flops_of_fn(op: Operation) -> float:
    """Return what steps of the ufunc that an operation is about take, one for each element."""
    fn, dtype = op.params["fn"], op.results[0].type.dtype
    is_known = isinstance(fn, np.ufunc)
    each = instructions(fn, (dtype,) * (fn.nin + fn.nout)) if is_known else 1
    return float(each * max(count(op.results[0]), count(op.operands[0])))


def fn_may_fail(op: Operation) -> bool:
    """Whether the ufunc that an operation is about may raise."""
    fn = op.params["fn"]
    return row_of(fn) is UNKNOWN or (fn is np.power and op.results[0].type.dtype.kind not in "fc")


def products_of_matrices(op: Operation) -> float:
    """Return about how many instructions linear algebra takes in a kernel; none if it is called."""
    if ask(op.primitive.call_ns, op):
        return 0
    return max([min(v.type.shape[-2:], default=1) * count(v) for v in op.operands])


def flops_of_matrices(of: Callable[[int, int, int], float]) -> Rule:
    """Return the price of linear algebra, given that of an n x m matrix of real numbers.

    It is also told how many columns the other operand has.

    As textbooks count it (G. Golub, C. Van Loan, Matrix Computations, 4th ed.); for values of
    symmetric and singular problems, about six sweeps.
    """

    def flops(op: Operation) -> float:
        *lead, n, m = op.operands[0].type.shape
        columns = op.operands[-1].type.shape[-1]
        each = 4 if op.results[0].type.dtype.kind == "c" else 1
        return each * math.prod(lead) * of(n, m, columns)

    return flops


# --- kinds --------------------------------------------------------------------------------------

_MOVES = {"may_fail": False, "conditions": "", "flops": 0}
#: What follows from the kind of an operation, if it says nothing else.
OF_KIND: dict[Kind, dict[str, Any]] = {
    Kind.SOURCE: {**_MOVES, "instructions": 0, "along_rows": True, "recompute": 0},
    Kind.VIEW: {
        **_MOVES,
        "held": Held.NOWHERE,
        "instructions": 0,
        "recompute": 0,
        "repeats": False,
    },
    Kind.COPY: {**_MOVES, "along_rows": True, "allocates": True, "repeats": False},
    Kind.LOOKUP: {"conditions": "", "reads_at_data": (0,), "instructions": 4, "flops": 0},
    Kind.UPDATE: {"conditions": "", "flops": 0, "allocates": True},
    Kind.ELEMENTWISE: {"may_fail": False, "held": Held.NUMBERS, "along_rows": True},
    Kind.ALONG: {"may_fail": False, "repeats": False, "allocates": True},
    Kind.REDUCTION: {"may_fail": False, "repeats": False},
    Kind.CONTRACTION: {"may_fail": False},
    Kind.MATRIX: {"products": products_of_matrices},
}


def completed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with those that follow from them."""
    found = {**OF_KIND.get(facts.get("kind", Kind.OTHER), {}), **facts}
    if found.get("conditions") == "":
        found.setdefault("quiet", NUMBERS)
    return found
