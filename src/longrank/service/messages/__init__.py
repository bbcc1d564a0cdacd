"""What travels over HTTP: every request and every answer; OpenAPI is made from these."""

from __future__ import annotations

from longrank.service.messages.decisions import (
    Candidate,
    Choice,
    Decision,
    DecisionRequest,
    Packed,
    Proposal,
)
from longrank.service.messages.fields import ID, MOST_SECONDS, NAME
from longrank.service.messages.health import Health
from longrank.service.messages.keys import KeyCreated, KeyInfo, KeyList
from longrank.service.messages.models import (
    Curve,
    Model,
    ModelCreated,
    ModelList,
    ModelRequest,
    ModelStats,
    PositionStats,
)
from longrank.service.messages.outcomes import (
    BatchAnswer,
    BatchItem,
    BatchRequest,
    BatchResult,
    Outcome,
    OutcomeAnswer,
    OutcomeRequest,
)
from longrank.service.messages.reading import (
    DecisionList,
    DecisionRead,
    DecisionSummary,
    Dropped,
    Event,
)

__all__ = [
    "ID",
    "MOST_SECONDS",
    "NAME",
    "BatchAnswer",
    "BatchItem",
    "BatchRequest",
    "BatchResult",
    "Candidate",
    "Choice",
    "Curve",
    "Decision",
    "DecisionList",
    "DecisionRead",
    "DecisionRequest",
    "DecisionSummary",
    "Dropped",
    "Event",
    "Health",
    "KeyCreated",
    "KeyInfo",
    "KeyList",
    "Model",
    "ModelCreated",
    "ModelList",
    "ModelRequest",
    "ModelStats",
    "Outcome",
    "OutcomeAnswer",
    "OutcomeRequest",
    "Packed",
    "PositionStats",
    "Proposal",
]
