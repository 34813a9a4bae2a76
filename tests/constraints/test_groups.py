"""Groups: one normal form, clear refusals, no way to change them, laws of deriving them."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections import Counter, defaultdict
from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkfield
from linkfield.constraints import Constraints, Groups
from linkfield.constraints._memberships import shared
from linkfield.constraints.frames import make_frame
from linkfield.exceptions import ConstraintWarning

N = 9
IDS = list("abcdefghi")
INF, NAN = float("inf"), float("nan")
every_backend = pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
probability = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
tau = st.sampled_from([0.0, 0.5, 1.0, 3.0])
name = st.sampled_from([None, "ann", "bob", "cy"])


def arranged(groups):
    """Memberships and apart pairs, whatever the numbers of the groups; rows by their names."""
    rows = groups._named(groups.row)
    content = defaultdict(list)
    others = (groups.confidence, groups.strength, groups.teacher, groups.label)
    for k, *member in zip(groups.group, rows, *(v.tolist() for v in others), strict=True):
        content[int(k)].append(tuple(map(str, member)))
    whole = {k: tuple(sorted(v)) for k, v in content.items()}
    apart = zip(groups.apart.tolist(), groups.apart_certainty.tolist(), strict=True)
    links = Counter((tuple(sorted((whole[a], whole[b]))), chi) for (a, b), chi in apart)
    return Counter(whole.values()), links


@st.composite
def drawn(draw, ids=None, overlapping=True):
    """Groups on the rows 0 to N-1, with teachers, labels and apart pairs."""
    rows = list(range(N)) if ids is None else ids
    count = draw(st.integers(0, 5))
    left = dict.fromkeys(rows, 1.0)
    columns: dict[str, list] = {k: [] for k in ("group", "row", "confidence", "strength")}
    columns |= {"teacher": [], "label": []}
    used: set = set()
    for g in range(count):
        free = rows if overlapping else [r for r in rows if r not in used]
        if not free:
            break
        members = draw(st.lists(st.sampled_from(free), min_size=1, max_size=4, unique=True))
        used |= set(members)
        for row in members:
            gamma = min(draw(probability), left[row])
            left[row] -= gamma
            values = (g, row, gamma, draw(tau), draw(name), draw(name))
            for column, value in zip(columns, values, strict=True):
                columns[column].append(value)
    n_groups = len(set(columns["group"]))
    links = draw(st.lists(st.tuples(*[st.integers(0, max(n_groups - 1, 0))] * 2), max_size=4))
    links = [pair for pair in links if pair[0] != pair[1]]
    chi = draw(st.lists(probability, min_size=len(links), max_size=len(links)))
    frame = pa.table(columns)
    return Groups.from_frame(frame, sample_id=ids, apart=links, apart_certainty=chi)


# -- normal form -----------------------------------------------------------------------------------


def test_the_public_name():
    assert linkfield.Groups is Groups


def test_memberships_are_sorted_by_group_and_row():
    g = Groups([[4, 2], [7, 0, 1]], confidence=[[0.4, 0.2], 0.9], strength=[1.0, [7, 0, 1]])
    assert g.group.tolist() == [0, 0, 1, 1, 1]
    assert g.row.tolist() == [2, 4, 0, 1, 7]
    assert g.confidence.tolist() == [0.2, 0.4, 0.9, 0.9, 0.9]
    assert g.strength.tolist() == [1.0, 1.0, 0.0, 1.0, 7.0]
    assert (g.n_groups, g.n_memberships) == (2, 5)
    assert g.teacher.tolist() == g.label.tolist() == [None] * 5
    assert [m.tolist() for m in g.members()] == [[2, 4], [0, 1, 7]]
    assert g.sizes.tolist() == [2, 3] and g.rows().tolist() == [0, 1, 2, 4, 7]


def test_numbers_have_their_defaults():
    g = Groups([[0, 1]])
    assert g.confidence.tolist() == [0.5, 0.5] and g.strength.tolist() == [1.0, 1.0]
    assert g.apart.shape == (0, 2) and g.apart_certainty.shape == (0,)


def test_one_number_a_group_and_one_a_membership_say_the_same():
    members = [[0, 1], [2, 3, 4]]
    each = Groups(members, confidence=[0.3, 0.8], strength=[2.0, 1.0])
    nested = Groups(members, confidence=[[0.3] * 2, [0.8] * 3], strength=[[2.0] * 2, [1.0] * 3])
    arrays = Groups(members, confidence=np.array([0.3, 0.8]), strength=pd.Series([2.0, 1.0]))
    assert each == nested == arrays


@pytest.mark.parametrize(
    "members",
    [
        [[1, 0], [2, 3]],
        ((0, 1), (3, 2)),
        np.array([[0, 1], [2, 3]]),
        np.array([[0, 1], [2, 3]], dtype=np.uint8),
        [np.array([0, 1]), {2, 3}],
        [pd.Series([0, 1]), pl.Series([2, 3])],
        (range(k, k + 2) for k in (0, 2)),
    ],
    ids=lambda members: type(members).__name__,
)
def test_members_come_in_many_forms(members):
    assert Groups(members) == Groups([[0, 1], [2, 3]])


def test_apart_pairs_have_one_order_and_the_greatest_certainty():
    g = Groups([[0], [1], [2]], apart=[(2, 0), (0, 1), (0, 2)], apart_certainty=[0.2, 0.5, 0.9])
    assert g.apart.tolist() == [[0, 1], [0, 2]] and g.apart_certainty.tolist() == [0.5, 0.9]


def test_no_groups():
    g = Groups([])
    assert g == Groups() and g.n_groups == 0 and g.members() == [] and g.by_row() == {}
    assert repr(g) == "Groups(0 groups, 0 memberships, 0 rows)"
    assert g.one_group_a_row and g.connected().is_forest and g.connected().n_components == 0


def test_the_arrays_that_came_in_are_neither_kept_nor_changed():
    members, chi = np.array([[3, 0], [1, 2]]), np.array([0.5])
    g = Groups(members, apart=[(0, 1)], apart_certainty=chi)
    assert members.flags.writeable and chi.flags.writeable
    members[:], chi[:] = 0, 0.0
    assert g == Groups([[3, 0], [1, 2]], apart=[(0, 1)], apart_certainty=0.5)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-0.1, 1.5, INF])
def test_confidence_outside_0_and_1_is_refused(bad):
    with pytest.raises(
        ValueError, match=r"confidence must lie in \[0, 1\], found .*row 7 of group 1"
    ):
        Groups([[0, 1], [5, 7]], confidence=[0.5, [0.5, bad]])


@pytest.mark.parametrize("which", ["confidence", "strength"])
def test_nan_is_refused(which):
    with pytest.raises(ValueError, match=rf"{which} contains NaN \(row 1 of group 0\)"):
        Groups([[0, 1], [2]], **{which: [[0.5, NAN], 0.5]})


@pytest.mark.parametrize("bad", [-1.0, INF])
def test_a_strength_that_is_negative_or_without_end_is_refused(bad):
    with pytest.raises(
        ValueError, match=r"strength must be a finite number >= 0, found .*confidence 1"
    ):
        Groups([[0, 1]], strength=bad)


@pytest.mark.parametrize("which", ["confidence", "strength"])
@pytest.mark.parametrize("bad", ["x", None, [0.5, "x"], [[0.5, None], 0.5]])
def test_words_for_numbers_are_refused(which, bad):
    with pytest.raises(TypeError, match=rf"{which} must be numbers, found"):
        Groups([[0, 1], [2]], **{which: bad})


def test_too_few_numbers_are_refused():
    with pytest.raises(ValueError, match=r"one a group \(2\), or one a membership.*got 1 entries"):
        Groups([[0, 1], [2]], confidence=[0.5])
    with pytest.raises(
        ValueError, match=r"strength\[1\] has 2 numbers for the 1 rows of members\[1\]"
    ):
        Groups([[0, 1], [2]], strength=[1.0, [1.0, 2.0]])


def test_confidences_of_a_row_that_exceed_1_are_refused_with_the_remedy():
    with pytest.raises(
        ValueError,
        match=r"row 1 in its 3 groups add up to 1\.5, .*at most 0\.333 each.*overlap='share'",
    ):
        Groups([[0, 1], [1, 2], [1, 3]])
    with pytest.raises(ValueError, match=r"row 'b' in its 2 groups add up to 1\.2, but"):
        Groups([["a", "b"], ["b"]], confidence=0.6)
    with pytest.raises(ValueError, match=r"row 0 .*\(and those of 1 more rows\)"):
        Groups([[0, 1]] * 3)


def test_confidences_may_add_up_to_1():
    third = 1 / 3
    assert Groups([[0, 1]] * 2).n_groups == 2
    assert Groups([[0]] * 10, confidence=0.1).n_groups == 10
    assert Groups([[0], [0], [0]], confidence=[third, third, 1 - 2 * third]).n_groups == 3


def test_a_row_twice_in_a_group_is_refused():
    with pytest.raises(ValueError, match=r"row 5 of group 1 is there twice; name it once"):
        Groups([[0, 1], [5, 6, 5]], confidence=0.1)


def test_an_empty_group_is_refused_by_its_number():
    with pytest.raises(ValueError, match=r"members\[1\] is empty; .*leave empty groups out"):
        Groups([[0, 1], [], [2]])


@pytest.mark.parametrize("members", [3, "abc", None])
def test_members_that_are_no_list_are_refused(members):
    with pytest.raises(TypeError, match=r"members must be a list of groups"):
        Groups(members)


@pytest.mark.parametrize("members", [[0, 1], ["ab", "cd"], [[0, 1], 2]])
def test_a_group_that_is_no_list_is_refused(members):
    with pytest.raises(TypeError, match=r"members\[\d\] must be a list of rows, got"):
        Groups(members)


@pytest.mark.parametrize("ids", [None, [0, 1, 2]])
def test_groups_within_groups_are_refused(ids):
    with pytest.raises(TypeError, match=r"holds \[0, 1\]; take one level off"):
        Groups([[[0, 1], [2]]], sample_id=ids)


@pytest.mark.parametrize(
    ("row", "kind"), [(0.0, "float"), (True, "bool"), (None, "NoneType"), (NAN, "float")]
)
def test_rows_that_are_no_integers_are_refused(row, kind):
    with pytest.raises(TypeError, match=rf"integer row positions, got {kind}; .*sample_id="):
        Groups([[1, row]])


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match=r"negative row position -3"):
        Groups([[0, 1], [2, -3]])


def test_unknown_ids_are_refused_by_name():
    with pytest.raises(
        ValueError, match=r"groups name ids that sample_id does not have: 'z', 'y'$"
    ):
        Groups([["a", "z"], ["y", "z"]], sample_id=["a", "b"])


def test_ids_must_be_distinct():
    with pytest.raises(ValueError, match=r"'a' occurs more than once"):
        Groups([["a"]], sample_id=["a", "a"])


def test_rows_beyond_the_data_are_refused_once_its_size_is_known():
    g = Groups([[0, 9]])
    g.check_rows(10)
    with pytest.raises(ValueError, match=r"groups name row 9, but the data has 9 rows.*sample_id"):
        g.check_rows(9)


@pytest.mark.parametrize("pair", [(0, 2), (-1, 0)])
def test_apart_pairs_out_of_range_are_refused(pair):
    with pytest.raises(ValueError, match=r"apart names group .*but there are 2 groups \(0 to 1\)"):
        Groups([[0], [1]], apart=[(0, 1), pair])


def test_a_group_apart_from_itself_is_refused():
    with pytest.raises(ValueError, match=r"apart puts group 1 apart from itself; .*split"):
        Groups([[0], [1]], apart=[(1, 1)])


def test_apart_must_be_pairs_of_numbers():
    with pytest.raises(ValueError, match=r"apart must be a list of pairs"):
        Groups([[0], [1]], apart=[(0, 1, 1)])
    with pytest.raises(TypeError, match=r"apart must hold pairs of group numbers"):
        Groups([[0], [1]], apart=[(0.0, 1.0)])


@pytest.mark.parametrize("bad", [-0.5, 1.5, NAN, [NAN]])
def test_a_certainty_outside_0_and_1_is_refused(bad):
    with pytest.raises(ValueError, match=r"apart_certainty must lie in \[0, 1\], found"):
        Groups([[0], [1]], apart=[(0, 1)], apart_certainty=bad)


def test_one_certainty_a_pair():
    with pytest.raises(ValueError, match=r"one a pair of apart \(1\); got shape \(2,\)"):
        Groups([[0], [1]], apart=[(0, 1)], apart_certainty=[0.5, 0.5])
    with pytest.raises(TypeError, match=r"apart_certainty must be numbers"):
        Groups([[0], [1]], apart=[(0, 1)], apart_certainty="sure")


def test_an_unknown_overlap_is_refused():
    with pytest.raises(ValueError, match=r"overlap must be 'raise' or 'share', got 'cut'"):
        Groups([[0]], overlap="cut")


# -- sharing a row ---------------------------------------------------------------------------------


def at_most_one(gamma):
    """P(membership l holds | at most one does), by going through all cases."""
    gamma = np.asarray(gamma)
    only = [g * np.prod(np.delete(1 - gamma, k)) for k, g in enumerate(gamma)]
    return np.array(only) / (np.prod(1 - gamma) + sum(only))


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=5))
def test_shared_confidences_are_those_given_that_at_most_one_holds(gamma):
    found = Groups([[3]] * len(gamma), confidence=gamma, overlap="share").confidence
    expected = np.array(gamma) if sum(gamma) <= 1 else at_most_one(gamma)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_only_crowded_rows_share():
    g = Groups([[0, 1], [1, 2], [1, 2], [1]], confidence=0.5, overlap="share")
    by_row = {r: g.confidence[k].tolist() for r, k in g.by_row().items()}
    assert by_row == {0: [0.5], 1: [0.2] * 4, 2: [0.5, 0.5]}


def test_what_is_certain_shares_the_whole():
    row = np.array([0, 0, 0, 1])
    assert shared(np.array([1.0, 0.5, 1.0, 1.0]), row).tolist() == [0.5, 0.0, 0.5, 1.0]


# -- immutable, whole, comparable ------------------------------------------------------------------


def example():
    frame = pd.DataFrame(
        {
            "teacher": ["ann", "ann", "bob", "bob"],
            "row": ["a", "b", "b", "c"],
            "label": [1, 2, "x", "x"],
            "confidence": [0.5, 0.4, 0.6, 0.3],
        }
    )
    return Groups.from_teachers(frame, apart=0.7, sample_id=["a", "b", "c"])


ARRAYS = ["group", "row", "confidence", "strength", "teacher", "label", "apart", "apart_certainty"]


@pytest.mark.parametrize("attribute", [*ARRAYS, "n_groups", "sample_id", "anything"])
def test_attributes_cannot_be_set(attribute):
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(example(), attribute, None)


@pytest.mark.parametrize("attribute", [*ARRAYS, "sample_id"])
def test_arrays_cannot_be_written(attribute):
    array = getattr(example(), attribute)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[0]


@pytest.mark.parametrize("attribute", ["__len__", "shape", "__array__", "__getitem__", "__iter__"])
def test_cross_validation_cannot_slice_them(attribute):
    assert not hasattr(example(), attribute)


def test_they_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Groups())


@pytest.mark.parametrize(
    "duplicate",
    [lambda g: pickle.loads(pickle.dumps(g)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_is_equal_and_as_immutable(duplicate):
    same = duplicate(example())
    assert same == example() and same.sample_id.tolist() == ["a", "b", "c"]
    assert same.restrict([0, 1]) == example().restrict([0, 1])
    assert not any(getattr(same, attribute).flags.writeable for attribute in ARRAYS)


@pytest.mark.parametrize(
    "other",
    [
        Groups([[0, 1]]),
        Groups([[0, 2], [3]]),
        Groups([[3], [0, 1]]),
        Groups([[0, 1], [3]], confidence=0.6),
        Groups([[0, 1], [3]], strength=2.0),
        Groups([[0, 1], [3]], apart=[(0, 1)]),
        Groups([["0", "1"], ["3"]]),
        Groups.from_labels([0, 0, -1, 1]),
    ],
    ids=["fewer", "row", "order", "confidence", "strength", "apart", "ids", "label"],
)
def test_equality_sees_every_difference(other):
    assert Groups([[0, 1], [3]]) == Groups([[1, 0], [3]])
    assert Groups([[0, 1], [3]]) != other


def test_equality_sees_the_certainty_and_the_teacher():
    pair = {"members": [[0], [1]], "apart": [(0, 1)]}
    assert Groups(**pair) != Groups(**pair, apart_certainty=0.5)
    table = {"teacher": ["ann"], "row": [0], "label": ["x"]}
    one = Groups.from_teachers(pd.DataFrame(table))
    assert one != Groups.from_teachers(pd.DataFrame(table | {"teacher": ["bob"]}))
    assert Groups() != () and Groups() != 0


def test_repr_counts():
    assert repr(Groups([[0]])) == "Groups(1 group, 1 membership, 1 row)"
    assert repr(example()) == "Groups(3 groups, 4 memberships, 3 rows, 2 teachers, 1 pair apart)"


# -- reading ---------------------------------------------------------------------------------------


@given(drawn())
def test_views_agree_with_the_flat_arrays(g):
    members = [m.tolist() for m in g.members()]
    assert members == [g.row[g.group == k].tolist() for k in range(g.n_groups)]
    by_row = g.by_row()
    assert list(by_row) == g.rows().tolist() == sorted(set(g.row.tolist()))
    assert sorted(k for ks in by_row.values() for k in ks.tolist()) == list(range(g.n_memberships))
    assert all((g.row[ks] == row).all() for row, ks in by_row.items())
    assert g.one_group_a_row == all(len(ks) == 1 for ks in by_row.values())
    teachers = [t for t in g.teacher.tolist() if t is not None]
    assert g.teachers == dict(Counter(teachers)) and list(g.teachers) == list(
        dict.fromkeys(teachers)
    )


def plain_components(g):
    """Components and loops by union-find over groups and rows."""
    root = {("g", k): ("g", k) for k in range(g.n_groups)} | {("r", r): ("r", r) for r in g.row}

    def find(node):
        while root[node] != node:
            node = root[node]
        return node

    ties = zip(g.group.tolist(), g.row.tolist(), g.confidence.tolist(), strict=True)
    edges = [(("g", k), ("r", r)) for k, r, gamma in ties if gamma > 0]
    links = zip(g.apart.tolist(), g.apart_certainty.tolist(), strict=True)
    edges += [(("g", a), ("g", b)) for (a, b), chi in links if chi > 0]
    looped = set()
    for a, b in edges:
        if find(a) == find(b):
            looped.add(find(a))
        else:
            old = find(a)
            root[old] = find(b)
            if old in looped:
                looped.add(find(b))
    roots = [find(("g", k)) for k in range(g.n_groups)]
    return roots, [r in looped for r in roots], Counter(find(a) for a, _ in edges)


@given(drawn())
def test_connected_components_and_loops(g):
    roots, looped, n_edges = plain_components(g)
    found = g.connected()
    assert found.component.tolist() == [list(dict.fromkeys(roots)).index(r) for r in roots]
    assert (~found.forest[found.component]).tolist() == looped
    assert found.n_edges[found.component].tolist() == [n_edges[r] for r in roots]
    assert found.is_forest == (not any(looped)) and found.n_components == len(set(roots))
    assert found.sizes.tolist() == [len(found.groups(c)) for c in range(found.n_components)]


def test_loops_are_found():
    chain = Groups([[0, 1], [1, 2], [2, 3]])
    assert chain.connected().forest.tolist() == [True]
    assert not Groups([[0, 1], [1, 2], [2, 0]]).connected().is_forest
    assert not Groups([[0, 1], [0, 1]]).connected().is_forest
    assert not Groups([[0, 1], [1, 2]], apart=[(0, 1)]).connected().is_forest
    assert not Groups([[0], [1], [2]], apart=[(0, 1), (1, 2), (0, 2)]).connected().is_forest
    certain = Groups([[0], [1], [2]], apart=[(0, 1), (1, 2), (0, 2)], apart_certainty=[1, 1, 0])
    assert certain.connected().is_forest and certain.connected().n_components == 1


def marginals(g, density, weights):
    """P(row follows group | data) of every membership, by going through all cases (6.1, 6.8)."""
    from itertools import product

    rows, n_parts = g.rows().tolist(), len(weights)
    total, right = 0.0, np.zeros(g.n_memberships)
    by_row = g.by_row()
    for named in product(range(n_parts), repeat=g.n_groups):
        prior = np.prod([weights[j] for j in named])
        for (a, b), chi in zip(g.apart.tolist(), g.apart_certainty.tolist(), strict=True):
            prior *= 1 - chi * (named[a] == named[b])
        share = {}
        for r in rows:
            on = {k: g.confidence[k] * density[r, named[g.group[k]]] for k in by_row[r]}
            off = (1 - sum(g.confidence[k] for k in by_row[r])) * (weights @ density[r])
            share[r] = (on, off + sum(on.values()))
        mass = prior * np.prod([s for _, s in share.values()])
        total += mass
        if mass > 0:
            for on, s in share.values():
                for k, value in on.items():
                    right[k] += mass * value / s
    return right / total


@given(drawn(), st.integers(0, 1000))
def test_only_undecided_memberships_learn_from_data(g, seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(2))
    posterior = marginals(g, rng.gamma(1.0, size=(N, 2)), weights)
    known = ~g.undecided
    np.testing.assert_allclose(posterior[known], g.confidence[known], atol=1e-12)


def test_which_memberships_are_undecided():
    assert Groups([[0, 1], [5]]).undecided.tolist() == [True, True, False]
    assert Groups([[0, 1]], confidence=[[1.0, 0.5]]).undecided.tolist() == [False, True]
    assert Groups([[0, 1]], confidence=[[0.0, 0.5]]).undecided.tolist() == [False, False]
    assert Groups([[0], [1]], apart=[(0, 1)]).undecided.tolist() == [True, True]


# -- teachers --------------------------------------------------------------------------------------

ANSWERS = {
    "teacher": ["bob", "ann", "bob", "ann", "bob", "cy"],
    "row": [0, 1, 2, 3, 4, 5],
    "label": ["x", "x", "y", "x", "x", "z"],
    "confidence": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
}


@every_backend
def test_one_group_for_every_teacher_and_label(backend):
    g = Groups.from_teachers(make_frame(ANSWERS, backend))
    assert [m.tolist() for m in g.members()] == [[0, 4], [1, 3], [2], [5]]
    assert g.confidence.tolist() == [0.9, 0.5, 0.8, 0.6, 0.7, 0.4]
    assert g.teacher.tolist() == ["bob", "bob", "ann", "ann", "bob", "cy"]
    assert g.label.tolist() == ["x", "x", "x", "x", "y", "z"]
    assert g.teachers == {"bob": 3, "ann": 2, "cy": 1} and list(g.teachers) == ["bob", "ann", "cy"]
    assert len(g.apart) == 0 and set(g.strength.tolist()) == {1.0}


@every_backend
@pytest.mark.parametrize(("apart", "chi"), [(True, 1.0), (0.8, 0.8), (1, 1.0)])
def test_the_labels_of_one_teacher_may_be_apart(backend, apart, chi):
    g = Groups.from_teachers(make_frame(ANSWERS, backend), apart=apart)
    assert g.apart.tolist() == [[0, 2]] and g.apart_certainty.tolist() == [chi]


@given(
    st.lists(st.tuples(name.filter(bool), st.integers(0, N - 1), st.integers(-1, 2)), max_size=20)
)
def test_groups_and_apart_pairs_of_random_answers(said):
    said = list(dict.fromkeys(said))
    frame = pd.DataFrame(said, columns=["teacher", "row", "label"])
    g = Groups.from_teachers(frame, confidence=0.05, apart=0.25)
    expected = defaultdict(list)
    for teacher, row, label in said:
        if label != -1:
            expected[teacher, label].append(row)
    assert [m.tolist() for m in g.members()] == [sorted(rows) for rows in expected.values()]
    keys = list(expected)
    same = [[a, b] for a, b in combinations(range(len(keys)), 2) if keys[a][0] == keys[b][0]]
    assert g.apart.tolist() == same and set(g.apart_certainty.tolist()) <= {0.25}


def test_columns_may_have_other_names_and_numbers_stand_for_columns():
    frame = pd.DataFrame(ANSWERS).set_axis(["who", "item", "says", "sure"], axis=1)
    names = {"teacher": "who", "row": "item", "label": "says"}
    assert Groups.from_teachers(frame, **names, confidence="sure") == Groups.from_teachers(
        pd.DataFrame(ANSWERS)
    )
    plain = Groups.from_teachers(frame, **names)
    assert set(plain.confidence.tolist()) == {0.5}
    assert set(Groups.from_teachers(frame, **names, confidence=0.3).confidence) == {0.3}
    strong = Groups.from_teachers(frame, **names, strength="sure")
    assert strong.strength.tolist() == [0.9, 0.5, 0.8, 0.6, 0.7, 0.4]


def test_a_named_column_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"no column 'sure' for confidence .*one number for all"):
        Groups.from_teachers(pd.DataFrame(ANSWERS), confidence="sure")
    with pytest.raises(ValueError, match=r"teachers' answers lacks the column 'who'; .*it has"):
        Groups.from_teachers(pd.DataFrame(ANSWERS), teacher="who")


@every_backend
def test_answers_without_a_label_do_not_count(backend):
    table = make_frame(ANSWERS | {"label": ["x", "-1", None, "x", "x", ""]}, backend)
    assert [m.tolist() for m in Groups.from_teachers(table).members()] == [[0, 4], [3]]


@pytest.mark.parametrize("column", ["teacher", "row"])
def test_an_answer_needs_a_teacher_and_a_row(column):
    values = pd.Series([ANSWERS[column][0], None, *ANSWERS[column][2:]], dtype=object)
    with pytest.raises(ValueError, match=rf"the column {column} has no value in entry 1"):
        Groups.from_teachers(pd.DataFrame(ANSWERS | {column: values}))


def test_a_missing_confidence_is_refused_with_the_teacher():
    table = pd.DataFrame(ANSWERS | {"confidence": [0.5, None, 0.5, 0.5, 0.5, 0.5]})
    with pytest.raises(ValueError, match=r"NaN \(row 1 of group 1 \(teacher 'ann', label 'x'\)\)"):
        Groups.from_teachers(table)
    with pytest.raises(ValueError, match=r"the column confidence must hold numbers; found 'sure'"):
        Groups.from_teachers(pd.DataFrame(ANSWERS | {"confidence": ["0.5"] * 5 + ["sure"]}))


def test_an_answer_given_twice_is_refused():
    with pytest.raises(ValueError, match=r"row 1 of group 0 \(teacher 'ann', label 'x'\) is there"):
        Groups.from_teachers(pd.DataFrame({"teacher": "ann", "row": [1, 1], "label": "x"}))


def test_three_teachers_on_one_row_can_share_it():
    table = pd.DataFrame({"teacher": ["a", "b", "c"], "row": [4, 4, 4], "label": [0, 0, 1]})
    with pytest.raises(ValueError, match=r"row 4 in its 3 groups add up to 1\.5"):
        Groups.from_teachers(table)
    shared_row = Groups.from_teachers(table, overlap="share")
    np.testing.assert_allclose(shared_row.confidence, 0.25)


def test_teachers_name_rows_by_id():
    table = pd.DataFrame({"teacher": "t", "row": ["c", "a"], "label": 1})
    g = Groups.from_teachers(table, sample_id=["a", "b", "c"])
    assert g.row.tolist() == [0, 2] and g.knows_positions
    loose = Groups.from_teachers(table)
    assert loose.sample_id.tolist() == ["c", "a"] and not loose.knows_positions


def test_something_that_is_no_frame_is_refused():
    with pytest.raises(TypeError, match=r"from_teachers takes a pandas, polars or pyarrow table"):
        Groups.from_teachers([("ann", 0, "x")])


# -- labels ----------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=N), st.sampled_from([None, False, 0.5, True])
)
def test_labels_are_one_group_a_class(y, apart):
    g = Groups.from_labels(y, apart=apart)
    classes = sorted(set(y) - {-1})
    assert [m.tolist() for m in g.members()] == [
        [i for i, v in enumerate(y) if v == c] for c in classes
    ]
    assert g.label.tolist() == [c for c in classes for v in y if v == c]
    assert g.one_group_a_row and set(g.confidence.tolist()) <= {0.5}
    pairs = (
        [] if apart in (None, False) else [list(p) for p in combinations(range(len(classes)), 2)]
    )
    assert g.apart.tolist() == pairs
    assert set(g.apart_certainty.tolist()) <= {1.0 if apart is True else apart}


def test_labels_may_have_one_confidence_a_row():
    g = Groups.from_labels(["u", None, "v", "u"], [0.1, NAN, 0.3, 0.4], strength=[4, 3, 2, 1])
    assert g.confidence.tolist() == [0.1, 0.4, 0.3] and g.strength.tolist() == [4, 1, 2]
    with pytest.raises(ValueError, match=r"confidence must be one number, or one a row \(2\)"):
        Groups.from_labels([0, 1], [0.5])


def test_labels_with_ids():
    g = Groups.from_labels([1, -1, 1], sample_id=["a", "b", "c"])
    assert g.align(["c", "a"]).row.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"sample_id names 1 rows, but partial_labels has 2"):
        Groups.from_labels([0, 1], sample_id=["a"])


# -- constraints -----------------------------------------------------------------------------------

row = st.integers(0, N - 1)
must_pairs = st.lists(st.tuples(row, row), max_size=8)
cannot_pairs = must_pairs.map(lambda pairs: [p for p in pairs if p[0] != p[1]])
weights = st.sampled_from([0.25, 1.0, 3.0, INF])
partial = st.lists(st.sampled_from([-1, -1, -1, 0, 1, 2]), min_size=N, max_size=N)


@st.composite
def known(draw):
    must, cannot = draw(must_pairs), draw(cannot_pairs)
    w = [draw(st.lists(weights, min_size=len(p), max_size=len(p))) for p in (must, cannot)]
    pairs = Constraints(must, cannot, must_link_weight=w[0], cannot_link_weight=w[1])
    return pairs | Constraints.from_labels(draw(partial))


def of(constraints, *args, **kwargs):
    """from_constraints, whether or not they contradict each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        return Groups.from_constraints(constraints, *args, **kwargs)


