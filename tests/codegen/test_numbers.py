"""Numbers of all dtypes in compiled code: conversions as NumPy's, choices, parts."""

from __future__ import annotations

import itertools
import platform
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from lanewise.codegen import processor, support
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
    old = processor.Machine("x86-64", "", processor.machine().triple)
    monkeypatch.setattr(processor, "_machine", old)
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


@pytest.mark.skipif(not is_x86, reason="names a processor of this kind")
@pytest.mark.skipif(not processor.machine().has("avx2"), reason="runs on it")
def test_long_integers_without_instructions(monkeypatch):
    """Most processors convert vectors of int64 one number at a time; halves of them do not wait."""
    here = processor.machine()
    few = processor.Machine("x86-64-v3", "+avx,+avx2,+fma", here.triple)
    monkeypatch.setattr(processor, "_machine", few)
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(70)
    x = np.concatenate([powers, rng.random(1000) * 2.0 ** rng.integers(-3, 64, 1000)])
    x = np.concatenate([x, x - 0.5, x + 0.5, x - 1, np.nextafter(x, 0), np.nextafter(x, np.inf)])
    x = np.concatenate([x, -x, [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324]])
    kept = np.abs(x) < 2.0**63
    expected = np.where(kept, x, 0).astype(np.int64)
    expected = np.where(kept, expected, np.iinfo(np.int64).min)
    for fastmath in ("", "fast"):

        def truncate(value, fastmath=fastmath):
            value.e.flags = fastmath
            return value.to("i64")

        found = compile_elementwise(truncate, (np.dtype(float),), 4)(x)
        is_told = np.isfinite(x) if fastmath else np.full(x.shape, True)
        assert np.array_equal(found[is_told], expected[is_told])
    single = x[np.abs(x) < 1e38].astype(np.float32)
    kept = np.abs(single) < 2.0**63
    found = compile_elementwise(lambda value: value.to("i64"), (np.dtype(np.float32),), 4)(single)
    assert np.array_equal(found[kept], single[kept].astype(np.int64))

    bits = rng.integers(-(2**63), 2**63 - 1, 3000) >> rng.integers(0, 63, 3000)
    edges = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**32 - 1, -(2**32), 2**63 - 1, -(2**63)]
    integers = np.concatenate([bits, expected, np.array(edges, np.int64)])

    def convert(value):
        value.e.flags = "fast"
        return value.to("f64")

    found = compile_elementwise(convert, (np.dtype(np.int64),), 4)(integers)
    assert np.array_equal(found, integers.astype(float))
    assert found.dtype == float
