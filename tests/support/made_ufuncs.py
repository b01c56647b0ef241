"""A ufunc that is nobody's but the tests': its loop is native code, as that of a C extension is."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from lanewise.runtime.native import Library

#: ``x * x + 1``; below -100 it takes Python's lock and raises.
_TEXT = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @PyErr_SetString(ptr, ptr)
@value_error = global ptr null
@text = constant [12 x i8] c"far too low\\00"
define void @loop(ptr %operands, ptr %sizes, ptr %steps, ptr %data) {
entry:
  %count = load i64, ptr %sizes
  %in = load ptr, ptr %operands
  %out.at = getelementptr ptr, ptr %operands, i64 1
  %out = load ptr, ptr %out.at
  %in.step = load i64, ptr %steps
  %out.step.at = getelementptr i64, ptr %steps, i64 1
  %out.step = load i64, ptr %out.step.at
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %a = mul i64 %i, %in.step
  %b = mul i64 %i, %out.step
  %from = getelementptr i8, ptr %in, i64 %a
  %to = getelementptr i8, ptr %out, i64 %b
  %x = load double, ptr %from
  %y = fmul double %x, %x
  %z = fadd double %y, 1.0
  store double %z, ptr %to
  %low = fcmp olt double %x, -100.0
  br i1 %low, label %bad, label %on
bad:
  %state = call i32 @PyGILState_Ensure()
  %error = load ptr, ptr @value_error
  call void @PyErr_SetString(ptr %error, ptr @text)
  call void @PyGILState_Release(i32 %state)
  br label %on
on:
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""
_kept: list[object] = []


@cache
def square_and_one() -> np.ufunc:
    """Return the ufunc."""
    library = Library(_TEXT)
    library.set_object("value_error", ValueError)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(np._core._multiarray_umath._UFUNC_API, None)  # ty: ignore
    api = (ctypes.c_void_p * 2).from_address(table)
    texts, counts = [ctypes.c_char_p] * 2, [ctypes.c_int] * 4
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, *[ctypes.c_void_p] * 2, ctypes.c_char_p, *counts, *texts, ctypes.c_int
    )(api[1])
    loops, data = (ctypes.c_void_p * 1)(library.address("loop")), (ctypes.c_void_p * 1)(0)
    types = ctypes.create_string_buffer(bytes([np.dtype(float).num] * 2))
    _kept.extend((loops, data, types))
    return make(loops, data, types, 1, 1, 1, -1, b"square_and_one", b"", 0)
