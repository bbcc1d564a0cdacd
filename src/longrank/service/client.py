"""The client: with timeouts, and retries that carry the same id."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx
from numpy.typing import ArrayLike

from longrank.service import asks, messages
from longrank.service.asks import Ask
from longrank.service.attempts import Attempts, CallFailed, http_settings

T = TypeVar("T")


class Client(Attempts):
    """A client of the decision service.

    Parameters
    ----------
    url
        Where it is, as ``http://127.0.0.1:8000``.
    key
        The model's key, or the administrator's.
    timeout
        Seconds for one attempt.
    retries
        Further attempts where the service is busy or cannot be reached. They carry the same id,
        so that nothing is decided or learned twice.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 5.0, retries: int = 4
    ) -> None:
        super().__init__(retries)
        self._http = httpx.Client(**http_settings(key, url, timeout))

    def create_model(self, name: str, **settings: Any) -> messages.Model:
        """Make a model: ``dim``, ``policy``, ...; what is made carries its ``key``."""
        return self._send(asks.create_model(name, settings))

    def decide(
        self, model: str, ids: Sequence[str], features: ArrayLike, **more: Any
    ) -> messages.Decision:
        """What to try: see :func:`longrank.service.asks.decide` for the rest."""
        return self._send(asks.decide(model, ids, features, **more))

    def settle(self, model: str, decision: str, **outcome: Any) -> messages.OutcomeAnswer:
        """Tell what became of it: ``tried`` and ``succeeded``, or ``succeeded_id``."""
        return self._send(asks.settle(model, decision, messages.OutcomeRequest(**outcome)))

    def settle_many(self, model: str, outcomes: Sequence[dict[str, Any]]) -> messages.BatchAnswer:
        """Tell what became of many."""
        return self._send(asks.settle_many(model, outcomes))

    def read(self, model: str, decision: str) -> messages.DecisionRead:
        """A decision, explained."""
        return self._send(asks.read(model, decision))

    def latest(
        self, model: str, cursor: str | None = None, limit: int = 50
    ) -> messages.DecisionList:
        """Decisions, newest first."""
        return self._send(asks.latest(model, cursor, limit))

    def model(self, name: str) -> messages.Model:
        """A model and how it is doing."""
        return self._send(asks.model(name))

    def models(self) -> list[messages.Model]:
        """All models."""
        return self._send(asks.models()).models

    def delete_model(self, name: str) -> None:
        """Delete a model and its log."""
        self._send(asks.delete_model(name))

    def export(self, model: str) -> bytes:
        """All decisions as Parquet."""
        return self._send(asks.export(model))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, ask: Ask[T]) -> T:
        attempt = 0
        while True:
            try:
                response = self._http.request(ask.method, ask.path, content=ask.body)
            except httpx.TransportError as error:
                pause = self._pause(attempt, None)
                if pause is None:
                    raise CallFailed(0, f"cannot reach the service: {error!r}") from error
            else:
                pause = self._pause(attempt, response)
                if pause is None or response.is_success:
                    return self._read(ask, response)
            attempt += 1
            time.sleep(pause)
