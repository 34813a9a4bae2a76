"""Models in files: what is loaded predicts the same bits, and nothing else is loaded."""

import os
import stat

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import linkfield as lf
from linkfield import Constraints, Groups, HMRFKMeans, distortions, estimation, inference
from linkfield.inference import MeanField
from linkfield.initialize import Neighbourhoods
from linkfield.io import load, read_about, save

X, Y = load_iris(return_X_y=True)
X = X + 0.01  # no zeros: for divergences
PARTIAL = np.where(np.arange(150) % 5 == 0, Y, -1)
IDS = [f"flower-{i}" for i in range(150)]
PAIRS = Constraints.from_labels(Y, n_pairs=40, random_state=0, noise=0.1, sample_id=IDS)

pytestmark = pytest.mark.filterwarnings(
    "ignore::linkfield.exceptions.ConstraintWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def again(model, tmp_path, **options):
    file = tmp_path / "model.skops"
    save(model, file, **options)
    return load(file)


def state(model):
    return model.__getstate__()


def same(one, two, where=""):
    """Whether two values are the same to the bit, whatever they consist of."""
    assert type(one) is type(two), where
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype and one.shape == two.shape, where
        if one.dtype.hasobject:
            assert one.tolist() == two.tolist() or repr(one) == repr(two), where
        else:
            assert one.tobytes() == two.tobytes(), where
    elif isinstance(one, np.random.Generator):
        same(one.bit_generator.state, two.bit_generator.state, where)
    elif isinstance(one, np.random.RandomState):
        same(one.get_state(legacy=False), two.get_state(legacy=False), where)
    elif isinstance(one, dict):
        assert list(one) == list(two), where
        for key in one:
            same(one[key], two[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), where
        for k, (a, b) in enumerate(zip(one, two, strict=True)):
            same(a, b, f"{where}[{k}]")
    elif type(one).__module__.startswith("linkfield"):
        same(one.__getstate__(), two.__getstate__(), where)
    else:
        assert one == two or one != one, where


def assert_twins(model, twin, data=X):
    same(state(model), state(twin))
    for name in ("predict", "predict_proba", "transform", "score", "score_samples", "bic", "aic"):
        if hasattr(model, name):
            one, two = getattr(model, name)(data), getattr(twin, name)(data)
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes(), name


NAMES = ["HMRFKMeans", "PCKMeans", "MKMeans", "MPCKMeans", "KMeansI", "KMeansIC", "KMeansICD",
         "SeededKMeans", "ConstrainedKMeans", "COPKMeans",
         "ConstrainedGaussianMixture"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator(name, tmp_path):
    model = getattr(lf, name)(3, random_state=0).fit(X, partial_labels=PARTIAL)
    twin = again(model, tmp_path)
    assert_twins(model, twin)
    assert twin.get_params() == model.get_params()
    assert clone(twin).get_params() == clone(model).get_params()
    # Fitted anew it does the same again.
    same(state(twin.fit(X, partial_labels=PARTIAL)), state(model))


KINDS = ["identity", "diagonal", "full", "diagonal-per-cluster", "full-per-cluster"]
OTHERS = ["cosine", "correlation", "i-divergence", "kl", "itakura-saito"]
OFFERED = [("euclidean", kind) for kind in KINDS]
OFFERED += [(name, kind) for name in OTHERS for kind in KINDS[:2]]


@pytest.mark.parametrize(("distortion", "metric"), OFFERED)
def test_every_distortion_and_metric(distortion, metric, tmp_path):
    model = HMRFKMeans(3, distortion=distortion, metric=metric, random_state=0, n_init=1)
    model.fit(X, constraints=PAIRS, sample_id=IDS)
    assert_twins(model, again(model, tmp_path))


OBJECTS = [
    {"inference": inference.ICM(max_sweeps=7)},
    {"inference": inference.BeliefPropagation(damping=0.3)},
    {"inference": inference.LinearProgram()},
    {"inference": inference.Exact()},
    {"inference": inference.as_inference("auto")},
    {"inference": MeanField(temperature=0.7), "assignment": "soft"},
    {"distortion": distortions.IDivergence(smoothing_floor=0.25)},
    {"distortion": distortions.as_distortion("logistic"), "data": X / 10},
    {"penalty": distortions.as_penalty("mpc2003"), "metric": "full"},
    {"penalty": distortions.as_penalty("potts"), "certify": True},
    {"metric_prior": estimation.Wishart()},
    {"metric_prior": estimation.Rayleigh(), "metric": "diagonal"},
    {"metric_prior": None},
    {"init": Neighbourhoods()},
    {"init": X[[0, 60, 120]]},
    {"init": np.asfortranarray(X)[[0, 60, 120]]},
    {"random_state": np.random.RandomState(3)},
    {"random_state": np.random.default_rng(3)},
    {"label_reading": "absolute", "data": X.astype(np.float32)},
    {"warm_start": True},
]


@pytest.mark.parametrize("given", OBJECTS, ids=lambda g: " ".join(map(str, g)))
def test_every_kind_of_parameter(given, tmp_path):
    given = dict(given)
    data = given.pop("data", X)
    model = HMRFKMeans(3, **{"metric": "diagonal", "random_state": 0, "n_init": 1, **given})
    model.fit(data, constraints=PAIRS, partial_labels=PARTIAL, sample_id=IDS)
    assert_twins(model, again(model, tmp_path), data)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("prior", [1.0, None, estimation.CovariancePrior()])
def test_every_mixture(covariance, prior, tmp_path):
    said = {"teacher": [], "row": [], "label": [], "confidence": []}
    for teacher in ("ann", "bob"):
        for row in range(0, 150, 10):
            said["teacher"].append(teacher)
            said["row"].append(row)
            said["label"].append(int(Y[row]))
            said["confidence"].append(0.45)
    import pandas as pd

    groups = Groups.from_teachers(pd.DataFrame(said))
    model = lf.ConstrainedGaussianMixture(
        3, covariance_type=covariance, covariance_prior=prior, random_state=0
    )
    model.fit(X, groups=groups)
    twin = again(model, tmp_path)
    assert_twins(model, twin)
    same(model.suspects(threshold=np.inf), twin.suspects(threshold=np.inf))
    assert set(twin.teacher_reliability_["teacher"]) == {"ann", "bob"}
    assert_array_equal(twin.sample(5)[0], model.sample(5)[0])


def test_strength_chosen_by_itself(tmp_path):
    model = lf.ConstrainedGaussianMixture(3, strength="auto", random_state=0)
    model.fit(X, partial_labels=np.where(np.arange(150) % 2 == 0, Y, -1))
    assert_twins(model, again(model, tmp_path))


def test_ids_of_any_kind_in_the_violations(tmp_path):
    for ids in (IDS, list(range(1000, 1150)), [(i, "a") for i in range(150)]):
        pairs = Constraints.from_labels(Y, n_pairs=60, noise=0.4, random_state=1, sample_id=ids)
        model = lf.PCKMeans(3, constraint_weight=1e-3, closure=False, random_state=0)
        model.fit(X, constraints=pairs, sample_id=ids)
        twin = again(model, tmp_path)
        assert len(twin.violations_) > 5
        assert twin.violations_.tolist() == model.violations_.tolist()
        assert twin.violations_.dtype == model.violations_.dtype


def test_names_of_columns(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["länge", "breite", "u", "v"])
    model = lf.PCKMeans(3, random_state=0).fit(frame)
    twin = again(model, tmp_path)
    assert_array_equal(twin.feature_names_in_, model.feature_names_in_)
    assert_array_equal(twin.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(frame[["u", "v", "länge", "breite"]])


TEXTS = [
    f"{a} {b} and {c}"
    for a in ("cats", "dogs", "stocks", "bonds")
    for b in ("like", "eat", "fall", "rise")
    for c in ("milk", "meat", "markets", "rates")
]


@pytest.mark.parametrize("last", ["HMRFKMeans", "ConstrainedGaussianMixture"])
def test_pipelines(last, tmp_path):
    ending = getattr(lf, last)(3, random_state=0)
    pipe = make_pipeline(StandardScaler(), PCA(3, random_state=0), ending).fit(X)
    twin = again(pipe, tmp_path)
    assert isinstance(twin, Pipeline)
    assert pipe.predict_proba(X).tobytes() == twin.predict_proba(X).tobytes()
    texts = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), stop_words="english"),
        TruncatedSVD(5, random_state=0),
        Normalizer(),
        getattr(lf, last)(2, random_state=0),
    ).fit(TEXTS)
    twin = again(texts, tmp_path)
    new = [*TEXTS, "cats rise with the markets", ""]
    assert texts.predict_proba(new).tobytes() == twin.predict_proba(new).tobytes()
    same(state(texts[-1]), state(twin[-1]))


def test_requests_of_nested_pipelines(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True), PCA(3, random_state=0)
        )
        ending = lf.PCKMeans(3, random_state=0).set_fit_request(sample_weight=False)
        pipe = make_pipeline(make_pipeline(inner, "passthrough"), ending)
        weight = np.linspace(0.1, 1, len(X))
        pipe.fit(X, sample_weight=weight)
        twin = again(pipe, tmp_path)
        assert twin[0][0][0].get_metadata_routing().fit.requests == {"sample_weight": True}
        assert twin[-1].get_metadata_routing().fit.requests["sample_weight"] is False
        assert not any("_linkfield" in name for name in vars(twin[0][0][0]))
        twin.fit(X, sample_weight=weight)
        assert_array_equal(twin[0][0][0].mean_, pipe[0][0][0].mean_)


