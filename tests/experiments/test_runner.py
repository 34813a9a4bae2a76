"""Running experiments: the right scores, no test label in a fit, never a cell twice."""

import csv
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from made_up_results import rows_of
from sklearn import metrics

from linkfield.experiments import get, run
from linkfield.experiments.data import DataSet
from linkfield.experiments.draws import Known, random_pairs, seed_of, split
from linkfield.experiments.protocol import Experiment, Fit, Method, Source

NAMES = ("a", "b", "c")


def blobs(data_dir, seed):
    """Three classes on a line; the last feature is the row's number."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 60)
    return DataSet("blobs", np.c_[y + rng.normal(0, 0.4, 60), np.arange(60)], y, NAMES)


def threshold(task):
    """Three stretches of the first feature, with a little chance and the constraints in it."""
    told = task.constraints.n_must_link + 0.001 * task.constraints.n_cannot_link
    shift = np.random.default_rng(task.seed).normal(0, 0.2)

    def cut(X):
        return np.digitize(X[:, 0], [0.5 + shift + 0.01 * told, 1.5])

    others = None if task.others is None else cut(task.others)
    return Fit(cut(task.X), others, objective=told, iterations=3)


def constant(task):
    others = None if task.others is None else np.zeros(task.others.shape[0], int)
    n_must_link = task.constraints.n_must_link
    return Fit(np.zeros(len(task.X), int), others, objective=float(n_must_link))


def small(**changes):
    parts = {
        "name": "small", "title": "A small one", "paper": "nobody", "runs": 3, "folds": 2,
        "data": (Source("blobs", blobs),), "constraints": (0, 5, 40), "noise": (0.0, 0.1),
        "methods": (Method("threshold", threshold), Method("constant", constant)),
    }  # fmt: skip
    return Experiment(**{**parts, **changes})


def lines(path, without="seconds"):
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    k = rows[0].index(without)
    return [row[:k] + row[k + 1 :] for row in rows]


class Spy:
    """A method that remembers its tasks and can be made to fail."""

    def __init__(self, fail_at=None):
        self.tasks, self.fail_at = [], fail_at

    def __call__(self, task):
        if len(self.tasks) == self.fail_at:
            raise ValueError("no more")
        self.tasks.append(task)
        return threshold(task)


def spied(spy, **changes):
    return small(methods=(Method("spy", spy, warm_up=False),), **changes)


# ---------------------------------------------------------------- the values


def test_scores_are_those_of_the_test_rows(tmp_path):
    experiment = small()
    rows = rows_of(run(experiment, tmp_path))
    assert len(rows) == 3 * 2 * 2 * 3 * 2
    data = blobs(None, 0)
    for row in rows:
        if row["method"] != "threshold" or row["constraints"]:
            continue
        key = (experiment.seed, "blobs", row["run"])
        test = split(60, 2, seed_of(*key, "split"))[row["fold"]]
        seed = int(seed_of(*key, row["fold"], "start").generate_state(1)[0] >> 1)
        shift = np.random.default_rng(seed).normal(0, 0.2)
        labels, y = np.digitize(data.X[test, 0], [0.5 + shift, 1.5]), data.y[test]
        assert row["ari"] == pytest.approx(metrics.adjusted_rand_score(y, labels))
        assert row["nmi"] == pytest.approx(metrics.normalized_mutual_info_score(y, labels))
        same_class, same = (np.equal.outer(v, v)[np.triu_indices(len(v), 1)] for v in (y, labels))
        f_score = 2 * (same & same_class).sum() / (same.sum() + same_class.sum())
        assert row["pairwise_f"] == pytest.approx(f_score)
        assert row["satisfied_held_out"] == pytest.approx(np.mean(same == same_class))
        table = metrics.confusion_matrix(y, labels)
        assert np.trace(table) / len(y) <= row["accuracy"] <= 1
        assert row["violated"] == 0 and row["iterations"] == 3


def test_violated_counts_the_given_pairs(tmp_path):
    rows = rows_of(run(small(noise=(0.0,)), tmp_path))
    for row in (r for r in rows if r["method"] == "constant"):
        assert row["violated"] == row["constraints"] - row["objective"]  # all cannot-links


def test_one_fit_serves_all_numbers_of_constraints_where_they_are_ignored(tmp_path):
    spy = Spy()
    method = Method("spy", spy, ignores_constraints=True, warm_up=False)
    path = run(small(methods=(method,)), tmp_path)
    assert len(spy.tasks) == 3 * 2  # runs x folds
    assert all(task.constraints.n_must_link == 0 for task in spy.tasks)
    assert len(rows_of(path)) == 3 * 2 * 3 * 2


def test_methods_share_seeds_and_pairs(tmp_path):
    one, two = Spy(), Spy()
    methods = (Method("one", one, warm_up=False), Method("two", two, warm_up=False))
    run(small(methods=methods), tmp_path)
    assert len(one.tasks) == 3 * 2 * (1 + 2 * 2)  # nothing is told at 0, whatever the noise
    assert len({task.seed for task in one.tasks}) == 3 * 2
    for a, b in zip(one.tasks, two.tasks, strict=True):
        assert a.seed == b.seed and a.constraints == b.constraints
        np.testing.assert_array_equal(a.X, b.X)
    by_seed = {}
    for task in one.tasks:
        table = task.constraints.pairs()
        pairs = {(int(a), int(b)) for a, b in zip(table["a"], table["b"], strict=True)}
        by_seed.setdefault(task.seed, []).append(pairs)
    for nothing, few, few_noisy, many, many_noisy in by_seed.values():
        assert nothing < few == few_noisy < many == many_noisy
        assert (len(few), len(many)) == (5, 40)


def test_sources_that_say_so_share_their_draws(tmp_path):
    spy = Spy()
    data = tuple(Source(name, blobs, draws="both") for name in ("left", "right"))
    run(spied(spy, data=(*data, Source("third", blobs)), runs=1, noise=(0.0,)), tmp_path)
    seeds = [task.seed for task in spy.tasks]
    left, right, third = seeds[:3], seeds[3:6], seeds[6:9]
    assert left == right != third


def test_own_columns_and_fits_without_an_answer(tmp_path):
    def some(task):
        labels = None if task.constraints.tied_rows().size else np.zeros(len(task.X), int)
        return Fit(labels, extra={"weight": 0.25})

    experiment = small(methods=(Method("some", some),), extra=("weight",))
    rows = rows_of(run(experiment, tmp_path))
    assert {row["weight"] for row in rows} == {0.25}
    for row in rows:
        assert (row["nmi"] is None) == (row["constraints"] > 0)
        assert row["seconds"] >= 0
    with pytest.raises(ValueError, match=r"no column for \['weight'\]"):
        run(replace(experiment, extra=(), name="other"), tmp_path)


def test_without_folds_rows_outside_the_constraints_are_scored(tmp_path):
    spy = Spy()
    rows = rows_of(run(spied(spy, folds=1, runs=1, noise=(0.0,)), tmp_path))
    data = blobs(None, 0)
    for row, task in zip(rows, spy.tasks, strict=True):
        free = np.setdiff1d(np.arange(60), task.constraints.tied_rows())
        labels = threshold(task).labels
        assert row["ari"] == pytest.approx(metrics.adjusted_rand_score(data.y[free], labels[free]))


# --------------------------------------------------- labels of the test rows


@pytest.mark.parametrize("changes", [{}, {"cluster": "train"}, {"folds": 5}], ids=str)
def test_pairs_come_from_training_rows_and_tests_are_kept_apart(tmp_path, changes):
    spy = Spy()
    experiment = spied(spy, runs=1, noise=(0.0,), **changes)
    run(experiment, tmp_path)
    tests = split(60, experiment.folds, seed_of(experiment.seed, "blobs", 0, "split"))
    seen = [task for task in spy.tasks if task.constraints.n_cannot_link]
    assert len(seen) == 2 * experiment.folds
    for number, task in enumerate(seen):
        test = set(tests[number // 2])
        tied = {int(k) for k in task.X[task.constraints.tied_rows(), 1]}  # rows by their number
        assert tied and not tied & test
        if changes.get("cluster") == "train":
            assert set(task.X[:, 1]) == set(range(60)) - test
            assert set(task.others[:, 1]) == test
        else:
            assert len(task.X) == 60 and task.others is None


class Changed:
    """A source whose labels are overwritten in some rows."""

    def __init__(self, load, rows):
        self.load, self.rows = load, rows

    def __call__(self, data_dir, seed):
        found = self.load(data_dir, seed)
        y = found.y.copy()
        y[self.rows] = np.random.default_rng(1).integers(0, found.n_clusters, len(self.rows))
        return replace(found, y=y)


def fitted_labels(experiment, out):
    """Return everything that every fit of an experiment finds."""
    found = []

    def watched(method):
        def fit(task):
            result = method.fit(task)
            found.append((result.labels.tolist(), result.objective, result.iterations))
            return result

        return replace(method, fit=fit, warm_up=False)

    path = run(replace(experiment, methods=tuple(map(watched, experiment.methods))), out)
    return found, [row["nmi"] for row in rows_of(path)]


@pytest.mark.parametrize("name", ["basu2003", "basu2004", "bilenko2004", "small"])
def test_no_test_label_reaches_any_fit(name, tmp_path):
    if name == "basu2004" and not os.environ.get("LINKFIELD_DATA"):
        pytest.skip("LINKFIELD_DATA is not set")
    if name == "small":
        experiment = small(runs=1, cluster="train", folds_run=1)
    else:
        experiment = replace(get(name).quickened(), runs=1, folds_run=1, constraints=(0, 60))
        experiment = replace(experiment, data=experiment.data[:1])
    (source,) = experiment.data
    n = len(source.load(None, 0).y)
    test = split(n, experiment.folds, seed_of(experiment.seed, source.chance, 0, "split"))[0]
    train = np.setdiff1d(np.arange(n), test)
    results = []
    for number, rows in enumerate((train[:0], test, train[::2])):
        changed = replace(source, load=Changed(source.load, rows))
        where = tmp_path / str(number)
        results.append(fitted_labels(replace(experiment, data=(changed,)), where))
    (fits, scores), (same_fits, other_scores), (other_fits, _) = results
    assert fits == same_fits
    assert scores != other_scores  # the labels did change
    assert fits != other_fits  # and a fit does notice labels that it may know


def test_a_draw_never_sees_a_test_label(tmp_path):
    seen = []

    def looking(drawing):
        seen.append(drawing.labels)
        return random_pairs(drawing)

    experiment = small(draw=looking, runs=1)
    run(experiment, tmp_path)
    tests = split(60, 2, seed_of(experiment.seed, "blobs", 0, "split"))
    y = blobs(None, 0).y
    assert len(seen) > 5
    for labels in seen:
        hidden = labels < 0
        assert any(np.array_equal(np.flatnonzero(hidden), test) for test in tests)
        np.testing.assert_array_equal(labels[~hidden], y[~hidden])


# ------------------------------------------------------ stopping and going on


def stop_after(count):
    def progress(done, total, what):
        if done >= count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("torn", [0, 1, 7, 60])
def test_a_killed_run_goes_on_and_no_cell_is_run_twice(tmp_path, torn):
    whole = run(spied(Spy()), tmp_path / "whole")
    first, second = Spy(), Spy()
    out = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        run(spied(first), out, progress=stop_after(16))
    path = out / "small.csv"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - torn])  # the last line was being written
    assert run(spied(second), out) == path
    assert lines(path) == lines(whole)
    assert len(rows_of(path)) == 3 * 2 * 3 * 2
    # 30 tasks, since one without constraints is the same for both levels of noise. The torn cell
    # is fitted again, and so is a task whose other level was not reached.
    again = len(first.tasks) + len(second.tasks) - 3 * 2 * (1 + 2 * 2)
    assert again == (1 if torn else 0)


def test_lines_are_there_as_soon_as_a_cell_is_finished(tmp_path):
    sizes = []

    def progress(done, total, what):
        path = tmp_path / "small.csv"
        sizes.append((done, len(rows_of(path))))

    run(small(runs=1), tmp_path, progress=progress)
    assert len(sizes) > 20
    assert all(done == written for done, written in sizes)


def test_a_failed_fit_says_where_and_keeps_the_lines(tmp_path):
    with pytest.raises(ValueError, match="no more") as failure:
        run(spied(Spy(fail_at=7)), tmp_path)
    assert "small" in failure.value.__notes__[0] and "run=" in failure.value.__notes__[0]
    assert len(rows_of(tmp_path / "small.csv")) >= 7
    spy = Spy()
    assert lines(run(spied(spy), tmp_path)) == lines(run(spied(Spy()), tmp_path / "whole"))
    assert len(spy.tasks) < 30


def test_nothing_is_done_where_all_is_done(tmp_path):
    path = run(small(), tmp_path)
    before = path.read_bytes(), (tmp_path / "small.json").read_bytes()
    spy, seen = Spy(), []
    again = small(methods=(Method("threshold", spy), Method("constant", spy)))
    run(again, tmp_path, progress=lambda *how: seen.append(how))
    assert not spy.tasks and seen == [(72, 72, "")]
    assert before == (path.read_bytes(), (tmp_path / "small.json").read_bytes())


def test_runs_can_be_added(tmp_path):
    run(small(), tmp_path / "parts", runs=1)
    parts = run(small(), tmp_path / "parts")
    assert lines(parts) == lines(run(small(), tmp_path / "whole"))
    assert json.loads(parts.with_suffix(".json").read_text())["protocol"]["runs"] == 3


def test_lines_are_sorted_and_the_record_says_how(tmp_path):
    path = run(small(constraints=(5, 40, 0)), tmp_path)
    keys = [tuple(row.values())[:6] for row in rows_of(path)]
    assert keys == sorted(keys)
    header = path.read_text().partition("\n")[0]
    assert header == (
        "data,method,constraints,noise,run,fold,pairwise_f,nmi,ari,accuracy,objective,energy,"
        "seconds,iterations,violated,satisfied_held_out"
    )
    record = json.loads((tmp_path / "small.json").read_text())
    assert {"name", "title", "paper", "protocol", "seed", "versions", "command"} < set(record)
    assert record["started"] <= record["finished"] and record["cells"] == len(keys)
    assert set(record["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "linkfield"}
    assert record["command"] == "linkfield experiment run small"
    assert {p.name for p in tmp_path.iterdir()} == {"small.csv", "small.json"}


def test_results_of_another_protocol_are_not_mixed_in(tmp_path):
    path = run(small(runs=1), tmp_path)
    before = path.read_bytes()
    for change in ({"seed": 1}, {"folds": 3}, {"draw": nothing}):
        with pytest.raises(ValueError, match=r"made with .*choose another folder"):
            run(small(**change), tmp_path)
    with pytest.raises(ValueError, match="other columns"):
        run(small(extra=("weight",)), tmp_path)
    record = tmp_path / "small.json"
    made = json.loads(record.read_text())
    made["versions"]["linkfield"] = "0.0.1"
    record.write_text(json.dumps(made))
    with pytest.raises(ValueError, match=r"versions.*0\.0\.1"):
        run(small(), tmp_path)
    record.unlink()
    with pytest.raises(ValueError, match=r"without small\.json"):
        run(small(), tmp_path)
    assert path.read_bytes() == before


def nothing(drawing):
    return Known()


def test_quick_variant_that_changes_more_than_the_cells_stands_apart(tmp_path):
    part = small(quick={"runs": 1, "constraints": (0, 5)})
    run(part, tmp_path / "same", quick=True)
    assert lines(run(part, tmp_path / "same")) == lines(run(part, tmp_path / "whole"))
    other = small(quick={"folds": 3})
    run(other, tmp_path / "other", quick=True)
    with pytest.raises(ValueError, match="variant = quick, not full"):
        run(other, tmp_path / "other")


def test_workers_change_nothing(tmp_path):
    one, two = (run("basu2003", tmp_path / str(w), runs=1, quick=True, workers=w) for w in (1, 2))
    assert lines(one) == lines(two)
    assert len(lines(one)) > 50


def test_wrong_numbers_are_refused(tmp_path):
    for wrong in ({"workers": 0}, {"runs": 0}):
        with pytest.raises(ValueError, match="1 or more"):
            run(small(), tmp_path, **wrong)
    for wrong in ({"cluster": "some"}, {"folds": 0}, {"folds": 1, "cluster": "train"},
                  {"methods": (Method("x", constant), Method("x", constant))}):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be|leaves no|twice"):
            small(**wrong)
