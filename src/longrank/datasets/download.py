"""Downloading one file: resumed where it stopped, and renamed only after it was checked.

An unfinished download has two files next to the target: ``NAME.part`` with the bytes so far, and
``NAME.part.json`` with the server's version of the file (its ETag or date), so that a file that
has changed in between is downloaded from the beginning.
"""

import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longrank.errors import BadFile, InvalidInput, LongrankError

Progress = Callable[[int, int | None], None]

_BLOCK = 1 << 17
_PASSING = (408, 425, 429)  # and all of 500 and above: temporary


class DownloadFailed(LongrankError, ConnectionError):
    """A file could not be downloaded; the bytes so far are kept for the next attempt."""


class _TryAgain(Exception):
    """A temporary failure."""


def download(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    md5: str | None = None,
    progress: Progress | None = None,
    tries: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Download ``url`` to ``target``.

    Parameters
    ----------
    size, md5
        The expected size and checksum; a file with others is deleted.
    progress
        Called with the bytes so far and the total (None if unknown).
    tries, pause
        The number of attempts, and the seconds before the second one, doubled each time.
    timeout
        Seconds without a response after which an attempt fails.
    """
    if not url.startswith(("https://", "http://")):
        raise InvalidInput("url", "begin with https:// or http://", repr(url))
    part = _Part(target)
    reason = "no attempt was made"
    for attempt in range(tries):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            resumed = _fetch(url, part, size, progress, timeout)
        except _TryAgain as problem:
            reason = str(problem)
            continue
        wrong = mismatch(part.path, size, md5)
        if wrong is None:
            with part.path.open("r+b") as file:
                os.fsync(file.fileno())
            os.replace(part.path, target)
            part.notes.unlink(missing_ok=True)
            return target
        part.discard()
        if not resumed:  # a resumed file may mix two versions; a whole one stays wrong
            raise BadFile(f"{url} {wrong}; nothing was kept")
        reason = wrong
    raise DownloadFailed(f"{url} cannot be downloaded: {reason} (tried {tries} times)")


def mismatch(path: Path, size: int | None, md5: str | None) -> str | None:
    """Return what is wrong with a file, or None."""
    got = path.stat().st_size
    if size is not None and got != size:
        return f"must have {size} bytes, got {got}"
    if md5 is not None:
        with path.open("rb") as file:
            # MD5 detects accidents; the publishers offer nothing better.
            digest = hashlib.file_digest(
                file, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
        if digest != md5:
            return f"must have the MD5 checksum {md5}, got {digest}"
    return None


class _Part:
    """An unfinished file, and next to it the server's version of it."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(target.name + ".part")
        self.notes = target.with_name(target.name + ".part.json")

    def so_far(self, url: str) -> tuple[int, dict[str, Any]]:
        """Return the number of bytes to resume from, and the notes about them."""
        try:
            notes = json.loads(self.notes.read_bytes())
            if notes["url"] == url and notes["version"]:
                return self.path.stat().st_size, notes
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no notes, or damaged ones: start again
        return 0, {}

    def begin(self, url: str, version: str | None, total: int | None) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.notes.write_text(json.dumps({"url": url, "version": version, "total": total}))

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.notes.unlink(missing_ok=True)


def _fetch(
    url: str, part: _Part, size: int | None, progress: Progress | None, timeout: float
) -> bool:
    """Download what is missing; tell whether there was anything before."""
    offset, notes = part.so_far(url)
    if offset and offset == (size or notes["total"]):
        return True  # stopped between the last byte and the check
    with _ask(url, part, offset, notes, timeout) as answer:
        version = _version(answer.headers)
        if answer.status == http.client.PARTIAL_CONTENT:
            start, total = _range(answer.headers["Content-Range"])
            if start != offset or version not in (None, notes.get("version")):
                part.discard()
                raise _TryAgain("the server resumed a different file")
        else:
            offset, total = 0, _number(answer.headers["Content-Length"])
        if size is not None and total is not None and total != size:
            part.discard()
            raise BadFile(f"{url} must have {size} bytes, the server offers {total}")
        if not offset:
            part.begin(url, version, total)
        _copy(answer, part.path, offset, total, progress)
    return offset > 0


def _ask(url: str, part: _Part, offset: int, notes: dict[str, Any], timeout: float) -> Any:
    headers = {"User-Agent": "longrank", "Accept-Encoding": "identity"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": notes["version"]}
    try:
        answer = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        )
    except urllib.error.HTTPError as error:
        error.close()
        reply = f"the server answered {error.code} {error.reason}"
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.discard()
        elif error.code < 500 and error.code not in _PASSING:
            raise DownloadFailed(f"{url} cannot be downloaded: {reply}") from None
        raise _TryAgain(reply) from None
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgain(str(getattr(error, "reason", error)) or repr(error)) from None
    if not stays_secure(url, answer.url):
        answer.close()
        raise DownloadFailed(f"{url} must stay on https, it leads to {answer.url}")
    return answer


def stays_secure(asked: str, reached: str) -> bool:
    """Tell whether a redirection did not lead from https to http."""
    return reached.startswith("https:") or not asked.startswith("https:")


def _copy(answer: Any, path: Path, done: int, total: int | None, progress: Progress | None) -> None:
    with path.open("ab") as file:
        while True:
            if progress is not None:
                progress(done, total)
            try:
                block = answer.read(_BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _TryAgain(f"the connection broke after {done} bytes ({error})") from None
            if not block:
                break
            file.write(block)
            done += len(block)
    if total is not None and done < total:
        raise _TryAgain(f"the connection closed after {done} of {total} bytes")


def _version(headers: Any) -> str | None:
    """Return what identifies the version of a file; a weak ETag does not."""
    etag = headers["ETag"]
    if etag and not etag.startswith("W/"):
        return str(etag)
    return headers["Last-Modified"] or None


def _range(text: str | None) -> tuple[int, int | None]:
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", (text or "").strip())
    return (int(match[1]), _number(match[2])) if match else (-1, None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None