@given(known())
def test_groups_of_constraints_are_the_components_of_their_closure(c):
    g, closure = of(c, 0.3), c.closure()
    expected = [closure.members(k).tolist() for k in range(closure.n_components)]
    assert [m.tolist() for m in g.members()] == expected
    assert g.apart.tolist() == closure.apart.tolist()
    assert g.one_group_a_row
    alone = g.sizes[g.group] == 1
    assert set(g.confidence[alone].tolist()) <= {1.0} and set(g.strength[alone].tolist()) <= {0.0}
    assert set(g.confidence.tolist()) <= {0.3, 1.0}


@given(known())
def test_hard_constraints_are_certain(c):
    g = of(c, 0.3, apart_certainty=0.6)
    table = c.pairs(labels=False)
    hard = table[np.isinf(table["weight"])]
    named = {r for a, b, kind, _ in hard.tolist() if kind == "must" for r in (a, b)}
    for r, (k,) in g.by_row().items():
        assert g.confidence[k] == (1.0 if r in named or g.sizes[g.group[k]] == 1 else 0.3)
    group_of = dict(zip(g.row.tolist(), g.group.tolist(), strict=True))
    sure = {
        tuple(sorted((group_of[a], group_of[b])))
        for a, b, kind, _ in hard.tolist()
        if kind == "cannot"
    }
    for pair, chi in zip(g.apart.tolist(), g.apart_certainty.tolist(), strict=True):
        assert chi == (1.0 if tuple(pair) in sure else 0.6)


