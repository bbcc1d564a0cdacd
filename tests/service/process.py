"""Real servers: `longrank serve` in a process of its own."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
from serving import ADMIN, until

# Requests in flight at the end, and slow clients, have two minutes on a busy machine.
MAIN = (
    "from longrank import cli; from longrank.service import server; server.GRACE = 120; cli.main()"
)
SLOWLY = [f"--{what}-timeout=120" for what in ("header", "body", "idle")]


class Server:
    """A server on a port; it can be killed and started again."""

    def __init__(self, store: str, port: int, *more: str, log: Path | None = None) -> None:
        self.store, self.port, self.more, self.log = store, port, more, log
        self.process: subprocess.Popen | None = None

    def start(self) -> Server:
        where = self.log.open("ab") if self.log else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "serve", "--port", str(self.port), "--store", self.store,
             *SLOWLY, *self.more],
            env={**os.environ, "LONGRANK_ADMIN_KEY": ADMIN}, stdout=where, stderr=where,
        )  # fmt: skip
        if self.log:
            where.close()
        return self

    def ready(self) -> Server:
        until(self._answers)
        return self

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"the server ended with {self.process.returncode}"
        try:
            return once(self.port, "GET", "/readyz")[0] == 200
        except OSError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop gracefully; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


class Wire:
    """A plain connection: no retries, no surprises."""

    def __init__(self, port: int) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def close(self) -> None:
        self._wire.close()

    def call(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        try:
            self._wire.request(method, path, data, headers)
            answer = self._wire.getresponse()
            content = answer.read()
        except http.client.HTTPException as error:
            self._wire.close()
            raise ConnectionError(repr(error)) from error
        except OSError:
            self._wire.close()
            raise
        kind = answer.headers.get("content-type", "")
        return answer.status, msgspec.json.decode(content) if "json" in kind else content


def once(port: int, method: str, path: str, body: object = None) -> tuple[int, object]:
    """One call on a connection of its own."""
    with closing(Wire(port)) as wire:
        return wire.call(method, path, body)
