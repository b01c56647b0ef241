"""Of which lists the elements have no other names, by what a function does with them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from lanewise.autograph.lists.record_uses import Records, changed_within

ALONE = {
    "changed by an index": ("rows.append([v, 1])\nrows[-1][1] += 1", set()),
    "a variable": ("rows.append([v, 1])\nlast = rows[-1]\nlast[1] += 1", {"last"}),
    "or None": ("rows.append({'n': v})\nr = rows[0] if v else None\nif r is not None: r['n'] += 1",
                {"r"}),
    "gone through": ("rows.append(Run(v))\nfor r in rows:\n    r.n += 1", {"r"}),
    "numbered": ("rows.append(Run(v))\nfor i, r in enumerate(rows):\n    r.n += i", {"r"}),
    "from one to another": ("rows.append([v])\nfor r in rows:\n    best = r\n    best[0] += 1",
                            {"r", "best"}),
    "sorted before": ("rows.append([v])\nrows.sort()\nfor r in rows:\n    r[0] += 1", {"r"}),
    "filtered": ("rows.append([v])\nrows[0][0] += 1\nrows = [r for r in rows if r[0]]", set()),
    "named first": ("new = [v]\nrows.append(new)\nrows[0][0] += 1", set()),
    "called": ("rows.append(Run(v))\nrows[-1].add(v)", set()),
    "returned in the end": ("rows.append([v])\nrows[-1][0] += 1\nreturn rows[0]", set()),
}  # fmt: skip
SHARED = {
    "kept by another list": "rows.append([v])\nkept.append(rows[0])\nrows[0][0] += 1",
    "given away": "rows.append([v])\nf(rows[0])\nrows[0][0] += 1",
    "a parameter is put in": "rows.append(v)\nrows[0][0] += 1",
    "named and used again": "new = [v]\nrows.append(new)\nnew[0] += 1\nrows[0][0] += 1",
    "moved under a variable": "rows.append([v])\nr = rows[0]\nrows.pop()\nr[0] += 1",
    "another list by then": "rows.append([v])\nr = rows[0]\nrows = []\nr[0] += 1",
    "seen by a function": "rows.append([v])\ng = lambda: rows[0]\nrows[0][0] += 1",
    "parts of parts": "rows.append([v, []])\nrows[0][1].append(v)\nrows[0][0] += 1",
    "returned before": "rows.append([v])\nif v:\n    return rows[0]\nrows[0][0] += 1",
}


def found(text: str) -> Records | None:
    body = ast.parse("rows = []\n" + textwrap.dedent(text)).body
    return Records("rows", body) if "rows" in changed_within(body) else None


@pytest.mark.parametrize("name", ALONE)
def test_elements_without_other_names(name):
    text, places = ALONE[name]
    records = found(text)
    assert records is not None and records.is_one
    assert records.places == places


@pytest.mark.parametrize("name", SHARED)
def test_elements_that_others_may_have(name):
    records = found(SHARED[name])
    assert records is None or not records.is_one
