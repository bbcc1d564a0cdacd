"""The catalog: the models that exist, in memory as in the store."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress

from longrank.errors import InvalidInput
from longrank.policies import registry
from longrank.service.engine.apply import replay
from longrank.service.engine.model import Model, Spec, Stats, pack, read_spec
from longrank.service.errors import Conflict, Unknown
from longrank.service.messages import ModelRequest
from longrank.service.store.snapshots import Snapshot
from longrank.service.store.store import Store

_FIXED = ("policy", "dim", "max_budget", "settings")  # the rest of a request may change


class Catalog:
    """Models by name and by number."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._names: dict[str, Model] = {}
        self.numbers: dict[int, Model] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Model]:
        """Return the models, sorted by name."""
        return [self._names[name] for name in sorted(self._names)]

    def get(self, name: str) -> Model:
        """Return the model of a name."""
        model = self._names.get(name)
        if model is None and not self._store.exclusive:
            self.refresh()  # another process may have made it
            model = self._names.get(name)
        if model is None:
            raise Unknown(f"there is no model {name!r}")
        return model

    def create(self, name: str, request: ModelRequest) -> tuple[Model, bool]:
        """Create a model, or change what may change of one; return it and whether it is new."""
        try:
            return self._changed(self.get(name), request), False
        except Unknown:
            spec = Spec(request, secrets.randbits(32))
        first = _first(spec)
        model = _loaded(name, self._clock(), spec, first)
        try:
            model.number = self._store.create_model(name, spec.packed(), model.created, first)
        except Conflict:  # another process or thread was faster
            self.refresh()
            return self.create(name, request)[0], False
        return self._add(model), True

    def delete(self, name: str) -> None:
        """Delete a model and its log."""
        model = self.get(name)
        self._store.delete_model(model.number)
        self._remove(model)

    def refresh(self) -> None:
        """Read which models exist; replay those that are new here."""
        rows = self._store.models()
        for row in rows:
            if row.model not in self.numbers:
                with suppress(Unknown):  # deleted meanwhile
                    self._add(replay(self._store, row))
            elif not self._store.exclusive:
                self.numbers[row.model].spec = read_spec(row.spec, row.name)
        here = {row.model for row in rows}
        for number, model in list(self.numbers.items()):
            if number not in here:
                self._remove(model)

    def _changed(self, model: Model, request: ModelRequest) -> Model:
        old = model.spec.request
        for part in _FIXED:
            if getattr(old, part) != getattr(request, part):
                raise Conflict(f"the model {model.name!r} has another {part}; delete it first")
        if request != old:
            spec = Spec(request, model.spec.seed)
            self._store.update_model(model.number, spec.packed())
            model.spec = spec
        return model

    def _add(self, model: Model) -> Model:
        """Add a model; return the one of that number, which another thread may have added."""
        with self._lock:
            first = self.numbers.setdefault(model.number, model)
            self._names[model.name] = first
            return first

    def _remove(self, model: Model) -> None:
        with self._lock:
            self.numbers.pop(model.number, None)
            if self._names.get(model.name) is model:
                del self._names[model.name]


def _first(spec: Spec) -> Snapshot:
    """Return the first snapshot of a new model, whose policy takes what it needs of the spec."""
    request = spec.request
    offered = {"dim": request.dim, "max_budget": request.max_budget, "rng": spec.seed}
    for reserved in offered:
        if reserved in request.settings:
            raise InvalidInput("settings", f"leave {reserved} to the model", reserved)
    try:
        policy = registry.make(request.policy, offered, request.settings)
        return pack(policy, Stats())
    except InvalidInput as error:
        if error.parameter == "name":
            raise InvalidInput("policy", error.rule, error.value) from None
        raise
    except ImportError as error:  # of a package that offers the policy
        raise InvalidInput("policy", "be installed completely", _named(spec, error)) from error
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        rule = f"be settings of {request.policy!r}"
        raise InvalidInput("settings", rule, f"{request.settings}: {error}") from error


def _loaded(name: str, created: float, spec: Spec, first: Snapshot) -> Model:
    """Return the model that a first snapshot gives, before it is stored and has a number.

    What cannot be loaded now could not be loaded at the next start either.
    """
    try:
        return Model(0, name, created, spec, first)
    except Exception as error:  # the policy's own code may come from another package
        rule = "be one that can be saved and loaded again"
        raise InvalidInput("policy", rule, _named(spec, error)) from error


def _named(spec: Spec, error: Exception) -> str:
    return f"{spec.request.policy!r}: {error}"
