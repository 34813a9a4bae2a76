"""The papers' protocols: their grids, and quick runs of them."""

import os

import pytest
from made_up_results import rows_of

from linkfield.experiments import get, run

NAMES = ("basu2003", "basu2004", "bilenko2004")
#: What the papers and maths.md 7 say: numbers of rows' sets, folds, least runs, constraints.
GRIDS = {
    "basu2003": (4, 10, 50, (0, 10, 20, 50, 100, 200, 400)),
    "basu2004": (6, 2, 20, (0, 50, 100, 200, 300, 400, 500)),
    "bilenko2004": (3, 2, 10, (0, 10, 20, 50, 100, 200, 400)),
}


@pytest.mark.parametrize("name", NAMES)
def test_grid_is_the_papers(name):
    experiment = get(name)
    n_data, folds, runs, constraints = GRIDS[name]
    assert experiment.name == name and experiment.paper and experiment.title
    assert (len(experiment.data), experiment.folds) == (n_data, folds)
    assert experiment.runs >= runs and experiment.constraints == constraints
    quick, full = set(experiment.quickened().cells()), set(experiment.cells())
    assert quick < full and 10 <= len(quick) <= 200
    assert experiment.quickened().variant == "full"  # a part of the full results


@pytest.mark.parametrize("name", NAMES)
def test_quick_run(name, tmp_path):
    if name == "basu2004" and not os.environ.get("LINKFIELD_DATA"):
        pytest.skip("LINKFIELD_DATA is not set")
    rows = rows_of(run(name, tmp_path, quick=True))
    assert len(rows) == sum(1 for _ in get(name).quickened().cells())
    for row in rows:
        assert all(0 <= row[score] <= 1 for score in ("pairwise_f", "nmi", "accuracy"))
        assert row["violated"] <= row["constraints"]
        assert (row["energy"] is not None) == (name == "bilenko2004")
    known = {(r["data"], r["method"], r["constraints"], r["run"], r["fold"]): r for r in rows}
    if name == "basu2004":  # without constraints the ablations are plain k-means
        for key, row in known.items():
            if key[1] == "K-Means" and key[2] == 0:
                for other in ("KMeans-I", "KMeans-I-C"):
                    assert known[(key[0], other, *key[2:])]["nmi"] == row["nmi"]
    if name == "bilenko2004":  # each faces the same field, and "auto" is never worse than ICM
        for key, row in known.items():
            if key[1] == "ICM":
                auto = known[(key[0], "auto", *key[2:])]
                assert auto["energy"] <= row["energy"] * (1 + 1e-9)
                if key[2] == 0:
                    assert auto["energy"] == pytest.approx(row["energy"])


def test_unknown_name():
    with pytest.raises(ValueError, match=r"no experiment 'basu'; there are basu2003"):
        get("basu")
