"""scikit-learn's own tests of its multilayer perceptrons, run with our two classes in place.

The module is loaded a second time under a name of its own and its two class names are replaced,
so that scikit-learn's own copy stays as it is.
"""

from __future__ import annotations

import importlib.util
import sys

import pytest
import sklearn.neural_network.tests.test_mlp as original

from lamina.estimators import MLPClassifier, MLPRegressor

LEFT_OUT = {
    "test_gradient": "calls the private method _loss_grad_lbfgs; the engine's gradient has its "
    "own test against autograd",
}
"""Tests that reach into attributes scikit-learn keeps to itself, each with the reason."""


def _with_our_classes():
    """Return a fresh copy of the test module whose classes are ours."""
    spec = importlib.util.spec_from_file_location("sklearn_test_mlp_for_lamina", original.__file__)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.MLPClassifier, module.MLPRegressor = MLPClassifier, MLPRegressor
    swap = {"MLPClassifier": MLPClassifier, "MLPRegressor": MLPRegressor}
    for name, test in vars(module).items():
        if name.startswith("test_"):
            for mark in getattr(test, "pytestmark", []):
                if mark.name == "parametrize" and isinstance(mark.args[1], list):
                    mark.args[1][:] = [
                        swap.get(getattr(value, "__name__", None), value) for value in mark.args[1]
                    ]
    return module


_module = _with_our_classes()
globals().update(
    {
        name: test
        for name, test in vars(_module).items()
        if name.startswith("test_") and name not in LEFT_OUT
    }
)

# scikit-learn's suite does not make errors of warnings.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def global_random_seed():
    """Return the seed that scikit-learn's suite uses by default."""
    return 42


def test_every_test_runs_with_our_classes():
    given = [
        value
        for name, test in vars(_module).items()
        if name.startswith("test_")
        for mark in getattr(test, "pytestmark", [])
        if mark.name == "parametrize"
        for value in mark.args[1]
    ]
    assert MLPClassifier in given
    assert MLPRegressor in given
    assert original.MLPClassifier not in given
    assert original.MLPRegressor not in given
    assert (_module.MLPClassifier, _module.MLPRegressor) == (MLPClassifier, MLPRegressor)


def test_what_is_left_out_exists():
    assert set(LEFT_OUT) <= set(vars(original))
