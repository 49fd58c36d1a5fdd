"""The command as a whole: help, versions, and the ways it can end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import lamina
from lamina.cli import _app, main

HEAVY = ("torch", "sklearn", "pandas", "scipy", "numpy", "matplotlib", "safetensors")
COMMANDS = ("fit", "predict", "evaluate", "demo", "doctor", "experiments")


def test_help_lists_the_commands(run):
    done = run("--help")
    assert done.status == 0
    assert done.err == ""
    assert done.lines[0] == "Usage: lamina COMMAND [OPTIONS]"
    listed = [line.split()[0] for line in done.lines if line.startswith(" ") and line.split()]
    assert {*COMMANDS, "--help", "--version"} <= set(listed)
    assert done.lines[-1] == "Try it without data of your own: lamina demo"


@pytest.mark.parametrize("command", [*COMMANDS, "experiments run"])
def test_every_command_explains_each_of_its_options(run, command):
    done = run(*command.split(), "--help")
    assert done.status == 0
    start = next(i for i, line in enumerate(done.lines) if line.startswith("   "))
    options = [line for line in done.lines[start:] if line.lstrip(" *").startswith("-")]
    assert options
    assert all(len(line.split("  ")) > 1 for line in options)


def test_no_command_is_as_good_as_help(run):
    assert run().out == run("--help").out


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"], ["fitt"]])
def test_help_imports_nothing_heavy(spawn, arguments):
    done = spawn(
        "import sys\n"
        "from lamina.cli import main\n"
        "main(sys.argv[1:])\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n",
        *arguments,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_version(run):
    assert run("--version").out == f"{lamina.__version__}\n"


def test_the_installed_command_runs():
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "lamina"), "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == f"{lamina.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fitt"], 'Unknown command "fitt". Did you mean "fit"? '),
        (["fit"], 'Command "fit" parameter DATA requires an argument. See: lamina fit --help'),
        (["fit", "a.csv", "-o", "m"], 'Command "fit" parameter --target requires an argument.'),
        (["predict", "m", "a.csv", "--nope"], "Unknown option: --nope. See: lamina predict"),
        (["experiments", "lst"], 'Unknown command "lst". Did you mean "list"?'),
    ],
)
def test_what_is_not_understood_ends_with_2(run, arguments, sentence):
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"Error: {sentence}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            KeyError("area"),
            "KeyError: 'area' (run it again with --debug to see where)",
        ),
        (
            RuntimeError("two\nlines"),
            "RuntimeError: two lines (run it again with --debug to see where)",
        ),
        (
            MemoryError(),
            "The memory of this computer must be larger than this needs. Use fewer rows.",
        ),
        (lamina.DataError("X must be a table."), "X must be a table."),
    ],
)
def test_any_failure_is_one_sentence_and_with_debug_a_traceback(run, monkeypatch, error, sentence):
    def fail(tokens, **options):
        raise error

    monkeypatch.setattr(type(_app.app), "__call__", lambda self, tokens, **options: fail(tokens))
    done = run("demo")
    assert (done.status, done.out, done.err) == (1, "", f"Error: {sentence}\n")
    with pytest.raises(type(error)):
        main(["demo", "--debug"])


def test_ctrl_c_before_training_saves_nothing(run, monkeypatch):
    def interrupt(self, tokens, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(_app.app), "__call__", interrupt)
    done = run("demo")
    assert (done.status, done.err) == (130, "Interrupted: Nothing was saved.\n")


def test_a_reader_that_stops_reading_ends_the_command_without_a_word():
    """As in ``lamina experiments list | head -1``."""
    program = "import sys; from lamina.cli import main; sys.exit(main(['experiments', 'list']))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
