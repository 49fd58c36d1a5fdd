"""A linear model on fixed functions of the inputs: a convex problem with one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lamina._checks import check_choice, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray

from ._arrays import class_numbers, column, numbers
from ._geometry_rows import matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class BasisFitResult:
    """A fitted linear model on a fixed basis.

    Attributes
    ----------
    basis : callable
        Data (N, D) to design matrix (N, M).
    output : {"identity", "sigmoid", "softmax"}
        What follows the linear map.
    weights : ndarray of shape (n_functions, n_outputs)
        Coefficients.
    classes : ndarray of shape (n_classes,) or None
        Labels of the outputs; None for numbers.
    loss : float
        Mean squared error, or mean of -ln p of the labels in nats, on the training data.
    condition_number : float
        Largest over smallest singular value of the design matrix; inf if functions depend on
        one another.
    converged : bool
        Whether the minimum was reached; always so for numbers.
    """

    basis: Callable[[FloatArray], FloatArray]
    output: str
    weights: FloatArray
    classes: Array | None
    loss: float
    condition_number: float
    converged: bool

    def predict(self, X: Any) -> Array:
        """Return numbers (N,) or (N, n_outputs), or the likeliest label (N,) of each row."""
        raw = self._raw(X)
        if self.classes is None:
            return raw[:, 0] if raw.shape[1] == 1 else raw
        number = raw[:, 0] > 0 if self.output == "sigmoid" else raw.argmax(axis=1)
        labels: Array = self.classes[number.astype(np.int64)]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability (N, n_classes) of each class."""
        if self.classes is None:
            raise ParameterError(
                "output must be 'sigmoid' or 'softmax' for probabilities. Got 'identity'."
            )
        from scipy.special import expit, softmax  # slow to import, and only needed here

        raw = self._raw(X)
        if self.output == "sigmoid":
            return np.concatenate([expit(-raw), expit(raw)], axis=1)
        return np.asarray(softmax(raw, axis=1))

    def _raw(self, X: Any) -> FloatArray:
        return design_of(self.basis, matrix(X)) @ self.weights

    def summary(self) -> str:
        """Return size, loss and conditioning in one sentence."""
        what = "mean squared error" if self.classes is None else "nats per row"
        doubt = "" if self.converged else " The minimum was not reached."
        return (
            f"Linear model on {self.weights.shape[0]} fixed functions ({self.output}): loss "
            f"{self.loss:.4g} ({what}), condition number {self.condition_number:.3g}.{doubt}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficients of the first output."""
        from ._axes import axes_or_new
        from ._bases_pictures import draw_coefficients

        return draw_coefficients(self, axes_or_new(ax))


def fit_basis(
    basis: Callable[[FloatArray], FloatArray],
    X: Any,
    y: Any,
    *,
    output: Literal["identity", "sigmoid", "softmax"] = "identity",
    penalty: float = 1e-6,
) -> BasisFitResult:
    r"""Fit a linear model on a fixed basis.

    .. math:: \hat y = f\Big(\sum_j w_j \phi_j(x)\Big), \qquad
              \min_w \; \frac1N \sum_n E(\hat y_n, y_n) + \frac\lambda2 |w|^2

    With f the identity E is half the squared error and the answer is in closed form; with the
    logistic sigmoid or softmax E is -ln p of the label. Both are convex: any descent finds the
    one minimum, which is not so when the functions are learned. A basis that contains the
    target makes the model a copy of it; the work was in choosing the basis.

    Parameters
    ----------
    basis : callable
        Takes data (N, D) and returns the design matrix (N, M): one of the bases here or any
        function.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Numbers, or labels for ``"sigmoid"`` (two classes) and ``"softmax"``.
    output : {"identity", "sigmoid", "softmax"}, default="identity"
        What follows the linear map.
    penalty : float, default=1e-6
        Regularisation λ, at least 0.

    Returns
    -------
    BasisFitResult

    Raises
    ------
    DataError
        If ``y`` does not fit ``X`` or the output, or the basis returns no matrix of N rows.
    ParameterError
        If an option cannot be used.

    References
    ----------
    .. [1] C. Bishop, Pattern Recognition and Machine Learning, chapters 3 and 4,
       https://www.microsoft.com/en-us/research/people/cmbishop/prml-book/

    Examples
    --------
    >>> from lamina.inspection import PolynomialBasis, fit_basis
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> model = fit_basis(PolynomialBasis(2), x, 1 + 3 * x[:, 0] ** 2, penalty=0.0)
    >>> np.abs(model.weights[:, 0]).round(6).tolist()
    [1.0, 0.0, 3.0]
    """
    check_choice("output", output, ("identity", "sigmoid", "softmax"))
    strength = check_real("penalty", penalty, 0.0)
    rows = matrix(X)
    design = design_of(basis, rows)
    condition = condition_number(design)
    if output == "identity":
        target = numbers("y", y)
        target = column("y", y)[:, None] if target.ndim != 2 else target
        if len(target) != len(rows):
            raise DataError(f"y must have a row for each of {len(rows)}. Got {len(target)}.")
        weights = _ridge(design, target, strength)
        loss = float(np.mean(np.square(design @ weights - target)))
        return BasisFitResult(basis, output, weights, None, loss, condition, True)
    codes, classes = _labels(y, len(rows), output)
    weights, converged = _descend(design, codes, len(classes), output, strength)
    loss = _cross_entropy(design @ weights, codes, output)[0]
    return BasisFitResult(basis, output, weights, classes, loss, condition, converged)


def design_of(basis: Any, rows: FloatArray) -> FloatArray:
    """Return the design matrix (N, M) that a basis makes of rows."""
    if not callable(basis):
        raise ParameterError(f"basis must be a function of an array. Got {shown(basis)}.")
    design = numbers("The values of basis", basis(rows))
    if design.ndim != 2 or len(design) != len(rows) or not design.shape[1]:
        raise DataError(
            f"basis must return a matrix with {len(rows)} rows, one for each row of X. "
            f"Got shape {design.shape}."
        )
    return design


def condition_number(design: FloatArray) -> float:
    """Return the largest over the smallest singular value, inf below rounding."""
    values = np.linalg.svd(design, compute_uv=False)
    least = values[0] * np.finfo(np.float64).eps
    if len(values) < design.shape[1] or values[-1] <= least:
        return float("inf")
    return float(values[0] / values[-1])


def _ridge(design: FloatArray, target: FloatArray, strength: float) -> FloatArray:
    """Return the weights by singular values; without a penalty, the shortest best ones."""
    U, s, Vt = np.linalg.svd(design, full_matrices=False)
    kept = s > s[0] * max(design.shape) * np.finfo(np.float64).eps
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    shrunk = 1 / (s + len(design) * strength / s)  # no square, which could overflow
    weights: FloatArray = Vt.T @ (shrunk[:, None] * (U.T @ target))
    return weights


def _labels(y: Any, n_rows: int, output: str) -> tuple[Array, Array]:
    """Return the number (N,) of each label, and the labels."""
    labels = np.asarray(y)
    try:
        n_classes = len(np.unique(labels))
    except TypeError:
        raise DataError("y must hold labels of one type. Got a mixture of types.") from None
    if n_classes < 2 or (output == "sigmoid" and n_classes > 2):
        wanted = "two classes" if output == "sigmoid" else "at least two classes"
        raise DataError(f"y must hold {wanted} for {output!r}. Got {n_classes}.")
    codes, classes = class_numbers(labels, n_rows, n_classes, None)
    return codes, classes


def _cross_entropy(raw: FloatArray, codes: Array, output: str) -> tuple[float, FloatArray]:
    """Return the mean of -ln p and its gradient (N, Q) in the raw outputs."""
    from scipy.special import expit, log_expit, logsumexp

    n = len(raw)
    if output == "sigmoid":
        sign = 2.0 * codes[:, None] - 1
        return -float(log_expit(sign * raw).mean()), (expit(raw) - codes[:, None]) / n
    log_p = raw - logsumexp(raw, axis=1, keepdims=True)
    delta = np.exp(log_p)
    delta[np.arange(n), codes] -= 1
    return -float(log_p[np.arange(n), codes].mean()), delta / n


def _descend(
    design: FloatArray, codes: Array, n_classes: int, output: str, strength: float
) -> tuple[FloatArray, bool]:
    """Return the weights (M, Q) at the minimum, and whether it was reached."""
    from scipy.optimize import minimize

    shape = (design.shape[1], 1 if output == "sigmoid" else n_classes)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        loss, delta = _cross_entropy(design @ weights, codes, output)
        gradient = design.T @ delta + strength * weights
        return loss + strength / 2 * float(flat @ flat), gradient.ravel()

    found = minimize(
        objective,
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "maxfun": 2 * _MAX_STEPS, "gtol": 1e-8, "ftol": 1e-15},
    )
    weights: FloatArray = found.x.reshape(shape)
    return weights, bool(found.success)
