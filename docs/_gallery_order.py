"""The order of the examples in the gallery: from the first fit to the rarer questions."""

ORDER = (
    "plot_first_fit.py",
    "plot_links.py",
    "plot_feature_weights.py",
    "plot_contradictions.py",
    "plot_do_they_help.py",
    "plot_teachers.py",
    "plot_soft_clusters.py",
    "plot_number_of_components.py",
    "plot_inference.py",
    "plot_text.py",
    "plot_entities.py",
    "plot_large_data.py",
)


class AsListed:
    """Sort key of sphinx-gallery; an example that is not listed is an error."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> int:
        return ORDER.index(filename)
