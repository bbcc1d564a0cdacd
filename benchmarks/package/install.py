"""What a new user waits for: install, first decision, `longrank play`, from nothing but the wheel.

    python benchmarks/package/install.py python3.11 python3.12 python3.13

Builds the wheel with this Python's hatchling. For each Python named it makes two environments
outside of the checkout, one bare and one with the service, and prints a row of a table: seconds by
the clock, and of the processor in brackets. Packages are downloaded anew, and nothing is compiled
beforehand. The first decision is README's five lines, with numba and without it, and one on a
hundred arrays; `play` is measured until its first payment is routed.

A service then decides and learns for a minute while its kernels are compiled behind: how soon it is
ready, how long the first decision and the first outcome take, and the 99th percentile of decisions
in the seconds before everything was compiled, and in as many seconds after that.

With ``--pictures FOLDER`` Chromium opens the page of the second game, presses the outage button of
the busiest provider and waits for what the page says about it: how soon the provider lost its
traffic, and what that saved. Its pictures at 1300 and 390 pixels are for you to look at. This needs
chromium, chromium-driver and selenium.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


def five_lines() -> str:
    """The first example of the README."""
    block = re.search(
        r"## Five lines\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert block
    return re.sub(r"(?m)^>>> ", "", block[1])


ARRAYS = """
import numpy
from longrank import Payoffs, recommended
items = numpy.random.default_rng(0).standard_normal((100, 10))
recommended(dim=10).rank(items, Payoffs.exponential(5))
"""
WITHOUT = """
import importlib.util as util, sys
sys.modules["numba"], find = None, util.find_spec
util.find_spec = lambda name, *more: None if name == "numba" else find(name, *more)
"""
ROUTES = [{"id": "adyen", "cost": 0.22}, {"id": "stripe", "cost": 0.4}, {"id": "worldpay"}]
SECONDS = 90  # that a service is used for


class Stopwatch:
    """Seconds by the clock, and of the processor by the processes that ended meanwhile."""

    def __enter__(self) -> Stopwatch:
        self.began, self.used = time.perf_counter(), self.processor()
        return self

    def __exit__(self, *_: object) -> None:
        self.clock = time.perf_counter() - self.began
        self.used = self.processor() - self.used

    def processor(self) -> float:
        """Seconds of the processor by all processes that have ended."""
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.used:.2f})"


class Environment:
    """A virtual environment that sees nothing of the checkout."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder, self.empty = folder, size(folder)
        self.bin = folder / "bin"

    def run(self, *command: str) -> str:
        """Run a command in the folder of the environments; what it took."""
        with Stopwatch() as watch:
            done = subprocess.run(**self.how(command), check=False)
        assert done.returncode == 0, done.stdout
        return str(watch)

    def how(self, command: tuple[str, ...]) -> dict[str, object]:
        """The arguments of a process of this environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {
            "args": [str(self.bin / command[0]), *command[1:]],
            "cwd": self.folder.parent, "env": kept | {"COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
            "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
        }  # fmt: skip

    def install(self, what: str) -> str:
        """Install; what came with it, and what it took."""
        pip = ("python", "-m", "pip", "install", "--quiet", "--no-cache-dir")
        took = self.run(*pip, "--disable-pip-version-check", what)
        return f"{size(self.folder) - self.empty:.0f} MB, {took}"

    def play(self, look: Callable[[str], None] = lambda _: None) -> str:
        """Start the game, and look at it; what it took until payments are routed."""
        with Stopwatch() as watch:
            playing = subprocess.Popen(**self.how(("longrank", "play", "--no-browser")))
            said = ""
            while not (found := re.search(r"http://[\d.:]+/", said)):
                line = playing.stdout.readline()
                assert line, said
                said += line
            ready = time.perf_counter()
            state = json.load(urlopen(f"{found[0]}desk/state"))
            assert state["money"]["payments"] > 0, state
            look(found[0])
            playing.send_signal(signal.SIGINT)
            playing.communicate()
        watch.clock = ready - watch.began
        return str(watch)


class Service:
    """A service that starts with an empty cache."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        how = environment.how(
            ("longrank", "serve", "--no-auth", "--port", "0", "--store", str(folder / "serve.db"))
        )
        how["env"] = dict(how["env"], NUMBA_CACHE_DIR=str(folder / "kernels"))
        self.began = time.perf_counter()
        self.process = subprocess.Popen(**how)
        said = ""
        while not (found := re.search(r"http://[\d.:]+", said)):
            said += self.process.stdout.readline()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        host, port = found[0].removeprefix("http://").split(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=120)

    def call(self, method: str, path: str, body: object = None) -> tuple[float, Any]:
        """Call it; the seconds that took, and the answer (None unless it was good)."""
        began = time.perf_counter()
        self.connection.request(
            method, path, json.dumps(body), {"Content-Type": "application/json"}
        )
        answer = self.connection.getresponse()
        text = answer.read()
        return time.perf_counter() - began, json.loads(text) if answer.status < 300 else None

    def ready(self) -> bool:
        """Whether it says so."""
        try:
            return self.call("GET", "/readyz")[1] is not None
        except OSError:  # it does not listen yet
            self.connection.close()
            return False

    def round(self, number: int) -> tuple[float, float]:
        """Decide and learn once; the seconds of both."""
        body = {"id": f"payment-{number}", "candidates": ROUTES, "context": {"amount": number % 90},
                "rewards": [2.4] * 3, "losses": [-0.2] * 4}  # fmt: skip
        deciding, decision = self.call("POST", "/v1/models/m/decisions", body)
        outcome = {"tried": [each["id"] for each in decision["sequence"][:1]],
                   "succeeded": number % 3 > 0}  # fmt: skip
        path = f"/v1/models/m/decisions/payment-{number}/outcome"
        return deciding, self.call("PUT", path, outcome)[0]

    def measure(self) -> str:
        """Use it for a while; say how fast it was when."""
        while not self.ready():
            time.sleep(0.005)
        ready = time.perf_counter() - self.began
        self.call("PUT", "/v1/models/m", {"max_budget": 3})
        first, outcome = self.round(0)
        seconds: list[tuple[float, float]] = []
        while (now := time.perf_counter() - self.began) < SECONDS:
            seconds.append((now, self.round(len(seconds) + 1)[0]))
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

        def worst(low: float, high: float) -> float:
            some = sorted(each for now, each in seconds if low <= now < high)
            return 1e3 * some[int(0.99 * len(some))]

        compiling, after = worst(0, SECONDS / 3), worst(2 * SECONDS / 3, SECONDS)
        return (
            f"ready {ready:.2f} s, first decision {1e3 * first:.0f} ms, first outcome "
            f"{1e3 * outcome:.0f} ms, p99 {compiling:.1f} ms, then {after:.1f} "
            f"({compiling / after:.1f} times)"
        )


