"""The console, in a real browser: every part of it is used."""

import os
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from serving import ADMIN, MODEL, Clock, asked, hold, service, until

with suppress(ImportError):  # the fixture says so
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select

pytestmark = pytest.mark.browser


def play(http, clock):
    """Some rounds of a model; the last decision comes later than the others."""
    http.put("/v1/models/routes", json=MODEL)
    rng = np.random.default_rng(0)
    for i in range(40):
        clock.now += 100.0 if i == 39 else 0.0
        body = {**msgspec.to_builtins(asked(seed=i)), "id": f"d{i}"}
        sequence = http.post("/v1/models/routes/decisions", json=body).json()["sequence"]
        tried = min(len(sequence), int(rng.integers(1, 4)))
        if i < 35:
            settle(http, "routes", f"d{i}", tried, bool(rng.random() < 0.5))


def settle(http, model, decision, tried=1, succeeded=True, **more):
    told = {"tried": tried, "succeeded": succeeded, **more}
    answer = http.put(f"/v1/models/{model}/decisions/{decision}/outcome", json=told)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A service with a model that has seen some rounds, for tests that change nothing."""
    clock = Clock()
    path = tmp_path_factory.mktemp("console") / "decisions.db"
    with service(path, clock=clock) as client:
        play(client, clock)
        yield client


@pytest.fixture
def own(http, clock):
    """The same for a test that changes something."""
    play(http, clock)
    return http


def screen(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def begun(browser, http, address="", key=ADMIN):
    """Load the page with a key, or without one."""
    browser.get(f"{http.base_url}#{address}")
    browser.execute_script("sessionStorage.clear()")
    if key:
        browser.execute_script(f"sessionStorage.setItem('longrank-key', '{key}')")
    browser.refresh()


def opened(browser, http, address="", follow=False):
    """Open the page of a model; unless it is to follow what happens, it stays as it is."""
    begun(browser, http, address)
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


def tile(browser, name):
    return text(browser, f'[data-tile="{name}"]', None)


def is_explained(browser):
    return browser.execute_script("return document.getElementById('decision').open")


def explain(browser, decision):
    field = find(browser, "#filter-id")
    field.clear()
    field.send_keys(decision, Keys.ENTER)
    until(lambda: is_explained(browser))
    return find(browser, "#decision")


def choose(browser, selector, value):
    Select(find(browser, selector)).select_by_value(value)


def sideways(browser):
    """What is to be found by scrolling sideways only."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.wide')]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel)"
    )


def errors(browser):
    wrong = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    return [line for line in wrong if "401" not in line]  # it looks before a key was given


def test_it_asks_for_a_key_tells_one_that_is_unknown_and_shows_the_model_of_one(browser, played):
    key = played.post("/v1/models/routes/keys").json()["key"]
    begun(browser, played, key=None)
    until(lambda: "Enter a key" in text(browser, "#state"))
    find(browser, "#key").send_keys("lr_wrong", Keys.ENTER)
    until(lambda: "does not know this key" in text(browser, "#state"))
    find(browser, "#key").clear()
    find(browser, "#key").send_keys(key)
    find(browser, "#access button").click()
    until(lambda: "Enter the name" in text(browser, "#state"))
    find(browser, "#name").send_keys("routes", Keys.ENTER)
    until(lambda: text(browser, "article h2") == "routes")


def test_without_models_it_says_how_to_make_one_and_the_footer_leads_on(browser, http):
    begun(browser, http)
    until(lambda: "No models yet" in text(browser, "#model"))
    assert "/v1/models/routes" in text(browser, "#model pre")
    assert "Bearer KEY" in text(browser, "#model pre")
    for link, words in (("/docs", "createModel"), ("/openapi.json", "openapi"),
                        ("/metrics", "longrank_")):  # fmt: skip
        target = find(browser, f"footer a[href='{link}']").get_attribute("href")
        assert words in http.get(target).text
    find(browser, "footer a[href='/docs']").click()
    until(lambda: browser.current_url.endswith("/docs"))


ANSWER = """
const [part, status, body] = arguments, real = window.fetch;
window.fetch = (path, options) => String(path).includes(part)
  ? Promise.resolve(new Response(body, { status })) : real(path, options);
"""


