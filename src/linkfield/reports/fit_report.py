"""The report of a fit: what came out, how it looks, and what was not kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..constraints import Constraints
from ..io.files import replacing
from ..plots.reading import Fitted, feature_names_of, read_fitted
from ._fit_clusters import cluster_blocks, measured
from ._fit_pairs import conflict_blocks, suspect_blocks, violation_blocks
from ._fit_pictures import Pictures
from ._fit_settings import about_blocks, parameter_blocks, version_text
from ._fit_summary import summary_blocks
from .document import Block, Heading, Note, Text
from .html import to_html

__all__ = ["write_fit_report"]


def write_fit_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    constraints: Constraints | None = None,
    sample_id: Any = None,
    feature_names: Any = None,
    before: Any = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write one HTML file that tells what a fit found; it needs no other file and no network.

    Larger data is drawn and measured by samples; X is read block by block and never copied.
    Without matplotlib the report has no pictures.

    Parameters
    ----------
    path : path-like
        Where it goes; a file there is replaced only by a whole one.
    model : fitted estimator
        :class:`~linkfield.HMRFKMeans`, a special case of it or
        :class:`~linkfield.ConstrainedGaussianMixture`; or a pipeline that ends in one, and X then
        the rows before its preparation.
    X : array, sparse matrix or data frame
        The rows of the fit.
    constraints : Constraints, optional
        By default those of the fit, if the model still has them.
    sample_id : sequence, optional
        The id of every row: rows are called by it, and constraints aligned to it.
    feature_names : sequence of str, optional
        By default those of the fit.
    before : labels of shape (n,) or fitted clustering, optional
        Another clustering of the same rows, to be shown beside this one.
    about : mapping, optional
        What else a reader should know, by name: the file, the command, the date. ``title`` is
        that of the page, ``cluster_names`` (a list) what the clusters are called.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from linkfield import Constraints, HMRFKMeans
    >>> from linkfield.reports import write_fit_report
    >>> wine = load_wine()
    >>> known = Constraints.from_labels(wine.target, n_pairs=50, random_state=0)
    >>> model = HMRFKMeans(3, random_state=0).fit(wine.data, constraints=known)
    >>> names = wine.feature_names
    >>> path = write_fit_report("report.html", model, wine.data,
    ...                         feature_names=names)  # doctest: +SKIP
    """
    found = read_fitted(model, X, constraints=constraints, sample_id=sample_id)
    if sample_id is None:
        sample_id = found.constraints.sample_id
    names = feature_names_of(model, feature_names, found.X.shape[1])
    title, blocks = _blocks(found, sample_id, names, before, dict(about or {}))
    target = Path(path)
    content = to_html(title, blocks).encode()
    with replacing(target) as file:
        file.write(content)
    return target


def _blocks(
    found: Fitted, ids: Any, names: list[str], before: Any, about: dict[str, Any]
) -> tuple[str, list[Block]]:
    values = measured(found)
    pictures = Pictures(found, ids, names, values, before) if find_spec("matplotlib") else None
    title = str(about.pop("title", f"{found.n_clusters} clusters of {len(found.labels):,} rows"))
    called = about.pop("cluster_names", None) or getattr(found.model, "classes_", None)
    blocks: list[Block] = summary_blocks(found)
    if pictures is None:
        blocks.append(Note("There are no pictures: `pip install 'linkfield[plot]'` brings them."))
    blocks.append(Heading(2, "Clusters", "clusters"))
    if pictures is not None:
        blocks.append(pictures.partition())
    blocks += cluster_blocks(found, values, ids, names, called)
    if pictures is not None:
        blocks.append(pictures.silhouettes())
        blocks += [Heading(2, "Features", "features"), pictures.weights()]
    blocks.append(Heading(2, "Constraints", "constraints"))
    if pictures is not None:
        blocks += pictures.of_constraints()
    blocks += conflict_blocks(found)
    blocks += violation_blocks(found, ids)
    blocks += suspect_blocks(found, ids)
    blocks.append(Heading(2, "The fit", "fit"))
    if pictures is not None:
        blocks.append(pictures.objective())
    blocks += [*parameter_blocks(found.model), *about_blocks(about), Text(version_text(), "soft")]
    return title, blocks
