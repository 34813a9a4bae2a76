"""Constraints: one normal form, clear refusals, no way to change them, laws of deriving them."""

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield.constraints import PAIR_BUDGET, Constraints
from linkfield.constraints.frames import make_frame

N = 8
INF = float("inf")
row = st.integers(0, N - 1)
must_pairs = st.lists(st.tuples(row, row), max_size=10)
cannot_pairs = must_pairs.map(lambda pairs: [p for p in pairs if p[0] != p[1]])
weights = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0, INF])
partial = st.lists(st.sampled_from([-1, -1, 0, 1, 2]), min_size=N, max_size=N)
every_backend = pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])


@st.composite
def links(draw):
    """Arguments for Constraints: pairs of both kinds, one weight each."""
    must, cannot = draw(must_pairs), draw(cannot_pairs)
    sizes = {"must_link_weight": len(must), "cannot_link_weight": len(cannot)}
    weight = {k: draw(st.lists(weights, min_size=n, max_size=n)) for k, n in sizes.items()}
    return {"must_link": must, "cannot_link": cannot, **weight}


@st.composite
def known(draw, labels=True):
    """Constraints on the rows 0 to N-1, with or without labels."""
    pairs = Constraints(**draw(links()))
    return pairs | Constraints.from_labels(draw(partial)) if labels else pairs


def spoken(constraints):
    """Every pair by the names of its rows, with its kind and weight; sorted."""
    table = constraints.pairs()
    names = zip(constraints._named(table["a"]), constraints._named(table["b"]), strict=True)
    rest = zip(table["kind"].tolist(), table["weight"].tolist(), strict=True)
    return sorted((*sorted(pair, key=str), *more) for pair, more in zip(names, rest, strict=True))


def sources(constraints):
    table = constraints.pairs(labels=False)
    ends = zip(table["a"].tolist(), table["b"].tolist(), table["kind"].tolist(), strict=True)
    return dict(zip(ends, constraints._source.tolist(), strict=True))


# -- normal form -----------------------------------------------------------------------------------


@given(links(), st.sampled_from(["max", "sum"]))
def test_normal_form_is_that_of_a_dictionary(made, merge):
    expected: dict[tuple[int, int, str], float] = {}
    for kind in ("must", "cannot"):
        given_pairs = zip(made[f"{kind}_link"], made[f"{kind}_link_weight"], strict=True)
        for (a, b), w in given_pairs:
            if a != b:
                key = (min(a, b), max(a, b), kind)
                old = expected.get(key, 0.0)
                expected[key] = max(old, w) if merge == "max" else old + w
    c = Constraints(**made, merge=merge)
    table = c.pairs()
    found = {(a, b, kind): w for a, b, kind, w in table.tolist()}
    assert found == expected
    assert len(table) == len(expected) == c.n_must_link + c.n_cannot_link
    assert c.n_must_link == sum(kind == "must" for _, _, kind in expected)
    assert c.tied_rows().tolist() == sorted({r for a, b, _ in expected for r in (a, b)})


@given(links(), st.randoms(use_true_random=False))
def test_order_ends_and_repetition_change_nothing(made, rng: random.Random):
    again = {}
    for kind in ("must", "cannot"):
        items = list(zip(made[f"{kind}_link"], made[f"{kind}_link_weight"], strict=True))
        items = [(p[::-1] if rng.random() < 0.5 else p, w) for p, w in items]
        items += [item for item in items if rng.random() < 0.5]
        rng.shuffle(items)
        again[f"{kind}_link"] = [p for p, _ in items]
        again[f"{kind}_link_weight"] = [w for _, w in items]
    assert Constraints(**again) == Constraints(**made)


def test_both_orders_of_a_pair_are_one_constraint():
    c = Constraints([(5, 6), (6, 5)])
    assert c == Constraints([(5, 6)])
    assert c.pairs().tolist() == [(5, 6, "must", 1.0)]


