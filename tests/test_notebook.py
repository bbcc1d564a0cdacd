"""What rankings, payoffs, policies and evaluations show of themselves in a notebook."""

import numpy as np
import pytest

from longrank import Outcome, Payoffs, Random, named, recommended
from longrank.logs import History, evaluate
from markup import Markup

STRANGE = "<img src=x onerror='alert(1)'>&"


class Shown(Markup):
    """The cells of the tables by row, and notes; nothing is loaded, nor has any tag attributes."""

    def __init__(self, text: str) -> None:
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        super().__init__(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td", "p")
        assert attrs == []
        super().handle_starttag(tag, attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "p":
            self.notes.append(data)


def test_a_ranking_shows_its_tries_its_reasons_and_why_it_stops_and_a_policy_its_parts():
    policy, payoffs = recommended(rng=1), Payoffs.linear(3, attempt_cost=0.05, give_up=-0.2)
    candidates = [{"id": STRANGE, "cost": 0.1, "value": 0.5}, {"id": "stripe"}, {"id": "adyen"}]
    given = {"context": {"brand": "visa"}}
    policy.learn(policy.rank(candidates, payoffs, **given), Outcome(2, True))
    ranking = policy.rank(candidates, payoffs, **given)
    shown = Shown(ranking._repr_html_())
    head, *tries = shown.rows
    assert head[:4] == ["try", "candidate", "estimate", "with bonus"]
    assert {"costs", "on success", "value if it ends here", "this try adds"} <= set(head)
    assert {"for", "against"} & set(head)
    assert len(tries) == len(ranking)
    assert all(len(row) == len(head) for row in tries)
    for row, name, value in zip(tries, ranking.ids, ranking.values[1:], strict=False):
        assert row[1] == (name if name != STRANGE else f"{STRANGE[:27]}...")
        assert float(row[head.index("value if it ends here")]) == pytest.approx(value, abs=1e-4)
    assert shown.notes == ranking.explain().splitlines()[-len(shown.notes) :]
    parts = dict(Shown(policy._repr_html_()).rows)
    assert parts["learner"] == repr(policy.learner)
    assert parts["features"] == repr(policy.features)
    assert (parts["draws"], parts["probing"]) == ("0.15", "True")
    assert parts["tries learned from"] == "2"
    assert Shown(Random(rng=0)._repr_html_()).rows == [["policy", "Random()"]]


def test_a_ranking_of_arrays_and_an_empty_one_show_themselves():
    policy = named("ind", dim=2, max_budget=2)
    head, *tries = Shown(policy.rank(np.eye(2), Payoffs.vanilla(2))._repr_html_()).rows
    assert head == [
        *("try", "item", "estimate", "with bonus", "value if it ends here", "this try adds")
    ]
    assert len(tries) == 2
    empty = policy.rank(np.empty((0, 2)), Payoffs.vanilla(2))
    assert len(Shown(empty._repr_html_()).rows) == 1


def test_payoffs_show_what_each_length_pays_and_what_candidates_cost():
    payoffs = Payoffs.linear(2, attempt_cost=0.25, give_up=-0.5)
    assert Shown(payoffs._repr_html_()).rows == [
        ["tries", "success at this try", "give up after it"],
        ["0", "", "-0.5"],
        ["1", "0.75", "-0.75"],
        ["2", "0.5", "-1"],
    ]
    priced = Shown(payoffs.priced([0.1, 0.2], [1.0, 2.0]).patient(0.9)._repr_html_())
    assert priced.rows[-2:] == [["0", "0.1", "+1"], ["1", "0.2", "+2"]]
    assert priced.notes == ["patience: 0.9 go on after a failure"]
    long = Shown(Payoffs.vanilla(1000).priced(np.zeros(50), np.zeros(50))._repr_html_())
    assert len(long.rows) == 1 + 21 + 1 + 20  # they are cut, and say so
    assert long.notes == ["and 980 more tries", "and 30 more candidates"]


def test_an_evaluation_shows_its_verdicts_and_estimates_and_a_history_what_it_has():
    row = {"items": [[0.5], [0.1]], "order": [1, 0], "tried": 2, "succeeded": True}
    row |= {"rewards": [1.0, 0.5], "losses": [0.0] * 3}
    history = History([{"id": i} | row for i in range(9)])
    found = evaluate(history, {STRANGE: Random(rng=0), "x": Random(rng=1)})
    shown = Shown(found._repr_html_())
    head, *verdicts = shown.rows[:3]
    assert verdicts == [[name, str(found.verdicts[name])] for name in (STRANGE, "x")]
    assert shown.rows[3][:5] == ["policy", "estimator", "value", "low", "high"]
    estimates = shown.rows[4:]
    assert [line[:2] for line in estimates] == [[one.policy, one.estimator] for one in found]
    assert [line[-1] for line in estimates] == [one.refused for one in found]
    assert {len(line) for line in estimates} == {len(shown.rows[3])}
    assert len(head) == 2
    first, *lines = repr(found).splitlines()
    assert first == f"<Evaluation of {STRANGE}, x: {len(found)} estimates>"
    assert lines == [str(one) for one in found.verdicts.values()]
    verdict = found.verdicts["x"]
    shown = Shown(verdict._repr_html_())
    numbers = ["earns per decision", "more than what was played"]
    assert [line[0] for line in shown.rows[1:]] == numbers
    assert shown.notes[0] == str(verdict)
    assert f"Verdict on x: {verdict.advice}" in verdict._repr_html_()
    rows = Shown(history._repr_html_()).rows
    assert ["columns", "id, items, order, tried, succeeded, rewards, losses"] in rows
    assert ["decisions with an outcome", "9"] in rows


def test_a_plan_and_an_outcome_show_their_tries():
    plan = Payoffs.vanilla(2).priced([0.1, 0.2, 0.1]).best_sequence([0.2, 0.9, 0.6])
    rows = [["try", "candidate"], *([str(i + 1), str(x)] for i, x in enumerate(plan.order))]
    assert Shown(plan._repr_html_()).rows == rows
    assert Shown(Outcome(2, True, (0.5, 0.25))._repr_html_()).rows == [
        ["try", "result", "cost"],
        ["1", "failure", "0.5"],
        ["2", "success", "0.25"],
    ]
    assert Shown(Outcome(30, False)._repr_html_()).notes == ["and 10 more tries"]
    assert Shown(Outcome(0, False)._repr_html_()).rows == [["try", "result"]]
