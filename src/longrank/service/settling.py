"""Settling: what became of a decision, logged once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from longrank.errors import InvalidInput
from longrank.service import answers, messages, records
from longrank.service.commits import Commit
from longrank.service.errors import Conflict, Duplicate, ServiceError, Unknown
from longrank.service.models import Model
from longrank.service.outcomes import missing_outcome, read_outcome
from longrank.service.recent import Recent
from longrank.service.records import OUTCOME, DecisionRecord, Draft, Entry, OutcomeRecord
from longrank.service.store import Store

log = logging.getLogger("longrank.service")
TOGETHER = 256  # outcomes of a batch that share a commit


class Settling:
    """Logs outcomes; the models learn from them when they are committed."""

    def __init__(self, store: Store, recent: Recent, clock: Callable[[], float]) -> None:
        self._store, self._recent, self._clock = store, recent, clock

    async def settle(
        self, model: Model, decision: str, request: messages.OutcomeRequest, commit: Commit
    ) -> messages.OutcomeAnswer:
        """Log what became of a decision; told again it is the same answer, not a second entry."""
        found = self._recent.find(model.number, decision)
        if found is None:
            raise Unknown(f"there is no decision {decision!r}")
        decided, record = found
        outcome = read_outcome(
            request,
            record.played.ids,
            frozen=model.frozen,
            expired=self._clock() >= decided.expires,
        )
        try:
            entry = await commit(self._draft(model, decision, outcome, record))
            return answers.outcome(entry, outcome, record)
        except Duplicate:
            _, existing = self._store.find(model.number, decision)
        if existing is None:
            raise Unknown(f"there is no decision {decision!r}")
        before = existing.outcome()
        if before.content != outcome.content:
            how = "was taken as failed when it expired" if before.automatic else "has another"
            raise Conflict(f"the outcome of {decision!r} is recorded and {how}")
        return answers.outcome(existing, before, record, repeated=True)

    async def settle_many(
        self, model: Model, items: Sequence[messages.BatchItem], commit: Commit
    ) -> list[messages.OutcomeAnswer | Exception]:
        """Log many, some of which share a commit; an error in place of what was refused."""

        async def one(item: messages.BatchItem) -> messages.OutcomeAnswer | Exception:
            try:
                return await self.settle(model, item.id, item, commit)
            except (InvalidInput, ServiceError) as error:
                return error

        results: list[messages.OutcomeAnswer | Exception] = []
        for first in range(0, len(items), TOGETHER):
            chunk = items[first : first + TOGETHER]
            results += await asyncio.gather(*(one(item) for item in chunk))
        return results

    def expire(self, model: Model, decided: Entry) -> None:
        """Take a missing outcome for a failure, where the model was made so."""
        record = decided.decision()
        outcome = missing_outcome(record.played.ids, frozen=model.frozen)
        try:
            self._store.append(self._draft(model, decided.id, outcome, record)).result()
        except Duplicate:
            log.debug("an outcome came just in time")

    def _draft(
        self, model: Model, decision: str, outcome: OutcomeRecord, record: DecisionRecord
    ) -> Draft:
        body = records.encode(outcome)
        return Draft(model.number, OUTCOME, decision, self._clock(), 0.0, body, (outcome, record))