def test_hard_labels_are_certain():
    g = Groups.from_constraints(Constraints.from_labels([0, 0, 1, 1]).scaled(INF))
    assert set(g.confidence.tolist()) == {1.0} and g.apart_certainty.tolist() == [1.0]


@given(known())
def test_strengths_are_mean_weights_in_proportion(c):
    g = of(c)
    table = c.pairs(labels=False)
    said = defaultdict(list)
    for a, b, kind, w in table.tolist():
        if kind == "must" and w < INF:
            said[a].append(w)
            said[b].append(w)
    for r in c.labels.rows.tolist():
        said[r].append(c.labels.weight)
    mean = {r: np.mean(said[r]) for r in g.row.tolist() if said[r]}
    tied = [k for k, r in enumerate(g.row.tolist()) if r in mean and g.sizes[g.group[k]] > 1]
    if tied:
        expected = np.array([mean[g.row[k]] for k in tied])
        np.testing.assert_allclose(g.strength[tied], expected / expected.mean(), rtol=1e-12)


@given(known(), st.sampled_from([1e-9, 0.5, 7.0]))
def test_only_the_proportions_of_weights_count(c, factor):
    one, two = of(c), of(c.scaled(factor))
    np.testing.assert_allclose(one.strength, two.strength, rtol=1e-12)
    assert (one.confidence == two.confidence).all() and (one.apart == two.apart).all()


