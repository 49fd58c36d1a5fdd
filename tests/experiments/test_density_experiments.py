"""The parts of the experiments on densities: roots, elbows, formulas worked by hand."""

import math

import numpy as np
import pytest

from lamina.experiments import _robot_arm as arm
from lamina.experiments import run
from lamina.experiments._densities import rms, started
from lamina.experiments._inverse import height, solutions
from lamina.experiments._predictive import farthest
from lamina.heads import Mixture


def test_solutions_are_all_roots_in_rising_order():
    dense = np.linspace(-2.5, 2.5, 2_000_001)
    for t in (-1.2, -0.4, 0.1, 0.25, 0.65, 0.66, 2.0):
        crossings = np.flatnonzero(np.diff(np.sign(height(dense) - t)))
        np.testing.assert_allclose(solutions(t), dense[crossings], atol=3e-6)


@pytest.mark.parametrize("n_cells", [1000, 250, 10])
def test_a_root_on_the_grid_counts_once(n_cells):
    roots = solutions(0.0, n_cells)
    assert len(roots) == 3
    assert roots[1] == 0.0
    assert roots[0] == pytest.approx(-roots[2], abs=1e-12)


def test_the_height_of_the_turning_point_has_two_solutions_nearby():
    # cosh²(2x) = 3 at the turning point, so that tanh(2x) = √(2/3) there
    turn = math.acosh(math.sqrt(3)) / 2
    values = run("turning-points").values
    assert values["x"] == pytest.approx(turn, abs=1e-12)
    assert values["t"] == pytest.approx(1.5 * math.sqrt(2 / 3) - turn, abs=1e-12)
    just_below = solutions(values["t"] - 1e-4, 100_000)
    assert just_below[:2] == pytest.approx([-turn, -turn], abs=0.02)


def test_both_elbows_reach_the_point_and_are_mirrored():
    point = np.array([[1.2, 0.5], [0.3, 0.9], [0.51, 0.0], [1.0, 1.1]])
    both = arm.positions(point)
    for joints in (both[:, 0], both[:, 1]):
        end = np.exp(1j * joints[:, 0]) + 0.5 * np.exp(1j * joints.sum(1))
        np.testing.assert_allclose(np.column_stack([end.real, end.imag]), point, atol=1e-12)
        np.testing.assert_allclose(arm.reached(joints), point, atol=1e-12)
    np.testing.assert_allclose(both[:, 0, 1], -both[:, 1, 1])
    assert (both[:, 0, 1] > 0).all()


def test_the_test_points_of_the_arm_have_both_positions_in_the_data():
    both = arm.positions(arm._test_points())
    assert (both[..., 0] > 0).all()
    assert (both[..., 0] < math.pi / 2).all()
    assert (np.abs(both[..., 1]) < 2.5).all()


def test_a_network_begins_where_its_head_says():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    head = Mixture(2)
    network = started((5,), head, X, y, seed=1)
    assert network.sizes == (3, 5, 6)
    np.testing.assert_allclose(network.layers()[-1][1], head.start(y[:, None]), rtol=1e-6)


def test_distances():
    assert farthest(np.array([0.0, 1.0]), np.array([0.1, 3.0])) == pytest.approx(0.9)
    assert rms(np.array([3.0, 4.0, 0.0, 0.0])) == 2.5


def test_the_gain_of_a_covariance_is_the_information_between_the_targets():
    values = run("full-noise-covariance").values
    covariance = np.array(values["true"])
    both = 0.5 * np.log(np.linalg.det(covariance))
    each = 0.5 * np.log(np.diag(covariance)).sum()
    assert values["gain_of_truth"] == pytest.approx(each - both)


def test_independent_bits_cost_twice_what_one_bit_costs():
    values = run("mixture-of-bits").values
    assert sum(values["pairs_mixture"]) == pytest.approx(1, abs=1e-9)
    assert sum(values["pairs_independent"]) == pytest.approx(1, abs=1e-9)
    # E H(σ(4x)) over x in [-1, 1], by quadrature; 1,000 draws give ±0.007
    x = np.linspace(-1, 1, 20_001)
    p = 1 / (1 + np.exp(-4 * x))
    entropy = np.trapezoid(-p * np.log(p) - (1 - p) * np.log(1 - p), x) / 2
    assert values["nll_truth"] == pytest.approx(entropy, abs=0.03)
