"""The array API standard on tensors: what ``Tensor.__array_namespace__`` returns.

NumPy's own namespace keeps to the standard, and its functions dispatch on tensors. So this is
NumPy's, but for the functions that take an array where NumPy has nothing to dispatch on.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from lanewise.trace.table import creation
from lanewise.trace.tensor import Tensor, contains_tensor

#: The versions whose functions it has: up to NumPy's, and what was tested. The newest is told.
VERSIONS = tuple(
    version
    for version in ("2021.12", "2022.12", "2023.12", "2024.12")
    if version <= np.__array_api_version__
)
VERSION = VERSIONS[-1]


def namespace(api_version: str | None = None) -> ModuleType:
    """Return the namespace of the standard; a version that it does not follow is a ValueError."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f'Version "{api_version}" of the Array API Standard is not supported. '
            f"Lanewise follows {', '.join(VERSIONS)}"
        )
    return _NAMESPACE


# --- functions that NumPy does not dispatch -----------------------------------------------------


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """As ``np.asarray``; also of tensors, and of nested lists that hold some."""
    if not contains_tensor(obj):
        return np.asarray(obj, dtype, device=device, copy=copy)
    return creation.asarray(obj, dtype, device=device, copy=copy)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """As ``np.full``; the value may be a tensor."""
    if not contains_tensor(fill_value):
        return np.full(shape, fill_value, dtype, device=device)
    return creation.full(shape, fill_value, dtype, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    """As ``np.arange``; ends that are traced are refused, as the length would depend on them."""
    if contains_tensor([start, stop, step]):
        return creation.arange(start, stop, step)
    return np.arange(start, stop, step, dtype=dtype, device=device)


# --- what the namespace tells about itself ------------------------------------------------------


class NamespaceInfo:
    """What the standard's inspection asks: NumPy's answers, but for shapes that depend on data."""

    def __init__(self) -> None:
        info = np.__array_namespace_info__()
        self.default_device = info.default_device
        self.default_dtypes = info.default_dtypes
        self.devices = info.devices
        self.dtypes = info.dtypes

    def capabilities(self) -> dict[str, Any]:
        """What arrays of this namespace can do, under the standard's names."""
        return {
            "boolean indexing": False,  # with a traced mask: the shape would depend on the data
            "data-dependent shapes": False,
            "max dimensions": 63,  # of NumPy's 64 one holds the batch
        }


class _Namespace(ModuleType):
    """A module in which a name that it does not have is NumPy's."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        public = {name for name in dir(np) if not name.startswith("_")}
        return sorted({*public, *super().__dir__()})


_NAMESPACE = _Namespace("lanewise.array_api", f"The array API standard {VERSION} on traced arrays.")
for _function in (asarray, full, arange):
    setattr(_NAMESPACE, _function.__name__, _function)
setattr(_NAMESPACE, "__array_api_version__", VERSION)  # noqa: B010  (unknown to type checkers)
setattr(_NAMESPACE, "__array_namespace_info__", NamespaceInfo)  # noqa: B010


def _namespace_of(tensor: Tensor, *, api_version: str | None = None) -> ModuleType:
    """The array API namespace (2024.12): NumPy's own, with creation that takes tensors."""
    return namespace(api_version)


setattr(Tensor, "__array_namespace__", _namespace_of)  # noqa: B010
