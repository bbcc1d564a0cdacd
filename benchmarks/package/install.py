"""What a new user waits for: install, first decision, `longrank play`, from nothing but the wheel.

    python benchmarks/package/install.py python3.11 python3.12 python3.13

Builds the wheel with this Python's hatchling. For each Python named it makes two environments
outside of the checkout, one bare and one with the service, and prints a row of a table: seconds by
the clock, and of the processor in brackets. Packages are downloaded anew; the first decision and
the first game both compile everything that they need.

With ``--pictures FOLDER`` Chromium opens the page of the second game, presses the outage button of
the busiest provider and waits for what the page says about it: how soon the provider lost its
traffic, and what that saved. Its pictures at 1300 and 390 pixels are for you to look at. This needs
chromium, chromium-driver and selenium.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


def five_lines() -> str:
    """The first example of the README."""
    block = re.search(
        r"## Five lines\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert block
    return re.sub(r"(?m)^>>> ", "", block[1])


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
        return f"{self.clock:.1f} s ({self.used:.1f})"


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
        print("| Python | bare | with the service | first decision | again | first game | again |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        seen: list[str] = []
        for python in options.pythons:
            version = subprocess.check_output([python, "-V"], text=True).split()[1]
            bare = Environment(python, folder / f"bare-{version}")
            cells = [bare.install(str(wheel))]
            service = Environment(python, folder / f"service-{version}")
            cells.append(service.install(f"{wheel}[service]"))
            cells += [bare.run("python", "-c", lines) for _ in range(2)]
            cells += [service.play() for _ in range(2)]
            print(f"| {version} | {' | '.join(cells)} |", flush=True)
            if options.pictures:
                pictures = options.pictures / version
                pictures.mkdir(parents=True, exist_ok=True)
                service.play(lambda url, pictures=pictures: seen.append(take_down(url, pictures)))
        print(f"load {os.getloadavg()[0]:.1f} at the end", *seen, sep="\n")


if __name__ == "__main__":
    main()
