"""Run notebooks without Jupyter, and store what they show: python docs/notebooks/run.py [FILE ...]

Cells run in order in one namespace, as in Jupyter. What is printed, the value of a cell's last
expression, and figures that are shown are its outputs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

matplotlib.use("Agg")
Output = dict[str, Any]


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs that it has now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _execute("".join(cell["source"]), namespace, count)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _execute(source: str, namespace: dict[str, Any], count: int) -> list[Output]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown, value = [], None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        plt.show = lambda: shown.append(_picture())
        exec(compile(tree, f"cell {count}", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), namespace)
    outputs: list[Output] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    outputs.extend(shown)
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(keepends=True), **data}
        kind = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
        outputs.append({**kind, "data": data})
    return outputs


def _picture() -> Output:
    """Return the current figure as an output; its title is the text for those who cannot see it."""
    figure, image = plt.gcf(), io.BytesIO()
    figure.savefig(image, format="png", dpi=80, metadata={"Software": None})
    plt.close(figure)
    data = {
        "image/png": base64.b64encode(image.getvalue()).decode(),
        "text/plain": [figure.axes[0].get_title()],
    }
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def main() -> None:
    found = [Path(name) for name in sys.argv[1:]] or sorted(Path(__file__).parent.glob("*.ipynb"))
    for path in found:
        done = run(json.loads(path.read_text()))
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
        print(f"{path}: {sum(cell['cell_type'] == 'code' for cell in done['cells'])} cells")


if __name__ == "__main__":
    main()
