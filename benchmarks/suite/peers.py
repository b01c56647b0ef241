"""The peers: whether each is there, its own arrays, how it compiles, and how to wait for it."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Peer:
    """A system to compare with.

    Parameters
    ----------
    name
        As the tables and `--peers` call it.
    version
        Returns its version; called only if it is there.
    absent
        Returns why it cannot be used here, or None.
    place
        Returns arguments in its own arrays.
    compile
        Returns a function of its arrays, compiled the way its users compile.
    wait
        Returns a result when it is computed.
    by_size
        Whether a compiled function holds for the batch size only that it was first called with.
    """

    name: str
    version: Callable[[], str]
    absent: Callable[[], str | None]
    place: Callable[[Arrays], tuple[Any, ...]]
    compile: Callable[[Callable[..., Any]], Callable[..., Any]]
    wait: Callable[[Any], Any]
    by_size: bool = False

    def bind(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
        """Return a call of a function, already compiled, on placed arguments."""
        wait = self.wait
        if wait is _same:
            return lambda: function(*arguments)
        return lambda: wait(function(*arguments))


def _same(value: Any) -> Any:
    return value


def _missing(*modules: str) -> str | None:
    names = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"{' and '.join(names)} not installed" if names else None


def _version(module: str) -> Callable[[], str]:
    return lambda: importlib.import_module(module).__version__


def _jax_there() -> str | None:
    reason = _missing("jax")
    if reason is None:
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "cpu":
            return f"it would run on {jax.default_backend()}, not on the CPU"
    return reason


def _jax_place(arrays: Arrays) -> tuple[Any, ...]:
    import jax

    return tuple(jax.device_put(array) for array in arrays)


def _jax_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    return jax.jit(function)


def _jax_wait(result: Any) -> Any:
    import jax

    return jax.block_until_ready(result)


def _torch_place(arrays: Arrays) -> tuple[Any, ...]:
    import torch

    return tuple(torch.from_numpy(array) for array in arrays)


def torch_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled by torch, for versions that run a compiled step in a loop."""
    import torch

    # Static shapes: a second batch size would otherwise compile slower code for all sizes.
    return torch.compile(function, dynamic=False, fullgraph=True)


def _torch_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    # A loop around compiled steps stays as it is: compiled whole, all its turns would be unrolled.
    return function if getattr(function, "has_compiled_steps", False) else torch_compiled(function)


