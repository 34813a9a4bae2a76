"""What people would rather look at than read. Needs matplotlib: pip install 'linkfield[plot]'.

Displays in scikit-learn's manner: ``SomethingDisplay.from_estimator(model, ...)`` computes and
draws; ``display.plot(ax)`` draws again, and ``figure_``, ``ax_`` and ``axes_`` are there to be
changed. ``theme="dark"`` is for dark pages.
"""

from ._display import Display
from ._figures import ENDINGS, as_png, as_svg, need_matplotlib, save
from ._matching import matched_labels
from ._theme import PALETTE, page_colours
from .before_after import before_after, main_plane
from .feature_weights import FeatureWeightsDisplay
from .field import FieldDisplay
from .learning_curve import Curve, LearningCurveDisplay, Panel, Style, styles_of
from .objective import ObjectiveDisplay
from .partition import PartitionDisplay
from .satisfaction import SatisfactionDisplay
from .silhouette import SilhouetteDisplay

__all__ = [
    "ENDINGS",
    "PALETTE",
    "Curve",
    "Display",
    "FeatureWeightsDisplay",
    "FieldDisplay",
    "LearningCurveDisplay",
    "ObjectiveDisplay",
    "Panel",
    "PartitionDisplay",
    "SatisfactionDisplay",
    "SilhouetteDisplay",
    "Style",
    "as_png",
    "as_svg",
    "before_after",
    "main_plane",
    "matched_labels",
    "need_matplotlib",
    "page_colours",
    "save",
    "styles_of",
]
