"""What a model is made with: as it is stored, and the policy that it asks for."""

from __future__ import annotations

from typing import Any

import msgspec

from longrank.errors import InvalidInput
from longrank.policies import Policy, named
from longrank.service.messages import ModelRequest


class Spec(msgspec.Struct, frozen=True):
    """What a model was made with, as it is stored."""

    request: ModelRequest
    seed: int

    def packed(self) -> bytes:
        return msgspec.json.encode(self)


def read_spec(data: bytes) -> Spec:
    return msgspec.json.decode(data, type=Spec)


def make_policy(spec: Spec) -> Policy:
    """The policy of that name; it is offered what the model knows, and takes what it needs."""
    request = spec.request
    offered: dict[str, Any] = {
        "dim": request.dim,
        "max_budget": request.max_budget,
        "rng": spec.seed,
    }
    for reserved in offered:
        if reserved in request.settings:
            raise InvalidInput("settings", f"leave {reserved} to the model", reserved)
    while True:
        try:
            policy = named(request.policy, **offered, **request.settings)
            policy.to_bytes()  # a setting that cannot be saved is refused now, not at a snapshot
            return policy
        except InvalidInput as error:
            if error.parameter == "settings" and error.value in list(offered):
                del offered[str(error.value)]  # this policy has no use for it
                continue
            if error.parameter == "name":
                raise InvalidInput("policy", error.rule, error.value) from None
            raise
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            rule = f"be settings of {request.policy!r}"
            raise InvalidInput("settings", rule, f"{request.settings}: {error}") from error
