"""Arrays in files, memory-mapped: an `.npy`, or the members of an `.npz`."""

from __future__ import annotations

import shutil
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lanewise.cli.errors import CommandError

# A zip member's local header: 26 bytes, the lengths of its name and extra field, then these two.
LOCAL_HEADER = struct.Struct("<26xHH")
ENCRYPTED = 0x1  # bit of a zip member's flags


def is_archive(path: Path) -> bool:
    """Tell an `.npz` (True) from an `.npy` (False) by the file's first bytes."""
    if not path.is_file():
        raise CommandError(f"{path}: no such file")
    with path.open("rb") as file:
        start = file.read(len(npy.MAGIC_PREFIX))
    if start == npy.MAGIC_PREFIX:
        return False
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # a zip with members, or an empty one
        return True
    raise CommandError(f"{path}: neither an .npy nor an .npz file")


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an `.npz`."""
    with _archive(path) as archive:
        names = archive.namelist()
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def open_npy(path: Path) -> NDArray[Any]:
    """Memory-map an `.npy`, for reading."""
    with path.open("rb") as file:
        return _map(file, 0, path.stat().st_size, str(path))


def open_member(path: Path, name: str, scratch: Path) -> NDArray[Any]:
    """Memory-map one array of an `.npz`, for reading.

    What is stored as it is (`numpy.savez`) is mapped in place; what is compressed
    (`numpy.savez_compressed`) is unpacked into the folder `scratch` first.
    """
    label = f"{name!r} in {path}"
    with _archive(path) as archive:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & ENCRYPTED:
            with path.open("rb") as file:
                return _map(file, _data_offset(file, info), info.file_size, label)
        unpacked = scratch / f"input-{len(list(scratch.iterdir()))}.npy"
        try:
            with archive.open(info) as source, unpacked.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise CommandError(f"{label}: damaged ({error})") from error
        except (NotImplementedError, RuntimeError) as error:  # compression or encryption
            raise CommandError(f"{label}: cannot be unpacked ({error})") from error
    with unpacked.open("rb") as file:
        return _map(file, 0, unpacked.stat().st_size, label)


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise CommandError(f"{path}: damaged or cut short ({error})") from error


def _data_offset(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    # The central directory repeats the local header, except that the extra field may differ in
    # length: where the data starts is told by the local one alone.
    file.seek(info.header_offset)
    name_length, extra_length = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return info.header_offset + LOCAL_HEADER.size + name_length + extra_length


def _map(file: BinaryIO, offset: int, length: int, label: str) -> NDArray[Any]:
    """Memory-map the `.npy` that takes `length` bytes of `file` from `offset` on."""
    file.seek(offset)
    try:
        version = npy.read_magic(file)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, fortran_order, dtype = read_header[version](file)
    except (ValueError, KeyError) as error:
        raise CommandError(f"{label}: not an array in the .npy format ({error})") from error
    if dtype.hasobject:
        raise CommandError(
            f"{label}: holds Python objects (dtype {dtype}), which cannot be memory-mapped; "
            "save it with a numeric dtype"
        )
    start = file.tell()
    # Python's integers: a damaged header may name more bytes than a C integer holds.
    size = dtype.itemsize
    for dimension in shape:
        size *= dimension
    there = offset + length - start
    if size > there:
        raise CommandError(f"{label}: cut short: {size:,} bytes expected, {there:,} there")
    if size == 0:  # what has no bytes cannot be mapped
        return np.empty(shape, dtype)
    order = "F" if fortran_order else "C"
    return np.asarray(np.memmap(file, dtype, "r", start, shape, order))
