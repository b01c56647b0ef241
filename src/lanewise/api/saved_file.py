"""The file of a saved function: a zip archive of one JSON text, and of arrays as NumPy writes them.

Everything in it is stored as it is, not compressed, so a file is as large as what it holds.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from lanewise.ir.archive import dtype_of, index, listed
from lanewise.ir.types import NUMERIC_KINDS, array_type, dtype_name

#: What the JSON text says of itself, the version that is written, and the member it is.
FORMAT, VERSION, PROGRAM = "lanewise function", 1, "function.json"


def packed(program: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """Return the file of a program, as plain data, and its arrays."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "lanewise": sys.modules["lanewise"].__version__,
        "byteorder": sys.byteorder,
        "arrays": [_description(array) for array in arrays],
    }
    text = json.dumps({**head, **program}, allow_nan=False, separators=(",", ":"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # No time of writing: the same function gives the same file.
        archive.writestr(zipfile.ZipInfo(PROGRAM), text.encode("ascii"))
        for number, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(_member(number)), _npy(array))
    return file.getvalue()


def unpacked(data: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the program and the arrays of a file, or raise some exception."""
    members = _members(data)
    program = _program(members[PROGRAM])
    descriptions = listed(program.get("arrays"))
    expected = {PROGRAM, *[_member(number) for number in range(len(descriptions))]}
    if members.keys() != expected:
        odd = ", ".join(sorted(members.keys() ^ expected))
        raise ValueError(f"its arrays are not those that it lists: {odd:.200}")
    return program, [
        _array(members[_member(number)], description)
        for number, description in enumerate(descriptions)
    ]


def _members(data: bytes) -> Mapping[str, bytes]:
    """Return what is in the file. All of it together is no longer than the file: no bombs."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except Exception as error:
        raise ValueError(f"lanewise.save did not write it, or it is cut off ({error})") from None
    if PROGRAM not in archive.namelist():
        raise ValueError(f"lanewise.save did not write it: it has no {PROGRAM}")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("a part of it is compressed, which lanewise.save never does")
    if sum([entry.file_size for entry in entries]) > len(data):
        raise ValueError("its parts are larger than the whole")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ValueError("a part of it is there twice")
    return {entry.filename: archive.read(entry) for entry in entries}


def _program(text: bytes) -> dict[str, Any]:
    program = json.loads(text, parse_constant=_refuse_constant)
    if type(program) is not dict or program.get("format") != FORMAT:
        raise ValueError(f"lanewise.save did not write its {PROGRAM}")
    version = program.get("version")
    if type(version) is not int or version < 1:
        raise ValueError(f"{version!r:.60} is no version of the format")
    if version > VERSION:
        raise ValueError(
            f"it is of version {version} of the format, written by Lanewise "
            f"{program.get('lanewise')!r:.60}; this Lanewise reads versions up to {VERSION}. "
            "Install a newer one"
        )
    if program.get("byteorder") != sys.byteorder:
        raise ValueError(f"it was written on a {program.get('byteorder')!r:.60}-endian machine")
    return program


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# --- arrays ---------------------------------------------------------------------------------------


def _member(number: int) -> str:
    return f"arrays/{number}.npy"


def _description(array: np.ndarray) -> list[Any]:
    return [dtype_name(array.dtype), list(array.shape), _order(array)]


def _order(array: np.ndarray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _npy(array: np.ndarray) -> bytes:
    order = _order(array)
    return _npy_header(array.dtype, array.shape, order) + array.tobytes(
        "F" if order == "F" else "C"
    )


def _npy_header(dtype: np.dtype, shape: tuple[int, ...], order: str) -> bytes:
    """Return what stands before the elements in NumPy's format, version 1.0.

    When a file is read this is made again and compared, so headers are not parsed.
    """
    described = {"descr": dtype.str, "fortran_order": order == "F", "shape": shape}
    text = f"{described}".encode("ascii")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _array(data: bytes, description: Any) -> np.ndarray:
    name, sizes, order = listed(description)
    dtype = dtype_of(name)
    if dtype.kind not in NUMERIC_KINDS or order not in ("C", "F"):
        raise ValueError(f"there are no arrays of {name} in order {order!r:.60}")
    shape = tuple([index(size, 2**62) for size in listed(sizes)])
    header = _npy_header(dtype, shape, order)
    count = array_type(dtype, shape).nbytes
    if len(data) != len(header) + count or not data.startswith(header):
        raise ValueError(f"an array is not {name}{list(shape)}, as it should be")
    if dtype.kind == "b" and data[len(header) :].strip(b"\0\1"):
        raise ValueError("a truth value is neither 0 nor 1")
    array = np.empty(shape, dtype, order)  # in memory of its own, so aligned
    array.reshape(-1, order=order)[...] = np.frombuffer(data, dtype, offset=len(header))
    array.flags.writeable = False
    return array
