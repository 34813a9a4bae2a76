"""The work of ``linkfield fit``: read, check, prepare, fit, and have it written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ._estimators import make_estimator
from ._knowledge import number_of_clusters, read_knowledge, refuse_contradictions
from ._mistakes import Mistake, mistakes
from ._preparation import prepared_numbers, prepared_texts
from ._progress import Teller
from ._reading import check_ids, check_roles, describe_data, reads_labels
from ._record import file_facts, write_record
from ._request import Request
from ._writing import Result, write_report, write_result

__all__ = ["run_fit"]


def run_fit(request: Request, tell: Teller, folder: Path) -> dict[str, Any]:
    """Do all of it, write the files into a folder, return what run.json holds.

    Parameters
    ----------
    request : Request
    tell : Teller
        Shows what happens, and keeps times and warnings.
    folder : Path
        Exists, and is empty.
    """
    job = _Fitting(request, tell)
    job.check_options()
    job.read()
    job.know()
    model = job.estimator(job.clusters)
    job.prepare(model)
    job.fit(model)
    result = Result(
        request, model, job.data, job.prepared, job.known, job.pairs, folder, job.labels_are_apart
    )
    with job.stage("write", "writing"):
        write_result(result)
    if request.report:
        with job.stage("report", "drawing the report"):
            _report(result, tell)
    with mistakes():
        return write_record(result, tell, started=job.started, facts=job.input)


def _report(result: Result, tell: Teller) -> None:
    """Write the report; a picture that fails is told, but does not cost the fit."""
    files = list(result.files)
    try:
        write_report(result)
    except OSError:
        raise  # then nothing else can be written, either
    except Exception as error:
        for name in set(result.files) - set(files):
            (result.folder / name).unlink(missing_ok=True)
        result.files[:] = files
        tell.note(f"report.html is left out ({type(error).__name__}: {error})")


def _check_squares(X: Any) -> None:
    """Refuse numbers whose squared distances no float can hold."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > np.sqrt(np.finfo(np.float64).max / (4.0 * X.shape[0] * X.shape[1])):
        raise _too_large(f"the data hold {largest:g}")


def _too_large(why: str) -> Mistake:
    return Mistake(
        f"{why}: the values are too large for distances between them; rescale the columns, or say "
        "--scale minmax"
    )


class _Fitting:
    """One run of the command, step by step."""

    def __init__(self, request: Request, tell: Teller) -> None:
        self.request, self.tell = request, tell
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.labels_are_apart = False

    @contextmanager
    def stage(self, name: str, text: str, *, reading: bool = False) -> Iterator[None]:
        """Time what is done inside, and report what the user can mend."""
        with self.tell.stage(name, text), mistakes(reading):
            yield

    def read(self) -> None:
        """Read the data."""
        from ..io import read_data

        ask = self.request
        in_front = reads_labels(ask.data)  # there labels have a place, but no column
        with self.stage("read", f"reading {ask.data}", reading=True):
            self.data = read_data(
                ask.data,
                columns=list(ask.columns) or None,
                exclude=list(ask.exclude),
                id_column=ask.id_column,
                label_column=None if in_front else ask.label_column,
                text_column=ask.text_column,
                embedding_column=ask.embedding_column,
                dtype=np.dtype(ask.dtype),
            )
            check_roles(ask)
            check_ids(self.data)
            self.input = file_facts(ask.data)
        # Labels that nobody asked for may be the truth, which must not reach the fit.
        self.labels = None if ask.label_column is None else self.data.labels
        if self.labels is None and self.data.labels is not None:
            name = "label" if in_front else "labels"
            self.tell.note(f"the labels in the file are not used; say --label-column {name}")
        describe_data(self.data, self.tell, ask)

    def know(self) -> None:
        """Read what is known of the rows, and check it before anything takes long."""
        ask, data = self.request, self.data
        told = ask.constraints or ask.groups or ask.label_column
        with self.stage("know", "reading what is known" if told else "", reading=True):
            self.known = read_knowledge(
                ask.constraints, ask.groups, self.labels, data.sample_id, data.n_rows
            )
            self.clusters = number_of_clusters(ask.clusters, self.known, data.n_rows)
            self.pairs = self.known.all_pairs(data.sample_id)
            if not (ask.allow_contradictions or ask.parameters.get("closure") is False):
                refuse_contradictions(self.pairs)

    def check_options(self) -> None:
        """Refuse options that make no sense before a large file is read for nothing."""
        from ..estimators.checking import check_options

        ask = self.request
        for file in (*ask.constraints, ask.groups):
            if file is not None and not file.exists():
                raise Mistake(f"there is no file {file}; check the path")
        model = self.estimator(ask.clusters or 2)
        with mistakes():
            check_options(model)

    def estimator(self, clusters: int) -> Any:
        """Return the estimator, not fitted yet."""
        ask = self.request
        with mistakes():
            model = make_estimator(ask.estimator, clusters, ask.seed, ask.parameters, ask.extra)
        open_ = "distortion" in model.get_params(deep=False)
        if ask.directional and open_ and not ask.says("distortion"):
            model.set_params(distortion="cosine")
        # Some estimators read labels in a way of their own, not as pairs.
        self.labels_are_apart = getattr(model, "label_reading", "absolute") == "absolute"
        return model

    def prepare(self, model: Any) -> None:
        """Turn what the file holds into the rows that are clustered."""
        ask, data = self.request, self.data
        with self.stage("prepare", "preparing the rows"):
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

    def fit(self, model: Any) -> None:
        """Fit, while somebody watches."""
        from ..estimators.progress import watching

        if getattr(model, "distortion", "euclidean") == "euclidean":
            _check_squares(self.prepared.X)
        known: dict[str, Any] = {"constraints": self.pairs}
        if self.labels is not None and self.labels_are_apart:
            known = {"constraints": self.known.pairs, "partial_labels": self.labels}
        if self.known.groups is not None:
            known["groups"] = self.known.groups
        self.tell.counts_violations = self.pairs is not None
        what = f"fitting {type(model).__name__}, {self.clusters} clusters"
        with self.stage("fit", what), watching(self.tell):
            model.fit(self.prepared.X, **known)
        if not np.isfinite(model.objective_):
            raise _too_large(f"the objective is {model.objective_}")
        if not model.converged_:
            self.tell.note(
                f"the fit did not settle within {model.max_iter} iterations; raise --max-iter"
            )
