"""The part that the documentation builds keeps the contract, found through its entry points."""

import doctest
from pathlib import Path

import pytest

import longrank
from longrank.policies import from_bytes
from longrank.testing import FeaturesContract, LearnerContract, PolicyContract, Rounds

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
POINTS = """
[longrank.learners]
Momentum = extending:Momentum

[longrank.features]
Signs = extending:Signs

[longrank.policies]
momentum = extending:momentum
Cheapest = extending:Cheapest
"""


@pytest.fixture
def momentum(install_package):
    """The module of the page, installed as a package."""
    examples = doctest.DocTestParser().get_examples(PAGE.read_text())
    works = [example.source for example in examples if example.exc_msg is None]
    install_package("extending", "\n".join(works), POINTS)
    import extending

    return extending


class TestLearner(LearnerContract):
    @pytest.fixture(autouse=True)
    def _each(self, momentum):
        self.make_learner = lambda: momentum.Momentum(4)


class TestFeatures(FeaturesContract):
    @pytest.fixture(autouse=True)
    def _each(self, momentum):
        self.make_features = momentum.Signs


class TestWholePolicy(PolicyContract):
    @pytest.fixture(autouse=True)
    def _each(self, momentum):
        self.make_policy = momentum.Cheapest


@pytest.mark.usefixtures("momentum")
def test_a_policy_of_the_page_is_known_by_its_name_and_comes_back_from_a_file():
    policy = longrank.named("momentum", dim=4, rate=0.2)
    Rounds.play(policy, range(12))
    again = from_bytes(policy.to_bytes())
    assert Rounds.play(again, range(12, 24)) == Rounds.play(policy, range(12, 24))
    assert again.to_bytes() == policy.to_bytes()


def test_the_newer_layout_of_the_page_reads_the_older_one(momentum):
    old = longrank.UCB(momentum.Momentum(4, rate=0.3), exploration=0.1).to_bytes()
    momentum.Momentum = momentum.Momentum2
    assert from_bytes(old).learner.rate == 0.6
