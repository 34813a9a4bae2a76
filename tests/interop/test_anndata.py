"""Single cells: AnnData in and out, and through a file."""

import anndata
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linkfield as lf
from linkfield import Constraints
from linkfield.inference import ICM
from linkfield.io import from_anndata, load, save, to_anndata


@pytest.fixture
def cells():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    adata = anndata.AnnData(
        sparse.csr_matrix(np.maximum(X, 0)),
        obs=pd.DataFrame(
            {"type": pd.Categorical(np.array(["B", "T", "NK"])[y])},
            index=[f"cell{i}" for i in range(len(X))],
        ),
    )
    adata.var_names = [f"gene{j}" for j in range(X.shape[1])]
    adata.obsm["X_pca"] = X[:, :5].astype(np.float32)
    known = adata.obs["type"].astype(object).where(np.arange(len(X)) % 4 == 0, None)
    adata.obs["known"] = pd.Categorical(known)
    return adata


def test_in(cells):
    data = from_anndata(cells, labels="known")
    assert_array_equal(data.X, cells.obsm["X_pca"])
    assert data.X.dtype == np.float32
    assert data.sample_id.tolist() == list(cells.obs_names)
    assert data.feature_names[:2] == ["X_pca[0]", "X_pca[1]"]
    assert data.labels[0] == "B" and data.labels[1] is None
    for rep in ("X", None):
        data = from_anndata(cells, use_rep=rep)
        assert sparse.issparse(data.X) and data.X.format == "csr"
        assert data.feature_names == list(cells.var_names) and data.labels is None
    cells.obsm["frame"] = pd.DataFrame({"u": 1, "v": 2}, index=cells.obs_names)
    data = from_anndata(cells, use_rep="frame")
    assert data.feature_names == ["u", "v"] and data.X.dtype == np.float64


def fitted(cells, **options):
    data = from_anndata(cells, labels="known")
    y = cells.obs["type"].to_numpy()
    pairs = Constraints.from_labels(
        y, n_pairs=60, noise=0.3, random_state=0, sample_id=data.sample_id
    )
    model = lf.HMRFKMeans(
        3, metric="diagonal", inference=ICM(), closure=False, random_state=0, **options
    )
    return model.fit(data.X, constraints=pairs, sample_id=data.sample_id)


@pytest.mark.filterwarnings("ignore::linkfield.exceptions.ConstraintWarning")
def test_out_and_through_a_file(cells, tmp_path):
    model = fitted(cells)
    to_anndata(cells, model, distances=True)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    for adata in (cells, again):
        assert adata.obs["linkfield"].dtype == "category"
        assert list(adata.obs["linkfield"].cat.categories) == ["0", "1", "2"]
        assert_array_equal(adata.obs["linkfield"].astype(int), model.labels_)
        found = adata.uns["linkfield"]
        assert found["params"]["n_clusters"] == 3 and found["params"]["metric"] == "diagonal"
        assert found["params"]["inference"].startswith("ICM(")
        assert found["estimator"] == "HMRFKMeans" and found["version"] == lf.__version__
        assert found["objective"] == model.objective_ and found["n_iter"] == model.n_iter_
        table = found["violations"]
        assert list(table.columns) == ["a", "b", "kind", "weight", "cost"]
        assert len(table) == len(model.violations_) > 0
        assert set(table["a"]) <= set(cells.obs_names)
        assert set(table["kind"]) <= {"must", "cannot"}
        assert_array_equal(table["cost"], model.violations_["cost"])
        assert_array_equal(adata.obsm["linkfield_distances"], model.transform(cells.obsm["X_pca"]))


def test_other_models_and_keys(cells, tmp_path):
    data = from_anndata(cells, labels="known")
    mixture = lf.ConstrainedGaussianMixture(3, covariance_type="diag", random_state=0)
    to_anndata(cells, mixture.fit(data.X, partial_labels=data.labels), key="mixture")
    pipe = make_pipeline(StandardScaler(), lf.PCKMeans(3, init=np.zeros((3, 5)), random_state=0))
    to_anndata(cells, pipe.fit(data.X), key="kmeans")
    assert len(cells.uns["kmeans"]["violations"]) == 0
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(again.obs["mixture"].astype(int), mixture.labels_)
    assert_array_equal(again.obs["kmeans"].astype(int), pipe[-1].labels_)
    assert again.uns["kmeans"]["params"]["init"].shape == (3, 5)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    data = from_anndata(backed, use_rep="X")
    assert data.X.shape == cells.shape and data.path.name == "cells.h5ad"
    backed.file.close()


def test_mistakes(cells, tmp_path):
    with pytest.raises(ValueError, match=r"no 'X_umap'; .* \(adata.obsm has 'X_pca'\)"):
        from_anndata(cells, use_rep="X_umap")
    with pytest.raises(ValueError, match="no column 'kind'; it has 'type', 'known'"):
        from_anndata(cells, labels="kind")
    with pytest.raises(TypeError, match="an AnnData object is needed; got ndarray"):
        from_anndata(np.ones((3, 2)))
    with pytest.raises(ValueError, match="not fitted"):
        to_anndata(cells, lf.PCKMeans(3))
    model = lf.PCKMeans(3, random_state=0).fit(cells.obsm["X_pca"])
    with pytest.raises(ValueError, match="fitted to 178 rows and adata has 5 cells"):
        to_anndata(cells[:5].copy(), model)
    save(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="loaded from a file"):
        to_anndata(cells, load(tmp_path / "m.skops"), distances=True)
    assert "linkfield" not in cells.obs
    cells.obsm["X_pca"][3, 1] = np.nan
    with pytest.raises(ValueError, match="X_pca holds 1 values that are NaN"):
        from_anndata(cells)
    del cells.obsm["X_pca"]
    with pytest.raises(ValueError, match=r"scanpy.pp.pca\(adata\) makes X_pca"):
        from_anndata(cells)
    double = anndata.AnnData(np.ones((2, 1)))
    double.obs_names = ["a", "a"]
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        from_anndata(double, use_rep="X")
