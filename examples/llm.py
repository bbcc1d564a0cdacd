"""Language models: which one to ask first, which next, and when to give up.

Nine models answered 5,608 questions. A right answer is worth 1, every model has a list price, and
what a model charges is paid whether it is right or not. longrank starts from nothing and sees
only the answers of the models that it asked. Bring the data: longrank data add llm FOLDER (the
files of https://github.com/ulab-uiuc/LLMRouter, or your own). Run it: python examples/llm.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import Outcome, Payoffs, Schema, Text, recommended
from longrank.datasets import MissingData, Questions, read_questions

BUDGET = 4  # tries of a question
LEVELS = (0.02, 0.05, 0.1, 0.3, 0.6, 1.0)  # what the dearest model costs, in right answers
Point = tuple[float, float]  # spent a question, in calls of the dearest model; share answered


def ask(order: list[int], answers: np.ndarray) -> Outcome:
    """Ask one model after the other until one is right."""
    for tried, model in enumerate(order, 1):
        if answers[model]:
            return Outcome(tried, True)
    return Outcome(len(order), False)


def live(questions: Questions, rounds: int, dearest: float, alike: bool = False) -> Point:
    """Let longrank ask; return what the second half spent and the share that it answered."""
    policy, payoffs = recommended(schema=Schema({"words": Text()})), Payoffs.vanilla(BUDGET)
    models, played = questions.candidates(dearest), []
    if alike:  # as if all had the mean price
        mean = float(np.mean([model["cost"] for model in models]))
        models = [model | {"cost": mean} for model in models]
    for question in shuffled(questions, rounds):
        ranking = policy.rank(models, payoffs, context=questions.context(question))
        outcome = ask(ranking.order.tolist(), questions.answered[question])
        policy.learn(ranking, outcome)
        played.append(ranking.order[: outcome.tried])
    half = rounds // 2
    return point(questions, shuffled(questions, rounds)[half:], played[half:])


def fixed(questions: Questions, rounds: int, order: np.ndarray) -> Point:
    """The same list for every question."""
    asked = shuffled(questions, rounds)[rounds // 2 :]
    tried = [ask(order.tolist(), questions.answered[question]).tried for question in asked]
    return point(questions, asked, [order[:count] for count in tried])


def shuffled(questions: Questions, rounds: int) -> list[int]:
    return np.random.default_rng(7).permutation(len(questions))[:rounds].tolist()


def point(questions: Questions, asked: list[int], played: list[np.ndarray]) -> Point:
    prices = questions.prices / questions.prices.max()
    spent = [prices[models].sum() for models in played]
    pairs = zip(asked, played, strict=True)
    right = [questions.answered[question, models].any() for question, models in pairs]
    return float(np.mean(spent)), float(np.mean(right))


def main(rounds: int = 5608, picture: Path | None = None) -> dict[str, Point]:
    try:
        questions = read_questions()
    except MissingData as error:
        raise SystemExit(str(error)) from None
    rounds = min(rounds, len(questions))
    accuracy = questions.answered.mean(axis=0)
    lists = {
        "cheapest first": np.lexsort((-accuracy, questions.prices)),
        "most accurate first": np.argsort(-accuracy),
    }
    curves = {
        "longrank": [live(questions, rounds, level) for level in LEVELS],
        "sorted by probability": [live(questions, rounds, level, True) for level in LEVELS],
    }
    for name, order in lists.items():
        curves[name] = [fixed(questions, rounds, order[:n]) for n in range(1, BUDGET + 1)]
    for model, name in enumerate(questions.models):
        curves[name] = [fixed(questions, rounds, np.array([model]))]
    for name, points in curves.items():
        shown = "  ".join(f"{100 * right:.0f} % for {spent:.2f}" for spent, right in points)
        print(f"  {name:32} {shown}")
    if picture is not None:
        draw(curves, picture)
    return {name: points[-1] for name, points in curves.items()}


def draw(curves: dict[str, list[Point]], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axis = figure.subplots(subplot_kw={"xlim": (0.0, 1.75), "ylim": (10, 85)})
    styles = {  # colour, and the point to write the name at
        "longrank": ("#c8102e", 2, (-4, 9)),
        "sorted by probability": ("#1f77b4", 2, (-140, 6)),
        "cheapest first": ("#2a8a2a", 1, (8, -12)),
        "most accurate first": ("#8a4fbf", 1, (8, -8)),
    }
    for name, points in curves.items():
        spent, right = np.array(points).T
        colour, label, offset = styles.get(name, ("#777777", 0, (7, -3)))
        width, size = (3.5, 13) if name == "longrank" else (1.5, 11 if name in styles else 7)
        marker = "o-" if name in styles else "x"
        axis.plot(spent, 100 * right, marker, color=colour, lw=width, ms=5, zorder=width)
        place = spent[label], 100 * right[label]
        axis.annotate(name, place, offset, "data", "offset points", color=colour, fontsize=size)
    axis.set(xlabel="spent a question, in calls of the dearest model", ylabel="answered, %")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
