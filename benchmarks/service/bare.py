"""The yardstick: a bare ASGI app that parses the same body into an array and answers."""

from __future__ import annotations

import sys

import msgspec
import numpy as np
import uvicorn


class Body(msgspec.Struct):
    ids: list[str]
    features: list[list[float]]
    rewards: list[float]
    losses: list[float]
    id: str | None = None


decode = msgspec.json.Decoder(Body).decode
HEADERS = [(b"content-type", b"application/json")]


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    items = np.array(decode(body).features)
    answer = msgspec.json.encode({"rows": len(items)})
    length = (b"content-length", str(len(answer)).encode())
    await send({"type": "http.response.start", "status": 201, "headers": [*HEADERS, length]})
    await send({"type": "http.response.body", "body": answer})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", lifespan="off")
