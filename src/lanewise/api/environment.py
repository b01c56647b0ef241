"""What this process runs with: versions, and the caches of compiled code."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from lanewise.api import kept
from lanewise.codegen import store
from lanewise.runtime import dispatch

_PACKAGES = "lanewise numpy scipy llvmlite optree pandas xarray dask joblib cloudpickle".split()


def show_versions() -> None:
    """Print what to say in a report: versions, the machine, and the settings in force.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.show_versions()
    lanewise     ...
    numpy        ...
    """
    rows: list[tuple[str, str]] = []
    for name in _PACKAGES:
        version = _version(name)
        if version:
            rows.append((name, version))
    rows.append(("python", sys.version.split("\n", maxsplit=1)[0]))
    rows.append(("platform", f"{platform.platform()} ({platform.machine()})"))
    rows.append(("processors", str(os.cpu_count())))
    rows.append(("cache", str(cache_info()["folder"] or "none")))
    rows += sorted((k, v) for k, v in os.environ.items() if k.startswith("LANEWISE_"))
    print("\n".join([f"{name:<12} {text}" for name, text in rows]))


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        loaded = sys.modules.get(package)
        return str(getattr(loaded, "__version__", ""))


def cache_info() -> dict[str, Any]:
    """Return where compiled code is kept, how many pieces there are, and their bytes.

    Returns
    -------
    dict
        ``"folder"`` (None if nothing is kept on disk), ``"entries"``, ``"bytes"``, and
        ``"in_memory"``, the programs that this process holds.

    Examples
    --------
    >>> import lanewise as lw
    >>> sorted(lw.cache_info())
    ['bytes', 'entries', 'folder', 'in_memory']
    """
    place = store.folder()
    sizes = []
    for path in store.entries():
        try:
            sizes.append(path.stat().st_size)
        except OSError:  # another process has removed it
            continue
    return {
        "folder": None if place is None else str(place),
        "entries": len(sizes),
        "bytes": sum(sizes),
        "in_memory": dispatch.held(),
    }


def clear_cache() -> None:
    """Forget compiled code, on disk and in this process; what is called next compiles again.

    So are the traces of the last maps that were called, with what their functions hold.

    Traced functions keep their own code as long as they live.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.clear_cache()  # doctest: +SKIP
    """
    for path in store.entries():
        path.unlink(missing_ok=True)
    dispatch.forget()
    kept.forget()
