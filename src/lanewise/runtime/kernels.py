"""Native maps: a kernel with its code, called on whole batches.

A kernel takes each mapped operand in one of two layouts. In *rows* the examples come first, one
after the other, without gaps. In *columns* they stand side by side: a step along the mapped axis is
a step to the next number in memory, whatever the others are. An array of shape (3, N), one row for
each component, is in columns if it is mapped along axis 1, and so is one in Fortran's order that is
mapped along axis 0. Whatever is neither is copied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from lanewise.codegen.background import Work, begin, held_at_fork
from lanewise.codegen.costs import Cost, of_kernel, settled
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.kernel import Kernel
from lanewise.codegen.kernel_cache import kernel_for, kernels_of
from lanewise.codegen.llvm import Code
from lanewise.codegen.memory import MOST_SCRATCH
from lanewise.codegen.overwriting import Shared
from lanewise.codegen.store import key_of
from lanewise.ir.dims import DimLike
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.regions import NATIVE
from lanewise.passes.fitting import fits
from lanewise.passes.specialize import replaced, specialized, unknown_sizes
from lanewise.passes.survive import INTERNAL, survives
from lanewise.passes.turns import MOST_SYMBOL
from lanewise.runtime.binding import of_any_size
from lanewise.runtime.failed import KernelFailed, NotCompiled
from lanewise.runtime.interpret import RUNNERS, MapRunner
from lanewise.runtime.launch import Entry, Known, caller
from lanewise.runtime.mend import Mender
from lanewise.runtime.settings import COMPILE, NO_MEMORY, backend

#: How much code is kept that no plan uses now, for plans that are made anew at each call.
MOST_CODES = 32
#: For so many layouts of operands at most, a map is compiled.
MOST_VARIANTS = 4
#: How calls are made is kept for so many sizes of the arrays that a kernel is told of.
MOST_SIZES = 256
#: Sizes that a kernel is told of, and what it computes of them, are below this.
MOST_SIZE = 1 << 62
#: Bytes that are copied in a second.
COPIED = 4e9
NOTHING: Mapping[Any, Any] = MappingProxyType({})

_codes: WeakValueDictionary[str, Code] = WeakValueDictionary()
_recent: dict[str, Code] = {}
_lock = held_at_fork(threading.RLock())


def code_of(kernel: Kernel) -> Code:
    """Return the machine code of a kernel, compiled at its first use.

    It is freed when nobody refers to it any more, so whoever keeps an address of it keeps it too.
    """
    key = key_of(kernel.text)
    code = _codes.get(key) or Code(kernel.text)  # others may run meanwhile
    with _lock:
        code = _codes.setdefault(key, code)
        _recent.pop(key, None)
        _recent[key] = code
        if len(_recent) > MOST_CODES:
            _recent.pop(next(iter(_recent)))
        return code


def _made(kernel: Kernel, op: Operation) -> Code:
    """Return the machine code of the kernel of a map; raise `NotCompiled` if it cannot be made."""
    try:
        return code_of(kernel)
    except MemoryError as error:
        raise NotCompiled(NO_MEMORY, op) from error
    except Exception as error:
        if not survives(error, "LLVM", op.alone()):
            raise
        raise NotCompiled(f"{INTERNAL} in LLVM", op) from error


def kernel_of(op: Operation, columns: Sequence[bool] = (), shared: Shared = ()) -> Kernel:
    """Return the kernel of a native map, in one form; see `kernel_for`."""
    (body,) = op.regions
    return kernel_for(body, op.params["in_dims"], op.params["fastmath"], tuple(columns), shared)


def cost_of(
    op: Operation, kernel: Kernel, sizes: Mapping[str, int], examples: int, threads: int
) -> Cost:
    """Return what a call of a kernel of a native map should take; see `settled` for errors."""
    body, in_dims = kernel.body or op.regions[0], op.params["in_dims"]
    body = settled(specialized(body, sizes) if sizes else body, in_dims, examples)
    return of_kernel(body, in_dims, examples, kernel.lanes, kernel.in_lanes, threads)


def known_code(kernel: Kernel) -> Code | None:
    """Return the machine code of a kernel if it is in use, or was lately."""
    return _codes.get(key_of(kernel.text))


def latest_kernel(op: Operation) -> Kernel:
    """Return the kernel of a native map that was used last; the one for rows if none was yet."""
    made = kernels_of(op.regions[0], op.params["in_dims"], op.params["fastmath"])
    used = (kernel for kernel in made if known_code(kernel) is not None)
    return next(used, None) or kernel_of(op)


def native(op: Operation, free: Collection[int] = ()) -> Callable[..., Any]:
    """Return the runner of a native map: of the sizes of dimensions, and of the operands.

    It may write to the operands at the positions `free`.
    """
    shared = overwriting(op, free)
    if shared or of_any_size(op):
        return _Sized(op, shared)
    runner = _Runner(op)
    return caller(runner.cell, runner)


def overwriting(op: Operation, free: Collection[int]) -> list[tuple[int, int]]:
    """Return which operands of a native map results may lie in, with those results, by number.

    Those are chosen of `free` operands, which nobody reads any more.
    """
    size, in_dims = op.params["size"], op.params["in_dims"]
    if not free or type(size) is not int or any(op.params["columns"]):
        return []
    (body,) = op.regions
    pairs: list[tuple[int, int]] = []
    for i in free:
        source = body.inputs[i]
        fits = [
            k
            for k, value in enumerate(body.outputs)
            if value.type == source.type and k not in [result for _, result in pairs]
        ]
        if fits and (in_dims[i] == 0 or (in_dims[i] is None and size == 1)):
            # Of several it is best the one that is made of the operand.
            pairs.append((i, next((k for k in fits if _stems(body, source, k)), fits[0])))
    try:
        fails = bool(pairs) and kernel_of(op, (), pairs).may_fail
    except CannotCompile:
        return []
    return [] if fails else pairs  # examples that fail are run again


def _stems(body: Graph, source: Value, result: int) -> bool:
    """Whether a result is an operand, changed by one operation after the other."""
    waiting, seen = [body.outputs[result]], set()
    while waiting:
        value = waiting.pop()
        if value is source:
            return True
        if value in body.makers and value not in seen:
            waiting += [x for x in body.makers[value].operands if x.type == source.type]
        seen.add(value)
    return False


class _Variant(NamedTuple):
    """A kernel of a native map: what it is called by, and how it takes mapped operands."""

    call: Callable[..., tuple[np.ndarray, ...]]
    columns: tuple[bool, ...]
    known: Known
    seconds: float


class _Runner:
    """Runs a native map by the kernel for the layouts of its operands.

    A kernel is compiled when operands first lie as it takes them: at once if it is the first; later
    when copying them to what another takes has cost as much as compiling did, in the background.
    """

    __slots__ = ("_copied", "_dtypes", "_in_dims", "_op", "_variants", "_works", "cell")

    def __init__(self, op: Operation) -> None:
        (body,) = op.regions
        self._op = op
        self._in_dims: tuple[int | None, ...] = op.params["in_dims"]
        self._dtypes = [canonical(value.type.dtype) for value in body.inputs]
        self._variants: dict[tuple[bool, ...], _Variant] = {}
        self._copied: dict[tuple[bool, ...], float] = {}
        self._works: dict[tuple[bool, ...], Work] = {}
        #: The kernel that ran last, which is tried without asking here.
        self.cell: list[Known | None] = [None]

    def __call__(self, sizes: dict[str, int], *operands: Any) -> tuple[np.ndarray, ...]:
        size = evaluate(self._op.params["size"], sizes)
        count = len(self._dtypes)
        operands, results = operands[:count], operands[count:]  # to write to, if they are given
        arrays = [np.asarray(x, dtype) for x, dtype in zip(operands, self._dtypes, strict=True)]
        variant = self._variant(arrays)
        given = [
            columns(x, axis, dtype) if is_column else rows(x, axis, dtype)
            for x, axis, dtype, is_column in zip(
                arrays, self._in_dims, self._dtypes, variant.columns, strict=True
            )
        ]
        if not any(
            axis for axis, taken in zip(self._in_dims, variant.columns, strict=True) if not taken
        ):
            self.cell[0] = variant.known
        return variant.call(size, *given, *results)

    def _variant(self, arrays: Sequence[np.ndarray]) -> _Variant:
        """Return the kernel that runs a call."""
        wanted = tuple(map(prefers_columns, arrays, self._in_dims))
        if not self._variants:
            self._compile(wanted)
        if wanted in self._variants:
            return self._variants[wanted]

        def copied(variant: _Variant) -> int:
            """Return how many bytes of operands are copied for a kernel."""
            fits = [
                is_columns(x, axis) if is_column else is_rows(x, axis)
                for x, axis, is_column in zip(arrays, self._in_dims, variant.columns, strict=True)
            ]
            return sum([x.nbytes for x, is_fit in zip(arrays, fits, strict=True) if not is_fit])

        best = min(self._variants.values(), key=copied)
        cost = copied(best) / COPIED
        spent = self._copied[wanted] = self._copied.get(wanted, 0.0) + cost
        is_forced = backend() == COMPILE
        is_dear = cost > 0 and (spent > best.seconds or is_forced)
        if is_dear and len(self._variants) < MOST_VARIANTS:
            work = self._works.get(wanted)
            if work is None or work.is_lost:
                work = self._works[wanted] = begin(partial(self._compile, wanted))
            if is_forced:
                work.run()
                work.wait()
            if work.is_done:
                work.result()
        return self._variants.get(wanted, best)

    def _compile(self, wanted: tuple[bool, ...]) -> None:
        """Compile the kernel for operands in columns, or others in rows."""
        op = self._op
        kernel = _in_layout(op, wanted)
        code = _made(kernel, op)
        known = _prepared(op, kernel, code)
        taken = kernel.columns[: len(wanted)]
        self._variants[wanted] = _Variant(caller([known], None), taken, known, code.seconds)


def _in_layout(op: Operation, wanted: Sequence[bool]) -> Kernel:
    """Return the kernel of a native map for operands in columns, or others in rows."""
    results = op.params["columns"] or (False,) * len(op.results)
    try:
        return kernel_of(op, (*wanted, *results))
    except CannotCompile:  # that for rows was written when the map was made
        return kernel_of(op)


def compiled(
    op: Operation, free: Collection[int], given: Mapping[Value, np.ndarray] = NOTHING
) -> Code:
    """Return the machine code of the kernel that a native map begins with; see `native`.

    ``given`` has arrays that lie in memory as operands will. Who keeps the code has it found.
    """
    in_dims = op.params["in_dims"]
    shared = overwriting(op, free)
    if shared or of_any_size(op):
        return _made(kernel_of(op, (), shared), op)
    wanted = [
        value in given and prefers_columns(given[value], axis)
        for value, axis in zip(op.operands, in_dims, strict=True)
    ]
    return _made(_in_layout(op, wanted), op)


def _prepared(
    op: Operation,
    kernel: Kernel,
    code: Code,
    sizes: Mapping[str, int] = NOTHING,
    told: Sequence[np.ndarray] = (),
) -> Known:
    """Return how a kernel is called on arrays of some sizes, of which it is told behind them."""
    (body,) = op.regions
    inputs, outputs = (
        [(canonical(v.type.dtype), replaced(v.type.shape, sizes)) for v in values]
        for values in (body.inputs, body.outputs)
    )
    axes = [
        axis if axis is None or is_column else 0
        for axis, is_column in zip(op.params["in_dims"], kernel.columns, strict=False)
    ]
    entry = Entry(
        address=code.address(kernel.name),
        inputs=[*inputs, *[(table.dtype, table.shape) for table in told]],
        outputs=outputs,
        axes=[*axes, *[None] * len(told)],
        columns=kernel.columns,
        scratch=kernel.scratch + evaluate(kernel.unknown, sizes),
        lanes=kernel.lanes if kernel.in_lanes else 1,
        work=kernel.work,
        refills=kernel.refills,
    )
    return entry.table(), Mender(op, entry, kernel.lost, sizes), (code, entry)


class _Sized:
    """Runs a native map of operands in rows: how its kernel is called is made once for each size.

    The kernel is told of sizes that are not known, and some results may lie in the memory of
    operands: where one is not as the kernel reads it, it is copied, and the copy is overwritten.
    """

    def __init__(self, op: Operation, shared: Shared = ()) -> None:
        self._op, self._shared = op, shared
        self._size: DimLike = op.params["size"]
        self._symbols = sorted(unknown_sizes(op.regions[0]))
        self._kernel = kernel_of(op, (), shared)
        self._code: Code | None = None
        self._calls: dict[tuple[int, ...], Callable[..., Any] | None] = {}

    def __call__(self, sizes: Any, *operands: Any) -> tuple[np.ndarray, ...]:
        key = tuple([sizes[name] for name in self._symbols]) if self._symbols else ()
        call = self._calls.get(key)
        if call is None:
            if key not in self._calls:
                if len(self._calls) >= MOST_SIZES:
                    self._calls.clear()
                call = self._calls[key] = self._made(dict(zip(self._symbols, key, strict=True)))
            if call is None:  # NumPy says what is wrong, or does it
                raise KernelFailed(None, self._op)
        size = self._size
        return call(size if type(size) is int else evaluate(size, sizes), *operands)

    def _made(self, sizes: dict[str, int]) -> Callable[..., Any] | None:
        """Return what calls the kernel on arrays of these sizes; None if it is not for them."""
        (body,) = self._op.regions
        kernel = self._kernel
        table = [evaluate(size, sizes) for size in kernel.sizes or ()]
        is_possible = (
            kernel.scratch + evaluate(kernel.unknown, sizes) <= MOST_SCRATCH
            and all([abs(size) < MOST_SIZE for size in table])
            # A kernel relies on it that all are sizes.
            and all([0 <= size < MOST_SYMBOL for size in sizes.values()])
            and (not sizes or fits(body, sizes))
        )
        if not is_possible:
            return None
        if self._code is None:
            self._code = _made(kernel, self._op)
        told = [] if kernel.sizes is None else [np.array(table, np.int64)]
        known = _prepared(self._op, kernel, self._code, sizes, told)
        exact = caller([known], None)
        _, entry = known[2]
        in_dims = self._op.params["in_dims"]
        dtypes = [dtype for dtype, _ in entry.inputs]
        places = {result: operand for operand, result in self._shared}
        outputs = [(places.get(i), *output) for i, output in enumerate(entry.outputs)]

        def behind(size: int, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
            """Return what it is told, and writes to where results lie in the memory of operands."""
            return told + [
                np.empty((size, *shape), dtype) if i is None else operands[i].reshape(size, *shape)
                for i, dtype, shape in outputs
            ]

        def in_rows(size: int, *operands: Any) -> tuple[np.ndarray, ...]:
            """Call it on operands that are not as it reads them."""
            given = list(map(rows, operands, in_dims, dtypes))
            return exact(size, *given, *(behind(size, given) if places else told))

        if any(in_dims):  # examples do not come first
            return in_rows
        call = caller([known], in_rows)
        if places:
            return lambda size, *operands: call(size, *operands, *behind(size, operands))
        return lambda size, *operands: call(size, *operands, *told)


# --- layouts --------------------------------------------------------------------------------------


def is_rows(x: np.ndarray, axis: int | None) -> bool:
    """Whether the examples of an aligned array follow each other without gaps.

    Examples
    --------
    >>> x = np.zeros((5, 3))
    >>> is_rows(x, 0), is_rows(x.T, 1), is_rows(x, 1), is_rows(x[:, 1:], 0)
    (True, True, False, False)
    """
    first = np.moveaxis(x, axis, 0) if axis else x
    return first.flags.c_contiguous and first.flags.aligned


def is_columns(x: np.ndarray, axis: int | None) -> bool:
    """Whether the examples of an aligned array stand side by side.

    Examples
    --------
    >>> x = np.zeros((3, 5))
    >>> is_columns(x, 1), is_columns(x.T, 0), is_columns(x, 0), is_columns(x[:, 1:], 1)
    (True, True, False, True)
    """
    return axis is not None and x.strides[axis] == x.itemsize and x.flags.aligned


def prefers_columns(x: np.ndarray, axis: int | None) -> bool:
    """Whether columns are what a mapped array is, or sooner copied to than rows.

    Examples
    --------
    >>> x = np.zeros((3, 10))
    >>> prefers_columns(x, 1), prefers_columns(x[:, ::2], 1), prefers_columns(x[:, ::2], 0)
    (True, True, False)
    """
    if axis is None or is_rows(x, axis):
        return False
    if is_columns(x, axis):
        return True
    apart = abs(x.strides[axis])
    others = [abs(s) for i, s in enumerate(x.strides) if i != axis and x.shape[i] > 1]
    return 0 < apart < min(others, default=0)


def rows(x: Any, axis: int | None, dtype: np.dtype) -> np.ndarray:
    """Return an operand with its batch first, of this very dtype, aligned and without gaps."""
    array = np.asarray(x, dtype)
    if axis:
        array = np.moveaxis(array, axis, 0)
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy()
    return array if array.dtype is dtype else array.view(dtype)  # of several that are equal


def columns(x: Any, axis: int | None, dtype: np.dtype) -> np.ndarray:
    """Return an operand whose examples stand side by side, of this very dtype, and aligned."""
    array = np.asarray(x, dtype)
    if axis is not None and not is_columns(array, axis):
        array = np.moveaxis(np.require(np.moveaxis(array, axis, -1), dtype, ("C", "A")), -1, axis)
    return array if array.dtype is dtype else array.view(dtype)


def canonical(dtype: np.dtype) -> np.dtype:
    """Return the object that most arrays of a dtype of numbers have.

    Examples
    --------
    >>> other = np.dtype(float).newbyteorder("=")
    >>> other is np.dtype(float), canonical(other) is np.dtype(float)
    (False, True)
    """
    return dtype if dtype.isbuiltin == 2 else np.dtype(dtype.str)  # 2: of another package


RUNNERS[NATIVE] = MapRunner(lambda op, free, make: native(op, free), overwriting)
