"""Functions over arrays: what the tests and measurements of the mathematics run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.llvm import Code
from lanewise.codegen.numbers import COMPLEX, Complex, Number, kinds_of, of_vecs, vecs
from lanewise.codegen.vector import LLVM, NUMPY, Vec

Function = Callable[..., Any]
Key = TypeVar("Key", bound=Hashable)


def compile_elementwise(
    function: Function, dtypes: tuple[Any, ...], group: int = 8, parts: int = 1
) -> Callable[..., Any]:
    """Return a function of arrays of one shape that runs a function of numbers on their elements.

    Parameters
    ----------
    function
        Takes a `Number` for each dtype (a Vec, or a Complex); gives one, or a tuple of them.
    dtypes
        Of the arrays.
    group, parts
        Lanes of a part, and parts of a vector; ``group=0`` runs the scalar form.

    Examples
    --------
    >>> compile_elementwise(lambda x, y: x * y + 1.0, (float, float))([1, 2, 3], [4, 5, 6])
    array([ 5., 11., 19.])
    """
    return compile_all({"kernel": (function, dtypes)}, group, parts)["kernel"]


def compile_all(
    functions: Mapping[Key, tuple[Function, tuple[Any, ...]]], group: int = 8, parts: int = 1
) -> dict[Key, Callable[..., Any]]:
    """Do what `compile_elementwise` does for many functions, in one module: key to runner."""
    module = Module()
    kernels = {
        name: _emit(module, f"kernel{number or ''}", function, dtypes, group, parts)
        for number, (name, (function, dtypes)) in enumerate(functions.items())
    }
    text = module.text()
    code = Code(text)
    return {
        name: _runner(code, text, f"kernel{number or ''}", *kernel)
        for number, (name, kernel) in enumerate(kernels.items())
    }


def _emit(
    module: Module, name: str, function: Function, dtypes: tuple[Any, ...], group: int, parts: int
) -> tuple[tuple[np.dtype, ...], list[np.dtype], int]:
    """Write one loop over arrays; return the dtypes of its operands and results, and its step.

    A complex array is given as two, of its real and of its imaginary parts.
    """
    scalar = group == 0
    e = Emitter(module, group or 1, 1 if scalar else parts)
    step = 1 if scalar else e.lanes
    loop, body, done = e.label("loop"), e.label("body"), e.label("done")
    counter = e.slot("i64", False)
    counter.set(e.constant("i64", 0))
    e.jump(loop)
    e.begin(loop)
    index = counter.get()
    e.branch(index < e.uniform("i64", "%n"), body, done)
    e.begin(body)
    used = 0

    def place(array: int, kind: str, part: int) -> str:
        at = (index + part * e.group).parts[0]
        return e.write(f"getelementptr {LLVM[kind]}, ptr %x{array}, i64 {at}")

    def load(kind: str) -> Vec:
        nonlocal used
        stored = "u8" if kind == "b" else kind
        type_ = e.type(stored, not scalar)
        names = [
            e.write(f"load {type_}, ptr {place(used, stored, part)}, align 1")
            for part in range(e.parts)
        ]
        used += 1
        return Vec(e, stored, not scalar, tuple(names)).to(kind)

    def store(value: Vec) -> None:
        nonlocal used
        stored = (value.to("u8") if value.kind == "b" else value).spread_if(not scalar)
        type_ = e.type(stored.kind, not scalar)
        for part in range(e.parts):
            where = place(used, stored.kind, part)
            e.do(f"store {type_} {stored.parts[part]}, ptr {where}, align 1")
        used += 1

    taken = tuple(np.dtype(d) for d in dtypes)
    operands = [of_vecs([load(kind) for kind in kinds_of(dtype)]) for dtype in taken]
    results: Any = function(*operands)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        for value in vecs(result):
            store(value)
    counter.set(index + step)
    e.jump(loop)
    e.begin(done)
    e.do("ret void")
    arguments = ["i64 %n", *[f"ptr %x{i}" for i in range(used)]]
    module.functions[name] = e.finish(name, "void", arguments)
    return taken, [_dtype(result) for result in results], step


def _dtype(result: Number) -> np.dtype:
    return COMPLEX[result.kind] if isinstance(result, Complex) else NUMPY[result.kind]


def _split(array: np.ndarray) -> list[np.ndarray]:
    if array.dtype.kind != "c":
        return [array]
    return [np.ascontiguousarray(part) for part in (array.real, array.imag)]


def _runner(
    code: Code,
    text: str,
    name: str,
    taken: tuple[np.dtype, ...],
    given: list[np.dtype],
    step: int,
) -> Callable[..., Any]:
    """Return the compiled function with this name as one of arrays."""
    count = sum(len(kinds_of(dtype)) for dtype in (*taken, *given))
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * count)
    call = prototype(code.address(name))

    def run(*arrays: Any) -> Any:
        cast = [np.asarray(x, dtype) for x, dtype in zip(arrays, taken, strict=True)]
        arrays = tuple(np.broadcast_arrays(*cast))
        shape, size = arrays[0].shape, arrays[0].size
        padded = -(-size // step) * step
        operands = []
        for array in arrays:
            filled = np.ones(padded, array.dtype)
            filled[:size] = array.ravel()
            operands += _split(filled)
        found = [_split(np.empty(padded, dtype)) for dtype in given]
        call(padded, *[x.ctypes.data for x in (*operands, *chain(*found))])
        results = []
        for dtype, parts in zip(given, found, strict=True):
            result = np.empty(padded, dtype)
            if dtype.kind == "c":
                result.real, result.imag = parts
            else:
                result = parts[0]
            results.append(result[:size].reshape(shape))
        return results[0] if len(results) == 1 else tuple(results)

    run.code = code  # ty: ignore[missing-attribute]
    run.call = call  # ty: ignore[missing-attribute]
    run.text = text  # ty: ignore[missing-attribute]
    return run
