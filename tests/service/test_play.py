"""longrank play: the desk routes payments over HTTP, and its page shows what an outage does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

import httpx
import pytest
from serving import served, until

from longrank.service.app import build
from longrank.service.engine.engine import Engine
from longrank.service.play import Desk, Panel
from longrank.service.play import picture as pictures
from longrank.service.store.sqlite import SqliteStore

with suppress(ImportError):  # the fixture says so
    from selenium.webdriver.common.by import By


@pytest.fixture
def panel(path):
    """The address of a service with a desk, and the desk."""
    panel = Panel(build(Engine(SqliteStore(path)), auth=False))
    with served(panel) as url:
        desk = Desk(url, seed=1)
        desk.open()
        panel.desk = desk
        yield url, desk
        desk.close()


def test_money_is_what_the_service_has_counted(panel):
    url, desk = panel
    for _ in range(30):
        desk.route()
    with httpx.Client(base_url=url) as client:
        models = {each["name"]: each for each in client.get("/v1/summaries").json()["models"]}
    assert models["payments"]["total_reward"] == pytest.approx(desk.money.longrank)
    assert models["fixed-list"]["total_reward"] == pytest.approx(desk.money.fixed)
    assert models["payments"]["decisions"] == models["fixed-list"]["outcomes"] == 31


def test_buttons_do_what_they_say_and_what_follows_is_told(panel):
    url, desk = panel
    with httpx.Client(base_url=url) as client:
        for action, which in (("down", "Harbor"), ("fee", "Solo"), ("mix", "large")):
            state = client.post("/desk/act", json={"action": action, "which": which}).json()
        assert [each["name"] for each in state["providers"] if each["down"]] == ["Harbor"]
        assert [each["name"] for each in state["providers"] if each["raised"]] == ["Solo"]
        assert state["mix"] == "large"
        for _ in range(5):
            desk.route()
        told = client.get("/desk/state").json()["happening"]
        assert told["since"]["payments"] == 5
        client.post("/desk/act", json={"action": "up", "which": "Harbor"})
        state = client.post("/desk/act", json={"action": "fee", "which": "Solo"}).json()
        assert not any(each["down"] or each["raised"] for each in state["providers"])
        for bad in ({"action": "down", "which": "nobody"}, {"action": "odd", "which": "Solo"}):
            assert client.post("/desk/act", json=bad).status_code == 422
        assert client.post("/desk/act", content=b"{").status_code == 400
        assert client.post("/desk/act", content=b"x" * 5_000).status_code == 413
        assert client.get("/desk/other").status_code == 404


def test_the_desk_answers_its_own_page_only(panel):
    url, _ = panel
    press = {"action": "down", "which": "Solo"}
    with httpx.Client(base_url=url) as client:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            assert client.post("/desk/act", json=press, headers=headers).status_code == 403
            assert client.get("/", headers=headers).status_code == 403
        away = {"Sec-Fetch-Site": "cross-site"}
        assert client.post("/desk/act", json=press, headers=away).status_code == 403
        page = client.get("/")
        assert "default-src 'self'" in page.headers["content-security-policy"]
        assert '<section id="desk">' in page.text
        assert not any(each["down"] for each in client.get("/desk/state").json()["providers"])


def test_the_service_itself_has_no_desk(http):
    assert http.get("/desk/state").status_code == 404
    assert "desk" not in http.get("/").text


def test_without_a_browser_the_picture_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(pictures, "NAMES", ("no-such-browser",))
    with pytest.raises(pictures.NoBrowser, match="apt install chromium"):
        pictures.browser()


def command(*arguments):
    code = "from longrank.cli import main; main()"
    environment = {**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", code, "play", "--no-browser", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


@pytest.mark.browser
def test_an_outage_takes_the_traffic_away_and_the_page_says_what_that_saved(browser):
    playing = command("--rate", "100", "--seconds", "600")
    try:
        address = ""
        while not address:
            line = playing.stdout.readline()
            assert line, playing.stderr.read()
            found = re.search(r"http://[\d.:]+/", line)
            address = found[0] if found else ""
        browser.set_window_size(1300, 1100)
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(address)

        def state():
            return httpx.get(f"{address}desk/state").json()

        until(lambda: state()["money"]["payments"] > 150, 300.0)
        until(lambda: browser.find_elements(By.CSS_SELECTOR, "article .tile"))
        busiest = max(state()["providers"], key=lambda each: each["share"])
        assert busiest["share"] > 0.2
        button = browser.find_element(By.CSS_SELECTOR, f"[data-outage='{busiest['name']}']")
        browser.execute_script("arguments[0].click()", button)
        until(lambda: button.text == "Bring back up")

        def share():
            found = {each["name"]: each["share"] for each in state()["providers"]}
            return found[busiest["name"]]

        until(lambda: share() < busiest["share"] / 3, 400.0)
        news = "return document.querySelector('#desk .news').textContent"
        until(lambda: f"{busiest['name']} went down" in browser.execute_script(news))
        until(lambda: "longrank saved" in browser.execute_script(news), 60.0)
        why = "return document.querySelector('#desk .why').textContent"
        until(lambda: "came first" in browser.execute_script(why))
        shown = browser.execute_script(
            "return document.querySelector('[data-chart^=Share] .legend').textContent"
        )
        assert busiest["name"] in shown
        assert "than fixed-list" in browser.execute_script(
            "return document.querySelector('[data-chart^=Earned]').textContent"
        )
        wrong = [one for one in browser.get_log("browser") if one["level"] == "SEVERE"]
        assert wrong == []
    finally:
        playing.send_signal(signal.SIGINT)
        output, complaints = playing.communicate(timeout=60)
    assert playing.returncode == 0, complaints
    assert "simulated payments. longrank earned" in output
    assert "perfect knowledge would have earned" in output
    assert complaints == ""


def test_it_stops_by_itself_with_a_summary_in_money():
    playing = command("--rate", "50", "--seconds", "1")
    output, complaints = playing.communicate(timeout=300)
    assert (playing.returncode, complaints) == (0, "")
    assert re.search(r"longrank earned [\d,.]+ EUR, [\d,.]+ EUR (more|less) than", output)
