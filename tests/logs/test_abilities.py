"""What can be done with a log, and why not the rest."""

from longrank.logs import History, check


def test_check_says_what_can_be_done_and_why_not_the_rest(sound):
    def able(rows):
        return {a.name: (a.possible, a.reason) for a in check(History(rows)).abilities}

    assert all(possible for possible, _ in able(sound()).values())
    kept = ("id", "order", "features", "tried", "succeeded", "candidates")
    rows = [{name: row[name] for name in kept} for row in sound()]
    found = able(rows)
    assert found["warm start"][0]
    possible, why = found["bounds"]
    assert not possible
    assert why.startswith("3 of 3 decisions have no items; 3 of 3 decisions have no payoffs (add")
    assert "--payoffs budget=3,attempt_cost=0.05" in why
    rows = [row | {"propensity": 1.0, "prefix_propensities": [1.0, 1.0]} for row in sound()]
    found = able(rows)
    assert found["bounds"][0]
    assert found["importance sampling"] == (
        False,
        "every propensity is 1: a deterministic log shows only what it played",
    )
    rows = sound()
    rows[1] |= {"propensity": 0.02}
    found = able(rows)
    assert found["replay"][0] is False
    assert "not equally likely (propensities from 0.02 to 0.05)" in found["replay"][1]
    assert found["importance sampling"][0]
    rows = [{k: v for k, v in row.items() if k != "prefix_propensities"} for row in sound()]
    found = able(rows)
    assert found["importance sampling"][0]
    assert "have no prefix_propensities" in found["doubly robust"][1]
