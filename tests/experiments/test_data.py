"""Data sets by name: the published sizes, the right files, no download, no label in a text."""

import gzip
import hashlib
import json
import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from linkfield.experiments import _files, data
from linkfield.experiments._text import body, word_rows
from linkfield.experiments.data import MissingDataError, TextForm, load, require

FOLDER = os.environ.get(_files.ENVIRONMENT)
needs_folder = pytest.mark.skipif(not FOLDER, reason="LINKFIELD_DATA is not set")

#: Rows, features (None: words), rows of every class in the order of their sorted names.
SIZES = {
    "iris": (150, 4, [50, 50, 50]),
    "wine": (178, 13, [59, 71, 48]),
    "wdbc": (569, 30, [357, 212]),
    "digits": (1797, 64, None),
    "letter": (20000, 16, None),
    "letter-ijl": (2263, 16, [755, 747, 761]),
    "pendigits": (10992, 16, [1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055]),
    "digits-389": (3165, 16, [1055, 1055, 1055]),
    "protein": (116, 20, [19, 16, 32, 15, 18, 16]),
    "derm": (366, 33, [52, 72, 49, 20, 112, 61]),
    "image": (2310, 18, [330] * 7),
    "20newsgroups": (19997, None, None),
    "news-different-3": (300, 2527, [100, 100, 100]),
    "news-related-3": (300, 3049, [100, 100, 100]),
    "news-similar-3": (300, 2256, [100, 100, 100]),
    "genre7": (1400, None, [200] * 7),
    "genre_ki04": (1205, None, [127, 127, 151, 139, 205, 163, 126, 167]),
    "banking77": (13083, 384, None),
    "banking77-texts": (13083, None, None),
    "mnist": (10000, 784, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
    "pbmc68k": (700, 50, None),
}


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv(_files.ENVIRONMENT, raising=False)


def counted(found):
    return np.bincount(found.y, minlength=found.n_clusters).tolist()


@needs_folder
@pytest.mark.parametrize("name", data.names())
def test_every_set_has_its_published_size(name):
    n, d, classes = SIZES[name]
    if name == "20newsgroups":  # words of a part are enough
        n = 500
        found = load(name, sample=n)
    else:
        found = load(name)
    assert not np.isnan(found.X.data if sparse.issparse(found.X) else found.X).any()
    assert found.X.shape[0] == len(found.y)
    if sparse.issparse(found.X):  # texts that have lost all their words are left out
        assert 0.98 * n < len(found.y) <= n
    else:
        assert len(found.y) == n
    assert d is None or found.X.shape[1] == d
    if classes is not None:
        assert np.all(np.abs(np.subtract(counted(found), classes)) <= n - len(found.y))
    assert found.y.min() >= 0 and found.y.max() < found.n_clusters
    assert list(found.label_names) == sorted(found.label_names)
    require(name)


@needs_folder
@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
def test_file_and_bundled_set_are_equal(name, monkeypatch):
    stored = load(name)
    monkeypatch.delenv(_files.ENVIRONMENT)
    bundled = load(name)
    np.testing.assert_array_equal(stored.X, bundled.X)
    np.testing.assert_array_equal(stored.y, bundled.y)
    assert stored.label_names == bundled.label_names


@needs_folder
def test_scales_and_columns_are_as_the_protocols_want_them():
    assert "age" not in load("derm").feature_names
    image = load("image")
    assert "region-pixel-count" not in image.feature_names and (image.X.std(axis=0) > 0).all()
    mnist = load("mnist").X
    assert mnist.min() == 0 and mnist.max() == 1
    np.testing.assert_allclose(np.linalg.norm(load("banking77").X, axis=1), 1, atol=2e-4)


@needs_folder
@pytest.mark.parametrize(("name", "share", "n"), [("Letter-IJL", 0.1, 226),
                         ("Letter-IJL", 0.2, 453), ("Digits-389", 0.2, 633)])  # fmt: skip
def test_samples_of_the_papers(name, share, n):
    first, again, other = (load(name, sample=share, seed=s) for s in (1, 1, 2))
    assert len(first.y) == n
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert first.n_clusters == 3


def test_without_a_folder_there_are_the_bundled_sets(no_folder):
    for name in ("iris", "wine", "wdbc", "digits"):
        n, d, classes = SIZES[name]
        found = load(name)
        assert found.X.shape == (n, d)
        assert classes is None or counted(found) == classes
        require(name)


def test_sample_takes_rows_with_their_labels(no_folder):
    whole, part = load("wine"), load("wine", sample=40, seed=3)
    assert part.X.shape == (40, 13)
    for row, label in zip(part.X, part.y, strict=True):
        where = np.flatnonzero((row == whole.X).all(axis=1))
        assert label in whole.y[where]
    with pytest.raises(ValueError, match="take 1 to 178"):
        load("wine", sample=179)


def test_missing_sets_say_how_to_provide_them(no_folder, tmp_path, monkeypatch):
    for call in (load, require):
        with pytest.raises(MissingDataError, match=r"letter\.csv\.gz.*--data.*LINKFIELD_DATA"):
            call("letter")
        with pytest.raises(MissingDataError, match=r"letter\.csv\.gz is not in.*LINKFIELD_DATA"):
            call("letter", tmp_path)
        with pytest.raises(MissingDataError, match="does not exist"):
            call("letter", tmp_path / "nowhere")
    monkeypatch.setenv(_files.ENVIRONMENT, str(tmp_path))
    with pytest.raises(MissingDataError, match="is not in the data folder"):
        load("protein")
    assert load("iris").X.shape == (150, 4)  # bundled, though the folder lacks it
    with pytest.raises(ValueError, match=r"no data set 'irish'; there are iris, wine"):
        load("irish")


def test_another_file_of_the_same_name_is_refused(tmp_path):
    path = tmp_path / "protein.csv.gz"
    path.write_bytes(gzip.compress(b"f01,label\n1.0,a\n"))
    with pytest.raises(ValueError, match=r"protein\.csv\.gz is not the file.*sha256.*fetch it"):
        load("protein", tmp_path)


def written(monkeypatch, folder, name, content):
    """Write a stand-in for a data file and have it taken for the real one."""
    (folder / name).write_bytes(content)
    monkeypatch.setitem(_files.CHECKSUMS, name, hashlib.sha256(content).hexdigest())


def test_newsgroups_are_read_without_headers(tmp_path, monkeypatch):
    groups = data.NEWS["news-different-3"]
    records = [
        {
            "group": g,
            "id": k,
            "mini": k < 3,
            "text": f"Newsgroups: {g}\nPath: x\n\nwords here\n\nof",
        }
        for g in (*groups, "sci.med")
        for k in range(5)
    ]
    lines = "".join(json.dumps(r) + "\n" for r in records)
    written(monkeypatch, tmp_path, "20newsgroups.jsonl.gz", gzip.compress(lines.encode()))
    form = TextForm(min_df=1, max_df=1.0)
    found = load("News-Different-3", tmp_path, text=form)
    assert found.label_names == groups and counted(found) == [3, 3, 3]
    assert set(found.feature_names) == {"words"}  # "here" and "of" are stop words
    everything = load("20newsgroups", tmp_path, text=form)
    assert everything.n_clusters == 4 and len(everything.y) == 20
    assert body("Newsgroups: a\n\none\n\ntwo") == "one\n\ntwo"


def test_newsgroups_fall_back_on_what_was_fetched_and_never_download(no_folder, monkeypatch):
    asked = {}

    def absent(**options):
        asked.update(options)
        raise OSError("20Newsgroups dataset not found")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", absent)
    for call in (load, require):
        with pytest.raises(MissingDataError, match=r"--data.*LINKFIELD_DATA"):
            call("20newsgroups")
    assert asked["download_if_missing"] is False and asked["remove"] == ("headers",)

    groups = list(data.NEWS["news-similar-3"])
    target = np.repeat([0, 1, 2], 130)
    texts = [f"{groups[t]} word{'ab'[k % 2]} number" for k, t in enumerate(target)]
    there = Bunch(data=texts, target=target, target_names=groups)
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", lambda **options: there)
    found = load("news-similar-3", text=TextForm(min_df=1, max_df=1.0))
    assert counted(found) == [100, 100, 100]


def test_texts_become_rows_of_the_wanted_length():
    texts = ["apple apple pear", "pear plum", "the of and", "apple plum plum plum"]
    loose = {"min_df": 1, "max_df": 1.0}
    counts, words, kept = word_rows(texts, TextForm("counts", None, **loose))
    assert words == ("apple", "pear", "plum") and kept.tolist() == [0, 1, 3]
    assert counts.toarray().tolist() == [[2, 1, 0], [0, 1, 1], [1, 0, 3]]
    l2, *_ = word_rows(texts, TextForm(**loose))
    np.testing.assert_allclose(sparse.linalg.norm(l2, axis=1), 1)
    l1, *_ = word_rows(texts, TextForm(norm="l1", **loose))
    np.testing.assert_allclose(np.asarray(l1.sum(axis=1)).ravel(), 1)
    np.testing.assert_allclose(l2.toarray() / l2.toarray().sum(axis=1)[:, None], l1.toarray())
    share, *_ = word_rows(texts, TextForm("counts", "l1", **loose))
    np.testing.assert_allclose(share.toarray()[0], [2 / 3, 1 / 3, 0])
    _, words, _ = word_rows([*texts, "apple fig"], TextForm(min_df=1, max_df=0.4))
    assert words == ("fig", "pear", "plum")  # apple is in 3 of 5
    _, words, _ = word_rows([*texts, "apple fig"], TextForm(min_df=2, max_df=1.0))
    assert words == ("apple", "pear", "plum")
    for wrong in (TextForm(weighting="bm25"), TextForm(norm="max")):
        with pytest.raises(ValueError, match="must be"):
            word_rows(texts, wrong)