def test_huge_weights_do_not_overflow():
    c = Constraints([(0, 1), (1, 2)], must_link_weight=[1e308, 1.7e308])
    strength = Groups.from_constraints(c).strength
    np.testing.assert_allclose(strength, np.array([1.0, 1.35, 1.7]) / 1.35, rtol=1e-12)


def test_cannot_links_are_as_sure_as_must_links_by_default():
    g = Groups.from_constraints(Constraints([(0, 1)], [(1, 5)]), 0.8)
    assert [m.tolist() for m in g.members()] == [[0, 1], [5]]
    assert g.confidence.tolist() == [0.8, 0.8, 1.0] and g.apart_certainty.tolist() == [0.8]


def test_sources_become_teachers():
    pairs = {"a": [0, 1, 4], "b": [1, 2, 5], "kind": ["must"] * 3, "source": ["ann", "bob", None]}
    g = Groups.from_constraints(Constraints.from_frame(pd.DataFrame(pairs)))
    assert g.teacher.tolist() == ["ann", "ann;bob", "bob", None, None]


def test_a_contradiction_is_named_and_its_cannot_link_left_out():
    c = Constraints([(0, 1), (1, 2)], [(0, 2), (2, 7)])
    with pytest.warns(ConstraintWarning, match=r"contradict each other: .*0.*2.*left out.*repair"):
        g = Groups.from_constraints(c)
    assert [m.tolist() for m in g.members()] == [[0, 1, 2], [7]] and g.apart.tolist() == [[0, 1]]


