"""The report holds every method, figure and verdict, and needs nothing else."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_results import rising, write_experiment

from linkfield.experiments import claims as claims_module
from linkfield.experiments import report as report_module
from linkfield.experiments.claims import CLAIMS, claims_of
from linkfield.experiments.curves import panels_of, styles_of
from linkfield.experiments.report import write_report
from linkfield.experiments.result_table import read_table
from linkfield.plots import PALETTE

LEVELS = {
    "K-Means": 0.02,
    "M-KMeans": 0.05,
    "PC-KMeans": 0.08,
    "MPC-KMeans": 0.12,
    "MPC-KMeans 2003": 0.03,
}
VOID = {"meta", "path", "use", "rect", "line", "circle", "br"}
TEACHERS = {"none": 0.0, "soft": 0.03, "hard": -0.1, "posterior": 0.2}


def accuracy(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    gain = TEACHERS[cell["method"]]
    if (cell["data"], cell["method"]) == ("derm", "soft"):
        gain = 0.3
    return {"accuracy": 0.6 + gain + 0.01 * rng.normal()}


def descent(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
    falls = {f"objective_after_{i}": 2.0 + 1 / (1 + i) for i in range(4)}
    return {"nmi": 0.5, "objective": 2.0, "rises": 0.0, **falls}


def write_some(out: Path) -> None:
    write_experiment(
        out, "basu2003", rising(LEVELS), data=("Digits-389", "Iris", "Letter-IJL", "Wine"),
        methods=LEVELS,
    )  # fmt: skip
    write_experiment(
        out, "law2005-teachers", accuracy, data=("derm", "image", "wdbc"), methods=TEACHERS,
        constraints=(5, 10, 20), noise=(0.0, 0.2), folds=1, runs=10, cells=999,
    )  # fmt: skip
    write_experiment(
        out, "pritsos", descent, data=("genre7",), methods=("fixed", "learned"), runs=2,
        constraints=(0, 100), extra=("rises", *(f"objective_after_{i}" for i in range(4))),
    )  # fmt: skip
    write_experiment(
        out, "other", rising({"new": 0.1}, "ari"), data=("X<y>",), methods=("new",), runs=3,
        noise=(0.0, 0.2), constraints=(0, 100),
    )  # fmt: skip
    (out / "notes.csv").write_text("a,b\n1,2\n")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_some(folder)
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def page(out: Path) -> str:
    return (out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def markdown(out: Path) -> str:
    return (out / "report.md").read_text(encoding="utf-8")


class Strict(HTMLParser):
    """Every tag that is opened is closed, in order; ids are unique; links point somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.sources: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._note(attributes)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._note(attributes)

    def _note(self, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(str(value))
            elif name == "href":
                self.targets.append(str(value))
            elif name in ("src", "srcset", "action", "data"):
                self.sources.append(str(value))
            self.targets += [f"#{x}" for x in re.findall(r"url\(#([^)]*)\)", str(value))]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
            self.open.pop()

    def handle_data(self, text: str) -> None:
        self.words.append(text)


def test_the_page_is_whole_and_needs_nothing_else(page: str) -> None:
    parser = Strict()
    parser.feed(page)
    assert parser.open == []
    assert len(set(parser.ids)) == len(parser.ids)
    assert not parser.sources
    assert {t.removeprefix("#") for t in parser.targets} <= set(parser.ids)
    assert "://" not in page and "@import" not in page and "<script" not in page
    assert "prefers-color-scheme: dark" in page


def test_every_experiment_method_claim_and_verdict_is_there(page: str, markdown: str) -> None:
    parser = Strict()
    parser.feed(page)
    text = " ".join(parser.words)
    for claim in CLAIMS:
        assert f'id="claim-{claim.key}"' in page
        assert f"Claim `{claim.key}`" in markdown
    for method in (*LEVELS, *TEACHERS, "learned", "new"):
        assert re.search(rf"(?m)^\| {re.escape(method)} \|", markdown), method
        assert method in text
    for name in ("basu2003", "law2005-teachers", "pritsos", "other"):
        assert f"Made-up {name}" in text and f"Made-up {name}" in markdown
        assert f"`linkfield experiment run {name}`" in markdown
        assert f"linkfield experiment run {name}" in text
    assert "seed 20240; python 3.x, linkfield 0.x" in markdown
    for verdict in ("reproduced", "partly reproduced", "not reproduced", "not decided"):
        assert f">{verdict}</span>" in page and f"| {verdict} |" in markdown


def test_what_is_missing_is_said(markdown: str) -> None:
    assert "Not run, so missing here: basu2004, bilenko2004, law2005-synthetic, modern" in markdown
    assert "Not run: there is no basu2004.csv" in markdown
    assert "law2005-teachers: Unfinished: 720 of 999 cells." in markdown
    assert "Fewer runs than the paper: 12 here, 50 there" in markdown
    assert "Few runs: 2; no test can show anything with fewer than 6" in markdown
    assert "were not read: notes.csv" in markdown
    assert "no cells of genre\\_ki04 yet" in markdown
    assert "no column `rises_equation_26`" in markdown


def test_numbers_in_tables_come_from_the_files(out: Path, markdown: str) -> None:
    results = read_table(out / "basu2003.csv")
    values = results.cells("Wine", "PC-KMeans", "pairwise_f", 0.0).values
    table = markdown[markdown.index("| Wine / constraints |") :]
    row = re.search(r"(?m)^\| PC-KMeans \|(.*)\|$", table)
    assert row is not None
    shown = [float(cell.strip(" *").split(" ± ")[0]) for cell in row[1].split("|")]
    assert shown == pytest.approx(values.mean(axis=0), abs=5e-4)
    tables = re.findall(r"(?m)^\| --- .*\n(?:\|.*\n)+\n(.*)$", markdown)
    assert len(tables) > 10
    assert all(footer.startswith("<sub>") for footer in tables)
    named = [footer for footer in tables if re.search(r"`[\w-]+\.csv`", footer)]
    assert len(tables) - len(named) == 2  # the list of verdicts, and harm in all files together


def test_best_is_bold_and_harm_is_listed(markdown: str) -> None:
    row = re.search(r"(?m)^\| MPC-KMeans \| (.*) \|$", markdown)
    assert row is not None and row[1].count("**") == 8
    harm = markdown[markdown.index("## Where constraints do harm") :]
    harm = harm[: harm.index("<sub>")]
    assert "| law2005-teachers | wdbc | hard | accuracy |" in harm
    assert "(significant)" in harm
    assert "posterior" not in harm and "MPC-KMeans |" not in harm
    assert "Why, in law2005-teachers, hard" in markdown


def test_table_2_stands_beside_the_papers(markdown: str) -> None:
    row = re.search(r"(?m)^\| wdbc, 20% \|(.*)\|$", markdown)
    assert row is not None
    cells = [cell.strip() for cell in row[1].split("|")]
    assert cells[0::2] == ["6.5", "1.9", "16.7", "9 of 10", "10 of 10"]
    gains = [float(cell.split(" ± ")[0]) for cell in cells[1:6:2]]
    assert gains == pytest.approx([-10, 3, 20], abs=1.5)
    assert cells[7::2] == ["10 of 10", "10 of 10"]


def test_pictures_are_files_and_inside_the_page(out: Path, page: str, markdown: str) -> None:
    named = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", markdown)
    assert len(named) == page.count("<svg") == len(set(named))
    for name in named:
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    assert "figures/pritsos-descent.png" in named
    for i in range(len(PALETTE)):
        assert f"--curve-{i}:" in page
    assert "var(--curve-0)" in page and "#fe00" not in page


def test_text_of_others_cannot_become_markup(page: str, markdown: str) -> None:
    assert "X&lt;y&gt;" in page and "X<y>" not in page
    assert "X<y>" not in re.sub(r"`[^`]*`", "", markdown)


def test_explanations_are_shown_and_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_experiment(
        tmp_path, "law2005-teachers", accuracy, data=("wdbc",), methods=TEACHERS, folds=1, runs=9,
        constraints=(5, 10, 20),
    )  # fmt: skip
    monkeypatch.setitem(claims_module.EXPLANATIONS, "001-posterior-gains", "Because of the moon.")
    text = write_report(tmp_path)[1].read_text(encoding="utf-8")
    assert "Our explanation: Because of the moon." in text


def test_path_moves_the_report_and_its_pictures(tmp_path: Path) -> None:
    write_experiment(
        tmp_path / "in", "other", rising({"new": 0.1}), data=("X",), methods=("new",), runs=2
    )
    page, markdown = write_report(tmp_path / "in", path=tmp_path / "there" / "all.html")
    assert (page.name, markdown.name) == ("all.html", "all.md")
    assert (tmp_path / "there" / "figures" / "other-pairwise-f.png").exists()
    assert sorted(p.name for p in (tmp_path / "in").iterdir()) == ["other.csv", "other.json"]
    with pytest.raises(ValueError, match=r"must end in \.html"):
        write_report(tmp_path / "in", path=tmp_path / "all.md")


def test_reports_of_the_same_results_are_the_same(tmp_path: Path) -> None:
    write_experiment(tmp_path, "other", rising({"a": 0.1}), data=("X",), methods=("a",), runs=2)
    first = [file.read_bytes() for file in write_report(tmp_path)]
    assert [file.read_bytes() for file in write_report(tmp_path)] == first


def test_foreign_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such folder"):
        write_report(tmp_path / "nowhere")
    (tmp_path / "foreign.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no results there; run `linkfield experiment run"):
        write_report(tmp_path)
    (tmp_path / "foreign.json").write_text("{}")
    with pytest.raises(ValueError, match=r"foreign\.csv: not a CSV file of an experiment"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_method_looks_the_same_everywhere() -> None:
    some, more = styles_of(["BP", "zeta", "K-Means"]), styles_of(["zeta", "BP", "ICM", "K-Means"])
    assert some == {name: more[name] for name in some}
    assert some["K-Means"].colour == -1
    looks = styles_of([f"method {i:02d}" for i in range(20)]).values()
    assert len({(look.colour, look.dashes) for look in looks}) == 20


def test_curves_are_means_over_runs(out: Path) -> None:
    results = read_table(out / "other.csv")
    panels = panels_of(results, "ari", ["X<y>"], ["new", "nobody"])
    assert [panel.title for panel in panels] == ["X<y>, 0% wrong", "X<y>, 20% wrong"]
    (curve,) = panels[1].curves
    mine = (results.keys["noise"] == 0.2) & (results.keys["constraints"] == 100)
    assert curve.mean[1] == pytest.approx(results.values["ari"][mine].mean())
    assert (curve.low <= curve.mean).all() and (curve.mean <= curve.high).all()


def test_all_claims_of_an_experiment_stand_under_it(page: str) -> None:
    start = page.index('id="experiment-basu2003"')
    end = page.index('id="experiment-law2005-teachers"')
    section = page[start:end]
    assert all(f'id="claim-{claim.key}"' in section for claim in claims_of("basu2003"))
    assert report_module.TITLE in page


def test_without_matplotlib_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_experiment(tmp_path, "other", rising({"a": 0.1}), data=("X",), methods=("a",), runs=2)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'linkfield\[plot\]'"):
        write_report(tmp_path)
