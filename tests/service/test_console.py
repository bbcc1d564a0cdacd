"""The console, in a real browser: every part of it is used."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from serving import ADMIN, DIM, Clock, asked, hold, service, until

with suppress(ImportError):  # the fixture says so
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select

pytestmark = pytest.mark.browser
IS_OPEN = "return document.getElementById('decision').open"


def decide(http, model, name, tried=None, succeeded=True, costs=None, **body):
    """Make a decision, report its outcome if it is given, and return the answer to the last."""
    decisions = f"/v1/models/{model}/decisions"
    answer = http.post(decisions, json={"id": name, **body})
    assert answer.is_success, answer.text
    if tried is not None:
        sequence = [choice["id"] for choice in answer.json()["sequence"]]
        told = {"tried": tried(sequence) if callable(tried) else tried, "succeeded": succeeded}
        told |= {} if costs is None else {"costs": costs}
        answer = http.put(f"{decisions}/{name}/outcome", json=told)
        assert answer.is_success, answer.text
    return answer.json()


def play(http):
    """Some rounds of a model."""
    http.put("/v1/models/routes", json={"policy": "ind", "dim": DIM, "max_budget": 5})
    rng = np.random.default_rng(0)
    for i in range(40):
        tries, good = int(rng.integers(1, 4)), bool(rng.random() < 0.5)
        tried = None if i >= 35 else lambda sequence, tries=tries: min(len(sequence), tries)
        decide(http, "routes", f"d{i}", tried, good, **arrays(i))


def arrays(seed=0):
    """The body of a decision on arrays."""
    body = msgspec.to_builtins(asked(seed=seed))
    return {name: value for name, value in body.items() if name != "id"}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A service with a model that has seen some rounds, for tests that change nothing."""
    path = tmp_path_factory.mktemp("console") / "decisions.db"
    with service(path, clock=Clock()) as client:
        play(client)
        yield client


@pytest.fixture
def own(http):
    """The same for a test that changes something."""
    play(http)
    return http


