"""The catalog: the models that exist, in memory as in the store."""

import logging
import re
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from longrank.errors import InvalidInput, LongrankError, unknown
from longrank.features import Records
from longrank.policies import Policy, registry
from longrank.policies.learning import LearningPolicy
from longrank.schema import Number, Schema
from longrank.schema.kinds import KINDS
from longrank.service.engine.apply import Progress, replay
from longrank.service.engine.model import Model, Spec, read_spec
from longrank.service.engine.stats import Stats
from longrank.service.errors import (
    Conflict,
    OtherVersion,
    ServiceError,
    Stopped,
    StoreDamaged,
    Unknown,
)
from longrank.service.messages import ModelRequest, SchemaRequest
from longrank.service.store.records import Snapshot
from longrank.service.store.store import Store

log = logging.getLogger("longrank.service")
RETRY = 60.0  # seconds until a model that could not be loaded is tried again
_NOT_SERVED = ("cautious", "dep", "oracle")  # never explores; want arrays among their settings
_FIXED = ("policy", "dim", "max_budget", "settings", "schema")  # the rest of a request may change


class _Suspended(NamedTuple):
    """A model that exists but cannot be used by this process."""

    number: int
    error: StoreDamaged  # with the reason
    until: float  # of the monotonic clock


class Catalog(ABC):
    """The part of the engine that knows the models, by name and by number.

    A newer longrank may have written a model that this one cannot load, or a policy may fail to
    learn an entry of the log. It is then suspended, and the others continue. A damaged model is
    suspended too if other processes write to the store, as they may be able to use it; otherwise
    the damage is an error.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.store, self.clock = store, clock
        self.stopping = threading.Event()
        self._names: dict[str, Model] = {}
        self._numbers: dict[int, Model] = {}
        self._suspended: dict[str, _Suspended] = {}
        self._stamp: object = None  # the store's when the models were last read
        self._lock = threading.Lock()

    @abstractmethod
    def check(self) -> None:
        """Refuse to work before the start, or after a failure."""

    def models(self) -> list[Model]:
        """Return all models, sorted by name."""
        self.check()
        return [self._names[name] for name in sorted(self._names)]

    def model(self, name: str) -> Model:
        """Return the model of a name; StoreDamaged with the reason if it is suspended."""
        self.check()
        model = self._names.get(name)
        if model is None and not self.store.exclusive:
            self._refresh()  # another process may have created it
            model = self._names.get(name)
        if model is None and name in self._suspended:
            raise self._suspended[name].error
        if model is None:
            raise Unknown(f"there is no model {name!r}")
        return model

    def knows(self, name: str) -> bool:
        """Whether :meth:`model` finds a name in memory, without a query."""
        return self.store.exclusive or name in self._names

    def number(self, name: str) -> int | None:
        """Return the number of a model, None if it does not exist."""
        try:
            return self.model(name).number
        except Unknown:
            return None

    @property
    def suspended(self) -> dict[str, str]:
        """Why models cannot be used by this process, by name; the others can."""
        return {name: str(found.error) for name, found in sorted(self._suspended.items())}

    def create(self, name: str, request: ModelRequest) -> tuple[Model, bool]:
        """Create a model, or change what may change of one; return it and whether it is new."""
        try:
            return self._changed(self.model(name), request), False
        except Unknown:
            spec = Spec(request, secrets.randbits(32))
        first = _first(spec)
        try:  # a model that cannot be loaded now could not be at the next start either
            model = Model(0, name, self.clock(), spec, first)
        except Exception as error:  # the policy's own code may come from another package
            rule = "be one that can be saved and loaded again"
            raise InvalidInput("policy", rule, _named(spec, error)) from error
        try:
            model.number = self.store.create_model(
                name, msgspec.json.encode(spec), model.created, first
            )
        except Conflict:  # another process or thread created it first
            self._refresh()
            return self.create(name, request)[0], False
        return self._add(model), True

    def delete(self, name: str) -> None:
        """Delete a model and its log; a suspended one as well."""
        try:
            number = self.model(name).number
        except StoreDamaged:
            if name not in self._suspended:
                raise
            number = self._suspended[name].number
        self.store.delete_model(number)
        self._remove(name, number)

    def _refresh(self) -> None:
        """Read which models exist, unless that is known; replay those that are new here."""
        stamp = self.store.stamp()
        now = time.monotonic()
        due = any(now >= suspended.until for suspended in self._suspended.values())
        if stamp is not None and stamp == self._stamp and not due:
            return
        self._stamp = None
        rows = self.store.models()
        progress = Progress(self.store, self.stopping)
        for row in rows:
            failed = self._suspended.get(row.name)
            if failed is not None and failed.number == row.model and now < failed.until:
                continue
            try:
                model = self._numbers.get(row.model)
                if model is None:
                    self._add(replay(self.store, row, progress=progress))
                elif not self.store.exclusive:
                    model.spec = read_spec(row.spec, row.name)
            except Unknown:  # deleted meanwhile
                continue
            except Stopped:
                raise
            except Exception as error:
                self._suspend(row.model, row.name, error)
        here = {row.model for row in rows}
        for number, model in list(self._numbers.items()):
            if number not in here:
                self._remove(model.name, number)
        for name, suspended in list(self._suspended.items()):
            if suspended.number not in here:
                self._remove(name, suspended.number)
        self._stamp = stamp

    def _suspend(self, number: int, name: str, error: Exception) -> None:
        """Continue without a model that cannot be loaded or followed; retry later.

        Raise the error if no other process can have caused it, or if it is not about this model:
        the database is unreachable, or busy.
        """
        damaged = isinstance(error, StoreDamaged) and not isinstance(error, OtherVersion)
        passing = isinstance(error, ServiceError) and not isinstance(error, StoreDamaged)
        if passing or (self.store.exclusive and damaged):
            raise error
        reason = f"model {name!r} cannot be used by this process: {error}"
        log.error(
            "%s; other models are served. Upgrade longrank, or delete the model; it is tried again "
            "%s",
            reason,
            "at the next start" if self.store.exclusive else f"in {RETRY:g} seconds",
            exc_info=None if isinstance(error, LongrankError) else error,
        )
        self._remove(name, number)
        kind = OtherVersion if isinstance(error, OtherVersion) else StoreDamaged
        self._suspended[name] = _Suspended(number, kind(reason), time.monotonic() + RETRY)

    def _changed(self, model: Model, request: ModelRequest) -> Model:
        old = model.spec.request
        for part in _FIXED:
            if getattr(old, part) != getattr(request, part):
                raise Conflict(f"the model {model.name!r} has another {part}; delete it first")
        if request != old:
            spec = Spec(request, model.spec.seed)
            self.store.update_model(model.number, msgspec.json.encode(spec))
            model.spec = spec
        return model

    def _add(self, model: Model) -> Model:
        """Add a model; return the one of that number, which another thread may have added."""
        with self._lock:
            first = self._numbers.setdefault(model.number, model)
            self._names[model.name] = first
            self._suspended.pop(model.name, None)
            return first

    def _remove(self, name: str, number: int) -> None:
        with self._lock:
            self._numbers.pop(number, None)
            for known in (self._names, self._suspended):
                if name in known and known[name].number == number:
                    del known[name]


def _first(spec: Spec) -> Snapshot:
    """Return the first snapshot of a new model, whose policy takes what it needs of the spec."""
    request = spec.request
    offered = {
        "dim": request.dim,
        "max_budget": request.max_budget,
        "rng": spec.seed,
        "schema": None if request.schema is None else _schema(request.schema),
    }
    try:
        policy = registry.make(request.policy, offered, request.settings)
        if not policy.online:
            sentence = (
                f"{request.policy} cannot serve: it never explores, so it could not correct "
                "itself; use it with longrank evaluate"
            )
            raise InvalidInput("policy", "be one that explores", request.policy, sentence)
        _check_candidates(request, policy)
        return Snapshot.of(0, policy.to_bytes(), Stats())
    except InvalidInput as error:
        if error.parameter == "name":
            served = [name for name in registry.names() if name not in _NOT_SERVED]
            rule = f"be one of {', '.join(served)}"
            raise InvalidInput("policy", rule, unknown(request.policy, served)) from None
        if request.dim is None and "dim" in registry.get(request.policy).needs:
            raise _needs_dim(request) from None
        raise
    except ImportError as error:  # of a package that offers the policy
        raise InvalidInput("policy", "be installed completely", _named(spec, error)) from error
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        rule = f"be settings of {request.policy!r}"
        raise InvalidInput("settings", rule, f"{request.settings}: {error}") from error


def _check_candidates(request: ModelRequest, policy: Policy) -> None:
    """Refuse a policy that cannot rank the candidates that a model is for."""
    features = policy.features if isinstance(policy, LearningPolicy) else None
    arrays = features is not None and not (isinstance(features, Records) and features.dim is None)
    if request.dim is None and arrays:
        raise _needs_dim(request)
    if request.schema is not None and (
        request.dim is not None or not isinstance(policy, LearningPolicy)
    ):
        rule = "be given without dim, for a policy that learns from records"
        raise InvalidInput("schema", rule, f"policy {request.policy!r}, dim {request.dim}")


def _needs_dim(request: ModelRequest) -> InvalidInput:
    return InvalidInput("dim", f"be given for {request.policy!r}, which takes no records", None)


def _schema(declared: SchemaRequest) -> Schema:
    """Return the schema that a request declares."""
    fields: dict[str, Any] = {}
    for name, given in declared.fields.items():
        kind, log = (given, False) if isinstance(given, str) else (given.kind, given.log)
        if kind not in KINDS:
            rule = f'be one of {", ".join(KINDS)}, or such as {{"kind":"number","log":true}}'
            raise InvalidInput(f"schema.fields.{name}", rule, repr(kind))
        if log and kind != Number.name:
            rule = "be false unless it is a number"
            raise InvalidInput(f"schema.fields.{name}.log", rule, kind)
        fields[name] = Number(log=True) if log else kind
    try:
        return Schema(fields, cross=declared.cross, ignore=declared.ignore)
    except InvalidInput as error:
        where = re.sub(r"\['(\w+)'\]", r".\1", f"schema.{error.parameter}")
        raise InvalidInput(where, error.rule, error.value) from None


def _named(spec: Spec, error: Exception) -> str:
    return f"{spec.request.policy!r}: {error}"
