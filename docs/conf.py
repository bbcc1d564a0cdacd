"""Sphinx: `make docs`."""

import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import longrank

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "longrank"
author = "the longrank maintainers"
copyright = "2026, the longrank maintainers"
release = longrank.__version__

extensions = [
    "mathml",
    "myst_parser",
    "notebook_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
exclude_patterns = ["_build", "_extensions"]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "longrank"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_theme_options = {
    "navigation_depth": 2,
    "show_toc_level": 2,
    "show_nav_level": 2,
    "collapse_navigation": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["version"],
}
html_sidebars = {"index": [], "questions": []}
html_show_sourcelink = False


def trim(_app: Sphinx, page: nodes.document) -> None:
    """Remove the empty line that doctest needs at the end of a block."""
    for block in page.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.astext().rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[~?(?:\w+\.)?tuple\[~?(?:\w+\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[~?(?:numpy\.)?(\w+)\]\]"
)


def shorten(_app: Sphinx, _domain: str, _kind: str, content: nodes.Element) -> None:
    """Write the type of an array as ``ndarray[float64]``."""
    for text in list(content.findall(nodes.Text)):
        if "ndarray[" in text:
            text.parent.replace(text, nodes.Text(ARRAY.sub(r"ndarray[\1]", text)))


def copy_licence(app: Sphinx, _error: Exception | None) -> None:
    """Put the licence beside the pages, with an ending that browsers show as text."""
    shutil.copyfile(Path(app.srcdir).parent / "LICENSE", Path(app.outdir) / "LICENSE.txt")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", copy_licence)
    app.connect("doctree-read", trim)
    app.connect("object-description-transform", shorten, priority=900)