def test_sum_adds_and_max_keeps_the_greatest():
    pairs, w = [(5, 6), (6, 5), (1, 2)], [1.5, 2.0, 1.0]
    table = Constraints(pairs, must_link_weight=w, merge="sum").pairs()
    assert table["weight"].tolist() == [1.0, 3.5]
    assert Constraints(pairs, must_link_weight=w).pairs()["weight"].tolist() == [1.0, 2.0]


def test_both_kinds_of_one_pair_stay_two_constraints():
    c = Constraints([(0, 1)], [(1, 0)], must_link_weight=2.0)
    assert c.pairs().tolist() == [(0, 1, "must", 2.0), (0, 1, "cannot", 1.0)]


def test_a_must_link_with_itself_is_dropped_and_weights_stay_with_their_pairs():
    c = Constraints([(3, 3), (1, 2), (4, 4)], must_link_weight=[5.0, 7.0, 9.0])
    assert c.pairs().tolist() == [(1, 2, "must", 7.0)]
    assert c.tied_rows().tolist() == [1, 2]


def test_a_cannot_link_with_itself_is_refused():
    with pytest.raises(ValueError, match=r"cannot_link holds the row 3 with itself; remove"):
        Constraints(cannot_link=[(0, 1), (3, 3)])


def test_a_cannot_link_with_itself_is_refused_by_its_id():
    with pytest.raises(ValueError, match=r"cannot_link holds the row 'x' with itself"):
        Constraints(cannot_link=[("x", "x")], sample_id=["w", "x"])


@pytest.mark.parametrize(
    "pairs",
    [
        np.array([[0, 1], [1, 2]]),
        np.array([[0, 1], [1, 2]], dtype=np.uint8),
        np.array([[0, 1], [1, 2]], dtype=np.uint64),
        [[0, 1], [1, 2]],
        ((0, 1), (1, 2)),
        {(0, 1), (1, 2)},
        (p for p in [(0, 1), (1, 2)]),
        zip([0, 1], [1, 2], strict=True),
        [np.array([0, 1]), np.array([1, 2])],
        [(np.int64(0), np.int32(1)), (1, 2)],
    ],
    ids=lambda pairs: type(pairs).__name__,
)
def test_pairs_come_in_many_forms(pairs):
    assert Constraints(pairs) == Constraints([(0, 1), (1, 2)])


@pytest.mark.parametrize("empty", [(), [], np.empty((0, 2)), np.empty((0, 2), dtype=int)])
def test_no_pairs(empty):
    c = Constraints(empty, empty)
    assert c == Constraints() and len(c.pairs()) == len(c.tied_rows()) == 0
    assert repr(c) == "Constraints(0 must-links, 0 cannot-links, 0 rows)"


def test_the_array_that_pairs_came_in_is_neither_kept_nor_changed():
    pairs, weight = np.array([[6, 5], [1, 2]]), np.array([2.0, 3.0])
    c = Constraints(pairs, must_link_weight=weight)
    assert pairs.tolist() == [[6, 5], [1, 2]] and pairs.flags.writeable and weight.flags.writeable
    pairs[:], weight[:] = 0, 9.0
    assert c == Constraints([(1, 2), (5, 6)], must_link_weight=[3.0, 2.0])


# -- bad input -------------------------------------------------------------------------------------


def test_float_positions_are_refused():
    with pytest.raises(TypeError, match=r"must_link must hold integer row positions, got float"):
        Constraints([(0.0, 1.0)])


def test_a_float_among_integers_is_refused():
    with pytest.raises(TypeError, match=r"cannot_link must hold integer row positions, got float"):
        Constraints(cannot_link=[(0, 1), (2, 3.5)])


def test_nan_as_a_position_is_refused():
    with pytest.raises(TypeError, match=r"integer row positions, got float"):
        Constraints([(0, float("nan"))])


def test_none_as_a_position_is_refused():
    with pytest.raises(TypeError, match=r"integer row positions, got NoneType, int"):
        Constraints([(0, None)])


