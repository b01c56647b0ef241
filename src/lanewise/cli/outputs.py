"""Results into files: written aside, chunk after chunk, and put in place when complete."""

from __future__ import annotations

import csv
import os
import re
import zipfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
import optree
from numpy.lib import format as npy
from numpy.typing import NDArray

from lanewise.cli.errors import CommandError


def check_output(output: Path, source: Path) -> None:
    """Refuse an output that could not be written in the end, before any work is done."""
    if output.suffix not in (".npy", ".npz"):
        raise CommandError(f"{output}: the output's name must end in .npy or .npz")
    if not output.parent.is_dir():
        raise CommandError(f"{output}: there is no folder {output.parent}")
    if output.is_dir():
        raise CommandError(f"{output}: is a folder")
    if output.exists() and source.exists() and output.samefile(source):
        raise CommandError(f"{output}: is the input too; choose another output")


@contextmanager
def scratch_folder(output: Path) -> Generator[Path]:
    """Make a hidden folder beside `output`, removed with all that is in it at the end.

    Beside it, so that putting a file in place is a rename within one file system.
    """
    with TemporaryDirectory(
        prefix=f".{output.name}.", dir=output.parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Array:
    """One array of the result, growing in a file of its own."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    path: Path
    file: BinaryIO

    @property
    def nbytes(self) -> int:
        """Bytes of data when complete."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=object))

    def append(self, chunk: NDArray[Any]) -> None:
        # Written, not stored through a memory map: a full disk is then an error that can be
        # reported, not a signal that ends the process.
        self.file.write(np.ascontiguousarray(chunk).reshape(-1).view(np.uint8).data)


class ResultWriter:
    """Writes the results of one chunk after another; a context manager.

    Parameters
    ----------
    output : Path
        The `.npy` or `.npz` to make. Nothing is there, or what was there stays, until `finish`.
    scratch : Path
        A folder on the same file system, for what is not complete.
    size : int
        How many examples there will be.
    """

    def __init__(self, output: Path, scratch: Path, size: int) -> None:
        self.arrays: list[Array] = []
        self._output = output
        self._scratch = scratch
        self._size = size
        self._written = 0
        self._files = ExitStack()

    def __enter__(self) -> ResultWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._files.close()

    def write(self, result: Any, examples: int) -> None:
        """Append the result of the next `examples` examples. The first one settles the arrays."""
        named = _named_leaves(result)
        if not self.arrays:
            self.arrays = self._create(named)
        if [_type(name, leaf) for name, leaf in named] != [
            _type(array.name, array) for array in self.arrays
        ]:
            raise CommandError(
                f"the function's result changes with the chunk: {_types(self.arrays)} before, "
                f"{'; '.join(_type(name, leaf) for name, leaf in named)} from example "
                f"{self._written} on"
            )
        for array, (_, leaf) in zip(self.arrays, named, strict=True):
            array.append(leaf)
        self._written += examples

    def finish(self) -> None:
        """Put the complete output in place."""
        self._files.close()
        if self._output.suffix == ".npy":
            complete = self.arrays[0].path
        else:
            complete = self._scratch / "result.npz"
            # Not compressed: then the file can be memory-mapped in its turn.
            with zipfile.ZipFile(complete, "w", zipfile.ZIP_STORED) as archive:
                for array in self.arrays:
                    archive.write(array.path, f"{array.name}.npy")
                    array.path.unlink()
        with complete.open("rb+") as file:
            os.fsync(file.fileno())
        complete.replace(self._output)
        _sync_folder(self._output.parent)

    def _create(self, named: list[tuple[str, NDArray[Any]]]) -> list[Array]:
        if not named:
            raise CommandError("the function returns no array")
        if self._output.suffix == ".npy" and len(named) > 1:
            raise CommandError(
                f"the function returns {len(named)} arrays ({', '.join(n for n, _ in named)}), "
                f"an .npy file holds one; write {self._output.with_suffix('.npz').name}"
            )
        names = [name for name, _ in named]
        if len(set(names)) < len(names):
            raise CommandError(f"two results would have one name: {', '.join(names)}")
        return [self._open(i, name, leaf) for i, (name, leaf) in enumerate(named)]

    def _open(self, number: int, name: str, leaf: NDArray[Any]) -> Array:
        if leaf.dtype.hasobject:
            raise CommandError(f"the function's result {name} holds Python objects")
        path = self._scratch / f"result-{number}.npy"
        file = self._files.enter_context(path.open("wb"))
        shape = (self._size, *leaf.shape[1:])
        header = {"descr": npy.dtype_to_descr(leaf.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_2_0(file, header)
        return Array(name, leaf.dtype, shape, path, file)


class FailureTable:
    """What examples raised, as a table: the number of the example, the exception, its message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: list[tuple[int, str, str]] = []

    @property
    def count(self) -> int:
        """How many examples raised."""
        return len(self._rows)

    def add(self, failures: Mapping[int, BaseException], begin: int) -> None:
        """Enter the failures of a chunk that begins with the example number `begin`."""
        for index, error in sorted(failures.items()):
            text = "\n".join([str(error), *getattr(error, "__notes__", ())])
            text = re.sub(rf"\bin example {index}\b", f"in example {begin + index}", text)
            self._rows.append((begin + index, type(error).__name__, text))

    def finish(self, scratch: Path) -> None:
        """Put the table in place."""
        complete = scratch / "failures.csv"
        with complete.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("example", "error", "message"))
            writer.writerows(self._rows)
        complete.replace(self.path)


def _named_leaves(result: Any) -> list[tuple[str, NDArray[Any]]]:
    accessors, leaves, _ = optree.tree_flatten_with_accessor(result)
    return [
        (_name(accessor), np.asarray(leaf))
        for accessor, leaf in zip(accessors, leaves, strict=True)
    ]


def _name(accessor: optree.PyTreeAccessor) -> str:
    """Name a result as `numpy.savez` would, and by its path where it is nested.

    A lone result or the first of several is ``arr_0``; the rest follow dict keys and fields:
    ``{"a": (x, y)}`` gives ``a.0`` and ``a.1``.
    """
    parts = [str(getattr(entry, "field", entry.entry)) for entry in accessor]
    if not parts:
        return "arr_0"
    if isinstance(accessor[0], optree.SequenceEntry) and not hasattr(accessor[0], "field"):
        parts[0] = f"arr_{parts[0]}"
    return ".".join(parts)


def _type(name: str, array: Array | NDArray[Any]) -> str:
    """Return what must be the same in every chunk."""
    return f"{name} {array.dtype} {array.shape[1:]}"


def _types(arrays: list[Array]) -> str:
    return "; ".join(_type(array.name, array) for array in arrays)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a loss of power, where folders can be synced (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
