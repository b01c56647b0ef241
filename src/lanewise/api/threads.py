"""How many threads compiled kernels use."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from lanewise.loading import late

pool = late("lanewise.runtime.pool")


def set_num_threads(count: SupportsIndex) -> None:
    """Set how many threads compiled kernels use, the calling one among them.

    It holds for the whole process and from the next call on. At first it is what the environment
    variable ``LANEWISE_NUM_THREADS`` says, else the number of processors that the process may use.
    Results do not depend on it.

    Parameters
    ----------
    count
        From 1 (everything runs on the calling thread) to 1024.

    Examples
    --------
    >>> import lanewise as lw
    >>> before = lw.get_num_threads()
    >>> lw.set_num_threads(2)
    >>> lw.get_num_threads()
    2
    >>> lw.set_num_threads(before)
    """
    if isinstance(count, bool):
        raise TypeError("the number of threads must be an integer, not bool")
    try:
        number = operator.index(count)
    except TypeError:
        raise TypeError(
            f"the number of threads must be an integer, not {type(count).__name__}"
        ) from None
    pool.set_threads(number)


def get_num_threads() -> int:
    """Return how many threads compiled kernels use.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.get_num_threads() >= 1
    True
    """
    return pool.get_threads()