def test_the_ids_of_constraints_stay():
    c = Constraints([("a", "c")], sample_id=["a", "b", "c"])
    assert Groups.from_constraints(c) == Groups([["a", "c"]], sample_id=["a", "b", "c"])


def test_only_constraints_are_constraints():
    with pytest.raises(TypeError, match=r"must be a linkfield\.Constraints, got list"):
        Groups.from_constraints([(0, 1)])
    with pytest.raises(ValueError, match=r"confidence must lie in \[0, 1\]"):
        Groups.from_constraints(Constraints([(0, 1)]), 1.5)


# -- restrict, select, align -----------------------------------------------------------------------

chosen_rows = st.permutations(range(N)).flatmap(
    lambda order: st.integers(0, N).map(lambda n: order[:n])
)


@given(drawn(), chosen_rows)
def test_restrict_keeps_the_memberships_of_the_rows(g, rows):
    new = {r: k for k, r in enumerate(rows)}
    kept = g.restrict(rows)
    members = [[new[r] for r in m.tolist() if r in new] for m in g.members()]
    assert [m.tolist() for m in kept.members()] == [sorted(m) for m in members if m]
    number = np.cumsum([bool(m) for m in members]) - 1
    links = zip(g.apart.tolist(), g.apart_certainty.tolist(), strict=True)
    expected = [([number[a], number[b]], chi) for (a, b), chi in links if members[a] and members[b]]
    assert [
        (pair, chi) for pair, chi in zip(kept.apart.tolist(), kept.apart_certainty, strict=True)
    ] == expected


