"""``lanewise map``: a function over the examples in a file."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lanewise as lw
from lanewise.cli.errors import CommandError
from lanewise.cli.inputs import array_names, is_archive, open_member, open_npy
from lanewise.cli.outputs import Array, FailureTable, ResultWriter, check_output, scratch_folder
from lanewise.cli.progress import progress
from lanewise.cli.source import describe, load_function, parameters_among

try:
    import resource
except ImportError:  # on Windows
    resource = None

CHUNK_BYTES = 64 << 20

#: How messages name an example, of the chunk that is mapped.
_EXAMPLE = re.compile(r"(\bin example )(\d+)(?=(?:, \d+)*(?: \(|$|;))")

Inputs = dict[str, NDArray[Any]]
"""The opened arrays by parameter. One array that is not named has the name ``""``."""


class Summary(NamedTuple):
    """What was done, and how long it took."""

    function: str
    source: Path
    output: Path
    unused: list[str]
    examples: int
    seconds: float
    arrays: list[Array]
    failures: FailureTable | None = None

    def __str__(self) -> str:
        rate = self.examples / self.seconds
        lines = [
            f"{self.function} over {self.examples:,} examples of {self.source} "
            f"in {self.seconds:,.3f} s ({rate:,.0f} examples/s)"
        ]
        if self.unused:
            lines.append(f"not used: {', '.join(self.unused)}")
        lines.append(f"wrote {self.output} ({_bytes(sum(a.nbytes for a in self.arrays))})")
        named = self.output.suffix == ".npz"
        rows = [(a.name if named else "", str(a.dtype), str(a.shape)) for a in self.arrays]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
            lines.append("  " + "  ".join(cells).rstrip())
        if self.failures is not None:
            many = f"{self.failures.count:,} example{'s' * (self.failures.count != 1)}"
            lines.append(f"{many} raised, see {self.failures.path}")
        return "\n".join(lines)


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def map_file(
    target: str,
    source: Path,
    output: Path,
    *,
    chunk_size: int | None = None,
    in_dim: int = 0,
    on_error: str = "raise",
    fill_value: Any = None,
) -> Summary:
    """Map a function over the examples in a file, in chunks.

    Parameters
    ----------
    target : str
        ``FILE.py:FUNCTION``, written for one example.
    source : Path
        An `.npy` or `.npz`, memory-mapped.
    output : Path
        The `.npy` or `.npz` to make. It is there only when it is complete.
    chunk_size : int, optional
        Examples in a chunk; by default, as many as make about 64 MiB of input and output.
    in_dim : int
        The dimension of each input that counts the examples.
    on_error, fill_value
        As for `lanewise.vmap`; what was raised goes to a table beside the output.

    Returns
    -------
    Summary
        What the command prints.
    """
    check_output(output, source)
    destination = output.resolve()  # a link is followed, not replaced
    function, file = load_function(target)
    failures = FailureTable(output.with_name(f"{output.name}.failures.csv"))
    how = {"on_error": on_error, "fill_value": fill_value}
    with scratch_folder(destination) as scratch:
        inputs, unused = _open_inputs(function, source, scratch)
        size = _examples(inputs, source, in_dim)
        start = time.perf_counter()
        with ResultWriter(destination, scratch, size) as writer, progress(size) as advance:
            # The first chunk also tells what the result of one example weighs: by default it is
            # one example, which serves to choose the size of the others.
            begin, end = 0, min(chunk_size or 1, size)
            while True:
                chunk = {name: _slice(array, in_dim, begin, end) for name, array in inputs.items()}
                result = _map_chunk(function, file, chunk, in_dim, begin, end, how)
                if on_error == "collect":
                    result, raised = result
                    failures.add(raised, begin)
                writer.write(result, end - begin)
                advance(end - begin)
                if end == size:
                    break
                chunk_size = chunk_size or _default_chunk_size(inputs, writer.arrays, size)
                begin, end = end, min(end + chunk_size, size)
            if on_error == "collect":
                failures.finish(scratch)
            writer.finish()
        seconds = time.perf_counter() - start
    told = failures if on_error == "collect" else None
    return Summary(target, source, output, unused, size, seconds, writer.arrays, told)


def _open_inputs(
    function: Callable[..., Any], source: Path, scratch: Path
) -> tuple[Inputs, list[str]]:
    """Return the function's arguments and the names of the arrays that it does not take."""
    if not is_archive(source):
        return {"": open_npy(source)}, []
    names = array_names(source)
    taken = parameters_among(function, names)
    arrays = {name: open_member(source, name, scratch) for name in taken}
    return arrays, [name for name in names if name not in taken]


def _examples(inputs: Inputs, source: Path, in_dim: int) -> int:
    sizes = {}
    for name, array in inputs.items():
        if not -array.ndim <= in_dim < array.ndim:
            what = f"{name!r} in {source}" if name else str(source)
            raise CommandError(
                f"{what}: has shape {array.shape}, which has no dimension {in_dim} to map over"
            )
        sizes[name] = array.shape[in_dim]
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise CommandError(f"{source}: the arrays differ in their number of examples: {listed}")
    return next(iter(sizes.values()))


def _slice(array: NDArray[Any], in_dim: int, begin: int, end: int) -> NDArray[Any]:
    before = (slice(None),) * (in_dim % array.ndim)
    # In an .npz, data may start at any byte; it is copied then, a chunk at a time.
    return np.require(array[(*before, slice(begin, end))], requirements="A")


def _map_chunk(
    function: Callable[..., Any],
    file: Path,
    chunk: Inputs,
    in_dim: int,
    begin: int,
    end: int,
    how: dict[str, Any],
) -> Any:
    def by_name(arguments: Inputs) -> Any:
        return function(**arguments)

    try:
        if "" in chunk:
            return lw.vmap(function, in_dims=in_dim, **how)(chunk[""])
        return lw.vmap(by_name, in_dims=in_dim, **how)(chunk)
    except Exception as error:
        message = describe(error, file)
        found = [*_EXAMPLE.finditer(message)][-1:]  # of the file, not of the chunk
        for place in found:
            number = begin + int(place[2])
            message = f"{message[: place.start(2)]}{number}{message[place.end(2) :]}"
        if begin and not found:
            message += f" (in the chunk of examples {begin} to {end - 1})"
        if isinstance(error, MemoryError):
            message = _out_of_memory(message, begin, end)
        raise CommandError(message) from error


def _out_of_memory(message: str, begin: int, end: int) -> str:
    """Say in one line what was too much, and what to set."""
    many = f"examples {begin:,} to {end - 1:,}" if end - begin > 1 else f"example {begin:,}"
    limit = ""
    if resource is not None:
        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            limit = f"; this process may take {_bytes(most)} (ulimit -v)"
    smaller = f"--chunk-size {max((end - begin) // 4, 1)}, or less, and " if end - begin > 1 else ""
    return f"{message}: not enough memory for {many}{limit}: set {smaller}a higher limit"


def _default_chunk_size(inputs: Inputs, results: list[Array], size: int) -> int:
    total = sum(array.nbytes for array in (*inputs.values(), *results))
    return max(1, CHUNK_BYTES * size // max(total, 1))
