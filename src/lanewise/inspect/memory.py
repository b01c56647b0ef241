"""How much memory a program takes: worked out from its graph, before or after it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lanewise.inspect.kernels import size_of
from lanewise.ir.graph import Graph, Operation
from lanewise.ops.facts import usual_size
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.parts import peak, size_in_bytes


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one program, in bytes.

    Attributes
    ----------
    arguments
        Of what it takes, arrays that the function captures among them.
    results
        Of what it gives.
    peak
        Of intermediates and results together, at most at one time.
    chunk
        The ``chunk_size``, if the map has one that is less than the batch.
    whole
        What the peak would be without chunks.
    """

    arguments: int
    results: int
    peak: int
    chunk: int | None = None
    whole: int | None = None


def physical() -> int | None:
    """Return the bytes of memory that this machine has, where that can be found out."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None


def advice(memory: Memory, examples: int) -> str | None:
    """Return what to say of a map that needs more than half of the machine's memory.

    Parameters
    ----------
    memory
        Of the map.
    examples
        How many it has.

    Examples
    --------
    >>> advice(Memory(0, 0, 100), 1000) is None
    True
    """
    whole, fixed = physical(), memory.arguments + memory.results
    if whole is None or memory.chunk is not None or memory.arguments + memory.peak <= whole / 2:
        return None
    inside = memory.peak - memory.results
    if examples < 2 or inside <= 0 or fixed >= whole / 2:
        return None
    # A power of two with which intermediates take a quarter of what is left, or less.
    size = int(examples * (whole - fixed) / 4 / inside)
    if size >= examples:
        return None
    chunk = 1 << max(size.bit_length() - 1, 0)
    return f"that is much of this machine's {size_of(whole)}; chunk_size={chunk} would need less"


def memory_of(
    recorded: Graph, lowered: Graph, sizes: Mapping[str, int], scratch: Callable[[Operation], int]
) -> Memory:
    """Return the memory of a program.

    Parameters
    ----------
    recorded, lowered
        Its graph, as it was recorded and as it runs.
    sizes
        Of its symbolic dimensions.
    scratch
        Gives the bytes that a thread works in while it runs a native map.
    """
    known = dict(sizes)
    chunk = whole = None
    chunked = [op for op in lowered.operations if _is_chunked(op, known)]
    if chunked:
        chunk = max(op.params["chunk"] for op in chunked)
        whole = peak(lower(_without_chunks(recorded)), known, scratch)
    return Memory(
        sum([size_in_bytes(value, known) for value in lowered.inputs]),
        sum([size_in_bytes(value, known) for value in dict.fromkeys(lowered.outputs)]),
        peak(lowered, known, scratch),
        chunk,
        whole,
    )


def _is_chunked(op: Operation, sizes: dict[str, int]) -> bool:
    chunk = op.params.get("chunk") if op.primitive is map_ else None
    return chunk is not None and chunk < usual_size(op.params["size"], sizes)


def _without_chunks(graph: Graph) -> Graph:
    """Return a recorded graph with its outermost maps in one piece."""

    def whole(op: Operation) -> Operation:
        if op.primitive is not map_ or op.params["chunk"] is None:
            return op
        return op.with_regions(op.regions, {**op.params, "chunk": None})

    return graph.changed(whole)
