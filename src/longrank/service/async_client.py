"""The client for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx
from numpy.typing import ArrayLike

from longrank.service import asks, messages
from longrank.service.asks import Ask
from longrank.service.attempts import Attempts, CallFailed, http_settings

T = TypeVar("T")


class AsyncClient(Attempts):
    """A client of the decision service for an event loop: as :class:`Client`, with ``await``."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 5.0, retries: int = 4
    ) -> None:
        super().__init__(retries)
        self._http = httpx.AsyncClient(**http_settings(key, url, timeout))

    async def create_model(self, name: str, **settings: Any) -> messages.Model:
        """Make a model: ``dim``, ``policy``, ...; what is made carries its ``key``."""
        return await self._send(asks.create_model(name, settings))

    async def decide(
        self, model: str, ids: Sequence[str], features: ArrayLike, **more: Any
    ) -> messages.Decision:
        """What to try: see :func:`longrank.service.asks.decide` for the rest."""
        return await self._send(asks.decide(model, ids, features, **more))

    async def settle(self, model: str, decision: str, **outcome: Any) -> messages.OutcomeAnswer:
        """Tell what became of it: ``tried`` and ``succeeded``, or ``succeeded_id``."""
        return await self._send(asks.settle(model, decision, messages.OutcomeRequest(**outcome)))

    async def settle_many(
        self, model: str, outcomes: Sequence[dict[str, Any]]
    ) -> messages.BatchAnswer:
        """Tell what became of many."""
        return await self._send(asks.settle_many(model, outcomes))

    async def read(self, model: str, decision: str) -> messages.DecisionRead:
        """A decision, explained."""
        return await self._send(asks.read(model, decision))

    async def latest(
        self, model: str, cursor: str | None = None, limit: int = 50
    ) -> messages.DecisionList:
        """Decisions, newest first."""
        return await self._send(asks.latest(model, cursor, limit))

    async def model(self, name: str) -> messages.Model:
        """A model and how it is doing."""
        return await self._send(asks.model(name))

    async def models(self) -> list[messages.Model]:
        """All models."""
        return (await self._send(asks.models())).models

    async def delete_model(self, name: str) -> None:
        """Delete a model and its log."""
        await self._send(asks.delete_model(name))

    async def export(self, model: str) -> bytes:
        """All decisions as Parquet."""
        return await self._send(asks.export(model))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _send(self, ask: Ask[T]) -> T:
        attempt = 0
        while True:
            try:
                response = await self._http.request(ask.method, ask.path, content=ask.body)
            except httpx.TransportError as error:
                pause = self._pause(attempt, None)
                if pause is None:
                    raise CallFailed(0, f"cannot reach the service: {error!r}") from error
            else:
                pause = self._pause(attempt, response)
                if pause is None or response.is_success:
                    return self._read(ask, response)
            attempt += 1
            await asyncio.sleep(pause)