@given(drawn(), chosen_rows, st.data())
def test_restrict_twice_is_restrict_once(g, rows, data):
    inner = data.draw(st.permutations(range(len(rows))))
    inner = inner[: data.draw(st.integers(0, len(rows)))]
    assert g.restrict(rows).restrict(inner) == g.restrict([rows[k] for k in inner])


@given(drawn(), st.permutations(range(N)))
def test_restrict_to_a_permutation_can_be_undone(g, order):
    assert g.restrict(order).restrict(np.argsort(order)) == g
    mask = np.isin(np.arange(N), order[:4])
    assert g.restrict(mask) == g.restrict(np.flatnonzero(mask))


@given(drawn(ids=IDS), st.permutations(IDS))
def test_align_renumbers_and_the_inverse_brings_it_back(g, order):
    moved = g.align(order)
    assert moved.sample_id.tolist() == order
    assert arranged(moved) == arranged(g)
    assert moved == g.restrict([IDS.index(v) for v in order])
    assert moved.align(IDS) == g


@given(drawn(ids=IDS), st.permutations([*IDS, "new"]), st.integers(0, N + 1))
def test_align_drops_what_is_absent(g, order, n):
    present = order[:n]
    kept = g.align(present)
    names = kept._named(kept.row)
    both = zip(g._named(g.row), g.confidence.tolist(), strict=True)
    expected = [pair for pair in both if pair[0] in present]
    assert sorted(zip(names, kept.confidence.tolist(), strict=True)) == sorted(expected)


