"""Data to learn from: toy generators, each seeded and documented, and two real sets."""

from ._arm import make_robot_arm
from ._concrete import load_concrete
from ._curves import TARGETS, make_approximation, make_inverse_problem, make_sine
from ._idx import read_idx
from ._images import (
    make_placed_digits,
    make_rotated_digits,
    make_shifted_digits,
    rotate_images,
    shift_images,
)
from ._mnist import load_mnist
from ._points import make_clouds, make_moons, make_spirals, make_two_spirals, make_xor

__all__ = [
    "TARGETS",
    "load_concrete",
    "load_mnist",
    "make_approximation",
    "make_clouds",
    "make_inverse_problem",
    "make_moons",
    "make_placed_digits",
    "make_robot_arm",
    "make_rotated_digits",
    "make_shifted_digits",
    "make_sine",
    "make_spirals",
    "make_two_spirals",
    "make_xor",
    "read_idx",
    "rotate_images",
    "shift_images",
]
