"""The payment desk: what is simulated adds up, and whoever knows everything earns the most."""

import numpy as np
import pytest

from longrank.errors import InvalidInput
from longrank.simulation.checkout import all_sequences
from longrank.simulation.desk import (
    MIXES,
    NOTICE,
    OUTAGE,
    PROVIDERS,
    TRIES,
    PaymentDesk,
    fixed_list,
)


def test_the_same_seed_deals_the_same_payments_whatever_is_done_to_the_providers():
    one, other = PaymentDesk(seed=3), PaymentDesk(seed=3)
    other.take_down("Atlas")
    other.set_fee("Solo", 1.0)
    for _ in range(20):
        here, there = one.deal(), other.deal()
        assert here.context == there.context
        assert here.draws.tobytes() == there.draws.tobytes()


def test_no_sequence_is_expected_to_earn_more_than_the_best():
    desk = PaymentDesk(seed=1)
    for _ in range(30):
        payment = desk.deal()
        best = payment.value(payment.best(), payment.payoffs)
        for order in all_sequences(len(PROVIDERS), TRIES)[::7]:
            assert payment.value(order, payment.payoffs) <= best + 1e-12
        assert best == pytest.approx(payment.optimum(payment.payoffs))


def test_what_is_earned_agrees_with_what_is_expected():
    desk, fixed = PaymentDesk(seed=2), np.array(fixed_list())
    dealt = [desk.deal() for _ in range(4_000)]
    earned = np.array([payment.account(fixed)[0] for payment in dealt])
    expected = np.array([payment.value(fixed, payment.payoffs) for payment in dealt])
    error = np.std(earned - expected) / np.sqrt(len(dealt))
    assert abs(np.mean(earned - expected)) < 4.0 * error


def test_an_account_is_the_margin_less_all_fees():
    payment = PaymentDesk(seed=5).deal()
    for order in all_sequences(len(PROVIDERS), TRIES)[::11]:
        earned, fees, approved = payment.account(order)
        assert earned == pytest.approx(approved * payment.margin - fees)
        tried = payment.play(order).tried
        assert fees >= sum(payment.items[i]["cost"] for i in order[:tried]) - 1e-12


def test_an_outage_is_told_by_the_status_page_some_payments_later():
    desk = PaymentDesk(seed=0)
    desk.take_down("Harbor")
    place = [each.name for each in PROVIDERS].index("Harbor")
    seen = [desk.deal() for _ in range(NOTICE + 1)]
    assert {float(payment.chances[place]) for payment in seen} == {OUTAGE}
    assert [payment.items[place]["status"] for payment in seen] == ["up"] * NOTICE + ["down"]
    desk.bring_up("Harbor")
    seen = [desk.deal() for _ in range(NOTICE + 1)]
    assert seen[0].chances[place] > OUTAGE
    assert seen[-1].items[place]["status"] == "up"


def test_the_traffic_can_be_changed():
    desk = PaymentDesk(seed=0)
    desk.set_mix("amex")
    brands = [desk.deal().context["brand"] for _ in range(400)]
    assert brands.count("amex") / 400 == pytest.approx(MIXES["amex"].brands[2], abs=0.08)


def test_what_is_not_there_is_refused():
    for call in ["take_down", "bring_up", "set_mix"]:
        with pytest.raises(InvalidInput, match="be one of"):
            getattr(PaymentDesk(seed=0), call)("nobody")
        with pytest.raises(InvalidInput, match="fee"):
            PaymentDesk(seed=0).set_fee("Solo", -1.0)
