"""Metrics of the requests, which the application counts, and of the engine, when asked for."""

import logging
import math
import platform
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from longrank import __version__
from longrank.service.engine.engine import Engine
from longrank.service.engine.stats import exact_sum

log = logging.getLogger("longrank.service")
OTHERS = "(others)"  # no model has this name
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, math.inf)
_NAMES = [*map(str, BUCKETS[:-1]), "+Inf"]


class Metrics(Collector):
    """Metrics of the requests, which the application counts, and of the engine, when asked for."""

    def __init__(self, engine: Engine, max_models: int) -> None:
        self.registry = CollectorRegistry()
        text = "Requests refused because too many were in flight."
        self.shed = Counter("longrank_shed", text, registry=self.registry)
        self.in_flight = Gauge("longrank_in_flight", "Requests in flight.", registry=self.registry)
        text = "Large requests that wait for a thread."
        self.large = Gauge("longrank_large_waiting", text, registry=self.registry)
        text = "Requests refused because their key had too many."
        self.limited = Counter("longrank_limited", text, registry=self.registry)
        Gauge(
            "longrank_build_info", "1; the labels say which version runs.", ["version", "python"],
            registry=self.registry,
        ).labels(__version__, platform.python_version()).set(1)  # fmt: skip
        ProcessCollector(registry=self.registry)  # where there is /proc
        self.requests = Counts[tuple[str, int]]()  # by call and status
        # how many requests in each bucket by call, and their sum at the end
        self.seconds = defaultdict[str, list[float]](lambda: [0.0] * (len(BUCKETS) + 1))
        self.registry.register(self)
        self.registry.register(_EngineCollector(engine, max_models))

    def collect(self) -> Iterator[Metric]:
        """Return what was counted."""
        text = "Requests by call and status."
        requests = CounterMetricFamily("longrank_requests", text, labels=["call", "status"])
        for (call, status), number in list(self.requests.items()):
            requests.add_metric([call, str(status)], number)
        yield requests
        text = "Duration of requests in seconds by call."
        seconds = HistogramMetricFamily("longrank_request_seconds", text, labels=["call"])
        for call, (*numbers, total) in list(self.seconds.items()):
            buckets = list(zip(_NAMES, accumulate(numbers), strict=True))
            seconds.add_metric([call], buckets, total)
        yield seconds


class _EngineCollector(Collector):
    """Metrics of the engine and of its models.

    The oldest ``max_models`` models have a label of their own; the others share one, so that a
    scrape stays small however many there are.
    """

    def __init__(self, engine: Engine, max_models: int) -> None:
        self._engine, self._max_models = engine, max_models

    def collect(self) -> Iterator[Metric]:
        engine = self._engine
        writer = engine.store.writer
        yield GaugeMetricFamily(
            "longrank_ready", "1 if the service is ready, else 0.", value=float(engine.ready)
        )
        yield GaugeMetricFamily(
            "longrank_writes_waiting", "Log entries waiting for a commit.", value=writer.queued
        )
        yield CounterMetricFamily("longrank_commits", "Group commits.", value=writer.batches)
        if not engine.ready:
            return
        models = sorted(engine.models(), key=lambda model: model.number)
        yield GaugeMetricFamily("longrank_models", "Models.", value=len(models))
        yield GaugeMetricFamily(
            "longrank_models_suspended", "Models that cannot be used.", value=len(engine.suspended)
        )
        alone: list[tuple[str, list[float]]] = []  # models, and the numbers of each
        rest: list[list[float]] = []
        for i, model in enumerate(models):
            try:
                numbers = [getattr(model.stats, name) for _, name, _ in _NUMBERS[:-1]]
                if i < self._max_models:
                    alone.append((model.name, [*numbers, engine.pending(model)]))
                else:
                    rest.append(numbers)
            except Exception:  # one bad model must not hide the others' metrics
                log.exception("metrics of model %s cannot be collected", model.name)
        if rest:
            alone.append((OTHERS, [exact_sum(*column)[0] for column in zip(*rest, strict=True)]))
        for i, (kind, name, text) in enumerate(_NUMBERS):
            family = kind(f"longrank_model_{name}", text, labels=["model"])
            for model_name, numbers in alone:
                if i < len(numbers):
                    family.add_metric([model_name], numbers[i])
            yield family


_NUMBERS: tuple[tuple[Any, str, str], ...] = (
    (CounterMetricFamily, "decisions", "Decisions."),
    (CounterMetricFamily, "outcomes", "Outcomes."),
    (CounterMetricFamily, "learned", "Outcomes that the model learned from."),
    (GaugeMetricFamily, "reward", "Sum of rewards, which may fall."),
    (GaugeMetricFamily, "spent", "Sum of what tries cost."),
    (GaugeMetricFamily, "pending", "Decisions that wait for an outcome."),  # not of the others
)
