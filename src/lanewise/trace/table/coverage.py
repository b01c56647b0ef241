"""``docs/numpy-coverage.md``: what of NumPy works on traced arrays, read off the table itself.

Write the page anew with::

    python -m lanewise.trace.table.coverage docs/numpy-coverage.md

It depends on nothing but the table and the installed NumPy, which it names.
"""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.trace.table import REFUSED, TABLE, methods
from lanewise.trace.tensor import Tensor

#: Where NumPy keeps its public functions, by the name they are written under.
MODULES = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.emath": np.emath,
    "np.lib.stride_tricks": np.lib.stride_tricks,
    "np.lib.array_utils": np.lib.array_utils,
}
#: What takes arrays though NumPy lets nobody else answer for them, and what to write instead.
NOT_DISPATCHED = {
    "np.asarray_chkfinite": "Use the array itself, and np.isfinite",
    "np.asmatrix": "Use an array with two dimensions",
    "np.bmat": "Use np.block",
    "np.broadcast": "Use np.broadcast_arrays, or np.broadcast_shapes of the shapes",
    "np.frompyfunc": "What it makes computes with Python objects; use lw.vectorize",
    "np.from_dlpack": "Call host code by lw.py_func",
    "np.isfortran": "A traced array has no order in memory",
    "np.lib.array_utils.byte_bounds": "A traced array has no address",
    "np.lib.stride_tricks.as_strided": "Use np.lib.stride_tricks.sliding_window_view, or index",
    "np.matrix": "Use an array with two dimensions",
    "np.mintypecode": "Use np.result_type of the arrays",
    "np.nditer": "Use np.ndindex(x.shape), and index x; or write it for the whole array",
    "np.nested_iters": "Use np.ndindex(x.shape), and index x",
}
#: Names of functions that do no more than call another one.
OTHER_NAMES = {"np.row_stack": np.vstack}
#: What makes arrays from text, files and iterables, where `like=` a traced array has no use.
READERS = (np.frombuffer, np.fromfile, np.fromiter, np.fromstring, np.genfromtxt, np.loadtxt)
#: Methods that need the numbers, which are not known while tracing.
NUMBERS_NEEDED = {"tobytes": "Compute with the value itself, or use lw.py_func"}
_ATTRIBUTES = [name for name in dir(np.ndarray) if not name.startswith("_")]


def dispatches(function: Any) -> bool:
    """Whether NumPy asks its arguments for what to do: always, or for ``like=`` alone."""
    return isinstance(function, type(np.sum)) or takes_like(function)


def takes_like(function: Any) -> bool:
    """Whether it makes an array of the kind of an argument ``like=``."""
    try:
        return "like" in inspect.signature(function).parameters
    except ValueError:  # built in, and of a NumPy that does not tell the signatures of those
        return "like=" in str(function.__doc__).partition("\n\n")[0]


def public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the public functions of a module, ufuncs too."""
    kinds = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that will go
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if not name.startswith("_") and isinstance(function, kinds):
                yield name, function


def functions() -> dict[Any, list[str]]:
    """Return NumPy's public functions, each with its names, its own first."""
    names: dict[Any, list[str]] = defaultdict(list)
    for prefix, module in MODULES.items():
        for name, function in public(module):
            full = f"{prefix}.{name}"
            names[OTHER_NAMES.get(full, function)].append(full)
    for function, known in names.items():
        known.sort(key=lambda name: (not name.endswith(f".{function.__name__}"), name))
    return dict(sorted(names.items(), key=lambda item: item[1][0].lower()))


def missing() -> list[str]:
    """Return the functions that dispatch and stand neither in the table nor among the refused."""
    return [
        names[0]
        for function, names in functions().items()
        if dispatches(function) and function not in TABLE and function not in READERS
    ]


# --- the page -----------------------------------------------------------------------------------


