"""The harness: how times are taken, and what other packages are asked."""

import json
import math
import sys
import time

import numpy as np
import pytest
from scipy import sparse

from linkfield.bench import measure, peers
from linkfield.bench.data import Dense, Text, short, start_centres
from linkfield.bench.measure import RefusedError, Spread, Times, Watch, compare, iteration
from linkfield.bench.report import Report, benchmark, cells
from linkfield.bench.side_by_side import Given, beside
from linkfield.bench.tables import seconds, table


@pytest.fixture(autouse=True)
def no_floor(monkeypatch):
    monkeypatch.setattr(measure, "FLOOR", 0.0)
    monkeypatch.setattr(measure, "PAUSE", 0.0)


def test_the_same_seed_gives_the_same_data():
    for data in (Dense(300, 5, 3), Text(80, 60, 3, words=10)):
        (X, y), (again, same) = data.make(), data.make()
        difference = again != X
        assert (difference.nnz if sparse.issparse(X) else difference.sum()) == 0
        assert (y == same).all() and X.shape[0] == len(y)
    lengths = sparse.linalg.norm(Text(80, 60, 3, words=10).make()[0], axis=1)
    assert np.allclose(lengths, 1, atol=1e-5)


def test_start_centres_are_rows_or_means_of_rows():
    X, _ = Dense(50, 3, 2).make()
    centres = start_centres(X, 4)
    assert all((centre == X).all(axis=1).any() for centre in centres)
    words, _ = Text(30, 40, 3, words=5).make()
    assert start_centres(words, 10).shape == (10, 40)  # fewer than 20 rows a centre


def test_candidates_take_turns_after_a_warm_up():
    calls = []
    run = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    times = compare(run, 3)
    assert calls == list("ab" * 4)
    assert [len(times.rounds[name]) for name in "ab"] == [3, 3]


def test_a_fit_that_stops_early_is_refused_not_divided_by_little():
    times = compare({"stops": lambda most: min(most, 6), "goes": lambda most: most}, 2, iteration)
    assert times.refused == {"stops": "stopped after 6 iterations"}
    with pytest.raises(RefusedError):
        iteration(lambda most: 4)


def test_an_iteration_is_the_difference_of_two_fits():
    def fit(most):
        time.sleep(0.02 + 0.002 * most)
        return most

    spent, made = iteration(fit)
    assert made == (measure.FEW, measure.MANY)
    assert 0.001 < spent < 0.01


def test_a_quotient_is_that_of_the_medians_and_lies_in_its_spread():
    times = Times({"a": [1.0, 4.0, 3.0], "b": [2.0, 2.0, 5.0]}, {}, Watch())
    assert times.quotient("a", "b") == Spread(1.5, 0.5, 2.0)
    assert times.ratio("a", "b").median == 0.6  # within a round: another figure
    lost = Times({"a": [math.nan, 1.0], "b": [1.0, 2.0]}, {}, Watch())
    assert lost.quotient("a", "b").median == pytest.approx(2 / 3)


def test_figures_are_written_for_people():
    assert [seconds(v) for v in (2.5, 0.0123, 4e-6, math.nan)] == ["2.5 s", "12.3 ms", "4 µs", "-"]
    assert [short(v) for v in (1_000_000, 20_000, 750)] == ["1M", "20k", "750"]
    assert table(["x", "y"], [[1, 2]]) == "| x | y |\n|---|---|\n| 1 | 2 |"


def test_more_pairs_than_rows_can_bear_are_cut_and_named():
    told = []
    result = beside(Dense(200, 4, 3), 1, (0, 100, 10_000), told.append)
    assert [line.candidate for line in result.lines] == [
        "scikit-learn lloyd",
        "scikit-learn elkan",
        "linkfield, no pairs",
        "linkfield, 100 pairs",
        "linkfield, 1k pairs",
    ]
    assert len(told) == 3
    assert cells(result.lines[0])[4] == "1"


def test_rows_without_classes_get_those_of_k_means():
    X, _ = Dense(60, 3, 2).make()
    rows, y = Given("mine", X, 2).make()
    assert rows is X and set(y) == {0, 1}
    kinds = np.repeat([0, 1], 30)
    assert Given("mine", X, 2, kinds).make()[1] is kinds


def test_a_report_says_when_the_machine_was_busy(monkeypatch):
    report = benchmark([Dense(200, 4, 3)], 1, peers=False)
    quiet = Report([type(report.results[0])("x", [], 0.01)], [], [], 1)
    busy = Report([type(report.results[0])("x", [], 0.4)], [], ["faiss-cpu"], 1)
    assert not any("Other work" in note for note in quiet.notes())
    assert any("40% of this machine" in note for note in busy.notes())
    assert any("faiss-cpu" in note for note in busy.notes())
    assert json.dumps(report.as_dict(), allow_nan=False)


# ----------------------------------------------------------------------- peers


def test_peers_are_timed_where_they_are_installed(monkeypatch):
    monkeypatch.setattr(
        peers,
        "MODULES",
        {
            "linkfield": ("linkfield", ()),
            "scikit-learn": ("sklearn", ("KMeans",)),
            "numpy": ("numpy", ("nothing",)),
            "faiss-cpu": ("a_module_that_is_not_there", ("Kmeans",)),
        },
    )
    found, missing = peers.peers(n_rows=500, n_pairs=60)
    assert missing == ["faiss-cpu"]
    assert [p.package for p in found] == ["scikit-learn", "numpy"]
    assert found[0].seconds > 0 and found[0].rand > 0.05 and found[0].note == ""
    assert math.isnan(found[1].seconds) and "KeyError" in found[1].note


def test_without_other_packages_nothing_is_run(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "faiss" else object())
    monkeypatch.setattr(
        peers, "MODULES", {n: peers.MODULES[n] for n in ("linkfield", "scikit-learn", "faiss-cpu")}
    )
    assert peers.peers() == ([], ["faiss-cpu"])


def test_a_process_that_is_late_is_stopped_and_what_it_said_is_kept():
    code = "print('{\"a\": 1}', flush=True); import time; time.sleep(60)"
    answers, error = peers.answers_of([sys.executable, "-c", code], 2.0)
    assert (answers, error) == ([{"a": 1}], "late")
    answers, error = peers.answers_of([sys.executable, "-c", "raise ValueError('why')"], 30.0)
    assert (answers, error) == ([], "ValueError: why")
