"""The ``longrank run`` commands that give the numbers of a table."""

import shlex
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from longrank.experiments.scores import Score
from longrank.experiments.settings import policies
from longrank.experiments.tables import MNIST

Options = dict[str, tuple[str, ...]]
_MERGED = ("--budgets", "--scenario", "--policies", "")  # in this order; "" is the tasks


def commands(scores: Iterable[Score], out: Path | None = None) -> list[str]:
    """Return the fewest commands that reproduce exactly what was run, with the output folder."""
    merged = [_options(score, out) for score in sorted(scores, key=_order)]
    for name in _MERGED:
        alike: dict[object, Options] = {}
        for options in merged:
            rest = tuple((option, values) for option, values in options.items() if option != name)
            same = alike.setdefault(rest, options)
            same[name] = tuple(dict.fromkeys((*same[name], *options[name])))
        merged = list(alike.values())
    return [_line(options) for options in merged]


def _options(score: Score, out: Path | None) -> Options:
    """Return the options of ``longrank run`` that give a score, in their order."""
    held_out = len(score.held_out)
    return {
        "": (score.key.task,),
        "--scenario": (score.key.scenario,),
        "--budgets": (str(score.key.budget),),
        "--policies": (score.key.policy,),
        "--grid": (score.grid,),
        "--seeds": (str(score.seeds),) if score.seeds > 1 else (),
        "--held-out": (str(held_out),) if held_out else (),
        "--out": () if out is None else (str(out),),
    }


def _line(options: Options) -> str:
    tasks = options.pop("")
    if set(MNIST) <= set(tasks):  # the ten have one name
        tasks = tuple(dict.fromkeys("mnist" if task in MNIST else task for task in tasks))
    given = [(name, ",".join(values)) for name, values in options.items() if values]
    return shlex.join(["longrank", "run", *tasks, *chain(*given)])


def _order(score: Score) -> tuple[str, int, bool, str, int]:
    task, scenario, budget, policy = score.key
    known = policies()
    order = known.index(policy) if policy in known else len(known)
    return task, order, scenario != "vanilla", scenario, budget
