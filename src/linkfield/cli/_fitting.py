"""The work of ``linkfield fit``: read, prepare, fit, write."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Constraints, violated_pairs
from ._estimators import as_json, make_estimator
from ._knowledge import number_of_clusters, read_knowledge, refuse_contradictions
from ._labels import cluster_names, memberships, write_labels
from ._mistakes import Mistake, mistakes
from ._preparation import prepared_numbers, prepared_texts
from ._progress import Teller
from ._record import file_facts, record, result_facts

__all__ = ["Fitting", "Request"]

#: A fit without constraints is made for the report's "before" if it has at most this many
#: products an iteration.
QUICK = 20_000_000


@dataclass(frozen=True)
class Request:
    """What the user asked for: the options of the command, by their names."""

    data: Path
    clusters: int | None = None
    id_column: str | None = None
    label_column: str | None = None
    text_column: str | None = None
    embedding_column: str | None = None
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    scale: str = "auto"
    svd: int | None = None
    stop_words: str | None = None
    words: int = 20_000
    dtype: str = "float64"
    constraints: tuple[Path, ...] = ()
    groups: Path | None = None
    allow_contradictions: bool = False
    estimator: str = "hmrf"
    parameters: dict[str, Any] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    seed: int = 0
    report: bool = True

    def __post_init__(self) -> None:
        given = [
            name
            for name, value in (
                ("--text-column", self.text_column),
                ("--embedding-column", self.embedding_column),
                ("--columns", self.columns),
            )
            if value
        ]
        if len(given) > 1:
            raise Mistake(f"{given[0]} and {given[1]} say two different things; leave one out")
        if self.groups is not None and self.estimator != "mixture":
            raise Mistake(
                "--groups are for mixtures; add --estimator mixture, or use --constraints"
            )
        if self.text_column is None and self.svd is not None:
            raise Mistake("--svd is for texts; name the --text-column, or leave it out")
        if self.text_column and self.estimator == "mixture" and self.svd is None:
            raise Mistake("a mixture needs fewer columns than texts have words; add --svd 20")

    @property
    def directional(self) -> bool:
        """Whether rows are texts or embeddings, which are best compared by their direction."""
        return bool(self.text_column or self.embedding_column)


class Fitting:
    """One run of the command.

    Parameters
    ----------
    request : Request
    tell : Teller
        Shows what happens, and keeps times and warnings.
    """

    def __init__(self, request: Request, tell: Teller) -> None:
        self.request, self.tell = request, tell
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.files: list[str] = []

    # ------------------------------------------------------------------ steps

    def run(self, folder: Path) -> dict[str, Any]:
        """Do all of it, write the files into a folder, return what run.json holds."""
        self._read()
        self._know()
        model = self._model()
        self._prepare(model)
        self._fit(model)
        self._write(folder, model)
        return self._record(folder, model)

    @contextmanager
    def _stage(self, name: str, text: str, *, reading: bool = False) -> Iterator[None]:
        with self.tell.stage(name, text), mistakes(reading):
            yield

    def _read(self) -> None:
        """Read the data."""
        from ..io import read_data

        ask = self.request
        with self._stage("read", f"reading {ask.data}", reading=True):
            self.data = read_data(
                ask.data,
                columns=list(ask.columns) or None,
                exclude=list(ask.exclude),
                id_column=ask.id_column,
                label_column=ask.label_column,
                text_column=ask.text_column,
                embedding_column=ask.embedding_column,
                dtype=np.dtype(ask.dtype),
            )
            self.input = file_facts(ask.data)
        X, texts = self.data.X, self.data.texts
        self.n_rows = len(texts or ()) if X is None else X.shape[0]
        what = "texts" if X is None else f"rows of {X.shape[1]:,} columns"
        self.tell.say(f"  {self.n_rows:,} {what}")

    def _know(self) -> None:
        """Read what is known of the rows, and check it before anything takes long."""
        ask, data = self.request, self.data
        with self._stage("constraints", "reading what is known", reading=True):
            self.known = read_knowledge(
                ask.constraints, ask.groups, data.labels, data.sample_id, self.n_rows
            )
            self.clusters = number_of_clusters(ask.clusters, self.known, self.n_rows)
            self.pairs = self.known.all_pairs(data.sample_id)
            lenient = ask.allow_contradictions or ask.parameters.get("closure") is False
            if not lenient:
                refuse_contradictions(self.pairs)

    def _model(self) -> Any:
        """Return the estimator."""
        ask, parameters = self.request, dict(self.request.parameters)
        with mistakes():
            model = make_estimator(ask.estimator, self.clusters, ask.seed, parameters, ask.extra)
        free = "distortion" in model.get_params(deep=False)
        if ask.directional and free and parameters.get("distortion") is None:
            given = {pair.partition("=")[0].strip() for pair in ask.extra}
            if "distortion" not in given:
                model.set_params(distortion="cosine")
        return model

    def _prepare(self, model: Any) -> None:
        """Turn what the file holds into the rows that are clustered."""
        ask, data = self.request, self.data
        with self._stage("prepare", "preparing the rows"):
            if data.texts is not None:
                self.prepared = prepared_texts(
                    data.texts, svd=ask.svd, stop_words=ask.stop_words, most=ask.words,
                    dtype=np.dtype(ask.dtype), seed=ask.seed,
                )  # fmt: skip
                return
            squared = getattr(model, "distortion", None) == "euclidean"
            self.prepared = prepared_numbers(
                data.X, ask.scale, data.feature_names,
                units_differ=squared and data.feature_names is not None and not ask.directional,
            )  # fmt: skip

    def _fit(self, model: Any) -> None:
        """Fit, while somebody watches."""
        from ..estimators.progress import watching

        known: dict[str, Any] = {"constraints": self.pairs}
        if self.known.labels is not None and self._labels_are_apart(model):
            known = {"constraints": self.known.pairs, "partial_labels": self.known.labels}
        if self.known.groups is not None:
            known["groups"] = self.known.groups
        what = f"fitting {type(model).__name__}, {self.clusters} clusters"
        with self._stage("fit", what), watching(self.tell):
            model.fit(self.prepared.X, **known)
        if not model.converged_:
            self.tell.note(
                f"the fit did not settle within {model.max_iter} iterations; raise --max-iter"
            )

    @staticmethod
    def _labels_are_apart(model: Any) -> bool:
        """Whether the estimator reads labels in its own way, not as pairs."""
        return getattr(model, "label_reading", "absolute") == "absolute"

    # ---------------------------------------------------------------- writing

    def _write(self, folder: Path, model: Any) -> None:
        """Write all files but run.json."""
        with self._stage("write", "writing"):
            self.names = cluster_names(model, model.labels_, self.known.labelled)
            self._write_labels(folder, model)
            self._write_model(folder, model)
            self._write_violations(folder, model)
            self._write_knowledge(folder)
        if self.request.report:
            self._write_report(folder, model)

    def _write_labels(self, folder: Path, model: Any) -> None:
        members = memberships(model, self.prepared.X, model.labels_)
        with (folder / "labels.csv").open("xb") as raw:
            write_labels(raw, members, self.data.sample_id, self.names)
        self.files.append("labels.csv")

    def _write_model(self, folder: Path, model: Any) -> None:
        from sklearn.pipeline import Pipeline

        from ..io import save

        steps = [*self.prepared.steps, ("cluster", model)]
        names = self.data.feature_names
        if names is not None and self.data.texts is None:  # so that a frame's columns are checked
            steps[0][1].feature_names_in_ = np.array(names, dtype=object)
        save(Pipeline(steps), folder / "model.skops", about=self.about(model))
        self.files.append("model.skops")

    def about(self, model: Any) -> dict[str, Any]:
        """Return what ``predict`` must know of how the rows were read."""
        ask = self.request
        return dict(
            as_json(
                {
                    "columns": None if self.data.texts is not None else self.data.feature_names,
                    "id_column": ask.id_column,
                    "label_column": ask.label_column,
                    "text_column": ask.text_column,
                    "embedding_column": ask.embedding_column,
                    "dtype": ask.dtype,
                    "scale": self.prepared.scale,
                    "data": ask.data.name,
                    "rows": self.n_rows,
                    "cluster_names": self.names,
                }
            )
        )

    def _write_violations(self, folder: Path, model: Any) -> None:
        """Write the violated pairs with their costs and clusters, by the ids of the rows."""
        pairs = self.known.pairs if self._labels_are_apart(model) else self.pairs
        pairs = Constraints() if pairs is None else pairs
        labels = np.asarray(model.labels_, dtype=np.int64)
        table = violated_pairs(pairs, labels)
        self.n_violations = len(table)
        costs = getattr(model, "violations_", {"cost": [""] * len(table)})["cost"]
        with (folder / "violations.csv").open("x", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("a", "b", "kind", "weight", "cost", "cluster_a", "cluster_b"))
            a, b = table["a"], table["b"]
            writer.writerows(
                zip(
                    pairs._named(a), pairs._named(b), table["kind"], table["weight"], costs,
                    labels[a], labels[b], strict=True,
                )
            )  # fmt: skip
        self.files.append("violations.csv")

    def _write_knowledge(self, folder: Path) -> None:
        """Write constraints and groups as they were read."""
        from ..io import write_constraints, write_groups

        for what, write, name in (
            (self.known.pairs, write_constraints, "constraints"),
            (self.known.groups, write_groups, "groups"),
        ):
            if what is None:
                continue
            mixed = what.sample_id is not None and len({type(v) for v in what.sample_id}) > 1
            file = f"{name}.jsonl" if mixed else f"{name}.csv"
            write(what, folder / file)  # type: ignore[operator]
            self.files.append(file)

    def _write_report(self, folder: Path, model: Any) -> None:
        """Write the report, if matplotlib is there."""
        from ..reports import write_fit_report

        X = self.prepared.X
        with self._stage("report", "drawing the report"):
            try:
                write_fit_report(
                    folder / "report.html",
                    model,
                    X,
                    constraints=self.pairs,
                    sample_id=self.data.sample_id,
                    feature_names=self.prepared.feature_names,
                    before=self._before(model),
                    about={"data": self.request.data.name, "scaling": self.prepared.scale},
                )
            except ImportError as error:
                self.tell.note(f"no report.html: {error}")
                return
        self.files.append("report.html")

    def _before(self, model: Any) -> Any:
        """Return the labels that nothing known gives, where that is quick."""
        from ..estimators import HMRFKMeans

        X = self.prepared.X
        if X.shape[0] * X.shape[1] * self.clusters > QUICK:
            return None
        distortion = getattr(model, "distortion", "euclidean")
        plain = HMRFKMeans(
            self.clusters, distortion=distortion, metric="identity", random_state=self.request.seed
        )
        return plain.fit(X).labels_

    def _record(self, folder: Path, model: Any) -> dict[str, Any]:
        """Write run.json and return what it holds."""
        ask, X = self.request, self.prepared.X
        sizes = np.bincount(model.labels_, minlength=self.clusters)
        with mistakes():
            inputs = {
                **self.input,
                "rows": self.n_rows,
                "columns": X.shape[1],
                "id_column": ask.id_column,
                "label_column": ask.label_column,
                "labelled_rows": 0 if self.known.labelled is None else len(self.known.labelled[0]),
                "constraints": [file_facts(file) for file in ask.constraints],
                "must_links": 0 if self.pairs is None else self.pairs.n_must_link,
                "cannot_links": 0 if self.pairs is None else self.pairs.n_cannot_link,
                "groups": None if ask.groups is None else file_facts(ask.groups),
            }
            run = record(
                model,
                inputs=inputs,
                preparation={
                    "scale": self.prepared.scale,
                    "asked": ask.scale,
                    "steps": [type(step).__name__ for _, step in self.prepared.steps],
                    "dtype": ask.dtype,
                },
                result=result_facts(model, self.n_violations, sizes, self.names),
                seed=ask.seed,
                started=self.started,
                seconds=self.tell.seconds,
                warnings=self.tell.notes,
                files=[*self.files, "run.json"],
            )
            text = json.dumps(run, indent=1, ensure_ascii=False, allow_nan=False)
            (folder / "run.json").write_text(text + "\n", encoding="utf-8")
        return run
