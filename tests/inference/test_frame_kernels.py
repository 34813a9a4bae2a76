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
    rng = np.random.default_rng(seed)
    state = state_of(rng)
    field, work, (left, right, sign) = state.field, state.work, state.edges
    n = len(work.labels)
    same = work.labels[left] == work.labels[right]
    broken = np.flatnonzero(same == (sign > 0))
    np.testing.assert_array_equal(frame.broken(left, right, sign, work.labels), broken)
    work.waiting[:n] = work.doubtful[:n] = work.needed[:n] = True  # whatever was there before
    work.stale[: len(work.starts) - 1] = work.moved[:n] = True
    known = rng.permutation(n)[: n // 2].astype(np.int32)
    found = frame.begin(field, work, known, broken.astype(np.uint32), left, right)
    doubtful = np.zeros(len(work.waiting), dtype=bool)
    doubtful[left[broken]] = doubtful[right[broken]] = True
    waiting = doubtful.copy()
    waiting[:n] |= work.labels != field.cheapest
    np.testing.assert_array_equal(work.doubtful, doubtful)
    np.testing.assert_array_equal(work.waiting, waiting)
    assert not work.needed.any() and not work.moved.any()
    np.testing.assert_array_equal(found, np.flatnonzero(waiting))
    stale = np.unique(work.group[waiting[:n] & (work.group >= 0)])
    np.testing.assert_array_equal(np.flatnonzero(work.stale), stale)
    place = np.full(n, -1)
    place[known] = np.arange(len(known))
    np.testing.assert_array_equal(field.place, place)


@given(seed=seeds)
def test_a_labelling_comes_to_what_its_marks_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = state_of(rng)
    field, work, (left, right, sign) = state.field, state.work, state.edges
    n, K = len(work.labels), field.table.shape[1]
    start = work.labels.astype(np.int64)
    some = rng.random(n) < 0.6
    work.labels[some] = rng.integers(0, K, some.sum())
    work.moved[:n], work.needed[:n] = some, rng.random(n) < 0.3
    broken = frame.broken(left, right, sign, work.labels)
    work.doubtful[left[broken]] = work.doubtful[right[broken]] = True
    work.doubtful[:n] |= rng.random(n) < 0.3  # more than have to be
    kept = start.copy()
    found, moved, needed, labels = frame.end(field, work, state.parts.edge, start)
    np.testing.assert_array_equal(found, broken)
    np.testing.assert_array_equal(moved, np.flatnonzero(work.labels != start))
    np.testing.assert_array_equal(needed, np.flatnonzero(work.needed))
    np.testing.assert_array_equal(labels, work.labels)
    np.testing.assert_array_equal(start, kept)  # the old ones stay as they were


@given(marks=st.lists(st.booleans(), max_size=80))
def test_who_is_marked(marks: list[bool]) -> None:
    room = np.zeros(-(-len(marks) // 8) * 8, dtype=bool)
    room[: len(marks)] = marks
    np.testing.assert_array_equal(frame.marked(room), np.flatnonzero(marks))
