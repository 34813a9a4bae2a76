"""Threads: how many there are to use, and BLAS on one of them while they run.

Work is cut into pieces that do not depend on the number of threads, and results come back in the
order of the pieces, so that the number of threads never changes a bit of an answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

__all__ = ["blas_for", "n_threads", "run", "share", "single_blas", "spread", "threads"]

T = TypeVar("T")
S = TypeVar("S")

#: Shares of all work: what every thread takes at first, next, and in the end.
PARTS = (0.6, 0.3, 0.1)

#: Products of so few numbers are made on one thread by every BLAS.
FEW = 9_000


def _one() -> int:
    return 1


#: Says how many threads there are for what runs here.
_current: ContextVar[Callable[[], int]] = ContextVar("linkfield_threads", default=_one)


@cache
def _controller() -> Any:
    """Return the one controller of the process: to make one costs milliseconds."""
    import scipy.linalg  # noqa: F401  compiled kernels call its BLAS

    return ThreadpoolController()


def n_threads(n_jobs: int | None = None) -> int:
    """Return how many threads ``n_jobs`` means here.

    None takes all cores that the process may use, but no more than the numeric libraries are
    allowed: environment variables such as OMP_NUM_THREADS, limits set by threadpoolctl and the
    share of a joblib worker all count. A number is joblib's ``n_jobs``.
    """
    return _counter(n_jobs)()


def _counter(n_jobs: int | None) -> Callable[[], int]:
    """Return what says how many threads ``n_jobs`` means, under the limits that hold now.

    joblib reads files to count the cores, which takes as long as many a step of a small fit: it
    is asked once, and only when there is work for several threads.
    """
    if n_jobs is not None:
        count = int(effective_n_jobs(n_jobs))
        return lambda: count
    allowed = max((library.num_threads for library in _controller().lib_controllers), default=1)
    if allowed <= 1 or _in_joblib_thread():
        return _one
    return cache(lambda: max(1, min(_cores(), allowed)))


def _cores() -> int:
    """Return how many cores joblib gives to this process."""
    found = int(effective_n_jobs(-1))
    # More than there are: those of a cluster that joblib runs on.
    return cpu_count() if found > (os.cpu_count() or 1) else found


def _in_joblib_thread() -> bool:
    """Whether this is one of several threads of joblib's, which has its core already."""
    level = getattr(get_active_backend()[0], "nesting_level", None) or 0
    return level > 0 and threading.current_thread() is not threading.main_thread()


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use so many threads for everything that runs inside."""
    token = _current.set(_counter(n_jobs))
    try:
        yield
    finally:
        _current.reset(token)


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """Return the pool of a process; a forked child makes its own."""
    return ThreadPoolExecutor(size, "linkfield", initializer=_quiet_thread)


def _quiet_thread() -> None:
    """Give BLAS one thread here, where it is built so that every thread has its own limit."""
    for library in _controller().lib_controllers:
        if library.user_api == "blas" and getattr(library, "threading_layer", "") == "openmp":
            library.set_num_threads(1)


def run(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """Return the function of every item, in order.

    The calling thread takes its share; each of the others is woken once, and all take the next
    item when they are done with one.
    """
    size = min(_current.get()(), len(items)) if len(items) > 1 else 1
    if size == 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    queue = iter(range(len(items)))  # next() on it is atomic

    def work() -> None:
        for k in queue:
            results[k] = function(items[k])

    helpers = [_pool(os.getpid(), size - 1).submit(work) for _ in range(size - 1)]
    try:
        work()
    finally:
        for helper in helpers:
            helper.result()
    return results


def spread(function: Callable[[int, int], T], n: int, least: int) -> list[T]:
    """Call ``function(first, last)`` on even pieces of 0..n, none much smaller than ``least``."""
    return _in_pieces(function, n, max(1, min(64, n // max(least, 1))))


def share(function: Callable[[int, int], T], n: int) -> list[T]:
    """Call ``function(first, last)`` on pieces of 0..n, three for every thread.

    They become smaller and smaller: a thread that was woken late takes less. For work whose result
    does not depend on where it is cut.
    """
    size = _current.get()() if n > 1 else 1
    if size == 1 or n < 3 * size:
        return _in_pieces(function, n, max(1, min(n, size)))
    parts = [part / size for part in PARTS for _ in range(size)]
    edges = [0, *(int(n * at + 0.5) for at in accumulate(parts[:-1])), n]
    return run(lambda k: function(edges[k], edges[k + 1]), range(len(parts)))


def _in_pieces(function: Callable[[int, int], T], n: int, count: int) -> list[T]:
    if count == 1:
        return [function(0, n)]
    edges = [n * k // count for k in range(count + 1)]
    return run(lambda k: function(edges[k], edges[k + 1]), range(count))


@cache
def _keeper(process: int) -> ThreadPoolExecutor:
    """Return the thread that limits BLAS: threadpoolctl lets only that thread lift the limit."""
    return ThreadPoolExecutor(1, "linkfield-blas")


class _SingleBlas:
    """Limits BLAS to one thread while anyone needs it.

    The limit holds for the whole process, so the first to come sets it and the last to go lifts
    it; otherwise fits that overlap in several threads would restore each other's limits.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.limiter: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:
                self.limiter = _keeper(os.getpid()).submit(self._limit).result()
            self.users += 1

    @staticmethod
    def _limit() -> Any:
        limiter = _controller().limit(limits=1, user_api="blas")
        limiter.__enter__()
        return limiter

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                lift = self.limiter.__exit__
                _keeper(os.getpid()).submit(lift, None, None, None).result()


single_blas = _SingleBlas()


def blas_for(n_rows: int, n_features: int, n_clusters: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for work on such data, where it might use several.

    To change its limit takes another thread, which a small fit should not wait for.
    """
    small = n_rows * n_features * max(n_features, n_clusters) < FEW
    return nullcontext() if small else single_blas


def _after_fork() -> None:
    """Forget the parent's threads: none of them lives on in a child."""
    single_blas.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
