"""Native maps: a kernel with its code, called on whole batches."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lanewise.codegen.kernel import FAILED, Kernel
from lanewise.codegen.llvm import Code
from lanewise.codegen.partition import kernel_key, kernel_of
from lanewise.codegen.store import key_of
from lanewise.ir.dims import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.runtime.failed import KernelFailed
from lanewise.runtime.launch import Entry, caller

#: Kernels by what decides them, those that were used last at the end.
KERNELS: dict[Any, Kernel | None] = {}
#: How many kernels are kept at most, and how many characters of text they have together.
MOST_KERNELS, MOST_TEXT = 256, 8 << 20
#: How much code is kept that no plan uses now, for plans that are made anew at each call.
MOST_CODES = 32

_codes: WeakValueDictionary[str, Code] = WeakValueDictionary()
_recent: dict[str, Code] = {}
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # as in `codegen.llvm`, whose lock is taken after this one
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def code_of(kernel: Kernel) -> Code:
    """Return the machine code of a kernel, compiled at its first use.

    It is freed when nobody refers to it any more, so whoever keeps an address of it keeps it too.
    """
    key = key_of(kernel.text)
    with _lock:
        code = _codes.get(key)
        if code is None:
            code = _codes[key] = Code(kernel.text)
        _recent.pop(key, None)
        _recent[key] = code
        if len(_recent) > MOST_CODES:
            _recent.pop(next(iter(_recent)))
        return code


def known_code(kernel: Kernel) -> Code | None:
    """Return the machine code of a kernel if it is in use, or was lately."""
    return _codes.get(key_of(kernel.text))


def kernel_for(body: Graph, in_dims: Sequence[int | None], fastmath: bool = False) -> Kernel:
    """Return the kernel of a native map, written if it is not among those that were used last."""
    with _lock:
        kernel = kernel_of(body, in_dims, KERNELS, fastmath)
        key = kernel_key(body, in_dims, fastmath)
        KERNELS.pop(key, None)
        excess = sum(len(known.text) for known in list(KERNELS.values()) if known) - MOST_TEXT
        while KERNELS and (excess > 0 or len(KERNELS) >= MOST_KERNELS):
            oldest = KERNELS.pop(next(iter(KERNELS)))
            excess -= len(oldest.text) if oldest else 0
        KERNELS[key] = kernel
        return kernel


def native(op: Operation) -> Callable[..., Any]:
    """Return the runner of a native map: of the sizes of dimensions, and of the operands."""
    (body,) = op.regions
    params = op.params
    in_dims = params["in_dims"]
    kernel = kernel_for(body, in_dims, params.get("fastmath", False))
    code = code_of(kernel)
    inputs = [(canonical(value.type.dtype), value.type.shape) for value in body.inputs]
    entry = Entry(
        address=code.address(kernel.name),
        inputs=inputs,
        outputs=[(value.type.dtype, value.type.shape) for value in body.outputs],
        axes=in_dims,
        scratch=kernel.scratch,
        lanes=kernel.lanes if kernel.in_lanes else 1,
        work=kernel.work,
        refills=kernel.refills,
    )

    def convert(sizes: dict[str, int], *operands: Any) -> tuple[Any, ...]:
        size = evaluate(params["size"], sizes)
        given = [
            rows(x, axis, dtype)
            for x, axis, (dtype, _) in zip(operands, in_dims, inputs, strict=True)
        ]
        return (size, *given)

    return caller(entry, convert, _failed, code)


def _failed(code: int) -> None:
    """Raise for what a kernel returned that was not 0."""
    assert code & FAILED, "only the pool asks a kernel to stop, and then it asks for no more"
    raise KernelFailed(code >> 2)


def canonical(dtype: np.dtype) -> np.dtype:
    """Return the object that most arrays of a dtype have."""
    return np.dtype(dtype.str) if dtype.isbuiltin == 1 else dtype


def rows(x: Any, axis: int | None, dtype: np.dtype) -> np.ndarray:
    """Return an operand with its batch first, of this very dtype, aligned and without gaps."""
    array = np.asarray(x, dtype)
    array = np.require(np.moveaxis(array, axis, 0) if axis else array, dtype, ("C", "A"))
    return array if array.dtype is dtype else array.view(dtype)  # of several that are equal
