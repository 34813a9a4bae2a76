"""The report of a fit says what the fit says, in words that cannot become markup."""

from __future__ import annotations

import re
import sys
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkfield import (
    ConstrainedGaussianMixture,
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    PCKMeans,
)
from linkfield.reports import write_fit_report

WINE = load_wine()
VOID = {"meta", "path", "use", "rect", "line", "circle", "br"}


class Page(HTMLParser):
    """Well-formed, its words, its tables, and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.open: list[str] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.cell: list[str] | None = None
        self.feed(text)
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)
        assert {t.removeprefix("#") for t in self.targets} <= set(self.ids)
        assert "://" not in text and "<script" not in text and "@import" not in text
        assert "prefers-color-scheme: dark" in text and "#fe0" not in text

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = []
        self._note(attributes)

    def handle_startendtag(self, tag, attributes):
        self._note(attributes)

    def _note(self, attributes):
        for name, value in attributes:
            assert name not in ("src", "srcset", "onload", "onerror", "onclick")
            if name == "id":
                self.ids.append(value)
            elif name == "href":
                self.targets.append(value)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.tables[-1][-1].append("".join(self.cell))
            self.cell = None

    def handle_data(self, data):
        self.words.append(data)
        if self.cell is not None:
            self.cell.append(data)

    @property
    def said(self) -> str:
        return " ".join("".join(self.words).split())

    def table(self, column: str) -> list[dict[str, str]]:
        """The lines of the first table that has a column of this name."""
        found = next(t for t in self.tables if column in t[0])
        return [dict(zip(found[0], line, strict=True)) for line in found[1:]]


def page_of(path: Path, *args, **options) -> Page:
    target = path / "report.html"
    assert write_fit_report(target, *args, **options) == target
    assert [p.name for p in path.iterdir()] == ["report.html"]
    return Page(target.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wine():
    known = Constraints.from_labels(WINE.target, n_pairs=150, noise=0.25, random_state=0)
    model = HMRFKMeans(3, metric="diagonal", closure=False, random_state=0)
    return WINE.data, known, model.fit(WINE.data, constraints=known)


def test_the_summary_is_that_of_the_fit(wine, tmp_path):
    X, known, model = wine
    page = page_of(tmp_path, model, X, before=WINE.target, about={"file": "wine.csv"})
    sizes = np.bincount(model.labels_)
    broken = len(model.violations_)
    assert broken > 0
    assert "178 rows of 13 features in 3 clusters, found by HMRFKMeans" in page.said
    assert f"the largest has {sizes.max()} rows, the smallest {sizes.min()} rows" in page.said
    assert f"after {model.n_iter_} iterations; the objective is {model.objective_:.5g}" in page.said
    assert f"Of {known.n_must_link + known.n_cannot_link} constraints" in page.said
    assert f"{known.n_must_link + known.n_cannot_link - broken} are kept and {broken}" in page.said
    assert "Metric diagonal : one weight a feature was learned" in page.said.replace("l:", "l :")
    assert "wine.csv" in page.said and "linkfield 0." in page.said
    assert page.text.count("<svg") == 6
    assert [line["parameter"] for line in page.table("parameter")] == sorted(model.get_params())


def test_the_clusters_are_those_of_the_fit(wine, tmp_path):
    X, _, model = wine
    page = page_of(tmp_path, model, X, feature_names=WINE.feature_names)
    lines = page.table("nearest to its centre")
    sizes = np.bincount(model.labels_)
    silhouettes = silhouette_samples(X * np.sqrt(model.metric_), model.labels_)
    D = model.transform(X)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert [int(line["rows"]) for line in lines] == sorted(sizes, reverse=True)
    for line in lines:
        h = int(line["cluster"])
        mine = np.flatnonzero(model.labels_ == h)
        assert int(line["rows"]) == sizes[h]
        assert line["mean silhouette"] == f"{silhouettes[mine].mean():.2f}"
        nearest = mine[np.argsort(D[mine, h], kind="stable")[:5]]
        assert line["nearest to its centre"] == ", ".join(map(str, nearest))
        first, shift = line["set apart by"].split(", ")[0].rsplit(" ", 1)
        apart = z[mine].mean(axis=0)
        j = int(np.abs(apart).argmax())
        assert first == WINE.feature_names[j]
        assert float(shift.replace("−", "-")) == pytest.approx(apart[j], abs=0.051)


def test_clusters_have_names(wine, tmp_path):
    X, _, model = wine
    page = page_of(tmp_path, model, X, about={"cluster_names": ["red <b>", "", None]})
    names = {line["cluster"] for line in page.table("share")}
    assert names == {"0: red <b>", "1", "2"} and "cluster_names" not in page.said


def test_violations_are_listed_by_cost_in_the_users_ids(wine, tmp_path):
    X, known, _ = wine
    ids = [f"bottle {i}" for i in range(178)]
    named = Constraints(
        *[[(ids[a], ids[b]) for a, b, k, _ in known.pairs() if k == kind]
          for kind in ("must", "cannot")]
    )  # fmt: skip
    model = HMRFKMeans(3, metric="diagonal", closure=False, random_state=0)
    model.fit(X, constraints=named, sample_id=ids)
    page = page_of(tmp_path, model, X, constraints=named, sample_id=ids)
    wanted = model.violations_[np.argsort(-model.violations_["cost"], kind="stable")]
    target = page.tables[[t[0][:2] == ["row", "row"] for t in page.tables].index(True)][1:]
    assert len(target) == min(50, len(wanted))
    for line, cells in zip(wanted, target, strict=False):
        assert {cells[0], cells[1]} == {line["a"], line["b"]}
        assert cells[2] == f"{line['kind']}-link"
        assert float(cells[6]) == pytest.approx(line["cost"], rel=1e-4)
    assert "bottle" in page.table("nearest to its centre")[0]["nearest to its centre"]


def test_many_violations_are_counted_not_listed(tmp_path):
    n = 120
    X = np.r_[np.zeros((n, 1)), np.full((n, 1), 50.0)] + np.arange(2 * n)[:, None] * 1e-3
    known = Constraints(must_link=[(i, n + i) for i in range(n)], must_link_weight=1e-6)
    model = HMRFKMeans(2, metric="identity", penalty="potts", random_state=0, closure=False)
    model.fit(X, constraints=known)
    assert len(model.violations_) == n
    page = page_of(tmp_path, model, X)
    assert "120 violated constraints" in page.said and "70 more are not listed" in page.said


def test_contradictions_are_told_with_their_chain(tmp_path):
    X = np.arange(6.0)[:, None]
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    model = HMRFKMeans(2, metric="identity", random_state=0, closure=False)
    model.fit(X, constraints=known)
    page = page_of(tmp_path, model, X)
    assert "contradict each other in 1 place" in page.said
    (line,) = page.table("must-links")
    assert line["must-links"] == "0–1–2" and line["cannot-link"] == "0–2"


def test_names_of_others_cannot_become_markup(wine, tmp_path):
    X, _, model = wine
    evil = "<script>alert(1)</script>"
    ids = [f'{evil} "&{i}` $x$' for i in range(178)]
    named = Constraints(
        must_link=[(ids[0], ids[60]), (ids[5], ids[170])], sample_id=ids,
    )  # fmt: skip
    page = page_of(
        tmp_path, model, X, constraints=named, sample_id=ids,
        feature_names=[f"</svg><img {j}>" for j in range(13)],
        about={evil: {"x": [evil]}, "title": f"{evil} & co"},
    )  # fmt: skip
    assert "<img" not in page.text and evil not in page.text
    assert f"{evil} & co" in page.said
    assert any("alert(1)" in line["nearest to its centre"]
               for line in page.table("nearest to its centre"))  # fmt: skip


def test_without_constraints_and_with_a_choice_of_metric(tmp_path):
    X = WINE.data
    model = HMRFKMeans(3, random_state=0).fit(X)
    page = page_of(tmp_path, model, X)
    assert "No constraints were given." in page.said
    assert "too little to compare" in page.said
    assert page.text.count("<svg") == 4
    known = Constraints.from_labels(WINE.target, n_pairs=60, random_state=1)
    chosen = HMRFKMeans(3, random_state=0).fit(X, constraints=known)
    (tmp_path / "report.html").unlink()
    page = page_of(tmp_path, chosen, X)
    assert len(chosen.metric_choice_)
    for line in chosen.metric_choice_:
        assert f"{line['metric']} {line['kept']:.0%} ± {line['error']:.0%}" in page.said


def test_mixtures_name_doubtful_memberships(tmp_path):
    known = Constraints.from_labels(WINE.target, n_pairs=80, noise=0.2, random_state=0)
    model = ConstrainedGaussianMixture(3, random_state=0).fit(WINE.data, constraints=known)
    page = page_of(tmp_path, model, WINE.data, constraints=known)
    assert "Gaussians of full covariance" in page.said and "log posterior" in page.said
    lines = page.table("posterior")
    assert [int(line["row"]) for line in lines] == model.suspects(50)["row"].tolist()


@pytest.mark.parametrize("kind", [PCKMeans, COPKMeans, ConstrainedKMeans])
def test_special_cases(kind, tmp_path):
    X = StandardScaler().fit_transform(WINE.data)
    partial = np.where(np.arange(178) % 9 == 0, WINE.target, -1)
    model = kind(3, random_state=0).fit(X, partial_labels=partial)
    page = page_of(tmp_path, model, X)
    assert f"found by {kind.__name__}" in page.said


def test_a_saved_model_has_its_recorded_violations(wine, tmp_path):
    import pickle

    X, _, model = wine
    page = page_of(tmp_path, pickle.loads(pickle.dumps(model)), X)
    assert f"{len(model.violations_)} violated constraints, as the fit recorded them" in page.said


def test_sparse_rows_pipelines_and_tiny_data(tmp_path):
    rng = np.random.default_rng(0)
    S = sparse.random_array((60, 300), density=0.05, rng=rng, format="csr")
    model = HMRFKMeans(2, random_state=0, n_init=1, metric="diagonal").fit(S)
    page_of(tmp_path, model, S)
    (tmp_path / "report.html").unlink()
    pipe = make_pipeline(StandardScaler(), HMRFKMeans(2, random_state=0)).fit(WINE.data)
    assert "178 rows" in page_of(tmp_path, pipe, WINE.data).said
    (tmp_path / "report.html").unlink()
    one = HMRFKMeans(1, random_state=0).fit([[3.0]])
    assert "1 row of 1 feature in 1 cluster" in page_of(tmp_path, one, [[3.0]]).said


def test_without_matplotlib_it_is_text(wine, tmp_path, monkeypatch):
    X, _, model = wine
    from linkfield.reports import fit_report

    monkeypatch.setattr(fit_report, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = page_of(tmp_path, model, X)
    assert "<svg" not in page.text and "pip install 'linkfield[plot]'" in page.said
    assert page.table("nearest to its centre") and page.table("parameter")


def test_large_data_is_not_copied(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20)) + 8 * rng.integers(0, 2, (200_000, 1))
    known = Constraints(must_link=[(0, 1)], cannot_link=[(5, 199_999)])
    model = HMRFKMeans(2, metric="identity", n_init=1, random_state=0)
    model.fit(X, constraints=known)
    write_fit_report(tmp_path / "first.html", model, X[:200_000])  # whatever is cached is cached
    tracemalloc.start()
    write_fit_report(tmp_path / "second.html", model, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Blocks, samples and pictures take what they take; the data is 32 MB a copy.
    assert X.nbytes > 31e6 and peak < 30e6 + 8 * 4 * len(X)
    assert (tmp_path / "second.html").stat().st_size < 2e6


def test_a_failure_leaves_the_old_report(wine, tmp_path):
    X, _, model = wine
    (tmp_path / "report.html").write_text("old")
    with pytest.raises(ValueError, match="pass the very rows of the fit"):
        write_fit_report(tmp_path / "report.html", model, X[:20])
    with pytest.raises(FileNotFoundError):
        write_fit_report(tmp_path / "nowhere" / "report.html", model, X)
    assert (tmp_path / "report.html").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_reports_of_the_same_fit_are_the_same(wine, tmp_path):
    X, _, model = wine
    first = write_fit_report(tmp_path / "a.html", model, X).read_bytes()
    assert write_fit_report(tmp_path / "b.html", model, X).read_bytes() == first
    assert not re.search(rb"\d{4}-\d\d-\d\dT", first)
