"""The catalog: which models there are, in memory as in the store."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from longrank.service.errors import Conflict, Unknown
from longrank.service.messages import ModelRequest
from longrank.service.models import Model
from longrank.service.replay import replay
from longrank.service.specs import Spec, make_policy, read_spec
from longrank.service.store import Store

_FIXED = ("policy", "dim", "max_budget", "settings")  # what a model is; the rest are its terms


class Catalog:
    """Models by name and by number."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._names: dict[str, Model] = {}
        self._numbers: dict[int, Model] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Model]:
        """Sorted by name."""
        return [self._names[name] for name in sorted(self._names)]

    def get(self, name: str) -> Model:
        """The model of that name."""
        model = self._names.get(name)
        if model is None and not self._store.exclusive:
            self.refresh()  # another process may have made it
            model = self._names.get(name)
        if model is None:
            raise Unknown(f"there is no model {name!r}")
        return model

    def numbered(self, number: int) -> Model | None:
        """The model of that number."""
        return self._numbers.get(number)

    def create(self, name: str, request: ModelRequest) -> tuple[Model, bool]:
        """Make a model; or change the mode and the terms of one. Whether it is new."""
        try:
            return self._changed(self.get(name), request), False
        except Unknown:
            spec = Spec(request, secrets.randbits(32))
        make_policy(spec)  # refuses bad settings before anything is stored
        created = self._clock()
        try:
            number = self._store.create_model(name, spec.packed(), created)
        except Conflict:  # somebody else was faster
            self.refresh()
            return self.create(name, request)[0], False
        return self._add(Model(number, name, created, spec)), True

    def delete(self, name: str) -> None:
        """Forget a model and its log."""
        model = self.get(name)
        self._store.delete_model(model.number)
        self._remove(model)

    def refresh(self) -> None:
        """Take over which models there are; replay those that are new here."""
        rows = self._store.models()
        for row in rows:
            if row.model not in self._numbers:
                self._add(replay(self._store, row))
            elif not self._store.exclusive:
                self._numbers[row.model].spec = read_spec(row.spec)
        here = {row.model for row in rows}
        for number, model in list(self._numbers.items()):
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
        """The model of that number: this one, unless another thread has added it already."""
        with self._lock:
            first = self._numbers.setdefault(model.number, model)
            self._names[model.name] = first
            return first

    def _remove(self, model: Model) -> None:
        with self._lock:
            self._numbers.pop(model.number, None)
            if self._names.get(model.name) is model:
                del self._names[model.name]
