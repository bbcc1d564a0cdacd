"""The service's log: lines of JSON on standard error."""

import logging
import sys
import time
import traceback
from typing import TextIO

import msgspec

_encode = msgspec.json.Encoder().encode


class Access:
    """Logs each request as a line of JSON: method, path, status, milliseconds, request id."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

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
        self._stream.write(_encode(line).decode() + "\n")


class JsonLines(logging.Formatter):
    """Formats a log record as a line of JSON that holds no key and no feature."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().encode(errors="backslashreplace").decode(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            # location only: another library's message may quote a request
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["where"] = [f"{frame.name}:{frame.lineno}" for frame in frames[-6:]]
        return _encode(line).decode()


def configure_logging(level: str = "info", stream: TextIO | None = None) -> None:
    """Send all logs to a stream (default: standard error), as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)  # such as a schema's, of fields that change nothing
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # Access has the request id
