"""What a number becomes beside its scaled value: bins, waves or nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm

from lamina._errors import ParameterError
from lamina.tables import TableEncoder
from lamina.tables._number_embedding import bins_for, wave_numbers


def table(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=n), "two": rng.choice([0.0, 5.0], n)})


def test_waves_are_cosines_and_sines_of_the_scaled_value():
    X = table()
    encoder = TableEncoder(numeric_embedding="periodic", n_waves=3, wave_scale=0.5)
    matrix = encoder.fit_transform(X)
    names = ["x", *(f"x {wave} {i}" for wave in ("cos", "sin") for i in (1, 2, 3)), "two"]
    assert encoder.get_feature_names_out().tolist() == names
    z = TableEncoder(numeric_embedding="none").fit_transform(X)[:, 0].astype(float)
    for j, quantile in enumerate((1 / 6, 1 / 2, 5 / 6)):
        angle = 2 * np.pi * halfnorm(scale=0.5).ppf(quantile) * z
        np.testing.assert_allclose(matrix[:, 1 + j], np.cos(angle), atol=1e-5)
        np.testing.assert_allclose(matrix[:, 4 + j], np.sin(angle), atol=1e-5)


def test_frequencies_have_the_spread_of_a_normal_distribution():
    waves = wave_numbers(4000, 2.0)
    square, _ = quad(lambda f: f * f * halfnorm(scale=2.0).pdf(f), 0, np.inf)
    assert np.mean(waves**2) == pytest.approx(square, rel=1e-2)
    assert (np.diff(waves) > 0).all()
    assert waves[0] > 0


@pytest.mark.parametrize(("n_numbers", "n_waves"), [(2, 8), (48, 8), (100, 3), (400, 0)])
def test_wide_tables_keep_the_longest_waves(n_numbers, n_waves):
    X = np.random.default_rng(0).normal(size=(30, n_numbers))
    encoder = TableEncoder(numeric_embedding="periodic").fit(X)
    assert encoder.transform(X).shape[1] == n_numbers * (1 + 2 * n_waves)
    whole = TableEncoder(numeric_embedding="periodic").fit(X[:, :1]).transform(X[:, :1])
    cosines = encoder.transform(X)[:, 1 : 1 + n_waves]
    np.testing.assert_array_equal(cosines, whole[:, 1 : 1 + n_waves])


def test_each_embedding_has_its_columns():
    X = table()
    widths = {
        kind: TableEncoder(numeric_embedding=kind, n_waves=5).fit_transform(X).shape[1]
        for kind in ("auto", "piecewise_linear", "periodic", "both", "none")
    }
    assert widths["none"] == 2
    assert widths["periodic"] == 2 + 2 * 5
    assert widths["auto"] == widths["piecewise_linear"] == 2 + bins_for(300, 2)
    assert widths["both"] == widths["auto"] + 2 * 5
    cut = TableEncoder(numeric_embedding="piecewise_linear", n_bins=4).fit_transform(X)
    assert cut.shape[1] == 2 + 4


def test_every_column_of_the_matrix_tells_what_it_belongs_to():
    X = table().assign(kind=np.tile(list("abc"), 100))
    X.loc[:9, "x"] = np.nan
    encoder = TableEncoder(numeric_embedding="both", n_bins=3, n_waves=2).fit(X)
    names, parts = encoder.get_feature_names_out(), encoder._parts()
    assert len(names) == len(parts)
    for name, part in zip(names, parts, strict=True):
        words = name.split(" ")
        wanted = {"part": "bin", "cos": f"wave {words[-1]}", "sin": f"wave {words[-1]}"}
        assert part == (wanted.get(words[1], "") if len(words) > 1 else "")


def test_an_encoder_with_waves_is_saved_and_missing_values_are_centres():
    X = table()
    X.loc[:3, "x"] = np.nan
    encoder = TableEncoder(numeric_embedding="periodic", n_waves=2).fit(X)
    config, arrays = encoder._to_state()
    restored = TableEncoder._from_state(json.loads(json.dumps(config)), arrays)
    np.testing.assert_array_equal(restored.transform(X), encoder.transform(X))
    assert encoder.transform(X)[0, :6].tolist() == [0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"numeric_embedding": "periodical"}, "Did you mean 'periodic'"),
        ({"n_waves": 0}, "n_waves must be an integer of at least 1"),
        ({"wave_scale": 0.0}, "wave_scale must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TableEncoder(**parameters).fit(table())
