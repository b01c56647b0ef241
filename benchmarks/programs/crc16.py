"""The checksum CRC-16 of bytes, a bit at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "crc16: 16,000 bytes, a bit at a time"
SMALL = 0.002


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the bytes; `scale` is of their number."""
    n = max(5, int(16_000 * scale))
    return (np.random.default_rng(41).integers(0, 256, size=n, dtype=np.uint8),)


def program(data: np.ndarray, poly: int = 0x8408) -> int:
    """Return the checksum."""
    crc = 0xFFFF
    for byte in data:
        rest = 0xFF & byte
        for _ in range(8):
            if (crc & 1) ^ (rest & 1):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            rest >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF
