"""The training of a table estimator: families compete, then the ensemble is filled up."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch

from lamina._typing import Array, FloatArray
from lamina.nn import Network
from lamina.stack import Member

from ._table_families import family_weights, held_out_raws, shares, widened
from ._table_recipe import Family, Recipe, Task, make_members
from ._table_training import Listener, Round, check_any_usable, train_round, usable

_STOPPED = 0.6
"""Share of the most epochs that members run as a rule, before their patience is out."""


@dataclass(frozen=True)
class Trained:
    """The networks that make the ensemble, and what is told of all that were trained."""

    networks: list[Network]
    members: list[Member]  # of each network
    history: pd.DataFrame
    families: pd.DataFrame
    timed_out: bool


@dataclass(eq=False)
class Competition:
    """One training: what it trains on, and what has been trained so far."""

    recipe: Recipe
    task: Task
    n_members: int
    X: FloatArray
    y: Array
    parts: Array  # what each column of X belongs to
    device: str
    deadline: float | None
    listeners: Sequence[Listener] = ()
    rounds: list[Round] = field(default_factory=list)
    timed_out: bool = False

    def run(self, listeners: Sequence[Listener]) -> Trained:
        """Train the families' first members, choose, and train the rest of the chosen ones."""
        self.listeners = listeners
        families, n_members, epochs = self._affordable()
        contest = len(families) > 1 and self.task.holds_out
        weights: FloatArray = np.ones(len(families))
        if contest:
            n_pilots = min(self.recipe.pilots_for(self.task.n_samples), n_members)
            for family in families:
                self._train(family, range(n_pilots), epochs)
            weights = self._weights(families)
        counts = dict(zip(families, shares(weights, n_members), strict=True))
        for family, count in counts.items():
            done = len(self._numbers(family))
            self._train(family, range(done, count), epochs)
        return self._collected(counts, dict(zip(families, weights, strict=True)))

    def _affordable(self) -> tuple[Sequence[Family], int, int]:
        """Return families, members and epochs that there is time for: all, if it is not limited.

        One epoch of one network is trained to see how long it takes. If time is short there is
        no competition; if it is shorter still, there are fewer members, and then fewer epochs,
        so that the learning rate comes down in all that are trained.
        """
        recipe, n_samples = self.recipe, self.task.n_samples
        epochs = recipe.epochs_for(n_samples)
        families = self._distinct()
        if self.deadline is None:
            return families, self.n_members, epochs
        listeners, self.listeners = self.listeners, ()  # they hear of what counts
        self._train(families[0], range(1), 1)
        self.listeners = listeners
        (probe,) = self.rounds
        seconds = max(float(probe.result.history["seconds"].sum()), 1e-6)
        left = (self.deadline - time.monotonic()) / seconds * torch.get_num_threads()
        n_pilots = recipe.pilots_for(n_samples) * len(families)
        if left >= _STOPPED * epochs * (self.n_members + n_pilots):
            self.rounds.clear()
            return families, self.n_members, epochs
        self.timed_out = True
        n_members = int(np.clip(left / (_STOPPED * epochs), 1, self.n_members))
        epochs = int(np.clip(left / n_members / _STOPPED, 0, epochs))
        if epochs > 1:
            self.rounds.clear()
        return families[:1], n_members if epochs > 1 else 1, epochs

    def _distinct(self) -> Sequence[Family]:
        """Return the families that see something else than those before them.

        In a table without numbers, or with very many, they see the same.
        """
        seen = {
            family.columns(self.parts).tobytes(): family for family in self.recipe.families[::-1]
        }
        return [family for family in self.recipe.families if family in seen.values()]

    def _train(self, family: Family, numbers: Sequence[int], epochs: int) -> None:
        """Train members of a family, unless time is up or a listener has stopped everything."""
        if not numbers or self._over():
            return
        columns = family.columns(self.parts)
        members = make_members(self.recipe, family, self.task, numbers, epochs)
        seen = self.X if len(columns) == self.X.shape[1] else self.X[:, columns]
        before = sum(len(done.members) for done in self.rounds)
        result = train_round(
            members,
            np.ascontiguousarray(seen),
            self.y,
            device=self.device,
            deadline=self.deadline,
            listeners=self.listeners,
            before=(before, len(self.rounds)),
            adapt=lambda network: widened(network, columns, self.X.shape[1]),
        )
        self.rounds.append(dataclasses.replace(result, family=family, numbers=tuple(numbers)))

    def _over(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        self.timed_out = self.timed_out or (late and bool(self.rounds))
        return bool(self.rounds) and (late or any(done.stopped for done in self.rounds))

    def _numbers(self, family: Family) -> list[int]:
        return [n for done in self.rounds if done.family == family for n in done.numbers]

    def _networks(self, family: Family) -> dict[int, tuple[Network, Member]]:
        """Return the usable networks of a family, and their members, by number."""
        return {
            done.numbers[i]: (
                widened(network, family.columns(self.parts), self.X.shape[1]),
                member,
            )
            for done in self.rounds
            if done.family == family
            for i, (network, member) in usable(done).items()
        }

    def _weights(self, families: Sequence[Family]) -> FloatArray:
        """Return how much each family counts; nothing where it has no usable network."""
        pilots = {family: self._networks(family) for family in families}
        runners = [family for family in families if pilots[family]]
        common = sorted(set.intersection(*(set(pilots[f]) for f in runners))) if runners else []
        weights = np.array([float(bool(pilots[family])) for family in families])
        if len(runners) > 1 and common:
            rows = [np.asarray(pilots[runners[0]][i][1].validation_rows) for i in common]
            found = family_weights(
                self.task.head,
                [held_out_raws([pilots[f][i][0] for i in common], self.X, rows) for f in runners],
                [self.y[held] for held in rows],
                None if self.task.weights is None else [self.task.weights[held] for held in rows],
            )
            weights[weights > 0] = found
        return weights if weights.any() else np.ones(len(families))

    def _collected(self, counts: dict[Family, int], weights: dict[Family, float]) -> Trained:
        kept: list[tuple[Network, Member]] = []
        table = []
        for family, count in counts.items():
            networks = self._networks(family)
            chosen = [networks[i] for i in sorted(networks) if i < count]
            kept += chosen
            losses = [
                float(
                    done.result.history.loc[done.result.history["member"] == i, "valid_loss"].min()
                )
                for done in self.rounds
                if done.family == family
                for i in usable(done)
            ]
            table.append(
                {
                    "family": family.name,
                    "trained": len(self._numbers(family)),
                    "kept": len(chosen),
                    "weight": float(weights[family]) / sum(weights.values()),
                    "held_out_loss": float(np.mean(losses)) if losses else float("nan"),
                }
            )
        check_any_usable(self.rounds)
        if not kept:  # what was to be kept came to nothing
            kept = [one for family in counts for one in self._networks(family).values()]
        ensemble, members = [one for one, _ in kept], [one for _, one in kept]
        histories, start = [], 0
        for done in self.rounds:
            histories.append(
                done.result.history.assign(member=done.result.history["member"] + start)
            )
            start += len(done.members)
        history = pd.concat(histories, ignore_index=True)
        return Trained(ensemble, members, history, pd.DataFrame(table), self.timed_out)
