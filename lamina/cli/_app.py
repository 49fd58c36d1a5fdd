"""The command ``lamina``: what it can do, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.help import DefaultFormatter, PanelSpec
from rich.box import SIMPLE_HEAD

from lamina import __version__
from lamina._errors import LaminaError

from ._demo import demo
from ._doctor import doctor
from ._evaluate import evaluate
from ._experiments import experiments
from ._fit import fit
from ._inspect import inspect
from ._options import Flag, UsageError
from ._output import complain, console, warnings_as_sentences
from ._predict import predict
from ._pretrain import pretrain
from ._search import search

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""How the command ends: well, without a result, not understood, or by Ctrl-C."""

_FAILURES = (
    LaminaError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    ImportError,
    OSError,
    MemoryError,
)

app = App(
    name="lamina",
    help="Fit deep feedforward networks to tables, and use them.",
    version=__version__,
    help_format="plaintext",
    help_formatter=DefaultFormatter(panel_spec=PanelSpec(box=SIMPLE_HEAD, padding=0)),
    help_epilogue="Try it without data of your own: lamina demo",
    suppress_keyboard_interrupt=False,
)
app.command(fit)
app.command(pretrain)
app.command(predict)
app.command(evaluate)
app.command(search)
app.command(inspect)
app.command(demo)
app.command(experiments)
app.command(doctor)
app.meta.suppress_keyboard_interrupt = False
app.meta.group_parameters = Group("Everywhere", sort_key=99)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0: it worked. 1: it failed, and one sentence on stderr says why. 2: the command line was not
    understood. 130: Ctrl-C; what had been learned until then is saved if training had begun.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What stands after ``lamina``. None takes that of the process.
    """
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in tokens
    try:
        with warnings_as_sentences():
            status = _call(app.meta, tokens)
            sys.stdout.flush()
    except CycloptsError as error:
        return _misunderstood(error)
    except UsageError as error:
        complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        complain("Nothing was saved.", label="Interrupted", style="yellow")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read stdout, such as `head`, has seen enough. Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except _FAILURES as error:
        if debug:
            raise
        complain(_sentence(error))
        return FAILED
    return OK if status is None else int(status)


@app.meta.default
def _launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    debug: Flag = False,
) -> object:
    """Run a command.

    Parameters
    ----------
    debug : bool
        Show the traceback of a failure.
    """
    return _call(app, tokens)


def _call(called: App, tokens: Sequence[str]) -> Any:
    """Run what the tokens ask for; errors come out as exceptions."""
    return called(
        tokens,
        console=console(sys.stdout, pipe_width=100),
        error_console=console(sys.stderr),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )


def _misunderstood(error: CycloptsError) -> int:
    """Say what is wrong with the command line and where to read more."""
    command = " ".join(["lamina", *(error.command_chain or ())])
    complain(f"{error} See: {command} --help")
    return USAGE


def _sentence(error: BaseException) -> str:
    """Return what a user should read about a failure."""
    if isinstance(error, LaminaError):
        return str(error)
    if isinstance(error, MemoryError):
        return "The memory of this computer must be larger than this needs. Use fewer rows."
    what = f"{type(error).__name__}: {error}"
    return f"{what} (run it again with --debug to see where)"
