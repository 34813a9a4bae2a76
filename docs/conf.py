"""Configuration of the documentation. The build needs no network."""

import re
import sys
from pathlib import Path

from linkfield._version import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for _gallery_order

project = "linkfield"
author = "linkfield developers"
copyright = "2026, linkfield developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}  # autosummary writes .rst
exclude_patterns = ["_build", "gallery"]  # the gallery writes its pages into generated/
nitpicky = False
suppress_warnings = ["ref.python"]  # a word of a type, such as "labels", may be several attributes

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, like parameters

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("linkfield",),
    "reference_url": {"linkfield": None},  # links to our own pages; others would need a network
    "filename_pattern": r"plot_",
    "within_subsection_order": "_gallery_order.AsListed",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "capture_repr": (),  # what an example shows, it prints or draws
    "thumbnail_size": (520, 330),
}

html_theme = "pydata_sphinx_theme"
html_title = "linkfield"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
}
html_static_path = ["_static"]
html_css_files = ["linkfield.css"]
html_sidebars = {"index": [], "getting_started": []}  # they have no section to navigate


def without_last_line(app, docname, source):
    """Drop the empty line that ends a doctest, which only the tests need."""
    if "generated" not in docname:
        source[0] = re.sub(r"\n\n(?=```\n)", "\n", source[0])


def setup(app):
    app.connect("source-read", without_last_line)
