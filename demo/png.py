"""A PNG writer in a few lines, so that the demo needs no imaging library."""

import struct
import zlib
from pathlib import Path

import numpy as np


def write_png(path: Path, grey: np.ndarray) -> None:
    """Write a 2-D array of bytes as a grey-scale image."""
    height, width = grey.shape
    lines = np.pad(grey.astype(np.uint8), ((0, 0), (1, 0)))  # a line starts with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey, not interlaced
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
