"""Partial labels: every spelling of "unknown", and the pairs that labels entail."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield.constraints import Constraints, PartialLabels
from linkfield.constraints.labels import labelled_rows, sorted_classes

N = 8
partial = st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=N)


def entailed(y, unknown=-1):
    """The pairs that labels entail, one by one."""
    rows = [i for i, v in enumerate(y) if v != unknown]
    kinds = {(i, j): "must" if y[i] == y[j] else "cannot" for i, j in combinations(rows, 2)}
    return sorted((i, j, kind, 1.0) for (i, j), kind in kinds.items())


def table(constraints):
    return sorted(constraints.pairs().tolist())


def entries(labels):
    """Who was called what."""
    return sorted(
        (r, str(labels.classes[c]))
        for r, c in zip(labels.rows.tolist(), labels.codes.tolist(), strict=True)
    )


@given(partial)
def test_labels_entail_all_their_pairs(y):
    c = Constraints.from_labels(y)
    pairs = entailed(y)
    assert table(c) == pairs
    assert c.n_must_link == sum(kind == "must" for *_, kind, _ in pairs)
    assert c.n_cannot_link == sum(kind == "cannot" for *_, kind, _ in pairs)
    assert c.tied_rows().tolist() == [i for i, v in enumerate(y) if v != -1]


@given(partial, st.permutations([0, 1, 2]))
def test_names_of_classes_do_not_matter_for_pairs(y, names):
    renamed = [v if v == -1 else names[v] for v in y]
    assert table(Constraints.from_labels(renamed)) == table(Constraints.from_labels(y))


NAN = float("nan")
NUMBERS = [0, 0, 1, -1, 2, 1]
WORDS = ["u", "u", "v", None, "w", "v"]


@pytest.mark.parametrize(
    "y",
    [
        NUMBERS,
        tuple(NUMBERS),
        np.array(NUMBERS),
        np.array(NUMBERS, dtype=np.int8),
        np.array(NUMBERS, dtype=float),
        [0, 0, 1, None, 2, 1],
        [0, 0, 1, NAN, 2, 1],
        np.array([0, 0, 1, NAN, 2, 1]),
        np.array([0, 0, 1, None, 2, 1], dtype=object),
        [0, 0, 1, -1.0, 2, 1],
        [True, True, False, None, 2, False],
        WORDS,
        np.array(WORDS, dtype=object),
        np.array(["u", "u", "v", -1, "w", "v"], dtype=object),
        np.array(["u", "u", "v", NAN, "w", "v"], dtype=object),
        pd.Series(NUMBERS),
        pd.Series([0, 0, 1, None, 2, 1]),
        pd.Series([0, 0, 1, None, 2, 1], dtype="Int64"),
        pd.Series(WORDS),
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype="string"),
        pd.Series(WORDS, dtype="category"),
        pd.Series(NUMBERS, index=[5, 4, 3, 2, 1, 0]),
        pd.to_datetime(pd.Series(["2020", "2020", "2021", None, "2022", "2021"])),
        pl.Series(NUMBERS),
        pl.Series([0, 0, 1, None, 2, 1]),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]}-{getattr(y, 'dtype', type(y).__name__)}",
)
def test_every_spelling_of_labels_says_the_same(y):
    assert table(Constraints.from_labels(y)) == entailed(NUMBERS)


@pytest.mark.parametrize("unknown", [-1, NAN, None], ids=["minus-one", "nan", "none"])
def test_a_list_of_text_may_hold_what_means_unknown(unknown):
    y = ["u", "u", "v", unknown, "w", "v"]
    assert table(Constraints.from_labels(y)) == entailed(NUMBERS)


def test_tuples_are_classes():
    y = [("p", 1), ("p", 1), ("q", 1), None, ("r", 1), ("q", 1)]
    assert table(Constraints.from_labels(y)) == entailed(NUMBERS)


def test_unsigned_labels_are_all_known():
    y = np.array([0, 255, 255], dtype=np.uint8)
    assert table(Constraints.from_labels(y)) == entailed([0, 1, 1])


def test_other_negative_numbers_are_classes():
    assert Constraints.from_labels([-2, -2, -1]).n_must_link == 1


def test_labels_entail_by_id():
    ids = ["x", "y", "z"]
    c = Constraints.from_labels([0, -1, 0], sample_id=ids)
    assert c.sample_id.tolist() == ids
    assert table(c.align(["z", "x"])) == [(0, 1, "must", 1.0)]


def test_a_label_for_every_id():
    with pytest.raises(ValueError, match=r"sample_id"):
        Constraints.from_labels([0, 0, 1], sample_id=["x", "y"])


@pytest.mark.parametrize("y", [[[0, 1], [1, 0]], 3, pd.DataFrame({"y": [0, 1]})])
def test_labels_are_one_dimensional(y):
    with pytest.raises(ValueError, match=r"partial_labels must be one-dimensional.*got shape \("):
        Constraints.from_labels(y)


@pytest.mark.parametrize("y", [[], [-1, -1], [None]])
def test_no_labels(y):
    assert Constraints.from_labels(y) == Constraints()


def test_labels_are_kept_and_not_written_out():
    labels = Constraints.from_labels(["b", None, "a", "b"]).labels
    assert labels.rows.tolist() == [0, 2, 3]
    assert labels.classes == ("a", "b")
    assert labels.codes.tolist() == [1, 0, 1]
    assert labels.class_sizes().tolist() == [1, 2]


def test_labels_can_be_compared():
    one, two = (Constraints.from_labels([0, 1, 1, -1]).labels for _ in range(2))
    assert one == two


def test_classes_of_mixed_types_have_a_stable_order():
    assert sorted_classes(["b", 2, "a", 1, 2]) == sorted_classes([1, 2, "a", "b"])


@given(partial)
def test_codes_name_the_classes(y):
    rows, codes, classes = labelled_rows(np.array(y, dtype=np.int64))
    assert [classes[c] for c in codes] == [y[r] for r in rows]
    assert list(classes) == sorted(set(y) - {-1})


# -- deriving --------------------------------------------------------------------------------------


@given(partial, st.data())
def test_renumbering_drops_rows_and_empty_classes(y, data):
    new = np.array(data.draw(st.permutations(range(len(y)))), dtype=np.int64)
    new[data.draw(st.lists(st.integers(0, max(len(y) - 1, 0)), max_size=len(y)))] = -1
    labels = Constraints.from_labels(y).labels.renumbered(new)
    expected = sorted((int(new[r]), str(v)) for r, v in enumerate(y) if v != -1 and new[r] >= 0)
    assert entries(labels) == expected
    assert len(labels.classes) == len({v for _, v in expected})
    assert (np.diff(labels.rows) > 0).all()


@given(partial, partial)
def test_joined_labels_say_what_both_say(y, z):
    one, two = Constraints.from_labels(y), Constraints.from_labels(z)
    both = sorted({*entries(one.labels), *entries(two.labels)})
    assert entries((one | two).labels) == both


def test_equal_names_are_one_class_across_joined_labels():
    c = Constraints.from_labels(["x", None, "y"]) | Constraints.from_labels([None, "x", None])
    assert table(c) == entailed(["x", "x", "y"])


def test_joined_labels_keep_the_greater_weight():
    light, heavy = Constraints.from_labels([0, 0]), Constraints.from_labels([1, 1]).scaled(3.0)
    assert (light | heavy).labels.weight == (heavy | light).labels.weight == 3.0


@given(partial, partial)
def test_rows_with_two_names_count_as_unlabelled(y, z):
    labels = (Constraints.from_labels(y) | Constraints.from_labels(z)).labels
    names: dict[int, set[str]] = {}
    for r, name in entries(labels):
        names.setdefault(r, set()).add(name)
    expected = sorted((r, *said) for r, said in names.items() if len(said) == 1)
    assert entries(labels.single()) == expected


@given(partial, partial)
def test_counts_are_those_of_the_pairs_also_where_a_row_has_two_names(y, z):
    c = Constraints.from_labels(y) | Constraints.from_labels(z)
    kinds = [kind for *_, kind, _ in c.pairs().tolist()]
    assert (c.n_must_link, c.n_cannot_link) == (kinds.count("must"), kinds.count("cannot"))


@given(partial, partial)
def test_a_pair_of_labelled_rows_is_said_once_a_kind(y, z):
    c = Constraints.from_labels(y) | Constraints.from_labels(z)
    said = [(a, b, kind) for a, b, kind, _ in c.pairs().tolist()]
    assert len(said) == len(set(said))
    assert all(a < b for a, b, _ in said)


def test_no_labels_at_all():
    none = PartialLabels.empty()
    assert none.n_must_link == none.n_cannot_link == 0
    assert [len(part) for part in none.pairs()] == [0, 0, 0]
    assert none.joined(none).classes == none.single().classes == none.tidied().classes == ()
