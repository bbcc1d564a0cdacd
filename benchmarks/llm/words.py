"""How much the words of a question say about which models answer it.

    python benchmarks/llm/words.py [--seeds 0 1 2]

Everybody here is told the answers of all models to every question, which nobody who asks in turn
is: a logistic regression for each model, fitted to the first half, and the recommended learner,
online. Log-loss of the second half, mean over models; then what the best plan with these
probabilities earns there, as a share of the plan that knows the success rates of the cluster.
"""

from __future__ import annotations

import argparse

import numpy as np
from contest import SETTINGS
from numpy.typing import NDArray
from players import Game, knowing_rates
from rich.console import Console
from rich.progress import track
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from longrank import Outcome, Payoffs, Schema, Text, recommended
from longrank.datasets import Questions, read_questions

Chances = NDArray[np.float64]
FIELDS = (("cluster",), ("cluster", "length"), ("cluster", "length", "words"))


def regress(game: Game, fields: tuple[str, ...]) -> Chances:
    """Fit a regression for each model to the first half; return the chances of the second."""
    cluster = OneHotEncoder().fit_transform(game.clusters[:, np.newaxis])
    texts = [game.questions.texts[i] for i in game.shuffled]
    length = np.log([1 + len(text) for text in texts])
    length = ((length - length.mean()) / length.std())[:, np.newaxis]
    parts = [3.0 * cluster]  # weighted so that the penalty is on the words
    if "length" in fields:
        parts += [3.0 * cluster.multiply(length), 3.0 * cluster.multiply(length**2)]
    if "words" in fields:
        parts.append(TfidfVectorizer(sublinear_tf=True, min_df=3).fit_transform(texts))
    rows = sparse.hstack(parts).tocsr()
    chances = np.empty((len(texts) - game.half, len(game.costs)))
    for model in range(len(game.costs)):
        fit = LogisticRegression(max_iter=500)
        fit.fit(rows[: game.half], game.answered[: game.half, model])
        chances[:, model] = fit.predict_proba(rows[game.half :])[:, 1]
    return chances


def learn_all(game: Game, fields: tuple[str, ...]) -> Chances:
    """Tell the recommended learner the answers of all models; return its estimates."""
    policy = recommended(schema=Schema({"words": Text()}), rng=game.seed)
    names = list(game.questions.models)
    everything, one = Payoffs.vanilla(len(names)), Payoffs.vanilla(1)
    chances = np.empty(game.answered.shape)
    for t, question in enumerate(game.shuffled.tolist()):
        known = game.questions.context(question)
        context = {name: known[name] for name in fields}
        ranking = policy.rank(names, everything, context=context)
        chances[t, ranking.order] = ranking.estimates
        for model, name in enumerate(names):
            asked = policy.rank([name], one, context=context)
            policy.learn(asked, Outcome(1, bool(game.answered[t, model])))
    return chances[game.half :]


def judge(questions: Questions, seed: int, chances: Chances) -> list[float]:
    """Return the log-loss, and for every setting the share of the plan that knows the rates."""
    found = []
    for dearest, budget in SETTINGS:
        game = Game(questions, seed, dearest, budget)
        payoffs = Payoffs.vanilla(budget).priced(game.costs)
        known = knowing_rates(game)
        plans = [tuple(payoffs.best_sequence(p).order.tolist()) for p in chances]
        won, paid = game.spent(known[: game.half] + plans)
        best, spent = game.spent(known)
        found.append(100 * (won - paid)[game.half :].sum() / (best - spent)[game.half :].sum())
    right = np.where(game.answered[game.half :], chances, 1.0 - chances)
    return [float(-np.log(np.maximum(right, 1e-9)).mean()), *found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    asked = parser.parse_args()
    questions = read_questions()
    heads = [f"{dearest:g}, b = {budget}" for dearest, budget in SETTINGS]
    print(f"| told all answers | log-loss | {' | '.join(heads)} |\n|---|{'--:|' * 7}")
    work = [(name, how, f) for f in FIELDS for name, how in HOW.items()]
    for name, how, fields in track(work, "told", console=Console(stderr=True), transient=True):
        games = [Game(questions, seed, *SETTINGS[0]) for seed in asked.seeds]
        loss, *shares = np.mean([judge(questions, g.seed, how(g, fields)) for g in games], axis=0)
        cells = " | ".join(f"{share:.1f}" for share in shares)
        print(f"| {name}: {', '.join(fields)} | {loss:.4f} | {cells} |", flush=True)


HOW = {"regression": regress, "longrank's learner": learn_all}

if __name__ == "__main__":
    main()
