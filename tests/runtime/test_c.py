"""The LLVM IR of the runtime is what clang makes of its C, for every platform."""

from __future__ import annotations

import ctypes
import re

import pytest
from llvmlite import binding

from lanewise.runtime.native import layout
from support.clang import FILES, NAMES, clang, head, made


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_code_is_made_of_these_sources(name):
    text = (FILES / f"{name}.ll").read_text("utf-8")
    assert text.splitlines()[0] == head(name), "run tests/support/clang.py"


@pytest.mark.parametrize("name", NAMES)
def test_clang_makes_the_same_again(name):
    command = clang()
    if command is None:
        pytest.skip("there is no clang of the version that the files are made by")
    assert made(command, name) == (FILES / f"{name}.ll").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_it_is_of_one_processor_or_version_only(name):
    text = (FILES / f"{name}.ll").read_text("utf-8")
    assert not re.search(r"^(target|attributes|!)", text, re.MULTILINE)
    assert not re.search(r"llvm\.(x86|aarch64)|\b(range|captures|initializes)\(| x86_", text)
    for declared in re.findall(r"^declare (.*)$", text, re.MULTILINE):
        assert re.fullmatch(r"(void|ptr|i32|i64|{ i64, i1 }) @[\w.]+\([^)]*\)", declared)
    binding.parse_assembly(text).verify()


def test_structures_are_of_words():
    sizes = {name: ctypes.sizeof(layout(name)) for name in ("context", "table", "entry", "known")}
    assert sizes == {"context": 4 * 8, "table": 11 * 8, "entry": 4 * 8, "known": 7 * 8}
