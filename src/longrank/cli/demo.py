"""``longrank demo``."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from longrank.cli.terminal import console, counted, needs

if TYPE_CHECKING:
    from longrank.experiments.demo import DeskRun, Player


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
    from longrank.experiments.demo import PARTS, DeskRun, draw
    from longrank.experiments.demo import demo as run
    from longrank.jobs import Jobs

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no process is left behind
    out.mkdir(parents=True, exist_ok=True)  # fails now rather than in a minute
    players: list[Player] = []
    with counted() as bar:
        task = bar.add_task("compiling for this machine, and running", total=PARTS)
        for part in run(rounds, seed, Jobs(2)):
            bar.advance(task)
            if isinstance(part, DeskRun):
                bar.console.print(_desk(part), "")
            else:
                players.append(part)
    for world in dict.fromkeys(player.world for player in players):
        console.print(_world([player for player in players if player.world == world]))
    explained = {player.policy: player.explained for player in players if player.explained}
    console.print(
        "\nOne payment explained: how `recommended` ranks it after learning, in the linear scenario"
        "\n(a success is worth 1, every try costs 0.1, giving up costs 0.1)\n"
    )
    console.print(explained["recommended"], highlight=False)
    console.print(
        "\nPictures of the average reward, CR(t) / t: "
        + ", ".join(str(file) for file in draw(players, out))
    )


def _desk(desk: DeskRun) -> Group:
    """What each way to route payments came to, in money, and the next payment."""
    title = f"payment desk (simulated): {desk.payments:,} payments, one provider down for a sixth"
    table = Table(title=title, min_width=66)
    table.add_column("")
    for name in ("earned, EUR", "fees, EUR", "approved"):
        table.add_column(name, justify="right")
    for one in desk.accounts:
        money = (f"{amount:,.0f}" for amount in (one.earned, one.fees))
        table.add_row(one.who, *money, f"{100.0 * one.approved / desk.payments:.1f} %")
    return Group(
        table,
        "\nThe next payment explained: an approval earns 12 % of the amount, each try costs the\n"
        "provider's fee (in EUR)\n",
        Text(desk.explained),
    )


def _world(players: list[Player]) -> Table:
    """What each policy earned in one world, scenario by scenario."""
    title = f"{players[0].world}: expected reward per round (mean length)"
    table = Table(title=title, min_width=66)
    table.add_column("")
    for scenario in players[0].runs:
        table.add_column(scenario, justify="right")
    for player in players:
        runs = player.runs.values()
        cells = (f"{run.expected.mean():.3f} ({run.lengths.mean():.1f})" for run in runs)
        table.add_row(player.policy, *cells)
    table.add_section()
    best = (f"{run.optimum.mean():.3f}      " for run in players[0].runs.values())
    table.add_row("knows the truth", *best)
    return table
