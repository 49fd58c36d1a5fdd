"""The robot arm: where its hand is, by complex numbers, and that it is an inverse problem."""

import math
import re

import numpy as np
import pytest

from lamina._errors import ParameterError
from lamina.datasets import make_robot_arm


def reached(joints, upper=1.0, fore=0.5):
    """Return end points by turning arrows in the complex plane."""
    ends = [upper * np.exp(1j * a) * (1 + fore / upper * np.exp(1j * b)) for a, b in joints]
    return np.array([[end.real, end.imag] for end in ends])


def test_the_hand_is_where_the_joints_put_it():
    joints, point = make_robot_arm(200, noise=0.0, random_state=1)
    np.testing.assert_allclose(point, reached(joints), atol=1e-14)
    joints, point = make_robot_arm(200, noise=0.0, lengths=(0.8, 0.2), random_state=1)
    np.testing.assert_allclose(point, reached(joints, 0.8, 0.2), atol=1e-14)


def test_joints_stay_within_their_ranges_and_fill_them():
    joints, _ = make_robot_arm(20_000, max_elbow=1.25, random_state=0)
    for column, low, high in ((0, 0.0, math.pi / 2), (1, -1.25, 1.25)):
        assert low <= joints[:, column].min() < low + 0.01
        assert high - 0.01 < joints[:, column].max() <= high


def test_noise_has_the_stated_size():
    joints, point = make_robot_arm(20_000, noise=0.05, random_state=0)
    # standard error of a standard deviation: 0.05 / sqrt(2 * 40000) = 0.0002
    assert np.std(point - reached(joints)) == pytest.approx(0.05, abs=0.001)


def test_a_seed_fixes_the_data_and_inverse_swaps_them():
    joints, point = make_robot_arm(50, random_state=3)
    end, angles = make_robot_arm(50, inverse=True, random_state=3)
    assert np.array_equal(joints, angles)
    assert np.array_equal(point, end)
    assert not np.array_equal(joints, make_robot_arm(50, random_state=4)[0])


def test_an_end_point_belongs_to_the_mirrored_elbow_too():
    joints, point = make_robot_arm(200, noise=0.0, random_state=2)
    across = np.arctan2(point[:, 1], point[:, 0])
    mirrored = np.column_stack([2 * across - joints[:, 0], -joints[:, 1]])
    np.testing.assert_allclose(reached(mirrored), point, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_robot_arm(0), "n_samples must be an integer of at least 1. Got 0."),
        (
            lambda: make_robot_arm(lengths=(1.0,)),
            "lengths must be two numbers, of upper arm and forearm. Got (1.0,).",
        ),
        (
            lambda: make_robot_arm(lengths=3.0),
            "lengths must be two numbers, of upper arm and forearm. Got 3.0.",
        ),
        (lambda: make_robot_arm(lengths=(1.0, 0.0)), "lengths[1] must be a finite number in "),
        (lambda: make_robot_arm(max_elbow=4.0), "max_elbow must be a finite number in "),
        (lambda: make_robot_arm(noise=-1.0), "noise must be a finite number in "),
    ],
)
def test_wrong_parameters_get_one_sentence(call, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}"):
        call()
