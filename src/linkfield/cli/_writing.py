"""The files of ``linkfield fit``: labels, model, violations, what was known, the report."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, violated_pairs
from ._estimators import as_json
from ._knowledge import Known
from ._labels import cluster_names, memberships, write_labels
from ._preparation import Prepared
from ._reading import how_read
from ._request import Request

__all__ = ["Result", "write_report", "write_result"]

#: A fit without knowledge is made for the report's "before" if it has at most this many products
#: an iteration.
QUICK = 20_000_000


@dataclass
class Result:
    """A fit that is done.

    Attributes
    ----------
    request : Request
    model : estimator
        Fitted.
    data : linkfield.io.Data
        What the file held; its numbers were prepared in place.
    prepared : Prepared
    known : Known
    pairs : Constraints or None
        All pairs, those that labels entail included.
    folder : Path
        Where the files go.
    labels_are_apart : bool
        Whether the estimator read the labels in its own way, not as pairs.
    files : list of str
        What has been written.
    """

    request: Request
    model: Any
    data: Any
    prepared: Prepared
    known: Known
    pairs: Constraints | None
    folder: Path
    labels_are_apart: bool
    files: list[str] = field(default_factory=list)
    n_violations: int = 0

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The cluster of every row."""
        return np.asarray(self.model.labels_, dtype=np.int64)

    @cached_property
    def names(self) -> list[str] | None:
        """What the clusters are called."""
        return cluster_names(self.model, self.labels, self.known.labelled)

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns; None for texts, vectors, and where there are no names."""
        names: list[str] | None = self.data.feature_names
        return None if self.request.directional else names

    def new(self, name: str) -> Path:
        """Return the path of a new file, and remember that it is written."""
        self.files.append(name)
        return self.folder / name


def write_result(result: Result) -> None:
    """Write all files but the report and run.json."""
    members = memberships(result.model, result.prepared.X, result.labels)
    with result.new("labels.csv").open("xb") as raw:
        write_labels(raw, members, result.data.sample_id, result.names)
    _write_model(result)
    _write_violations(result)
    _write_knowledge(result)


def _write_model(result: Result) -> None:
    """Write preparation and estimator as one pipeline."""
    from sklearn.pipeline import Pipeline

    from ..io import save

    steps = [*result.prepared.steps, ("cluster", result.model)]
    if result.columns is not None:  # so that the columns of a frame are checked
        steps[0][1].feature_names_in_ = np.array(result.columns, dtype=object)
    save(Pipeline(steps), result.new("model.skops"), about=_about(result))


def _about(result: Result) -> dict[str, Any]:
    """Return what ``predict`` must know of how the rows were read."""
    ask = result.request
    about = {
        **how_read(ask, result.data),
        "scale": result.prepared.scale,
        "data": ask.data.name,
        "rows": len(result.labels),
        "cluster_names": result.names,
    }
    return dict(as_json(about))


def _write_table(file: Path, header: tuple[str, ...], lines: Iterable[Any]) -> None:
    with file.open("x", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def _write_violations(result: Result) -> None:
    """Write the violated pairs with their costs and clusters, by the ids of the rows."""
    known = result.known.pairs if result.labels_are_apart else result.pairs
    pairs = Constraints() if known is None else known
    table = violated_pairs(pairs, result.labels)
    result.n_violations = len(table)
    a, b = table["a"], table["b"]
    costs = getattr(result.model, "violations_", {"cost": [""] * len(table)})["cost"]
    columns = (
        pairs._named(a), pairs._named(b), table["kind"], table["weight"], costs,
        result.labels[a], result.labels[b],
    )  # fmt: skip
    header = ("a", "b", "kind", "weight", "cost", "cluster_a", "cluster_b")
    _write_table(result.new("violations.csv"), header, zip(*columns, strict=True))


def _write_knowledge(result: Result) -> None:
    """Write constraints, groups and labels as they were read."""
    from ..io import write_constraints, write_groups

    known = result.known
    if known.pairs is not None:
        write_constraints(known.pairs, result.new(_named("constraints", known.pairs)))
    if known.groups is not None:
        write_groups(known.groups, result.new(_named("groups", known.groups)))
    if known.labelled is not None:
        rows, codes, classes = known.labelled
        ids = rows if result.data.sample_id is None else result.data.sample_id[rows]
        lines = zip(ids.tolist(), (classes[c] for c in codes.tolist()), strict=True)
        _write_table(result.new("known_labels.csv"), ("id", "label"), lines)


def _named(name: str, known: Any) -> str:
    """Return a file name: only JSON tells the id 7 from the id "7"."""
    mixed = known.sample_id is not None and len({type(v) for v in known.sample_id}) > 1
    return f"{name}.jsonl" if mixed else f"{name}.csv"


def write_report(result: Result) -> None:
    """Write the report."""
    from ..reports import write_fit_report

    ask = result.request
    named = result.pairs is not None and result.pairs.sample_id is not None
    write_fit_report(
        result.new("report.html"),
        result.model,
        result.prepared.X,
        constraints=result.pairs,
        sample_id=None if named else result.data.sample_id,  # the pairs have it
        feature_names=result.prepared.feature_names,
        before=_before(result),
        about={
            "data": ask.data.name,
            "scaling": result.prepared.scale,
            "cluster_names": result.names,
        },
    )


def _before(result: Result) -> Any:
    """Return the labels of a fit that knows nothing and learns nothing, where that is quick."""
    from ..estimators import HMRFKMeans

    X, model = result.prepared.X, result.model
    K = int(getattr(model, "n_clusters", getattr(model, "n_components", 1)))
    if X.shape[0] * X.shape[1] * K > QUICK:
        return None
    distortion = getattr(model, "distortion", "euclidean")
    plain = HMRFKMeans(
        K, distortion=distortion, metric="identity", random_state=result.request.seed
    )
    return plain.fit(X).labels_
