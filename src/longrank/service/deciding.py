"""Deciding: a round is ranked, logged and answered; the same id gives the same answer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Coroutine
from typing import Any

from longrank.errors import InvalidInput
from longrank.service import answers, messages, records
from longrank.service.commits import Commit
from longrank.service.errors import Conflict, Duplicate, Unknown
from longrank.service.models import Model
from longrank.service.records import DECISION, DecisionRecord, Draft
from longrank.service.rounds import Round, read_round
from longrank.service.store import Store

_ID = re.compile(messages.ID)


class Deciding:
    """Ranks rounds and logs what was decided."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    def decide(
        self, model: Model, request: messages.DecisionRequest, commit: Commit
    ) -> Coroutine[Any, Any, messages.Decision]:
        """Rank now, log and answer when awaited; asked again it is the same answer.

        What waits for the disk holds no part of the request: so the next one finds its memory
        free, and still in the processor's cache.
        """
        spec = model.spec.request
        if request.id is not None and not _ID.fullmatch(request.id):
            raise InvalidInput("id", f"match {messages.ID}", repr(request.id[:80]))
        played = read_round(request, spec.dim, spec.max_budget)
        name = request.id or f"{random.getrandbits(128):032x}"
        if spec.mode == "shadow" and played.baseline is None:
            # it may have been decided before the model went into the shadow
            if self._store.find(model.number, name)[0] is None:
                raise InvalidInput("baseline", "be given in shadow mode", None)
            return self._logged(model, name, played.digest, None, commit)
        draft = self._draft(model, name, request, played)
        return self._logged(model, name, played.digest, draft, commit)

    async def _logged(
        self, model: Model, name: str, digest: bytes, draft: Draft | None, commit: Commit
    ) -> messages.Decision:
        if draft is not None:
            try:
                entry = await commit(draft)
                return answers.decision(entry, draft.known[0], model.name)
            except Duplicate:
                pass
        return self._again(model, name, digest)

    def _draft(
        self, model: Model, name: str, request: messages.DecisionRequest, played: Round
    ) -> Draft:
        spec, ids, items = model.spec.request, played.ids, played.items
        choice, version, chance = model.rank(items, played.payoffs, played.budget, name)
        ranking, proposal = choice, None
        if spec.mode == "shadow" and played.baseline is not None:
            proposal, chance = records.Sequence.of(choice, ids), None
            ranking = model.along(items, played.baseline, played.payoffs)
        now = self._clock()
        record = DecisionRecord(
            digest=played.digest,
            mode=spec.mode,
            version=version,
            played=records.Sequence.of(ranking, ids),
            dim=ranking.features.shape[1],
            rows=ranking.features.tobytes(),
            rewards=played.payoffs.rewards.tobytes(),
            losses=played.payoffs.losses.tobytes(),
            proposal=proposal,
            baseline=request.baseline,
            candidates=ids if spec.store_candidates else None,
            features=items.astype("<f8").tobytes() if spec.store_candidates else None,
            propensities=None if chance is None else chance.tobytes(),
        )
        expires = now + (request.ttl or spec.ttl)
        body = records.encode(record)
        return Draft(model.number, DECISION, name, now, expires, body, (record, choice))

    def _again(self, model: Model, name: str, digest: bytes) -> messages.Decision:
        """The answer that was given before."""
        existing, _ = self._store.find(model.number, name)
        if existing is None:  # the log takes no decision without its model
            raise Unknown(f"there is no model {model.name!r}")
        record = existing.decision()
        if record.digest != digest:
            raise Conflict(f"the decision {name!r} was asked for with another content")
        return answers.decision(existing, record, model.name)
