"""Clients: sync and async, with timeouts, and retries that carry the same id."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx
import msgspec
from numpy.typing import ArrayLike

from longrank.service import asks, messages
from longrank.service.asks import Ask
from longrank.service.errors import ServiceError

T = TypeVar("T")
_AGAIN = (502, 503, 504)
_SLOWEST = 5.0


class CallFailed(ServiceError):
    """The service refused: its status and its sentence; 0 if it could not be reached."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail

    def __str__(self) -> str:
        return f"{self.detail} (status {self.status})"


class _Base:
    """What both clients share: how often to try, how long to wait, how to read an answer."""

    def __init__(self, retries: int) -> None:
        self.retries = retries

    def _pause(self, attempt: int, response: httpx.Response | None) -> float | None:
        """How long to wait before the next attempt; None if there is none."""
        if attempt >= self.retries or (response is not None and response.status_code not in _AGAIN):
            return None
        told = response.headers.get("Retry-After", "") if response is not None else ""
        if told.isdigit():
            return min(float(told), _SLOWEST) * random.uniform(0.5, 1.0)
        return float(min(0.05 * 2.0**attempt, _SLOWEST) * random.uniform(0.5, 1.0))

    @staticmethod
    def _read(ask: Ask[T], response: httpx.Response) -> T:
        if response.is_success:
            if ask.answer is None:
                return response.content  # type: ignore[return-value]
            kind: Any = ask.answer
            if response.status_code == 201 and kind is messages.Model:
                kind = messages.ModelCreated
            answer: T = msgspec.json.decode(response.content, type=kind)
            return answer
        try:
            detail = str(response.json()["detail"])
        except (ValueError, KeyError, TypeError):
            detail = response.reason_phrase
        raise CallFailed(response.status_code, detail)


def _settings(key: str | None, url: str, timeout: float) -> dict[str, Any]:
    headers = {"Content-Type": "application/msgpack"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers, "timeout": timeout}


class Client(_Base):
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
        self._http = httpx.Client(**_settings(key, url, timeout))

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


class AsyncClient(_Base):
    """The same for an event loop."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 5.0, retries: int = 4
    ) -> None:
        super().__init__(retries)
        self._http = httpx.AsyncClient(**_settings(key, url, timeout))

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