def test_bool_positions_are_refused():
    with pytest.raises(TypeError, match=r"integer row positions, got bool"):
        Constraints([(True, False)])


def test_a_bool_among_integers_is_refused():
    with pytest.raises(TypeError, match=r"integer row positions, got bool"):
        Constraints([(True, 2)])


def test_negative_positions_are_refused():
    with pytest.raises(ValueError, match=r"must_link has a negative row position .*\(2, -1\)"):
        Constraints([(0, 1), (2, -1)])


def test_positions_beyond_the_data_are_refused_once_its_size_is_known():
    c = Constraints([(0, 9)], [(1, 12)])
    c.check_rows(13)
    with pytest.raises(
        ValueError, match=r"row 12, but the data has 12 rows \(0 to 11\).*sample_id"
    ):
        c.check_rows(12)


def test_labels_beyond_the_data_are_refused_too():
    with pytest.raises(ValueError, match=r"row 2, but the data has 2 rows"):
        Constraints.from_labels([0, 1, 1]).check_rows(2)


def test_one_dimensional_pairs_are_refused():
    with pytest.raises(ValueError, match=r"must_link .*shape \(n_pairs, 2\); got shape \(2,\)"):
        Constraints([0, 1])


def test_triples_are_refused():
    with pytest.raises(ValueError, match=r"cannot_link .*got shape \(1, 3\)"):
        Constraints(cannot_link=[(0, 1, 2)])


def test_ragged_pairs_are_refused():
    with pytest.raises(ValueError, match=r"must_link must be a list of pairs, each of two rows"):
        Constraints([(0, 1), (1, 2, 3)])


