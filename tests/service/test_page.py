"""The page, in a real browser."""

from __future__ import annotations

import os
import shutil

import msgspec
import numpy as np
import pytest
from serving import ADMIN, DIM, asked, until

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:  # the test says so
    webdriver = None

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if webdriver is None or driver is None or chromium is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Chromium, its driver or selenium is missing, and CI must not skip this")
        pytest.skip("Chromium, its driver or selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, Service(driver))
    yield browser
    browser.quit()


@pytest.fixture
def played(http):
    """A service with a model that has seen some rounds."""
    http.put("/v1/models/routes", json={"policy": "ind", "dim": DIM, "max_budget": 5})
    rng = np.random.default_rng(0)
    for i in range(40):
        body = {**msgspec.to_builtins(asked(seed=i)), "id": f"d{i}"}
        sequence = http.post("/v1/models/routes/decisions", json=body).json()["sequence"]
        tried = min(len(sequence), int(rng.integers(1, 4)))
        if i < 35:
            told = {"tried": tried, "succeeded": bool(rng.random() < 0.5)}
            http.put(f"/v1/models/routes/decisions/d{i}/outcome", json=told)
    return http


def opened(browser, http, width=1100):
    browser.set_window_size(width, 1400)
    browser.get("about:blank")
    browser.get_log("browser")  # of a page whose service is gone
    browser.get(str(http.base_url))
    key = browser.find_element(By.ID, "key")
    key.clear()
    key.send_keys(ADMIN)
    browser.find_element(By.CSS_SELECTOR, "#access button").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "article.card"))


def tile(browser, name):
    return browser.execute_script(
        "const found = document.querySelector(`[data-tile='${arguments[0]}']`);"
        "return found ? found.textContent : null",
        name,
    )


def errors(browser):
    wrong = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    return [line for line in wrong if "401" not in line]  # it looks before a key was given


def test_it_asks_for_a_key(browser, played):
    browser.get(str(played.base_url))
    browser.execute_script("sessionStorage.clear()")
    browser.refresh()
    state = browser.find_element(By.ID, "state")
    until(lambda: "Enter a key" in state.text)


def test_it_shows_the_models_and_follows_them(browser, played):
    opened(browser, played)
    assert tile(browser, "decisions") == "40"
    assert tile(browser, "pending") == "5"
    assert len(browser.find_elements(By.CSS_SELECTOR, ".chart svg")) == 5
    assert browser.find_elements(By.CSS_SELECTOR, ".chart path.curve")
    played.put("/v1/models/routes/decisions/d39/outcome", json={"tried": 1, "succeeded": True})
    until(lambda: tile(browser, "pending") == "4")
    assert errors(browser) == []


def test_it_explains_a_decision_as_a_picture(browser, played):
    opened(browser, played)
    browser.find_element(By.ID, "lookup-id").send_keys("d3")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "#decision svg"))
    decision = played.get("/v1/models/routes/decisions/d3").json()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#decision rect.bar")) == len(
        decision["sequence"]
    )
    marks = browser.find_elements(By.CSS_SELECTOR, "#decision .good, #decision .bad")
    assert len(marks) == decision["outcome"]["tried"]
    assert len(browser.find_elements(By.CSS_SELECTOR, "#decision .chosen")) == 1
    assert errors(browser) == []


def test_a_decision_that_is_not_there_is_told(browser, played):
    opened(browser, played)
    browser.find_element(By.ID, "lookup-id").send_keys("nobody")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: "there is no decision" in browser.find_element(By.ID, "decision").text)
    browser.get_log("browser")


def test_nothing_is_wider_than_a_phone(browser, played):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    try:
        opened(browser, played, width=500)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_a_candidate_is_called_is_shown_and_not_run(browser, played):
    name = "<img src=x onerror=alert(1)>"
    body = {"id": "odd", "ids": [name], "features": [[0.1] * DIM], "budget": 1}
    assert played.post("/v1/models/routes/decisions", json=body).status_code == 201
    opened(browser, played)
    browser.find_element(By.ID, "lookup-id").send_keys("odd")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "#decision svg"))
    assert name[:15] in browser.find_element(By.ID, "decision").text
    assert not browser.find_elements(By.CSS_SELECTOR, "#decision img")


def test_it_shows_money_in_the_currency_of_the_model(browser, http):
    http.put("/v1/models/cards", json={"max_budget": 2, "currency": "<b>EUR</b>"})
    offered = [{"id": "adyen", "cost": 0.3, "value": 0.5}, {"id": "stripe", "cost": 0.04}]
    payoffs = {"rewards": [90.0, 90.0], "losses": [0.0, 0.0, 0.0]}
    total = spent = 0.0
    for i in range(30):
        body = {"id": f"d{i}", "candidates": offered, **payoffs}
        sequence = http.post("/v1/models/cards/decisions", json=body).json()["sequence"]
        told = {"tried": len(sequence), "succeeded": i % 3 > 0}
        if i % 2:
            told["costs"] = [0.25] * len(sequence)
        settled = http.put(f"/v1/models/cards/decisions/d{i}/outcome", json=told).json()
        total, spent = total + settled["reward"], spent + settled["spent"]
    opened(browser, http)
    assert tile(browser, "earned") == f"{total:,.2f} <b>EUR</b>"
    assert tile(browser, "spent on tries") == f"{spent:,.2f} <b>EUR</b>"
    assert tile(browser, "earned per decision") == f"{total / 30:,.2f} <b>EUR</b>"
    wide = "return [...document.querySelectorAll('.tile')].some(t => t.scrollWidth > t.clientWidth)"
    assert not browser.execute_script(wide)
    browser.find_element(By.ID, "lookup-id").send_keys("d29")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "#decision table"))
    shown = browser.find_element(By.ID, "decision").text
    for part in ("planned cost", "real cost", "this try adds", "0.25 <b>EUR</b>", "Earned "):
        assert part in shown
    assert not browser.find_elements(By.CSS_SELECTOR, "#decision p b, #decision td b")
    assert errors(browser) == []


