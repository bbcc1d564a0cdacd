"""What operators look at: ``/metrics`` in the Prometheus format."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from longrank.service.engine.engine import Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Requests as they come, and what the engine says when asked."""

    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "longrank_requests", "Requests by call and status.", ["call", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "longrank_request_seconds", "Seconds by call.", ["call"], buckets=_BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self.shed = Counter("longrank_shed", "Requests refused as busy.", registry=self.registry)
        self.inside = Gauge("longrank_in_flight", "Requests inside.", registry=self.registry)
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

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self.registry)


class _EngineCollector(Collector):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        engine = self._engine
        writer = engine.store.writer
        yield GaugeMetricFamily("longrank_ready", "1 when ready.", value=float(engine.ready))
        yield GaugeMetricFamily("longrank_writes_waiting", "Waiting writes.", value=writer.queued)
        yield CounterMetricFamily("longrank_commits", "Group commits.", value=writer.batches)
        if not engine.ready:
            return
        families = {
            name: CounterMetricFamily(f"longrank_model_{name}", text, labels=["model"])
            for name, text in (
                ("decisions", "Decisions."),
                ("outcomes", "Outcomes."),
                ("learned", "Outcomes learned from."),
            )
        }
        reward = GaugeMetricFamily("longrank_model_reward_sum", "Sum of rewards.", labels=["model"])
        pending = GaugeMetricFamily(
            "longrank_model_pending", "Decisions that wait for an outcome.", labels=["model"]
        )
        for model in engine.models():
            for name, family in families.items():
                family.add_metric([model.name], getattr(model.stats, name))
            reward.add_metric([model.name], model.stats.reward)
            pending.add_metric([model.name], engine.pending(model))
        yield from families.values()
        yield reward
        yield pending
