"""Every call of the API: what it takes, what it answers, who may make it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from longrank.service import messages
from longrank.service.handlers import decisions, health, models
from longrank.service.handlers.base import Handler


@dataclass(frozen=True)
class Call:
    """One call: its route, its messages and who may make it (``admin``, ``model``, ``all``)."""

    name: str
    method: str
    path: str
    handler: Handler
    who: str
    summary: str
    answers: dict[int, type | None]
    takes: type | None = None
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, dict[str, Any]] = field(default_factory=dict)
    media: str = "application/json"


_M, _D = "/v1/models/{name}", "/v1/models/{name}/decisions"
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
_CURSOR = {"type": "string", "pattern": "^[0-9]{1,18}$"}
_OLDER = {"type": "integer", "minimum": 1, "maximum": messages.MOST_SECONDS}
_KEY = {"type": "string", "pattern": messages.ID}

CALLS = [
    Call("decide", "POST", _D, decisions.decide, "model", "Rank candidates and log the decision.",
         {201: messages.Decision}, messages.DecisionRequest, headers={"Idempotency-Key": _KEY}),
    Call("settle", "PUT", _D + "/{id}/outcome", decisions.settle, "model",
         "Tell what became of a decision.", {200: messages.OutcomeAnswer}, messages.OutcomeRequest),
    Call("settleMany", "POST", _M + "/outcomes", decisions.settle_many, "model",
         "Tell what became of many decisions.", {200: messages.BatchAnswer}, messages.BatchRequest),
    Call("read", "GET", _D + "/{id}", decisions.read, "model",
         "A decision, explained, with its history.", {200: messages.DecisionRead}),
    Call("list", "GET", _D, decisions.latest, "model", "Decisions, newest first.",
         {200: messages.DecisionList}, query={"cursor": _CURSOR, "limit": _LIMIT}),
    Call("drop", "DELETE", _D, decisions.drop, "admin",
         "Drop expired decisions older than some seconds.", {200: messages.Dropped},
         query={"older_than": _OLDER}),
    Call("export", "GET", _M + "/export", decisions.export, "model", "All decisions as Parquet.",
         {200: None}, media="application/vnd.apache.parquet"),
    Call("createModel", "PUT", _M, models.create_model, "admin",
         "Make a model, or change its mode.",
         {201: messages.ModelCreated, 200: messages.Model}, messages.ModelRequest),
    Call("readModel", "GET", _M, models.read_model, "model", "A model and how it is doing.",
         {200: messages.Model}),
    Call("deleteModel", "DELETE", _M, models.delete_model, "admin", "Delete a model and its log.",
         {204: None}),
    Call("listModels", "GET", "/v1/models", models.list_models, "admin", "All models.",
         {200: messages.ModelList}),
    Call("createKey", "POST", _M + "/keys", models.create_key, "admin", "Make a further key.",
         {201: messages.KeyCreated}),
    Call("listKeys", "GET", _M + "/keys", models.list_keys, "admin", "The keys' ids.",
         {200: messages.KeyList}),
    Call("deleteKey", "DELETE", _M + "/keys/{id}", models.delete_key, "admin", "Delete a key.",
         {204: None}),
    Call("health", "GET", "/healthz", health.health, "all", "Whether it is alive.",
         {200: messages.Health}),
    Call("ready", "GET", "/readyz", health.ready, "all", "Whether it is ready.",
         {200: messages.Health}),
    Call("metrics", "GET", "/metrics", health.show_metrics, "all", "Prometheus metrics.",
         {200: None}, media="text/plain"),
]  # fmt: skip
