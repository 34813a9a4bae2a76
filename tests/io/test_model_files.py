"""Model files: what cannot be saved, and everything that is refused."""

import importlib
import io
import json
import pickle
import zipfile

import pytest
import skops.io
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import linkfield as lf
from linkfield import HMRFKMeans
from linkfield.distortions import Bregman, Distortion, Metric, Penalty
from linkfield.estimation.gaussians import Gaussians
from linkfield.estimation.priors import MetricPrior
from linkfield.exceptions import ModelFileError
from linkfield.inference.base import Inference
from linkfield.io import load, models, read_about, save
from linkfield.io._trusted import ESTIMATORS, TRUSTED

X, _ = load_iris(return_X_y=True)
TEXTS = ["cats like milk", "dogs like meat", "stocks fall", "bonds and stocks rise"]


# ----------------------------------------------------------- what cannot be saved


class Mine(HMRFKMeans):
    pass


def lowered(text):
    return text.lower()


def half_square(x):
    return 0.5 * (x**2).sum(axis=1)


def itself(x):
    return x


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (
            lambda: HMRFKMeans(2, distortion=Bregman(half_square, itself), metric="identity").fit(
                X
            ),
            "distortion__F, distortion__grad is a function",
        ),
        (
            lambda: HMRFKMeans(
                2, distortion=Bregman(lambda x: half_square(x), itself), metric="identity"
            ).fit(X),
            "holds no code; take a named choice",
        ),
        (lambda: Mine(2).fit(X), "no objects of the type .*Mine"),
        (
            lambda: make_pipeline(TfidfVectorizer(preprocessor=lowered), lf.PCKMeans(2)).fit(TEXTS),
            "tfidfvectorizer__preprocessor is a function",
        ),
        (
            lambda: make_pipeline(FunctionTransformer(itself), lf.PCKMeans(2)).fit(X),
            "functiontransformer__func is a function",
        ),
        (lambda: KMeans(2, n_init=1).fit(X), "takes a fitted estimator of linkfield"),
        (lambda: make_pipeline(StandardScaler(), KMeans(2, n_init=1)).fit(X), "Pipeline that ends"),
        (lambda: "model", "got str"),
    ],
)
def test_what_cannot_be_saved(make, what, tmp_path):
    file = tmp_path / "m.skops"
    with pytest.raises(ModelFileError, match=what) as caught:
        save(make(), file)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_models_that_are_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        save(lf.PCKMeans(2), tmp_path / "m.skops")
    with pytest.raises(NotFittedError):
        save(make_pipeline(StandardScaler(), lf.PCKMeans(2)), tmp_path / "m.skops")


def test_no_folder(tmp_path):
    model = lf.PCKMeans(2, random_state=0).fit(X)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*; make it first"):
        save(model, tmp_path / "no" / "m.skops")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(model, tmp_path)


# ----------------------------------------------------------- what is not loaded


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "good.skops"
    save(lf.PCKMeans(2, random_state=0).fit(X), file)
    return file


def refused(file, content=None):
    if content is not None:
        file.write_bytes(content)
    messages = set()
    for read in (load, read_about):
        try:
            read(file)
        except ModelFileError as error:
            messages.add(str(error))
    assert messages, "it was read"
    message = sorted(messages)[0]
    assert "\n" not in message and file.name in message
    return message


