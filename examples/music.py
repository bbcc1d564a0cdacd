"""Music from listening counts: which songs to play, for what the listener is doing right now.

From who listened to what how often come the topics of each song (a non-negative factorisation of
the counts): an embedding, which is one field of a song among others. What the listener is doing is
the context. A listener skips songs until one fits; a second song of a genre that just failed seldom
does, which records do not see and coverage of topics does. Run it: python examples/music.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Coverage, OnlineNewton, Outcome, Payoffs, Policy, Random, recommended

LISTENERS, SONGS, OFFERED, TOPICS, SHOWN = 300, 150, 40, 5, 6
PAYOFFS = Payoffs.exponential(SHOWN)
MOODS = {  # the chance that a song of each genre fits, which nobody is told
    "running": (0.70, 0.50, 0.10, 0.05, 0.05),
    "working": (0.10, 0.15, 0.60, 0.45, 0.10),
    "dinner": (0.05, 0.10, 0.20, 0.40, 0.65),
}
NAMES = ("random", "charts", "longrank", "coverage")


def factorise(table: np.ndarray, rng: np.random.Generator, steps: int = 150) -> np.ndarray:
    """Topics of the songs, shape (songs, topics), by multiplicative updates (Lee, Seung 2001)."""
    left, right = rng.random((len(table), TOPICS)) + 0.1, rng.random((TOPICS, SONGS)) + 0.1
    for _ in range(steps):
        right *= (left.T @ table) / (left.T @ left @ right + 1e-9)
        left *= (table @ right.T) / (left @ right @ right.T + 1e-9)
    shares = right / right.sum(axis=0, keepdims=True)
    return np.clip(shares.T, 0.0, 1.0)


def catalogue(rng: np.random.Generator) -> tuple[list[dict], np.ndarray]:
    """The songs as records, and their true genres, which nobody is told either."""
    genre = rng.integers(TOPICS, size=SONGS)
    taste, fame = rng.dirichlet(np.full(TOPICS, 0.4), LISTENERS), rng.lognormal(0.0, 0.6, SONGS)
    counts = rng.poisson(12.0 * taste[:, genre] * fame)
    artists, years = rng.integers(6, size=SONGS), rng.integers(1970, 2026, SONGS).tolist()
    songs = [
        {"id": i, "artist": f"artist-{genre[i]}-{artists[i]}", "year": years[i], "topics": shares}
        | {"plays": int(counts[:, i].sum())}
        for i, shares in enumerate(factorise(counts, rng).tolist())
    ]
    return songs, genre


def listen(genres: np.ndarray, doing: str, draws: np.ndarray) -> Outcome:
    """Skip until a song fits. What a genre can give is mostly used up by its first song."""
    for i, genre in enumerate(genres.tolist()):
        left = 0.15 if genre in genres[:i] else 1.0
        if draws[i] < left * MOODS[doing][genre]:
            return Outcome(i + 1, True)
    return Outcome(len(genres), False)


def coverage() -> UCB:
    learner = OnlineNewton(TOPICS, max_budget=SHOWN, rate=5.0, radius=5.0)
    return UCB(learner, features=Coverage(np.eye(TOPICS)), exploration=0.1)


def live(name: str, rounds: int) -> tuple[np.ndarray, float]:
    """What every session earned, and how many genres a list has in the second half."""
    songs, genre = catalogue(np.random.default_rng(0))
    policy: Policy = recommended() if name == "longrank" else Random(rng=1)
    varied = {doing: coverage() for doing in MOODS}  # knows no context: one for each
    earned, variety = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        rng = np.random.default_rng([5, t])  # everybody meets the same listeners
        chosen, doing = rng.choice(SONGS, OFFERED, replace=False), str(rng.choice(list(MOODS)))
        offered = [songs[i] for i in chosen]
        context = {"doing": doing, "device": str(rng.choice(["phone", "tv"]))}
        if name == "coverage":
            policy = varied[doing]
            ranking = policy.rank([song["topics"] for song in offered], PAYOFFS)
        elif name == "charts":
            order = sorted(range(OFFERED), key=lambda i: -offered[i]["plays"])[:SHOWN]
            ranking = policy.receipt(offered, PAYOFFS, order, context=context)
        else:
            ranking = policy.rank(offered, PAYOFFS, context=context)
        genres = genre[chosen[ranking.order]]
        outcome = listen(genres, doing, rng.random(SHOWN))
        policy.learn(ranking, outcome)
        earned[t], variety[t] = PAYOFFS.reward(outcome), len(set(genres.tolist()))
    return earned, float(variety[rounds // 2 :].mean())


def main(rounds: int = 1500, picture: Path | None = None) -> dict[str, float]:
    lives, found = {name: live(name, rounds) for name in NAMES}, {}
    for name, (earned, variety) in lives.items():
        found[name], found[f"genres, {name}"] = float(earned[rounds // 2 :].mean()), variety
        print(f"  {name:10} earned {found[name]:.3f} a session, {variety:.1f} genres in a list")
    if picture is not None:
        draw({name: earned for name, (earned, _) in lives.items()}, picture)
    return found


def draw(curves: dict[str, np.ndarray], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    axis = figure.subplots()
    for (name, earned), style in zip(curves.items(), (":", "-.", "-", "--"), strict=True):
        axis.plot((np.cumsum(earned) / np.arange(1, len(earned) + 1))[20:], style, label=name)
    axis.set(xlabel="session", ylabel="mean reward so far")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
