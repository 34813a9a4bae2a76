"""
Short texts: the same messages, two partitions
==============================================

Messages to a bank name a product and a wish. One can sort them by either. Without knowledge a
clustering mixes both; with a few labels it finds the one that is meant. The rows are TF-IDF,
sparse, and the distance is the cosine.
"""

# %%
# The messages are made up from parts.
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from linkfield import HMRFKMeans
from linkfield.evaluation import adjusted_rand
from linkfield.plots import PartitionDisplay

PRODUCTS = {
    "card": ["my card", "the debit card", "a new card", "this credit card"],
    "transfer": ["my transfer", "the bank transfer", "a transfer abroad", "this wire transfer"],
    "account": ["my savings account", "the joint account", "a new account", "this account"],
    "loan": ["my loan", "the car loan", "a new loan", "this mortgage loan"],
}
WISHES = {
    "refused": ["was refused", "was declined without a reason", "has been rejected"],
    "fee": ["has a fee that I did not expect", "costs too much", "was charged twice"],
    "late": ["is late", "has not arrived", "takes too long", "is still pending"],
    "access": ["does not show in the app", "is missing after login", "asks for a password"],
}
OPENINGS = ["hello,", "hi there,", "please help:", "good morning,", "why,", "sorry,"]

rng = np.random.default_rng(0)
texts, product, wish = [], [], []
for _ in range(400):
    what, why = rng.choice(list(PRODUCTS)), rng.choice(list(WISHES))
    parts = OPENINGS, PRODUCTS[what], WISHES[why]
    texts.append(" ".join(rng.choice(words) for words in parts))
    product.append(what)
    wish.append(why)
product, wish = np.array(product), np.array(wish)
print(*texts[:3], sep="\n")

# %%
words = TfidfVectorizer(sublinear_tf=True)
X = words.fit_transform(texts)

plain = HMRFKMeans(4, distortion="cosine", random_state=0).fit(X)
told = rng.choice(400, 80, replace=False)
others = np.setdiff1d(np.arange(400), told)


def with_labels(names):
    """Fit with the names of eighty messages; the others are unknown."""
    known = np.full(400, None, dtype=object)
    known[told] = names[told]
    return HMRFKMeans(4, distortion="cosine", random_state=0).fit(X, partial_labels=known)


by_wish, by_product = with_labels(wish), with_labels(product)

# %%
# Scores on the 320 messages that nobody labelled.
print("                 wishes  products")
for name, model in ("no labels", plain), ("labels of wishes", by_wish), ("of products", by_product):
    scores = [adjusted_rand(names, model.labels_, rows=others) for names in (wish, product)]
    print(f"{name:16s} {scores[0]:7.2f} {scores[1]:9.2f}")
assert adjusted_rand(wish, by_wish.labels_, rows=others) > 0.8
assert adjusted_rand(product, by_product.labels_, rows=others) > 0.8

# %%
# Colours are clusters, shapes the true wishes.
PartitionDisplay.from_estimator(
    by_wish, X, before=plain.labels_, truth=wish, max_links=0, titles=("no labels", "80 labels")
)

# %%
# The words that lead in every cluster.
names = words.get_feature_names_out()
for h, centre in enumerate(by_wish.cluster_centers_):
    print(h, ", ".join(names[np.argsort(centre)[::-1][:6]]))
