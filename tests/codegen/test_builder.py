"""The surface of the kernel builder: few names, each explained, each in use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanewise.codegen.builder import Builder, Failures, Fusion
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.functions import Functions
from lanewise.codegen.kernel import with_parts
from lanewise.codegen.products import Products
from lanewise.codegen.reductions import Reductions
from lanewise.codegen.storage import Storage
from lanewise.codegen.updates import Updates
from lanewise.codegen.views import Views

ROOT = Path(__file__).parents[2]
#: As many names as a rule's author may have to know.
MOST = 45
PARTS = (
    "loops storage fusion failures functions views updates reductions products linalg orthogonal "
    "sorting calls".split()
)


def names_of(x: object) -> set[str]:
    return {name for name in dir(x) if not name.startswith("_")}


def builder() -> Builder:
    return with_parts(Builder(Emitter(Module(), 4, 1)))


def explained() -> str:
    text = (ROOT / "docs/design.md").read_text("utf-8")
    return re.split(r"^## ", text.split("### The builder\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_surface_is_small_and_explained():
    names = names_of(builder())
    assert len(names) <= MOST
    assert [name for name in names if f"`{name}`" not in explained()] == []


@pytest.mark.parametrize("part", PARTS)
def test_methods_of_parts_are_explained_and_in_use(part):
    """A method that nobody calls is dead; who does is a rule in `ops/`, or the compiler itself."""
    folders = [ROOT / "src/lanewise" / name for name in ("ops", "codegen")]
    text = "\n".join([file.read_text() for folder in folders for file in folder.rglob("*.py")])
    methods = [name for name in names_of(type(getattr(builder(), part)))]
    assert methods
    assert [name for name in methods if f"`{name}`" not in explained()] == []
    assert [name for name in methods if not re.search(rf"\.{name}\b", text)] == []


@pytest.mark.parametrize(
    "part", [Failures, Fusion, Functions, Products, Reductions, Storage, Updates, Views]
)
def test_parts_are_no_base_classes(part):
    assert part.__bases__ == (object,) and part.__subclasses__() == []
