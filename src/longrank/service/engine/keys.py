"""API keys: shown once, stored as hashes, one model each; the administrator's opens all."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable

from longrank.service.errors import Unknown
from longrank.service.store.sql import KeyRow
from longrank.service.store.store import Store

ADMIN = 0  # no model has this number
_MADE = re.compile(r"lr_[A-Za-z0-9_-]{43}")


def digest(key: str) -> bytes:
    """Return the hash that is stored of a key: 256 random bits, so that a plain one is safe."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


class Keys:
    """The keys, and what each of them opens.

    ``admin`` is the administrator's key; None to create one at the first start, whose hash is in
    the store from then on.
    """

    def __init__(self, store: Store, admin: str | None, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._admin = digest(admin) if admin else None
        self._rows: dict[bytes, KeyRow] = {}

    def load(self) -> None:
        """Read the keys from the store."""
        self._rows = {row.digest: row for row in self._store.all_keys()}

    def make_admin(self) -> str | None:
        """Create the administrator's key if there is none; it is shown once."""
        if self._admin is not None or any(row.model == ADMIN for row in self._rows.values()):
            return None
        return self.make(ADMIN)[1]

    def make(self, model: int) -> tuple[KeyRow, str]:
        """Create a key of a model; return its row and the key."""
        key = f"lr_{secrets.token_urlsafe(32)}"
        row = KeyRow(digest(key), model, secrets.token_hex(4), self._clock())
        self._store.add_key(row)
        self._rows[row.digest] = row
        return row, key

    def remove(self, model: int, name: str) -> None:
        """Delete a key of a model."""
        if not self._store.delete_key(model, name):
            raise Unknown(f"there is no key {name!r}")
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

    def _is_admins(self, found: bytes) -> bool:
        return self._admin is not None and hmac.compare_digest(found, self._admin)

    def owner(self, key: str) -> int | None:
        """Return the number of the model that a key opens; ADMIN for all, None for none."""
        found = self.known(key)
        if found is None and not self._store.exclusive:
            self.load()  # another process may have created it
            found = self.known(key)
        return found

    def known(self, key: str) -> int | None:
        """Return the same as far as it is in memory, without a query."""
        found = digest(key)
        if self._is_admins(found):
            return ADMIN
        row = self._rows.get(found)
        if row is None or (row.model == ADMIN and self._admin is not None):
            return None  # the environment's key replaces the one in the store
        return row.model
