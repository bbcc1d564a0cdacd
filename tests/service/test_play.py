"""longrank play: the desk routes payments over HTTP, and its page shows what an outage does."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from serving import service, until
from test_console import errors, screen, text
from typer.testing import CliRunner

from longrank import cli
from longrank.service.play import Desk, Panel, traffic
from longrank.service.play import picture as pictures
from longrank.simulation.desk import PaymentDesk, fixed_list

with suppress(ImportError):  # the fixture says so
    from selenium.webdriver.common.by import By


@pytest.fixture
def panel(path):
    """The address of a service with a desk, and the desk."""
    panel = Panel()
    with service(path, auth=False, more=panel.routes()) as client:
        url = str(client.base_url)
        desk = Desk(url, seed=1)
        desk.open()
        panel.desk = desk
        yield url, desk
        desk.close()


@pytest.fixture
def frozen(panel, monkeypatch):
    """A desk whose clock stands still, so that its rate is never measured."""
    monkeypatch.setattr(traffic, "time", SimpleNamespace(time=lambda now=panel[1].money.at: now))


def test_nobody_is_ahead_of_perfect_knowledge_and_differences_are_free_of_luck(panel):
    url, desk = panel
    twin, fixed = PaymentDesk(seed=1), np.array(fixed_list())
    ahead = 0.0
    for i in range(40):
        if i:
            desk.route()
        payment = twin.deal()
        best = payment.value(payment.best(), payment.payoffs)
        ahead += best - payment.value(fixed, payment.payoffs)
        money = desk.money
        assert money.longrank <= money.perfect
        assert money.perfect - money.fixed == pytest.approx(ahead)
    (summary,) = httpx.get(f"{url}/v1/summaries", timeout=120.0).json()["models"]
    assert summary["total_reward"] == pytest.approx(desk.money.longrank)
    assert summary["decisions"] == summary["outcomes"] == 40


def test_the_state_is_that_of_the_payments_that_a_page_shows(panel, frozen):  # noqa: ARG001
    url, desk = panel
    first, second = desk.state()["curve"]["at"]
    assert first == second == desk.money.at
    assert desk.state()["rate"] is None  # nothing is measured yet
    seen = [desk.money]
    for _ in range(40):
        desk.route()
        seen.append(desk.money)
    with httpx.Client(base_url=url, timeout=120.0) as client:
        for money in (seen[0], seen[7], seen[-1]):
            state = client.get(f"/desk/state?payments={money.payments}").json()
            assert state["money"] == money._asdict()
            assert state["curve"]["longrank"][-1] == money.longrank
            assert state["curve"]["at"] == sorted(state["curve"]["at"])
        for all_of_them in ("", "?payments=999"):
            assert client.get(f"/desk/state{all_of_them}").json()["money"] == seen[-1]._asdict()
        for wrong in ("-1", "x", "9" * 40):
            answer = client.get(f"/desk/state?payments={wrong}")
            assert (answer.status_code, answer.json()["parameter"]) == (422, "payments")


def test_a_curve_of_many_payments_has_few_points(panel, monkeypatch):
    monkeypatch.setattr(traffic, "POINTS", 8)
    _, desk = panel
    for _ in range(40):
        desk.route()
    curve = desk.state()["curve"]
    assert 4 <= len(curve["at"]) <= 10
    assert curve["longrank"][0] == 0.0
    assert curve["longrank"][-1] == desk.money.longrank


def test_the_rate_is_that_of_the_moment_that_a_page_shows(panel, monkeypatch):
    """Two payments a second at first, then twenty: nothing of the first is told later."""
    _, desk = panel
    clock = SimpleNamespace(now=desk.money.at)
    monkeypatch.setattr(traffic, "time", SimpleNamespace(time=lambda: clock.now))
    for count, apart in ((20, 0.5), (100, 0.05)):
        for _ in range(count):
            clock.now += apart
            desk.route()
    assert desk.state()["rate"] == pytest.approx(20.0, abs=0.5)
    assert desk.state(payments=21)["rate"] == pytest.approx(2.0, abs=0.5)
    clock.now += 60.0  # nothing comes any more
    assert desk.state()["rate"] == 0.0


def test_buttons_do_what_they_say_and_what_follows_is_told(panel):
    url, desk = panel
    for _ in range(20):
        desk.route()
    approved = desk.money.approved
    with httpx.Client(base_url=url, timeout=120.0) as client:

        def act(action, which):
            press = {"action": action, "which": which}
            return client.post("/desk/act", json=press)

        for button in (("down", "Harbor"), ("fee", "Solo"), ("mix", "large")):
            state = act(*button).json()
        assert [each["name"] for each in state["providers"] if each["down"]] == ["Harbor"]
        assert [each["name"] for each in state["providers"] if each["raised"]] == ["Solo"]
        assert state["mix"] == "large"
        for _ in range(30):
            desk.route()
        told = client.get("/desk/state").json()["happening"]
        assert told["success_before"] == pytest.approx(approved / 21)
        assert told["since"]["payments"] == 30
        assert told["since"]["approved"] == desk.money.approved - approved
        before = desk.money.payments - 31  # the page is behind: nothing has come of it yet
        told = client.get(f"/desk/state?payments={before}").json()["happening"]
        assert told["since"] == dict.fromkeys(told["since"], 0.0)
        marks = client.get("/desk/state").json()["marks"]
        assert [mark["text"].split(" ")[0] for mark in marks] == ["Harbor", "Solo", "The"]
        act("up", "Harbor")
        state = act("fee", "Solo").json()
        assert not any(each["down"] or each["raised"] for each in state["providers"])
        for bad in (("down", "nobody"), ("odd", "Solo")):
            assert act(*bad).status_code == 422
        head = {"Content-Type": "application/json"}
        assert client.post("/desk/act", content=b"{", headers=head).status_code == 400
        assert client.get("/desk/other.js").status_code == 404


def test_the_desk_answers_its_own_page_only(panel):
    url, _ = panel
    press = {"action": "down", "which": "Solo"}
    with httpx.Client(base_url=url, timeout=120.0) as client:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            assert client.post("/desk/act", json=press, headers=headers).status_code == 403
            assert client.get("/", headers=headers).status_code == 403
        away = {"Sec-Fetch-Site": "cross-site"}
        assert client.post("/desk/act", json=press, headers=away).status_code == 403
        page = client.get("/")
        assert "default-src 'self'" in page.headers["content-security-policy"]
        assert '<section id="desk">' in page.text
        assert not any(each["down"] for each in client.get("/desk/state").json()["providers"])


def test_the_service_has_no_desk_and_without_a_browser_a_picture_says_what_to_do(http, monkeypatch):
    assert http.get("/desk/state").status_code == 404
    assert "desk" not in http.get("/").text
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


@pytest.mark.usefixtures("root_logger")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_a_finaliser_swallows_ends_the_game_all_the_same(monkeypatch):
    route = Desk.route

    class Fragile:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def routed(desk):
        route(desk)
        if desk.money.payments == 3:
            Fragile()

    monkeypatch.setattr(Desk, "route", routed)
    ended = CliRunner().invoke(cli.app, ["play", "--no-browser", "--rate", "50", "--seconds", "9"])
    assert "\n3 simulated payments" in ended.output, ended.output


def press(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).click()", f"#desk {selector}")


def said(browser, selector):
    return browser.execute_script(
        f"return document.querySelector(\"#desk {selector}\")?.textContent ?? ''"
    )


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
        browser.get(address)

        def state():
            return httpx.get(f"{address}desk/state", timeout=120.0).json()

        def share():
            return {each["name"]: each["share"] for each in state()["providers"]}

        until(lambda: state()["money"]["payments"] > 150, 600.0)
        until(lambda: browser.find_elements(By.CSS_SELECTOR, "article .tile"))
        shares = share()
        busiest = max(shares, key=shares.get)
        assert shares[busiest] > 0.2
        press(browser, f"[data-outage='{busiest}']")
        until(lambda: said(browser, f"[data-outage='{busiest}']") == "Bring back up")
        until(lambda: share()[busiest] < shares[busiest] / 3, 600.0)
        until(lambda: f"{busiest} went down" in said(browser, ".news"))
        until(lambda: re.search(r"saved [\d,.]+ EUR", said(browser, ".news")), 600.0)
        until(lambda: "came first" in said(browser, ".why"))
        until(lambda: busiest in text(browser, "[data-chart^=Share] .legend"))
        marks = "return [...document.querySelectorAll('.mark text')].map((e) => e.textContent)"
        until(lambda: browser.execute_script(marks) == 2 * [f"{busiest} went down"])
        through = r"\d %.of payments went through since"
        until(lambda: re.search(through, said(browser, ".news")))
        until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-part=share] .mark"))
        same = (  # the desk and the console show the same moment, to the cent
            "const text = (one) => document.querySelector(one).textContent;"
            "return text('#desk [data-tile=longrank]') === text('article [data-tile=earned]')"
        )
        until(lambda: browser.execute_script(same))
        assert errors(browser) == []
    finally:
        with playing:
            playing.send_signal(signal.SIGINT)
            try:
                output, complaints = playing.communicate(timeout=120)
            finally:
                playing.kill()
    assert playing.returncode == 0, complaints
    assert "simulated payments. longrank earned" in output
    assert "perfect knowledge would have earned" in output
    assert complaints == ""


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 3840])
def test_every_button_of_the_desk_works_and_a_closed_desk_is_told(browser, panel, width, frozen):  # noqa: ARG001
    url, desk = panel
    screen(browser, width)
    browser.get(url)
    until(lambda: said(browser, ".said") == "1 payment")
    assert "second" not in said(browser, ".said")  # nothing is measured yet
    for _ in range(30):
        desk.route()
    until(lambda: "31 payments" in said(browser, ".said"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    fee = browser.find_element(By.CSS_SELECTOR, "#desk [data-provider=Solo] th .soft")
    assert fee.is_displayed()
    assert fee.text == "0.09 EUR a try + 1.6 %"
    assert re.fullmatch(r"longrank earned (\d\d?\.\d|100\.0) % of it",
                        said(browser, ".tile:nth-child(3) .soft:last-child"))  # fmt: skip
    for selector, label, news in (
        ("[data-outage=Solo]", "Bring back up", "Solo went down"),
        ("[data-outage=Solo]", "Take down", "Solo works again"),
        ("[data-fee=Atlas]", "Normal fee", "Atlas now asks 0.50 EUR"),
        ("[data-fee=Atlas]", "Double the fee", "Atlas now asks 0.25 EUR"),
        ("[data-mix=amex]", "Mostly Amex", "mostly amex"),
        ("[data-mix=usual]", "Usual traffic", "usual traffic"),
    ):
        press(browser, selector)
        until(lambda selector=selector, label=label: said(browser, selector) == label)
        until(lambda news=news: news in said(browser, ".news"))
        until(lambda news=news: news in said(browser, ".spoken"))  # for those who do not see it
    assert said(browser, "[data-mix][aria-pressed=true]") == "Usual traffic"
    until(lambda: "came first" in said(browser, ".why"))
    assert "=" not in said(browser, ".why")
    press(browser, ".why button")
    until(lambda: browser.execute_script("return document.getElementById('decision').open"))
    assert "payment-" in browser.find_element(By.CSS_SELECTOR, "#decision h2").text
    browser.find_element(By.CSS_SELECTOR, "#decision .close").click()
    press(browser, "[data-chart^=Earned] .legend button")
    assert said(browser, ".legend button[aria-pressed=false]") == "longrank"
    press(browser, "[data-chart^=Earned] summary")
    until(lambda: "perfect knowledge" in said(browser, "[data-chart^=Earned] thead"))
    press(browser, "[data-chart^=Who] summary")
    until(lambda: "time" in said(browser, "[data-chart^=Who] thead"))
    browser.execute_script("document.querySelector('[data-part=share] summary').click()")
    rows = (
        "const rows = (one) => [...document.querySelectorAll(one)].map((e) => e.textContent);"
        "const part = '[data-part=share] ', head = rows(part + 'thead th').slice(1),"
        " last = rows(part + 'tbody tr:first-child td').slice(1);"
        "return Object.fromEntries(head.map((name, i) => [name, last[i]]))"
    )
    until(lambda: browser.execute_script(rows))
    for name, share in browser.execute_script(rows).items():
        assert said(browser, f"[data-share={name}]").strip() == share
    assert errors(browser) == []
    pressed = len(desk.happenings)
    browser.execute_script("window.fetch = () => Promise.reject(new TypeError('gone'))")
    press(browser, "[data-outage=Solo]")
    until(lambda: "has closed" in said(browser, "[role=alert]"))
    assert "31 payments" in said(browser, ".said")
    assert not browser.find_element(By.ID, "access").is_displayed()  # no key would help
    assert len(desk.happenings) == pressed


@pytest.mark.browser
def test_a_desk_that_is_not_open_yet_says_so_and_then_opens(browser, path):
    panel = Panel()
    with service(path, auth=False, more=panel.routes()) as client:
        url = str(client.base_url)
        browser.get(url)
        shown = "return document.getElementById('desk').textContent"
        until(lambda: "not open yet" in browser.execute_script(shown))
        desk = Desk(url, seed=1)
        desk.open()
        panel.desk = desk
        until(lambda: "longrank earned" in browser.execute_script(shown))
        desk.close()


@pytest.mark.browser
def test_the_picture_has_the_money_the_outage_and_the_providers(browser, panel, folder):
    url, desk = panel
    for i in range(40):
        if i == 20:
            desk.act("down", desk.fixed[0])
        desk.route()
    pictures.record(f"{url}?picture#payments/all", folder / "desk.png")
    assert (folder / "desk.png").read_bytes().startswith(b"\x89PNG")
    browser.get(f"{url}?picture#payments/all")
    until(lambda: "Atlas" in said(browser, "[data-chart^=Who] .legend")
          or "Quickcard" in said(browser, "[data-chart^=Who] .legend"))  # fmt: skip
    shown = browser.find_element(By.ID, "desk").text
    for part in ("longrank earned", "best fixed list", "perfect knowledge", "Simulated"):
        assert part in shown
    until(lambda: f"{desk.fixed[0]} went down" in said(browser, ".mark text"))
    assert not browser.find_element(By.ID, "layout").is_displayed()
    assert not browser.find_element(By.CSS_SELECTOR, "[data-outage=Solo]").is_displayed()
