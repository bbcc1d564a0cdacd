"""API keys: shown once, stored as hashes, one model each; the administrator's opens all."""

import hashlib
import hmac
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable

from longrank.errors import InvalidInput
from longrank.service.errors import NotReady, Unknown
from longrank.service.store.sql import EventRow, KeyRow
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
ADMIN = 0  # no model has this number
MIN_ADMIN = 16  # characters of the administrator's key
MAX_AGE = 1.0  # seconds until keys must be read again, since another process may have revoked one
_MADE = re.compile(r"lr_[A-Za-z0-9_-]{43}")


def digest(key: str) -> bytes:
    """Return the stored hash of a key. Keys are 256 random bits, so a plain hash is safe."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class Keys:
    """The keys, and what each of them opens.

    They are in memory as in the store. Where other processes write too, :meth:`refresh` must be
    called more often than once a second: what is older opens nothing, so that a key that was
    revoked anywhere is good for no longer than that, even at a process that was stopped meanwhile.

    ``admin`` is the administrator's key; None to create one at the first start, whose hash is in
    the store from then on.
    """

    def __init__(self, store: Store, admin: str | None, clock: Callable[[], float]) -> None:
        if admin is not None and len(admin) < MIN_ADMIN:
            rule = f"have at least {MIN_ADMIN} characters"
            raise InvalidInput("LONGRANK_ADMIN_KEY", rule, f"{len(admin)} characters")
        self._store, self._clock = store, clock
        self._admin = digest(admin) if admin else None
        self._rows: dict[bytes, KeyRow] = {}
        self._stamp: object = None  # the store's when the keys were read
        self._read = float("-inf")  # when the keys were last known to equal the store's
        self._lock = threading.Lock()  # a slow read must not overwrite a later one

    def load(self) -> None:
        """Read the keys from the store."""
        with self._lock:
            self._load(time.monotonic(), self._store.keys_stamp())

    def refresh(self) -> None:
        """Read the keys from the store if another process has changed them."""
        with self._lock:
            began, stamp = time.monotonic(), self._store.keys_stamp()
            if stamp is None or stamp != self._stamp:
                self._load(began, stamp)
            self._read = began

    def make_admin(self) -> str | None:
        """Create the administrator's key if there is none; it is shown once."""
        if self._admin is not None or any(row.model == ADMIN for row in self._rows.values()):
            return None
        return self.make(ADMIN, who="first start")[1]

    def make(
        self, model: int, *, name: str = "", ttl: float | None = None, who: str = "administrator"
    ) -> tuple[KeyRow, str]:
        """Create a key of a model, which expires after ``ttl`` seconds; return its row and the key.

        ``name`` is the model's and ``who`` who does it, for the log of events.
        """
        key, now = f"lr_{secrets.token_urlsafe(32)}", self._clock()
        expires = None if ttl is None else now + ttl
        row = KeyRow(digest(key), model, secrets.token_hex(4), now, expires)
        event = self._event(who, "created key", name, row.id)
        with self._lock:
            self._store.add_key(row, event)
            self._rows[row.digest] = row
        _tell(event)
        return row, key

    def retire(
        self, model: int, old: str, grace: float, *, name: str = "", who: str = "administrator"
    ) -> None:
        """Let a key of a model expire after ``grace`` seconds, as another one replaces it."""
        event = self._event(who, "replaced key", name, old)
        if not self._store.expire_key(model, old, self._clock() + grace, event):
            raise Unknown(f"there is no key {old!r}")
        _tell(event)
        self.load()

    def remove(self, model: int, old: str, *, name: str = "", who: str = "administrator") -> None:
        """Delete a key of a model."""
        event = self._event(who, "revoked key", name, old)
        if not self._store.delete_key(model, old, event):
            raise Unknown(f"there is no key {old!r}")
        _tell(event)
        self.load()

    def of(self, model: int) -> list[KeyRow]:
        """List the keys of a model."""
        return [row for row in self._rows.values() if row.model == model]

    def hide(self, path: str) -> str:
        """Replace what is a key in a path, or looks like one, for the access log."""
        return "/".join(
            "(key)" if _MADE.search(part) or self._is_admins(digest(part)) else part
            for part in path.split("/")
        )

    def opened_by(self, key: str) -> tuple[bytes, int | None]:
        """Return the digest of a key, and what :meth:`known` says of it."""
        found = digest(key)
        return found, self.known(found)

    def known(self, found: bytes) -> int | None:
        """Return the number of the model that a key opens, by its digest, without a query.

        ADMIN for all, None for none that is in memory. NotReady if other processes may have revoked
        the key meanwhile.
        """
        if self._is_admins(found):
            return ADMIN
        if not self._store.exclusive and time.monotonic() - self._read > MAX_AGE:
            raise NotReady("the keys cannot be read at the moment; try again soon")
        row = self._rows.get(found)
        if row is None or (row.model == ADMIN and self._admin is not None):
            return None  # the environment's key replaces the one in the store
        if row.expires is not None and self._clock() >= row.expires:
            return None
        return row.model

    def _load(self, began: float, stamp: object) -> None:
        self._rows = {row.digest: row for row in self._store.all_keys()}
        self._stamp, self._read = stamp, began

    def _is_admins(self, found: bytes) -> bool:
        return self._admin is not None and hmac.compare_digest(found, self._admin)

    def _event(self, who: str, what: str, model: str, key: str) -> EventRow:
        return EventRow(self._clock(), who, what, model, key)


def _tell(event: EventRow) -> None:
    """Write an event to the service's log."""
    log.info("%s: %s %s of model %s", event.who, event.what, event.detail, event.model or "(none)")
