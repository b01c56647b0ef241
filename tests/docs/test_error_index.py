"""No error of Lanewise's own is missing in the pages on errors: their examples raise each."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from pathlib import Path

import pytest

import lanewise as lw
from docs.test_docs import DOCS, OPTIONS, examples

SOURCE = Path(lw.__file__).parent
PAGES = ["errors.md", "error-index.md", "error-index-numpy.md", "error-index-derivatives.md"]
ERRORS = {
    "ConcretizationError",
    "ControlFlowError",
    "DataDependentShapeError",
    "LeakedTensorError",
    "UnsupportedError",
}
# Messages that no example gets, without what is put into them, and why.
ELSEWHERE = {
    "what  returned is used where it was not called": "no program is known that gets so far",
    " are one array after a turn of the loop, which the next turn writes to. Assign a copy, with "
    ".copy() and ": "no program is known that gets so far",
    " is a view of another array after each turn of a loop: which one depends on the turn. Assign "
    "a copy, with .copy()": "the loop is unrolled then",
    "math.nextafter(steps=) is not followed: take the steps in a loop": "new in Python 3.12",
    "a  is indexed by a traced value": "what takes other indices than numbers knows what to say",
    "the derivative of np..accumulate is not known": "other messages come first for known ufuncs",
    "traced values are written to fields of a structured array. Copy the field first": (
        "what is not an array of numbers is refused before"
    ),
    " is not supported on traced values. See docs/numpy-coverage.md for what is, or call it on the "
    "host by lw.py_func": "every function of this NumPy is followed or refused by name",
    " is of another form after each turn of a loop, however often that is recorded. Use an array, "
    "or a list of one form before the loop": "no short program is known that gets so far",
    " was used outside of a traced function": "what is used there has its numbers at hand",
    "a TensorArray is differentiated in a way that is not supported: it is handed on as a whole by "
    "what takes numbers. Stack it, and use the array": "no program is known that gets so far",
}

Site = tuple[str, int, int]


def sites() -> dict[Site, str]:
    """Return where the sources make an error of these classes, with the text of its message."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                text = "".join(
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
                found[str(path), node.lineno, node.end_lineno or node.lineno] = text
    return found


def test_every_message_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    made: set[tuple[str, int]] = set()

    def record(self: Exception, *args: object) -> None:
        frame = sys._getframe(1)
        made.add((frame.f_code.co_filename, frame.f_lineno))

    for name in ERRORS:
        monkeypatch.setattr(getattr(lw, name), "__init__", record, raising=False)
    for page in PAGES:
        text = examples(DOCS / page)
        test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
        doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=lambda _: None)
    missing = [
        f"{Path(path).relative_to(SOURCE)}:{first}: {text}"
        for (path, first, last), text in sites().items()
        if not any(path == file and first <= line <= last for file, line in made)
        and text not in ELSEWHERE
    ]
    assert not missing, "no page has an example of:\n" + "\n".join(missing)


def test_every_class_has_an_entry() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    own = [n for n in lw.__all__ if isinstance(getattr(lw, n), type)]
    classes = [n for n in own if issubclass(getattr(lw, n), Exception)]
    assert sorted([*classes, "InvalidGraphError"]) == sorted(re.findall(r"^## (.*)$", page, re.M))
