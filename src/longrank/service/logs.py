"""JSON lines with request ids on standard error. No key and no feature gets into one."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import TextIO

import msgspec


class JsonLines(logging.Formatter):
    """One line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            # where it was, not with what: messages of foreign exceptions may quote a request
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["where"] = [f"{frame.name}:{frame.lineno}" for frame in frames[-6:]]
        return msgspec.json.encode(line).decode()


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send all logs there, as JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # ours has the request id


class Access:
    """A line for each request: method, path, status, milliseconds, request id."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._encode = msgspec.json.Encoder().encode

    def __call__(
        self, method: str, path: str, status: int, seconds: float, request_id: str
    ) -> None:
        line = {
            "time": round(time.time(), 3),
            "level": "info",
            "message": "request",
            "method": method,
            "path": path,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "request_id": request_id,
        }
        self._stream.write(self._encode(line).decode() + "\n")
