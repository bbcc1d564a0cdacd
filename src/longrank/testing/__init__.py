"""Contract suites: what every policy, learner and feature map must do, as tests for your own.

Subclass a contract in a test file, define how to make the part, and pytest does the rest::

    from longrank.testing import PolicyContract

    class TestMine(PolicyContract):
        def make_policy(self):
            return MyPolicy(dim=4, rng=7)

The package's own parts pass the same suites. Needs pytest.
"""

from longrank.errors import MissingExtra

try:
    import pytest
except ImportError as error:
    raise MissingExtra("longrank.testing", "test") from error

for _contract in ("policy", "learner", "features"):  # before they are imported
    pytest.register_assert_rewrite(f"{__name__}.{_contract}_contract")

from longrank.testing.features_contract import FeaturesContract, SparseFeaturesContract  # noqa: E402
from longrank.testing.learner_contract import LearnerContract, SparseLearnerContract  # noqa: E402
from longrank.testing.policy_contract import PolicyContract  # noqa: E402
from longrank.testing.rounds import DIM, MAX_BUDGET, RecordRounds, Rounds  # noqa: E402

__all__ = [
    "DIM",
    "MAX_BUDGET",
    "FeaturesContract",
    "LearnerContract",
    "PolicyContract",
    "RecordRounds",
    "Rounds",
    "SparseFeaturesContract",
    "SparseLearnerContract",
]
