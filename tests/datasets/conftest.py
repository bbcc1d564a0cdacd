"""A real server to download from, small files in the published formats, and the real MNIST."""

import gzip
import hashlib
import itertools
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from numpy.typing import NDArray


@dataclass
class Served:
    """One file on the server, and how the server behaves."""

    content: bytes
    etag: str | None = '"one"'
    modified: str | None = None
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)  # close after so many bytes, once each
    statuses: list[int] = field(default_factory=list)  # answer these first, once each
    length: bool = True
    chunked: list[int] = field(default_factory=list)  # cut in a chunk, once each
    claimed: int | None = None  # a Content-Length that is not true
    careless: bool = False  # resume whatever was asked for, even if the file has changed
    location: str | None = None


class Server:
    """Files on 127.0.0.1, and the headers of all requests for them."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.requests: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append(dict(self.headers))
                served = server.files.get(self.path)
                if served is None:
                    self.send_error(404)
                else:
                    answer(self, served)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def put(self, name: str, content: bytes, **behaviour: object) -> str:
        self.files[f"/{name}"] = Served(content, **behaviour)  # type: ignore[arg-type]
        return f"{self.url}/{name}"

    def ranges(self) -> list[str | None]:
        return [request.get("Range") for request in self.requests]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def answer(handler: BaseHTTPRequestHandler, served: Served) -> None:
    if served.statuses:
        handler.send_error(served.statuses.pop(0))
        return
    if served.location is not None:
        handler.send_response(302)
        handler.send_header("Location", served.location)
        handler.end_headers()
        return
    version = served.etag or served.modified
    asked = handler.headers["Range"]
    same = served.careless or handler.headers["If-Range"] == version
    start = 0
    if asked is not None and served.ranges and same:
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(served.content):
            handler.send_error(416)
            return
        handler.send_response(206)
        last = len(served.content)
        handler.send_header("Content-Range", f"bytes {start}-{last - 1}/{last}")
    else:
        handler.send_response(200)
    body = served.content[start:]
    if served.chunked:
        handler.send_header("Transfer-Encoding", "chunked")
        body = b"%x\r\n" % len(body) + body[: served.chunked.pop(0)]
    elif served.length:
        handler.send_header("Content-Length", str(served.claimed or len(body)))
    if served.etag is not None:
        handler.send_header("ETag", served.etag)
    if served.modified is not None:
        handler.send_header("Last-Modified", served.modified)
    handler.end_headers()
    handler.wfile.write(body[: served.cuts.pop(0)] if served.cuts else body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    running = Server()
    yield running
    running.close()


@pytest.fixture
def content():
    """Half a megabyte that does not repeat."""
    return np.random.default_rng(7).bytes(500_000)


@pytest.fixture
def md5():
    return lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def names():
    """All files below a folder, hidden ones too."""
    return lambda folder: sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def idx(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">{array.ndim + 1}I", 2048 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def small_images(tmp_path):
    """A folder with four gzipped IDX files of 60 and 20 images."""
    folder, rng = tmp_path / "small-images", np.random.default_rng(3)
    folder.mkdir()
    for part, count in (("train", 60), ("t10k", 20)):
        images = idx(rng.integers(0, 256, (count, 4, 4), np.uint8))
        labels = idx((np.arange(count) % 10).astype(np.uint8))
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return folder


@pytest.fixture
def small_ratings(tmp_path):
    """A ratings.dat of 40 users and 30 movies, with some two thirds of all pairs."""
    path, rng = tmp_path / "ratings.dat", np.random.default_rng(5)
    pairs = itertools.product(range(40), range(30))
    rated = [(user, item) for user, item in pairs if rng.random() < 0.65 or user == item]
    lines = [f"{user}::{item}::{rng.integers(1, 6)}::978300760\n" for user, item in rated]
    path.write_text("".join(lines), newline="")
    return path
