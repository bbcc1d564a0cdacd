"""A reader's test: 27 questions, each answered within two clicks from the README."""

import re

from pages import DOCS, README, Link, links, section

QUESTIONS = DOCS / "questions.md"
ENGINEER, RESEARCHER = "For payments engineers", "For researchers"
ANALYST = "For analysts"

# What the section that a question leads to must say: the answer.
ANSWERS = {
    ENGINEER: [
        "`cost` is what an attempt costs",
        "the rest was not observed",
        "it keeps trying a dead provider first for several hundred payments",
        "Add it to the candidates",
        "No payment was routed differently",
        "Keep it, and call `learn` when you know",
        "acknowledged once it is on disk",
        "DELETE /v1/models/{name}/decisions",
        "`GET /readyz` is 503",
        "The difference, with its standard error",
        "for good after 371 payments in the median",
    ],
    RESEARCHER: [
        "You commit to a sequence of any length",
        "C-UCB1",
        "verdict",
        "Which w ranks",
        "i goes before j if",
        "No bound is known for `recommended`",
        "held-back half",
        "class Momentum(Learner)",
        "TableWorld",
        "unbiased",
        "An episode is a round",
    ],
    ANALYST: [
        "longrank evaluate",
        "no evidence about anything else",
        "`candidates`",
        "Every receipt explains itself",
        "**propensity**",
    ],
}


def asked(heading: str) -> list[tuple[str, Link]]:
    """The questions below a heading, each with the link to its answer."""
    slugged = heading.lower().replace(" ", "-")
    questions = []
    for item in re.split(r"^\d+\. ", section(Link(QUESTIONS, slugged)), flags=re.MULTILINE)[1:]:
        question = re.match(r"\*(.+?)\*", item)
        path, _, anchor = re.search(r"\]\(([^)]+)\)", item)[1].partition("#")
        questions.append((question[1], Link((DOCS / path).resolve(), anchor)))
    return questions


def test_every_question_is_answered_within_two_clicks():
    first = {link.file for link in links(README) if link.file.suffix == ".md"} - {QUESTIONS}
    second = {link.file for page in first for link in links(page)}
    assert [len(asked(heading)) for heading in ANSWERS] == [11, 11, 5]
    for heading, answers in ANSWERS.items():
        for (question, link), answer in zip(asked(heading), answers, strict=True):
            assert link.file in first | second, f"{question}: not within two clicks"
            assert answer in re.sub(r"\s+", " ", section(link)), question
