"""Single cells: rows from AnnData, and clusters back into it, in the manner of scanpy."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._version import __version__
from ..constraints import readable
from ._cells import as_ids, as_labels, shortened
from ._gather import Data

__all__ = ["from_anndata", "to_anndata"]


def from_anndata(adata: Any, *, use_rep: str | None = "X_pca", labels: str | None = None) -> Data:
    """Take the rows to cluster from an AnnData object.

    Parameters
    ----------
    adata : anndata.AnnData
    use_rep : str or None, default="X_pca"
        The representation: a key of ``adata.obsm``, or "X" (or None) for ``adata.X``.
    labels : str, optional
        A column of ``adata.obs`` with what is known of the cells' classes, for example marker
        genes' verdicts; missing, empty and -1 mean unknown.

    Returns
    -------
    Data
        ``sample_id`` are the ``obs_names``, by which constraints may name cells.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from linkfield import PCKMeans
    >>> from linkfield.io import from_anndata, to_anndata
    >>> cells = anndata.AnnData(np.array([[0.0], [1.0], [9.0], [10.0]]))
    >>> cells.obs_names = ["a", "b", "c", "d"]
    >>> data = from_anndata(cells, use_rep="X")
    >>> model = PCKMeans(2, random_state=0).fit(data.X, sample_id=data.sample_id)
    >>> to_anndata(cells, model)
    >>> bool(cells.obs["linkfield"]["a"] == cells.obs["linkfield"]["b"])
    True
    """
    _check_anndata(adata)
    names = list(map(str, adata.obs_names))
    if use_rep is None or use_rep == "X":
        X, features = adata.X, list(map(str, adata.var_names))
        if X is None:
            raise ValueError(f"adata.X is empty; {_representations(adata)}")
    else:
        if use_rep not in adata.obsm:
            hint = "; scanpy.pp.pca(adata) makes X_pca" if use_rep == "X_pca" else ""
            raise ValueError(f"adata.obsm has no {use_rep!r}{hint}; {_representations(adata)}")
        X, features = adata.obsm[use_rep], None
        if hasattr(X, "columns"):
            features = list(map(str, X.columns))
    X = _numbers(X, use_rep or "X")
    if features is None:
        features = [f"{use_rep}[{j}]" for j in range(X.shape[1])]
    known = None
    if labels is not None:
        known = as_labels([v if _there(v) else None for v in _column(adata, labels)])
    return Data(
        X=X,
        sample_id=as_ids(Path("obs_names"), names, text_only=False),
        labels=known,
        texts=None,
        feature_names=features,
        path=Path(str(adata.filename)) if adata.filename is not None else None,
    )


def to_anndata(adata: Any, model: Any, *, key: str = "linkfield", distances: bool = False) -> None:
    """Write the clusters of a fitted model into an AnnData object.

    ``adata.obs[key]`` are the clusters, as a categorical whose categories are "0", "1", ...;
    ``adata.uns[key]`` has the parameters (``params``), what the fit found (``objective``,
    ``n_iter``, ``converged``) and the constraints that the clusters break (``violations``, a table
    with the cells' names where the constraints had names). All of it can be written to ``.h5ad``.

    Parameters
    ----------
    adata : anndata.AnnData
        With the cells that the model was fitted to, in the same order.
    model : estimator or Pipeline
    key : str, default="linkfield"
        Where the results go.
    distances : bool, default=False
        Also write ``adata.obsm[f"{key}_distances"]``, (n, K). A model that was loaded from a file
        no longer has its rows: call its ``transform`` instead.
    """
    _check_anndata(adata)
    import pandas as pd

    estimator = model[-1] if hasattr(model, "steps") else model
    found = getattr(estimator, "labels_", None)
    if found is None:
        raise ValueError(f"this {type(estimator).__name__} is not fitted; call fit first")
    if len(found) != adata.n_obs:
        raise ValueError(
            f"the model was fitted to {len(found)} rows and adata has {adata.n_obs} cells; give "
            "the cells that it was fitted to"
        )
    table = _distances(estimator) if distances else None
    params = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    n_clusters = estimator.n_clusters if "n_clusters" in params else estimator.n_components
    categories = [str(h) for h in range(int(n_clusters))]
    adata.obs[key] = pd.Categorical.from_codes(np.asarray(found, np.int64), categories)
    adata.uns[key] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "estimator": type(estimator).__name__,
        "version": __version__,
        "objective": float(estimator.objective_),
        "n_iter": int(estimator.n_iter_),
        "converged": bool(estimator.converged_),
    }
    violations = getattr(estimator, "violations_", None)
    if violations is not None:
        columns = {name: violations[name] for name in violations.dtype.names}
        for name in ("a", "b", "kind"):
            columns[name] = columns[name].astype(str) if name == "kind" else _named(columns[name])
        adata.uns[key]["violations"] = pd.DataFrame(columns)
    if table is not None:
        adata.obsm[f"{key}_distances"] = table


def _named(values: Any) -> Any:
    """Return ids as text; positions stay numbers."""
    return values if values.dtype.kind in "iu" else np.array([str(v) for v in values], object)


def _distances(estimator: Any) -> Any:
    rows = getattr(estimator, "_fit_X", None)
    if rows is None or not hasattr(estimator, "transform"):
        raise ValueError(
            "this model has no distances to write: it was loaded from a file, or has none; write "
            "adata.obsm[...] = model.transform(X) yourself"
        )
    return np.asarray(estimator.transform(rows))


def _check_anndata(adata: Any) -> None:
    wanted = ("obs", "obsm", "obs_names", "uns", "n_obs")
    if not all(hasattr(type(adata), name) for name in wanted):
        raise TypeError(f"an AnnData object is needed; got {type(adata).__name__}")


def _representations(adata: Any) -> str:
    keys = list(adata.obsm)
    there = f"adata.obsm has {readable(keys, 10)}" if keys else "adata.obsm is empty"
    return f"take use_rep='X' for adata.X, or another representation ({there})"


def _column(adata: Any, name: str) -> list[Any]:
    if name not in adata.obs:
        raise ValueError(
            f"adata.obs has no column {name!r}; it has {readable(list(adata.obs.columns), 12)}"
        )
    return list(adata.obs[name])


def _there(value: Any) -> bool:
    """Whether a value of a frame is not missing; NaN is unlike itself."""
    return (
        value is not None and type(value).__name__ not in ("NAType", "NaTType") and value == value
    )


def _numbers(X: Any, name: str) -> Any:
    """Return a representation as a float array, dense or by row, and check it."""
    if hasattr(X, "to_memory"):
        X = X.to_memory()  # of a file that is read as needed
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if not sparse.issparse(X):
        X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {X.dtype} where numbers are needed")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    values = X.data if sparse.issparse(X) else X
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(f"{name} holds {bad} values that are NaN or infinite; filter or fill them")
    return X


def _plain(value: Any) -> Any:
    """Return a parameter as something that h5ad can hold."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value
    if hasattr(value, "get_params") and not inspect.isclass(value):
        inner = ", ".join(f"{k}={shortened(v)}" for k, v in value.get_params().items())
        return f"{type(value).__name__}({inner})"
    return shortened(value, 200)
