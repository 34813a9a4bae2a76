"""BERTopic's ``hdbscan_model=`` slot: topics with what some documents are known to be."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

import linkfield as lf

WORDS = [
    ["cat", "dog", "milk", "paw", "fur", "tail"],
    ["stock", "bond", "rate", "bank", "fund", "yield"],
    ["goal", "ball", "team", "match", "coach", "league"],
]


@pytest.fixture
def corpus():
    """Documents of three topics whose embeddings alone suggest another division.

    The widest direction is one that the topics do not care about; labels of some documents say so.
    """
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    documents = [" ".join(rng.choice(WORDS[k], 12)) for k in truth]
    E = rng.normal(size=(240, 6)) * 0.5
    E[:, 0] += 12.0 * rng.choice([-1.0, 0.0, 1.0], size=240)
    E[:, 1:4] += 3.0 * np.eye(3)[truth]
    known = np.where(np.arange(240) % 7 < 2, truth, -1)
    return documents, E, truth, known


def estimator():
    return lf.HMRFKMeans(3, metric="diagonal", labels_from_y=True, random_state=0)


def test_the_calls_that_bertopic_makes(corpus):
    """As ``BERTopic._cluster_embeddings`` and ``transform`` do it, without the package."""
    _, E, truth, known = corpus
    model = estimator()
    # A TypeError would make BERTopic call fit again, without what is known.
    model.fit(E, y=list(known))
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert adjusted_rand_score(truth, estimator().fit(E, y=None).labels_) < 0.5
    assert model.labels_.shape == (240,) and model.labels_.dtype.kind == "i"
    assert set(model.labels_.tolist()) == {0, 1, 2}
    # It takes `probabilities_` for the memberships that HDBSCAN gives.
    assert not hasattr(model, "probabilities_")
    assert not hasattr(model, "partial_fit")
    assert "hdbscan" not in str(type(model)).lower()
    assert_array_equal(model.predict(E[:9]), model.labels_[:9])


def test_in_bertopic(corpus, tmp_path):
    bertopic = pytest.importorskip(
        "bertopic", reason="BERTopic brings torch along, too much for the test extra"
    )
    from bertopic.dimensionality import BaseDimensionalityReduction

    documents, E, truth, known = corpus
    model = estimator()
    topics = bertopic.BERTopic(
        embedding_model=None,
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=model,
    )
    found, _ = topics.fit_transform(documents, embeddings=E, y=known)
    assert adjusted_rand_score(truth, found) > 0.95
    assert topics.hdbscan_model is model and len(model.labels_) == 240
    every = {word for words in WORDS for word in words}
    named = [{word for word, _ in topics.get_topic(t)} & every for t in range(3)]
    assert sorted(map(sorted, named)) == sorted(map(sorted, WORDS))
    again, _ = topics.transform(documents[:30], embeddings=E[:30])
    assert_array_equal(again, found[:30])
    lf.save(topics.hdbscan_model, tmp_path / "clusters.skops")
    assert_array_equal(lf.load(tmp_path / "clusters.skops").predict(E), model.predict(E))
