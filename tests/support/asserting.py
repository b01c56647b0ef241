"""Functions with assertions of their own: pytest does not rewrite those of this file."""

from __future__ import annotations

from typing import Any


def with_message(x: Any) -> Any:
    assert x > 0, f"not positive: {x}"
    return x


def without_message(x: Any) -> Any:
    assert 0 < x < 10
    assert x != 5, x
    return x


def in_a_loop(row: Any) -> Any:
    total = 0.0
    for value in row:
        assert value >= 0, f"{value} after {total}"
        total += value
    return total