def test_a_service_that_is_gone_is_told(browser, played):
    opened(browser, played, follow=True)
    browser.execute_cdp_cmd("Network.enable", {})
    condition = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", condition)
    try:
        until(lambda: "does not answer" in text(browser, "#state"))
        assert tile(browser, "decisions") == "40"  # what it knew stays
        assert text(browser, "#time").startswith("What is shown is of ")
        browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        top = "return document.querySelector('header').getBoundingClientRect().top"
        assert browser.execute_script(top) == 0  # and it is said wherever one looks
    finally:
        normal = {**condition, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", normal)
    until(lambda: "live" in text(browser, "#state"))
    assert not every(browser, "body.stale")
    browser.execute_script(ANSWER, "/v1/", 502, "<html>Bad gateway</html>")
    until(lambda: "Not an answer of the service (status 502)" in text(browser, "#state"))
    assert tile(browser, "decisions") == "40"


def test_a_model_that_cannot_be_read_or_found_says_why_and_the_others_stay(browser, played):
    begun(browser, played, "nobody/900")
    until(lambda: "There is no model of this name" in text(browser, "#model"))
    assert text(browser, "#model h2") == "nobody"
    find(browser, "#list a[data-model='routes']").click()
    until(lambda: tile(browser, "decisions") == "40")
    told = '{"title": "Unavailable", "status": 503, "detail": "the store is busy"}'
    browser.execute_script(ANSWER, "/series", 503, told)
    until(lambda: "the store is busy" in text(browser, "article [role=alert]"))
    assert tile(browser, "decisions") == "40"
    answer = '{"models": [], "unavailable": [{"name": "broken", "detail": "its log is damaged"}]}'
    browser.execute_script(ANSWER, "/v1/summaries", 200, answer)
    browser.execute_script("location.hash = '#broken'")
    until(lambda: "its log is damaged" in text(browser, "#model"))


def test_it_shows_a_model_and_follows_it(browser, own):
    opened(browser, own, follow=True)
    assert tile(browser, "decisions") == "40"
    until(lambda: tile(browser, "pending") == "5")
    stats = own.get("/v1/models/routes").json()["stats"]
    assert tile(browser, "declined") == str(stats["declined"])
    assert tile(browser, "gave up") == str(stats["give_ups"])
    settle(own, "routes", "d39")
    until(lambda: tile(browser, "pending") == "4")
    assert errors(browser) == []


def test_every_chart_has_axes_a_legend_values_and_a_table(browser, played):
    opened(browser, played)
    charts = every(browser, "figure.chart")
    assert len(charts) == 6
    for chart in charts:
        if not chart.is_displayed():  # costs, where nothing costs anything
            continue

        def parts(selector, chart=chart):
            return chart.find_elements(By.CSS_SELECTOR, selector)

        until(lambda parts=parts: len(parts("svg text")) >= 3)
        assert parts("path.curve, path.area, circle.dot")
        (svg,), (tip,), legend = parts("svg"), parts(".tip"), parts(".legend button")[0]
        name, before = legend.text, len(parts("path.curve, path.area"))
        browser.execute_script("arguments[0].click()", legend)
        assert legend.get_attribute("aria-pressed") == "false"
        assert len(parts("path.curve, path.area")) == before - 1 or before == 1
        browser.execute_script("arguments[0].click()", legend)
        svg.send_keys(Keys.ARROW_LEFT)  # the keyboard shows values as the pointer does
        assert name in tip.text
        svg.send_keys(Keys.ESCAPE)
        assert not tip.is_displayed()
        browser.execute_script(
            "const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new "
            "PointerEvent('pointermove', {clientX: box.left + box.width - 15, clientY: box.top}))",
            svg,
        )
        assert name in tip.text
        browser.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerleave'))", svg)
        assert not tip.is_displayed()
        browser.execute_script("arguments[0].click()", parts("summary")[0])
        until(lambda parts=parts: parts("tbody tr"))
        head = "return arguments[0].querySelector('thead').textContent"
        assert name in browser.execute_script(head, chart)
    svg = find(browser, "[data-chart='Earned in this period'] svg")
    tip = find(browser, "[data-chart='Earned in this period'] .tip")
    seen = []
    for key in (Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.END):
        svg.send_keys(key)
        seen.append(tip.text.split("\n")[0])
    assert seen[0] == seen[2] < seen[1] < seen[3]
    svg.send_keys(Keys.TAB)
    assert not tip.is_displayed()
    assert errors(browser) == []


def test_a_period_is_chosen_and_kept_in_the_address(browser, own, clock):
    clock.now += 2_000.0
    opened(browser, own)
    assert tile(browser, "decisions") == "0"
    until(lambda: "Choose a longer one" in text(browser, "[aria-label='Nothing to show']"))
    for label, count in (("1 hour", "40"), ("15 min", "0"), ("1 week", "40"), ("All", "40")):
        next(range for range in every(browser, ".ranges label") if range.text == label).click()
        until(lambda count=count: tile(browser, "decisions") == count)
        assert find(browser, "[aria-label='Earnings']").is_displayed() == (count != "0")
    assert browser.current_url.endswith("#routes/all")
    browser.refresh()
    until(lambda: tile(browser, "decisions") == "40")
    find(browser, ".ranges input:checked").send_keys(Keys.ARROW_LEFT)
    until(lambda: not browser.current_url.endswith("#routes/all"))
    checked = find(browser, ".ranges input:checked").get_attribute("value")
    assert browser.current_url.endswith(f"#routes/{checked}")


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


def test_decisions_are_filtered_opened_and_explained(browser, played):
    opened(browser, played)
    rows = "#decisions tbody tr"
    until(lambda: len(every(browser, rows)) == 20)
    find(browser, "#decisions button.plain").click()  # older ones
    until(lambda: len(every(browser, rows)) == 40)
    choose(browser, "#filter-result", "pending")
    until(lambda: len(every(browser, rows)) == 5)
    choose(browser, "#filter-result", "")
    choose(browser, "#filter-candidate", "c1")
    listed = played.get("/v1/models/routes/decisions?candidate=c1&limit=20").json()["decisions"]
    last = listed[-1]["id"]
    row = f"#decisions tr[data-id='{last}'] button"
    until(lambda: every(browser, row))
    assert len(every(browser, rows)) == len(listed)
    name = find(browser, row).get_attribute("aria-label")
    find(browser, row).send_keys(Keys.ENTER)
    until(lambda: is_explained(browser))
    assert last in find(browser, "#decision h2").text
    assert browser.execute_script("return document.activeElement.closest('#decision') !== null")
    focused(browser).send_keys(Keys.ESCAPE)
    until(lambda: not is_explained(browser))
    assert browser.execute_script("return document.activeElement.ariaLabel") == name
    shown = explain(browser, "d3")
    decision = played.get("/v1/models/routes/decisions/d3").json()
    assert len(every(browser, "#decision rect.bar")) == len(decision["sequence"])
    marks = every(browser, "#decision .tries td.succeeded, #decision .tries td.declined")
    assert len(marks) == decision["outcome"]["tried"]
    assert len(every(browser, "#decision tr.chosen")) == 1
    assert decision["stopped"] in shown.text
    find(browser, "#decision .close").click()
    assert not find(browser, "#decision").is_displayed()
    assert errors(browser) == []
    choose(browser, "#filter-candidate", "")
    find(browser, "#filter-id").clear()
    find(browser, "#filter-id").send_keys("zzz")
    find(browser, "#filter button").click()
    until(lambda: is_explained(browser))
    assert "there is no decision" in find(browser, "#decision").text
    find(browser, "#decision").send_keys(Keys.ESCAPE)
    until(lambda: "No decision fits" in text(browser, "#decisions"))


@pytest.mark.parametrize("width", [360, 1300, 3840])
def test_nothing_is_wider_than_the_screen_and_a_wide_one_is_used(browser, played, width):
    screen(browser, width)
    opened(browser, played)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    used = browser.execute_script("return document.querySelector('article').clientWidth")
    assert used > 0.8 * width
    until(lambda: every(browser, "#decisions button.link"))
    explain(browser, "d3")
    assert sideways(browser) == []


def test_shadow_mode_is_told_and_earnings_are_compared(browser, http):
    http.put("/v1/models/desk", json={"mode": "shadow", "currency": "EUR", "max_budget": 2})
    http.put("/v1/models/live", json={"currency": "EUR", "max_budget": 2})
    body = {"candidates": [{"id": "adyen", "cost": 0.5}, {"id": "stripe", "cost": 0.1}],
            "rewards": [4.0, 4.0], "losses": [0.0, 0.0, 0.0]}  # fmt: skip
    for model, more in (("desk", {"baseline": ["adyen"]}), ("live", {})):
        http.post(f"/v1/models/{model}/decisions", json={"id": "one", **body, **more})
        settle(http, model, "one")
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
    chart = "[data-chart='Earned in this period']"
    choose(browser, "#compare", "amount")
    find(browser, "#amount").send_keys("5")
    until(lambda: "less than baseline" in text(browser, chart))
    assert every(browser, f"{chart} path.dashed")
    choose(browser, "#compare", "model desk")
    until(lambda: "more than desk: the caller's list" in text(browser, chart))
    assert "caller's list" not in text(browser, "#list a[data-model='live']")
    screen(browser, 390)  # money fits a narrow screen
    until(lambda: "cost of a try, EUR" in text(browser, "[aria-label='Candidates']"))
    explain(browser, "one")
    assert sideways(browser) == []
    assert errors(browser) == []


def test_it_shows_money_in_the_currency_of_the_model(browser, http):
    http.put("/v1/models/cards", json={"max_budget": 2, "currency": "<b>EUR</b>"})
    offered = [{"id": "adyen", "cost": 0.3, "value": 0.5}, {"id": "stripe", "cost": 0.04}]
    payoffs = {"rewards": [90.0, 90.0], "losses": [0.0, 0.0, 0.0]}
    total = spent = 0.0
    for i in range(30):
        body = {"id": f"d{i}", "candidates": offered, **payoffs}
        sequence = http.post("/v1/models/cards/decisions", json=body).json()["sequence"]
        costs = {"costs": [0.25] * len(sequence)} if i % 2 else {}
        settled = settle(http, "cards", f"d{i}", len(sequence), i % 3 > 0, **costs)
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


def test_zero_has_no_sign_and_reasons_are_told_in_plain_words(browser, played):
    browser.get(str(played.base_url))
    script = (
        "return import('/static/format.js').then(({shown, money}) => "
        "[shown(-0), shown(-4e-5), shown(-0.5), money(-1e-17, 'EUR'), money(-2e-7), "
        "money(0.0999999, 'EUR'), money(0.0123456)])"
    )
    assert browser.execute_script(script) == [
        *("0", "0.000", "-0.500", "0.00 EUR", "-0.0000002", "0.10 EUR", "0.0123")
    ]
    plain = {
        "status=up x brand=visa": "brand visa while status up",
        "brand=visa": "brand visa",
        "amount=15.77": "amount 15.77",
        "recurring=true x amount=3": "amount 3 while recurring true",
        "id=adyen": "adyen in general",
        "mcc=missing": "mcc missing",
        "a=b=c": "a b=c",
        "odd": "odd",
    }
    script = "return import('/static/format.js').then((f) => arguments[0].map(f.plainly))"
    assert browser.execute_script(script, list(plain)) == list(plain.values())


def test_it_tells_expected_costs_patience_and_draws(browser, http):
    http.put("/v1/models/asks", json={"max_budget": 2, "patience": 0.9, "currency": "EUR"})
    for i in range(4):
        body = {"id": f"d{i}", "candidates": ["large"], "rewards": [9.0, 9.0], "losses": [0, 0, 0]}
        http.post("/v1/models/asks/decisions", json=body)
        settle(http, "asks", f"d{i}", **({"costs": [0.5]} if i < 3 else {}))
    settings = {"temperature": 9.0}
    http.put("/v1/models/draws", json={"policy": "plackett-luce", "settings": settings})
    cut = ""
    while not cut:
        body = {"candidates": ["a", "b", "c"], "rewards": [1.0, 1.0], "losses": [0.0, -0.1, -0.2]}
        drawn = http.post("/v1/models/draws/decisions", json=body).json()
        end = len(drawn["sequence"])
        cut = drawn["id"] if drawn["values"][end] < max(drawn["values"][end:]) else ""
    opened(browser, http, address="asks/900")
    until(lambda: tile(browser, "with expected costs") == "1")
    for model, decision, words in (
        ("asks", "d3", ("as was expected: no costs were reported.", "a patience of 0.900:")),
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
        body = {"id": f"d{i}", "candidates": offered, **payoffs}
        body["context"] = {"brand": brand, "amount": round(float(10 + rng.pareto(1.2) * 40), 2)}
        sequence = http.post("/v1/models/cards/decisions", json=body).json()["sequence"]
        names = [choice["id"] for choice in sequence]
        good = {"visa": "stripe", "amex": "adyen"}[brand]
        tried = names.index(good) + 1 if good in names else len(names)
        settle(http, "cards", f"d{i}", names[:tried], good in names)
    opened(browser, http, follow=True)
    find(browser, "[data-schema='cards'] summary").click()
    until(lambda: "columns in use" in text(browser, "[data-schema='cards']"))
    shown = find(browser, "[data-schema='cards']").text
    for part in ("crossed: id × brand", "context amount number", "mcc category"):
        assert part in shown
    decisions = tile(browser, "decisions")
    http.post("/v1/models/cards/decisions", json={"id": "e", "candidates": offered, "budget": 1})
    settle(http, "cards", "e")
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
    body = {"id": "odd", "candidates": offered[2:], "context": {"<i>": "<img src=x>"}, "budget": 1}
    http.post("/v1/models/cards/decisions", json=body)
    shown = explain(browser, "odd").text
    assert "<b>odd</b>" in shown
    assert "<i> <img src=x>" in shown
    until(lambda: "<b>odd</b>" in text(browser, "[aria-label='Candidates']"))
    assert not every(browser, "#decision img, #decision i, #decision td b")


def test_changes_of_success_calibration_and_idle_times_are_shown(browser, http, clock):
    http.put("/v1/models/cards", json={"max_budget": 1})
    for i in range(81):
        clock.now += 5.0 if i < 80 else 300.0
        body = {"id": f"d{i}", "candidates": ["adyen"]}
        http.post("/v1/models/cards/decisions", json=body)
        settle(http, "cards", f"d{i}", 1, i < 50)
    opened(browser, http)
    until(lambda: "adyen: success from 100 % to" in text(browser, "[aria-label='Changes']"))
    assert every(browser, "[data-chart^='Success'] .mark")
    assert every(browser, "[aria-label='Calibration'] circle")
    find(browser, "[aria-label='Calibration'] summary").click()
    assert every(browser, "[aria-label='Calibration'] tbody tr")
    chart = "[data-chart='Tries per minute']"
    browser.execute_script(f'document.querySelector("{chart} summary").click()')
    until(lambda: every(browser, f"{chart} tbody tr"))
    rates = [row.text for row in every(browser, f"{chart} tbody tr td:last-child")]
    assert "12" in rates
    assert len(rates) > rates.count("0") >= 10  # drawn as zeros
    assert errors(browser) == []


def focused(browser):
    return browser.switch_to.active_element


# every control of the page, in its order; a new one needs an entry here, and a test
CONTROLS = [
    *(".skip", "#key", "#name", "#access button", "#search", "#list a", ".ranges input"),
    *("#compare", "figure svg", ".legend button", "figure summary", ".wide"),
    *("#filter-candidate", "#filter-result", "#filter-id", "#filter button"),
    *("#decisions button.link", "#decisions button.plain", "[data-schema] summary", "footer a"),
]
SELDOM = ["#amount", "[aria-label=Calibration] summary", "#decision .close"]  # seen at times only


def test_the_keyboard_reaches_every_control_in_the_page_s_order_and_each_has_a_name(browser, own):
    own.put("/v1/models/other", json={})
    opened(browser, own, address="routes/900")
    until(lambda: every(browser, "#decisions button.link"))
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, input, select, svg[role=img], section, nav,"
        " dialog, [role=region]')].filter((e) => !(e.textContent.trim() || e.getAttribute("
        "'aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length))"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    unknown = browser.execute_script(
        "return [...document.querySelectorAll('a[href], button, input, select, summary,"
        ' textarea, [tabindex="0"], [contenteditable]\')].filter((e) => !e.matches(arguments[0]))'
        ".map((e) => e.outerHTML.slice(0, 90))",
        ", ".join([*CONTROLS, *SELDOM]),
    )
    assert (nameless, unknown) == ([], [])
    assert find(browser, "html").get_attribute("lang") == "en"
    assert len(every(browser, "main")) == len(every(browser, "h1")) == 1
    assert every(browser, "[role=status]")
    script = "return arguments[1].filter((part) => arguments[0].matches(part))"
    place = "return [...document.querySelectorAll('*')].indexOf(arguments[0])"
    missing, places = set(CONTROLS), []
    browser.execute_script("document.querySelector('.skip').focus()")
    while missing:
        here = focused(browser)
        assert here.tag_name != "body", missing
        missing -= set(browser.execute_script(script, here, CONTROLS))
        places.append(browser.execute_script(place, here))
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
        body = {"id": name, "candidates": which, **payoffs}
        made = http.post("/v1/models/m/decisions", json=body).json()
        assert len(made["sequence"]) == {"none": 0, "full": 2}.get(name, 1)
        if tried is not None:
            settle(http, "m", name, tried, good)
        clock.now += 200.0 if name == "old" else 0.0
    opened(browser, http, address="m/900")
    assert [tile(browser, name) for name in ("declined", "gave up")] == ["1", "2"]
    for result, names in (("succeeded", ["good"]), ("declined", ["full"]), ("pending", ["open"]),
                          ("gave_up", ["none", "cut"]), ("expired", ["old"])):  # fmt: skip
        choose(browser, "#filter-result", result)
        rows = "return [...document.querySelectorAll('#decisions tbody tr')].map(r => r.dataset.id)"
        until(lambda names=names, rows=rows: browser.execute_script(rows) == names)
    words = text(browser, "[data-part=results]")
    assert "declined: tried to the end; gave up: the policy left tries unused" in words