def take_down(address: str, pictures: Path) -> str:
    """Press the outage button of the busiest provider in Chromium; what the page says about it."""
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    for one in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(one)
    driver = shutil.which("chromedriver")
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as browser:
        wait = WebDriverWait(browser, 120.0)

        def state() -> dict[str, object]:
            return json.load(urlopen(f"{address}desk/state"))

        def share(name: str) -> float:
            return next(one["share"] for one in state()["providers"] if one["name"] == name)

        def picture(name: str) -> None:
            for width, height in ((1300, 1900), (390, 3200)):
                screen = {"width": width, "height": height, "deviceScaleFactor": 1}
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride", {**screen, "mobile": width < 500}
                )
                wide = f"return innerWidth === {width}"
                wait.until(lambda _, wide=wide: browser.execute_script(wide))
                browser.save_screenshot(str(pictures / f"{name}-{width}.png"))

        browser.get(address)
        wait.until(lambda _: state()["money"]["payments"] > 300)
        busiest = max(state()["providers"], key=lambda one: one["share"])
        name = busiest["name"]
        picture("before")
        button = browser.find_element(By.CSS_SELECTOR, f"[data-outage='{name}']")
        browser.execute_script("arguments[0].click()", button)
        began = time.perf_counter()
        wait.until(lambda _: share(name) < busiest["share"] / 3)
        took = time.perf_counter() - began
        news = "return document.querySelector('#desk .news').textContent"
        wait.until(lambda _: "saved" in browser.execute_script(news))
        wait.until(lambda _: time.perf_counter() - began > 30.0)
        picture("after")
        said = re.search(r"saved [\d,.]+ EUR", browser.execute_script(news))
        lost = f"{name} from {busiest['share']:.0%} of the traffic to {share(name):.0%}"
        saved = said[0] if said else "nothing saved"
        return f"{lost}, less than a third of that within {took:.0f} s; after 30 s {saved}"


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="Python programs")
    parser.add_argument("--keep", type=Path, help="an empty folder for the environments")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of an outage")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="longrank-install-") as made:
        folder = options.keep or Path(made)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        [wheel] = folder.glob("*.whl")
        lines = five_lines()
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, load {os.getloadavg()[0]:.1f}")
        print(
            "| Python | bare | with the service | five lines | without numba | 100 arrays ", end=""
        )
        print("| play | service |\n|---|--:|--:|--:|--:|--:|--:|---|")
        seen: list[str] = []
        for python in options.pythons:
            version = subprocess.check_output([python, "-V"], text=True).split()[1]
            bare = Environment(python, folder / f"bare-{version}")
            cells = [bare.install(str(wheel))]
            service = Environment(python, folder / f"service-{version}")
            cells.append(service.install(f"{wheel}[service]"))
            cells += [bare.run("python", "-c", code) for code in (lines, WITHOUT + lines, ARRAYS)]
            cells.append(service.play())
            (folder / version).mkdir()
            cells.append(Service(service, folder / version).measure())
            print(f"| {version} | {' | '.join(cells)} |", flush=True)
            if options.pictures:
                pictures = options.pictures / version
                pictures.mkdir(parents=True, exist_ok=True)
                service.play(lambda url, pictures=pictures: seen.append(take_down(url, pictures)))
        print(f"load {os.getloadavg()[0]:.1f} at the end", *seen, sep="\n")


if __name__ == "__main__":
    main()
