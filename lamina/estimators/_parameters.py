"""What each parameter may be, and what the engine makes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions

from lamina._checks import check_sizes, suggestion
from lamina._errors import ParameterError
from lamina._typing import DTYPES
from lamina.heads import Head
from lamina.nn import ACTIVATIONS, Activation, get_activation
from lamina.stack import (
    LBFGS,
    SGD,
    Adam,
    AdamW,
    Adaptive,
    Constant,
    Cosine,
    InverseScaling,
    Muon,
    OneCycle,
    Optimizer,
    RMSprop,
    Schedule,
)

if TYPE_CHECKING:
    from ._mlp import BaseMLP

ACTIVATION_NAMES = frozenset({*ACTIVATIONS, "logistic", "swish"})
SOLVERS = frozenset({"adam", "adamw", "lbfgs", "muon", "rmsprop", "sgd"})
LEARNING_RATES = frozenset({"adaptive", "constant", "cosine", "invscaling", "one_cycle"})
REGRESSION_LOSSES = frozenset({"squared_error", "normal", "heteroscedastic", "mixture", "poisson"})
CLASSIFICATION_LOSSES = frozenset({"log_loss", "bernoulli", "categorical"})


class Names(StrOptions):  # type: ignore[misc]
    """Names that are allowed, which sentences list in order."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(repr(name) for name in sorted(self.options))}}}"


class ActivationNames(Names):
    """Names of activations, also with one number: ``"leaky_relu(0.1)"``."""

    def __init__(self) -> None:
        super().__init__(set(ACTIVATION_NAMES))

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether the name before the bracket is known; the number is checked later."""
        return isinstance(val, str) and val.split("(", maxsplit=1)[0].strip() in ACTIVATION_NAMES


CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "activation": [ActivationNames(), Activation, tuple, list],
    "solver": [Names(set(SOLVERS))],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "batch_size": [Names({"auto"}), Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Names(set(LEARNING_RATES))],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "power_t": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "random_state": ["random_state"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "momentum": [Interval(Real, 0, 1, closed="both")],
    "nesterovs_momentum": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "beta_1": [Interval(Real, 0, 1, closed="left")],
    "beta_2": [Interval(Real, 0, 1, closed="left")],
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), Options(Real, {np.inf})],
    "max_fun": [Interval(Integral, 1, None, closed="left")],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
    "n_members": [Interval(Integral, 1, None, closed="left")],
    "device": [str],
    "dtype": [Names(set(DTYPES)), None],
}
"""What both estimators allow; `loss` and `class_weight` are added by each."""

REGRESSOR_CONSTRAINTS = {**CONSTRAINTS, "loss": [Names(set(REGRESSION_LOSSES)), Head]}
MIXTURE_CONSTRAINTS = {
    **{
        name: CONSTRAINTS[name]
        for name in (
            *("hidden_layer_sizes", "activation", "batch_size", "learning_rate_init"),
            *("random_state", "verbose", "early_stopping", "validation_fraction", "dropout"),
            *("clip_norm", "n_members", "device", "dtype"),
        )
    },
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "covariance_type": [Names({"spherical", "diag", "full"})],
    "solver": [Names(set(SOLVERS) - {"lbfgs"})],
    "alpha": [Names({"auto"}), Interval(Real, 0, None, closed="left")],
    "learning_rate": [Names({"constant", "cosine", "one_cycle"})],
    "max_iter": [Names({"auto"}), Interval(Integral, 1, None, closed="left")],
    "min_scale": [Interval(Real, 0, None, closed="left")],
    "input_noise": [Interval(Real, 0, None, closed="left")],
}
MULTITASK_CONSTRAINTS = {
    **{
        name: CONSTRAINTS[name]
        for name in (
            *("hidden_layer_sizes", "activation", "solver", "alpha", "batch_size", "max_iter"),
            *("learning_rate_init", "tol", "n_iter_no_change", "dropout", "early_stopping"),
            *("validation_fraction", "n_members", "random_state", "verbose", "device", "dtype"),
        )
    },
    "kinds": [Names({"classification", "regression"}), dict, None],
    "task_weights": [dict, None],
}
CLASSIFIER_CONSTRAINTS = {
    **CONSTRAINTS,
    "loss": [Names(set(CLASSIFICATION_LOSSES)), Head],
    "class_weight": [Names({"balanced"}), dict, None],
    "label_noise": [Names({"learn"}), Interval(Real, 0, 1, closed="left")],
}


def near_miss(message: str, mlp: BaseMLP) -> str:
    """Return `` Did you mean …?`` for the parameter that a sentence of scikit-learn names."""
    found = re.match(r"The '(\w+)' parameter", message)
    if found is None:
        return ""
    value = getattr(mlp, found[1])
    rules = mlp._parameter_constraints[found[1]]
    names = {name for rule in rules if isinstance(rule, Names) for name in rule.options}
    return suggestion(value, sorted(names)) if isinstance(value, str) else ""


def hidden_sizes(mlp: BaseMLP) -> tuple[int, ...]:
    """Return the widths of the hidden layers."""
    given: Any = mlp.hidden_layer_sizes
    sizes = [given] if isinstance(given, Integral) else list(given)
    if any(isinstance(size, Real) and size <= 0 for size in sizes):
        raise ParameterError(f"hidden_layer_sizes must be > 0, got {sizes}.")
    return check_sizes("hidden_layer_sizes", sizes)


def hidden_activations(mlp: BaseMLP) -> tuple[Activation, ...]:
    """Return one activation for each hidden layer."""
    n_hidden = len(hidden_sizes(mlp))
    given = mlp.activation
    if isinstance(given, (str, Activation)):
        return (get_activation(given),) * n_hidden
    if not isinstance(given, Sequence) or len(given) != n_hidden:
        raise ParameterError(
            f"activation must be one name or one for each of the {n_hidden} hidden layers. "
            f"Got {given!r}."
        )
    return tuple(get_activation(one) for one in given)


def optimizer(mlp: BaseMLP) -> Optimizer:
    """Return the engine's optimiser for `solver` and the parameters that belong to it."""
    betas = (float(mlp.beta_1), float(mlp.beta_2), float(mlp.epsilon))
    match mlp.solver:
        case "sgd":
            return SGD(float(mlp.momentum), bool(mlp.nesterovs_momentum))
        case "adam":
            return Adam(*betas)
        case "adamw":
            return AdamW(*betas)
        case "rmsprop":
            return RMSprop(epsilon=float(mlp.epsilon))
        case "muon":
            return Muon(beta_1=betas[0], beta_2=betas[1], epsilon=betas[2])
        case _:
            return LBFGS(max_fun=int(mlp.max_fun), gtol=float(mlp.tol))