def with_compiled_steps(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a version for torch.compile that compiled the steps of its loop itself."""
    function.has_compiled_steps = True  # ty: ignore[missing-attribute]
    return function


def _torch_compile_there() -> str | None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return _missing("torch") or (None if compiler else "no C++ compiler, which it needs")


@functools.cache
def _drjit_there() -> str | None:
    reason = _missing("drjit")
    if reason is None:
        # In a process of its own, as an unsuitable LLVM library ends the process that loads it.
        code = "import drjit.llvm as d, drjit; print(drjit.sum(d.Float64([1, 2, 3]) * 2)[0])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if done.stdout.strip() != "12.0":
            reason = "its LLVM backend finds no LLVM shared library of version 15 or later"
    return reason


def drjit_flat(array: np.ndarray) -> Any:
    """Return an array as a flat one of Dr.Jit, in C order."""
    import drjit.llvm as d

    types = {
        "float32": d.Float,
        "float64": d.Float64,
        "int32": d.Int,
        "uint32": d.UInt32,
        "int64": d.Int64,
        "uint64": d.UInt64,
    }
    found = types[array.dtype.name](np.ascontiguousarray(array).ravel())
    import drjit as dr

    dr.eval(found)
    return found


def drjit_columns(array: np.ndarray) -> Any:
    """Return (examples, k, ...) as nested lists of flat arrays over the examples.

    That is how Dr.Jit lays out its own vectors and matrices.
    """
    if array.ndim == 1:
        return drjit_flat(array)
    return [drjit_columns(array[:, k]) for k in range(array.shape[1])]


def drjit_by_rows(
    columns: Callable[[], Callable[..., Any]], *shapes: tuple[int, ...]
) -> Callable[[], Callable[..., Any]]:
    """Return a version that takes examples as rows of memory, given one that takes components.

    A row is read and written by packets, the widest into which it divides, as Dr.Jit's own arrays
    of vectors are (its documentation, "Vectorizing gathers and scatters of packets").

    Parameters
    ----------
    columns
        Makes the version that takes nested lists of flat arrays over the examples.
    *shapes
        What each argument has for an example.
    """

    def version() -> Callable[..., Any]:
        import drjit as dr
        import drjit.llvm as d

        batch = columns()
        packets = {
            (d.Float, 4): d.Array4f,
            (d.Float64, 4): d.Array4f64,
            (d.Int, 4): d.Array4i,
            (d.Float, 2): d.Array2f,
            (d.Float64, 2): d.Array2f64,
            (d.Int, 2): d.Array2i,
        }

        def packet(type_: type, length: int) -> tuple[type, int]:
            width = next(w for w in (4, 2, 1) if length % w == 0)
            return packets.get((type_, width), type_), width

        def read(flat: Any, example: Any, shape: tuple[int, ...]) -> Any:
            length = math.prod(shape)
            type_, width = packet(type(flat), length)
            parts = []
            for i in range(length // width):
                found = dr.gather(type_, flat, example * (length // width) + i)
                parts += [found] if width == 1 else list(found)
            for size in shape[:0:-1]:
                parts = [parts[i : i + size] for i in range(0, len(parts), size)]
            return parts

        def rows(*flats: Any) -> Any:
            count = dr.width(flats[0]) // math.prod(shapes[0])
            example = dr.arange(d.UInt32, count)
            result = batch(*(read(x, example, s) for x, s in zip(flats, shapes, strict=True)))
            if not isinstance(result, list):
                return result
            type_, width = packet(type(result[0]), len(result))
            written = dr.zeros(type(result[0]), count * len(result))
            for i in range(0, len(result), width):
                value = result[i] if width == 1 else type_(*result[i : i + width])
                dr.scatter(written, value, example * (len(result) // width) + i // width)
            return written

        return rows

    return version


def drjit_flats(arrays: Arrays) -> tuple[Any, ...]:
    """Return arguments as flat arrays of Dr.Jit, in C order."""
    return tuple(map(drjit_flat, arrays))


def drjit_tensor(array: np.ndarray) -> Any:
    """Return an array as a tensor of Dr.Jit."""
    import drjit.llvm as d

    types = {"float32": d.TensorXf, "float64": d.TensorXf64, "int32": d.TensorXi}
    return types[array.dtype.name](array)


def _drjit_place(arrays: Arrays) -> tuple[Any, ...]:
    return tuple(drjit_columns(array) for array in arrays)


def _drjit_compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import drjit as dr

    # A later call does not trace again. Sizes that the function reads off become constants.
    return dr.freeze(function)


def _drjit_wait(result: Any) -> Any:
    import drjit as dr

    dr.eval(result)
    dr.sync_thread()
    return result


PEERS = {
    peer.name: peer
    for peer in (
        Peer("numba", _version("numba"), lambda: _missing("numba"), _same, _same, _same),
        Peer("guvectorize", _version("numba"), lambda: _missing("numba"), _same, _same, _same),
        Peer("jax", _version("jax"), _jax_there, _jax_place, _jax_compile, _jax_wait),
        Peer("jax.vmap", _version("jax"), _jax_there, _jax_place, _same, _jax_wait),
        Peer("torch", _version("torch"), lambda: _missing("torch"), _torch_place, _same, _same),
        Peer(
            "torch.compile",
            _version("torch"),
            _torch_compile_there,
            _torch_place,
            _torch_compile,
            _same,
        ),
        Peer(
            "drjit",
            _version("drjit"),
            _drjit_there,
            _drjit_place,
            _drjit_compile,
            _drjit_wait,
            by_size=True,
        ),
    )
}
