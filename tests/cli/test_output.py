"""What is printed where: text or JSON, terminal or pipe."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from lamina._errors import DataWarning
from lamina.cli._output import Output, complain, number, quoted, seconds, warnings_as_sentences


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (4.0, "4"),
        (1030, "1,030"),
        (0.123456, "0.1235"),
        (12.3456, "12.35"),
        (1234.5678, "1,235"),
        (1e-7, "1e-07"),
        (1e20, "100,000,000,000,000,000,000"),
        (float("nan"), "undefined"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers_have_four_digits(value, text):
    assert number(value) == text


def test_times_are_short():
    assert [seconds(value) for value in (0.04, 12.34, 600)] == ["0.0 s", "12.3 s", "10 min"]


def test_words_of_a_command_are_quoted_when_needed():
    assert [quoted(word) for word in ("a.csv", "my file.csv")] == ["a.csv", "'my file.csv'"]


def test_results_go_to_stdout_and_notes_to_stderr(capsys):
    say = Output()
    say.note("reading")
    say.line("a result with [brackets] and :smile:")
    say.table("Title", ["name", "value"], [["a", "1.5"], ["long name", "20"]])
    say.next("lamina demo")
    say.document({"a": 1})
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "a result with [brackets] and :smile:",
        "Title",
        "name       value",
        "a            1.5",
        "long name     20",
    ]
    assert err == "reading\nNext: lamina demo\n"


def test_json_is_one_document_and_nothing_else(capsys):
    say = Output(json=True)
    say.line("text")
    say.table("Title", ["name"], [["a"]])
    say.next("lamina demo")
    say.document(
        {
            "nan": float("nan"),
            "inf": [np.float64("inf")],
            "count": np.int64(3),
            "array": np.array([1.5, 2.5]),
            "flag": True,
            "none": None,
            "text": "ä",
        }
    )
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "nan": None,
        "inf": [None],
        "count": 3,
        "array": [1.5, 2.5],
        "flag": True,
        "none": None,
        "text": "ä",
    }
    assert err == ""


def test_quiet_leaves_results(capsys):
    say = Output(quiet=True)
    say.note("reading")
    say.next("lamina demo")
    say.line("a result")
    assert capsys.readouterr() == ("a result\n", "")


def test_a_long_line_is_not_broken_in_a_pipe(capsys):
    Output().line("word " * 100)
    Output().note("word " * 100)
    out, err = capsys.readouterr()
    assert out.count("\n") == err.count("\n") == 1


def test_complaints_are_one_line_without_colour_in_a_pipe(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    complain("one\n  two")
    assert capsys.readouterr() == ("", "Error: one two\n")


def test_colour_is_for_terminals_that_want_it(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    complain("text")
    assert "\x1b[1;31mError: \x1b[0m" in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    complain("text")
    assert "31m" not in capsys.readouterr().err


def test_warnings_become_one_sentence_each(capsys):
    before = warnings.showwarning
    with warnings_as_sentences():
        for _ in range(3):
            warnings.warn("12 rows were dropped.", DataWarning, stacklevel=1)
        warnings.warn("Another.", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: 12 rows were dropped.\nWarning: Another.\n"
    assert warnings.showwarning is before
