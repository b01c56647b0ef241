"""How hypothesis searches: for the same examples at each run, unless more are asked for."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from support.draws import EXAMPLES, examples


def searching(count: int) -> settings:
    """Return hypothesis' settings for `examples`.

    A search that finds another example at each run would fail the work of whoever comes next;
    how long an example takes says more about the machine than about Lanewise.
    """
    return settings(
        max_examples=examples(count),
        derandomize=EXAMPLES is None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
