"""What the engine and the stores refuse.

LongrankError
└── ServiceError
    ├── Unknown       no such model, decision or key
    ├── Conflict      the same id with another content
    ├── Duplicate     the log has such an entry already
    ├── Busy          too much is waiting; try again later
    ├── NotReady      the log is being replayed
    ├── StoreFailed   the store could not write; nothing was acknowledged
    └── StoreDamaged  what the store holds is not what was written
"""

from __future__ import annotations

from longrank.errors import LongrankError


class ServiceError(LongrankError):
    """Everything that the service refuses for other reasons than an argument."""


class Unknown(ServiceError):
    """There is no such thing."""


class Conflict(ServiceError):
    """There is one of that name already, and it is another one."""


class Duplicate(ServiceError):
    """The log has such an entry already, or not what it belongs to; nothing was appended."""


class Busy(ServiceError):
    """Too much is waiting; nothing was done."""


class NotReady(ServiceError):
    """The service is starting and replays its log."""


class StoreFailed(ServiceError):
    """The store could not write or read; what was asked for is not acknowledged."""


class StoreDamaged(ServiceError):
    """The store holds something else than was written, or is of another format."""


def sentence(error: Exception) -> str:
    """What a database says of a failure; the lines after the first may quote what was stored."""
    return (str(error).splitlines() or [type(error).__name__])[0]
