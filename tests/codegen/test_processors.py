"""Kernels for other processors than this machine's: the same numbers, from other instructions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from lanewise.codegen import llvm, processor
from support import on_processor

V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
V3 = f"{V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
V4 = f"{V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,-prefer-256-bit"
PROCESSORS = {"x86-64": "", "x86-64-v2": V2, "x86-64-v3": V3, "x86-64-v4": V4}

HERE = processor.machine()
is_x86 = HERE.triple.startswith("x86_64")


def run(name: str, features: str, triple: str, path: Path) -> dict[str, np.ndarray]:
    """Return what `on_processor` finds for a processor."""
    subprocess.run(
        [sys.executable, on_processor.__file__, name, features, triple, str(path)], check=True
    )
    with np.load(path) as found:
        return dict(found)


@pytest.fixture(scope="module")
def here() -> dict[str, np.ndarray]:
    """The results on this machine."""
    before = os.environ.get("LANEWISE_BACKEND")
    os.environ["LANEWISE_BACKEND"] = "native"
    try:
        return on_processor.results()
    finally:
        if before is None:
            del os.environ["LANEWISE_BACKEND"]
        else:
            os.environ["LANEWISE_BACKEND"] = before


@pytest.mark.skipif(not is_x86, reason="names processors of this kind")
@pytest.mark.parametrize("name", PROCESSORS)
def test_processors_agree(name, here, tmp_path):
    missing = {f for f in PROCESSORS[name].split(",") if f[:1] == "+"} - set(
        HERE.features.split(",")
    )
    if missing:
        pytest.skip(f"this processor has no {', '.join(sorted(missing))}")
    found = run(name, PROCESSORS[name], HERE.triple, tmp_path / "found.npz")
    assert found.keys() == here.keys()
    for key, result in here.items():
        assert found[key].dtype == result.dtype
        # All bits: lanes do not change how numbers are rounded. (A NaN may have either sign.)
        assert np.array_equal(found[key], result, equal_nan=result.dtype.kind in "fc"), key
        if result.dtype.kind == "f":
            is_number = ~np.isnan(result)
            assert np.array_equal(
                np.signbit(found[key])[is_number], np.signbit(result)[is_number]
            ), key


def test_arithmetic_is_as_numpy_has_it(here):
    """Bit for bit: nothing is contracted, reassociated, or flushed to zero."""
    with np.errstate(all="ignore"):
        for name in ("arithmetic", "arithmetic32"):
            function, arguments = on_processor.samples()[name]
            for number, expected in enumerate(function(*arguments)):
                found = here[f"{name}.{number}"]
                assert found.dtype == expected.dtype
                number_type = {4: np.uint32, 8: np.uint64}[expected.itemsize]
                same = found.view(number_type) == expected.view(number_type)
                assert (same | (np.isnan(found) & np.isnan(expected))).all(), (name, number)


def test_the_widest_registers_are_used():
    (text,) = on_processor.kernels()["decay"]
    code = llvm.assembly(text)
    used = {letter for letter in "xyz" if re.search(rf"%{letter}mm\d", code)}
    if is_x86:
        assert {512: "z", 256: "y", 128: "x"}[HERE.register_bits] in used
    else:
        assert re.search(r"\bv\d+\.2d\b", code)


ARM = [
    ("generic", "+fp-armv8,+neon", "aarch64-unknown-linux-gnu"),
    ("apple-m1", "+fp-armv8,+fullfp16,+neon", "arm64-apple-darwin"),
]


@pytest.mark.skipif(not is_x86, reason="elsewhere this is compiled and run by all other tests")
@pytest.mark.parametrize("processor", ARM, ids=lambda processor: processor[0])
def test_kernels_are_written_for_arm_too(processor, tmp_path):
    binding.initialize_all_targets()
    try:
        binding.Target.from_triple(processor[2])
    except RuntimeError:
        pytest.skip("this LLVM makes no code for it")
    found = run(*processor, tmp_path / "found.npz")
    assert found.keys() == on_processor.samples().keys()
    for name, pairs in found.items():
        assert len(pairs), f"{name} has no kernel"
        for text, code in pairs:
            assert "llvm.x86" not in text
            assert re.search(r"\bv\d+\.(2d|4s|8h|16b)\b|\.(2d|4s|8h|16b)\b", code), name


FIRST = """
import threading
import numpy as np
import lanewise as lw
from lanewise.codegen import llvm, processor

processor.use_machine(processor.Machine("x86-64", "", processor.machine().triple))

def func(x):
    return np.sin(x.astype(np.float16)).sum()

def run():
    np.testing.assert_allclose(lw.vmap(func)(np.ones((4, 3))), np.full(4, 2.523), rtol=1e-2)
    print("done ", end="")

threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
run()
for thread in threads:
    thread.join()
"""


@pytest.mark.skipif(not is_x86, reason="names a processor of this kind")
def test_the_first_kernel_where_instructions_are_missing(tmp_path):
    """What it calls instead is compiled first, while other threads compile too: nobody waits."""
    script = tmp_path / "first.py"
    script.write_text(FIRST, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "LANEWISE_BACKEND": "native", "LANEWISE_CACHE": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "done " * 4), done.stderr
