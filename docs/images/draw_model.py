"""Draw the pictures of docs/model.md: `python docs/images/draw_model.py` writes the SVG files.

The clusters in them are fits, not wishes: two clusters of rows that fall into four heaps.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from linkfield import Constraints, HMRFKMeans

BLUE, ORANGE, INK, GREY, CALM = "#0072B2", "#E69F00", "#222222", "#767676", "#5b6570"
COLOURS = (BLUE, ORANGE)
PALE = ("#cfe3f0", "#f9e6bf")
MUST = [(0, 21), (5, 26), (10, 31), (15, 36)]  # a row above with one below, on the same side
CANNOT = [(2, 12), (23, 34)]  # left and right


def rows():
    """Return four heaps of ten rows: top left, top right, bottom left, bottom right."""
    rng = np.random.default_rng(5)
    heaps = [(-1.0, 1.35), (1.0, 1.35), (-1.0, -1.35), (1.0, -1.35)]
    return np.concatenate([rng.normal(m, (0.33, 0.33), (10, 2)) for m in heaps])


def fits():
    """Return the labels without and with constraints, and the learned weights."""
    X, known = rows(), Constraints(must_link=MUST, cannot_link=CANNOT)
    plain = HMRFKMeans(2, metric="identity", random_state=0).fit(X)
    model = HMRFKMeans(2, metric="diagonal", random_state=0).fit(X, constraints=known)
    return plain.labels_, model.labels_, model.metric_


def text(x, y, words, *, size=13, fill=INK, anchor="middle", style=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}"{style}>{words}</text>'
    )


def svg(width, height, label, parts):
    """Return a whole picture on a white ground, which dark pages need."""
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{INK}"/></marker>'
        "</defs>"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{label}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, ground, tip, *parts, "</svg>"]) + "\n"


def place(X, left, top, scale):
    """Return pixel coordinates of rows in a panel."""
    return np.column_stack([left + scale * (X[:, 0] + 2.0), top + scale * (2.2 - X[:, 1])])


def dots(P, labels=None):
    """Draw rows: circles and squares in the colours of their clusters, or all grey."""
    out = []
    for i, (x, y) in enumerate(P):
        k = None if labels is None else int(labels[i])
        fill = GREY if k is None else COLOURS[k]
        if k == 1:
            out.append(
                f'<rect x="{x - 4.4:.1f}" y="{y - 4.4:.1f}" width="8.8" height="8.8" '
                f'fill="{fill}" stroke="#fff"/>'
            )
        else:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="#fff"/>')
    return out


def links(P, pairs, colour, dash=""):
    look = f'stroke="{colour}" stroke-width="1.8"' + (f' stroke-dasharray="{dash}"' if dash else "")
    return [
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}" {look}/>'
        for (x, y), (u, v) in P[np.asarray(pairs)]
    ]


def frame(left, top, width, height, title):
    box = (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="8" fill="none" '
        'stroke="#bbbbbb"/>'
    )
    return [box, text(left + width / 2, top - 10, title, size=14)]


def canonical(labels):
    """Number clusters by the row that comes first."""
    return labels if labels[0] == 0 else 1 - labels


def draw_rows():
    """Rows alone, rows with pairs, clusters by both."""
    plain, told, _ = fits()
    parts = []
    titles = "k-means on the rows", "what the user knows", "rows and knowledge together"
    for k, title in enumerate(titles):
        left = 20 + 270 * k
        P = place(rows(), left + 10, 42, 58)
        parts += frame(left, 36, 250, 258, title)
        if k > 0:
            parts += links(P, MUST, INK) + links(P, CANNOT, CALM, "6 4")
        parts += dots(P, (canonical(plain), None, canonical(told))[k])
    key = [
        f'<line x1="250" y1="318" x2="284" y2="318" stroke="{INK}" stroke-width="1.8"/>',
        text(292, 322, "must-link", anchor="start"),
        f'<line x1="420" y1="318" x2="454" y2="318" stroke="{CALM}" stroke-width="1.8" '
        'stroke-dasharray="6 4"/>',
        text(462, 322, "cannot-link", anchor="start"),
    ]
    return svg(830, 340, "Rows, pairs, and the clusters that follow from both", parts + key)


def draw_field():
    """Hidden labels above, rows below."""
    xs = [90, 210, 330, 450, 570, 690]
    label = [0, 0, 1, 1, 0, 1]
    parts = []
    for x in xs:
        parts.append(
            f'<line x1="{x}" y1="112" x2="{x}" y2="222" stroke="{INK}" marker-end="url(#tip)"/>'
        )
    parts += [
        f'<path d="M90 90 Q 150 30 210 90" fill="none" stroke="{INK}" stroke-width="2"/>',
        f'<path d="M330 90 Q 390 30 450 90" fill="none" stroke="{INK}" stroke-width="2"/>',
        f'<path d="M210 90 Q 270 30 330 90" fill="none" stroke="{CALM}" stroke-width="2" '
        'stroke-dasharray="6 4"/>',
        text(150, 48, "must: w·φ if they differ", size=12),
        text(270, 24, "cannot: w·(φmax − φ) if they agree", size=12, fill=CALM),
        text(390, 48, "must", size=12),
    ]
    for i, x in enumerate(xs):
        colour = COLOURS[label[i]]
        parts += [
            f'<circle cx="{x}" cy="90" r="22" fill="{PALE[label[i]]}" stroke="{colour}" '
            'stroke-width="2"/>',
            text(x, 95, f"l{chr(0x2081 + i)}", size=16),
            f'<rect x="{x - 22}" y="226" width="44" height="34" rx="5" fill="#eeeeee" '
            f'stroke="{INK}"/>',
            text(x, 248, f"x{chr(0x2081 + i)}", size=16),
        ]
    parts += [
        text(722, 95, "labels, hidden", anchor="start"),
        text(722, 248, "rows, seen", anchor="start"),
        text(720, 166, "D(x, μ): what a row", anchor="start", size=12),
        text(720, 183, "pays for its cluster", anchor="start", size=12),
    ]
    return svg(860, 280, "A field of hidden labels over the rows", parts)


def draw_metric():
    """The same rows under a fixed and under the learned metric."""
    _, told, weight = fits()
    X, told = rows(), canonical(told)
    scaled = X * np.sqrt(weight / weight.max())
    centres = [[M[told == k].mean(axis=0) for k in range(2)] for M in (X, scaled)]
    parts = []
    titles = "as given: up and down is far", "as learned: left and right is far"
    for k, (M, title) in enumerate(zip((X, scaled), titles, strict=True)):
        left = 60 + 380 * k
        P = place(M, left + 34, 46, 62)
        parts += frame(left, 40, 316, 275, title)
        for h, mean in enumerate(centres[k]):
            spread = M[told == h].std(axis=0) * 62 * 1.5
            x, y = place(np.array([mean]), left + 34, 46, 62)[0]
            parts.append(
                f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{spread[0]:.1f}" ry="{spread[1]:.1f}" '
                f'fill="{COLOURS[h]}" fill-opacity="0.12" stroke="{COLOURS[h]}"/>'
            )
        parts += links(P, MUST, INK) + dots(P, told)
    ratio = weight[0] / weight[1]
    note = f"learned weights: the horizontal feature counts {ratio:.0f} times the vertical one"
    return svg(780, 350, "The learned metric", [*parts, text(390, 338, note)])


def draw_loop():
    """The three steps of a fit."""
    boxes = [
        (40, "Assign", "labels of all rows:", "free ones the nearest centre,", "tied ones a field"),
        (310, "Centres", "every cluster's centre:", "the mean of its rows", "(or a direction)"),
        (580, "Metric", "weights or a matrix:", "tight clusters,", "few broken pairs"),
    ]
    parts = []
    for x, title, *lines in boxes:
        parts.append(
            f'<rect x="{x}" y="50" width="200" height="120" rx="10" fill="#f4f7fa" '
            f'stroke="{BLUE}" stroke-width="1.5"/>'
        )
        parts.append(text(x + 100, 80, title, size=17, style=' font-weight="bold"'))
        parts += [text(x + 100, 106 + 20 * i, line) for i, line in enumerate(lines)]
    arrow = f'stroke="{INK}" stroke-width="1.8" fill="none" marker-end="url(#tip)"'
    parts += [
        f'<line x1="242" y1="110" x2="304" y2="110" {arrow}/>',
        f'<line x1="512" y1="110" x2="574" y2="110" {arrow}/>',
        f'<path d="M680 172 C 680 240, 140 240, 140 178" {arrow}/>',
        text(410, 250, "until nothing changes; J never rises, in any of the three steps"),
        text(140, 36, "start: neighbourhoods of the constraints", fill=GREY),
    ]
    return svg(820, 270, "The loop of a fit", parts)


PICTURES = {
    "model_rows.svg": draw_rows,
    "model_field.svg": draw_field,
    "model_metric.svg": draw_metric,
    "model_loop.svg": draw_loop,
}


def main(folder):
    for name, draw in PICTURES.items():
        (Path(folder) / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
