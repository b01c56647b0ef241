"""The kernels that a program has, or would have: what `explain` tells of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import size_of
from lanewise.inspect.estimates import flops
from lanewise.inspect.limits import Limit, limit_of
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.location import Location, cell_of
from lanewise.ir.types import ArrayType
from lanewise.loading import late
from lanewise.ops.creation import constant
from lanewise.ops.facts import usual_size
from lanewise.passes.specialize import at_usual_sizes, specialized, unknown_sizes
from lanewise.runtime.pool import get_threads
from lanewise.runtime.tiers import duration

if TYPE_CHECKING:
    from lanewise.codegen.costs import Cost
    from lanewise.codegen.kernel import Kernel
    from lanewise.codegen.partition import Refused

kernels = late("lanewise.runtime.kernels")
llvm = late("lanewise.codegen.llvm")


@dataclass(frozen=True, slots=True)
class KernelView:
    """A kernel: a part of the mapped function that is one piece of machine code.

    Attributes
    ----------
    number
        As rows name it: ``kernel 1``.
    lines
        File and line of all that is computed in it, in order.
    operations
        How many operations those are.
    examples
        How many it is run for.
    lanes
        How many examples, or else elements of one example, are computed at once.
    in_lanes
        Whether those are examples.
    columns
        How many of its operands and results have their examples side by side in memory.
    refills
        Whether lanes whose examples are done take the next ones, and do not wait for the others.
    flops
        About how many operations on numbers it does for all examples: see docs/native.md.
    nbytes
        Of its operands and results, each read or written once.
    scratch
        Bytes of memory that a thread works in, beside registers.
    seconds
        What compiling it took, or loading it from the cache on disk; None if neither was done.
    calls, running
        How often it ran and how many seconds that took together, where that was measured.
    cost
        What a call is estimated to take, and at least; None where that cannot be told.
    """

    number: int
    lines: tuple[tuple[str, int], ...]
    operations: int
    examples: int
    lanes: int
    in_lanes: bool
    columns: int
    refills: bool
    flops: int
    nbytes: int
    scratch: int
    seconds: float | None
    _kernel: Kernel
    calls: int = 0
    running: float | None = None
    cost: Cost | None = None

    @property
    def limit(self) -> Limit | None:
        """What it is near: bandwidth, arithmetic or latency, and how near.

        By the time that it was measured to take, else by what it is estimated to take; None where
        neither can be told.
        """
        if self.cost is None:
            return None
        return limit_of(
            self.cost, self.running / self.calls if self.running and self.calls else None
        )

    @property
    def ir(self) -> str:
        """The LLVM IR, as Lanewise writes it and before LLVM optimizes it."""
        return self._kernel.text

    @property
    def assembly(self) -> str:
        """The assembly for this processor. Asking for it compiles the kernel, once more."""
        return llvm.assembly(self._kernel.text)

    def __str__(self) -> str:
        what = "examples" if self.in_lanes else "elements"
        how = ", refilled" if self.refills else ""
        if self._kernel.sizes is not None:
            how += ", told of sizes"
        if self.columns:
            how += f", {self.columns} array{'s' * (self.columns > 1)} in columns"
        made = "" if self.seconds is None else f", made in {duration(self.seconds * 1e9)}"
        scratch = f", {size_of(self.scratch)} of scratch" if self.scratch else ""
        limit = "" if self.limit is None else f"; {self.limit}"
        count = f"{self.operations} operation{'s' * (self.operations != 1)}"
        return (
            f"{places(self.lines) or 'results'}: {count}, {self.lanes} {what} at once{how}, "
            f"about {count_of(self.flops)}flop, {size_of(self.nbytes)} read and written"
            f"{scratch}{made}{limit}"
        )


@dataclass(frozen=True, slots=True)
class Left:
    """An operation under a map that is left to NumPy when the rest is compiled, and why."""

    location: Location | None
    operation: str
    reason: str

    def __str__(self) -> str:
        is_named = self.reason.startswith(f"{self.operation} ")
        return self.reason if is_named else f"{self.operation}: {self.reason}"


def left(refused: Refused) -> Left:
    """Return what to tell of an operation that has no native form."""
    op, place = refused.op, refused.place
    inside = f" ({place.location})" if place is not op and place.location else ""
    return Left(op.location, op.primitive.name, refused.reason + inside)


def view(op: Operation, sizes: dict[str, int], number: int) -> KernelView:
    """Return what to tell of a native map's kernel."""
    (body,) = op.regions
    kernel = kernels.latest_kernel(op)
    code = kernels.known_code(kernel)
    members = list(inner_operations(body))
    found = {(p.file, p.line) for member in members if (p := member.location) is not None}
    if not found and op.location is not None:  # it only hands on what it takes
        found.add((op.location.file, op.location.line))
    examples = usual_size(op.params["size"], sizes)
    arrays = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, ArrayType)]
    cost: Cost | None = None
    with suppress(ValueError, IndexError):  # NumPy runs it
        cost = kernels.cost_of(op, kernel, sizes, examples, get_threads())
    return KernelView(
        number,
        tuple(sorted(found)),
        len(members),
        examples,
        kernel.lanes,
        kernel.in_lanes,
        sum(kernel.columns),
        kernel.refills,
        round(flops(_sized(body, sizes)) * examples),
        sum([usual_size(type_.nbytes, sizes) for type_ in arrays]),
        kernel.scratch + usual_size(kernel.unknown, sizes),
        None if code is None else code.seconds,
        kernel,
        cost=cost,
    )


def _sized(body: Graph, sizes: dict[str, int]) -> Graph:
    """Return a region with sizes in place of symbols; one without operations if they do not fit."""
    try:
        return at_usual_sizes(specialized(body, sizes) if unknown_sizes(body) else body)
    except (ValueError, IndexError):  # NumPy runs it
        return Graph((), (), ())


def inner_operations(graph: Graph) -> Iterator[Operation]:
    """Yield the operations of a graph and of its regions, but for constants."""
    for op in graph.walk():
        if op.primitive is not constant and not op.primitive.is_definition:
            yield op


def places(lines: Iterable[tuple[str, int]]) -> str:
    """Return files and lines for people.

    Examples
    --------
    >>> places([("a/b.py", 3), ("a/b.py", 4), ("a/b.py", 7), ("c.py", 1)])
    'b.py:3-4,7 c.py:1'
    """
    files: dict[str, list[list[int]]] = {}
    for file, line in lines:
        runs = files.setdefault(file, [])
        if runs and runs[-1][1] == line - 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    texts = []
    for file, runs in files.items():
        numbers = [f"{a}" if a == b else f"{a}-{b}" for a, b in runs]
        texts.append(f"{cell_of(file) or Path(file).name}:{','.join(numbers)}")
    return " ".join(texts)


def count_of(number: float) -> str:
    """Return a number with the prefix of its unit, for people.

    Examples
    --------
    >>> count_of(1234567), count_of(12)
    ('1.2 M', '12 ')
    """
    if number < 1000:
        return f"{number:.0f} "
    for prefix in ("k", "M", "G"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {prefix}"
    return f"{number / 1000:.1f} T"
