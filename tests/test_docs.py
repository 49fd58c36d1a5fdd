"""The documents tell the truth: blocks run, commands exist, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
RUN = "import sys; from lamina.cli import main; sys.exit(main())"
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str


def blocks(page, language):
    """Return the blocks of one language, in order."""
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [
        Block(page, text[: fence.start()].count("\n") + 2, fence[1], fence[2])
        for fence in fences
        if fence[1] == language
    ]


def need(page):
    """Skip where a package is missing that a page says it needs: ``<!-- needs: name -->``."""
    for name in re.findall(r"^<!-- needs: (\w+) -->$", page.read_text("utf-8"), re.MULTILINE):
        pytest.importorskip(name)


def commands():
    """Return every command after a ``$`` in the console blocks of all pages."""
    return [
        (f"{page.name}:{block.line}", line.removeprefix("$ "))
        for page in PAGES
        for block in blocks(page, "console")
        for line in block.text.replace("\\\n", " ").splitlines()
        if line.startswith("$ ")
    ]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    need(page)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        # Empty lines in front, so that a traceback has the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        exec(code, names)
        # What a comment behind a print shows as its output.
        shown = re.findall(r"^print\(.*\)  # ([\d\[].*)$", block.text, re.MULTILINE)
        printed = capsys.readouterr().out
        assert [text for text in shown if text not in printed] == []


def test_the_readme_shows_python_and_commands():
    readme = ROOT / "README.md"
    assert len(blocks(readme, "python")) >= 4
    assert {"make demo", "make test"} <= {command for _, command in commands()}


@pytest.mark.parametrize(("place", "command"), commands())
def test_commands_exist(place, command):
    words = shlex.split(command, comments=True)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    if words[0] == "make":
        assert set(word for word in words[1:] if "=" not in word) <= set(targets)
    elif words[0] == "lamina":
        check_lamina(words[1:])
    elif words[:2] == ["python", "-m"]:
        check_module(words[2])
    else:
        assert words[0] in {"pip", "git", "cd"}


def check_lamina(words):
    """Fail unless the command line knows the command and every option."""
    subcommands = [word for word in words if re.fullmatch(r"[a-z]+", word)]
    nested = (
        2 if subcommands[:1] == ["experiments"] or subcommands[:2] == ["search", "show"] else 1
    )
    helped = subprocess.run(
        [sys.executable, "-c", RUN, *subcommands[:nested], "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert helped.returncode == 0, helped.stderr
    for option in (word.split("=")[0] for word in words if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", helped.stdout), option


def check_module(name):
    """Fail unless ``python -m name`` finds something to run."""
    from importlib.util import find_spec

    inside = name.split(".")[0] in {"benchmarks", "lamina"}
    assert (ROOT / (name.replace(".", "/") + ".py")).is_file() if inside else find_spec(name)


@each_page
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    broken = [
        link
        for link in links
        if not link.startswith("https://") and not (page.parent / link).exists()
    ]
    assert not broken


@each_page
def test_files_that_a_page_names_exist(page):
    if page.name == "CHANGELOG.md":
        pytest.skip("tells of files of the past, too")
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:lamina|tests|docs|scripts|benchmarks)/[\w/.]*)`", text)
    assert not [name for name in named if not (ROOT / name).exists()]


@each_page
def test_lines_are_short(page):
    text = re.sub(r"^\|.*\|$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    long = [line for line in text.splitlines() if len(line) > 99 and "](" not in line]
    assert not long