def test_text_that_is_no_pair_is_refused():
    with pytest.raises(ValueError, match=r"must_link .*got shape \(2,\)"):
        Constraints(["ab", "cd"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_pairs_is_read_by_row_or_refused(make):
    pairs = make({"first": [0, 2], "second": [1, 3]})
    try:
        found = Constraints(pairs)
    except (TypeError, ValueError):
        return
    assert found == Constraints([(0, 1), (2, 3)])


def test_nan_weights_are_refused():
    with pytest.raises(ValueError, match=r"must_link_weight contains NaN"):
        Constraints([(0, 1)], must_link_weight=[float("nan")])


def test_zero_weights_are_refused():
    with pytest.raises(ValueError, match=r"must_link_weight must be positive \(found 0\)"):
        Constraints([(0, 1)], must_link_weight=0)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"cannot_link_weight must be positive \(found -2\)"):
        Constraints(cannot_link=[(0, 1), (1, 2)], cannot_link_weight=[1, -2])


def test_too_few_weights_are_refused():
    with pytest.raises(ValueError, match=r"must_link_weight .*one a pair \(2\); got shape \(1,\)"):
        Constraints([(0, 1), (1, 2)], must_link_weight=[1.0])


def test_weights_in_a_column_are_refused():
    with pytest.raises(ValueError, match=r"must_link_weight .*got shape \(2, 1\)"):
        Constraints([(0, 1), (1, 2)], must_link_weight=[[1.0], [2.0]])


def test_an_unknown_way_to_merge_is_refused():
    with pytest.raises(ValueError, match=r"merge must be 'max' or 'sum', got 'mean'"):
        Constraints([(0, 1)], merge="mean")


def test_unknown_ids_are_refused_by_name():
    with pytest.raises(ValueError, match=r"ids that sample_id does not have: 'z', 'y'$"):
        Constraints([("a", "z")], [("y", "a"), ("b", "z")], sample_id=["a", "b"])


def test_many_unknown_ids_are_not_all_listed():
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4 and 15 more"):
        Constraints([(2 * i, 2 * i + 1) for i in range(10)], sample_id=["a"])


def test_duplicate_ids_are_refused():
    with pytest.raises(ValueError, match=r"sample_id must name every row once; 'a' occurs more"):
        Constraints([("a", "b")], sample_id=["a", "b", "a"])


def test_a_factor_must_be_a_positive_number():
    with pytest.raises(ValueError, match=r"factor must be positive"):
        Constraints([(0, 1)]).scaled(0.0)


def test_too_many_entailed_pairs_are_not_written_out():
    c = Constraints.from_labels(np.zeros(4_000, dtype=int))
    assert c.n_must_link > PAIR_BUDGET
    with pytest.raises(ValueError, match=r"the labels entail 7,998,000 pairs, more than the 5,000"):
        c.pairs()
    assert len(c.pairs(labels=False)) == 0


# -- ids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        ["r", "s", "t"],
        np.array(["r", "s", "t"]),
        pd.Series(["r", "s", "t"]),
        pd.Index(["r", "s", "t"]),
        pl.Series(["r", "s", "t"]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_come_in_many_forms(ids):
    c = Constraints([("t", "r")], sample_id=ids)
    assert c.pairs().tolist() == [(0, 2, "must", 1.0)]
    assert c.sample_id.tolist() == ["r", "s", "t"]


def test_integers_are_ids_where_ids_are_given():
    c = Constraints([(30, 10)], sample_id=np.array([10, 20, 30]))
    assert c.pairs().tolist() == [(0, 2, "must", 1.0)]
    assert {type(v) for v in c.sample_id.tolist()} == {int}


def test_text_without_sample_id_is_numbered_by_first_mention():
    c = Constraints([("b", "a")], [("c", "a")])
    assert c.sample_id.tolist() == ["b", "a", "c"]
    assert spoken(c) == [("a", "b", "must", 1.0), ("a", "c", "cannot", 1.0)]


def test_tuples_are_ids():
    ids = [("x", 1), ("x", 2), ("y", 1)]
    c = Constraints([(("x", 1), ("y", 1))], sample_id=ids)
    assert c.pairs().tolist() == [(0, 2, "must", 1.0)]


def test_numbers_and_text_together_mean_the_same_in_any_order():
    def outcome(pairs):
        try:
            return repr(Constraints(pairs))
        except (TypeError, ValueError):
            return "refused"

    pairs = [(2 * i, 2 * i + 1) for i in range(600)] + [("x", "y")]
    assert outcome(pairs) == outcome(pairs[::-1])


def test_positions_have_no_ids():
    assert Constraints([(0, 1)]).sample_id is None


# -- immutable, whole, comparable ------------------------------------------------------------------


def attributes(constraints):
    """Every array that constraints hold."""
    values = [*vars(constraints).values(), *vars(constraints.labels).values()]
    return [v for v in values if isinstance(v, np.ndarray)]


def example():
    pairs = Constraints([("a", "b")], [("b", "c")], sample_id=["a", "b", "c"])
    return pairs | Constraints.from_labels([0, 0, 1], sample_id=["a", "b", "c"])


@pytest.mark.parametrize("name", ["_pairs", "sample_id", "n_must_link", "anything"])
def test_attributes_cannot_be_set(name):
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(example(), name, None)


def test_attributes_cannot_be_deleted():
    with pytest.raises(FrozenInstanceError):
        del example()._pairs


def test_pairs_and_ids_cannot_be_written():
    c = example()
    for array in (c._pairs, c._must, c._weight, c._source, c.sample_id):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_labels_cannot_be_written():
    c = example()
    for array in (c.labels.rows, c.labels.codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_the_table_of_pairs_is_a_copy():
    c = Constraints([(0, 1)])
    c.pairs()["weight"] = 7.0
    assert c == Constraints([(0, 1)])


@pytest.mark.parametrize("name", ["__len__", "shape", "__array__", "__getitem__", "__iter__"])
def test_cross_validation_cannot_slice_them(name):
    assert not hasattr(example(), name)


def test_they_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Constraints())


ways_to_copy = pytest.mark.parametrize(
    "duplicate",
    [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)


@ways_to_copy
def test_a_copy_is_equal_and_works(duplicate):
    c, same = example(), duplicate(example())
    assert same == c and repr(same) == repr(c) and spoken(same) == spoken(c)
    assert same.restrict([0, 2]) == c.restrict([0, 2])


@ways_to_copy
def test_a_copy_is_as_immutable_as_the_original(duplicate):
    before = [a.flags.writeable for a in attributes(example())]
    assert [a.flags.writeable for a in attributes(duplicate(example()))] == before


@pytest.mark.parametrize(
    "other",
    [
        Constraints(),
        Constraints([(0, 2)]),
        Constraints(cannot_link=[(0, 1)]),
        Constraints([(0, 1)], must_link_weight=2.0),
        Constraints([(0, 1)], [(1, 2)]),
        Constraints([("a", "b")]),
        Constraints([(0, 1)]) | Constraints.from_labels([0, 0]),
    ],
    ids=["none", "pair", "kind", "weight", "more", "ids", "labels"],
)
def test_equality_sees_every_difference(other):
    assert Constraints([(0, 1)]) == Constraints([(0, 1)])
    assert Constraints([(0, 1)]) != other


def test_equality_sees_the_names_of_classes():
    assert Constraints.from_labels(["a", "b"]) == Constraints.from_labels(["a", "b"])
    assert Constraints.from_labels(["a", "b"]) != Constraints.from_labels(["a", "c"])


def test_equality_sees_the_weight_of_labels():
    c = Constraints.from_labels([0, 0, 1])
    assert c.scaled(2.0) != c


def test_nothing_else_is_equal():
    assert Constraints() != () and Constraints() != 0


def test_repr_counts_what_labels_entail():
    assert repr(Constraints([(0, 1)])) == "Constraints(1 must-link, 0 cannot-links, 2 rows)"
    many = Constraints.from_labels(np.repeat([0, 1], 1000))
    assert repr(many) == "Constraints(999,000 must-links, 1,000,000 cannot-links, 2,000 rows)"


@given(known(), st.sampled_from([0.5, 2.0, INF]))
def test_scaling_multiplies_every_weight(c, factor):
    expected = [(*rest, w * factor) for *rest, w in spoken(c)]
    assert spoken(c.scaled(factor)) == sorted(expected)


@given(known(labels=False), partial)
def test_counts_and_rows_are_those_of_the_table(c, y):
    c = c | Constraints.from_labels(y)
    table = c.pairs()
    assert c.n_must_link == (table["kind"] == "must").sum()
    assert c.n_cannot_link == (table["kind"] == "cannot").sum()
    given_rows = np.r_[table["a"], table["b"], np.flatnonzero(np.array(y) >= 0)]
    assert c.tied_rows().tolist() == np.unique(given_rows).tolist()


def test_a_pair_that_labels_entail_as_well_is_said_once():
    c = Constraints([(0, 1)], must_link_weight=3.0) | Constraints.from_labels([0, 0, 1])
    table = c.pairs().tolist()
    assert table == [(0, 1, "must", 3.0), (0, 2, "cannot", 1.0), (1, 2, "cannot", 1.0)]
    assert (c.n_must_link, c.n_cannot_link) == (1, 2)


# -- restrict --------------------------------------------------------------------------------------

chosen_rows = st.permutations(range(N)).flatmap(
    lambda order: st.integers(0, N).map(lambda n: order[:n])
)


@given(known(), chosen_rows)
def test_restrict_keeps_the_pairs_among_the_rows(c, rows):
    new = {r: k for k, r in enumerate(rows)}
    expected = sorted(
        (*sorted((new[a], new[b]), key=str), kind, w)
        for a, b, kind, w in c.pairs().tolist()
        if a in new and b in new
    )
    assert spoken(c.restrict(rows)) == expected


@given(known(), chosen_rows)
def test_restrict_takes_a_mask(c, rows):
    mask = np.isin(np.arange(N), rows)
    assert c.restrict(mask) == c.restrict(np.flatnonzero(mask))


@given(known(), chosen_rows, st.data())
def test_restrict_twice_is_restrict_once(c, rows, data):
    inner = data.draw(st.permutations(range(len(rows))))
    inner = inner[: data.draw(st.integers(0, len(rows)))]
    assert c.restrict(rows).restrict(inner) == c.restrict([rows[k] for k in inner])


@given(known(), st.permutations(range(N)))
def test_restrict_to_a_permutation_can_be_undone(c, order):
    assert c.restrict(order).restrict(np.argsort(order)) == c


def test_restrict_keeps_ids_and_sources():
    df = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "kind": "must", "source": ["s", "t"]})
    c = Constraints.from_frame(df, sample_id=["x", "y", "z"]).restrict([2, 1])
    assert c.sample_id.tolist() == ["z", "y"] and sources(c) == {(0, 1, "must"): "t"}


def test_rows_beyond_the_last_constraint_may_be_chosen():
    assert Constraints([(0, 1)]).restrict([99, 1, 0]) == Constraints([(1, 2)])


def test_a_row_twice_is_refused():
    with pytest.raises(ValueError, match=r"rows names a position twice"):
        Constraints([(0, 1)]).restrict([0, 0])


def test_a_negative_row_is_refused():
    with pytest.raises(ValueError, match=r"rows holds the negative position -1"):
        Constraints([(0, 1)]).restrict([0, -1])


@pytest.mark.parametrize("rows", [[0.5], [[0, 1]], ["a"]], ids=["float", "2-d", "text"])
def test_rows_must_be_positions(rows):
    with pytest.raises(TypeError, match=r"rows must be a one-dimensional list of integer"):
        Constraints([(0, 1)]).restrict(rows)


def test_a_row_without_an_id_is_refused():
    with pytest.raises(ValueError, match="7"):
        Constraints([("a", "b")], sample_id=["a", "b"]).restrict([0, 7])


# -- align -----------------------------------------------------------------------------------------

IDS = list("abcdefgh")


def named(c):
    """The same constraints, by id."""
    return Constraints(sample_id=IDS)._with(
        pairs=c._pairs, must=c._must, weight=c._weight, source=c._source, labels=c._labels
    )


@given(known(), st.permutations(IDS))
def test_align_renumbers_and_the_inverse_brings_it_back(c, order):
    c = named(c)
    moved = c.align(order)
    assert moved.sample_id.tolist() == order
    assert spoken(moved) == spoken(c)
    assert moved == c.restrict([IDS.index(v) for v in order])
    assert moved.align(IDS) == c
    assert moved.align(order) == moved


@given(known(), st.permutations([*IDS, "new", "newer"]), st.integers(0, 10))
def test_align_drops_what_is_absent(c, order, n):
    c, present = named(c), set(order[:n])
    expected = [p for p in spoken(c) if {p[0], p[1]} <= present]
    assert spoken(c.align(order[:n], missing="drop")) == expected
    assert c.align(order[:n]) == c.align(order[:n], missing="drop")  # the ids were declared


@given(known(), st.permutations(IDS), st.integers(0, 8))
def test_align_raises_for_what_is_absent_if_told_so(c, order, n):
    c = named(c)
    absent = [IDS[r] for r in c.tied_rows() if IDS[r] not in order[:n]]
    if not absent:
        assert c.align(order[:n], missing="raise") == c.align(order[:n])
        return
    with pytest.raises(
        ValueError, match=rf"sample_id does not have: '{absent[0]}'.*missing='drop'"
    ):
        c.align(order[:n], missing="raise")


def test_ids_that_were_not_declared_must_all_be_found():
    c = Constraints([("a", "b")], [("b", "slip")])
    with pytest.raises(ValueError, match=r"sample_id does not have: 'slip'"):
        c.align(["b", "a"])
    assert spoken(c.align(["b", "a"], missing="drop")) == [("a", "b", "must", 1.0)]
    # Once aligned, the ids are known: a fold may lack some.
    assert spoken(c.align(["b", "a", "slip"]).align(["slip", "b"])) == [("b", "slip", "cannot", 1)]


def test_whole_numbers_are_ids_once_the_rows_have_ids():
    c = Constraints([(3, 1)]).align([3, 2, 1, 0])
    assert c.pairs()[["a", "b"]].tolist() == [(0, 2)]
    with pytest.raises(ValueError, match=r"does not have: 3; .*text"):
        Constraints([(3, 1)]).align(["3", "1", 1])


def test_align_refuses_duplicate_ids():
    with pytest.raises(ValueError, match=r"'a' occurs more than once"):
        Constraints([("a", "b")]).align(["a", "b", "a"])


def test_align_refuses_an_unknown_policy():
    with pytest.raises(ValueError, match=r"missing"):
        Constraints([("a", "b")]).align(["a"], missing="ignore")


# -- join ------------------------------------------------------------------------------------------


@given(links(), links())
def test_join_is_both_lists_in_one(one, two):
    both = {k: one[k] + two[k] for k in one}
    assert Constraints(**one) | Constraints(**two) == Constraints(**both)


@given(known(), known(), known())
def test_join_is_a_union(a, b, c):
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a | a == a
    assert a | Constraints() == a == Constraints() | a


@given(must_pairs, cannot_pairs, st.permutations(IDS), st.permutations(IDS))
def test_join_by_id_does_not_ask_for_the_order_of_rows(must, cannot, first, second):
    a = Constraints([(IDS[i], IDS[j]) for i, j in must], sample_id=first)
    b = Constraints(cannot_link=[(IDS[i], IDS[j]) for i, j in cannot], sample_id=second)
    assert spoken(a | b) == sorted(spoken(a) + spoken(b))
    assert (a | b).sample_id.tolist() == first


def test_join_of_different_ids_has_all_of_them():
    a, b = Constraints([("a", "b")]), Constraints([("c", "b")], sample_id=["b", "c", "d"])
    assert (a | b).sample_id.tolist() == ["a", "b", "c", "d"]
    assert spoken(a | b) == [("a", "b", "must", 1.0), ("b", "c", "must", 1.0)]


def test_join_of_ids_and_positions_is_refused():
    with pytest.raises(ValueError, match=r"one set names rows by id and the other by position"):
        Constraints([("a", "b")]) | Constraints([(0, 1)])


def test_join_of_declared_ids_and_positions_beyond_them_is_refused():
    with pytest.raises(ValueError, match=r"position"):
        Constraints(sample_id=["a", "b"]) | Constraints([(0, 5)])


def test_join_with_something_else_is_refused():
    with pytest.raises(TypeError, match="unsupported operand"):
        Constraints() | [(0, 1)]


def test_join_keeps_the_sources_of_both():
    a = Constraints.from_frame(pd.DataFrame({"a": [0], "b": [1], "kind": "must", "source": "x"}))
    b = Constraints.from_frame(pd.DataFrame({"a": [1], "b": [0], "kind": "must", "source": "y"}))
    assert sources(a | b | a) == {(0, 1, "must"): "x;y"}


# -- frames ----------------------------------------------------------------------------------------


@every_backend
@given(known(labels=False))
def test_a_frame_brings_positions_and_weights_back(backend, c):
    assert Constraints.from_frame(c.to_frame(backend)) == c


@every_backend
@given(known(labels=False))
def test_a_frame_brings_ids_back(backend, c):
    c = named(c)
    assert Constraints.from_frame(c.to_frame(backend), sample_id=IDS) == c


@every_backend
@given(known())
def test_a_frame_holds_what_labels_entail(backend, c):
    table = c.pairs()
    keys = zip(table["a"].tolist(), table["b"].tolist(), table["kind"].tolist(), strict=True)
    expected: dict = {}
    for key, w in zip(keys, table["weight"].tolist(), strict=True):
        expected[key] = max(w, expected.get(key, 0.0))
    back = Constraints.from_frame(c.to_frame(backend)).pairs().tolist()
    assert {(a, b, kind): w for a, b, kind, w in back} == expected


def frame(backend, **columns):
    base = {"a": [0, 1, 0], "b": [1, 2, 3], "kind": ["must", "cannot", "must"]}
    return make_frame(base | columns, backend)


@every_backend
def test_sources_go_through_frames(backend):
    said = {(0, 1, "must"): "ann", (0, 3, "must"): "bob", (1, 2, "cannot"): "cy"}
    c = Constraints.from_frame(frame(backend, source=["ann", "cy", "bob"]))
    assert sources(c) == said
    assert sources(Constraints.from_frame(c.to_frame(backend))) == said


@every_backend
def test_a_missing_source_is_none(backend):
    c = Constraints.from_frame(frame(backend, source=["ann", None, None]))
    assert sources(c) == {(0, 1, "must"): "ann", (0, 3, "must"): None, (1, 2, "cannot"): None}


@every_backend
def test_a_missing_source_does_not_join_a_real_one(backend):
    df = make_frame(
        {"a": [0, 1], "b": [1, 0], "kind": ["must"] * 2, "source": ["ann", None]}, backend
    )
    assert sources(Constraints.from_frame(df)) == {(0, 1, "must"): "ann"}


def test_sources_of_one_pair_are_joined_once_each():
    df = pd.DataFrame({"a": [0, 1, 0], "b": [1, 0, 1], "kind": "must", "source": ["x", "y", "x"]})
    assert sources(Constraints.from_frame(df)) == {(0, 1, "must"): "x;y"}
    assert Constraints.from_frame(df, merge="sum").pairs()["weight"].tolist() == [3.0]


@every_backend
def test_a_frame_without_weight_and_source(backend):
    c = Constraints.from_frame(frame(backend))
    assert c == Constraints([(0, 1), (0, 3)], [(1, 2)])
    assert set(sources(c).values()) == {None}


@every_backend
def test_columns_of_a_frame(backend):
    plain = Constraints([(0, 1)]).to_frame(backend)
    with_source = Constraints.from_labels([0, 0]).to_frame(backend)
    names = [
        list(f.column_names if isinstance(f, pa.Table) else f.columns) for f in (plain, with_source)
    ]
    assert names == [["a", "b", "kind", "weight"], ["a", "b", "kind", "weight", "source"]]


def test_kinds_may_be_spelled_in_full():
    df = frame("pandas", kind=["Must-Link", " cannot-link ", "MUST"])
    assert Constraints.from_frame(df) == Constraints([(0, 1), (0, 3)], [(1, 2)])


@every_backend
def test_an_unknown_kind_is_refused(backend):
    with pytest.raises(ValueError, match=r"kind must be 'must' or 'cannot'; found 'perhaps'"):
        Constraints.from_frame(frame(backend, kind=["must", "perhaps", "must"]))


def test_a_missing_column_is_refused():
    with pytest.raises(ValueError, match=r"lacks the column 'kind'; .*it has 'a', 'b'\)"):
        Constraints.from_frame(pd.DataFrame({"a": [0], "b": [1]}))


@every_backend
def test_a_missing_weight_is_refused(backend):
    with pytest.raises(ValueError, match=r"weight contains NaN"):
        Constraints.from_frame(frame(backend, weight=[1.0, 2.0, None]))


def test_a_missing_weight_of_a_nullable_column_is_refused():
    df = frame("pandas", weight=pd.array([1, 2, None], dtype="Int64"))
    with pytest.raises(ValueError, match=r"weight contains NaN"):
        Constraints.from_frame(df)


def test_float_positions_of_a_frame_are_refused():
    with pytest.raises(TypeError, match=r"integer row positions, got float"):
        Constraints.from_frame(frame("pandas", a=[0, 1, None]))


def test_something_that_is_no_frame_is_refused():
    with pytest.raises(TypeError, match=r"takes a pandas, polars or pyarrow table .*got list"):
        Constraints.from_frame([(0, 1, "must")])


def test_a_frame_library_that_is_absent_is_named():
    with pytest.raises(
        ImportError, match=r"needs no_such_library: pip install 'linkfield\[frames\]'"
    ):
        Constraints().to_frame("no_such_library")
