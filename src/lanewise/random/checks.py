"""What parameters must be: NumPy's conditions and messages, now or when the graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lanewise.trace.scratch import tensor_of
from lanewise.trace.table.checks import checked
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor
from lanewise.trace.variable import Variable

#: The largest mean of Poisson numbers: ten standard deviations above it still fit in 64 bits.
LARGEST_RATE = 9.223372006484771e18


class Condition(NamedTuple):
    """What must hold of a parameter; NaN passes where NumPy lets it.

    Attributes
    ----------
    holds
        Tells it of arrays and tensors.
    message
        What is said where it does not hold.
    usual
        Tells of a Python number that it holds, without loss of time; it may be too strict.
    """

    holds: Callable[[Any], Any]
    message: str
    usual: Callable[[float], bool]


def _is_positive(x: float) -> bool:
    return x > 0


def _is_share(x: float) -> bool:
    return 0 < x < 1


CONDITIONS = {
    "non-negative": Condition(lambda x: np.isnan(x) | ~np.signbit(x), "{} < 0", _is_positive),
    "positive": Condition(lambda x: ~(x <= 0), "{} <= 0", _is_positive),
    "positive, no NaN": Condition(lambda x: x > 0, "{} <= 0 or {} contains NaNs", _is_positive),
    "in [0, 1]": Condition(
        lambda x: (x >= 0) & (x <= 1), "{} < 0, {} > 1 or {} contains NaNs", _is_share
    ),
    "in (0, 1]": Condition(
        lambda x: (x > 0) & (x <= 1), "{} <= 0, {} > 1 or {} contains NaNs", _is_share
    ),
    "in [0, 1)": Condition(
        lambda x: (x >= 0) & (x < 1), "{} < 0, {} >= 1 or {} contains NaNs", _is_share
    ),
    "above 1": Condition(lambda x: x > 1, "{} <= 1 or {} contains NaNs", lambda x: x > 1),
    "rate": Condition(lambda x: x >= 0, "{} < 0 or {} contains NaNs", _is_positive),
    "bounded": Condition(
        lambda x: ~(x > LARGEST_RATE), "{} value too large", lambda x: x < LARGEST_RATE
    ),
    "count": Condition(lambda x: x >= 0, "{} < 0", _is_positive),
}


def parameter(name: str, x: Any, *conditions: str) -> Any:
    """Return a parameter of a distribution, once conditions hold: a float, or an integer count.

    Raises
    ------
    TypeError, ValueError
        What NumPy raises for it; for a traced one when the graph runs.
    """
    dtype = np.int64 if "count" in conditions else np.float64
    rows = [CONDITIONS[condition] for condition in conditions]
    if type(x) is float and all([row.usual(x) for row in rows]):
        return np.asarray(x, dtype)
    x = number(name, x, dtype)
    for holds, message, _ in rows:
        x = checked(x, holds(x), ValueError(message.format(*[name] * message.count("{}"))))
    return x


def array_like(x: Any) -> Any:
    """Return a tensor where data are traced, in a list too; else an array."""
    if isinstance(x, Variable):
        return x.value
    if isinstance(x, (list, tuple)) and contains_tensor(x):
        return as_tensor(x)
    traced = tensor_of(x)
    return np.asarray(x) if traced is None else traced


def number(name: str, x: Any, dtype: Any = np.float64) -> Any:
    """Return a parameter as a tensor or an array of a dtype."""
    dtype = np.dtype(dtype)
    x = array_like(x)
    if isinstance(x, Tensor):
        found: Any = x
        if found.dtype == dtype:
            return found
        kind = "unsafe" if dtype.kind == "i" and found.dtype.kind in "iu" else "same_kind"
        if not np.can_cast(found.dtype, dtype, kind):
            raise TypeError(
                f"Cannot cast {name} from {found.dtype!r} to {dtype!r} according to the rule "
                "'same_kind'"
            )
        return found.astype(dtype)
    array: np.ndarray = x
    if array.dtype == dtype:
        return array
    are_floats = dtype.kind == "i" and array.dtype.kind == "f"
    if are_floats and array.ndim and not np.all(array == np.floor(array)):
        raise TypeError(  # of a single number NumPy drops the fraction
            f"Cannot cast array data from {array.dtype!r} to {dtype!r} according to the rule 'safe'"
        )
    if array.dtype.kind not in "biufUS":  # of text NumPy makes numbers, or a ValueError
        raise TypeError(
            f"Cannot cast {name} from {array.dtype!r} to {dtype!r}: it must be a real number"
        )
    return array.astype(dtype)
