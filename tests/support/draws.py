"""How many examples tests draw at random: the same ones at each run, unless more are asked for."""

from __future__ import annotations

import os

import numpy as np

#: Set it to look for bugs with other examples each time: LANEWISE_EXAMPLES=20000.
EXAMPLES = os.environ.get("LANEWISE_EXAMPLES")


def examples(count: int) -> int:
    """Return how many examples to draw: `count`, or as many as the environment asks for.

    The `count` of a test is small: it shows that the test works, and finds the usual faults.
    """
    return int(EXAMPLES or count)


def seeds(count: int) -> range:
    """Return the seeds of `examples`: from 0, or others each time if the environment asks."""
    start = 0 if EXAMPLES is None else int(np.random.SeedSequence().generate_state(1)[0])
    return range(start, start + examples(count))
