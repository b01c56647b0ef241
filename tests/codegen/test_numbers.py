"""Numbers of all dtypes in compiled code: conversions as NumPy's, choices, parts."""

from __future__ import annotations

import itertools
import platform
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from lanewise.codegen import llvm, support
from lanewise.codegen.elementwise.ufuncs import lookup
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.numbers import (
    Complex,
    choose,
    constant,
    convert,
    dtype_of,
    is_supported,
    kinds_of,
    of_vecs,
    truth,
    vecs,
)
from support.adversarial import DTYPES, numbers, same
from support.driver import compile_all, compile_elementwise

is_x86 = platform.machine().lower() in ("x86_64", "amd64")


@lru_cache(maxsize=4)
def conversions(lanes: int) -> dict[Any, Any]:
    functions = {
        (old, new): ((lambda x, new=new: convert(x, new)), (old,))
        for old, new in itertools.product(DTYPES, DTYPES)
    }
    return compile_all(functions, lanes)


def convertible(x: np.ndarray, new: np.dtype) -> np.ndarray:
    """Return the numbers that NumPy converts to one result only.

    What does not fit depends on the processor, and to uint32 even on the place in the array.
    """
    if x.dtype.kind not in "fc" or new.kind not in "iu":
        return x
    size = np.abs(x.real)
    fits = size < 2.0 ** (63 if new.itemsize == 8 else 31)
    return x[fits | (size < 2.0**64) & (x.real > 0)] if new.itemsize == 8 else x[fits]


@pytest.mark.parametrize("lanes", [8, 0])
@pytest.mark.parametrize("old", DTYPES, ids=str)
def test_conversions(old, lanes):
    x = numbers(old, np.random.default_rng(0))
    for new in DTYPES:
        given = convertible(x, new)
        if is_x86 and (new.kind == "i" or new.itemsize != 4):
            given = x  # what does not fit gives one result there too
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = given.astype(new)
        found = conversions(lanes)[old, new](given)
        wrong = np.flatnonzero(~same(found, expected))[:5]
        assert not wrong.size, (new, [(given[i], found[i], expected[i]) for i in wrong])


@pytest.mark.parametrize("old", [d for d in DTYPES if d.kind != "c"], ids=str)
def test_conversions_of_known_numbers(old):
    e = Emitter(Module(), 8, 1)
    for value in (0, 1, 2.75, -3, 1e5, np.inf, np.nan):
        with np.errstate(all="ignore"):
            given = np.array(value).astype(old)
            for new in DTYPES:
                found = convert(constant(e, old, given.item()), new)
                expected = given.astype(new)
                parts = [expected.real, expected.imag] if new.kind == "c" else [expected]
                for vec, part in zip(vecs(found), parts, strict=True):
                    assert same(np.array(vec.value, part.dtype), np.array(part)).all()


def test_float64_becomes_float16_in_one_rounding():
    between = 1 + 2.0**-11  # halfway from 1 to the next float16
    x = np.array([between, between + 2.0**-40, between - 2.0**-40, -between - 2.0**-40, 65519.999])
    found = conversions(8)[np.dtype("d"), np.dtype("e")](x)
    assert found.tolist() == [1, 1 + 2.0**-10, 1, -1 - 2.0**-10, 65504]


def test_choose():
    dtypes = (np.dtype(bool), np.dtype(complex), np.dtype(complex))
    run = compile_elementwise(choose, dtypes)
    condition = np.array([True, False, True])
    x, y = np.array([1 + 2j, 3j, -1]), np.array([5, 6j, 7 - 1j])
    assert np.array_equal(run(condition, x, y), np.where(condition, x, y))


def test_truth():
    z = np.array([0, 1, 1j, complex(0, -0.0), complex(np.nan, 0), complex(0, np.nan)])
    assert np.array_equal(compile_elementwise(truth, (complex,))(z), z.astype(bool))


def test_parts_of_numbers():
    e = Emitter(Module(), 4, 1)
    for dtype in DTYPES:
        number = constant(e, dtype, 1)
        assert is_supported(dtype) and dtype_of(number) == dtype
        assert tuple(vec.kind for vec in vecs(number)) == kinds_of(dtype)
        assert vecs(of_vecs(vecs(number))) == vecs(number)
        assert not number.varying and number.spread().varying
        assert isinstance(number, Complex) == (dtype.kind == "c")
    for char in "gGOMmSU":
        assert not is_supported(np.dtype(char))


# --- processors that lack instructions --------------------------------------------------------


def test_what_they_lack_is_made_again_where_memory_was_short(monkeypatch):
    monkeypatch.setattr(support, "_is_installed", False)
    made: list[str] = []

    def provide(text: str, *names: str) -> None:
        support.install(provide)  # as compiling does
        if not made:
            made.append("none")
            raise MemoryError
        made.extend(names)

    with pytest.raises(MemoryError):
        support.install(provide)
    support.install(provide)
    support.install(provide)
    assert made == ["none", *support.CONVERSIONS]


def test_what_llvm_may_call_for_float16():
    kinds = {"f16": "e", "f32": "f", "f64": "d"}
    functions = {
        name: ((lambda x, w=write, k=result: w(x).as_kind(k)), (kinds[given],))
        for name, (given, result, write) in support.CONVERSIONS.items()
    }
    run = compile_all(functions, 8)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    floats = halves.astype(np.float32)
    assert same(run["__extendhfsf2"](halves), floats).all()
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        middle = (floats[:-1] + floats[1:]) / 2
        around = [np.nextafter(middle, np.float32(limit)) for limit in (-np.inf, np.inf)]
        bits = rng.integers(0, 2**32, 10_000, np.uint32).view(np.float32)
        x = np.concatenate([floats, middle, *around, bits])
        assert same(run["__truncsfhf2"](x), x.astype(np.float16)).all()
        wide = x.astype(np.float64)
        wide = np.concatenate([wide, *[np.nextafter(wide, limit) for limit in (-np.inf, np.inf)]])
        assert same(run["__truncdfhf2"](wide), wide.astype(np.float16)).all()


@pytest.mark.skipif(not is_x86, reason="names a processor of this kind")
def test_old_processors(monkeypatch):
    """Where instructions are missing, functions are called; without an address, all would end."""
    old = llvm.Machine("x86-64", "", llvm.machine().triple)
    monkeypatch.setattr(llvm, "_machine", old)
    half, double = np.dtype(np.float16), np.dtype(float)
    multiply, remainder = lookup(np.multiply, (half,) * 3), lookup(np.remainder, (double,) * 3)
    assert multiply is not None and remainder is not None

    def write(x, y):
        ratio = remainder(x.to("f64"), y.to("f64"))
        return multiply(x, y), ratio.floor().to("f16"), x.to("f32").rint().to("f16")

    x = np.arange(1, 65, dtype=np.float16) * 0.375
    y = x[::-1].copy()
    for lanes in (0, 4):
        product, ratio, whole = compile_elementwise(write, (half, half), lanes)(x, y)
        assert np.array_equal(product, x * y)
        expected = np.floor(np.remainder(x.astype(float), y.astype(float)))
        assert np.array_equal(ratio, expected.astype(np.float16))
        assert np.array_equal(whole, np.rint(x))
