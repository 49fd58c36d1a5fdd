"""What holds the targets of several tasks, and what is said of those that cannot be learned."""

from __future__ import annotations

from collections import deque

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import accuracy_score, r2_score

from lamina import MultitaskNetwork
from lamina.heads import Categorical, Normal, Poisson
from lamina.represent import MultitaskHead

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
R = X @ [1.0, -2.0, 0.5]


def network(*sizes, **options):
    return MultitaskNetwork(sizes or (4,), random_state=0, max_iter=5, tol=0.0, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestLists:
    """Holes in lists are holes, whatever stands beside them."""

    @pytest.mark.parametrize("hole", [None, np.nan, pd.NA])
    def test_texts(self, hole):
        values = ["a", hole, "b"] * 20
        for y in (values, {"c": values}, pd.Series(values, dtype=object)):
            model = network().fit(X, y)
            assert model.classes().tolist() == ["a", "b"]
            assert model.tasks_["n_observed"].tolist() == [40]

    def test_truth_values_stay_what_they_are(self):
        model = network().fit(X, {"c": [True, np.nan, False] * 20})
        assert model.classes().tolist() == [False, True]
        assert model.predict(X)["c"].dtype == bool

    def test_columns_of_rows_are_of_their_own_kind(self):
        model = network().fit(X, [["a", np.nan], [None, 1.5], ["b", 2.75]] * 20)
        assert model.tasks_["kind"].tolist() == ["classification", "classification"]
        assert model.classes("task0").tolist() == ["a", "b"]
        assert model.classes("task1").tolist() == [1.5, 2.75]
        assert model.tasks_["n_observed"].tolist() == [40, 40]

    def test_a_task_that_is_added(self):
        model = network().fit(X, R).add_task("n", X, ["a", np.nan, "b"] * 20)
        assert model.classes("n").tolist() == ["a", "b"]

    def test_ragged_rows_are_refused(self):
        with pytest.raises(ValueError, match="y must"):
            network().fit(X, [[1.0, 2.0], [1.0]] * 30)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestNames:
    """A task is never dropped, and never confused with another."""

    @pytest.mark.parametrize(
        "y", [{1: R, "1": -R}, pd.DataFrame(np.c_[R, -R], columns=[1, "1"])], ids=["dict", "frame"]
    )
    def test_names_that_are_one_text_are_refused(self, y):
        with pytest.raises(ValueError, match=r"different names.*Got 1 and '1'"):
            network().fit(X, y)

    def test_a_frame_with_two_columns_of_one_name_is_refused(self):
        with pytest.raises(ValueError, match="different names"):
            network().fit(X, pd.DataFrame(np.c_[R, -R], columns=["a", "a"]))

    def test_settings_may_name_a_column_by_its_number(self):
        frame = pd.DataFrame(np.c_[R, -R])
        model = network(task_weights={0: 2.0}, kinds={1: "regression"}).fit(X, frame)
        assert model.tasks_["weight"].tolist() == [2.0, 1.0]
        with pytest.raises(ValueError, match=r"task_weights must name tasks of y.*Got 7"):
            network(task_weights={7: 2.0}).fit(X, frame)

    @pytest.mark.parametrize("name", [5, None, ["a"]])
    def test_a_new_task_has_a_text_as_name(self, name):
        with pytest.raises(ValueError, match="name must be a text"):
            network().fit(X, R).add_task(name, X, R)

    def test_what_a_new_task_needs_is_said_with_its_name(self):
        model = network().fit(X, R)
        with pytest.raises(ValueError, match=r"each of the tasks \['z'\]. Got 2"):
            model.add_task("z", X, np.c_[R, R])
        with pytest.raises(ValueError, match=r"Got shape \(9,\) in task 'z'"):
            model.add_task("z", X, R[:9])
        for kind in ("reg", {"q": "regression"}):
            with pytest.raises(ValueError, match=r"^kind must be one of"):
                model.add_task("z", X, R, kind=kind)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestScores:
    """An array is scored as `predict` returns it."""

    def test_after_a_task_was_added(self):
        model = network().fit(X, np.c_[R, -R]).add_task("new", X, R > 0)
        answers = model.predict(X)
        assert answers.shape == (60, 3)
        assert model.score(X, answers.astype(object)) == 1.0
        single = network().fit(X, R).add_task("new", X, R > 0)
        assert single.score(X, R) == pytest.approx(r2_score(R, single.predict(X)[:, 0]))

    def test_after_a_series_with_a_name(self):
        model = network().fit(X, pd.Series(R, name="price"))
        assert model.score(X, R) == model.score(X, pd.Series(R, name="price"))

    def test_too_many_columns_are_refused(self):
        with pytest.raises(ValueError, match="at most a column for each"):
            network().fit(X, R).score(X, np.c_[R, R])

    def test_weights(self):
        y = {"c": R > 0, "r": R}
        model = network().fit(X, y)
        weight = rng.uniform(0, 2, len(X)) * (np.arange(len(X)) % 3 > 0)
        found = model.predict(X)
        expected = [
            accuracy_score(y["c"], found["c"], sample_weight=weight),
            r2_score(R, found["r"], sample_weight=weight),
        ]
        scores = model.task_scores(X, y, weight)
        assert list(scores.values()) == pytest.approx(expected)
        assert model.score(X, y, sample_weight=weight) == pytest.approx(np.mean(expected))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestHeldOutRows:
    """Early stopping leaves each task something to learn from, or says that it cannot."""

    @pytest.mark.parametrize("seed", range(6))
    def test_a_rare_task_is_trained_on(self, seed):
        rare = np.full(60, np.nan)
        rare[[5, 6]] = 1.0, -3.0
        options = {"early_stopping": True, "validation_fraction": 0.5, "max_iter": 3}
        model = MultitaskNetwork((4,), random_state=seed, tol=0.0, **options)
        losses = []
        for target in (rare, -rare):
            model.fit(X, {"rare": target, "r": R})
            losses.append(model.history_["train_loss"].to_numpy())
        assert not np.array_equal(*losses)

    def test_a_task_without_a_row_to_train_on_is_refused(self):
        labels = np.full(60, None, dtype=object)
        labels[[5, 10]], labels[[6, 11]], labels[12:] = "x", "y", "z"
        rare = np.full(60, np.nan)
        rare[[5, 6]] = 1.0, -3.0
        y = {"c": labels, "rare": rare}
        model = network(early_stopping=True, validation_fraction=0.5, kinds={"rare": "regression"})

        def fit(seed):
            model.set_params(random_state=seed).fit(X, y)

        # in a quarter of the draws both rows are held out
        with pytest.raises(
            ValueError, match="more targets in task 'rare' with early_stopping=True"
        ):
            deque(map(fit, range(12)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_refused_fit_leaves_the_network_as_it_was():
    model = network().fit(pd.DataFrame(X, columns=list("abc")), {"r": R})
    frame = pd.DataFrame(X, columns=list("abc"))
    before = model.predict(frame)["r"]
    with pytest.raises(ValueError, match="must have a target in some row of task 'r'"):
        model.fit(X[:, :2], {"r": np.full(60, np.nan)})
    assert np.array_equal(model.predict(frame)["r"], before)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_an_infinite_target_is_named():
    wrong = R.copy()
    wrong[7] = np.inf
    with pytest.raises(ValueError, match=r"finite numbers in task 'b'. Got inf in row 7"):
        network().fit(X, {"a": R, "b": wrong})


class TestHead:
    """A target that is missing counts nothing, whatever the raw outputs are."""

    def test_of_what_overflows(self):
        head = MultitaskHead((Normal(), Poisson()))
        raw = torch.tensor([[0.5, 90.0]])  # exp(90) is infinite in float32
        y = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
        alone = Normal().error_and_gradient(raw[:, :1], y[:, :1])
        error, gradient = head.error_and_gradient(raw, y)
        assert torch.equal(error, alone[0])
        assert gradient.tolist() == [[alone[1].item(), 0.0]]
        assert torch.equal(head.error(raw, y), alone[0])
        assert head.score(raw, y).item() == -alone[0].item()

    @pytest.mark.parametrize("heads", [Normal(), "normal"])
    def test_of_heads_that_are_none(self, heads):
        with pytest.raises(ValueError, match="heads must be a tuple with a head for each task"):
            MultitaskHead(heads)

    def test_of_targets_that_are_no_numbers(self):
        with pytest.raises(ValueError, match="y must hold numbers"):
            MultitaskHead((Categorical(2),)).targets(np.array([["a", "b"]]))
