"""Configuration of the documentation. The build needs no network."""

from linkfield._version import __version__

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
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}  # autosummary writes .rst
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "linkfield"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False}
