"""Music from listening counts: the next song should be one that the list does not already cover.

From who listened to what how often come topics (a non-negative factorisation of the counts). A
listener skips songs until one fits; a second song of a topic that just failed seldom does. With
coverage longrank learns which topics matter and spreads its list over them; with plain features it
repeats itself. Run it: python examples/music.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from longrank import UCB, Coverage, OnlineNewton, Outcome, Payoffs, Policy, Random

LISTENERS, SONGS, TOPICS, SHOWN = 300, 150, 5, 6
PAYOFFS = Payoffs.exponential(SHOWN)


def counts(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Listening counts of a simulated service, and each song's true genre."""
    genre = rng.integers(TOPICS, size=SONGS)
    taste = rng.dirichlet(np.full(TOPICS, 0.4), LISTENERS)
    fame = rng.lognormal(0.0, 0.6, SONGS)
    return rng.poisson(12.0 * taste[:, genre] * fame), genre


def factorise(table: np.ndarray, rng: np.random.Generator, steps: int = 150) -> np.ndarray:
    """Topics of the songs, shape (songs, topics), by multiplicative updates (Lee, Seung 2001)."""
    left, right = rng.random((len(table), TOPICS)) + 0.1, rng.random((TOPICS, SONGS)) + 0.1
    for _ in range(steps):
        right *= (left.T @ table) / (left.T @ left @ right + 1e-9)
        left *= (table @ right.T) / (left @ right @ right.T + 1e-9)
    shares = right / right.sum(axis=0, keepdims=True)
    return np.clip(shares.T, 0.0, 1.0)


def listen(genres: np.ndarray, mood: np.ndarray, rng: np.random.Generator) -> Outcome:
    """Skip until a song fits. What a genre can give is mostly used up by its first song."""
    heard: set[int] = set()
    for tried, genre in enumerate(genres.tolist(), 1):
        if rng.random() < mood[genre] * (0.15 if genre in heard else 1.0):
            return Outcome(tried, True)
        heard.add(genre)
    return Outcome(len(genres), False)


def live(
    policy: Policy, topics: np.ndarray, genre: np.ndarray, rounds: int, seed: int
) -> tuple[np.ndarray, float]:
    """What every session earned, and how many genres a list has in the second half."""
    rng = np.random.default_rng(seed)
    mood = np.linspace(0.75, 0.25, TOPICS)
    earned, variety = np.empty(rounds), []
    for t in range(rounds):
        songs = rng.choice(SONGS, 40, replace=False)
        ranking = policy.rank(topics[songs], PAYOFFS)
        played = genre[songs[ranking.order]]
        outcome = listen(played, mood, rng)
        policy.learn(ranking, outcome)
        earned[t] = PAYOFFS.reward(outcome)
        variety.append(len(set(played.tolist())))
    return earned, float(np.mean(variety[rounds // 2 :]))


def main(rounds: int = 600, picture: Path | None = None) -> dict[str, float]:
    rng = np.random.default_rng(0)
    table, genre = counts(rng)
    topics = factorise(table, rng)

    def learner() -> OnlineNewton:
        return OnlineNewton(TOPICS, max_budget=SHOWN, rate=5.0, radius=5.0)

    policies = {
        "random": Random(rng=1),
        "plain (Ind)": UCB(learner(), exploration=0.1),
        "coverage (Dep)": UCB(learner(), features=Coverage(np.eye(TOPICS)), exploration=0.1),
    }
    lives = {name: live(policy, topics, genre, rounds, 5) for name, policy in policies.items()}
    print(f"{int(table.sum())} plays of {SONGS} songs by {LISTENERS} listeners, {TOPICS} topics")
    for name, (earned, variety) in lives.items():
        late = earned[rounds // 2 :].mean()
        print(f"  {name:15} earned {late:+.3f} a session, {variety:.1f} genres in a list")
    if picture is not None:
        draw({name: earned for name, (earned, _) in lives.items()}, picture)
    found = {name: float(earned[rounds // 2 :].mean()) for name, (earned, _) in lives.items()}
    return found | {f"genres, {name}": variety for name, (_, variety) in lives.items()}


def draw(curves: dict[str, np.ndarray], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    axis = figure.subplots()
    for (name, earned), style in zip(curves.items(), (":", "--", "-"), strict=True):
        steps = np.arange(1, len(earned) + 1)
        axis.plot((np.cumsum(earned) / steps)[20:], style, label=name)
    axis.set(xlabel="session", ylabel="mean reward so far")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(picture=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
