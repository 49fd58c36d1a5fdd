"""What the faces of a window tell: maps, boundaries, neighbours, and the words on a wrong call."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lamina._errors import DataError, ParameterError
from lamina.inspection import count_regions, regions_in_plane
from lamina.nn import Network

from ._region_cases import WINDOW, codes_at, torch_network


def test_maps_are_those_of_the_network_and_of_autograd(rng):
    network = Network((5, 12, 10, 3), ["hard_tanh", "leaky_relu"], random_state=2)
    origin, axes = rng.normal(size=5), rng.normal(size=(2, 5))
    result = regions_in_plane(network, WINDOW, origin, axes)
    at = result.points(result.centroids)
    want = network.predict_raw(at)
    u, v = result.centroids.T[:, :, None]
    a, b, c = result.affine_maps.transpose(2, 0, 1)
    np.testing.assert_allclose(a * u + b * v + c, want, rtol=1e-10, atol=1e-11)
    for i in (0, result.n_regions // 2, result.n_regions - 1):
        W, constant = result.affine(i)
        J = torch.autograd.functional.jacobian(network, torch.tensor(at[i])).numpy()
        np.testing.assert_allclose(W, J, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(W @ at[i] + constant, want[i], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("zero_biases", [False, True])
def test_faces_are_convex_and_neighbours_share_an_edge(zero_biases):
    result = regions_in_plane(torch_network((16, 16), 1, zero_biases), WINDOW)
    for face, area, centre in zip(result.faces, result.areas, result.centroids, strict=True):
        p = result.vertices[face]
        q = np.roll(p, -1, axis=0)
        turn = np.cross(np.c_[q - p, 0 * p[:, 0]], np.c_[np.roll(q, -1, axis=0) - q, 0 * p[:, 0]])
        assert turn[:, 2].min() > -1e-12
        shoelace = (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]).sum() / 2
        assert area == pytest.approx(shoelace, abs=1e-13)
        assert (
            np.cross(np.c_[q - p, 0 * p[:, 0]], np.c_[centre - p, 0 * p[:, 0]])[:, 2] > -1e-13
        ).all()
    pairs = {tuple(sorted(map(int, sides))) for sides in result.edge_faces if (sides >= 0).all()}
    assert {tuple(map(int, pair)) for pair in result.neighbours} == pairs


def test_the_boundary_of_one_output_is_its_zero_line():
    network = Network((2, 20, 20, 1), init="torch", random_state=4)
    level = float(np.median(network.predict_raw(np.random.default_rng(0).uniform(-2, 2, (99, 2)))))
    result = regions_in_plane(network, WINDOW)
    segments = result.decision_boundary(level)
    assert len(segments)
    t = np.linspace(0, 1, 7)[:, None, None]
    on = (1 - t) * segments[:, 0] + t * segments[:, 1]
    np.testing.assert_allclose(network.predict_raw(on), level, rtol=0, atol=1e-13)
    # Along any line the segments are crossed as often as the output changes side.
    for v in np.linspace(-1.9, 1.9, 23):
        y = network.predict_raw(np.c_[np.linspace(-2, 2, 40_001), np.full(40_001, v)])[:, 0]
        changes = (np.diff(np.sign(y - level)) != 0).sum()
        crossed = ((segments[:, 0, 1] > v) != (segments[:, 1, 1] > v)).sum()
        assert changes == crossed


def test_the_boundary_of_several_outputs_is_where_the_largest_changes():
    network = Network((2, 12, 12, 4), init="torch", random_state=0)
    W, b = network.layers()[-1]
    network = Network.from_arrays([*network.layers()[:-1], (5 * W, 5 * b - 5 * b.mean())])
    result = regions_in_plane(network, WINDOW)
    segments = result.decision_boundary()
    outputs = np.sort(network.predict_raw(segments.mean(axis=1)), axis=1)
    np.testing.assert_allclose(outputs[:, -1], outputs[:, -2], atol=1e-12)
    for v in np.linspace(-1.9, 1.9, 23):
        y = network.predict_raw(np.c_[np.linspace(-2, 2, 40_001), np.full(40_001, v)])
        changes = (np.diff(y.argmax(axis=1)) != 0).sum()
        assert changes == ((segments[:, 0, 1] > v) != (segments[:, 1, 1] > v)).sum()


def test_a_boundary_along_edges_and_none_on_a_face_of_zeros():
    network = Network.from_arrays([([[1.0, 0.0]], [0.0]), ([[1.0]], [0.0])])
    segments = regions_in_plane(network, WINDOW).decision_boundary()
    assert np.sort(segments.reshape(-1, 2), axis=0).tolist() == [[0.0, -2.0], [0.0, 2.0]]


def test_steps_have_constant_regions():
    network = Network.from_arrays(
        [([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, -1.0], [1.0, 1.0]], [0.0, -1.0])], "step",
        output_activation="step",
    )  # fmt: skip
    result = regions_in_plane(network, WINDOW)
    assert result.n_regions == 4
    np.testing.assert_array_equal(result.patterns, codes_at(network, result.centroids))
    np.testing.assert_array_equal(result.affine_maps[:, :, :2], 0)
    np.testing.assert_array_equal(
        result.affine_maps[:, :, 2], network.predict_raw(result.centroids)
    )


def test_a_grid_misses_regions():
    network = torch_network((24,), 0)
    result = regions_in_plane(network, WINDOW)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 40)] * 2), axis=-1).reshape(-1, 2)
    seen = len(np.unique(codes_at(Network.from_torch(network), grid), axis=0))
    assert result.seen_by_grid(40) == seen / result.n_regions
    assert result.seen_by_grid(400) > result.seen_by_grid(40)


def test_one_region_and_no_hidden_layer():
    result = regions_in_plane(nn.Linear(2, 3), ((0, 1), (0, 2)))
    assert (result.n_regions, result.areas.tolist(), result.patterns.shape) == (1, [2.0], (1, 0))
    assert result.neighbours.shape == (0, 2)
    assert len(result.decision_boundary()) <= 3


def test_summaries():
    result = regions_in_plane(torch_network((12, 12), 0), WINDOW)
    assert "130 activation regions" in result.summary()
    assert "46, 130, 130" in result.summary()
    assert "of 16 in all" in result.summary()
    assert "130 activation regions" in count_regions(torch_network((12, 12), 0), WINDOW).summary()


def net(n_inputs):
    return Network((n_inputs, 3, 1), random_state=0)


overflowing = Network.from_arrays([([[1e300, 0.0]], [0.0]), ([[1e300]], [0.0]), ([[1.0]], [0.0])])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: regions_in_plane(None, WINDOW), ParameterError, "net must be"),
        (lambda: regions_in_plane(Network((2, 3, 1), "gelu"), WINDOW), ParameterError, "'gelu'"),
        (lambda: regions_in_plane(net(3), WINDOW), DataError, "axes must be given"),
        (lambda: regions_in_plane(net(1), WINDOW), DataError, "Use regions_on_line"),
        (lambda: regions_in_plane(net(2), [0, 1]), DataError, "bounds must be"),
        (lambda: regions_in_plane(net(2), ((1, 1), (0, 1))), DataError, "u_min < u_max"),
        (lambda: regions_in_plane(net(2), ((0, np.inf), (0, 1))), DataError, "finite"),
        (lambda: regions_in_plane(net(2), WINDOW, [0.0]), DataError, "origin must have"),
        (lambda: regions_in_plane(net(3), WINDOW, None, np.eye(2)), DataError,
         r"axes must have shape \(2, 3\)"),
        (lambda: regions_in_plane(net(2), WINDOW, None, [[1, 1], [2, 2]]), DataError,
         "span a plane"),
        (lambda: regions_in_plane(net(2), ((-1e308, 1e307), (0, 1)), None,
                                  [[99, 0], [0, 1]]), DataError, "inputs finite"),
        (lambda: regions_in_plane(overflowing, WINDOW), DataError, "finite pre-activations"),
        (lambda: regions_in_plane(net(2), WINDOW).affine(99), ParameterError, "face"),
        (lambda: regions_in_plane(net(2), WINDOW).seen_by_grid(1), ParameterError, "n "),
        (lambda: regions_in_plane(net(2), WINDOW).plot("red"), ParameterError, "colour"),
    ],
)  # fmt: skip
def test_wrong_calls_get_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