def test_zero_has_no_sign(browser, http):
    browser.get(str(http.base_url))
    script = "return [shown(-0), shown(-4e-5), shown(-0.5), money(-1e-17, 'EUR'), money(-2e-7)]"
    assert browser.execute_script(script) == ["0", "0.000", "-0.500", "0.00 EUR", "-0.0000002"]


def test_it_tells_expected_costs_patience_and_draws(browser, http):
    http.put("/v1/models/asks", json={"max_budget": 2, "patience": 0.9, "currency": "EUR"})
    for i in range(4):
        body = {"id": f"d{i}", "candidates": ["large"], "rewards": [9.0, 9.0], "losses": [0, 0, 0]}
        http.post("/v1/models/asks/decisions", json=body)
        told = {"tried": 1, "succeeded": True} | ({"costs": [0.5]} if i < 3 else {})
        http.put(f"/v1/models/asks/decisions/d{i}/outcome", json=told)
    settings = {"temperature": 9.0}
    http.put("/v1/models/draws", json={"policy": "plackett-luce", "settings": settings})
    cut = ""
    while not cut:
        body = {"candidates": ["a", "b", "c"], "rewards": [1.0, 1.0], "losses": [0.0, -0.1, -0.2]}
        found = http.post("/v1/models/draws/decisions", json=body).json()
        end = len(found["sequence"])
        cut = found["id"] if found["values"][end] < max(found["values"][end:]) else ""
    opened(browser, http)
    assert tile(browser, "with expected costs") == "1"
    for model, decision, words in (
        ("asks", "d3", ("as was expected: it told no costs.", "a patience of 0.900:")),
        ("asks", "d2", ("net of 0.50 EUR spent on tries.", "a patience of 0.900:")),
        ("draws", cut, ("as drawn at random: a longer sequence has a higher",)),
    ):
        for name, text in (("lookup-model", model), ("lookup-id", decision)):
            browser.find_element(By.ID, name).clear()
            browser.find_element(By.ID, name).send_keys(text)
        browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
        for part in words:
            until(lambda part=part: part in browser.find_element(By.ID, "decision").text)
    assert errors(browser) == []


def test_it_shows_the_schema_of_a_model_of_records_and_what_spoke_for_a_candidate(browser, http):
    schema = {"fields": {"mcc": "category"}}
    http.put("/v1/models/cards", json={"schema": schema, "currency": "EUR"})
    offered = [
        {"id": "adyen", "region": "eu", "cost": 0.25},
        {"id": "stripe", "region": "us", "cost": 0.15},
        "<b>odd</b>",
    ]
    payoffs = {"rewards": [4.0, 3.5], "losses": [0.0, -0.2, -0.4]}
    rng = np.random.default_rng(0)
    for i in range(60):
        brand = ["visa", "amex"][i % 2]
        body = {"id": f"d{i}", "candidates": offered, **payoffs}
        body["context"] = {"brand": brand, "amount": round(float(10 + rng.pareto(1.2) * 40), 2)}
        names = [
            one["id"]
            for one in http.post("/v1/models/cards/decisions", json=body).json()["sequence"]
        ]
        good = {"visa": "stripe", "amex": "adyen"}[brand]
        tried = names.index(good) + 1 if good in names else len(names)
        told = {"tried": names[:tried], "succeeded": good in names}
        assert http.put(f"/v1/models/cards/decisions/d{i}/outcome", json=told).status_code == 200
    opened(browser, http)
    browser.find_element(By.CSS_SELECTOR, "[data-schema='cards'] summary").click()
    text = browser.find_element(By.CSS_SELECTOR, "[data-schema='cards']").text
    for part in ("columns in use", "crossed: id × brand", "context amount number", "mcc category"):
        assert part in text
    outcomes = tile(browser, "outcomes")
    http.post("/v1/models/cards/decisions", json={"id": "e", "candidates": offered, "budget": 1})
    http.put("/v1/models/cards/decisions/e/outcome", json={"tried": 1, "succeeded": True})
    until(lambda: tile(browser, "outcomes") != outcomes)  # it stays open as the page follows
    assert "columns in use" in browser.find_element(By.CSS_SELECTOR, "[data-schema='cards']").text
    browser.find_element(By.ID, "lookup-id").send_keys("d58")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "#decision table"))
    shown = browser.find_element(By.ID, "decision").text
    for part in ('context: brand="visa"', "brand=visa +", "stripe"):
        assert part in shown
    assert errors(browser) == []
    picture = os.environ.get("LONGRANK_SCREENSHOT")
    if picture:
        browser.set_window_size(
            1100, 143 + browser.execute_script("return document.body.scrollHeight")
        )
        browser.save_screenshot(picture)
    body = {"id": "odd", "candidates": offered[2:], "context": {"<i>": "<img src=x>"}, "budget": 1}
    http.post("/v1/models/cards/decisions", json=body)
    lookup = browser.find_element(By.ID, "lookup-id")
    lookup.clear()
    lookup.send_keys("odd")
    browser.find_element(By.CSS_SELECTOR, "#lookup button").click()
    until(lambda: "<b>odd</b>" in browser.find_element(By.ID, "decision").text)
    assert '<i>="<img src=x>"' in browser.find_element(By.ID, "decision").text
    assert not browser.find_elements(By.CSS_SELECTOR, "#decision img, #decision i, #decision b")