def page() -> str:
    """Return the text of ``docs/numpy-coverage.md``."""
    known = functions()
    ufuncs = [f for f in known if isinstance(f, np.ufunc)]
    refused = [f for f in known if f in REFUSED and f not in READERS]
    supported = [f for f in known if f in TABLE and f not in REFUSED and f not in READERS]
    unsupported = dict.fromkeys(missing(), "Call it on the host by lw.py_func") | NOT_DISPATCHED
    plain = [
        names
        for f, names in known.items()
        if f not in {*ufuncs, *refused, *supported} and names[0] not in unsupported
    ]
    counts = {
        "[supported](#supported)": [known[f][0] for f in (*ufuncs, *supported)],
        "[refused](#refused): each has an alternative": [known[f][0] for f in refused],
        "[not supported](#not-supported): each has an alternative": list(unsupported),
        "[take no arrays](#take-no-arrays), and work as they are": [names[0] for names in plain],
    }
    parts = [
        _HEAD.format(version=np.__version__),
        _summary(counts),
        "## Supported\n",
        f"### Universal functions ({len(ufuncs)})\n",
        "Every ufunc works by its nature, also those of SciPy, with all keywords and methods\n"
        "(`out=`, `where=`, `axis=`, ..., `reduce`, `accumulate`, `reduceat`, `outer`, `at`).\n",
        _names(known[f] for f in ufuncs),
        *_families(supported, known),
        "## Refused\n",
        "Each raises an error with the line of the call and this advice.\n",
        _table(
            ("functions", "why, and what to write instead"),
            _by_advice((_code(known[f]), REFUSED[f]) for f in refused),
        ),
        "## Not supported\n",
        "NumPy does not ask the arrays that these are given. A traced one is an error. (`np.r_`,\n"
        "`np.c_`, `np.mgrid`, `np.ogrid`, `np.ndenumerate`, objects of `np.vectorize` and\n"
        "`numpy.polynomial` are followed nevertheless, but with `autograph=False`.)\n",
        _table(
            ("functions", "why, and what to write instead"),
            _by_advice(
                (f"`{name}`", unsupported[name]) for name in sorted(unsupported, key=str.lower)
            ),
        ),
        "## Take no arrays\n",
        "They work as they are, on numbers that are known while tracing.\n",
        _names(plain),
        *_attributes(),
    ]
    return "\n".join(parts)


_HEAD = """# NumPy coverage

What of NumPy works on the arrays that a mapped function sees. This page is read off the table that
the functions are looked up in, and a test fails when it is stale.

Made with NumPy {version} by `python -m lanewise.trace.table.coverage docs/numpy-coverage.md`.
"""


def _families(supported: Iterable[Any], known: dict[Any, list[str]]) -> Iterator[str]:
    """Yield a section for each module that implements functions, by its docstring."""
    families = defaultdict(list)
    for function in supported:
        families[TABLE[function].__module__].append(known[function])
    for module, names in sorted(families.items(), key=lambda item: item[0].rpartition(".")[2]):
        title = module.rpartition(".")[2].replace("_", " ").capitalize()
        (about, *_) = (sys.modules[module].__doc__ or "").replace("``", "`").splitlines()
        yield f"### {title} ({len(names)})\n"
        yield f"{about}\n"
        yield _names(names)


def refused_attributes() -> dict[str, str]:
    """Return the methods and attributes of arrays that are refused, with the alternatives."""
    instead = {
        **methods.REFUSED_METHODS,
        **NUMBERS_NEEDED,
        **dict.fromkeys(methods.MEMORY, "Where the elements will lie is not decided yet"),
    }
    for name in _ATTRIBUTES:
        if (function := getattr(np, name, None)) in REFUSED:
            instead[name] = REFUSED[function]
        elif not hasattr(Tensor, name):
            instead.setdefault(name, "Ask the array that comes out")
    return {name: instead[name] for name in sorted(instead)}


def _attributes() -> Iterator[str]:
    """Yield the section on methods and attributes of arrays."""
    refused = refused_attributes()
    yield "## Methods and attributes of arrays\n"
    yield "All operators, indexing and assignment, and:\n"
    yield _names([f"x.{name}"] for name in _ATTRIBUTES if name not in refused)
    yield "Refused:\n"
    rows = [(f"`x.{name}`", instead) for name, instead in refused.items()]
    yield _table(("methods and attributes", "why, and what to write instead"), _by_advice(rows))


def _code(names: list[str]) -> str:
    """Return the names of one function: ``np.max`` with its second name in brackets."""
    first, *others = [f"`{name}`" for name in names]
    return f"{first} ({', '.join(others)})" if others else first


def _names(names: Iterable[list[str]]) -> str:
    """Return a paragraph of names."""
    lines = [""]
    for code in map(_code, names):
        if lines[-1] and len(lines[-1]) + len(code) + 2 > 100:
            lines.append("")
        lines[-1] += f"{code}, "
    return "\n".join(line.rstrip() for line in lines).rstrip(", ") + "\n"


def _by_advice(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put what has the same advice into one row."""
    functions = defaultdict(list)
    for code, advice in rows:
        functions[advice].append(code)
    return [(", ".join(codes), advice) for advice, codes in functions.items()]


def _summary(counts: dict[str, list[str]]) -> str:
    """Return the table of how many functions of each module have which status."""
    modules = {name: (name,) for name in ("np", "np.linalg", "np.fft")}
    modules["np.emath, np.lib"] = tuple(set(MODULES) - set(modules))
    rows = [
        (status, *[sum(name.rpartition(".")[0] in prefixes for name in names)
                   for prefixes in modules.values()], len(names))
        for status, names in counts.items()
    ]  # fmt: skip
    return _table(("", *modules, "all"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
