"""Sphinx: `make docs`."""

import longrank

project = "longrank"
author = "the longrank maintainers"
copyright = "2026, the longrank maintainers"
release = longrank.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
html_theme = "pydata_sphinx_theme"
html_title = "longrank"
exclude_patterns = ["_build"]
