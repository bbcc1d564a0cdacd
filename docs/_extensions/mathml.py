"""Formulas as MathML, which browsers show by themselves: no script from elsewhere is needed."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

TAG = re.compile(r"\\tag\{(.+?)\}")


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Show a formula, with its number (``\\tag``) at the right margin."""
    tag = TAG.search(node.astext())
    formula = convert(TAG.sub("", node.astext()).strip(), display="block")
    number = f'<span class="number">({tag[1]})</span>' if tag else ""
    writer.body.append(f'<div class="formula">{formula}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
