"""Candidates that have ended, told to the ledger in Optuna's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ._candidates import Candidate
from ._ledger import Ledger, TrialRecord
from ._results import status_of
from ._sampler import Sampler


class Trials:
    """Hears of candidates that train no more, and notes them in the ledger.

    Parameters
    ----------
    metric : str
        The score that decides.
    """

    def __init__(self, ledger: Ledger, sampler: Sampler, metric: str) -> None:
        self._ledger, self._sampler, self._metric = ledger, sampler, metric

    def __call__(self, candidates: Sequence[Candidate], last: bool) -> None:
        """Note candidates; ``last`` says that nobody of their batch goes on."""
        distributions = self._sampler.distributions()
        self._ledger.mirror(
            [
                TrialRecord(
                    number=candidate.number,
                    params=candidate.parameters,
                    score=candidate.mean(self._metric),
                    state=_state(candidate, last),
                    values=candidate.path,
                    distributions=distributions,
                    seconds=sum(candidate.fit_seconds.values()),
                )
                for candidate in candidates
            ]
        )


def _state(candidate: Candidate, last: bool) -> Literal["complete", "pruned", "fail"]:
    if status_of(candidate) in ("failed", "diverged", "not run"):
        return "fail"
    return "complete" if last else "pruned"
