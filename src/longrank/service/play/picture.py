"""Pictures of a page, by a headless Chromium."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from longrank.errors import LongrankError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT, DENSITY = 1000, 570, 2  # in CSS pixels, and how many of the picture each is


class NoBrowser(LongrankError):
    """There is no Chromium to take a picture with."""


def browser() -> str:
    """Return the path of a Chromium; say how to install one if there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise NoBrowser(
            "--record needs Chromium or Chrome in the PATH: install it, such as with "
            "`apt install chromium` or `brew install --cask chromium`"
        )
    return path


def record(url: str, out: Path, width: int = WIDTH, height: int = HEIGHT) -> None:
    """Save a picture of a page as a PNG file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="longrank-picture-") as profile:
        command = [
            browser(),
            "--headless=new",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            f"--force-device-scale-factor={DENSITY}",
            "--timeout=15000",
            "--virtual-time-budget=6000",
            f"--screenshot={out.resolve()}",
            url,
        ]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    if done.returncode or not out.exists():
        raise NoBrowser(f"Chromium took no picture: {done.stderr.decode(errors='replace')[-300:]}")
