"""Which dtypes the many variants of NumPy's functions are tested with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


def in_turn(names: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    """Pair variants of functions with dtypes, so that each function meets each dtype.

    The variants of a function begin with the same word ("sum", "sum-axis"); they have half of the
    dtypes each, in turn. What has no variants has all dtypes.
    """
    variants: dict[str, list[str]] = defaultdict(list)
    for name in names:
        variants[name.partition("-")[0]].append(name)
    pairs = []
    for group in variants.values():
        for number, name in enumerate(group):
            chosen = list(others) if len(group) == 1 else list(others)[number % 2 :: 2]
            pairs += [(name, other) for other in chosen]
    return pairs
