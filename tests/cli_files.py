"""Small files as users have them."""

import csv

import numpy as np
from sklearn.datasets import load_iris

HEADER = ("flower", "sepal_length", "sepal_width", "petal_length", "petal_width", "site", "known")


def iris_lines(every=8):
    """Return ids, measurements, a column of text, and a label for every few rows."""
    bunch = load_iris()
    species = np.array(bunch.target_names)[bunch.target]
    sites = np.array(["north", "south"])[np.arange(150) % 2]
    known = np.where(np.arange(150) % every == 0, species, "")
    return [
        (f"f{k:03d}", *map(float, bunch.data[k]), str(sites[k]), str(known[k])) for k in range(150)
    ]


def write_csv(path, header, lines):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(lines)
    return path


def write_iris(folder):
    """Write iris.csv (partly labelled), truth.csv and pairs.csv (by id)."""
    bunch = load_iris()
    y = bunch.target
    write_csv(folder / "iris.csv", HEADER, iris_lines())
    species = np.array(bunch.target_names)[y]
    truth = [(f"f{k:03d}", species[k]) for k in range(150)]
    write_csv(folder / "truth.csv", ("id", "label"), truth[::-1])
    rng = np.random.default_rng(5)
    pairs = [sorted(rng.choice(150, 2, replace=False).tolist()) for _ in range(30)]
    lines = [(f"f{a:03d}", f"f{b:03d}", "must" if y[a] == y[b] else "cannot") for a, b in pairs]
    write_csv(folder / "pairs.csv", ("a", "b", "kind"), lines)


def read_table(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


TEXTS = {
    "boats": ["sail wind harbour mast", "harbour boat sail rope", "wind mast boat anchor",
              "anchor rope harbour", "mast sail boat wind rope"],
    "bread": ["flour oven yeast dough", "dough bread oven crust", "yeast flour water dough",
              "crust oven bread", "flour bread yeast water crust"],
}  # fmt: skip


def write_texts(path):
    import json

    lines = [
        {"key": f"{kind}-{k}", "body": text}
        for kind, texts in TEXTS.items()
        for k, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
