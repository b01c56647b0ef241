"""The reference has every public name, and each has a docstring with an example."""

from __future__ import annotations

import inspect
import re
import runpy
from typing import Any

import pytest

import lanewise as lw
from docs.test_docs import DOCS

MODULES = {"": lw, "nn.": lw.nn, "random.": lw.random}
NAMES = {
    prefix + name: getattr(module, name)
    for prefix, module in MODULES.items()
    for name in module.__all__
    if not inspect.ismodule(getattr(module, name))
}


def test_every_name_stands_once() -> None:
    pages = runpy.run_path(str(DOCS / "reference.py"))["reference"]()
    found = re.findall(r"^::: lanewise\.(.*)$", "\n".join(pages.values()), re.MULTILINE)
    methods = {name for name, entry in NAMES.items() if inspect.ismethod(entry)}
    assert sorted(found) == sorted(NAMES.keys() - methods)
    for name in methods:  # those of the default generator
        assert (
            f"[`{name.partition('.')[2]}`](random.md#lanewise.random.Generator."
            in (pages["reference/random.md"])
        )


@pytest.mark.parametrize("name", NAMES)
def test_it_has_an_example(name: str) -> None:
    entry: Any = NAMES[name]
    text = inspect.getdoc(entry) or ""
    assert ">>> " in text, f"lw.{name} has no example"
