"""Teachers and pairs of Law et al. 2005: what they say, and quick runs."""

import numpy as np
import pytest
from made_up_results import rows_of

from linkfield.experiments import four_gaussians, get, run
from linkfield.experiments._shared import Components
from linkfield.experiments.draws import Drawing, seed_of
from linkfield.experiments.law2005 import Teachers


def asked(share, noise=0.2, seed=0, n=600, n_clusters=6):
    """Return the labels of some rows, -1 for every third, and what teachers say of them."""
    labels = np.random.default_rng(1).integers(0, n_clusters, n)
    labels[::3] = -1
    X = np.zeros((n, 2))
    drawing = Drawing(X, labels, n_clusters, share, noise, seed_of(seed))
    return labels, Teachers()(drawing).groups


def test_teachers_label_their_number_of_hidden_rows_once():
    labels, groups = asked(20)
    assert len(groups.row) == 84 == len(np.unique(groups.row))  # 7 teachers of 12: 20% of 400
    assert (np.bincount(groups.teacher.astype(int)) == 12).all()
    assert (labels[groups.row] >= 0).all()
    assert (groups.confidence == 0.5).all()
    assert groups.strength.min() >= 0.6 and groups.strength.max() <= 1
    for group in range(groups.n_groups):  # one group for each teacher and name
        here = groups.group == group
        assert len({*zip(groups.teacher[here], groups.label[here], strict=True)}) == 1


def test_teachers_err_as_often_as_they_say():
    wrong, expected, names = 0, 0.0, set()
    for seed in range(40):
        labels, groups = asked(20, seed=seed)
        mistaken = groups.label.astype(int) != labels[groups.row]
        wrong, expected = wrong + mistaken.sum(), expected + (1 - groups.strength).sum()
        names |= set(groups.label[mistaken].tolist())
    assert abs(wrong - expected) < 4 * np.sqrt(expected)  # 672 expected, 26 is a deviation
    assert names == set(range(6))
    labels, groups = asked(20, noise=0.0)
    assert (groups.label.astype(int) == labels[groups.row]).all() and (groups.strength == 1).all()


def test_fewer_teachers_are_the_first_of_more():
    few, many = (
        {*zip(g.teacher, g.row.tolist(), g.label, g.strength.tolist(), strict=True)}
        for _, g in (asked(5), asked(20))
    )
    assert few < many and len(few) == 24
    assert len(asked(0.1)[1].row) == 12  # never fewer than one teacher


def test_pairs_of_a_smaller_share_are_the_first_of_a_larger_one():
    few, many = four_gaussians(0.05, random_state=3), four_gaussians(0.15, random_state=3)
    np.testing.assert_array_equal(few.X, many.X)
    pairs = [{tuple(rows.tolist()) for rows in one.groups.members()} for one in (few, many)]
    assert pairs[0] < pairs[1]


def test_components_are_those_of_standardised_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    found = Components(2)(X)
    assert found.shape == (80, 2)
    np.testing.assert_allclose(Components(2)(X * [1, 10, 100, 1000]), found, atol=1e-9)
    assert not np.allclose(Components(2, standardise=False)(X), found)


@pytest.mark.parametrize("name", ["law2005-synthetic", "law2005-teachers"])
def test_quick_run(name, tmp_path):
    experiment = get(name)
    rows = rows_of(run(name, tmp_path, quick=True))
    assert {r["method"] for r in rows} == {m.name for m in experiment.methods}
    assert all(0.5 <= r["accuracy"] <= 1 for r in rows)  # two classes
    assert all(r["violated"] is None for r in rows)  # no pairs were given
    found = {(r["method"], r["constraints"], r["noise"]): r["accuracy"] for r in rows}
    if name == "law2005-synthetic":  # 15% of the rows in pairs turn the clusters, nothing else does
        assert found["posterior full", 15, 0.2] > 0.85
        assert max(found[f"{m} full", 15, 0.2] for m in ("none", "soft", "hard")) < 0.6
    else:
        assert found["posterior", 20, 0] > found["none", 20, 0]
        assert len({found["none", 20, noise] for noise in (0, 0.2)}) == 1
