"""Errors of the service.

LongrankError
└── ServiceError
    ├── Unknown       there is no such model, decision or key
    ├── Conflict      it exists already, with other content
    ├── Duplicate     the log has this entry already
    ├── Busy          too many writes are queued, or reads made; try again later
    ├── NotReady      the log is being replayed
    ├── Stopped       the service is stopping
    ├── StoreFailed   the store could not read or write; nothing was acknowledged
    │   └── InUse         another process uses it
    └── StoreDamaged  the store does not hold what was written
        └── OtherVersion  it does, but another version of longrank wrote it
"""

from longrank.errors import LongrankError


class ServiceError(LongrankError):
    """Base class of the service's errors that are not about an argument."""


class Unknown(ServiceError):
    """There is no such model, decision or key."""


class Conflict(ServiceError):
    """It exists already, with other content."""


class Duplicate(ServiceError):
    """The log has this entry already, or lacks what it belongs to; nothing was appended."""


class Busy(ServiceError):
    """Too many writes are queued, or reads made; nothing was done."""


class NotReady(ServiceError):
    """The service is starting, or cannot work any more."""


class Stopped(ServiceError):
    """The service was stopped before this was done."""


class StoreFailed(ServiceError):
    """The store could not read or write; the request is not acknowledged."""


class InUse(StoreFailed):
    """Another process uses a store that is for one."""


class StoreDamaged(ServiceError):
    """The store does not hold what was written, or has another format."""


class OtherVersion(StoreDamaged):
    """The store holds what was written, but by a version of longrank that this one cannot read."""


def sentence(error: Exception) -> str:
    """Return the first line of a database's error; the others may quote what was stored."""
    return (str(error).splitlines() or [type(error).__name__])[0]
