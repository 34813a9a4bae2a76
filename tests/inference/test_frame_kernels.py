"""How a labelling begins and ends: one loop each, beside the definitions by numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import PottsField
from linkfield.inference import _frame_kernels as frame
from linkfield.inference._plain_state import PlainState

seeds = st.integers(0, 2**32 - 1)


def state_of(rng: np.random.Generator) -> PlainState:
    """Return a labelling in progress of a random field of must- and cannot-links."""
    n, K = int(rng.integers(2, 40)), int(rng.integers(2, 5))
    edges = np.unique(np.sort(rng.integers(0, n, (3 * n, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    must = rng.random(len(edges)) < 0.5
    field = PottsField(
        rng.random((n, K)), edges, np.where(must, 0.0, 1.0), np.where(must, 1.0, 0.0)
    )
    state = PlainState(field)
    state.restart(rng.integers(0, K, n))
    return state


@given(seed=seeds)
def test_those_wait_who_are_not_content(seed: int) -> None:
    state = state_of(np.random.default_rng(seed))
    field, work, (left, right, sign) = state.field, state.work, state.edges
    same = work.labels[left] == work.labels[right]
    broken = np.flatnonzero(same == (sign > 0))
    np.testing.assert_array_equal(frame.broken(left, right, sign, work.labels), broken)
    work.waiting[:] = work.doubtful[:] = work.stale[:] = True  # whatever was there before
    found = frame.begin(field, work, broken.astype(np.uint32), left, right)
    doubtful = np.zeros(len(work.labels), dtype=bool)
    doubtful[left[broken]] = doubtful[right[broken]] = True
    waiting = doubtful | (work.labels != field.cheapest)
    np.testing.assert_array_equal(work.doubtful, doubtful)
    np.testing.assert_array_equal(work.waiting, waiting)
    np.testing.assert_array_equal(found, np.flatnonzero(waiting))
    stale = np.unique(work.group[waiting & (work.group >= 0)])
    np.testing.assert_array_equal(np.flatnonzero(work.stale), stale)


@given(seed=seeds)
def test_only_given_costs_are_known_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = state_of(rng)
    n = len(state.work.labels)
    nodes, before = rng.permutation(n)[: n // 2].astype(np.int32), state.field.noise.copy()
    noise = rng.random(len(nodes))
    frame.know_again(state.field, nodes, noise)
    place = np.full(n, -1)
    place[nodes], before[nodes] = np.arange(len(nodes)), noise
    np.testing.assert_array_equal(state.field.place, place)
    np.testing.assert_array_equal(state.field.noise, before)


@given(seed=seeds)
def test_labels_are_taken_over_where_they_changed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    start, labels = rng.integers(0, 3, n), rng.integers(0, 3, n).astype(np.int32)
    some = rng.random(n) < 0.6
    labels[~some] = start[~some]
    kept = start.copy()
    moved, new = frame.taken_over(np.flatnonzero(some).astype(np.uint32), labels, start)
    np.testing.assert_array_equal(moved, np.flatnonzero(labels != start))
    np.testing.assert_array_equal(new, labels)
    np.testing.assert_array_equal(start, kept)  # the old ones stay as they were