def test_sparse_texts(tmp_path):
    pipe = make_pipeline(TfidfVectorizer(), HMRFKMeans(2, distortion="cosine", random_state=0))
    pipe.fit(TEXTS)
    twin = again(pipe, tmp_path)
    assert pipe.transform(TEXTS).tobytes() == twin.transform(TEXTS).tobytes()


# ------------------------------------------------------ what a loaded model can do


def test_the_file_holds_no_data(tmp_path):
    rng = np.random.default_rng(0)
    big = rng.normal(size=(5000, 40))
    model = HMRFKMeans(2, metric="diagonal", warm_start=True, random_state=0, n_init=1).fit(big)
    file = tmp_path / "model.skops"
    save(model, file)
    assert file.stat().st_size < 40_000 < big.nbytes
    assert hasattr(model, "_fit_X") and not hasattr(load(file), "_fit_X")
    assert big[17].tobytes() not in file.read_bytes()


def test_a_loaded_model_goes_on_warm(tmp_path):
    model = HMRFKMeans(3, warm_start=True, metric="diagonal", random_state=0).fit(X)
    twin = again(model, tmp_path)
    twin.fit(X, constraints=PAIRS, sample_id=IDS)
    model.fit(X, constraints=PAIRS, sample_id=IDS)
    assert_array_equal(twin.labels_, model.labels_)


def test_a_loaded_model_explains_distances(tmp_path):
    model = HMRFKMeans(3, random_state=0).fit(X)
    twin = again(model, tmp_path)
    assert_array_equal(twin.explain(3, X).distance, model.explain(3).distance)
    with pytest.raises(ValueError, match=r"pass explain\(i, X\)"):
        twin.explain(3)


def test_about(tmp_path):
    about = {"columns": ["a", "b"], "größe": 1.5, "deep": {"list": [1, None, True]}}
    model = lf.PCKMeans(2, random_state=0).fit(X)
    save(model, tmp_path / "m.skops", about=about)
    assert read_about(tmp_path / "m.skops") == about
    save(model, tmp_path / "m.skops")
    assert read_about(tmp_path / "m.skops") == {}
    for wrong, what in (({"x": object()}, "JSON"), ([1], "a dict")):
        with pytest.raises(TypeError, match=what):
            save(model, tmp_path / "m.skops", about=wrong)
    assert read_about(tmp_path / "m.skops") == {}


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "m.skops"
    model = lf.PCKMeans(2, random_state=0).fit(X)
    save(model, file)
    file.chmod(0o640)
    before = file.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            save(model, file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]
    save(model, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
