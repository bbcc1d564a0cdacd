"""The console with many models and decisions: first paint, and when it shows what it is for.

    python benchmarks/service/console.py [--models 100] [--decisions 1000000] [--repeats 5]

Decisions and outcomes are appended to a store of their own, without ranking. Then the real server
runs over it, and a headless Chromium opens the page: the first paint, the moment when models,
numbers and charts are there, and the same for a static page of the same size: the finished page as
one file. The two are opened in turn. What the page asks for until it is complete is told with its
size and time. Needs Chromium, its driver and selenium.
"""

from __future__ import annotations

import argparse
import http.server
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from servers import free_port, launch, wait_ready

from longrank.service.engine.engine import Engine
from longrank.service.engine.stats import Stats
from longrank.service.messages import ModelRequest
from longrank.service.store.records import (
    DECISION,
    OUTCOME,
    DecisionRecord,
    Draft,
    Matrix,
    OutcomeRecord,
    Plan,
    Snapshot,
    encode,
)
from longrank.service.store.sqlite import SqliteStore
from longrank.service.store.writer import insert

DIM, BATCH, SPAN = 3, 2_000, 6 * 3600.0
EVERY, OUTAGE = 500, 60  # decisions from one outage to the next, and of an outage: drift marks
WATCH = """
const seen = () => document.querySelectorAll('#list a').length >= MODELS &&
  document.querySelector('article .tile') && document.querySelector('[data-chart] path');
const look = () => { if (!window.complete && seen()) window.complete = performance.now(); };
new MutationObserver(look).observe(document, { childList: true, subtree: true });
"""
ASKED = """
return performance.getEntriesByType('resource').filter((e) => e.startTime < window.complete)
  .map((e) => [new URL(e.name).pathname, e.startTime, e.responseEnd, e.decodedBodySize]);
"""
PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def fill(path: Path, models: int, decisions: int) -> None:
    """Write models with decisions and outcomes of the last hours, and a snapshot of each."""
    each, now = decisions // models, time.time()
    played = Plan(["a", "b"], [0, 1], [0.8, 0.6], [0.8, 0.6], [0.0] * 4)
    times = np.linspace(now - SPAN, now - 1.0, each).tolist()
    failed = [i % 4 == 0 or i % EVERY >= EVERY - OUTAGE for i in range(each)]
    stats, decided, settled = Stats(), [], []
    for i, (at, bad) in enumerate(zip(times, failed, strict=True)):
        record = DecisionRecord(
            id=f"d{i}", created=at, expires=at + 86_400.0, digest=b"", mode="online", learned=0,
            rewards=[1.0] * 3, losses=[0.0] * 4, played=played,
            rows=Matrix.of(np.full((2, DIM), 0.1)),
        )  # fmt: skip
        outcome = OutcomeRecord(
            id=f"d{i}", recorded=at, tried=1 + bad, succeeded=not bad, learn=False, why="frozen",
            reward=float(not bad), spent=0.0, paid=[], gave_up=bad,
        )  # fmt: skip
        stats.count(record)
        stats.count(msgspec.structs.replace(record, outcome=outcome))
        decided.append((record.id, at, record.expires, encode(record)))
        settled.append((record.id, at, 0.0, encode(outcome)))
    print(f"{len(stats.series.marks)} drift marks in each model")
    with Engine(SqliteStore(path)) as engine:
        for number in range(models):
            model, _ = engine.create(
                f"model-{number:03}", ModelRequest(policy="ind", dim=DIM, mode="frozen")
            )
            drafts = [Draft(model.number, DECISION, *each) for each in decided]
            drafts += [Draft(model.number, OUTCOME, *each) for each in settled]
            for first in range(0, len(drafts), BATCH):
                append = partial(insert, drafts=drafts[first : first + BATCH])
                last = engine.store.writer.call(append)[-1].seq
            snapshot = Snapshot.of(last, model.policy.to_bytes(), stats)
            engine.store.save_snapshot(model.number, snapshot)


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options, Service(shutil.which("chromedriver")))


def opened(driver: webdriver.Chrome, url: str, complete: str) -> tuple[float, float]:
    """Milliseconds until the first paint, and until the page is complete."""
    driver.get("about:blank")
    driver.get(url)
    deadline = time.monotonic() + 60.0
    while not driver.execute_script(complete) or driver.execute_script(PAINT) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(url)
        time.sleep(0.05)
    return driver.execute_script(PAINT), driver.execute_script(complete)


def median(rows: list[tuple[float, float]]) -> tuple[float, float]:
    return tuple(statistics.median(column) for column in zip(*rows, strict=True))  # type: ignore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longrank-console-") as folder:
        path, port = Path(folder) / "decisions.db", free_port()
        started = time.perf_counter()
        fill(path, given.models, given.decisions)
        size = path.stat().st_size / 1e6
        print(f"{given.models} models, {given.decisions:,} decisions, {size:.0f} MB, "
              f"written in {time.perf_counter() - started:.0f} s")  # fmt: skip
        process = launch(str(path), port, None, "--no-auth", "--log-level", "error")
        driver = browser()
        try:
            wait_ready(port, seconds=600.0)
            script = {"source": WATCH.replace("MODELS", str(min(given.models, 200)))}
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
            url = f"http://127.0.0.1:{port}/#model-000/86400"
            complete = "return window.complete ?? null"
            opened(driver, url, complete)
            asked = driver.execute_script(ASKED)
            page = driver.execute_script(
                "document.querySelectorAll('script, link').forEach((e) => e.remove());"
                "return document.documentElement.outerHTML"
            )
            style = Path(__file__).parents[2] / "src/longrank/service/http/static/console.css"
            whole = f"<!doctype html><style>{style.read_text()}</style>{page}".encode()
            live, static = [], []
            with still(whole) as other:
                for _ in range(given.repeats + 1):
                    live.append(opened(driver, url, complete))
                    static.append(opened(driver, other, LOADED))
        finally:
            driver.quit()
            process.terminate()
            process.wait(60)
    (paint, shown), (bare, loaded) = median(live[1:]), median(static[1:])
    size = len(whole) / 1e3
    for path, start, end, length in asked:
        print(f"  {path:40} {length / 1e3:6.1f} kB  {start:5.0f} to {end:5.0f} ms (first visit)")
    print(f"first paint {paint:.0f} ms, complete {shown:.0f} ms")
    print(f"a static page of the same size ({size:.0f} kB): {bare:.0f} ms, loaded {loaded:.0f} ms")
    print(f"ratio of first paints {paint / bare:.2f}, complete to static {shown / loaded:.2f}")


LOADED = "return performance.getEntriesByType('navigation')[0].loadEventEnd || null"


@contextmanager
def still(page: bytes) -> Iterator[str]:
    """Serve a page as it is; yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
