"""``lamina demo``: the whole way from a packaged table to a model, a score and a picture."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lamina._errors import FileError, MissingDependencyError

from ._options import OUTPUT, Flag
from ._output import Output, quoted, seconds
from ._progress import INTERRUPTED, Watch, watched
from ._scores import Scores, held_out, regression_scores

if TYPE_CHECKING:
    import pandas as pd

    from lamina._typing import FloatArray

SEED = 0
COLUMN, UNIT = "strength", "MPa"


@dataclass(frozen=True)
class Table:
    """The packaged table, split into rows to learn from and rows held out."""

    X: pd.DataFrame
    y: pd.Series[Any]
    X_aside: pd.DataFrame
    y_aside: pd.Series[Any]


@dataclass(frozen=True)
class Contender:
    """A model, what it says about the rows held out, and how long it took to learn."""

    name: str
    model: Any
    predicted: FloatArray
    scores: Scores
    seconds: float


def demo(
    *,
    output: Annotated[Path, OUTPUT] = Path("demo"),
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Fit the packaged table of concrete strengths and compare.

    1,030 mixtures of concrete with their compressive strength in MPa; a fifth of them is held
    out. Writes the model, and a picture of predicted against measured strengths.

    Parameters
    ----------
    output : Path
        Folder to write to.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    if output.exists() and not output.is_dir():
        raise FileError(f"--output must be a folder. Got {str(output)!r}, which is a file.")
    from lamina._files import check_writable

    check_writable(output / "model")
    table = _table()
    say.note(
        f"Concrete strength: {len(table.y):,} mixtures to learn from, "
        f"{len(table.y_aside):,} held out"
    )
    watch = Watch(say.err, show=not quiet and say.err.is_terminal)
    contenders = [*_others(table), _lamina(table, watch)]
    _report(contenders, say)
    written = _write(contenders[-1], table, output, say)
    say.document(_document(contenders, written))
    model = quoted(str(output / "model"))
    say.next(f"lamina predict {model} YOUR.csv, or lamina fit YOUR.csv --target COLUMN -o MODEL")
    return INTERRUPTED if watch.interrupted else 0


def _table() -> Table:
    """Return the packaged table, a fifth of its rows held out."""
    from lamina.datasets import load_concrete

    frame = load_concrete()
    X, y = frame.drop(columns=COLUMN), frame[COLUMN]
    aside = held_out(y, 0.2, SEED, classes=False)
    return Table(X[~aside], y[~aside], X[aside], y[aside])


def _others(table: Table) -> list[Contender]:
    """Fit what the network is compared with."""
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return [
        _contender("mean", DummyRegressor(), table),
        _contender("ridge regression", make_pipeline(StandardScaler(), RidgeCV()), table),
        _contender("gradient boosting", HistGradientBoostingRegressor(random_state=SEED), table),
    ]


def _lamina(table: Table, watch: Watch) -> Contender:
    """Fit the network."""
    from lamina import TableRegressor

    model = TableRegressor(random_state=SEED)
    with watched(model, watch):
        return _contender("lamina", model, table)


def _contender(name: str, model: Any, table: Table) -> Contender:
    """Fit a model and score it on the rows held out."""
    began = time.perf_counter()
    model.fit(table.X, table.y)
    took = time.perf_counter() - began
    predicted = model.predict(table.X_aside)
    scores = regression_scores(table.y_aside, predicted)
    return Contender(name, model, predicted, scores, took)


def _report(contenders: list[Contender], say: Output) -> None:
    """Print the scores."""
    say.table(
        "Error on the held-out mixtures",
        ["", f"RMSE ({UNIT})", "R²", "time to fit"],
        [
            [
                contender.name,
                f"{contender.scores['rmse']:.2f}",
                f"{contender.scores['r2']:.3f}",
                seconds(contender.seconds),
            ]
            for contender in contenders
        ],
    )
    say.line("")


def _write(ours: Contender, table: Table, output: Path, say: Output) -> list[Path]:
    """Write the model and, if Matplotlib is there, the picture with its numbers."""
    from lamina import save

    save(ours.model, output / "model")
    written = [output / "model"]
    try:
        written += _draw(ours, table, output / "predictions.png")
    except MissingDependencyError as error:
        say.note(f"No picture: {error}", style="yellow")
    for path in written:
        say.line(f"Wrote {path}")
    return written


def _draw(ours: Contender, table: Table, path: Path) -> list[Path]:
    """Draw predicted against measured strengths, and what is left over."""
    from lamina.plots import panels, plot_predictions, plot_residuals, save_figure

    left, right = panels(1, 2, size=(4.6, 4.2))[0]
    y, predicted = table.y_aside, ours.predicted
    plot_predictions(y, predicted, name=COLUMN, unit=UNIT, ax=left)
    plot_residuals(y, predicted, name=COLUMN, unit=UNIT, ax=right)
    return save_figure(left, path, numbers=True)


def _document(contenders: list[Contender], written: list[Path]) -> dict[str, Any]:
    """Return the result for machines."""
    return {
        "command": "demo",
        "target": COLUMN,
        "unit": UNIT,
        "scores": {
            contender.name: {**contender.scores, "seconds": contender.seconds}
            for contender in contenders
        },
        "files": [str(path) for path in written],
    }
