"""A copy of the candidates in Optuna's tables, so that its dashboard shows the search.

The copy follows lamina's own table of candidates and never leads it: whoever copies looks at
what Optuna has, and adds what is missing. A process killed in between leaves a shorter copy,
which the next one completes.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Mapping
from typing import Any

from lamina import _json
from lamina._errors import LaminaWarning
from lamina._optional import optional_import

from ._dimension import label
from ._engine import Database
from ._ledger import TrialRecord
from ._quiet import quiet

CANDIDATE = "candidate"
"""The attribute of an Optuna trial that says which candidate it is."""
FINGERPRINT = "lamina_fingerprint"
"""The attribute of an Optuna study that says which search it copies."""


def as_record(trial: TrialRecord) -> str:
    """Return a candidate as the text that the table of candidates holds."""
    record = {
        "params": {name: label(value) for name, value in trial.params.items()},
        "score": float(trial.score),
        "state": trial.state,
        "values": [[int(epoch), float(value)] for epoch, value in sorted(trial.values.items())],
        "seconds": trial.seconds,
        "laws": {name: _written(law) for name, law in trial.distributions.items()},
    }
    return _json.dump(_json.encode(record, "trial"))


def _written(law: Any) -> dict[str, Any]:
    """Return an Optuna distribution as numbers and texts."""
    if getattr(law, "choices", None) is not None:
        return {"choices": list(law.choices)}
    return {"low": law.low, "high": law.high, "log": law.log, "step": law.step}


class Mirror:
    """Optuna's study of one search."""

    def __init__(self, database: Database, name: str, fingerprint: str, direction: str) -> None:
        self._database = database
        self._names = (name, f"{name}-{fingerprint[:6]}", fingerprint)
        self._fingerprint = fingerprint
        self._direction = direction
        self._study: Any = None
        self._storage: Any = None

    def add(self, records: Mapping[int, tuple[float, str]]) -> None:
        """Add the candidates that Optuna does not have; by number: when it ended, and as text."""
        optuna = optional_import("optuna", extra="search", purpose="A storage")
        try:
            with quiet("optuna"):
                study = self._opened(optuna)
                there = {t.user_attrs.get(CANDIDATE) for t in study.get_trials(deepcopy=False)}
                missing = [number for number in sorted(records) if number not in there]
                study.add_trials([_trial(optuna, n, *records[n]) for n in missing])
        except (optuna.exceptions.OptunaError, RuntimeError, ValueError) as error:
            warnings.warn(
                "The copy of the search for optuna-dashboard could not be written: "
                f"{str(error).splitlines()[0]} The search itself is kept and goes on.",
                LaminaWarning,
                stacklevel=2,
            )

    def close(self) -> None:
        """Close every connection."""
        if self._storage is not None:
            self._storage.remove_session()
            self._storage.engine.dispose()
        self._study = self._storage = None

    def _opened(self, optuna: Any) -> Any:
        """Return Optuna's study, made where there is none."""
        if self._study is None:
            address = self._database.address
            self._storage = self._database.patiently(
                lambda: optuna.storages.RDBStorage(
                    address.url, engine_kwargs=address.engine_arguments()
                ),
                race=True,
            )
            self._study = next(
                study for name in self._names if (study := self._own(optuna, name)) is not None
            )
        return self._study

    def _own(self, optuna: Any, name: str) -> Any:
        """Return Optuna's study of a name, or None if it is of something else."""
        study = optuna.create_study(
            storage=self._storage,
            study_name=name,
            direction=self._direction,
            load_if_exists=True,
        )
        noted = study.user_attrs.get(FINGERPRINT)
        if noted is None and not study.get_trials(deepcopy=False):
            study.set_user_attr(FINGERPRINT, self._fingerprint)
            noted = self._fingerprint
        return study if noted == self._fingerprint else None


def _trial(optuna: Any, number: int, ended: float, text: str) -> Any:
    """Return a candidate as Optuna's trial."""
    record = _json.decode(_json.parse(text))
    params, laws, attributes = {}, {}, {CANDIDATE: number}
    for name, value in record["params"].items():
        law = _law(optuna, record["laws"].get(name), value)
        if law is None:
            attributes[name] = value
        else:
            params[name], laws[name] = value, law
    state = record["state"]
    if math.isnan(record["score"]) and state == "complete":
        state = "fail"
    trial = optuna.trial.create_trial(
        state=optuna.trial.TrialState[state.upper()],
        value=None if state == "fail" or math.isnan(record["score"]) else record["score"],
        params=params,
        distributions=laws,
        user_attrs=attributes,
        intermediate_values=dict(record["values"]),
    )
    trial.datetime_complete = datetime.datetime.fromtimestamp(ended)
    trial.datetime_start = trial.datetime_complete - datetime.timedelta(
        seconds=record["seconds"] or 0.0
    )
    return trial


def _law(optuna: Any, written: Mapping[str, Any] | None, value: Any) -> Any:
    """Return the distribution of a parameter, widened to hold its value, or None."""
    if written is None:
        return None
    kinds = optuna.distributions
    if "choices" in written:
        choices = written["choices"]
        law = kinds.CategoricalDistribution(choices)
        return law if any(type(c) is type(value) and c == value for c in choices) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    low, high = min(written["low"], value), max(written["high"], value)
    log, step = bool(written["log"]), written["step"]
    if isinstance(written["low"], int):
        fits = isinstance(value, int)
        return kinds.IntDistribution(low, high, log=log, step=step or 1) if fits else None
    return kinds.FloatDistribution(low, high, log=log, step=step)
