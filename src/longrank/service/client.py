"""Clients of the decision service, with timeouts and retries that carry the same id."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any, TypeVar, cast

import httpx
import msgspec

from longrank.service.errors import ServiceError
from longrank.service.http.routes import Call, Endpoints

T = TypeVar("T")
_Result = httpx.Response | httpx.TransportError
_RETRIED = (429, 502, 503, 504)
_MAX_PAUSE = 5.0


class CallFailed(ServiceError):
    """The service refused a call: its status and its sentence; 0 if it could not be reached."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail

    def __str__(self) -> str:
        return f"{self.detail} (status {self.status})"


class _Connected(Endpoints):
    """What both clients are made of; ``_http_client`` is the class of their connections."""

    _http_client: Any

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 5.0, retries: int = 4
    ) -> None:
        headers = {"Content-Type": "application/msgpack"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self.retries = retries
        self._http = self._http_client(base_url=url, headers=headers, timeout=timeout)


class Client(_Connected):
    """A client of the decision service; its methods are the endpoints.

    Parameters
    ----------
    url
        Address of the service, such as ``http://127.0.0.1:8000``.
    key
        Key of the model, or the administrator's.
    timeout
        Seconds for one attempt.
    retries
        Further attempts if the service is busy or cannot be reached. They carry the same id, so
        that nothing is decided or learned twice.
    """

    _http_client = httpx.Client

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            result: _Result
            try:
                result = self._http.request(call.route.method, call.target, content=call.body)
            except httpx.TransportError as error:
                result = error
            seconds = _pause(attempt, self.retries, result)
            if seconds is None:
                return _answer(call, result)
            attempt += 1
            time.sleep(seconds)


class AsyncClient(_Connected):
    """A client of the decision service for an event loop: as :class:`Client`, with ``await``."""

    _http_client = httpx.AsyncClient

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _send(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            result: _Result
            try:
                result = await self._http.request(call.route.method, call.target, content=call.body)
            except httpx.TransportError as error:
                result = error
            seconds = _pause(attempt, self.retries, result)
            if seconds is None:
                return _answer(call, result)
            attempt += 1
            await asyncio.sleep(seconds)


def _pause(attempt: int, retries: int, result: _Result) -> float | None:
    """Return the seconds to wait before the next attempt, None if this result is final."""
    response = result if isinstance(result, httpx.Response) else None
    if attempt >= retries or (response is not None and response.status_code not in _RETRIED):
        return None
    wanted = response.headers.get("Retry-After", "") if response is not None else ""
    seconds = float(wanted) if wanted.isdigit() else 0.05 * 2.0**attempt
    return min(seconds, _MAX_PAUSE) * random.uniform(0.5, 1.0)


def _answer(call: Call[T], result: _Result) -> T:
    """Return what the call answers, or raise what went wrong."""
    if not isinstance(result, httpx.Response):
        raise CallFailed(0, f"cannot reach the service: {result!r}") from result
    if not result.is_success:
        try:
            detail = str(result.json()["detail"])
        except (ValueError, KeyError, TypeError):
            detail = result.reason_phrase
        raise CallFailed(result.status_code, detail)
    kind, answer = call.route.answers[result.status_code], cast(Any, result.content)
    if kind is not bytes:
        answer = None if kind is None else msgspec.json.decode(answer, type=kind)
    return cast(T, answer)
