"""The table of widths: alone = together, any target on any interval, fits to draw."""

import numpy as np
import pytest

from lamina._errors import DataError, ParameterError
from lamina.experiments import width_table

FAST = {"epochs": 60, "n_points": 40}


def test_the_stack_gives_what_separate_runs_give():
    together = width_table(["smooth", "kink"], [2, 5], **FAST)
    for i, name in enumerate(("smooth", "kink")):
        for j, width in enumerate((2, 5)):
            alone = width_table([name], [width], random_state=2 * i + j, **FAST)
            np.testing.assert_allclose(
                together.fits[name, width], alone.fits[name, width], atol=2e-5
            )


def test_a_target_of_ones_own_on_an_interval_of_ones_own():
    table = width_table({"cosine": np.cos}, [1, 6], interval=(100.0, 106.0), epochs=800)
    np.testing.assert_allclose(table.x[[0, -1]], [100, 106])
    np.testing.assert_array_equal(table.targets["cosine"], np.cos(table.x))
    net = table.networks["cosine", 6]
    np.testing.assert_allclose(net.predict_raw(table.x[:, None])[:, 0], table.fits["cosine", 6])
    errors = table.to_dataframe().loc["cosine"]
    assert errors[6] < 0.1 < errors[1]
    residual = table.fits["cosine", 6] - np.cos(table.x)
    assert errors[6] == pytest.approx(np.sqrt(np.mean(residual**2)))


def test_a_shift_of_the_interval_changes_nothing():
    here = width_table(lambda x: np.abs(x - 1), 3, interval=(0.0, 2.0), **FAST)
    there = width_table(lambda x: np.abs(x - 11), 3, interval=(10.0, 12.0), **FAST)
    np.testing.assert_allclose(here.fits["target", 3], there.fits["target", 3], atol=1e-6)


def test_the_picture_has_a_panel_for_each_network():
    table = width_table(["step"], [1, 3], **FAST)
    figure = table.plot().figure
    assert len(figure.axes) == 2
    for ax, width in zip(figure.axes, (1, 3), strict=True):
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), table.fits["step", width])
        assert ax.get_xlabel()
    assert "step" in table.summary()


def test_wrong_targets_are_told():
    with pytest.raises(ParameterError, match="Got 'smoth'"):
        width_table(["smoth"], 1)
    with pytest.raises(ParameterError, match="at least one function"):
        width_table({}, 1)
    with pytest.raises(ParameterError, match="high must be greater"):
        width_table(np.cos, 1, interval=(1.0, 0.0))
    with pytest.raises(DataError, match="'target' must return"):
        width_table(lambda x: np.full(len(x), np.nan), 1)
    with pytest.raises(DataError, match="'target' must return"):
        width_table(lambda x: x[:3], 1)