def test_ids_that_were_not_declared_must_all_be_found():
    g = Groups([["a", "slip"]])
    with pytest.raises(ValueError, match=r"groups name rows that sample_id does not have: 'slip'"):
        g.align(["a", "b"])
    assert g.align(["b", "a"], missing="drop").row.tolist() == [1]


def test_whole_numbers_are_ids_once_the_rows_have_ids():
    assert Groups([[3, 1]]).align([3, 2, 1, 0]).row.tolist() == [0, 2]


@given(drawn(), st.randoms(use_true_random=False))
def test_a_permutation_of_groups_can_be_undone(g, rng):
    order = list(range(g.n_groups))
    rng.shuffle(order)
    moved = g.select(order)
    assert arranged(moved) == arranged(g)
    assert [m.tolist() for m in moved.members()] == [g.members()[k].tolist() for k in order]
    assert moved.select(np.argsort(order)) == g
    assert moved.rows().tolist() == g.rows().tolist()


@given(drawn(), st.data())
def test_selected_groups_and_the_others_are_all(g, data):
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=g.n_groups, max_size=g.n_groups)), bool
    )
    inside, outside = g.select(mask), g.select(np.flatnonzero(~mask))
    whole, _ = arranged(g)
    assert arranged(inside)[0] + arranged(outside)[0] == whole
    assert len(inside.apart) == mask[g.apart].all(axis=1).sum()


