"""The protocols of web genres, modern sets and weights: what they measure, and quick runs."""

import os

import numpy as np
import pytest
from made_up_results import rows_of
from scipy import sparse

from linkfield import Constraints, HMRFKMeans
from linkfield.experiments import get, names, run
from linkfield.experiments.pritsos import count_rises, global_objective

needs_folder = pytest.mark.skipif(
    not os.environ.get("LINKFIELD_DATA"), reason="LINKFIELD_DATA is not set"
)


def quick(name, folder):
    """Return the rows of a quick run by method, constraints and noise, of all data."""
    experiment = get(name)
    rows = rows_of(run(name, folder, quick=True))
    assert {r["method"] for r in rows} == {m.name for m in experiment.methods}
    assert len(rows) == sum(1 for _ in experiment.quickened().cells())
    assert all(0 <= r[score] <= 1 for r in rows for score in ("nmi", "accuracy", "pairwise_f"))
    found = {}
    for row in rows:
        found.setdefault((row["method"], row["constraints"], row["noise"]), []).append(row)
    return found


def mean(rows, score="ari"):
    return np.mean([row[score] for row in rows])


@pytest.mark.parametrize("name", names())
def test_quick_variant_is_a_part_of_the_whole(name):
    experiment = get(name)
    part, whole = set(experiment.quickened().cells()), set(experiment.cells())
    assert part < whole and experiment.quickened().variant == "full"
    assert experiment.notes and experiment.title and experiment.paper
    assert not any("," in label for cell in whole for label in (cell.data, cell.method))


def test_count_rises():
    assert count_rises(np.array([4.0, 3.0, 3.3, 1.0, 2.0])) == 2
    assert count_rises(np.array([4.0, 3.0, 3.0 + 1e-13, 1.5])) == 0
    assert count_rises(np.array([-2.0, -1.0])) == 1
    assert count_rises(np.array([4.0])) == 0


def test_global_objective_is_the_sum_over_all_clusters():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.random((30, 5)))
    known = Constraints([(0, 1), (2, 3)], [(4, 5)])
    model = HMRFKMeans(3, distortion="cosine", metric="diagonal", random_state=0)
    model.fit(X, constraints=known)
    a, dense = model.metric_, X.toarray()

    def distance(x, y):
        return 1 - (x * a * y).sum() / np.sqrt((x * a * x).sum() * (y * a * y).sum())

    centres, labels = np.asarray(model.cluster_centers_), model.labels_
    total = sum(distance(x, c) for x in dense for c in centres)
    for h in range(3):
        for i, j in ((0, 1), (2, 3)):
            total += distance(dense[i], dense[j]) * (h != labels[j])
        total += (1 - distance(dense[4], dense[5])) * (h == labels[5])
    assert global_objective(model, X, known) == pytest.approx(total)


@needs_folder
def test_pritsos_falls_in_every_step_and_eq_26_does_not(tmp_path):
    found = quick("pritsos", tmp_path)
    rows = [row for part in found.values() for row in part]
    assert max(row["rises"] for row in rows) == 0
    assert min(row["rises_equation_26"] for row in rows) > 0
    for kind in ("objective", "equation_26"):
        traces = np.array([[row[f"{kind}_after_{t}"] for t in range(1, 11)] for row in rows])
        assert (traces[:, 0] == 1).all()
        rises = np.diff(traces, axis=1).max(axis=1)
        if kind == "objective":
            assert rises.max() < 1e-10 and traces[:, -1].max() < 0.999
        else:
            assert rises.min() > 1e-5
    # Without a prior one word takes all the weight.
    scores = {cell: mean(part) for cell, part in found.items()}
    alone = [scores.pop(cell) for cell in list(scores) if cell[0] == "no prior"]
    assert max(alone) < 0.4 < min(scores.values())


@needs_folder
def test_modern(tmp_path):
    found = quick("modern", tmp_path)
    assert len({mean(found["k-means", c, noise]) for c in (0, 2000) for noise in (0, 0.1)}) == 1
    for method in ("HMRFKMeans", "PCKMeans", "HMRFKMeans (noisy)"):
        assert mean(found[method, 0, 0]) == mean(found[method, 0, 0.1])
    wrong = found["HMRFKMeans", 2000, 0.1][0]
    assert 0 < wrong["violated"] < 500  # about 200 of the pairs are wrong


def test_weights(tmp_path):
    found = quick("weights", tmp_path)
    light, heavy = found["weight 0.001 (pairs only)", 200, 0], found["weight 10 (closure)", 200, 0]
    assert mean(light, "violated") > mean(heavy, "violated")  # weights do weigh
    assert mean(found["weight 1 (closure)", 200, 0]) > 0.6
    heavy, light = (mean(found[f"weight {w} (closure)", 200, 0.1]) for w in ("10", "0.01"))
    assert heavy < light  # wrong pairs, and what they entail, are not to be taken too seriously


def test_defaults(tmp_path):
    found = quick("defaults", tmp_path)
    assert mean(found["auto", 50, 0]) >= mean(found["diagonal (one start)", 50, 0]) - 0.05
    assert mean(found["auto", 50, 0]) > mean(found["k-means", 50, 0])
