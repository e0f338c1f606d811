"""Paths in texts: what may name a file that nobody is seen opening."""

from pathlib import PurePosixPath

import pytest

from nbresume.plan.paths import is_pattern, paths_in, texts_of

FOUND = {
    "a.csv": {"a.csv"},
    "my data/a b.csv": {"my data/a b.csv", "data/a", "b.csv"},
    "select * from 'a b.csv' where x > 1.5": {"a b.csv", "b.csv"},
    'select * from "t/a.parquet"': {"t/a.parquet"},
    "wc -l data/a.csv>out.txt": {"data/a.csv", "out.txt"},
}


@pytest.mark.parametrize(("text", "expected"), FOUND.items())
def test_what_may_be_a_path_is_found(text, expected):
    """As a whole, quoted, or as a word; the whole text may be one too."""
    assert expected <= paths_in([text])


@pytest.mark.parametrize(
    "text", ["", "x{}.csv", "https://example.org/a.csv", "two\nlines", "./", "a" * 9999]
)
def test_what_cannot_name_a_file_is_left_out(text):
    """An f-string, an address, a text of many lines."""
    assert text not in paths_in([text])


def test_globs_that_look_like_one():
    """A product or a whole folder is none."""
    assert [is_pattern(p) for p in ("d/*.csv", "*", "a.b * c", "x[0].csv")] == [
        True,
        False,
        False,
        True,
    ]


def test_values_that_name_files():
    """A path, a list of them, a function that has one in its code."""

    def reads(where="c.csv"):
        return [open(name) for name in ("d.csv", where)]  # noqa: PTH123

    assert list(texts_of("a.csv")) == ["a.csv"]
    assert list(texts_of(PurePosixPath("d") / "a")) == ["d/a"]
    assert list(texts_of(["a.csv", 1, "word"])) == ["a.csv"]
    assert list(texts_of({"train": "a.csv"})) == ["a.csv"]
    assert {"c.csv"} <= set(texts_of(reads))
    assert list(texts_of(17)) == []