@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        ([0, 2], ValueError, r"numbers from 0 to 1"),
        ([-1], ValueError, r"numbers from 0 to 1"),
        ([1, 1], ValueError, r"names a group twice"),
        ([0.5], TypeError, r"group numbers, or a mask"),
    ],
)
def test_groups_that_do_not_exist_cannot_be_selected(groups, error, match):
    with pytest.raises(error, match=match):
        Groups([[0], [1]]).select(groups)


# -- join ------------------------------------------------------------------------------------------


def halved(g):
    """The same groups, with room for as many again."""
    return Groups.from_frame(
        g.to_frame("pandas").assign(confidence=g.confidence / 3),
        apart=g.apart_frame("pandas"),
        sample_id=g.sample_id,
    )


@given(drawn(), drawn(), drawn())
def test_join_is_a_union_that_keeps_groups_apart(a, b, c):
    a, b, c = halved(a), halved(b), halved(c)
    both = a | b
    assert both.n_groups == a.n_groups + b.n_groups
    assert both.select(range(a.n_groups)) == a
    assert both.select(range(a.n_groups, both.n_groups)) == b
    assert arranged(both) == arranged(b | a)
    assert (a | b) | c == a | (b | c)
    assert a | Groups() == a == Groups() | a


@given(drawn(ids=IDS), drawn(ids=IDS), st.permutations(IDS))
def test_join_by_id_does_not_ask_for_the_order_of_rows(a, b, order):
    a, b = halved(a), halved(b)
    assert arranged(a | b.align(order)) == arranged(a | b)
    assert (a | b.align(order)).sample_id.tolist() == IDS


def test_join_of_different_ids_has_all_of_them():
    both = Groups([["a", "b"]]) | Groups([["c", "b"]], sample_id=["b", "c", "d"])
    assert both.sample_id.tolist() == ["a", "b", "c", "d"]
    assert [m.tolist() for m in both.members()] == [[0, 1], [1, 2]]
    assert not both.knows_positions


def test_join_of_ids_and_positions_is_refused():
    with pytest.raises(ValueError, match=r"one set names rows by id and the other by position"):
        Groups([["a", "b"]]) | Groups([[0, 1]])


def test_join_with_something_else_is_refused():
    with pytest.raises(TypeError, match="unsupported operand"):
        Groups() | [[0, 1]]
    with pytest.raises(TypeError, match="unsupported operand"):
        Groups() | Constraints()


def test_join_of_more_than_a_row_can_bear_is_refused_or_shared():
    a = Groups([[0, 1]], confidence=0.75)
    with pytest.raises(ValueError, match=r"row 0 in its 2 groups add up to 1\.5"):
        a | a
    np.testing.assert_allclose(a.joined(a, overlap="share").confidence, 3 / 7)


# -- frames ----------------------------------------------------------------------------------------


@every_backend
@given(drawn())
def test_a_frame_brings_everything_back(backend, g):
    back = Groups.from_frame(g.to_frame(backend), apart=g.apart_frame(backend))
    assert back == g
    assert (
        Groups.from_frame(g.to_frame(backend), apart=g.apart, apart_certainty=g.apart_certainty)
        == g
    )


@every_backend
@given(drawn(ids=IDS))
def test_a_frame_brings_ids_back(backend, g):
    frames = g.to_frame(backend), g.apart_frame(backend)
    assert Groups.from_frame(frames[0], apart=frames[1], sample_id=IDS) == g


@given(drawn(), st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(g, rng):
    frame = g.to_frame("pandas")
    order = list(range(len(frame)))
    rng.shuffle(order)
    assert Groups.from_frame(frame.iloc[order], apart=g.apart_frame("pandas")) == g


@every_backend
def test_columns_of_a_frame(backend):
    g = Groups([[0, 1], [2]], apart=[(0, 1)])
    frames = [g.to_frame(backend), g.apart_frame(backend)]
    names = [list(f.column_names if isinstance(f, pa.Table) else f.columns) for f in frames]
    assert names[0] == ["group", "row", "confidence", "strength", "teacher", "label"]
    assert names[1] == ["a", "b", "certainty"]


def test_groups_of_a_frame_may_have_any_names():
    frame = pd.DataFrame({"group": ["y", "x", "y"], "row": [0, 1, 2]})
    g = Groups.from_frame(frame, apart=[("y", "x")], apart_certainty=0.5)
    assert g == Groups([[1], [0, 2]], apart=[(0, 1)], apart_certainty=0.5)
    with pytest.raises(ValueError, match=r"apart names groups that have no rows: 'z'"):
        Groups.from_frame(frame, apart=[("y", "z")])


def test_a_frame_of_groups_needs_its_columns():
    with pytest.raises(
        ValueError, match=r"table of groups lacks the column 'row'; .*it has 'group'"
    ):
        Groups.from_frame(pd.DataFrame({"group": [0]}))
    with pytest.raises(ValueError, match=r"the column group has no value in entry 1"):
        Groups.from_frame(pd.DataFrame({"group": ["x", None], "row": [0, 1]}))
    with pytest.raises(TypeError, match=r"columns group, row; got list"):
        Groups.from_frame([(0, 1)])
    with pytest.raises(ValueError, match=r"table of apart groups lacks the column 'b'"):
        Groups.from_frame(pd.DataFrame({"group": [0], "row": [0]}), apart=pd.DataFrame({"a": [0]}))