def opened(browser, http, width=1100, address="", follow=False):
    """Open the page of a model; unless it is to follow what happens, it stays as it is."""
    browser.set_window_size(width, 1400)
    browser.get(f"{http.base_url}#{address}")
    browser.execute_script("sessionStorage.clear(); sessionStorage.setItem(...arguments)",
                           "longrank-key", ADMIN)  # fmt: skip
    browser.refresh()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "article .tile"))
    if not follow:
        hold(browser)


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def every(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def text(browser, selector, missing=""):
    """The text of an element that the page may draw again at any moment, or not yet."""
    script = "return document.querySelector(arguments[0])?.textContent ?? arguments[1]"
    return browser.execute_script(script, selector, missing)


def focused(browser):
    return browser.switch_to.active_element


def tile(browser, name):
    return text(browser, f'[data-tile="{name}"]', None)


def explain(browser, decision):
    field = find(browser, "#filter-id")
    field.clear()
    field.send_keys(decision, Keys.ENTER)
    until(lambda: browser.execute_script(IS_OPEN))
    return find(browser, "#decision")


def sideways(browser):
    """What is to be found by scrolling sideways only."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.wide')]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel)"
    )


def errors(browser):
    wrong = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    return [line for line in wrong if "401" not in line]  # it looks before a key was given


def test_it_asks_for_a_key_and_shows_the_model_of_the_one_that_it_gets(browser, http):
    key = http.put("/v1/models/routes", json={}).json()["key"]
    http.put("/v1/models/others", json={})
    browser.get(str(http.base_url))
    browser.execute_script("sessionStorage.clear()")
    browser.refresh()
    until(lambda: "Enter a key" in text(browser, "#state"))
    find(browser, "#key").send_keys("lr_wrong", Keys.ENTER)
    until(lambda: "does not know this key" in text(browser, "#state"))
    find(browser, "#key").clear()
    find(browser, "#key").send_keys(key)
    find(browser, "#access button").click()
    until(lambda: "Enter the name" in text(browser, "#state"))
    find(browser, "#name").send_keys("routes", Keys.ENTER)
    until(lambda: text(browser, "article h2") == "routes")
    browser.get_log("browser")


def test_without_models_it_says_how_to_make_one(browser, http):
    browser.get(str(http.base_url))
    browser.execute_script(f"sessionStorage.setItem('longrank-key', '{ADMIN}')")
    browser.refresh()
    until(lambda: "No models yet" in text(browser, "#model"))
    assert "/v1/models/routes" in text(browser, "#model pre")
    assert "Bearer KEY" in text(browser, "#model pre")


def test_a_service_that_is_gone_is_told(browser, played):
    opened(browser, played, follow=True)
    browser.execute_cdp_cmd("Network.enable", {})
    condition = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", condition)
    try:
        until(lambda: "does not answer" in text(browser, "#state"))
        assert every(browser, "article .tile")  # what it knew stays
        assert text(browser, "#time").startswith("What is shown is of ")
        browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        top = "return document.querySelector('header').getBoundingClientRect().top"
        assert browser.execute_script(top) == 0  # and it is said wherever one looks
    finally:
        normal = {**condition, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", normal)
    until(lambda: "live" in text(browser, "#state"))
    assert not every(browser, "body.stale")
    browser.get_log("browser")


def test_it_shows_a_model_and_follows_it(browser, own):
    opened(browser, own, follow=True)
    assert tile(browser, "decisions") == "40"
    until(lambda: tile(browser, "pending") == "5")
    stats = own.get("/v1/models/routes").json()["stats"]
    assert tile(browser, "declined") == str(stats["declined"])
    assert tile(browser, "gave up") == str(stats["give_ups"])
    own.put("/v1/models/routes/decisions/d39/outcome", json={"tried": 1, "succeeded": True})
    until(lambda: tile(browser, "pending") == "4")
    assert errors(browser) == []


def test_every_chart_has_axes_a_legend_values_and_a_table(browser, played):
    opened(browser, played)
    charts = every(browser, "figure.chart")
    assert len(charts) == 6
    for chart in charts:
        if not chart.is_displayed():  # costs, where nothing costs anything
            continue
        until(lambda chart=chart: len(chart.find_elements(By.CSS_SELECTOR, "svg text")) >= 3)
        assert chart.find_elements(By.CSS_SELECTOR, "path.curve, path.area, circle.dot")
        legend = chart.find_element(By.CSS_SELECTOR, ".legend button")
        name = legend.text
        lines = "path.curve, path.area"
        before = len(chart.find_elements(By.CSS_SELECTOR, lines))
        browser.execute_script("arguments[0].click()", legend)
        assert legend.get_attribute("aria-pressed") == "false"
        assert len(chart.find_elements(By.CSS_SELECTOR, lines)) == before - 1 or before == 1
        browser.execute_script("arguments[0].click()", legend)
        svg = chart.find_element(By.CSS_SELECTOR, "svg")
        svg.send_keys(Keys.ARROW_LEFT)  # the keyboard shows values as the pointer does
        tip = chart.find_element(By.CSS_SELECTOR, ".tip")
        assert name in tip.text
        svg.send_keys(Keys.ESCAPE)
        assert not tip.is_displayed()
        browser.execute_script(
            "const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new "
            "PointerEvent('pointermove', {clientX: box.left + box.width - 15, clientY: box.top}))",
            svg,
        )
        assert name in tip.text
        browser.execute_script(
            "arguments[0].click()", chart.find_element(By.CSS_SELECTOR, "summary")
        )
        until(lambda chart=chart: chart.find_elements(By.CSS_SELECTOR, "tbody tr"))
        head = "return arguments[0].querySelector('thead').textContent"
        assert name in browser.execute_script(head, chart)
    assert errors(browser) == []


def test_a_period_is_chosen_and_kept_in_the_address(browser, own, clock):
    clock.now += 2_000.0
    opened(browser, own)
    assert tile(browser, "decisions") == "0"
    until(lambda: "Choose a longer one" in text(browser, "[aria-label='Nothing to show']"))
    for label, count in (("1 hour", "40"), ("15 min", "0"), ("1 week", "40"), ("All", "40")):
        next(found for found in every(browser, ".ranges label") if found.text == label).click()
        until(lambda count=count: tile(browser, "decisions") == count)
        assert find(browser, "[aria-label='Earnings']").is_displayed() == (count != "0")
    assert browser.current_url.endswith("#routes/all")
    browser.refresh()
    until(lambda: tile(browser, "decisions") == "40")
    find(browser, ".ranges input:checked").send_keys(Keys.ARROW_LEFT)
    until(lambda: not browser.current_url.endswith("#routes/all"))
    chosen = find(browser, ".ranges input:checked").get_attribute("value")
    assert browser.current_url.endswith(f"#routes/{chosen}")


def test_many_models_are_searched_and_chosen(browser, own):
    for i in range(30):
        own.put(f"/v1/models/shop-{i:02}", json={})
    opened(browser, own)
    until(lambda: len(every(browser, "#list a")) == 31)
    assert text(browser, "#list a[aria-current] b") == "routes"  # the busiest
    assert text(browser, "#count") == "31 models"
    find(browser, "#search").send_keys("SHOP-2")
    until(lambda: len(every(browser, "#list a")) == 10)
    assert "10 of 31 models" in text(browser, "#count")
    find(browser, "#search").send_keys(Keys.ENTER)
    until(lambda: text(browser, "article h2") == "shop-20")
    until(lambda: "No decisions yet" in text(browser, "#decisions"))
    until(lambda: "How to ask" in text(browser, "[aria-label='Nothing to show']"))
    assert not [chart for chart in every(browser, "figure.chart") if chart.is_displayed()]
    assert errors(browser) == []


def test_decisions_are_filtered_and_opened(browser, played):
    opened(browser, played)
    until(lambda: len(every(browser, "#decisions tbody tr")) == 20)
    find(browser, "#decisions button.plain").click()  # older ones
    until(lambda: len(every(browser, "#decisions tbody tr")) == 40)
    Select(find(browser, "#filter-result")).select_by_value("pending")
    until(lambda: len(every(browser, "#decisions tbody tr")) == 5)
    Select(find(browser, "#filter-result")).select_by_value("")
    Select(find(browser, "#filter-candidate")).select_by_value("c1")
    found = played.get("/v1/models/routes/decisions?candidate=c1&limit=20").json()["decisions"]
    row = f"#decisions tr[data-id='{found[-1]['id']}'] button"
    until(lambda: every(browser, row))
    assert len(every(browser, "#decisions tbody tr")) == len(found)
    label = find(browser, row).get_attribute("aria-label")
    find(browser, row).send_keys(Keys.ENTER)
    until(lambda: browser.execute_script(IS_OPEN))
    assert found[-1]["id"] in find(browser, "#decision h2").text
    assert browser.execute_script("return document.activeElement.closest('#decision') !== null")
    focused(browser).send_keys(Keys.ESCAPE)
    until(lambda: not browser.execute_script(IS_OPEN))
    assert browser.execute_script("return document.activeElement.ariaLabel") == label
    Select(find(browser, "#filter-candidate")).select_by_value("")
    find(browser, "#filter-id").send_keys("zzz")
    find(browser, "#filter button").click()
    until(lambda: browser.execute_script(IS_OPEN))
    assert "there is no decision" in find(browser, "#decision").text
    find(browser, "#decision").send_keys(Keys.ESCAPE)
    until(lambda: "No decision fits" in text(browser, "#decisions"))
    browser.get_log("browser")


def test_it_explains_a_decision(browser, played):
    opened(browser, played)
    shown = explain(browser, "d3")
    decision = played.get("/v1/models/routes/decisions/d3").json()
    assert len(every(browser, "#decision rect.bar")) == len(decision["sequence"])
    marks = every(browser, "#decision .tries td.succeeded, #decision .tries td.declined")
    assert len(marks) == decision["outcome"]["tried"]
    assert len(every(browser, "#decision tr.chosen")) == 1
    assert decision["stopped"] in shown.text
    assert errors(browser) == []


@pytest.mark.parametrize("width", [360, 1300, 3840])
def test_nothing_is_wider_than_the_screen_and_a_wide_one_is_used(browser, played, width):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    opened(browser, played, width=500)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    used = browser.execute_script("return document.querySelector('article').clientWidth")
    assert used > 0.8 * width
    until(lambda: every(browser, "#decisions button.link"))
    explain(browser, "d3")
    assert sideways(browser) == []


def test_money_of_a_model_fits_a_narrow_screen(browser, http):
    http.put("/v1/models/cards", json={"max_budget": 2, "currency": "EUR"})
    offered = [{"id": "Northbank", "cost": 0.2}, {"id": "Quickcard", "cost": 0.05}]
    body = {"candidates": offered, "rewards": [90.0, 90.0], "losses": [0.0, 0.0, 0.0]}
    for i in range(40):
        decide(http, "cards", f"d{i}", 2, **body)
    screen = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    opened(browser, http, width=500)
    until(lambda: "cost of a try, EUR" in text(browser, "[aria-label='Candidates']"))
    until(lambda: every(browser, "#decisions button.link"))
    explain(browser, "d3")
    assert sideways(browser) == []


def test_shadow_mode_tells_what_was_played_from_what_the_model_would_have(browser, http):
    http.put("/v1/models/desk", json={"mode": "shadow", "currency": "EUR", "max_budget": 2})
    http.put("/v1/models/live", json={"currency": "EUR", "max_budget": 2})
    body = {"candidates": [{"id": "adyen", "cost": 0.5}, {"id": "stripe", "cost": 0.1}],
            "rewards": [4.0, 4.0], "losses": [0.0, 0.0, 0.0]}  # fmt: skip
    for model, more in (("desk", {"baseline": ["adyen"]}), ("live", {})):
        decide(http, model, "one", 1, **body, **more)
    opened(browser, http, address="desk/900")
    assert "all figures here are theirs" in find(browser, ".note").text
    assert tile(browser, "earned by the caller's list") == "3.50 EUR"
    assert tile(browser, "earned") is None
    assert "caller's list" in text(browser, "[aria-label='Earnings'] .legend")
    assert "caller's list" in text(browser, "#list a[data-model='desk']")
    until(lambda: every(browser, "#decisions tbody tr"))
    row = text(browser, "#decisions tbody tr")
    assert "adyen ✓" in row
    assert "the model: stripe → adyen" in row
    assert "The model would have tried: stripe → adyen." in explain(browser, "one").text
    find(browser, "#decision .close").click()
    find(browser, "#list a[data-model='live']").click()
    until(lambda: tile(browser, "earned") == "3.90 EUR")
    assert not find(browser, ".note").is_displayed()
    Select(find(browser, "#compare")).select_by_value("model desk")
    chart = "[data-chart='Earned in this period']"
    until(lambda: "more than desk: the caller's list" in text(browser, chart))
    assert "caller's list" not in text(browser, "#list a[data-model='live']")
    assert errors(browser) == []


def test_what_is_shown_has_a_name_for_those_who_do_not_see_it(browser, played):
    opened(browser, played)
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, input, select, svg[role=img], section, nav,"
        " dialog, [role=region]')].filter((e) => !(e.textContent.trim() || e.getAttribute("
        "'aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length))"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []
    assert find(browser, "html").get_attribute("lang") == "en"
    assert len(every(browser, "main")) == len(every(browser, "h1")) == 1
    assert every(browser, "[role=status]")


def test_what_a_candidate_is_called_is_shown_and_not_run(browser, own):
    name = "<img src=x onerror=alert(1)>"
    decide(own, "routes", "odd", ids=[name], features=[[0.1] * DIM], budget=1)
    opened(browser, own)
    assert name in explain(browser, "odd").text
    until(lambda: name in text(browser, "[aria-label='Candidates']"))
    assert not every(browser, "img")


def test_it_shows_money_in_the_currency_of_the_model(browser, http):
    http.put("/v1/models/cards", json={"max_budget": 2, "currency": "<b>EUR</b>"})
    offered = [{"id": "adyen", "cost": 0.3, "value": 0.5}, {"id": "stripe", "cost": 0.04}]
    payoffs = {"rewards": [90.0, 90.0], "losses": [0.0, 0.0, 0.0]}
    total = spent = 0.0
    for i in range(30):
        costs = [0.25] * 2 if i % 2 else None
        settled = decide(
            http, "cards", f"d{i}", len, i % 3 > 0, costs, candidates=offered, **payoffs
        )
        total, spent = total + settled["reward"], spent + settled["spent"]
    opened(browser, http)
    assert tile(browser, "earned") == f"{total:,.2f} <b>EUR</b>"
    assert tile(browser, "spent on tries") == f"{spent:,.2f} <b>EUR</b>"
    assert tile(browser, "earned per decision") == f"{total / 30:,.2f} <b>EUR</b>"
    assert find(browser, "[data-chart='Cost of a try']").is_displayed()
    wide = "return [...document.querySelectorAll('.tile')].some(t => t.scrollWidth > t.clientWidth)"
    assert not browser.execute_script(wide)
    shown = explain(browser, "d29").text
    for part in ("planned cost", "real cost", "a success is worth", "90.50 <b>EUR</b>",
                 "this try adds", "0.25 <b>EUR</b>", "Earned "):  # fmt: skip
        assert part in shown
    assert not every(browser, "#decision p b b, #decision td b")
    assert errors(browser) == []


def test_earnings_are_compared_with_an_amount_and_with_another_model(browser, own):
    own.put("/v1/models/list", json={"policy": "rand", "dim": DIM, "max_budget": 5})
    decide(own, "list", "one", 1, **arrays(1))
    opened(browser, own, address="routes/900")
    chart = "[data-chart='Earned in this period']"
    until(lambda: len(every(browser, "#compare option")) == 3)
    Select(find(browser, "#compare")).select_by_value("amount")
    find(browser, "#amount").send_keys("5")
    until(lambda: "less than baseline" in text(browser, chart))
    assert every(browser, f"{chart} path.dashed")
    Select(find(browser, "#compare")).select_by_value("model list")
    until(lambda: "than list" in text(browser, chart))
    assert errors(browser) == []


def test_zero_has_no_sign_and_reasons_are_told_in_plain_words(browser, played):
    browser.get(str(played.base_url))
    script = (
        "return import('/static/format.js').then(({shown, money, plainly}) => "
        "[shown(-0), shown(-4e-5), shown(-0.5), money(-1e-17, 'EUR'), money(-2e-7), "
        "money(0.0999999, 'EUR'), money(0.0123456), ...arguments[0].map(plainly)])"
    )
    reasons = {
        "status=up x brand=visa": "visa while up",
        "brand=visa": "visa",
        "amount=15.77": "amount 15.77",
        "recurring=true x amount=3": "amount 3 while recurring true",
        "id=adyen": "adyen in general",
        "mcc=missing": "mcc missing",
        "a=b=c": "b=c",
        "odd": "odd",
    }
    numbers = ["0", "0.000", "-0.500", "0.00 EUR", "-0.0000002", "0.10 EUR", "0.0123"]
    assert browser.execute_script(script, list(reasons)) == [*numbers, *reasons.values()]


def test_it_tells_expected_costs_patience_and_draws(browser, http):
    http.put("/v1/models/asks", json={"max_budget": 2, "patience": 0.9, "currency": "EUR"})
    for i in range(4):
        body = {"candidates": ["large"], "rewards": [9.0, 9.0], "losses": [0, 0, 0]}
        decide(http, "asks", f"d{i}", 1, True, [0.5] if i < 3 else None, **body)
    settings = {"temperature": 9.0}
    http.put("/v1/models/draws", json={"policy": "plackett-luce", "settings": settings})
    cut = ""
    while not cut:
        body = {"candidates": ["a", "b", "c"], "rewards": [1.0, 1.0], "losses": [0.0, -0.1, -0.2]}
        found = http.post("/v1/models/draws/decisions", json=body).json()
        end = len(found["sequence"])
        cut = found["id"] if found["values"][end] < max(found["values"][end:]) else ""
    opened(browser, http, address="asks/900")
    until(lambda: tile(browser, "with expected costs") == "1")
    for model, decision, words in (
        ("asks", "d3", ("as was expected: it told no costs.", "a patience of 0.900:")),
        ("asks", "d2", ("net of 0.50 EUR spent on tries.", "a patience of 0.900:")),
        ("draws", cut, ("as drawn at random: a longer sequence has a higher",)),
    ):
        find(browser, f"#list a[data-model='{model}']").click()
        until(lambda model=model: text(browser, "article h2") == model)
        shown = explain(browser, decision).text
        for part in words:
            assert part in shown
        find(browser, "#decision .close").click()
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
        context = {"brand": brand, "amount": round(float(10 + rng.pareto(1.2) * 40), 2)}
        good = {"visa": "stripe", "amex": "adyen"}[brand]
        sequence = decide(http, "cards", f"d{i}", candidates=offered, context=context, **payoffs)[
            "sequence"
        ]
        names = [choice["id"] for choice in sequence]
        tried = names.index(good) + 1 if good in names else len(names)
        told = {"tried": names[:tried], "succeeded": good in names}
        assert http.put(f"/v1/models/cards/decisions/d{i}/outcome", json=told).status_code == 200
    opened(browser, http, follow=True)
    find(browser, "[data-schema='cards'] summary").click()
    until(lambda: "columns in use" in text(browser, "[data-schema='cards']"))
    shown = find(browser, "[data-schema='cards']").text
    for part in ("crossed: id × brand", "context amount number", "mcc category"):
        assert part in shown
    decisions = tile(browser, "decisions")
    decide(http, "cards", "e", 1, candidates=offered, budget=1)
    until(lambda: tile(browser, "decisions") != decisions)  # it stays open as the page follows
    assert "columns in use" in find(browser, "[data-schema='cards']").text
    shown = explain(browser, "d58").text
    for part in ("Context: brand visa", "visa (× ", "stripe in general (× ", "odds"):
        assert part in shown
    assert errors(browser) == []
    picture = os.environ.get("LONGRANK_SCREENSHOT")
    if picture:
        browser.save_screenshot(picture)
    find(browser, "#decision .close").click()
    context = {"<i>": "<img src=x>"}
    decide(http, "cards", "odd", candidates=offered[2:], context=context, budget=1)
    shown = explain(browser, "odd").text
    assert "<b>odd</b>" in shown
    assert "<i> <img src=x>" in shown
    assert not every(browser, "#decision img, #decision i, #decision td b")


def test_a_change_of_success_and_calibration_are_shown(browser, http, clock):
    http.put("/v1/models/cards", json={"max_budget": 1})
    for i in range(80):
        clock.now += 5.0
        decide(http, "cards", f"d{i}", 1, i < 50, candidates=["adyen"])
    opened(browser, http)
    until(lambda: "adyen: success from 100 % to" in text(browser, "[aria-label='Changes']"))
    assert every(browser, "[data-chart^='Success'] .mark")
    assert every(browser, "[aria-label='Calibration'] circle")
    find(browser, "[aria-label='Calibration'] summary").click()
    assert every(browser, "[aria-label='Calibration'] tbody tr")
    assert errors(browser) == []


# every control of the page, and the test that uses it; a new one needs an entry
CONTROLS = {
    ".skip": "the_keyboard_reaches",
    "#key, #name, #access button": "it_asks_for_a_key",
    "#search": "many_models_are_searched",
    "#list a": "many_models_are_searched, it_tells_expected_costs",
    ".ranges input": "a_period_is_chosen",
    "#compare, #amount": "earnings_are_compared",
    "figure svg, .legend button, figure summary": "every_chart_has_axes",
    "[aria-label=Calibration] summary": "a_change_of_success_and_calibration",
    ".wide": "the_keyboard_reaches",
    "#filter-candidate, #filter-id, #filter button": "decisions_are_filtered",
    "#filter-result": "decisions_are_filtered, every_result_is_a_filter",
    "#decisions button.plain, #decisions button.link": "decisions_are_filtered",
    "#decision .close": "decisions_are_filtered",
    "[data-schema] summary": "it_shows_the_schema",
    "footer a": "the_footer_leads",
}


def test_every_control_of_the_page_has_a_test(browser, own):
    own.put("/v1/models/other", json={})
    opened(browser, own, address="routes/900")
    until(lambda: every(browser, "#decisions button.link"))
    explain(browser, "d3")
    names = {name for name in globals() if name.startswith("test_")}
    for tests in CONTROLS.values():
        for part in tests.split(", "):
            assert any(name.startswith(f"test_{part}") for name in names), part
    unknown = browser.execute_script(
        "return [...document.querySelectorAll('a[href], button, input, select, summary,"
        ' textarea, [tabindex="0"], [contenteditable]\')].filter((e) => !e.matches(arguments[0]))'
        ".map((e) => e.outerHTML.slice(0, 90))",
        ", ".join(CONTROLS),
    )
    assert unknown == []
    unused = [one for one in CONTROLS if not every(browser, one)]
    assert unused == []


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(browser, own):
    own.put("/v1/models/other", json={})
    opened(browser, own, address="routes/900")
    until(lambda: every(browser, "#decisions button.link"))
    order = [".skip", "#key", "#name", "#access button", "#search", "#list a", ".ranges input",
             "#compare", "figure svg", ".legend button", "figure summary", ".wide",
             "#filter-candidate", "#filter-result", "#filter-id", "#filter button",
             "#decisions button.link", "#decisions button.plain", "[data-schema] summary",
             "footer a"]  # fmt: skip
    missing = set(order)
    script = "return arguments[1].filter((one) => arguments[0].matches(one))"
    places = []
    browser.execute_script("document.querySelector('.skip').focus()")
    while missing:
        here = focused(browser)
        assert here.tag_name != "body", missing
        missing -= set(browser.execute_script(script, here, order))
        places.append(
            browser.execute_script(
                "return [...document.querySelectorAll('*')].indexOf(arguments[0])", here
            )
        )
        assert here.is_displayed() or here.get_attribute("type") == "radio"
        here.send_keys(Keys.TAB)
    assert places == sorted(places)
    skip = find(browser, ".skip")
    browser.execute_script("arguments[0].focus()", skip)
    skip.send_keys(Keys.ENTER)
    assert focused(browser).get_attribute("id") == "model"
    until(lambda: text(browser, "article h2") == "routes")  # the page stays where it was
    assert errors(browser) == []


def test_a_screen_reader_hears_changes_and_not_every_refresh(browser, played):
    opened(browser, played, follow=True)
    until(lambda: text(browser, "#state") == "live")
    browser.execute_script(
        "window.heard = []; window.shown = new Set();"
        "for (const e of document.querySelectorAll('[role=status], [role=alert], [aria-live]'))"
        " new MutationObserver(() => heard.push(e.outerHTML)).observe(e,"
        " { childList: true, characterData: true, subtree: true });"
        "new MutationObserver(() => shown.add(document.getElementById('time').textContent))"
        ".observe(document.getElementById('time'), { childList: true })"
    )
    until(lambda: browser.execute_script("return shown.size") >= 2)
    assert browser.execute_script("return heard") == []


ANSWER = """
const [part, status, body] = arguments, real = window.fetch;
window.fetch = (path, options) => String(path).includes(part)
  ? Promise.resolve(new Response(body, { status })) : real(path, options);
"""


def test_what_is_not_an_answer_is_told_and_so_is_why_a_model_cannot_be_read(browser, played):
    opened(browser, played, follow=True)
    browser.execute_script(ANSWER, "/v1/", 502, "<html>Bad gateway</html>")
    until(lambda: "Not an answer of the service (status 502)" in text(browser, "#state"))
    assert tile(browser, "decisions") == "40"  # what it knew stays
    opened(browser, played, follow=True)
    told = '{"title": "Unavailable", "status": 503, "detail": "the store is busy"}'
    browser.execute_script(ANSWER, "/series", 503, told)
    until(lambda: "the store is busy" in text(browser, "article [role=alert]"))
    assert tile(browser, "decisions") == "40"
    answer = '{"models": [], "unavailable": [{"name": "broken", "detail": "its log is damaged"}]}'
    browser.execute_script(ANSWER, "/v1/summaries", 200, answer)
    browser.execute_script("location.hash = '#broken'")
    until(lambda: "its log is damaged" in text(browser, "#model"))


def test_an_address_with_a_model_that_does_not_exist_says_so(browser, played):
    browser.get(f"{played.base_url}#nobody/900")
    browser.execute_script(f"sessionStorage.setItem('longrank-key', '{ADMIN}')")
    browser.refresh()
    until(lambda: "There is no model of this name" in text(browser, "#model"))
    assert text(browser, "#model h2") == "nobody"
    find(browser, "#list a[data-model='routes']").click()
    until(lambda: tile(browser, "decisions") == "40")


def test_the_footer_leads_to_the_reference_the_document_and_the_metrics(browser, http):
    browser.get(str(http.base_url))
    for link, words in (("/docs", "createModel"), ("/openapi.json", "openapi"),
                        ("/metrics", "longrank_")):  # fmt: skip
        found = find(browser, f"footer a[href='{link}']").get_attribute("href")
        assert words in http.get(found).text
    find(browser, "footer a[href='/docs']").click()
    until(lambda: browser.current_url.endswith("/docs"))


def test_every_result_is_a_filter_with_its_meaning(browser, http, clock):
    http.put("/v1/models/m", json={"max_budget": 2, "ttl": 100.0})
    offered = [{"id": "a", "cost": 0.1}, {"id": "b", "cost": 50.0}]
    payoffs = {"rewards": [9.0, 9.0], "losses": [0.0, 0.0, 0.0]}
    for name, which, tried, good in (
        ("old", offered, None, None),  # no outcome: expires
        ("good", offered, 1, True),
        ("cut", offered, 1, False),  # b is not worth its cost: cut short
        ("none", offered[1:], 0, False),  # left empty
        ("full", [{"id": "a", "cost": 0.1}, {"id": "c", "cost": 0.1}], 2, False),
        ("open", offered, None, None),
    ):
        decide(http, "m", name, tried, good, candidates=which, **payoffs)
        made = http.get(f"/v1/models/m/decisions/{name}").json()
        assert len(made["sequence"]) == {"none": 0, "full": 2}.get(name, 1)
        clock.now += 200.0 if name == "old" else 0.0
    opened(browser, http, address="m/900")
    assert [tile(browser, name) for name in ("declined", "gave up")] == ["1", "2"]
    for result, names in (("succeeded", ["good"]), ("declined", ["full"]), ("pending", ["open"]),
                          ("gave_up", ["none", "cut"]), ("expired", ["old"])):  # fmt: skip
        Select(find(browser, "#filter-result")).select_by_value(result)
        rows = "return [...document.querySelectorAll('#decisions tbody tr')].map(r => r.dataset.id)"
        until(lambda names=names, rows=rows: browser.execute_script(rows) == names)
    words = text(browser, "[data-part=results]")
    assert "declined: tried to the end; gave up: the policy left tries unused" in words


def test_a_time_without_decisions_is_drawn_as_zeros(browser, http, clock):
    http.put("/v1/models/m", json={"max_budget": 1})
    for i in (0, 1):
        decide(http, "m", f"d{i}", 1, candidates=["a"])
        clock.now += 40.0
    opened(browser, http)
    chart = "[data-chart='Tries per minute']"
    browser.execute_script(f'document.querySelector("{chart} summary").click()')
    until(lambda: every(browser, f"{chart} tbody tr"))
    rows = every(browser, f"{chart} tbody tr td:last-child")
    found = [row.text for row in rows]
    assert found.count("12") == 2
    assert found.count("0") == len(found) - 2 >= 10


def test_values_of_a_chart_are_walked_through_by_keys(browser, own, clock):
    clock.now += 100.0
    decide(own, "routes", "late", **arrays(1))
    opened(browser, own)
    chart = find(browser, "[data-chart='Earned in this period']")
    svg = chart.find_element(By.CSS_SELECTOR, "svg")
    tip = chart.find_element(By.CSS_SELECTOR, ".tip")
    seen = []
    for key in (Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.END):
        svg.send_keys(key)
        seen.append(tip.text.split("\n")[0])
    assert seen[0] == seen[2] < seen[1] < seen[3]
    browser.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerleave'))", svg)
    assert not tip.is_displayed()
    svg.send_keys(Keys.HOME)
    assert tip.is_displayed()
    svg.send_keys(Keys.TAB)
    assert not tip.is_displayed()
