"""What the clients share: how often to try, how long to wait, how to read an answer."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import httpx
import msgspec

from longrank.service import messages
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


class Attempts:
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


def http_settings(key: str | None, url: str, timeout: float) -> dict[str, Any]:
    headers = {"Content-Type": "application/msgpack"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers, "timeout": timeout}
