"""``longrank demo``."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from longrank.cli.terminal import console, counted, needs, say

if TYPE_CHECKING:
    from longrank.experiments.demo import DeskRun, Player

EXPLAINED = """
The next payment explained: an approval earns 12 % of the amount, each try costs the provider's fee
(in EUR)
"""


@needs("experiments")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo"),
    rounds: Annotated[
        int, typer.Option(min=20, help="Rounds on the digits; payments are four times as many.")
    ] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Watch longrank learn to route payments, in money; then compare seven policies.

    The first part is a simulated payment desk: what each routing strategy earns, pays in fees and
    gets approved on the same payments, with one provider down part of the time, and how longrank
    ranks the next payment. The second part compares the paper's six policies (Rand, Eps, C-UCB1,
    GL-CDCM, Ind, Dep) and `recommended` on scikit-learn's handwritten digits, where a 3 should
    come early. In the three scenarios a success is always worth 1 (vanilla), half as much with
    each further attempt (exponential), or 1 minus 0.1 per attempt (linear). All policies keep the
    same settings throughout; nothing is tuned.

    Needs `pip install '.[experiments]'`.

    Example: `longrank demo --rounds 200 --out pictures`
    """
    from longrank.experiments.demo import PARTS, DeskRun, draw
    from longrank.experiments.demo import demo as run
    from longrank.jobs import Jobs

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave no process behind
    out.mkdir(parents=True, exist_ok=True)  # fail now rather than in a minute
    players: list[Player] = []
    with counted() as bar:
        task = bar.add_task("a payment desk, then seven policies", total=PARTS)
        for part in run(rounds, seed, Jobs(2)):
            bar.advance(task)
            if isinstance(part, DeskRun):
                bar.console.print(_desk(part), EXPLAINED, highlight=False)
                say(f"{part.explained}\n", bar.console)
            else:
                players.append(part)
    console.print(_digits(players))
    files = ", ".join(map(str, draw(players, out)))
    say(f"\nPictures of the average reward, CR(t) / t: {files}")


def _desk(desk: DeskRun) -> Table:
    """Table of what each way to route payments earned."""
    title = f"payment desk (simulated): {desk.payments:,} payments, an outage for a sixth"
    rows = [
        (who, f"{earned:,.0f}", f"{fees:,.0f}", f"{100.0 * approved / desk.payments:.1f} %")
        for who, (earned, fees, approved) in desk.accounts.items()
    ]
    return _table(title, ("earned, EUR", "fees, EUR", "approved"), rows)


def _digits(players: list[Player]) -> Table:
    """Table of what each policy earned on the digits, by scenario."""
    rows = [
        (name, *(f"{run.expected.mean():.3f} ({run.lengths.mean():.1f})" for run in runs.values()))
        for name, runs in players
    ]
    runs = players[0].runs
    best = (f"{run.optimum.mean():.3f}      " for run in runs.values())
    table = _table("digits (real): expected reward per round (mean length)", runs, rows)
    table.add_section()
    table.add_row("knows the truth", *best)
    return table


def _table(title: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table("", title=title, min_width=66)
    for name in columns:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    return table
