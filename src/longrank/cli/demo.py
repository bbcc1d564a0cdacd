"""``longrank demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from longrank.cli.terminal import console, counted, needs

if TYPE_CHECKING:
    from longrank.experiments.demo import Account


@needs("experiments")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo"),
    rounds: Annotated[int, typer.Option(min=20, help="Rounds to play in each world.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Watch longrank learn to route payments, in money; then compare seven policies.

    The first part is a simulated payment desk: what each way to route the same payments earns,
    pays in fees and gets approved while one of the providers is down for a while. The second
    part compares the paper's six policies (Rand, Eps, C-UCB1, GL-CDCM, Ind, Dep) and
    `recommended` in two worlds: eight simulated payment routes, and scikit-learn's handwritten
    digits, where a 3 should come early. In the three scenarios a success is always worth 1
    (vanilla), half as much with each further attempt (exponential), or 1 minus 0.1 per attempt
    (linear). All policies keep the same settings throughout; nothing is tuned.

    Needs `pip install 'longrank[experiments]'`.

    Example: `longrank demo --rounds 200 --out pictures`
    """
    from longrank.experiments.demo import SCENARIOS
    from longrank.experiments.demo import demo as run

    out.mkdir(parents=True, exist_ok=True)  # fails now rather than in a minute
    with counted() as bar:
        task = bar.add_task("payment desk", total=43)
        result = run(out, rounds, seed, lambda name: bar.update(task, advance=1, description=name))

    console.print(_desk(result.accounts, result.payments))
    console.print(
        "\nThe next payment explained: an approval earns 12 % of the amount, each try costs the\n"
        "provider's fee (in EUR)\n"
    )
    console.print(result.priced.explain(), "\n", highlight=False)
    for world in dict.fromkeys(cell.world for cell in result.cells):
        table = Table(title=f"{world}: expected reward per round (mean length)", min_width=66)
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
        "\nOne payment explained: how `recommended` ranks it after learning, in the linear scenario"
        "\n(a success is worth 1, every try costs 0.1, giving up costs 0.1)\n"
    )
    console.print(result.ranking.explain(), highlight=False)
    console.print(
        "\nPictures of the average reward, CR(t) / t: "
        + ", ".join(str(file) for file in result.pictures)
    )


def _desk(accounts: list[Account], payments: int) -> Table:
    """What each way to route payments came to, in money."""
    title = f"payment desk (simulated): {payments:,} payments, one provider down for a sixth"
    table = Table(title=title, min_width=66)
    table.add_column("")
    for name in ("earned, EUR", "fees, EUR", "approved"):
        table.add_column(name, justify="right")
    for one in accounts:
        money = (f"{amount:,.0f}" for amount in (one.earned, one.fees))
        table.add_row(one.who, *money, f"{100.0 * one.approved / payments:.1f} %")
    return table
