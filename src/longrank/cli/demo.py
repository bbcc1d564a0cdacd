"""``longrank demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longrank.cli.console import console, counted


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo"),
    rounds: Annotated[int, typer.Option(min=20, help="Rounds in each world.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
) -> None:
    """Seven policies learn to route payments and to find digits.

    The payment world is simulated (eight routes); the digits are the real handwritten ones that
    scikit-learn carries, ranked so that a 3 comes early. The paper's Rand, Eps, C-UCB1, GL-CDCM,
    Ind and Dep and our recommended policy live through both in three scenarios: a success is worth
    1 anywhere (vanilla), half as much at every further try (exponential), or 1 minus 0.1 per try
    (linear). The settings of the policies are the same everywhere; nothing is tuned.
    """
    from longrank.experiments.demo import SCENARIOS
    from longrank.experiments.demo import demo as run

    with counted() as bar:
        task = bar.add_task("fitting topics", total=42)
        result = run(out, rounds, seed, lambda name: bar.update(task, advance=1, description=name))

    for world in dict.fromkeys(cell.world for cell in result.cells):
        table = Table(title=f"{world}: expected reward a round (mean length)", min_width=66)
        table.add_column("")
        for scenario in SCENARIOS:
            table.add_column(scenario, justify="right")
        here = [cell for cell in result.cells if cell.world == world]
        for policy in dict.fromkeys(cell.policy for cell in here):
            row = [cell.run for cell in here if cell.policy == policy]
            table.add_row(
                policy, *(f"{r.expected.mean():.3f} ({r.lengths.mean():.1f})" for r in row)
            )
        table.add_section()
        row = [cell.run for cell in here if cell.policy == "Rand"]
        table.add_row("knows the truth", *(f"{r.optimum.mean():.3f}      " for r in row))
        console.print(table)
    console.print(
        "\nOne payment explained: recommended, having learned, in the linear scenario,"
        "\nwhere a success is worth 1, every try costs 0.1 and giving up costs 0.1\n"
    )
    console.print(result.ranking.explain(), highlight=False)
    console.print("\nCR(t) / t as a picture: " + ", ".join(str(file) for file in result.pictures))