def rewritten(file, **members):
    """Return the file with members replaced (None: left out)."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = members.get(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def test_foreign_files(good, tmp_path):
    other = tmp_path / "other.skops"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(other)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load(tmp_path)
    assert "is empty" in refused(other, b"")
    assert "no model of linkfield" in refused(other, b"a,b\n1,2\n")
    assert "looks like a pickle" in refused(other, pickle.dumps(load(good), protocol=5))
    skops.io.dump(KMeans(2, n_init=1).fit(X), other)
    assert "a skops file, but not one of linkfield" in refused(other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "is a zip file" in refused(other)


def bomb(file, name, size):
    """Return the file with a member of many zeros, which take next to no room."""
    out = io.BytesIO(file.read_bytes())
    with zipfile.ZipFile(out, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b" " * size)
    return out.getvalue()


def test_files_that_unpack_to_far_more(good, tmp_path, monkeypatch):
    bad = tmp_path / "bad.skops"
    header = json.loads(zipfile.ZipFile(good).read("linkfield.json"))
    without = tmp_path / "without.skops"
    without.write_bytes(rewritten(good, **{"linkfield.json": None}))
    size = 17 * 2**20
    content = bomb(without, "linkfield.json", size)
    assert len(content) < len(without.read_bytes()) + 100_000
    assert f"{size:,} of them in linkfield.json" in refused(bad, content)
    monkeypatch.setattr(models, "_LARGEST_CONTENT", 2**20)
    assert "would unpack to" in refused(bad, bomb(good, "zeros.npy", size))
    assert load(good).n_clusters == 2 and header["estimator"] == "PCKMeans"
    # What could not be read is not written.
    monkeypatch.setattr(models, "_LARGEST_RATIO", 0)
    monkeypatch.setattr(models, "_LARGEST_CONTENT", 1000)
    with pytest.raises(ModelFileError, match=r"PCKMeans takes [\d,]+ bytes"):
        save(lf.PCKMeans(2, random_state=0).fit(X), bad)
    with pytest.raises(ModelFileError, match="about takes"):
        save(lf.PCKMeans(2, random_state=0).fit(X), bad, about={"a": "x" * size})


def test_newer_formats(good, tmp_path):
    header = json.loads(zipfile.ZipFile(good).read("linkfield.json"))
    header |= {"format_version": models.FORMAT_VERSION + 1, "linkfield": "99.0"}
    content = rewritten(good, **{"linkfield.json": json.dumps(header)})
    message = refused(tmp_path / "new.skops", content)
    assert "written by linkfield 99.0 in format 2" in message and "upgrade" in message


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"{}", b'{"format": "linkfield model"}', b"\xff", b"[" * 200_000]
)
def test_damaged_headers(header, good, tmp_path):
    content = rewritten(good, **{"linkfield.json": header})
    assert "is damaged" in refused(tmp_path / "bad.skops", content)


def test_every_truncation_is_refused(good, tmp_path):
    content = good.read_bytes()
    for n in [*range(1, len(content), len(content) // 60), len(content) - 1]:
        refused(tmp_path / "cut.skops", content[:n])


def test_every_damaged_byte_is_noticed_or_harmless(good, tmp_path):
    """A flipped byte is refused, or lies where it changes nothing (a time, an attribute)."""
    content, whole = good.read_bytes(), load(good)
    bad = tmp_path / "bad.skops"
    caught = 0
    for at in range(0, len(content), len(content) // 200):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        bad.write_bytes(bytes(damaged))
        try:
            model = load(bad)
        except ModelFileError:
            caught += 1
        else:
            assert model.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()
    assert caught > 100


def test_missing_members(good, tmp_path):
    with zipfile.ZipFile(good) as archive:
        names = [n for n in archive.namelist() if n != "linkfield.json"]
    for name in names:
        assert "is damaged" in refused(tmp_path / "bad.skops", rewritten(good, **{name: None}))


@pytest.mark.parametrize(
    "node",
    [
        {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
        {
            "__class__": "replacing",
            "__module__": "linkfield.io.files",
            "__loader__": "FunctionNode",
        },
        {"__class__": "shutil", "__module__": "linkfield.io.files", "__loader__": "TypeNode"},
        {"__class__": "Path", "__module__": "linkfield.io.files", "__loader__": "ObjectNode"},
    ],
)
def test_other_types_are_refused(node, good, tmp_path):
    """Also what modules of linkfield import: trust is by class, not by the package's name."""
    schema = json.loads(zipfile.ZipFile(good).read("schema.json"))
    schema["content"]["content"]["verbose"] = {**node, "__id__": 1}
    content = rewritten(good, **{"schema.json": json.dumps(schema)})
    message = refused(tmp_path / "bad.skops", content)
    assert "types that linkfield does not load" in message
    assert node["__class__"] in message


def test_another_model_than_the_header_says(good, tmp_path):
    header = json.loads(zipfile.ZipFile(good).read("linkfield.json"))
    content = rewritten(good, **{"linkfield.json": json.dumps(header | {"estimator": "Other"})})
    assert "holds no Other" in refused(tmp_path / "bad.skops", content)


# ------------------------------------------------------------------ the list of types


def _subclasses(cls):
    return {cls} | {s for c in cls.__subclasses__() for s in _subclasses(c)}


def test_the_list_of_types_is_complete_and_exact():
    for name in TRUSTED:
        module, _, cls = name.rpartition(".")
        found = getattr(importlib.import_module(module), cls)
        assert isinstance(found, type) and found.__module__ == module
    bases = (Distortion, Metric, Penalty, Inference, MetricPrior, Gaussians)
    needed = {s for base in bases for s in _subclasses(base)}
    concrete = [s for s in needed if not s.__abstractmethods__ and s.__name__[0] != "_"]
    names = {f"{s.__module__}.{s.__name__}" for s in concrete}
    ours = {n for n in names if n.startswith("linkfield.")}
    assert ours <= TRUSTED, ours - TRUSTED
    assert {n.rpartition(".")[2] for n in ESTIMATORS} == {
        name for name in lf.__all__ if hasattr(getattr(lf, name), "fit")
    }
