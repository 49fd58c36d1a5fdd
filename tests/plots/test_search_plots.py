"""Pictures of searches are tested by reading back what was drawn."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lamina import DataError, plots

NAN = float("nan")
PARAMS = [
    {"width": (64, 8), "rate": 0.001, "act": "relu", "fixed": 1},
    {"width": (128,), "rate": 0.01, "act": "tanh", "fixed": 1},
    {"width": (64, 8), "rate": 0.1, "act": "relu", "fixed": 1},
    {"width": (8,), "rate": 0.1, "act": "relu", "fixed": 1},
]
SCORES, RUNGS = [0.5, 0.9, 0.7, NAN], [0, 0, 1, 1]

DRAWN = {
    "history": lambda ax: plots.plot_search_history(SCORES, RUNGS, ax=ax),
    "rungs": lambda ax: plots.plot_search_rungs([{3: 0.1, 9: 0.2}, {3: 0.0}], ax=ax),
    "parameters": lambda ax: plots.plot_search_parameters(PARAMS, SCORES, RUNGS, ax=ax),
}


@pytest.mark.parametrize("what", DRAWN)
def test_every_picture_is_drawn_where_asked_and_changes_nothing_global(what):
    before = dict(matplotlib.rcParams)
    ax = plots.panels()[0, 0]
    assert DRAWN[what](ax) is ax
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


def drawn(ax):
    return {line.get_label(): line.get_xydata().tolist() for line in ax.lines}


def test_history_has_a_point_for_each_candidate_and_the_best_of_the_last_rung():
    lines = drawn(plots.plot_search_history(SCORES, RUNGS, name="accuracy"))
    assert lines == {
        "ended in rung 1": [[1, 0.5], [2, 0.9]],
        "ended in rung 2": [[3, 0.7]],
        "best": [[3, 0.7]],
    }


def test_history_without_rungs_rises_only():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50)
    scores[7] = NAN
    best = dict(drawn(plots.plot_search_history(scores)))["best"]
    expected = [[i + 1, np.nanmax(scores[: i + 1])] for i in range(50) if i != 7]
    np.testing.assert_allclose(best, expected)


def test_rungs_are_curves_with_the_best_in_colour_on_top():
    paths = [{9: 0.2, 3: 0.1}, {3: 0.05}, {3: NAN}, {3: 0.15, 9: 0.4, 27: 0.3}]
    ax = plots.plot_search_rungs(paths)
    assert drawn(ax) == {
        "candidate 1": [[3, 0.1], [9, 0.2]],
        "candidate 2": [[3, 0.05]],
        "candidate 4: best": [[3, 0.15], [9, 0.4], [27, 0.3]],
    }
    assert ax.lines[-1].get_color() != ax.lines[0].get_color() == ax.lines[1].get_color()
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["3", "9", "27"]


def test_parameters_stand_side_by_side_each_between_its_ends():
    """Worked by hand: 0.01 is half way from 0.001 to 0.1 on a log scale; 64-8 comes before 128."""
    ax = plots.plot_search_parameters(PARAMS, SCORES, RUNGS, name="accuracy")
    titles = [text.get_text() for text in ax.get_xticklabels()]
    assert titles == ["width", "rate", "act", "accuracy"]  # what never varies is left out
    lines = {
        label: np.array(points)[:, 1]
        for label, points in drawn(ax).items()
        if label.startswith("candidate")
    }
    expected = {
        "candidate 1": [0, 0, 0, 0],
        "candidate 2": [1, 0.5, 1, 1],
        "candidate 3": [0, 1, 0, 0.5],
    }
    assert lines.keys() == expected.keys()
    for label, heights in expected.items():
        np.testing.assert_allclose(lines[label], heights, atol=1e-12)
    texts = {text.get_text() for text in ax.texts}
    assert {"64-8", "128", "0.001", "0.01", "0.1", "relu", "tanh", "0.5", "0.9"} <= texts


def test_the_best_is_drawn_last_darkest_and_thickest_and_a_later_rung_is_better():
    ax = plots.plot_search_parameters(PARAMS, SCORES, RUNGS)
    lines = [line for line in ax.lines if line.get_label().startswith("candidate")]
    assert [line.get_label() for line in lines] == ["candidate 1", "candidate 2", "candidate 3"]
    light = [np.dot(to_rgb(line.get_color()), (0.2126, 0.7152, 0.0722)) for line in lines]
    assert light == sorted(light, reverse=True)
    width = [line.get_linewidth() for line in lines]
    assert width == sorted(width)


def test_a_parameter_of_numbers_and_texts_is_taken_for_categories():
    params = [{"gamma": "auto"}, {"gamma": 0.5}, {}]
    ax = plots.plot_search_parameters(params, [1.0, 2.0, 3.0])
    assert {"auto", "0.5", "None"} <= {text.get_text() for text in ax.texts}


def test_numbers_can_be_written_beside(tmp_path):
    ax = plots.plot_search_parameters(PARAMS, SCORES, RUNGS)
    table = plots.figure_numbers(ax)
    own = table[table["label"] == "candidate 2"]
    np.testing.assert_allclose(own["y"], [1, 0.5, 1, 1], atol=1e-12)
    files = plots.save_figure(ax, tmp_path / "a.png", numbers=True)
    assert [file.stat().st_size > 0 for file in files] == [True, True]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: plots.plot_search_history([NAN]), "at least one finite score"),
        (lambda: plots.plot_search_history([]), "at least one finite score"),
        (lambda: plots.plot_search_history([1.0], [0, 1]), "one entry for each candidate"),
        (lambda: plots.plot_search_rungs([{}]), "a score of at least one candidate"),
        (lambda: plots.plot_search_parameters(PARAMS, [1.0]), "4 entries and 1 scores"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_one_sentence(draw, sentence):
    with pytest.raises(DataError, match=sentence):
        draw()
