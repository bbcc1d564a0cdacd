"""Warming: load the kernels that the models need before the first request.

Kernels that are not on the disk are compiled in the background.
"""

import logging
from collections.abc import Iterable

from longrank.kernels import compilation
from longrank.service.engine.model import Model
from longrank.warming import exercise

log = logging.getLogger("longrank.service")


def warm(models: Iterable[Model]) -> None:
    """Let a copy of one model of each kind decide and learn; no model is changed.

    Then load every kernel that is on the disk. The others run as plain Python until they are
    compiled.
    """
    kinds = set()
    for model in models:
        request = model.spec.request
        kind = request.policy, request.dim is None, str(request.settings)
        if kind not in kinds:
            kinds.add(kind)
            topics = (request.settings or {}).get("topics", ())  # a row for each column
            try:
                copy = Model(model.number, model.name, model.created, model.spec, model.snapshot())
                exercise(copy.policy, len(topics) or request.dim, request.max_budget)
            except Exception:  # a decision reports it to its caller
                log.exception("model %s could not be warmed up", model.name)
    compilation.prepare()
