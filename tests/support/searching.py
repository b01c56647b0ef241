"""How hypothesis searches: for the same examples at each run, unless more are asked for."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

#: Set it to look for bugs with other examples each time: LANEWISE_EXAMPLES=20000.
EXAMPLES = os.environ.get("LANEWISE_EXAMPLES")


def searching(count: int) -> settings:
    """Return hypothesis' settings for `count` examples, or as many as the environment asks for.

    A search that finds another example at each run would fail the work of whoever comes next;
    how long an example takes says more about the machine than about Lanewise.
    """
    return settings(
        max_examples=int(EXAMPLES or count),
        derandomize=EXAMPLES is None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
