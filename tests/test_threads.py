"""The number of threads is a matter of speed alone, whoever else runs in the process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from linkfield import Constraints, HMRFKMeans
from linkfield._threads import n_threads, run, share, single_blas, spread, threads

FIELDS = ("labels_", "objective_", "metric_", "history_", "cluster_centers_", "n_iter_")


def data(n: int = 30_000, d: int = 8) -> tuple[np.ndarray, Constraints]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = np.abs(rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(4, d))[y])
    return X, Constraints.from_labels(y, n_pairs=200, noise=0.1, random_state=0)


def fit(X: Any, known: Constraints, **params: Any) -> HMRFKMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HMRFKMeans(4, random_state=0, max_iter=8, **params).fit(X, constraints=known)


def assert_same(one: Any, other: Any) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


# ---------------------------------------------------------------------------
# fits


@pytest.mark.parametrize("distortion", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_fits_do_not_depend_on_the_number_of_threads(
    distortion: str, storage: Any, dtype: Any
) -> None:
    X, known = data()
    X = storage(np.where(X < 0.5, 0.0, X).astype(dtype))
    fits = [fit(X, known, distortion=distortion, n_jobs=jobs) for jobs in (1, 2, 3)]
    assert len(fits[0]._setup.problem.engine.blocks()) > 1
    for other in fits[1:]:
        assert_same(fits[0], other)
        np.testing.assert_array_equal(fits[0].predict(X), other.predict(X))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_inside_joblib_are_those_outside(backend: str) -> None:
    X, known = data(20_000)
    outside = fit(X, known)
    for inside in Parallel(2, backend=backend)(delayed(fit)(X, known) for _ in range(3)):
        assert_same(outside, inside)


def test_fits_in_threads_at_once_do_not_disturb_each_other() -> None:
    X, known = data(20_000)
    outside, found = fit(X, known, n_jobs=2), []
    several = [
        threading.Thread(target=lambda: found.append(fit(X, known, n_jobs=2))) for _ in range(3)
    ]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert len(found) == 3
    for inside in found:
        assert_same(outside, inside)


def _fit_in_child(queue: Any) -> None:
    model = fit(*data(20_000), n_jobs=2)
    queue.put([np.asarray(getattr(model, name)) for name in FIELDS])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_can_fit_after_its_parent_did() -> None:
    outside = fit(*data(20_000), n_jobs=2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    child.start()
    try:
        found = queue.get(timeout=30)
    finally:
        child.join(5)
        if child.is_alive():
            child.kill()
    for name, value in zip(FIELDS, found, strict=True):
        np.testing.assert_array_equal(getattr(outside, name), value)
    assert_same(outside, fit(*data(20_000), n_jobs=2))  # the parent works on too


# ---------------------------------------------------------------------------
# how many


def test_a_number_is_joblibs() -> None:
    assert [n_threads(k) for k in (1, 2, 5)] == [1, 2, 5]
    assert n_threads(-1) == max(1, len(os.sched_getaffinity(0)))
    with pytest.raises(ValueError, match="n_jobs"):
        n_threads(0)


@pytest.mark.parametrize(("limit", "wanted"), [("1", 1), ("64", None)])
def test_the_environment_limits_them(limit: str, wanted: int | None) -> None:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    code = "from linkfield._threads import n_threads; print(n_threads())"
    env = {**os.environ, **dict.fromkeys(names, limit)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    # A limit above the number of cores gives the cores.
    assert int(done.stdout) == (wanted or len(os.sched_getaffinity(0)))


def test_threadpoolctl_limits_them() -> None:
    with threadpool_limits(1):
        assert n_threads() == 1
    with threadpool_limits(2):
        assert n_threads() == min(2, len(os.sched_getaffinity(0)))


def test_joblib_processes_have_their_share() -> None:
    found = Parallel(2, backend="loky")(delayed(n_threads)() for _ in range(2))
    assert found == [max(1, len(os.sched_getaffinity(0)) // 2)] * 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_joblib_threads_have_one_core_each() -> None:
    found = Parallel(2, backend="threading")(delayed(n_threads)() for _ in range(2))
    assert found == [1, 1]


def test_cores_are_counted_once_and_only_for_several_pieces(monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr("linkfield._threads._cores", lambda: asked.append(1) or 2)
    with threadpool_limits(2), threads(None):
        assert run(len, ["a"]) == [1]
        assert share(lambda a, b: (a, b), 1) == [(0, 1)]
        assert not asked
        for _ in range(3):
            assert run(len, ["a", "bc"]) == [1, 2]
        assert asked == [1]


# ---------------------------------------------------------------------------
# running


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_results_come_in_order_from_several_threads(n_jobs: int) -> None:
    used = set()

    def square(k: int) -> int:
        used.add(threading.get_ident())
        time.sleep(0.001 * (k % 3))
        return k * k

    with threads(n_jobs):
        assert run(square, list(range(40))) == [k * k for k in range(40)]
        assert run(square, []) == []
    assert (len(used) > 1) == (n_jobs > 1)
    assert run(lambda _: threading.get_ident(), [0, 1]) == [threading.get_ident()] * 2


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("wrong", [0, 7, 39])
def test_exceptions_come_through_and_nothing_is_left_behind(n_jobs: int, wrong: int) -> None:
    def fail(k: int) -> int:
        if k == wrong:
            raise KeyError(f"piece {k}")
        time.sleep(0.0005)
        return k

    with threads(n_jobs):
        with pytest.raises(KeyError, match=f"piece {wrong}"):
            run(fail, list(range(40)))
        assert run(lambda k: -k, [1, 2, 3]) == [-1, -2, -3]


@pytest.mark.parametrize(("n", "least"), [(0, 5), (1, 5), (7, 100), (1000, 10), (10, 0)])
def test_spread_covers_everything_once(n: int, least: int) -> None:
    with threads(3):
        found = spread(lambda a, b: list(range(a, b)), n, least)
    assert [k for part in found for k in part] == list(range(n))
    assert len(found) == 1 or min(map(len, found)) >= least


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 5, 6, 12, 100, 1001])
def test_shares_cover_everything_once(n: int, n_jobs: int) -> None:
    with threads(n_jobs):
        found = share(lambda a, b: list(range(a, b)), n)
    assert [k for part in found for k in part] == list(range(n))
    assert len(found) <= 3 * n_jobs
    if n >= 1000:  # the last to be taken are the smallest
        assert len(found[-1]) <= len(found[0])


def test_the_number_of_threads_is_the_contexts() -> None:
    def calls() -> int:
        barrier = {threading.get_ident()}
        run(lambda _: (time.sleep(0.002), barrier.add(threading.get_ident())), range(12))
        return len(barrier)

    with threads(3):
        with threads(1):
            assert calls() == 1
        assert calls() > 1
    assert calls() == 1


# ---------------------------------------------------------------------------
# BLAS


def test_single_blas_nests_and_restores_the_limit() -> None:
    before = blas_threads()
    with single_blas:
        with single_blas:
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), single_blas:
        raise KeyError
    assert blas_threads() == before
    with threadpool_limits(1), single_blas:
        pass
    assert blas_threads() == before


def test_single_blas_holds_while_any_thread_needs_it() -> None:
    before, seen = blas_threads(), []
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with single_blas:
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second() -> None:
        first_in.wait(10)
        with single_blas:
            second_in.set()
            first_out.wait(10)
            seen.append(set(blas_threads()))

    both = [threading.Thread(target=f) for f in (first, second)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert seen == [{1}]
    assert blas_threads() == before
