"""``docs/files.md`` has every file of the source, and no file that is gone."""

from __future__ import annotations

import pytest

from docs import file_tables


def test_the_page_is_up_to_date():
    text = file_tables.PAGE.read_text(encoding="utf-8")
    made = file_tables.page()
    missing = [line for line in made.splitlines() if line not in text.splitlines()]
    gone = [line for line in text.splitlines() if line not in made.splitlines()]
    assert text == made, (
        f"docs/files.md is not up to date (new: {missing[:5]}, gone: {gone[:5]}): "
        "run python tests/docs/file_tables.py"
    )


def test_every_file_of_the_package_is_in_it():
    text = file_tables.page()
    for path in file_tables.SOURCE.rglob("*"):
        if path.suffix in (".py", ".c", ".h"):
            assert file_tables.purpose(path) in text, path


def test_a_file_that_says_nothing_is_refused(tmp_path):
    silent = tmp_path / "silent.py"
    silent.write_text("x = 1\n")
    with pytest.raises(AssertionError, match=r"silent\.py does not say what it is for"):
        file_tables.purpose(silent)
    silent.write_text('"""It says ``so`` | so,\nin two lines.\n\nAnd more."""\n')
    assert file_tables.purpose(silent) == r"It says `so` \| so, in two lines."
