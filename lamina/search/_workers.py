"""Where shards run: here, or wherever joblib's backend has workers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from ._work import Job, Result, run_job

MakeJob = Callable[[int], Job]


class WorkerLostError(Exception):
    """A worker died; what it worked on is to be done again."""


def n_workers(n_jobs: int | None) -> int:
    """Return how many shards run at a time, with joblib's backend of the moment."""
    return int(joblib.effective_n_jobs(n_jobs))


def run_jobs(
    numbers: Sequence[int], make_job: MakeJob, X: Any, y: Any, n_jobs: int | None
) -> Iterator[tuple[int, Result]]:
    """Yield the number and the result of each shard, in the order in which they end.

    A job is made when its turn comes, since it may hold the states of many members.
    """
    backend = get_active_backend()[0]
    remote = not getattr(backend, "supports_sharedmem", False) and _name(backend) != "loky"
    if n_workers(n_jobs) == 1 and not remote:
        for number in numbers:
            yield number, run_job(make_job(number), X, y)
        return
    shipped = _shipped(backend, X, y)
    calls = (joblib.delayed(_numbered)(number, make_job(number), *shipped) for number in numbers)
    try:
        if _name(backend) == "ray":  # which gives results back all together
            yield from joblib.Parallel(n_jobs=n_jobs)(calls)
            return
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results = parallel(calls)
        with contextlib.closing(results):
            yield from results
    except BaseException as error:
        if _is_loss(error):
            raise WorkerLostError(str(error)) from error
        raise


def _numbered(number: int, job: Job, X: Any, y: Any) -> tuple[int, Result]:
    if type(X) is _RayObject:
        X, y = X.get(), y.get()
    return number, run_job(job, X, y)


def _name(backend: Any) -> str:
    """Return "loky", "threading", "dask", "ray" and so on."""
    kind = type(backend).__name__.lower()
    return next((name for name in ("loky", "threading", "dask", "ray") if name in kind), kind)


def _shipped(backend: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return X and y in a form that travels to each worker once.

    loky maps large arrays into memory, and Dask scatters them, by themselves.
    """
    if _name(backend) == "ray":
        return _RayObject(X), _RayObject(y)
    return X, y


class _RayObject:
    """Something in Ray's object store, which every machine fetches once."""

    def __init__(self, value: Any) -> None:
        import ray

        self._reference = ray.put(value)

    def get(self) -> Any:
        """Return the object."""
        import ray

        return ray.get(self._reference)


_LOSSES: Mapping[str, tuple[str, ...]] = {
    "joblib": ("TerminatedWorkerError", "BrokenProcessPool", "WorkerInterrupt"),
    "loky": ("TerminatedWorkerError", "BrokenProcessPool"),
    "concurrent": ("BrokenProcessPool", "BrokenExecutor"),
    "distributed": ("KilledWorker", "CommClosedError"),
    "ray": ("RayActorError", "ActorDiedError", "WorkerCrashedError", "NodeDiedError"),
}
"""Names of the errors by which each library says that a worker died."""


def _is_loss(error: BaseException) -> bool:
    """Return whether an error says that a worker died, without importing whose it is."""
    return any(
        kind.__name__ in _LOSSES.get(kind.__module__.split(".")[0], ())
        for kind in type(error).__mro__
    )