def schedule(mlp: BaseMLP) -> Schedule:
    """Return the engine's schedule; 'invscaling' and 'adaptive' belong to sgd alone."""
    if mlp.solver == "lbfgs":
        return Constant()
    match mlp.learning_rate:
        case "cosine":
            return Cosine()
        case "one_cycle":
            return OneCycle()
        case "invscaling" if mlp.solver == "sgd":
            return InverseScaling(float(mlp.power_t))
        case "adaptive" if mlp.solver == "sgd":
            return Adaptive()
        case _:
            return Constant()


def refuse_what_does_nothing(mlp: BaseMLP, *, incremental: bool) -> None:
    """Raise for parameters that cannot be followed by this solver or by partial_fit."""
    if incremental and mlp.early_stopping:
        raise ParameterError("partial_fit does not support early_stopping=True")
    if incremental and mlp.learning_rate in ("cosine", "one_cycle"):
        raise ParameterError(
            f"learning_rate must not be {mlp.learning_rate!r} with partial_fit, where the number "
            "of epochs to come is not known. Choose 'constant'."
        )
    if mlp.solver != "lbfgs":
        return
    for name, nothing in (("dropout", 0.0), ("clip_norm", None)):
        value = getattr(mlp, name)
        if value != nothing:
            raise ParameterError(
                f"{name} must be {nothing} with solver='lbfgs', which minimises one fixed "
                f"function of all rows. Got {value!r}. Choose another solver."
            )
