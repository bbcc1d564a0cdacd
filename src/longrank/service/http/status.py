"""Handlers of the service's own status: health, readiness, metrics, and the page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool

from longrank.service import messages
from longrank.service.engine.engine import Engine
from longrank.service.errors import NotReady
from longrank.service.http.openapi import document
from longrank.service.http.router import Reply, Service

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


async def health(service: Service) -> messages.Health:  # noqa: ARG001
    return messages.Health("alive")


async def ready(service: Service) -> messages.Health:
    engine = service.engine
    trouble = engine.trouble
    if trouble is not None:
        raise NotReady(trouble)
    if not engine.ready:
        failed, replaying = "the service could not start; see its log", "the log is being replayed"
        raise NotReady(failed if service.failed else replaying)
    return messages.Health("ready", engine.suspended)


async def metrics(service: Service) -> bytes:
    return await run_in_threadpool(generate_latest, service.metrics.registry)


async def page(service: Service) -> Reply:  # noqa: ARG001
    return _file("index.html")


async def style(service: Service) -> Reply:  # noqa: ARG001
    return _file("page.css")


async def script(service: Service) -> Reply:  # noqa: ARG001
    return _file("page.js")


@cache
def _file(name: str) -> Reply:
    return Reply((files(__package__) / "static" / name).read_bytes(), _HEADERS)


async def openapi(service: Service) -> Reply:  # noqa: ARG001
    return Reply(document(), _HEADERS)


class Metrics:
    """Metrics of the requests, counted here, and of the engine, read when they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "longrank_requests", "Requests by call and status.", ["call", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "longrank_request_seconds", "Duration of requests in seconds by call.", ["call"],
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.shed = Counter(
            "longrank_shed", "Requests refused because too many were in flight.",
            registry=self.registry,
        )  # fmt: skip
        self.in_flight = Gauge("longrank_in_flight", "Requests in flight.", registry=self.registry)
        self.registry.register(_EngineCollector(engine))
        self._counters: dict[tuple[str, int], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def observe(self, call: str, status: int, seconds: float) -> None:
        """Count a request."""
        counter = self._counters.get((call, status))
        if counter is None:
            counter = self._counters[call, status] = self.requests.labels(call, str(status))
        counter.inc()
        histogram = self._histograms.get(call)
        if histogram is None:
            histogram = self._histograms[call] = self.seconds.labels(call)
        histogram.observe(seconds)


class _EngineCollector(Collector):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

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
        families = {
            name: CounterMetricFamily(f"longrank_model_{name}", text, labels=["model"])
            for name, text in (
                ("decisions", "Decisions."),
                ("outcomes", "Outcomes."),
                ("learned", "Outcomes that the model learned from."),
            )
        }
        reward = GaugeMetricFamily("longrank_model_reward_sum", "Sum of rewards.", labels=["model"])
        spent = GaugeMetricFamily(
            "longrank_model_spent_sum", "Sum of what tries cost.", labels=["model"]
        )
        pending = GaugeMetricFamily(
            "longrank_model_pending", "Decisions that wait for an outcome.", labels=["model"]
        )
        for model in engine.models():
            for name, family in families.items():
                family.add_metric([model.name], getattr(model.stats, name))
            reward.add_metric([model.name], model.stats.reward)
            spent.add_metric([model.name], model.stats.spent)
            pending.add_metric([model.name], engine.pending(model))
        yield from families.values()
        yield reward
        yield spent
        yield pending
