"""Show notebooks as pages: their cells as Markdown, with the outputs that are stored in them."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Parses a notebook by way of Markdown."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook: dict[str, Any]) -> str:
    """Return the cells of a notebook as one Markdown page."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(_fenced(source, "python"))
            parts.extend(_shown(output) for output in cell["outputs"])
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _fenced("".join(output["text"]), "text")
    data = output["data"]
    if "image/png" in data:
        return f"![{data['text/plain'][0]}](data:image/png;base64,{data['image/png'].strip()})"
    if "text/html" in data:
        return _fenced("".join(data["text/html"]), "{raw} html")
    return _fenced("".join(data["text/plain"]), "text")


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
