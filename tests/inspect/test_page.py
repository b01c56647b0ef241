"""The page and the drawing of an explanation: well-formed, of one piece, and complete."""

from __future__ import annotations

import linecache
import os
import re
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import lanewise as lw
from lanewise.inspect.drawing import MOST_PROGRAMS, style
from lanewise.inspect.picture import MOST

X = np.linspace(-1.0, 1.0, 32).reshape(8, 4)
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
#: Elements of HTML that have no end.
VOID = {"meta", "br", "hr", "img", "input", "link"}


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    return request.param


def wave(x):
    y = x * 2 + 1  # <script>alert("a & b")</script>
    while y.sum() < 3:
        y = y + 0.5
    if x[0] > 0:
        y = np.sin(y)
    return y, np.linalg.pinv(np.outer(x, x))


class Strict(HTMLParser):
    """Raises where elements do not nest, and collects what is in the page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def parsed(html):
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_page_is_of_one_piece():
    html = lw.explain(lw.vmap(wave), X).html()
    page = parsed(html)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {"src", "href", "xlink:href", "action"} & names
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in html and "@import" not in html
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert set(re.findall(r"https?://[^\"' <]+", html)) == {"http://www.w3.org/2000/svg"}


def test_the_source_with_what_became_of_it(backend):
    seen = lw.explain(lw.vmap(wave), X)
    page = parsed(seen.html())
    text = "".join(page.text)
    for line in (
        "def wave(x):",
        "while y.sum() < 3:",
        "return y, np.linalg.pinv(np.outer(x, x))",
    ):
        assert line in text  # also those that became no operation
    assert '# <script>alert("a & b")</script>' in text  # as text
    assert __file__ in text and "vmap of wave" in text
    places = {(row.location.file, row.location.line) for row in seen.rows}
    assert page.tags.count("details") == len(places)
    for row in seen.rows:
        assert row.operation in page.text and row.fate in page.text
    assert "pinv has no native form" in text
    assert ("Kernels, if it is compiled" in text) == (backend == "interpret")
    assert "memory: 256 B of arguments" in text


def outer(x):
    def inner(y):
        return np.sin(y) * 2

    return inner(x)


def test_the_whole_function_is_shown():
    """Also where only what it calls became operations; and what it calls elsewhere."""
    text = "".join(parsed(lw.explain(lw.vmap(outer), X).html()).text)
    assert "def outer(x):" in text and "return inner(x)" in text and "def inner(y):" in text

    def elsewhere(x):
        return lw.nn.relu(outer(x))

    for func in (lw.vmap(elsewhere), lw.function(elsewhere), lw.vmap(partial(elsewhere))):
        text = "".join(parsed(lw.explain(func, X).html()).text)
        assert "def elsewhere(x):" in text and "def inner(y):" in text


def test_names_are_escaped():
    def func(x):
        return x + 1

    func.__qualname__ = "<b>&'\""
    seen = lw.explain(lw.vmap(func), X)
    assert "<b>" not in seen.html() and "<b>" not in seen.svg()
    assert "vmap of <b>&'\"" in "".join(parsed(seen.html()).text)
    ElementTree.fromstring(seen.svg())


def test_the_drawing(backend):
    seen = lw.explain(lw.vmap(wave), X)
    found = texts(seen.svg())
    assert {"x", "result", "while", "cond", "test", "body", "if", "else", "pinv"} <= set(found)
    assert {"sin", "multiply", "less"} <= set(found)
    assert ("kernel 1" in found) == (backend == "native")
    tips = [node.text for node in ElementTree.fromstring(seen.svg()).iter(f"{SVG}title")]
    assert "Drawing of vmap of wave" in tips and "f64[batch,4]" in tips
    assert any(tip.endswith("y = np.sin(y)") for tip in tips)
    assert seen.svg() in seen.html()


def test_what_is_drawn_lies_within_the_drawing():
    root = ElementTree.fromstring(lw.explain(lw.vmap(wave), X).svg())
    _, _, width, height = map(float, root.get("viewBox").split())

    def look(node, x, y):
        move = re.match(r"translate\((\S+) (\S+)\)", node.get("transform", ""))
        if move:
            x, y = x + float(move[1]), y + float(move[2])
        if node.tag == f"{SVG}rect":
            assert x >= 0 and x + float(node.get("width")) <= width
            assert y >= 0 and y + float(node.get("height")) <= height
        for child in node:
            look(child, x, y)

    look(root, 0.0, 0.0)


def long(x):
    for _ in range(3):
        x = np.sin(x) * np.cos(x) + np.exp(x) - np.tanh(x) * x.sum()
        x = x[::-1] + np.cumsum(x) / (1 + x.max() - x.min())
        x = np.sort(x) - np.log1p(x * x) + np.sqrt(abs(x)) * x.mean()
        x = (x - x[0]) * (x - x[1]) / (1 + x * x) + np.hypot(x, x[2])
    return x


def test_large_graphs_are_folded():
    seen = lw.explain(lw.vmap(lw.function(long)), X)
    assert len(seen.rows) > 2 * MOST
    boxes = ElementTree.fromstring(seen.svg()).iter(f"{SVG}rect")
    assert sum([1 for _ in boxes]) <= 2 * MOST
    folded = [text for text in texts(seen.svg()) if re.match(r"\d+ operations", text)]
    assert folded


def test_many_programs():
    def func(x):
        return [lw.vmap(lambda v, k=k: v * k)(x) for k in range(2, 2 + 3 * MOST_PROGRAMS)]

    seen = lw.explain(func, X)
    found = texts(seen.svg())
    assert found.count("multiply") == MOST_PROGRAMS
    assert f"and {2 * MOST_PROGRAMS} more programs" in found
    again = lw.explain(lambda x: [lw.vmap(np.sin)(x) for _ in range(5)], X)
    assert [program.calls for program in again.programs] == [5] and "(ran 5 times)" in str(again)


@pytest.mark.parametrize("func", [np.sin, lw.vmap(lambda x: None), lw.vmap(lambda x: x)])
def test_where_there_is_nothing(func):
    seen = lw.explain(func, X)
    parsed(seen.html())
    ElementTree.fromstring(seen.svg())


def test_saving(tmp_path):
    seen = lw.explain(lw.vmap(wave), X)
    seen.save(tmp_path / "a.html")
    seen.save(str(tmp_path / "b.svg"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == seen.html()
    assert (tmp_path / "b.svg").read_text(encoding="utf-8") == seen.svg()
    for name in ("a.png", "a", "html", ""):
        with pytest.raises(ValueError, match=r"saved as \.html or \.svg"):
            seen.save(tmp_path / name)


def test_in_notebooks():
    seen = lw.explain(lw.vmap(wave), X)
    part = seen._repr_html_()
    assert part in seen.html() and not part.lower().startswith("<!doctype")
    parsed(part)
    # Its styles are for what is in it.
    for selector in re.findall(
        r"(?:^|\})([^{}@]+)\{", re.search(r"<style>(.*?)</style>", part, re.S)[1]
    ):
        assert all(".lw" in each for each in selector.split(","))


def test_colours_on_a_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    seen = lw.explain(lw.vmap(wave), X)
    capsys.readouterr()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    seen.show()
    shown = capsys.readouterr().out
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == f"{seen}\n"


def test_plain_without_rich(monkeypatch, capsys):
    seen = lw.explain(lw.vmap(wave), X)
    capsys.readouterr()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    seen.show()
    assert capsys.readouterr().out == f"{seen}\n"


def test_the_picture_in_the_documentation(backend):
    """It is the drawing of the function that stands above it; LANEWISE_WRITE=1 draws it anew."""
    if backend == "interpret":
        pytest.skip("it shows kernels")
    text = (DOCS / "inspection.md").read_text(encoding="utf-8")
    lines = re.findall(
        r"^(?:>>>|\.\.\.) (.*)$", text.partition("```python")[2].partition("```")[0], re.M
    )
    names = {}
    file = "<docs/inspection.md>"
    source = "".join([f"{line}\n" for line in lines])
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), names)
    drawn = lw.explain(names["mapped"], names["points"], names["pull"]).svg()
    if os.environ.get("LANEWISE_WRITE") == "1":
        (DOCS / "inspection.svg").write_text(drawn, encoding="utf-8")
    kept = (DOCS / "inspection.svg").read_text(encoding="utf-8")
    # How many lanes there are, and with them the places of boxes, depends on the processor.
    assert titles(kept) == titles(drawn)
    assert ElementTree.fromstring(kept).find(f"{SVG}style").text == style()


def titles(svg):
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [node.text for node in found if node.get("class") == "t"]


WEIGHTS, MOMENTS = np.full(4, 0.5), {"first": [lw.Variable(np.full(4, 2.0))]}


def weighted(x, model, k=2.0):
    return (x @ model["w"]) * k + (MOMENTS["first"][0] * x).sum()


@pytest.mark.parametrize(
    ("func", "args", "names"),
    [
        (lw.vmap(weighted, in_dims=(0, None)), (X, {"w": WEIGHTS + 1}), {"x", "model['w']"}),
        (lw.function(weighted), (X[0], {"w": WEIGHTS + 1}), {"x", "model['w']"}),
        (lw.vmap(weighted, (0, None, None)), (X, {"w": WEIGHTS + 1}, 3), {"x", "model['w']"}),
        (lw.vmap(np.dot), (X, X + 1), {"a", "b"}),
        (lambda points: lw.vmap(lambda x: x + 1)(points), (X,), {"points"}),
        (lw.vmap(lambda *rows: rows[0] * rows[1]), (X, X + 1), {"args[0]", "args[1]"}),
    ],
)  # fmt: skip
def test_inputs_have_their_names(func, args, names):
    expected = names | ({"MOMENTS['first'][0]"} if "x" in names else set())
    for seen in (lw.explain(func, *args), lw.profile(func, repeat=1)(*args)):
        assert {name for program in seen.programs for name in program.names} == expected
        assert expected <= set(texts(seen.svg()))
