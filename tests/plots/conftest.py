"""Fitted models that the pictures are drawn of."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_wine

from linkfield import ConstrainedGaussianMixture, Constraints, HMRFKMeans

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def wine():
    bunch = load_wine()
    X, y = bunch.data, bunch.target
    known = Constraints.from_labels(y, n_pairs=90, noise=0.3, random_state=0)
    model = HMRFKMeans(3, metric="diagonal", closure=False, certify=True, random_state=0)
    model.fit(X, constraints=known)
    return SimpleNamespace(
        X=X, y=y, names=[str(n) for n in bunch.feature_names], known=known, model=model
    )


@pytest.fixture(scope="session")
def mixture(wine):
    model = ConstrainedGaussianMixture(3, random_state=0)
    return model.fit(wine.X, constraints=wine.known.repair().constraints)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
